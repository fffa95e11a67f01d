#include "watch/agent_socket.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"

#define LIBRARY	     "nopal-agent.so"
#define BACKLOG	     4096 /* programs that wait; the system's limit is mostly as high */
#define EXE_LENGTH   4096
#define ENVIRON_MOST ((size_t)8 << 20) /* more than the kernel lets a program have */
#define KEY_WORDS    2
#define NAME	     "NOPAL_AGENT="
#define PRELOAD	     "LD_PRELOAD="

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
static int make_socket(struct native_agent *a)
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
bool native_agent_is_expected(pid_t pid)
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
int native_agent_open(struct native_agent *out)
{
	const char *others = getenv("LD_PRELOAD"), *asan = getenv("ASAN_OPTIONS");
	struct buf path = BUF_INIT;
	int err = find_library(&path);

	*out = (struct native_agent){
		.fd = -1, .name = BUF_INIT, .preload = BUF_INIT, .asan = BUF_INIT};
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

void native_agent_close(struct native_agent *a)
{
	if (a->fd >= 0)
		close(a->fd);
	buf_free(&a->name);
	buf_free(&a->preload);
	buf_free(&a->asan);
	a->fd = -1;
}

int native_agent_listen(int fd)
{
	return listen(fd, BACKLOG) ? -errno : 0;
}

int native_agent_accept(int fd, struct ucred *who)
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

void native_agent_refuse(int fd)
{
	shutdown(fd, SHUT_RD);
}

bool native_agent_was_given(pid_t pid, const char *name)
{
	struct buf text = BUF_INIT;
	bool was = false;

	if (!read_environ(pid, &text))
		for (struct str rest = buf_as_str(&text); rest.len && !was;)
			was = str_eq_text(str_cut(&rest, '\0'), name);
	buf_free(&text);
	return was;
}

bool native_agent_has_left(int one)
{
	char byte;

	return !recv(one, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
}
