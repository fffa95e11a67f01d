/* Asking a HotSpot JVM something, as its own tools do (attachListener_posix.cpp of the JDK): it
 * listens at a socket in /tmp, once it has seen a file of its user's and then a SIGQUIT:
 *
 *	touch CWD/.attach_pid17; kill -QUIT 17; connect to /tmp/.java_pid17
 *	-> "1\0jcmd\0Compiler.perfmap\0\0\0"
 *	<- "0\n" and text; another number: it refuses
 *
 * Any other process would end by the signal, so that is sent only to a process that catches it.
 * All this is done by a child process, as the user of the JVM: the JVM refuses others, and its
 * folders may contain anything. The paths are the JVM's own: of its root directory, with its number
 * in its PID namespace. */
#include "lang/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/proc.h"

#define WAIT_MS	    10000 /* for the JVM to listen, and for its answer */
#define STEP_MS	    20
#define ANSWER_MOST (64u << 10)
#define STATUS_MOST (64u << 10)

struct jvm_attach {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	uint64_t inner;		      /* its number in its PID namespace */
	int process, status;	      /* pidfd, /proc/PID/status */
	int temporary, current;	      /* folders */
	char socket[32], trigger[32]; /* names in these */
};

/* ---- what the child does */

static bool become_user(const struct jvm_attach *a)
{
	if (geteuid() == a->uid && getegid() == a->gid)
		return true;
	return !setgroups(1, &a->gid) && !setresgid(a->gid, a->gid, a->gid) &&
	       !setresuid(a->uid, a->uid, a->uid);
}

static int connect_once(const struct jvm_attach *a)
{
	struct sockaddr_un address = {AF_UNIX, ""};
	const struct timeval most = {WAIT_MS / 1000, 0};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, a->socket);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	if (!fchdir(a->temporary) &&
	    !connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		return fd;
	close(fd);
	return -1;
}

/* SigCgt of the process, now: it has a function for SIGQUIT. */
static bool catches_quit(const struct jvm_attach *a)
{
	struct buf text = BUF_INIT;
	struct str mask;
	uint64_t signals = 0;

	if (lseek(a->status, 0, SEEK_SET) || file_read_all(a->status, STATUS_MOST, &text))
		return false;
	mask = process_status_line(buf_as_str(&text), "SigCgt");
	if (str_to_hex(mask, &signals))
		signals = 0;
	buf_free(&text);
	return signals >> (SIGQUIT - 1) & 1;
}

static int make_trigger(const struct jvm_attach *a, int folder)
{
	int fd = openat(folder, a->trigger, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static bool has_ended(const struct jvm_attach *a)
{
	struct pollfd p = {a->process, POLLIN, 0};

	return poll(&p, 1, STEP_MS) > 0;
}

static enum lang_answer wait_for_socket(const struct jvm_attach *a, int *fd)
{
	if (!catches_quit(a))
		return LANG_ANSWER_DEAF;
	if (syscall(SYS_pidfd_send_signal, a->process, SIGQUIT, NULL, 0))
		return LANG_ANSWER_DENIED;
	for (int ms = 0; ms < WAIT_MS; ms += STEP_MS) {
		if (has_ended(a))
			return LANG_ANSWER_ENDED;
		*fd = connect_once(a);
		if (*fd >= 0)
			return LANG_ANSWER_GIVEN;
	}
	return LANG_ANSWER_NONE;
}

static enum lang_answer open_socket(const struct jvm_attach *a, int *fd)
{
	enum lang_answer answer;
	int folder = a->current, err;

	*fd = connect_once(a);
	if (*fd >= 0)
		return LANG_ANSWER_GIVEN;
	err = make_trigger(a, folder);
	if (err && err != -EEXIST)
		err = make_trigger(a, folder = a->temporary);
	if (err && err != -EEXIST)
		return LANG_ANSWER_DENIED;
	answer = wait_for_socket(a, fd);
	if (!err)
		unlinkat(folder, a->trigger, 0);
	return answer;
}

/* "1\0jcmd\0COMMAND\0\0\0": the version, and three arguments. */
static bool send_request(int fd, const char *command)
{
	struct buf text = BUF_INIT;
	bool ok;

	buf_add(&text, "1\0jcmd\0", 7);
	buf_add(&text, command, strlen(command) + 1);
	buf_add(&text, "\0\0", 2);
	ok = !text.failed && send(fd, text.ptr, text.len, MSG_NOSIGNAL) == (ssize_t)text.len;
	buf_free(&text);
	return ok;
}

static enum lang_answer ask_jvm(const struct jvm_attach *a, const char *command, int out)
{
	enum lang_answer answer;
	char bytes[4096];
	ssize_t got;
	int fd;

	if (!become_user(a))
		return LANG_ANSWER_DENIED;
	answer = open_socket(a, &fd);
	if (answer != LANG_ANSWER_GIVEN)
		return answer;
	if (!send_request(fd, command))
		return LANG_ANSWER_NONE;
	while ((got = read(fd, bytes, sizeof(bytes))) > 0)
		if (write(out, bytes, (size_t)got) != got)
			return LANG_ANSWER_NONE;
	return got ? LANG_ANSWER_NONE : LANG_ANSWER_GIVEN;
}

/* ---- the parent */

static int find_user(struct jvm_attach *a)
{
	struct buf text = BUF_INIT;
	uint64_t uid = 0, gid = 0;
	int err = file_read_all(a->status, STATUS_MOST, &text);
	struct str status = buf_as_str(&text);

	/* The second one is the effective user's. */
	if (!err && (!process_status_number(status, "Uid", 1, &uid) ||
		     !process_status_number(status, "Gid", 1, &gid) ||
		     !process_status_number(status, "NStgid", STATUS_LAST, &a->inner)))
		err = -EBADMSG;
	buf_free(&text);
	a->uid = (uid_t)uid;
	a->gid = (gid_t)gid;
	snprintf(a->socket, sizeof(a->socket), ".java_pid%d", (int)a->inner);
	snprintf(a->trigger, sizeof(a->trigger), ".attach_pid%d", (int)a->inner);
	return err;
}

static int open_of_process(pid_t pid, const char *name, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int attach_open(pid_t pid, struct jvm_attach *a)
{
	*a = (struct jvm_attach){.pid = pid};
	a->process = (int)syscall(SYS_pidfd_open, pid, 0);
	if (a->process < 0)
		a->process = -errno;
	a->status = open_of_process(pid, "status", O_RDONLY);
	a->temporary = open_of_process(pid, "root/tmp", O_PATH | O_DIRECTORY);
	a->current = open_of_process(pid, "cwd", O_PATH | O_DIRECTORY);
	if (a->process < 0)
		return a->process;
	if (a->status < 0)
		return a->status;
	if (a->temporary < 0 || a->current < 0)
		return a->temporary < 0 ? a->temporary : a->current;
	return find_user(a);
}

static void attach_close(struct jvm_attach *a)
{
	const int fds[] = {a->process, a->status, a->temporary, a->current};

	for (size_t i = 0; i < COUNT(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* What the child writes to `fd`, which is closed; and what became of the child. */
static int take_answer(pid_t child, int fd, struct buf *text, enum lang_answer *answer)
{
	int err = file_read_all(fd, ANSWER_MOST, text), status;

	close(fd);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	*answer = WIFEXITED(status) && WEXITSTATUS(status) < LANG_ANSWERS
			  ? (enum lang_answer)WEXITSTATUS(status)
			  : LANG_ANSWER_NONE;
	return err;
}

int lang_jvm_ask(pid_t pid, const char *command, struct buf *text, enum lang_answer *answer)
{
	struct jvm_attach a;
	int ends[2], err = attach_open(pid, &a);
	pid_t child;

	if (!err && pipe2(ends, O_CLOEXEC))
		err = -errno;
	if (err) {
		attach_close(&a);
		return err;
	}
	child = fork();
	if (!child)
		_exit(ask_jvm(&a, command, ends[1]));
	err = child < 0 ? -errno : 0;
	close(ends[1]);
	attach_close(&a);
	if (!err)
		return take_answer(child, ends[0], text, answer);
	close(ends[0]);
	return err;
}
