/* Random programs in the kernel: help/differential.h. */
#include <unistd.h>

#include "help/check.h"
#include "help/differential.h"

static void engines_agree(void **state)
{
	(void)state;
	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	differential_run(&engine_bpf, 60, NULL);
}

static void engines_agree_on_scripts(void **state)
{
	(void)state;
	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	differential_scripts(&engine_bpf, 40);
}

static void engines_agree_on_clauses(void **state)
{
	(void)state;
	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	differential_clauses(&engine_bpf, 320, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_agree),
		cmocka_unit_test(engines_agree_on_scripts),
		cmocka_unit_test(engines_agree_on_clauses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
