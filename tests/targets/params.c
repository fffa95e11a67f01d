/* Functions of every kind of parameter, for their names and types: called N times (default 1). */
#include <stdbool.h>
#include <stdlib.h>

enum color { RED, GREEN = 5 };

struct conn {
	int fd;
	const char *peer;
};

struct pair {
	double x, y;
};

struct words {
	long a, b;
};

struct big {
	long a[5];
};

#define FUNCTION __attribute__((noinline, noclone))
#define USED	 __asm__ volatile("" ::: "memory")

FUNCTION int use(struct conn *c, const char *text, double d, int n, unsigned char b, enum color col,
		 bool yes)
{
	USED;
	return n - c->fd + (int)d + b + (int)col + yes + text[0] * 0;
}

/* Registers and the stack are used up by what is between. */
FUNCTION long mixed(struct pair p, int a, struct big g, short s, struct words w, long l3, long l4,
		    long last)
{
	USED;
	return a + g.a[0] + s + (long)p.x + w.a + w.b + l3 + l4 + last;
}

FUNCTION struct big make(int a)
{
	USED;
	return (struct big){{a}};
}

FUNCTION char *name(int from)
{
	static char text[] = "hello";

	USED;
	return text + from;
}

FUNCTION unsigned char low(long v)
{
	USED;
	return (unsigned char)v;
}

static volatile int calls;

static inline __attribute__((always_inline)) int twice(int v)
{
	calls++; /* line twice */
	return v * 2;
}

FUNCTION int outer(int v)
{
	int sum = twice(v);

	calls += 2; /* line between */
	return sum + twice(v + 1);
}

FUNCTION double half(int v)
{
	USED;
	return v / 2.0;
}

FUNCTION void nothing(void)
{
	USED;
}

int main(int argc, char **argv)
{
	struct conn c = {7, "peer"};
	int n = argc > 1 ? atoi(argv[1]) : 1;
	long sum = 0;

	for (int i = 0; i < n; i++) {
		sum += use(&c, "word", 1.5, i - 3, 200, GREEN, true);
		sum += mixed((struct pair){1, 2}, -1 - i, (struct big){{10}}, -2,
			     (struct words){3, 4}, 5, 6, 77);
		sum += (long)half(i);
		nothing();
		sum += make(40 + i).a[0] + *name(i) + low(-1 - i) + outer(i);
	}
	return sum == 1;
}
