/* A chain of calls, some of which the compiler inlines: main -> serve -> [parse -> check] -> work,
 * and back from a call that never returns. Usage: inlined [COUNT] */
// flags: -fno-omit-frame-pointer -fno-optimize-sibling-calls
#include <stdlib.h>

#include <sys/sdt.h>

__attribute__((noinline)) static int work(int n)
{
	DTRACE_PROBE1(inlined, work, n);
	return n * 3 + rand() % 2;
}

static inline int check(int n)
{
	int a = work(n); /* line in check */

	return a + work(n + 1);
}

static inline int parse(int n)
{
	int sum = n;

	sum += check(n + 7); /* line in parse */
	return sum ^ 5;
}

__attribute__((noinline)) int serve(int n)
{
	int sum = parse(n); /* line in serve */

	return sum + 1;
}

/* Its last instruction is the call: what it returns to would be the function after it. */
__attribute__((noinline, noreturn)) static void leave(int n)
{
	exit(serve(n) & 0); /* line in leave */
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 1; i < count; i++)
		serve(i);
	leave(count); /* line in main */
}
