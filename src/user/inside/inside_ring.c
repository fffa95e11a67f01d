/* Records, from inside the traced process. */
#include "user/inside/inside.h"

#include "program/record.h"
#include "user/inside/words.h"

#define TRIES (1u << 12)

static uint64_t *counter(const struct hit *h, uint64_t at)
{
	return (uint64_t *)(void *)(h->base + at);
}

/* Words of a field in the record. */
static uint64_t field_words(const struct emit_field *f, const uint64_t *from)
{
	return form_words(f->form, f->words, f->form == FORM_WORDS ? 0 : from[0]);
}

static const uint64_t *field_at(const struct emit_field *f, const char *frame)
{
	return (const uint64_t *)(const void *)(frame + f->at);
}

static uint64_t record_size(const struct emit_shape *shape, const char *frame)
{
	uint64_t words = 1;

	for (uint32_t i = 0; i < shape->field_count; i++)
		words += field_words(&shape->fields[i], field_at(&shape->fields[i], frame));
	return sizeof(struct ring_record) + 8 * words;
}

/* Write words, and add them to the sum of their record. */
static uint64_t write_words(uint64_t *to, const uint64_t *from, uint64_t words, uint64_t sum)
{
	for (uint64_t i = 0; i < words; i++) {
		uint64_t word = word_load(&from[i]);

		sum = ring_check(sum, word);
		word_store(&to[i], word);
	}
	return sum;
}

/* The frame may be shared memory, whose lengths change: no more is written than `size`. */
static void write_record(struct ring_record *to, uint64_t position, uint64_t size, uint64_t tsc,
			 const struct emit_shape *shape, const char *frame)
{
	const uint64_t head[] = {tsc, (size - sizeof(*to)) | (uint64_t)shape->format << 32};
	uint64_t *word = (uint64_t *)(void *)to + 3, left = (size - sizeof(*to)) / 8 - 1;
	uint64_t sum = write_words(word - 2, head, 2, ring_check(position, size));

	for (uint32_t i = 0; i < shape->field_count; i++) {
		const uint64_t *from = field_at(&shape->fields[i], frame);
		uint64_t words = field_words(&shape->fields[i], from);

		words = words < left ? words : left;
		sum = write_words(word, from, words, sum);
		word += words;
		left -= words;
	}
	word_store((uint64_t *)(void *)to, size | sum << 32);
}

/* One ring that is written with compare-and-exchange. */
struct shared_ring {
	struct ring_head *head;
	uint64_t *marks;
	char *data;
	uint64_t size;
};

static struct shared_ring shared_ring(const struct hit *h, uint32_t number)
{
	const struct layout *l = h->layout;
	char *at = h->base + ring_at(l, number);

	return (struct shared_ring){(struct ring_head *)(void *)at,
				    (uint64_t *)(void *)(at + LAYOUT_PAGE), at + l->shared_data,
				    l->shared_size};
}

static uint64_t *mark_of(const struct shared_ring *r, uint64_t position)
{
	return &r->marks[(position & (r->size - 1)) / GRANULE];
}

static uint64_t lap_of(const struct shared_ring *r, uint64_t position)
{
	return (position / r->size + 1) << MARK_LAP_SHIFT;
}

/* How many laps a mark is from a position: 0, it is claimed; above, the position is long gone. */
static int64_t laps_from(uint64_t mark, uint64_t lap)
{
	return (int64_t)((mark & (UINT64_MAX << MARK_LAP_SHIFT)) - lap) >> MARK_LAP_SHIFT;
}

static uint64_t make_mark(uint64_t lap, const struct hit *h, uint64_t len, unsigned state)
{
	uint64_t thread = (h->tid << MARK_THREAD_SHIFT) & ((UINT64_C(1) << MARK_LAP_SHIFT) - 1);

	return lap | thread | len / GRANULE << 2 | state;
}

/* Claim `len` bytes, or all that is left before the end of the data if they are less: they are
 * then a pad. False: there is no room. */
static bool claim(const struct hit *h, const struct shared_ring *r, uint64_t len,
		  uint64_t *position, bool *is_pad)
{
	for (uint32_t i = 0; i < TRIES; i++) {
		uint64_t head = word_acquire(&r->head->head), tail = word_acquire(&r->head->tail);
		uint64_t *word = mark_of(r, head), mark = word_load(word), lap = lap_of(r, head);
		uint64_t left = r->size - (head & (r->size - 1));
		int64_t laps = laps_from(mark, lap);

		if (laps == 0) /* it is claimed: help its owner to go on after it */
			word_swap(&r->head->head, head,
				  head + (mark >> 2 & MARK_GRANULES) * GRANULE);
		if (laps >= 0 || tail > head)
			continue;
		*is_pad = left < len;
		if (!*is_pad)
			left = len;
		if (head + left - tail > r->size || head % GRANULE)
			return false;
		if (!word_swap(word, mark, make_mark(lap, h, left, *is_pad ? MARK_PAD : MARK_BUSY)))
			continue;
		word_swap(&r->head->head, head, head + left);
		*position = head;
		return true;
	}
	return false;
}

/* False: the tracer has given the record up, and counted it. */
static bool finish(const struct hit *h, const struct shared_ring *r, uint64_t position,
		   uint64_t len)
{
	uint64_t mark = make_mark(lap_of(r, position), h, len, 0);

	return word_swap(mark_of(r, position), mark | MARK_BUSY, mark | MARK_DONE);
}

/* False: no room, or a control record that has to be sent again. */
static bool emit_shared(struct hit *h, uint32_t number, uint64_t size,
			const struct emit_shape *shape, const char *frame)
{
	struct shared_ring r = shared_ring(h, number);
	uint64_t len = (size + GRANULE - 1) & ~(uint64_t)(GRANULE - 1), at;
	bool is_pad = true;

	if (len > r.size / 2 || len / GRANULE > MARK_GRANULES)
		return false;
	while (is_pad)
		if (!claim(h, &r, len, &at, &is_pad))
			return false;
	write_record((struct ring_record *)(void *)(r.data + (at & (r.size - 1))), at, size, h->tsc,
		     shape, frame);
	return finish(h, &r, at, len) || !shape->is_control;
}

/* ---- records into the ring of this CPU, by a restartable sequence: the kernel moves a thread that
 * it interrupts between `1:` and `2:` to `4:`. So no other thread runs on this CPU from the first
 * of these instructions to the last, which makes the record exist. */

#if defined(__x86_64__) || defined(__aarch64__)
#define SEGMENTS 8u /* they take stack; a record of more goes into a shared ring */
#define RETRIES	 8u

/* A part of a record in the frame. */
struct ring_segment {
	const uint64_t *from;
	uint64_t words;
};

/* A change of the ring of a CPU: where it is, and where it will end. */
struct ring_step {
	char *rseq;
	struct ring_head *ring;
	char *data;
	uint64_t size; /* of the data */
	uint64_t head, next;
	uint32_t cpu;
};

/* store_in_ring(): *at = value, then head = next. False: the thread was interrupted, or head is
 * another one. copy_to_ring(): the words of a record to `to`, then head = next.
 *
 * struct rseq and struct rseq_cs of linux/rseq.h: cpu_id is at 4, rseq_cs at 8. The descriptor is
 * on the stack, so rseq_cs is cleared before it goes. The number before `4:` is glibc's signature.
 */
#if defined(__x86_64__)
#define SEQUENCE_BEGIN              \
	"	movq	$0, (%[cs])\n"       \
	"	leaq	1f(%%rip), %[t]\n"   \
	"	movq	%[t], 8(%[cs])\n"    \
	"	movq	$2f-1f, 16(%[cs])\n" \
	"	leaq	4f(%%rip), %[t]\n"   \
	"	movq	%[t], 24(%[cs])\n"   \
	"	movq	%[cs], 8(%[rseq])\n" \
	"1:	movl	%[cpu], %k[t]\n"   \
	"	cmpl	%k[t], 4(%[rseq])\n" \
	"	jne	4f\n"
#define SEQUENCE_END                \
	"2:	movl	$1, %k[t]\n"       \
	"	jmp	5f\n"                 \
	"	.byte	0x0f, 0xb9, 0x3d\n" \
	"	.long	0x53053053\n"       \
	"4:	xorl	%k[t], %k[t]\n"    \
	"5:	movq	$0, 8(%[rseq])\n"

static bool store_in_ring(const struct ring_step *step, uint64_t *at, uint64_t value)
{
	uint64_t cs[4], done, word;

	__asm__ volatile(SEQUENCE_BEGIN "	movq	%[head], %[t]\n"
					"	cmpq	%[t], (%[ring])\n"
					"	jne	4f\n"
					"	movq	%[next], %[word]\n"
					"	movq	%[value], (%[at])\n"
					"	movq	%[word], (%[ring])\n" SEQUENCE_END
			 : [t] "=&r"(done), [word] "=&r"(word)
			 : [cs] "r"(cs), [rseq] "r"(step->rseq), [cpu] "m"(step->cpu),
			   [ring] "r"(step->ring), [head] "m"(step->head), [next] "m"(step->next),
			   [at] "r"(at), [value] "r"(value)
			 : "memory", "cc");
	return (uint32_t)done;
}

static bool copy_to_ring(const struct ring_step *step, uint64_t *to,
			 const struct ring_segment *segments, uint64_t count)
{
	uint64_t cs[4], done, words, word;

	__asm__ volatile(SEQUENCE_BEGIN "	movq	%[head], %[t]\n"
					"	cmpq	%[t], (%[ring])\n"
					"	jne	4f\n"
					"6:	movq	(%[segment]), %[t]\n"
					"	movq	8(%[segment]), %[words]\n"
					"	addq	$16, %[segment]\n"
					"7:	movq	(%[t]), %[word]\n"
					"	movq	%[word], (%[to])\n"
					"	addq	$8, %[t]\n"
					"	addq	$8, %[to]\n"
					"	decq	%[words]\n"
					"	jnz	7b\n"
					"	decq	%[count]\n"
					"	jnz	6b\n"
					"	movq	%[next], %[word]\n"
					"	movq	%[word], (%[ring])\n" SEQUENCE_END
			 : [t] "=&r"(done), [words] "=&r"(words), [word] "=&r"(word),
			   [segment] "+r"(segments), [to] "+r"(to), [count] "+r"(count)
			 : [cs] "r"(cs), [rseq] "r"(step->rseq), [cpu] "m"(step->cpu),
			   [ring] "r"(step->ring), [head] "m"(step->head), [next] "m"(step->next)
			 : "memory", "cc");
	return (uint32_t)done;
}
#else
#define SEQUENCE_BEGIN                      \
	"	str	xzr, [%[cs]]\n"               \
	"	adr	%[t], 1f\n"                   \
	"	adr	%[word], 2f\n"                \
	"	sub	%[word], %[word], %[t]\n"     \
	"	stp	%[t], %[word], [%[cs], #8]\n" \
	"	adr	%[t], 4f\n"                   \
	"	str	%[t], [%[cs], #24]\n"         \
	"	str	%[cs], [%[rseq], #8]\n"       \
	"1:	ldr	%w[t], [%[rseq], #4]\n"     \
	"	cmp	%w[t], %w[cpu]\n"             \
	"	b.ne	4f\n"                        \
	"	ldr	%[t], [%[ring]]\n"            \
	"	cmp	%[t], %[head]\n"              \
	"	b.ne	4f\n"
#define SEQUENCE_END                 \
	"	stlr	%[next], [%[ring]]\n" \
	"2:	mov	%[t], #1\n"          \
	"	b	5f\n"                    \
	"	.inst	0xd428bc00\n"        \
	"4:	mov	%[t], #0\n"          \
	"5:	str	xzr, [%[rseq], #8]\n"

static bool store_in_ring(const struct ring_step *step, uint64_t *at, uint64_t value)
{
	uint64_t cs[4], done, word;

	__asm__ volatile(SEQUENCE_BEGIN "	str	%[value], [%[at]]\n" SEQUENCE_END
			 : [t] "=&r"(done), [word] "=&r"(word)
			 : [cs] "r"(cs), [rseq] "r"(step->rseq), [cpu] "r"(step->cpu),
			   [ring] "r"(step->ring), [head] "r"(step->head), [next] "r"(step->next),
			   [at] "r"(at), [value] "r"(value)
			 : "memory", "cc");
	return done;
}

static bool copy_to_ring(const struct ring_step *step, uint64_t *to,
			 const struct ring_segment *segments, uint64_t count)
{
	uint64_t cs[4], done, words, word;

	__asm__ volatile(SEQUENCE_BEGIN "6:	ldp	%[t], %[words], [%[segment]], #16\n"
					"7:	ldr	%[word], [%[t]], #8\n"
					"	str	%[word], [%[to]], #8\n"
					"	subs	%[words], %[words], #1\n"
					"	b.ne	7b\n"
					"	subs	%[count], %[count], #1\n"
					"	b.ne	6b\n" SEQUENCE_END
			 : [t] "=&r"(done), [words] "=&r"(words), [word] "=&r"(word),
			   [segment] "+&r"(segments), [to] "+&r"(to), [count] "+&r"(count)
			 : [cs] "r"(cs), [rseq] "r"(step->rseq), [cpu] "r"(step->cpu),
			   [ring] "r"(step->ring), [head] "r"(step->head), [next] "r"(step->next)
			 : "memory", "cc");
	return done;
}
#endif

/* Make room for `size` bytes at the head: a later `limit`, or a pad up to the end of the data.
 * False: the ring is full. */
static bool make_room(struct ring_step *step, uint64_t size)
{
	uint64_t left = step->size - (step->head & (step->size - 1)), end = step->head + left;
	uint64_t room = word_acquire(&step->ring->tail) + step->size;
	uint64_t most = end < room ? end : room;

	step->next = step->head;
	if (most - step->head >= size && most >= step->head) {
		store_in_ring(step, &step->ring->limit, most);
		return true;
	}
	if (left >= size || room < end)
		return false;
	step->next = end;
	store_in_ring(step, (uint64_t *)(void *)(step->data + (step->head & (step->size - 1))),
		      left | (uint64_t)RING_PAD << 32);
	return true;
}

/* The parts of a record; 0: they are too many. */
static uint32_t cut_record(struct ring_segment *segments, const uint64_t *head, uint64_t size,
			   const struct emit_shape *shape, const char *frame)
{
	uint64_t left = (size - sizeof(struct ring_record)) / 8 - 1;
	uint32_t count = 1;

	segments[0] = (struct ring_segment){head, 3};
	for (uint32_t i = 0; i < shape->field_count && left; i++) {
		const uint64_t *from = field_at(&shape->fields[i], frame);
		uint64_t words = field_words(&shape->fields[i], from);
		struct ring_segment *last = &segments[count - 1];

		words = words < left ? words : left;
		left -= words;
		if (from == last->from + last->words)
			last->words += words;
		else if (count == SEGMENTS)
			return 0;
		else if (words)
			segments[count++] = (struct ring_segment){from, words};
	}
	return left ? 0 : count;
}

static bool emit_on_cpu(struct hit *h, uint64_t size, const struct emit_shape *shape,
			const char *frame)
{
	const struct layout *l = h->layout;
	const uint64_t head[3] = {
		size, h->tsc, (size - sizeof(struct ring_record)) | (uint64_t)shape->format << 32};
	struct ring_segment segments[SEGMENTS];
	uint32_t count = cut_record(segments, head, size, shape, frame);

	for (uint32_t i = 0; i < RETRIES && count && size <= l->ring_size / 2; i++) {
		struct ring_step step;
		char *at;

		step.rseq = h->rseq;
		step.size = l->ring_size;
		step.cpu = *(volatile uint32_t *)(void *)(h->rseq + 4);
		if (step.cpu >= l->cpus)
			return false;
		at = h->base + ring_at(l, step.cpu);
		step.ring = (struct ring_head *)(void *)at;
		step.data = at + l->ring_data;
		step.head = word_acquire(&step.ring->head);
		step.next = step.head + size;
		at = step.data + (step.head & (step.size - 1));
		if (step.next > word_load(&step.ring->limit)) {
			if (!make_room(&step, size))
				return false;
		} else if (copy_to_ring(&step, (uint64_t *)(void *)at, segments, count)) {
			return true;
		}
	}
	return false;
}
#else
static bool emit_on_cpu(struct hit *h, uint64_t size, const struct emit_shape *shape,
			const char *frame)
{
	(void)h, (void)size, (void)shape, (void)frame;
	return false;
}
#endif

static void count_lost(struct hit *h, uint32_t number, const struct emit_shape *shape)
{
	const struct layout *l = h->layout;

	if (shape->is_control)
		word_add(counter(h, l->missed_at) + shape->format % l->format_count, 1);
	else
		word_add(&shared_ring(h, number).head->lost, 1);
}

/* Mostly the CPU that this thread runs on; where that takes a system call, any. */
static uint32_t near_cpu(const struct hit *h)
{
#if defined(__x86_64__)
	(void)h;
	return this_cpu();
#else
	return h->rseq ? *(volatile uint32_t *)(void *)(h->rseq + 4) : this_cpu();
#endif
}

/* Another one is tried, too: a thread that was killed may have stopped the first. */
static void emit_anywhere(struct hit *h, uint64_t size, const struct emit_shape *shape,
			  const char *frame)
{
	uint32_t first = h->layout->cpus, count = h->layout->shared_rings;
	uint32_t ring = near_cpu(h) % count, other = ring + 1 < count ? ring + 1 : 0;

	if (!emit_shared(h, first + ring, size, shape, frame) &&
	    !(other != ring && emit_shared(h, first + other, size, shape, frame)))
		count_lost(h, first + ring, shape);
}

void inside_emit(struct hit *h, const struct emit_shape *shape, const char *frame)
{
	uint64_t size = record_size(shape, frame);

	if (!h->tsc)
		h->tsc = read_tsc();
	if (!h->rseq || !emit_on_cpu(h, size, shape, frame))
		emit_anywhere(h, size, shape, frame);
	if (shape->is_exit)
		word_store((uint64_t *)(void *)(h->base + offsetof(struct layout, is_stopped)), 1);
}
