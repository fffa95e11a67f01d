/* Provider files: what is read, what is refused and how, what becomes of it. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "help/case_suite.h"

#include "author/author.h"
#include "elf/write.h"
#include "probe/describe.h"

struct compiled {
	struct provider_file file;
	struct diag diag;
	int err;
};

static void compile(struct compiled *c, const char *text)
{
	*c = (struct compiled){.diag = DIAG_INIT};
	provider_open(&c->file);
	c->err = provider_parse(&c->file, STR("p.d"), str_from(text), &c->diag);
	c->err = c->err ? c->err : provider_check(&c->file, &c->diag);
}

static void forget(struct compiled *c)
{
	provider_free(&c->file);
	diag_free(&c->diag);
}

/* Every wrong file is refused with exactly these words. */
static void test_wrong_file(void **state)
{
	const struct test_case *t = *state;
	struct compiled c;
	struct arena a = ARENA_INIT;

	compile(&c, arena_text(&a, case_text(t, "file")));
	assert_int_equal(c.err, -EINVAL);
	case_expect_messages(t, &c.diag);
	forget(&c);
	arena_free(&a);
}

/* One argument of a probe: as it is written, as it is printed, as compilers check it ("": not). */
static const struct {
	const char *written, *printed, *checked;
} types[] = {
	{"int", "int", "int"},
	{"unsigned", "unsigned int", "unsigned int"},
	{"unsigned foo", "unsigned int foo", "unsigned int"},
	{"long int unsigned long x", "unsigned long long x", "unsigned long long"},
	{"signed char c", "signed char c", "signed char"},
	{"signed x", "int x", "int"},
	{"short signed int x", "short x", "short"},
	{"long double x", "long double x", ""},
	{"double _Complex z", "double _Complex z", ""},
	{"unsigned __int128 x", "unsigned __int128 x", "unsigned __int128"},
	{"_Bool b", "_Bool b", "int"},
	{"bool", "_Bool", "int"},
	{"enum color c", "enum color c", "int"},
	{"uint32_t", "uint32_t", "__UINT32_TYPE__"},
	{"size_t n", "size_t n", "__SIZE_TYPE__"},
	{"zoneid_t z", "zoneid_t z", ""},
	{"string s", "string s", "const volatile char*"},
	{"char *", "char *", "const volatile char*"},
	{"const char *s", "const char *s", "const volatile char*"},
	{"char const *const s", "const char *const s", "const volatile char*"},
	{"char *restrict s", "char *restrict s", "const volatile char*"},
	{"const unsigned char *p", "const unsigned char *p", "const volatile unsigned char*"},
	{"void *", "void *", "const volatile void*"},
	{"volatile int *p", "volatile int *p", "const volatile int*"},
	{"char **argv", "char **argv", "char*const volatile*"},
	{"char *argv[]", "char *argv[]", "char*const volatile*"},
	{"char z[10]", "char z[10]", "const volatile char*"},
	{"char z[N + 1]", "char z[N + 1]", "const volatile char*"},
	{"int m[2][3]", "int m[2][3]", "int (*)[3]"},
	{"int (*m)[4]", "int (*m)[4]", "int (*)[4]"},
	{"struct node *n", "struct node *n", "const volatile struct node*"},
	{"struct node n", "struct node n", ""},
	{"const struct node *const n", "const struct node *const n", "const volatile struct node*"},
	{"union u *x", "union u *x", "const volatile union u*"},
	{"zone_t *z", "zone_t *z", ""},
	{"zone_t **z", "zone_t **z", "const volatile void*"},
	{"uint8_t *p", "uint8_t *p", "const volatile __UINT8_TYPE__*"},
	{"bool *b", "_Bool *b", "const volatile void*"},
	{"int (*fn)(int), int b", "int (*fn)(int), int b", "int (*)(int), int"},
	{"void (*fn)(void)", "void (*fn)(void)", "void (*)(void)"},
	{"int fn(const char *, ...)", "int fn(const char *, ...)", "int (*)(const char*, ...)"},
	{"void (*signal(int sig, void (*f)(int)))(int)",
	 "void (*signal(int sig, void (*f)(int)))(int)", "void (*(*)(int, void (*)(int)))(int)"},
	{"int (x)", "int x", "int"},
	{"int ((*x))", "int *x", "const volatile int*"},
	{"int (*((*(f)))(char))[2]", "int (*(*f)(char))[2]", "int (*(*)(char))[2]"},
	{"int (*(x)[3])(uint8_t)", "int (*x[3])(uint8_t)",
	 "int (*const volatile*)(__UINT8_TYPE__)"},
	{"int *const *volatile p", "int *const *volatile p", "int*const volatile*"},
	{"__attribute__((unused)) int x", "int x", "int"},
	{"register int x", "int x", "int"},
};

/* Whatever C can declare is read, and written back in C's words. */
static void test_declarators(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		struct buf text = BUF_INIT, printed = BUF_INIT, checked = BUF_INIT;
		struct compiled c;

		buf_printf(&text, "provider p { probe a(%s); };", types[i].written);
		compile(&c, text.ptr);
		buf_text(&printed, "");
		buf_text(&checked, "");
		assert_int_equal(c.err, 0);
		for (struct ctype_param *arg = c.file.providers->probes->args; arg;
		     arg = arg->next) {
			buf_text(&printed, printed.len ? ", " : "");
			ctype_print(&printed, arg->type, arg->name);
			buf_text(&checked, checked.len ? ", " : "");
			ctype_print_checked(&checked, arg->type);
		}
		assert_string_equal(printed.ptr, types[i].printed);
		assert_string_equal(checked.ptr, types[i].checked);
		buf_free(&text);
		buf_free(&printed);
		buf_free(&checked);
		forget(&c);
	}
}

/* What the file itself says of a name is used to check it. */
static void test_typedefs_are_followed(void **state)
{
	struct buf checked = BUF_INIT;
	struct compiled c;

	(void)state;
	compile(&c,
		"typedef unsigned int oid, *oids;\n"
		"typedef const oid *const_oids;\n"
		"typedef struct { int fd; } connection_t;\n"
		"typedef oid oid;\n"
		"provider p { probe a(oid, oids, const_oids, connection_t *, connection_t); };");
	assert_int_equal(c.err, 0);
	for (struct ctype_param *arg = c.file.providers->probes->args; arg; arg = arg->next) {
		ctype_print_checked(&checked, arg->type);
		buf_text(&checked, ";");
	}
	assert_string_equal(checked.ptr, "unsigned int;const volatile unsigned int*;"
					 "const volatile unsigned int*;const volatile void*;;");
	buf_free(&checked);
	forget(&c);
}

static void assert_warned(const char *text, const char *tag)
{
	struct compiled c;

	compile(&c, text);
	assert_int_equal(c.err, 0);
	if (tag)
		assert_string_equal(c.diag.first->tag, tag);
	assert_int_equal(c.diag.warnings, tag ? 1 : 0);
	forget(&c);
}

/* Files of the wild that other compilers pass, with a word about what looks wrong. */
static void test_harmless_slips(void **state)
{
	(void)state;
	assert_warned("provider p { probe a(int) probe b(); };", "missing-semicolon");
	assert_warned("provider p { probe a(int x, int x); };", "same-name");
	assert_warned("provider p { probe a(int); probe a(int); };", "repeated-probe");
	assert_warned("provider p { };", "no-probes");
	assert_warned("#if X\n#endif\nprovider p { probe a(); };", "condition");
	assert_warned("#pragma D attributes Stable/Stable/Common provider q provider\n"
		      "provider p { probe a(); };",
		      "unknown-provider");
	assert_warned("typedef const static int odd;\nprovider p { probe a(odd); };", "bad-type");
}

/* SystemTap's dtrace does not look at attributes, and its own example ends in half of one. */
static void attributes_of_any_form_are_at_most_a_warning(void **state)
{
	static const char *const forms[] = {
		"provider",
		"",
		"Stable/Fast/Common provider p provider",
		"Stable/Stable/Common module p",
		"Stable/Stable/Common provider",
		"Stable/Stable/Common provider p probes",
		"Stable/Stable/Common provider p",
	};
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		snprintf(text, sizeof(text),
			 "provider p { probe a(); };\n#pragma D attributes %s\n", forms[i]);
		assert_warned(text, "bad-attributes");
	}
}

/* Files that are right, though some would not think so. */
static void test_accepted(void **state)
{
	(void)state;
	assert_warned("BEGIN{}\n", NULL);
	assert_warned("syscall::open:entry, tick-1s / arg0 > 3 / { @[\"}\"] = count(); }\n", NULL);
	assert_warned("\xef\xbb\xbfprovider p {\r\n\tprobe a(void);\r\n}\r\n", NULL);
	assert_warned("# a comment with an apostrophe: it's\n  # and \"another\n"
		      "provider p { # { probe no();\n probe 9lives(); // probe no();\n};",
		      NULL);
	assert_warned("#define X a \\\n  provider y {\nprovider p { probe a(); };", NULL);
	assert_warned("#include <x.h> /* a comment that\n goes on */\nprovider p { probe a(); };",
		      NULL);
	assert_warned("inline int max = 3; translator a < b *p > { fd = p->fd; };\n"
		      "provider p$target { probe a() : (); } provider q { probe a(); };",
		      NULL);
	assert_warned("extern int f(int) __attribute__((nonnull(1)));\n"
		      "static inline int g(int x) { return x ? f(x) : 0; }\n"
		      "extern int table[] = { 1, 2 };\n"
		      "struct node { struct node *next; unsigned bits : 3, : 2; int (*f)(int); };\n"
		      "enum color { RED, GREEN = 1 << 2, };\n"
		      "union u; _Static_assert(sizeof(int) == 4, \"int\");\n"
		      "provider p { probe a(struct node *, enum color, union u *); };",
		      NULL);
}

static void test_provider_tree(void **state)
{
	struct provider_probe *probe;
	struct compiled c;

	(void)state;
	compile(&c, "provider my$target {\n"
		    "probe query__start(const char *q, int n) : (string q);\n"
		    "probe idle(void); };");
	assert_int_equal(c.err, 0);
	assert_true(str_eq_text(c.file.providers->name, "my"));
	assert_true(c.file.providers->per_process);
	probe = c.file.providers->probes;
	assert_true(str_eq_text(probe->name, "query__start"));
	assert_true(str_eq_text(probe->macro, "MY_QUERY_START"));
	assert_int_equal(probe->arg_count, 2);
	assert_non_null(probe->translated);
	assert_int_equal(probe->next->arg_count, 0);
	forget(&c);
}

/* A text of the attacker's choice cannot end the comment it is shown in. */
static void test_comments_stay_closed(void **state)
{
	struct buf header = BUF_INIT;
	struct compiled c;

	(void)state;
	compile(&c, "provider p { probe a(int x['*/']); };");
	assert_int_equal(c.err, 0);
	provider_header(&c.file, STR("p_h"), true, &header);
	assert_non_null(strstr(header.ptr, "/* p:a(int x['* /']) */"));
	buf_free(&header);
	forget(&c);
}

static void test_objects_are_reproducible(void **state)
{
	struct buf one = BUF_INIT, two = BUF_INIT;
	struct compiled c;

	(void)state;
	compile(&c, "provider p { probe a(); probe b(); };");
	assert_int_equal(provider_object(&c.file, STR("s390x-linux-gnu"), false, &one, &c.diag), 0);
	assert_int_equal(provider_object(&c.file, STR("s390x"), false, &two, &c.diag), 0);
	assert_int_equal(one.len, two.len);
	assert_memory_equal(one.ptr, two.ptr, one.len);
	assert_int_equal(provider_object(&c.file, STR("vax-linux-gnu"), false, &two, &c.diag),
			 -EINVAL);
	assert_string_equal(c.diag.first->tag, "unknown-target");
	buf_free(&one);
	buf_free(&two);
	forget(&c);
}

/* What the object's note says comes back as it was declared. */
static void test_declarations_are_read_back(void **state)
{
	static const char *const shown[] = {"const char *word", "unsigned long n", "zone_t z",
					    "char c"};
	static const char *const classes[] = {"string", "unsigned", NULL, "char"};
	const struct ctype_machine m = ctype_machine_of(EM_S390, 8);
	struct descriptions ds = {0};
	struct arena arena = ARENA_INIT;
	const struct operand unknown[4] = {{0}};
	struct site site = {.provider = STR("p"),
			    .name = STR("a"),
			    .args = arguments_new(&arena, unknown, 4),
			    .arg_count = 4};
	struct buf notes = BUF_INIT;
	struct compiled c;

	(void)state;
	compile(&c,
		"typedef unsigned long count;"
		"provider p { probe a(const char *word, unsigned long n, zone_t z, char c); };");
	assert_int_equal(c.err, 0);
	declare_probe(c.file.providers->probes, elf_machine_for(STR("s390x")), &notes);
	assert_int_equal(descriptions_decode(buf_as_str(&notes), 8, true, 0, &arena, &ds), 0);
	assert_int_equal(describe_site(&ds, &site), 0);
	for (unsigned i = 0; i < 4; i++) {
		const char *class_name = argument_class(&site.args[i], &m);
		struct buf text = BUF_INIT;

		argument_show(&site.args[i], &text);
		assert_string_equal(text.ptr, shown[i]);
		assert_true(!classes[i] == !class_name);
		if (class_name)
			assert_string_equal(class_name, classes[i]);
		buf_free(&text);
	}
	assert_int_equal(ctype_layout(site.args[1].type, &m).size, 8);
	assert_false(ctype_layout(site.args[3].type, &m).is_signed);
	descriptions_free(&ds);
	arena_free(&arena);
	buf_free(&notes);
	forget(&c);
}

/* CPU time of a provider file that declares one probe `count` times. */
static clock_t time_of_repeated(int count)
{
	struct buf text = BUF_INIT;
	struct compiled c;
	clock_t start = clock();

	buf_text(&text, "provider p {\n");
	for (int i = 0; i < count; i++)
		buf_text(&text, "  probe a(int n, char *s);\n");
	buf_text(&text, "};\n");
	compile(&c, text.ptr);
	assert_int_equal(c.diag.warnings, count - 1);
	forget(&c);
	buf_free(&text);
	return clock() - start;
}

/* For each of them the line of the first one was counted from the start of the file, although
 * only a hundred messages are kept: ten times the probes took a hundred times as long. */
static void test_many_repeated_probes_take_no_square_of_time(void **state)
{
	clock_t few = time_of_repeated(6000);

	(void)state;
	assert_true(time_of_repeated(60000) < 40 * few + CLOCKS_PER_SEC / 2);
}

static void test_machines(void **state)
{
	(void)state;
	assert_int_equal(elf_machine_for(STR("i686-linux-gnu"))->word, 4);
	assert_int_equal(elf_machine_for(STR("x86_64-linux-gnux32"))->word, 4);
	assert_int_equal(elf_machine_for(STR("x86_64-pc-linux-gnu"))->word, 8);
	assert_int_equal(elf_machine_for(STR("armv7l-unknown-linux-gnueabihf"))->flags, 0x05000000);
	assert_true(elf_machine_for(STR("mips64-linux-gnuabi64"))->big_endian);
	assert_false(elf_machine_for(STR("mips64el-linux-gnuabi64"))->big_endian);
	assert_null(elf_machine_for(STR("")));
	assert_null(elf_machine_for(STR("x86_64000")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_declarators),
		cmocka_unit_test(test_typedefs_are_followed),
		cmocka_unit_test(test_harmless_slips),
		cmocka_unit_test(attributes_of_any_form_are_at_most_a_warning),
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_provider_tree),
		cmocka_unit_test(test_comments_stay_closed),
		cmocka_unit_test(test_objects_are_reproducible),
		cmocka_unit_test(test_declarations_are_read_back),
		cmocka_unit_test(test_many_repeated_probes_take_no_square_of_time),
		cmocka_unit_test(test_machines),
	};
	struct case_suite suite = {0};

	case_suite_add(&suite, "tests/cases/provider.txt", "file tags says", test_wrong_file);
	case_suite_add_tests(&suite, tests);
	return case_suite_run(&suite, "provider");
}
