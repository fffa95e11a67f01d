/* Libraries that a traced process loads while it runs: a thread that has loaded one waits until it
 * was looked at, so that its probes are traced from its first instruction on. */
#ifndef NOPAL_USER_RUN_LIBRARY_WAIT_H
#define NOPAL_USER_RUN_LIBRARY_WAIT_H

#include "user/run/process.h"

/* Let threads of the process knock. Not possible with some loaders: then p->knocks stays false.
 * -ENOMEM. */
int knock_add(struct native_process *p, const struct native_store *s, struct diag *d);
/* The sites were enabled: p->knocks is false where that of the loader was not, after all. */
void knock_judge(struct native_process *p);
/* Does a thread wait? Up to which knock to answer. */
bool knock_is_heard(const struct native_store *s, uint64_t *number);
void knock_answer(struct native_store *s, uint64_t number);
void knock_answer_all(struct native_store *s); /* those too that come later */
/* Say that the tracer lives, for a second. To be called before sites are enabled, and then in
 * everything that takes long. */
void knock_beat(struct native_store *s);
/* Threads that went on, since the tracer did not answer in time. */
uint64_t knock_given_up(const struct native_store *s);
/* Where the process counts its knocks. */
uint64_t knock_place(const struct native_process *p);
/* How many knocks this process has made; 0: it has ended, or made none. */
uint64_t knock_count(const struct native_process *p);
/* Its loader has mapped something since its knocks were `before`: has a thread knocked since, or is
 * the loader at work, so that one will? */
bool knock_follows(const struct native_process *p, uint64_t before);

#endif
