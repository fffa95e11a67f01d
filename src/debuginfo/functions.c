/* Functions by address, and the places where they were inlined. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "debuginfo/inside.h"

/* Entries of a unit, one after the other with their children. `around`: the function that has it.
 * Non-zero from `take` ends the walk. */
struct entry_walk {
	struct debuginfo *di;
	int (*take)(struct entry_walk *w, Dwarf_Die *die, uint64_t around);
	void *arg;
};

static int walk_children(struct entry_walk *w, Dwarf_Die *die, uint64_t around, unsigned depth)
{
	Dwarf_Die child;
	int left, err = 0;

	for (left = dwarf_child(die, &child); !left && !err;
	     left = dwarf_siblingof(&child, &child)) {
		uint64_t inside = around;

		if (dwarf_tag(&child) == DW_TAG_subprogram)
			entry_address(&child, &inside);
		err = w->take(w, &child, inside);
		if (!err && depth < MAX_DEPTH)
			err = walk_children(w, &child, inside, depth + 1);
	}
	return err;
}

static int walk_unit(struct entry_walk *w, uint32_t unit)
{
	Dwarf_Die top;

	return unit_top(w->di, unit, &top) ? walk_children(w, &top, 0, 0) : 0;
}

/* ---- By address ---- */

static uint64_t hash_address(const struct debuginfo *di, uint64_t address)
{
	return hash_bytes((uintptr_t)di, &address, sizeof(address));
}

static int take_function(struct entry_walk *w, Dwarf_Die *die, uint64_t around)
{
	struct debuginfo *di = w->di;
	uint64_t address;

	(void)around;
	if (dwarf_tag(die) != DW_TAG_subprogram || !entry_address(die, &address))
		return 0;
	if (array_grow(di->functions, di->function_count, di->function_cap) ||
	    hash_add(&di->by_address, hash_address(di, address), di->function_count))
		return -ENOMEM;
	di->functions[di->function_count++] =
		(struct function_entry){address, dwarf_dieoffset(die)};
	return 0;
}

static int read_functions(struct debuginfo *di, uint32_t unit)
{
	struct entry_walk w = {di, take_function, NULL};

	if (di->units[unit].has_functions)
		return 0;
	di->units[unit].has_functions = true;
	return walk_unit(&w, unit);
}

static const struct function_entry *find_function(struct debuginfo *di, uint64_t address)
{
	hash_each(i, &di->by_address, hash_address(di, address))
		if (di->functions[i].address == address)
			return &di->functions[i];
	return NULL;
}

/* The register that has a parameter at an address; -1: it is somewhere else, or not known. */
static int16_t register_of(struct debuginfo *di, Dwarf_Die *param, uint64_t address)
{
	Dwarf_Attribute a;
	Dwarf_Op *code;
	size_t len;

	if (!entry_attribute(di, param, DW_AT_location, &a) ||
	    dwarf_getlocation_addr(&a, address, &code, &len, 1) != 1 || len != 1)
		return -1;
	if (code[0].atom >= DW_OP_reg0 && code[0].atom <= DW_OP_reg31)
		return (int16_t)(code[0].atom - DW_OP_reg0);
	return code[0].atom == DW_OP_regx && code[0].number < INT16_MAX ? (int16_t)code[0].number
									: -1;
}

static int read_registers(struct debuginfo *di, Dwarf_Die *die, uint64_t address, unsigned count,
			  const int16_t **out)
{
	int16_t *registers = arena_array(&di->arena, int16_t, count + 1u);
	unsigned n = 0;
	Dwarf_Die child;
	int left;

	if (!registers)
		return -ENOMEM;
	for (left = dwarf_child(die, &child); !left && n < count;
	     left = dwarf_siblingof(&child, &child))
		if (dwarf_tag(&child) == DW_TAG_formal_parameter)
			registers[n++] = register_of(di, &child, address);
	while (n < count)
		registers[n++] = -1;
	*out = registers;
	return 0;
}

static bool is_c_unit(struct debuginfo *di, Dwarf_Die *die)
{
	uint64_t language = 0;
	Dwarf_Die top;

	if (!dwarf_diecu(die, &top, NULL, NULL))
		return false;
	entry_number(di, &top, DW_AT_language, &language);
	return language == DW_LANG_C || language == DW_LANG_C89 || language == DW_LANG_C99 ||
	       language == DW_LANG_C11;
}

static void read_line(struct debuginfo *di, Dwarf_Die *die, struct debug_function *out)
{
	Dwarf_Attribute a;
	Dwarf_Word line, file;
	Dwarf_Files *files;
	Dwarf_Die top;
	const char *name;

	if (entry_inherited(di, die, DW_AT_decl_line, &a) && !dwarf_formudata(&a, &line))
		out->line = (unsigned)line;
	/* The number is one of the unit of the entry that has it, which may be another. */
	if (!entry_attribute(di, die, DW_AT_decl_file, &a) || dwarf_formudata(&a, &file) ||
	    !dwarf_diecu(die, &top, NULL, NULL) || dwarf_getsrcfiles(&top, &files, NULL))
		return;
	name = dwarf_filesrc(files, file, NULL, NULL);
	if (name)
		out->file = arena_str(&di->arena, str_from(name));
}

static int describe_function(struct debuginfo *di, const struct function_entry *f,
			     struct debug_function *out)
{
	struct ctype *type = arena_new(&di->arena, struct ctype);
	Dwarf_Die die, origin;
	unsigned count;
	int err;

	if (!type)
		return -ENOMEM;
	if (!dwarf_offdie(di->dwarf, f->offset, &die))
		return -EBADMSG;
	*type = (struct ctype){.kind = CTYPE_FUNCTION};
	err = type_of_entry(di, &die, &type->to);
	if (!err)
		err = type_params(di, &die, type, &count);
	/* The instance may leave them to what it is one of. */
	if (!err && !count && entry_reference(di, &die, DW_AT_abstract_origin, &origin))
		err = type_params(entry_owner(di, &origin), &origin, type, &count);
	if (err)
		return err;
	*out = (struct debug_function){.name = arena_str(&di->arena, entry_name(di, &die)),
				       .type = type,
				       .is_c = is_c_unit(di, &die)};
	read_line(di, &die, out);
	return out->name.ptr ? read_registers(di, &die, f->address, count, &out->registers)
			     : -ENOMEM;
}

int debuginfo_function(struct debuginfo *di, uint64_t address, struct debug_function *out)
{
	const struct function_entry *f = find_function(di, address);
	uint32_t units[UNITS_OVERLAP_MOST];
	int err = f ? 0 : units_describe(di);
	unsigned count = f || err ? 0 : units_at(di, address, units);

	for (unsigned i = 0; i < count && !f && !err; i++) {
		err = read_functions(di, units[i]);
		f = find_function(di, address);
		di->units[units[i]].is_used |= f != NULL;
	}
	if (!err)
		err = f ? describe_function(di, f, out) : -ENOENT;
	debuginfo_release(di);
	return err;
}

/* ---- Inlined copies ---- */

struct inlined {
	struct str name;
	debug_place_fn *fn;
	void *arg;
	uint64_t *origins; /* entries of functions of that name */
	size_t origin_count, origin_cap;
	int count;
};

static int take_origin(struct entry_walk *w, Dwarf_Die *die, uint64_t around)
{
	struct inlined *in = w->arg;

	(void)around;
	if (dwarf_tag(die) != DW_TAG_subprogram || !dwarf_hasattr(die, DW_AT_inline) ||
	    !str_eq(entry_name(w->di, die), in->name))
		return 0;
	if (array_grow(in->origins, in->origin_count, in->origin_cap))
		return -ENOMEM;
	in->origins[in->origin_count++] = dwarf_dieoffset(die);
	return 0;
}

static int take_inlined(struct entry_walk *w, Dwarf_Die *die, uint64_t around)
{
	struct inlined *in = w->arg;
	uint64_t address;
	Dwarf_Die origin;

	if (dwarf_tag(die) != DW_TAG_inlined_subroutine ||
	    !entry_reference(w->di, die, DW_AT_abstract_origin, &origin) ||
	    !str_eq(entry_name(w->di, &origin), in->name) || !entry_address(die, &address))
		return 0;
	in->count++;
	return in->fn(in->arg, address, around);
}

struct inlined_entry {
	uint64_t address, offset;
};

static int take_entry(struct entry_walk *w, Dwarf_Die *die, uint64_t around)
{
	struct inlined_entry *e = w->arg;
	uint64_t address;

	(void)around;
	if (dwarf_tag(die) == DW_TAG_inlined_subroutine && entry_address(die, &address) &&
	    address == e->address)
		e->offset = dwarf_dieoffset(die);
	return 0;
}

uint64_t inlined_at(struct debuginfo *di, uint32_t unit, uint64_t address)
{
	struct inlined_entry e = {.address = address};
	struct entry_walk w = {di, take_entry, &e};

	walk_unit(&w, unit);
	return e.offset;
}

/* Copies are in the units that define the function, and in others that refer to one of those, as
 * link-time optimisation and dwz make them. */
int debuginfo_inlined(struct debuginfo *di, struct str name, debug_place_fn *fn, void *arg)
{
	struct inlined in = {.name = name, .fn = fn, .arg = arg};
	struct entry_walk w = {di, take_origin, &in};
	uint32_t *units, *more = NULL;
	size_t count, more_count = 0;
	int err = units_naming(di, name, &units, &count);

	if (err)
		return err;
	for (size_t i = 0; i < count && !err; i++)
		err = walk_unit(&w, units[i]);
	if (!err && in.origin_count)
		err = units_referring(di, in.origins, in.origin_count, &more, &more_count);
	w.take = take_inlined;
	/* Both lists are in order: what is in both is looked at once. */
	for (size_t i = 0, k = 0; i < more_count && !err; i++) {
		while (k < count && units[k] < more[i])
			k++;
		if (k == count || units[k] != more[i])
			err = walk_unit(&w, more[i]);
	}
	for (size_t i = 0; i < count && in.origin_count && !err; i++) {
		err = walk_unit(&w, units[i]);
		if (i % 16 == 15)
			debuginfo_release(di);
	}
	free(units);
	free(more);
	free(in.origins);
	debuginfo_release(di);
	return err ? err : in.count;
}
