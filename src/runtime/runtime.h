/* Run-time probes from inside: errors, generations of processes, the files of images, the slots
 * they are mapped into, and probes as their provider keeps them. */
#ifndef NOPAL_RUNTIME_RUNTIME_H
#define NOPAL_RUNTIME_RUNTIME_H

#include <stdatomic.h>
#include <sys/types.h>

#include "runtime/image.h"

/* ---- Errors: why calls of <nopal/runtime.h> fail (error.c) ----------------------------------- */

/* Fill *e, which may be NULL, and return `code`. %m is the text of errno. */
int runtime_fail(struct nopal_error *e, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A letter or _, then letters, digits, _ and the characters of `more`. */
bool name_is_plain(struct str name, const char *more);
/* Bytes of a name for a message, at most `max`: no UTF-8 character is cut in two. */
int name_shown(const char *name, size_t max);
/* 0 or NOPAL_BAD_NAME for the name of a `what` ("probe") of up to `max` bytes. */
int name_check(const char *what, const char *name, size_t max, unsigned flags,
	       struct nopal_error *e);

/* ---- Generations (fork.c) -------------------------------------------------------------------- */

/* The *generation* of a process: a number in its memory that is larger than those of its ancestors.
 * By it a child that was made by a bare clone() or by _Fork(), where no handler of pthread_atfork()
 * has run, notices that it holds copies. A child that shares its parent's memory (vfork(),
 * CLONE_VM) counts as the same process. */
#define GENERATION_BUSY 0x80000000u /* no generation has this bit */

/* Call it once, before the first provider. */
void generation_init(void);
/* Call it once, after the last provider and the last event. */
void generation_end(void);
/* Never 0. May be called from signal handlers. */
uint32_t generation_now(void);
/* For the handler of pthread_atfork() in the child: works on every kernel. */
void generation_next(void);

/* ---- Files (file.c) -------------------------------------------------------------------------- */

#define MEMFD_NAME_MAX 249 /* bytes of a name that memfd_create() accepts */

/* A memfd called `name` with these bytes, sealed. A descriptor, or -1 with errno set. */
int memfd_make(const char *name, struct str content);
/* A file with these bytes in the user's run-time directory; *path, to be freed, is its name. A
 * descriptor, or a negative enum nopal_error_code. */
int named_file_make(const char *provider, struct str content, char **path, struct nopal_error *e);

/* ---- Slots (slot.c) -------------------------------------------------------------------------- */

/* The memory of a provider's probes. An *image slot* is reserved address space for the probes of
 * one image:
 *
 *	base + 0		stubs: the image as code while it is loaded, else idle stubs
 *	base + 64 KiB		handle block: the handles that users hold, always mapped
 *	base + 128 KiB		semaphores: the image as data while it is loaded
 *
 * A handle is NOPAL_PROBE_DISTANCE above its stub, and neither moves until the slot is closed.
 * Loading and unloading replace the mapping of the stubs in one step, so that a thread that is
 * firing always finds the same instructions there. */
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

/* ---- Announcements (announce.c) -------------------------------------------------------------- */

/* Announcing images of run-time probes, which neither the dynamic loader nor a debugger knows.
 *
 * gdb and lldb search for probes in the files that the dynamic loader has loaded. They also read
 * ELF files from memory that a program puts into a list, made for compilers at run time ("JIT
 * Compilation Interface" in gdb's manual).
 *
 * Tracers can use two static probes:
 *
 *	nopal:provider_loaded(const char *provider, int fd, void *code, size_t probes)
 *	nopal:provider_unloaded(the same)
 *
 * loaded fires once tracers can attach; unloaded fires while they still can. */
/* Not at the same time from two threads. NULL: memory is short, and debuggers do not see the image.
 */
struct debug_image *debug_image_add(const struct image_slot *slot, const char *provider);
void debug_image_remove(struct debug_image *image); /* NULL is fine */

void announce_loaded(const char *provider, const struct image_slot *slot);
void announce_unloaded(const char *provider, const struct image_slot *slot);

/* ---- Probes (runtime.c) ---------------------------------------------------------------------- */

/* Everything about a probe, in one allocation. It does not change. */
struct probe_info {
	struct image_probe image;
	struct nopal_provider *provider;
	struct image_slot *slot;
	struct nopal_probe *handle;
	struct probe_info *next; /* in the same bucket */
	uint32_t hash;
	uint8_t arg_count;
	uint8_t arg_types[NOPAL_MAX_VALUES];  /* enum nopal_type */
	uint8_t arg_values[NOPAL_MAX_VALUES]; /* the first value of each argument */
	const struct value_type *types[NOPAL_MAX_VALUES];
	struct str names[NOPAL_MAX_VALUES];
	char text[]; /* what the strs point to, each followed by a NUL */
};

#endif
