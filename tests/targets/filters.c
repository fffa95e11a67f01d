/* A traced program under a system call filter of many kinds: `how` it refuses the calls that `list`
 * is about.
 *
 *   filters strict             seccomp's first mode: read, write, exit and sigreturn
 *   filters HOW LIST [late [LIBRARY]]   HOW: kill, thread, errno, trap, trace or notify. LIST: few:
 * all but read, write and the like; maps: what a tracer asks for to map memory; tracer: only what
 * the program itself does not call; service: all but what a service needs that allocates memory
 *
 * It prints "ready", waits for a line, fires filters:fire(char *near, char *far, int i) 1000 times
 * with text on the stack and in mapped memory, and prints "alive", or "trapped" if a handler of
 * SIGSYS ran. With "late" it also waits for a line before it filters anything; and then for
 * another before it loads LIBRARY and calls its plug(n) for n = 0..9. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sys/sdt.h>

#define CODE_MOST 64
#define COUNT(a)  (sizeof(a) / sizeof((a)[0]))

static const struct {
	const char *name;
	unsigned verdict;
} hows[] = {
	{"kill", SECCOMP_RET_KILL_PROCESS},   {"thread", SECCOMP_RET_KILL_THREAD},
	{"errno", SECCOMP_RET_ERRNO | EPERM}, {"trap", SECCOMP_RET_TRAP},
	{"trace", SECCOMP_RET_TRACE},	      {"notify", SECCOMP_RET_USER_NOTIF},
};

/* The calls up to the first 0 are permitted and all others refused, or the reverse. */
static const struct list {
	const char *name;
	int is_refused;
	unsigned calls[16];
} lists[] = {
	{"few", 0, {SYS_write, SYS_exit_group, SYS_rt_sigreturn}},
	{"maps",
	 1,
	 {SYS_mmap, SYS_memfd_create, SYS_process_vm_readv, SYS_socketpair, SYS_recvmsg,
	  SYS_madvise, SYS_ftruncate, SYS_getpid, SYS_gettid}},
	{"tracer",
	 1,
	 {SYS_memfd_create, SYS_socketpair, SYS_recvmsg, SYS_process_vm_readv, SYS_getpid,
	  SYS_gettid, SYS_ppoll, SYS_futex}},
	{"service",
	 0,
	 {SYS_write, SYS_exit_group, SYS_rt_sigreturn, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_brk,
	  SYS_memfd_create, SYS_process_vm_readv, SYS_getpid, SYS_gettid, SYS_madvise}},
};

static volatile sig_atomic_t is_trapped;

static void handle(int signal)
{
	(void)signal;
	is_trapped = 1;
}

static unsigned short build(struct sock_filter *code, const struct list *l, unsigned verdict)
{
	const struct sock_filter load =
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	const struct sock_filter listed =
		BPF_STMT(BPF_RET | BPF_K, l->is_refused ? verdict : SECCOMP_RET_ALLOW);
	const struct sock_filter other =
		BPF_STMT(BPF_RET | BPF_K, l->is_refused ? SECCOMP_RET_ALLOW : verdict);
	const struct sock_filter is_read = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 0, 1);
	const struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	unsigned short n = 0;

	code[n++] = load;
	code[n++] = is_read; /* number 0 */
	code[n++] = allow;
	for (unsigned i = 0; i < COUNT(l->calls) && l->calls[i]; i++) {
		const struct sock_filter is_it =
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, l->calls[i], 0, 1);

		code[n++] = is_it;
		code[n++] = listed;
	}
	code[n++] = other;
	return n;
}

static int filter(const char *how, const char *list)
{
	struct sock_filter code[CODE_MOST];
	struct sock_fprog program = {0, code};
	unsigned flags = strcmp(how, "notify") ? 0 : SECCOMP_FILTER_FLAG_NEW_LISTENER;

	signal(SIGSYS, handle);
	for (size_t h = 0; h < COUNT(hows); h++)
		for (size_t l = 0; l < COUNT(lists); l++)
			if (!strcmp(hows[h].name, how) && !strcmp(lists[l].name, list))
				program.len = build(code, &lists[l], hows[h].verdict);
	return !program.len || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) < 0;
}

static int load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*plug)(int) = library ? (void (*)(int))dlsym(library, "plug") : NULL;

	for (int i = 0; plug && i < 10; i++)
		plug(i);
	return !plug;
}

int main(int argc, char **argv)
{
	char near[] = "near", line[8];
	char *far = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int is_strict = argc == 2 && !strcmp(argv[1], "strict");

	if (far == MAP_FAILED || (!is_strict && argc < 3) || (argc > 3 && read(0, line, 1) < 0))
		return 2;
	strcpy(far, "far");
	if (is_strict ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) : filter(argv[1], argv[2]))
		return 2;
	if (write(1, "ready\n", 6) < 0 || read(0, line, 1) < 0)
		return 1;
	if (argc > 4 && load(argv[4]))
		return 1;
	for (int i = 0; i < 1000; i++)
		STAP_PROBE3(filters, fire, near, far, i);
	if (write(1, is_trapped ? "trapped\n" : "alive\n", is_trapped ? 8 : 6) < 0)
		return 1;
	syscall(is_strict ? SYS_exit : SYS_exit_group, 0);
	return 0;
}
