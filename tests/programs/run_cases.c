/* run_cases NOPAL FILE: the cases of one file of tests/cases/run/, traced by the kernel in ./tick;
 * every case that prints something else than its `out:` is shown. A single program instead of a
 * shell, since each process that starts costs an emulator as much as the tracing. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "help/casefile.h"

#define SECONDS_MOST 60
#define MAX_ARGS     16
#define FIRST_ARG    6 /* after nopal's own */
#define MAX_OUTPUT   (1 << 20)

#define KEYS	    "script fire args out"
#define TOO_COMPLEX "is too complex for this kernel: "

static _Noreturn void die(const char *what, const char *about)
{
	fprintf(stderr, "run_cases: %s: %s\n", about, what);
	exit(1);
}

static void write_file(const char *path, struct str text)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(text.ptr, 1, text.len, f) != text.len || fclose(f))
		die(strerror(errno), path);
}

/* Without blank lines at either end and blanks after its last line. */
static struct str trimmed(struct str s)
{
	while (s.len && *s.ptr == '\n')
		s = str_of(s.ptr + 1, s.len - 1);
	while (s.len && (s.ptr[s.len - 1] == '\n' || s.ptr[s.len - 1] == ' '))
		s.len--;
	return s;
}

static void add_command(struct buf *command, struct str line)
{
	buf_printf(command, "%s%.*s\n", str_starts(line, STR("tick")) ? "./" : "", STR_FMT(line));
}

/* What is fired, as a command for -c: a single one needs no shell. */
static void command_of(const struct test_case *t, struct buf *command)
{
	const struct case_field *fire = NULL;
	size_t count = 0;

	while ((fire = case_next(t, "fire", fire))) {
		struct str rest = fire->text;

		for (; rest.len; count++)
			add_command(command, str_cut(&rest, '\n'));
	}
	if (count > 1)
		write_file("fires", buf_as_str(command));
	if (count != 1) {
		buf_clear(command);
		buf_str(command, count ? STR("sh fires") : STR("true"));
	}
}

static _Noreturn void exec_nopal(char **argv)
{
	int out = open("printed", O_WRONLY | O_CREAT | O_TRUNC, 0666);
	int err = open("messages", O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (out < 0 || err < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(126);
	close(out);
	close(err);
	execv(argv[0], argv);
	_exit(127);
}

/* The run that lasts too long; nopal handles SIGALRM itself, so the clock is ours. */
static volatile pid_t running;

static void kill_running(int signal)
{
	(void)signal;
	kill(running, SIGKILL);
}

/* nopal -q -c COMMAND script ARGS...; its status, as wait(2) has it. */
static int trace(char *nopal, struct str command, struct str args)
{
	char *text = strndup(command.ptr, command.len), *words = strndup(args.ptr, args.len);
	char *argv[FIRST_ARG + MAX_ARGS + 1] = {nopal, "-q", "-c", text, "script", "--"};
	int status;
	pid_t pid;

	for (char *word = strtok(words, " \n"), **at = argv + FIRST_ARG; word;
	     word = strtok(NULL, " \n")) {
		if (at == argv + FIRST_ARG + MAX_ARGS)
			die("too many arguments", words);
		*at++ = word;
	}
	pid = fork();
	if (pid == 0)
		exec_nopal(argv);
	running = pid;
	alarm(SECONDS_MOST);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		die(strerror(errno), nopal);
	alarm(0);
	free(text);
	free(words);
	return status;
}

static void slurp(const char *path, struct buf *out)
{
	int err = file_slurp(path, MAX_OUTPUT, out);

	if (err)
		die(strerror(-err), path);
}

/* Did it print what it should? */
static bool run_case(char *nopal, const struct test_case *t)
{
	struct buf command = BUF_INIT, printed = BUF_INIT, messages = BUF_INIT;
	struct str wanted = trimmed(case_text(t, "out")), got;
	int status;
	bool ok;

	write_file("script", case_text(t, "script"));
	command_of(t, &command);
	status = trace(nopal, str_trim(buf_as_str(&command)), case_text(t, "args"));
	slurp("printed", &printed);
	slurp("messages", &messages);
	buf_char(&messages, '\0');
	got = trimmed(buf_as_str(&printed));
	/* Older kernels may refuse what is long, in our words. */
	ok = WIFEXITED(status) && (str_eq(got, wanted) || strstr(messages.ptr, TOO_COMPLEX));
	if (!ok)
		printf("%s:%u: '%s' (status 0x%x)\nwanted:\n%.*s\ngot:\n%.*s\nmessages:\n%s",
		       t->path, t->line, t->name, (unsigned)status, STR_FMT(wanted), STR_FMT(got),
		       messages.ptr);
	buf_free(&command);
	buf_free(&printed);
	buf_free(&messages);
	return ok;
}

int main(int argc, char **argv)
{
	struct buf why = BUF_INIT;
	struct case_file f;
	size_t failed = 0;

	setenv("TZ", "UTC", 1);
	if (argc != 3)
		die("usage: run_cases NOPAL FILE", "two arguments are needed");
	if (case_file_open(argv[2], KEYS, &f, &why))
		die(why.ptr, "a case file");
	signal(SIGALRM, kill_running);
	for (size_t i = 0; i < f.count; i++)
		failed += !run_case(argv[1], &f.cases[i]);
	printf("%zu cases, %zu failed\n", f.count, failed);
	case_file_close(&f);
	return failed != 0;
}
