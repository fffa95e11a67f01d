/* Where the probes of a provider live in memory. A *room* is a reserved piece of address space for
 * the probes of one image:
 *
 *	base + 0		the stubs: the image as code while it is loaded, else idle stubs
 *	base + 64 KiB		the handles that users hold: anonymous memory, always there
 *	base + 128 KiB		the semaphores: the image as data while it is loaded
 *
 * A handle is NOPAL_PROBE_DISTANCE behind its stub, and both stay where they are until the room is
 * closed. Loading and unloading put another mapping in the place of the stubs in one step, so that
 * a thread that is firing finds the same instructions there at any time. */
#ifndef NOPAL_RUNTIME_MAP_H
#define NOPAL_RUNTIME_MAP_H

#include <stdatomic.h>
#include <sys/types.h>

#include "runtime/fork.h"
#include "runtime/image.h"
#include "nopal/runtime.h"

struct probe_info;

/* A flag beside those of nopal/runtime.h: NOPAL_RUNTIME_FILE, and a memfd if that fails. */
#define ROOM_FILE_IF_POSSIBLE 0x80000000u

/* What a user's handle points to. */
struct nopal_probe {
	_Alignas(STUB_SIZE) const struct probe_info *info; /* as far apart as stubs */
};

struct probe_room {
	const struct stub_cpu *cpu;
	unsigned char *base;
	const struct image_probe **probes;
	size_t count, cap;
	size_t code_pages, data_pages; /* bytes that are mapped while it is loaded */
	int fd;			       /* of the image; -1: not loaded */
	dev_t dev;		       /* the image's file: children may close fd and reuse it */
	ino_t ino;
	_Atomic uint32_t generation; /* of the process that has made what is mapped its own */
	char *path;		     /* of the image's file; NULL: a memfd */
	int owner;		     /* the process that made the file */
	struct debug_image *debug;   /* what debuggers know of it; NULL: nothing */
	bool closed;		     /* was loaded once: takes no more probes */
	struct probe_room *next;
};

/* 0 or a code of enum nopal_error_code, with a text in `e`. */
int room_open(unsigned flags, struct probe_room **out, struct nopal_error *e);
void room_close(struct probe_room *room); /* NULL is fine */
/* Add a probe to a room that has place for it. */
int room_add(struct probe_room *room, const struct image_probe *probe,
	     const struct probe_info *info, struct nopal_probe **out, struct nopal_error *e);
static inline bool room_takes_more(const struct probe_room *room)
{
	return !room->closed && room->count < IMAGE_MAX;
}
int room_load(struct probe_room *room, const char *provider, unsigned flags, struct nopal_error *e);
int room_unload(struct probe_room *room, struct nopal_error *e);
/* The slow part of room_adopt(). */
void room_adopt_now(struct probe_room *room, uint32_t generation);
/* Make the probes of a child its own, if they are not. Signal handlers may call it, and any number
 * of threads. */
static inline void room_adopt(struct probe_room *room)
{
	uint32_t now = generation_now();

	if (atomic_load_explicit(&room->generation, memory_order_acquire) != now)
		room_adopt_now(room, now);
}
/* Remove the file, if it is this process's. */
void room_unlink(struct probe_room *room);

#endif
