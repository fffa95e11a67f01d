/* Words -> probes, formats and values. */
#include "spec.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe_word.h"

/* "%s of %d" is one, "usdt:./a%20b:p:n" is a probe. */
static bool is_format(const char *word)
{
	if (probe_word_is_plain(word))
		return false;
	return word[0] == '"' || word[0] == '%' || (strchr(word, '%') && strchr(word, ' '));
}

/* How many values a format shows. */
static int count_values(const char *format)
{
	int count = 0;

	for (const char *at = format; (at = strchr(at, '%')); at++) {
		if (at[1] == '%')
			at++;
		else
			count++;
	}
	return count;
}

/* A format ends a spec. Returns the number of words it takes besides itself, or -1. */
static int take_format(const struct command *c, struct spec *s, char **words, int left)
{
	s->format = *words;
	if (s->format[0] == '"' && !script_literal_end(s->format)) {
		usage_error(c, "unterminated quote in the format %s", s->format);
		return -1;
	}
	if (s->format[0] == '"')
		return 0;
	s->values = words + 1;
	s->value_count = count_values(s->format);
	if (s->value_count <= left)
		return s->value_count;
	usage_error(c, "the format '%s' shows %d value%s, but only %d follow", s->format,
		    s->value_count, s->value_count == 1 ? "" : "s", left);
	return -1;
}

/* "args.query" or "arg0", which no file is called. */
static bool is_argument(const char *word)
{
	bool is_number =
		!strncmp(word, "arg", 3) && word[3] && !word[3 + strspn(word + 3, "0123456789")];

	return (is_number || !strncmp(word, "args.", 5)) && access(word, F_OK);
}

/* A spec of bcc's is a word. */
static int take_bcc(const struct command *c, struct spec *s, const char *word,
		    const struct bcc_reading *how)
{
	int code = bcc_read(c, word, how, &s->bcc);

	s->probes = &s->bcc.probe;
	s->probe_count = 1;
	s->format = s->bcc.format;
	return code ? -1 : 0;
}

/* A probe with the letter of its type, and no format of ours after it. */
static bool is_typed(const char *word, const char *next)
{
	return *word && strchr("purt", *word) && word[1] == ':' && strchr(word + 2, ':') &&
	       !(next && is_format(next));
}

static bool is_bcc(const struct bcc_reading *how, const char *word, const char *next)
{
	return !probe_word_is_plain(word) &&
	       (bcc_is_spec(word) || (how->is_trace && is_typed(word, next)));
}

int spec_read(const struct command *c, char **words, int count, const struct bcc_reading *how,
	      struct spec **out)
{
	/* One more than words, and each word of bcc's ends the spec before it. */
	struct spec *list = calloc((size_t)count + 2, sizeof(*list));
	int n = 0, taken;

	*out = list;
	for (int i = 0; list && i < count; i++) {
		if (is_bcc(how, words[i], i + 1 < count ? words[i + 1] : NULL)) {
			n += list[n].probe_count > 0;
			if (take_bcc(c, &list[n++], words[i], how))
				goto failed;
			continue;
		}
		if (!list[n].probe_count)
			list[n].probes = words + i;
		if (list[n].probe_count && is_argument(words[i])) {
			usage_error(c,
				    strcmp(c->name, "trace")
					    ? "'%s' is a value and not a probe: -k takes keys"
					    : "'%s' is a value: a format comes before it, such as "
					      "'%%s'",
				    words[i]);
			goto failed;
		}
		if (!is_format(words[i])) {
			list[n].probe_count++;
			continue;
		}
		if (!list[n].probe_count) {
			usage_error(c, "the format '%s' follows no probe", words[i]);
			goto failed;
		}
		taken = take_format(c, &list[n++], words + i, count - i - 1);
		if (taken < 0)
			goto failed;
		i += taken;
	}
	return list ? n + (list[n].probe_count > 0) : -1;
failed:
	spec_free(list, n);
	*out = NULL;
	return -1;
}

void spec_free(struct spec *list, int count)
{
	for (int i = 0; list && i < count; i++)
		bcc_free(&list[i].bcc);
	free(list);
}

void spec_write_probes(struct script_text *t, const struct spec *s, bool of_process)
{
	for (int i = 0; i < s->probe_count; i++) {
		script_put(t, "%s", i ? ",\n" : "");
		probe_word_write(t, s->probes[i], of_process);
	}
}

void spec_write_printf(struct script_text *t, const struct spec *s, const char *before,
		       const char *args)
{
	const char *format = s->format, *end;

	script_put(t, "\tprintf(\"%s", before);
	if (!format) {
		script_put(t, "%%s\\n\", %s, args);\n", args);
		return;
	}
	if (format[0] == '"') {
		end = script_literal_end(format);
		script_put_piece(t, format, 1, (size_t)(end - format) - 1);
		script_put(t, "\\n\", %s", args);
		script_put_piece(t, format, (size_t)(end - format) + 1, strlen(end + 1));
		script_put(t, ");\n");
		return;
	}
	for (size_t at = 0, len; format[at]; at += len) {
		len = strcspn(format + at, "\"");
		script_put_piece(t, format, at, len);
		if (format[at + len]) {
			script_put(t, "\\\"");
			len++;
		}
	}
	script_put(t, "\\n\", %s", args);
	for (int i = 0; i < s->value_count; i++) {
		script_put(t, ", ");
		script_put_word(t, s->values[i]);
	}
	script_put(t, ");\n");
}

const char *text_until(const char *at, const char *stops)
{
	int depth = 0;

	for (; *at && !(depth <= 0 && strchr(stops, *at)); at++) {
		depth += *at == '(' || *at == '[' || *at == '{';
		depth -= *at == ')' || *at == ']' || *at == '}';
		if (*at == '"' && script_literal_end(at))
			at = script_literal_end(at);
	}
	return at;
}

/* "args.word" as it is, "str(arg0)" as "args.str_arg0": a name without blanks and quotes. */
static void put_name(struct script_text *t, const char *value, size_t len)
{
	bool gap = false, any = false;

	if (len > 5 && !strncmp(value, "args.", 5)) {
		value += 5;
		len -= 5;
	}
	script_put(t, "args.");
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)value[i]) && value[i] != '_') {
			gap = true;
			continue;
		}
		script_put(t, "%s%c", gap && any ? "_" : "", value[i]);
		gap = false;
		any = true;
	}
}

/* What follows the format in a word: ", a, b". */
static const char *literal_values(const struct spec *s)
{
	const char *at = script_literal_end(s->format) + 1;

	return at + strspn(at, ", ");
}

void spec_write_names(struct script_text *t, const struct spec *s)
{
	bool any = false;

	if (!s->format)
		script_put(t, "args");
	for (int i = 0; s->format && i < s->value_count; i++) {
		script_put(t, i ? " " : "");
		put_name(t, s->values[i], strlen(s->values[i]));
	}
	if (!s->format || s->format[0] != '"')
		return;
	for (const char *at = literal_values(s); *at; at += strspn(at, ", ")) {
		size_t len = (size_t)(text_until(at, ",") - at);

		script_put(t, any ? " " : "");
		put_name(t, at, len);
		any = true;
		at += len;
	}
}

void spec_write_values(struct script_text *t, const struct spec *s)
{
	const char *values;

	if (!s->format)
		script_put(t, ", args");
	for (int i = 0; s->format && i < s->value_count; i++) {
		script_put(t, ", ");
		script_put_word(t, s->values[i]);
	}
	if (!s->format || s->format[0] != '"')
		return;
	values = literal_values(s);
	script_put(t, *values ? ", " : "");
	script_put_piece(t, s->format, (size_t)(values - s->format), strlen(values));
}
