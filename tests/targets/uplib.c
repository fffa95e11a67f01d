// flags: -shared -fPIC
/* What crowd loads: plug(n) fires up:in(n). Where the bytes after its nop lead, 512 MiB above, is
 * free or not. */
#include <sys/sdt.h>

volatile long sum;
char room[16 << 20]; /* so that it lies in no small gap between other libraries */
void plug(int number);
void plug(int number)
{
#if defined(__x86_64__)
	__asm__ volatile("990:	nop\n"
			 "	.byte 0x3d, 0, 0, 0x20, 0\n"
			 ".pushsection .note.stapsdt,\"\",\"note\"\n"
			 "	.balign 4\n"
			 "	.4byte 992f-991f, 994f-993f, 3\n"
			 "991:	.asciz \"stapsdt\"\n"
			 "992:	.balign 4\n"
			 "993:	.8byte 990b, 0, 0\n"
			 "	.asciz \"up\"\n	.asciz \"in\"\n	.asciz \"-4@%%edi\"\n"
			 "994:	.balign 4\n"
			 ".popsection\n"
			 :
			 : "D"(number)
			 : "cc", "memory");
#else
	DTRACE_PROBE1(up, in, number);
#endif
	sum += number;
}
