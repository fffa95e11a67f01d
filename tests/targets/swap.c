// flags: -ldl -fomit-frame-pointer
/* A program that has one of two libraries at one address: the probe swap:here is in a function that
 * swap_a() or swap_b() calls.
 *
 *   swap FOLDER N   N times load one or the other, of this folder, call its function and unload it
 *
 * Prints how many times it was at the address of the first time. */
#include <dlfcn.h>
#include <nopal/sdt.h>
#include <stdio.h>
#include <stdlib.h>

static __attribute__((noinline)) void here(void)
{
	NOPAL_PROBE(swap, here);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void *call(const char *folder, const char *name)
{
	void (*function)(void (*)(void));
	char path[4096];
	void *library;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	library = dlopen(path, RTLD_NOW);
	function = library ? (void (*)(void (*)(void)))dlsym(library, name) : NULL;
	if (!function)
		exit(1);
	function(here);
	dlclose(library);
	return (void *)function;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"swap_a", "swap_b"};
	long times = argc > 2 ? atol(argv[2]) : 0, same = 0;
	void *first = NULL, *at;

	for (long i = 0; i < times; i++) {
		at = call(argv[1], names[i % 2]);
		first = first ? first : at;
		same += at == first;
	}
	printf("%ld\n", same);
	return 0;
}
