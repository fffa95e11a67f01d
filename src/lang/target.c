/* What the kernel is to copy when it meets a function: for each language the steps from the object
 * to all that its name is made of, in the order in which NAME.c reads it. The largest piece comes
 * last. */
#include "lang/inside.h"

#include <assert.h>
#include <errno.h>

#define TEXT_BYTES 304 /* of a name, with what is before it */
#define NAME_BYTES 200 /* of a name in Perl */
#define PATH_BYTES 536

/* Steps on their way into a target. */
struct target_writer {
	struct lang_target *t;
	uint16_t at;
	uint8_t chunk;
};

static struct lang_step *add_step(struct target_writer *p, enum lang_step_kind kind, uint8_t to,
				  uint8_t from, uint16_t offset)
{
	struct lang_step *step = &p->t->steps[p->t->step_count++];

	assert(p->t->step_count <= LANG_STEPS);
	*step = (struct lang_step){.kind = (uint8_t)kind, .from = from, .to = to, .offset = offset};
	return step;
}

static void add_chunk(struct target_writer *p, struct lang_step *step, uint16_t len)
{
	assert(p->chunk < LANG_CHUNKS && p->at <= LANG_AT_MOST && p->at + len <= LANG_BYTES);
	step->chunk = p->chunk++;
	step->len = len;
	step->at = p->at;
	p->at = (uint16_t)(p->at + ((len + 7u) & ~7u));
}

/* A chunk from `from` on. */
static void add_copy(struct target_writer *p, uint8_t from, uint16_t len)
{
	add_chunk(p, add_step(p, LANG_STEP_COPY, 0, from, 0), len);
}

/* to = *(from + offset), and a chunk from there on */
static void follow_and_copy(struct target_writer *p, uint8_t to, uint8_t from, uint16_t offset,
			    uint16_t len)
{
	add_chunk(p, add_step(p, LANG_STEP_FOLLOW, to, from, offset), len);
}

static void plan_python(struct target_writer *p, const struct lang_layout *l)
{
	const struct python_code *c = &l->python;

	add_copy(p, 0, 208);
	follow_and_copy(p, 2, 0, c->filename, PATH_BYTES);
	follow_and_copy(p, 2, 0, c->qualname == LANG_NOTHING ? c->name : c->qualname, TEXT_BYTES);
	follow_and_copy(p, 2, 0, c->lines, LANG_CHUNK_MOST);
}

static void plan_php(struct target_writer *p, const struct lang_layout *l)
{
	add_copy(p, 0, 184);
	follow_and_copy(p, 2, 0, 8, TEXT_BYTES);
	follow_and_copy(p, 2, 0, 16, 16); /* the class */
	follow_and_copy(p, 2, 2, 8, TEXT_BYTES);
	follow_and_copy(p, 2, 0, l->php.filename, PATH_BYTES);
}

static void plan_ruby(struct target_writer *p, const struct lang_layout *l)
{
	const struct ruby_code *c = &l->ruby;
	const bool is_short = c->text == TEXT_SHORT;
	const uint16_t name = is_short ? 40 : TEXT_BYTES, path = is_short ? 40 : PATH_BYTES;

	add_copy(p, 0, 24);
	follow_and_copy(p, 2, 0, c->body, 160);
	follow_and_copy(p, 3, 2, (uint16_t)(c->location + 16), name); /* the label, and its text */
	follow_and_copy(p, 3, 3, 24, TEXT_BYTES);
	follow_and_copy(p, 3, 2, c->location, path); /* the path: a text, or an array of two */
	follow_and_copy(p, 4, 3, 24, PATH_BYTES);
	follow_and_copy(p, 4, 3, 16, path);
	follow_and_copy(p, 4, 4, 24, PATH_BYTES);
	follow_and_copy(p, 4, 2, c->index, 288);
	follow_and_copy(p, 4, 2, c->insns, LANG_CHUNK_MOST);
}

static void plan_package(struct target_writer *p, uint8_t body, uint8_t stash,
			 const struct perl_code *c)
{
	follow_and_copy(p, 7, body, stash, 24);
	if (c->hash_aux == LANG_NOTHING) {
		add_step(p, LANG_STEP_FOLLOW, 6, 7, 16);
		follow_and_copy(p, 7, 7, 0, 40);
		add_chunk(p, add_step(p, LANG_STEP_INDEX, 6, 7, 24), 48);
		follow_and_copy(p, 7, 6, 8, NAME_BYTES);
	} else {
		follow_and_copy(p, 7, 7, 0, 72);
		follow_and_copy(p, 7, 7, c->hash_aux, NAME_BYTES);
	}
}

static void plan_perl(struct target_writer *p, const struct lang_layout *l)
{
	const struct perl_code *c = &l->perl;

	add_copy(p, 1, 56);
	follow_and_copy(p, 2, 1, c->file, 264);
	add_copy(p, 0, 24);
	follow_and_copy(p, 3, 0, 0, 104);
	follow_and_copy(p, 4, 3, c->glob, NAME_BYTES); /* the glob, or the name alone */
	follow_and_copy(p, 5, 4, 0, 48);
	follow_and_copy(p, 5, 5, c->name, NAME_BYTES);
	follow_and_copy(p, 4, 4, 16, 80);
	follow_and_copy(p, 4, 4, c->effective, 24);
	follow_and_copy(p, 4, 4, 0, 48);
	follow_and_copy(p, 5, 4, c->name, NAME_BYTES);
	plan_package(p, 4, c->glob_stash, c);
	plan_package(p, 3, c->stash, c);
}

typedef void plan_fn(struct target_writer *p, const struct lang_layout *l);

static plan_fn *const plans[LANG_KINDS] = {
	[LANG_PYTHON] = plan_python,
	[LANG_PHP] = plan_php,
	[LANG_RUBY] = plan_ruby,
	[LANG_PERL] = plan_perl,
};

int lang_target(const struct lang_runtime *r, uint32_t id, struct lang_target *out)
{
	struct target_writer p = {.t = out};

	if (!r->layout || !plans[r->kind])
		return -ENOTSUP;
	*out = (struct lang_target){.root = r->root,
				    .tls_offset = r->tls_offset,
				    .id = id,
				    .kind = r->kind,
				    .device = r->device,
				    .inode = r->inode,
				    .text = r->code,
				    .shape = r->layout->shape};
	plans[r->kind](&p, r->layout);
	out->bytes = p.at;
	return 0;
}
