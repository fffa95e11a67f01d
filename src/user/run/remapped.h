/* Files that are mapped at one address by turns: libraries that a process loads and unloads. Each
 * has sites of its own there, of which those have their turn whose file is mapped now. */
#ifndef NOPAL_USER_RUN_REMAPPED_H
#define NOPAL_USER_RUN_REMAPPED_H

#include <stdbool.h>
#include <stdint.h>

struct native_process;

/* The file of one site, and whether the site has its turn. */
struct remapped_site {
	uint64_t inode; /* of its file; 0: a place of the process that stays */
	bool rests;	/* another file is mapped where it was */
};

/* Sites whose file has gone for another one rest, those whose file is back are planned again. How
 * many came back; -ENOMEM. To be called after inject_reread(), before sites are added. */
int remapped_take(struct native_process *p);

#endif
