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

/* Does the frame say that the interpreter was entered by it? */
static bool is_entry(const struct lang_walking *w, const char *bytes)
{
	const struct lang_shape_row *s = w->shape;
	const size_t at = s->entry_at & LANG_FRAME_MASK;
	uint32_t flags;

	switch ((enum lang_entry)s->entry) {
	case LANG_ENTRY_EACH: return true;
	case LANG_ENTRY_BITS: return u32_at(bytes, at) & s->entry_bits;
	case LANG_ENTRY_FLAGS:
		return w->marks && read_u32(w, word_at(bytes, at), &flags) &&
		       (flags & s->entry_bits) == s->entry_value;
	default: return false;
	}
}

/* Frames without an object are none of a script's. `end`: of an array; else 0. */
static enum lang_note walk_frames(struct lang_walking *w, uint64_t at, uint64_t end)
{
	const struct lang_shape_row *s = w->shape;
	_Alignas(8) char bytes[LANG_FRAME_MASK + 1 + 8];

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
			if (is_entry(w, bytes))
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
 * the sub, and the statement that called it. So a frame is a sub and a statement.
 *
 * The interpreter is entered by subs that return to no statement: then the call of it ends. It is
 * also entered for parts of a sub: the block of a sort, which has a stack of its own, that begins
 * with a block of no type; a text that C code evaluates; a block that is deferred; code in a
 * pattern. */

struct blocks {
	uint64_t statement; /* that runs in the innermost frame that is not added yet */
	unsigned seen;	    /* blocks and stacks */
	bool is_sort;	    /* of this stack */
	int32_t ended;	    /* the last block of this stack that ended a call; 0: none did */
};

static enum lang_note add_part(struct lang_walking *w)
{
	if (w->count == w->most)
		return LANG_LIMIT;
	add_frame(w, 0, LANG_PART);
	return LANG_ROOT;
}

/* Does a block of a sub or an eval end a call of the interpreter? What a sort's block, a deferred
 * one or code in a pattern does last also returns to no statement: it is one call then. */
static bool ends_call(const struct lang_walking *w, struct blocks *b, uint64_t block,
		      int32_t number, unsigned char type)
{
	uint64_t to;

	if (!w->marks || !read_word(w, block + w->shape->entry_at, &to) || to)
		return false;
	if (type & LANG_BLOCK_CODE && b->ended == number + 1)
		return false;
	b->ended = number;
	return true;
}

static enum lang_note add_sub(struct lang_walking *w, struct blocks *b, uint64_t block,
			      int32_t number, unsigned char type)
{
	const struct lang_shape_row *s = w->shape;
	uint64_t sub;

	if (w->count == w->most)
		return LANG_LIMIT;
	if (!read_word(w, block + s->object, &sub))
		return LANG_UNREADABLE;
	add_frame(w, sub ? sub : LANG_MAIN, b->statement);
	if (ends_call(w, b, block, number, type))
		mark_last(w);
	return read_word(w, block + s->position, &b->statement) ? LANG_ROOT : LANG_UNREADABLE;
}

static enum lang_note take_block(struct lang_walking *w, struct blocks *b, uint64_t block,
				 int32_t number)
{
	bool is_part = false;
	unsigned char type;

	if (++b->seen > LANG_BLOCK_MOST || !read_bytes(w, block + w->shape->type, &type, 1))
		return LANG_UNREADABLE;
	switch (type & LANG_BLOCK_TYPE) {
	case LANG_BLOCK_SUB:
		if (!(type & LANG_BLOCK_FAKE))
			return add_sub(w, b, block, number, type);
		is_part = ends_call(w, b, block, number, type);
		break;
	case LANG_BLOCK_FORMAT: return add_sub(w, b, block, number, 0);
	case LANG_BLOCK_EVAL:
		is_part = !(type & LANG_BLOCK_TRY) && ends_call(w, b, block, number, 0);
		break;
	case LANG_BLOCK_DEFER: is_part = w->marks && b->ended != number + 1; break;
	case LANG_BLOCK_NULL: is_part = b->is_sort && !number && b->ended != 1; break;
	}
	return is_part ? add_part(w) : LANG_ROOT;
}

/* The frames of one stack of blocks. */
static enum lang_note walk_blocks(struct lang_walking *w, uint64_t stack, struct blocks *b)
{
	const struct lang_shape_row *s = w->shape;
	enum lang_note note = LANG_ROOT;
	uint64_t blocks;
	uint32_t last, use;

	if (!read_word(w, stack + s->words, &blocks) || !read_u32(w, stack + s->last, &last))
		return LANG_UNREADABLE;
	b->ended = 0;
	b->is_sort = w->marks && read_u32(w, stack + s->stack_use, &use) && use == LANG_BLOCK_SORT;
	for (int32_t i = (int32_t)last; i >= 0 && note == LANG_ROOT; i--)
		note = take_block(w, b, blocks + (uint64_t)i * s->size, i);
	return note;
}

static enum lang_note walk_stacks(struct lang_walking *w, uint64_t state)
{
	const struct lang_shape_row *s = w->shape;
	struct blocks b = {0};
	uint64_t stack;

	if (!read_word(w, state + s->top, &b.statement) || !read_word(w, state + s->base, &stack))
		return LANG_UNREADABLE;
	while (stack) {
		enum lang_note note;

		if (++b.seen > LANG_BLOCK_MOST)
			return LANG_UNREADABLE;
		note = walk_blocks(w, stack, &b);
		if (note != LANG_ROOT)
			return note;
		if (!read_word(w, stack + s->next, &stack))
			return LANG_UNREADABLE;
	}
	if (!b.statement)
		return w->count ? LANG_ROOT : LANG_NO_THREAD;
	if (w->count == w->most)
		return LANG_LIMIT;
	add_frame(w, LANG_MAIN, b.statement);
	mark_last(w);
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
