/* Program -> programs in the kernel. */
#ifndef NOPAL_ENGINE_BPF_RUN_LOAD_H
#define NOPAL_ENGINE_BPF_RUN_LOAD_H

#include "engine/bpf/run/bpf.h"

/* Where registers and slots of each clause go; *scratch is raised to what the largest needs. */
int bpf_plan(struct bpf_engine *e, const struct program *p, struct frame **out, uint32_t *scratch,
	     struct diag *d);
/* Load the units of a program, or only those for uprobes; they are added to the engine's. */
int bpf_load(struct bpf_engine *e, const struct program *p, const struct frame *frames,
	     bool only_uprobes, struct diag *d);

#endif
