/* What a C type is on a machine: its class, size and sign. */
#ifndef NOPAL_PROVIDER_MEANING_H
#define NOPAL_PROVIDER_MEANING_H

#include "probe/describe.h"
#include "provider/ctype.h"

struct meaning {
	enum arg_class type_class;
	bool is_signed;
	uint8_t size; /* bytes; 0: not known */
};

/* For a `machine` such as EM_X86_64 with addresses of `word` bytes. A type that its file does not
 * define is ARG_BYTES of size 0: nobody knows yet. */
struct meaning meaning_of(const struct ctype *t, uint16_t machine, unsigned word);

#endif
