/* Names of the kernel, and of C++. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "symbols/demangle.h"
#include "symbols/kernel.h"
#include "symbols/symbols.h"

static void write_file(char *path, const char *text)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void kernel_symbols_are_read(void **state)
{
	static const struct {
		uint64_t address;
		const char *name; /* NULL: none */
		uint64_t into;
	} rows[] = {
		{0xffffffff81000000, "_stext", 0}, /* the first of one address */
		{0xffffffff81000123, "_stext", 0x123},
		{0xffffffff81002000, "do_work", 0},
		{0xffffffff81003001, NULL, 0}, /* behind data */
		{0xffffffffc0000010, "module_code", 0x10},
		{0xffffffffc8000000, NULL, 0}, /* far behind the last */
		{0x1000, NULL, 0},
	};
	char path[] = "/tmp/kallsyms-XXXXXX";
	struct kernel_symbols *k = NULL;

	(void)state;
	write_file(path, "ffffffff81002000 t do_work\nffffffff81000000 T _stext\n"
			 "ffffffff81000000 T _text\n\nnonsense\n0000000000000000 T hidden\n"
			 "ffffffff81003000 D data\nffffffffc0000000 t module_code\t[module]\n");
	assert_int_equal(kernel_symbols_read(path, &k), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct str name = {"", 0};
		uint64_t into = 0;
		bool found = kernel_symbols_at(k, rows[i].address, &name, &into);

		assert_int_equal(found, rows[i].name != NULL);
		if (found)
			assert_true(str_eq_text(name, rows[i].name) && into == rows[i].into);
	}
	unlink(path);
	kernel_symbols_free(k);
}

static void this_kernel_has_names(void **state)
{
	unsigned long long address = 0;
	struct symbols *s = NULL;
	struct buf out = BUF_INIT;
	char line[256], type, name[200] = "";
	FILE *file = fopen("/proc/kallsyms", "r");

	(void)state;
	while (file && fgets(line, sizeof(line), file) &&
	       sscanf(line, "%llx %c %199s", &address, &type, name) == 3 &&
	       strcmp(name, "__x64_sys_getpid") != 0)
		;
	if (file)
		fclose(file);
	if (strcmp(name, "__x64_sys_getpid") != 0 || !address)
		skip();
	assert_int_equal(symbols_new(&s), 0);
	symbols_kernel(s, address + 1, SYMBOL_OFFSET, &out);
	assert_non_null(strstr(out.ptr, "sys_getpid+1"));
	buf_free(&out);
	symbols_free(s);
}

static void names_are_demangled(void **state)
{
	/* clang-format off */
	static const struct {
		const char *mangled, *whole, *brief;
	} rows[] = {
		{"_ZN3foo3barEi", "foo::bar(int)", "foo::bar"},
		{"_ZNSt6vectorIiSaIiEE9push_backEOi",
		 "std::vector<int, std::allocator<int> >::push_back(int&&)",
		 "std::vector<int, std::allocator<int> >::push_back"},
		{"_ZN4shop7largestESt6vectorIlSaIlEE.cold",
		 "shop::largest(std::vector<long, std::allocator<long> >) [clone .cold]",
		 "shop::largest"},
		{"_ZN12_GLOBAL__N_13runEv", "(anonymous namespace)::run()", "(anonymous namespace)::run"},
		{"_ZN4core3fmt5write17h01a4f5e8b2c36d70E", "core::fmt::write", "core::fmt::write"},
		{"_ZN60_$LT$alloc..string..String$u20$as$u20$core..fmt..Display$GT$3fmt17h01a4f5e8b2c36d70E",
		 "<alloc::string::String as core::fmt::Display>::fmt",
		 "<alloc::string::String as core::fmt::Display>::fmt"},
		{"_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function", "foo::example_function"},
		{"_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6OutputuEL_ECs1iopQbuBiw2_3std",
		 "alloc::alloc::box_free::<dyn alloc::boxed::FnBox<(), Output = ()>>",
		 "alloc::alloc::box_free::<dyn alloc::boxed::FnBox<(), Output = ()>>"},
		{"_D3std5stdio7writelnFAyaZv", "std.stdio.writeln(immutable(char)[])", "std.stdio.writeln(immutable(char)[])"},
		{"_Dmain", "D main", "D main"},
		{"main", "main", "main"},
		{"_start", "_start", "_start"},
		{"_DYNAMIC", "_DYNAMIC", "_DYNAMIC"},
		{"_Z", "_Z", "_Z"},
		{"_R", "_R", "_R"},
		{"_ZN", "_ZN", "_ZN"},
		{"_Zjunk", "_Zjunk", "_Zjunk"},
		{"", "", ""},
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (int form = DEMANGLE_WHOLE; form <= DEMANGLE_NOT; form++) {
			const char *wanted[] = {rows[i].whole, rows[i].brief, rows[i].mangled};
			struct buf out = BUF_INIT;

			buf_text(&out, "at ");
			demangle(str_from(rows[i].mangled), form, &out);
			assert_string_equal(out.ptr + 3, wanted[form]);
			buf_free(&out);
		}
}

static void stays_mangled(struct buf *name)
{
	struct buf out = BUF_INIT;

	demangle(buf_as_str(name), DEMANGLE_WHOLE, &out);
	assert_string_equal(out.ptr, name->ptr);
	buf_free(&out);
	buf_free(name);
}

/* Rust's "B4_": what is 5 bytes after the "_R", in base 62. */
static void add_reference(size_t to, struct buf *out)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	buf_char(out, 'B');
	if (to > 62)
		buf_char(out, digits[(to - 1) / 62]);
	buf_char(out, digits[(to - 1) % 62]);
	buf_char(out, '_');
}

/* Some 200 bytes that stand for more memory than there is: shown as they are. */
static void names_that_explode_stay_mangled(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct buf cpp = BUF_INIT, rust = BUF_INIT, d = BUF_INIT;
	size_t before = 0;

	(void)state;
	/* A pair of pairs, of pairs ... */
	buf_text(&cpp, "_Z1fSt4pairIiiE");
	for (int i = 0; i < 30; i++)
		buf_printf(&cpp, "S_IS%c_S%c_E", digits[i], digits[i]);
	stays_mangled(&cpp);
	/* A tuple of tuples ... */
	buf_text(&rust, "_RINvC1a1f");
	for (int i = 0; i < 30; i++) {
		size_t at = rust.len - 2;

		buf_char(&rust, 'T');
		for (int n = 0; n < 2; n++)
			if (i)
				add_reference(before, &rust);
			else
				buf_char(&rust, 'y');
		buf_char(&rust, 'E');
		before = at;
	}
	buf_char(&rust, 'E');
	stays_mangled(&rust);
	buf_text(&d, "_D1a1fFS1a");
	for (int i = 0; i < 40; i++)
		buf_text(&d, "QbQb");
	stays_mangled(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_symbols_are_read),
		cmocka_unit_test(this_kernel_has_names),
		cmocka_unit_test(names_are_demangled),
		cmocka_unit_test(names_that_explode_stay_mangled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
