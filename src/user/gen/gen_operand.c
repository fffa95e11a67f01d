/* Where values are: slots, registers of the program and the constants that they hold, constants
 * after the code. */
#include "user/gen/gen_state.h"

#include <errno.h>
#include <linux/rseq.h>

struct asm_mem native_at(const struct gen *g, int32_t below)
{
	return MEM(STACK, g->depth - below);
}

struct asm_mem native_frame(const struct gen *g, uint32_t at)
{
	if (g->frame.in_scratch)
		return MEM(KEEP, at);
	return native_at(g, g->frame_at - (int32_t)at);
}

struct asm_mem native_slot(const struct gen *g, uint16_t slot, int64_t more)
{
	return native_frame(g, g->frame.slot_at[slot] + (uint32_t)more);
}

const struct type *native_slot_type(const struct gen *g, uint16_t slot)
{
	return &g->clause->slots[slot].type;
}

void native_fail(struct gen *g, const char *tag, const char *text)
{
	if (!g->err)
		g->err = diag_error_at(g->diag, -ENOTSUP, tag, g->clause->span, "%s", text);
}

static int add_to_pool(struct gen *g, struct pool_item item, const void *bytes, size_t len)
{
	struct pool *p = g->pool;

	item.label = asm_label(g->code);
	item.at = p->bytes.len;
	if (array_grow(p->items, p->count, p->cap)) {
		g->code->failed = true;
		return item.label;
	}
	p->items[p->count++] = item;
	buf_add(&p->bytes, bytes, len);
	buf_fill(&p->bytes, '\0', -len % 8);
	g->code->failed |= p->bytes.failed;
	return item.label;
}

int native_pool(struct gen *g, const void *bytes, size_t len)
{
	return add_to_pool(g, (struct pool_item){.start = -1}, bytes, len);
}

int native_pool_rseq(struct gen *g, int start, int end, int abort)
{
	static const struct rseq_cs none;

	buf_fill(&g->pool->bytes, '\0', -g->pool->bytes.len % 32);
	return add_to_pool(g, (struct pool_item){.start = start, .end = end, .abort = abort}, &none,
			   sizeof(none));
}

/* ---- registers of the program */

static struct asm_mem reg_at(const struct gen *g, uint16_t reg)
{
	return native_at(g, g->regs_at - 8 * (int32_t)reg);
}

static bool fits(uint64_t value)
{
	return (int64_t)value >= INT32_MIN && (int64_t)value <= INT32_MAX;
}

bool native_is_const(const struct gen *g, uint16_t reg, uint64_t *value)
{
	if (reg == REG_NO || !g->known[reg].valid)
		return false;
	*value = g->known[reg].value;
	return true;
}

bool native_is_imm(const struct gen *g, uint16_t reg, int32_t *value)
{
	uint64_t wide;

	if (!native_is_const(g, reg, &wide) || !fits(wide))
		return false;
	*value = (int32_t)wide;
	return true;
}

int native_read(struct gen *g, uint16_t reg, int temp)
{
	uint64_t value;

	if (native_is_const(g, reg, &value))
		asm_const(g->code, temp, value);
	else
		asm_load(g->code, 8, false, temp, reg_at(g, reg));
	return temp;
}

void native_write(struct gen *g, uint16_t reg, int from)
{
	if (reg == REG_NO)
		return;
	g->known[reg].valid = false;
	asm_store(g->code, 8, reg_at(g, reg), from);
}

void native_write_const(struct gen *g, uint16_t reg, uint64_t value)
{
	if (reg != REG_NO)
		g->known[reg] = (struct known){value, true, false};
}

/* A constant to memory. Changes no flags, but ACC when it is wide. */
void native_store_const(struct gen *g, struct asm_mem m, uint64_t value)
{
	if (fits(value)) {
		asm_store_imm(g->code, 8, m, (int32_t)value);
		return;
	}
	asm_const(g->code, ACC, value);
	asm_store(g->code, 8, m, ACC);
}

bool live_has(const struct liveness *l, uint32_t at, uint16_t reg)
{
	return !l->words || (l->words[at * l->each + reg / 64] >> reg % 64 & 1);
}

void native_settle(struct gen *g, uint32_t to)
{
	for (uint32_t reg = 0; reg < g->clause->reg_count; reg++) {
		struct known *k = &g->known[reg];

		if (!k->valid || k->written || !live_has(&g->live, to, (uint16_t)reg))
			continue;
		native_store_const(g, reg_at(g, (uint16_t)reg), k->value);
		k->written = true;
	}
}

void native_forget_constants(struct gen *g)
{
	for (uint32_t reg = 0; reg < g->clause->reg_count; reg++)
		g->known[reg].valid = false;
}
