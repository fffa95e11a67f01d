/* A process reloads its provider while threads fire and children are made: what a child has of an
 * unloaded provider is as good as what it has of a loaded one.
 *
 *   runtime_reload CHILDREN      provider reload, probes p0(i) to p3(i). Two threads fire, one has
 *                                children that fire, the provider is unloaded and loaded again
 *                                every 50 ms, and a signal handler fires too
 *
 * Prints "ready", and at the end "N children, M killed". */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nopal/runtime.h"

#define PROBES 4

static struct nopal_provider *r;
static struct nopal_probe *probes[PROBES];
static atomic_bool stop;
static int children, killed;

static void fire(int times)
{
	for (int i = 0; i < times; i++)
		for (int p = 0; p < PROBES; p++)
			nopal_probe_fire(probes[p], i);
}

static void *fire_all_the_time(void *arg)
{
	while (!atomic_load(&stop))
		fire(1000);
	return arg;
}

static void on_alarm(int number)
{
	(void)number;
	fire(1);
}

static void *have_children(void *arg)
{
	for (int i = 0; i < children; i++) {
		int status = 0;
		pid_t child = fork();

		if (!child) {
			fire(100);
			_exit(0);
		}
		waitpid(child, &status, 0);
		killed += WIFSIGNALED(status);
	}
	atomic_store(&stop, true);
	return arg;
}

int main(int argc, char **argv)
{
	static const struct nopal_probe_arg args[] = {{NOPAL_INT32, "i"}};
	struct itimerval often = {{0, 2000}, {0, 2000}};
	pthread_t threads[3];
	char name[8];

	children = argc > 1 ? atoi(argv[1]) : 100;
	r = nopal_provider_new("reload", 0, NULL);
	for (int i = 0; i < PROBES; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		probes[i] = nopal_provider_probe(r, name, args, 1, NULL, NULL);
	}
	if (nopal_provider_load(r, NULL))
		return 1;
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	puts("ready");
	fflush(stdout);
	getchar();
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, i < 2 ? fire_all_the_time : have_children, NULL);
	while (!atomic_load(&stop)) {
		usleep(40000);
		nopal_provider_unload(r, NULL);
		usleep(10000);
		nopal_provider_load(r, NULL);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%d children, %d killed\n", children, killed);
	return 0;
}
