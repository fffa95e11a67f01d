/* A traced program with pairs of probes: shop:order__start(id, name, depth), shop:order__done(id).
 *
 *   pairs nested DEPTH COUNT   orders in orders, each with an end
 *   pairs cross COUNT          starts in one thread, ends in another, by id
 *   pairs unpaired STARTS DONES  ends without a start, then starts without an end
 *   pairs sleep COUNT USECS    each takes at least so long; the last one ten times
 *   pairs fast COUNT           as fast as it can
 * A function of the same times, order(), is for uprobes. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/sdt.h>

static long count, usecs;

static void start(int id, const char *name, int depth)
{
	DTRACE_PROBE3(shop, order__start, id, name, depth);
}

static void done(int id)
{
	DTRACE_PROBE1(shop, order__done, id);
}

__attribute__((noinline)) int order(int id, long us)
{
	char name[32];

	snprintf(name, sizeof(name), "order %d", id);
	start(id, name, 0);
	if (us)
		usleep((useconds_t)us);
	done(id);
	__asm__ volatile("");
	return id;
}

static void nest(int depth, int id)
{
	start(id, "nested", depth);
	if (depth > 1)
		nest(depth - 1, id);
	done(id);
}

static void *finish(void *unused)
{
	for (int i = 0; i < count; i++)
		done(i);
	return unused;
}

static void cross(void)
{
	pthread_t other;

	for (int i = 0; i < count; i++)
		start(i, "cross", 0);
	if (!pthread_create(&other, NULL, finish, NULL))
		pthread_join(other, NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long a = argc > 2 ? atol(argv[2]) : 1, b = argc > 3 ? atol(argv[3]) : 1;

	count = a;
	usecs = b;
	if (!strcmp(what, "nested"))
		for (int i = 0; i < b; i++)
			nest((int)a, i);
	else if (!strcmp(what, "cross"))
		cross();
	else if (!strcmp(what, "sleep"))
		for (int i = 1; i <= count; i++)
			order(i, i == count ? 10 * usecs : usecs);
	else if (!strcmp(what, "fast"))
		for (int i = 0; i < count; i++)
			order(i, 0);
	else if (!strcmp(what, "unpaired"))
		for (int i = 0; i < a + b; i++)
			i < b ? done(i) : start(i, "unpaired", 0);
	return 0;
}
