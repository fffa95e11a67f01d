/* A program of root's that nobody means to trace. It watches its own code and its semaphore, and
 * writes a line "armed" each time it finds one of them changed; "watching" once it does. It ends
 * with its standard input.
 *
 * attack_baited.c is the same program with other names of the same length, so that all is at the
 * same offsets: a tracer that is led from that file to this one finds a nop where it looks. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#ifndef BAITED
#define PROVIDER    victim
#define SEMAPHORE   victim_hit_semaphore
#define FUNCTION    victim_function
#define WRITER_NAME "victim"
#else
#define PROVIDER    baited
#define SEMAPHORE   baited_hit_semaphore
#define FUNCTION    baited_function
#define WRITER_NAME "baited"
#endif

unsigned short SEMAPHORE __attribute__((section(".probes"), used));
extern const char __executable_start[], etext[];

int FUNCTION(int n);
__attribute__((noipa)) int FUNCTION(int n)
{
	DTRACE_PROBE1(PROVIDER, hit, n);
	return n + 1;
}

int main(void)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};
	size_t size = (size_t)(etext - __executable_start);
	char *copy = malloc(size);
	int was = 0;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (!copy || FUNCTION(1) != 2)
		return 1;
	memcpy(copy, __executable_start, size);
	puts("watching " WRITER_NAME);
	while (!poll(&in, 1, 1)) {
		volatile unsigned short *semaphore = &SEMAPHORE;
		int is = memcmp(copy, __executable_start, size) || *semaphore;

		if (is && !was)
			puts("armed");
		was = is;
	}
	free(copy);
	return 0;
}
