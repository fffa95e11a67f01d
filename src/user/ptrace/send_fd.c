/* Giving a descriptor to another process. It makes a pair of sockets; we take a copy of one end and
 * send through it, and the process receives. So it needs no name that both can
 * see, and works across users, mounts, networks and pid namespaces. */
#include "user/ptrace/send_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "user/ptrace/remote.h"
#include "user/ptrace/tracee_state.h"

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

/* A message that carries one descriptor. */
union rights {
	char bytes[CMSG_SPACE(sizeof(int))];
	uint64_t align;
};

/* What the process receives with; pointers are addresses there. */
struct letter {
	struct msghdr head;
	struct iovec part;
	union rights rights;
	uint64_t byte;
};

#define ENDS 16 /* bytes of scratch for the numbers of the sockets */

static void *in_letter(uint64_t letter, size_t offset)
{
	return (void *)(uintptr_t)(letter + offset);
}

/* Our own copy of a descriptor of the process. */
static int copy_fd(pid_t pid, int theirs)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), fd;

	if (pidfd < 0)
		return -errno;
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, theirs, 0);
	fd = fd < 0 ? -errno : fd;
	close(pidfd);
	return fd;
}

/* The descriptors of the thread that made the socket may be others than those of its process, which
 * we have copied from. */
static bool is_of_thread(int fd, pid_t pid, pid_t tid, int theirs)
{
	struct stat ours, there;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/fd/%d", (int)pid, (int)tid, theirs);
	return !fstat(fd, &ours) && !stat(path, &there) && ours.st_dev == there.st_dev &&
	       ours.st_ino == there.st_ino;
}

/* The descriptor of this number there may be another file by now: other threads of the process run.
 */
static int check_socket(int fd)
{
	int domain = 0, type = 0;
	socklen_t domain_size = sizeof(domain), type_size = sizeof(type);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size))
		return -errno;
	return domain == AF_UNIX && type == SOCK_DGRAM ? 0 : -EPROTOTYPE;
}

/* The socket may be one whose other end is full, too: nothing waits for it. */
static int post_descriptor(int socket, int fd)
{
	union rights rights = {{0}};
	struct cmsghdr *head = (struct cmsghdr *)rights.bytes;
	char byte = 0;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &rights,
				 .msg_controllen = sizeof(rights)};

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : -errno;
}

static int64_t collect_descriptor(struct inject *x, struct remote *r, int socket, uint64_t at)
{
	struct letter letter = {
		.head = {.msg_iov = in_letter(at, offsetof(struct letter, part)),
			 .msg_iovlen = 1,
			 .msg_control = in_letter(at, offsetof(struct letter, rights)),
			 .msg_controllen = sizeof(union rights)},
		.part = {in_letter(at, offsetof(struct letter, byte)), 1},
	};
	int64_t done = inject_write(x, at, &letter, sizeof(letter));
	const struct cmsghdr *head = (const struct cmsghdr *)letter.rights.bytes;
	int fd;

	if (!done)
		done = CALL(r, SYS_recvmsg, (uint64_t)socket, at, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (done >= 0)
		done = inject_read(x, at, &letter, sizeof(letter));
	if (done < 0)
		return done;
	/* The message came without it: there was no number left for a descriptor. */
	if (head->cmsg_type != SCM_RIGHTS)
		return letter.head.msg_flags & MSG_CTRUNC ? -ENOSPC : -EIO;
	memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	return fd;
}

#ifndef SYS_close_range
#define SYS_close_range 436 /* Linux 5.9 */
#endif

/* The kernel takes the lowest numbers that are free, so these mostly follow each other: one call
 * closes them all. */
static bool close_at_once(struct remote *r, const struct sent_fd *p)
{
	int fd = p->fds[0], first = p->fds[1], second = p->fds[2];

	return first >= 0 && second == first + 1 && fd == second + 1 &&
	       !CALL(r, SYS_close_range, (uint64_t)first, (uint64_t)fd, 0);
}

void send_fd_end(struct remote *r, struct sent_fd *p)
{
	bool are_closed = close_at_once(r, p);

	for (unsigned i = 0; i < COUNT(p->fds); i++) {
		if (!are_closed && p->fds[i] >= 0)
			CALL(r, SYS_close, (uint64_t)p->fds[i]);
		p->fds[i] = -1;
	}
}

/* While other threads run, a child of fork would have what is not closed yet. */
int64_t send_fd(struct inject *x, struct remote *r, int fd, uint64_t scratch, struct sent_fd *out)
{
	static const char zeros[ENDS + sizeof(struct letter)];
	int ends[2] = {-1, -1}, ours;
	int64_t done = CALL(r, SYS_socketpair, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, scratch);

	*out = (struct sent_fd){{-1, -1, -1}};
	if (done < 0)
		return done == -EMFILE ? -ENOSPC : done;
	done = inject_read(x, scratch, ends, sizeof(ends));
	if (done)
		return done;
	ours = copy_fd(x->pid, ends[0]);
	done = ours < 0 ? ours : check_socket(ours);
	if (!done && !is_of_thread(ours, x->pid, remote_thread(r), ends[0]))
		done = -EPROTOTYPE;
	if (!done)
		done = post_descriptor(ours, fd);
	if (!done)
		done = collect_descriptor(x, r, ends[1], scratch + ENDS);
	*out = (struct sent_fd){{-1, ends[0], ends[1]}};
	if (done < 0 || !x->held)
		send_fd_end(r, out);
	if (done >= 0)
		out->fds[0] = (int)done;
	if (ours >= 0)
		close(ours);
	inject_write(x, scratch, zeros, sizeof(zeros));
	return done;
}
