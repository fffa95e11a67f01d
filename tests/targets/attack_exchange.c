// flags: -pthread
// A program that attacks the tracer that traces it in user mode: as soon as it has a new socket, a
// child that shares its descriptors puts a datagram socket in its place whose other end is full, so
// that who sends through it would wait for ever. (A thread would be stopped meanwhile.) Prints
// "ready", then "exchanged" for each, and ends with its standard input.
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/sdt.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NUMBERS 64

static int full_socket(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends))
		return -1;
	while (send(ends[0], "", 1, MSG_DONTWAIT) == 1)
		;
	return errno == EAGAIN ? ends[0] : -1;
}

static bool is_socket(int fd)
{
	int type;
	socklen_t size = sizeof(type);

	return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size);
}

static void exchange(int full)
{
	bool was_there[NUMBERS], is_there;

	for (int i = 0; i < NUMBERS; i++)
		was_there[i] = is_socket(i);
	for (;;)
		for (int i = 0; i < NUMBERS; i++) {
			is_there = is_socket(i);
			if (is_there && !was_there[i] && dup2(full, i) == i) {
				puts("exchanged");
				fflush(stdout);
			}
			was_there[i] = is_there;
		}
}

static void *fire(void *arg)
{
	for (;;) {
		DTRACE_PROBE(attack, fire);
		usleep(1000);
	}
	return arg;
}

int main(void)
{
	int full = full_socket();
	pthread_t thread;
	char end;

	if (full < 0 || pthread_create(&thread, NULL, fire, NULL))
		return 1;
	if (syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL) == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		exchange(full);
	}
	puts("ready");
	fflush(stdout);
	return read(0, &end, 1) < 0;
}
