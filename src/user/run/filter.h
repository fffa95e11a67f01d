/* System call filters (seccomp) that a traced process gets: then no code in it makes system calls.
 */
#ifndef NOPAL_USER_RUN_FILTER_H
#define NOPAL_USER_RUN_FILTER_H

#include "user/run/libc_code.h"

/* Has its main thread one by now? Then p->no_calls, and its kept page says so. */
int filter_look(struct native_process *p);
/* Has one of its threads? */
int filter_look_at_all(struct native_process *p);
/* Has it a descriptor by which it makes pages of its memory itself? Then p->makes_pages, too. */
int filter_look_at_files(struct native_process *p);
/* It may make one where nothing sees that. */
int filter_expect(struct native_process *p);
/* Code for LIBC_PRCTL and LIBC_SYSCALL: it forbids calls before a filter is there. */
void filter_code(struct native_code *c, struct libc_place *place);

#endif
