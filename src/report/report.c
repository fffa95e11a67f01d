/* A report: a program's formats, made ready once, and its maps as they are printed. Records are
 * event.c's, messages about the tracing notice.c's. */
#include <errno.h>
#include <stdlib.h>

#include "report/inside.h"
#include "report/moment.h"
#include "report/table.h"

static bool has_pieces(const struct format *f)
{
	return f->kind == FORMAT_PRINTF || f->kind == FORMAT_CAT || f->kind == FORMAT_SYSTEM;
}

/* Those from number `from` on. */
static int compile_formats(struct report *r, const struct program *p, uint32_t from)
{
	struct pieces *pieces = arena_array(&r->arena, struct pieces, p->format_count + 1);
	int err = 0;

	if (!pieces)
		return -ENOMEM;
	if (from)
		memcpy(pieces, r->pieces, from * sizeof(*pieces));
	for (uint32_t i = from; i < p->format_count && !err; i++)
		if (has_pieces(&p->formats[i]))
			err = pieces_compile(&p->formats[i], &r->arena, &pieces[i]);
	if (!err)
		r->pieces = pieces;
	return err;
}

int report_new(const struct program *p, const struct report_options *options,
	       struct symbols *symbols, struct report **out)
{
	struct report *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->program = p;
	r->style = options->style;
	r->unsafe = options->unsafe;
	r->stop_fd = options->stop_fd;
	r->raw = (struct renderer){
		.program = p,
		.names = p->names,
		.name_count = p->name_count,
		.symbols = symbols,
		.trunc_trailer = options->trunc_trailer,
		.wall_offset = moment_wall_offset(),
	};
	r->renderer = r->raw;
	if (options->style == REPORT_TEXT && !options->raw)
		r->renderer.escape = options->terminal ? ESCAPE_ALL : ESCAPE_LINES;
	err = compile_formats(r, p, 0);
	if (err) {
		report_free(r);
		return err;
	}
	*out = r;
	return 0;
}

void report_free(struct report *r)
{
	if (!r)
		return;
	buf_free(&r->scratch);
	buf_free(&r->failure);
	arena_free(&r->arena);
	free(r);
}

void report_at_end(struct report *r)
{
	r->stop_fd = 0;
}

int report_extend(struct report *r, const struct program *more)
{
	int err = 0;

	if (more->format_count < r->program->format_count ||
	    more->name_count < r->program->name_count || more->map_count != r->program->map_count)
		return -EINVAL;
	if (more->format_count > r->program->format_count)
		err = compile_formats(r, more, r->program->format_count);
	if (err)
		return err;
	r->program = r->raw.program = r->renderer.program = more;
	r->raw.names = r->renderer.names = more->names;
	r->raw.name_count = r->renderer.name_count = more->name_count;
	return 0;
}

int report_map(struct report *r, const struct map_store *maps, uint32_t map, int64_t top,
	       int64_t div, struct buf *out)
{
	const struct table_request request = {r->style, map, top, div};

	if (map >= r->program->map_count)
		return -EINVAL;
	return table_print(&r->renderer, &request, maps, out);
}

int report_entries(struct report *r, const struct map_store *maps, uint32_t map,
		   report_entry_fn *fn, void *arg)
{
	const struct table_request request = {r->style, map, 0, 0};

	if (map >= r->program->map_count)
		return -EINVAL;
	return table_each(&r->raw, &request, maps, fn, arg);
}

static int compare_names(const void *a, const void *b, void *arg)
{
	const struct program *p = arg;

	return str_cmp(p->maps[*(const uint32_t *)a].name, p->maps[*(const uint32_t *)b].name);
}

int report_all_maps(struct report *r, const struct map_store *maps, struct buf *out)
{
	uint32_t count = r->program->map_count;
	uint32_t *order = calloc(count ? count : 1, sizeof(*order));
	int err = order ? 0 : -ENOMEM;

	if (count && r->style == REPORT_TEXT)
		buf_text(out, "\n\n");
	for (uint32_t i = 0; i < count && !err; i++)
		order[i] = i;
	if (!err)
		qsort_r(order, count, sizeof(*order), compare_names, (void *)(uintptr_t)r->program);
	for (uint32_t i = 0; i < count && !err; i++)
		err = report_map(r, maps, order[i], 0, 0, out);
	free(order);
	return err;
}
