/* System call filters (seccomp) that a traced process gets: then no code in it makes system calls.
 */
#ifndef NOPAL_USER_RUN_FILTER_H
#define NOPAL_USER_RUN_FILTER_H

#include "user/run/libc_code.h"

/* Has the main thread of the process a filter by now? Then p->calls.are_forbidden, and the kept
 * page of the process says so. */
int filter_look(struct native_process *p);
/* Has one of the threads of the process a filter? */
int filter_look_at_all(struct native_process *p);
/* Has the process a descriptor by which it makes pages of its memory itself? Then
 * p->calls.makes_pages, too. */
int filter_look_at_files(struct native_process *p);
/* The process may make a filter where nothing sees that. */
int filter_expect(struct native_process *p);
/* Code for LIBC_PRCTL and LIBC_SYSCALL: it forbids calls before a filter is there. */
void filter_code(struct native_code *c, struct libc_place *place);

#endif
