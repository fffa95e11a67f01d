/* Is a text one valid JSON value (RFC 8259), in valid UTF-8? Written on its own, so that it does
 * not share the mistakes of what it checks. */
#ifndef NOPAL_TESTS_HELP_JSON_CHECK_H
#define NOPAL_TESTS_HELP_JSON_CHECK_H

#include <stdbool.h>
#include <stddef.h>

bool json_is_valid(const char *text, size_t len);

/* One value on each line. */
bool json_lines_are_valid(const char *text, size_t len);

#endif
