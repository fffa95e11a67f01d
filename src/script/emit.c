/* Records: their formats, each numbered once however often it is sent, and the instruction that
 * sends one. */
#include <errno.h>

#include "script/compile.h"

int lower_field(struct lower *l, const struct expr *e, struct field *out)
{
	*out = (struct field){REG_NO, SLOT_NO};
	if (type_is_word(&e->shape.type))
		return lower_word(l, e, &out->reg);
	return lower_memory(l, e, &e->shape.type, &out->slot);
}

static bool same_format(const struct format *a, const struct format *b)
{
	if (a->kind != b->kind || !str_eq(a->text, b->text) || a->field_count != b->field_count ||
	    a->map != b->map || a->top != b->top || a->div != b->div ||
	    a->exit_code != b->exit_code)
		return false;
	for (unsigned i = 0; i < a->field_count; i++)
		if (!type_equal(&a->fields[i], &b->fields[i]))
			return false;
	return true;
}

static int format_number(struct script *s, const struct format *f, uint32_t *out)
{
	struct format_list *list = &s->formats;
	struct type *types;

	for (size_t i = 0; i < list->count; i++) {
		if (same_format(&list->items[i], f)) {
			*out = (uint32_t)i;
			return 0;
		}
	}
	types = arena_array(&s->arena, struct type, f->field_count + 1u);
	if (!types || arena_grow(&s->arena, (void **)&list->items, list->count, &list->cap,
				 sizeof(*list->items)))
		return -ENOMEM;
	memcpy(types, f->fields, f->field_count * sizeof(*types));
	list->items[list->count] = *f;
	list->items[list->count].fields = types;
	*out = (uint32_t)list->count++;
	return 0;
}

int lower_emit(struct lower *l, const struct format *f, const struct field *fields)
{
	struct field *copy = arena_array(l->arena, struct field, f->field_count + 1u);
	struct format named = *f;
	struct insn *i;
	uint32_t number;

	if (!named.fields)
		named.fields = &(const struct type){.kind = TYPE_NONE};
	if (!copy || format_number(l->s, &named, &number))
		return -ENOMEM;
	if (number > UINT16_MAX)
		return diag_error_at(l->d, -E2BIG, "too-big", script_span(l->s, l->v->clause->mark),
				     "the script sends too many kinds of records");
	if (f->field_count)
		memcpy(copy, fields, f->field_count * sizeof(*copy));
	i = lower_op(l, OP_EMIT);
	i->imm = number;
	i->fields = copy;
	i->field_count = (uint8_t)f->field_count;
	return 0;
}
