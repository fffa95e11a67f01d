/* A program with probes that user mode reaches and probes that it does not.
 *
 *   mixed N   waits for a line, then fires mixed:easy(i, "easy") N times and mixed:hard(i, "hard")
 * N times
 *
 * The bytes after the nop of mixed:hard lead into this image, so a jump cannot use them. */
#include <stdio.h>
#include <stdlib.h>

#include <sys/sdt.h>

#if defined(__x86_64__)
#define HARD(number, text)                                                         \
	__asm__ volatile("990:	nop\n"                                              \
			 "	.byte 0x3d, 0x10, 0, 0, 0\n" /* cmp $0x10,%%eax */ \
			 ".pushsection .note.stapsdt,\"\",\"note\"\n"              \
			 "	.balign 4\n"                                            \
			 "	.4byte 992f-991f, 994f-993f, 3\n"                       \
			 "991:	.asciz \"stapsdt\"\n"                               \
			 "992:	.balign 4\n"                                        \
			 "993:	.8byte 990b, _.stapsdt.base, 0\n"                   \
			 "	.asciz \"mixed\"\n	.asciz \"hard\"\n	.asciz "           \
			 "\"-4@%%edi 8@%%rsi\"\n"                                  \
			 "994:	.balign 4\n"                                        \
			 ".popsection\n"                                           \
			 :                                                         \
			 : "D"(number), "S"(text)                                  \
			 : "cc", "memory")
#else
#define HARD(number, text) DTRACE_PROBE2(mixed, hard, number, text)
#endif

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1;

	getchar();
	for (int i = 0; i < count; i++) {
		DTRACE_PROBE2(mixed, easy, i, "easy");
		HARD(i, "hard");
	}
	return 0;
}
