/* BTF: types made by hand, those of the running kernel, and damaged ones. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "btf/btf.h"
#include "find/types.h"

/* A file in the making. */
struct made {
	struct buf types, strings;
	bool big_endian;
};

static void put(struct made *m, struct buf *out, uint32_t v, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		buf_char(out, (char)(v >> (m->big_endian ? size - 1 - i : i) * 8));
}

static uint32_t add_name(struct made *m, const char *name)
{
	uint32_t at = (uint32_t)m->strings.len;

	buf_add(&m->strings, name, strlen(name) + 1);
	return at;
}

/* kind, flag and count; size or type; and what follows as words. A name of NULL: none. */
static void add_type(struct made *m, const char *name, uint32_t kind, uint32_t count, uint32_t word,
		     const uint32_t *rest, size_t rest_count)
{
	put(m, &m->types, name ? add_name(m, name) : 0, 4);
	put(m, &m->types, kind << 24 | count, 4);
	put(m, &m->types, word, 4);
	for (size_t i = 0; i < rest_count; i++)
		put(m, &m->types, rest[i], 4);
}

static struct buf finish(struct made *m)
{
	struct buf out = BUF_INIT;

	put(m, &out, 0xeb9f, 2);
	put(m, &out, 1, 1);
	put(m, &out, 0, 1);
	put(m, &out, 24, 4);
	put(m, &out, 0, 4);
	put(m, &out, (uint32_t)m->types.len, 4);
	put(m, &out, (uint32_t)m->types.len, 4);
	put(m, &out, (uint32_t)m->strings.len, 4);
	buf_str(&out, buf_as_str(&m->types));
	buf_str(&out, buf_as_str(&m->strings));
	buf_free(&m->types);
	buf_free(&m->strings);
	return out;
}

#define WORDS(...) (const uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / 4
#define FLAG	   0x80

/* 1 int, 2 char, 3 struct node { struct node *next; int x:3, y:5; union { int i; char c[4]; }; },
 * 4 pointer to it, 5 the union, 6 char[4], 7 enum color, 8 a 64-bit enum, 9 typedef node_t,
 * 10 const node, 11 pointer to that, 12 int (node_t *, ...), 13 look() */
static struct buf make_sample(bool big_endian)
{
	struct made m = {.big_endian = big_endian};
	uint32_t next, x, y, i, c, red, blue, huge, node;

	buf_char(&m.strings, '\0');
	next = add_name(&m, "next"), x = add_name(&m, "x"), y = add_name(&m, "y");
	i = add_name(&m, "i"), c = add_name(&m, "c"), node = add_name(&m, "node");
	red = add_name(&m, "RED"), blue = add_name(&m, "BLUE"), huge = add_name(&m, "HUGE");
	add_type(&m, "int", 1, 0, 4, WORDS(1u << 24 | 32));
	add_type(&m, "char", 1, 0, 1, WORDS(8));
	add_type(&m, "node", FLAG | 4, 4, 16,
		 WORDS(next, 4, 0, x, 1, 3u << 24 | 64, y, 1, 5u << 24 | 67, 0, 5, 96));
	add_type(&m, NULL, 2, 0, 3, NULL, 0);
	add_type(&m, NULL, 5, 2, 4, WORDS(i, 1, 0, c, 6, 0));
	add_type(&m, NULL, 3, 0, 0, WORDS(2, 1, 4));
	add_type(&m, "color", FLAG | 6, 2, 4, WORDS(red, (uint32_t)-1, blue, 7));
	add_type(&m, "big", 19, 1, 8, WORDS(huge, 5, 1));
	add_type(&m, "node_t", 8, 0, 3, NULL, 0);
	add_type(&m, NULL, 10, 0, 9, NULL, 0);
	add_type(&m, NULL, 2, 0, 10, NULL, 0);
	add_type(&m, NULL, 13, 2, 1, WORDS(node, 11, 0, 0));
	add_type(&m, "look", 12, 0, 12, NULL, 0);
	return finish(&m);
}

static void expect_text(const struct ctype *t, const char *name, const char *text)
{
	struct buf out = BUF_INIT;

	ctype_print(&out, t, str_from(name));
	assert_string_equal(out.ptr, text);
	buf_free(&out);
}

static void expect_definition(const struct ctype *t, const char *text)
{
	struct buf out = BUF_INIT;

	ctype_print_definition(&out, t);
	assert_string_equal(out.ptr, text);
	buf_free(&out);
}

static const struct ctype *find(struct btf *b, enum ctype_kind kind, const char *name)
{
	const struct ctype *t = NULL;

	if (btf_find(b, kind, str_from(name), &t))
		fail_msg("'%s' is not found", name);
	return t;
}

static void check_sample(bool big_endian)
{
	struct buf bytes = make_sample(big_endian);
	const struct ctype *t;
	struct ctype_member m;
	struct btf *b;
	int64_t value;

	assert_int_equal(btf_open_memory(bytes.ptr, bytes.len, STR("sample"), NULL, &b, NULL), 0);
	t = find(b, CTYPE_STRUCT, "node");
	assert_int_equal(t->size, 16);
	assert_true(ctype_member(t, STR("y"), &m));
	assert_int_equal(m.offset, 8);
	assert_int_equal(m.bit_width, 5);
	assert_int_equal(m.bit_offset, big_endian ? 24 : 3);
	assert_true(ctype_member(t, STR("c"), &m));
	assert_int_equal(m.offset, 12);
	expect_text(m.type, "c", "char c[4]");
	assert_true(ctype_member(t, STR("next"), &m));
	assert_ptr_equal(ctype_resolve(m.type)->to, t);
	assert_false(ctype_member(t, STR("z"), &m));
	expect_definition(t, "struct node {\n\tstruct node *next;\n\tint x : 3;\n\tint y : 5;\n"
			     "\tunion {\n\t\tint i;\n\t\tchar c[4];\n\t};\n}");
	expect_text(find(b, CTYPE_FUNCTION, "look"), "look", "int look(const node_t *node, ...)");
	assert_ptr_equal(ctype_resolve(find(b, CTYPE_NAMED, "node_t")), t);
	expect_definition(find(b, CTYPE_ENUM, "color"),
			  "enum color {\n\tRED = -1,\n\tBLUE = 7,\n}");
	assert_int_equal(btf_find_constant(b, STR("HUGE"), &t, &value), 0);
	assert_int_equal(value, 0x100000005);
	assert_int_equal(t->size, 8);
	assert_true(str_eq_text(ctype_constant_name(find(b, CTYPE_ENUM, "color"), 7), "BLUE"));
	assert_int_equal(btf_find(b, CTYPE_UNION, STR("node"), &t), -ENOENT);
	assert_int_equal(btf_find_constant(b, STR("GREEN"), &t, &value), -ENOENT);
	btf_close(b);
	buf_free(&bytes);
}

static void types_have_names_sizes_and_members(void **state)
{
	(void)state;
	check_sample(false);
	check_sample(true);
}

/* A module: types 14 struct own { struct node n; }, 15 int named as in no base. */
static void a_module_goes_on_from_the_kernel(void **state)
{
	struct buf base_bytes = make_sample(false), bytes;
	struct made m = {.big_endian = false};
	struct btf *base, *b;
	const struct ctype *t;
	struct ctype_member member;

	(void)state;
	assert_int_equal(
		btf_open_memory(base_bytes.ptr, base_bytes.len, STR("base"), NULL, &base, NULL), 0);
	/* Its strings begin where those of the base end: 1 is "next" of the base. */
	put(&m, &m.types, 0, 0);
	buf_add(&m.strings, "own", 4);
	{
		uint32_t strings_of_base = 0;

		memcpy(&strings_of_base, base_bytes.ptr + 20, 4);
		put(&m, &m.types, strings_of_base, 4);
		put(&m, &m.types, 4u << 24 | 1, 4);
		put(&m, &m.types, 16, 4);
		put(&m, &m.types, 1, 4);
		put(&m, &m.types, 3, 4);
		put(&m, &m.types, 0, 4);
	}
	bytes = finish(&m);
	assert_int_equal(btf_open_memory(bytes.ptr, bytes.len, STR("m"), base, &b, NULL), 0);
	t = find(b, CTYPE_STRUCT, "own");
	assert_true(ctype_member(t, STR("next"), &member));
	assert_ptr_equal(member.type, find(b, CTYPE_STRUCT, "node"));
	assert_ptr_equal(member.type, find(base, CTYPE_STRUCT, "node"));
	btf_close(b);
	btf_close(base);
	buf_free(&bytes);
	buf_free(&base_bytes);
}

/* The kernel's types are those of $NOPAL_BTF: what is damaged there is said. */
static void check_finder(const struct buf *bytes)
{
	char path[] = "/tmp/nopal-btf-XXXXXX";
	struct diag d = DIAG_INIT;
	const struct ctype *t;
	struct finder *f;
	int fd = mkstemp(path);

	assert_int_equal(write(fd, bytes->ptr, bytes->len), bytes->len);
	close(fd);
	setenv("NOPAL_BTF", path, 1);
	assert_int_equal(finder_new(&f), 0);
	assert_int_equal(finder_type(f, NULL, CTYPE_STRUCT, STR("a"), &t, &d), 0);
	assert_int_equal(finder_type(f, NULL, CTYPE_STRUCT, STR("none"), &t, &d), -ENOENT);
	assert_int_equal(d.errors, 0);
	assert_int_equal(finder_type(f, NULL, CTYPE_NAMED, STR("loop"), &t, &d), -EBADMSG);
	assert_string_equal(d.first->tag, "corrupt-type");
	finder_free(f);
	diag_free(&d);
	unsetenv("NOPAL_BTF");
	unlink(path);
}

/* struct a { struct a x; }; a pointer to itself; a typedef of itself; a type outside. */
static void what_is_inside_itself_is_damaged(void **state)
{
	struct made m = {.big_endian = false};
	const struct ctype *t;
	struct ctype_member member;
	struct buf bytes;
	struct btf *b;

	(void)state;
	buf_char(&m.strings, '\0');
	add_type(&m, "a", 4, 1, 8, WORDS(1, 1, 0));
	add_type(&m, "loop", 8, 0, 3, NULL, 0);
	add_type(&m, NULL, 2, 0, 2, NULL, 0);
	add_type(&m, "far", 8, 0, 99, NULL, 0);
	bytes = finish(&m);
	assert_int_equal(btf_open_memory(bytes.ptr, bytes.len, STR("m"), NULL, &b, NULL), 0);
	t = find(b, CTYPE_STRUCT, "a");
	assert_false(ctype_member(t, STR("a"), &member));
	assert_int_equal(t->member_count, 0);
	assert_int_equal(btf_find(b, CTYPE_NAMED, STR("loop"), &t), -EBADMSG);
	assert_int_equal(btf_find(b, CTYPE_NAMED, STR("far"), &t), -EBADMSG);
	btf_close(b);
	check_finder(&bytes);
	buf_free(&bytes);
}

/* says corrupt-btf, no-btf */
static void damage_is_reported(void **state)
{
	struct buf bytes = make_sample(false);
	struct diag d = DIAG_INIT;
	struct btf *b;

	(void)state;
	for (size_t len = 0; len < bytes.len; len++)
		assert_int_equal(btf_open_memory(bytes.ptr, len, STR("cut"), NULL, &b, &d),
				 -EBADMSG);
	assert_string_equal(d.first->tag, "corrupt-btf");
	diag_free(&d);
	assert_int_equal(btf_open("/nowhere", NULL, &b, &d), -ENOENT);
	assert_string_equal(d.first->tag, "no-btf");
	diag_free(&d);
	buf_free(&bytes);
}

static int count_one(void *arg, enum ctype_kind kind, struct str name)
{
	(void)kind;
	(void)name;
	++*(unsigned *)arg;
	return 0;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int print_one(void *arg, enum ctype_kind kind, struct str name)
{
	const struct ctype *t;
	struct buf out = BUF_INIT;
	struct btf *b = arg;

	if (btf_find(b, kind, name, &t))
		fail_msg("%.*s of kind %d is listed and not found", STR_FMT(name), kind);
	if (ctype_complete(t))
		fail_msg("%.*s is damaged", STR_FMT(name));
	ctype_print_definition(&out, t);
	assert_false(out.failed);
	buf_free(&out);
	return 0;
}

static void the_kernel_has_a_task_struct(void **state)
{
	double start = now_ms();
	const struct ctype *t;
	struct ctype_member m;
	unsigned count = 0;
	int64_t value;
	struct btf *b;

	(void)state;
	if (access(BTF_KERNEL, R_OK))
		skip();
	assert_int_equal(btf_open(BTF_KERNEL, NULL, &b, NULL), 0);
	t = find(b, CTYPE_STRUCT, "task_struct");
	assert_true(ctype_member(t, STR("comm"), &m));
	expect_text(m.type, "comm", "char comm[16]");
	/* Its place is in a nameless union of struct page. */
	assert_true(ctype_member(find(b, CTYPE_STRUCT, "page"), STR("index"), &m) ||
		    ctype_member(find(b, CTYPE_STRUCT, "folio"), STR("index"), &m));
	print_message("task_struct after %.1f ms\n", now_ms() - start);
	assert_int_equal(btf_find_constant(b, STR("TCP_ESTABLISHED"), &t, &value), 0);
	assert_int_equal(value, 1);
	find(b, CTYPE_NAMED, "unsigned long");
	find(b, CTYPE_FUNCTION, "vfs_read");
	print_message("a constant after %.1f ms\n", now_ms() - start);
	assert_int_equal(btf_each(b, count_one, &count), 0);
	assert_in_range(count, 1000, 1000000);
	assert_int_equal(btf_each(b, print_one, b), 0);
	btf_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types_have_names_sizes_and_members),
		cmocka_unit_test(a_module_goes_on_from_the_kernel),
		cmocka_unit_test(what_is_inside_itself_is_damaged),
		cmocka_unit_test(damage_is_reported),
		cmocka_unit_test(the_kernel_has_a_task_struct),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
