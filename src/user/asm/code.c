/* Bytes and labels of machine code, for any CPU; see code.h. */
#include "user/asm/code.h"

#include <errno.h>
#include <stdlib.h>

void code_open(struct native_code *c, uint64_t address)
{
	*c = (struct native_code){.address = address};
}

void code_close(struct native_code *c)
{
	buf_free(&c->bytes);
	free(c->labels);
	free(c->fixups);
	code_open(c, 0);
}

void code_reset(struct native_code *c)
{
	buf_clear(&c->bytes);
	c->label_count = c->fixup_count = 0;
	c->written = 0;
}

int asm_label(struct native_code *c)
{
	if (c->failed || array_grow(c->labels, c->label_count, c->label_cap)) {
		c->failed = true;
		return 0;
	}
	c->labels[c->label_count] = UINT32_MAX;
	return (int)c->label_count++;
}

void asm_bind(struct native_code *c, int label)
{
	if (!c->failed)
		c->labels[label] = (uint32_t)c->bytes.len;
}

int asm_here(struct native_code *c)
{
	int label = asm_label(c);

	asm_bind(c, label);
	return label;
}

void asm_bytes(struct native_code *c, const void *bytes, size_t count)
{
	buf_add(&c->bytes, bytes, count);
	c->failed |= c->bytes.failed;
}

void asm_fixup(struct native_code *c, int label)
{
	if (c->failed || array_grow(c->fixups, c->fixup_count, c->fixup_cap)) {
		c->failed = true;
		return;
	}
	c->fixups[c->fixup_count++] = (struct code_fixup){(uint32_t)c->bytes.len, label};
}

int code_finish_native(struct native_code *c)
{
	if (c->failed || c->bytes.failed)
		return -ENOMEM;
	if (c->bytes.len > INT32_MAX)
		return -E2BIG;
	for (size_t i = 0; i < c->fixup_count; i++) {
		const struct code_fixup *f = &c->fixups[i];

		if (c->labels[f->label] == UINT32_MAX)
			return -EINVAL;
		if (!asm_resolve(c, f->at, c->labels[f->label]))
			return -E2BIG;
	}
	return 0;
}
