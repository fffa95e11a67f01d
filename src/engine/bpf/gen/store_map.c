/* How the keys and values of a script's map lie in the kernel's; see store_map.h. */
#include "engine/bpf/gen/store_map.h"

uint32_t store_key_size(const struct type *t, bool is_short)
{
	uint32_t full = (uint32_t)type_memory(t), total = 0;

	if (t->kind == TYPE_STR || t->kind == TYPE_BUF)
		return is_short && full > STORE_SHORT + 8 ? STORE_SHORT + 8 : full;
	if (type_is_stack(t))
		return STORE_STACK_HASH;
	if (t->kind != TYPE_TUPLE)
		return full;
	for (unsigned i = 0; i < t->element_count; i++)
		total += store_key_size(&t->elements[i], is_short);
	return total;
}

uint32_t store_stacks_size(const struct type *t, bool is_short)
{
	uint32_t full = (uint32_t)type_memory(t), total = 0;

	if (type_is_stack(t))
		return is_short && full > STORE_SHORT_STACK + 8 ? STORE_SHORT_STACK + 8 : full;
	for (unsigned i = 0; t->kind == TYPE_TUPLE && i < t->element_count; i++)
		total += store_stacks_size(&t->elements[i], is_short);
	return total;
}

uint64_t extreme_mask(const struct type *t)
{
	uint64_t mask = t->is_signed ? UINT64_C(1) << 63 : 0;

	return type_aggregation(t)->join == JOIN_LEAST ? ~mask : mask;
}
