/* bcc's expressions -> the language of scripts. In bcc the first argument is arg1, here it is arg0;
 * a signature gives the arguments names. */
#include "bcc/expression.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define BYTES_MOST   64 /* of STRCMP() with -B */

static const char *closing_quote(const char *at)
{
	for (at++; *at && *at != '"'; at++)
		at += *at == '\\' && at[1];
	return at;
}

bool bcc_quote_closes(const char *at)
{
	return *closing_quote(at);
}

const char *bcc_quote_end(const char *at)
{
	at = closing_quote(at);
	return *at ? at + 1 : at;
}

const char *bcc_bracket_end(const char *at)
{
	int depth = 0;

	while (*at) {
		depth += *at == '(';
		depth -= *at == ')';
		at = *at == '"' ? bcc_quote_end(at) : at + 1;
		if (!depth)
			return at;
	}
	return NULL;
}

const char *bcc_value_end(const char *at, const char *end)
{
	int depth = 0;

	for (; at < end && !(*at == ',' && !depth); at++) {
		depth += *at == '(';
		depth -= *at == ')';
		if (*at == '"')
			at = bcc_quote_end(at) - 1;
	}
	return at < end ? at : end;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

void bcc_read_signature(struct bcc_text *t, const char *at, const char *end)
{
	while (at < end && t->count < BCC_NAMES) {
		size_t len = strcspn(at, ",)");
		const char *last = at + len, *first;

		while (last > at && !is_word(last[-1]))
			last--;
		for (first = last; first > at && is_word(first[-1]);)
			first--;
		at += strspn(at, " \t");
		t->names[t->count++] = (struct bcc_name){
			.at = first,
			.len = (size_t)(last - first),
			.type = at,
			.type_len = first > at ? (size_t)(first - at) : 0,
		};
		at += strcspn(at, ",)") + 1;
	}
}

/* ---- types */

/* clang-format off */
static const struct {
	const char *name, *cast;
} types[] = {
	{"u8", "uint8"},   {"u16", "uint16"},   {"u32", "uint32"},   {"u64", "uint64"},
	{"s8", "int8"},    {"s16", "int16"},    {"s32", "int32"},    {"s64", "int64"},
	{"uint8_t", "uint8"}, {"uint16_t", "uint16"}, {"uint32_t", "uint32"}, {"uint64_t", "uint64"},
	{"int8_t", "int8"},   {"int16_t", "int16"},   {"int32_t", "int32"},   {"int64_t", "int64"},
	{"char", "int8"},  {"unsigned char", "uint8"}, {"short", "int16"}, {"unsigned short", "uint16"},
	{"int", "int32"},  {"unsigned int", "uint32"}, {"unsigned", "uint32"}, {"bool", "uint8"},
	{"long", "int64"}, {"unsigned long", "uint64"}, {"long long", "int64"},
	{"unsigned long long", "uint64"}, {"size_t", "uint64"}, {"ssize_t", "int64"}, {"off_t", "int64"},
	{"pid_t", "int32"}, {"uid_t", "uint32"}, {"gid_t", "uint32"}, {"mode_t", "uint32"},
};
/* clang-format on */

static bool is_text_type(const char *type, size_t len)
{
	return memmem(type, len, "char", 4) && memchr(type, '*', len);
}

char *bcc_cast(const struct bcc_text *t, const char *value, const char *type, size_t len)
{
	char *out = NULL;
	int made;

	if (is_text_type(type, len))
		made = t->how->text_size ? asprintf(&out, "str(%s, %ld)", value, t->how->text_size)
					 : asprintf(&out, "str(%s)", value);
	else
		made = asprintf(&out, "%s", value);
	for (size_t i = 0; i < COUNT(types) && made >= 0; i++)
		if (strlen(types[i].name) == len && !strncmp(types[i].name, type, len)) {
			free(out);
			made = asprintf(&out, "(%s)(%s)", types[i].cast, value);
			break;
		}
	return made >= 0 ? out : NULL;
}

/* ---- expressions */

/* Names of bcc that are words of scripts; the kernel calls a thread's number pid. */
static const char *const renamed[][2] = {
	/* clang-format off */
	{"$pid",  "tid"},  {"$tgid", "pid"}, {"$tid", "tid"}, {"$uid", "uid"},
	{"$gid",  "gid"},  {"$cpu",  "cpu"}, {"$comm", "comm"}, {"$retval", "retval"},
	{"$PID",  "pid"},  {"$COMM", "comm"}, {"$task", "curtask"},
	/* clang-format on */
};

static int parameter(const struct bcc_text *t, const char *at, size_t len)
{
	for (unsigned i = 0; i < t->count; i++)
		if (len && t->names[i].len == len && !strncmp(t->names[i].at, at, len))
			return (int)i;
	return -1;
}

/* A parameter that is the address of a struct: "ts->tv_nsec" needs its type. */
static void put_parameter(const struct bcc_text *t, int index, const char *after, FILE *out)
{
	const struct bcc_name *n = &t->names[index];

	if (!strncmp(after, "->", 2) && memchr(n->type, '*', n->type_len))
		fprintf(out, "((%.*s)arg%d)", (int)n->type_len, n->type, index);
	else
		fprintf(out, "arg%d", index);
}

/* One name of an expression. */
static void put_name(const struct bcc_text *t, const char *at, size_t len, FILE *out)
{
	int index = parameter(t, at, len);
	long number;
	char digits[8] = "";

	for (size_t i = 0; i < COUNT(renamed); i++)
		if (strlen(renamed[i][0]) == len && !strncmp(at, renamed[i][0], len)) {
			fputs(renamed[i][1], out);
			return;
		}
	if (index >= 0) {
		put_parameter(t, index, at + len, out);
		return;
	}
	if (t->type && len > 3 && len < 3 + sizeof(digits) && !strncmp(at, "arg", 3)) {
		memcpy(digits, at + 3, len - 3);
		if (parse_number(digits, 1, &number)) {
			fprintf(out, "arg%ld", number - 1);
			return;
		}
	}
	fwrite(at, 1, len, out);
}

static void put_expression(struct bcc_text *t, const char *at, const char *end, FILE *out);

/* 0x61, -1 or 'a' at `at`: what follows it; NULL: it is none. */
static const char *read_byte(const char *at, unsigned char *byte)
{
	char *end;
	long value;

	if (*at == '\'' && at[1] && at[1] != '\\' && at[2] == '\'') {
		*byte = (unsigned char)at[1];
		return at + 3;
	}
	value = strtol(at, &end, 0);
	*byte = (unsigned char)value;
	return end > at && value >= -128 && value <= 255 ? end : NULL;
}

/* "{0x61, 10, 'x'}", with its quotes: the number of bytes; 0: it is not that. */
static size_t read_bytes(const char *at, unsigned char bytes[BYTES_MOST])
{
	size_t count = 0;

	if (strncmp(at, "\"{", 2))
		return 0;
	for (at += 2; count < BYTES_MOST; at++) {
		at = read_byte(at + strspn(at, " "), &bytes[count++]);
		if (!at)
			return 0;
		at += strspn(at, " ");
		if (*at != ',')
			return strncmp(at, "}\"", 2) ? 0 : count;
	}
	return 0;
}

/* STRCMP("{0x61, 0x62, 0}", name) of -B. As in bcc, the last byte, the 0 of a text, is not
 * compared.
 */
static void put_memcmp(struct bcc_text *t, const char *list, const char *at, const char *end,
		       FILE *out)
{
	unsigned char bytes[BYTES_MOST];
	size_t count = read_bytes(list, bytes);

	if (count < 2) {
		if (!t->is_wrong)
			usage_error(t->command,
				    "'%s': with -B, STRCMP() needs up to %d bytes in braces, such "
				    "as \"{0x61, 0x62, 0}\", of which the last is not compared",
				    t->word, BYTES_MOST);
		t->is_wrong = true;
		return;
	}
	fputs("(memcmp(", out);
	put_expression(t, at, end, out);
	fputs(", \"", out);
	for (size_t i = 0; i + 1 < count; i++)
		fprintf(out, "\\x%02x", bytes[i]);
	fprintf(out, "\", %zu) == 0)", count - 1);
}

/* Bytes of a literal of C, "a\x41\n": 3. */
static size_t literal_bytes(const char *at, const char *end)
{
	size_t count = 0;

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

/* STRCMP("x", name): as in bcc, the text may go on after what is compared. */
static size_t put_strcmp(struct bcc_text *t, const char *at, FILE *out)
{
	const char *close = bcc_bracket_end(at + 6), *comma;

	if (!close)
		return 0;
	comma = bcc_value_end(at + 7, close - 1);
	if (comma == close - 1)
		return 0;
	if (t->how->is_binary) {
		put_memcmp(t, at + 7, comma + 1 + strspn(comma + 1, " "), close - 1, out);
		return (size_t)(close - at);
	}
	fputs("(strncmp(str(", out);
	put_expression(t, comma + 1 + strspn(comma + 1, " "), close - 1, out);
	fprintf(out, "), %.*s, %zu) == 0)", (int)(comma - at) - 7, at + 7,
		literal_bytes(at + 7, comma));
	return (size_t)(close - at);
}

/* $entry(name): what a parameter was when the function began. */
static size_t put_entry(struct bcc_text *t, const char *at, FILE *out)
{
	const char *close = bcc_bracket_end(at + 6), *name = at + 7;
	int index;

	if (!close)
		return 0;
	name += strspn(name, " ");
	index = parameter(t, name, strcspn(name, " )"));
	if (index < 0) {
		t->kept |= 1u << BCC_NAMES; /* it is in no signature */
		return (size_t)(close - at);
	}
	t->has_entry = true;
	t->kept |= 1u << index;
	fprintf(out, "@%c_arg%d[tid]", t->map, index);
	return (size_t)(close - at);
}

/* One piece of an expression: its length. */
static size_t put_piece(struct bcc_text *t, const char *first, const char *at, FILE *out)
{
	bool is_field = at > first + 1 && at[-1] == '>' && at[-2] == '-';
	size_t len = *at == '$', done = 0;

	while (is_word(at[len]))
		len++;
	if (*at == '"') {
		len = (size_t)(bcc_quote_end(at) - at);
		fwrite(at, 1, len, out);
	} else if (!strncmp(at, "@user", 5)) {
		return 5;
	} else if (len == 6 && !strncmp(at, "STRCMP(", 7) && (done = put_strcmp(t, at, out))) {
		return done;
	} else if (len == 6 && t->map && !strncmp(at, "$entry(", 7) &&
		   (done = put_entry(t, at, out))) {
		return done;
	} else if (len == 8 && t->map && !strncmp(at, "$latency", 8)) {
		t->has_entry = true;
		fprintf(out, "(nsecs - @%c_start[tid])", t->map);
	} else if (len && !is_field) {
		put_name(t, at, len, out);
	} else {
		len = len ? len : 1;
		fwrite(at, 1, len, out);
	}
	return len;
}

/* Names are changed, "@user" is left out, STRCMP(a, b) is a comparison. */
static void put_expression(struct bcc_text *t, const char *at, const char *end, FILE *out)
{
	const char *first = at;

	while (at < end)
		at += put_piece(t, first, at, out);
}

char *bcc_expression(struct bcc_text *t, const char *at, const char *end)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (out) {
		put_expression(t, at, end, out);
		fclose(out);
	}
	if (t->is_wrong) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- probes */

/* What is before the name of the function or probe: "p:c:" has two colons. */
static const char *after_colon(const char *at, const char *end)
{
	const char *colon = memchr(at, ':', (size_t)(end - at));

	return colon ? colon + 1 : NULL;
}

/* What bcc has in the column FUNC: for "u:LIB:PROVIDER:NAME" the last two, for the others the name
 * alone. */
static char *function_of(char type, const char *at, const char *end)
{
	const char *name = at, *next;

	if (type == 'u') /* at the library */
		name = after_colon(at, end);
	else
		while ((next = after_colon(name, end)))
			name = next;
	return strndup(name ? name : at, (size_t)(end - (name ? name : at)));
}

/* The type of the probe, and where its library begins: "p:LIB:NAME", "LIB:NAME", "::NAME", "NAME".
 */
static char type_of(const struct bcc_text *t, const char *end, const char **library)
{
	const char *at = t->word, *rest = after_colon(at, end);
	const char *second = rest ? after_colon(rest, end) : NULL;
	bool is_typed = second && rest - at <= 2;
	char type = 0;

	*library = at;
	if (!rest)
		return 'p';
	if (is_typed)
		type = rest - at == 2 ? *at : 'p';
	else if (!second && (t->how->is_function || !strncmp(at, "c:", 2)))
		return 'p';
	if (!type || !strchr("purt", type))
		return 0; /* a probe in another form: as it is */
	*library = rest;
	return type;
}

/* What a script writes before the library: a function without one is the kernel's. */
static const char *script_type(char type, bool of_kernel)
{
	/* clang-format off */
	static const struct { char letter; const char *type, *of_kernel; } rows[] = {
		{'u', "usdt:",      "usdt:*:*"},  {'t', "tracepoint:", "tracepoint:"},
		{'r', "uretprobe:", "kretprobe"}, {'p', "uprobe:",     "kprobe"}, {0, "", ""},
	};
	/* clang-format on */
	size_t i = 0;

	while (rows[i].letter != type)
		i++;
	return of_kernel ? rows[i].of_kernel : rows[i].type;
}

static int read_probe(struct bcc_text *t, size_t len, struct bcc_spec *out)
{
	const char *at, *end = t->word + len;
	bool is_bare;

	t->type = out->type = type_of(t, end, &at);
	is_bare = t->type == 'p' && !after_colon(at, end);
	out->function = function_of(t->type, at, end);
	if (asprintf(&out->probe, "%s%s%.*s", script_type(t->type, is_bare || *at == ':'),
		     is_bare ? ":" : "", (int)(end - at), at) < 0)
		out->probe = NULL;
	return out->probe && out->function ? 0 : EXIT_FAILED;
}

int bcc_read_head(struct bcc_text *t, struct bcc_spec *out, const char **rest)
{
	size_t head = strcspn(t->word, " \t(\"");
	const char *at = t->word + head, *end;
	int code = read_probe(t, head, out);

	if (!code && *at == '(') {
		end = bcc_bracket_end(at);
		if (!end)
			return usage_error(t->command, "'%s': the '(' is never closed", t->word);
		bcc_read_signature(t, at + 1, end - 1);
		at = end;
	}
	*rest = at + strspn(at, " \t");
	return code;
}
