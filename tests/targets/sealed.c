/* A traced program that the kernel kills for any system call but read, write and exit: it waits for
 * a line, fires its probe 1000 times with text on the stack and in mapped memory, and prints
 * "alive". */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sys/sdt.h>

#define LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define ALLOW(number)                                      \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int forbid_calls(void)
{
	struct sock_filter code[] = {
		LOAD_NUMBER,
		ALLOW(SYS_read),
		ALLOW(SYS_write),
		ALLOW(SYS_exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(void)
{
	char near[] = "near", line[8];
	char *far = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (far == MAP_FAILED || forbid_calls())
		return 1;
	strcpy(far, "far");
	if (read(0, line, sizeof(line)) < 0)
		return 1;
	for (int i = 0; i < 1000; i++)
		STAP_PROBE3(sealed, fire, near, far, i);
	if (write(1, "alive\n", 6) < 0)
		return 1;
	return 0;
}
