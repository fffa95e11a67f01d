/* A child of vfork() runs on the stack and with the struct rseq of the thread that made it, which
 * waits. For the kernel the child has no struct rseq: it restarts no sequence of it, and leaves the
 * number of the CPU as it was. So the child, when it comes from the system call, writes another
 * number there, which no CPU has: its trampolines then do without sequences, as threads without
 * rseq do. When the thread itself comes back, the kernel has mostly written the number of its CPU.
 * Where it has not, since the thread is on the same CPU as before, the thread does. */
#include "user/run/vfork.h"

#include <linux/rseq.h>
#include <sched.h>
#include <sys/syscall.h>

#if defined(__x86_64__)

#define ELSEWHERE (-3) /* the kernel has -1 and -2 for threads without */

/* In place of a comparison after the system call, in the middle of a function that may change these
 * registers. */
void vfork_code(struct native_code *c, struct libc_place *place)
{
	int child = asm_label(c), out = asm_label(c);
	int32_t offset = place->world->rseq + (int32_t)offsetof(struct rseq, cpu_id);
	struct asm_mem cpu = MEM_THREAD(offset);

	asm_test(c, ACC, ACC);
	asm_jump_if(c, COND_E, child);
	asm_alu_mem_imm(c, ALU_CMP, 4, cpu, ELSEWHERE);
	asm_jump_if(c, COND_NE, out);
	asm_bytes(c, "\x48\x89\xc6", 3);	 /* mov %rax, %rsi */
	asm_bytes(c, "\xb9\x7b\0\0\0", 5);	 /* mov $0x7b, %ecx */
	asm_bytes(c, "\x0f\x03\xc9", 3);	 /* lsl %ecx, %ecx: see this_cpu() */
	asm_bytes(c, "\x81\xe1\xff\x0f\0\0", 6); /* and $0xfff, %ecx */
	asm_bytes(c, "\xb8\xfd\xff\xff\xff", 5); /* mov $-3, %eax */
	asm_bytes(c, "\x64\x0f\xb1\x0c\x25", 5); /* cmpxchg %ecx, %fs:offset, unless the */
	asm_bytes(c, &offset, sizeof(offset));	 /* kernel has just written there */
	asm_bytes(c, "\x48\x89\xf0", 3);	 /* mov %rsi, %rax */
	asm_jump(c, out);
	asm_bind(c, child);
	asm_alu_mem_imm(c, ALU_CMP, 4, cpu, 0);
	asm_jump_if(c, COND_S, out); /* it was on none: its thread has no rseq */
	asm_store_imm(c, 4, cpu, ELSEWHERE);
	asm_bind(c, out);
}

/* For a child as vfork() makes it the system call is made here: after it there is no room for a
 * jump in clone(). Threads, and children of fork(), have a struct rseq of their own. */
void clone_code(struct native_code *c, struct libc_place *place)
{
	int other = asm_label(c);

	if (place->what == LIBC_CLONE)
		asm_mov(c, TMP, RDI); /* the flags */
	else
		asm_load(c, 8, false, TMP, MEM(RDI, 0)); /* the first word of its argument */
	asm_alu_imm(c, ALU_AND, TMP, CLONE_VM | CLONE_VFORK | CLONE_SETTLS);
	asm_alu_imm(c, ALU_CMP, TMP, CLONE_VM | CLONE_VFORK);
	asm_jump_if(c, COND_NE, other);
	asm_const(c, ACC, place->what == LIBC_CLONE ? SYS_clone : SYS_clone3);
	asm_bytes(c, "\x0f\x05", 2); /* syscall */
	place->waits_at = c->address + c->bytes.len;
	vfork_code(c, place);
	libc_go_on(c, place->called);
	asm_bind(c, other);
}

#else
void vfork_code(struct native_code *c, struct libc_place *place)
{
	(void)c, (void)place;
}

void clone_code(struct native_code *c, struct libc_place *place)
{
	(void)c, (void)place;
}
#endif
