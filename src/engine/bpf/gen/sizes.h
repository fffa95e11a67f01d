/* How many bytes the slots of a program and its records take. */
#ifndef NOPAL_ENGINE_BPF_GEN_SIZES_H
#define NOPAL_ENGINE_BPF_GEN_SIZES_H

#include "program/program.h"

#define TEXT_SLOP  8 /* bytes after the text of a slot, so that a read can see it was too long */
#define STAMP_SIZE 8 /* of the time after a record; not more than TEXT_SLOP */

bool type_is_text(const struct type *t);
/* Is it a text or a stack, of which a record has only as much as there is? */
bool type_is_variable(const struct type *t);
/* Bytes of a slot that mean something: its memory, and the zeros after a text. */
uint32_t slot_used(const struct type *t);
/* Largest record of a format, and whether all its fields have a fixed size. */
uint32_t record_most(const struct format *f, bool *fixed);
/* The first field of a format that is text or a stack, and where in the record it begins;
 * -1: none. */
int record_first_variable(const struct format *f, uint32_t *before);
/* How many formats before number `format` are control records: its counter. */
uint32_t control_number(const struct program *p, uint32_t format);

#endif
