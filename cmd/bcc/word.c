/* Words of bcc's trace and argdist: a probe, a condition, and what is shown. */
#include "bcc/expression.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec.h"

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
	free(s->contains);
	*s = (struct bcc_spec){.probe = NULL};
}

/* ---- trace */

/* What a format becomes. */
struct format {
	struct bcc_text *text;
	struct script_text format, values, contains;
	bool any_text;
};

/* A value as what the conversion shows: "lld", "s", "U". */
static void put_value(struct format *f, const char *conversion, const char *value)
{
	const struct bcc_text *t = f->text;
	char letter = conversion[strspn(conversion, "lh")], number[8];
	bool is_text = t->type != 't' && strcmp(value, "comm") != 0 && strncmp(value, "str(", 4);
	int bits = *conversion == 'l' ? 64 : *conversion == 'h' ? 16 : 32;
	const char *type = letter == 's' ? "char *" : letter == 'c' ? "char" : number;
	struct script_text shown;

	snprintf(number, sizeof(number), "%c%d", letter == 'd' ? 's' : 'u', bits);
	script_text_begin(&shown);
	if (letter == 'U' || letter == 'K')
		script_put(&shown, "%csym(%s)", letter == 'U' ? 'u' : 'k', value);
	else if (!t->type || (letter == 's' && !is_text))
		script_put(&shown, "%s", value);
	else
		bcc_put_value(&shown, t, value, type, strlen(type));
	script_text_end(&shown);
	script_put(&f->values, ", %s", shown.text);
	if (letter == 's' && t->how->contains)
		script_put(&f->contains, "%sstrcontains(%s, \"%s\")", f->any_text ? " || " : "",
			   shown.text, t->how->contains);
	f->any_text |= letter == 's' && t->how->contains;
	script_text_free(&shown);
}

/* "size = %llu", arg1 -> "size = %llu", (uint64)(arg0) */
static void read_format(struct format *f, const char *at)
{
	const char *end = script_literal_end(at) + 1, *value = end + strspn(end, ", "), *last;
	char *text;

	while (at < end) {
		size_t len = *at == '%' ? 1 + strspn(at + 1, "0123456789.-+ #") : strcspn(at, "%");
		const char *conversion = at + len;
		char letter = *at == '%' ? conversion[strspn(conversion, "lh")] : '\0';

		len = conversion < end ? len : (size_t)(end - at);
		script_put(&f->format, "%.*s", (int)len, at);
		at += len;
		if (!letter || !strchr("%sduxcKU", letter))
			continue;
		len = strspn(at, "lh");
		script_put(&f->format, "%.*s%c", (int)len, at,
			   letter == 'K' || letter == 'U' ? 's' : letter);
		at += len + 1;
		if (letter == '%' || !*value)
			continue;
		last = text_until(value, ",");
		text = bcc_expression(f->text, value, last);
		put_value(f, conversion, text ? text : "");
		free(text);
		value = last + strspn(last, ", ");
	}
}

/* The format, and then its values. */
static void take_format(struct bcc_text *t, const char *at, struct bcc_spec *out)
{
	struct format f = {.text = t};

	script_text_begin(&f.format);
	script_text_begin(&f.values);
	script_text_begin(&f.contains);
	read_format(&f, at);
	script_text_end(&f.values);
	script_put(&f.format, "%s", f.values.text);
	script_text_end(&f.format);
	script_text_end(&f.contains);
	out->format = f.format.text;
	script_text_free(&f.values);
	if (!f.any_text)
		script_text_free(&f.contains);
	out->contains = f.contains.text;
}

int bcc_read(const struct command *c, const char *word, const struct bcc_reading *how,
	     struct bcc_spec *out)
{
	struct bcc_text t = {.command = c, .word = word, .how = how};
	const char *rest = NULL, *end;
	int code = bcc_read_head(&t, strcspn(word, " \t(\""), out, &rest);

	if (!code && *rest == '(') {
		end = text_until(rest + 1, ")");
		if (!*end)
			return usage_error(c, "'%s': the '(' is never closed", word);
		out->filter = bcc_expression(&t, rest, end + 1);
		rest = end + 1 + strspn(end + 1, " \t");
	}
	if (!code && *rest == '"' && !script_literal_end(rest))
		code = usage_error(c, "'%s': the quote is never closed", word);
	else if (!code && *rest == '"')
		take_format(&t, rest, out);
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
	free(a->kept);
	*a = (struct bcc_argdist){.values = NULL};
}

/* As it was typed; "$entry(size)" is shown as "size". */
static char *shown_name(const char *at, const char *end)
{
	struct script_text name;
	bool is_entry = false;

	script_text_begin(&name);
	for (; at < end; at++) {
		if (!strncmp(at, "$entry(", 7)) {
			is_entry = true;
			at += 6;
		} else if (is_entry && *at == ')') {
			is_entry = false;
		} else {
			script_put(&name, "%c", *at);
		}
	}
	script_text_end(&name);
	return name.text;
}

/* "int,char*:n,s": each expression with its type. */
static int read_values(struct bcc_text *t, const char *types, const char *at,
		       struct bcc_argdist *out)
{
	struct script_text list;

	script_text_begin(&list);
	while (*at && !strchr(":#", *at) && out->count < BCC_VALUES) {
		const char *end = text_until(at += strspn(at, " "), ",:#");
		const char *type_end = text_until(types += strspn(types, " "), ",:#");
		char *value = bcc_expression(t, at, end);

		script_put(&list, out->count ? ", " : "");
		bcc_put_value(&list, t, value ? value : "", types, (size_t)(type_end - types));
		out->names[out->count++] = shown_name(at, end);
		types = type_end + (*type_end == ',');
		at = end + (*end == ',');
		free(value);
	}
	script_text_end(&list);
	out->values = list.text;
	if (*at && !strchr(":#", *at))
		return usage_error(t->command, "'%s' has too many expressions: the limit is %d",
				   t->word, BCC_VALUES);
	return 0;
}

/* "TYPES:EXPRESSIONS:CONDITION#LABEL" after the probe. */
static int read_parts(struct bcc_text *t, const char *at, struct bcc_argdist *out)
{
	const char *expressions = text_until(at + (*at == ':'), ":#");
	const char *hash = strrchr(at, '#'), *condition;
	int code = 0;

	out->label = hash ? hash + 1 : NULL;
	if (*at == ':' && *expressions != ':')
		return usage_error(t->command,
				   "'%s' has a type and no expression: write "
				   "PROBE(SIGNATURE):TYPES:EXPRESSIONS",
				   t->word);
	if (*at == ':') {
		code = read_values(t, at + 1, expressions + 1, out);
		condition = text_until(expressions + 1, ":#");
		if (!code && *condition == ':')
			out->at.filter =
				bcc_expression(t, condition + 1, text_until(condition + 1, ":#"));
	}
	if (!code && t->kept_count && t->type != 'r')
		return usage_error(t->command,
				   "'%s': $entry() and $latency are for the return of a function: "
				   "write r:LIBRARY:FUNCTION(...)",
				   t->word);
	return !code && t->is_wrong ? EXIT_USAGE : code;
}

int bcc_read_argdist(const struct command *c, const char *word, const struct bcc_reading *how,
		     char map, struct bcc_argdist *out)
{
	struct bcc_text t = {.command = c, .word = word, .how = how, .map = map};
	const char *end = word, *rest;
	int code;

	/* The probe has two colons at most; a signature or a third one ends it. */
	for (unsigned colons = 0; *end && *end != '(' && *end != '#'; end++)
		if (*end == ':' && ++colons == 3)
			break;
	code = bcc_read_head(&t, (size_t)(end - word), &out->at, &rest);
	if (!code && !t.type)
		code = usage_error(c, "'%s': begin with p:, r:, t: or u:", word);
	if (!code && *rest && *rest != ':' && *rest != '#')
		code = usage_error(c, "'%s': expected ':' at '%s'", word, rest);
	script_text_begin(&t.kept);
	script_put(&t.kept, "(nsecs");
	if (!code)
		code = read_parts(&t, rest, out);
	script_put(&t.kept, ")");
	script_text_end(&t.kept);
	if (!t.kept_count)
		script_text_free(&t.kept);
	out->kept = t.kept.text;
	return code;
}
