#include "help/native_cpu.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "user/asm/code.h"
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
"	movdqu 144(%rdi), %xmm0;      movdqu 144+16(%rdi), %xmm1;   movdqu 144+32(%rdi), %xmm2\n"
"	movdqu 144+48(%rdi), %xmm3;   movdqu 144+64(%rdi), %xmm4;   movdqu 144+80(%rdi), %xmm5\n"
"	movdqu 144+96(%rdi), %xmm6;   movdqu 144+112(%rdi), %xmm7;  movdqu 144+128(%rdi), %xmm8\n"
"	movdqu 144+144(%rdi), %xmm9;  movdqu 144+160(%rdi), %xmm10; movdqu 144+176(%rdi), %xmm11\n"
"	movdqu 144+192(%rdi), %xmm12; movdqu 144+208(%rdi), %xmm13; movdqu 144+224(%rdi), %xmm14\n"
"	movdqu 144+240(%rdi), %xmm15\n"
"	pushfq; pop %rax; and $~0x408d5, %rax; or 128(%rdi), %rax; push %rax; popfq\n"
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
"	pushfq; pop %rax; mov %rax, %rcx; and $0x408d5, %ecx; mov %rcx, 128(%rdi)\n"
"	and $~0x40000, %rax; push %rax; popfq\n"
"	mov 24+native_cpu_kept(%rip), %rax; mov %rax, 56(%rdi)\n"
"	movdqu %xmm0, 144(%rdi);      movdqu %xmm1, 144+16(%rdi);   movdqu %xmm2, 144+32(%rdi)\n"
"	movdqu %xmm3, 144+48(%rdi);   movdqu %xmm4, 144+64(%rdi);   movdqu %xmm5, 144+80(%rdi)\n"
"	movdqu %xmm6, 144+96(%rdi);   movdqu %xmm7, 144+112(%rdi);  movdqu %xmm8, 144+128(%rdi)\n"
"	movdqu %xmm9, 144+144(%rdi);  movdqu %xmm10, 144+160(%rdi); movdqu %xmm11, 144+176(%rdi)\n"
"	movdqu %xmm12, 144+192(%rdi); movdqu %xmm13, 144+208(%rdi); movdqu %xmm14, 144+224(%rdi)\n"
"	movdqu %xmm15, 144+240(%rdi)\n"
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
#elif defined(__aarch64__)

uint64_t native_cpu_kept[2]; /* sp, struct native_cpu */
void native_cpu_jump(struct native_cpu *cpu);
extern char native_cpu_site[];
extern const char native_cpu_back[];

/* No instruction jumps without a register but to a fixed place: so the jump is written into the
 * site. */
/* clang-format off */
__asm__(
"	.text\n"
"	.p2align 4\n"
"	.globl native_cpu_jump, native_cpu_site, native_cpu_back\n"
"	.type native_cpu_jump, %function\n"
"native_cpu_jump:\n"
"	stp x29, x30, [sp, -160]!\n"
"	stp x19, x20, [sp, 16];  stp x21, x22, [sp, 32];  stp x23, x24, [sp, 48]\n"
"	stp x25, x26, [sp, 64];  stp x27, x28, [sp, 80]\n"
"	stp d8, d9, [sp, 96];    stp d10, d11, [sp, 112]; stp d12, d13, [sp, 128]; stp d14, d15, [sp, 144]\n"
"	adrp x1, native_cpu_kept\n"
"	add x1, x1, :lo12:native_cpu_kept\n"
"	mov x2, sp\n"
"	stp x2, x0, [x1]\n"
"	ldr x1, [x0, 256]; msr nzcv, x1\n"
"	ldr x1, [x0, 248]; mov sp, x1\n"
"	ldp q0, q1, [x0, 272];   ldp q2, q3, [x0, 304];   ldp q4, q5, [x0, 336];   ldp q6, q7, [x0, 368]\n"
"	ldp q8, q9, [x0, 400];   ldp q10, q11, [x0, 432]; ldp q12, q13, [x0, 464]; ldp q14, q15, [x0, 496]\n"
"	ldp q16, q17, [x0, 528]; ldp q18, q19, [x0, 560]; ldp q20, q21, [x0, 592]; ldp q22, q23, [x0, 624]\n"
"	ldp q24, q25, [x0, 656]; ldp q26, q27, [x0, 688]; ldp q28, q29, [x0, 720]; ldp q30, q31, [x0, 752]\n"
"	ldp x2, x3, [x0, 16];    ldp x4, x5, [x0, 32];    ldp x6, x7, [x0, 48];    ldp x8, x9, [x0, 64]\n"
"	ldp x10, x11, [x0, 80];  ldp x12, x13, [x0, 96];  ldp x14, x15, [x0, 112]; ldp x16, x17, [x0, 128]\n"
"	ldp x18, x19, [x0, 144]; ldp x20, x21, [x0, 160]; ldp x22, x23, [x0, 176]; ldp x24, x25, [x0, 192]\n"
"	ldp x26, x27, [x0, 208]; ldp x28, x29, [x0, 224]; ldr x30, [x0, 240]\n"
"	ldp x0, x1, [x0]\n"
"native_cpu_site:\n"
"	nop\n"
"native_cpu_back:\n"
"	stp x0, x1, [sp, -16]\n"
"	adrp x0, native_cpu_kept\n"
"	add x0, x0, :lo12:native_cpu_kept\n"
"	ldr x1, [x0, 8]\n"
"	stp x2, x3, [x1, 16];    stp x4, x5, [x1, 32];    stp x6, x7, [x1, 48];    stp x8, x9, [x1, 64]\n"
"	stp x10, x11, [x1, 80];  stp x12, x13, [x1, 96];  stp x14, x15, [x1, 112]; stp x16, x17, [x1, 128]\n"
"	stp x18, x19, [x1, 144]; stp x20, x21, [x1, 160]; stp x22, x23, [x1, 176]; stp x24, x25, [x1, 192]\n"
"	stp x26, x27, [x1, 208]; stp x28, x29, [x1, 224]; str x30, [x1, 240]\n"
"	ldp x2, x3, [sp, -16];   stp x2, x3, [x1]\n"
"	mov x2, sp;              str x2, [x1, 248]\n"
"	mrs x2, nzcv;            str x2, [x1, 256]\n"
"	stp q0, q1, [x1, 272];   stp q2, q3, [x1, 304];   stp q4, q5, [x1, 336];   stp q6, q7, [x1, 368]\n"
"	stp q8, q9, [x1, 400];   stp q10, q11, [x1, 432]; stp q12, q13, [x1, 464]; stp q14, q15, [x1, 496]\n"
"	stp q16, q17, [x1, 528]; stp q18, q19, [x1, 560]; stp q20, q21, [x1, 592]; stp q22, q23, [x1, 624]\n"
"	stp q24, q25, [x1, 656]; stp q26, q27, [x1, 688]; stp q28, q29, [x1, 720]; stp q30, q31, [x1, 752]\n"
"	ldr x2, [x0];            mov sp, x2\n"
"	ldp x19, x20, [sp, 16];  ldp x21, x22, [sp, 32];  ldp x23, x24, [sp, 48]\n"
"	ldp x25, x26, [sp, 64];  ldp x27, x28, [sp, 80]\n"
"	ldp d8, d9, [sp, 96];    ldp d10, d11, [sp, 112]; ldp d12, d13, [sp, 128]; ldp d14, d15, [sp, 144]\n"
"	ldp x29, x30, [sp], 160\n"
"	ret\n"
"	.size native_cpu_jump, .-native_cpu_jump\n");
/* clang-format on */

void native_cpu_run(struct native_cpu *cpu, const void *code)
{
	native_cpu_patch(native_cpu_site, code);
	native_cpu_jump(cpu);
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
	cpu->regs[CPU_SP] = (uintptr_t)cpu->stack + CPU_STACK_BELOW;
}

void native_cpu_expect_same(const struct native_cpu *before, const struct native_cpu *after)
{
	const unsigned own = CPU_STACK_BELOW - ASM_RED_ZONE;

	for (unsigned i = 0; i < CPU_REGS; i++)
		if (before->regs[i] != after->regs[i])
			fail_msg("general register %u: %llx became %llx", i,
				 (unsigned long long)before->regs[i],
				 (unsigned long long)after->regs[i]);
	assert_int_equal(before->flags, after->flags);
	assert_memory_equal(before->vectors, after->vectors, sizeof(before->vectors));
	assert_memory_equal(before->stack + own, after->stack + own, CPU_STACK - own);
}

void native_cpu_patch(char *site, const char *to)
{
	char *page = (char *)((uintptr_t)site & ~UINT64_C(4095));
	size_t size = ((uintptr_t)site & 4095) > 4096 - CPU_SITE_BYTES ? 8192 : 4096;
	struct native_code jump;

	code_open(&jump, (uintptr_t)site);
	assert_true(asm_jump_to(&jump, (uintptr_t)to));
	assert_int_equal(mprotect(page, size, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	memcpy(site, jump.bytes.ptr, jump.bytes.len);
	__builtin___clear_cache(site, site + jump.bytes.len);
	assert_int_equal(mprotect(page, size, PROT_READ | PROT_EXEC), 0);
	code_close(&jump);
}
