/* The memory of a provider's probes. An *image slot* is reserved address space for the probes of
 *one image:
 *
 *	base + 0		stubs: the image as code while it is loaded, else idle stubs
 *	base + 64 KiB		handle block: the handles that users hold, always mapped
 *	base + 128 KiB		semaphores: the image as data while it is loaded
 *
 * A handle is NOPAL_PROBE_DISTANCE above its stub, and neither moves until the slot is closed.
 * Loading and unloading replace the mapping of the stubs in one step, so that a thread that is
 * firing always finds the same instructions there. */
#ifndef NOPAL_RUNTIME_SLOT_H
#define NOPAL_RUNTIME_SLOT_H

#include <stdatomic.h>
#include <sys/types.h>

#include "runtime/fork.h"
#include "runtime/image.h"
#include "nopal/runtime.h"

struct probe_info;

/* A flag besides those of nopal/runtime.h: like NOPAL_RUNTIME_FILE, but a memfd if that fails. */
#define FLAG_FILE_IF_POSSIBLE 0x80000000u

/* What a user's handle points to. */
struct nopal_probe {
	_Alignas(STUB_SIZE) const struct probe_info *info; /* handles are as far apart as stubs */
};

struct image_slot {
	const struct stub_cpu *cpu;
	unsigned char *base;
	const struct image_probe **probes;
	size_t count, cap;
	size_t code_pages, data_pages; /* in bytes: what is mapped while it is loaded */
	int fd;			       /* of the image; -1: not loaded */
	dev_t dev;		       /* the image's file: children may close fd and reuse it */
	ino_t ino;
	_Atomic uint32_t generation; /* of the process that has last renewed the mappings */
	char *path;		     /* of the image's file; NULL: a memfd */
	int owner;		     /* the process that made the file */
	struct debug_image *debug;   /* what debuggers read; NULL: nothing */
	bool closed;		     /* it was loaded once: no more probes are added */
	struct image_slot *next;
};

/* These return 0 or an enum nopal_error_code, with a text in `e`. */
int slot_open(unsigned flags, struct image_slot **out, struct nopal_error *e);
void slot_close(struct image_slot *slot); /* NULL is fine */
/* Add a probe; slot_takes_more() was true. */
int slot_add(struct image_slot *slot, const struct image_probe *probe,
	     const struct probe_info *info, struct nopal_probe **out, struct nopal_error *e);
static inline bool slot_takes_more(const struct image_slot *slot)
{
	return !slot->closed && slot->count < IMAGE_MAX;
}
int slot_load(struct image_slot *slot, const char *provider, unsigned flags, struct nopal_error *e);
int slot_unload(struct image_slot *slot, struct nopal_error *e);
/* Renew the mappings of a slot in a child. */
void slot_adopt_now(struct image_slot *slot, uint32_t generation);
/* After a fork, make the child's copies of the probes its own. Any number of threads may call it,
 * and signal handlers. */
static inline void slot_adopt(struct image_slot *slot)
{
	uint32_t now = generation_now();

	if (atomic_load_explicit(&slot->generation, memory_order_acquire) != now)
		slot_adopt_now(slot, now);
}
/* Remove the file, if this process made it. */
void slot_unlink(struct image_slot *slot);

#endif
