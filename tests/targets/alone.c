/* A program that is traced beside others of the same file. It answers each line of standard input
 * by one line:
 *
 *   hit N        alone:hit(i) N times, in the main thread
 *   thread N     the same in a new thread
 *   fork N       the same in a child, which ends
 *   vfork N      the same in a child that shares our memory (CLONE_VM)
 *   grandchild   a child that has a child
 *   stay         a child takes our place; we end when it does
 *   exec         a thread that is not the main one replaces the program by itself
 *   main-ends    the main thread ends; another one goes on
 *   look         has our text or a semaphore changed since the last time, at any moment? "same", or
 * what changed state        "free", "armed" when our text is changed now, "raised" when the
 * semaphore is
 *
 * A second thread compares all our text with what it was at the start, all the time. */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

unsigned short alone_hit_semaphore __attribute__((section(".probes"), used));

extern const char __executable_start[], etext[];

static char *original;		      /* our text as it was at the start */
static _Atomic unsigned long rounds;  /* looks at it */
static _Atomic unsigned long changed; /* ... that found it changed */
static _Atomic unsigned long raised;  /* ... that found a semaphore raised */
static unsigned long enabled;	      /* runs of code that a semaphore guards */

static volatile unsigned short *semaphore(void)
{
	return &alone_hit_semaphore;
}

__attribute__((noinline)) void hit_once(int i)
{
	if (*semaphore())
		enabled++;
	DTRACE_PROBE1(alone, hit, i);
}

static void *hit(void *count)
{
	for (int i = 0; i < *(int *)count; i++)
		hit_once(i);
	return NULL;
}

static size_t text_size(void)
{
	return (size_t)(etext - __executable_start);
}

static void *watch(void *unused)
{
	for (;; rounds++) {
		changed += memcmp(original, __executable_start, text_size()) != 0;
		raised += *semaphore() != 0;
	}
	return unused;
}

static int start_watch(void)
{
	pthread_t thread;

	original = malloc(text_size());
	if (!original)
		return 1;
	memcpy(original, __executable_start, text_size());
	return pthread_create(&thread, NULL, watch, NULL);
}

static int hit_and_exit(void *count)
{
	hit(count);
	_exit(0);
}

static void hit_in_thread(int count)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, hit, &count))
		pthread_join(thread, NULL);
}

static void hit_in_child(int count, int depth)
{
	pid_t child = fork();

	if (!child) {
		if (depth)
			hit_in_child(count, depth - 1);
		hit_and_exit(&count);
	}
	waitpid(child, NULL, 0);
}

static void hit_in_shared(int count)
{
	static char stack[65536] __attribute__((aligned(16)));
	pid_t child = clone(hit_and_exit, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD,
			    &count);

	waitpid(child, NULL, 0);
}

static void go_on_in_child(void)
{
	pid_t child = fork();

	if (child) {
		waitpid(child, NULL, 0);
		_exit(0);
	}
}

static void *exec_again(void *self)
{
	execl("/proc/self/exe", self, NULL);
	return NULL;
}

static void look(void)
{
	unsigned long before = rounds;

	while (rounds < before + 2)
		sched_yield();
	if (changed || raised || enabled)
		printf("changed: text %lu, semaphore %lu of %lu looks; enabled code ran %lu "
		       "times\n",
		       changed, raised, rounds, enabled);
	else
		puts("same");
	changed = raised = enabled = 0;
}

static void *serve(void *self)
{
	char line[100], word[20];
	int count;

	while (fgets(line, sizeof(line), stdin)) {
		pthread_t thread;

		count = 0;
		if (sscanf(line, "%19s %d", word, &count) < 1)
			continue;
		if (!strcmp(word, "hit"))
			hit(&count);
		else if (!strcmp(word, "thread"))
			hit_in_thread(count);
		else if (!strcmp(word, "fork"))
			hit_in_child(count, 0);
		else if (!strcmp(word, "grandchild"))
			hit_in_child(count, 1);
		else if (!strcmp(word, "vfork"))
			hit_in_shared(count);
		else if (!strcmp(word, "stay"))
			go_on_in_child();
		else if (!strcmp(word, "exec") && !pthread_create(&thread, NULL, exec_again, self))
			pause();
		else if (!strcmp(word, "main-ends") &&
			 !pthread_create(&thread, NULL, serve, self)) {
			puts("ok");
			pthread_exit(NULL);
		}
		if (!strcmp(word, "look"))
			look();
		else if (!strcmp(word, "state"))
			puts(memcmp(original, __executable_start, text_size())
				     ? (*semaphore() ? "armed, raised" : "armed")
				     : (*semaphore() ? "raised" : "free"));
		else
			puts("ok");
	}
	exit(0);
}

int main(int argc, char **argv)
{
	(void)argc;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (start_watch())
		return 1;
	puts("ready");
	serve(argv[0]);
	return 0;
}
