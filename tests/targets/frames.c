// A traced program whose stacks are hard to follow: frames_here() is called, and the probe
// frames:here fires, N times in each way. No frame pointers.
//
//   frames N WAY...    qsort, alloca, realigned, signal, altstack, interrupted (a function that
//                      calls none), coroutine, thread, atexit, deep, deeper, depths (101 of them),
//                      bare (from assembler that says nothing of its frame); without WAY: all
//   frames N syscall   calls getppid(), without a probe
//   frames N spin      takes a few milliseconds, without a probe
//   frames exec FILE   calls itself as another process image, FILE, and that `FILE 1 deep`
// flags: -fomit-frame-pointer -foptimize-sibling-calls
#include <alloca.h>
#include <nopal/sdt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

/* What is called does not become a jump. */
#define AFTER __asm__ volatile("" ::: "memory")
#define APART __attribute__((noinline))

APART void frames_here(long n);
APART void frames_here(long n)
{
	NOPAL_PROBE(frames, here, n);
	AFTER;
}

static int compare(const void *a, const void *b)
{
	frames_here(*(const int *)a);
	return *(const int *)a - *(const int *)b;
}

static APART void do_qsort(void)
{
	int numbers[] = {3, 1, 2};

	qsort(numbers, 3, sizeof(numbers[0]), compare);
	AFTER;
}

static APART void do_alloca(void)
{
	static int more;
	char *memory = alloca(16 * (size_t)(1 + more++ % 64));

	memset(memory, 1, 16);
	frames_here(memory[0]);
	AFTER;
}

static APART void do_realigned(void)
{
	static int more;
	char aligned[256] __attribute__((aligned(64)));
	char *memory = alloca(16 * (size_t)(1 + more++ % 64));

	memset(aligned, 1, sizeof(aligned));
	memset(memory, 1, 16);
	__asm__ volatile("" ::"r"(aligned), "r"(memory) : "memory");
	frames_here(aligned[5]);
	__asm__ volatile("" ::"r"(aligned) : "memory");
}

static void handle(int number)
{
	frames_here(number);
	AFTER;
}

static APART void do_signal(void)
{
	struct sigaction action = {.sa_handler = handle};

	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	AFTER;
}

static APART void do_altstack(void)
{
	static char memory[64 << 10];
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR2, &action, NULL);
	raise(SIGUSR2);
	AFTER;
}

static volatile sig_atomic_t waits, rang;

/* Only while somebody waits for it. */
static void ring(int number)
{
	if (!waits) {
		ualarm(1000, 0);
		return;
	}
	frames_here(number);
	rang = 1;
}

/* Calls nothing, so that a CPU with a link register has its caller nowhere else. */
static APART void wait_for_ring(void)
{
	for (waits = 1; !rang;)
		AFTER;
}

static APART void do_interrupted(void)
{
	struct sigaction action = {.sa_handler = ring};

	rang = waits = 0;
	sigaction(SIGALRM, &action, NULL);
	ualarm(1000, 0);
	wait_for_ring();
	AFTER;
}

static ucontext_t outer, inner;

static void coroutine(void)
{
	frames_here(1);
	swapcontext(&inner, &outer);
	frames_here(2);
	AFTER;
}

static APART void do_coroutine(void)
{
	static char memory[64 << 10];

	getcontext(&inner);
	inner.uc_stack.ss_sp = memory;
	inner.uc_stack.ss_size = sizeof(memory);
	inner.uc_link = &outer;
	makecontext(&inner, coroutine, 0);
	swapcontext(&outer, &inner);
	swapcontext(&outer, &inner);
	AFTER;
}

static void *run_thread(void *arg)
{
	frames_here(3);
	AFTER;
	return arg;
}

static APART void do_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, run_thread, NULL);
	pthread_join(thread, NULL);
	AFTER;
}

static void at_end(void)
{
	frames_here(4);
	AFTER;
}

static void do_atexit(void)
{
	atexit(at_end);
}

static APART void recurse(int depth)
{
	if (depth)
		recurse(depth - 1);
	else
		frames_here(5);
	AFTER;
}

static void do_deep(void)
{
	recurse(40);
	AFTER;
}

static void do_deeper(void)
{
	recurse(150);
	AFTER;
}

static void do_depths(void)
{
	for (int depth = 100; depth >= 0; depth--)
		recurse(depth);
	AFTER;
}

#if defined(__x86_64__)
__asm__(".text\n.type bare, @function\nbare: sub $24, %rsp\ncall frames_here\nadd $24, %rsp\nret\n"
	".zero 64\n"); /* no function that says something of itself is near */
void bare(void);
#else
static void bare(void)
{
	frames_here(6);
}
#endif

static APART void do_bare(void)
{
	bare();
	AFTER;
}

static APART void do_syscall(void)
{
	getppid();
	AFTER;
}

static APART void spin(void)
{
	for (int i = 0; i < 1000000; i++)
		AFTER;
}

static APART void do_spin(void)
{
	spin();
	AFTER;
}

static const struct {
	const char *name;
	void (*run)(void);
} ways[] = {
	{"qsort", do_qsort},   {"alloca", do_alloca},	  {"realigned", do_realigned},
	{"signal", do_signal}, {"altstack", do_altstack}, {"thread", do_thread},
	{"atexit", do_atexit}, {"deep", do_deep},	  {"coroutine", do_coroutine},
	{"bare", do_bare},     {"syscall", do_syscall},	  {"spin", do_spin},
	{"deeper", do_deeper}, {"depths", do_depths},	  {"interrupted", do_interrupted},
};

static void run_way(const char *name, int times)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		for (int k = 0; k < times && (!name || !strcmp(name, ways[i].name)); k++)
			ways[i].run();
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "exec")) {
		if (!fork()) {
			recurse(3);
			execl(argv[2], argv[2], "1", "deep", NULL);
			_exit(1);
		}
		wait(NULL);
		execl(argv[2], argv[2], "1", "deep", NULL);
		return 1;
	}
	for (int i = 2; i < argc; i++)
		run_way(argv[i], atoi(argv[1]));
	if (argc == 2)
		run_way(NULL, atoi(argv[1]));
	return 0;
}
