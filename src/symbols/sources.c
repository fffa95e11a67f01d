#include "symbols/sources.h"

#include <stdlib.h>

#include "base/array.h"

/* Beyond these all is forgotten. */
#define ADDRESSES_MOST 65536
#define TEXT_MOST      (16u << 20)

struct known_address {
	const struct debuginfo *di;
	uint64_t address;
	const struct symbols_source *frames; /* in the arena */
	unsigned count;
};

static uint64_t hash_address(const struct debuginfo *di, uint64_t address)
{
	return hash_bytes((uintptr_t)di, &address, sizeof(address));
}

static void forget_all(struct sources *s)
{
	arena_free(&s->arena);
	hash_free(&s->by_address);
	s->count = 0;
}

void sources_free(struct sources *s)
{
	forget_all(s);
	free(s->known);
}

static struct str keep_name(struct sources *s, enum demangle_form form, struct str name)
{
	struct buf plain = BUF_INIT;
	struct str kept;

	demangle(name, form, &plain);
	kept = arena_str(&s->arena, buf_as_str(&plain));
	buf_free(&plain);
	return kept;
}

/* With the folder where it was compiled before it; *folder: bytes of that, and the slash. */
static struct str keep_file(struct sources *s, const struct debug_frame *f, size_t *folder)
{
	struct str dir = f->folder;

	while (dir.len && dir.ptr[dir.len - 1] == '/')
		dir.len--;
	*folder = 0;
	if (!dir.len || !f->file.len)
		return arena_str(&s->arena, f->file);
	*folder = dir.len + 1;
	if (f->file.ptr[0] != '/')
		return arena_printf(&s->arena, "%.*s/%.*s", STR_FMT(dir), STR_FMT(f->file));
	if (!str_starts(f->file, dir) || f->file.len <= *folder || f->file.ptr[dir.len] != '/')
		*folder = 0;
	return arena_str(&s->arena, f->file);
}

/* Without memory nothing is known. */
static void look_up(struct sources *s, struct debuginfo *di, enum demangle_form form,
		    struct known_address *out)
{
	struct debug_frame found[DEBUG_FRAMES_MOST];
	struct symbols_source *frames;
	unsigned count;

	if (debuginfo_frames(di, out->address, found, &count))
		return;
	frames = arena_array(&s->arena, struct symbols_source, count);
	for (unsigned i = 0; frames && i < count; i++) {
		frames[i] = (struct symbols_source){
			.function = keep_name(s, form, found[i].function),
			.line = found[i].line,
		};
		frames[i].file = keep_file(s, &found[i], &frames[i].folder);
		if (!frames[i].function.ptr || !frames[i].file.ptr)
			return;
	}
	out->frames = frames;
	out->count = frames ? count : 0;
}

void sources_at(struct sources *s, struct debuginfo *di, uint64_t address, enum demangle_form form,
		const struct symbols_source **out, unsigned *count)
{
	uint64_t hash = hash_address(di, address);
	struct known_address *k = NULL;

	*count = 0;
	hash_each(i, &s->by_address, hash)
		if (s->known[i].di == di && s->known[i].address == address)
			k = &s->known[i];
	if (!k) {
		if (s->count >= ADDRESSES_MOST || s->arena.used > TEXT_MOST)
			forget_all(s);
		if (array_grow(s->known, s->count, s->cap) ||
		    hash_add(&s->by_address, hash, s->count))
			return;
		k = &s->known[s->count++];
		*k = (struct known_address){.di = di, .address = address};
		look_up(s, di, form, k);
	}
	*out = k->frames;
	*count = k->count;
}
