/* A filter may end the process for a call that code of ours makes in it, and nothing in a process's
 * memory says whether it has one. So the kept page of the process says it, for good: the tracer
 * looks for a filter when it begins and ten times a second, and threads that are about to make one
 * by prctl(), seccomp() or syscall() of the C library say it themselves, in inside_filter(). */
#include "user/run/filter.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/inside/blob.h"
#include "user/patch/libc.h"
#include "user/ptrace/tracee.h"

#if !defined(SYS_seccomp)
#define SYS_seccomp 0
#endif

static int forbid(struct native_process *p)
{
	const uint64_t yes = 1;
	int err =
		inject_write(p->x, inject_world(p->x)->kept + offsetof(struct kept_page, no_calls),
			     &yes, sizeof(yes));

	p->calls.are_forbidden |= !err;
	return err;
}

int filter_look(struct native_process *p)
{
	return p->calls.are_forbidden || !inject_has_filter(inject_pid(p->x)) ? 0 : forbid(p);
}

int filter_expect(struct native_process *p)
{
	if (p->calls.are_forbidden)
		return 0;
	p->calls.may_be_filtered = true;
	return forbid(p);
}

/* A thread that reads such memory waits until another one has made the page, which may be the one
 * that it is itself (userfaultfd(2)). The kernel does not wait there. */
static bool makes_pages(pid_t pid)
{
	static const char wanted[] = "anon_inode:[userfaultfd]";
	char name[sizeof(wanted)];
	struct dirent *entry;
	bool found = false;
	char path[32];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir)))
		found = readlinkat(dirfd(dir), entry->d_name, name, sizeof(name)) ==
				(ssize_t)sizeof(wanted) - 1 &&
			!memcmp(name, wanted, sizeof(wanted) - 1);
	if (dir)
		closedir(dir);
	return found;
}

int filter_look_at_files(struct native_process *p)
{
	if (!makes_pages(inject_pid(p->x)))
		return 0;
	p->calls.makes_pages = true;
	return filter_expect(p);
}

int filter_look_at_all(struct native_process *p)
{
	struct dirent *entry;
	bool has = false;
	char path[64];
	uint64_t tid;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)inject_pid(p->x));
	dir = opendir(path);
	while (dir && !has && !p->calls.are_forbidden && (entry = readdir(dir)))
		has = !str_to_u64(str_from(entry->d_name), &tid) && inject_has_filter((pid_t)tid);
	if (dir)
		closedir(dir);
	return has ? forbid(p) : 0;
}

/* ---- before a system call of the C library. The registers that the call itself changes are free,
 * and the flags. */

#if defined(__x86_64__)
#define NUMBER RAX
#elif defined(__aarch64__)
#define NUMBER 8
#else
#define NUMBER 0
#endif

/* inside_filter(process, no_calls, number, and the first three arguments of the call) */
static void ask(struct native_code *c, const struct libc_place *place)
{
	static const int args[] = ASM_ARGS;

	for (int i = 2; i >= 0; i--)
		asm_mov(c, args[i + 3], args[i]);
	if (place->what == LIBC_PRCTL)
		asm_const(c, args[2], SYS_prctl);
	else
		asm_mov(c, args[2], NUMBER);
	asm_const(c, args[1], place->world->kept + offsetof(struct kept_page, no_calls));
	asm_const(c, args[0], place->world->process);
	asm_call(c, place->inside + native_function("inside_filter"));
}

void filter_code(struct native_code *c, struct libc_place *place)
{
	const uint32_t saved = ASM_CALL_CHANGES;
	int out = asm_label(c), asks = asm_label(c);

	if (place->what != LIBC_PRCTL) {
		asm_alu_imm(c, ALU_CMP, NUMBER, SYS_prctl);
		asm_jump_if(c, COND_E, asks);
		asm_alu_imm(c, ALU_CMP, NUMBER, SYS_seccomp);
		asm_jump_if(c, COND_NE, out);
	}
	asm_bind(c, asks);
	if (ASM_RED_ZONE)
		asm_lea(c, STACK, MEM(STACK, -ASM_RED_ZONE));
	asm_push(c, saved);
	ask(c, place);
	asm_pop(c, saved);
	if (ASM_RED_ZONE)
		asm_lea(c, STACK, MEM(STACK, ASM_RED_ZONE));
	asm_bind(c, out);
}
