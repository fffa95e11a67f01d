/* How this kernel lets code of another process be written, tried on a child that is made for it. */
#include "user/patch/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/ptrace/tracee.h"

/* What is written over itself: only the process that is tried gets a page of its own. */
static int target(void)
{
	return 0;
}

static bool write_by_file(pid_t child, uint64_t address)
{
	int fd = process_memory(child, O_RDWR);
	uint64_t word;
	bool done = fd >= 0 && pread(fd, &word, sizeof(word), (off_t)address) == sizeof(word) &&
		    pwrite(fd, &word, sizeof(word), (off_t)address) == sizeof(word);

	if (fd >= 0)
		close(fd);
	return done;
}

static bool write_by_ptrace(pid_t child, uint64_t address)
{
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKDATA, child, (void *)(uintptr_t)address, NULL);
	return !errno && !ptrace(PTRACE_POKEDATA, child, (void *)(uintptr_t)address, (void *)word);
}

static bool stop(pid_t child)
{
	return !ptrace(PTRACE_SEIZE, child, NULL, NULL) &&
	       !ptrace(PTRACE_INTERRUPT, child, NULL, NULL) &&
	       waitpid(child, NULL, __WALL) == child;
}

static enum inject_writes try_on(pid_t child, uint64_t address)
{
	if (write_by_file(child, address))
		return stop(child) && write_by_ptrace(child, address) ? INJECT_WRITES_ALWAYS
								      : INJECT_WRITES_NONE;
	if (!stop(child))
		return INJECT_WRITES_NONE;
	if (write_by_file(child, address))
		return INJECT_WRITES_TRACED;
	return write_by_ptrace(child, address) ? INJECT_WRITES_POKED : INJECT_WRITES_NONE;
}

enum inject_writes inject_try_writes(void)
{
	enum inject_writes writes;
	pid_t child = fork();

	if (child < 0)
		return INJECT_WRITES_NONE;
	if (!child)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!child)
		pause();
	writes = try_on(child, (uintptr_t)target & ~UINT64_C(7));
	kill(child, SIGKILL);
	waitpid(child, NULL, __WALL);
	return writes;
}
