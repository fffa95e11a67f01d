// flags: -pthread
// One thread forks again and again, and each child counts the descriptors that it has; another
// opens and closes a file, which always has the lowest number that is free; the main thread fires
// forker:fire. Prints "ready", and what was not as it should be; ends with its standard input.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/sdt.h>
#include <sys/wait.h>
#include <unistd.h>

#define NUMBERS 64

static atomic_int children;

static int count_files(int low)
{
	int count = 0;

	for (int i = 0; i < NUMBERS; i++)
		count += i != low && fcntl(i, F_GETFD) >= 0;
	return count;
}

static void *fork_all(void *arg)
{
	int low = *(int *)arg, wanted = count_files(low), status;

	for (;;) {
		pid_t child = fork();

		if (!child)
			_exit(count_files(low));
		if (waitpid(child, &status, 0) != child || status != wanted << 8)
			printf("a child has %d descriptors, not %d\n", status >> 8, wanted);
		children++;
	}
	return NULL;
}

static void *open_all(void *arg)
{
	int low = *(int *)arg;

	for (;;) {
		int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		if (fd != low)
			printf("a file has the number %d, not %d\n", fd, low);
		close(fd);
	}
	return NULL;
}

int main(void)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};
	pthread_t thread;
	int low = dup(0);

	setvbuf(stdout, NULL, _IOLBF, 0);
	close(low);
	if (pthread_create(&thread, NULL, fork_all, &low) ||
	    pthread_create(&thread, NULL, open_all, &low))
		return 1;
	puts("ready");
	while (poll(&in, 1, 1) == 0)
		DTRACE_PROBE(forker, fire);
	printf("%d children\n", children);
	return 0;
}
