/* Operands: the table tests/cases/operands.txt, where registers are on this host, calling
 * conventions, symbols once they are known. */
#include <stddef.h>
#if defined(__x86_64__)
#include <asm/ptrace.h>
#endif

#include "help/case_suite.h"

#include "arch/operand.h"
#include "engine/bpf/kernel/registers.h"
#include "engine/engine.h"

static void dump_symbol(const struct operand *o, struct buf *out)
{
	static const char *const rules[] = {"", "address", "pc", "got", "tls"};

	if (!o->symbol.len)
		return;
	buf_printf(out, " symbol=%.*s rule=%s", STR_FMT(o->symbol), rules[o->symbol_rule]);
	if (o->low_bits)
		buf_printf(out, " low=%d", o->low_bits);
}

static void dump_mem(const struct operand *o, const struct arch *arch, struct buf *out)
{
	buf_text(out, "mem");
	if (o->base == arch->tls && strcmp(arch_reg_name(arch, o->base), "?") == 0)
		buf_text(out, " base=thread");
	else if (o->base != REG_NONE)
		buf_printf(out, " base=%s", arch_reg_name(arch, o->base));
	if (o->index != REG_NONE)
		buf_printf(out, " index=%s<<%u", arch_reg_name(arch, o->index), o->scale_shift);
	buf_printf(out, " off=%lld", (long long)o->value);
}

/* An operand as the table writes it. */
static void dump(const struct operand *o, const struct arch *arch, struct buf *out)
{
	switch (o->kind) {
	case OPERAND_CONST: buf_printf(out, "const %lld", (long long)o->value); break;
	case OPERAND_REG:
		buf_printf(out, "reg %s", arch_reg_name(arch, o->reg));
		if (o->reg_shift)
			buf_printf(out, ">>%u", o->reg_shift);
		break;
	case OPERAND_MEM: dump_mem(o, arch, out); break;
	case OPERAND_ADDRESS:
		buf_printf(out, "%u bytes at ", o->bytes);
		dump_mem(o, arch, out);
		break;
	case OPERAND_CONTEXT: buf_printf(out, "context %lld", (long long)o->value); break;
	case OPERAND_BAD: buf_text(out, "bad"); break;
	}
	dump_symbol(o, out);
}

static void dump_all(const struct arch *arch, struct str raw, struct buf *fields, struct buf *words)
{
	struct operand operands[OPERANDS_MAX];
	unsigned count = operands_parse(arch, raw, operands);

	for (unsigned i = 0; i < count; i++) {
		buf_text(fields, i ? "; " : "");
		buf_text(words, i ? "; " : "");
		dump(&operands[i], arch, fields);
		operand_describe(&operands[i], arch, words);
		assert_true(operand_equal(&operands[i], &operands[i]));
	}
}

/* cut at " | " */
static struct str next_column(struct str *rest)
{
	for (size_t i = 0; i + 3 <= rest->len; i++)
		if (memcmp(rest->ptr + i, " | ", 3) == 0) {
			struct str head = str_of(rest->ptr, i);

			*rest = str_of(rest->ptr + i + 3, rest->len - i - 3);
			return str_trim(head);
		}
	struct str all = str_trim(*rest);

	*rest = str_of("", 0);
	return all;
}

/* One row; returns the number of columns that differ. */
static int check_row(const char *path, unsigned number, const struct arch *arch, struct str line)
{
	struct buf fields = BUF_INIT, words = BUF_INIT;
	struct str raw = next_column(&line);
	struct str want_fields = next_column(&line), want_words = next_column(&line);
	int wrong;

	dump_all(arch, raw, &fields, &words);
	wrong = !str_eq(buf_as_str(&fields), want_fields) + !str_eq(buf_as_str(&words), want_words);
	if (wrong)
		print_error("%s:%u: %.*s\n  want %.*s | %.*s\n  got  %.*s | %.*s\n", path, number,
			    STR_FMT(raw), STR_FMT(want_fields), STR_FMT(want_words),
			    STR_FMT(buf_as_str(&fields)), STR_FMT(buf_as_str(&words)));
	buf_free(&fields);
	buf_free(&words);
	return wrong;
}

static void every_row_is_right(void **state)
{
	const struct test_case *t = *state;
	const struct arch *arch = arch_by_name(case_value(t, "cpu"));
	const struct case_field *rows = case_next(t, "rows", NULL);
	struct str rest = case_text(t, "rows");
	int wrong = 0;

	assert_non_null(arch);
	assert_true(rest.len > 0);
	for (unsigned line = rows->line; rest.len; line++)
		wrong += check_row(t->path, line, arch, str_cut(&rest, '\n'));
	assert_int_equal(wrong, 0);
}

static struct operand parse(const char *arch, const char *raw)
{
	struct operand o;

	operand_parse(arch_by_name(str_from(arch)), str_from(raw), &o);
	return o;
}

/* Where the kernel saves the register that an operand names. */
static int offset_of(const char *arch, uint8_t id)
{
	int at = saved_at(arch_by_name(str_from(arch)), id);

	return at < 0 ? REG_NOT_SAVED : at;
}

static int reg_at(const char *arch, const char *raw)
{
	return offset_of(arch, parse(arch, raw).reg);
}

static int base_at(const char *arch, const char *raw)
{
	return offset_of(arch, parse(arch, raw).base);
}

static int index_at(const char *arch, const char *raw)
{
	return offset_of(arch, parse(arch, raw).index);
}

static const char *refusal(const char *arch, const char *raw)
{
	struct operand o = parse(arch, raw);

	return engine_unreadable(&engine_bpf, arch_by_name(str_from(arch)), &o);
}

static void registers_are_where_this_kernel_saves_them(void **state)
{
	(void)state;
#if defined(__x86_64__)
#define SAVED_AT(reg) assert_int_equal(reg_at("x86_64", "8@%" #reg), offsetof(struct pt_regs, reg))
	SAVED_AT(rax);
	SAVED_AT(rbx);
	SAVED_AT(rcx);
	SAVED_AT(rdx);
	SAVED_AT(rsi);
	SAVED_AT(rdi);
	SAVED_AT(rbp);
	SAVED_AT(rsp);
	SAVED_AT(r8);
	SAVED_AT(r9);
	SAVED_AT(r10);
	SAVED_AT(r11);
	SAVED_AT(r12);
	SAVED_AT(r13);
	SAVED_AT(r14);
	SAVED_AT(r15);
	SAVED_AT(rip);
	assert_int_equal(reg_at("x86_64", "1@%r15b"), 0);
	assert_int_equal(base_at("x86_64", "4@8(%rsp,%rdi,2)"), 152);
	assert_int_equal(index_at("x86_64", "4@8(%rsp,%rdi,2)"), 112);
	assert_int_equal(base_at("x86_64", "4@g(%rip)"), 128);
	assert_int_equal(reg_at("i386", "4@%ebx"), offsetof(struct pt_regs, rbx));
	assert_int_equal(reg_at("i386", "1@%ch"), offsetof(struct pt_regs, rcx));
	assert_int_equal(reg_at("i386", "4@%esi"), 104);
	assert_int_equal(base_at("i386", "4@4(%ebp)"), 32);
	assert_int_equal(reg_at("aarch64", "8@x3"), REG_NOT_SAVED);
#elif defined(__aarch64__)
	assert_int_equal(reg_at("aarch64", "8@x3"), 24);
	assert_int_equal(base_at("aarch64", "8@[sp, 8]"), 248);
	assert_int_equal(reg_at("x86_64", "8@%rax"), REG_NOT_SAVED);
#elif defined(__riscv)
	assert_int_equal(reg_at("riscv64", "8@a0"), 80);
	assert_int_equal(reg_at("x86_64", "8@%rax"), REG_NOT_SAVED);
#endif
}

static void kernel_mode_says_what_is_missing(void **state)
{
	const char *why;

	(void)state;
#if defined(__x86_64__)
	why = refusal("x86_64", "8@8(%rax)");
	assert_null(why);
	why = refusal("x86_64", "8f@%xmm0");
	assert_string_equal(
		why,
		"the kernel does not show vector registers to tracers; user mode (--user) does");
	why = refusal("x86_64", "8@%fs:-8");
	assert_string_equal(why, "the thread pointer is not readable in kernel mode");
	why = refusal("s390x", "8@%r2");
	assert_string_equal(why, "registers of this CPU are not readable on this machine");
	why = refusal("x86_64", "-4@4+g(%rip)");
	assert_string_equal(why, "its symbol could not be found");
	why = refusal("x86_64", "16@%rax");
	assert_string_equal(why, "16-byte values can be read in memory only");
#endif
	why = refusal("s390x", "8@42");
	assert_null(why);
}

static void a_symbol_is_put_in(void **state)
{
	struct operand o = parse("x86_64", "-4@40+g(%rip)");

	(void)state;
	operand_resolve(&o, 0x4000 - 0x5000);
	assert_int_equal(o.value, 40 - 0x1000);
	assert_int_equal(o.symbol.len, 0);
	o = parse("x86_64", "1@$g+2");
	operand_resolve(&o, 0x4ff);
	assert_int_equal(o.value, 1); /* cut to its one byte */
	o = parse("aarch64", "4@[x21, #:lo12:g+4]");
	operand_resolve(&o, 0x411ffe);
	assert_int_equal(o.value, 2);
	o = parse("riscv64", "4@%lo(g+8)(a5)");
	operand_resolve(&o, 0x12ff8 - 0x800);
	assert_int_equal(o.value, -2048);
}

static void equal_operands_need_the_same_code(void **state)
{
	struct operand a = parse("x86_64", "-4@-8(%rbp)"), b = parse("x86_64", "-4@-12+4(%rbp)");

	(void)state;
	assert_true(operand_equal(&a, &b));
	b = parse("x86_64", "4@-8(%rbp)");
	assert_false(operand_equal(&a, &b));
	b = parse("x86_64", "-4@-8(%rbp,%rax)");
	assert_false(operand_equal(&a, &b));
	a = parse("x86_64", "8@g(%rip)");
	b = parse("x86_64", "8@h(%rip)");
	assert_false(operand_equal(&a, &b));
	a = parse("x86_64", "1@%al");
	b = parse("x86_64", "1@%ah");
	assert_false(operand_equal(&a, &b));
	a = parse("x86_64", "4@%eax");
	b = parse("x86_64", "4@%rax");
	assert_true(operand_equal(&a, &b));
}

/* "rdi rsi … [8] [16]": where the first `count` arguments are. */
static void check_call(const char *arch_name, unsigned count, const char *want,
		       const char *want_ret)
{
	const struct arch *arch = arch_by_name(str_from(arch_name));
	struct buf got = BUF_INIT;
	struct operand o;

	for (unsigned i = 0; i < count && operand_call_arg(arch, i, &o); i++) {
		buf_text(&got, i ? " " : "");
		assert_int_equal(o.size, arch->word);
		if (o.kind == OPERAND_REG)
			buf_text(&got, arch_reg_name(arch, o.reg));
		else
			buf_printf(&got, "[%s%+lld]", arch_reg_name(arch, o.base),
				   (long long)o.value);
	}
	assert_string_equal(got.ptr, want);
	assert_string_equal(arch_reg_name(arch, arch->call_ret), want_ret);
	buf_free(&got);
}

static void arguments_of_calls(void **state)
{
	(void)state;
	check_call("x86_64", 8, "rdi rsi rdx rcx r8 r9 [rsp+8] [rsp+16]", "rax");
	check_call("i386", 3, "[esp+4] [esp+8] [esp+12]", "eax");
	check_call("aarch64", 9, "x0 x1 x2 x3 x4 x5 x6 x7 [sp+0]", "x0");
	check_call("arm", 5, "r0 r1 r2 r3 [r13+0]", "r0");
	check_call("riscv64", 9, "a0 a1 a2 a3 a4 a5 a6 a7 [sp+0]", "a0");
	check_call("ppc64le", 9, "r3 r4 r5 r6 r7 r8 r9 r10", "r3");
	check_call("powerpc", 9, "r3 r4 r5 r6 r7 r8 r9 r10 [r1+8]", "r3");
	check_call("s390x", 6, "r2 r3 r4 r5 r6 [r15+160]", "r2");
	check_call("mips64", 9, "r4 r5 r6 r7 r8 r9 r10 r11 [r29+0]", "r2");
}

static void cpus_are_found(void **state)
{
	(void)state;
	assert_string_equal(arch_for(62, 8)->name, "x86_64");
	assert_string_equal(arch_for(3, 4)->name, "i386");
	assert_string_equal(arch_for(40, 4)->name, "arm");
	assert_string_equal(arch_for(183, 8)->name, "aarch64");
	assert_string_equal(arch_for(243, 8)->name, "riscv64");
	assert_null(arch_for(62, 4)); /* x32 */
	assert_null(arch_for(0, 8));
	assert_null(arch_by_name(STR("pdp11")));
#if defined(__x86_64__)
	assert_string_equal(arch_host()->name, "x86_64");
#endif
	assert_string_equal(arch_reg_name(arch_for(62, 8), 200), "?");
}

/* Ids must fit, names must not occur twice, and all names of one register must share its place. */
static void register_tables_are_consistent(void **state)
{
	static const char *const names[] = {"x86_64",  "i386",	     "aarch64", "arm",
					    "riscv64", "ppc64le",    "powerpc", "s390x",
					    "mips64",  "loongarch64"};

	(void)state;
	for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
		const struct arch *arch = arch_by_name(str_from(names[k]));

		for (size_t i = 0; i < arch->reg_count; i++) {
			const struct arch_reg *a = &arch->regs[i];

			assert_int_not_equal(a->id, REG_NONE);
			assert_ptr_equal(arch_find_reg(arch, str_from(a->name)), a);
			for (size_t j = 0; j < i; j++)
				if (arch->regs[j].id == a->id)
					assert_int_equal(arch->regs[j].is_general, a->is_general);
		}
		assert_string_not_equal(arch_reg_name(arch, arch->sp), "?");
		assert_string_not_equal(arch_reg_name(arch, arch->pc), "?");
	}
}

static void no_arguments_are_none(void **state)
{
	const struct arch *arch = arch_by_name(STR("x86_64"));
	struct operand operands[OPERANDS_MAX];

	(void)state;
	assert_int_equal(operands_parse(arch, STR(""), operands), 0);
	assert_int_equal(operands_parse(arch, STR("  \t "), operands), 0);
	assert_int_equal(operands_parse(arch, str_of(NULL, 0), operands), 0);
}

static void too_many_arguments_end_in_one_refusal(void **state)
{
	const struct arch *arch = arch_by_name(STR("x86_64"));
	struct buf raw = BUF_INIT;
	struct operand operands[OPERANDS_MAX];

	(void)state;
	for (int i = 0; i < 5000; i++)
		buf_text(&raw, "8@%rax ");
	assert_int_equal(operands_parse(arch, buf_as_str(&raw), operands), OPERANDS_MAX);
	assert_int_equal(operands[OPERANDS_MAX - 2].kind, OPERAND_REG);
	assert_int_equal(operands[OPERANDS_MAX - 1].kind, OPERAND_BAD);
	assert_non_null(operands[OPERANDS_MAX - 1].why);
	buf_free(&raw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registers_are_where_this_kernel_saves_them),
		cmocka_unit_test(kernel_mode_says_what_is_missing),
		cmocka_unit_test(a_symbol_is_put_in),
		cmocka_unit_test(equal_operands_need_the_same_code),
		cmocka_unit_test(arguments_of_calls),
		cmocka_unit_test(cpus_are_found),
		cmocka_unit_test(register_tables_are_consistent),
		cmocka_unit_test(no_arguments_are_none),
		cmocka_unit_test(too_many_arguments_end_in_one_refusal),
	};
	struct case_suite suite = {0};

	case_suite_add(&suite, "tests/cases/operands.txt", "cpu rows", every_row_is_right);
	case_suite_add_tests(&suite, tests);
	return case_suite_run(&suite, "operand");
}
