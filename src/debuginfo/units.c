/* The units of .debug_info: where each begins, and what belongs to it. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "debuginfo/inside.h"

#define HEADERS 64 /* that are read before their pages are given back; a page brings 15 others */

int units_read(struct debuginfo *di)
{
	Dwarf_Off at = 0, next, abbreviations;
	size_t header;
	Dwarf_Half version;
	uint8_t address_size, offset_size;

	while (!dwarf_next_unit(di->dwarf, at, &next, &header, &version, &abbreviations,
				&address_size, &offset_size, NULL, NULL)) {
		if (next <= at || header > next - at)
			break;
		if (di->unit_count == MAX_UNITS)
			return -E2BIG;
		if (array_grow(di->units, di->unit_count, di->unit_cap))
			return -ENOMEM;
		di->units[di->unit_count++] = (struct debug_unit){
			.start = at, .end = next, .top = at + header, .lines = NO_LINES};
		at = next;
		/* Headers are far apart: do not keep all that is between them. */
		if (di->unit_count % HEADERS == 0)
			debuginfo_release(di);
	}
	return 0;
}

static bool ends_before(const void *item, const void *key)
{
	return ((const struct debug_unit *)item)->end <= *(const uint64_t *)key;
}

bool unit_of(const struct debuginfo *di, uint64_t offset, uint32_t *out)
{
	size_t i = lower_bound(di->units, di->unit_count, sizeof(*di->units), ends_before, &offset);

	if (i == di->unit_count || offset < di->units[i].start)
		return false;
	*out = (uint32_t)i;
	return true;
}

/* libdw reads the headers of all units before the one that is asked for, which are far apart: some
 * at a time, without keeping what is between them. */
bool unit_top(struct debuginfo *di, uint32_t unit, Dwarf_Die *out)
{
	for (; di->headers_read + HEADERS < unit; debuginfo_release(di)) {
		di->headers_read += HEADERS;
		if (!dwarf_offdie(di->dwarf, di->units[di->headers_read].top, out))
			break;
	}
	return dwarf_offdie(di->dwarf, di->units[unit].top, out) != NULL;
}

static int add_ranges(struct debuginfo *di, uint32_t unit, Dwarf_Die *top)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(top, at, &base, &low, &high)) > 0) {
		if (high <= low)
			continue;
		if (di->range_count == 4 * MAX_UNITS)
			return -E2BIG;
		if (array_grow(di->ranges, di->range_count, di->range_cap))
			return -ENOMEM;
		di->ranges[di->range_count++] = (struct unit_range){low, high, unit};
	}
	return 0;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct unit_range *x = a, *y = b;

	return x->low != y->low ? (x->low < y->low ? -1 : 1)
				: (x->unit > y->unit) - (x->unit < y->unit);
}

int units_describe(struct debuginfo *di)
{
	int err = 0;

	if (di->are_described)
		return 0;
	for (uint32_t i = 0; i < di->unit_count && !err; i++) {
		struct debug_unit *u = &di->units[i];
		Dwarf_Die top;

		if (i % HEADERS == 0)
			debuginfo_release(di);
		if (!unit_top(di, i, &top))
			continue;
		if (!entry_number(di, &top, DW_AT_stmt_list, &u->lines))
			u->lines = NO_LINES;
		entry_number(di, &top, DW_AT_str_offsets_base, &u->texts);
		if (dwarf_tag(&top) == DW_TAG_compile_unit ||
		    dwarf_tag(&top) == DW_TAG_skeleton_unit)
			err = add_ranges(di, i, &top);
	}
	if (di->range_count)
		qsort(di->ranges, di->range_count, sizeof(*di->ranges), compare_ranges);
	di->are_described = !err;
	return err;
}

static bool starts_by(const void *item, const void *key)
{
	return ((const struct unit_range *)item)->low <= *(const uint64_t *)key;
}

unsigned units_at(const struct debuginfo *di, uint64_t address, uint32_t units[UNITS_OVERLAP_MOST])
{
	size_t i =
		lower_bound(di->ranges, di->range_count, sizeof(*di->ranges), starts_by, &address);
	unsigned count = 0;

	for (unsigned tries = 0; i-- > 0 && tries < UNITS_OVERLAP_MOST; tries++)
		if (di->ranges[i].high > address)
			units[count++] = di->ranges[i].unit;
	return count;
}
