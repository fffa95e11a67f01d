/* The command of -c, which others may kill while it is held. */
#include <signal.h>
#include <unistd.h>

#include "help/check.h"
#include "session/session.h"

static char *const nothing[] = {NULL};

static void one_that_is_killed_while_it_is_held_has_ended(void **state)
{
	struct diag d = DIAG_INIT;
	struct child c;

	(void)state;
	assert_int_equal(child_start("true", nothing, &c, &d), 0);
	assert_int_equal(child_exec(&c, "true", &d), 0);
	kill(c.pid, SIGKILL);
	assert_int_equal(child_release(&c, &d), 0);
	while (!child_has_ended(&c))
		usleep(1000);
	assert_int_equal(child_code(&c), 128 + SIGKILL);
	assert_null(d.first);
	child_end(&c);
}

static void one_that_is_killed_before_its_exec_has_not_run(void **state)
{
	struct diag d = DIAG_INIT;
	struct child c;

	(void)state;
	assert_int_equal(child_start("true", nothing, &c, &d), 0);
	kill(c.pid, SIGKILL);
	assert_true(child_exec(&c, "true", &d) < 0);
	assert_non_null(d.first);
	assert_string_equal(d.first->tag, "command-failed");
	assert_true(str_eq(d.first->text, STR("cannot start 'true': it was killed before it ran")));
	diag_free(&d);
	child_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_is_killed_while_it_is_held_has_ended),
		cmocka_unit_test(one_that_is_killed_before_its_exec_has_not_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
