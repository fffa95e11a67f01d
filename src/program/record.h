/* Records: what an engine sends for an event, and the values in them and in maps. Every byte is
 * treated as hostile: a record may come from memory that a traced process can write.
 *
 *   u32 size     of the whole record, a multiple of 8
 *   u16 format   index into program->formats
 *   u16 flags    0
 *   fields       packed, as type.h says under "records"
 */
#ifndef NOPAL_PROGRAM_RECORD_H
#define NOPAL_PROGRAM_RECORD_H

#include "base/cursor.h"
#include "program/program.h"

struct record_head {
	uint32_t size;
	uint16_t format;
	uint16_t flags;
};

/* A decoded value; borrows its bytes. */
struct value {
	const struct type *type;
	uint64_t bits;	  /* INT, FLOAT, NAME; DISPLAY: its first word; aggregates: unused */
	uint64_t extra;	  /* DISPLAY: its second word; STACK: pid */
	uint32_t flags;	  /* TEXT_* */
	struct str bytes; /* STR, BUF: the text; STACK: the addresses; TUPLE: its elements, for
			   * value_decode; aggregates: the value as it lies in memory */
};

struct record {
	const struct format *format;
	struct cursor rest; /* fields not yet taken */
};

/* Open the record in `bytes`: checks size and format. -EPROTO. */
int record_open(const struct program *p, struct str bytes, struct record *out);
/* The next field, of type t. -EPROTO when it does not fit. */
int record_field(struct record *r, const struct type *t, struct value *out);
/* A value as it lies in a slot, key or map value (strings at full size). -EPROTO. */
int value_decode(const struct type *t, struct cursor *from, struct value *out);
/* Word number `i` of an aggregate; 0 after its end. */
uint64_t value_word(const struct value *v, size_t i);
/* Order of two keys or values of one type, for sorted printing. */
int value_compare(const struct value *a, const struct value *b);

#endif
