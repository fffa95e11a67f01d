/* Words of bcc's trace and argdist: a probe, a condition, and what is shown. */
#include "bcc/expression.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool bcc_is_spec(const char *word)
{
	size_t head = strcspn(word, " \t(\"");
	const char *rest = word + head + strspn(word + head, " \t");

	if (!head || word[0] == '"' || word[0] == '%' || (*rest != '"' && *rest != '('))
		return !strncmp(word, "c:", 2) || !strncmp(word, "::", 2);
	if (!memchr(word, ':', head)) /* a function of the kernel */
		return head == strspn(word, "abcdefghijklmnopqrstuvwxyz_0123456789+x");
	return true;
}

void bcc_free(struct bcc_spec *s)
{
	free(s->probe);
	free(s->filter);
	free(s->format);
	free(s->function);
	free(s->texts);
	*s = (struct bcc_spec){.probe = NULL};
}

/* ---- trace */

/* A conversion is one of these, after flags and a width. */
static const struct {
	const char *letters, *type, *shown;
} conversions[] = {
	/* clang-format off */
	{"s",   "char *", "s"}, {"u",  "u32", "u"}, {"d",   "int", "d"},
	{"lu",  "u64",    "u"}, {"ld", "s64", "d"}, {"llu", "u64", "u"}, {"lld", "s64", "d"},
	{"hu",  "u16",    "u"}, {"hd", "s16", "d"}, {"x",   "u32", "x"}, {"lx",  "u64", "x"},
	{"llx", "u64",    "x"}, {"c",  "char", "c"}, {"K",  "", "s"},    {"U",   "", "s"},
	/* clang-format on */
};

/* While a format is read: the one of printf(), and the values. */
struct format {
	struct bcc_text *text;
	FILE *out, *values, *texts;
	bool any_text;
};

/* The value at `at` as what the conversion shows. */
static void put_value(struct format *f, size_t conversion, const char *at, const char *end)
{
	const char *letters = conversions[conversion].letters;
	const char *type = conversions[conversion].type;
	char *value = bcc_expression(f->text, at, end), *cast = NULL;
	bool is_text = *letters == 's' && f->text->type && f->text->type != 't' && value &&
		       strcmp(value, "comm") != 0 && strncmp(value, "str(", 4) != 0;

	if (value && (*letters == 'U' || *letters == 'K'))
		fprintf(f->values, ", %s(%s)", *letters == 'U' ? "usym" : "ksym", value);
	else if (value && f->text->type && (is_text || *letters != 's'))
		cast = bcc_cast(f->text, value, type, strlen(type));
	if (cast)
		fprintf(f->values, ", %s", cast);
	else if (value && *letters != 'U' && *letters != 'K')
		fprintf(f->values, ", %s", value);
	if (value && *letters == 's') {
		fprintf(f->texts, "%s%s", f->any_text ? ", " : "", cast ? cast : value);
		f->any_text = true;
	}
	free(value);
	free(cast);
}

/* The conversion at `at`, after its flags and width; COUNT: none of bcc's. */
static size_t find_conversion(const char *at, size_t *len)
{
	size_t best = 0, found = sizeof(conversions) / sizeof(*conversions);

	for (size_t i = 0; i < sizeof(conversions) / sizeof(*conversions); i++) {
		size_t n = strlen(conversions[i].letters);

		if (n > best && !strncmp(at, conversions[i].letters, n)) {
			best = n;
			found = i;
		}
	}
	*len = best;
	return found;
}

/* "size = %llu", arg1 -> "size = %u", (uint64)(arg0) */
static void read_format(struct format *f, const char *at)
{
	const char *end = bcc_quote_end(at), *value = end + strspn(end, ", ");

	while (at < end) {
		size_t flags, len, conversion;

		if (*at != '%' || at[1] == '%') {
			fwrite(at, 1, *at == '%' ? 2 : 1, f->out);
			at += *at == '%' ? 2 : 1;
			continue;
		}
		flags = 1 + strspn(at + 1, "0123456789.-+ #");
		conversion = find_conversion(at + flags, &len);
		fwrite(at, 1, flags, f->out);
		at += flags;
		if (!len)
			continue;
		fputs(conversions[conversion].shown, f->out);
		at += len;
		if (*value) {
			const char *last = bcc_value_end(value, value + strlen(value));

			put_value(f, conversion, value, last);
			value = last + strspn(last, ", ");
		}
	}
}

/* The format, and then its values. */
static int take_format(struct bcc_text *t, const char *at, struct bcc_spec *out)
{
	char *text = NULL, *values = NULL, *texts = NULL;
	size_t len, values_len, texts_len;
	struct format f = {.text = t,
			   .out = open_memstream(&text, &len),
			   .values = open_memstream(&values, &values_len),
			   .texts = open_memstream(&texts, &texts_len)};
	int made = -1;

	if (f.out && f.values && f.texts)
		read_format(&f, at);
	if (f.out)
		fclose(f.out);
	if (f.values)
		fclose(f.values);
	if (f.texts)
		fclose(f.texts);
	if (text && values && texts)
		made = asprintf(&out->format, "%s%s", text, values);
	if (f.any_text)
		out->texts = texts;
	else
		free(texts);
	if (made < 0)
		out->format = NULL;
	free(values);
	free(text);
	return made < 0 ? EXIT_FAILED : 0;
}

int bcc_read(const struct command *c, const char *word, const struct bcc_reading *how,
	     struct bcc_spec *out)
{
	struct bcc_text t = {.command = c, .word = word, .how = how};
	const char *rest = NULL, *end;
	int code = bcc_read_head(&t, out, &rest);

	if (!code && *rest == '(') {
		end = bcc_bracket_end(rest);
		if (!end)
			return usage_error(c, "'%s': the '(' is never closed", word);
		out->filter = bcc_expression(&t, rest, end);
		rest = end + strspn(end, " \t");
	}
	if (!code && *rest == '"' && !bcc_quote_closes(rest))
		code = usage_error(c, "'%s': the quote is never closed", word);
	else if (!code && *rest == '"')
		code = take_format(&t, rest, out);
	else if (!code && *rest)
		code = usage_error(c, "'%s': expected (CONDITION) or \"FORMAT\" at '%s'", word,
				   rest);
	return !code && t.is_wrong ? EXIT_USAGE : code;
}

/* ---- argdist */

void bcc_argdist_free(struct bcc_argdist *a)
{
	bcc_free(&a->at);
	for (unsigned i = 0; i < a->count; i++)
		free(a->names[i]);
	free(a->values);
	free(a->entry);
	free(a->kept);
	free(a->kept_cleared);
	*a = (struct bcc_argdist){.values = NULL};
}

/* The end of a part between ':' outside of brackets and quotes. */
static const char *part_end(const char *at)
{
	int depth = 0;

	for (; *at && *at != '#' && !(*at == ':' && depth <= 0); at++) {
		depth += *at == '(';
		depth -= *at == ')';
		if (*at == '"')
			at = bcc_quote_end(at) - 1;
	}
	return at;
}

/* As it was typed; "$entry(size)" is shown as "size". */
static char *shown_name(const char *at, const char *end)
{
	char *name = strndup(at, (size_t)(end - at)), *entry;

	while (name && (entry = strstr(name, "$entry("))) {
		char *close = strchr(entry, ')');

		if (!close)
			break;
		memmove(close, close + 1, strlen(close));
		memmove(entry, entry + 7, strlen(entry + 7) + 1);
	}
	return name;
}

/* "int,char*:n,s": each expression with its type. */
static int read_values(struct bcc_text *t, const char *types, const char *at,
		       struct bcc_argdist *out)
{
	const char *types_end = part_end(types), *end = part_end(at), *next, *type_end;
	char *text = NULL;
	size_t len;
	FILE *list = open_memstream(&text, &len);

	for (; list && at < end && out->count < BCC_VALUES; at = next + (next < end)) {
		char *value, *cast = NULL;

		at += strspn(at, " ");
		next = bcc_value_end(at, end);
		type_end = bcc_value_end(types, types_end);
		value = bcc_expression(t, at, next);
		if (value)
			cast = bcc_cast(t, value, types, (size_t)(type_end - types));
		fprintf(list, "%s%s", out->count ? ", " : "", cast ? cast : "");
		out->names[out->count++] = shown_name(at, next);
		types = type_end < types_end ? type_end + 1 : type_end;
		types += strspn(types, " ");
		free(value);
		free(cast);
	}
	if (list)
		fclose(list);
	out->values = text;
	if (at < end)
		return usage_error(t->command, "'%s' has too many expressions: the limit is %d",
				   t->word, BCC_VALUES);
	return text ? 0 : EXIT_FAILED;
}

/* A parameter as a number of its type; of a text, the address. */
static void put_kept(const struct bcc_text *t, int index, FILE *out)
{
	const struct bcc_name *n = &t->names[index];
	size_t len = n->type_len;
	char argument[8], *cast = NULL;

	while (len && n->type[len - 1] == ' ')
		len--;
	snprintf(argument, sizeof(argument), "arg%d", index);
	if (!memchr(n->type, '*', len))
		cast = bcc_cast(t, argument, n->type, len);
	fprintf(out, " @%c_%s[tid] = %s;", t->map, argument, cast ? cast : argument);
	free(cast);
}

/* What the start of the function keeps for its end. */
static int write_entry(const struct bcc_text *t, struct bcc_argdist *out)
{
	size_t len, cleared_len;
	FILE *kept = open_memstream(&out->kept, &len);
	FILE *cleared = open_memstream(&out->kept_cleared, &cleared_len);

	if (kept && cleared) {
		fprintf(kept, "@%c_start[tid] = nsecs;", t->map);
		fprintf(cleared, "delete(@%c_start[tid]);", t->map);
	}
	for (int i = 0; kept && cleared && i < BCC_NAMES; i++) {
		if (!(t->kept & 1u << i))
			continue;
		put_kept(t, i, kept);
		fprintf(cleared, " delete(@%c_arg%d[tid]);", t->map, i);
	}
	if (kept)
		fclose(kept);
	if (cleared)
		fclose(cleared);
	if (asprintf(&out->entry, "uprobe:%s", out->at.probe + strlen("uretprobe:")) < 0)
		out->entry = NULL;
	return out->kept && out->kept_cleared && out->entry ? 0 : EXIT_FAILED;
}

/* "TYPES:EXPRESSIONS:CONDITION#LABEL" after the probe. */
static int read_parts(struct bcc_text *t, const char *at, struct bcc_argdist *out)
{
	const char *expressions, *condition, *hash = strrchr(at, '#');
	int code = 0;

	if (*at == ':') {
		expressions = part_end(at + 1);
		if (*expressions != ':')
			return usage_error(t->command,
					   "'%s' has a type and no expression: write "
					   "PROBE(SIGNATURE):TYPES:EXPRESSIONS",
					   t->word);
		code = read_values(t, at + 1, expressions + 1, out);
		condition = part_end(expressions + 1);
		if (!code && *condition == ':')
			out->at.filter = bcc_expression(t, condition + 1, part_end(condition + 1));
	}
	out->label = hash ? hash + 1 : NULL;
	if (!code && t->kept >> BCC_NAMES)
		code = usage_error(t->command, "'%s': $entry() names a parameter of the signature",
				   t->word);
	if (!code && t->has_entry && t->type != 'r')
		code = usage_error(t->command,
				   "'%s': $entry() and $latency are for the return of a "
				   "function: write r:LIBRARY:FUNCTION(...)",
				   t->word);
	if (!code && t->is_wrong)
		return EXIT_USAGE;
	return !code && t->has_entry ? write_entry(t, out) : code;
}

int bcc_read_argdist(const struct command *c, const char *word, const struct bcc_reading *how,
		     char map, struct bcc_argdist *out)
{
	struct bcc_text t = {.command = c, .how = how, .map = map};
	const char *end = word, *after;
	char *head;
	int code;

	/* The probe has two colons at most; a signature or a third one ends it. */
	for (unsigned colons = 0; *end && *end != '(' && *end != '#'; end++)
		if (*end == ':' && ++colons == 3)
			break;
	if (*end == '(' && bcc_bracket_end(end))
		end = bcc_bracket_end(end);
	head = strndup(word, (size_t)(end - word));
	if (!head)
		return EXIT_FAILED;
	t.word = head;
	code = bcc_read_head(&t, &out->at, &after);
	t.word = word;
	if (!code && !t.type)
		code = usage_error(c, "'%s': begin with p:, r:, t: or u:", word);
	if (!code && *end && *end != ':' && *end != '#')
		code = usage_error(c, "'%s': expected ':' at '%s'", word, end);
	if (!code)
		code = read_parts(&t, end, out);
	/* Names of the signature are pieces of `head`. */
	free(head);
	return code;
}
