/* What the examples of bcc's tools look at: calls of the C library, and probes with the names that
 * libpthread and Ruby have. */
// flags: -fno-builtin
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sys/sdt.h>

static void *start(void *argument)
{
	return argument;
}

int main(void)
{
	struct timespec t = {0, 1000000};
	char line[100];
	int fd = open("test.txt", O_RDWR | O_CREAT, 0600);

	free(malloc(4321));
	free(malloc(16));
	free(malloc(16));
	if (write(1, "hello\n", 6) != 6 || write(fd, "x", 1) != 1 || read(99, line, 5) != -1)
		return 1;
	puts("Press ENTER to start.");
	fflush(stdout);
	nanosleep(&t, NULL);
	nanosleep(&t, NULL);
	DTRACE_PROBE4(libpthread, pthread_create, 1, 2, start, 4);
	DTRACE_PROBE4(libpthread, pthread_create, 1, 2, start, 0);
	DTRACE_PROBE2(libpthread, pthread_start, 1, start);
	DTRACE_PROBE2(ruby, method__entry, "IRB::Context", "verbose?");
	if (!fork())
		_exit(0);
	wait(NULL);
	return 0;
}
