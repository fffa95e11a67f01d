/* Places in the memory of the traced program -> code (lower_place.c). */
#ifndef NOPAL_SCRIPT_PLACES_H
#define NOPAL_SCRIPT_PLACES_H

#include "script/lower/lower.h"

/* What is in memory; the address of it. */
void lower_place(struct lower *l, const struct expr *e, uint16_t out);
uint16_t lower_address(struct lower *l, const struct expr *e);
bool place_in_memory(const struct expr *e); /* it has an address: it is not in registers */
/* (uint8[4])a */
void lower_byte_array(struct lower *l, const struct expr *e, uint16_t out);
/* ... and the number of such an array again; array[i] where i is not known before */
void lower_joined(struct lower *l, const struct expr *array, uint16_t out);
void lower_chosen(struct lower *l, const struct expr *e, uint16_t out);
/* Bytes of what a pointer points to, 1 for void. */
uint64_t lower_pointee_size(const struct lower *l, const struct type *pointer);

#endif
