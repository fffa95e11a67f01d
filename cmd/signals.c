/* Handlers of the signals that end a run, and their timer. Handlers are installed without
 * SA_RESTART: a write() without a reader is interrupted. As a signal may come just before such a
 * call, a timer goes on to interrupt it until the program is over. */
#include "signals.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "nopal/trace.h"

#define TICK_MS 100
#define SAME_MS \
	250 /* timeout(1) signals a program and then its group: two signals that count as one */
#define LAST_MS 1000 /* from the second signal to the end, whatever the program is doing */

/* The state that handlers use. */
static struct nopal_trace *volatile running;
static volatile sig_atomic_t stops, last_signal, maps_wanted;
static volatile long first_at, second_at;

/* Shells ignore SIGINT for commands that a script starts in the background. */
static bool interrupt_was_ignored;

long signals_clock(void)
{
	struct timespec t = {0, 0};

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void start_ticks(void)
{
	const struct itimerval often = {{0, TICK_MS * 1000}, {0, TICK_MS * 1000}};

	setitimer(ITIMER_REAL, &often, NULL);
}

static void handle_stop(int sig)
{
	int saved = errno;
	long now = signals_clock();

	if (!stops) {
		stops = 1;
		first_at = now;
		signal(SIGTTOU, SIG_IGN); /* or a screen in the background could not be closed */
		start_ticks();
	} else if (stops == 1 && now - first_at >= SAME_MS) {
		last_signal = sig;
		second_at = now;
		stops = 2;
	}
	if (running)
		nopal_trace_stop(running);
	errno = saved;
}

/* The terminal shows a key that was typed as ^C, where the next line would go on. */
static void end_echo(void)
{
	const int outputs[] = {STDERR_FILENO, STDOUT_FILENO};
	struct termios t;

	for (unsigned i = 0; i < sizeof(outputs) / sizeof(*outputs); i++)
		if (!tcgetattr(outputs[i], &t) && (t.c_lflag & ECHO) && (t.c_lflag & ECHOCTL)) {
			if (write(outputs[i], "\n", 1) < 0)
				continue;
			return;
		}
}

/* If it was ignored, ^C stays ignored; kill(2) is meant for us. */
static void handle_interrupt(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	if (interrupt_was_ignored && info->si_code == SI_KERNEL)
		return;
	if (info->si_code == SI_KERNEL && !stops)
		end_echo();
	errno = saved;
	handle_stop(sig);
}

/* The default action happens when the handler returns, since its signal is blocked until then. */
static void end_now(void)
{
	static const char text[] =
		"nopal: error: a second signal ended the run before everything was printed\n";
	struct pollfd standard_error = {STDERR_FILENO, POLLOUT, 0};

	if (poll(&standard_error, 1, 0) > 0 && write(STDERR_FILENO, text, strlen(text)) < 0)
		errno = 0;
	signal(last_signal, SIG_DFL);
	raise(last_signal);
}

static void handle_tick(int sig)
{
	int saved = errno;

	(void)sig;
	if (stops > 1 && signals_clock() - second_at >= LAST_MS)
		end_now();
	errno = saved;
}

static void handle_maps(int sig)
{
	(void)sig;
	maps_wanted = 1;
}

/* Only there so that write() fails with EPIPE. SIG_IGN would be inherited by programs. */
static void handle_pipe(int sig)
{
	(void)sig;
}

static void catch_signal(int sig, void (*handler)(int), bool even_ignored)
{
	struct sigaction action = {.sa_handler = handler}, old;

	sigaction(sig, NULL, &old);
	if (old.sa_handler == SIG_IGN && !even_ignored)
		return;
	sigfillset(&action.sa_mask);
	sigaction(sig, &action, NULL);
}

static void ignore_interrupt_again(void)
{
	if (interrupt_was_ignored)
		signal(SIGINT, SIG_IGN);
}

/* SIGINT is caught even if it is ignored, since scripts use `kill -INT` to end a tracer in the
 * background. */
static void catch_interrupt(void)
{
	struct sigaction action = {.sa_sigaction = handle_interrupt, .sa_flags = SA_SIGINFO}, old;

	sigfillset(&action.sa_mask);
	sigaction(SIGINT, NULL, &old);
	interrupt_was_ignored = old.sa_handler == SIG_IGN;
	pthread_atfork(NULL, NULL, ignore_interrupt_again);
	sigaction(SIGINT, &action, NULL);
}

void signals_catch(void)
{
	catch_interrupt();
	catch_signal(SIGTERM, handle_stop, false);
	catch_signal(SIGQUIT, handle_stop, false);
	catch_signal(SIGHUP, handle_stop, false);
	catch_signal(SIGUSR1, handle_maps, false);
	catch_signal(SIGPIPE, handle_pipe, false);
	catch_signal(SIGXFSZ, handle_pipe, false); /* ... and with EFBIG */
	catch_signal(SIGALRM, handle_tick, true);
}

void signals_end(struct nopal_trace *t)
{
	running = t;
	if (t && stops)
		nopal_trace_stop(t);
}

int signals_count(void)
{
	return stops;
}

bool signals_want_maps(void)
{
	bool wanted = maps_wanted;

	maps_wanted = 0;
	return wanted;
}
