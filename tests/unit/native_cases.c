/* Scripts with all that they print, run as machine code in this process. */
#include <sys/prctl.h>

#include "help/in_process.h"
#include "help/tick_case.h"

static const struct case_engine native = {&engine_in_process, in_process_fire, NULL};

static void run_case(void **state)
{
	tick_case_run(*state, &native);
}

int main(void)
{
	struct case_suite suite = {0};

	prctl(PR_SET_NAME, "tick");
	case_suite_add(&suite, TICK_CASES, TICK_KEYS, run_case);
	return case_suite_run(&suite, "native cases");
}
