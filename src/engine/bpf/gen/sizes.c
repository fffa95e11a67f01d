/* Sizes of slots and records; see sizes.h. */
#include "engine/bpf/gen/sizes.h"

#include "program/record.h"

#define RESERVE_MOST 1024u /* larger records are packed in scratch memory, too */

bool type_is_text(const struct type *t)
{
	return t->kind == TYPE_STR || t->kind == TYPE_BUF;
}

uint32_t slot_used(const struct type *t)
{
	return (uint32_t)type_memory(t) + (type_is_text(t) ? TEXT_SLOP : 0);
}

bool type_is_variable(const struct type *t)
{
	return type_is_text(t) || type_is_stack(t);
}

uint32_t record_most(const struct format *f, bool *fixed)
{
	uint32_t total = sizeof(struct record_head);

	*fixed = true;
	for (unsigned i = 0; i < f->field_count; i++) {
		total += (uint32_t)type_memory(&f->fields[i]);
		*fixed &= !type_is_variable(&f->fields[i]);
	}
	*fixed &= total <= RESERVE_MOST;
	return total;
}

int record_first_variable(const struct format *f, uint32_t *before)
{
	*before = sizeof(struct record_head);
	for (unsigned i = 0; i < f->field_count; i++) {
		if (type_is_variable(&f->fields[i]))
			return (int)i;
		*before += (uint32_t)type_memory(&f->fields[i]);
	}
	return -1;
}

uint32_t control_number(const struct program *p, uint32_t format)
{
	uint32_t number = 0;

	for (uint32_t i = 0; i < format; i++)
		number += format_is_control(&p->formats[i]);
	return number;
}
