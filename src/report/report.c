/* A report: the settings that records and maps are printed by, and the maps. Then the messages
 * about the tracing itself, which are not the script's: how many probes are attached, and what was
 * lost. Records are event.c's, and what failed where is fault.c's. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/json.h"
#include "report/inside.h"
#include "report/moment.h"
#include "report/row.h"

void report_free(struct report *r)
{
	if (!r)
		return;
	arena_free(&r->names);
	buf_free(&r->headers);
	gfp_free(&r->gfp);
	buf_free(&r->scratch);
	buf_free(&r->failure);
	free(r);
}

/* Names for people, when the output is drawn for them. */
static int name_probes(struct report *r)
{
	const struct program *p = r->program;

	r->renderer.names = p->names;
	r->renderer.name_count = p->name_count;
	if (!r->renderer.look)
		return 0;
	arena_free(&r->names);
	return short_names(&r->names, p->names, p->name_count, &r->renderer.names);
}

int report_new(const struct program *p, const struct report_options *options,
	       struct symbols *symbols, struct report **out)
{
	struct report *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->program = p;
	r->style = options->style;
	r->unsafe = options->unsafe;
	r->no_warnings = options->no_warnings;
	r->cat_bytes = options->cat_bytes ? options->cat_bytes : CAT_BYTES_USUAL;
	r->stop_fd = options->stop_fd;
	r->raw = (struct renderer){
		.program = p,
		.names = p->names,
		.name_count = p->name_count,
		.symbols = symbols,
		.langs = options->langs,
		.trunc_trailer = options->trunc_trailer,
		.wall_offset = clock_wall_offset(),
		.gfp = &r->gfp,
	};
	r->raw.is_structured = options->structured;
	r->raw.is_folded = options->folded;
	r->raw.is_csv = options->csv;
	r->raw.frames = options->frames;
	r->renderer = r->raw;
	if (options->style == REPORT_TEXT && !options->raw)
		r->renderer.escape = options->terminal ? ESCAPE_ALL : ESCAPE_LINES;
	r->renderer.titles = options->titles;
	r->renderer.headers = &r->headers;
	if (options->style == REPORT_TEXT && !row_is_wanted(&r->renderer))
		r->renderer.look = options->look;
	if (name_probes(r)) {
		report_free(r);
		return -ENOMEM;
	}
	*out = r;
	return 0;
}

void report_at_end(struct report *r)
{
	r->stop_fd = 0;
}

int report_extend(struct report *r, const struct program *more)
{
	if (more->format_count < r->program->format_count ||
	    more->name_count < r->program->name_count || more->map_count != r->program->map_count)
		return -EINVAL;
	r->program = r->raw.program = r->renderer.program = more;
	r->raw.names = more->names;
	r->raw.name_count = more->name_count;
	return name_probes(r);
}

int report_map(struct report *r, const struct map_store *maps, uint32_t map, int64_t top,
	       int64_t div, struct buf *out)
{
	return report_table(r, maps,
			    &(struct table_request){r->style, map, top, div, false, TAKE_NOTHING},
			    out);
}

int report_table(struct report *r, const struct map_store *maps,
		 const struct table_request *request, struct buf *out)
{
	uint32_t map = request->map;

	if (map >= r->program->map_count)
		return -EINVAL;
	if (r->program->maps[map].series.count && !row_is_wanted(&r->renderer))
		return series_print(&r->renderer, request, maps, out);
	return table_print(&r->renderer, request, maps, out);
}

int report_entries(struct report *r, const struct map_store *maps, uint32_t map,
		   report_entry_fn *fn, void *arg)
{
	const struct table_request request = {r->style, map, 0, 0, false, TAKE_NOTHING};

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

	if (count && r->style == REPORT_TEXT && !r->renderer.look && !row_is_wanted(&r->renderer))
		buf_text(out, "\n\n");
	for (uint32_t i = 0; i < count && !err; i++)
		order[i] = i;
	if (!err)
		qsort_r(order, count, sizeof(*order), compare_names, (void *)(uintptr_t)r->program);
	for (uint32_t i = 0; i < count && !err; i++) {
		const struct map_def *m = &r->program->maps[order[i]];

		/* One that was never written is 0; one that was emptied has nothing to show. */
		if (!m->is_hidden)
			err = report_table(r, maps,
					   &(struct table_request){.style = r->style,
								   .map = order[i],
								   .with_zero = !m->is_emptied},
					   out);
	}
	free(order);
	return err;
}

/* ---- About the tracing */

/* {"type": TYPE, "count": COUNT, "data": {KEY: COUNT}} */
static void add_count(const char *type, const char *key, uint64_t count, struct buf *out)
{
	struct json j = {out, false};

	json_open(&j, '{');
	json_pair(&j, "type", str_from(type));
	json_key(&j, "count");
	json_u64(&j, count);
	json_key(&j, "data");
	json_open(&j, '{');
	json_key(&j, key);
	json_u64(&j, count);
	json_close(&j, '}');
	json_close(&j, '}');
	buf_char(out, '\n');
}

struct str report_failure(const struct report *r)
{
	return buf_as_str(&r->failure);
}

void report_attached(struct report *r, unsigned probes, struct buf *out)
{
	if (r->style == REPORT_JSON)
		add_count("attached_probes", "probes", probes, out);
	else
		buf_printf(out, "Attached %u probe%s\n", probes, probes == 1 ? "" : "s");
}

/* "Lost 3 events (30 % of 10): ..." and what helps: a ring four times as large, if there are such.
 */
static void add_lost_events(uint64_t lost, uint64_t delivered, uint64_t ring, struct buf *out)
{
	uint64_t all = lost + delivered, mega = ring >> 20;
	double share = 100 * (double)lost / (double)all;

	buf_printf(out, "Lost %llu event%s (%.*f %% of %llu): narrow the probe or its condition",
		   (unsigned long long)lost, lost == 1 ? "" : "s", share < 10 ? 1 : 0, share,
		   (unsigned long long)all);
	if (mega < 1024)
		buf_printf(out, ", or give --ring-size=%lluM",
			   (unsigned long long)(mega ? mega * 4 : 4));
	buf_char(out, '\n');
}

#define NO_MEMORY                                                                            \
	" in processes that cannot map more memory for a map: a limit (ulimit -v, -l) or a " \
	"system call filter; --kernel needs none there\n"
#define FULL_MAP ": a map was full; NOPAL_MAX_MAP_KEYS=N in the environment gives maps N entries\n"

void report_lost(struct report *r, const struct run_stats *stats, uint64_t delivered,
		 uint64_t ring_bytes, struct buf *out)
{
	/* clang-format off */
	const struct {
		uint64_t count;
		const char *one, *many, *type, *key;
	} losses[] = {
		{ stats->lost_records, NULL, NULL,                      "lost_events",  "events"  },
		{ stats->lost_updates, "Lost 1 map update" FULL_MAP, "Lost %llu map updates" FULL_MAP, "lost_updates", "updates" },
		{ stats->unmapped, "Lost 1 map update" NO_MEMORY, "Lost %llu map updates" NO_MEMORY, "unmapped_updates", "updates" },
		{ stats->lost_scratch, "Lost 1 run: no scratch memory was free\n", "Lost %llu runs: no scratch memory was free\n", "lost_runs", "runs" },
		{ stats->loop_limits,  "Cut 1 loop short: it reached its limit\n", "Cut %llu loops short: they reached their limit\n", "cut_loops", "loops" },
	};
	/* clang-format on */

	for (size_t i = 0; i < COUNT(losses); i++) {
		const char *text = losses[i].count == 1 ? losses[i].one : losses[i].many;

		if (!losses[i].count)
			continue;
		if (r->style == REPORT_JSON)
			add_count(losses[i].type, losses[i].key, losses[i].count, out);
		else if (!text)
			add_lost_events(losses[i].count, delivered, ring_bytes, out);
		else
			buf_printf(out, text, (unsigned long long)losses[i].count);
	}
}

void report_skipped(struct report *r, struct buf *out)
{
	if (!r->skipped)
		return;
	if (r->style == REPORT_JSON)
		add_count("skipped_calls", "calls", r->skipped, out);
	else
		buf_printf(out, "Skipped %llu call%s of system() or cat(): the run was ended\n",
			   (unsigned long long)r->skipped, r->skipped == 1 ? "" : "s");
}
