/* Walking: from a runtime's root to the state of a thread, from frame to frame. Also what all
 * languages share. */
#include "lang/inside.h"

#include <errno.h>
#include <sys/uio.h>

#define THREADS_MOST 4096 /* of all interpreters, as memory may say anything */
#define DTV_ENTRY    16	  /* bytes: the address of a module's block, and how it is freed */

/* clang-format off */
static const char *const kind_names[LANG_KINDS] = {
	[LANG_NONE] = "none", [LANG_PYTHON] = "python", [LANG_PHP] = "php", [LANG_RUBY] = "ruby",
	[LANG_PERL] = "perl", [LANG_NODE] = "node",     [LANG_JVM] = "jvm",
};

static const char *const notes[LANG_NOTES] = {
	[LANG_LIMIT]      = "more frames",
	[LANG_UNREADABLE] = "cut: memory of the interpreter cannot be read",
	[LANG_NO_THREAD]  = "no script runs in this thread",
	[LANG_NO_RUNTIME] = "no language runtime is known in this process",
};
/* clang-format on */

const char *lang_kind_name(enum lang_kind kind)
{
	return kind_names[kind];
}

const char *lang_note_text(enum lang_note note)
{
	return note < LANG_NOTES ? notes[note] : notes[LANG_UNREADABLE];
}

static bool read_process(void *self, uint64_t address, void *to, size_t len)
{
	struct iovec ours = {to, len}, theirs = {(void *)(uintptr_t)address, len};

	return process_vm_readv(*(const pid_t *)self, &ours, 1, &theirs, 1, 0) == (ssize_t)len;
}

struct lang_memory lang_memory_of(const pid_t *pid)
{
	return (struct lang_memory){(void *)(uintptr_t)pid, read_process};
}

bool read_text(const struct lang_memory *m, uint64_t at, uint64_t len, struct buf *out)
{
	size_t most = len < TEXT_MOST ? (size_t)len : TEXT_MOST;

	if (!most)
		return true;
	if (buf_reserve(out, most + 1) || !read_bytes(m, at, out->ptr + out->len, most))
		return false;
	out->len += most;
	out->ptr[out->len] = '\0';
	return true;
}

/* Piece by piece, for the text may lie at the end of what is mapped, or of what was copied. */
bool read_c_text(const struct lang_memory *m, uint64_t at, struct buf *out)
{
	for (size_t n = 0; n < TEXT_MOST;) {
		char piece[64];
		size_t len = sizeof(piece) - at % sizeof(piece);
		const char *end;

		if (!read_bytes(m, at, piece, len)) {
			len = 1;
			if (!read_bytes(m, at, piece, len))
				return false;
		}
		end = memchr(piece, '\0', len);
		buf_add(out, piece, end ? (size_t)(end - piece) : len);
		if (end)
			return true;
		n += len;
		at += len;
	}
	return true;
}

/* ---- the state of a thread */

/* The thread that has this pointer, of all interpreters. */
static bool find_listed(const struct lang_shape_row *s, const struct lang_memory *m, uint64_t root,
			uint64_t thread_pointer, uint64_t *out)
{
	uint64_t interpreter, thread, pointer;
	unsigned seen = 0;

	if (!read_word(m, root + s->interpreters, &interpreter))
		return false;
	while (interpreter) {
		const uint64_t head = interpreter + s->first_thread;

		if (!read_word(m, head, &thread))
			return false;
		while (thread && thread != head) {
			if (seen++ >= THREADS_MOST ||
			    !read_word(m, thread + s->thread_pointer, &pointer))
				return false;
			*out = thread;
			if (pointer == thread_pointer)
				return s->of_thread == LANG_NOTHING ||
				       read_word(m, thread + s->of_thread, out);
			if (!read_word(m, thread + s->next_thread, &thread))
				return false;
		}
		if (s->next_interpreter == LANG_NO_NEXT)
			break;
		if (seen++ >= THREADS_MOST ||
		    !read_word(m, interpreter + s->next_interpreter, &interpreter))
			return false;
	}
	*out = 0;
	return true;
}

/* A thread-local variable: the thread pointer leads to a table of modules' blocks; of one that the
 * thread has not used yet the entry is -1. */
static bool find_tls(const struct lang_runtime *r, const struct lang_memory *m,
		     uint64_t thread_pointer, uint64_t *out)
{
	uint64_t module = 1, table, block;

	if (r->root && !read_word(m, r->root, &module))
		return false;
	if (module > UINT16_MAX || !read_word(m, thread_pointer + 8, &table) ||
	    !read_word(m, table + module * DTV_ENTRY, &block))
		return false;
	*out = 0;
	return block == UINT64_MAX || !block || read_word(m, block + r->tls_offset, out);
}

/* What the thread has set for a key. */
static bool find_keyed(const struct lang_runtime *r, const struct lang_memory *m,
		       uint64_t thread_pointer, uint64_t *out)
{
	uint32_t key;

	return read_u32(m, r->root, &key) && key < LANG_KEYS &&
	       read_word(m, thread_pointer + LANG_KEYS_AT + (uint64_t)key * LANG_KEY_BYTES, out);
}

/* The state of a thread; 0: it has none. */
static bool find_state(const struct lang_runtime *r, const struct lang_memory *m,
		       uint64_t thread_pointer, uint64_t *out)
{
	const struct lang_shape_row *s = &r->layout->shape;

	*out = 0;
	switch ((enum lang_start)s->start) {
	case LANG_START_ROOT: *out = r->root; return true;
	case LANG_START_GLOBAL: return read_word(m, r->root, out);
	case LANG_START_TLS: return find_tls(r, m, thread_pointer, out);
	case LANG_START_KEY: return find_keyed(r, m, thread_pointer, out);
	case LANG_START_LIST: return find_listed(s, m, r->root, thread_pointer, out);
	}
	return false;
}

/* ---- frames */

static uint64_t word_at(const char *bytes, size_t at)
{
	uint64_t word;

	memcpy(&word, bytes + at, sizeof(word));
	return word;
}

static uint64_t position_of(const struct lang_shape_row *s, const struct lang_memory *m,
			    const char *bytes, uint64_t object)
{
	uint64_t position;
	uint32_t narrow;

	if (s->position_size == 4) {
		memcpy(&narrow, bytes + s->position, sizeof(narrow));
		return (uint64_t)(int64_t)(int32_t)narrow;
	}
	position = word_at(bytes, s->position);
	if (s->line != LANG_NOTHING)
		return read_u32(m, position + s->line, &narrow) ? narrow : 0;
	return s->is_relative ? position - object : position;
}

/* `end`: of an array; else 0. Frames without an object are none of a script's. */
static enum lang_note walk_frames(const struct lang_shape_row *s, const struct lang_memory *m,
				  uint64_t at, uint64_t end, struct lang_frame *frames, size_t most,
				  size_t *count)
{
	char bytes[LANG_FRAME_MOST + 8];

	for (size_t seen = 0; at && at != end; seen++) {
		uint64_t object;

		if (seen > 2 * most || (end && at > end))
			return LANG_UNREADABLE;
		if (!read_bytes(m, at, bytes, s->size))
			return LANG_UNREADABLE;
		object = word_at(bytes, s->object);
		if (object && (!s->skip || bytes[s->skip_at] != (char)s->skip)) {
			if (*count == most)
				return LANG_LIMIT;
			frames[(*count)++] =
				(struct lang_frame){object, position_of(s, m, bytes, object)};
		}
		at = end ? at + s->size : word_at(bytes, s->next);
	}
	return LANG_ROOT;
}

enum lang_note lang_walk(const struct lang_runtime *r, const struct lang_memory *m,
			 uint64_t thread_pointer, struct lang_frame *frames, size_t most,
			 size_t *count)
{
	const struct lang_shape_row *s;
	uint64_t state, top, base = 0, words = 0;

	*count = 0;
	if (!r->layout)
		return LANG_NO_RUNTIME;
	s = &r->layout->shape;
	if (!find_state(r, m, thread_pointer, &state))
		return LANG_UNREADABLE;
	if (!state)
		return LANG_NO_THREAD;
	if (s->shape == LANG_BLOCKS)
		return perl_walk(s, m, state, frames, most, count);
	if (!read_word(m, state + s->top, &top) ||
	    (s->top_again != LANG_NOTHING && !read_word(m, top + s->top_again, &top)))
		return LANG_UNREADABLE;
	if (s->shape == LANG_ARRAY &&
	    (!read_word(m, state + s->base, &base) || !read_word(m, state + s->words, &words)))
		return LANG_UNREADABLE;
	if (!top)
		return LANG_NO_THREAD;
	return walk_frames(s, m, top, base + 8 * words, frames, most, count);
}

/* ---- names */

static name_fn *const names[LANG_KINDS] = {
	[LANG_PYTHON] = python_name,
	[LANG_PHP] = php_name,
	[LANG_RUBY] = ruby_name,
	[LANG_PERL] = perl_name,
};

int lang_name(const struct lang_runtime *r, const struct lang_memory *m, struct lang_frame frame,
	      struct lang_name *out)
{
	int err;

	buf_clear(&out->function);
	buf_clear(&out->file);
	out->line = 0;
	out->is_hidden = false;
	if (!r->layout || !frame.object || !names[r->kind])
		return -EFAULT;
	err = names[r->kind](r, m, frame, out);
	return out->function.failed || out->file.failed ? -ENOMEM : err;
}

void lang_name_free(struct lang_name *n)
{
	buf_free(&n->function);
	buf_free(&n->file);
}

void lang_print_name(const struct lang_name *n, bool with_line, struct buf *out)
{
	if (n->function.len)
		buf_str(out, buf_as_str(&n->function));
	else
		buf_text(out, "(unreadable)");
	if (!n->file.len)
		return;
	buf_text(out, " (");
	buf_str(out, buf_as_str(&n->file));
	if (with_line && n->line) {
		buf_char(out, ':');
		buf_u64(out, n->line);
	}
	buf_char(out, ')');
}

const struct lang_shape_row *lang_shape_of(const struct lang_runtime *r)
{
	return r->layout ? &r->layout->shape : NULL;
}
