/* The way through a clause, and loops in it, which may be functions. Private to this folder. */
#ifndef NOPAL_ENGINE_BPF_GEN_LOOPS_H
#define NOPAL_ENGINE_BPF_GEN_LOOPS_H

#include "engine/bpf/gen/emitter.h"

/* clauses.c */
/* Instructions [from, to) of the clause. */
void gen_range(struct emitter *g, uint32_t from, uint32_t to);
/* Labels for the instructions of the clause, in g->labels; the caller frees them. */
bool gen_make_labels(struct emitter *g);
/* loops.c */
void gen_loop_call(struct emitter *g, const struct insn *in, uint32_t at);
void gen_each_call(struct emitter *g, const struct insn *in, uint32_t at);
/* The bodies that were called, once all other code is emitted. */
void gen_loop_bodies(struct emitter *g, const struct frame *frames);

#endif
