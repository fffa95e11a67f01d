/* A traced program whose children give themselves a system call filter at some moment, while all
 * their threads are at probes:
 *
 *   sandboxes HOW COUNT        HOW: prctl, seccomp, tsync (for all threads) or strict
 *
 * It prints "ready", waits for a line, and makes COUNT children, one after the other. Each fires
 * sandboxes:fire(char *text), with text in mapped memory, by three threads. Then it is itself such
 * a child. It prints "fired N" and "killed N": children that their filter has ended, which permits
 * all but what a tracer would call.
 *
 * -DOWN_CALLS: the filter is made by an instruction of this program, not by the C library;
 * -DHIDDEN_CALLS: by one before which there is no room for a jump. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sys/sdt.h>

#define THREADS	  2
#define COUNT(a)  (sizeof(a) / sizeof((a)[0]))
#define LOAD(at)  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (at))
#define REFUSE(n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (n), 0, 1), RET(SECCOMP_RET_KILL_PROCESS)
#define RET(what) BPF_STMT(BPF_RET | BPF_K, (what))

static struct sock_filter code[] = {
	LOAD(offsetof(struct seccomp_data, nr)),
	REFUSE(SYS_process_vm_readv),
	REFUSE(SYS_getpid),
	REFUSE(SYS_gettid),
	REFUSE(SYS_ppoll),
	REFUSE(SYS_futex),
	RET(SECCOMP_RET_ALLOW),
};
static struct sock_fprog program = {COUNT(code), code};

static char *text;
static unsigned long *fired; /* of all */
static volatile int is_over;
static int running;

static void fire(void)
{
	STAP_PROBE1(sandboxes, fire, text);
	__atomic_fetch_add(fired, 1, __ATOMIC_RELAXED);
}

static void *fire_on(void *arg)
{
	while (!is_over)
		fire();
	__atomic_fetch_sub(&running, 1, __ATOMIC_SEQ_CST);
	return arg;
}

/* Programs also ask first what there is. */
static int probe(void)
{
	return prctl(PR_GET_SECCOMP) ||
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL) >=
		       0 ||
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

#if defined(OWN_CALLS) || defined(HIDDEN_CALLS)
/* The number is not known here. */
__attribute__((noinline)) static long call(long number, long a, long b, const void *c)
{
	long result;

#if defined(HIDDEN_CALLS)
	__asm__ volatile("test %1, %1; jmp 1f; 2: nop; 1: syscall"
#else
	__asm__ volatile("syscall"
#endif
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
}

static long filter(const char *how)
{
	if (!strcmp(how, "strict"))
		return call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, NULL);
	if (!strcmp(how, "prctl"))
		return call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	return call(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		    strcmp(how, "tsync") ? 0 : SECCOMP_FILTER_FLAG_TSYNC, &program);
}
#else
static long filter(const char *how)
{
	if (!strcmp(how, "strict"))
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	if (!strcmp(how, "prctl"))
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		       strcmp(how, "tsync") ? 0 : SECCOMP_FILTER_FLAG_TSYNC, &program);
}
#endif

/* What was fired is then counted. The process is at its end: it cannot wait by system calls. */
static void sandbox(const char *how, unsigned wait)
{
	pthread_t threads[THREADS];

	running = THREADS;
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, fire_on, NULL);
	if (probe())
		_exit(2);
	for (unsigned i = 0; i < wait; i++)
		fire();
	if (filter(how))
		_exit(3);
	for (unsigned i = 0; i < 500; i++)
		fire();
	is_over = 1;
	while (__atomic_load_n(&running, __ATOMIC_SEQ_CST))
		;
}

int main(int argc, char **argv)
{
	unsigned count = argc == 3 ? (unsigned)atoi(argv[2]) : 0, killed = 0;
	int is_strict = argc == 3 && !strcmp(argv[1], "strict"), status;
	char line[64];

	text = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fired = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc != 3 || text == MAP_FAILED || fired == MAP_FAILED)
		return 2;
	strcpy(text, "text");
	if (write(1, "ready\n", 6) < 0 || read(0, line, 1) < 0)
		return 2;
	for (unsigned i = 0; i < count; i++) {
		pid_t child = fork();

		if (!child) {
			sandbox(argv[1], (i * 7919) % 400);
			syscall(is_strict ? SYS_exit : SYS_exit_group, 0);
		}
		if (waitpid(child, &status, 0) != child ||
		    (WIFEXITED(status) && WEXITSTATUS(status)))
			return 1;
		killed += WIFSIGNALED(status) != 0;
	}
	sandbox(argv[1], 1000);
	status = snprintf(line, sizeof(line), "fired %lu\nkilled %u\n", *fired, killed);
	if (write(1, line, (size_t)status) < 0)
		return 1;
	syscall(is_strict ? SYS_exit : SYS_exit_group, 0);
	return 0;
}
