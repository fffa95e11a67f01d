/* depth: how many bytes below its stack pointer a probe needs. Children fire depth:at with a stack
 * pointer that is so far above a page that cannot be touched; the least with which they live is
 * printed. Each fires another number, and texts on its heap, in its image and on its stack. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sys/sdt.h>

#ifdef __x86_64__
#define MOST 16384

static char text[] = "in the image";

/* Fire with `room` bytes of stack. */
static __attribute__((noinline)) void fire(char *top, long number, const char *heap)
{
	/* clang-format off */
	__asm__ volatile("mov %%rsp, %%rbx\n"
			 "	mov %0, %%rsp\n"
			 STAP_PROBE_ASM(depth, at, -8@%%rdi 8@%%rsi 8@%%rdx 8@0(%%rsp))
			 "	mov %%rbx, %%rsp\n"
			 :
			 : "r"(top), "D"(number), "S"(heap), "d"(text)
			 : "rbx", "rax", "rcx", "memory");
	/* clang-format on */
}

static int lives(char *guard_end, const char *heap, long room)
{
	int status;
	pid_t child = fork();

	if (!child) {
		fire(guard_end + room, room, heap);
		_exit(0);
	}
	return waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status);
}

int main(void)
{
	char *guard = mmap(NULL, 4096 + MOST + 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *heap = strdup("a text on the heap");
	long low = 0, high = MOST;

	if (guard == MAP_FAILED || mprotect(guard, 4096, PROT_NONE) || !heap)
		return 1;
	for (int i = 0; i < 8; i++)
		fire(guard + 4096 + MOST, -i, heap);
	while (high - low > 8) {
		long room = (low + high) / 16 * 8;

		if (lives(guard + 4096, heap, room))
			high = room;
		else
			low = room;
	}
	printf("%ld\n", high);
	free(heap);
	return 0;
}
#else
int main(void)
{
	return 77;
}
#endif
