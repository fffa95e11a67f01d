/* The assembler of the native engine: what it writes is what objdump reads. */
#include "help/check.h"
#include "help/objdump.h"

typedef void write_fn(struct native_code *c);

static void write_moves(struct native_code *c)
{
	asm_mov(c, RAX, R15);
	asm_mov(c, R8, RSP);
	asm_mov(c, RCX, RCX); /* nothing */
	asm_const(c, RSI, 5);
	asm_const(c, R9, UINT32_MAX);
	asm_const(c, RDI, (uint64_t)-5);
	asm_const(c, R12, 0x123456789abcdef);
	asm_load(c, 1, false, RAX, MEM(RSP, 0));
	asm_load(c, 1, true, R13, MEM(RBP, 0));
	asm_load(c, 2, false, RDX, MEM(R12, 8));
	asm_load(c, 2, true, RDX, MEM(R13, 0));
	asm_load(c, 4, false, R10, MEM(RSI, -1000));
	asm_load(c, 4, true, RSI, MEM_INDEX(RAX, R12, 3, 16));
	asm_load(c, 8, false, RBX, MEM_INDEX(ASM_NONE, RBX, 2, 64));
	asm_load(c, 8, false, RAX, MEM_THREAD(-8));
	asm_load(c, 4, false, R8, MEM_THREAD(720));
	asm_store(c, 1, MEM(RAX, 1), RSI);
	asm_store(c, 1, MEM(RAX, 1), R8);
	asm_store(c, 2, MEM(RSP, 2), R8);
	asm_store(c, 4, MEM(RBP, 0), RCX);
	asm_store(c, 8, MEM(R15, 300), RDI);
	asm_store_imm(c, 1, MEM(RSP, 4), 7);
	asm_store_imm(c, 2, MEM(RSP, 4), 7);
	asm_store_imm(c, 4, MEM(RSP, 4), -7);
	asm_store_imm(c, 8, MEM(R8, 4), -7);
	asm_lea(c, RSP, MEM(RSP, -128));
	asm_extend(c, 1, false, RAX, RSI);
	asm_extend(c, 1, true, RAX, RCX);
	asm_extend(c, 2, false, R9, RAX);
	asm_extend(c, 2, true, RAX, R9);
	asm_extend(c, 4, false, RAX, RAX);
	asm_extend(c, 4, true, R11, RDX);
}

static const char moves[] = "mov %r15,%rax\n"
			    "mov %rsp,%r8\n"
			    "mov $0x5,%esi\n"
			    "mov $0xffffffff,%r9d\n"
			    "mov $0xfffffffffffffffb,%rdi\n"
			    "movabs $0x123456789abcdef,%r12\n"
			    "movzbl (%rsp),%eax\n"
			    "movsbq 0x0(%rbp),%r13\n"
			    "movzwl 0x8(%r12),%edx\n"
			    "movswq 0x0(%r13),%rdx\n"
			    "mov -0x3e8(%rsi),%r10d\n"
			    "movslq 0x10(%rax,%r12,8),%rsi\n"
			    "mov 0x40(,%rbx,4),%rbx\n"
			    "mov %fs:0xfffffffffffffff8,%rax\n"
			    "mov %fs:0x2d0,%r8d\n"
			    "mov %sil,0x1(%rax)\n"
			    "mov %r8b,0x1(%rax)\n"
			    "mov %r8w,0x2(%rsp)\n"
			    "mov %ecx,0x0(%rbp)\n"
			    "mov %rdi,0x12c(%r15)\n"
			    "movb $0x7,0x4(%rsp)\n"
			    "movw $0x7,0x4(%rsp)\n"
			    "movl $0xfffffff9,0x4(%rsp)\n"
			    "movq $0xfffffffffffffff9,0x4(%r8)\n"
			    "lea -0x80(%rsp),%rsp\n"
			    "movzbl %sil,%eax\n"
			    "movsbq %cl,%rax\n"
			    "movzwl %ax,%r9d\n"
			    "movswq %r9w,%rax\n"
			    "mov %eax,%eax\n"
			    "movslq %edx,%r11\n";

static void write_sums(struct native_code *c)
{
	asm_alu(c, ALU_ADD, RAX, R8);
	asm_alu(c, ALU_CMP, R9, RCX);
	asm_alu_imm(c, ALU_AND, RDI, 127);
	asm_alu_imm(c, ALU_SUB, R12, 128);
	asm_alu_load(c, ALU_XOR, RAX, MEM(RSP, 8));
	asm_alu_mem_imm(c, ALU_SUB, 8, MEM(RSP, 8), 1);
	asm_alu_mem_imm(c, ALU_CMP, 4, MEM(RAX, 0), 1000);
	asm_test(c, RAX, R9);
	asm_mul(c, RAX, R10);
	asm_mul_imm(c, R10, RAX, -3);
	asm_shift(c, SHIFT_LEFT, RAX);
	asm_shift_imm(c, SHIFT_SIGNED, R9, 63);
	asm_shift_imm(c, SHIFT_RIGHT, RCX, 8);
	asm_unary(c, UNARY_NEG, R8);
	asm_unary(c, UNARY_NOT, RAX);
	asm_divide(c, false);
	asm_divide(c, true);
	asm_scale(c);
	asm_log2(c, RAX, R9);
	asm_set(c, COND_L, RAX);
	asm_set(c, COND_BE, RSI);
	asm_atomic_inc(c, RCX);
	asm_exchange(c, RAX, R8);
}

static const char sums[] = "add %r8,%rax\n"
			   "cmp %rcx,%r9\n"
			   "and $0x7f,%rdi\n"
			   "sub $0x80,%r12\n"
			   "xor 0x8(%rsp),%rax\n"
			   "subq $0x1,0x8(%rsp)\n"
			   "cmpl $0x3e8,(%rax)\n"
			   "test %r9,%rax\n"
			   "imul %r10,%rax\n"
			   "imul $0xfffffffffffffffd,%rax,%r10\n"
			   "shl %cl,%rax\n"
			   "sar $0x3f,%r9\n"
			   "shr $0x8,%rcx\n"
			   "neg %r8\n"
			   "not %rax\n"
			   "mov $0x0,%edx\n"
			   "div %rcx\n"
			   "mov %rax,%rdx\n"
			   "sar $0x3f,%rdx\n"
			   "idiv %rcx\n"
			   "imul %rdx\n"
			   "shrd $0x20,%rdx,%rax\n"
			   "bsr %r9,%rax\n"
			   "setl %al\n"
			   "movzbl %al,%eax\n"
			   "setbe %sil\n"
			   "movzbl %sil,%esi\n"
			   "lock incq (%rcx)\n"
			   "xchg %r8,(%rax)\n";

static void write_rest(struct native_code *c)
{
	int back = asm_here(c), on = asm_label(c);

	asm_push(c, ASM_BIT(R8) | ASM_BIT(RBX));
	asm_pop(c, ASM_BIT(R8) | ASM_BIT(RBX));
	asm_jump(c, on);
	asm_jump_if(c, COND_NE, back);
	asm_bind(c, on);
	asm_jump_to(c, 0x5000);
	asm_jump_through(c, back);
	asm_lea(c, RDI, MEM_LABEL(back));
	asm_call(c, 0x6000);
	asm_from_vector(c, 8, RAX, 0);
	asm_from_vector(c, 4, R9, 9);
	asm_from_vector(c, 8, RAX, 16);
	asm_from_vector(c, 4, R10, 31);
	asm_thread_pointer(c, RCX, true);
	asm_thread_pointer(c, R9, true);
	asm_thread_pointer(c, RCX, false);
	asm_save_flags(c);
	asm_restore_flags(c);
	asm_clock(c);
}

static const char rest[] = "push %rbx\n"
			   "push %r8\n"
			   "pop %r8\n"
			   "pop %rbx\n"
			   "jmp 0x1011\n"
			   "jne 0x1000\n"
			   "jmp 0x5000\n"
			   "jmp *-0x1c(%rip) # 0x1000\n"
			   "lea -0x23(%rip),%rdi # 0x1000\n"
			   "mov $0x6000,%eax\n"
			   "call *%rax\n"
			   "movq %xmm0,%rax\n"
			   "movd %xmm9,%r9d\n"
			   "vmovq %xmm16,%rax\n"
			   "vmovd %xmm31,%r10d\n"
			   "rdfsbase %rcx\n"
			   "rdfsbase %r9\n"
			   "mov %fs:0x0,%rcx\n"
			   "push %rax\n"
			   "lahf\n"
			   "seto %al\n"
			   "push %rax\n"
			   "pop %rax\n"
			   "add $0x7f,%al\n"
			   "sahf\n"
			   "pop %rax\n"
			   "rdtsc\n"
			   "shl $0x20,%rdx\n"
			   "or %rdx,%rax\n";

/* One blank between words, none at the end of lines. */
static void squeeze(char *text)
{
	char *to = text;

	for (char *from = text; *from; from++) {
		bool blank = *from == ' ' || *from == '\t';

		if (blank && (from[1] == ' ' || from[1] == '\t' || from[1] == '\n' || !from[1]))
			continue;
		*to++ = blank ? ' ' : *from;
	}
	*to = '\0';
}

static void take_line(void *arg, char *line)
{
	buf_text(arg, line);
}

static void expect(write_fn *write_code, const char *want)
{
	struct native_code c;
	struct buf text = BUF_INIT;

	code_open(&c, 0x1000);
	write_code(&c);
	assert_int_equal(code_finish_native(&c), 0);
	objdump_each(&c, take_line, &text);
	squeeze(text.ptr);
	assert_string_equal(text.ptr, want);
	buf_free(&text);
	code_close(&c);
}

static void instructions_are_encoded(void **state)
{
	(void)state;
	expect(write_moves, moves);
	expect(write_sums, sums);
	expect(write_rest, rest);
}

/* Trampolines save what was written, and nothing else. */
static void written_registers_are_known(void **state)
{
	struct native_code c;

	(void)state;
	code_open(&c, 0);
	asm_alu(&c, ALU_CMP, ACC, TMP);
	asm_test(&c, AUX, AUX);
	asm_store(&c, 8, MEM(W1, 0), W2);
	assert_int_equal(c.written, 0);
	asm_load(&c, 8, false, W4, MEM(ACC, 0));
	assert_int_equal(c.written, ASM_BIT(W4));
	asm_call(&c, 0x6000);
	assert_int_equal(c.written & ASM_CALL_CHANGES, ASM_CALL_CHANGES);
	code_close(&c);
}

static void far_addresses_are_refused(void **state)
{
	struct native_code c;

	(void)state;
	code_open(&c, 0x1000);
	assert_false(asm_jump_to(&c, UINT64_C(0x7f0000000000)));
	assert_int_equal(c.bytes.len, 0);
	assert_true(asm_jump_to(&c, UINT64_C(0x80001004)));
	assert_false(asm_jump_to(&c, UINT64_C(0x8000100a)));
	code_close(&c);
}

static void missing_labels_are_mistakes(void **state)
{
	struct native_code c;

	(void)state;
	code_open(&c, 0);
	asm_jump(&c, asm_label(&c));
	assert_true(code_finish_native(&c) < 0);
	code_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions_are_encoded),
		cmocka_unit_test(written_registers_are_known),
		cmocka_unit_test(far_addresses_are_refused),
		cmocka_unit_test(missing_labels_are_mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
