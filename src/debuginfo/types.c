/* One entry of DWARF -> a C type. What it points to is made with it, up to the next struct or enum,
 * whose members wait until they are asked for. */
#include <errno.h>

#include "base/array.h"
#include "debuginfo/inside.h"

static const struct ctype nothing = {.kind = CTYPE_VOID, .name = {"void", 4}};

/* ---- Types that were made ---- */

/* The number of an entry: its offset, which DWARF 4 counts from 0 again in .debug_types. */
#define IN_TYPES (1ull << 63)

static uint64_t number_of(const struct debuginfo *di, Dwarf_Die *die)
{
	const char *at = die->addr;
	bool is_in_info = di->info.len && at >= di->info.ptr && at < di->info.ptr + di->info.len;

	return dwarf_dieoffset(die) | (is_in_info ? 0 : IN_TYPES);
}

static bool entry_of(struct debuginfo *di, uint64_t number, Dwarf_Die *out)
{
	return number & IN_TYPES ? dwarf_offdie_types(di->dwarf, number & ~IN_TYPES, out) != NULL
				 : dwarf_offdie(di->dwarf, number, out) != NULL;
}

static struct made_type *find_made(struct debuginfo *di, uint64_t offset)
{
	hash_each(i, &di->by_offset, hash_bytes((uintptr_t)di, &offset, sizeof(offset)))
		if (di->made[i].offset == offset)
			return &di->made[i];
	return NULL;
}

static int add_made(struct debuginfo *di, uint64_t offset, size_t *index)
{
	if (array_grow(di->made, di->made_count, di->made_cap) ||
	    hash_add(&di->by_offset, hash_bytes((uintptr_t)di, &offset, sizeof(offset)),
		     di->made_count))
		return -ENOMEM;
	*index = di->made_count;
	di->made[di->made_count++] = (struct made_type){offset, &di->in_work};
	return 0;
}

/* ---- Kinds ---- */

static struct ctype *new_type(struct debuginfo *di, enum ctype_kind kind, Dwarf_Die *die)
{
	struct ctype *made = arena_new(&di->arena, struct ctype);
	uint64_t size = 0;

	if (!made)
		return NULL;
	entry_number(di, die, DW_AT_byte_size, &size);
	*made = (struct ctype){.kind = kind, .size = size};
	made->name = arena_str(&di->arena, entry_name(di, die));
	return made->name.ptr ? made : NULL;
}

static struct ctype *make_basic(struct debuginfo *di, Dwarf_Die *die)
{
	struct ctype *made = new_type(di, CTYPE_INTEGER, die);
	uint64_t encoding = 0;

	if (!made)
		return NULL;
	entry_number(di, die, DW_AT_encoding, &encoding);
	switch (encoding) {
	case DW_ATE_boolean: made->kind = CTYPE_BOOL; break;
	case DW_ATE_float: made->kind = CTYPE_FLOAT; break;
	case DW_ATE_signed:
	case DW_ATE_signed_char: made->is_signed = true; break;
	case DW_ATE_UTF: made->kind = CTYPE_CHAR; break;
	case DW_ATE_unsigned:
	case DW_ATE_unsigned_char:
	case DW_ATE_address: break;
	default: made->kind = CTYPE_BYTES; break; /* complex numbers, decimal floats */
	}
	if (str_eq_text(made->name, "char"))
		made->kind = CTYPE_CHAR;
	return made;
}

/* A struct, union or enum: its inside is read later. A class that is only declared is looked for
 * then, too. */
static struct ctype *make_open(struct debuginfo *di, Dwarf_Die *die, enum ctype_kind kind)
{
	struct ctype *made = new_type(di, kind, die);
	Dwarf_Die base;

	if (!made)
		return NULL;
	made->reader = &di->reader;
	made->reader_id = number_of(di, die);
	made->is_declaration = entry_flag(di, die, DW_AT_declaration);
	if (kind == CTYPE_ENUM && entry_reference(di, die, DW_AT_type, &base)) {
		uint64_t encoding = 0;

		entry_number(di, &base, DW_AT_encoding, &encoding);
		made->is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
	}
	return made;
}

int type_of_entry(struct debuginfo *di, Dwarf_Die *die, const struct ctype **out)
{
	Dwarf_Attribute a;
	Dwarf_Die target;

	*out = &nothing;
	if (!entry_inherited(di, die, DW_AT_type, &a))
		return 0;
	if (!dwarf_formref_die(&a, &target))
		return -EBADMSG;
	return type_make(di, &target, out);
}

static struct ctype *wrap_type(struct debuginfo *di, Dwarf_Die *die, enum ctype_kind kind, int *err)
{
	const struct ctype *to;
	struct ctype *made;

	*err = type_of_entry(di, die, &to);
	if (*err)
		return NULL;
	made = new_type(di, kind, die);
	if (!made)
		return NULL;
	made->to = to;
	if (kind == CTYPE_POINTER && !made->size)
		made->size = di->machine.word;
	return made;
}

static struct ctype *qualify_type(struct debuginfo *di, Dwarf_Die *die, unsigned qualifier,
				  int *err)
{
	const struct ctype *plain;

	*err = type_of_entry(di, die, &plain);
	if (*err)
		return NULL;
	return ctype_qualified(&di->arena, plain, qualifier);
}

/* Elements of one dimension, as text; empty for [] and for lengths known at run time only. */
static struct str bound_of(struct debuginfo *di, Dwarf_Die *range)
{
	uint64_t n;

	if (entry_number(di, range, DW_AT_count, &n) ||
	    (entry_number(di, range, DW_AT_upper_bound, &n) && n < UINT64_MAX && ++n))
		return arena_printf(&di->arena, "%llu", (unsigned long long)n);
	return STR("");
}

/* int m[2][3]: dimensions are children, the outermost first. */
static struct ctype *make_array(struct debuginfo *di, Dwarf_Die *die, int *err)
{
	struct ctype *first = wrap_type(di, die, CTYPE_ARRAY, err), *last = first;
	bool is_first = true;
	unsigned count = 0;
	Dwarf_Die child;
	int left;

	if (!first)
		return NULL;
	first->size = 0;
	for (left = dwarf_child(die, &child); !left && count < 16;
	     left = dwarf_siblingof(&child, &child)) {
		struct str bound;

		if (dwarf_tag(&child) != DW_TAG_subrange_type)
			continue;
		bound = bound_of(di, &child);
		if (!bound.ptr)
			return NULL;
		if (!is_first) {
			struct ctype *inner = arena_new(&di->arena, struct ctype);

			if (!inner)
				return NULL;
			*inner = *last;
			last->to = inner;
			last = inner;
		}
		last->bound = bound;
		is_first = false;
		count++;
	}
	return first;
}

int type_params(struct debuginfo *di, Dwarf_Die *die, struct ctype *function, unsigned *count)
{
	struct ctype_param *last = NULL;
	Dwarf_Die child;
	int left, err;

	*count = 0;
	for (left = dwarf_child(die, &child); !left; left = dwarf_siblingof(&child, &child)) {
		struct ctype_param *p;

		if (dwarf_tag(&child) == DW_TAG_unspecified_parameters)
			function->variadic = true;
		if (dwarf_tag(&child) != DW_TAG_formal_parameter)
			continue;
		p = arena_new(&di->arena, struct ctype_param);
		if (!p || *count == 255)
			return p ? 0 : -ENOMEM;
		p->name = arena_str(&di->arena, entry_name(di, &child));
		err = type_of_entry(di, &child, &p->type);
		if (err || !p->name.ptr)
			return err ? err : -ENOMEM;
		if (last)
			last->next = p;
		else
			function->params = p;
		last = p;
		++*count;
	}
	return 0;
}

static struct ctype *make_function(struct debuginfo *di, Dwarf_Die *die, int *err)
{
	struct ctype *made = wrap_type(di, die, CTYPE_FUNCTION, err);
	unsigned count;

	if (made) {
		made->size = 0;
		*err = type_params(di, die, made, &count);
	}
	return *err ? NULL : made;
}

/* With -fdebug-types-section a unit has only the signature of a type, which is in a unit of its
 * own. */
static struct ctype *make_signed(struct debuginfo *di, Dwarf_Die *die, int *err)
{
	const struct ctype *made = NULL;

	*err = type_make(di, die, &made);
	return (struct ctype *)made; /* made here, writable */
}

static struct ctype *make_type(struct debuginfo *di, Dwarf_Die *die, int *err)
{
	Dwarf_Die target;

	if (entry_reference(di, die, DW_AT_signature, &target))
		return make_signed(di, &target, err);
	switch (dwarf_tag(die)) {
	case DW_TAG_base_type: return make_basic(di, die);
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_interface_type: return make_open(di, die, CTYPE_STRUCT);
	case DW_TAG_union_type: return make_open(di, die, CTYPE_UNION);
	case DW_TAG_enumeration_type: return make_open(di, die, CTYPE_ENUM);
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type: return wrap_type(di, die, CTYPE_POINTER, err);
	case DW_TAG_typedef: return wrap_type(di, die, CTYPE_NAMED, err);
	case DW_TAG_array_type: return make_array(di, die, err);
	case DW_TAG_subroutine_type: return make_function(di, die, err);
	case DW_TAG_const_type: return qualify_type(di, die, CTYPE_CONST, err);
	case DW_TAG_volatile_type: return qualify_type(di, die, CTYPE_VOLATILE, err);
	case DW_TAG_restrict_type: return qualify_type(di, die, CTYPE_RESTRICT, err);
	case DW_TAG_atomic_type: return qualify_type(di, die, CTYPE_ATOMIC, err);
	case DW_TAG_unspecified_type: return new_type(di, CTYPE_VOID, die);
	default: return new_type(di, CTYPE_BYTES, die); /* of other languages than C */
	}
}

int type_make(struct debuginfo *di, Dwarf_Die *die, const struct ctype **out)
{
	struct made_type *known;
	struct ctype *made;
	uint64_t offset;
	size_t index;
	int err = 0;

	di = entry_owner(di, die);
	offset = number_of(di, die);
	known = find_made(di, offset);
	if (known) {
		*out = known->type;
		return known->type == &di->in_work || !known->type ? -EBADMSG : 0;
	}
	/* Chains of pointers and typedefs are short; each step is a call. */
	if (di->reader.depth >= 2 * CTYPE_MAX_DEPTH)
		return -EBADMSG;
	if (add_made(di, offset, &index))
		return -ENOMEM;
	di->reader.depth++;
	made = make_type(di, die, &err);
	di->reader.depth--;
	*out = di->made[index].type = made;
	return made ? 0 : err ? err : -ENOMEM;
}

/* ---- Members ---- */

struct member_list {
	struct ctype_member *items;
	size_t count, cap;
};

/* DWARF 2 to 4 count from the highest bit of the number that the bits are part of, on every
 * machine. */
static void place_from_top(struct debuginfo *di, Dwarf_Die *die, struct ctype_member *m,
			   uint64_t from_top, uint64_t width)
{
	uint64_t size = ctype_layout(m->type, &di->machine).size, low;

	entry_number(di, die, DW_AT_byte_size, &size);
	if (!size || size > 8 || width > size * 8 || from_top > size * 8 - width)
		return;
	low = size * 8 - from_top - width;
	ctype_place_bits(m, m->offset * 8 + (di->big_endian ? from_top : low), width,
			 di->big_endian, &di->machine);
}

static void place_member(struct debuginfo *di, Dwarf_Die *die, struct ctype_member *m)
{
	uint64_t width = 0, bit;

	entry_number(di, die, DW_AT_data_member_location, &m->offset);
	if (!entry_number(di, die, DW_AT_bit_size, &width) || !width)
		return;
	if (entry_number(di, die, DW_AT_data_bit_offset, &bit))
		ctype_place_bits(m, bit, width, di->big_endian, &di->machine);
	else if (entry_number(di, die, DW_AT_bit_offset, &bit))
		place_from_top(di, die, m, bit, width);
	else
		ctype_place_bits(m, m->offset * 8, width, di->big_endian, &di->machine);
}

/* Data, or a base class of C++, which is a member without a name. Static members have no place, and
 * virtual base classes one that only the program finds. */
static bool is_data(struct debuginfo *di, Dwarf_Die *die)
{
	uint64_t is_virtual = 0;

	if (dwarf_tag(die) == DW_TAG_inheritance) {
		entry_number(di, die, DW_AT_virtuality, &is_virtual);
		return !is_virtual;
	}
	return dwarf_tag(die) == DW_TAG_member && !entry_flag(di, die, DW_AT_external) &&
	       !entry_flag(di, die, DW_AT_declaration);
}

static int read_members(struct debuginfo *di, Dwarf_Die *die, struct ctype *out)
{
	struct member_list list = {NULL, 0, 0};
	Dwarf_Die child;
	int left, err;

	for (left = dwarf_child(die, &child); !left; left = dwarf_siblingof(&child, &child)) {
		struct ctype_member *m;

		if (!is_data(di, &child))
			continue;
		if (arena_grow(&di->arena, (void **)&list.items, list.count, &list.cap,
			       sizeof(*list.items)))
			return -ENOMEM;
		m = &list.items[list.count++];
		*m = (struct ctype_member){.name = STR("")};
		if (dwarf_tag(&child) == DW_TAG_member)
			m->name = arena_str(&di->arena, entry_name(di, &child));
		err = type_of_entry(di, &child, &m->type);
		if (err || !m->name.ptr)
			return err ? err : -ENOMEM;
		place_member(di, &child, m);
	}
	return ctype_finish(out, list.items, (unsigned)list.count, &di->machine);
}

static int read_constants(struct debuginfo *di, Dwarf_Die *die, struct ctype *out)
{
	struct ctype_constant *items = NULL;
	size_t count = 0, cap = 0;
	bool is_typed = dwarf_hasattr(die, DW_AT_type);
	Dwarf_Die child;
	int left;

	for (left = dwarf_child(die, &child); !left; left = dwarf_siblingof(&child, &child)) {
		Dwarf_Attribute a;
		Dwarf_Sword value;

		if (dwarf_tag(&child) != DW_TAG_enumerator ||
		    !entry_attribute(di, &child, DW_AT_const_value, &a) ||
		    dwarf_formsdata(&a, &value))
			continue;
		if (arena_grow(&di->arena, (void **)&items, count, &cap, sizeof(*items)))
			return -ENOMEM;
		items[count].name = arena_str(&di->arena, entry_name(di, &child));
		items[count].value = value;
		if (!items[count++].name.ptr)
			return -ENOMEM;
		/* Without a type of its own, an enum is signed when a constant is negative. */
		if (!is_typed && value < 0)
			out->is_signed = true;
	}
	out->constants = items;
	out->constant_count = (unsigned)count;
	return 0;
}

/* Declared here, defined in another unit: copy that. */
static int find_definition(struct debuginfo *di, struct ctype *out)
{
	const struct ctype *definition;
	int err = -ENOENT;

	if (out->name.len)
		err = debuginfo_type(di, out->kind, out->name, &definition);
	if (!err && definition != out)
		err = ctype_complete(definition);
	if (err)
		return err == -ENOENT ? 0 : err;
	if (definition->kind != out->kind || definition->is_declaration)
		return 0;
	out->is_declaration = false;
	out->size = definition->size;
	out->align = definition->align;
	out->is_signed = definition->is_signed;
	out->members = definition->members;
	out->member_count = definition->member_count;
	out->constants = definition->constants;
	out->constant_count = definition->constant_count;
	return 0;
}

int type_complete(struct ctype_reader *r, struct ctype *out)
{
	struct debuginfo *di = (struct debuginfo *)r; /* the reader is its first member */
	Dwarf_Die die;
	int err;

	if (!entry_of(di, out->reader_id, &die))
		return -EBADMSG;
	if (out->is_declaration)
		err = find_definition(di, out);
	else if (out->kind == CTYPE_ENUM)
		err = read_constants(di, &die, out);
	else
		err = read_members(di, &die, out);
	return err;
}
