/* What leads to the instructions of a process: direct jumps and calls, and the code before them. */
#ifndef NOPAL_USER_PATCH_JUMPS_H
#define NOPAL_USER_PATCH_JUMPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inject;

/* Does a direct jump or call lead to one of these bytes, or is it not known? They are padding, or
 * at most this far after a 1-byte nop. */
#define AFTER_NOP 32
bool jumps_lead_into(struct inject *x, uint64_t start, uint64_t end);

/* Does all code come to these bytes, which are after the 1-byte nop at `pc`, by way of the nop? If
 * not, or if it is not known, *why says so. */
bool only_nop_reaches(struct inject *x, uint64_t pc, uint64_t end, const char **why);
/* Does an instruction begin at `at`, by most ways of decoding the bytes before it? */
bool is_instruction(const uint8_t *code, size_t len, size_t at);
/* Bytes of nops at the start of `code`. */
unsigned padding_bytes(const uint8_t *code, unsigned len);

#endif
