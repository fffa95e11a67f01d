// flags: -no-pie
/* The program that the examples of the manual trace: each of its probes and functions is met twice.
 * Then it sends SIGUSR1 to its parent if it has an argument. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <nopal/sdt.h>

#define FUNCTION __attribute__((noinline, noclone))
#define USED	 __asm__ volatile("" ::: "memory")

enum state { IDLE, ACTIVE = 5 };

struct address {
	uint16_t port;
	uint8_t ip[4];
};

struct conn {
	int fd;
	enum state state;
	struct address peer;
	struct conn *next;
};

static struct conn conns[2] = {
	{3, ACTIVE, {80, {127, 0, 0, 1}}, &conns[1]},
	{4, IDLE, {443, {10, 0, 0, 2}}, &conns[0]},
};

volatile long counter = 1; /* its address is in an example */
static int32_t numbers[3] = {7, -8, 9};
static char text[] = "GET /index.html?a=1 SELECT";
static const char *const words[] = {"shop", "--port", "80", NULL};

FUNCTION int take_order(const char *customer, int price)
{
	USED;
	return price + (customer[0] == 'a');
}

FUNCTION const char *readline(int round)
{
	USED;
	return round ? "quit" : "list orders";
}

static void order(int round)
{
	const char *customer = round ? "acme" : "byte";
	int price = round ? 1200 : 300, id = round + 1, size = 64 << round, order_id = 7 + round;

	counter += take_order(customer, price);
	NOPAL_PROBE(shop, order, id, customer, price, size);
	NOPAL_PROBE(shop, order__start, order_id);
	NOPAL_PROBE(shop, order__done, order_id);
}

/* What servers of the examples do. */
static void serve(int round)
{
	const char *path = round ? "/cart" : "/";
	struct conn *conn = &conns[round];

	NOPAL_PROBE(server, request, numbers);
	NOPAL_PROBE(server, request__start, path);
	NOPAL_PROBE(server, request__done, path, 100 * (round + 1));
	NOPAL_PROBE(app, request, path, round);
	NOPAL_PROBE(app, open, conn);
	NOPAL_PROBE(shop, bytes, text, 26);
	NOPAL_PROBE(shop, argv, words);
}

/* Probes that well-known programs have. */
static void run_script(int round)
{
	const char *filename = "shop.py", *funcname = round ? "pay" : "main", *query = "select 1";
	int generation = round;

	NOPAL_PROBE(python, gc__start, generation);
	NOPAL_PROBE(python, gc__done, 5);
	NOPAL_PROBE(python, function__entry, filename, funcname, 3);
	NOPAL_PROBE(python, function__return, filename, funcname, 4);
	NOPAL_PROBE(postgresql, query__start, query);
	NOPAL_PROBE(postgresql, query__done, query);
	NOPAL_PROBE(libc, setjmp, query);
}

int main(int argc, char **argv)
{
	const struct timespec moment = {.tv_nsec = 20000000};

	(void)argv;
	signal(SIGUSR1, SIG_IGN);
	for (int round = 0; round < 2; round++) {
		order(round);
		serve(round);
		run_script(round);
		if (!*readline(round))
			return 1;
	}
	if (argc > 1)
		kill(getppid(), SIGUSR1);
	nanosleep(&moment, NULL);
	return 0;
}
