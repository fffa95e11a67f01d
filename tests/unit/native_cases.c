/* Scripts with all that they print, run as machine code in this process. */
#include <sys/prctl.h>

#include "help/in_process.h"
#include "help/tick_case.h"

static const struct case_engine native = {&engine_in_process, in_process_fire, NULL};

/* Cases with clauses that native_undoable() refuses at a site: in a session the kernel runs them.
 */
static const char *const refused[] = {
	"a map that forgets has no more entries than its size, and loses nothing else",
	"a map that forgets may have one value, or text in its keys",
};

static void run_case(void **state)
{
	const struct test_case *test = *state;

	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		if (strcmp(test->name, refused[i]) == 0)
			skip();
	tick_case_run(test, &native);
}

int main(void)
{
	struct case_suite suite = {0};

	prctl(PR_SET_NAME, "tick");
	case_suite_add(&suite, TICK_CASES, TICK_KEYS, run_case);
	return case_suite_run(&suite, "native cases");
}
