/* The arena: a list of blocks, each twice as large as the one before, up to 1 MiB. */
#include "base/arena.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define ALIGNMENT   16
#define FIRST_BLOCK 4096
#define LAST_BLOCK  (1 << 20)

struct arena_block {
	struct arena_block *next;
	size_t size; /* bytes in data */
	size_t used;
	size_t pad; /* keeps data aligned to 16 */
	char data[];
};

void arena_free(struct arena *a)
{
	while (a->blocks) {
		struct arena_block *next = a->blocks->next;

		free(a->blocks);
		a->blocks = next;
	}
	a->used = 0;
}

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_block *block = a->blocks;
	void *out;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	if (!block || block->size - block->used < size) {
		size_t whole = block ? block->size * 2 : FIRST_BLOCK;

		whole = whole > LAST_BLOCK ? LAST_BLOCK : whole;
		whole = whole < size ? size : whole;
		block = budget_memory(a->budget, whole) ? calloc(1, sizeof(*block) + whole) : NULL;
		if (!block)
			return NULL;
		block->size = whole;
		block->next = a->blocks;
		a->blocks = block;
	}
	out = block->data + block->used;
	block->used += size;
	a->used += size;
	return out;
}

void *arena_alloc_array(struct arena *a, size_t count, size_t size)
{
	size_t total;

	return __builtin_mul_overflow(count, size, &total) ? NULL : arena_alloc(a, total);
}

char *arena_text(struct arena *a, struct str s)
{
	char *out = arena_alloc(a, s.len + 1);

	if (out && s.len)
		memcpy(out, s.ptr, s.len);
	return out;
}

struct str arena_str(struct arena *a, struct str s)
{
	char *out = arena_text(a, s);

	return str_of(out, out ? s.len : 0);
}

struct str arena_vprintf(struct arena *a, const char *format, va_list args)
{
	va_list again;
	char *out;
	int len;

	va_copy(again, args);
	len = vsnprintf(NULL, 0, format, again);
	va_end(again);
	out = len < 0 ? NULL : arena_alloc(a, (size_t)len + 1);
	if (!out)
		return str_of(NULL, 0);
	vsnprintf(out, (size_t)len + 1, format, args);
	return str_of(out, (size_t)len);
}

struct str arena_printf(struct arena *a, const char *format, ...)
{
	struct str out;
	va_list args;

	va_start(args, format);
	out = arena_vprintf(a, format, args);
	va_end(args);
	return out;
}

int arena_grow(struct arena *a, void **items, size_t count, size_t *cap, size_t size)
{
	size_t want = *cap ? *cap * 2 : 8;
	void *bigger;

	if (count < *cap)
		return 0;
	bigger = arena_alloc_array(a, want, size);
	if (!bigger)
		return -ENOMEM;
	if (count)
		memcpy(bigger, *items, count * size);
	*items = bigger;
	*cap = want;
	return 0;
}
