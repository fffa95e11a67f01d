/* Code in a running process: memory and trampolines are put into it by ptrace and /proc/PID/mem,
 * and its probe sites become jumps to them, without a library in the process and without a trap.
 *
 *   inject_open        may this process be traced so, and what does it have mapped?
 *   inject_plan        how one site can become a jump: decided from the bytes in memory
 *   inject_reserve     addresses for code, near a site
 *   inject_map         one thread maps all that was planned and reserved
 *   inject_write       code into it
 *   inject_enable      all threads are stopped for a moment, and the sites' bytes written
 *   inject_disable     the reverse
 *
 * A site keeps its bytes except for the few that its form names, and if anything was interrupted in
 * between (by SIGKILL of the tracer, too) the process runs on. x86-64 and aarch64.
 * doc/user-mode.md has drawings of the bytes. */
#ifndef NOPAL_USER_PTRACE_INJECT_H
#define NOPAL_USER_PTRACE_INJECT_H

#include <elf.h>
#include <sys/types.h>

#include "base/diag.h"

struct inject;

/* How a site becomes a jump. */
enum inject_form {
	INJECT_NONE,	  /* it cannot: `why` says why */
	INJECT_NOP10,	  /* 66 2e 0f 1f 84 ..: byte 0 becomes e9, the next four are its offset */
	INJECT_NOP5,	  /* 0f 1f 44 ss dd: ss and dd are chosen, then byte 0 becomes e9 */
	INJECT_PUN,	  /* 90: becomes e9, and the next four bytes, as they are, its offset */
	INJECT_PADDED,	  /* 90 .. c3, then padding: a jump whose last bytes are in the padding */
	INJECT_RETARGET,  /* 90 .. e9 rel32: a jump or call that follows gets another target */
	INJECT_DISPLACED, /* an instruction of 5 bytes or more, which is moved; of the C library
			     only */
	INJECT_RETURN,	  /* c3, then padding: a jump over both, or as a pun; of the loader only */
	INJECT_BRANCH,	  /* aarch64: nop becomes b, in one piece */
	INJECT_FORMS,
};

const char *inject_form_name(
	enum inject_form form); /* "nop10", "nop5", "pun", "padded", "retarget", ... */

#define INJECT_PATCH_MAX 5
#define INJECT_DETOURS	 15 /* breakpoints on some of 4 instructions */
#define INJECT_COPY_MAX	 15
/* Bytes from a site to memory for its code that inject_reserve() has found for another. */
#if defined(__aarch64__)
#define INJECT_REACH 0x4000000u
#else
#define INJECT_REACH 0x30000000u
#endif

struct inject_site {
	uint64_t pc;	    /* where its note says it is */
	uint64_t semaphore; /* address of its 16 bits; 0: none */
	enum inject_form form;
	const char *why; /* INJECT_NONE: "its memory cannot be read"; static */
	bool is_taken;	 /* ... or that something is mapped where its jump would lead, at present */
	uint64_t patch;	 /* of the bytes that change, the first: the only one for most forms */
	uint8_t len;
	uint8_t before[INJECT_PATCH_MAX], after[INJECT_PATCH_MAX];
	uint8_t opcode;	  /* INJECT_RETARGET: between the nop and `patch`; else 0 */
	uint64_t landing; /* where the jump goes: a second jump is put there, to `body` */
	/* ... and where it goes with a breakpoint on an instruction in its offset */
	uint64_t detours[INJECT_DETOURS];
	uint8_t detour_count;
	bool is_far;	 /* its trampoline may be anywhere */
	bool is_call;	 /* INJECT_RETARGET: the trampoline comes between a call and its target */
	uint64_t resume; /* where the site goes on */
	/* An instruction that is run first then, and where it leads: resume is the former; 0: none.
	 */
	uint64_t copy, copy_end;
	uint8_t copied_len, copied[INJECT_COPY_MAX];
	uint64_t body; /* the trampoline; the caller sets it before inject_enable() */
	bool is_on;
	bool was_on;	/* some time: its image may come and go */
	bool is_raised; /* its semaphore */
	bool is_listed; /* in the ledger of the process, as number ... */
	uint64_t entry;
};

/* What of a process the trampolines need; the same for all its threads. */
struct inject_world {
	uint64_t shared;  /* address of the shared memory; 0: inject_map() has not run */
	uint64_t process; /* a page that is the process's own: a child of fork finds it zeroed */
	uint64_t kept;	  /* another, which a child of fork finds as it was */
	bool is_private;  /* a child of fork does not have the shared memory */
	int32_t rseq;	  /* offset of struct rseq from the thread pointer; 0: not registered */
	int32_t tid;	  /* ... of libc's copy of the thread's number; 0: not found */
};

/* How long its threads were stopped. */
struct inject_pause {
	unsigned threads;
	uint64_t all_ns; /* all of them */
	uint64_t one_ns; /* the one that mapped memory */
};

enum inject_state {
	SITE_OFF,
	SITE_ON,
	SITE_SHADOWED, /* a breakpoint is there: events go to its owner */
	SITE_GONE,     /* neither the bytes before nor those written */
};

/* A process that is stopped under the ptrace of the calling thread is not stopped again.
 * -EPERM, -EACCES: not this user's to trace; -EBUSY: traced by another; -ENOTSUP: a 32-bit
 * program, a system call filter, another CPU; -ESRCH. Each with a message. */
int inject_open(pid_t pid, struct inject **out, struct diag *d);
void inject_close(struct inject *x); /* disables nothing; NULL is fine */
pid_t inject_pid(const struct inject *x);
/* May so many bytes of shared memory and code be mapped in the process, and would it not miss them?
 * -ENOSPC with a message: a limit is too near. */
int inject_check_limits(pid_t pid, uint64_t size, struct diag *d);
/* The addresses at which this byte of a file is mapped as code; at most `most`, returns how many.
 */
unsigned inject_find(struct inject *x, uint64_t inode, uint64_t offset, uint64_t *out,
		     unsigned most);
/* The same for a byte that is mapped as data, writable: a semaphore of the image at `pc`. 0: it is
 * not. */
uint64_t inject_find_data(struct inject *x, uint64_t inode, uint64_t offset, uint64_t pc);

/* Fill in all from `form` on for the site at site->pc, and reserve what it needs. Always says
 * something: site->form or site->why. -ENOMEM. */
int inject_plan(struct inject *x, struct inject_site *site);
/* Has the process mapped something else where the site's jump leads, before inject_map() could, or
 * just when it was planned? */
bool inject_is_lost(const struct inject *x, const struct inject_site *site);
/* Plan such a site anew, by what inject_reread() has found: of any kind, also those of
 * inject_plan_loader() and inject_plan_libc(). -ENOMEM. */
int inject_replan(struct inject *x, struct inject_site *site);
/* The file that is mapped as code at an address: its inode; 0: none. */
uint64_t inject_file_at(const struct inject *x, uint64_t address);
/* Another file is mapped where the site's was: the site has no plan until its file is back, and
 * what it took is free for others. */
int inject_rest(struct inject *x, struct inject_site *site);
/* It is back: plan the site anew. site->body is kept if its trampoline is right for the new plan,
 * else 0. -ENOMEM. */
int inject_resume(struct inject *x, struct inject_site *site);
/* Plan the function that the dynamic loader calls when it has mapped a library, before any code of
 * that runs, and when it has unmapped one. The trampoline returns to the caller. *state: of 4
 * bytes, which are RT_CONSISTENT, 0, when the loader is done. -ENOENT: there is none, or it is not
 * as expected; -ENOMEM. */
int inject_plan_loader(struct inject *x, struct inject_site *out, uint64_t *state);
/* Is the program linked with this library, so that it stays mapped? */
bool inject_is_linked(struct inject *x, struct str path);
/* Places in the C library. */
enum inject_libc {
	LIBC_VFORK,   /* vfork(): where parent and child come from the system call; x86-64 */
	LIBC_PRCTL,   /* just before prctl(2) */
	LIBC_SYSCALL, /* syscall(): just before the call, whose number and arguments are in place */
	LIBC_CLONE,   /* just before clone(2), whose number is not in place; x86-64 */
	LIBC_CLONE3,
	LIBC_OWN, /* a call of the program's own code, which is never a place; x86-64 */
};

struct inject_place {
	enum inject_libc what;
	uint64_t called; /* after the system call that comes next; 0: none does */
	struct inject_site site;
};

#define LIBC_BIT(kind) (1u << (kind))
/* Plan those of them that are as expected, at most `most`; how many, or -ENOMEM. *lacks: a bit for
 * each kind of which one is left out. */
int inject_plan_libc(struct inject *x, struct inject_place *out, unsigned most, unsigned *lacks);
/* What several processes of a session have in common, so that it is searched for once: give it to
 * each that was opened. It lives longer than they do. NULL: no memory. */
struct inject_known;
struct inject_known *inject_known_new(void);
void inject_known_free(struct inject_known *known);
void inject_use_known(struct inject *x, struct inject_known *known);
/* `beat` is called again and again in what takes long, from any thread. */
void inject_use_beat(struct inject *x, void (*beat)(void *arg), void *arg);
/* A trampoline makes a system call of the program there. Threads that wait in it do not count as
 * being in code of ours. */
void inject_waits_at(struct inject *x, uint64_t address);
/* Bytes at the start of memory for code where none is: an address of that first byte, which the
 * program may have from what was mapped there before, does not lead into the code. */
#define INJECT_MARGIN 16
/* Addresses for `size` bytes of code that reach `near` and its neighbourhood by a direct jump.
 * -ENOSPC, -ENOMEM. */
int inject_reserve(struct inject *x, uint64_t near, size_t size, uint64_t *out);
/* These bytes of the shared memory, whole pages, will be met by many events: inject_map() lets the
 * kernel map their pages at once. */
void inject_expect(struct inject *x, uint64_t offset, size_t size);
/* Parts of the shared memory that inject_map() maps beside its first `shared_size` bytes, at the
 * same distance from these as in the file; after each there are free addresses, up to `span` bytes
 * from the first. The caller keeps them. */
struct inject_part {
	uint64_t at, size;
};

void inject_share(struct inject *x, const struct inject_part *parts, size_t count, uint64_t span);
/* Children of fork shall not have the shared memory: they may drop their rights, and must not read
 * then what the process goes on to fire. To be called before inject_map(). */
void inject_keep_private(struct inject *x);
/* Map what was planned and reserved. What the process has mapped itself meanwhile is given up:
 * inject_is_lost() says which sites have such landings, and inject_enable() leaves them out; when
 * it is what was reserved, -EEXIST without a message: inject_reread() and reserve again. The first
 * time also `shared_size` bytes of the file `shared_fd` (a sealed memfd) and the page of the
 * process. */
int inject_map(struct inject *x, int shared_fd, size_t shared_size, struct diag *d);
const struct inject_world *inject_world(const struct inject *x);

int inject_write(struct inject *x, uint64_t address, const void *bytes, size_t len);
/* ... to which nothing leads yet: it is written by inject_enable() where the kernel lets only a
 * tracer that has stopped the process write it. */
int inject_write_code(struct inject *x, uint64_t address, const void *bytes, size_t len);
int inject_read(struct inject *x, uint64_t address, void *bytes, size_t len);
/* The program headers in the memory of the image whose first byte is there, at most so many; 0: it
 * has none that can be read. They may be anything. */
#define INJECT_SEGMENTS 64
unsigned inject_segments(struct inject *x, uint64_t image, Elf64_Phdr *segments);
/* The same while all threads are stopped, and none of them is in code of ours. -EAGAIN: one is. */
int inject_write_stopped(struct inject *x, uint64_t address, const void *bytes, size_t len);
/* Write the bytes of every site that has a form and a body, and raise its semaphore. Sites whose
 * bytes are no longer those of the plan are left out: `form` becomes INJECT_NONE. */
int inject_enable(struct inject *x, struct inject_site *sites, size_t count, struct diag *d);
int inject_disable(struct inject *x, struct inject_site *sites, size_t count, struct diag *d);
/* Call `fn` while all threads of the process are stopped, which are then not stopped anew for each
 * step: for a process that waits for us. What `fn` returns; -errno with a message. It runs in a
 * thread of its own. */
int inject_held(struct inject *x, int (*fn)(void *arg), void *arg, struct diag *d);
/* The end of a session: disable all its sites, and unmap what was mapped, in one stop. Where a
 * thread is in our code, wait until none is, for at most a second: all that was begun is then
 * complete. */
int inject_disable_all(struct inject *x, struct inject_site *sites, size_t count, struct diag *d);
/* Try once more to unmap what a thread may return to. 0 or -errno. */
int inject_leave(struct inject *x);
uint64_t inject_kept(const struct inject *x); /* bytes that are mapped still */
enum inject_state inject_look(struct inject *x, const struct inject_site *site);
/* Would a breakpoint at the address keep threads from the site's trampoline? */
bool inject_jumps_across(const struct inject_site *site, uint64_t address);
/* Is a site that was enabled off, because its image was mapped anew, or a breakpoint is gone?
 * inject_enable() then enables it again. */
bool inject_renew(struct inject *x, struct inject_site *site);
/* Is it on, and its semaphore not raised, since its data were mapped later than its code?
 * inject_enable() then raises it. */
bool inject_lacks_semaphore(struct inject *x, struct inject_site *site);
const struct inject_pause *inject_pause(const struct inject *x);
int inject_reread(struct inject *x); /* what it has mapped by now */
/* Has this thread a seccomp filter? One that has ended has none. */
bool inject_has_filter(pid_t tid);
/* Had it any file mapped when inject_reread() read that? If not, it was about to end. */
bool inject_has_files(const struct inject *x);
bool inject_has_ended(struct inject *x); /* it exited, or runs another program */

/* Undo what tracers that were killed left in the process: bytes of sites, semaphores, memory.
 * Number of sites; -ENOENT: nothing was left. Memory that a thread may return to stays, with a
 * warning. */
int inject_clean(pid_t pid, struct diag *d);
/* Is it a child of fork, with sites that this tracer enabled in its parent? */
bool inject_is_inherited(pid_t pid);
/* Undo in a child of fork what it has inherited of this tracer's sites. */
void inject_clean_child(pid_t pid);

/* ---- inherit.c */

int process_memory(pid_t pid, int access); /* /proc/PID/mem, O_RDWR or O_RDONLY; -errno */
/* Is this the memory of a child of fork that has what `of` had then, and nothing of its own? Read
 * bytes of it. */
bool inject_is_heir(const struct inject *of, int memory, uint64_t address, void *bytes, size_t len);
/* Such a child becomes a process of its own, with what it has. Errors are those of inject_open().
 */
int inject_inherit(const struct inject *from, pid_t pid, struct inject **out, struct diag *d);
/* A copy of a site of its parent: is it enabled in the child, too? If not, it must be planned
 * anew. */
bool inject_inherit_site(struct inject *x, struct inject_site *s);
/* Is this memory that was planned and mapped? */
bool inject_has_code(const struct inject *x, uint64_t start, uint64_t end);

/* How code of a process may be written here; kernels since 6.12 choose by
 * proc_mem.force_override. */
enum inject_writes {
	INJECT_WRITES_NONE,   /* not at all: there is no user mode */
	INJECT_WRITES_ALWAYS, /* by /proc/PID/mem */
	INJECT_WRITES_TRACED, /* ... by the thread that has stopped it: "ptrace" */
	INJECT_WRITES_POKED,  /* by PTRACE_POKEDATA alone: "never" */
};

/* Try it on a child. */
enum inject_writes inject_try_writes(void);

#endif
