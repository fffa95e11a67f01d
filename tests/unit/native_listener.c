/* The thread that waits until a library has been loaded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/run/listener.h"
#include "user/inside/words.h"

#define LONG_MS 60000

static bool is_readable(const struct listener *l, int ms)
{
	struct pollfd one = {.fd = l->fd, .events = POLLIN};

	return poll(&one, 1, ms) == 1;
}

static void report(struct library_waits *k)
{
	word_add(&k->asked, 1);
	syscall(SYS_futex, &k->asked, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void each_wait_makes_it_readable(void **state)
{
	struct library_waits waits = {.asked = 7, .answered = 7};
	struct listener l;

	(void)state;
	assert_int_equal(listener_open(&l, &waits), 0);
	assert_false(is_readable(&l, 0));
	for (unsigned i = 0; i < 100; i++) {
		report(&waits);
		assert_true(is_readable(&l, LONG_MS));
		listener_clear(&l);
		assert_false(is_readable(&l, 0));
	}
	listener_close(&l);
	assert_null(l.waits);
}

static void a_wait_from_before_is_heard_at_the_start(void **state)
{
	struct library_waits waits = {.asked = 8, .answered = 7};
	struct listener l;

	(void)state;
	assert_int_equal(listener_open(&l, &waits), 0);
	assert_true(is_readable(&l, LONG_MS));
	listener_close(&l);
}

static void one_that_was_not_started_is_cleared_and_closed(void **state)
{
	struct listener l = {0};

	(void)state;
	listener_clear(&l);
	listener_close(&l);
	assert_null(l.waits);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_wait_makes_it_readable),
		cmocka_unit_test(a_wait_from_before_is_heard_at_the_start),
		cmocka_unit_test(one_that_was_not_started_is_cleared_and_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
