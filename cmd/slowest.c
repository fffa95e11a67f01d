#include "slowest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cells.h"

#define OBJECT "{\"type\": \"slow\", \"ns\": "

void slowest_free(struct slowest *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->list[i].text);
	free(l->list);
	free(l->rest);
	*l = (struct slowest){.list = NULL};
}

/* ---- taking records */

static void insert(struct slowest *l, struct slow s)
{
	size_t at = l->count;

	if (l->count == l->most)
		free(l->list[--at].text);
	else
		l->count++;
	for (; at && l->list[at - 1].ns < s.ns; at--)
		l->list[at] = l->list[at - 1];
	l->list[at] = s;
}

/* One record, which ends in a NUL. */
static void take_record(struct slowest *l, const char *text)
{
	struct slow s = {.ns = 0};
	char *end;

	if (l->json && strncmp(text, OBJECT, strlen(OBJECT)))
		return;
	s.ns = strtoull(text + (l->json ? strlen(OBJECT) : 0), &end, 10);
	if (!l->list && l->most)
		l->list = calloc(l->most, sizeof(*l->list));
	if (!l->list || *end != (l->json ? ',' : '\t') ||
	    (l->count == l->most && s.ns <= l->list[l->count - 1].ns))
		return;
	s.text = strdup(l->json ? text : end + 1);
	if (s.text)
		insert(l, s);
}

void slowest_take(struct slowest *l, const char *text, size_t len)
{
	const char *mark = l->has_stack && !l->json ? "\n\n" : "\n";
	char *all = realloc(l->rest, l->rest_len + len + 1), *record = all, *end;

	if (!all)
		return;
	memcpy(all + l->rest_len, text, len);
	l->rest_len += len;
	all[l->rest_len] = '\0';
	while ((end = strstr(record, mark))) {
		*end = '\0';
		take_record(l, record);
		record = end + strlen(mark);
	}
	l->rest_len -= (size_t)(record - all);
	memmove(all, record, l->rest_len + 1);
	l->rest = all;
}

/* ---- printing them */

#define COLUMNS 5 /* and the stack */

/* The text up to the next tab, or to the end; *text moves after it. */
static char *next_field(const char **text)
{
	size_t len = strcspn(*text, "\t");
	char *field = strndup(*text, len);

	*text += len + ((*text)[len] != '\0');
	return field;
}

/* The frames of a stack, which follow the last tab, and the newline after it. */
static const char *stack_of(const struct slow *s)
{
	const char *tab = strrchr(s->text, '\t');

	return tab && tab[1] == '\n' ? tab + 2 : "";
}

/* The lines of the table, each row with its stack after it. */
static void print_with_stacks(const struct slowest *l, char *table, FILE *out)
{
	char *rest = table, *line = strsep(&rest, "\n");

	for (size_t i = 0; line; i++, line = strsep(&rest, "\n")) {
		const char *stack = i && i <= l->count ? stack_of(&l->list[i - 1]) : "";

		if (*line)
			fprintf(out, "%s\n%s%s", line, stack, *stack ? "\n" : "");
	}
}

static void print_table(const struct slowest *l, const struct nopal_look *look, FILE *out)
{
	static const struct nopal_column columns[COLUMNS] = {
		{"SLOWEST", true, 0}, {"PID", true, 2},	       {"TID", true, 3},
		{"COMM", false, 1},   {"ARGUMENTS", false, 0},
	};
	struct cells c = {.list = NULL};
	char *table = NULL;
	size_t len = 0;
	FILE *lines = open_memstream(&table, &len);

	for (size_t i = 0; i < l->count; i++) {
		const char *text = l->list[i].text;

		cells_add(&c, nopal_show_duration(l->list[i].ns));
		for (unsigned n = 1; n < COLUMNS; n++)
			cells_add(&c, next_field(&text));
	}
	cells_print(&c, columns, COLUMNS, look, lines ? lines : out);
	if (lines && !fclose(lines))
		print_with_stacks(l, table, out);
	free(table);
}

void slowest_print(const struct slowest *l, const struct nopal_look *look, FILE *out)
{
	for (size_t i = 0; l->json && i < l->count; i++)
		fprintf(out, "%s\n", l->list[i].text);
	if (!l->json && l->count)
		print_table(l, look, out);
}
