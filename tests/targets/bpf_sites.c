// A traced program that does as it is told. It prints "NAME OFFSET" for each of its sites (offsets
// in its file) and a line "ready", then obeys lines on stdin, answering each with "done":
//
//   int N      N events at `int`: arg0 counts up from 0 as a 4-byte signed, arg1 = 8 * arg0
//   str TEXT   one event at `str`: arg0 = -7, arg1 -> TEXT
//   null       the same with a null pointer; `bad`: with an address nobody has
//   page FILE  the same with text at the start of a page of FILE that was never touched
//   edge       the same with text that ends at the end of the last mapped page
//   tail       the same with 72 bytes "0123456789..." without a NUL up to the end of the last
//   mapped page many       one event at `many`, with 12 arguments in memory: 1 .. 12 threads T N  T
//   threads fire N events each at `int` fork N     a child fires N events at `int` other N    N
//   events at `other`, whose arg0 is in another register value V    one event at `value` with the
//   8-byte arg0 = V sema       answers "sema N", the semaphore's value nops       runs the sites
//   `nop5` and `nop10` twice N    calls a function that returns 2 * N where      answers "sema N",
//   the address of `int` exec       becomes itself again
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "help/site_args.h"

unsigned short site_semaphore __attribute__((section(".probes"), used, visibility("hidden")));

#define SITE(name)    "\n.globl site_" #name "\n.hidden site_" #name "\nsite_" #name ":\n"
#define DECLARE(name) extern char site_##name[] __attribute__((visibility("hidden")))

DECLARE(int);
DECLARE(str);
DECLARE(many);
DECLARE(other);
DECLARE(value);
DECLARE(nop5);
DECLARE(nop10);

/* A local variable that lives in the register of that name. */
#define IN(reg, name, value) register long name __asm__(reg) = (long)(value)

static __attribute__((noinline)) void fire_int(int i)
{
	IN(REG_FIRST, first, i);
	IN(REG_SECOND, second, (long)i * 8);

	__asm__ volatile(SITE(int) "nop" ::"r"(first), "r"(second));
}

static __attribute__((noinline)) void fire_str(int i, const char *text)
{
	IN(REG_FIRST, first, i);
	IN(REG_SECOND, second, text);

	__asm__ volatile(SITE(str) "nop" ::"r"(first), "r"(second));
}

static __attribute__((noinline)) void fire_many(const long *args)
{
	IN(REG_BASE, base, args);
	IN(REG_INDEX, index, MANY_INDEX);

	__asm__ volatile(SITE(many) "nop" ::"r"(base), "r"(index), "m"(*(const long(*)[12])args));
}

static __attribute__((noinline)) void fire_other(int i)
{
	IN(REG_VALUE, value, i);

	__asm__ volatile(SITE(other) "nop" ::"r"(value));
}

static __attribute__((noinline)) void fire_value(long v)
{
	IN(REG_VALUE, value, v);

	__asm__ volatile(SITE(value) "nop" ::"r"(value));
}

/* Where there are no longer nops these are what the others are. */
static __attribute__((noinline)) void fire_nops(void)
{
#if defined(__x86_64__)
	__asm__ volatile(SITE(nop5) ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00");
	__asm__ volatile(SITE(nop10) ".byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0");
#else
	__asm__ volatile(SITE(nop5) "nop");
	__asm__ volatile(SITE(nop10) "nop");
#endif
}

static __attribute__((noinline, noclone)) long fire_twice(long n)
{
	__asm__ volatile("" : "+r"(n));
	return 2 * n;
}

/* Address in memory to offset in our file, by our own map. */
static unsigned long file_offset(const void *address)
{
	unsigned long from, to, offset, at = (unsigned long)address, found = 0;
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx", &from, &to, &offset) == 3 && at >= from &&
		    at < to)
			found = at - from + offset;
	if (f)
		fclose(f);
	return found;
}

static void show(const char *name, const void *address)
{
	printf("%s %lu\n", name, file_offset(address));
}

static void *fire_in_thread(void *count)
{
	for (long i = 0; i < (long)count; i++)
		fire_int((int)i);
	return NULL;
}

static void fire_threads(long threads, long count)
{
	pthread_t thread[64];

	for (long i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, fire_in_thread, (void *)count);
	for (long i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
}

static void fire_page(const char *path)
{
	int fd = open(path, O_RDONLY);
	char *text = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

	fire_str(-7, text);
	munmap(text, 4096);
	close(fd);
}

static void fire_edge(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(pages + 4096, 4096);
	strcpy(pages + 4096 - 5, "edge");
	fire_str(-7, pages + 4096 - 5);
	munmap(pages, 4096);
}

static void fire_tail(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(pages + 4096, 4096);
	for (int i = 0; i < 72; i++)
		pages[4096 - 72 + i] = (char)('0' + i % 10);
	fire_str(-7, pages + 4096 - 72);
	munmap(pages, 4096);
}

static void fire_twelve(void)
{
	long args[12];

	for (int i = 0; i < 12; i++)
		args[i] = i + 1;
	fire_many(args);
}

static void obey(char *line)
{
	char *word = strtok(line, " \n"), *rest = strtok(NULL, "\n");
	long n = rest ? strtol(rest, &rest, 0) : 0;

	if (!strcmp(word, "int"))
		fire_in_thread((void *)n);
	else if (!strcmp(word, "null"))
		fire_str(-7, NULL);
	else if (!strcmp(word, "bad"))
		fire_str(-7, (char *)16);
	else if (!strcmp(word, "edge"))
		fire_edge();
	else if (!strcmp(word, "tail"))
		fire_tail();
	else if (!strcmp(word, "many"))
		fire_twelve();
	else if (!strcmp(word, "threads"))
		fire_threads(n, strtol(rest, NULL, 0));
	else if (!strcmp(word, "value"))
		fire_value(n);
	else if (!strcmp(word, "sema"))
		printf("sema %u\n", *(volatile unsigned short *)&site_semaphore);
	else if (!strcmp(word, "where"))
		printf("sema %ld\n", (long)site_int);
	else if (!strcmp(word, "twice"))
		printf("%ld\n", fire_twice(n));
	else if (!strcmp(word, "exec"))
		execl(program_invocation_name, program_invocation_name, "again", NULL);
	else if (!strcmp(word, "nops"))
		fire_nops();
	else if (!strcmp(word, "other"))
		for (long i = 0; i < n; i++)
			fire_other((int)i);
	else if (!strcmp(word, "fork")) {
		pid_t pid = fork();

		if (!pid) {
			fire_in_thread((void *)n);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	char line[8192];

	setvbuf(stdout, NULL, _IOLBF, 0);
	show("int", site_int);
	show("str", site_str);
	show("many", site_many);
	show("other", site_other);
	show("value", site_value);
	show("nop5", site_nop5);
	show("nop10", site_nop10);
	show("twice", fire_twice);
	show("sema", &site_semaphore);
	printf(argc > 1 && argv[1] ? "done\n" : "ready\n");
	while (fgets(line, sizeof(line), stdin)) {
		if (!strncmp(line, "str ", 4)) {
			line[strcspn(line, "\n")] = '\0';
			fire_str(-7, line + 4);
		} else if (!strncmp(line, "page ", 5)) {
			line[strcspn(line, "\n")] = '\0';
			fire_page(line + 5);
		} else {
			obey(line);
		}
		printf("done\n");
	}
	return 0;
}
