/* The native engine without another process: the shared memory, the code that runs inside, and
 * trampolines are all in this one. Sites are hit by calls with a context, as the interpreter's are;
 * each hit also checks that the thread finds everything as it was. x86-64 and aarch64. */
#ifndef NOPAL_TESTS_HELP_IN_PROCESS_H
#define NOPAL_TESTS_HELP_IN_PROCESS_H

#include "engine/interp/interp.h"
#include "user/gen/gen.h"
#include "user/memory/store.h"
#include "help/native_cpu.h"

#define IN_PROCESS_CODE (1u << 20) /* bytes of the largest trampoline */

struct in_process {
	struct engine engine;
	const struct program *program;
	struct native_store *store;
	char *base;		   /* of the shared memory, as the trampolines see it */
	char *inside;		   /* inside.h's functions */
	struct process_page *page; /* what they know of this process */
	struct kept_page kept;	   /* ... which has mapped all maps */
	char *code;		   /* the trampoline that ran last */
	bool no_rseq, no_tid;	   /* make code for threads without them */
};

extern const struct engine_ops engine_in_process;

/* Hit the site of an attachment, with the registers of a context: registers that it leaves 0 hold a
 * pattern. As interp_fire(). */
int in_process_fire(struct engine *e, uint32_t clause, uint32_t attach, const struct context *c);
/* What the stack pointer is at every hit. */
const void *in_process_stack(void);
/* Where things are for a trampoline at p->code. */
struct native_place in_process_place(struct in_process *p);
/* Generate code for these steps to p->code; fails the test on an error. */
void in_process_generate(struct in_process *p, const struct native_place *place,
			 const struct native_step *steps, unsigned count);

/* Memory for code near a site of the program, so that native_cpu_patch() can lead there. */
char *in_process_near(const char *site);

#endif
