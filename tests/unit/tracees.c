/* Threads of other processes that are traced by a thread of ours. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/tracees.h"
#include "help/check.h"

#define PATIENCE_S 60 /* a deadlock ends the test */

/* A process with two threads beside the main one: one waits, the other one calls exec when it is
 * told to. */
struct target {
	int tell[2], waits_tid[2], exec_tid[2];
	pid_t waits, calls_exec;
};

static void *wait_for_end(void *arg)
{
	struct target *t = arg;
	pid_t self = (pid_t)syscall(SYS_gettid);

	while (write(t->waits_tid[1], &self, sizeof(self)) > 0)
		pause();
	return NULL;
}

static void *call_exec(void *arg)
{
	struct target *t = arg;
	pid_t self = (pid_t)syscall(SYS_gettid);
	char byte;

	if (write(t->exec_tid[1], &self, sizeof(self)) > 0 && read(t->tell[0], &byte, 1) > 0)
		execlp("true", "true", NULL);
	_exit(1);
}

static void run_target(struct target *t)
{
	pthread_t one, two;

	pthread_create(&one, NULL, wait_for_end, t);
	pthread_create(&two, NULL, call_exec, t);
	pthread_join(two, NULL);
	_exit(2);
}

static char state_of(pid_t tid)
{
	char path[64], text[512] = "";
	const char *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	file = fopen(path, "r");
	if (!file)
		return 'X';
	end = fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL;
	fclose(file);
	return end ? end[2] : 'X';
}

static bool is_one(pid_t tid, pid_t pid)
{
	return !syscall(SYS_tgkill, pid, tid, 0);
}

static int seize_during_exec(void *arg)
{
	struct target *t = arg;

	if (tracees_seize(t->waits, 0) || write(t->tell[1], "x", 1) != 1)
		return 1;
	while (state_of(t->waits) != 'Z')
		sched_yield();
	tracees_seize(t->calls_exec, 0); /* it may have another number by now */
	return 0;
}

static void a_thread_that_calls_exec_and_its_tracer_waited_for_each_other(void **state)
{
	struct target t;
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(t.tell), 0);
	assert_int_equal(pipe(t.waits_tid), 0);
	assert_int_equal(pipe(t.exec_tid), 0);
	pid = fork();
	if (!pid)
		run_target(&t);
	assert_int_equal(read(t.waits_tid[0], &t.waits, sizeof(pid_t)), sizeof(pid_t));
	assert_int_equal(read(t.exec_tid[0], &t.calls_exec, sizeof(pid_t)), sizeof(pid_t));
	assert_true(is_one(t.waits, pid) && is_one(t.calls_exec, pid));
	alarm(PATIENCE_S);
	assert_int_equal(tracees_apart(seize_during_exec, &t), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	alarm(0);
}

static int return_result(void *arg)
{
	return *(int *)arg;
}

static void what_the_function_returns(void **state)
{
	int result = -7;

	(void)state;
	assert_int_equal(tracees_apart(return_result, &result), result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_that_calls_exec_and_its_tracer_waited_for_each_other),
		cmocka_unit_test(what_the_function_returns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
