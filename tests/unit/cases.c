/* Scripts with all that they print, run by the interpreter. */
#include <stdlib.h>

#include "help/tick_case.h"

static const struct case_engine interp = {&engine_interp, interp_fire, interp_set_start};

static void run_case(void **state)
{
	tick_case_run(*state, &interp);
}

int main(void)
{
	struct case_suite suite = {0};

	setenv("TZ", "UTC", 1);
	case_suite_add(&suite, TICK_CASES, TICK_KEYS, run_case);
	return case_suite_run(&suite, "cases");
}
