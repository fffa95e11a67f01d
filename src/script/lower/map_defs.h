/* Maps of a script -> maps of its program. */
#ifndef NOPAL_SCRIPT_MAP_DEFS_H
#define NOPAL_SCRIPT_MAP_DEFS_H

#include "program/program.h"
#include "script/parse/script_state.h"

struct map;

/* Once all types are found: maps that hold something else than they are declared for. -EINVAL with
 * messages; maps that are declared and not used are a warning. */
int maps_check(const struct script *s, struct diag *d);
/* How many entries a map may have. */
uint32_t map_entries(const struct script *s, const struct map *m);
/* All of them, in the script's arena; NULL: no memory. */
const struct map_def *maps_make(struct script *s);

#endif
