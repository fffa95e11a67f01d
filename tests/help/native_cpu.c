#include "help/native_cpu.h"

#include <stdlib.h>
#include <string.h>

#include "help/check.h"

#ifdef __x86_64__

/* One thread at a time: the jump must change no register, so its places have fixed addresses. */
uint64_t native_cpu_kept[8]; /* rsp, struct native_cpu, code */
void native_cpu_jump(struct native_cpu *cpu, const void *code);
extern const char native_cpu_back[];

/* clang-format off */
__asm__(
"	.text\n"
"	.globl native_cpu_jump\n"
"	.type native_cpu_jump, @function\n"
"native_cpu_jump:\n"
"	push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
"	mov %rsp, native_cpu_kept(%rip)\n"
"	mov %rdi, 8+native_cpu_kept(%rip)\n"
"	mov %rsi, 16+native_cpu_kept(%rip)\n"
"	movdqu 136(%rdi), %xmm0;      movdqu 136+16(%rdi), %xmm1;   movdqu 136+32(%rdi), %xmm2\n"
"	movdqu 136+48(%rdi), %xmm3;   movdqu 136+64(%rdi), %xmm4;   movdqu 136+80(%rdi), %xmm5\n"
"	movdqu 136+96(%rdi), %xmm6;   movdqu 136+112(%rdi), %xmm7;  movdqu 136+128(%rdi), %xmm8\n"
"	movdqu 136+144(%rdi), %xmm9;  movdqu 136+160(%rdi), %xmm10; movdqu 136+176(%rdi), %xmm11\n"
"	movdqu 136+192(%rdi), %xmm12; movdqu 136+208(%rdi), %xmm13; movdqu 136+224(%rdi), %xmm14\n"
"	movdqu 136+240(%rdi), %xmm15\n"
"	pushfq; pop %rax; and $~0x8d5, %rax; or 128(%rdi), %rax; push %rax; popfq\n"
"	mov 0(%rdi), %rax;   mov 8(%rdi), %rcx;    mov 16(%rdi), %rdx;  mov 24(%rdi), %rbx\n"
"	mov 32(%rdi), %rsp;  mov 40(%rdi), %rbp;   mov 48(%rdi), %rsi\n"
"	mov 64(%rdi), %r8;   mov 72(%rdi), %r9;    mov 80(%rdi), %r10;  mov 88(%rdi), %r11\n"
"	mov 96(%rdi), %r12;  mov 104(%rdi), %r13;  mov 112(%rdi), %r14; mov 120(%rdi), %r15\n"
"	mov 56(%rdi), %rdi\n"
"	jmp *16+native_cpu_kept(%rip)\n"
"	.globl native_cpu_back\n"
"native_cpu_back:\n"
"	mov %rdi, 24+native_cpu_kept(%rip)\n"
"	mov 8+native_cpu_kept(%rip), %rdi\n"
"	mov %rax, 0(%rdi);   mov %rcx, 8(%rdi);    mov %rdx, 16(%rdi);  mov %rbx, 24(%rdi)\n"
"	mov %rsp, 32(%rdi);  mov %rbp, 40(%rdi);   mov %rsi, 48(%rdi)\n"
"	mov %r8, 64(%rdi);   mov %r9, 72(%rdi);    mov %r10, 80(%rdi);  mov %r11, 88(%rdi)\n"
"	mov %r12, 96(%rdi);  mov %r13, 104(%rdi);  mov %r14, 112(%rdi); mov %r15, 120(%rdi)\n"
"	mov native_cpu_kept(%rip), %rsp\n"
"	pushfq; pop %rax; and $0x8d5, %eax; mov %rax, 128(%rdi)\n"
"	mov 24+native_cpu_kept(%rip), %rax; mov %rax, 56(%rdi)\n"
"	movdqu %xmm0, 136(%rdi);      movdqu %xmm1, 136+16(%rdi);   movdqu %xmm2, 136+32(%rdi)\n"
"	movdqu %xmm3, 136+48(%rdi);   movdqu %xmm4, 136+64(%rdi);   movdqu %xmm5, 136+80(%rdi)\n"
"	movdqu %xmm6, 136+96(%rdi);   movdqu %xmm7, 136+112(%rdi);  movdqu %xmm8, 136+128(%rdi)\n"
"	movdqu %xmm9, 136+144(%rdi);  movdqu %xmm10, 136+160(%rdi); movdqu %xmm11, 136+176(%rdi)\n"
"	movdqu %xmm12, 136+192(%rdi); movdqu %xmm13, 136+208(%rdi); movdqu %xmm14, 136+224(%rdi)\n"
"	movdqu %xmm15, 136+240(%rdi)\n"
"	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
"	ret\n"
"	.size native_cpu_jump, .-native_cpu_jump\n");
/* clang-format on */

void native_cpu_run(struct native_cpu *cpu, const void *code)
{
	native_cpu_jump(cpu, code);
}

uint64_t native_back(void)
{
	return (uintptr_t)native_cpu_back;
}
#else
void native_cpu_run(struct native_cpu *cpu, const void *code)
{
	(void)cpu;
	(void)code;
	skip();
}

uint64_t native_back(void)
{
	return 0;
}
#endif

void native_cpu_fill(struct native_cpu *cpu, uint64_t seed)
{
	uint64_t *words = (uint64_t *)cpu;

	for (size_t i = 0; i < sizeof(*cpu) / 8; i++)
		words[i] = (seed + i + 1) * UINT64_C(0x9e3779b97f4a7c15);
	cpu->flags &= CPU_FLAGS;
	cpu->regs[4] = (uintptr_t)cpu->stack + CPU_STACK_BELOW;
}

void native_cpu_expect_same(const struct native_cpu *before, const struct native_cpu *after)
{
	const unsigned own = CPU_STACK_BELOW - 128;

	for (unsigned i = 0; i < 16; i++)
		if (before->regs[i] != after->regs[i])
			fail_msg("general register %u: %llx became %llx", i,
				 (unsigned long long)before->regs[i],
				 (unsigned long long)after->regs[i]);
	assert_int_equal(before->flags, after->flags);
	assert_memory_equal(before->xmm, after->xmm, sizeof(before->xmm));
	assert_memory_equal(before->stack + own, after->stack + own, CPU_STACK - own);
}
