/* aligned N: a program that has alignment checks on while it fires probes, N times each: an access
 * whose address is no multiple of its size ends it, by SIGBUS. Texts begin at all places of a word.
 * Prints "held" when it has the flag still after each probe. */
// flags: -DSTAP_SDT_ARG_CONSTRAINT=m
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/sdt.h>

#ifdef __x86_64__

#define CHECKS (UINT64_C(1) << 18) /* EFLAGS.AC */

struct __attribute__((packed)) odd {
	char first;
	int number;
	long wide;
};

static int held = 1;

static void begin(void)
{
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | CHECKS);
}

static void end(void)
{
	uint64_t flags = __builtin_ia32_readeflags_u64();

	__builtin_ia32_writeeflags_u64(flags & ~CHECKS);
	held &= (flags & CHECKS) != 0;
}

static __attribute__((noinline)) void fire(const char *image, const char *heap, long number)
{
	_Alignas(8) volatile struct odd odd = {1, 2, 3};
	char stack[24], *text = strcpy(stack + 3, "on the stack");

	odd.number = (int)number;
	odd.wide = number;
	begin();
	STAP_PROBE4(aligned, texts, image, heap, text, number);
	STAP_PROBE2(aligned, odd, odd.number, odd.wide);
	end();
}

int main(int argc, char **argv)
{
	static char image[64] = "       in the image";
	int count = argc > 1 ? atoi(argv[1]) : 8;
	char *heap = malloc(64);

	for (int i = 0; heap && i < count; i++) {
		strcpy(heap + i % 8, "on the heap");
		fire(image + i % 8, heap + i % 8, i);
	}
	free(heap);
	puts(held ? "held" : "lost");
	return 0;
}
#else
int main(void)
{
	return 77;
}
#endif
