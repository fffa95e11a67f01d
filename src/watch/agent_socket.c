#include "watch/agent_socket.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/proc.h"
#include "watch/watch.h"

#define LIBRARY	     "nopal-agent.so"
#define BACKLOG	     4096 /* programs that wait; the system's limit is mostly as high */
#define EXE_LENGTH   4096
#define ENVIRON_MOST ((size_t)8 << 20) /* more than the kernel lets a program have */
#define KEY_WORDS    2
#define NAME	     "NOPAL_AGENT="
#define PRELOAD	     "LD_PRELOAD="

#define SECOND_NS	1000000000u
#define FOREIGN_LOOKS	1000 /* processes of other users that are looked at in a second */
#define FOREIGN_AT_ONCE 1024 /* ... that are sent away in one turn */
#define DEPTH_MOST	128  /* of parents of parents */

/* Beside the program where it was built, else where it was installed. */
static int find_library(struct buf *path)
{
	static const char *const places[] = {LIBRARY, "../lib/nopal/" LIBRARY};
	char exe[EXE_LENGTH];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe));

	while (len > 0 && exe[len - 1] != '/')
		len--;
	for (unsigned i = 0; len > 0 && i < 2; i++) {
		buf_clear(path);
		buf_printf(path, "%.*s%s", (int)len, exe, places[i]);
		if (!path->failed && !access(path->ptr, R_OK))
			return 0;
	}
	return path->failed ? -ENOMEM : -ENOENT;
}

/* The kernel chooses a name, which all users can see. The number is known to those alone who can
 * read the environment of the command. */
static int make_socket(struct agent_socket *a)
{
	struct sockaddr_un address = {AF_UNIX, ""};
	uint64_t key[KEY_WORDS];
	socklen_t len = offsetof(struct sockaddr_un, sun_path);

	a->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (a->fd < 0 || bind(a->fd, (struct sockaddr *)&address, len))
		return -errno;
	len = sizeof(address);
	if (getsockname(a->fd, (struct sockaddr *)&address, &len))
		return -errno;
	if (getrandom(key, sizeof(key), 0) != sizeof(key))
		return -EIO;
	buf_printf(&a->name, NAME "%.*s/%016" PRIx64 "%016" PRIx64,
		   (int)(len - offsetof(struct sockaddr_un, sun_path) - 1), address.sun_path + 1,
		   key[0], key[1]);
	return a->name.failed ? -ENOMEM : 0;
}

static int read_environ(pid_t pid, struct buf *out)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	return file_slurp(path, ENVIRON_MOST, out);
}

/* In a process whose environment cannot be read, the dynamic loader does not load the agent. */
bool agent_is_expected(pid_t pid)
{
	bool has_name = false, has_preload = false;
	struct buf text = BUF_INIT;

	if (!read_environ(pid, &text))
		for (struct str rest = buf_as_str(&text); rest.len;) {
			struct str line = str_cut(&rest, '\0');

			has_name |= str_starts(line, STR(NAME));
			has_preload |= str_starts(line, STR(PRELOAD));
		}
	buf_free(&text);
	return has_name && has_preload;
}

/* A library that the command preloads already comes after it. The dynamic loader splits the names
 * at spaces and colons. */
int agent_open(struct agent_socket *out)
{
	const char *others = getenv("LD_PRELOAD"), *asan = getenv("ASAN_OPTIONS");
	struct buf path = BUF_INIT;
	int err = find_library(&path);

	*out = (struct agent_socket){.name = BUF_INIT, .preload = BUF_INIT, .asan = BUF_INIT};
	if (!err && strpbrk(path.ptr, " :"))
		err = -ENOENT;
	if (!err)
		err = make_socket(out);
	if (!err)
		buf_printf(&out->preload, PRELOAD "%s%s%s", path.ptr, others && *others ? ":" : "",
			   others ? others : "");
	buf_free(&path);
	if (!err)
		buf_printf(&out->asan, "ASAN_OPTIONS=verify_asan_link_order=0%s%s",
			   asan && *asan ? ":" : "", asan ? asan : "");
	return out->preload.failed || out->asan.failed ? -ENOMEM : err;
}

void agent_close(struct agent_socket *a)
{
	if (a->fd > 0)
		close(a->fd);
	buf_free(&a->name);
	buf_free(&a->preload);
	buf_free(&a->asan);
	a->fd = 0;
}

int agent_listen(struct watch *w)
{
	return listen(w->agent.fd, BACKLOG) ? -errno : 0;
}

static int accept_any(int fd, struct ucred *who)
{
	socklen_t len = sizeof(*who);
	int one = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (one < 0 && errno == EMFILE && file_raise_limit())
		one = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (one < 0)
		return -EAGAIN;
	if (getsockopt(one, SOL_SOCKET, SO_PEERCRED, who, &len))
		*who = (struct ucred){.uid = (uid_t)-1};
	return one;
}

/* ---- who may come */

static bool descends_from(pid_t pid, pid_t first)
{
	for (unsigned i = 0; i < DEPTH_MOST && pid > 1; i++) {
		if (pid == first)
			return true;
		pid = (pid_t)process_stat_number(pid, STAT_PARENT);
	}
	return false;
}

/* Programs of other users may be the command's, too, if it has dropped its rights. There is no end
 * to those that are not: at most FOREIGN_LOOKS a second are looked at. */
static bool is_command_of_other(struct watch *w, pid_t pid)
{
	struct agent_socket *a = &w->agent;
	uint64_t now = clock_now();

	if (now - a->foreign_since > SECOND_NS) {
		a->foreign_since = now;
		a->foreign = 0;
	}
	return a->foreign++ < FOREIGN_LOOKS && (watch_find(w, pid) || descends_from(pid, w->pid));
}

static bool has_user_of(pid_t pid, uid_t uid)
{
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return !stat(path, &st) && st.st_uid == uid;
}

int agent_accept(struct watch *w, pid_t *pid)
{
	struct ucred who;
	int one;

	for (unsigned i = 0; i < FOREIGN_AT_ONCE; i++) {
		one = accept_any(w->agent.fd, &who);
		if (one < 0)
			return one;
		*pid = who.pid;
		if (who.uid == geteuid() || has_user_of(w->pid, who.uid) ||
		    is_command_of_other(w, who.pid))
			return one;
		close(one);
	}
	return -EBUSY;
}

void agent_refuse(struct watch *w)
{
	shutdown(w->agent.fd, SHUT_RD);
}

bool agent_was_given(const struct watch *w, pid_t pid)
{
	struct buf text = BUF_INIT;
	bool was = false;

	if (!read_environ(pid, &text))
		for (struct str rest = buf_as_str(&text); rest.len && !was;)
			was = str_eq_text(str_cut(&rest, '\0'), w->agent.name.ptr);
	buf_free(&text);
	return was;
}

bool agent_has_left(int one)
{
	char byte;

	return !recv(one, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
}
