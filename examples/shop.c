/* A small server-like program with probes: two threads serve orders, each with a start and a done
 * probe.
 *
 *   shop:order(int number, const char *item)
 *   shop:serve__start(int number)      shop:serve__done(int number, int cents)
 *
 * usage: shop [SECONDS]    (10) */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <sys/sdt.h>

static const char *const items[] = {"prickly pear", "agave", "maize", "beans", "squash"};
static atomic_int orders;
static time_t end;

/* Work that takes from 0.1 to about 3 ms, mostly little. */
static int serve(int number)
{
	unsigned mix = (unsigned)number * 2654435761u >> 24;

	usleep(100 + mix * mix / 25);
	return 100 + (int)(mix % 90) * 10;
}

static void *serve_orders(void *unused)
{
	(void)unused;
	while (time(NULL) < end) {
		int number = atomic_fetch_add(&orders, 1) + 1;
		const char *item = items[number % 5];
		int cents;

		DTRACE_PROBE2(shop, order, number, item);
		DTRACE_PROBE1(shop, serve__start, number);
		cents = serve(number);
		DTRACE_PROBE2(shop, serve__done, number, cents);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other;

	end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
	if (pthread_create(&other, NULL, serve_orders, NULL))
		return 1;
	serve_orders(NULL);
	pthread_join(other, NULL);
	printf("%d orders\n", orders);
	return 0;
}
