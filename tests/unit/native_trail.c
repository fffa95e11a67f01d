/* The trail of processes that are not traced yet: sequences of what the kernel reports of them, and
 * of looks at them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "watch/missed.h"

#define LOOKS 256

/* "map 7 3": process 7 maps a file with probes at time 3; "look 7 5": a look at it began at time 5;
 * "end 7": its program ended. */
static void play(struct watch *w, const char *steps)
{
	char word[8];
	int pid, length;
	unsigned time;

	while (sscanf(steps, " %7s %d %u;%n", word, &pid, &time, &length) == 3) {
		const struct watch_event news = {.pid = pid, .time = time};

		assert_int_equal(watch_add(w, pid), 0);
		steps += length;
		if (!strcmp(word, "map"))
			missed_mapped(w, &news, STR("/file"));
		else if (!strcmp(word, "look"))
			missed_looked(w, pid, time);
		else
			missed_ended(w, watch_find(w, pid));
	}
	assert_string_equal(steps, "");
}

static void processes_are_missed_that_were_not_looked_at(void **state)
{
	static const struct {
		const char *steps;
		uint64_t missed;
	} rows[] = {
		{"map 7 3; end 7 9;", 1},
		{"map 7 3; look 7 5; end 7 9;", 0},
		{"look 7 5; map 7 3; end 7 9;", 0}, /* heard of later */
		{"look 7 2; map 7 3; end 7 9;", 1}, /* it may have begun too early */
		{"map 7 3; look 8 5; end 7 9;", 1}, /* another process */
		{"map 7 3; look 7 5; map 7 6; end 7 9;", 1},
		{"map 7 3; map 7 6; end 7 9;", 1},
		{"map 7 3; end 7 4; map 7 6; end 7 9;", 2}, /* two programs, by exec */
		{"map 7 3; map 8 3; map 9 3; end 8 4; end 7 4; look 9 5; end 9 6;", 2},
		{"map 7 3; map 8 3; end 8 4;", 2}, /* one lives, and no look will come */
		{"end 7 9;", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct watch w = {0};
		struct str first;

		play(&w, rows[i].steps);
		if (missed_count(&w, &first) != rows[i].missed)
			fail_msg("%s: %u", rows[i].steps, (unsigned)missed_count(&w, &first));
		assert_true(str_eq_text(first, rows[i].missed ? "/file" : ""));
		watch_free(&w);
	}
}

static void news_come_after_many_looks(void **state)
{
	struct watch w = {0};
	struct str first;

	(void)state;
	for (int i = 1; i <= LOOKS; i++) {
		assert_int_equal(watch_add(&w, i), 0);
		missed_looked(&w, i, 5);
	}
	play(&w, "map 1 3; end 1 9;");
	assert_int_equal(missed_count(&w, &first), 0);
	watch_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_are_missed_that_were_not_looked_at),
		cmocka_unit_test(news_come_after_many_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
