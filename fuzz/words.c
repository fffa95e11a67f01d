/* Fuzz the words of command lines: probes, formats and values of nopal trace, and words of bcc.
 * Words are lines; the first byte says who reads them. No crash, a message where nothing is made,
 * and pieces of words are where the script says that they are. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cmd/bcc/word.h"
#include "../cmd/bcc/trace.h"
#include "../cmd/options.h"
#include "../cmd/probe_word.h"
#include "../cmd/spec.h"

#define MOST 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct command command = {.name = "trace", .self = "nopal trace"};
static unsigned messages;

/* Of command.c, which would print. */
int usage_error(const struct command *c, const char *format, ...)
{
	char text[256];
	va_list args;

	(void)c;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	messages++;
	return EXIT_USAGE;
}

void say_error(const char *format, ...)
{
	(void)format;
	messages++;
}

bool parse_number(const char *text, long low, long *out)
{
	char *end;

	*out = strtol(text, &end, 10);
	return end != text && !*end && *out >= low;
}

/* Of options.c, for words that are no options. */
const char *take_line(void *at, const struct option *o, const char *value)
{
	(void)at;
	(void)o;
	return value;
}

/* Every piece that the script says is one of a word is. */
static void check_origins(const struct script_text *t)
{
	for (size_t i = 0; i < t->origin_count; i++) {
		const struct nopal_origin *o = &t->origins[i];

		if (o->at + o->len > t->len || o->text_at + o->len > strlen(o->text) ||
		    memcmp(t->text + o->at, o->text + o->text_at, o->len))
			abort();
	}
}

static void write_spec(const struct spec *s, const struct bcc_columns *columns)
{
	struct script_text t;
	const char *filter;

	script_text_begin(&t);
	spec_write_probes(&t, s, false);
	spec_write_printf(&t, s, "%s ", "comm");
	spec_write_names(&t, s);
	spec_write_values(&t, s);
	if (s->bcc.type) {
		bcc_trace_write(&t, columns, s);
		bcc_trace_filter(&command, columns, s, &filter);
	}
	if (script_text_end(&t))
		check_origins(&t);
	script_text_free(&t);
}

static void read_specs(char **words, int count, unsigned mode)
{
	const struct bcc_reading how = {.is_trace = mode & 1,
					.text_size = mode & 2 ? 9 : 0,
					.is_binary = mode & 4,
					.contains = "x"};
	const struct bcc_columns columns = {
		.clock = mode & 4, .user_stack = mode & 8, .filter = "x"};
	unsigned before = messages;
	struct spec *list = NULL;
	char header[BCC_HEADER];
	int n = spec_read(&command, words, count, &how, &list);

	if (n < 0 && messages == before)
		abort();
	for (int i = 0; i < n; i++)
		write_spec(&list[i], &columns);
	if (n > 0)
		bcc_trace_header(&columns, list, n, header);
	spec_free(list, n);
}

static void read_argdist(const char *word, unsigned mode)
{
	const struct bcc_reading how = {.is_function = true, .text_size = mode & 2 ? 9 : 0};
	struct bcc_argdist a = {.values = NULL};
	unsigned before = messages;

	if (bcc_read_argdist(&command, word, &how, 'a', &a) && messages == before)
		abort();
	bcc_argdist_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = size ? strndup((const char *)data + 1, size - 1) : NULL, *rest = text;
	char *words[MOST + 1] = {NULL};
	int count = 0;

	while (rest && count < MOST)
		words[count++] = strsep(&rest, "\n");
	if (size && data[0] & 0x80)
		for (int i = 0; i < count; i++)
			read_argdist(words[i], data[0]);
	else if (size)
		read_specs(words, count, data[0]);
	free(text);
	return 0;
}
