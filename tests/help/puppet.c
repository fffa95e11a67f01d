#include "help/puppet.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "help/check.h"

void puppet_start(struct puppet *p, const char *path, uid_t uid)
{
	int in[2], out[2];

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	signal(SIGPIPE, SIG_IGN); /* one that has ended is said by puppet_answer() */
	p->pid = fork();
	if (!p->pid) {
		signal(SIGPIPE, SIG_DFL);
		dup2(in[0], 0);
		dup2(out[1], 1);
		if (uid && setuid(uid))
			_exit(126);
		execl(path, path, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	p->to = fdopen(in[1], "w");
	p->from = fdopen(out[0], "r");
}

long puppet_tell(struct puppet *p, const char *line, const char *what)
{
	fprintf(p->to, "%s\n", line);
	fflush(p->to);
	return puppet_answer(p, what);
}

long puppet_answer(struct puppet *p, const char *what)
{
	char line[256], format[64];
	long value = -1;

	snprintf(format, sizeof(format), "%s %%ld", what);
	while (fgets(line, sizeof(line), p->from)) {
		if (!strcmp(line, "done\n"))
			return value;
		sscanf(line, format, &value);
	}
	fail_msg("the traced program has ended: status 0x%x", puppet_stop(p));
	return -1;
}

int puppet_stop(struct puppet *p)
{
	int status = -1;

	fclose(p->to);
	fclose(p->from);
	waitpid(p->pid, &status, 0);
	return status;
}
