/* Places in the C library, of processes that have the same one. */
#include <setjmp.h>
#include <stdarg.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <sys/wait.h>
#include <unistd.h>

#include "user/patch/inject.h"
#include "user/patch/known.h"
#include "user/patch/libc.h"
#include "user/ptrace/tracee.h"

#define PLACES_MOST 136

struct found {
	struct inject_place places[PLACES_MOST];
	int count;
	unsigned lacks;
};

static pid_t start(void)
{
	pid_t pid = fork();

	while (!pid)
		pause();
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* In a process of its own, in which a byte at `changed` is another one; 0: none is. */
static void find(struct inject_known *known, uint64_t changed, struct found *out)
{
	pid_t pid = start();
	struct inject *x;
	uint8_t byte;

	assert_int_equal(inject_open(pid, &x, NULL), 0);
	inject_use_known(x, known);
	if (changed) {
		assert_int_equal(inject_read(x, changed, &byte, 1), 0);
		byte ^= 1;
		assert_int_equal(inject_write(x, changed, &byte, 1), 0);
	}
	out->count = inject_plan_libc(x, out->places, PLACES_MOST, &out->lacks);
	inject_close(x);
	stop(pid);
}

static void check_same(const struct found *a, const struct found *b)
{
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->lacks, b->lacks);
	for (int i = 0; i < a->count; i++) {
		const struct inject_place *p = &a->places[i], *q = &b->places[i];

		assert_int_equal(p->what, q->what);
		assert_int_equal(p->called, q->called);
		assert_int_equal(p->site.pc, q->site.pc);
		assert_memory_equal(p->site.before, q->site.before, p->site.len);
	}
}

static void the_next_process_has_the_same_places(void **state)
{
	struct inject_known *known = inject_known_new();
	struct found searched, first, second;

	(void)state;
	find(NULL, 0, &searched);
	find(known, 0, &first);
	find(known, 0, &second);
	if (searched.count <= 0)
		skip();
	check_same(&searched, &first);
	check_same(&searched, &second);
	inject_known_free(known);
}

/* By a breakpoint, say, of which the next process has none. */
static void a_place_that_was_changed_is_lacking_in_that_process_alone(void **state)
{
	struct inject_known *known = inject_known_new();
	struct found searched, changed, next;

	(void)state;
	find(NULL, 0, &searched);
	if (searched.count <= 0)
		skip();
	for (int i = 0; i < searched.count; i++) {
		const struct inject_place *place = &searched.places[i];

		find(known, place->site.pc + 1, &changed);
		assert_int_equal(changed.count, searched.count - 1);
		assert_true(changed.lacks & LIBC_BIT(place->what));
		find(known, 0, &next);
		check_same(&searched, &next);
	}
	inject_known_free(known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_process_has_the_same_places),
		cmocka_unit_test(a_place_that_was_changed_is_lacking_in_that_process_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
