/* Machine code of the native engine, as objdump reads it. */
#ifndef NOPAL_TESTS_HELP_OBJDUMP_H
#define NOPAL_TESTS_HELP_OBJDUMP_H

#include "user/asm/code.h"

/* Each instruction, without its address and bytes. */
void objdump_each(const struct native_code *c, void (*fn)(void *arg, char *line), void *arg);

#endif
