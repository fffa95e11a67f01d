/* The stack of the script that this thread runs, by the walk of lang/frames.c; and, when a function
 * is met for the first time, a copy of all that its name is made of. */
#include "program/program.h"
#include "user/inside/inside.h"
#include "user/inside/langs.h"
#include "user/inside/words.h"

#define HEAD_WORDS 1u
#define PAGE	   4096u
#define TRIES	   16u /* words of the table that are looked at */
#define MIX	   UINT64_C(0x9e3779b97f4a7c15)

static bool read_here(void *self, uint64_t address, void *to, size_t len)
{
	return inside_read(self, to, address, len);
}

static uint64_t thread_pointer(void)
{
#ifdef __x86_64__
	uint64_t self;

	__asm__("mov %%fs:0, %0" : "=r"(self));
	return self;
#else
	return 0;
#endif
}

/* The shared memory may say anything: what is used of a target is checked where it is used. */
static const struct lang_target *find_target(const struct hit *h, const struct lang_area *area,
					     uint64_t place, uint64_t language)
{
	const struct lang_place *p = &area->places[place % LANG_PLACES];

	if (!h->layout->langs_at || place >= LANG_PLACES || language >= LANG_READ ||
	    !(word_acquire(&p->known) >> language & 1))
		return NULL;
	return &p->targets[language];
}

/* ---- functions */

/* Bytes at `from`: all, or up to the end of the page, or none; their number. */
static uint32_t copy_chunk(struct hit *h, char *to, uint64_t from, uint32_t len)
{
	uint32_t left = PAGE - (uint32_t)(from % PAGE);

	if (inside_read(h, to, from, len))
		return len;
	return left < len && inside_read(h, to, from, left) ? left : 0;
}

/* Each field is read once: what is checked then is what is used, whatever another process writes
 * into the shared memory meanwhile. */
static struct lang_step read_step(const volatile struct lang_step *from)
{
	return (struct lang_step){
		.kind = from->kind,
		.from = from->from % LANG_REGISTERS,
		.to = from->to % LANG_REGISTERS,
		.chunk = from->chunk,
		.offset = from->offset,
		.at = from->at,
		.len = from->len,
	};
}

static void take_chunk(struct hit *h, const struct lang_step *s, struct lang_function *f,
		       uint64_t from)
{
	if (s->len > LANG_CHUNK_MOST || s->at > LANG_AT_MOST || s->chunk >= LANG_CHUNKS)
		return;
	f->head.chunks[s->chunk] = (struct lang_chunk){
		.address = from, .at = s->at, .len = copy_chunk(h, f->bytes + s->at, from, s->len)};
}

static void take_steps(struct hit *h, const struct lang_target *t, struct lang_frame frame,
		       struct lang_function *f)
{
	uint64_t registers[LANG_REGISTERS] = {LANG_ADDRESS(frame.object), frame.position};

	for (uint32_t i = 0; i < LANG_STEPS && i < t->step_count; i++) {
		const struct lang_step s = read_step(&t->steps[i]);
		uint64_t *to = &registers[s.to], word;
		uint64_t from = registers[s.from] + s.offset;

		if (s.kind == LANG_STEP_COPY) {
			take_chunk(h, &s, f, from);
			continue;
		}
		if (!inside_read(h, &word, from, sizeof(word)))
			word = 0;
		*to = s.kind == LANG_STEP_INDEX ? *to + 8 * word : word;
		if (s.len)
			take_chunk(h, &s, f, *to);
	}
}

/* Is it the first time? A table that is full says no: then the living process is asked for names.
 */
static bool note_first(struct lang_area *area, uint64_t object, uint64_t pid, uint64_t position)
{
	uint64_t hash = ((object * MIX ^ pid) * MIX ^ position) * MIX | 1;

	for (uint64_t i = 0; i < TRIES; i++) {
		uint64_t *at = &area->seen[((hash >> 32) + i) & (LANG_SEEN - 1)];
		uint64_t old = word_load(at);

		if (!old && word_swap(at, 0, hash))
			return true;
		if (word_load(at) == hash)
			return false;
	}
	return false;
}

static void define(struct hit *h, struct lang_area *area, const struct lang_target *t,
		   struct lang_frame frame, uint64_t pid)
{
	uint64_t position = t->shape.is_pair ? frame.position : 0, number;
	struct lang_function *f;

	if (!note_first(area, frame.object, pid, position))
		return;
	number = word_add(&area->count, 1);
	if (number >= LANG_FUNCTIONS)
		return;
	f = &area->functions[number];
	f->head.object = frame.object;
	f->head.pid = pid;
	f->head.position = position;
	f->head.id = t->id;
	take_steps(h, t, frame, f);
	word_release(&f->is_ready, 1);
}

/* 16 bits of what shows another object at this address. */
static uint64_t check_of(struct hit *h, const struct lang_target *t, uint64_t object)
{
	uint32_t word;

	return t->shape.check != LANG_NOTHING &&
			       inside_read(h, &word, object + t->shape.check, sizeof(word))
		       ? (uint64_t)word << 48
		       : 0;
}

/* ---- a stack */

static enum lang_note walk(struct hit *h, const struct lang_target *t, struct lang_walking *w)
{
	const struct lang_memory memory = {h, read_here};
	const struct lang_shape_row shape = t->shape; /* as it is now: it may change */

	w->shape = &shape;
	w->root = t->root;
	w->tls_offset = t->tls_offset;
	w->thread_pointer = thread_pointer();
	w->memory = &memory;
	return lang_walk_thread(w);
}

void inside_lstack(struct hit *h, uint64_t *slot, uint64_t size, uint64_t language, uint64_t place,
		   uint64_t pid)
{
	struct lang_area *area = (void *)(h->base + h->layout->langs_at);
	const uint64_t most = (size & ~INSIDE_PADDED) / sizeof(struct lang_frame);
	const struct lang_target *t =
		find_target(h, area, place, language & ~(uint64_t)LANGUAGE_ENTRIES);
	struct lang_walking w = {.marks = language & LANGUAGE_ENTRIES,
				 .frames = (void *)(slot + HEAD_WORDS),
				 .most = most};
	enum lang_note note = t ? walk(h, t, &w) : LANG_NO_RUNTIME;

	for (uint64_t i = 0; i < w.count; i++) {
		struct lang_frame frame = w.frames[i];
		uint64_t entry = frame.object & (w.marks ? LANG_ENTRY : 0);

		frame.object =
			LANG_ADDRESS(frame.object) | check_of(h, t, LANG_ADDRESS(frame.object));
		define(h, area, t, frame, pid);
		w.frames[i].object = frame.object | entry;
	}
	if (note != LANG_ROOT && w.count < most)
		w.frames[w.count++] = (struct lang_frame){0, note};
	slot[0] = 2 * w.count | pid << 32;
	if (size & INSIDE_PADDED)
		inside_zero(slot + HEAD_WORDS + 2 * w.count, 2 * (most - w.count));
}
