/* cmocka with the headers that it asks for. */
#ifndef NOPAL_TESTS_HELP_CHECK_H
#define NOPAL_TESTS_HELP_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
