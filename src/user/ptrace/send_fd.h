/* A descriptor of ours becomes one of another process. */
#ifndef NOPAL_USER_PTRACE_SEND_FD_H
#define NOPAL_USER_PTRACE_SEND_FD_H

#include <stdint.h>

struct inject;
struct remote;

/* The descriptors that the process has then: that which was sent, and the ends of the sockets; -1:
 * closed. */
struct sent_fd {
	int fds[3];
};

/* By way of `scratch`, 512 bytes that the process can write. The descriptor's number there;
 * -ENOSPC: none is left; -errno. */
int64_t send_fd(struct inject *x, struct remote *r, int fd, uint64_t scratch, struct sent_fd *out);
void send_fd_end(struct remote *r, struct sent_fd *p); /* close them */

#endif
