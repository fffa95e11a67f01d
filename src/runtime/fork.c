/* Generations of processes. In every child that has memory of its own the kernel clears one page
 * (MADV_WIPEONFORK, Linux 4.14), however the child was made. The number in that page is the
 * process's generation; 0 means that a child has just begun. The largest number that was given so
 * far is in ordinary memory, so that children know it. */
#include "runtime/runtime.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

/* Without such a page a child is only noticed by generation_next(). All kernels on which a child's
 * copies of stubs can be harmful (6.18 and later) have it. */
static _Atomic uint32_t only_copied = 1;
static _Atomic uint32_t *here = &only_copied;
static _Atomic uint32_t largest = 1;

void generation_init(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return;
	if (madvise(at, page, MADV_WIPEONFORK)) {
		munmap(at, page);
		return;
	}
	atomic_store((_Atomic uint32_t *)at, 1);
	here = at;
}

void generation_end(void)
{
	_Atomic uint32_t *page = here;

	here = &only_copied;
	if (page != here)
		munmap(page, (size_t)sysconf(_SC_PAGESIZE));
}

/* `largest` grows before its number is used, so that a grandchild that is made in between takes a
 * larger one than its parent, whichever number that gets. */
uint32_t generation_now(void)
{
	uint32_t now = atomic_load_explicit(here, memory_order_acquire), next;

	if (now)
		return now;
	next = atomic_fetch_add(&largest, 1) + 1;
	return atomic_compare_exchange_strong(here, &now, next) ? next : now;
}

void generation_next(void)
{
	atomic_store(here, atomic_fetch_add(&largest, 1) + 1);
}
