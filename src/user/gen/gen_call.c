/* Calls: of the functions of inside.h from the body of a clause; asides, which are calls from
 * anywhere; and the code after the end of a clause, most of which is for calls. */
#include "user/gen/gen_state.h"

#include <stdlib.h>

static const char *const functions[] = {
#define INSIDE_FN(name, function) [INSIDE_##name] = "inside_" #function,
	INSIDE_FUNCTIONS(INSIDE_FN)
#undef INSIDE_FN
};

static const int argument_regs[] = ASM_ARGS;

static void put_argument(struct gen *g, int to, const struct native_arg *a)
{
	switch (a->kind) {
	case ARG_END: break;
	case ARG_REG: native_read(g, (uint16_t)a->number, to); break;
	case ARG_HOST: asm_mov(g->code, to, a->number); break;
	case ARG_IMM: asm_const(g->code, to, a->value); break;
	case ARG_MEMORY: asm_lea(g->code, to, a->mem); break;
	case ARG_LABEL: asm_lea(g->code, to, MEM_LABEL(a->number)); break;
	}
}

uint64_t native_function(const char *name)
{
	for (const struct native_function *f = native_functions; f->name; f++)
		if (strcmp(f->name, name) == 0)
			return f->offset;
	return UINT64_MAX;
}

static uint64_t offset_of(struct gen *g, const char *name)
{
	uint64_t offset = native_function(name);

	if (offset == UINT64_MAX)
		native_fail(g, "engine", "this build has no code for this CPU");
	return offset;
}

void native_call_args(struct gen *g, enum inside_fn fn, const struct native_arg *args)
{
	for (unsigned i = 0; args[i].kind != ARG_END; i++)
		put_argument(g, argument_regs[i], &args[i]);
	asm_call(g->code, g->place->inside + offset_of(g, functions[fn]));
}

static void count_up(struct gen *g, uint64_t at)
{
	asm_const(g->code, TMP, g->place->shared + at);
	asm_atomic_inc(g->code, TMP);
}

void native_fault(struct gen *g, const struct insn *in, int kind)
{
	const struct layout *l = g->place->layout;
	uint32_t span = in->span < l->span_count ? in->span : l->span_count - 1;

	if (l->span_count)
		count_up(g, l->faults_at + 8 * (FAULT_KINDS * (uint64_t)span + (unsigned)kind));
	if (kind == FAULT_LOOP_LIMIT)
		count_up(g, l->stats_at + offsetof(struct shared_stats, loop_limits));
}

/* OP_FAULT */
void native_count_fault(struct gen *g, const struct insn *in)
{
	native_fault(g, in, (int)in->imm);
}

/* ---- asides: calls from anywhere */

struct aside native_aside_begin(struct gen *g, uint32_t more)
{
	struct aside a = {g->depth, g->hit_at, 0, 0, g->code->written};
	uint32_t saved = ASM_BIT(ACC) | g->head_saves | (g->in_body ? g->body_saves : 0);

	a.saved = ASM_CALL_CHANGES & ~saved;
	asm_push(g->code, a.saved);
	g->depth += (int32_t)asm_pushed(a.saved);
	native_lower_stack(g, native_aligned((uint32_t)sizeof(struct hit) + more));
	a.more_at = g->depth;
	if (!(g->in_body && g->has_hit))
		g->hit_at = g->depth - (int32_t)more;
	return a;
}

void native_aside_end(struct gen *g, const struct aside *a)
{
	int32_t pushed = (int32_t)asm_pushed(a->saved);

	asm_lea(g->code, STACK, MEM(STACK, g->depth - a->depth - pushed));
	asm_pop(g->code, a->saved);
	g->depth = a->depth;
	g->hit_at = a->hit_at;
	g->code->written = a->written | ASM_BIT(ACC);
}

void native_aside_hit(struct gen *g)
{
	if (!(g->in_body && g->has_hit))
		native_make_hit(g);
}

int native_cold(struct gen *g, const struct insn *in, cold_fn *write, int back)
{
	size_t size = (g->clause->reg_count + 1u) * sizeof(*g->known);
	struct cold *cold;

	if (array_grow(g->colds, g->cold_count, g->cold_cap)) {
		g->code->failed = true;
		return 0;
	}
	cold = &g->colds[g->cold_count++];
	*cold = (struct cold){.label = asm_label(g->code),
			      .back = back,
			      .back2 = back,
			      .write = write,
			      .insn = in,
			      .depth = g->depth,
			      .tsc_at = g->tsc_at,
			      .in_body = g->in_body,
			      .known = malloc(size)};
	g->code->failed |= !cold->known;
	if (cold->known)
		memcpy(cold->known, g->known, size);
	return cold->label;
}

static void write_cold(struct gen *g, const struct cold *cold)
{
	struct known *known = g->known;

	if (g->code->failed)
		return;
	g->depth = cold->depth;
	g->tsc_at = cold->tsc_at;
	g->in_body = cold->in_body;
	g->known = cold->known;
	g->code->written = 0;
	asm_bind(g->code, cold->label);
	cold->write(g, cold);
	asm_jump(g->code, cold->back);
	g->known = known;
	*(cold->in_body ? &g->body_writes : &g->head_writes) |= g->code->written;
}

/* Code may ask for more while it is written. */
void native_write_colds(struct gen *g)
{
	for (size_t i = 0; i < g->cold_count; i++) {
		struct cold cold = g->colds[i];

		write_cold(g, &cold);
		free(cold.known);
	}
	g->cold_count = 0;
}
