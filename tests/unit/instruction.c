/* Lengths of instructions: whole programs as objdump has them, single ones by hand, and that
 * nothing is read outside the bytes given. STRESS=1 compares large programs too. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "arch/arch.h"

#define CODE(literal) str_of(literal, sizeof(literal) - 1)

struct comparison {
	const struct arch *arch;
	unsigned long same, differ, bad;
};

/* "  1139:\t55 \tpush %rbp" -> its bytes; 0: another line. */
static size_t line_bytes(const char *line, unsigned char *bytes, size_t cap, const char **text)
{
	const char *at = strchr(line, '\t');
	size_t n = 0;
	char *end;

	if (!at)
		return 0;
	for (at++; n < cap; at += 3) {
		unsigned long byte = strtoul(at, &end, 16);

		if (end != at + 2 || *end != ' ')
			break;
		bytes[n++] = (unsigned char)byte;
	}
	while (*at == ' ' || *at == '\t')
		at++;
	*text = at;
	return n;
}

/* objdump writes fwait and the x87 instruction after it as one; for the CPU they are two. */
static bool is_split(const struct comparison *c, const unsigned char *bytes, size_t len)
{
	return bytes[0] == 0x9b && len > 1 &&
	       instruction_length(c->arch, str_of((const char *)bytes + 1, len - 1)) == len - 1;
}

/* In tables that lie between functions objdump shows prefixes alone, which no CPU would, and
 * branches that CPUs do not agree on. */
static bool is_data(const char *text)
{
	static const char *const marks[] = {"(bad)", "jmpw", "callw"};
	const char *last = strrchr(text, ' ');

	if (!strncmp(last ? last + 1 : text, "rex", 3))
		return true;
	if (!strncmp(text, "rex", 3) && strstr(text, " v")) /* REX before VEX: refused */
		return true;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strstr(text, marks[i]))
			return true;
	return text[0] == '.';
}

static void compare_line(struct comparison *c, const char *line)
{
	unsigned char bytes[32];
	const char *text = "";
	size_t len = line_bytes(line, bytes, sizeof(bytes), &text);
	unsigned length;

	if (!len)
		return;
	if (is_data(text)) {
		c->bad++;
		return;
	}
	length = instruction_length(c->arch, str_of((const char *)bytes, len));
	if (length == len || is_split(c, bytes, len)) {
		c->same++;
	} else if (c->differ++ < 20) {
		print_error("%u, not %zu: %s", length, len, line);
	}
}

static void compare_file(const char *arch, const char *path)
{
	struct comparison c = {.arch = arch_by_name(str_from(arch))};
	char command[512], line[1024];
	FILE *f;

	if (access(path, R_OK))
		return;
	snprintf(command, sizeof(command), "objdump -d --insn-width=16 '%s' 2>/dev/null", path);
	f = popen(command, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		compare_line(&c, line);
	pclose(f);
	print_message("%s: %lu instructions, %lu bad\n", path, c.same, c.bad);
	assert_int_equal(c.differ, 0);
}

static void test_objdump(void **state)
{
	(void)state;
	if (system("command -v objdump >/dev/null 2>&1"))
		skip();
	compare_file("x86_64", "/lib/x86_64-linux-gnu/libm.so.6");
	compare_file("x86_64", "/lib/x86_64-linux-gnu/libc.so.6");
	compare_file("i386", "/lib32/libm.so.6");
	if (!getenv("STRESS"))
		return;
	compare_file("i386", "/lib32/libc.so.6");
	compare_file("i386", "/lib32/libstdc++.so.6");
	compare_file("x86_64", "/lib/x86_64-linux-gnu/libcrypto.so.3");
	compare_file("x86_64", "/lib/x86_64-linux-gnu/libstdc++.so.6");
	compare_file("x86_64", "/usr/bin/python3.11");
	compare_file("x86_64", "/usr/lib/postgresql/15/bin/postgres");
	compare_file("x86_64", "/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so");
	compare_file("x86_64", "/usr/lib/jvm/temurin-25-jdk-amd64/lib/server/libjvm.so");
}

struct row {
	const char *arch;
	const char *code;
	size_t len;
	unsigned length, nop;
};

#define ROW(arch, code, length, nop)                      \
	{                                                 \
		arch, code, sizeof(code) - 1, length, nop \
	}

/* What compilers do not write, or objdump does not know as the CPU does. */
static void test_rows(void **state)
{
	static const struct row rows[] = {
		ROW("x86_64", "\x90", 1, 1),
		ROW("x86_64", "\x66\x90", 2, 2),
		ROW("x86_64", "\x0f\x1f\x44\x00\x00", 5, 5),
		ROW("x86_64", "\x0f\x1f\x44\x00\x08", 5, 0),
		ROW("x86_64", "\x66\x2e\x0f\x1f\x84\0\0\0\0\0", 10, 10),
		ROW("x86_64", "\xf3\x90", 2, 0),		    /* pause */
		ROW("x86_64", "\x48\xb8\1\2\3\4\5\6\7\x08", 10, 0), /* movabs */
		ROW("x86_64", "\x66\xb8\1\2", 4, 0),
		ROW("x86_64", "\x67\xa1\1\2\3\4", 6, 0),
		ROW("x86_64", "\xa1\1\2\3\4\5\6\7\x08", 9, 0),
		ROW("x86_64", "\x48\x66\x90", 3, 0),	 /* REX that counts for nothing */
		ROW("x86_64", "\x66\xe8\0\0\0\0", 0, 0), /* CPUs differ */
		ROW("x86_64", "\x66\x48\xe8\0\0\0\0", 7, 0),
		ROW("x86_64", "\xc4\xe3\x79\x14\xc0\1", 6, 0), /* vpextrb */
		ROW("x86_64", "\xc5\xf8\x77", 3, 0),	       /* vzeroupper */
		ROW("x86_64", "\x62\xf1\x7c\x48\x10\x41\1", 7, 0),
		ROW("x86_64", "\x62\xf3\x75\x08\x25\xc2\xff", 7, 0), /* vpternlogd */
		ROW("x86_64", "\x62\xfc\x7c\x08\x01\xc0", 0, 0),     /* newer than we know */
		ROW("x86_64", "\x66\xc5\xf8\x77", 0, 0),
		ROW("x86_64", "\x8f\xe8\x78\xc2\xc1\1", 6, 0), /* XOP vprotd */
		ROW("x86_64", "\x66\x0f\x78\xc0\1\2", 6, 0),   /* extrq */
		ROW("x86_64", "\x0f\x0f\xc0\xb4", 4, 0),       /* 3DNow */
		ROW("x86_64", "\x0f\x0a", 0, 0),
		ROW("x86_64", "\x06", 0, 0),
		ROW("x86_64", "\xf6\x04\x25\1\2\3\4\5", 8, 0),
		ROW("x86_64", "\xf6\x14\x25\1\2\3\4", 7, 0),
		ROW("x86_64", "\xc8\1\2\3", 4, 0),
		ROW("x86_64", "\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x90", 15,
		    0),
		ROW("x86_64", "\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x90", 0,
		    0),
		ROW("x86_64", "\x48\x8b\x05\1\2\3", 0, 0), /* cut off */
		ROW("x86_64", "", 0, 0),
		ROW("i386", "\x06", 1, 0),
		ROW("i386", "\x9a\1\2\3\4\5\6", 7, 0),
		ROW("i386", "\xc5\x07", 2, 0),	   /* lds */
		ROW("i386", "\xc5\xf8\x77", 3, 0), /* vzeroupper */
		ROW("i386", "\x62\x07", 2, 0),	   /* bound */
		ROW("i386", "\x67\x8b\x46\1", 4, 0),
		ROW("i386", "\x67\x8b\x06\1\2", 5, 0),
		ROW("i386", "\x66\xe8\1\2", 4, 0),
		ROW("aarch64", "\x1f\x20\x03\xd5", 4, 4),
		ROW("aarch64", "\x1f\x20\x03", 0, 0),
		ROW("arm", "\x00\xbf\x00\xbf", 4, 2),
		ROW("riscv64", "\x01\x00", 2, 2),
		ROW("riscv64", "\x13\x00\x00\x00", 4, 4),
		ROW("riscv64", "\x1f\0\0\0\0\0", 6, 0),
		ROW("ppc64le", "\x00\x00\x00\x60", 4, 4),
		ROW("ppc64le", "\0\0\0\x04\0\0\0\0", 8, 0),
		ROW("powerpc", "\x60\0\0\0", 4, 4),
		ROW("s390x", "\x07\x07", 2, 2),
		ROW("s390x", "\x47\0\0\0", 4, 4),
		ROW("s390x", "\xc0\x04\0\0\0\0", 6, 6),
		ROW("mips64", "\0\0\0\0", 4, 4),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct arch *arch = arch_by_name(str_from(rows[i].arch));
		struct str code = str_of(rows[i].code, rows[i].len);

		if (instruction_length(arch, code) != rows[i].length ||
		    instruction_nop(arch, code) != rows[i].nop)
			fail_msg("row %zu: length %u, nop %u", i, instruction_length(arch, code),
				 instruction_nop(arch, code));
	}
}

/* push %rbp; mov %rsp,%rbp; a byte that is none */
static void test_walk(void **state)
{
	const struct arch *arch = arch_by_name(STR("x86_64"));
	struct str code = CODE("\x55\x48\x89\xe5\x06\x90");
	size_t start;

	(void)state;
	assert_int_equal(instruction_walk(arch, code, 0, &start), 0);
	assert_int_equal(start, 0);
	assert_int_equal(instruction_walk(arch, code, 4, &start), 0);
	assert_int_equal(start, 4);
	assert_int_equal(instruction_walk(arch, code, 3, &start), 0);
	assert_int_equal(start, 1);
	assert_int_equal(instruction_walk(arch, code, 5, &start), -EILSEQ);
	assert_int_equal(start, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_objdump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
