/* What has code in a unit, and what functions are called. libdw walks a whole unit for each
 * question about an address; here each unit is walked once, and what has code in it is kept as
 * ranges of addresses. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "debuginfo/inside.h"

#define NONE	    UINT32_MAX
#define RANGES_MOST (1u << 20) /* that are kept of all units: 24 bytes each */
#define ENTRY_WORK  160	       /* steps to walk through one */

/* Addresses of a scope, which may have several, such as a cold part. */
struct scope_range {
	uint64_t low, high;
	uint32_t scope;
	uint32_t around; /* the nearest range before it that goes on where it begins; NONE */
};

/* A namespace or a type, which functions are in, or a function that has types of its own. */
struct name_scope {
	uint64_t entry;
	uint32_t around; /* NONE */
	bool is_function;
};

/* A function that linkers do not know by a name of its own, and what it is in. */
struct owned {
	uint64_t entry;
	uint32_t owner;
};

struct unit_scopes {
	struct scope *scopes;
	size_t scope_count, scope_cap;
	struct scope_range *ranges; /* by `low`, and what is around before what is in it */
	size_t range_count, range_cap;
	struct name_scope *names;
	size_t name_count, name_cap;
	struct owned *owned; /* by `entry` */
	size_t owned_count, owned_cap;
};

void unit_scopes_free(struct unit_scopes *u)
{
	if (!u)
		return;
	free(u->scopes);
	free(u->ranges);
	free(u->names);
	free(u->owned);
	free(u);
}

/* ---- Reading a unit ---- */

struct scope_reading {
	struct debuginfo *di;
	struct unit_scopes *scopes;
};

/* Where the walk is. */
struct scope_walk {
	uint32_t around; /* scope */
	uint32_t owner;	 /* name */
	unsigned depth;
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
static int add_scope(struct scope_reading *r, Dwarf_Die *die, uint32_t *around)
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

/* Blocks have no names: what is in them is in what is around them. */
static bool has_own_name(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag != DW_TAG_lexical_block && tag != DW_TAG_inlined_subroutine &&
	       tag != DW_TAG_try_block && tag != DW_TAG_catch_block && tag != DW_TAG_with_stmt;
}

/* A namespace, a type or a function, as what others are in: *owner becomes it. */
static int add_name(struct scope_reading *r, Dwarf_Die *die, uint32_t *owner)
{
	struct unit_scopes *u = r->scopes;
	bool is_function = dwarf_tag(die) == DW_TAG_subprogram;

	/* A function directly in another one is one of C, and called as it is. */
	if (is_function && *owner != NONE && !u->names[*owner].is_function &&
	    !dwarf_hasattr(die, DW_AT_linkage_name)) {
		if (array_grow(u->owned, u->owned_count, u->owned_cap))
			return -ENOMEM;
		u->owned[u->owned_count++] = (struct owned){dwarf_dieoffset(die), *owner};
	}
	if (!has_own_name(die) || !dwarf_haschildren(die))
		return 0;
	if (u->name_count == RANGES_MOST)
		return -E2BIG;
	if (array_grow(u->names, u->name_count, u->name_cap))
		return -ENOMEM;
	u->names[u->name_count] = (struct name_scope){dwarf_dieoffset(die), *owner, is_function};
	*owner = (uint32_t)u->name_count++;
	return 0;
}

static int read_children(struct scope_reading *r, Dwarf_Die *die, struct scope_walk at)
{
	Dwarf_Die child;
	int left, err = 0;

	for (left = dwarf_child(die, &child); !left && !err;
	     left = dwarf_siblingof(&child, &child)) {
		struct scope_walk inside = {at.around, at.owner, at.depth + 1};

		if (!budget_work(r->di->frames_budget, ENTRY_WORK))
			return -E2BIG;
		if (!may_have_code(&child))
			continue;
		err = add_scope(r, &child, &inside.around);
		if (!err)
			err = add_name(r, &child, &inside.owner);
		if (!err && at.depth < MAX_DEPTH && dwarf_haschildren(&child))
			err = read_children(r, &child, inside);
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

const struct unit_scopes *unit_scopes_get(struct debuginfo *di, uint32_t unit, Dwarf_Die *top)
{
	struct unit_scopes *u = di->units[unit].scopes;
	struct scope_reading r = {di, NULL};

	if (u)
		return u;
	u = r.scopes = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	if (read_children(&r, top, (struct scope_walk){NONE, NONE, 0})) {
		di->are_frames_cut = true;
		unit_scopes_free(u);
		u = calloc(1, sizeof(*u)); /* it is not tried again */
	}
	if (!u)
		return NULL;
	link_ranges(u);
	if (di->scope_ranges + u->range_count + u->owned_count > RANGES_MOST)
		forget_scopes(di);
	di->scope_ranges += u->range_count + u->owned_count;
	di->units[unit].scopes = u;
	return u;
}

static bool starts_at_or_before(const void *item, const void *key)
{
	return ((const struct scope_range *)item)->low <= *(const uint64_t *)key;
}

const struct scope *scope_at(const struct unit_scopes *u, uint64_t address)
{
	size_t i = lower_bound(u->ranges, u->range_count, sizeof(*u->ranges), starts_at_or_before,
			       &address);
	uint32_t at = i ? (uint32_t)i - 1 : NONE;

	while (at != NONE && u->ranges[at].high <= address)
		at = u->ranges[at].around;
	return at == NONE ? NULL : &u->scopes[u->ranges[at].scope];
}

const struct scope *scope_around(const struct unit_scopes *u, const struct scope *s)
{
	return s->around == NONE ? NULL : &u->scopes[s->around];
}

/* ---- Names ---- */

static bool is_before(const void *item, const void *key)
{
	return ((const struct owned *)item)->entry < *(const uint64_t *)key;
}

/* The entry that has a name: of an instance, that of its function or declaration. */
static const char *find_name(struct debuginfo *di, Dwarf_Die *die)
{
	Dwarf_Attribute a;
	Dwarf_Die next;

	for (unsigned i = 0; i < 8; i++) {
		if (entry_attribute(di, die, DW_AT_name, &a))
			return dwarf_formstring(&a);
		if (!entry_reference(di, die, DW_AT_abstract_origin, &next) &&
		    !entry_reference(di, die, DW_AT_specification, &next))
			return NULL;
		*die = next;
	}
	return NULL;
}

/* What the function of an entry is in; NONE: nothing, or not known. */
static uint32_t owner_of(const struct unit_scopes *u, uint64_t entry)
{
	size_t i = lower_bound(u->owned, u->owned_count, sizeof(*u->owned), is_before, &entry);

	return i < u->owned_count && u->owned[i].entry == entry ? u->owned[i].owner : NONE;
}

/* "shop::store<long>::" of what is around, the outermost first. */
static void add_owners(struct debuginfo *di, const struct unit_scopes *u, uint32_t owner,
		       unsigned depth, struct buf *out)
{
	uint32_t around;
	const char *name;
	Dwarf_Die die;

	if (owner == NONE || depth == MAX_DEPTH ||
	    !dwarf_offdie(di->dwarf, u->names[owner].entry, &die))
		return;
	around = u->names[owner].around;
	name = dwarf_tag(&die) == DW_TAG_namespace ? "(anonymous namespace)" : NULL;
	name = find_name(di, &die) ?: name;
	/* A function may be declared inside of what it is in, and defined outside. */
	if (around == NONE && u->names[owner].is_function && entry_owner(di, &die) == di)
		around = owner_of(u, dwarf_dieoffset(&die));
	add_owners(di, u, around, depth + 1, out);
	if (name) {
		buf_text(out, name);
		buf_text(out, "::");
	}
}

struct str function_name(struct debuginfo *di, const struct unit_scopes *u, uint64_t entry)
{
	static const unsigned linkage[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name};
	struct buf whole = BUF_INIT;
	const char *name = NULL;
	Dwarf_Attribute a;
	struct str kept;
	uint32_t owner;
	Dwarf_Die die;

	if (!dwarf_offdie(di->dwarf, entry, &die))
		return STR("");
	for (size_t i = 0; i < COUNT(linkage) && !name; i++)
		name = entry_inherited(di, &die, linkage[i], &a) ? dwarf_formstring(&a) : NULL;
	if (name && *name)
		return str_from(name);
	name = find_name(di, &die);
	/* In another file, offsets are other entries'. */
	owner = entry_owner(di, &die) == di ? owner_of(u, dwarf_dieoffset(&die)) : NONE;
	if (!name || owner == NONE)
		return str_from(name ? name : "");
	add_owners(di, u, owner, 0, &whole);
	buf_text(&whole, name);
	kept = arena_str(&di->frame_names, buf_as_str(&whole));
	buf_free(&whole);
	return kept.ptr ? kept : str_from(name);
}
