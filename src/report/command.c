/* Making a command line, running it, reading a file. */
#include "report/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOPPED_WAIT_MS 1000 /* for a command to end after SIGTERM */

extern char **environ;

/* ---- The line */

void shell_free(struct shell_line *l)
{
	buf_free(&l->text);
	buf_free(&l->values);
	*l = (struct shell_line){.text = BUF_INIT};
}

/* Only for how a value has to be written there. A mistake (a comment, a command within quotes)
 * makes several words of it, or shows "${1}", but runs nothing. */
static void follow_quotes(struct shell_line *l, char c)
{
	if (l->escaped) {
		l->escaped = false;
		return;
	}
	switch (l->quote) {
	case SHELL_SINGLE: l->quote = c == '\'' ? SHELL_PLAIN : SHELL_SINGLE; break;
	case SHELL_DOUBLE:
		l->escaped = c == '\\';
		l->quote = c == '"' ? SHELL_PLAIN : SHELL_DOUBLE;
		break;
	default:
		l->escaped = c == '\\';
		l->quote = c == '\'' ? SHELL_SINGLE : c == '"' ? SHELL_DOUBLE : SHELL_PLAIN;
	}
}

void shell_text(struct shell_line *l, struct str text)
{
	for (size_t i = 0; i < text.len; i++)
		follow_quotes(l, text.ptr[i]);
	buf_str(&l->text, text);
}

void shell_value(struct shell_line *l, size_t start)
{
	static const char *const formats[] = {
		[SHELL_PLAIN] = "\"${%u}\"",
		[SHELL_SINGLE] = "'\"${%u}\"'",
		[SHELL_DOUBLE] = "${%u}",
	};

	/* An argument ends at its first NUL. */
	for (size_t i = start; i < l->values.len; i++)
		if (!l->values.ptr[i])
			l->values.len = i;
	buf_char(&l->values, '\0');
	if (l->escaped)
		shell_text(l, STR("\\")); /* a plain backslash */
	buf_printf(&l->text, formats[l->quote], ++l->count);
}

char **shell_arguments(const struct shell_line *l)
{
	static char name[] = "sh", option[] = "-c";
	char **argv = calloc(l->count + 5u, sizeof(*argv)), *value = l->values.ptr;

	if (!argv || l->text.failed || l->values.failed || !l->text.ptr) {
		free(argv);
		return NULL;
	}
	argv[0] = name;
	argv[1] = option;
	argv[2] = l->text.ptr;
	argv[3] = name;
	for (unsigned i = 0; i < l->count; i++) {
		argv[4 + i] = value;
		value += strlen(value) + 1;
	}
	return argv;
}

/* ---- Files and commands */

/* Append what can be read, up to `most` bytes in all; 0 at the end, 1 when there may be more,
 * -EFBIG when there is more. */
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

int command_cat(const char *path, size_t most, struct buf *out)
{
	/* A pipe without a writer, or a terminal, must not stop the tracer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	size_t taken = 0;
	int more;

	if (fd < 0)
		return -errno;
	do {
		more = read_some(fd, most, &taken, out);
	} while (more > 0);
	close(fd);
	return more == -EAGAIN ? 0 : more;
}

static int start_shell(char **argv, int output, pid_t *pid)
{
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
	posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &plain);
	err = posix_spawn(pid, "/bin/sh", &actions, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

/* A command on its way. */
struct running {
	pid_t pid;
	int output;  /* our end of its pipe */
	int shell;   /* pidfd; -1: this kernel has none */
	int stop_fd; /* readable: end it */
};

/* Read until the pipe ends, or the shell has and the pipe is empty: a program that the command left
 * in the background may hold the pipe for ever. */
static int read_command(const struct running *c, struct buf *out)
{
	struct pollfd fds[] = {
		{c->output, POLLIN, 0}, {c->shell, POLLIN, 0}, {c->stop_fd, POLLIN, 0}};
	size_t taken = 0;
	int more = 1;

	fcntl(c->output, F_SETFL, O_NONBLOCK);
	while (more > 0) {
		if (poll(fds, 3, -1) < 0 && errno != EINTR)
			return -errno;
		if (fds[2].revents)
			return -EINTR;
		more = read_some(c->output, COMMAND_BYTES_MOST, &taken, out);
		if (more == -EAGAIN)
			more = !fds[1].revents;
	}
	return more;
}

/* A command may close its output and go on. */
static int wait_command(const struct running *c)
{
	struct pollfd fds[] = {{c->shell, POLLIN, 0}, {c->stop_fd, POLLIN, 0}};

	/* Without a pidfd there is nothing to wait for but the process itself. */
	if (c->shell < 0)
		return 0;
	while (poll(fds, 2, -1) < 0 && errno == EINTR)
		;
	return fds[0].revents ? 0 : -EINTR;
}

int command_run(char **argv, int stop_fd, struct buf *out, int *status)
{
	struct running c = {.shell = -1, .stop_fd = stop_fd > 0 ? stop_fd : -1};
	struct pollfd ended = {.events = POLLIN};
	int pipe_fds[2], err, stopped;

	if (pipe2(pipe_fds, O_CLOEXEC))
		return -errno;
	err = start_shell(argv, pipe_fds[1], &c.pid);
	close(pipe_fds[1]);
	if (err) {
		close(pipe_fds[0]);
		return err;
	}
	c.output = pipe_fds[0];
	c.shell = (int)syscall(SYS_pidfd_open, c.pid, 0);
	err = read_command(&c, out);
	close(c.output); /* a command that goes on writing is ended by SIGPIPE */
	stopped = err == -EINTR ? err : wait_command(&c);
	ended.fd = c.shell;
	if (stopped)
		kill(c.pid, SIGTERM);
	if (!stopped || poll(&ended, 1, STOPPED_WAIT_MS) > 0)
		while (waitpid(c.pid, status, 0) < 0 && errno == EINTR)
			;
	if (c.shell >= 0)
		close(c.shell);
	return err ? err : stopped;
}
