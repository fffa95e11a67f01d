// Six hundred sites of one probe, many:site, whose argument is a number or a text; all are fired
// once. `many wait` reads a line first. Assembler repeats the probe, so that the file is quickly
// compiled.
#include <stdio.h>

/* clang-format off */
#define NOTE(n)                                                     \
	"990: nop\n"                                                \
	".pushsection .note.stapsdt,\"?\",\"note\"\n"               \
	".balign 4\n"                                               \
	".4byte 992f-991f, 994f-993f, 3\n"                          \
	"991: .asciz \"stapsdt\"\n"                                 \
	"992: .balign 4\n"                                          \
	"993: .8byte 990b, _.stapsdt.base, 0\n"                     \
	".asciz \"many\"\n.asciz \"site\"\n.asciz \"" n "\"\n"      \
	"994: .balign 4\n"                                          \
	".popsection\n"
/* clang-format on */

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1 && getchar() == EOF)
		return 1;
	__asm__ volatile(
		".rept 600\n" NOTE("8@%[number] 8@%[text]") ".endr\n"
							    ".ifndef _.stapsdt.base\n"
							    ".pushsection "
							    ".stapsdt.base,\"aG\",\"progbits\",."
							    "stapsdt.base,comdat\n"
							    ".weak _.stapsdt.base\n"
							    ".hidden _.stapsdt.base\n"
							    "_.stapsdt.base: .space 1\n"
							    ".size _.stapsdt.base, 1\n"
							    ".popsection\n"
							    ".endif\n"
		:
		: [number] "r"(600UL), [text] "r"(""));
	return 0;
}
