/* Restartable sequences: see gen_inline.h. */
#include "user/gen/gen_inline.h"

#include <linux/rseq.h>

static void write_abort(struct gen *g, const struct cold *cold)
{
	asm_rseq_signature(g->code);
	asm_bind(g->code, cold->back2); /* the jump there is all */
}

struct sequence sequence_begin(struct gen *g, uint32_t cpus, int cold)
{
	struct native_code *c = g->code;
	struct sequence s = {asm_label(c), asm_label(c), asm_label(c)};

	native_cold(g, NULL, write_abort, cold);
	if (c->failed)
		return s;
	g->colds[g->cold_count - 1].back2 = s.abort;
	asm_lea(c, ACC, MEM_LABEL(native_pool_rseq(g, s.start, s.end, s.abort)));
	asm_store(c, 8, MEM_THREAD(g->place->rseq + (int32_t)offsetof(struct rseq, rseq_cs)), ACC);
	asm_bind(c, s.start);
	asm_load(c, 4, false, ACC,
		 MEM_THREAD(g->place->rseq + (int32_t)offsetof(struct rseq, cpu_id)));
	asm_alu_imm(c, ALU_CMP, ACC, (int32_t)cpus);
	asm_jump_if(c, COND_AE, cold);
	return s;
}

void sequence_end(struct gen *g, const struct sequence *s)
{
	asm_bind(g->code, s->end);
}

void sequence_leave(struct gen *g, int back)
{
	asm_bind(g->code, back);
	asm_store_imm(g->code, 8,
		      MEM_THREAD(g->place->rseq + (int32_t)offsetof(struct rseq, rseq_cs)), 0);
}

bool native_is_inline(const struct gen *g, const struct insn *in)
{
	if (in->op == OP_AGGREGATE)
		return native_has_cell(g, in) && g->place->maps[in->map].is_single;
	return in->op == OP_EMIT && g->place->rseq != NATIVE_NONE &&
	       native_has_inline_record(g, in);
}
