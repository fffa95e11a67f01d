/* Lines and inlined functions of addresses: as addr2line(1) and the source have them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/array.h"
#include "debuginfo/debuginfo.h"
#include "help/hook.h"
#include "help/shell.h"

#define SAMPLES 3000

#define ADDR2LINE "addr2line"
#define LLVM	  "llvm-symbolizer --no-demangle --output-style=GNU"

/* Templates, lambdas, methods, exceptions: what compilers inline most. */
static const char source[] =
	"#include <algorithm>\n"
	"#include <cstdio>\n"
	"#include <map>\n"
	"#include <string>\n"
	"#include <vector>\n"
	"namespace shop {\n"
	"template <class T> struct Store {\n"
	"	std::map<std::string, T> items;\n"
	"	void add(const std::string &name, T value) { items[name] += value; }\n"
	"	T total() const {\n"
	"		T sum{};\n"
	"		for (auto &item : items)\n"
	"			sum += item.second;\n"
	"		return sum;\n"
	"	}\n"
	"};\n"
	"static long largest(std::vector<long> values) {\n"
	"	std::sort(values.begin(), values.end(), [](long a, long b) { return a % 97 > b % "
	"97; });\n"
	"	return values.empty() ? throw 1 : values.front();\n"
	"}\n"
	"}\n"
	"int main(int argc, char **argv) {\n"
	"	shop::Store<long> store;\n"
	"	std::vector<long> sizes;\n"
	"	for (int i = 0; i < argc; i++) {\n"
	"		store.add(argv[i], i);\n"
	"		sizes.push_back(store.total());\n"
	"	}\n"
	"	try {\n"
	"		std::printf(\"%ld\\n\", shop::largest(sizes));\n"
	"	} catch (int) {\n"
	"		return 1;\n"
	"	}\n"
	"	return 0;\n"
	"}\n";

static char dir[] = "/tmp/nopal-lines-XXXXXX";

static struct debuginfo *open_file(const char *path, struct image **image)
{
	struct debuginfo *di = NULL;

	assert_int_equal(image_open(path, image, NULL), 0);
	if (debuginfo_open(*image, str_from(path), STR(""), &di, NULL))
		di = NULL;
	return di;
}

/* ---- What other tools say ---- */

/* "_Z3addi", then "/src/a.c:12", "??:0", "a.c:?", "a.c:7 (discriminator 3)", for each frame. */
struct lines {
	char function[64][4096], place[64][4096];
	unsigned count;
};

static bool read_line(FILE *f, char *line, size_t size)
{
	if (!fgets(line, (int)size, f))
		return false;
	line[strcspn(line, "\n")] = '\0';
	return true;
}

/* The frames up to the line of the next address. */
static void read_frames(FILE *f, struct lines *l)
{
	static char line[4096];

	l->count = 0;
	while (read_line(f, line, sizeof(line)) && strncmp(line, "0x", 2)) {
		assert_true(l->count < 64);
		strcpy(l->function[l->count], line);
		assert_true(read_line(f, l->place[l->count], sizeof(line)));
		l->place[l->count][strcspn(l->place[l->count], " ")] = '\0';
		l->count++;
	}
}

/* ---- What we say, in the same words ---- */

static void add_place(const struct debug_frame *f, struct buf *out)
{
	bool joined = f->file.len && f->file.ptr[0] != '/' && f->folder.len;

	if (joined)
		buf_printf(out, "%.*s/", STR_FMT(f->folder));
	buf_str(out, f->file.len ? f->file : STR("??"));
	if (f->line)
		buf_printf(out, ":%u", f->line);
	else
		buf_text(out, f->file.len ? ":?" : ":0");
}

/* Is a place the same? A line that is not known is 0, "?" or nothing. */
static bool same_place(const struct debug_frame *f, const char *place)
{
	struct buf own = BUF_INIT;
	bool same;

	add_place(f, &own);
	same = !strcmp(own.ptr, place) ||
	       (!f->line && (strchr(place, '?') || str_ends(str_from(place), STR(":0"))));
	buf_free(&own);
	return same;
}

/* Of the outermost function all show the symbol, with ".cold" or so; and addr2line shows that, too,
 * where it does not know how linkers call an inlined one. */
static bool same_function(const struct debug_frame *f, const struct debug_frame *outermost,
			  const char *name)
{
	struct str theirs = str_from(name);

	/* "shop::largest", "largest" */
	if (theirs.len < f->function.len && str_ends(f->function, theirs) &&
	    f->function.ptr[f->function.len - theirs.len - 1] == ':')
		return true;
	return f == outermost || str_eq(f->function, theirs) ||
	       (!str_starts(f->function, STR("_Z")) &&
		(str_starts(theirs, STR("_Z")) || str_starts(theirs, outermost->function)));
}

struct tally {
	unsigned known, frames, inlined, different;
};

static void show(uint64_t address, const struct debug_frame *frames, unsigned count,
		 const struct lines *l)
{
	print_message("%#llx\n", (unsigned long long)address);
	for (unsigned i = 0; i < count || i < l->count; i++) {
		struct buf own = BUF_INIT;

		if (i < count) {
			buf_printf(&own, "%.*s ", STR_FMT(frames[i].function));
			add_place(&frames[i], &own);
		}
		print_message("  ours: %s\n  other: %s %s\n", own.ptr ? own.ptr : "",
			      i < l->count ? l->function[i] : "", i < l->count ? l->place[i] : "");
		buf_free(&own);
	}
}

static void compare_one(uint64_t address, const struct debug_frame *frames, unsigned count,
			const struct lines *l, struct tally *t)
{
	bool same = count == l->count;

	for (unsigned i = 0; i < count && same; i++)
		same = same_place(&frames[i], l->place[i]) &&
		       same_function(&frames[i], &frames[count - 1], l->function[i]);
	t->known++;
	t->frames += count;
	t->inlined += count > 1;
	t->different += !same;
	if (!same && t->different <= 5)
		show(address, frames, count, l);
}

/* Addresses all over the code of a file. */
static void choose_addresses(const struct section *text, uint64_t addresses[SAMPLES])
{
	uint64_t random = 7;
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/addresses", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	for (unsigned i = 0; i < SAMPLES; i++) {
		addresses[i] = text->address + next_random(&random) % text->size;
		fprintf(f, "%#llx\n", (unsigned long long)addresses[i]);
	}
	assert_int_equal(fclose(f), 0);
}

static struct tally compare(const char *path, const char *tool)
{
	struct debug_frame frames[DEBUG_FRAMES_MOST];
	static struct lines l;
	struct image *image;
	struct debuginfo *di = open_file(path, &image);
	uint64_t addresses[SAMPLES];
	struct tally t = {0};
	char command[512];
	FILE *f;

	assert_non_null(di);
	choose_addresses(image_section(image, ".text", NULL), addresses);
	snprintf(command, sizeof(command), "%s -a -i -f -e %s <%s/addresses 2>/dev/null", tool,
		 path, dir);
	f = popen(command, "r");
	read_frames(f, &l);
	for (unsigned i = 0; i < SAMPLES; i++) {
		unsigned count = 0;

		read_frames(f, &l);
		if (!debuginfo_frames(di, addresses[i], frames, &count))
			compare_one(addresses[i], frames, count, &l, &t);
	}
	pclose(f);
	debuginfo_close(di);
	image_close(image);
	return t;
}

static const struct {
	const char *compiler, *tool;
	bool is_long;
} programs[] = {
	/* addr2line of binutils 2.40 takes the wrong file from some tables of DWARF 5. */
	{"g++ -O2 -gdwarf-4", ADDR2LINE, false},
	{"clang++ -O3 -gdwarf-5", LLVM, false},
	{"g++ -O2 -gdwarf-5 -gz", LLVM, true},
	{"g++ -O3 -gdwarf-4 -flto -fdebug-types-section", ADDR2LINE, true},
	{"clang++ -O2 -gdwarf-4", ADDR2LINE, true},
	{"g++ -O2 -gdwarf-4 -ffunction-sections -Wl,--gc-sections", ADDR2LINE, true},
	{"g++ -O2 -g1 -gdwarf-4", ADDR2LINE, true},
};

static void lines_are_those_of_other_tools(void **state)
{
	bool all = getenv("MATRIX") && !strcmp(getenv("MATRIX"), "full");
	char path[256];

	(void)state;
	for (size_t i = 0; i < COUNT(programs); i++) {
		struct tally t;

		if ((programs[i].is_long && !all) || !shell_has(programs[i].compiler) ||
		    !shell_has(programs[i].tool)) {
			print_message("skipped: %s\n", programs[i].compiler);
			continue;
		}
		assert_int_equal(
			shell_run("cd %s && %s s.cc -o program", dir, programs[i].compiler), 0);
		snprintf(path, sizeof(path), "%s/program", dir);
		t = compare(path, programs[i].tool);
		print_message("%s: %u addresses known, %u inlined, %u frames\n",
			      programs[i].compiler, t.known, t.inlined, t.frames);
		assert_int_equal(t.different, 0);
		assert_true(t.known > SAMPLES * 9 / 10);
		assert_true(t.inlined > SAMPLES / 2);
	}
}

/* libdw forgets a file after 64 units, and begins again with what libelf decompressed. */
static void compressed_sections_last(void **state)
{
	const char *program = getenv("NOPAL") ? getenv("NOPAL") : "build/nopal";
	struct debug_frame plain[DEBUG_FRAMES_MOST], packed[DEBUG_FRAMES_MOST];
	struct image *image, *packed_image;
	struct debuginfo *di = open_file(program, &image), *packed_di;
	const struct section *text = image_section(image, ".text", NULL);
	unsigned known = 0;
	char path[256];

	(void)state;
	snprintf(path, sizeof(path), "%s/packed", dir);
	assert_int_equal(shell_run("objcopy --compress-debug-sections=zlib %s %s", program, path),
			 0);
	packed_di = open_file(path, &packed_image);
	assert_non_null(di);
	assert_non_null(packed_di);
	for (uint64_t at = text->address; at < text->address + text->size; at += text->size / 500) {
		unsigned count = 0, packed_count = 0;

		debuginfo_frames(di, at, plain, &count);
		debuginfo_frames(packed_di, at, packed, &packed_count);
		assert_int_equal(count, packed_count);
		for (unsigned i = 0; i < count; i++) {
			assert_true(str_eq(plain[i].function, packed[i].function));
			assert_int_equal(plain[i].line, packed[i].line);
		}
		known += count > 0;
	}
	assert_true(known > 400);
	debuginfo_close(di);
	debuginfo_close(packed_di);
	image_close(image);
	image_close(packed_image);
}

/* What a hostile file may cost is bounded, and what was left out is known. */
static void work_is_bounded(void **state)
{
	struct budget b = {.work = 1000000, .memory = UINT64_MAX, .stop_fd = -1};
	const char *program = getenv("NOPAL") ? getenv("NOPAL") : "build/nopal";
	struct debug_frame frames[DEBUG_FRAMES_MOST];
	struct image *image;
	struct debuginfo *di = open_file(program, &image);
	const struct section *text = image_section(image, ".text", NULL);
	unsigned count, known = 0;

	(void)state;
	assert_non_null(di);
	debuginfo_set_budget(di, &b);
	for (uint64_t at = text->address; at < text->address + text->size; at += text->size / 500)
		known += !debuginfo_frames(di, at, frames, &count);
	assert_true(debuginfo_frames_are_cut(di));
	assert_in_range(known, 1, 300);
	assert_int_equal(budget_error(&b), -E2BIG);
	debuginfo_close(di);
	image_close(image);
}

/* LINES_OF=PATH: another file, also one whose debug information is separate. */
static void lines_of_a_file(void **state)
{
	const char *path = getenv("LINES_OF"), *tool = getenv("LINES_BY");
	struct tally t;

	(void)state;
	if (!path)
		return;
	t = compare(path, tool ? tool : ADDR2LINE);
	print_message("%s: %u addresses known, %u inlined, %u frames, %u differ\n", path, t.known,
		      t.inlined, t.frames, t.different);
	assert_true(t.different <= t.known / 100);
}

static int write_source(void **state)
{
	char path[256];
	FILE *f;

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/s.cc", dir);
	f = fopen(path, "w");
	return !f || fputs(source, f) < 0 || fclose(f);
}

static int remove_dir(void **state)
{
	(void)state;
	return shell_run("rm -rf %s", dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_those_of_other_tools),
		cmocka_unit_test(compressed_sections_last),
		cmocka_unit_test(work_is_bounded),
		cmocka_unit_test(lines_of_a_file),
	};

	return cmocka_run_group_tests(tests, write_source, remove_dir);
}
