/* One type of BTF -> a C type. What it points to is made with it, up to the next struct or enum,
 * whose members wait until they are asked for. */
#include <errno.h>

#include "btf/inside.h"

static const struct ctype nothing = {.kind = CTYPE_VOID, .name = {"void", 4}};

static struct ctype *new_type(struct btf *b, enum ctype_kind kind, const struct btf_type *t)
{
	struct ctype *made = arena_new(&b->arena, struct ctype);

	if (made)
		*made = (struct ctype){.kind = kind, .name = t->name, .size = t->size};
	return made;
}

/* encoding: bit 0 signed, 1 character, 2 bool; in bits 24 to 27 of a word. */
static struct ctype *make_int(struct btf *b, const struct btf_type *t)
{
	struct cursor c = t->rest;
	uint32_t word = 0, encoding;
	struct ctype *made;

	cursor_u32(&c, &word);
	encoding = word >> 24 & 15;
	made = new_type(b, CTYPE_INTEGER, t);
	if (!made)
		return NULL;
	made->is_signed = encoding & 1;
	if (encoding & 4)
		made->kind = CTYPE_BOOL;
	else if ((encoding & 2) || str_eq_text(t->name, "char"))
		made->kind = CTYPE_CHAR;
	if (made->kind == CTYPE_CHAR && str_eq_text(t->name, "char"))
		made->is_signed = b->machine.char_is_signed;
	return made;
}

/* A struct, union or enum: its inside is read later. */
static struct ctype *make_open(struct btf *b, const struct btf_type *t, uint32_t id)
{
	enum ctype_kind kind = t->kind == BTF_STRUCT  ? CTYPE_STRUCT
			       : t->kind == BTF_UNION ? CTYPE_UNION
						      : CTYPE_ENUM;
	struct ctype *made = new_type(b, kind, t);

	if (!made)
		return NULL;
	made->reader = &b->reader;
	made->reader_id = id;
	made->is_signed = kind == CTYPE_ENUM && t->flag;
	/* An enum without constants is one that is defined elsewhere. */
	made->is_declaration = kind == CTYPE_ENUM && !t->count;
	return made;
}

static struct ctype *make_declaration(struct btf *b, const struct btf_type *t)
{
	struct ctype *made = new_type(b, t->flag ? CTYPE_UNION : CTYPE_STRUCT, t);

	if (made) {
		made->size = 0;
		made->is_declaration = true;
	}
	return made;
}

static struct ctype *wrap_type(struct btf *b, enum ctype_kind kind, const struct btf_type *t,
			       uint32_t target, int *err)
{
	const struct ctype *to;
	struct ctype *made;

	*err = btf_make(b, target, &to);
	if (*err)
		return NULL;
	made = new_type(b, kind, t);
	if (made) {
		made->to = to;
		made->size = 0;
	}
	return made;
}

static struct ctype *make_array(struct btf *b, const struct btf_type *t, int *err)
{
	struct cursor c = t->rest;
	uint32_t of = 0, index = 0, count = 0;
	struct ctype *made;

	cursor_u32(&c, &of);
	cursor_u32(&c, &index);
	cursor_u32(&c, &count);
	made = wrap_type(b, CTYPE_ARRAY, t, of, err);
	if (!made)
		return NULL;
	made->bound = arena_printf(&b->arena, "%u", count);
	return made->bound.ptr ? made : NULL;
}

/* The same type with a qualifier. */
static struct ctype *qualify_type(struct btf *b, const struct btf_type *t, int *err)
{
	unsigned qualifier = t->kind == BTF_CONST      ? CTYPE_CONST
			     : t->kind == BTF_VOLATILE ? CTYPE_VOLATILE
			     : t->kind == BTF_RESTRICT ? CTYPE_RESTRICT
						       : 0;
	const struct ctype *plain;

	*err = btf_make(b, t->target, &plain);
	if (*err)
		return NULL;
	return ctype_qualified(&b->arena, plain, qualifier);
}

/* parameter = name 4 | type 4; type 0 at the end is "...". */
static int add_params(struct btf *b, const struct btf_type *t, struct ctype *made)
{
	struct ctype_param *params = arena_array(&b->arena, struct ctype_param, t->count + 1u);
	struct cursor c = t->rest;
	uint32_t name = 0, type = 0;

	if (!params)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++) {
		int err;

		cursor_u32(&c, &name);
		cursor_u32(&c, &type);
		if (!type && i + 1 == t->count) {
			made->variadic = true;
			break;
		}
		params[i].name = btf_string(b, name);
		err = btf_make(b, type, &params[i].type);
		if (err)
			return err;
		if (i)
			params[i - 1].next = &params[i];
		else
			made->params = params;
	}
	return 0;
}

static struct ctype *make_function(struct btf *b, const struct btf_type *t, int *err)
{
	struct ctype *made = wrap_type(b, CTYPE_FUNCTION, t, t->target, err);

	if (made)
		*err = add_params(b, t, made);
	return *err ? NULL : made;
}

static struct ctype *make_type(struct btf *b, const struct btf_type *t, uint32_t id, int *err)
{
	switch (t->kind) {
	case BTF_INT: return make_int(b, t);
	case BTF_FLOAT: return new_type(b, CTYPE_FLOAT, t);
	case BTF_STRUCT:
	case BTF_UNION:
	case BTF_ENUM:
	case BTF_ENUM64: return make_open(b, t, id);
	case BTF_FWD: return make_declaration(b, t);
	case BTF_PTR: return wrap_type(b, CTYPE_POINTER, t, t->target, err);
	case BTF_TYPEDEF: return wrap_type(b, CTYPE_NAMED, t, t->target, err);
	case BTF_ARRAY: return make_array(b, t, err);
	case BTF_FUNC_PROTO: return make_function(b, t, err);
	case BTF_FUNC: /* its name is that of the function, not of the type */
	case BTF_CONST:
	case BTF_VOLATILE:
	case BTF_RESTRICT:
	case BTF_TYPE_TAG: return qualify_type(b, t, err);
	default: *err = -EBADMSG; return NULL;
	}
}

int btf_make(struct btf *b, uint32_t id, const struct ctype **out)
{
	struct ctype *made;
	struct btf_type t;
	uint32_t index;
	int err = 0;

	*out = &nothing;
	if (!id)
		return 0;
	while (b->base && id < b->first_id)
		b = b->base;
	index = id - b->first_id;
	if (id < b->first_id || index >= b->count)
		return -EBADMSG;
	if (b->made[index]) {
		*out = b->made[index];
		return *out == &b->in_work ? -EBADMSG : 0;
	}
	/* Chains of pointers and typedefs are short; each step is a call. */
	if (b->reader.depth >= 2 * CTYPE_MAX_DEPTH || !btf_read(b, index, &t))
		return -EBADMSG;
	b->made[index] = &b->in_work;
	b->reader.depth++;
	made = make_type(b, &t, id, &err);
	b->reader.depth--;
	b->made[index] = made;
	if (!made)
		return err ? err : -ENOMEM;
	*out = made;
	return 0;
}

/* ---- Members ---- */

/* An old form: a number of fewer bits than its bytes have. word = encoding 8 | offset 8 | bits 16
 */
static void narrow_int(const struct btf *b, uint32_t id, uint64_t *bit, uint32_t *width)
{
	uint32_t word = 0;
	struct btf_type t;

	while (b->base && id < b->first_id)
		b = b->base;
	if (id < b->first_id || !btf_read(b, id - b->first_id, &t) || t.kind != BTF_INT)
		return;
	cursor_u32(&t.rest, &word);
	if ((word & 0xff) < t.size * 8) {
		*bit += word >> 16 & 0xff;
		*width = word & 0xff;
	}
}

/* member = name 4 | type 4 | bits from the start 4, of which with the flag the upper 8 are the
 * width of a bit-field */
static int read_members(struct btf *b, const struct btf_type *t, struct ctype *out)
{
	struct ctype_member *members = arena_array(&b->arena, struct ctype_member, t->count + 1u);
	struct cursor c = t->rest;

	if (!members)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++) {
		uint32_t name = 0, type = 0, word = 0, width = 0;
		uint64_t bit;
		int err;

		cursor_u32(&c, &name);
		cursor_u32(&c, &type);
		cursor_u32(&c, &word);
		err = btf_make(b, type, &members[i].type);
		if (err)
			return err;
		bit = t->flag ? word & 0xffffff : word;
		width = t->flag ? word >> 24 : 0;
		if (!width)
			narrow_int(b, type, &bit, &width);
		members[i].name = btf_string(b, name);
		members[i].offset = bit / 8;
		if (width)
			ctype_place_bits(&members[i], bit, width, b->big_endian, &b->machine);
	}
	return ctype_finish(out, members, t->count, &b->machine);
}

static int read_constants(struct btf *b, const struct btf_type *t, struct ctype *out)
{
	struct ctype_constant *constants =
		arena_array(&b->arena, struct ctype_constant, t->count + 1u);

	if (!constants)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++)
		constants[i].name = btf_constant(b, t, i, &constants[i].value);
	out->constants = constants;
	out->constant_count = t->count;
	return 0;
}

int btf_complete(struct ctype_reader *r, struct ctype *out)
{
	struct btf *b = (struct btf *)r; /* the reader is its first member */
	struct btf_type t;

	if (!btf_read(b, (uint32_t)out->reader_id - b->first_id, &t))
		return -EBADMSG;
	if (t.kind == BTF_STRUCT || t.kind == BTF_UNION)
		return read_members(b, &t, out);
	return read_constants(b, &t, out);
}
