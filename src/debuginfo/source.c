/* Where an instruction is in the source: its line, and the functions whose bodies the compiler put
 * around it. libdw walks a whole unit for each such question; here each unit is walked once, and
 * what has code in it is kept as ranges of addresses. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "debuginfo/inside.h"

#define NONE	    UINT32_MAX
#define RANGES_MOST (1u << 20) /* that are kept of all units: 24 bytes each */
#define ENTRY_WORK  160	       /* steps to walk through one */
#define ROW_WORK    25	       /* to decode a byte of a line table */
#define LINES_MOST \
	(4u << 20)	/* bytes of line tables that are decoded: each can become a row of 60 */
#define DECODED_MOST 64 /* units; libdw keeps their lines */

/* A function or an inlined copy of one. */
struct scope {
	uint64_t entry;
	uint32_t around; /* the scope that it is in; NONE */
	bool is_inlined;
};

/* Addresses of a scope, which may have several, such as a cold part. */
struct scope_range {
	uint64_t low, high;
	uint32_t scope;
	uint32_t around; /* the nearest range before it that goes on where it begins; NONE */
};

struct unit_scopes {
	struct scope *scopes;
	size_t scope_count, scope_cap;
	struct scope_range *ranges; /* by `low`, and what is around before what is in it */
	size_t range_count, range_cap;
};

void unit_scopes_free(struct unit_scopes *u)
{
	if (!u)
		return;
	free(u->scopes);
	free(u->ranges);
	free(u);
}

/* ---- Reading a unit ---- */

struct reading {
	struct debuginfo *di;
	struct unit_scopes *scopes;
};

/* May functions with code be among its children? Types of C have most of the entries. */
static bool may_have_code(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type: return true; /* those of Rust have methods */
	default: return false;
	}
}

static int add_ranges(struct unit_scopes *u, Dwarf_Die *die, uint32_t scope)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		if (high <= low)
			continue;
		if (u->range_count == RANGES_MOST)
			return -E2BIG;
		if (array_grow(u->ranges, u->range_count, u->range_cap))
			return -ENOMEM;
		u->ranges[u->range_count++] = (struct scope_range){low, high, scope, NONE};
	}
	return 0;
}

/* *around becomes the scope, where the entry is one. */
static int add_scope(struct reading *r, Dwarf_Die *die, uint32_t *around)
{
	struct unit_scopes *u = r->scopes;
	int tag = dwarf_tag(die), err;
	size_t before = u->range_count;

	if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
		return 0;
	err = add_ranges(u, die, (uint32_t)u->scope_count);
	if (err || u->range_count == before)
		return err;
	if (array_grow(u->scopes, u->scope_count, u->scope_cap))
		return -ENOMEM;
	u->scopes[u->scope_count] = (struct scope){
		.entry = dwarf_dieoffset(die),
		.around = tag == DW_TAG_inlined_subroutine ? *around : NONE,
		.is_inlined = tag == DW_TAG_inlined_subroutine,
	};
	*around = (uint32_t)u->scope_count++;
	return 0;
}

static int read_children(struct reading *r, Dwarf_Die *die, uint32_t around, unsigned depth)
{
	Dwarf_Die child;
	int left, err = 0;

	for (left = dwarf_child(die, &child); !left && !err;
	     left = dwarf_siblingof(&child, &child)) {
		uint32_t inside = around;

		if (!budget_work(r->di->frames_budget, ENTRY_WORK))
			return -E2BIG;
		if (!may_have_code(&child))
			continue;
		err = add_scope(r, &child, &inside);
		if (!err && depth < MAX_DEPTH && dwarf_haschildren(&child))
			err = read_children(r, &child, inside, depth + 1);
	}
	return err;
}

/* What is around comes first: it begins before or ends after, or was met before. */
static int compare_ranges(const void *a, const void *b)
{
	const struct scope_range *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	if (x->high != y->high)
		return x->high > y->high ? -1 : 1;
	return (x->scope > y->scope) - (x->scope < y->scope);
}

static void link_ranges(struct unit_scopes *u)
{
	uint32_t open = NONE;

	if (u->range_count)
		qsort(u->ranges, u->range_count, sizeof(*u->ranges), compare_ranges);
	for (uint32_t i = 0; i < u->range_count; i++) {
		while (open != NONE && u->ranges[open].high <= u->ranges[i].low)
			open = u->ranges[open].around;
		u->ranges[i].around = open;
		open = i;
	}
}

static void forget_scopes(struct debuginfo *di)
{
	for (size_t i = 0; i < di->unit_count; i++) {
		unit_scopes_free(di->units[i].scopes);
		di->units[i].scopes = NULL;
	}
	di->scope_ranges = 0;
}

/* Those of a unit, read when they are asked for first. NULL: there are none to be had. */
static const struct unit_scopes *scopes_of(struct debuginfo *di, uint32_t unit, Dwarf_Die *top)
{
	struct unit_scopes *u = di->units[unit].scopes;
	struct reading r = {di, NULL};

	if (u)
		return u;
	u = r.scopes = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	if (read_children(&r, top, NONE, 0)) {
		di->are_frames_cut = true;
		unit_scopes_free(u);
		u = calloc(1, sizeof(*u)); /* it is not tried again */
	}
	if (!u)
		return NULL;
	link_ranges(u);
	if (di->scope_ranges + u->range_count > RANGES_MOST)
		forget_scopes(di);
	di->scope_ranges += u->range_count;
	di->units[unit].scopes = u;
	return u;
}

static bool starts_at_or_before(const void *item, const void *key)
{
	return ((const struct scope_range *)item)->low <= *(const uint64_t *)key;
}

/* The innermost scope at an address; NONE. */
static uint32_t scope_at(const struct unit_scopes *u, uint64_t address)
{
	size_t i = lower_bound(u->ranges, u->range_count, sizeof(*u->ranges), starts_at_or_before,
			       &address);
	uint32_t at = i ? (uint32_t)i - 1 : NONE;

	while (at != NONE && u->ranges[at].high <= address)
		at = u->ranges[at].around;
	return at == NONE ? NONE : u->ranges[at].scope;
}

/* ---- Describing an address ---- */

/* As linkers know it, for names with all their parts; or as the source has it. */
static struct str function_name(struct debuginfo *di, uint64_t entry)
{
	static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};
	Dwarf_Attribute a;
	Dwarf_Die die;

	if (!dwarf_offdie(di->dwarf, entry, &die))
		return STR("");
	for (size_t i = 0; i < COUNT(names); i++) {
		const char *name =
			entry_inherited(di, &die, names[i], &a) ? dwarf_formstring(&a) : NULL;

		if (name && *name)
			return str_from(name);
	}
	return STR("");
}

static void set_file(struct debuginfo *di, Dwarf_Die *top, const char *path,
		     struct debug_frame *out)
{
	Dwarf_Attribute a;
	const char *folder =
		entry_attribute(di, top, DW_AT_comp_dir, &a) ? dwarf_formstring(&a) : NULL;

	out->file = str_from(path ? path : "");
	out->folder = str_from(folder ? folder : "");
}

/* Bytes of the line table of a unit: up to the next one. */
static uint64_t lines_size(const struct debuginfo *di, uint32_t unit)
{
	uint64_t at = di->units[unit].lines, next = di->lines.len;

	if (at >= next)
		return 0;
	for (size_t i = 0; i < di->unit_count; i++) {
		uint64_t other = di->units[i].lines;

		if (other > at && other < next)
			next = other;
	}
	return next - at;
}

static void set_line(struct debuginfo *di, Dwarf_Die *top, uint64_t address,
		     struct debug_frame *out)
{
	Dwarf_Line *line = dwarf_getsrc_die(top, address);
	int number = 0;

	if (!line || dwarf_lineno(line, &number) || number < 0)
		return;
	out->line = (unsigned)number;
	set_file(di, top, dwarf_linesrc(line, NULL, NULL), out);
}

/* Where the copy's function is called: the place in the function around it. */
static void set_call(struct debuginfo *di, Dwarf_Die *top, uint64_t entry, struct debug_frame *out)
{
	uint64_t file, line;
	Dwarf_Files *files;
	size_t count;
	Dwarf_Die die;

	if (!dwarf_offdie(di->dwarf, entry, &die))
		return;
	if (entry_number(di, &die, DW_AT_call_line, &line))
		out->line = (unsigned)line;
	if (entry_number(di, &die, DW_AT_call_file, &file) &&
	    !dwarf_getsrcfiles(top, &files, &count) && file < count)
		set_file(di, top, dwarf_filesrc(files, file, NULL, NULL), out);
}

/* All that is known of an address in a unit: number of frames. */
static unsigned describe(struct debuginfo *di, uint32_t unit, Dwarf_Die *top, uint64_t address,
			 struct debug_frame frames[DEBUG_FRAMES_MOST])
{
	const struct unit_scopes *u = scopes_of(di, unit, top);
	uint32_t scope = u ? scope_at(u, address) : NONE;
	unsigned count = 1;

	frames[0] = (struct debug_frame){.line = 0};
	if (di->units[unit].decoded_in == di->round)
		set_line(di, top, address, &frames[0]);
	for (; scope != NONE; scope = u->scopes[scope].around) {
		const struct scope *s = &u->scopes[scope];

		frames[count - 1].function = function_name(di, s->entry);
		if (!s->is_inlined)
			break;
		/* Of too many the outermost is what the innermost of the rest is in. */
		if (count == DEBUG_FRAMES_MOST)
			count--;
		frames[count] = (struct debug_frame){.line = 0};
		set_call(di, top, s->entry, &frames[count++]);
	}
	return count;
}

/* The lines of a unit are to be decoded, unless they are too many. What libdw has decoded is
 * forgotten from time to time: what it keeps of units is not counted. */
static int prepare_lines(struct debuginfo *di, uint32_t unit)
{
	uint64_t size;

	if (di->units[unit].decoded_in == di->round)
		return 0;
	size = lines_size(di, unit);
	if (size > LINES_MOST || !budget_work(di->frames_budget, size * ROW_WORK)) {
		di->are_frames_cut = true;
		return 0;
	}
	di->decoded_bytes += size;
	if (++di->decoded > DECODED_MOST || di->decoded_bytes > LINES_MOST) {
		di->decoded = 1;
		di->decoded_bytes = size;
		di->round++;
		di->units[unit].decoded_in = di->round;
		debuginfo_release(di); /* not each time: addresses of a stack are close together */
		return debuginfo_forget(di);
	}
	di->units[unit].decoded_in = di->round;
	return 0;
}

int debuginfo_frames(struct debuginfo *di, uint64_t address,
		     struct debug_frame frames[DEBUG_FRAMES_MOST], unsigned *count)
{
	uint32_t units[UNITS_OVERLAP_MOST];
	int err = units_describe(di);
	unsigned found = err ? 0 : units_at(di, address, units);
	Dwarf_Die top;

	*count = 0;
	for (unsigned i = 0; i < found && !err && !*count; i++) {
		err = prepare_lines(di, units[i]);
		if (err || !unit_top(di, units[i], &top))
			continue;
		*count = describe(di, units[i], &top, address, frames);
		if (*count == 1 && !frames[0].line && !frames[0].function.len)
			*count = 0;
	}
	return err || *count ? err : -ENOENT;
}

void debuginfo_set_budget(struct debuginfo *di, struct budget *b)
{
	di->frames_budget = b;
}

bool debuginfo_frames_are_cut(const struct debuginfo *di)
{
	return di->are_frames_cut;
}
