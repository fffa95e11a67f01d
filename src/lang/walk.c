/* What all languages share: memory, texts, names. */
#include "lang/runtime_row.h"

#include <errno.h>
#include <sys/uio.h>

/* clang-format off */
static const char *const notes[LANG_NOTES] = {
	[LANG_LIMIT]      = "more frames",
	[LANG_UNREADABLE] = "cut: memory of the interpreter cannot be read",
	[LANG_NO_THREAD]  = "no script runs in this thread",
	[LANG_NO_RUNTIME] = "no language runtime is known in this process",
};
/* clang-format on */

const struct runtime_row *const runtime_rows[LANG_KINDS] = {
	[LANG_PYTHON] = &python_row, [LANG_PHP] = &php_row,   [LANG_RUBY] = &ruby_row,
	[LANG_PERL] = &perl_row,     [LANG_NODE] = &node_row, [LANG_JVM] = &jvm_row,
};

const char *lang_kind_name(enum lang_kind kind)
{
	return runtime_rows[kind] ? runtime_rows[kind]->name : "none";
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

enum lang_note lang_walk(const struct lang_runtime *r, const struct lang_memory *m,
			 uint64_t thread_pointer, struct lang_frame *frames, size_t most,
			 size_t *count)
{
	struct lang_walking w = {.root = r->root,
				 .tls_offset = r->tls_offset,
				 .thread_pointer = thread_pointer,
				 .memory = m,
				 .frames = frames,
				 .most = most};
	enum lang_note note = LANG_NO_RUNTIME;

	if (r->layout) {
		w.shape = &r->layout->shape;
		note = lang_walk_thread(&w);
	}
	*count = w.count;
	return note;
}

/* ---- names */

int lang_name(const struct lang_runtime *r, const struct lang_memory *m, struct lang_frame frame,
	      struct lang_name *out)
{
	int err;

	buf_clear(&out->function);
	buf_clear(&out->file);
	out->line = 0;
	out->is_hidden = false;
	if (!r->layout || !frame.object || !runtime_rows[r->kind]->name_frame)
		return -EFAULT;
	err = runtime_rows[r->kind]->name_frame(r, m, frame, out);
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
