/* The demanglers of libiberty, which gdb and perf have, bounded: a mangled name can refer to a part
 * of itself, so that 200 bytes of a hostile file could become gigabytes. */
#include "symbols/demangle.h"

#include <setjmp.h>
#include <stdlib.h>

#if __has_include(<libiberty/demangle.h>)
#include <libiberty/demangle.h>
#else
#include <demangle.h>
#endif

#define MANGLED_MOST   2048
#define PLAIN_MOST     8192
#define EXPANSION_MOST (16u << 20)

typedef int demangle_fn(const char *mangled, int options, demangle_callbackref callback,
			void *opaque);

struct output {
	struct buf *out;
	size_t start;
	jmp_buf too_long;
};

static void take_part(const char *text, size_t len, void *arg)
{
	struct output *o = arg;

	if (o->out->len - o->start + len > PLAIN_MOST)
		longjmp(o->too_long, 1);
	buf_add(o->out, text, len);
}

/* These two demanglers keep nothing on the heap, so that they can be left in the middle. */
static bool add_in_parts(demangle_fn *fn, const char *mangled, int options, struct buf *out)
{
	struct output o = {.out = out, .start = out->len};

	if (!setjmp(o.too_long) && fn(mangled, options, take_part, &o) && out->len > o.start)
		return true;
	out->len = o.start;
	return false;
}

/* 'Q' repeats an earlier part, which is at most all there was before: each doubles the text at
 * worst. */
static bool expands_too_far(const char *mangled)
{
	size_t worst = 0;

	for (const char *at = mangled; *at && worst <= EXPANSION_MOST; at++)
		worst = *at == 'Q' ? 2 * worst + 2 : worst + 20; /* a letter is a type's name */
	return worst > EXPANSION_MOST;
}

static bool add_d(const char *mangled, struct buf *out)
{
	char *plain = expands_too_far(mangled) ? NULL : dlang_demangle(mangled, DMGL_PARAMS);
	bool is_plain = plain && strlen(plain) <= PLAIN_MOST;

	if (is_plain)
		buf_text(out, plain);
	free(plain);
	return is_plain;
}

static bool add_plain(const char *mangled, enum demangle_form form, struct buf *out)
{
	int options = DMGL_ANSI | (form == DEMANGLE_WHOLE ? DMGL_PARAMS : 0);

	/* Names of Rust's older form are such of C++, with a hash at the end. */
	if (!strncmp(mangled, "_R", 2) || !strncmp(mangled, "_ZN", 3))
		if (add_in_parts(rust_demangle_callback, mangled, options, out))
			return true;
	if (!strncmp(mangled, "_Z", 2))
		return add_in_parts(cplus_demangle_v3_callback, mangled, options, out);
	return !strncmp(mangled, "_D", 2) && add_d(mangled, out);
}

void demangle(struct str name, enum demangle_form form, struct buf *out)
{
	char mangled[MANGLED_MOST + 1];

	if (form != DEMANGLE_NOT && name.len > 2 && name.ptr[0] == '_' &&
	    name.len <= MANGLED_MOST) {
		memcpy(mangled, name.ptr, name.len);
		mangled[name.len] = '\0';
		if (add_plain(mangled, form, out))
			return;
	}
	buf_str(out, name);
}
