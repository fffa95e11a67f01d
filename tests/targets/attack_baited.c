/* What an attacker lets the tracer find: see attack_victim.c. */
#define BAITED
#include "attack_victim.c"
