/* What this kernel can do, found by trying it: each question is asked once, when the answer is
 * first needed, and by a system call or two. NOPAL_NO_FEATURES=uprobe_multi,sleepable,... makes the
 * answers no, for tests and for kernels that lie. */
#ifndef NOPAL_ENGINE_BPF_KERNEL_FEATURES_H
#define NOPAL_ENGINE_BPF_KERNEL_FEATURES_H

#include "base/buf.h"

struct diag;

enum feature {
	FEATURE_UPROBE,	      /* uprobes by perf_event_open at all */
	FEATURE_UPROBE_MULTI, /* one link for any number of sites */
	FEATURE_PID_FILTER,   /* such a link may be for one process, all of its threads */
	FEATURE_SLEEPABLE,    /* programs that may read pages that are not resident */
	FEATURE_COOKIE,	      /* bpf_get_attach_cookie */
	FEATURE_REF_CTR,      /* semaphores raised by the kernel */
	FEATURE_RING,	      /* BPF ring buffer */
	FEATURE_RUN,	      /* programs run on demand: BEGIN, END, interval */
	FEATURE_BPF_LOOP,     /* loops that are calls of a function */
	FEATURE_MAY_GOTO,     /* loops the verifier need not walk */
	FEATURE_FOR_EACH,     /* loops over maps */
	FEATURE_BTF,	      /* the kernel describes its types */
	FEATURE_LONG_JUMP,    /* jumps over more than 32,767 instructions */
	FEATURE_NOP5_SAFE,    /* a uprobe at a 5-byte nop leaves the stack below sp alone */
	FEATURE_NEWS,	      /* perf events that tell what processes map */
	FEATURE_COUNT_,
};

struct features {
	signed char known[FEATURE_COUNT_]; /* 0: not asked yet, 1: yes, -1: no */
};

void features_init(struct features *f); /* takes NOPAL_NO_FEATURES from the environment */
/* Are all names there names of features? 0, or -EINVAL with a message. */
int features_check(struct diag *d);
/* Say no to a comma-separated list of names; unknown names are ignored. */
void features_deny(struct features *f, struct str names);
bool feature_has(struct features *f, enum feature feature);
/* Learnt on the way: it worked, or it was refused. */
void feature_learn(struct features *f, enum feature feature, bool works);
/* One line each, "uprobe_multi  yes   many probes are attached at once": nopal doctor. `may_load`:
 * this user can load programs; if not, most of it is unknown. */
void features_print(struct features *f, bool may_load, struct buf *out);
/* "features: uprobe_multi, sleepable": those that are known to work, as a run asks only for what it
 * uses. */
void features_log(const struct features *f, struct buf *out);

/* How a loop is written, by what the kernel has. */
enum loops {
	LOOPS_WALKED,	/* jumps: the verifier follows every round, up to its own limits */
	LOOPS_CALLED,	/* bpf_loop calls the body, a function; since 5.17 */
	LOOPS_MAY_GOTO, /* jumps, with one that the kernel bounds; since 6.9 */
};

#endif
