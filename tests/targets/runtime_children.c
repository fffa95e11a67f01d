/* A process with a run-time probe has children that fire it too.
 *
 *   runtime_children HOW DEPTH   provider children, probe hit(level, i, ~i): when a line comes,
 *                                events 0 to 4 of level 0; then a child does the same as level 1,
 *                                and so on; behind it events 5 to 9. HOW is fork, clone (the bare
 *                                system call), or threads: clone, while other threads load
 *
 * Prints "ready", and at the end "N", which is 0 when no child was killed. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nopal/runtime.h"

static struct nopal_probe *hit;
static int use_clone;

static pid_t have_child(void)
{
	return use_clone ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
}

static int fire(int level, int depth)
{
	int status = 0;

	for (int i = 0; i < 10; i++) {
		nopal_probe_fire(hit, level, i, ~i);
		if (i == 4 && level < depth) {
			pid_t child = have_child();

			if (!child)
				_exit(fire(level + 1, depth));
			waitpid(child, &status, 0);
		}
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
}

static void *load_all_the_time(void *arg)
{
	for (;;) {
		struct nopal_provider *r = nopal_provider_new("others", 0, NULL);

		nopal_provider_probe(r, "p", NULL, 0, NULL, NULL);
		nopal_provider_load(r, NULL);
		nopal_provider_destroy(r);
	}
	return arg;
}

int main(int argc, char **argv)
{
	static const struct nopal_probe_arg args[] = {
		{NOPAL_INT32, "level"}, {NOPAL_INT32, "i"}, {NOPAL_INT32, "not_i"}};
	struct nopal_provider *r = nopal_provider_new("children", 0, NULL);
	const char *how = argc > 2 ? argv[1] : "fork";
	pthread_t thread;

	use_clone = strcmp(how, "fork") != 0;
	hit = nopal_provider_probe(r, "hit", args, 3, NULL, NULL);
	if (!hit || nopal_provider_load(r, NULL))
		return 1;
	if (!strcmp(how, "threads"))
		for (int i = 0; i < 4; i++)
			pthread_create(&thread, NULL, load_all_the_time, NULL);
	puts("ready");
	fflush(stdout);
	getchar();
	printf("%d\n", fire(0, argc > 2 ? atoi(argv[2]) : 1));
	return 0;
}
