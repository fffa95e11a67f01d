// flags: -D_GNU_SOURCE
// A privileged program whose children drop their rights, as a server does for its clients. It fires
// attack:word with a secret all the time; for each line on its standard input a child becomes
// another user, and looks for the secret in all memory that it shares with others, for as long as
// its parent fires; then it fires 10 times itself. Prints "ready", and for each child
// "seen N, ended S": how often it found the secret, and how it ended.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sdt.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 50
#define USER   65534

static char secret[] = "s3cret-0";

static unsigned look_in(const char *start, const char *end)
{
	unsigned seen = 0;

	while ((start = memmem(start, (size_t)(end - start), secret, strlen(secret)))) {
		seen++;
		start++;
	}
	return seen;
}

/* In shared mappings that it may read. */
static unsigned look(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end;
	char line[512], access[8];
	unsigned seen = 0;

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %7s", &start, &end, access) == 3 && access[0] == 'r' &&
		    access[3] == 's')
			seen += look_in((const char *)start, (const char *)end);
	if (maps)
		fclose(maps);
	return seen;
}

static void run_child(int result)
{
	unsigned seen = 0;

	if (setgid(USER) || setuid(USER))
		_exit(3);
	for (int i = 0; i < ROUNDS; i++) {
		seen += look();
		usleep(1000);
	}
	for (int i = 0; i < 10; i++)
		DTRACE_PROBE1(attack, word, "child");
	if (write(result, &seen, sizeof(seen)) != sizeof(seen))
		_exit(4);
	_exit(0);
}

static void fire(void)
{
	secret[7] = (char)('0' + (secret[7] - '0' + 1) % 10);
	DTRACE_PROBE1(attack, word, secret);
	usleep(1000);
}

static void answer(void)
{
	int result[2], status;
	unsigned seen = UINT32_MAX;
	pid_t child;

	if (pipe2(result, O_CLOEXEC))
		exit(1);
	child = fork();
	if (!child)
		run_child(result[1]);
	while (waitpid(child, &status, WNOHANG) == 0)
		fire();
	close(result[1]);
	if (read(result[0], &seen, sizeof(seen)) < 0)
		perror("read");
	close(result[0]);
	printf("seen %u, ended %d\n", seen, status);
	fflush(stdout);
}

int main(void)
{
	char line[16];
	ssize_t len;

	puts("ready");
	fflush(stdout);
	fcntl(0, F_SETFL, O_NONBLOCK);
	while ((len = read(0, line, sizeof(line)))) {
		fire();
		if (len > 0)
			answer();
	}
	return 0;
}
