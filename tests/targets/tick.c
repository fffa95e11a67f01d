/* A traced program that fires what its arguments say, so that a test can count on every event.
 *
 *   tick word a b a        tick:word(const char *word, int length) once for each word
 *   tick number N...       tick:number(long value) for each
 *   tick conn N...         tick:conn(struct conn *c) for each: see conn.h
 *   tick loop COUNT [THREADS [USECS]]   tick:loop(int i, const char *text), COUNT times a thread
 *   tick fork COUNT        a child fires tick:loop COUNT times, then the parent does
 *   tick hostile           tick:word with control bytes, bytes that are no UTF-8, and addresses
 * that are not there tick cold FILE         tick:word with text on a page of FILE that nobody has
 * touched tick active            prints 1 while tick:gate's semaphore is raised, else 0 tick wait
 * ARGS...      waits for a line on standard input, then goes on as `tick ARGS...` */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#include "conn.h"

#define SEMAPHORE(name) \
	unsigned short tick_##name##_semaphore __attribute__((section(".probes"), used))

SEMAPHORE(word);
SEMAPHORE(number);
SEMAPHORE(loop);
SEMAPHORE(conn);
SEMAPHORE(gate);

static long loop_count, loop_usecs;

static void fire_word(const char *word)
{
	int length = word ? (int)strlen(word) : 0;

	DTRACE_PROBE2(tick, word, word, length);
}

static void *fire_loop(void *unused)
{
	static const char text[] = "the quick brown fox";

	for (int i = 0; i < loop_count; i++) {
		DTRACE_PROBE2(tick, loop, i, text);
		if (loop_usecs)
			usleep((useconds_t)loop_usecs);
	}
	return unused;
}

static int run_loop(int argc, char **argv)
{
	pthread_t threads[64];
	int count = argc > 3 ? atoi(argv[3]) : 1;

	loop_count = argc > 2 ? atol(argv[2]) : 1;
	loop_usecs = argc > 4 ? atol(argv[4]) : 0;
	if (count < 1 || count > 64)
		return 2;
	for (int i = 1; i < count; i++)
		if (pthread_create(&threads[i], NULL, fire_loop, NULL))
			return 1;
	fire_loop(NULL);
	for (int i = 1; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static int run_words(int argc, char **argv)
{
	for (int i = 2; i < argc; i++)
		fire_word(argv[i]);
	return 0;
}

static int run_numbers(int argc, char **argv)
{
	for (int i = 2; i < argc; i++) {
		long value = strtol(argv[i], NULL, 0);

		DTRACE_PROBE1(tick, number, value);
	}
	return 0;
}

static int run_conns(int argc, char **argv)
{
	for (int i = 2; i < argc; i++) {
		struct conn *c = &conns[atoi(argv[i]) % CONN_COUNT];

		DTRACE_PROBE1(tick, conn, c);
	}
	return 0;
}

static int run_fork(int argc, char **argv)
{
	pid_t child = fork();

	if (child > 0)
		waitpid(child, NULL, 0);
	return run_loop(argc > 3 ? 3 : argc, argv);
}

static int run_hostile(int argc, char **argv)
{
	(void)argc, (void)argv;
	fire_word("\033[2J\007bell\nline");
	fire_word("\xff\xfe broken \xc3\xa9 fine");
	DTRACE_PROBE2(tick, word, (const char *)(uintptr_t)16, -1);
	DTRACE_PROBE2(tick, word, (const char *)NULL, 0);
	return 0;
}

static int run_cold(int argc, char **argv)
{
	int fd = argc > 2 ? open(argv[2], O_RDONLY) : -1;
	struct stat st;
	char *text;

	if (fd < 0 || fstat(fd, &st))
		return 1;
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text == MAP_FAILED)
		return 1;
	DTRACE_PROBE2(tick, word, text, 0);
	return 0;
}

/* Text of LENGTH letters that ends where memory ends, without a NUL. */
static int run_edge(int argc, char **argv)
{
	size_t length = argc > 2 ? strtoul(argv[2], NULL, 0) : 0, page = 4096;
	size_t size = (length + page - 1) / page * page;
	char *end =
		mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (end == MAP_FAILED || mprotect(end + size, page, PROT_NONE))
		return 1;
	end += size;
	for (size_t i = 0; i < length; i++)
		end[i - length] = (char)('a' + i % 26);
	DTRACE_PROBE2(tick, word, end - length, (int)length);
	return 0;
}

static int run_active(int argc, char **argv)
{
	int active = *(volatile unsigned short *)&tick_gate_semaphore;

	(void)argc, (void)argv;
	printf("%d\n", active);
	if (active)
		DTRACE_PROBE1(tick, gate, active);
	return 0;
}

static const struct mode {
	const char *name;
	int (*run)(int argc, char **argv);
} modes[] = {
	{"word", run_words}, {"number", run_numbers},  {"loop", run_loop},
	{"fork", run_fork},  {"hostile", run_hostile}, {"cold", run_cold},
	{"edge", run_edge},  {"active", run_active},   {"conn", run_conns},
};

static int run_mode(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[1], modes[i].name))
			return modes[i].run(argc, argv);
	fprintf(stderr,
		"usage: tick word|number|conn|loop|fork|hostile|cold|edge|active|wait ...\n");
	return 2;
}

int main(int argc, char **argv)
{
	char line[80];

	if (argc > 1 && !strcmp(argv[1], "wait")) {
		if (!fgets(line, sizeof(line), stdin))
			return 1;
		argv[1] = argv[0];
		return run_mode(argc - 1, argv + 1);
	}
	return run_mode(argc, argv);
}
