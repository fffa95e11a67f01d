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

static void cpp_names_are_demangled(void **state)
{
	static const char *const rows[][2] = {
		{"_ZN3foo3barEi", "foo::bar(int)"},
		{"_ZNSt6vectorIiSaIiEE9push_backEOi",
		 "std::vector<int, std::allocator<int> >::push_back(int&&)"},
		{"main", "main"},
		{"_Z", "_Z"},
		{"_ZN", "_ZN"},
		{"_Zjunk", "_Zjunk"},
		{"", ""},
	};
	struct demangler d = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct buf out = BUF_INIT;

		demangle(&d, str_from(rows[i][0]), &out);
		if (!d.tried || d.call)
			assert_string_equal(out.ptr ? out.ptr : "", rows[i][1]);
		buf_free(&out);
	}
	demangler_close(&d);
}

/* 150 bytes that stand for more memory than there is: shown as they are. */
static void names_that_explode_stay_mangled(void **state)
{
	struct buf name = BUF_INIT, out = BUF_INIT;
	struct demangler d = {0};

	(void)state;
	buf_text(&name, "_Z1fI1AE4pairI");
	for (int i = 0; i < 40; i++)
		buf_text(&name, "S_S0_1BI");
	demangle(&d, buf_as_str(&name), &out);
	assert_string_equal(out.ptr, name.ptr);
	assert_false(d.tried);
	buf_free(&name);
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_symbols_are_read),
		cmocka_unit_test(this_kernel_has_names),
		cmocka_unit_test(cpp_names_are_demangled),
		cmocka_unit_test(names_that_explode_stay_mangled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
