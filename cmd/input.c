/* Reading whole texts: scripts, provider files, what a preprocessor prints. */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"

#define MAX_INPUT (64 << 20) /* bytes of the largest text that is read */

/* All bytes of a descriptor, and a NUL; `path` is what messages call it. */
static char *read_all(int fd, const char *path, size_t *len)
{
	size_t cap = 1 << 14;
	char *text = malloc(cap + 1);
	ssize_t got = 1;

	for (*len = 0; text && (got = read(fd, text + *len, cap - *len)) > 0;) {
		*len += (size_t)got;
		if (*len == cap) {
			char *bigger = cap < MAX_INPUT ? realloc(text, (cap *= 2) + 1) : NULL;

			if (!bigger)
				free(text);
			text = bigger;
		}
	}
	if (text && !got) {
		text[*len] = '\0';
		return text;
	}
	say_error("cannot read '%s': %s", path,
		  text		     ? strerror(errno)
		  : *len < MAX_INPUT ? strerror(ENOMEM)
				     : "it is larger than 64 MiB");
	free(text);
	return NULL;
}

/* What the name of a file that is not there may be instead. */
static void hint_other(const char *path)
{
	if (strchr(path, '{'))
		fputs("hint: a script, and not the name of its file, follows -e\n", stderr);
	else if (find_command(path))
		fprintf(stderr, "hint: options follow the command: nopal %s ...\n", path);
	else if (*path && !path[strspn(path, "0123456789")])
		fprintf(stderr, "hint: a process is -p %s, as in nopal top -p %s\n", path, path);
}

char *input_read(const char *path, size_t *len)
{
	bool standard = !strcmp(path, "-");
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	char *text;

	if (fd < 0) {
		say_error("cannot read '%s': %s", path, strerror(errno));
		hint_other(path);
		return NULL;
	}
	text = read_all(fd, path, len);
	if (!standard)
		close(fd);
	return text;
}

char *input_script(const char *path)
{
	size_t len;
	char *text = input_read(path, &len);

	if (text && memchr(text, '\0', len)) {
		say_error("cannot read the script '%s': it contains a NUL byte, so it is not text",
			  path);
		free(text);
		return NULL;
	}
	return text;
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

char *input_from_command(struct words *command, size_t *len)
{
	char **argv = command->list, *text = NULL;
	int out, status = -1;
	pid_t pid = argv && argv[0] ? start(argv, &out) : -1;

	if (pid > 0) {
		text = read_all(out, argv[0], len);
		close(out);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	if (text && !status)
		return text;
	free(text);
	if (WIFEXITED(status) && WEXITSTATUS(status) != 127)
		say_error("'%s' failed", argv[0]);
	else
		say_error("cannot run '%s'", argv && argv[0] ? argv[0] : "");
	return NULL;
}
