/* Functions and images in the memory of a process. */
#ifndef NOPAL_USER_PATCH_EH_FRAME_H
#define NOPAL_USER_PATCH_EH_FRAME_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

struct inject;

/* The program headers in the memory of the image whose first byte is there, at most
 * INJECT_SEGMENTS; 0: it has none that can be read. They may be anything. */
#define INJECT_SEGMENTS 64
unsigned inject_segments(struct inject *x, uint64_t image, Elf64_Phdr *segments);

/* Where the function at `pc` begins and ends. False: it is not known. */
bool function_bounds(struct inject *x, uint64_t pc, uint64_t *start, uint64_t *end);

#endif
