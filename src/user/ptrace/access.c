/* May a process be traced in user mode? And why not, in words that say what helps. */
#include "user/ptrace/tracee_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/proc.h"
#include "user/ptrace/threads.h"

/* A number in /proc/PID/status; -1: not known. */
static long status_number(struct str status, const char *name)
{
	uint64_t value;

	return str_to_u64(process_status_line(status, name), &value) ? -1 : (long)value;
}

/* kernel.yama.ptrace_scope: whom the kernel lets debug a process, and what helps others. */
static const struct {
	const char *who, *hint;
} scopes[] = {
	{NULL, NULL},
	{"only its ancestors", "start it with -c, or run nopal as root"},
	{"only root", "run nopal as root"},
	{"no process", "root can trace it with --kernel"},
};

/* Which of them holds; 0 where there is no such setting. */
static unsigned ptrace_scope(void)
{
	struct buf text = BUF_INIT;
	uint64_t scope = 0;

	if (file_slurp("/proc/sys/kernel/yama/ptrace_scope", 16, &text) ||
	    str_to_u64(str_trim(buf_as_str(&text)), &scope) || scope >= COUNT(scopes))
		scope = 0;
	buf_free(&text);
	return (unsigned)scope;
}

static void refuse_by_scope(pid_t pid, unsigned scope, struct diag *d)
{
	diag_error(d, -EPERM, "user-mode-scope",
		   "cannot trace process %d in user mode: kernel.yama.ptrace_scope is %u, so the "
		   "kernel lets %s debug it",
		   (int)pid, scope, scopes[scope].who);
	diag_hint(d, "%s", scopes[scope].hint);
}

/* The memory of the process is gone, or was that of its main thread. */
static int refuse_ended(pid_t pid, struct diag *d)
{
	struct buf text = BUF_INIT;
	bool has_others =
		!process_status(pid, &text) && status_number(buf_as_str(&text), "Threads") > 1;

	buf_free(&text);
	if (has_others)
		return diag_error(d, -ENOTSUP, "user-mode-main",
				  "cannot trace process %d in user mode: its main thread has "
				  "ended, through which its memory is reached",
				  (int)pid);
	return diag_error(d, -ESRCH, "no-process",
			  "process %d has ended, or is a thread of the kernel", (int)pid);
}

/* Another user's, or one that the kernel protects from its own user. */
static void refuse_owner(pid_t pid, uid_t shown, struct diag *d)
{
	struct buf text = BUF_INIT;
	uint64_t real = shown;
	bool is_own;

	if (!process_status(pid, &text))
		process_status_number(buf_as_str(&text), "Uid", 0, &real);
	buf_free(&text);
	is_own = real == geteuid();
	if (is_own)
		diag_error(d, -EPERM, "user-mode-dumpable",
			   "cannot trace process %d in user mode: the kernel lets only root "
			   "debug it, since its program has set-user-ID bits or capabilities, or "
			   "it has asked for that (PR_SET_DUMPABLE)",
			   (int)pid);
	else
		diag_error(d, -EPERM, "user-mode-owner",
			   "cannot trace process %d in user mode: it belongs to another user (uid "
			   "%u)",
			   (int)pid, (unsigned)real);
}

int process_refuse(pid_t pid, int err, struct diag *d)
{
	char path[64];
	struct stat st;
	unsigned scope = ptrace_scope();

	/* The status file of a process that is protected from its user is root's, the directory is
	 * not. */
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (stat(path, &st))
		return diag_error(d, -ESRCH, "no-process", "there is no process %d", (int)pid);
	if (err != -EACCES && err != -EPERM && err != -ESRCH)
		return diag_error(d, err, "user-mode-denied",
				  "cannot trace process %d in user mode: %s", (int)pid,
				  strerror(-err));
	if (!process_stat_number(pid, STAT_PROGRAM))
		return refuse_ended(pid, d);
	if (geteuid() && st.st_uid != geteuid())
		refuse_owner(pid, st.st_uid, d);
	else if (scope)
		refuse_by_scope(pid, scope, d);
	else
		diag_error(d, -EPERM, "user-mode-denied",
			   "cannot trace process %d in user mode: %s", (int)pid, strerror(-err));
	if (!scope || (geteuid() && st.st_uid != geteuid()))
		diag_hint_permission(d, -EPERM, "trace one of your own processes");
	return -EPERM;
}

/* TracerPid of a process or thread; -1: not known. */
static long tracer_of(pid_t tid)
{
	struct buf text = BUF_INIT;
	long tracer =
		process_status(tid, &text) ? -1 : status_number(buf_as_str(&text), "TracerPid");

	buf_free(&text);
	return tracer;
}

/* Only a command that we have started is, and is so from the start. */
bool process_is_held(const struct inject *x)
{
	return x->was_held && tracer_of(x->pid) == getpid();
}

pid_t process_debugger(pid_t tid)
{
	long tracer = tracer_of(tid);

	return tracer > 0 && tracer != getpid() ? (pid_t)tracer : 0;
}

/* What matters in the status of a process, or of a thread. */
struct status {
	pid_t tracer; /* 0: none */
	bool has_filter;
	bool has_shadow; /* a shadow stack */
};

/* "x86_Thread_features:\tshstk wrss " */
static bool has_shadow_stack(struct str status)
{
	struct str words = process_status_line(status, "x86_Thread_features");

	while (words.len)
		if (str_eq_text(str_cut(&words, ' '), "shstk"))
			return true;
	return false;
}

static int read_status(pid_t tid, struct status *out)
{
	struct buf text = BUF_INIT;
	int err = process_status(tid, &text);
	long tracer = err ? 0 : status_number(buf_as_str(&text), "TracerPid");

	*out = (struct status){
		.tracer = tracer > 0 ? (pid_t)tracer : 0,
		.has_filter = err ? err != -ENOENT && err != -ESRCH
				  : status_number(buf_as_str(&text), "Seccomp") > 0,
		.has_shadow = !err && has_shadow_stack(buf_as_str(&text)),
	};
	buf_free(&text);
	return err;
}

bool inject_has_filter(pid_t tid)
{
	struct status status;

	read_status(tid, &status);
	return status.has_filter;
}

/* Another tracer of ours may hold it for a moment. */
static int check_status(struct inject *x, struct diag *d)
{
	uint64_t start = clock_now();
	struct status status;
	pid_t tracer;
	int err;

	do {
		err = read_status(x->pid, &status);
		tracer = status.tracer == getpid() ? 0 : status.tracer;
	} while (threads_are_awaited(tracer ? -EBUSY : 0, start));
	x->is_filtered = status.has_filter;
	x->was_held = status.tracer && !tracer;
	if (err)
		return process_refuse(x->pid, err, d);
	if (tracer) {
		diag_error(d, -EBUSY, "user-mode-traced",
			   "cannot trace process %d in user mode: process %d is debugging it",
			   (int)x->pid, (int)tracer);
		diag_hint(d, "detach the debugger, or use --kernel");
		return -EBUSY;
	}
	if (status.has_shadow)
		return diag_error(d, -ENOTSUP, "user-mode-shadow-stack",
				  "cannot trace process %d in user mode: it has a shadow stack "
				  "(CET), which user mode does not support",
				  (int)x->pid);
	return 0;
}

/* The process would die: valgrind translates our jumps with the program's code. */
static int refuse_valgrind(pid_t pid, struct diag *d)
{
	return diag_error(d, -ENOTSUP, "user-mode-valgrind",
			  "cannot trace process %d in user mode: valgrind runs it", (int)pid);
}

static int check_program(struct inject *x, struct diag *d)
{
	unsigned char ident[20] = {0};
	char path[64], name[4096] = "";
	int fd;
	bool is_64;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)x->pid);
	if (readlink(path, name, sizeof(name) - 1) > 0 && strstr(name, "/valgrind/"))
		return refuse_valgrind(x->pid, d);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : process_refuse(x->pid, -errno, d);
	is_64 = read(fd, ident, sizeof(ident)) == sizeof(ident) && ident[4] == 2;
	close(fd);
	if (is_64)
		return 0;
	return diag_error(d, -ENOTSUP, "user-mode-32",
			  "cannot trace process %d in user mode: it is a 32-bit program",
			  (int)x->pid);
}

int process_check(struct inject *x, struct diag *d)
{
	int err = check_status(x, d);

	return err ? err : check_program(x, d);
}
