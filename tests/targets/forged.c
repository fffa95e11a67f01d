/* A program whose notes will be forged: p:good is where it says, f0 to f23 are wherever
 * tests/programs/forge puts them. It compares its code in memory with the file while it works, and
 * prints what it computed, how many places differ, and how many of these are no nop in the file:
 *
 *   forged N: work for N rounds of 10 ms; "sum 1234 armed 1 wrong 0" */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOTE(name)                                                                               \
	__asm__ volatile(".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n"                 \
			 ".4byte 992f-991f,994f-993f,3\n991:.asciz \"stapsdt\"\n992:.balign 4\n" \
			 "993:.8byte 990f,0,0\n.asciz \"p\"\n.asciz \"" name "\"\n.asciz \"\"\n" \
			 "994:.balign 4\n.popsection\n990:nop\n")

static const uint64_t table[] = {3, 1, 4, 1, 5, 9, 2, 6};

__attribute__((noinline)) static uint64_t mix(uint64_t x, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		x = (x ^ table[(x + i) & 7]) * 0x9e3779b97f4a7c15ull + (x >> 7);
	return x;
}

__attribute__((noinline)) static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

__attribute__((noinline)) static uint64_t work(uint64_t seed)
{
	uint64_t list[64], sum = 0;
	char text[32];

	for (unsigned i = 0; i < 64; i++)
		list[i] = mix(seed + i, 5);
	qsort(list, 64, sizeof(list[0]), compare);
	for (unsigned i = 0; i < 64; i++) {
		snprintf(text, sizeof(text), "%llx", (unsigned long long)list[i]);
		sum = sum * 31 + strlen(text) + list[i];
	}
	NOTE("good");
	return sum;
}

/* Never run: sites to be forged. */
__attribute__((noinline, used)) static void places(void)
{
	NOTE("f0");
	NOTE("f1");
	NOTE("f2");
	NOTE("f3");
	NOTE("f4");
	NOTE("f5");
	NOTE("f6");
	NOTE("f7");
	NOTE("f8");
	NOTE("f9");
	NOTE("f10");
	NOTE("f11");
	NOTE("f12");
	NOTE("f13");
	NOTE("f14");
	NOTE("f15");
	NOTE("f16");
	NOTE("f17");
	NOTE("f18");
	NOTE("f19");
	NOTE("f20");
	NOTE("f21");
	NOTE("f22");
	NOTE("f23");
}

static int is_nop(const unsigned char *code)
{
	return code[0] == 0x90 || (code[0] == 0x66 && code[1] == 0x90) ||
	       (code[0] == 0x0f && code[1] == 0x1f) ||
	       (code[0] == 0x66 && code[1] == 0x0f && code[2] == 0x1f);
}

struct tally {
	unsigned armed, wrong;
};

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct tally *t = arg;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const unsigned char *memory = (void *)(info->dlpi_addr + p->p_vaddr);
		unsigned char *file;

		if (p->p_type != PT_LOAD || p->p_flags & PF_W)
			continue;
		file = calloc(1, p->p_filesz + 8);
		if (!file || pread(fd, file, p->p_filesz, (off_t)p->p_offset) < 0)
			exit(3);
		for (size_t at = 0; at < p->p_filesz; at++) {
			if (file[at] == memory[at])
				continue;
			t->armed++;
			t->wrong += !is_nop(file + at);
			if (memory[at] != 0xcc)
				at += 4;
		}
		free(file);
	}
	close(fd);
	return 1; /* the program is first */
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	struct tally most = {0, 0};
	uint64_t sum = 0;

	for (unsigned i = 0; i < rounds; i++) {
		struct tally now = {0, 0};

		sum = work(11); /* the same in every round */
		dl_iterate_phdr(look, &now);
		if (now.armed > most.armed)
			most.armed = now.armed;
		if (now.wrong > most.wrong)
			most.wrong = now.wrong;
		usleep(10000);
	}
	printf("sum %llu armed %u wrong %u\n", (unsigned long long)sum, most.armed, most.wrong);
	return 0;
}
