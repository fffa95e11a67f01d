// An ordinary user's program that connects to the socket NAME, in the abstract name space, all the
// time: itself, and by children that end at once. Prints "ready" when it has come through often,
// and ends with its standard input.
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define OFTEN	    200
#define CHILD_EVERY 10

static int come(const char *name)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	strncpy(to.sun_path + 1, name, sizeof(to.sun_path) - 2);
	err = connect(fd, (struct sockaddr *)&to,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name)));
	close(fd);
	return err;
}

static void come_by_child(const char *name)
{
	pid_t child = fork();

	if (!child)
		_exit(come(name) != 0);
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	unsigned came = 0;
	char end;

	if (argc != 2)
		return 2;
	fcntl(0, F_SETFL, O_NONBLOCK);
	while (read(0, &end, 1) < 0) {
		came += !come(argv[1]);
		if (came % CHILD_EVERY == 0)
			come_by_child(argv[1]);
		if (came == OFTEN) {
			puts("ready");
			fflush(stdout);
			came++;
		}
	}
	return 0;
}
