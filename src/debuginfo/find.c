/* Types and constants by name. */
#include <errno.h>
#include <stdlib.h>

#include "debuginfo/inside.h"

/* What is looked for, and what was found. */
struct lookup {
	struct debuginfo *di;
	enum ctype_kind kind;
	struct str name;
	bool is_constant;
	const struct ctype *type;
	int64_t value;
	int err;
};

static enum ctype_kind kind_of(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type: return CTYPE_STRUCT;
	case DW_TAG_union_type: return CTYPE_UNION;
	case DW_TAG_enumeration_type: return CTYPE_ENUM;
	case DW_TAG_base_type:
	case DW_TAG_typedef: return CTYPE_NAMED;
	default: return CTYPE_VOID;
	}
}

/* May other definitions be among its children? */
static bool has_definitions(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block: return true;
	default: return false;
	}
}

static bool is_constant_of(struct lookup *l, Dwarf_Die *die)
{
	Dwarf_Die child;
	int left;

	for (left = dwarf_child(die, &child); !left; left = dwarf_siblingof(&child, &child))
		if (dwarf_tag(&child) == DW_TAG_enumerator &&
		    str_eq(entry_name(l->di, &child), l->name))
			return true;
	return false;
}

/* True ends the walk. */
static bool take_entry(struct lookup *l, Dwarf_Die *die)
{
	enum ctype_kind kind = kind_of(die);

	if (kind == CTYPE_VOID || entry_flag(l->di, die, DW_AT_declaration))
		return false;
	if (l->is_constant ? kind != CTYPE_ENUM || !is_constant_of(l, die)
			   : kind != l->kind || !str_eq(entry_name(l->di, die), l->name))
		return false;
	l->err = type_make(l->di, die, &l->type);
	if (!l->err && l->is_constant && !ctype_constant(l->type, l->name, &l->value))
		l->err = -EBADMSG;
	return true;
}

static bool walk_children(struct lookup *l, Dwarf_Die *die, unsigned depth)
{
	Dwarf_Die child;
	int left;

	for (left = dwarf_child(die, &child); !left; left = dwarf_siblingof(&child, &child)) {
		if (take_entry(l, &child))
			return true;
		if (depth < MAX_DEPTH && has_definitions(&child) &&
		    walk_children(l, &child, depth + 1))
			return true;
	}
	return false;
}

/* 0: found, with l->err; -ENOENT. */
static int find_in_unit(struct lookup *l, uint32_t unit)
{
	Dwarf_Die top;

	if (!unit_top(l->di, unit, &top) || !walk_children(l, &top, 0))
		return -ENOENT;
	l->di->units[unit].is_used = true;
	return l->err;
}

/* The units of .debug_types, which DWARF 4 has with -fdebug-types-section: one for each type. */
static int find_in_type_units(struct lookup *l)
{
	Dwarf *dwarf = l->di->dwarf;
	Dwarf_Off at = 0, next, ignored;
	size_t header;
	uint64_t signature;
	Dwarf_Die top;

	for (; !dwarf_next_unit(dwarf, at, &next, &header, NULL, &ignored, NULL, NULL, &signature,
				NULL);
	     at = next) {
		if (next <= at)
			break;
		if (dwarf_offdie_types(dwarf, at + header, &top) && walk_children(l, &top, 0))
			return l->err;
	}
	return -ENOENT;
}

/* 1 ends the search: l->err is the result. */
static int try_unit(void *arg, uint32_t unit)
{
	struct lookup *l = arg;

	return !l->di->units[unit].is_used && find_in_unit(l, unit) != -ENOENT;
}

static int find_here(struct lookup *l)
{
	int err = -ENOENT;

	for (uint32_t i = 0; i < l->di->unit_count && err == -ENOENT; i++)
		if (l->di->units[i].is_used)
			err = find_in_unit(l, i);
	if (err != -ENOENT)
		return err;
	err = units_naming_each(l->di, l->name, try_unit, l);
	if (err)
		return err > 0 ? l->err : err;
	return find_in_type_units(l);
}

/* In the file, then in the file that it has its common parts in. */
static int find_entry(struct lookup *l)
{
	struct debuginfo *di = l->di;
	struct str name = l->name;
	int err = find_here(l);

	l->name = ctype_compiler_name(name);
	if (err == -ENOENT && l->kind == CTYPE_NAMED && !str_eq(name, l->name))
		err = find_here(l);
	l->name = name;
	if (err == -ENOENT && di->alt) {
		l->di = di->alt;
		err = find_entry(l);
		l->di = di;
	}
	debuginfo_release(di);
	return err;
}

int debuginfo_type(struct debuginfo *di, enum ctype_kind kind, struct str name,
		   const struct ctype **out)
{
	struct lookup l = {.di = di, .kind = kind, .name = name};
	int err = find_entry(&l);

	if (!err)
		*out = l.type;
	return err;
}

int debuginfo_constant(struct debuginfo *di, struct str name, const struct ctype **out,
		       int64_t *value)
{
	struct lookup l = {.di = di, .name = name, .is_constant = true};
	int err = find_entry(&l);

	if (!err) {
		*out = l.type;
		*value = l.value;
	}
	return err;
}
