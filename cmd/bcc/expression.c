/* bcc's expressions -> the language of scripts: some tokens are replaced. In bcc the first argument
 * is arg1, here it is arg0; a signature gives the arguments names. */
#include "bcc/expression.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe_word.h"
#include "spec.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define BYTES_MOST   64 /* of STRCMP() with -B; a message says so */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* ---- types */

/* Is it a type of numbers that scripts have? "unsigned long" begins with one. */
static bool is_number(const char *type, size_t len)
{
	static const char names[] = " bool char short int long signed unsigned size_t ssize_t "
				    "off_t pid_t uid_t gid_t int8_t int16_t int32_t int64_t "
				    "uint8_t uint16_t uint32_t uint64_t u8 u16 u32 u64 s8 s16 s32 "
				    "s64 ";
	size_t first = strcspn(type, " ");
	char word[16];

	snprintf(word, sizeof(word), " %.*s ", (int)(first < len ? first : len), type);
	return len && !memchr(type, '*', len) && strstr(names, word);
}

void bcc_put_value(struct script_text *out, const struct bcc_text *t, const char *value,
		   const char *type, size_t len)
{
	while (len && type[len - 1] == ' ')
		len--;
	if (memmem(type, len, "char", 4) && memchr(type, '*', len))
		script_put(out, t->how->text_size ? "str(%s, %ld)" : "str(%s)", value,
			   t->how->text_size);
	else if (is_number(type, len) && isdigit((unsigned char)type[1])) /* of the kernel: u64 */
		script_put(out, "(%sint%.*s)(%s)", *type == 'u' ? "u" : "", (int)len - 1, type + 1,
			   value);
	else if (is_number(type, len))
		script_put(out, "(%.*s)(%s)", (int)len, type, value);
	else
		script_put(out, "%s", value);
}

/* ---- expressions */

static void put_expression(struct bcc_text *t, const char *at, const char *end,
			   struct script_text *out);

/* The number of a parameter in the signature, with its type, "const char *"; -1: it has none of
 * that name. */
static int find_parameter(const struct bcc_text *t, const char *name, size_t len, const char **type,
			  size_t *type_len)
{
	const char *at = t->signature;

	for (int index = 0; at && *at && *at != ')' && len; index++) {
		const char *next = at + strcspn(at, ",)"), *last = next, *first;

		while (last > at && !is_word(last[-1]))
			last--;
		for (first = last; first > at && is_word(first[-1]);)
			first--;
		*type = at + strspn(at, " \t");
		*type_len = first > *type ? (size_t)(first - *type) : 0;
		if ((size_t)(last - first) == len && !strncmp(first, name, len))
			return index;
		at = next + (*next == ',');
	}
	return -1;
}

/* "{0x61, 10, 'x', 0}" as "\x61\x0a\x78": as in bcc, the last byte, the 0 of a text, is not
 * compared. The number of bytes that are; 0: it is not that. */
static size_t put_bytes(const char *at, struct script_text *out)
{
	const char *end = at;
	size_t count = 0;
	char *stop = NULL;

	for (at += strncmp(at, "\"{", 2) ? 0 : 2; count < BYTES_MOST; count++) {
		bool is_letter = *at == '\'' && at[1] && at[1] != '\\' && at[2] == '\'';
		long byte = is_letter ? at[1] : strtol(at, &stop, 0);

		end = is_letter ? at + 3 : stop;
		if (end == at || byte < -128 || byte > 255)
			return 0;
		end += strspn(end, " ");
		if (*end != ',')
			break;
		script_put(out, "%s\\x%02x", count ? "" : "\"", (unsigned)byte & 0xff);
		at = end + 1 + strspn(end + 1, " ");
	}
	script_put(out, "\"");
	return strncmp(end, "}\"", 2) ? 0 : count;
}

/* The literal and how many bytes it has: 3 of "a\x41\n". */
static size_t put_literal(const char *at, const char *end, struct script_text *out)
{
	size_t count = 0;

	script_put(out, "%.*s", (int)(end - at), at);
	for (at++; at < end - 1; count++) {
		if (*at++ != '\\')
			continue;
		if (*at == 'x')
			at += 1 + strspn(at + 1, "0123456789abcdefABCDEF");
		else if (*at >= '0' && *at <= '7')
			for (int i = 0; i < 3 && *at >= '0' && *at <= '7'; i++)
				at++;
		else
			at++;
	}
	return count;
}

/* One message about a word is enough. */
static void complain(struct bcc_text *t, const char *message)
{
	if (!t->is_wrong)
		usage_error(t->command, "'%s': %s", t->word, message);
	t->is_wrong = true;
}

/* Each of these writes what stands for a token and the bracket that follows it, and returns what
 * is after them; NULL: it is not that. */
typedef const char *rewrite_fn(struct bcc_text *t, const char *at, struct script_text *out);

/* STRCMP("x", name): as in bcc, the text may go on after what is compared. */
static const char *rewrite_strcmp(struct bcc_text *t, const char *at, struct script_text *out)
{
	const char *comma = *at == '(' ? text_until(at + 1, ",)") : "";
	const char *close = *comma == ',' ? text_until(comma + 1, ")") : "";
	bool is_binary = t->how->is_binary;
	size_t count;

	if (!*close)
		return NULL;
	script_put(out, is_binary ? "(memcmp(" : "(strncmp(str(");
	put_expression(t, comma + 1 + strspn(comma + 1, " "), close, out);
	script_put(out, is_binary ? ", " : "), ");
	count = is_binary ? put_bytes(at + 1, out) : put_literal(at + 1, comma, out);
	script_put(out, ", %zu) == 0)", count);
	if (is_binary && !count)
		complain(t, "with -B, STRCMP() needs up to 64 bytes in braces, such as "
			    "\"{0x61, 0x62, 0}\", of which the last is not compared");
	return close + 1;
}

/* $entry(name): what a parameter was when the function began, as a number of its type; of a text,
 * the address. */
static const char *rewrite_entry(struct bcc_text *t, const char *at, struct script_text *out)
{
	const char *close = *at == '(' ? text_until(at + 1, ")") : "", *type;
	char argument[16];
	size_t len;
	int index;

	if (!*close || !t->map)
		return NULL;
	at += 1 + strspn(at + 1, " ");
	index = find_parameter(t, at, strcspn(at, " )"), &type, &len);
	if (index < 0) {
		complain(t, "$entry() names a parameter of the signature");
		return close + 1;
	}
	snprintf(argument, sizeof(argument), "arg%d", index);
	script_put(&t->kept, ", ");
	bcc_put_value(&t->kept, t, argument, type, memchr(type, '*', len) ? 0 : len);
	script_put(out, "@%c_start[tid].%u", t->map, ++t->kept_count);
	return close + 1;
}

/* Nanoseconds since the start. The 0 makes a tuple of it, which has two parts at least. */
static const char *rewrite_latency(struct bcc_text *t, const char *at, struct script_text *out)
{
	if (!t->map)
		return NULL;
	script_put(&t->kept, ", 0");
	t->kept_count++;
	script_put(out, "(nsecs - @%c_start[tid].0)", t->map);
	return at;
}

/* The kernel calls a thread's number pid. */
static const struct rewriting {
	const char *token, *text;
	rewrite_fn *rewrite; /* instead of `text` */
} rewritings[] = {
	/* clang-format off */
	{"$pid",    "tid", NULL},     {"$tgid",  "pid",  NULL}, {"$tid",   "tid",    NULL},
	{"$uid",    "uid", NULL},     {"$gid",   "gid",  NULL}, {"$cpu",   "cpu",    NULL},
	{"$PID",    "pid", NULL},     {"$comm",  "comm", NULL}, {"$COMM",  "comm",   NULL},
	{"$task",   "curtask", NULL}, {"$retval", "retval", NULL}, {"@user", "",     NULL},
	{"STRCMP",  NULL, rewrite_strcmp}, {"$entry", NULL, rewrite_entry}, {"$latency", NULL, rewrite_latency},
	/* clang-format on */
};

/* What the table says of a token; NULL: nothing. */
static const char *rewrite(struct bcc_text *t, const char *at, size_t len, struct script_text *out)
{
	const struct rewriting *r = rewritings, *end = r + COUNT(rewritings);

	while (r < end && (strlen(r->token) != len || strncmp(at, r->token, len) != 0))
		r++;
	if (r < end && r->rewrite)
		return r->rewrite(t, at + len, out);
	script_put(out, "%s", r < end ? r->text : "");
	return r < end ? at + len : NULL;
}

/* One token, such as "arg1" and "$pid"; what follows it. */
static const char *put_token(struct bcc_text *t, const char *at, size_t len,
			     struct script_text *out)
{
	const char *rewritten = rewrite(t, at, len, out), *after = at + len, *type;
	size_t type_len;
	long index = find_parameter(t, at, len, &type, &type_len);
	bool is_named = index >= 0;
	char *end = NULL;

	if (rewritten)
		return rewritten;
	if (!is_named && t->type && len < 8 && !strncmp(at, "arg", 3))
		index = strtol(at + 3, &end, 10) - 1;
	if (index < 0 && end == after && len == 4) {
		complain(t, "arg0 does not exist in this form of bcc: the first argument is arg1");
		return after;
	}
	/* The address of a struct: "ts->tv_nsec" needs its type. */
	if (is_named && !strncmp(after, "->", 2) && memchr(type, '*', type_len))
		script_put(out, "((%.*s)arg%ld)", (int)type_len, type, index);
	else if (is_named || (index >= 0 && end == after))
		script_put(out, "arg%ld", index);
	else
		script_put(out, "%.*s", (int)len, at);
	return after;
}

static void put_expression(struct bcc_text *t, const char *at, const char *end,
			   struct script_text *out)
{
	const char *first = at, *close;

	while (at < end) {
		bool is_field = at > first + 1 && at[-1] == '>' && at[-2] == '-';
		size_t len = *at == '$' || *at == '@';

		while (is_word(at[len]))
			len++;
		if (len && !is_field) {
			at = put_token(t, at, len, out);
			continue;
		}
		close = *at == '"' ? script_literal_end(at) : NULL;
		len = close ? (size_t)(close + 1 - at) : len ? len : 1;
		script_put(out, "%.*s", (int)len, at);
		at += len;
	}
}

char *bcc_expression(struct bcc_text *t, const char *at, const char *end)
{
	struct script_text out;

	script_text_begin(&out);
	put_expression(t, at, end, &out);
	if (!script_text_end(&out) || t->is_wrong)
		script_text_free(&out);
	return out.text;
}

/* ---- probes */

/* "p:LIB:NAME", "LIB:NAME", "::NAME", "NAME"; what has another form stays as it is. */
static int read_probe(struct bcc_text *t, size_t len, struct bcc_spec *out)
{
	const char *at = t->word, *end = at + len, *last = memrchr(at, ':', len), *name;
	const char *colon = memchr(at, ':', len);
	const char *second = colon ? memchr(colon + 1, ':', (size_t)(end - colon) - 1) : NULL;
	char letter = colon && colon > at ? *at : 'p';
	bool is_typed = second && colon - at <= 1 && probe_letter(letter);
	bool is_function = t->how->is_function || !strncmp(at, "c:", 2);
	const struct probe_letter *type;

	t->type = out->type = is_typed ? letter : !colon || (!second && is_function) ? 'p' : 0;
	type = probe_letter(t->type);
	/* bcc's column FUNC has the provider, too. */
	name = t->type == 'u' ? second + 1 : last ? last + 1 : at;
	out->function = strndup(name, (size_t)(end - name));
	at = is_typed ? colon + 1 : at;
	if (asprintf(&out->probe, "%s%s%.*s",
		     !type		    ? ""
		     : !colon || *at == ':' ? type->of_kernel
					    : type->type,
		     colon ? "" : ":", (int)(end - at), at) < 0)
		out->probe = NULL;
	return out->probe && out->function ? 0 : EXIT_FAILED;
}

int bcc_read_head(struct bcc_text *t, size_t len, struct bcc_spec *out, const char **rest)
{
	const char *at = t->word + len;
	int code = read_probe(t, len, out);

	if (!code && *at == '(') {
		t->signature = at + 1;
		at = text_until(at + 1, ")");
		if (!*at++)
			return usage_error(t->command, "'%s': the '(' is never closed", t->word);
	}
	*rest = at + strspn(at, " \t");
	return code;
}
