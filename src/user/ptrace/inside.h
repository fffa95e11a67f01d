/* What the files of this module share. */
#ifndef NOPAL_USER_PTRACE_INSIDE_H
#define NOPAL_USER_PTRACE_INSIDE_H

#include "base/buf.h"
#include "symbols/maps.h"
#include "user/ptrace/cpu.h"
#include "user/ptrace/inject.h"

#ifndef SYS_mmap
#define SYS_mmap SYS_mmap2 /* 32-bit CPUs, whose processes are refused before any call */
#endif

/* ---- space.c: the address space of a process, and what is planned in it */

struct range {
	uint64_t start, end;
	uint64_t offset, inode; /* of the file */
	bool is_code, is_writable;
	bool is_vdso;	/* what the kernel has mapped for its fast calls */
	uint8_t spare;	/* free, but better left so, as the heap may grow there: 2 more than 1 */
	bool is_bodies; /* planned: trampolines, not landings */
};

#define SPARE_MOST 2

struct piece { /* bytes of a planned page that are spoken for */
	uint64_t start, end;
};

struct space {
	struct range *ranges; /* what must not be mapped over, by address */
	size_t count, cap;
	struct range *files; /* mappings of files */
	size_t file_count, file_cap;
	struct range *planned; /* to be mapped by us: code */
	size_t planned_count, planned_cap;
	size_t mapped_count; /* of these, those that are */
	struct piece *pieces;
	size_t piece_count, piece_cap;
	uint8_t spare; /* up to which that may be used; 0: none */
	uint64_t stub; /* room for the stub of remote.c; 0: none */
};

#define LEAST_PAGE 4096u
#if defined(__aarch64__)
#define PAGE	  65536u /* the largest of the three that kernels have: right with all of them */
#define SPACE_TOP 0xffffffff0000u
#else
#define PAGE	  4096u
#define SPACE_TOP 0x7ffffffff000u
#endif

/* Read the mappings; what was planned stays. */
int space_read(struct space *s, pid_t pid);
void space_free(struct space *s);
/* Where its mappings end: processes have fewer bits of addresses on some kernels. */
uint64_t space_top(const struct space *s);
/* Is all of it one mapping of code without a file? */
bool space_is_code(const struct space *s, uint64_t start, uint64_t end);
/* Are these bytes of planned pages that have been mapped? */
bool space_is_mapped(const struct space *s, uint64_t start, size_t size);
/* May these bytes be ours: pages that are free or planned, and no piece? */
bool space_has_room(const struct space *s, uint64_t start, size_t size);
/* Make them a piece, and their pages planned. -ENOMEM. */
int space_take(struct space *s, uint64_t start, size_t size, bool is_bodies);
/* Is some of it planned already? */
bool space_is_planned(const struct space *s, uint64_t start, uint64_t end);
/* Pages that are mapped already, by an earlier session or a parent. */
int space_adopt(struct space *s, const struct range *pages);
/* Another tracer may have unmapped such pages since: then they must be mapped again. */
int space_recheck_adopted(struct space *s, pid_t pid);
void space_give_back(struct space *s, uint64_t start, size_t size);
/* Whole free pages between low and high, the nearest to the middle; 0: there are none. */
uint64_t space_find(const struct space *s, size_t size, uint64_t low, uint64_t high);

/* ---- the process */

#define ADOPTED_MOST 4096 /* pages of landings of earlier sessions */
#define LEDGERS_MOST 64	  /* in one process: sessions that are over */
#define OWN_PAGES    2	  /* of the process, not of the session: after its ledger */
#define PRESENT_MOST 256  /* pieces of shared memory */
#define WAITS_MOST   8

/* Bytes that a planned site changes, and bytes that must stay for it. */
struct claim {
	uint64_t patch, patch_end;
	uint64_t fixed, fixed_end;
};

/* A direct jump or call, or bytes that look like one. */
struct jump {
	uint64_t target, from;
};

/* In one mapping of code: those that lead to instructions soon after a nop, and to padding. */
struct jumps {
	uint64_t start, end;
	struct jump *all;
	size_t count, cap;
};

/* Bytes for code that only a thread that stops the process can write. */
struct late_write {
	uint64_t address;
	struct buf bytes;
};

struct threads;
struct inject {
	pid_t pid;
	int mem_fd;
	bool is_filtered; /* it has a seccomp filter */
	bool was_held;	  /* under our ptrace, when it was opened */
	struct space space;
	struct inject_world world;
	struct inject_pause pause;
	struct claim *claims;
	size_t claim_count, claim_cap;
	struct jumps *jumps;
	size_t jumps_count, jumps_cap;
	uint64_t ledger;		    /* address */
	uint32_t ledger_count, ledger_most; /* entries */
	uint32_t ledger_size;		    /* bytes */
	struct piece present[PRESENT_MOST]; /* of the shared memory, from its start */
	unsigned present_count;
	const struct inject_part *parts; /* of the shared memory */
	size_t part_count;
	uint64_t span;
	uint64_t old[LEDGERS_MOST]; /* ledgers of sessions that are over */
	unsigned old_count;
	struct inject_known *known; /* NULL: nothing is kept */
	void (*beat)(void *arg);    /* see inject_use_beat(); NULL: none */
	void *beat_arg;
	bool has_left;	/* inject_leave() was tried */
	bool is_inside; /* ... and a thread was in our code */
	uint64_t kept;	/* bytes that it had to leave */
	struct late_write *late;
	size_t late_count, late_cap;
	pid_t poker;	      /* a thread that is stopped: read-only memory is written through it */
	struct threads *held; /* all are stopped, by the calling thread: inject_held() */
	uint64_t waits[WAITS_MOST]; /* addresses: see inject_waits_at() */
	unsigned wait_count;
	uint8_t ss, dd;		   /* of the last nop5 */
	uint64_t shelf, shelf_end; /* a page of landings that may be anywhere near */
};

/* Write what inject_write_code() could not. A thread of the process is stopped by the calling one.
 */
int inject_write_late(struct inject *x);
void process_beat(const struct inject *x);
/* What inject_open() and inject_close() do, except for what other sessions left. */
int process_open(pid_t pid, struct inject **out, struct diag *d);
/* May it be traced in user mode? 0, or an error with a message. */
int process_check(struct inject *x, struct diag *d);
/* Say why this error of opening its memory means that it cannot be traced. */
int process_refuse(pid_t pid, int err, struct diag *d);
/* To read its memory alone, also of one that cannot be traced because it has a debugger. What it
 * has mapped is not read. */
int process_look(pid_t pid, struct inject **out);
/* Is it stopped under our ptrace, as a command that has not begun is? */
bool process_is_held(const struct inject *x);
/* Stop all its threads, and let them go on; read-only memory can be written meanwhile, by the
 * calling thread. That must be one of its own (process_apart), unless the process is held. */
int process_stop(struct inject *x, struct threads *out);
/* ... of which one can make system calls: threads_some_stopped(). */
int process_stop_for_calls(struct inject *x, struct threads *out);
void process_go(struct inject *x, struct threads *t);
int process_apart(struct inject *x, int (*fn)(void *arg), void *arg);
/* Has it locked any memory, or is that not known? (limits.c) */
bool process_locks_memory(pid_t pid);
/* The process that traces thread `tid` by ptrace; 0: none but this one. */
pid_t process_debugger(pid_t tid);
void process_close(struct inject *x);

/* ---- sleep.c: how long a thread had slept */

/* What the scheduler says of a thread: since when it has or has not a CPU, by a clock of that CPU;
 * how often it came to another CPU, and how often it went to sleep. */
struct turn {
	uint64_t at; /* ns; 0: not known */
	uint64_t moves, sleeps;
};

struct sleep {
	struct turn began;
	uint64_t length, ended; /* ns, at least; when, as clock_now(); 0: not known */
};

/* Calls that a stop ends with EINTR, whose fourth argument is a limit in milliseconds. */
bool sleep_has_limit(uint64_t number);
/* Before a thread is asked to stop. */
void sleep_note(pid_t tid, struct sleep *out);
/* It has stopped, and ptrace(2) has been answered since: nothing of it runs any more. */
void sleep_end(pid_t tid, struct sleep *s);
/* What is left of a limit, in milliseconds, at least 1. */
int32_t sleep_shorten(const struct sleep *s, int32_t limit);

/* ---- threads.c: stopping threads */

struct thread {
	pid_t tid;
	bool is_stopped, is_ended;
	bool is_asleep; /* in the kernel, where nothing wakes it */
	bool is_sharer; /* of another process, which shares the memory */
#ifdef INJECT_HAS_CPU
	struct cpu_call call; /* that it was in */
	struct sleep sleep;
#endif
};

struct threads {
	struct thread *all;
	size_t count, cap;
	pid_t pid;
	bool is_held; /* stopped before, and after */
};

/* Ask one thread to stop; -ESRCH, -EPERM, -EBUSY: another process traces it. */
int thread_stop(struct thread *t, bool is_filtered);
/* Until it has stopped; -ESRCH; -ETIMEDOUT: it sleeps in the kernel, for `asleep_ns` by now;
 * -ETIME: it goes on running. */
int thread_wait(struct thread *t, uint64_t asleep_ns);
/* Signals that the CPU raises. */
#define THREAD_SIGNAL(sig) (UINT64_C(1) << ((sig)-1))
#define THREAD_FAULTS                                                             \
	(THREAD_SIGNAL(SIGSEGV) | THREAD_SIGNAL(SIGBUS) | THREAD_SIGNAL(SIGILL) | \
	 THREAD_SIGNAL(SIGFPE) | THREAD_SIGNAL(SIGTRAP) | THREAD_SIGNAL(SIGSYS))
/* Will it take one as soon as it goes on? */
bool thread_has_fault(pid_t tid);
#define ASLEEP_MOST 250000000u /* asleep for this time: nothing wakes it, as after vfork() */
/* How long a thread is waited for: a second, or ten while it is runnable and no CPU runs it. */
struct patience {
	pid_t tid;
	uint64_t start, ran;	 /* ns, the second on a CPU */
	uint64_t looked, waited; /* when, and how long in all without pauses of this machine */
	unsigned turns;
};
struct patience patience_begin(pid_t tid);
bool patience_wait(struct patience *p); /* a moment; false: it was long enough */
/* Where it is, its stack, and its own data, which its thread pointer says; 0: not known. */
struct place {
	uint64_t pc, sp, tp;
};
#define PLACE_NOWHERE UINT64_MAX /* a thread of the kernel's, which runs no code of the program */

struct place thread_place(const struct thread *t);
#define CALL_STOP (SIGTRAP | 0x80) /* before a system call, or after it */
/* Its next stop, as waitid(2) gives it in si_status; 0 with WNOHANG in `flags`: none yet; -ESRCH.
 * With WNOWAIT a signal that it reports is still delivered if this process is killed; the next call
 * needs that it has been let go on. */
int thread_next_stop(pid_t tid, int flags);
/* Let it go on, as if it had not been stopped. */
void thread_resume(const struct thread *t);
/* Stop all, and those that they create meanwhile; and the processes that share their memory.
 * -ETIME: one goes on running; -EBUSY. */
int threads_stop(pid_t pid, struct threads *out);
int threads_stop_others(struct threads *t); /* that are not known yet */
/* Where all sleep in the kernel, wait longer for the first of them. -ETIMEDOUT, -ESRCH; -EAGAIN:
 * those that have stopped have a fault to take. */
int threads_await_one(struct threads *t);
/* Ask the threads of a process that are not known yet to stop. How many; -errno. */
int threads_stop_new(struct threads *t, pid_t pid);
int threads_wait(struct threads *t); /* for those that were asked; -ETIME */
/* After -EBUSY: pause, and say whether to try again. Tracers that come and go hold a thread for
 * milliseconds, debuggers for longer. */
bool threads_are_awaited(int err, uint64_t start);
void threads_resume(struct threads *t);
/* One of the process's own that is stopped, and has no fault to take; NULL. */
const struct thread *threads_some_stopped(const struct threads *t);
/* Is one of them there, or may be? */
bool threads_are_at(const struct threads *t, uint64_t start, uint64_t end);
/* Is one of them in a signal handler that returns there, or may be? */
bool threads_return_to(struct inject *x, const struct threads *t, uint64_t start, uint64_t end);
/* Is one of them in a range of code that was planned, or may be? */
bool threads_are_in(const struct threads *t, const struct inject *x);

/* ---- vfork_children.c: processes that share the memory of the one whose threads are stopped */

int sharers_stop(struct threads *t);

/* ---- remote.c: system calls of another process */

struct remote;
/* By a thread that is stopped; NULL: one of those that inject_held() has stopped, else one that it
 * stops, and lets go at the end. */
int remote_begin(struct inject *x, const struct thread *stopped, struct remote **out,
		 struct diag *d);
/* What an error means, of these too: the result of a call is -ESRCH when the process has ended,
 * -ETIME when the thread does not come back from it, -ESTALE when its code was changed. */
const char *remote_error(int err);
/* The error of a process that could not be stopped. */
int remote_refuse(struct inject *x, int err, struct diag *d);
/* The call's result; -errno of the call. */
int64_t remote_call(struct remote *r, long number, const uint64_t args[6]);
pid_t remote_thread(const struct remote *r); /* that makes the calls */
void remote_end(struct remote *r);
void remote_world(struct remote *r, struct inject_world *out); /* rseq and tid */

/* The call, with arguments that are missing 0. */
#define CALL(r, number, ...) remote_call((r), (number), (const uint64_t[6]){__VA_ARGS__})
/* Remove stubs that tracers left that were killed. All threads are stopped. */
void stubs_sweep(struct inject *x, const struct threads *t);

/* ---- limits.c: an error: the process has no number left for a descriptor. */

int limits_refuse_files(pid_t pid, struct diag *d);

/* ---- send_fd.c: a descriptor of ours becomes one of the process, by way of `scratch`, 512 bytes
 * that it can write. Its number there; -ENOSPC: none is left; -errno. */

/* What the process has then: the descriptor, and the ends of the sockets; -1: closed. */
struct passed {
	int fds[3];
};

int64_t pass_fd(struct inject *x, struct remote *r, int fd, uint64_t scratch, struct passed *out);
void pass_end(struct remote *r, struct passed *p); /* close them */

/* ---- plan.c, jumps.c, padding.c */

#if defined(__aarch64__)
#define LANDING_FAR 4 /* b */
#define JUMP_NEAR   4
#else
#define LANDING_FAR 14 /* jmp *target(%rip); target: .quad */
#define JUMP_NEAR   5  /* e9 rel32 */
#endif
#define COPY_ROOM  (INJECT_COPY_MAX + JUMP_NEAR)
#define STACK_STEP 5 /* 48 8d 64 24 08: lea 8(%rsp), %rsp, and -8 */

/* Bytes at a site's landing: JUMP_NEAR or LANDING_FAR; of a call, STACK_STEP before them. */
unsigned landing_size(const struct inject_site *s);
#define PLAN_BYTES 16 /* at a site that are looked at */
/* A site whose jump has instructions in its offset, `live` bytes that are run from the jump's first
 * on: take its landing, and detours where a breakpoint on one of them leads. `code` is what is at
 * the site, `jump` the jump's bytes. 1; 0: they are not free; -ENOMEM. */
int plan_settle_pun(struct inject *x, struct inject_site *s, const uint8_t code[PLAN_BYTES],
		    const uint8_t jump[JUMP_NEAR], unsigned live);

/* A site, or the loader's `ret`, of which only the first byte becomes a jump, with the next four as
 * its offset: all but its form. 1; 0: it cannot, s->why; -ENOMEM. */
int plan_byte(struct inject *x, struct inject_site *s, const uint8_t code[PLAN_BYTES]);

/* Where the jump at an address leads, by the bytes after its e9. */
uint64_t jump_target(uint64_t at, const uint8_t offset[4]);
/* Where the direct jump or call at an address leads, of which so many bytes are known; 0: it is
 * none, or one with a prefix. */
uint64_t direct_target(const uint8_t *insn, size_t len, uint64_t at);

/* Is a breakpoint of somebody else at a site now? */
bool is_breakpoint(const uint8_t *code);
/* Are these bytes in two pages? Then they are not written in one piece when we are killed. */
static inline bool crosses_page(uint64_t at, unsigned len)
{
	return at / LEAST_PAGE != (at + len - 1) / LEAST_PAGE;
}

/* Bytes of nops at the start of `code`. */
unsigned padding_bytes(const uint8_t *code, unsigned len);
/* Why the bytes at a site have no form. */
const char *describe_bytes(const uint8_t code[PLAN_BYTES]);
/* For the table of forms: 1 when it is the site's form, 0 when it is not, with a reason in s->why
 * if it nearly was; -ENOMEM. */
typedef int try_form_fn(struct inject *x, struct inject_site *s, const uint8_t code[PLAN_BYTES]);
try_form_fn try_jump, try_call, try_padded, try_branch;
/* The bytes of the jump at a landing; how many; 0: `to` is too far. */
unsigned landing_bytes(uint64_t at, uint64_t to, unsigned room, uint8_t out[LANDING_FAR]);
/* Does a direct jump or call lead to one of these bytes, or is it not known? They are padding, or
 * at most this far after a 1-byte nop. */
#define AFTER_NOP 32
bool jumps_lead_into(struct inject *x, uint64_t start, uint64_t end);
void jumps_free(struct inject *x);
/* Does an instruction begin at `at`, by most ways of decoding the bytes before it? */
bool is_instruction(const uint8_t *code, size_t len, size_t at);
/* Room in a page of landings that a jump at `near` can lead to. -ENOSPC, -ENOMEM. */
int landing_near(struct inject *x, uint64_t near, unsigned size, uint64_t *out);
/* A form that is not in the table of plan.c: take what it needs. */
int plan_settle(struct inject *x, struct inject_site *s, enum inject_form form, unsigned fixed);
/* The site has no plan any more: what it took is free. */
void plan_forget(struct inject *x, struct inject_site *s);
/* One of the C library, by the instructions that are moved, of 5 bytes or more; that of the loader,
 * by its bytes. 0; -ENOENT, -ENOSPC: it cannot be; -ENOMEM. */
int plan_moved(struct inject *x, uint64_t at, const uint8_t *insn, unsigned len,
	       struct inject_site *s);
int plan_returned(struct inject *x, struct inject_site *s, const uint8_t *code);
/* Is all that its jump needs mapped? */
bool plan_is_mapped(const struct inject *x, const struct inject_site *s);
bool plan_is_disturbed(const struct inject *x, uint64_t patch, unsigned len, uint64_t fixed,
		       unsigned fixed_len);

/* ---- known.c: what was found in the code of files */

#define MATCH_BYTES 96

/* A pattern of libc.c, with some bytes around it. */
struct code_match {
	uint64_t at; /* of `bytes`, from the start of the code */
	uint8_t pattern;
	uint8_t before, size; /* bytes: before the pattern, and all */
	uint8_t bytes[MATCH_BYTES];
};

/* How many there are, all of them; -ENOSPC: more than `most`. */
typedef int search_code_fn(const uint8_t *code, size_t len, struct code_match *out, unsigned most);
/* What it finds in a file's code that is mapped there. -ENOENT: nothing, or the file cannot be
 * read. */
int known_matches(struct inject *x, const struct mapped_file *m, search_code_fn *fn,
		  const struct code_match **out);

/* ---- function.c: where the function at `pc` begins and ends. False: it is not known. */

bool function_bounds(struct inject *x, uint64_t pc, uint64_t *start, uint64_t *end);

/* ---- reachable.c: does all code come to these bytes, which are after the 1-byte nop at `pc`, by
 * way of the nop? If not, or if it is not known, *why says so. */

bool only_nop_leads(struct inject *x, uint64_t pc, uint64_t end, const char **why);

/* ---- ledger.c: what `clean` needs. Memory of ours in the process: a head, then one entry for each
 * site and for each piece of memory with code. */

#define LEDGER_STEP  (1u << 16) /* its size is a multiple of this */
#define LEDGER_LARGE (1u << 22) /* ... and less than this */
#define LEDGER_MAGIC 0x3373657469736e70u
/* Of version 0.1. */
#define OLD_LEDGER_NAME	 "nopal-sites" /* in /proc/PID/maps: "/memfd:nopal-sites (deleted)" */
#define OLD_LEDGER_SIZE	 (1u << 20)
#define OLD_LEDGER_MAGIC 0x3273657469736e70u

struct ledger_head {
	uint64_t magic;
	uint32_t count;	  /* of entries */
	uint32_t size;	  /* bytes of the ledger; 0 in those of version 0.1 */
	uint64_t tracer;  /* pid */
	uint64_t started; /* when the tracer did: field 22 of /proc/PID/stat */
	uint64_t names;	  /* the pid namespace that it is in, and its number of */
	uint64_t process; /* for which it was made; a child of fork has its parent's number */
};

struct ledger_entry {
	/* len 0: start and end of pages of landings, or with is_whole of bodies; is_raised: they
	   are mapped */
	uint64_t patch, semaphore;
	uint8_t len, is_raised;
	uint8_t before[INJECT_PATCH_MAX], after[INJECT_PATCH_MAX];
	uint8_t is_whole; /* its bytes change in one piece */
	uint8_t unused[3];
};

/* Bytes for the sites that are planned, twice as many that come later, and pages of code. */
uint32_t ledger_size_for(const struct inject *x);
int ledger_start(struct inject *x);
int ledger_end(struct inject *x); /* the session is over */
/* Pages of code that will be mapped, -ENOSPC; they are; they could not be. */
int ledger_add_pages(struct inject *x, const struct range *pages);
int ledger_confirm_last(struct inject *x);
void ledger_drop_last(struct inject *x);
/* Are these pages its tracer's, and not the program's? */
bool ledger_is_confirmed(struct inject *x, const struct ledger_entry *e);
int ledger_forget(struct inject *x, uint64_t ledger, uint64_t number);
bool ledger_is_full(const struct inject *x);
/* Write down the sites before their bytes change. -ENOSPC. */
int ledger_add(struct inject *x, struct inject_site *sites, size_t count);
struct ledger_entry ledger_entry(const struct inject_site *s);
int ledger_mark(struct inject *x, const struct inject_site *s);	    /* the site's entry, anew */
unsigned ledger_find(struct inject *x, uint64_t out[LEDGERS_MOST]); /* addresses; how many */
/* -EPROTO: it is none. */
int ledger_open(struct inject *x, uint64_t ledger, struct ledger_head *out);
uint64_t ledger_size(const struct ledger_head *head); /* bytes */
int ledger_read(struct inject *x, uint64_t ledger, const struct ledger_head *head, uint64_t number,
		struct ledger_entry *out);
/* Is the entry of pages of code that are mapped? */
bool ledger_pages(struct inject *x, const struct ledger_entry *entry, struct range *out);
/* The site's semaphore is not raised any more. */
int ledger_lower(struct inject *x, uint64_t ledger, uint64_t number);
/* Find the ledgers of sessions that are over: how many. -EBUSY with a message, as of
 * ledger_refuse_second(). */
int ledger_find_old(struct inject *x, struct diag *d);
/* ... and use their pages of landings, since jumps may lead to no others. -ENOMEM. */
int ledger_adopt_old(struct inject *x);
/* -EBUSY: there is one of a session that is not over. Sites of two of them would overlap. */
int ledger_refuse_second(struct inject *x, struct diag *d);
bool ledger_tracer_lives(const struct ledger_head *head);
/* Is it of this tracer, or of the process with that number? */
bool ledger_is_of(const struct ledger_head *head, pid_t tracer);

/* ---- patch.c */

/* Write the bytes of a site as they were before, if they are as we have written them. */
int patch_restore(struct inject *x, const struct inject_site *s);
/* Are the bytes of a form written in one piece? */
bool form_is_whole(enum inject_form form);
/* Are these the bytes that were written? */
bool patch_is_written(const uint8_t *now, const uint8_t *before, const uint8_t *after,
		      unsigned len);
/* Of an entry of a ledger, the bytes before; 1: they were others. -errno. */
int patch_write_before(struct inject *x, const struct ledger_entry *e);
/* Add to a semaphore; what is 0 is not lowered. */
int patch_semaphore(struct inject *x, uint64_t address, int by);

/* ---- search.c */

/* A mapping of the process. */
struct mapped_range {
	uint64_t start, end;
	uint64_t device, inode;
	bool is_own; /* private, and no code that was never writable: its words are searched */
	bool is_shared;
	bool is_code; /* ... and no file's */
	bool is_none; /* no access at all */
	bool is_stack, is_guarded;
	bool is_ours;
	unsigned users; /* threads whose stack pointer or own data are there */
};

struct mappings {
	struct mapped_range *all; /* by address */
	size_t count, cap;
};

int mappings_read(struct mappings *all, pid_t pid); /* the caller frees `all->all` */
struct mapped_range *mappings_at(const struct mappings *all, uint64_t at); /* NULL: nothing is */

/* Code that was put into the process. */
struct code_area {
	uint64_t start, end;
	unsigned session;
	uint64_t entry; /* of its ledger */
	bool is_landings;
};

struct code_areas {
	struct code_area *all; /* by address */
	size_t count, cap;
};

const struct code_area *area_at(const struct code_areas *areas, uint64_t at);
/* True: enough was seen. */
typedef bool word_fn(void *arg, const struct code_area *area, uint64_t word);
/* Call `fn` with each word in the process's memory that leads into an area. -E2BIG: there is too
 * much memory; else -errno, when not all of it could be searched. */
int memory_search(struct inject *x, const struct threads *t, struct mappings *all,
		  const struct code_areas *areas, word_fn *fn, void *arg);

/* ---- leave.c */

/* All threads are stopped, and all sites of these sessions have their bytes: unmap what no
 * thread is in, or will return to. *kept: bytes of the others. `is_given[]`: those that are gone.
 */
int leave_sessions(struct inject *x, const struct threads *t, const uint64_t *ledgers,
		   unsigned count, bool *is_given, uint64_t *kept);

/* ---- undo.c */

/* Undo what is in a ledger: of the tracer `only`; 0: of one that is gone. The number of sites.
 * *busy: a tracer that is not gone. All threads are stopped. */
int undo_ledger(struct inject *x, uint64_t ledger, pid_t only, pid_t *busy);
/* Undo what is in the ledgers of tracers that are gone, and unmap it; those that must stay are then
 * in x->old. 0 or -errno; -EBUSY with a message: there is one of a tracer that is not gone. */
int undo_old(struct inject *x, struct diag *d);

#endif
