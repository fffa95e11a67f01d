/* Reading a file, running a command. */
#include "report/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Append what is there, up to `most` bytes in all; 0 at the end, 1 when there may be more, -EFBIG
 * when there is more. */
static int read_some(int fd, size_t most, size_t *taken, struct buf *out)
{
	size_t left = most - *taken, want = left < 4096 ? left + 1 : 4096;
	ssize_t got;

	if (buf_reserve(out, want))
		return -ENOMEM;
	got = read(fd, out->ptr + out->len, want);
	if (got < 0)
		return errno == EINTR ? 1 : -errno;
	if ((size_t)got > left) {
		out->len += left;
		out->ptr[out->len] = '\0';
		return -EFBIG;
	}
	out->len += (size_t)got;
	out->ptr[out->len] = '\0';
	*taken += (size_t)got;
	return got > 0;
}

int command_cat(const char *path, struct buf *out)
{
	/* A pipe that nobody writes to, or a terminal, must not stop the tracer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	size_t taken = 0;
	int more;

	if (fd < 0)
		return -errno;
	do {
		more = read_some(fd, CAT_BYTES_MOST, &taken, out);
	} while (more > 0);
	close(fd);
	return more == -EAGAIN ? 0 : more;
}

static int start_shell(const char *text, int output, pid_t *pid)
{
	char *args[] = {"sh", "-c", (char *)(uintptr_t)text, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, plain;
	int err;

	sigemptyset(&none);
	sigemptyset(&plain);
	sigaddset(&plain, SIGPIPE);
	sigaddset(&plain, SIGINT);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &plain);
	err = posix_spawn(pid, "/bin/sh", &actions, &attributes, args, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

/* Read until the pipe ends, or the shell has and the pipe is empty: a program that the command left
 * in the background may hold the pipe for ever. */
static int read_command(int fd, int shell, struct buf *out)
{
	struct pollfd fds[] = {{fd, POLLIN, 0}, {shell, POLLIN, 0}};
	size_t taken = 0;
	int more = 1;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (more > 0) {
		if (poll(fds, shell < 0 ? 1 : 2, -1) < 0 && errno != EINTR)
			return -errno;
		more = read_some(fd, COMMAND_BYTES_MOST, &taken, out);
		if (more == -EAGAIN)
			more = !fds[1].revents;
	}
	return more;
}

int command_run(const char *text, struct buf *out)
{
	int pipe_fds[2], shell, err;
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC))
		return -errno;
	err = start_shell(text, pipe_fds[1], &pid);
	close(pipe_fds[1]);
	if (err) {
		close(pipe_fds[0]);
		return err;
	}
	shell = (int)syscall(SYS_pidfd_open, pid, 0);
	err = read_command(pipe_fds[0], shell, out);
	close(pipe_fds[0]); /* a command that goes on writing is ended by SIGPIPE */
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (shell >= 0)
		close(shell);
	return err;
}
