/* Reading whole texts: the pieces that provider files come from. */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"

/* The largest text that is read. */
#define MAX_INPUT (64 << 20)

char *input_read(const char *self, int fd, const char *path, size_t *len)
{
	size_t room = 1 << 14;
	char *text = malloc(room);
	ssize_t got = 1;

	for (*len = 0; text && (got = read(fd, text + *len, room - *len)) > 0;) {
		*len += (size_t)got;
		if (*len == room) {
			char *bigger = room < MAX_INPUT ? realloc(text, room *= 2) : NULL;

			if (!bigger)
				free(text);
			text = bigger;
		}
	}
	if (text && !got)
		return text;
	say_error_as(self, "cannot read '%s': %s", path,
		     text ? strerror(errno) : "it is too large");
	free(text);
	return NULL;
}

/* Start a command with its standard output on a pipe. The child's pid, or -1. */
static pid_t start(char **argv, int *out)
{
	int pipe_ends[2];
	pid_t pid;

	if (pipe2(pipe_ends, O_CLOEXEC))
		return -1;
	pid = vfork();
	if (!pid) {
		dup2(pipe_ends[1], STDOUT_FILENO);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(pipe_ends[1]);
	*out = pipe_ends[0];
	if (pid < 0)
		close(pipe_ends[0]);
	return pid;
}

char *input_from_command(const char *self, struct words *command, size_t *len)
{
	char **argv = command->list, *text = NULL;
	int out, status = -1;
	pid_t pid = argv && argv[0] ? start(argv, &out) : -1;

	if (pid > 0) {
		text = input_read(self, out, argv[0], len);
		close(out);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	if (text && !status)
		return text;
	free(text);
	if (WIFEXITED(status) && WEXITSTATUS(status) != 127)
		say_error_as(self, "'%s' failed", argv[0]);
	else
		say_error_as(self, "cannot run '%s'", argv && argv[0] ? argv[0] : "");
	return NULL;
}
