/* A program of an ordinary user that wants root's runs over all processes to end: its semaphore
 * holds a number that the kernel does not count up, and it has a place with two probes whose
 * semaphores differ. Prints "ready" and ends with its standard input. */
#include <stdio.h>
#include <unistd.h>

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

unsigned short spoiled_hit_semaphore __attribute__((section(".probes"), used));
unsigned short spoiled_one __attribute__((section(".probes"), used));
unsigned short spoiled_two __attribute__((section(".probes"), used));

#define NOTE(semaphore)                                       \
	".pushsection .note.stapsdt,\"\",\"note\"\n"          \
	".balign 4\n"                                         \
	".4byte 992f-991f, 994f-993f, 3\n"                    \
	"991: .asciz \"stapsdt\"\n"                           \
	"992: .balign 4\n"                                    \
	"993: .8byte 990b, 0, " semaphore "\n"                \
	".asciz \"spoiled\"\n.asciz \"twice\"\n.asciz \"\"\n" \
	"994: .balign 4\n"                                    \
	".popsection\n"

int main(void)
{
	char end;

	*(volatile unsigned short *)&spoiled_hit_semaphore = 0x8000;
	DTRACE_PROBE(spoiled, hit);
	__asm__ volatile("990: nop\n" NOTE("spoiled_one") NOTE("spoiled_two"));
	puts("ready");
	fflush(stdout);
	return read(0, &end, 1) < 0;
}
