/* The note that describes: this program has probes of <nopal/sdt.h>, and reads its own file. Then
 * bytes that nobody would write. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "nopal/sdt.h"
#include "probe/describe.h"
#include "probe/sites.h"

struct point {
	int x, y;
};
struct node {
	struct node *next;
	unsigned short port;
};
#define CALL(a, b) ((a) + (b))

static int first_line;

static void fire(int n, const char *word, double ratio, struct node *node, struct point at)
{
	first_line = __LINE__ + 1;
	NOPAL_PROBE(describe, word, word, n);
	NOPAL_PROBE(describe, odd, n % 3, CALL(n, 2), (char)(n | '\n'), "a, \"b\" {x}", ratio);
	NOPAL_PROBE(describe, more, node->port, at, (float)ratio, (long double)ratio, n > 2, &n);
	NOPAL_PROBE(describe, none);
	NOPAL_PROBE(describe, long_one, n /* a comment */, CALL(CALL(n, n), CALL(n, n)),
		    CALL(CALL(CALL(n, n), CALL(n, n)), CALL(CALL(n, n), CALL(n, n))),
		    CALL(CALL(CALL(n, n), CALL(n, n)), CALL(CALL(n, n), CALL(n, n))), n + 5, n + 6,
		    n + 7, n + 8, n + 9, n + 10, n + 11, n + 12);
}

static void fire_once_more(void)
{
	struct node node = {NULL, 80};
	struct point at = {1, 2};

	fire(1, "one", 0.5, &node, at);
}

struct fixture {
	struct image *image;
	struct site_list sites;
	struct descriptions described;
	struct arena arena;
};

static int open_self(void **state)
{
	static struct fixture f;

	fire_once_more();
	if (image_open("/proc/self/exe", &f.image, NULL) ||
	    site_list_read(f.image, STR("/proc/self/exe"), STR(""), &f.sites, NULL) ||
	    descriptions_read(f.image, &f.arena, &f.described, NULL))
		return -1;
	*state = &f;
	return 0;
}

static int close_self(void **state)
{
	struct fixture *f = *state;

	arena_free(&f->arena);
	descriptions_free(&f->described);
	site_list_free(&f->sites);
	image_close(f->image);
	return 0;
}

static struct site describe(struct fixture *f, const char *name)
{
	for (size_t i = 0; i < f->sites.count; i++) {
		struct site site = f->sites.sites[i];

		if (str_eq_text(site.name, name) && str_eq_text(site.provider, "describe")) {
			assert_int_equal(describe_site(&f->described, &site), 0);
			return site;
		}
	}
	fail_msg("no site of %s", name);
	return (struct site){.location = 0};
}

static void assert_text(struct str s, const char *text)
{
	assert_int_equal(s.len, strlen(text));
	assert_memory_equal(s.ptr, text, s.len);
}

static struct ctype_machine machine(void)
{
	return ctype_machine_of(arch_host()->machine, arch_host()->word);
}

static void assert_arg(const struct argument *arg, const char *type_class, bool is_signed,
		       unsigned size, const char *source)
{
	struct ctype_machine m = machine();

	assert_string_equal(argument_class(arg, &m), type_class);
	assert_int_equal(ctype_layout(arg->type, &m).is_signed, is_signed);
	assert_int_equal(ctype_layout(arg->type, &m).size, size);
	assert_text(arg->source, source);
}

static void test_source_and_place(void **state)
{
	struct site d = describe(*state, "word");

	assert_int_equal(d.described->line, first_line);
	assert_true(str_ends(d.described->file, STR("tests/unit/describe.c")));
	assert_arg(&d.args[0], "string", false, 8, "word");
	assert_arg(&d.args[1], "signed", true, 4, "n");
}

static void test_text_with_special_characters(void **state)
{
	struct site d = describe(*state, "odd");

	assert_arg(&d.args[0], "signed", true, 4, "n % 3");
	assert_arg(&d.args[1], "signed", true, 4, "CALL(n, 2)");
	assert_arg(&d.args[2], "char", (char)-1 < 0, 1, "(char)(n | '\\n')");
	assert_arg(&d.args[3], "string", false, 8, "\"a, \\\"b\\\" {x}\"");
	assert_arg(&d.args[4], "float", false, 8, "ratio");
}

static void test_classes(void **state)
{
	struct site d = describe(*state, "more");

	assert_arg(&d.args[0], "unsigned", false, 2, "node->port");
	assert_arg(&d.args[1], "bytes", false, sizeof(struct point), "at");
	assert_arg(&d.args[2], "float", false, 4, "(float)ratio");
	assert_arg(&d.args[3], "float", false, sizeof(long double), "(long double)ratio");
	assert_arg(&d.args[4], "signed", true, 4, "n > 2");
	assert_arg(&d.args[5], "pointer", false, 8, "&n");
}

static void test_no_arguments(void **state)
{
	struct site d = describe(*state, "none");

	assert_int_equal(d.arg_count, 0);
	assert_int_equal(d.described->line, first_line + 3);
}

/* A compiler may cut a long text: what is there is whole. */
static void test_long_text(void **state)
{
	struct site d = describe(*state, "long_one");

	assert_text(d.args[0].source, "n");
	assert_text(d.args[1].source, "CALL(CALL(n, n), CALL(n, n))");
	assert_true(!d.args[11].source.len || str_eq_text(d.args[11].source, "n + 12"));
	assert_int_equal(d.args[11].type->size, 4);
}

static void test_show(void **state)
{
	struct site d = describe(*state, "more");
	const struct ctype c_type = {.kind = CTYPE_NAMED, .name = STR("const char *")};
	struct argument declared = {.source = STR("w"), .name = STR("word"), .type = &c_type};
	struct buf text = BUF_INIT;

	argument_show(&d.args[0], &text);
	buf_text(&text, "; ");
	argument_show(&d.args[5], &text);
	buf_text(&text, "; ");
	argument_show(&declared, &text);
	assert_text(buf_as_str(&text),
		    "unsigned short = node->port; void * = &n; const char *word");
	buf_free(&text);
}

/* ---- Notes by hand ---- */

static void add_u16(struct buf *b, uint16_t v)
{
	buf_add(b, &v, sizeof(v));
}

static void add_u32(struct buf *b, uint32_t v)
{
	buf_add(b, &v, sizeof(v));
}

static void add_u64(struct buf *b, uint64_t v)
{
	buf_add(b, &v, sizeof(v));
}

static void add_note(struct buf *b, uint32_t type, const struct buf *content)
{
	add_u32(b, 6);
	add_u32(b, (uint32_t)content->len);
	add_u32(b, type);
	buf_add(b, "nopal\0\0", 8);
	buf_str(b, buf_as_str(content));
	buf_fill(b, 0, (4 - content->len % 4) % 4);
}

static void add_place(struct buf *b, uint64_t location, uint64_t base, uint32_t line)
{
	struct buf c = BUF_INIT;

	add_u64(&c, location);
	add_u64(&c, base);
	add_u32(&c, line);
	add_u32(&c, 3);
	add_u32(&c, 7);
	buf_add(&c, "\1\x82\4", 3);
	add_note(b, 1, &c);
	buf_free(&c);
}

static void add_text(struct buf *b, uint32_t line, const char *file, const char *text)
{
	struct buf c = BUF_INIT;

	add_u32(&c, line);
	add_u32(&c, 3);
	add_u32(&c, 7);
	add_u16(&c, 0);
	add_u16(&c, (uint16_t)strlen(file));
	add_u16(&c, (uint16_t)strlen(text));
	buf_add(&c, "p\0n", 4);
	buf_text(&c, file);
	buf_text(&c, text);
	add_note(b, 2, &c);
	buf_free(&c);
}

/* As doc/describe-note.md numbers them. */
enum class { CLASS_UNSIGNED = 1, CLASS_SIGNED = 2, CLASS_STRING = 6, CLASS_ENUM = 7 };

static void add_declared_as(struct buf *b, enum class type_class, const char *name,
			    const char *type)
{
	struct buf c = BUF_INIT;

	buf_add(&c, "p\0n\0\1", 5);
	buf_char(&c, (char)(type_class | (type_class == CLASS_SIGNED ? 0x80 : 0)));
	buf_char(&c, 4);
	buf_add(&c, name, strlen(name) + 1);
	buf_add(&c, type, strlen(type) + 1);
	add_note(b, 3, &c);
	buf_free(&c);
}

static void add_declared(struct buf *b, const char *name)
{
	add_declared_as(b, CLASS_SIGNED, name, "int");
}

static int lookup(const struct buf *b, uint64_t base, uint64_t location, struct arena *a,
		  struct site *out)
{
	static struct argument args[1];
	struct descriptions ds;
	int err = descriptions_decode(arena_str(a, buf_as_str(b)), 8, false, base, a, &ds);

	assert_int_equal(err, 0);
	args[0] = (struct argument){.counted_by = -1};
	*out = (struct site){.provider = STR("p"),
			     .name = STR("n"),
			     .location = location,
			     .args = args,
			     .arg_count = 1};
	err = describe_site(&ds, out);
	descriptions_free(&ds);
	return err;
}

static void test_prelink(void **state)
{
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT;
	struct site d;

	(void)state;
	add_place(&b, 0x1000, 0x5000, 7);
	assert_int_equal(lookup(&b, 0x5100, 0x1100, &a, &d), 0);
	assert_int_equal(d.described->line, 7);
	assert_int_equal(lookup(&b, 0x5100, 0x1000, &a, &d), -ENOENT);
	assert_int_equal(lookup(&b, 0, 0x1000, &a, &d), 0); /* the base was collected */
	buf_free(&b);
	arena_free(&a);
}

static void add_line(struct buf *b, const char *text)
{
	struct buf c = BUF_INIT;

	buf_add(&c, "p\0n\0", 4);
	buf_add(&c, text, strlen(text) + 1);
	add_note(b, 16, &c);
	buf_free(&c);
}

static void test_lines_for_people(void **state)
{
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT;
	struct site d;

	(void)state;
	add_line(&b, "a request was answered");
	assert_int_equal(lookup(&b, 0, 0x1000, &a, &d), 0);
	assert_text(d.described->text, "a request was answered");
	assert_null(d.args[0].type);
	add_declared(&b, "count");
	assert_int_equal(lookup(&b, 0, 0x1000, &a, &d), 0);
	assert_text(d.described->text, "a request was answered");
	assert_text(d.args[0].name, "count");
	add_line(&b, "something else");
	assert_int_equal(lookup(&b, 0, 0x1000, &a, &d), 0);
	assert_int_equal(d.described->text.len, 0);
	buf_free(&b);
	arena_free(&a);
}

static void test_contradictions(void **state)
{
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT;
	struct site d;

	(void)state;
	add_place(&b, 0x1000, 0, 7);
	add_text(&b, 7, "x.c", "p, n, a");
	add_text(&b, 7, "x.c", "p, n, a");
	assert_int_equal(lookup(&b, 0, 0x1000, &a, &d), 0);
	assert_text(d.args[0].source, "a");
	add_text(&b, 7, "x.c", "p, n, b");
	assert_int_equal(lookup(&b, 0, 0x1000, &a, &d), 0);
	assert_int_equal(d.args[0].source.len, 0);
	assert_int_equal(d.described->file.len, 0);
	add_place(&b, 0x1000, 0, 8);
	assert_int_equal(lookup(&b, 0, 0x1000, &a, &d), -ENOENT);
	buf_free(&b);
	arena_free(&a);
}

static void test_declared_names(void **state)
{
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT;
	struct site d;

	(void)state;
	add_declared(&b, "count");
	assert_int_equal(lookup(&b, 0, 0x1000, &a, &d), 0);
	assert_int_equal(d.described->line, 0);
	assert_text(d.args[0].name, "count");
	assert_arg(&d.args[0], "signed", true, 4, "");
	add_place(&b, 0x1000, 0, 7);
	assert_int_equal(lookup(&b, 0, 0x1000, &a, &d), 0);
	assert_int_equal(d.described->line, 7);
	assert_arg(&d.args[0], "signed", true, 4, "");
	add_declared(&b, "other");
	assert_int_equal(lookup(&b, 0, 0x2000, &a, &d), -ENOENT);
	buf_free(&b);
	arena_free(&a);
}

/* An enum is an integer where C passes it; the declaration knows better. Not so for anything else.
 */
static void test_declared_class(void **state)
{
	static const struct {
		enum class declared;
		const char *found;
	} cases[] = {{CLASS_ENUM, "enum"}, {CLASS_STRING, "signed"}, {CLASS_UNSIGNED, "signed"}};
	struct arena a = ARENA_INIT;
	struct site d;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf b = BUF_INIT;

		add_place(&b, 0x1000, 0, 7);
		add_declared_as(&b, cases[i].declared, "color", "enum color");
		assert_int_equal(lookup(&b, 0, 0x1000, &a, &d), 0);
		assert_arg(&d.args[0], cases[i].found, true, 4, "");
		buf_free(&b);
	}
	arena_free(&a);
}

/* Every beginning of a good section, and every byte of it changed: no crash, no endless loop. */
static void test_damaged(void **state)
{
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT;
	struct descriptions ds;

	(void)state;
	add_place(&b, 0x1000, 0, 7);
	add_text(&b, 7, "x.c", "p, n, a");
	add_declared(&b, "count");
	for (size_t len = 0; len < b.len; len++) {
		struct argument args[1] = {{.counted_by = -1}};
		struct site site = {.provider = STR("p"),
				    .name = STR("n"),
				    .location = 0x1000,
				    .args = args,
				    .arg_count = 1};

		assert_int_equal(descriptions_decode(str_of(b.ptr, len), 8, false, 0, &a, &ds), 0);
		describe_site(&ds, &site);
		descriptions_free(&ds);
		b.ptr[len] = (char)~b.ptr[len];
		assert_int_equal(descriptions_decode(buf_as_str(&b), 8, false, 0, &a, &ds), 0);
		describe_site(&ds, &site);
		descriptions_free(&ds);
		b.ptr[len] = (char)~b.ptr[len];
	}
	buf_free(&b);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_source_and_place),
		cmocka_unit_test(test_text_with_special_characters),
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_no_arguments),
		cmocka_unit_test(test_long_text),
		cmocka_unit_test(test_show),
		cmocka_unit_test(test_prelink),
		cmocka_unit_test(test_contradictions),
		cmocka_unit_test(test_declared_names),
		cmocka_unit_test(test_lines_for_people),
		cmocka_unit_test(test_declared_class),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests_name("describe", tests, open_self, close_self);
}
