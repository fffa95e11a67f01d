/* The list of images for debuggers, and the announcing probes. The two symbols of the list have the
 * names that debuggers look for; they are second names, and weak, so that another list in the same
 * program (a compiler's) may have them: that one and ours then do not mix. */
#include "runtime/runtime.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "nopal/sdt.h"

enum action { NOTHING, ADDED, REMOVED };

/* Debuggers define this layout. */
struct debug_entry {
	struct debug_entry *next, *previous;
	const char *bytes;
	uint64_t size;
};

struct debug_list {
	uint32_t version;
	uint32_t action;
	struct debug_entry *changed;
	struct debug_entry *first;
};

struct debug_image {
	struct debug_entry entry;
	struct buf bytes;
};

static struct debug_list list = {1, NOTHING, NULL, NULL};

/* Debuggers set a breakpoint here. */
static __attribute__((noinline)) void announce_change(void)
{
	__asm__ volatile("" : : : "memory");
}

#define SECOND_NAME(of) __attribute__((weak, alias(#of), visibility("default")))
extern struct debug_list __jit_debug_descriptor SECOND_NAME(list);
extern void __jit_debug_register_code(void) SECOND_NAME(announce_change);

static void announce_entry(struct debug_entry *entry, enum action action)
{
	list.changed = entry;
	list.action = action;
	announce_change();
	list.action = NOTHING;
}

struct debug_image *debug_image_add(const struct image_slot *slot, const char *provider)
{
	struct debug_image *image = calloc(1, sizeof(*image));

	if (!image)
		return NULL;
	image_write(slot->cpu, str_from(provider), slot->probes, slot->count, (uintptr_t)slot->base,
		    &image->bytes);
	if (image->bytes.failed) {
		buf_free(&image->bytes);
		free(image);
		return NULL;
	}
	image->entry.bytes = image->bytes.ptr;
	image->entry.size = image->bytes.len;
	image->entry.next = list.first;
	if (list.first)
		list.first->previous = &image->entry;
	list.first = &image->entry;
	announce_entry(&image->entry, ADDED);
	return image;
}

void debug_image_remove(struct debug_image *image)
{
	if (!image)
		return;
	if (image->entry.previous)
		image->entry.previous->next = image->entry.next;
	else
		list.first = image->entry.next;
	if (image->entry.next)
		image->entry.next->previous = image->entry.previous;
	announce_entry(&image->entry, REMOVED);
	buf_free(&image->bytes);
	free(image);
}

void announce_loaded(const char *provider, const struct image_slot *slot)
{
	NOPAL_PROBE(nopal, provider_loaded, provider, slot->fd, slot->base, slot->count);
}

/* glibc's record of what is loaded, for debuggers; other C libraries have it under other names. */
extern struct r_debug _r_debug __attribute__((weak));

void announce_to_debuggers(void)
{
	void (*changed)(void);

	if (!&_r_debug || !_r_debug.r_brk)
		return;
	memcpy(&changed, &_r_debug.r_brk, sizeof(changed));
	changed();
}

void announce_unloaded(const char *provider, const struct image_slot *slot)
{
	NOPAL_PROBE(nopal, provider_unloaded, provider, slot->fd, slot->base, slot->count);
}
