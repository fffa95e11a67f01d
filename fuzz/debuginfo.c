/* Any bytes as the DWARF of a program: types, constants, functions, inlined copies, lines, and
 * what addresses belong to are looked up. The bytes are an ELF file; names are those of the corpus.
 */
#include "debuginfo/debuginfo.h"
#include "use_type.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* libdw 0.188 loses a few bytes where it gives up a damaged line table. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libdw.so";
}

const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
	return "print_suppressions=0";
}

static int count_place(void *arg, uint64_t address, uint64_t function)
{
	unsigned *count = arg;

	(void)address;
	(void)function;
	return ++*count == 1000;
}

/* Every text is one, and every frame but the last was inlined. */
static void find_frames(struct debuginfo *di)
{
	struct debug_frame frames[DEBUG_FRAMES_MOST];
	struct buf text = BUF_INIT;
	unsigned count;

	for (uint64_t address = 0x1000; address < 0x1200; address += 5) {
		if (debuginfo_frames(di, address, frames, &count))
			continue;
		if (!count || count > DEBUG_FRAMES_MOST)
			abort();
		for (unsigned i = 0; i < count; i++) {
			buf_str(&text, frames[i].function);
			buf_str(&text, frames[i].file);
			buf_str(&text, frames[i].folder);
		}
		buf_clear(&text);
	}
	buf_free(&text);
}

static void look_up(struct debuginfo *di)
{
	static const struct {
		enum ctype_kind kind;
		const char *name;
	} names[] = {
		{CTYPE_STRUCT, "list"},	 {CTYPE_UNION, "un"},	{CTYPE_ENUM, "color"},
		{CTYPE_NAMED, "word_t"}, {CTYPE_NAMED, "char"}, {CTYPE_STRUCT, "a"},
	};
	struct debug_function f;
	const struct ctype *t;
	unsigned count = 0, line;
	int64_t value;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!debuginfo_type(di, names[i].kind, str_from(names[i].name), &t))
			use_type(t, STR("b"));
	if (!debuginfo_constant(di, STR("BLUE"), &t, &value))
		use_type(t, STR("b"));
	for (uint64_t address = 0x1000; address < 0x1200; address += 16)
		if (!debuginfo_function(di, address, &f))
			use_type(f.type, STR("b"));
	debuginfo_inlined(di, STR("scale"), count_place, &count);
	debuginfo_lines(di, STR("s.c"), 10, 0, &line, count_place, &count);
	find_frames(di);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct budget b = budget_for_file(-1);
	struct debuginfo *di;
	struct image *image;

	if (image_open_memory(bytes, len, STR("fuzz"), &image, NULL))
		return 0;
	image_set_budget(image, &b);
	if (!debuginfo_open(image, STR(""), STR(""), &di, NULL)) {
		debuginfo_set_budget(di, &b);
		look_up(di);
		debuginfo_close(di);
	}
	image_close(image);
	return 0;
}
