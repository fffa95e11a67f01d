/* Has any allocation of this program failed? */
#ifndef NOPAL_CMD_MEMORY_H
#define NOPAL_CMD_MEMORY_H

#include <stdbool.h>

bool memory_failed(void);
/* The exit status of the program: `code`, or a failure with a message if memory ran out. */
int memory_judge(int code);

#endif
