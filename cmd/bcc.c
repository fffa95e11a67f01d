/* bcc's words -> the language of scripts. In bcc the first argument is arg1, here it is arg0; a
 * signature gives the arguments names; what is shown by %s is the address of a text. */
#include "bcc.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAMES 12

/* The names in a signature: "(const char *path, int n)". */
struct signature {
	struct {
		const char *at;
		size_t len;
		bool is_text;
	} names[MAX_NAMES];
	unsigned count;
};

struct reading {
	const struct command *command;
	const char *word;
	struct signature signature;
	bool is_function; /* "LIB:NAME" is a function, and not our PROVIDER:NAME */
	char type;	  /* p r t u; 0: a probe in a form of our own */
};

static const char *quote_end(const char *at)
{
	for (at++; *at && *at != '"'; at++)
		at += *at == '\\' && at[1];
	return *at ? at + 1 : at;
}

/* After the bracket that closes the one at `at`; NULL: none does. */
static const char *bracket_end(const char *at)
{
	int depth = 0;

	while (*at) {
		depth += *at == '(';
		depth -= *at == ')';
		at = *at == '"' ? quote_end(at) : at + 1;
		if (!depth)
			return at;
	}
	return NULL;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void read_signature(const char *at, const char *end, struct signature *s)
{
	while (at < end && s->count < MAX_NAMES) {
		size_t len = strcspn(at, ",)");
		const char *last = at + len, *first;

		while (last > at && !is_word(last[-1]))
			last--;
		for (first = last; first > at && is_word(first[-1]);)
			first--;
		if (first > at)
			s->names[s->count].is_text =
				memmem(at, len, "char", 4) && memchr(at, '*', len);
		s->names[s->count].at = first;
		s->names[s->count++].len = (size_t)(last - first);
		at += len + 1;
	}
}

/* Names of bcc that are words of scripts. */
static const char *const renamed[][2] = {
	/* clang-format off */
	{"$pid",  "pid"},  {"$tgid", "pid"}, {"$tid", "tid"}, {"$uid", "uid"},
	{"$gid",  "gid"},  {"$cpu",  "cpu"}, {"$comm", "comm"}, {"$retval", "retval"},
	{"$PID",  "pid"},  {"$COMM", "comm"},
	/* clang-format on */
};

/* One name of an expression. */
static void put_name(const struct reading *r, const char *at, size_t len, FILE *out)
{
	long number;
	char digits[8] = "";

	for (size_t i = 0; i < sizeof(renamed) / sizeof(*renamed); i++)
		if (strlen(renamed[i][0]) == len && !strncmp(at, renamed[i][0], len)) {
			fputs(renamed[i][1], out);
			return;
		}
	for (unsigned i = 0; i < r->signature.count; i++)
		if (len && r->signature.names[i].len == len &&
		    !strncmp(r->signature.names[i].at, at, len)) {
			fprintf(out, r->signature.names[i].is_text ? "str(arg%u)" : "arg%u", i);
			return;
		}
	if (r->type && len > 3 && len < 3 + sizeof(digits) && !strncmp(at, "arg", 3)) {
		memcpy(digits, at + 3, len - 3);
		if (parse_number(digits, 1, &number)) {
			fprintf(out, "arg%ld", number - 1);
			return;
		}
	}
	fwrite(at, 1, len, out);
}

/* An expression of bcc up to `end`: names are changed, "@user" is left out, STRCMP(a, b) is a
 * comparison. */
static void put_expression(const struct reading *r, const char *at, const char *end, FILE *out)
{
	const char *first = at;

	while (at < end) {
		bool is_field = at > first + 1 && at[-1] == '>' && at[-2] == '-';
		size_t len = *at == '$';

		while (is_word(at[len]))
			len++;
		if (*at == '"') {
			len = (size_t)(quote_end(at) - at);
			fwrite(at, 1, len, out);
		} else if (!strncmp(at, "@user", 5)) {
			len = 5;
		} else if (len == 6 && !strncmp(at, "STRCMP", 6) && at[6] == '(' &&
			   strchr(at, ',') && bracket_end(at + 6)) {
			const char *comma = strchr(at, ','), *close = bracket_end(at + 6);

			fputs("(str(", out);
			put_expression(r, comma + 1 + strspn(comma + 1, " "), close - 1, out);
			fputs(") == ", out);
			fwrite(at + 7, 1, (size_t)(comma - at) - 7, out);
			fputs(")", out);
			len = (size_t)(close - at);
		} else if (len && !is_field) {
			put_name(r, at, len, out);
		} else {
			len = len ? len : 1;
			fwrite(at, 1, len, out);
		}
		at += len;
	}
}

static char *expression_text(const struct reading *r, const char *at, const char *end)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (out) {
		put_expression(r, at, end, out);
		fclose(out);
	}
	return text;
}

/* The end of the value at `at`: a comma outside of brackets, or `end`. */
static const char *value_end(const char *at, const char *end)
{
	int depth = 0;

	for (; at < end && !(*at == ',' && !depth); at++) {
		depth += *at == '(';
		depth -= *at == ')';
		if (*at == '"')
			at = quote_end(at) - 1;
	}
	return at;
}

/* The value of a conversion: the address of a text for %s, of code for %U and %K. */
static void put_value(const struct reading *r, char letter, const char *at, const char *end,
		      FILE *out)
{
	const char *call = letter == 'U' ? "usym" : letter == 'K' ? "ksym" : NULL;
	char *text = expression_text(r, at, end);

	if (!text)
		return;
	if (letter == 's' && strncmp(text, "str(", 4) != 0 && strcmp(text, "comm") != 0 &&
	    r->type && r->type != 't')
		call = "str";
	fprintf(out, call ? ", %s(%s)" : ", %s%s", call ? call : "", text);
	free(text);
}

/* "size = %llu", arg1 -> "size = %u", arg0 */
static char *read_format(const struct reading *r, const char *at)
{
	const char *end = quote_end(at), *value = end + strspn(end, ", ");
	char *text = NULL, *values = NULL;
	size_t len, values_len;
	FILE *out = open_memstream(&text, &len), *after = open_memstream(&values, &values_len);

	for (; out && after && at < end; at++) {
		fputc(*at, out);
		if (*at != '%' || at[1] == '%') {
			if (*at == '%')
				fputc(*++at, out);
			continue;
		}
		for (at++; strchr("0123456789.-+ #lh", *at) && *at; at++)
			if (*at != 'l' && *at != 'h')
				fputc(*at, out);
		fputc(*at == 'U' || *at == 'K' ? 's' : *at, out);
		if (*value) {
			const char *last = value_end(value, value + strlen(value));

			put_value(r, *at, value, last, after);
			value = last + strspn(last, ", ");
		}
	}
	if (after)
		fclose(after);
	if (out) {
		fputs(values ? values : "", out);
		fclose(out);
	}
	free(values);
	return text;
}

bool bcc_is_spec(const char *word)
{
	size_t head = strcspn(word, " \t(\"");
	const char *rest = word + head + strspn(word + head, " \t");

	if (!memchr(word, ':', head) || word[0] == '"' || word[0] == '%')
		return false;
	if (!strncmp(word, "c:", 2))
		return true;
	return !strncmp(word, "::", 2) || (word[head] && (*rest == '"' || *rest == '('));
}

/* "u:LIB:NAME", "LIB:NAME", "::NAME" -> the probe of a script. */
static int read_probe(struct reading *r, size_t len, char **out)
{
	const char *at = r->word, *colon = memchr(at, ':', len), *second;
	int made;

	if (!colon)
		return usage_error(
			r->command,
			"'%.*s' is not a probe: write LIBRARY:FUNCTION or u:LIBRARY:PROBE",
			(int)len, r->word);
	second = memchr(colon + 1, ':', (size_t)(at + len - colon - 1));
	r->type = 'p';
	if (second && colon > at)
		r->type = *at;
	if (!second && !r->is_function && !(colon == at + 1 && *at == 'c'))
		r->type = 0;
	if (second && (colon - at > 1 || !strchr("prtu", r->type)))
		r->type = 0; /* a probe in another form: as it is */
	if (second && r->type)
		at = colon + 1;
	if (r->type && strchr("pr", r->type) && *at == ':')
		return usage_error(r->command,
				   "'%.*s' is a function of the kernel, which is not traced: name "
				   "a library or program, as in c:malloc",
				   (int)len, r->word);
	len -= (size_t)(at - r->word);
	made = asprintf(out, "%s%.*s",
			r->type == 'u'	 ? (*at == ':' ? "usdt:*:*" : "usdt:")
			: r->type == 't' ? "tracepoint:"
			: r->type == 'r' ? "uretprobe:"
			: r->type == 'p' ? "uprobe:"
					 : "",
			(int)len, at);
	if (made >= 0)
		return 0;
	*out = NULL;
	return EXIT_FAILED;
}

/* The probe and the signature. *rest: what follows. */
static int read_head(struct reading *r, char **probe, const char **rest)
{
	size_t head = strcspn(r->word, " \t(\"");
	const char *at = r->word + head, *end;
	int code = read_probe(r, head, probe);

	if (!code && *at == '(') {
		end = bracket_end(at);
		if (!end)
			return usage_error(r->command, "'%s': the '(' is never closed", r->word);
		read_signature(at + 1, end - 1, &r->signature);
		at = end;
	}
	*rest = at + strspn(at, " \t");
	return code;
}

/* What pairs an entry with its return. */
static int refuse_pairs(const struct command *c, const char *word)
{
	if (!strstr(word, "$entry") && !strstr(word, "$latency"))
		return 0;
	return usage_error(c, "'%s': the time of a function is what nopal latency measures", word);
}

int bcc_read(const struct command *c, const char *word, bool is_function, struct bcc_spec *out)
{
	struct reading r = {.command = c, .word = word, .is_function = is_function};
	const char *rest, *end;
	int code = refuse_pairs(c, word);

	if (!code)
		code = read_head(&r, &out->probe, &rest);

	if (!code && *rest == '(') {
		end = bracket_end(rest);
		if (!end)
			return usage_error(c, "'%s': the '(' is never closed", word);
		out->filter = expression_text(&r, rest, end);
		rest = end + strspn(end, " \t");
	}
	if (!code && *rest == '"')
		out->format = read_format(&r, rest);
	else if (!code && *rest)
		code = usage_error(c, "'%s': expected (CONDITION) or \"FORMAT\" at '%s'", word,
				   rest);
	return code;
}

/* The end of a part between ':' outside of brackets and quotes. */
static const char *part_end(const char *at)
{
	int depth = 0;

	for (; *at && *at != '#' && !(*at == ':' && !depth); at++) {
		depth += *at == '(';
		depth -= *at == ')';
		if (*at == '"')
			at = quote_end(at) - 1;
	}
	return at;
}

/* "int,char*:n,s:n>1" after the probe; texts are of the type char*. */
static void read_expressions(struct reading *r, const char *at, struct bcc_spec *out)
{
	const char *types = at + 1, *types_end = part_end(types), *exprs, *exprs_end;
	char *text = NULL;
	size_t len;
	FILE *list = open_memstream(&text, &len);

	exprs = *types_end == ':' ? types_end + 1 : types_end;
	exprs_end = part_end(exprs);
	for (const char *e = exprs; list && e < exprs_end; e++) {
		const char *end = value_end(e, exprs_end), *type_end = value_end(types, types_end);
		bool is_text = memchr(types, '*', (size_t)(type_end - types));
		char *one = expression_text(r, e, end);

		if (one)
			fprintf(list, is_text && strncmp(one, "str(", 4) ? "%sstr(%s)" : "%s%s",
				e > exprs ? ", " : "", one);
		free(one);
		types = type_end < types_end ? type_end + 1 : type_end;
		e = end;
	}
	if (list)
		fclose(list);
	out->format = text;
	if (*exprs_end == ':')
		out->filter = expression_text(r, exprs_end + 1, part_end(exprs_end + 1));
}

int bcc_read_argdist(const struct command *c, const char *word, struct bcc_spec *out)
{
	struct reading r = {.command = c, .is_function = true};
	const char *end = word, *rest, *after;
	int code = refuse_pairs(c, word);
	char *head;

	/* The probe has two colons at most; a signature or a third one ends it. */
	for (unsigned colons = 0; *end && *end != '(' && *end != '#'; end++)
		if (*end == ':' && ++colons == 3)
			break;
	if (code)
		return code;
	head = strndup(word, *end == '(' && bracket_end(end) ? (size_t)(bracket_end(end) - word)
							     : (size_t)(end - word));
	if (!head)
		return EXIT_FAILED;
	rest = word + strlen(head);
	r.word = head;
	code = read_head(&r, &out->probe, &after);
	if (!code && *rest == ':')
		read_expressions(&r, rest, out);
	free(head);
	return code;
}

void bcc_free(struct bcc_spec *s)
{
	free(s->probe);
	free(s->filter);
	free(s->format);
	*s = (struct bcc_spec){.probe = NULL};
}
