/* Random programs as machine code in this process: help/differential.h. */
#include "help/check.h"
#include "help/differential.h"
#include "help/in_process.h"

static bool is_refused(const struct insn *in)
{
	return native_undoable(NULL, in);
}

static void engines_agree(void **state)
{
	(void)state;
	differential_run(&engine_in_process, 2000, is_refused);
}

static void engines_agree_on_clauses(void **state)
{
	(void)state;
	differential_clauses(&engine_in_process, 1024, is_refused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_agree),
		cmocka_unit_test(engines_agree_on_clauses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
