/* cmocka with the headers that it asks for, and how often a test repeats. */
#ifndef NOPAL_TESTS_HELP_CHECK_H
#define NOPAL_TESTS_HELP_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* How often a test repeats what threads or processes may do in any order: `quick` times, and `deep`
 * times with ALL=1 (tests/run). */
static inline unsigned repetitions(unsigned quick, unsigned deep)
{
	static int is_deep = -1;

	if (is_deep < 0)
		is_deep = getenv("ALL") != NULL;
	return is_deep ? deep : quick;
}

/* ... `usual` times, `stress` times with STRESS=1, and a tenth of `usual` with BRIEF=1. */
static inline unsigned long times(unsigned long usual, unsigned long stress)
{
	return getenv("STRESS") ? stress : getenv("BRIEF") ? usual / 10 : usual;
}

#endif
