/* Preloaded: one allocation of the program NOPAL_FAIL_PROGRAM fails, the NOPAL_FAIL_AT-th; its
 * number of allocations goes to descriptor NOPAL_FAIL_COUNT when it ends. Those made by a library
 * whose name has NOPAL_FAIL_EXCEPT in it are not counted and never fail. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static atomic_long made;
static long fail_at = -1; /* 0: none */
static int count_fd = -1;
static const char *except;

static void start(void)
{
	const char *program = getenv("NOPAL_FAIL_PROGRAM"), *at = getenv("NOPAL_FAIL_AT");
	const char *fd = getenv("NOPAL_FAIL_COUNT");

	fail_at = 0;
	if (!program || strcmp(program, program_invocation_short_name) != 0)
		return;
	fail_at = at ? atol(at) : 0;
	count_fd = fd ? atoi(fd) : -1;
	except = getenv("NOPAL_FAIL_EXCEPT");
}

static bool is_excepted(const void *caller)
{
	Dl_info info;

	return except && dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, except);
}

static bool fails(const void *caller)
{
	if (fail_at < 0)
		start();
	if (is_excepted(caller))
		return false;
	if (atomic_fetch_add(&made, 1) + 1 != fail_at)
		return false;
	if (getenv("NOPAL_FAIL_ABORT"))
		abort(); /* to see in a debugger which one it is */
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}

__attribute__((destructor)) static void tell(void)
{
	long count = atomic_load(&made);

	if (count_fd >= 0 && write(count_fd, &count, sizeof(count)) != sizeof(count))
		_exit(99);
}
