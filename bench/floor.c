/* The floor that tracers are compared with: the least that a program can do to run an empty BPF
 * program at every USDT site of a file. No library, no script, no events.
 *
 *   floor usdt FILE     attach, print a word, wait for an interrupt, detach */
#include <elf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UPROBE_MULTI 48
#define SITES	     100000

static uint64_t offsets[SITES];
static uint32_t count;

static uint64_t file_offset(const unsigned char *file, uint64_t address)
{
	const Elf64_Ehdr *head = (const void *)file;
	const Elf64_Phdr *segment = (const void *)(file + head->e_phoff);

	for (unsigned i = 0; i < head->e_phnum; i++, segment++)
		if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
		    address < segment->p_vaddr + segment->p_filesz)
			return address - segment->p_vaddr + segment->p_offset;
	return 0;
}

static void read_notes(const unsigned char *file, const Elf64_Shdr *section)
{
	uint64_t at = section->sh_offset, end = at + section->sh_size;

	while (at + sizeof(Elf64_Nhdr) <= end && count < SITES) {
		const Elf64_Nhdr *note = (const void *)(file + at);
		uint64_t text = at + sizeof(*note) + ((note->n_namesz + 3) & ~3u), address;

		if (note->n_type == 3 && note->n_descsz >= 24) {
			memcpy(&address, file + text, sizeof(address));
			offsets[count++] = file_offset(file, address);
		}
		at = text + ((note->n_descsz + 3) & ~3u);
	}
}

static void read_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	unsigned char *file;

	if (fd < 0 || fstat(fd, &st))
		exit(1);
	file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		exit(1);
	const Elf64_Ehdr *head = (const void *)file;
	const Elf64_Shdr *sections = (const void *)(file + head->e_shoff);
	const char *names = (const char *)file + sections[head->e_shstrndx].sh_offset;

	for (unsigned i = 0; i < head->e_shnum; i++)
		if (!strcmp(names + sections[i].sh_name, ".note.stapsdt"))
			read_notes(file, &sections[i]);
	munmap(file, (size_t)st.st_size);
	close(fd);
}

static long bpf(int command, void *attr, size_t size)
{
	long result = syscall(SYS_bpf, command, attr, size);

	if (result < 0) {
		perror("floor: bpf");
		exit(1);
	}
	return result;
}

static long load(void)
{
	struct bpf_insn insns[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K},
				   {.code = BPF_JMP | BPF_EXIT}};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_KPROBE;
	attr.expected_attach_type = UPROBE_MULTI;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = 2;
	attr.license = (uintptr_t) "GPL";
	return bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
}

static void attach(const char *path)
{
	struct {
		uint32_t program, target, type, flags;
		uint64_t path, offsets, ref_ctrs, cookies;
		uint32_t count, multi_flags, pid, zero;
	} attr = {.program = (uint32_t)load(),
		  .type = UPROBE_MULTI,
		  .path = (uintptr_t)path,
		  .offsets = (uintptr_t)offsets,
		  .count = count};

	bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
}

int main(int argc, char **argv)
{
	sigset_t signals;
	int number;

	if (argc < 3)
		return 2;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	read_file(argv[2]);
	attach(argv[2]);
	fputs("__BPFTRACE_NOTIFY_PROBES_ATTACHED\n", stderr);
	sigwait(&signals, &number);
	return 0;
}
