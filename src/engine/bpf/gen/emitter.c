/* What emitters share: registers and slots of the clause, its faults, and the switch on the case of
 * a site. */
#include "engine/bpf/gen/emitter.h"

#include <stdlib.h>

void gen_address(struct emitter *g, int dst, struct spill at, int32_t more)
{
	code_address(g->code, dst, spill_base(at), at.offset + more);
}

void gen_get(struct emitter *g, int dst, uint16_t reg)
{
	struct spill at = g->frame->regs[reg];

	code_load(g->code, 8, dst, spill_base(at), at.offset);
}

void gen_set(struct emitter *g, uint16_t reg, int src)
{
	if (reg == REG_NO)
		return;
	code_store(g->code, 8, spill_base(g->frame->regs[reg]), g->frame->regs[reg].offset, src);
}

struct spill gen_slot(const struct emitter *g, uint16_t slot)
{
	return g->frame->slots[slot];
}

const struct type *gen_slot_type(const struct emitter *g, uint16_t slot)
{
	return &g->clause->slots[slot].type;
}

void gen_count(struct emitter *g, uint32_t word)
{
	control_count(g->code, g->world->control_fd, word);
}

void gen_fault(struct emitter *g, const struct insn *in, int kind)
{
	if (in->span < g->world->span_count)
		gen_count(g, CONTROL_FIXED_ + g->world->control_count + in->span * FAULT_KINDS +
				     (uint32_t)kind);
}

void gen_zero(struct emitter *g, struct spill to, int32_t more, uint32_t len)
{
	code_zero(g->code, g->world->zeros_fd, to, more, len);
}

void gen_fail(struct emitter *g, int err, const char *tag, const char *text)
{
	if (!g->err)
		g->err = diag_error_at(g->diag, err, tag, g->clause->span, "%s", text);
}

/* Neighbouring cases that go to the same label. */
struct case_range {
	uint32_t first;
	int label;
};

/* A binary search for the case in R1. It does not look for cases that cannot come here: they belong
 * to whatever range is next to them, which makes fewer ranges. */
static void search_range(struct emitter *g, const struct case_range *ranges, uint32_t count)
{
	uint32_t half = count / 2;
	int upper;

	if (count == 1) {
		code_jump(g->code, ranges->label);
		return;
	}
	upper = code_label(g->code);
	code_jump_imm(g->code, BPF_JGE, R1, (int32_t)ranges[half].first, upper);
	search_range(g, ranges, half);
	code_bind(g->code, upper);
	search_range(g, ranges + half, count - half);
}

void gen_switch(struct emitter *g, const int *labels)
{
	struct case_range *ranges = calloc(g->unit->case_count, sizeof(*ranges));
	uint32_t count = 0;

	if (!ranges) {
		g->code->failed = true;
		return;
	}
	for (uint32_t i = 0; i < g->unit->case_count; i++) {
		if (labels[i] < 0 || (count && ranges[count - 1].label == labels[i]))
			continue;
		ranges[count] = (struct case_range){count ? i : 0, labels[i]};
		count++;
	}
	if (count > 1) {
		code_load(g->code, 8, R1, FRAME, STACK_COOKIE);
		code_alu_imm(g->code, BPF_AND, R1, COOKIE_CASE_MASK);
	}
	if (count)
		search_range(g, ranges, count);
	free(ranges);
}

uint64_t gen_literal_word(struct str text, uint32_t at, uint32_t len)
{
	uint64_t word = 0;

	if (at < len)
		memcpy(&word, text.ptr + at, len - at < 8 ? len - at : 8);
	return word;
}
