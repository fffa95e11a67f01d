/* Every tag of a message occurs in a test: in a field `tags` of a case, as a string in a unit test,
 * or in a line `says TAG TEXT` of a bats file. Tags are found in the sources: a function or macro
 * that has a parameter `tag` is called with one. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "help/case_suite.h"

#define MAX_FUNCTIONS 32
#define MAX_TAGS      512
#define MAX_FILE      (1 << 20)

/* Tags that no test can bring about, and why. */
static const struct {
	const char *tag, *why;
} exceptions[] = {
	{"no-memory", "an allocation must fail; tests/cli/memory.bats lets each of them fail"},
	{"write-object", "libelf must run out of memory; tests/cli/memory.bats lets it"},
	{"armed-too-late",
	 "a race between kernel and tracer; tests/cli/later_storm.bats takes it for an answer"},
	{"image-gone", "the same"},
	{"files-missed",
	 "depends on which thread is first; tests/cli/alone.bats takes either answer"},
	{"more-images", "32 images that come later and cannot be traced"},
	{"bad-record", "the kernel must write a malformed record; fuzz/record.c makes such"},
	{"not-counted", "a kernel that attaches uprobes and does not run them"},
	{"run", "a kernel that loads a program and does not run it"},
	{"map-is-made",
	 "a later image whose arguments make a map's key or value larger than all before"},
	{"no-argument", "program_check() refuses such a program before"},
	{"user-mode-stub", "a process none of whose code ends in free bytes"},
	{"user-mode-cpu", "a machine with another CPU"},
	{"user-mode-patch", "a process that unmaps what was mapped for it while sites are enabled"},
	{"no-timer", "a process without file descriptors; it fails elsewhere before"},
	{"user-mode-later", "depends on when the tracer looks at the mappings"},
	{"unreadable-register", "a machine with registers that its kernel does not save"},
};

/* A function that makes messages: which of its arguments is the tag. */
struct maker {
	struct str name;
	unsigned tag_at;
};

static struct {
	struct arena arena;
	struct maker makers[MAX_FUNCTIONS];
	size_t maker_count;
	struct str tags[MAX_TAGS];
	size_t tag_count;
	struct buf sources, units, bats, cases; /* the texts of all such files */
} all;

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool is_tag_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

/* ---- the files ---- */

static int read_file(const char *path, const struct stat *s, int kind, struct FTW *ftw)
{
	struct str name = str_from(path);
	struct buf *into = str_ends(name, STR(".bats"))	 ? &all.bats
			   : str_ends(name, STR(".txt")) ? &all.cases
			   : strstr(path, "tests/unit/") && strcmp(path + ftw->base, "tags.c")
				   ? &all.units
			   : strstr(path, "src/") ? &all.sources
						  : NULL;

	(void)s;
	if (kind == FTW_F && into) {
		assert_int_equal(file_slurp(path, MAX_FILE, into), 0);
		buf_char(into, '\n');
	}
	return 0;
}

static int read_all(void **state)
{
	const char *const folders[] = {"src",	     "tests/unit",   "tests/cli",
				       "tests/real", "tests/author", "tests/cases"};

	(void)state;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (nftw(folders[i], read_file, 16, FTW_PHYS))
			return -1;
	return 0;
}

static int free_all(void **state)
{
	(void)state;
	buf_free(&all.sources);
	buf_free(&all.units);
	buf_free(&all.bats);
	buf_free(&all.cases);
	arena_free(&all.arena);
	return 0;
}

/* ---- tags in the sources ---- */

static void add_maker(struct str name, unsigned tag_at)
{
	for (size_t i = 0; i < all.maker_count; i++)
		if (str_eq(all.makers[i].name, name))
			return;
	assert_true(all.maker_count < MAX_FUNCTIONS);
	all.makers[all.maker_count++] = (struct maker){name, tag_at};
}

/* The maker whose parameter `tag` is at `at`: from there back to its name, which begins at or after
 * `text`. */
static void find_maker(const char *text, const char *at)
{
	const char *open = at, *name;
	unsigned commas = 0;

	for (; open > text && !strchr("(;{}", *open); open--)
		commas += *open == ',';
	for (name = open; name > text && is_word(name[-1]); name--)
		;
	if (*open == '(' && name < open)
		add_maker(str_of(name, (size_t)(open - name)), commas);
}

/* "name(…, const char *tag", and "#define name(…, tag". */
static void find_makers(void)
{
	const char *text = all.sources.ptr, *at;

	for (at = text; (at = strstr(at, "const char *tag")); at++)
		find_maker(text, at);
	for (at = text; (at = strstr(at, "#define ")); at++) {
		const char *line = at + strlen("#define "), *end = line + strcspn(line, ")\n");
		const char *tag = memmem(line, (size_t)(end - line), ", tag,", 6);

		if (tag)
			find_maker(line, tag + 1);
	}
}

static void add_tag(struct str tag)
{
	for (size_t i = 0; i < all.tag_count; i++)
		if (str_eq(all.tags[i], tag))
			return;
	assert_true(all.tag_count < MAX_TAGS);
	all.tags[all.tag_count++] = tag;
}

/* The end of a string literal that begins at `at`. */
static const char *after_literal(const char *at)
{
	for (at++; *at && *at != '"'; at++)
		at += *at == '\\';
	return at;
}

/* Tags among the literals of the argument number `tag_at`; `at` is behind the '('. There may be
 * two: x ? "a" : "b". */
static void add_tags_of_call(const char *at, unsigned tag_at)
{
	unsigned depth = 0, argument = 0;

	for (; *at && argument <= tag_at && !(depth == 0 && *at == ')'); at++) {
		depth += *at == '(' || *at == '{';
		depth -= *at == ')' || *at == '}';
		argument += *at == ',' && depth == 0;
		if (*at == '"') {
			const char *end = after_literal(at), *c = at + 1;

			while (c < end && is_tag_char(*c))
				c++;
			if (argument == tag_at && c == end && end > at + 1)
				add_tag(str_of(at + 1, (size_t)(end - at - 1)));
			at = end;
		}
	}
}

static void find_tags(void)
{
	for (size_t i = 0; i < all.maker_count; i++) {
		struct maker m = all.makers[i];
		const char *text = all.sources.ptr, *at = text;

		for (; (at = memmem(at, strlen(at), m.name.ptr, m.name.len)); at += m.name.len)
			if (at[m.name.len] == '(' && (at == text || !is_word(at[-1])))
				add_tags_of_call(at + m.name.len + 1, m.tag_at);
	}
}

/* ---- tags in the tests ---- */

static bool occurs(const struct buf *text, const char *before, struct str tag, const char *ends)
{
	struct buf wanted = BUF_INIT;
	bool found = false;

	buf_printf(&wanted, "%s%.*s", before, STR_FMT(tag));
	for (const char *at = text->ptr; !found && (at = strstr(at, wanted.ptr)); at++)
		found = at[wanted.len] && strchr(ends, at[wanted.len]);
	buf_free(&wanted);
	return found;
}

static bool in_cases(struct str tag)
{
	struct str rest = buf_as_str(&all.cases);

	while (rest.len) {
		struct str line = str_cut(&rest, '\n');

		if (!str_starts(line, STR("tags:")))
			continue;
		while (line.len)
			if (str_eq(str_cut(&line, ' '), tag))
				return true;
	}
	return false;
}

static bool is_exception(struct str tag)
{
	for (size_t i = 0; i < sizeof(exceptions) / sizeof(*exceptions); i++)
		if (str_eq_text(tag, exceptions[i].tag))
			return true;
	return false;
}

static bool is_tested(struct str tag)
{
	return in_cases(tag) || occurs(&all.units, "\"", tag, "\"") ||
	       occurs(&all.bats, "says ", tag, " ");
}

static void every_tag_occurs_in_a_test(void **state)
{
	unsigned untested = 0;

	(void)state;
	find_makers();
	find_tags();
	assert_in_range(all.tag_count, 100, MAX_TAGS);
	for (size_t i = 0; i < all.tag_count; i++) {
		if (is_tested(all.tags[i]) || is_exception(all.tags[i]))
			continue;
		print_error("no test brings about the tag '%.*s'\n", STR_FMT(all.tags[i]));
		untested++;
	}
	assert_int_equal(untested, 0);
}

/* An exception that is tested, or a tag that is no more, is removed from the list. */
static void every_exception_is_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(exceptions) / sizeof(*exceptions); i++) {
		struct str tag = str_from(exceptions[i].tag);
		bool known = false;

		for (size_t k = 0; k < all.tag_count; k++)
			known |= str_eq(all.tags[k], tag);
		if (!known || is_tested(tag))
			fail_msg("%s: %s", exceptions[i].tag,
				 known ? "a test brings it about" : "no such tag");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_tag_occurs_in_a_test),
		cmocka_unit_test(every_exception_is_one),
	};

	return cmocka_run_group_tests(tests, read_all, free_all);
}
