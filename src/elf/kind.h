/* What a file with probes is to its tracer: a library, or a program that waits or does not. */
#ifndef NOPAL_ELF_KIND_H
#define NOPAL_ELF_KIND_H

#include <stdbool.h>

struct file;

struct file_kind {
	bool is_library; /* it can be loaded while a program runs */
	bool is_program;
	bool preloads; /* ... whose dynamic loader loads what LD_PRELOAD names, for all users */
};

/* All false: it cannot be read. */
struct file_kind file_kind(const struct file *f);

#endif
