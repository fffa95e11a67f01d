// Fires faulty:fire again and again, and writes each time to a page that its handler of SIGSEGV
// makes writable, until a line comes. Then it prints "all is right", or "wrong".
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sdt.h>

#define PAGE 4096

static char *page;
static volatile sig_atomic_t faults;

static void count(int number, siginfo_t *info, void *context)
{
	(void)number, (void)context;
	faults += info->si_addr == page;
	mprotect(page, PAGE, PROT_READ | PROT_WRITE);
}

static __attribute__((noinline)) long fire(long n)
{
	DTRACE_PROBE1(faulty, fire, n);
	return n + 1;
}

static int touch(long n)
{
	faults = 0;
	mprotect(page, PAGE, PROT_NONE);
	*(volatile char *)page = 1;
	return fire(n) == n + 1 && faults == 1;
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = count, .sa_flags = SA_SIGINFO};
	struct pollfd in = {.fd = 0, .events = POLLIN};
	long n = 0, right = 0;

	page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &action, NULL);
	while (n % 1000 || poll(&in, 1, 0) == 0)
		right += touch(n++);
	puts(right == n ? "all is right" : "wrong");
	return 0;
}
