/* Ending a run whose links take long to close. */
#ifndef NOPAL_ENGINE_BPF_RUN_STOP_H
#define NOPAL_ENGINE_BPF_RUN_STOP_H

#include "engine/bpf/run/bpf.h"

/* No program does anything from now on. True when, besides, none is running any more; else they are
 * known to have ended when their links are closed. */
bool bpf_stop_programs(struct bpf_engine *e);
/* Until no program changes a map that it found before this was called. */
void bpf_wait_for_maps(void *engine);
/* Let a child process close all links. False when there can be none. */
bool bpf_hand_over(struct bpf_engine *e);

#endif
