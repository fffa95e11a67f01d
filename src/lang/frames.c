/* Walking: from a runtime's root to the state of a thread, from frame to frame. Freestanding: this
 * file is also compiled for traced processes, whose own threads walk there in user mode. */
#include "lang/frames.h"

#define THREADS_MOST 4096 /* of all interpreters, as memory may say anything */
#define DTV_ENTRY    16	  /* bytes: the address of a module's block, and how it is freed */

static bool read_bytes(const struct lang_walking *w, uint64_t at, void *to, size_t len)
{
	return at && at + len > at && w->memory->read(w->memory->self, at, to, len);
}

static bool read_word(const struct lang_walking *w, uint64_t at, uint64_t *out)
{
	return read_bytes(w, at, out, sizeof(*out));
}

static bool read_u32(const struct lang_walking *w, uint64_t at, uint32_t *out)
{
	return read_bytes(w, at, out, sizeof(*out));
}

/* ---- the state of a thread */

/* Of the thread that has this pointer, of all interpreters. */
static bool find_listed(const struct lang_walking *w, uint64_t *out)
{
	const struct lang_shape_row *s = w->shape;
	uint64_t interpreter, thread, pointer;
	unsigned seen = 0;

	if (!read_word(w, w->root + s->interpreters, &interpreter))
		return false;
	while (interpreter) {
		const uint64_t head = interpreter + s->first_thread;

		if (!read_word(w, head, &thread))
			return false;
		while (thread && thread != head) {
			if (seen++ >= THREADS_MOST ||
			    !read_word(w, thread + s->thread_pointer, &pointer))
				return false;
			*out = thread;
			if (pointer == w->thread_pointer)
				return s->of_thread == LANG_NOTHING ||
				       read_word(w, thread + s->of_thread, out);
			if (!read_word(w, thread + s->next_thread, &thread))
				return false;
		}
		if (s->next_interpreter == LANG_NO_NEXT)
			break;
		if (seen++ >= THREADS_MOST ||
		    !read_word(w, interpreter + s->next_interpreter, &interpreter))
			return false;
	}
	*out = 0;
	return true;
}

/* A thread-local variable: the thread pointer leads to a table of modules' blocks; of one that the
 * thread has not used yet the entry is -1. */
static bool find_tls(const struct lang_walking *w, uint64_t *out)
{
	uint64_t module = 1, table, block;

	if (w->root && !read_word(w, w->root, &module))
		return false;
	if (module > UINT16_MAX || !read_word(w, w->thread_pointer + 8, &table) ||
	    !read_word(w, table + module * DTV_ENTRY, &block))
		return false;
	*out = 0;
	return block == UINT64_MAX || !block || read_word(w, block + w->tls_offset, out);
}

/* What the thread has set for a key. */
static bool find_keyed(const struct lang_walking *w, uint64_t *out)
{
	uint32_t key;

	return read_u32(w, w->root, &key) && key < LANG_KEYS &&
	       read_word(w, w->thread_pointer + LANG_KEYS_AT + (uint64_t)key * LANG_KEY_BYTES, out);
}

/* The state of a thread; 0: it has none. */
static bool find_state(const struct lang_walking *w, uint64_t *out)
{
	*out = 0;
	switch ((enum lang_start)w->shape->start) {
	case LANG_START_ROOT: *out = w->root; return true;
	case LANG_START_GLOBAL: return read_word(w, w->root, out);
	case LANG_START_TLS: return find_tls(w, out);
	case LANG_START_KEY: return find_keyed(w, out);
	case LANG_START_LIST: return find_listed(w, out);
	}
	return false;
}

/* ---- frames one after the other */

static uint64_t word_at(const char *bytes, size_t at)
{
	uint64_t word;

	__builtin_memcpy(&word, bytes + at, sizeof(word));
	return word;
}

static uint32_t u32_at(const char *bytes, size_t at)
{
	uint32_t word;

	__builtin_memcpy(&word, bytes + at, sizeof(word));
	return word;
}

static uint64_t position_of(const struct lang_walking *w, const char *bytes, uint64_t object)
{
	const struct lang_shape_row *s = w->shape;
	uint64_t position;
	uint32_t line;

	if (s->position_size == 4)
		return (uint64_t)(int64_t)(int32_t)u32_at(bytes, s->position & LANG_FRAME_MASK);
	position = word_at(bytes, s->position & LANG_FRAME_MASK);
	if (s->line != LANG_NOTHING)
		return read_u32(w, position + s->line, &line) ? line : 0;
	return s->is_relative ? position - object : position;
}

static void mark_last(struct lang_walking *w)
{
	if (w->marks && w->count)
		w->frames[w->count - 1].object |= LANG_ENTRY;
}

static void add_frame(struct lang_walking *w, uint64_t object, uint64_t position)
{
	w->frames[w->count++] = (struct lang_frame){object, position};
}

/* Frames without an object are none of a script's. `end`: of an array; else 0. */
static enum lang_note walk_frames(struct lang_walking *w, uint64_t at, uint64_t end)
{
	const struct lang_shape_row *s = w->shape;
	char bytes[LANG_FRAME_MASK + 1 + 8];

	if (s->size > LANG_FRAME_MOST)
		return LANG_UNREADABLE;
	for (size_t seen = 0; at && at != end; seen++) {
		uint64_t object;

		if (seen > 2 * w->most || (end && at > end) || !read_bytes(w, at, bytes, s->size))
			return LANG_UNREADABLE;
		object = word_at(bytes, s->object & LANG_FRAME_MASK);
		if (object && s->skip && bytes[s->skip_at & LANG_FRAME_MASK] == (char)s->skip) {
			if (s->entry == LANG_ENTRY_SKIPPED)
				mark_last(w);
		} else if (object) {
			if (w->count == w->most)
				return LANG_LIMIT;
			add_frame(w, object, position_of(w, bytes, object));
			if (s->entry == LANG_ENTRY_EACH ||
			    (s->entry == LANG_ENTRY_BITS &&
			     u32_at(bytes, s->entry_at & LANG_FRAME_MASK) & s->entry_bits))
				mark_last(w);
		}
		at = end ? at + s->size : word_at(bytes, s->next & LANG_FRAME_MASK);
	}
	return LANG_ROOT;
}

static enum lang_note walk_linked(struct lang_walking *w, uint64_t state)
{
	const struct lang_shape_row *s = w->shape;
	uint64_t top, base = 0, words = 0;

	if (!read_word(w, state + s->top, &top) ||
	    (s->top_again != LANG_NOTHING && !read_word(w, top + s->top_again, &top)))
		return LANG_UNREADABLE;
	if (s->shape == LANG_ARRAY &&
	    (!read_word(w, state + s->base, &base) || !read_word(w, state + s->words, &words)))
		return LANG_UNREADABLE;
	return top ? walk_frames(w, top, base + 8 * words) : LANG_NO_THREAD;
}

/* ---- Perl: blocks of the context stack (cop.h), from the last to the first. A block of a sub has
 * the sub, and the statement that called it. So a frame is a sub and a statement. */

/* The frames of one stack of blocks; *statement is the one that runs in its innermost. *seen counts
 * blocks. */
static enum lang_note walk_blocks(struct lang_walking *w, uint64_t stack, uint64_t *statement,
				  unsigned *seen)
{
	const struct lang_shape_row *s = w->shape;
	uint64_t blocks, block, sub;
	uint32_t last;
	unsigned char type;

	if (!read_word(w, stack + s->words, &blocks) || !read_u32(w, stack + s->last, &last))
		return LANG_UNREADABLE;
	for (int32_t i = (int32_t)last; i >= 0; i--) {
		block = blocks + (uint64_t)i * s->size;
		if (++*seen > LANG_BLOCK_MOST || !read_bytes(w, block + s->type, &type, 1))
			return LANG_UNREADABLE;
		type &= 15;
		if (type != LANG_BLOCK_SUB && type != LANG_BLOCK_FORMAT)
			continue;
		if (w->count == w->most)
			return LANG_LIMIT;
		if (!read_word(w, block + s->object, &sub))
			return LANG_UNREADABLE;
		add_frame(w, sub ? sub : LANG_MAIN, *statement);
		if (!read_word(w, block + s->position, statement))
			return LANG_UNREADABLE;
	}
	return LANG_ROOT;
}

static enum lang_note walk_stacks(struct lang_walking *w, uint64_t state)
{
	const struct lang_shape_row *s = w->shape;
	uint64_t statement, stack;
	unsigned seen = 0;

	if (!read_word(w, state + s->top, &statement) || !read_word(w, state + s->base, &stack))
		return LANG_UNREADABLE;
	while (stack) {
		enum lang_note note;

		if (++seen > LANG_BLOCK_MOST)
			return LANG_UNREADABLE;
		note = walk_blocks(w, stack, &statement, &seen);
		if (note != LANG_ROOT)
			return note;
		if (!read_word(w, stack + s->next, &stack))
			return LANG_UNREADABLE;
	}
	if (!statement)
		return w->count ? LANG_ROOT : LANG_NO_THREAD;
	if (w->count == w->most)
		return LANG_LIMIT;
	add_frame(w, LANG_MAIN, statement);
	return LANG_ROOT;
}

enum lang_note lang_walk_thread(struct lang_walking *w)
{
	uint64_t state;

	w->count = 0;
	if (!find_state(w, &state))
		return LANG_UNREADABLE;
	if (!state)
		return LANG_NO_THREAD;
	return w->shape->shape == LANG_BLOCKS ? walk_stacks(w, state) : walk_linked(w, state);
}
