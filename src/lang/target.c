/* What the kernel is to copy when it meets a function: the steps from the object to all that its
 * name is made of, which the language's file gives. */
#include "lang/runtime_row.h"

#include <assert.h>
#include <errno.h>

struct lang_step *target_step(struct target_writer *p, enum lang_step_kind kind, uint8_t to,
			      uint8_t from, uint16_t offset)
{
	struct lang_step *step = &p->t->steps[p->t->step_count++];

	assert(p->t->step_count <= LANG_STEPS);
	*step = (struct lang_step){.kind = (uint8_t)kind, .from = from, .to = to, .offset = offset};
	return step;
}

void target_chunk(struct target_writer *p, struct lang_step *step, uint16_t len)
{
	assert(p->chunk < LANG_CHUNKS && p->at <= LANG_AT_MOST && p->at + len <= LANG_BYTES);
	step->chunk = p->chunk++;
	step->len = len;
	step->at = p->at;
	p->at = (uint16_t)(p->at + ((len + 7u) & ~7u));
}

void target_copy(struct target_writer *p, uint8_t from, uint16_t len)
{
	target_chunk(p, target_step(p, LANG_STEP_COPY, 0, from, 0), len);
}

void target_follow(struct target_writer *p, uint8_t to, uint8_t from, uint16_t offset, uint16_t len)
{
	target_chunk(p, target_step(p, LANG_STEP_FOLLOW, to, from, offset), len);
}

int lang_target(const struct lang_runtime *r, uint32_t id, struct lang_target *out)
{
	struct target_writer p = {.t = out};

	if (!r->layout || !runtime_rows[r->kind]->plan)
		return -ENOTSUP;
	*out = (struct lang_target){.root = r->root,
				    .tls_offset = r->tls_offset,
				    .id = id,
				    .kind = r->kind,
				    .device = r->device,
				    .inode = r->inode,
				    .text = r->code,
				    .shape = r->layout->shape};
	runtime_rows[r->kind]->plan(&p, r->layout);
	out->bytes = p.at;
	return 0;
}
