/* Building a run: the kernel maps that its programs share. */
#ifndef NOPAL_ENGINE_BPF_RUN_BUILD_H
#define NOPAL_ENGINE_BPF_RUN_BUILD_H

#include "engine/bpf/run/bpf.h"

/* Make the maps that all programs share, then load the program. */
int bpf_build(struct engine *engine, const struct program *p, struct diag *d);
/* Make the shared maps what an extension needs. */
int bpf_renew(struct bpf_engine *e, const struct program *p, struct diag *d);
/* Scratch memory of at least this size, for what is loaded from now on. */
int bpf_scratch(struct bpf_engine *e, uint32_t size, struct diag *d);

#endif
