/* The rules that all tables share: each kept once. */
#include "unwind/inside.h"

#include <errno.h>

#include "base/array.h"

int unwind_rules_init(struct unwind_rules *r)
{
	static const struct unwind_rule fixed[] = {
		[UNWIND_RULE_NONE] = {.cfa = UNWIND_NONE},
		[UNWIND_RULE_UNKNOWN] = {.cfa = UNWIND_UNKNOWN},
		[UNWIND_RULE_REFUSED] = {.cfa = UNWIND_REFUSED},
		[UNWIND_RULE_CHAIN] = {.cfa = UNWIND_FP,
				       .cfa_off = 16,
				       .fp = UNWIND_AT_CFA,
				       .fp_off = -16,
				       .ra = UNWIND_AT_CFA,
				       .ra_off = -8},
	};

	memset(r, 0, sizeof(*r));
	if (hash_reserve(&r->by_value, UNWIND_RULES_MOST))
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
		unwind_rules_number(r, &fixed[i]);
	return 0;
}

void unwind_rules_free(struct unwind_rules *r)
{
	hash_free(&r->by_value);
}

/* Field by field: a rule was just written so, and a CPU waits when it reads it in larger pieces. */
static bool is_same(const struct unwind_rule *a, const struct unwind_rule *b)
{
	return a->cfa_off == b->cfa_off && a->fp_off == b->fp_off && a->ra_off == b->ra_off &&
	       a->cfa == b->cfa && a->fp == b->fp && a->ra == b->ra && a->more == b->more;
}

uint16_t unwind_rules_number(struct unwind_rules *r, const struct unwind_rule *rule)
{
	uint32_t bits = (uint32_t)rule->cfa_off >> 3 ^ (uint32_t)rule->fp_off << 2 ^
			(uint32_t)rule->fp << 6 ^ (uint32_t)rule->cfa << 8;
	uint16_t *recent = &r->recent[bits % COUNT(r->recent)];
	uint64_t hash;

	/* The same few rules come over and over. */
	if (*recent < r->count && is_same(&r->items[*recent], rule))
		return *recent;
	hash = hash_bytes(0, rule, sizeof(*rule));
	hash_each(i, &r->by_value, hash)
		if (is_same(&r->items[i], rule))
			return *recent = (uint16_t)i;
	if (r->count == UNWIND_RULES_MOST) {
		r->refused++;
		return UNWIND_RULE_REFUSED;
	}
	r->items[r->count] = *rule;
	hash_add(&r->by_value, hash, r->count); /* there is room: see unwind_rules_init() */
	return *recent = (uint16_t)r->count++;
}
