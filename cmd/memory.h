/* Has any allocation of this program failed? */
#ifndef NOPAL_CMD_MEMORY_H
#define NOPAL_CMD_MEMORY_H

#include <stdbool.h>

bool memory_failed(void);
/* The program's exit status: `code`, but a failure with a message when there was no memory. */
int memory_judge(int code);

#endif
