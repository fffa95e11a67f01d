/* Writing a script and remembering where its pieces come from. */
#include "script_text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

void script_text_begin(struct script_text *t)
{
	*t = (struct script_text){.text = NULL};
	t->out = open_memstream(&t->text, &t->len);
	t->failed = !t->out;
}

void script_put(struct script_text *t, const char *format, ...)
{
	va_list args;

	if (!t->out)
		return;
	va_start(args, format);
	t->failed |= vfprintf(t->out, format, args) < 0;
	va_end(args);
}

static void add_origin(struct script_text *t, const char *word, size_t at, size_t len)
{
	struct nopal_origin *list = t->origins;
	struct nopal_origin *last = t->origin_count ? &list[t->origin_count - 1] : NULL;

	if (!fflush(t->out) && last && last->text == word && last->at + last->len == t->len &&
	    last->text_at + last->len == at) {
		last->len += len;
		return;
	}
	list = realloc(list, (t->origin_count + 1) * sizeof(*list));
	if (!list || fflush(t->out)) {
		t->failed = true;
		t->origins = list ? list : t->origins;
		return;
	}
	list[t->origin_count++] =
		(struct nopal_origin){.at = t->len, .len = len, .text = word, .text_at = at};
	t->origins = list;
}

void script_put_piece(struct script_text *t, const char *word, size_t at, size_t len)
{
	if (!t->out || !len)
		return;
	add_origin(t, word, at, len);
	t->failed |= fwrite(word + at, 1, len, t->out) != len;
}

void script_put_word(struct script_text *t, const char *word)
{
	script_put_piece(t, word, 0, strlen(word));
}

void script_put_literal(struct script_text *t, const char *word)
{
	size_t at = 0, len;

	script_put(t, "\"");
	for (; word[at]; at += len) {
		len = strcspn(word + at, "\"\\");
		script_put_piece(t, word, at, len);
		if (word[at + len]) {
			script_put(t, "\\%c", word[at + len]);
			len++;
		}
	}
	script_put(t, "\"");
}

static void close_text(struct script_text *t)
{
	if (t->out && fclose(t->out))
		t->failed = true;
	t->out = NULL;
}

const char *script_literal_end(const char *text)
{
	for (const char *at = text + 1; *at; at++) {
		if (*at == '\\' && at[1])
			at++;
		else if (*at == '"')
			return at;
	}
	return NULL;
}

bool script_text_end(struct script_text *t)
{
	close_text(t);
	if (t->failed)
		say_error("out of memory for the script");
	return !t->failed;
}

void script_text_free(struct script_text *t)
{
	close_text(t);
	free(t->text);
	free(t->origins);
	*t = (struct script_text){.text = NULL};
}
