/* Any bytes as the memory of an interpreter: every walk and every name ends, and texts are bounded.
 * The first byte chooses the version, the rest is what memory holds, over and over. */
#include <stdlib.h>
#include <string.h>

#include "lang/inside.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
	enum lang_kind kind;
	unsigned major, minor;
} versions[] = {
	{LANG_PYTHON, 3, 9},  {LANG_PYTHON, 3, 10}, {LANG_PYTHON, 3, 11}, {LANG_PYTHON, 3, 12},
	{LANG_PYTHON, 3, 13}, {LANG_PHP, 8, 2},	    {LANG_RUBY, 3, 1},	  {LANG_PERL, 5, 36},
	{LANG_RUBY, 2, 7},    {LANG_RUBY, 3, 4},    {LANG_PERL, 5, 30},
};

struct bytes {
	const uint8_t *data;
	size_t size;
};

/* A part of the addresses cannot be read. */
static bool read_fuzz(void *self, uint64_t address, void *to, size_t len)
{
	const struct bytes *b = self;

	if (address >> 63 || (address & 0xff00) == 0xee00)
		return false;
	for (size_t i = 0; i < len; i++)
		((uint8_t *)to)[i] = b->data[(address + i) % b->size];
	return true;
}

/* The bytes as a definition that the kernel has sent, and names of frames that it may be of. No
 * process has number INT32_MAX, so nothing of this machine is read. */
static void define(struct lang_runtime *r, const uint8_t *data, size_t size)
{
	struct lang_definition head = {.pid = INT32_MAX};
	struct lang_frame frames[4];
	struct lang_name name = {0};
	struct buf bytes = BUF_INIT;
	struct lang_names *n;
	size_t count = COUNT(frames);

	if (lang_names_new(&n))
		return;
	if (!names_add(n, INT32_MAX, r)) {
		memcpy(&head, data, size < sizeof(head) ? size : sizeof(head));
		head.id %= 2;
		head.pid = INT32_MAX;
		buf_add(&bytes, &head, sizeof(head));
		buf_add(&bytes, data, size);
		lang_names_define(n, buf_as_str(&bytes));
		lang_names_define(n, str_of((const char *)data, size));
		for (size_t i = 0; i < COUNT(frames); i++)
			frames[i] = (struct lang_frame){(head.object + (i == 3)) ^
								(i == 2 ? LANG_ENTRY : 0),
							head.position + i / 2};
		lang_names_find(n, INT32_MAX, frames[0], &name);
		lang_names_unify(n, INT32_MAX, frames, &count);
		for (size_t i = 0; i < count; i++)
			lang_names_find(n, 0, frames[i], &name);
	}
	lang_name_free(&name);
	buf_free(&bytes);
	lang_names_free(n);
}

/* With marks it is the same walk, but for notes of parts. */
static void walk_marked(const struct lang_runtime *r, const struct lang_memory *m,
			uint64_t thread_pointer, const struct lang_frame *frames, size_t most,
			size_t count)
{
	struct lang_frame marked[LANG_FRAMES_MOST];
	struct lang_walking w = {.shape = lang_shape_of(r),
				 .root = r->root,
				 .thread_pointer = thread_pointer,
				 .memory = m,
				 .marks = true,
				 .frames = marked,
				 .most = most};
	size_t same = 0, parts = 0;

	lang_walk_thread(&w);
	for (size_t i = 0; i < w.count; i++) {
		if (!marked[i].object && marked[i].position == LANG_PART) {
			parts++;
			continue;
		}
		if (same >= count ||
		    (marked[i].object | LANG_ENTRY) != (frames[same++].object | LANG_ENTRY))
			abort();
	}
	if (same != count && !parts)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = {data + 2, size - 2};
	const struct lang_memory m = {&b, read_fuzz};
	struct lang_frame frames[LANG_FRAMES_MOST];
	struct lang_runtime r = {.root = 8};
	struct lang_name name = {0};
	size_t count, most;

	if (size < 10)
		return 0;
	data++;
	r.kind = versions[data[-1] % COUNT(versions)].kind;
	r.layout = layout_find(r.kind, versions[data[-1] % COUNT(versions)].major,
			       versions[data[-1] % COUNT(versions)].minor);
	most = data[0] % LANG_FRAMES_MOST + 1u;
	if ((unsigned)lang_walk(&r, &m, data[0], frames, most, &count) >= LANG_NOTES ||
	    count > most)
		abort();
	walk_marked(&r, &m, data[0], frames, most, count);
	for (size_t i = 0; i < count; i++) {
		lang_name(&r, &m, frames[i], &name);
		if (name.function.len > 3 * TEXT_MOST || name.file.len > 3 * TEXT_MOST)
			abort();
	}
	lang_name_free(&name);
	define(&r, data + 1, size - 2);
	lang_jvm_flag(&(struct lang_runtime){.kind = LANG_JVM, .root = 8, .code_type = 16}, &m,
		      "PreserveFramePointer");
	return 0;
}
