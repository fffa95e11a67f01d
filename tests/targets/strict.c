// strict HOW COUNT: a program that gives itself protections, says ready, waits for a line, and
// fires strict:fire(i, text) COUNT times.
//
//   mdwe     no memory becomes executable (PR_SET_MDWE); "no mdwe" where the kernel has no such
//   filter   the same by a system call filter, as systemd's MemoryDenyWriteExecute= makes it
//   seal     no mapping may be changed (mseal(2)); "no seal" where the kernel has no such call
//   text     it makes its own code writable, and read-only again
//   held     nothing
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sys/sdt.h>

#define SET_MDWE 65 /* PR_SET_MDWE */
#ifndef SYS_mseal
#define SYS_mseal 462
#endif

static int deny_later_code(void)
{
	return prctl(SET_MDWE, 1, 0, 0, 0);
}

/* clang-format off */
static int deny_by_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, PROT_WRITE | PROT_EXEC),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_WRITE | PROT_EXEC, 4, 3),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	/* clang-format on */
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int seal_all(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	char line[512], kind[64];
	int err = 0;

	while (f && fgets(line, sizeof(line), f)) {
		kind[0] = '\0';
		if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %63s", &start, &end, kind) < 2 ||
		    !strcmp(kind, "[heap]") || !strcmp(kind, "[stack]") || kind[0] == '[')
			continue;
		err |= (int)syscall(SYS_mseal, start, end - start, 0);
	}
	if (f)
		fclose(f);
	return err;
}

int main(int argc, char **argv);

static int change_text(void)
{
	void *page = (void *)((unsigned long)main & ~4095ul);

	return mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) ||
	       mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

static int protect(const char *how)
{
	if (!strcmp(how, "mdwe"))
		return deny_later_code();
	if (!strcmp(how, "filter"))
		return deny_by_filter();
	if (!strcmp(how, "text"))
		return change_text();
	if (!strcmp(how, "seal"))
		return seal_all();
	return 0;
}

int main(int argc, char **argv)
{
	char *text = strdup("on the heap"), line[8];

	if (argc < 3 || !text)
		return 1;
	if (protect(argv[1])) {
		printf("no %s\nready\n", argv[1]);
		return 0;
	}
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (int i = 0; i < atoi(argv[2]); i++)
		DTRACE_PROBE2(strict, fire, i, text);
	free(text);
	puts("alive");
	return 0;
}
