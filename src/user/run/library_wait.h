/* Libraries that a traced process loads while it runs: a thread that has loaded one waits until it
 * was looked at, so that its probes are traced from its first instruction on. */
#ifndef NOPAL_USER_RUN_LIBRARY_WAIT_H
#define NOPAL_USER_RUN_LIBRARY_WAIT_H

#include "user/run/process.h"

/* Let threads of the process wait that have loaded a library. Not possible with some loaders: then
 * p->loader.waits stays false.
 * -ENOMEM. */
int library_wait_add(struct native_process *p, const struct native_store *s, struct diag *d);
/* The sites were enabled: p->loader.waits is false where that of the loader was not, after all. */
void library_wait_judge(struct native_process *p);
/* Does a thread wait? Up to which wait to answer. */
bool library_wait_is_asked(const struct native_store *s, uint64_t *number);
void library_wait_answer(struct native_store *s, uint64_t number);
void library_wait_answer_all(struct native_store *s); /* those too that come later */
/* Say that the tracer lives, for a second. To be called before sites are enabled, and then in
 * everything that takes long. */
void heartbeat(struct native_store *s);
/* Threads that went on, since the tracer did not answer in time. */
uint64_t library_wait_given_up(const struct native_store *s);
/* Where the process counts its waits. */
uint64_t library_wait_place(const struct native_process *p);
/* How many times threads of this process have waited; 0: it has ended, or none has. */
uint64_t library_wait_count(const struct native_process *p);
/* The loader of the process has mapped something since its waits were `before`: has a thread waited
 * since, or is the loader at work, so that one will? */
bool library_wait_follows(const struct native_process *p, uint64_t before);

#endif
