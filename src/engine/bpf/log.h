/* -v: what the verifier says of each program, as text for the user. */
#ifndef NOPAL_ENGINE_BPF_LOG_H
#define NOPAL_ENGINE_BPF_LOG_H

#include "engine/bpf/kernel.h"
#include "engine/bpf/unit.h"

/* A program that was loaded (its counts), or that the kernel refused (`fd` is -errno; the whole
 * log). It is loaded once more to get the log. */
void log_program(struct buf *out, struct kernel_program k, const struct unit *u, int fd);

#endif
