/* Functions of walks: what asks for one, and what emits it later. Private to this folder. */
#ifndef NOPAL_ENGINE_BPF_WALK_BODIES_H
#define NOPAL_ENGINE_BPF_WALK_BODIES_H

#include "engine/bpf/walk/walks.h"

/* The label of such a function, which walk_bodies() emits: one for all that are alike. */
int walks_body(struct walks *w, const struct walk_body *b);
/* user_code.c: all but those of scripts */
void user_walk_body(struct walks *w, const struct walk_body *b);
/* Are user stacks walked on this machine's CPU? */
bool user_walk_knows_cpu(void);
/* script_code.c: these */
void script_walk_body(struct walks *w, const struct walk_body *b);

#endif
