/* nopal-agent.so, which `nopal -c` loads into a command and the programs that it runs, by
 * LD_PRELOAD: before any code of a program and of its libraries runs, it says to the tracer that
 * the program is there, and waits until its probes are enabled. It does nothing else: the tracer
 * puts the code into the process as always.
 *
 *	NOPAL_AGENT	name of the tracer's socket, in the abstract name space, and after a '/' a
 *			number by which the tracer knows who has the command's environment
 *
 * It uses no libc, so that it can be loaded into programs of any, and nothing of the program: it
 * opens a socket and closes it again. If the tracer is gone, or does not answer within 10 seconds,
 * the program goes on. The linker marks it INITFIRST: it runs before all other initialisers. */
#include <stddef.h>
#include <stdint.h>

#include "user/inside/words.h"

#define NAME	    "NOPAL_AGENT="
#define NAME_MAX_   100
#define AF_UNIX_    1
#define SEQPACKET   (5 | 02000000) /* SOCK_SEQPACKET | SOCK_CLOEXEC */
#define SOL_SOCKET_ 1
#define SEND_TIME   21 /* SO_SNDTIMEO: also how long a connection waits for its turn */
#define POLLIN_	    1
#define GET_SECCOMP 21 /* of prctl(2) */
#define ANSWER_S    10 /* how long to wait */
#define INTERRUPTED (-4)
#define TRIES	    100 /* after interruptions */

/* sockaddr_un */
struct address {
	uint16_t kind;
	char name[1 + NAME_MAX_]; /* after a NUL */
};

extern char **environ __attribute__((weak));

/* The text after `NOPAL_AGENT=` in the environment; NULL. */
static const char *find_name(char **env)
{
	for (; env && *env; env++) {
		size_t i = 0;

		while (NAME[i] && (*env)[i] == NAME[i])
			i++;
		if (!NAME[i])
			return *env + i;
	}
	return NULL;
}

static int64_t connect_to(const char *name)
{
	const int64_t patience[2] = {ANSWER_S, 0}; /* struct timeval */
	struct address to = {.kind = AF_UNIX_};
	int64_t fd, err = INTERRUPTED;
	size_t len = 0;

	for (; name[len] && name[len] != '/' && len < NAME_MAX_; len++)
		to.name[1 + len] = name[len];
	fd = system_call(CALL_SOCKET, AF_UNIX_, SEQPACKET, 0, 0, 0, 0);
	if (fd < 0)
		return fd;
	system_call(CALL_SETSOCKOPT, (uint64_t)fd, SOL_SOCKET_, SEND_TIME, (uintptr_t)patience,
		    sizeof(patience), 0);
	for (unsigned i = 0; i < TRIES && err == INTERRUPTED; i++)
		err = system_call(CALL_CONNECT, (uint64_t)fd, (uintptr_t)&to,
				  offsetof(struct address, name) + 1 + len, 0, 0, 0);
	if (err >= 0)
		return fd;
	system_call(CALL_CLOSE, (uint64_t)fd, 0, 0, 0, 0, 0);
	return err;
}

/* Until the tracer closes its end. The time that is left is in `pause` after an interruption. */
static void wait_for(int64_t fd)
{
	struct {
		int32_t fd;
		int16_t events, happened;
	} one = {(int32_t)fd, POLLIN_, 0};
	int64_t pause[2] = {ANSWER_S, 0};

	while (system_call(CALL_PPOLL, (uintptr_t)&one, 1, (uintptr_t)pause, 0, 0, 0) ==
	       INTERRUPTED)
		;
}

/* glibc passes the environment; musl has set `environ` by now, and passes nothing. A process with a
 * system call filter might be killed for a call that it does not expect. */
__attribute__((constructor)) static void announce(int argc, char **argv, char **env)
{
	const char *name = find_name(&environ && environ ? environ : env);
	int64_t fd;

	(void)argc, (void)argv;
	if (!name || system_call(CALL_PRCTL, GET_SECCOMP, 0, 0, 0, 0, 0) != 0)
		return;
	fd = connect_to(name);
	if (fd < 0)
		return;
	wait_for(fd);
	system_call(CALL_CLOSE, (uint64_t)fd, 0, 0, 0, 0, 0);
}

/* Compilers call it for initialisers. */
void *memset(void *at, int byte, size_t size);
__attribute__((visibility("hidden"))) void *memset(void *at, int byte, size_t size)
{
	for (volatile char *to = at; size; size--)
		*to++ = (char)byte;
	return at;
}
