/* The assembler of the native engine: what it writes is what objdump reads. */
#include "help/check.h"
#include "help/objdump.h"

typedef void write_fn(struct native_code *c);

#if !defined(__aarch64__)
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
			   "lock incq (%rcx)\n";

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

#else
static void write_moves(struct native_code *c)
{
	asm_mov(c, ACC, 15);
	asm_mov(c, W1, STACK);
	asm_mov(c, TMP, TMP); /* nothing */
	asm_const(c, W1, 0);
	asm_const(c, W1, UINT32_MAX);
	asm_const(c, W1, (uint64_t)-5);
	asm_const(c, W1, UINT64_MAX);
	asm_const(c, 12, 0x123456789abcdef);
	asm_const(c, 12, 0xffff00000000ffff);
	asm_load(c, 1, false, ACC, MEM(STACK, 0));
	asm_load(c, 1, true, 13, MEM(29, 4095));
	asm_load(c, 2, true, AUX, MEM(13, 8));
	asm_load(c, 4, false, W1, MEM(W2, -256));
	asm_load(c, 4, true, W1, MEM_INDEX(ACC, 12, 3, 16));
	asm_load(c, 8, false, ACC, MEM(STACK, 32760));
	asm_load(c, 8, false, ACC, MEM(STACK, 32768));
	asm_load(c, 8, false, ACC, MEM(W1, -1000));
	asm_load(c, 8, false, ACC, MEM_THREAD(-8));
	asm_store(c, 1, MEM(ACC, 1), W2);
	asm_store(c, 2, MEM(STACK, 3), W2);
	asm_store(c, 8, MEM(15, 304), W2);
	asm_store_last(c, MEM(ACC, 8), AUX);
	asm_store_imm(c, 8, MEM(STACK, 8), 0);
	asm_store_imm(c, 4, MEM(STACK, 8), -7);
	asm_store_imm(c, 8, MEM(STACK, 0x123458), 5);
	asm_lea(c, STACK, MEM(STACK, -0x1230));
	asm_lea(c, STACK, MEM(STACK, 0x1000));
	asm_extend(c, 1, false, ACC, W1);
	asm_extend(c, 2, true, ACC, W1);
	asm_extend(c, 4, false, ACC, ACC);
	asm_extend(c, 4, true, ACC, W1);
	asm_extend(c, 8, true, ACC, W1);
}

static const char moves[] = "mov x0, x15\n"
			    "mov x10, sp\n"
			    "mov x10, #0x0\n"
			    "mov x10, #0xffff\n"
			    "movk x10, #0xffff, lsl #16\n"
			    "mov x10, #0xfffffffffffffffb\n"
			    "mov x10, #0xffffffffffffffff\n"
			    "mov x12, #0xcdef\n"
			    "movk x12, #0x89ab, lsl #16\n"
			    "movk x12, #0x4567, lsl #32\n"
			    "movk x12, #0x123, lsl #48\n"
			    "mov x12, #0xffffffff0000ffff\n"
			    "movk x12, #0x0, lsl #32\n"
			    "ldrb w0, [sp]\n"
			    "ldrsb x13, [x29, #4095]\n"
			    "ldrsh x1, [x13, #8]\n"
			    "ldur w10, [x11, #-256]\n"
			    "add x17, x0, x12, uxtx #3\n"
			    "ldrsw x10, [x17, #16]\n"
			    "ldr x0, [sp, #32760]\n"
			    "add x17, sp, #0x8, lsl #12\n"
			    "ldr x0, [x17]\n"
			    "sub x17, x10, #0x3e8\n"
			    "ldr x0, [x17]\n"
			    "mrs x17, tpidr_el0\n"
			    "ldur x0, [x17, #-8]\n"
			    "strb w11, [x0, #1]\n"
			    "sturh w11, [sp, #3]\n"
			    "str x11, [x15, #304]\n"
			    "add x17, x0, #0x8\n"
			    "stlr x1, [x17]\n"
			    "str xzr, [sp, #8]\n"
			    "mov x16, #0xfffffffffffffff9\n"
			    "str w16, [sp, #8]\n"
			    "add x17, sp, #0x123, lsl #12\n"
			    "add x17, x17, #0x458\n"
			    "mov x16, #0x5\n"
			    "str x16, [x17]\n"
			    "sub sp, sp, #0x1, lsl #12\n"
			    "sub sp, sp, #0x230\n"
			    "add sp, sp, #0x1, lsl #12\n"
			    "ubfx x0, x10, #0, #8\n"
			    "sxth x0, w10\n"
			    "ubfx x0, x0, #0, #32\n"
			    "sxtw x0, w10\n"
			    "mov x0, x10\n";

static void write_sums(struct native_code *c)
{
	asm_alu(c, ALU_ADD, ACC, W1);
	asm_alu(c, ALU_CMP, TMP, W1);
	asm_alu(c, ALU_OR, ACC, W1);
	asm_alu_imm(c, ALU_ADD, W1, 2);
	asm_alu_imm(c, ALU_CMP, ACC, -1);
	asm_alu_imm(c, ALU_SUB, ACC, 4096);
	asm_alu_imm(c, ALU_AND, W2, 127);
	asm_alu_load(c, ALU_XOR, ACC, MEM(STACK, 8));
	asm_alu_mem_imm(c, ALU_SUB, 8, MEM(STACK, 8), 1);
	asm_alu_mem_imm(c, ALU_CMP, 4, MEM(ACC, 0), 0);
	asm_add_to(c, MEM(ACC, 8), AUX);
	asm_test(c, ACC, W1);
	asm_test_imm(c, TMP, 0x4000000);
	asm_mul(c, ACC, W1);
	asm_mul_imm(c, W1, ACC, -3);
	asm_shift(c, SHIFT_LEFT, ACC);
	asm_shift(c, SHIFT_SIGNED, ACC);
	asm_shift_imm(c, SHIFT_LEFT, W1, 4);
	asm_shift_imm(c, SHIFT_LEFT, W1, 0);
	asm_shift_imm(c, SHIFT_SIGNED, W1, 63);
	asm_shift_imm(c, SHIFT_RIGHT, W1, 8);
	asm_unary(c, UNARY_NEG, W1);
	asm_unary(c, UNARY_NOT, ACC);
	asm_divide(c, false);
	asm_divide(c, true);
	asm_scale(c);
	asm_log2(c, W1, AUX);
	asm_set(c, COND_L, ACC);
	asm_set(c, COND_BE, W1);
	asm_atomic_inc(c, TMP);
}

static const char sums[] = "add x0, x0, x10\n"
			   "cmp x9, x10\n"
			   "orr x0, x0, x10\n"
			   "add x10, x10, #0x2\n"
			   "cmn x0, #0x1\n"
			   "mov x16, #0x1000\n"
			   "subs x0, x0, x16\n"
			   "mov x16, #0x7f\n"
			   "ands x11, x11, x16\n"
			   "ldr x16, [sp, #8]\n"
			   "eor x0, x0, x16\n"
			   "add x17, sp, #0x8\n"
			   "ldr x16, [x17]\n"
			   "subs x16, x16, #0x1\n"
			   "str x16, [x17]\n"
			   "add x17, x0, #0x0\n"
			   "ldrsw x16, [x17]\n"
			   "cmp x16, #0x0\n"
			   "add x17, x0, #0x8\n"
			   "ldr x16, [x17]\n"
			   "add x16, x16, x1\n"
			   "str x16, [x17]\n"
			   "tst x0, x10\n"
			   "mov x16, #0x4000000\n"
			   "tst x9, x16\n"
			   "mul x0, x0, x10\n"
			   "mov x16, #0xfffffffffffffffd\n"
			   "mul x10, x0, x16\n"
			   "lsl x0, x0, x9\n"
			   "asr x0, x0, x9\n"
			   "lsl x10, x10, #4\n"
			   "lsr x10, x10, #0\n"
			   "asr x10, x10, #63\n"
			   "lsr x10, x10, #8\n"
			   "neg x10, x10\n"
			   "mvn x0, x0\n"
			   "udiv x16, x0, x9\n"
			   "msub x1, x16, x9, x0\n"
			   "mov x0, x16\n"
			   "sdiv x16, x0, x9\n"
			   "msub x1, x16, x9, x0\n"
			   "mov x0, x16\n"
			   "smulh x16, x0, x1\n"
			   "mul x0, x0, x1\n"
			   "extr x0, x16, x0, #32\n"
			   "clz x16, x1\n"
			   "mov x10, #0x3f\n"
			   "sub x10, x10, x16\n"
			   "cset x0, lt\n"
			   "cset x10, ls\n"
			   "ldxr x16, [x9]\n"
			   "add x16, x16, #0x1\n"
			   "stxr w17, x16, [x9]\n"
			   "cbnz w17, 0x10c8\n";

static void write_rest(struct native_code *c)
{
	int back = asm_here(c), on = asm_label(c);

	asm_push(c, 1 << 8 | 1 << 3 | 1 << 30);
	asm_pop(c, 1 << 8 | 1 << 3);
	asm_jump(c, on);
	asm_jump_if(c, COND_NE, back);
	asm_bind(c, on);
	asm_jump_to(c, 0x5000);
	asm_lea(c, W2, MEM_LABEL(back));
	asm_call(c, 0x6000);
	asm_from_vector(c, 8, ACC, 0);
	asm_from_vector(c, 4, W4, 31);
	asm_thread_pointer(c, TMP, true);
	asm_save_flags(c);
	asm_restore_flags(c);
	asm_clock(c);
	asm_rseq_signature(c);
}

static const char rest[] = "sub sp, sp, #0x20\n"
			   "stp x8, x3, [sp, #16]\n"
			   "str x30, [sp, #8]\n"
			   "ldp x8, x3, [sp]\n"
			   "add sp, sp, #0x10\n"
			   "b 0x101c\n"
			   "b.ne 0x1000\n"
			   "b 0x5000\n"
			   "adr x11, 0x1000\n"
			   "mov x16, #0x6000\n"
			   "blr x16\n"
			   "fmov x0, d0\n"
			   "fmov w13, s31\n"
			   "mrs x9, tpidr_el0\n"
			   "sub sp, sp, #0x10\n"
			   "str x0, [sp, #8]\n"
			   "mrs x0, nzcv\n"
			   "str x0, [sp]\n"
			   "ldr x0, [sp]\n"
			   "msr nzcv, x0\n"
			   "ldr x0, [sp, #8]\n"
			   "add sp, sp, #0x10\n"
			   "isb\n"
			   "mrs x0, cntvct_el0\n"
			   "lsl x0, x0, #6\n"
			   "brk #0x45e0\n";

#endif

/* One blank between words, none at the end of lines, no second reading of a number. */
static void squeeze(char *text)
{
	char *to = text;

	for (char *from = text; *from; from++) {
		bool blank = *from == ' ' || *from == '\t';

		if (from[0] == '/' && from[1] == '/') {
			from += strcspn(from, "\n");
			while (to > text && to[-1] == ' ')
				to--;
		}
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
#if defined(__aarch64__)
	assert_true(asm_jump_to(&c, 0x1000 + (128 << 20) - 4));
	assert_false(asm_jump_to(&c, 0x1004 + (128 << 20)));
#else
	assert_true(asm_jump_to(&c, UINT64_C(0x80001004)));
	assert_false(asm_jump_to(&c, UINT64_C(0x8000100a)));
#endif
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
