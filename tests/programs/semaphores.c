/* Probes that fire only when their semaphore is raised.
 *
 *   semaphores N [LIBRARY]...   fire each probe N times, and print how often each did, and all
 * words semaphores 0 [LIBRARY]...   for each line of the input: a number as above; "load
 * LIBRARY": one more copy; "fork": an orphan that prints its words when the file "ask" is there
 *
 * With LIBRARY defined this is the library: each argument loads one more copy of it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

__extension__ unsigned short sem_ev_semaphore __attribute__((__unused__, __section__(".probes")));

int fire(int i)
{
	if (!sem_ev_semaphore)
		return 0;
	DTRACE_PROBE1(sem, ev, i);
	return 1;
}

int word(void)
{
	return *(volatile unsigned short *)&sem_ev_semaphore;
}

#ifndef LIBRARY
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST 4

/* Data that the linker puts before the semaphores, and makes read-only after relocation. */
const char *const names[] = {"semaphores", "seen", "words"};

static int (*fires[MOST])(int), (*words[MOST])(void);
static int count, seen[MOST];

static void add(const char *library)
{
	void *copy =
		library ? dlmopen(count > 1 ? LM_ID_NEWLM : LM_ID_BASE, library, RTLD_NOW) : NULL;

	if (library && !copy) {
		fprintf(stderr, "%s: %s\n", names[0], dlerror());
		exit(1);
	}
	fires[count] = copy ? (int (*)(int))dlsym(copy, "fire") : fire;
	words[count++] = copy ? (int (*)(void))dlsym(copy, "word") : word;
}

static void show(void)
{
	printf("%s", names[1]);
	for (int i = 0; i < count; i++)
		printf(" %d", seen[i]);
	printf(" %s", names[2]);
	for (int i = 0; i < count; i++)
		printf(" %d", words[i]());
	printf("\n");
	fflush(stdout);
}

static void fire_all(int n)
{
	for (int k = 0; k < n; k++)
		for (int i = 0; i < count; i++)
			seen[i] += fires[i](k);
	show();
}

static void leave_orphan(void)
{
	if (fork() || fork())
		return;
	setsid();
	while (access("ask", F_OK))
		usleep(1000);
	freopen("orphan", "w", stdout);
	show();
	_exit(0);
}

int main(int argc, char **argv)
{
	char line[64];

	for (int i = 1; i < argc && i <= MOST; i++)
		add(i == 1 ? NULL : argv[i]);
	if (argc > 1 && atoi(argv[1]))
		fire_all(atoi(argv[1]));
	while (argc > 1 && !atoi(argv[1]) && fgets(line, sizeof(line), stdin)) {
		pid_t self = getpid();

		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "load ", 5) && count < MOST) {
			add(line + 5);
			continue;
		}
		if (strncmp(line, "fork", 4)) {
			fire_all(atoi(line));
			continue;
		}
		leave_orphan();
		if (getpid() != self)
			_exit(0);
	}
	return 0;
}
#endif
