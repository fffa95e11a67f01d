/* Tables: cells are collected, then columns are made as wide as what is in them. If that is too
 * wide, columns are left out and texts are cut. */
#include "report/draw.h"

#define GAP 2 /* blanks between columns */

/* A newline or a tab is shown as a blank: a cell is one line. */
void columns_add(struct columns *c, struct str cell)
{
	while (cell.len) {
		size_t len = 0;

		while (len < cell.len && !strchr("\n\t\r", cell.ptr[len]))
			len++;
		buf_escaped(&c->text, str_of(cell.ptr, len));
		if (len < cell.len)
			buf_char(&c->text, ' ');
		len += len < cell.len;
		cell = str_of(cell.ptr + len, cell.len - len);
	}
	buf_char(&c->text, '\0');
	c->cells++;
}

void columns_free(struct columns *c)
{
	buf_free(&c->text);
	c->cells = 0;
}

#define COLUMNS_MOST 16

/* How wide each column is; 0: left out. */
struct column_layout {
	size_t widths[COLUMNS_MOST];
	unsigned last; /* the last one that is shown */
};

static void measure_columns(const struct columns *c, struct column_layout *l)
{
	const char *cell = c->text.ptr;

	for (unsigned i = 0; i < c->count; i++)
		l->widths[i] = strlen(c->columns[i].title);
	for (size_t i = 0; i < c->cells; i++) {
		size_t *width = &l->widths[i % c->count], own = draw_width(str_from(cell));

		*width = own > *width ? own : *width;
		cell += strlen(cell) + 1;
	}
}

/* No column of text is made narrower than this to keep other columns: two statements of SQL must
 * look different. */
static size_t least_text(size_t width)
{
	return width < 40 ? 12 : width * 35 / 100;
}

/* With texts as they are, but at most so wide. */
static size_t total_width(const struct columns *c, const struct column_layout *l, size_t text)
{
	size_t total = 0;

	for (unsigned i = 0; i < c->count; i++) {
		size_t width = l->widths[i];

		if (!c->columns[i].is_number && width > text)
			width = text;
		total += width ? width + GAP : 0;
	}
	return total > GAP ? total - GAP : 0;
}

static bool drop_column(const struct columns *c, struct column_layout *l)
{
	unsigned worst = COLUMNS_MOST;

	for (unsigned i = 0; i < c->count; i++)
		if (l->widths[i] && c->columns[i].drop &&
		    (worst == COLUMNS_MOST || c->columns[i].drop > c->columns[worst].drop))
			worst = i;
	if (worst == COLUMNS_MOST)
		return false;
	l->widths[worst] = 0;
	return true;
}

/* Make the widest text narrower until all fits. */
static void shrink_columns(const struct columns *c, struct column_layout *l, size_t width)
{
	size_t total;

	while ((total = total_width(c, l, SIZE_MAX)) > width) {
		unsigned widest = COLUMNS_MOST;

		for (unsigned i = 0; i < c->count; i++)
			if (!c->columns[i].is_number && l->widths[i] > 3 &&
			    (widest == COLUMNS_MOST || l->widths[i] > l->widths[widest]))
				widest = i;
		if (widest == COLUMNS_MOST)
			return;
		l->widths[widest]--;
	}
}

static void add_cell(const struct columns *c, const struct column_layout *l, unsigned i,
		     struct str text, const struct nopal_look *look, struct buf *out)
{
	size_t width, most = l->widths[i], len;

	if (!most)
		return;
	if (draw_width(text) > most) {
		len = draw_fit(text, most - (look->utf8 ? 1 : 2), &width);
		buf_add(out, text.ptr, len);
		buf_text(out, look->utf8 ? "…" : "..");
		width += look->utf8 ? 1 : 2;
	} else {
		width = draw_width(text);
		if (c->columns[i].is_number)
			buf_fill(out, ' ', most - width);
		buf_str(out, text);
		if (c->columns[i].is_number)
			width = most;
	}
	if (i != l->last)
		buf_fill(out, ' ', most - width + GAP);
}

/* Which columns had no room. */
static void say_dropped(const struct columns *c, const struct column_layout *l,
			const struct nopal_look *look, struct buf *out)
{
	bool any = false;

	for (unsigned i = 0; i < c->count; i++) {
		if (l->widths[i] || !*c->columns[i].title)
			continue;
		if (any)
			buf_text(out, ", ");
		else
			buf_printf(out, "without room in %u columns: ", look->width);
		buf_text(out, c->columns[i].title);
		any = true;
	}
	buf_text(out, any ? "\n" : "");
}

void columns_print(const struct columns *c, const struct nopal_look *look, struct buf *out)
{
	struct column_layout l = {.last = 0};
	const char *cell = c->text.ptr;

	out->failed |= c->text.failed;
	if (!c->count || c->count > COLUMNS_MOST || c->text.failed)
		return;
	measure_columns(c, &l);
	while (total_width(c, &l, least_text(look->width)) > look->width && drop_column(c, &l))
		;
	shrink_columns(c, &l, look->width);
	for (unsigned i = 0; i < c->count; i++)
		l.last = l.widths[i] ? i : l.last;
	buf_text(out, look->color ? "\033[1m" : "");
	for (unsigned i = 0; i < c->count; i++)
		add_cell(c, &l, i, str_from(c->columns[i].title), look, out);
	buf_text(out, look->color ? "\033[0m\n" : "\n");
	for (size_t n = 0; n < c->cells; n++) {
		unsigned i = (unsigned)(n % c->count);

		add_cell(c, &l, i, str_from(cell), look, out);
		cell += strlen(cell) + 1;
		if (i + 1 == c->count)
			buf_char(out, '\n');
	}
	if (!look->is_screen)
		say_dropped(c, &l, look, out);
}
