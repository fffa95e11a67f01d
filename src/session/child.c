/* Starting a command so that it waits for us: a child of ours, under ptrace, stops itself before it
 * calls exec, so that the exec can be traced; it stops again after it. To reach the entry point,
 * one breakpoint is put there and removed again. */
#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <wordexp.h>
#include <elf.h>

#include "base/cursor.h"
#include "base/proc.h"

/* What the entry breakpoint needs from the host. A mask of 0: there is none on this CPU, and
 * libraries that are mapped before the entry are found as later ones are. */
#if defined(__x86_64__) || defined(__i386__)
#define BREAKPOINT	0xccUL
#define BREAKPOINT_MASK 0xffUL
#elif defined(__aarch64__)
#define BREAKPOINT	0xd4200000UL /* brk #0 */
#define BREAKPOINT_MASK 0xffffffffUL
#else
#define BREAKPOINT	0UL
#define BREAKPOINT_MASK 0UL
#endif

static int split_command(const char *command, wordexp_t *words, struct diag *d)
{
	int err = wordexp(command, words, WRDE_NOCMD | WRDE_UNDEF);

	if (!err && words->we_wordc)
		return 0;
	if (!err)
		wordfree(words);
	if (err == WRDE_NOSPACE)
		return diag_error(d, -ENOMEM, "no-memory", "no memory for the command '%s'",
				  command);
	diag_error(d, -EINVAL, "bad-command", "cannot split the command '%s' into words", command);
	diag_hint(d, "quote characters such as | & ; < > ( ), or use: -c \"sh -c '...'\"");
	return -EINVAL;
}

static int check_program(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EACCES;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) ? -errno : 0;
}

/* The file that exec will be given: searched for in $PATH, unless the name contains a /. Found
 * beforehand, so that a name that does not exist is an error before anything is attached, and so
 * that only one exec is seen. -ENOENT, -EACCES. */
static int find_program(const char *name, struct buf *out)
{
	struct str dirs = str_from(getenv("PATH")), dir;
	int err = -ENOENT, found;

	if (strchr(name, '/')) {
		buf_text(out, name);
		return out->failed ? -ENOMEM : check_program(name);
	}
	if (!dirs.len)
		dirs = STR("/bin:/usr/bin");
	while (dirs.len && *name) {
		dir = str_cut(&dirs, ':');
		buf_clear(out);
		buf_printf(out, "%.*s/%s", STR_FMT(dir.len ? dir : STR(".")), name);
		if (out->failed)
			return -ENOMEM;
		found = check_program(out->ptr);
		if (!found)
			return 0;
		if (found == -EACCES)
			err = found;
	}
	return err;
}

/* An ordinary user's tracer, which starts it under ptrace, would take such privileges from it. */
static bool has_privileges(const char *path)
{
	struct stat st;

	if (!geteuid() || stat(path, &st))
		return false;
	return ((st.st_mode & S_ISUID) && st.st_uid != geteuid()) ||
	       ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getegid()) ||
	       getxattr(path, "security.capability", NULL, 0) > 0;
}

static int refuse_privileges(const char *name, struct diag *d)
{
	diag_error(d, -EPERM, "command-privileges",
		   "cannot start '%s': it has set-user-ID bits or capabilities, which the kernel "
		   "takes from a program that an ordinary user traces",
		   name);
	diag_hint(d, "run nopal as root; or start it without nopal");
	return -EPERM;
}

/* In the child: never returns. An exec that fails sends its errno through `report`. Signals are the
 * caller's: what it blocks and ignores, the command does, too. */
static void run_child(const char *program, char **words, char *const *more, int report)
{
	int err;

	for (; *more; more++)
		putenv(*more);

	/* Refused under strace -f, say: who is traced already would stop here for ever. */
	if (!ptrace(PTRACE_TRACEME, 0, NULL, NULL)) {
		kill(getpid(), SIGSTOP);
		execv(program, words);
		if (errno == ENOEXEC)
			execvp(program, words); /* a script for sh that does not say so */
	}
	err = errno;
	if (write(report, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

/* Others may kill it at any moment: then it cannot be let go on, or has been reaped. */
static const char *reason_of(int err)
{
	return err == -ESRCH || err == -ECHILD ? "it was killed before it ran" : strerror(-err);
}

static int go_on(const struct child *c, int sig)
{
	return ptrace(PTRACE_CONT, c->pid, NULL, (void *)(long)sig) ? -errno : 0;
}

/* Until it stops with this status (of waitpid, shifted); signals on the way are passed on. */
static int wait_for(struct child *c, int wanted)
{
	int err = 0;

	while (!err) {
		while (waitpid(c->pid, &c->status, 0) < 0)
			if (errno != EINTR)
				return -errno;
		c->gone = !WIFSTOPPED(c->status);
		if (c->gone)
			return -ECHILD;
		if (c->status >> 8 == wanted)
			return 0;
		err = go_on(c, WSTOPSIG(c->status));
	}
	return err;
}

/* A child that has stopped before its exec. It does not outlive us until it has run that. */
static int spawn_stopped(const char *program, char **words, char *const *more, struct child *c)
{
	int pipe_fds[2], err, theirs;

	if (pipe2(pipe_fds, O_CLOEXEC))
		return -errno;
	c->pid = fork();
	if (c->pid == 0)
		run_child(program, words, more, pipe_fds[1]);
	close(pipe_fds[1]);
	c->report = pipe_fds[0];
	if (c->pid < 0)
		return -errno;
	err = wait_for(c, SIGSTOP);
	if (err && read(c->report, &theirs, sizeof(theirs)) == sizeof(theirs))
		err = -theirs;
	if (!err && ptrace(PTRACE_SETOPTIONS, c->pid, NULL,
			   (void *)(PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC)))
		err = -errno;
	return err;
}

/* AT_ENTRY of a process from its auxiliary vector; 0 when unknown. */
static uint64_t entry_address(pid_t pid)
{
	unsigned char bytes[1024], ident[EI_NIDENT];
	uint64_t tag = 0, value = 0;
	unsigned word;
	struct cursor c;

	if (process_read_start(pid, "exe", ident, sizeof(ident)) != sizeof(ident))
		return 0;
	word = ident[EI_CLASS] == ELFCLASS32 ? 4 : 8;
	c = cursor_of(bytes, process_read_start(pid, "auxv", bytes, sizeof(bytes)),
		      ident[EI_DATA] == ELFDATA2MSB);
	while (cursor_word(&c, word, &tag) && cursor_word(&c, word, &value) && tag != AT_NULL)
		if (tag == AT_ENTRY)
			return value;
	return 0;
}

/* Put the program counter of a stopped child to `address`. */
static int set_pc(pid_t pid, uint64_t address)
{
#if defined(__x86_64__)
	/* In this layout also when the child is a 32-bit program. */
	return ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, regs.rip), address) ? -errno : 0;
#elif defined(__i386__)
	return ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, regs.eip), address) ? -errno : 0;
#elif defined(__aarch64__)
	struct user_regs_struct regs;
	struct iovec iov = {&regs, sizeof(regs)};

	if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &iov))
		return -errno;
	regs.pc = address;
	return ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &iov) ? -errno : 0;
#else
	(void)pid, (void)address;
	return -ENOTSUP;
#endif
}

int child_start(const char *command, char *const *more, struct child *out, struct diag *d)
{
	struct child c = {.report = -1};
	struct buf program = BUF_INIT;
	wordexp_t words;
	int err = split_command(command, &words, d);

	if (err)
		return err;
	err = find_program(words.we_wordv[0], &program);
	if (!err && has_privileges(program.ptr)) {
		err = refuse_privileges(words.we_wordv[0], d);
		wordfree(&words);
		buf_free(&program);
		*out = c;
		return err;
	}
	if (!err)
		err = spawn_stopped(program.ptr, words.we_wordv, more, &c);
	c.stopped = c.pid > 0 && !c.gone;
	if (err)
		diag_error(d, err, "command-failed", "cannot start '%s': %s", words.we_wordv[0],
			   reason_of(err));
	if (err == -ENOENT)
		diag_hint(d, "is it in $PATH? a path that contains / is not searched for");
	if (err == -EPERM)
		diag_hint(d, "is nopal itself traced, as by strace -f? then its command cannot be");
	wordfree(&words);
	buf_free(&program);
	*out = c;
	return err;
}

int child_exec(struct child *c, const char *command, struct diag *d)
{
	int err, why = 0;

	if (!c->pid || !c->stopped || c->report < 0)
		return 0;
	err = go_on(c, 0);
	if (!err)
		err = wait_for(c, SIGTRAP | PTRACE_EVENT_EXEC << 8);
	if (err && read(c->report, &why, sizeof(why)) == sizeof(why))
		err = -why;
	close(c->report);
	c->report = -1;
	if (!err && ptrace(PTRACE_SETOPTIONS, c->pid, NULL, NULL))
		err = -errno;
	if (err)
		diag_error(d, err, "command-failed", "cannot start '%s': %s", command,
			   reason_of(err));
	if (err == -ENOENT) /* the file itself was there */
		diag_hint(d, "the file's interpreter (#!, or ld.so) does not exist");
	return err;
}

int child_run_to_entry(struct child *c, struct diag *d)
{
	uint64_t entry = entry_address(c->pid);
	void *at = (void *)(uintptr_t)entry;
	unsigned long word;
	int err = 0;

	if (c->is_at_entry || !entry || !BREAKPOINT_MASK)
		return 0;
	errno = 0;
	word = (unsigned long)ptrace(PTRACE_PEEKTEXT, c->pid, at, NULL);
	if (errno ||
	    ptrace(PTRACE_POKETEXT, c->pid, at, (void *)((word & ~BREAKPOINT_MASK) | BREAKPOINT)))
		err = -errno;
	if (!err)
		err = go_on(c, 0);
	if (!err)
		err = wait_for(c, SIGTRAP);
	if (!err)
		err = ptrace(PTRACE_POKETEXT, c->pid, at, (void *)word) ? -errno
									: set_pc(c->pid, entry);
	c->is_at_entry = !err;
	return err ? diag_error(d, err, "command-failed",
				"the command (pid %d) did not reach its entry point: %s", c->pid,
				reason_of(err))
		   : 0;
}

int child_release(struct child *c, struct diag *d)
{
	if (!c->pid || !c->stopped)
		return 0;
	c->stopped = false;
	/* One that was killed has ended, as one that is killed a moment later. */
	if (ptrace(PTRACE_DETACH, c->pid, NULL, NULL) && errno != ESRCH)
		return diag_error(d, -errno, "command-failed",
				  "cannot resume the command (pid %d): %s", c->pid,
				  strerror(errno));
	return 0;
}

int child_code(const struct child *c)
{
	if (c->pid <= 0 || !c->gone)
		return -1;
	return WIFSIGNALED(c->status) ? 128 + WTERMSIG(c->status) : WEXITSTATUS(c->status);
}

bool child_has_ended(struct child *c)
{
	if (!c->pid || c->gone || c->stopped)
		return c->gone;
	c->gone = waitpid(c->pid, &c->status, WNOHANG) == c->pid;
	return c->gone;
}

void child_end(struct child *c)
{
	if (c->pid && c->report >= 0)
		close(c->report);
	if (c->pid <= 0 || c->gone)
		return;
	kill(c->pid, c->stopped ? SIGKILL : SIGTERM);
	if (c->stopped)
		waitpid(c->pid, &c->status, 0);
	for (int i = 0; !c->stopped && i < 100 && !child_has_ended(c); i++)
		poll(NULL, 0, 10);
	c->stopped = false;
}
