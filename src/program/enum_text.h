/* Numbers that stand for texts, which the tracer's machine has: an error's, a signal's, a system
 * call's. Values of these types are kept as numbers and spelled when they are shown; a script that
 * looks into such a text has all of them as literals. */
#ifndef NOPAL_PROGRAM_ENUM_TEXT_H
#define NOPAL_PROGRAM_ENUM_TEXT_H

#include "base/buf.h"
#include "program/type.h"

/* The numbers below it have texts of their own, all others that of this number; 0: the type is none
 * of these. */
unsigned enum_text_count(const struct type *t);
/* The number that is looked up for the bits of a value: an error's is positive. */
uint64_t enum_text_number(const struct type *t, uint64_t bits);
void enum_text_at(const struct type *t, uint64_t number, struct buf *out);

/* errno.c: what an error number means */
const char *errno_text(int number);

/* syscalls.c: of this CPU; "Unknown syscall" if it has none of this number. */
const char *syscall_name(uint64_t number);
/* By number; NULL: none. scripts/syscalls writes them. */
extern const char *const syscall_names[];
extern const size_t syscall_count;

#endif
