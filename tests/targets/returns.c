/* Functions that return in many ways, for args.x at returns: recursion, longjmp, tail calls,
 * threads that end, children. */
// flags: -fno-inline -fno-ipa-cp -fno-ipa-sra
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

struct pair {
	int a;
	long b;
};

struct large {
	long words[4];
};

static volatile int sink;
static jmp_buf env;

NOINLINE long fact(int n, const char *name)
{
	long result = n <= 1 ? 1 : n * fact(n - 1, name);

	sink++;
	return result;
}

NOINLINE int leave(int n, int depth)
{
	if (depth == 0)
		longjmp(env, 1);
	sink += leave(n, depth - 1);
	return n;
}

NOINLINE long by_value(struct pair p, int x, struct large l)
{
	sink += x;
	return p.a + p.b + x + l.words[3];
}

NOINLINE double half(double x, int n)
{
	sink++;
	return x / n;
}

/* Each ends with a call of the other: they have one place on the stack. */
int even(int n);
NOINLINE int odd(int n)
{
	sink++;
	return n > 3 ? n : even(n + 1);
}

NOINLINE int even(int n)
{
	sink++;
	return n > 3 ? n : odd(n + 1);
}

NOINLINE int stay(int n)
{
	usleep(n % 10 * 1000);
	if (n == 7)
		pthread_exit(NULL);
	return n + 1;
}

static void *run_thread(void *n)
{
	stay((int)(long)n);
	stay((int)(long)n + 100);
	return NULL;
}

NOINLINE int become_two(int n)
{
	int child = fork();

	sink += n;
	return child ? child : 0;
}

NOINLINE int wait_long(int n)
{
	char byte;

	dprintf(1, "in %d\n", n);
	if (read(0, &byte, 1) < 0)
		return -1;
	return n + 1;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	pthread_t threads[10];

	if (!strcmp(what, "fact"))
		printf("%ld\n", fact(4, "four"));
	if (!strcmp(what, "leave")) {
		for (int i = 0; i < 3; i++)
			if (!setjmp(env))
				leave(i, 3);
		fact(2, "two");
	}
	if (!strcmp(what, "value")) {
		by_value((struct pair){1, 2}, 5, (struct large){{1, 2, 3, 4}});
		half(3, 4);
	}
	if (!strcmp(what, "tail"))
		sink = even(0) + even(5) + odd(1);
	if (!strcmp(what, "threads")) {
		for (long i = 0; i < 10; i++)
			pthread_create(&threads[i], NULL, run_thread, (void *)i);
		for (int i = 0; i < 10; i++)
			pthread_join(threads[i], NULL);
	}
	if (!strcmp(what, "fork") && !become_two(6))
		_exit(0);
	if (!strcmp(what, "wait")) {
		wait_long(1);
		wait_long(2);
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
