/* nopal doctor: what this machine and this user can trace, and what to do about the rest. */
#include "command.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "nopal/trace.h"
#include "options.h"

struct doctor {
	pid_t pid;
};

static int look_at_process(pid_t pid)
{
	struct nopal_diag *d = nopal_diag_new();
	int err = d ? nopal_doctor_process(pid, write_text, stdout, d) : -ENOMEM;

	if (d && (nopal_diag_errors(d) || nopal_diag_warnings(d)))
		show_messages(d);
	nopal_diag_free(d);
	return err ? EXIT_FAILED : EXIT_OK;
}

static int run_doctor(const struct command *c, char **argv)
{
	struct doctor doctor = {0};
	int code, words = options_parse(c, argv, &doctor, &code);

	if (words < 0)
		return code;
	if (words)
		return usage_error(c, "doctor takes no arguments");
	if (doctor.pid)
		return look_at_process(doctor.pid);
	return nopal_doctor(write_text, stdout) ? EXIT_FAILED : EXIT_OK;
}

static const struct option options[] = {
	{"-p", NULL, "PID", take_pid, offsetof(struct doctor, pid),
	 "show how each probe site of this process can be traced in user mode, or why not"},
	{"-h", "--help", NULL, take_help, 0, "print this help"},
	{0},
};

const struct command command_doctor = {
	.name = "doctor",
	.self = "nopal doctor",
	.summary = "show what this machine and this user can trace",
	.usage = "[-p PID]",
	.about = "Show which features the kernel has, whether this user may trace, and what to do\n"
		 "if not.\n",
	.more = "Exit status: 0 if tracing works, 1 if it does not, 2 if the command line is\n"
		"wrong.\n",
	.options = options,
	.run = run_doctor,
};
