#include <stdlib.h>
#include <signal.h>
#include <string.h>
#define NI    __attribute__((noinline))
#define AFTER __asm__ volatile("" ::: "memory")
NI void here(long n)
{
	__asm__ volatile("nop; nop" ::"r"(n) : "memory");
}
NI static int cmp(const void *a, const void *b)
{
	here(1);
	AFTER;
	return *(const int *)a - *(const int *)b;
}
NI static int rec(int n)
{
	if (n) {
		int r = rec(n - 1);
		AFTER;
		return r + 1;
	}
	here(9);
	AFTER;
	return 0;
}
static void handle(int s)
{
	here(s);
	AFTER;
}
int main(int c, char **v)
{
	signal(SIGUSR1, handle);
	for (int i = 0; i < atoi(v[1]); i++) {
		int a[] = {3, 1, 2};
		qsort(a, 3, sizeof *a, cmp);
		rec(i % 20);
		raise(SIGUSR1);
		char *m = strdup("x");
		here(*m);
		free(m);
	}
}
