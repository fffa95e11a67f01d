/* valgrind translates the code of the program that it runs, and takes a breakpoint or a jump of
 * ours, which it meets there, for the program's own. So where code of programs must be armed, a
 * process that it runs is refused. */
#include "session/session.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int refuse_valgrind(const char *what, struct diag *d)
{
	diag_error(d, -ENOTSUP, "valgrind",
		   "cannot trace %s: valgrind runs the program, which would die of a changed "
		   "instruction",
		   what);
	diag_hint(d, "trace the program without valgrind");
	return -ENOTSUP;
}

static bool is_in_valgrind(pid_t pid)
{
	char link[32], path[PATH_MAX] = "";

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	return readlink(link, path, sizeof(path) - 1) > 0 && strstr(path, "/valgrind/");
}

static bool begins_valgrind(const char *command)
{
	struct str rest = str_from(command), word = str_cut(&rest, ' '), name = word;

	while (word.len)
		name = str_cut(&word, '/');
	return str_eq(name, STR("valgrind"));
}

int session_check_valgrind(struct nopal_trace *t, struct diag *d)
{
	struct script_armed armed;
	char what[32];

	script_armed(t->script, &armed);
	if (!armed.file_count && !t->facts.needs_images)
		return 0;
	if (t->options.command)
		return begins_valgrind(t->options.command) ? refuse_valgrind("the command", d) : 0;
	for (size_t i = 0; i < t->process_count; i++) {
		pid_t pid = t->pid ? t->pid : t->options.pids[i];

		snprintf(what, sizeof(what), "process %d", (int)pid);
		if (is_in_valgrind(pid))
			return refuse_valgrind(what, d);
	}
	return 0;
}
