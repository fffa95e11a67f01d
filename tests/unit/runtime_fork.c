/* Children of processes with run-time probes, however they are made. A tracer is played by a call
 * in a stub, to a page that children do not get: so does the kernel. STRESS=1 makes it long,
 * BRIEF=1 short. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "help/check.h"
#include "help/spy.h"

#ifndef MADV_DONTFORK
#define MADV_DONTFORK 10
#endif

static struct nopal_provider *r;
static struct nopal_probe *p;

/* ---- A tracer ---- */

#define CALL 0xe8

/* A page near the stubs with nothing but a return in it. */
static unsigned char *make_trampoline(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *at =
		mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	*at = 0xc3;
	assert_int_equal(mprotect(at, page, PROT_READ | PROT_EXEC), 0);
	assert_int_equal(madvise(at, page, MADV_DONTFORK), 0);
	return at;
}

static unsigned char *trampoline;

static void write_call(void)
{
	ptrdiff_t distance = trampoline - (spy_stub(p) + 5);
	unsigned char call[5] = {CALL};
	int32_t near = (int32_t)distance;

	assert_true(near == distance);
	memcpy(call + 1, &near, sizeof(near));
	spy_write(p, call, sizeof(call));
}

static int trace(void **state)
{
	(void)state;
	r = nopal_provider_new("forks", 0, NULL);
	p = nopal_provider_probe(r, "p", NULL, 0, NULL, NULL);
	assert_int_equal(nopal_provider_load(r, NULL), 0);
	trampoline = make_trampoline();
	write_call();
	nopal_probe_fire(p);
	return 0;
}

static int end_trace(void **state)
{
	(void)state;
	nopal_provider_destroy(r);
	munmap(trampoline, (size_t)sysconf(_SC_PAGESIZE));
	return 0;
}

/* ---- Ways to make a child ---- */

static pid_t bare_clone(void)
{
#if defined __s390x__
	return (pid_t)syscall(SYS_clone, 0, SIGCHLD, 0, 0, 0);
#else
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
}

static pid_t (*const ways[])(void) = {fork, bare_clone};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

/* Run `what` in a child: 0, or its exit status, or minus the signal that killed it. */
static int in_child(pid_t (*way)(void), int (*what)(void))
{
	pid_t child = way();
	int status = -1;

	if (!child) {
		alarm(60);
		_exit(what());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int fire(void)
{
	for (int i = 0; i < 3; i++)
		nopal_probe_fire(p);
	return *spy_stub(p) == NOPAL_PROBE_NOP ? 0 : 1;
}

static void a_child_fires_what_its_parent_was_traced_at(void **state)
{
	(void)state;
	for (size_t i = 0; i < WAYS; i++)
		assert_int_equal(in_child(ways[i], fire), 0);
	assert_int_equal(*spy_stub(p), CALL);
}

/* ---- Generations ---- */

static int trace_and_fire_below(void)
{
	if (fire())
		return 2;
	trace(NULL); /* another provider, and one more generation */
	return in_child(bare_clone, fire);
}

static int fire_below(void)
{
	return in_child(bare_clone, fire) ? 3 : fire();
}

static void a_childs_child_fires_too(void **state)
{
	(void)state;
	for (size_t i = 0; i < WAYS; i++) {
		assert_int_equal(in_child(ways[i], trace_and_fire_below), 0);
		assert_int_equal(in_child(ways[i], fire_below), 0);
	}
}

static int load_and_fire(void)
{
	if (nopal_provider_unload(r, NULL) || fire() || nopal_provider_load(r, NULL))
		return 2;
	return fire();
}

static void a_child_unloads_and_loads(void **state)
{
	(void)state;
	for (size_t i = 0; i < WAYS; i++)
		assert_int_equal(in_child(ways[i], load_and_fire), 0);
}

/* A tracer that looks for the image by where it was mapped finds the file of the idle stubs. */
static void a_child_fires_what_was_traced_after_it_was_unloaded(void **state)
{
	(void)state;
	assert_int_equal(nopal_provider_unload(r, NULL), 0);
	write_call();
	nopal_probe_fire(p);
	for (size_t i = 0; i < WAYS; i++) {
		assert_int_equal(in_child(ways[i], fire), 0);
		assert_int_equal(in_child(ways[i], load_and_fire), 0);
	}
	assert_int_equal(*spy_stub(p), CALL);
}

static void a_child_that_shares_memory_changes_nothing(void **state)
{
	pid_t child = vfork();
	int status;

	(void)state;
	if (!child) {
		nopal_probe_fire(p);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(*spy_stub(p), CALL);
}

/* ---- Descriptors ---- */

static int close_and_fire(void)
{
	close(nopal_probe_fd(p));
	return fire();
}

/* The image is not what the descriptor shows now. */
static int replace_and_fire(void)
{
	int zeros = open("/dev/zero", O_RDONLY), fd = nopal_probe_fd(p);

	return dup2(zeros, fd) != fd ? 2 : fire();
}

static void a_child_may_have_closed_the_descriptor(void **state)
{
	(void)state;
	for (size_t i = 0; i < WAYS; i++) {
		assert_int_equal(in_child(ways[i], close_and_fire), 0);
		assert_int_equal(in_child(ways[i], replace_and_fire), 0);
	}
}

/* What was written in the child itself is not taken away for want of a descriptor. */
static int spy_and_fire(void)
{
	close(nopal_probe_fd(p));
	spy_on(p);
	nopal_probe_fire(p);
	return spied.calls == 1 ? 0 : 1;
}

static void a_tracer_of_such_a_child_keeps_its_probe(void **state)
{
	(void)state;
	assert_int_equal(in_child(bare_clone, spy_and_fire), 0);
}

/* ---- Threads ---- */

static pthread_barrier_t together;

static void *fire_together(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&together);
	nopal_probe_fire(p);
	return NULL;
}

static void fire_in_handler(int signal)
{
	(void)signal;
	nopal_probe_fire(p);
}

/* Their first events at the same time, while signals come that have handlers with events. */
static int fire_in_threads(void)
{
	const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
	pthread_t threads[8];

	pthread_barrier_init(&together, NULL, 8);
	signal(SIGPROF, fire_in_handler);
	for (int i = 0; i < 8; i++)
		if (pthread_create(&threads[i], NULL, fire_together, NULL))
			return 2;
	setitimer(ITIMER_PROF, &often, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	setitimer(ITIMER_PROF, &never, NULL);
	return fire();
}

static void threads_of_a_child_fire_at_once(void **state)
{
	(void)state;
	for (unsigned long i = 0; i < times(100, 5000); i++)
		assert_int_equal(in_child(ways[i % WAYS], fire_in_threads), 0);
}

static atomic_bool stop;

static void *fire_all_the_time(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop))
		nopal_probe_fire(p);
	return NULL;
}

static void *load_all_the_time(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop)) {
		struct nopal_provider *other = nopal_provider_new("other", 0, NULL);

		nopal_provider_probe(other, "p", NULL, 0, NULL, NULL);
		nopal_provider_load(other, NULL);
		nopal_provider_destroy(other);
	}
	return NULL;
}

static void children_of_a_process_with_threads_fire(void **state)
{
	pthread_t threads[4];

	(void)state;
	atomic_store(&stop, false);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, i % 2 ? load_all_the_time : fire_all_the_time,
			       NULL);
	for (unsigned long i = 0; i < times(repetitions(100, 300), 10000); i++)
		assert_int_equal(in_child(ways[i % WAYS], fire), 0);
	atomic_store(&stop, true);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
#define TRACED(test) cmocka_unit_test_setup_teardown(test, trace, end_trace)
	const struct CMUnitTest tests[] = {
		TRACED(a_child_fires_what_its_parent_was_traced_at),
		TRACED(a_childs_child_fires_too),
		TRACED(a_child_unloads_and_loads),
		TRACED(a_child_fires_what_was_traced_after_it_was_unloaded),
		TRACED(a_child_that_shares_memory_changes_nothing),
		TRACED(a_child_may_have_closed_the_descriptor),
		TRACED(a_tracer_of_such_a_child_keeps_its_probe),
		TRACED(threads_of_a_child_fire_at_once),
		TRACED(children_of_a_process_with_threads_fire),
	};

#if !defined __x86_64__
	puts("1..1");
	puts("ok 1 - children of traced processes # SKIP kernels write calls on x86-64 alone");
	return 0;
#endif
	return cmocka_run_group_tests(tests, NULL, NULL);
}
