/* harmless STATE WORKLOAD [NUMBER]: a program that knows how often each of its probes fired and
 * what its results must be. The driver (matrix.py) traces it again and again, and compares.
 * Workloads:
 *
 *   one         one thread
 *   threads N   N threads, all in every round
 *   coroutines  stacks of 512 bytes and what user mode is documented to need, and more; a word
 * below each must stay signals     a handler at 10 kHz, which fires, and goes to another stack and
 * back aligned     alignment checks are on (EFLAGS.AC) while probes fire as N        an address
 * space limit that leaves N MiB, half of which the program takes and gives back in every round
 *   memlock N   all memory is locked, with a limit that leaves N MiB (for ordinary users)
 *   nofile N    N descriptors are left, which the program opens and closes in every round
 *   stack       a small limit for the stack, most of which is used in every round */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef GUARDED
#define _SDT_HAS_SEMAPHORES 1
#endif
#include <sys/sdt.h>

#include "state.h"

#define NEEDED	   900 /* bytes of stack that a site needs in user mode, at most (doc/user-mode.md) */
#define CANARY	   0x5ca1ab1e0ddba11ull
#define COROUTINES 8

static struct state *state;
static volatile sig_atomic_t running; /* a round is being run: handlers fire */
static bool has_signals;
static char *heap_text;

/* Number in the state, name of the probe. */
/* clang-format off */
#define PROBES(ROW) ROW(forward) ROW(backward) ROW(plain) ROW(text) ROW(heap) ROW(jump) ROW(tail) ROW(twin) ROW(sites) ROW(busy) ROW(handler)
/* clang-format on */
#define NUMBER(name) PROBE_##name,
#define NAME(name)   #name,
enum { PROBES(NUMBER) PROBE_COUNT };
static const char *const names[] = {PROBES(NAME)};

#ifdef GUARDED
#define SEMAPHORE(name) \
	unsigned short harmless_##name##_semaphore __attribute__((section(".probes"), used));
PROBES(SEMAPHORE)
#endif

static void fired(int probe, uint64_t times)
{
	__atomic_fetch_add(&state->probes[probe].fired, times, __ATOMIC_RELAXED);
}

static void went_wrong(void)
{
	__atomic_fetch_add(&state->wrong, 1, __ATOMIC_RELAXED);
}

/* ---- Probes: each function returns what its twin below computes without one */

/* A pun's offset is 48 c7 c0 and this byte: some 400 MB forward, or 900 MB back. */
#define AFTER(byte, to) __asm__ volatile(".byte 0x48, 0xc7, 0xc0; .long " #byte : "=a"(to))

static __attribute__((noinline)) uint64_t fire_forward(uint64_t i)
{
	uint64_t constant;

	DTRACE_PROBE1(harmless, forward, i);
	AFTER(0x18, constant);
	fired(PROBE_forward, 1);
	return i + constant;
}

static uint64_t know_forward(uint64_t i)
{
	return i + 0x18;
}

static __attribute__((noinline)) uint64_t fire_backward(uint64_t i)
{
	uint64_t constant;

	DTRACE_PROBE1(harmless, backward, i);
	AFTER(0xc8, constant);
	fired(PROBE_backward, 1);
	return i * constant;
}

static uint64_t know_backward(uint64_t i)
{
	return i * 0xc8;
}

static __attribute__((noinline)) uint64_t fire_plain(uint64_t i)
{
	DTRACE_PROBE1(harmless, plain, i);
	fired(PROBE_plain, 1);
	return i ^ 0x55;
}

static uint64_t know_plain(uint64_t i)
{
	return i ^ 0x55;
}

static __attribute__((noinline)) uint64_t fire_text(uint64_t i)
{
	DTRACE_PROBE2(harmless, text, i, "the quick brown fox");
	fired(PROBE_text, 1);
	return i - 7;
}

static uint64_t know_text(uint64_t i)
{
	return i - 7;
}

static __attribute__((noinline)) uint64_t fire_heap(uint64_t i)
{
	DTRACE_PROBE2(harmless, heap, i, heap_text);
	fired(PROBE_heap, 1);
	return i + 11;
}

static uint64_t know_heap(uint64_t i)
{
	return i + 11;
}

/* A jump of five bytes comes after the nop: retarget. */
static __attribute__((noinline)) uint64_t fire_jump(uint64_t i)
{
	DTRACE_PROBE1(harmless, jump, i);
	__asm__ goto(".byte 0xe9; .long %l0 - (. + 4)" : : : : there);
	return 0;
there:
	fired(PROBE_jump, 1);
	return i * 5;
}

static uint64_t know_jump(uint64_t i)
{
	return i * 5;
}

static __attribute__((noinline)) uint64_t end_of_tail(uint64_t i)
{
	fired(PROBE_tail, 1);
	return i * 9 + 1;
}

static __attribute__((noinline)) uint64_t fire_tail(uint64_t i)
{
	DTRACE_PROBE1(harmless, tail, i);
	return end_of_tail(i);
}

static uint64_t know_tail(uint64_t i)
{
	return i * 9 + 1;
}

static __attribute__((noinline)) uint64_t fire_twin(uint64_t i)
{
	DTRACE_PROBE1(harmless, twin, i);
	DTRACE_PROBE1(harmless, twin, i);
	fired(PROBE_twin, 2);
	return i + 2;
}

static uint64_t know_twin(uint64_t i)
{
	return i + 2;
}

#define STEP(sum, n)                                    \
	do {                                            \
		DTRACE_PROBE2(harmless, sites, sum, n); \
		sum = sum * 31 + n;                     \
	} while (0)

static __attribute__((noinline)) uint64_t fire_sites(uint64_t i)
{
	uint64_t sum = i;

	STEP(sum, 1);
	STEP(sum, 2);
	STEP(sum, 3);
	if (i & 1)
		STEP(sum, 4);
	else
		STEP(sum, 5);
	fired(PROBE_sites, 4);
	return sum;
}

static uint64_t know_sites(uint64_t i)
{
	return (((i * 31 + 1) * 31 + 2) * 31 + 3) * 31 + ((i & 1) ? 4 : 5);
}

/* More values than the calling convention would keep, integers and floating point, live across the
 * probe. */
#define BUSY(FIRE)                                                                              \
	uint64_t a = i + 1, b = i * 3, c = i ^ 0xff, d = i << 3, e = i >> 1, f = ~i, g = i * i; \
	double x = (double)(i & 0xffff) * 0.5, y = (double)(i & 0xff) + 0.25;                   \
	bool is_less = a < b;                                                                   \
	FIRE;                                                                                   \
	a = a * 31 + b;                                                                         \
	c = c * 31 + d;                                                                         \
	e = e * 31 + f;                                                                         \
	return (a ^ c ^ e ^ g) + (uint64_t)(x * 4 + y * 8) + is_less

static __attribute__((noinline)) uint64_t fire_busy(uint64_t i)
{
	errno = (int)(i & 0x7f);
	BUSY(DTRACE_PROBE6(harmless, busy, a, b, c, d, (int)e, f); fired(PROBE_busy, 1);
	     if (errno != (int)(i & 0x7f)) went_wrong());
}

static uint64_t know_busy(uint64_t i)
{
	BUSY(;);
}

/* From handlers in "signals", else from where all others are. */
static __attribute__((noinline)) uint64_t fire_handler(uint64_t i)
{
	DTRACE_PROBE2(harmless, handler, i, "in a handler");
	fired(PROBE_handler, 1);
	return i * 7;
}

static uint64_t know_handler(uint64_t i)
{
	return i * 7;
}

/* clang-format off */
#define PAIR(name) {fire_##name, know_##name},
static const struct { uint64_t (*fire)(uint64_t), (*know)(uint64_t); } pairs[] = { PROBES(PAIR) };
/* clang-format on */

static uint64_t fire_all(uint64_t i)
{
	uint64_t sum = i;

	for (int p = 0; p < PROBE_COUNT; p++)
		sum = sum * 31 + pairs[p].fire(sum ^ i);
	return sum;
}

static uint64_t know_all(uint64_t i)
{
	uint64_t sum = i;

	for (int p = 0; p < PROBE_COUNT; p++)
		sum = sum * 31 + pairs[p].know(sum ^ i);
	return sum;
}

static void run_one(uint64_t i)
{
	if (fire_all(i) != know_all(i))
		went_wrong();
}

/* ---- Threads */

static pthread_barrier_t begin_round, end_round;

static void *work(void *unused)
{
	for (;;) {
		pthread_barrier_wait(&begin_round);
		run_one(state->done);
		pthread_barrier_wait(&end_round);
	}
	return unused;
}

static void start_threads(long count)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	pthread_barrier_init(&begin_round, NULL, (unsigned)count + 1);
	pthread_barrier_init(&end_round, NULL, (unsigned)count + 1);
	state->threads = (uint64_t)count;
	for (long i = 0; i < count; i++)
		if (pthread_create(&thread, &attr, work, NULL))
			abort();
}

static void run_threads(uint64_t i)
{
	(void)i;
	pthread_barrier_wait(&begin_round);
	pthread_barrier_wait(&end_round);
}

/* musl has no contexts. */
#ifdef __GLIBC__

/* ---- Coroutines */

static const size_t stack_sizes[COROUTINES] = {512 + NEEDED, 640 + NEEDED, 2048,  3072,
					       4096,	     8192,	   16384, 65536};
static struct coroutine {
	ucontext_t context;
	uint64_t *below; /* the word below its stack */
	uint64_t round, sum;
} coroutines[COROUTINES];
static ucontext_t main_context;

static void run_coroutine(int number)
{
	struct coroutine *c = &coroutines[number];

	for (;;) {
		c->sum = fire_all(c->round);
		swapcontext(&c->context, &main_context);
	}
}

static void start_coroutines(long unused)
{
	(void)unused;
	for (int n = 0; n < COROUTINES; n++) {
		struct coroutine *c = &coroutines[n];
		size_t size = stack_sizes[n] & ~(size_t)15;

		c->below = aligned_alloc(16, 16 + size);
		c->below[0] = c->below[1] = CANARY;
		getcontext(&c->context);
		c->context.uc_stack.ss_sp = c->below + 2;
		c->context.uc_stack.ss_size = size;
		makecontext(&c->context, (void (*)(void))run_coroutine, 1, n);
	}
}

static void run_coroutines(uint64_t i)
{
	for (int n = 0; n < COROUTINES; n++) {
		struct coroutine *c = &coroutines[n];

		c->round = i + (uint64_t)n;
		swapcontext(&main_context, &c->context);
		if (c->sum != know_all(c->round) || c->below[0] != CANARY || c->below[1] != CANARY)
			went_wrong();
	}
}

/* ---- Signals */

static ucontext_t handler_context, other_context;
static uint64_t handled;

static void run_other_stack(void)
{
	for (;;) {
		if (fire_handler(handled) != know_handler(handled))
			went_wrong();
		swapcontext(&other_context, &handler_context);
	}
}

static void handle(int number)
{
	int before = errno;

	(void)number;
	if (running) {
		handled++;
		if (handled & 1)
			swapcontext(&handler_context, &other_context);
		else if (fire_handler(handled) != know_handler(handled))
			went_wrong();
	}
	errno = before;
}

static void start_signals(long unused)
{
	static char stack[65536], other[65536];
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK | SA_RESTART};
	struct itimerspec every = {{0, 100000}, {0, 100000}};
	sigset_t alarm;
	timer_t timer;

	(void)unused;
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarm, NULL);
	getcontext(&other_context);
	other_context.uc_stack.ss_sp = other;
	other_context.uc_stack.ss_size = sizeof(other);
	makecontext(&other_context, run_other_stack, 0);
	sigprocmask(SIG_UNBLOCK, &alarm, NULL);
	sigaltstack(&alternate, NULL);
	sigaction(SIGALRM, &action, NULL);
	has_signals = true;
	timer_create(CLOCK_MONOTONIC, NULL, &timer);
	timer_settime(timer, 0, &every, NULL);
}

static void run_signals(uint64_t i)
{
	running = 1;
	for (int n = 0; n < 20; n++)
		run_one(i + (uint64_t)n);
	running = 0;
}

#endif

/* ---- Alignment checks */

static void set_alignment_checks(bool are_on)
{
#ifdef __x86_64__
	if (are_on)
		__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orl $0x40000, (%%rsp); popfq; "
				 "lea 128(%%rsp), %%rsp" ::
					 : "memory", "cc");
	else
		__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andl $~0x40000, (%%rsp); popfq; "
				 "lea 128(%%rsp), %%rsp" ::
					 : "memory", "cc");
#endif
}

static void run_aligned(uint64_t i)
{
	uint64_t sum;

	set_alignment_checks(true);
	sum = fire_all(i);
	set_alignment_checks(false);
	if (sum != know_all(i))
		went_wrong();
}

/* ---- Limits */

static size_t size_left; /* of what a limit leaves, in bytes */

static size_t read_size(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	size_t pages = 0;

	if (!f || fscanf(f, "%zu", &pages) != 1)
		abort();
	fclose(f);
	return pages * 4096;
}

static void set_limit(int which, size_t to)
{
	struct rlimit limit = {to, to};

	if (setrlimit(which, &limit))
		abort();
}

static void start_as(long mib)
{
	size_left = (size_t)mib << 20;
	set_limit(RLIMIT_AS, read_size() + size_left);
}

static void start_memlock(long mib)
{
	size_left = (size_t)mib << 20;
	set_limit(RLIMIT_MEMLOCK, read_size() + size_left);
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		abort();
}

/* Half of what was left at the start must still be there. */
static void run_memory(uint64_t i)
{
	void *memory = mmap(NULL, size_left / 2, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		went_wrong();
	else
		munmap(memory, size_left / 2);
	run_one(i);
}

static void run_memlock(uint64_t i)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		went_wrong();
	run_memory(i);
}

static long files_left;

static void start_nofile(long left)
{
	int highest = dup(0);

	files_left = left;
	close(highest);
	set_limit(RLIMIT_NOFILE, (size_t)(highest + left));
}

static void run_nofile(uint64_t i)
{
	int fds[8];

	for (long n = 0; n < files_left; n++)
		if ((fds[n] = dup(0)) < 0)
			went_wrong();
	for (long n = 0; n < files_left; n++)
		close(fds[n]);
	run_one(i);
}

static void start_stack(long unused)
{
	(void)unused;
	set_limit(RLIMIT_STACK, 256 << 10);
}

static __attribute__((noinline)) void run_deep(uint64_t i, int depth)
{
	volatile char frame[4096];

	frame[0] = (char)depth;
	if (depth)
		run_deep(i, depth - 1);
	else
		run_one(i);
	frame[1] = frame[0];
}

static void run_stack(uint64_t i)
{
	run_deep(i, 40);
}

/* ---- The driver's orders */

/* clang-format off */
static const struct workload {
	const char *name;
	void (*start)(long number);
	void (*run)(uint64_t round);
} workloads[] = {
	{"one",        NULL,             run_one},
	{"threads",    start_threads,    run_threads},
#ifdef __GLIBC__
	{"coroutines", start_coroutines, run_coroutines},
	{"signals",    start_signals,    run_signals},
#endif
	{"aligned",    NULL,             run_aligned},
	{"as",         start_as,         run_memory},
	{"memlock",    start_memlock,    run_memlock},
	{"nofile",     start_nofile,     run_nofile},
	{"stack",      start_stack,      run_stack},
};
/* clang-format on */

static const struct workload *find_workload(const char *name)
{
	for (size_t i = 0; i < sizeof(workloads) / sizeof(*workloads); i++)
		if (!strcmp(workloads[i].name, name))
			return &workloads[i];
	exit(2);
}

static struct state *map_state(const char *path)
{
	int fd = open(path, O_RDWR);
	void *at = mmap(NULL, sizeof(struct state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd < 0 || at == MAP_FAILED)
		exit(2);
	close(fd);
	return at;
}

/* A child writes a core dump while the session lasts. */
static void dump_core(void)
{
	struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
	int status = 0;
	pid_t child = fork();

	if (!child) {
		setrlimit(RLIMIT_CORE, &all);
		signal(SIGABRT, SIG_DFL);
		abort();
	}
	if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status) ||
	    WTERMSIG(status) != SIGABRT)
		went_wrong();
	state->order = ORDER_NONE;
	state->answered++;
}

/* A sleep that ends early would be seen. */
static void rest(void)
{
	struct timespec t = {0, 300000};

	if (nanosleep(&t, NULL) && !has_signals)
		went_wrong();
}

static void serve(const struct workload *w)
{
	while (state->order != ORDER_EXIT) {
		if (state->order == ORDER_CORE)
			dump_core();
		__atomic_store_n(&state->in_round, 1, __ATOMIC_SEQ_CST);
		if (state->done >= __atomic_load_n(&state->wanted, __ATOMIC_SEQ_CST)) {
			__atomic_store_n(&state->in_round, 0, __ATOMIC_RELEASE);
			rest();
			continue;
		}
		w->run(state->done);
		__atomic_fetch_add(&state->done, 1, __ATOMIC_RELEASE);
	}
}

int main(int argc, char **argv)
{
	const struct workload *w;

	if (argc < 3)
		return 2;
	w = find_workload(argv[2]);
	state = map_state(argv[1]);
	for (int p = 0; p < PROBE_COUNT; p++)
		strncpy(state->probes[p].name, names[p], sizeof(state->probes[p].name) - 1);
	heap_text = strdup("a text on the heap");
	state->threads = 1;
	if (w->start)
		w->start(argc > 3 ? atol(argv[3]) : 0);
	__atomic_store_n(&state->ready, 1, __ATOMIC_RELEASE);
	serve(w);
	return state->wrong != 0;
}
