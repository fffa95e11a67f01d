/* DWARF as gcc and clang write it: types by name, functions, inlined copies, lines. The programs
 * are compiled here; a compiler that is missing is skipped. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "debuginfo/debuginfo.h"
#include "help/elf_builder.h"
#include "help/shell.h"
#include "probe/probe.h"

static const char source[] =
	"struct list;\n"
	"enum color { RED, BLUE = 7 };\n"
	"enum sign { MINUS = -1, PLUS };\n"
	"typedef unsigned long word_t;\n"
	"struct list {\n"
	"	struct list *next;\n"
	"	union { int a; word_t b; };\n"
	"	unsigned f : 3, g : 5;\n"
	"	enum color color;\n"
	"	char name[8];\n"
	"	int m[2][3];\n"
	"	int (*done)(struct list *, const char *);\n"
	"};\n"
	"union un { float x; enum sign s; };\n"
	"union un un;\n"
	"static inline int\n"
	"scale(struct list *l, int k)\n"
	"{\n"
	"	return l->a * k + l->color; /* line 19 */\n"
	"}\n"
	"__attribute__((noinline)) int use(struct list *l, const char *text, double d)\n"
	"{\n"
	"	int sum = scale(l, 3); /* line 23 */\n"
	"	return sum + scale(l->next, text[0]) + (int)d;\n"
	"}\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	struct list l = { &l };\n"
	"	return use(&l, argv[0], argc);\n"
	"}\n";

/* clang-format off */
static const char *const compilers[] = {
	"gcc -O2 -gdwarf-5",   "gcc -O2 -gdwarf-4",   "gcc -O0 -g", "gcc -O2 -gdwarf-5 -gz",
	"clang -O2 -gdwarf-5", "clang -O2 -gdwarf-4", "gcc -O2 -gdwarf-3 -gstrict-dwarf",
	"gcc -O2 -g -flto",    "gcc -O2 -g -fdebug-types-section", "aarch64-linux-gnu-gcc -O2 -g",
	"gcc -O2 -g -gdwarf64", "gcc -O2 -gdwarf-4 -fdebug-types-section", "s390x-linux-gnu-gcc -O2 -g",
};
/* clang-format on */

static char dir[] = "/tmp/nopal-debuginfo-XXXXXX";

static void write_source(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	fclose(f);
}

static struct debuginfo *open_file(const char *name)
{
	struct debuginfo *di = NULL;
	struct image *image;
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(image_open(path, &image, NULL), 0);
	if (debuginfo_open(image, str_from(path), STR(""), &di, NULL))
		di = NULL;
	image_close(image);
	return di;
}

static const struct ctype *find(struct debuginfo *di, enum ctype_kind kind, const char *name)
{
	const struct ctype *t = NULL;
	int err = debuginfo_type(di, kind, str_from(name), &t);

	if (err)
		fail_msg("'%s' is not found: %d", name, err);
	return t;
}

static void expect_definition(const struct ctype *t, const char *text)
{
	struct buf out = BUF_INIT;

	ctype_print_definition(&out, t);
	assert_string_equal(out.ptr, text);
	buf_free(&out);
}

static void check_types(struct debuginfo *di, bool big_endian)
{
	const struct ctype *t = find(di, CTYPE_STRUCT, "list");
	struct ctype_member m;
	int64_t value;

	assert_int_equal(t->size, 64);
	assert_true(ctype_member(t, STR("b"), &m));
	assert_int_equal(m.offset, 8);
	assert_true(ctype_member(t, STR("g"), &m));
	assert_int_equal(m.offset, 16);
	assert_int_equal(m.bit_offset, big_endian ? 24 : 3);
	assert_int_equal(m.bit_width, 5);
	assert_true(ctype_member(t, STR("next"), &m));
	assert_ptr_equal(m.type->to, t);
	expect_definition(
		t, "struct list {\n\tstruct list *next;\n\tunion {\n\t\tint a;\n\t\tword_t b;"
		   "\n\t};\n\tunsigned int f : 3;\n\tunsigned int g : 5;\n"
		   "\tenum color color;\n\tchar name[8];\n\tint m[2][3];\n"
		   "\tint (*done)(struct list *, const char *);\n}");
	assert_int_equal(t->align, 8);
	assert_int_equal(debuginfo_constant(di, STR("BLUE"), &t, &value), 0);
	assert_int_equal(value, 7);
	assert_false(t->is_signed);
	t = find(di, CTYPE_UNION, "un");
	assert_true(ctype_member(t, STR("s"), &m));
	assert_true(str_eq_text(ctype_constant_name(m.type, -1), "MINUS"));
	assert_true(m.type->is_signed);
	assert_int_equal(find(di, CTYPE_NAMED, "word_t")->to->size, 8);
	find(di, CTYPE_NAMED, "unsigned int");
	assert_int_equal(debuginfo_type(di, CTYPE_STRUCT, STR("un"), &t), -ENOENT);
	assert_int_equal(debuginfo_type(di, CTYPE_STRUCT, STR("absent"), &t), -ENOENT);
}

static void types_of_each_compiler(void **state)
{
	(void)state;
	write_source("s.c", source);
	for (size_t i = 0; i < sizeof(compilers) / sizeof(*compilers); i++) {
		struct debuginfo *di;

		if (!shell_has(compilers[i])) {
			print_message("skipped: %s\n", compilers[i]);
			continue;
		}
		assert_int_equal(
			shell_run("cd %s && %s s.c -o %zu 2>/dev/null", dir, compilers[i], i), 0);
		di = open_file((char[]){(char)('0' + i / 10), (char)('0' + i % 10), 0} + (i < 10));
		if (!di)
			fail_msg("nothing is known of what '%s' made", compilers[i]);
		print_message("%s\n", compilers[i]);
		check_types(di, !strncmp(compilers[i], "s390x", 5));
		debuginfo_close(di);
	}
}

/* ---- Functions, inlined copies, lines ---- */

struct places {
	uint64_t address[64], function[64];
	unsigned count;
};

static int take_place(void *arg, uint64_t address, uint64_t function)
{
	struct places *p = arg;

	p->address[p->count] = address;
	p->function[p->count++] = function;
	return p->count == 64;
}

static uint64_t address_of(const char *program, const char *name)
{
	char command[512], line[64] = "";
	FILE *f;

	snprintf(command, sizeof(command), "nm %s/%s | awk '$3 == \"%s\" { print $1 }'", dir,
		 program, name);
	f = popen(command, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	pclose(f);
	return strtoull(line, NULL, 16);
}

static void check_functions(struct debuginfo *di, const char *program, bool optimised)
{
	uint64_t use = address_of(program, "use");
	struct places inlined = {.count = 0}, lines = {.count = 0};
	struct buf out = BUF_INIT;
	struct debug_function f;
	unsigned found;

	assert_int_equal(debuginfo_function(di, use, &f), 0);
	ctype_print(&out, f.type, f.name);
	assert_string_equal(out.ptr, "int use(struct list *l, const char *text, double d)");
	buf_free(&out);
	assert_true(f.is_c);
	assert_int_equal(f.line, 21);
	assert_true(str_ends(f.file, STR("s.c")));
	assert_int_equal(debuginfo_function(di, use + 1, &f), -ENOENT);
	assert_int_equal(debuginfo_inlined(di, STR("scale"), take_place, &inlined),
			 optimised ? 2 : 0);
	for (unsigned i = 0; i < inlined.count; i++) {
		assert_in_range(inlined.address[i], use, use + 200);
		assert_int_equal(inlined.function[i], use);
	}
	assert_int_equal(debuginfo_inlined(di, STR("nobody"), take_place, &inlined), 0);
	assert_int_equal(debuginfo_lines(di, STR("s.c"), 19, 0, &found, take_place, &lines),
			 optimised ? 2 : 1);
	assert_int_equal(found, 19);
	for (unsigned i = 0; i < lines.count && optimised; i++)
		assert_in_range(lines.address[i], use, use + 200);
	lines.count = 0;
	/* A line without code stands for the next one that has some. */
	assert_in_range(debuginfo_lines(di, STR("s.c"), 21, 0, &found, take_place, &lines), 1, 2);
	assert_in_range(found, 21, 22); /* compilers differ: the name, or the brace */
	assert_int_equal(lines.address[0], use);
	assert_int_equal(debuginfo_lines(di, STR("s.c"), 900, 0, &found, take_place, &lines), 0);
	assert_int_equal(found, 0);
	assert_int_equal(debuginfo_lines(di, STR("t.c"), 1, 0, &found, take_place, &lines),
			 -ENOENT);
}

static void functions_and_lines_of_each_compiler(void **state)
{
	(void)state;
	write_source("s.c", source);
	for (size_t i = 0; i < sizeof(compilers) / sizeof(*compilers); i++) {
		struct debuginfo *di;

		/* Link-time optimisation may change the functions themselves. */
		if (strstr(compilers[i], "linux-gnu") || strstr(compilers[i], "lto") ||
		    !shell_has(compilers[i]))
			continue;
		assert_int_equal(
			shell_run("cd %s && %s s.c -o program 2>/dev/null", dir, compilers[i]), 0);
		print_message("%s\n", compilers[i]);
		di = open_file("program");
		assert_non_null(di);
		check_functions(di, "program", !strstr(compilers[i], "-O0"));
		debuginfo_close(di);
	}
}

/* The cache of debuginfod-find(1). */
static void check_cache(void)
{
	struct debuginfo *di;
	char path[256];

	assert_int_equal(
		shell_run("cd %s && gcc -O2 -g s.c -Wl,--build-id=0x0102aabb -o fetched && "
			  "mkdir -p cache/0102aabb && objcopy --only-keep-debug fetched "
			  "cache/0102aabb/debuginfo && strip fetched",
			  dir),
		0);
	assert_null(open_file("fetched"));
	snprintf(path, sizeof(path), "%s/cache", dir);
	setenv("DEBUGINFOD_CACHE_PATH", path, 1);
	di = open_file("fetched");
	unsetenv("DEBUGINFOD_CACHE_PATH");
	assert_non_null(di);
	check_types(di, false);
	debuginfo_close(di);
}

/* What strip and dwz leave is in another file, and the common parts in a third. */
static void types_of_a_separate_file(void **state)
{
	struct debuginfo *di;
	const struct ctype *t;

	(void)state;
	write_source("s.c", source);
	assert_int_equal(
		shell_run("cd %s && gcc -O2 -g s.c -o whole && objcopy --only-keep-debug whole "
			  "whole.debug && strip -g whole -o stripped && objcopy "
			  "--add-gnu-debuglink=whole.debug stripped",
			  dir),
		0);
	di = open_file("stripped");
	assert_non_null(di);
	assert_true(str_ends(debuginfo_path(di), STR("whole.debug")));
	check_types(di, false);
	check_functions(di, "whole", true);
	debuginfo_close(di);
	assert_int_equal(shell_run("cd %s && strip -g whole -o bare", dir), 0);
	assert_null(open_file("bare"));
	check_cache();
	if (!shell_has("dwz")) {
		print_message("skipped: dwz\n");
		return;
	}
	write_source("other.c",
		     "enum color { RED, BLUE = 7 }; struct list { struct list *next; union "
		     "{ int a; unsigned long b; }; enum color color; char name[8]; };\n"
		     "struct only { struct list first, second; int a, b, c, d; };\n"
		     "struct only only; int main(void) { return only.a; }\n");
	assert_int_equal(shell_run("cd %s && gcc -O2 -g other.c -o a1 && cp a1 a2 && "
				   "dwz -m common a1 a2 2>dwz.log",
				   dir),
			 0);
	di = open_file("a1");
	assert_non_null(di);
	t = find(di, CTYPE_STRUCT, "only");
	assert_int_equal(find(di, CTYPE_STRUCT, "list")->size, 32);
	expect_definition(t,
			  "struct only {\n\tstruct list first;\n\tstruct list second;\n\tint a;\n"
			  "\tint b;\n\tint c;\n\tint d;\n}");
	debuginfo_close(di);
}

/* ---- Parameters ---- */

static const char functions[] =
	"struct pair { double x, y; }; struct words { long a, b; }; struct big { long a[5]; };\n"
	"struct odd { float f; int i; }; struct three { float a, b, c; }; struct wide { __int128 "
	"w; };\n"
	"long a(int a, char b, long *c, double d, short e) { return a + b + *c + d + e; }\n"
	"long b(struct pair p, int a, struct words w, long c, long d) { return p.x + a + w.b + c + "
	"d; }\n"
	"long c(struct big g, int a, struct odd o, int b) { return g.a[1] + a + o.i + b; }\n"
	"struct big d(int a, long b) { return (struct big){{a, b}}; }\n"
	"struct words e(int a, long b) { return (struct words){a, b}; }\n"
	"long f(struct three t, long a, float x, int b) { return t.b + a + x + b; }\n"
	"long g(int a, __int128 w, int b) { return a + w + b; }\n"
	"long h(long a, long b, long c, long d, long e, struct words w, long f) { return a + b + c "
	"+ d + e + w.a + f; }\n"
	"long i(int a, long double x, int b) { return a + x + b; }\n"
	"long j(int a, struct wide w, int b) { return a + w.w + b; }\n"
	"int main(void) { return 0; }\n";

/* DWARF's number of a register is ours, too, but for the vector registers. */
static int our_register(const struct arch *arch, int number)
{
	bool is_x86 = arch->machine == EM_X86_64;
	int first = is_x86 ? 17 : 64; /* psABI figure 3.36; AADWARF64 table 1 */

	return number < first
		       ? number
		       : arch_find_reg(arch, is_x86 ? STR("xmm0") : STR("v0"))->id + number - first;
}

struct parameters {
	struct debug_function function;
	struct argument *args;
	const uint16_t *order; /* of the parameters among `args` */
	unsigned count;
};

/* Where the ABI has the parameters of a function: in registers, and in `words` words of the stack.
 */
static struct parameters read_parameters(struct arena *a, struct debuginfo *di,
					 const struct arch *arch, const char *program,
					 const char *name, unsigned words)
{
	static const int16_t nothing_said[64] = {[0 ... 63] = -1};
	struct operand operands[OPERANDS_MAX];
	struct parameters p;
	unsigned count = 0;

	assert_int_equal(debuginfo_function(di, address_of(program, name), &p.function), 0);
	while (count < arch->call_reg_count + words &&
	       operand_call_arg(arch, count, &operands[count]))
		count++;
	p.args = arguments_new(a, operands, count);
	assert_int_equal(function_arguments(a, arch,
					    &(struct function_params){p.function.type, nothing_said,
								      p.function.is_c},
					    &p.args, &count, &p.order, &p.count),
			 0);
	return p;
}

/* Where we have a parameter, compared with what the compiler says of the function's first
 * instruction. Registers only: it is silent about the stack. */
static unsigned compare_parameters(struct debuginfo *di, const struct arch *arch,
				   const char *program, const char *name)
{
	struct arena a = ARENA_INIT;
	struct parameters p = read_parameters(&a, di, arch, program, name, 8);
	unsigned same = 0;

	for (unsigned i = 0; i < p.count; i++) {
		const struct operand *o = &p.args[p.order[i]].operand;

		if (o->kind != OPERAND_REG || p.function.registers[i] < 0)
			continue;
		if (o->reg != our_register(arch, p.function.registers[i]))
			fail_msg("%s: parameter %u of %s is in register %d, not %d", arch->name, i,
				 name, p.function.registers[i], o->reg);
		same++;
	}
	arena_free(&a);
	return same;
}

static void parameters_are_where_compilers_have_them(void **state)
{
	static const char *const makers[] = {"gcc -O2 -g", "clang -O2 -g",
					     "aarch64-linux-gnu-gcc -O2 -g"};

	(void)state;
	write_source("functions.c", functions);
	for (size_t i = 0; i < sizeof(makers) / sizeof(*makers); i++) {
		struct debuginfo *di;
		unsigned same = 0;

		if (!shell_has(makers[i])) {
			print_message("skipped: %s\n", makers[i]);
			continue;
		}
		assert_int_equal(shell_run("cd %s && %s functions.c -o functions 2>/dev/null", dir,
					   makers[i]),
				 0);
		di = open_file("functions");
		assert_non_null(di);
		for (const char *name = "a\0b\0c\0d\0e\0f\0g\0h\0i\0j\0"; *name; name += 2)
			same += compare_parameters(
				di,
				arch_for(strstr(makers[i], "aarch64") ? EM_AARCH64 : EM_X86_64, 8),
				"functions", name);
		print_message("%s: %u parameters\n", makers[i], same);
		assert_in_range(same, 15, 60);
		debuginfo_close(di);
	}
}

/* Finds out where a function of aarch64 has the structs it gets, by looking for their first numbers
 * in what the function is called with. `g` has the same parameters, and is what tracers know. */
static const char passing[] =
	"#include <stdio.h>\n"
	"struct small { long a; int b; }; struct one { int a; }; struct big { long a[4]; };\n"
	"struct wide { long a, b, c; }; struct reals { double x, y; };\n"
	"#define PARAMETERS struct small s, int n, struct big b, struct one o, struct reals h, \\\n"
	"	struct small t, struct one p, struct small u, struct wide w, struct one q\n"
	"long regs[9];\n"
	"asm(\".globl f\\nf: adrp x9, regs\\n add x9, x9, :lo12:regs\\n stp x0, x1, [x9]\\n\"\n"
	"    \"stp x2, x3, [x9, 16]\\n stp x4, x5, [x9, 32]\\n stp x6, x7, [x9, 48]\\n\"\n"
	"    \"mov x10, sp\\n str x10, [x9, 64]\\n ret\\n\");\n"
	"void f(PARAMETERS);\n"
	"__attribute__((noinline)) void g(PARAMETERS) { asm volatile(\"\"); }\n"
	"static int is_at(long p, int number) { return p > 65536 && *(int *)p == number; }\n"
	"static void find(char name, int number) {\n"
	"	for (int i = 0; i < 8; i++) {\n"
	"		if ((int)regs[i] == number) { printf(\"%c in x%d\\n\", name, i); return; "
	"}\n"
	"		if (is_at(regs[i], number)) { printf(\"%c at x%d\\n\", name, i); return; "
	"}\n"
	"	}\n"
	"	for (int i = 0; i < 6; i++) {\n"
	"		long word = ((long *)regs[8])[i];\n"
	"		if ((int)word == number) { printf(\"%c on stack %d\\n\", name, i); return; "
	"}\n"
	"		if (is_at(word, number)) { printf(\"%c at stack %d\\n\", name, i); return; "
	"}\n"
	"	}\n"
	"}\n"
	"int main(void) {\n"
	"	struct small s = {1001, 1}, t = {1002, 2}, u = {1003, 3};\n"
	"	struct big b = {{1004}}; struct wide w = {1005}; struct reals h = {1, 2};\n"
	"	struct one o = {1006}, p = {1007}, q = {1008};\n"
	"	g(s, 7, b, o, h, t, p, u, w, q);\n"
	"	f(s, 7, b, o, h, t, p, u, w, q);\n"
	"	find('s', 1001); find('b', 1004); find('o', 1006); find('t', 1002); find('p', "
	"1007);\n"
	"	find('u', 1003); find('w', 1005); find('q', 1008);\n"
	"}\n";

static void show_place(const struct arch *arch, const struct argument *arg, struct buf *out)
{
	unsigned first = arg->first_word;
	bool is_register = first < arch->call_reg_count;

	if (arg->passed == PASSED_AS_NUMBER)
		return;
	buf_printf(out, "%.*s %s %s%u\n", STR_FMT(arg->name),
		   arg->passed == PASSED_IN_WORDS	  ? "in"
		   : arg->operand.kind == OPERAND_ADDRESS ? "on"
							  : "at",
		   is_register ? "x" : "stack ",
		   is_register ? first : first - arch->call_reg_count);
}

static void structs_are_where_aarch64_passes_them(void **state)
{
	const struct arch *arch = arch_for(EM_AARCH64, 8);
	struct buf ours = BUF_INIT, theirs = BUF_INIT;
	struct arena a = ARENA_INIT;
	struct debuginfo *di;
	struct parameters p;
	char path[256];

	(void)state;
	if (!shell_has("aarch64-linux-gnu-gcc") || !shell_has("qemu-aarch64"))
		skip();
	write_source("passing.c", passing);
	assert_int_equal(shell_run("cd %s && aarch64-linux-gnu-gcc -static -O1 -g -w passing.c -o "
				   "passing && qemu-aarch64 ./passing >places",
				   dir),
			 0);
	di = open_file("passing");
	assert_non_null(di);
	p = read_parameters(&a, di, arch, "passing", "g", 16);
	for (unsigned i = 0; i < p.count; i++)
		show_place(arch, &p.args[p.order[i]], &ours);
	snprintf(path, sizeof(path), "%s/places", dir);
	assert_int_equal(file_slurp(path, 4096, &theirs), 0);
	assert_string_equal(ours.ptr, theirs.ptr);
	debuginfo_close(di);
	buf_free(&ours);
	buf_free(&theirs);
	arena_free(&a);
}

/* A section that says it is compressed, and is too short to be. */
static void damage_is_reported(void **state)
{
	struct made_elf e = make_elf(8, false, EM_X86_64);
	struct buf *b = add_section(&e, ".debug_info", SHT_PROGBITS, SHF_COMPRESSED, 0), file;
	struct diag d = DIAG_INIT;
	struct debuginfo *di;
	struct image *image;

	(void)state;
	buf_add(b, "abc", 3);
	file = finish_elf(&e);
	assert_int_equal(image_open_memory(file.ptr, file.len, STR("x"), &image, NULL), 0);
	assert_int_equal(debuginfo_open(image, STR("x"), STR(""), &di, &d), -EBADMSG);
	assert_string_equal(d.first->tag, "corrupt-dwarf");
	image_close(image);
	diag_free(&d);
	buf_free(&file);
}

static int remove_dir(void **state)
{
	(void)state;
	return shell_run("rm -rf %s", dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types_of_each_compiler),
		cmocka_unit_test(functions_and_lines_of_each_compiler),
		cmocka_unit_test(types_of_a_separate_file),
		cmocka_unit_test(parameters_are_where_compilers_have_them),
		cmocka_unit_test(structs_are_where_aarch64_passes_them),
		cmocka_unit_test(damage_is_reported),
	};

	if (!mkdtemp(dir))
		return 1;
	return cmocka_run_group_tests(tests, NULL, remove_dir);
}
