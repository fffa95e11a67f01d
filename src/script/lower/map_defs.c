/* Maps of a script -> maps of its program: which kind each is, and how many entries it may have. */
#include "script/lower/map_defs.h"

#include <errno.h>

#include "script/check/map.h"
#include "script/parse/declarations.h"

#define SERIES_ENTRIES 262144u /* of a time series with many keys */
#define OPEN_CALLS     16384u  /* whose arguments are kept; the others count as not seen */

/* NULL: the script does not say. */
static const struct map_size *map_size_of(const struct script *s, const struct map *m)
{
	for (const struct map_size *size = s->tree.sizes; size; size = size->next)
		if (size->name.len + 1 == m->name.len &&
		    !memcmp(m->name.ptr + 1, size->name.ptr, size->name.len))
			return size;
	return NULL;
}

/* A map that is declared has values of the kind that it is for. */
static int check_size(const struct script *s, const struct map *m, struct diag *d)
{
	const struct map_size *size = map_size_of(s, m);
	bool is_aggregate = type_is_aggregate(&m->value);

	if (!size || size->is_per_cpu == is_aggregate || m->series.interval)
		return 0;
	diag_error_at(d, -EINVAL, "map-kind", script_span(s, size->mark),
		      is_aggregate ? "'%.*s' holds what each CPU counts: it cannot be a %s"
				   : "'%.*s' holds values of all CPUs: it cannot be a %s",
		      STR_FMT(m->name),
		      is_aggregate ? "hash or lruhash" : "percpuhash or percpulruhash");
	diag_hint(d, "write %s%shash(%u)", size->is_per_cpu ? "" : "percpu",
		  size->forgets ? "lru" : "", size->entries);
	return -EINVAL;
}

static void warn_unused(const struct script *s, const struct map_size *size, struct diag *d)
{
	for (const struct map *m = s->maps; m; m = m->next)
		if (map_size_of(s, m) == size)
			return;
	diag_warn_at(d, "unused-map", script_span(s, size->mark), "map '@%.*s' is never used",
		     STR_FMT(size->name));
}

int maps_check(const struct script *s, struct diag *d)
{
	int err = 0;

	for (const struct map_size *size = s->tree.sizes; size && !s->has_program;
	     size = size->next)
		warn_unused(s, size, d);

	for (const struct map *m = s->maps; m; m = m->next) {
		err = check_size(s, m, d) ?: err;
		if (!m->copied || m->has_own)
			continue;
		err = diag_error_at(d, -EINVAL, "aggregate-copy", script_span(s, m->copied->mark),
				    "'%.*s' has no other value than that of an aggregation",
				    STR_FMT(m->name));
		diag_hint(d, "write '%.*s = (int64)%.*s'", STR_FMT(m->name),
			  (int)m->copied->mark.len, s->text.ptr + m->copied->mark.at);
	}
	return err;
}

/* Entries take memory as they come, but an empty table takes 16 bytes for each that may come: 4 MiB
 * and one millisecond for MANY. Those of histograms may be thousands of bytes each. */
static uint32_t usual_entries(const struct script *s, const struct map *m)
{
	enum { FEW = 65536, MANY = 262144, SMALL = 64 };

	if (s->facts.max_map_keys)
		return s->facts.max_map_keys;
	return type_memory(&m->value) <= SMALL ? MANY : FEW;
}

/* The entries of a time series: for each key its intervals, and a few that are about to be
 * removed. */
static uint32_t series_entries(const struct script *s, const struct map *m,
			       const struct map_size *size)
{
	const struct type *key = m->is_hidden ? &m->key : &m->series_key;
	uint64_t keys = key->kind == TYPE_INT ? 1 : size ? size->entries : usual_entries(s, m);
	uint64_t least = (uint64_t)m->series.count + 16, all = keys * least;

	return (uint32_t)(all < SERIES_ENTRIES	   ? all
			  : least > SERIES_ENTRIES ? least
						   : SERIES_ENTRIES);
}

/* Is a part of the key the name of a probe or of a function? */
static bool has_name(const struct type *key)
{
	for (unsigned i = 0; key->kind == TYPE_TUPLE && i < key->element_count; i++)
		if (has_name(&key->elements[i]))
			return true;
	return key->kind == TYPE_NAME;
}

/* What counts by the name of a probe has room for every probe that a run may attach. */
uint32_t map_entries(const struct script *s, const struct map *m)
{
	const struct map_size *size = map_size_of(s, m);
	uint32_t usual = usual_entries(s, m);

	if (m->series.count)
		return series_entries(s, m, size);
	if (m->keeper)
		return OPEN_CALLS;
	if (m->key.kind == TYPE_NONE)
		return 1;
	if (size)
		return size->entries;
	return has_name(&m->key) && s->facts.max_probes > usual ? s->facts.max_probes : usual;
}

const struct map_def *maps_make(struct script *s)
{
	struct map_def *defs = arena_array(&s->arena, struct map_def, s->map_count + 1u);
	struct map_def *def = defs;

	for (const struct map *m = s->maps; defs && m; m = m->next, def++) {
		const struct map_size *size = map_size_of(s, m);

		*def = (struct map_def){
			.name = m->name,
			.key = m->series.interval ? m->series_key : m->key,
			.value = m->value,
			.max_entries = map_entries(s, m),
			.is_read = m->is_read,
			.is_hidden = m->is_hidden,
			.is_emptied = m->is_emptied,
			.is_taken = m->is_taken,
			.forgets = m->keeper || (size && size->forgets && m->key.kind != TYPE_NONE),
			.series = m->series.interval ? m->series : (struct map_series){0},
		};
	}
	return defs;
}
