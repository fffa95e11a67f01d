// flags: -pthread
// A traced program for user mode: a leaf function for each way that a site can become a jump. Each
// keeps values in the red zone and a flag alive across its site, and ends the program if these are
// not what they were. It prints "NAME ADDRESS" for each site and a line "ready", then obeys lines
// on stdin, answering each with "done":
//
//   run NAME N   N calls
//   hot N        N threads call all functions until `quiet`
//   quiet        ends the threads; answers "calls N" for those of each function
//   fork NAME N  a child makes N calls
//   storm N      threads are made and end until `quiet`
//   signals      often a signal, whose handler takes a few milliseconds
//   filter       a seccomp filter that permits everything
//   vfork        waits 2 s for a child of vfork()
//   vforks N     N threads call all functions in children of vfork() until `quiet`
//   vforked N    N threads have each a child of vfork() that does so
//   wait         epoll_wait() for 1 s, and not less, unless SIGUSR1 ends it; answers "result N"
//   ring         io_uring_enter() for 1 s; answers "result N"
#include <stdio.h>

#if defined(__x86_64__) || defined(__aarch64__)
#include <errno.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns n, and n + 1 for 7. */
#ifdef __x86_64__
#define LEAF(name, nop, after)                                                               \
	__asm__(".text\n.p2align 4\n.globl leaf_" #name "\nleaf_" #name ":\n"                \
		".cfi_startproc\n"                                                           \
		"	mov %rdi, -8(%rsp)\n"                                                      \
		"	movq $0x5a5a, -128(%rsp)\n"                                                \
		"	cmp $7, %rdi\n"                                                            \
		".globl site_" #name "\nsite_" #name ":\n" nop after "	mov -8(%rsp), %rax\n" \
		"	sete %cl\n"                                                                \
		"	movzbl %cl, %ecx\n"                                                        \
		"	add %rcx, %rax\n"                                                          \
		"	cmpq $0x5a5a, -128(%rsp)\n"                                                \
		"	je 2f\n"                                                                   \
		"	ud2\n"                                                                     \
		"2:	ret\n.cfi_endproc\n");                                               \
	extern long leaf_##name(long n);                                                     \
	extern char site_##name[];

#define NOP   "	.byte 0x90\n"
#define NOP5  "	.byte 0x0f, 0x1f, 0x44, 0, 0\n"
#define NOP10 "	.byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0\n"
#define FAR   "	.byte 0xe9\n	.long 1f - . - 4\n	.skip 12, 0xcc\n1:\n"

LEAF(pun, NOP, "	mov %rax, %rax\n" NOP)
LEAF(nop5, NOP5, "")
LEAF(nop10, NOP NOP10, "")
LEAF(jump, NOP, FAR)
LEAF(none, NOP, "	.byte 0x3d, 0x10, 0, 0, 0\n	cmp $7, %rdi\n") /* leads into this image */
LEAF(kernel5, NOP NOP5, "")
LEAF(padded, NOP, "	jmp 3f\n	.p2align 3\n3:\n")
LEAF(relative, NOP,
     "	cmpl $0x1234, 4f(%rip)\n	je 3f\n	ud2\n4:	.long 0x1234\n3:	cmp $7, %rdi\n")
LEAF(branch, NOP,
     "	.byte 0x0f, 0x84\n	.long 4f - . - 4\n" /* je */
     "	test %rsp, %rsp\n	jmp 3f\n4:	cmp %rax, %rax\n3:\n")
LEAF(table, NOP,
     "	.byte 0x3d, 0x10, 0, 0, 0\n	cmp $7, %rdi\n	jmp 3f\n	jmp *%rax\n3:\n")

/* Calls: the function that is called finds its stack, its return address, its arguments and the
 * flags as they would be. `alone` is code that nothing runs. */
#define CALLER(name, between, esi, alone)                                      \
	__asm__(".text\n.p2align 4\n.globl leaf_" #name "\nleaf_" #name ":\n"  \
		".cfi_startproc\n"                                             \
		"	push %rbx\n	mov %rdi, %rbx\n	xor %esi, %esi\n"               \
		"	cmp $7, %rdi\n"                                              \
		".globl site_" #name "\nsite_" #name ":\n	nop\n" between \
		"5:	.byte 0xe8\n	.long 3f - . - 4\n"                           \
		"4:	pop %rbx\n	ret\n"                                          \
		"3:	sete %al\n	movzbl %al, %eax\n"                             \
		"	cmp $" #esi ", %esi\n	jne 2f\n"                        \
		"	lea 4b(%rip), %rcx\n	cmp %rcx, (%rsp)\n	jne 2f\n"            \
		"	mov %rbx, %rcx\n	add %rcx, %rax\n	ret\n"                     \
		"2:	ud2\n" alone ".cfi_endproc\n");                        \
	extern long leaf_##name(long n);                                       \
	extern char site_##name[];

#define SOME "	mov $0x12, %esi\n	lea 4f(%rip), %rdx\n	mov %rbx, %rdi\n"
CALLER(call, "", 0, "")
CALLER(later, SOME, 0x12, "")
CALLER(entered, SOME, 0x12, "	jmp 5b\n")
#else
/* One form for all but some, which are no nops. */
#define LEAF(name, nop)                                                         \
	__asm__(".text\n.globl leaf_" #name "\nleaf_" #name ":\n"               \
		"	mov x9, x0;	mov x15, x0;	mov x16, x0;	mov x17, x0\n"          \
		"	fmov d7, x0\n"                                                \
		"	cmp x0, 7\n"                                                  \
		".globl site_" #name "\nsite_" #name ":\n" nop "	cset x1, eq\n" \
		"	cmp x9, x0;	b.ne 1f;	cmp x15, x0;	b.ne 1f\n"                  \
		"	cmp x16, x0;	b.ne 1f;	cmp x17, x0;	b.ne 1f\n"                 \
		"	fmov x2, d7;	cmp x2, x0;	b.ne 1f\n"                           \
		"	add x0, x0, x1\n"                                             \
		"	ret\n"                                                        \
		"1:	brk 1\n");                                              \
	extern long leaf_##name(long n);                                        \
	extern char site_##name[];

LEAF(pun, "	nop\n")
LEAF(nop5, "	nop\n")
LEAF(nop10, "	nop\n")
LEAF(jump, "	nop\n")
LEAF(none, "	mov x9, x9\n")
LEAF(kernel5, "	nop\n")
LEAF(padded, "	nop\n")
LEAF(relative, "	mov x9, x9\n")
LEAF(branch, "	mov x9, x9\n")
LEAF(table, "	mov x9, x9\n")
LEAF(call, "	nop\n")
LEAF(later, "	nop\n")
LEAF(entered, "	mov x9, x9\n")
#endif

#define NAMES(row)                                                                               \
	row(pun) row(nop5) row(nop10) row(jump) row(none) row(kernel5) row(padded) row(relative) \
		row(branch) row(table) row(call) row(later) row(entered)
#define ROW(name) {#name, leaf_##name, site_##name},

static const struct {
	const char *name;
	long (*call)(long n);
	const char *site;
} leaves[] = {NAMES(ROW)};

#define COUNT ((int)(sizeof(leaves) / sizeof(leaves[0])))

static atomic_long calls;
static atomic_int is_quiet;
static pthread_t threads[64];
static int thread_count;

static void check(long (*call)(long n), long n)
{
	if (call(n) != n + (n == 7)) {
		printf("wrong\n");
		abort();
	}
}

static void *run_hot(void *unused)
{
	long n = 0;

	while (!atomic_load(&is_quiet)) {
		for (int i = 0; i < COUNT; i++)
			check(leaves[i].call, n % 16);
		n++;
	}
	atomic_fetch_add(&calls, n);
	return unused;
}

static void *run_once(void *unused)
{
	for (int i = 0; i < COUNT; i++)
		check(leaves[i].call, i);
	atomic_fetch_add(&calls, 1);
	return unused;
}

static void *run_storm(void *unused)
{
	while (!atomic_load(&is_quiet)) {
		pthread_t t[4];

		for (int i = 0; i < 4; i++)
			pthread_create(&t[i], NULL, run_once, NULL);
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], NULL);
	}
	return unused;
}

/* A child has our memory, and is a process of its own. */
static void vfork_and_call(void (*fn)(void))
{
	int status = -1;
	pid_t child = vfork();

	if (!child) {
		fn();
		_exit(0);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (child < 0 || status) {
		printf("a child ended with status %#x\n", (unsigned)status);
		abort();
	}
}

static void call_some(void)
{
	for (int n = 0; n < 200; n++)
		run_once(NULL);
}

static void *run_vforks(void *unused)
{
	while (!atomic_load(&is_quiet))
		vfork_and_call(call_some);
	return unused;
}

static void call_until_quiet(void)
{
	run_hot(NULL);
}

static void *run_vforked(void *unused)
{
	vfork_and_call(call_until_quiet);
	return unused;
}

static void run(const char *name, long n)
{
	for (int i = 0; i < COUNT; i++)
		for (long k = 0; !strcmp(leaves[i].name, name) && k < n; k++)
			check(leaves[i].call, k % 16);
}

static void start(int n, void *(*fn)(void *))
{
	atomic_store(&is_quiet, 0);
	atomic_store(&calls, 0);
	for (thread_count = 0; thread_count < n && thread_count < 64; thread_count++)
		pthread_create(&threads[thread_count], NULL, fn, NULL);
}

static void be_quiet(void)
{
	atomic_store(&is_quiet, 1);
	while (thread_count)
		pthread_join(threads[--thread_count], NULL);
	printf("calls %ld\n", atomic_load(&calls));
}

static void handle(int signal)
{
	(void)signal;
	usleep(3000);
}

static void be_signalled(void)
{
	const struct itimerval often = {{0, 4000}, {0, 4000}};

	signal(SIGALRM, handle);
	setitimer(ITIMER_REAL, &often, NULL);
}

static void filter(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {1, &allow};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void wait_for_child(void)
{
	printf("waiting\n");
	fflush(stdout);
	if (!vfork()) {
		usleep(2000000);
		_exit(0);
	}
	wait(NULL);
}

static void wait_for_event(void)
{
	int fd = epoll_create1(EPOLL_CLOEXEC), result;
	struct epoll_event event;
	struct timespec start, end;
	int64_t ns;

	signal(SIGUSR1, handle);
	printf("waiting\n");
	fflush(stdout);
	clock_gettime(CLOCK_MONOTONIC, &start);
	result = epoll_wait(fd, &event, 1, 1000);
	clock_gettime(CLOCK_MONOTONIC, &end);
	ns = (end.tv_sec - start.tv_sec) * 1000000000 + end.tv_nsec - start.tv_nsec;
	printf("result %d\n", result < 0 ? -errno : ns < 999000000 ? -ETIME : result);
	close(fd);
}

/* Nothing is asked, and nothing comes: only a stop could end the call. */
static void wait_for_ring(void)
{
	struct io_uring_params params = {0};
	struct io_uring_getevents_arg arg = {0};
	struct __kernel_timespec second = {.tv_sec = 1};
	int fd = (int)syscall(SYS_io_uring_setup, 4, &params);
	long result;

	arg.ts = (uintptr_t)&second;
	printf("waiting\n");
	fflush(stdout);
	result = fd < 0 ? -ETIME
			: syscall(SYS_io_uring_enter, fd, 0, 1,
				  IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &arg, sizeof(arg));
	result = result < 0 && fd >= 0 ? -errno : result;
	printf("result %ld\n", result == -ETIME ? 0 : result);
	if (fd >= 0)
		close(fd);
}

#ifdef __x86_64__
/* The address where the jump of a punned site would lead. */
static void occupy(const char *site)
{
	uintptr_t at;
	int32_t rel;

	memcpy(&rel, site + 1, sizeof(rel));
	at = (uintptr_t)site + 5 + (uintptr_t)(intptr_t)rel;
	mmap((void *)(at & ~(uintptr_t)4095), 4096, PROT_NONE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}
#endif

int main(void)
{
	char line[128], name[32];
	long n;

#ifdef __x86_64__
	occupy(site_padded);
	occupy(site_relative);
	occupy(site_branch);
#endif
	for (int i = 0; i < COUNT; i++)
		printf("%s %lx\n", leaves[i].name, (unsigned long)leaves[i].site);
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "run %31s %ld", name, &n) == 2)
			run(name, n);
		else if (sscanf(line, "hot %ld", &n) == 1)
			start((int)n, run_hot);
		else if (sscanf(line, "storm %ld", &n) == 1)
			start((int)n, run_storm);
		else if (sscanf(line, "vforks %ld", &n) == 1)
			start((int)n, run_vforks);
		else if (sscanf(line, "vforked %ld", &n) == 1)
			start((int)n, run_vforked);
		else if (!strcmp(line, "quiet\n"))
			be_quiet();
		else if (!strcmp(line, "signals\n"))
			be_signalled();
		else if (!strcmp(line, "filter\n"))
			filter();
		else if (!strcmp(line, "vfork\n"))
			wait_for_child();
		else if (!strcmp(line, "wait\n"))
			wait_for_event();
		else if (!strcmp(line, "ring\n"))
			wait_for_ring();
		else if (sscanf(line, "fork %31s %ld", name, &n) == 2) {
			if (!fork()) {
				run(name, n);
				_exit(0);
			}
			wait(NULL);
		}
		printf("done\n");
		fflush(stdout);
	}
	return 0;
}
#else
int main(void)
{
	puts("needs x86-64 or aarch64");
	return 1;
}
#endif
