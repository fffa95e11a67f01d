// flags: -shared -fPIC -ldl
/* A library to preload: it maps what is free around the C library and the dynamic loader, as far as
 * a jump leads, so that a tracer finds no place for code there. The stack may grow. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <sys/mman.h>

#define REACH	(UINT64_C(1) << 31)
#define LARGEST (UINT64_C(1) << 28)
#define STACK	(UINT64_C(64) << 20)
#define PAGE	UINT64_C(4096)

static void fill(uint64_t from, uint64_t to, uint64_t piece)
{
	uint64_t stack = (uint64_t)(uintptr_t)&from;
	void *at;

	for (; from < to; from += piece) {
		at = MAP_FAILED;
		if (from + piece < stack - STACK || from > stack)
			at = mmap((void *)(uintptr_t)from, piece, PROT_NONE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
				  -1, 0);
		if (at == MAP_FAILED && piece > PAGE)
			fill(from, from + piece, piece / 16);
	}
}

__attribute__((constructor)) static void wall_in(void)
{
	uint64_t libc = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "prctl") & -LARGEST;

	fill(libc - REACH - LARGEST, libc + REACH + LARGEST, LARGEST);
}
