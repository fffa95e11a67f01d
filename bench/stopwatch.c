/* Times a tracer: starts it, waits until a word on its standard error says that it is attached,
 * runs a command, interrupts the tracer, and waits until it ends.
 *
 *   stopwatch [-w WORD] [-r SHELL-COMMAND] [-p MS] PROGRAM ARGS...
 *
 *   -w WORD      the word that says "attached" (otherwise: run to the end, no signal)
 *   -r COMMAND   run this once attached, before the interrupt
 *   -p MS        wait MS milliseconds between the word and the interrupt (150)
 *
 * The tracer's standard output is discarded. Prints one line: attached_ms exit_ms
 * total_ms maxrss_kib run_ms. exit_ms counts from the interrupt. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Read the pipe until `word` has been seen; false at its end. What was read is kept for the
 * message. */
static int wait_word(int fd, const char *word)
{
	static char text[1 << 16];
	size_t len = 0;

	for (;;) {
		ssize_t got = read(fd, text + len, sizeof(text) - 1 - len);

		if (got <= 0) {
			fprintf(stderr, "stopwatch: ended before '%s': %s\n", word, text);
			return 0;
		}
		len += (size_t)got;
		text[len] = '\0';
		if (strstr(text, word))
			return 1;
		if (len > sizeof(text) / 2) {
			memmove(text, text + len - 256, 257);
			len = 256;
		}
	}
}

/* The tracer must not block on a full pipe: drain it until the tracer ends, interrupting again
 * every second (bpftrace sometimes misses the first signal). */
static void drain_until_end(int fd, pid_t pid, int interrupt)
{
	char scrap[4096];
	struct pollfd p = {.fd = fd, .events = POLLIN};

	for (;;) {
		int ready = poll(&p, 1, interrupt ? 1000 : -1);

		if (ready == 0)
			kill(pid, SIGINT);
		else if (ready > 0 && read(fd, scrap, sizeof(scrap)) <= 0)
			return;
	}
}

/* The tracer, its standard error on the pipe, its output nowhere. */
static pid_t start_tracer(char **argv, const int fds[2])
{
	pid_t pid = fork();

	if (pid == 0) {
		dup2(fds[1], 2);
		if (!freopen("/dev/null", "w", stdout))
			_exit(126);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(fds[1]);
	return pid;
}

/* Milliseconds that a shell's command takes; 0 for none. */
static double run_command(const char *command)
{
	double before = now_ms();

	if (!command)
		return 0;
	if (system(command))
		fprintf(stderr, "stopwatch: '%s' failed\n", command);
	return now_ms() - before;
}

int main(int argc, char **argv)
{
	const char *word = NULL, *command = NULL;
	int pause_ms = 150, option, fds[2], status;
	double start, attached = 0, interrupted = 0, ran = 0, end;
	struct rusage usage;
	pid_t pid;

	while ((option = getopt(argc, argv, "+w:r:p:")) != -1) {
		if (option == 'w')
			word = optarg;
		else if (option == 'r')
			command = optarg;
		else if (option == 'p')
			pause_ms = atoi(optarg);
		else
			return 2;
	}
	if (optind == argc || pipe2(fds, O_CLOEXEC))
		return 2;
	setenv("__BPFTRACE_NOTIFY_PROBES_ATTACHED", "1", 1);
	start = now_ms();
	pid = start_tracer(argv + optind, fds);
	if (word) {
		if (!wait_word(fds[0], word))
			return 1;
		attached = now_ms() - start;
		usleep((useconds_t)pause_ms * 1000);
		ran = run_command(command);
		interrupted = now_ms();
		kill(pid, SIGINT);
	}
	drain_until_end(fds[0], pid, word != NULL);
	while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR)
		;
	end = now_ms();
	printf("%.2f %.2f %.2f %ld %.2f\n", attached, word ? end - interrupted : 0, end - start,
	       usage.ru_maxrss, ran);
	return 0;
}
