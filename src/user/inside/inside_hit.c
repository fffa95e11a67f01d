/* What a hit needs beside maps, memory and records: counters, frames, time, ids, numbers. */
#include "user/inside/inside.h"

#include "program/record.h"
#include "user/inside/words.h"

static uint64_t *counter(const struct hit *h, uint64_t at)
{
	return (uint64_t *)(void *)(h->base + at);
}

void inside_fault(struct hit *h, uint64_t span, uint64_t kind)
{
	const struct layout *l = h->layout;
	uint64_t at = span < l->span_count ? span : l->span_count - 1;

	word_add(counter(h, l->faults_at) + at * FAULT_KINDS + kind, 1);
	if (kind == FAULT_LOOP_LIMIT)
		word_add(&((struct shared_stats *)(void *)(h->base + l->stats_at))->loop_limits, 1);
}

/* ---- frames */

static struct scratch_head *frame_head(const struct hit *h, uint32_t number)
{
	const struct layout *l = h->layout;

	return (struct scratch_head *)(void *)(h->base + l->scratch_at +
					       number * (sizeof(struct scratch_head) +
							 (uint64_t)l->scratch_size));
}

/* While a frame is being taken: this bit, some bits of the thread, and where the run keeps its
 * mark. They show whether a handler has left the run then. */
#define TAKING	    (UINT64_C(1) << 63)
#define MARK_BITS   45
#define THREAD_BITS 18

static uint64_t taking(const struct hit *h, uint64_t mark)
{
	return TAKING | (h->tid & ((1u << THREAD_BITS) - 1)) << MARK_BITS | mark >> 3;
}

/* Has this thread left the run that has the frame, by siglongjmp() out of a signal handler? It has
 * if there is something else by now where that run keeps its mark. */
static bool is_left(struct hit *h, const struct scratch_head *f, uint64_t thread,
		    const uint64_t *mark)
{
	uint64_t at, word;

	if (!h->tid)
		return false;
	if (thread == h->tid)
		at = word_load(&f->mark);
	else if (thread >> MARK_BITS == taking(h, 0) >> MARK_BITS)
		at = (thread & ((UINT64_C(1) << MARK_BITS) - 1)) << 3;
	else
		return false;
	return at == (uintptr_t)mark ||
	       (inside_read(h, &word, at, sizeof(word)) && word != (uintptr_t)f);
}

/* ORDER: a signal handler may come in between, whose run must not take the mark of another, and
 * which may not come back. */
static bool take_frame(const struct hit *h, struct scratch_head *f, uint64_t old, uint64_t *mark)
{
	word_store(mark, (uintptr_t)f);
	if (!word_swap(&f->thread, old, h->tid ? taking(h, (uintptr_t)mark) : SCRATCH_TAKEN))
		return false;
	word_store(&f->mark, (uintptr_t)mark);
	word_release(&f->thread, h->tid ? h->tid : SCRATCH_TAKEN);
	return true;
}

char *inside_scratch_claim(struct hit *h, uint64_t *mark)
{
	const struct layout *l = h->layout;
	uint32_t cpu = this_cpu(), others = l->scratch_count - l->scratch_own;

	if (cpu < l->scratch_own) {
		struct scratch_head *f = frame_head(h, cpu);
		uint64_t thread = word_load(&f->thread);

		if (is_left(h, f, thread, mark) && take_frame(h, f, thread, mark))
			return (char *)(f + 1);
	}
	for (uint32_t i = 0, number = cpu; i < others; i++, number++) {
		struct scratch_head *f;
		uint64_t thread;

		number = number < others ? number : 0;
		f = frame_head(h, l->scratch_own + number);
		thread = word_load(&f->thread);
		if ((!thread || is_left(h, f, thread, mark)) && take_frame(h, f, thread, mark))
			return (char *)(f + 1);
	}
	word_add(&((struct shared_stats *)(void *)(h->base + l->stats_at))->lost_scratch, 1);
	return NULL;
}

/* ---- time and ids */

uint64_t inside_nsecs(struct hit *h, uint64_t tsc)
{
	const struct shared_clock *c =
		(const struct shared_clock *)(const void *)(h->base + h->layout->clock_at);
	const struct clock_line *line = &c->lines[word_acquire(&c->current) % CLOCKS];
	uint64_t since = tsc - word_load(&line->tsc), low, high;

	/* A TSC may be older than the line. */
	if (since >> 63) {
		multiply(-since, word_load(&line->mult), &low, &high);
		return word_load(&line->ns) - (high << 32 | low >> 32);
	}
	multiply(since, word_load(&line->mult), &low, &high);
	return word_load(&line->ns) + (high << 32 | low >> 32);
}

static bool may_call(const struct hit *h)
{
	return !h->kept || !word_load(&h->kept->no_calls);
}

/* The other side is inside_filter(): one of the two sees the other. */
int64_t inside_call(const struct hit *h, int64_t number, uint64_t a, uint64_t b, uint64_t c,
		    uint64_t d, uint64_t e)
{
	uint64_t *calling =
		h->process ? &h->process->calling[this_cpu() % PROCESS_CALLING].count : NULL;
	int64_t result = -38; /* ENOSYS */

	if (!may_call(h))
		return result;
	if (calling) {
		word_add(calling, 1);
		fence_after_swap();
	}
	if (may_call(h))
		result = hidden_call(h->layout->vectors, number, a, b, c, d, e, 0);
	if (calling)
		word_add(calling, -UINT64_C(1));
	return result;
}

static uint64_t id_by_call(struct hit *h, int64_t number, uint64_t span)
{
	int64_t id = inside_call(h, number, 0, 0, 0, 0, 0);

	if (id >= 0)
		return (uint32_t)id;
	inside_fault(h, span, FAULT_ASK);
	return 0;
}

uint64_t inside_pid(struct hit *h, uint64_t span)
{
	uint64_t pid = h->process ? word_load(&h->process->pid) : 0;

	return pid ? pid : id_by_call(h, CALL_GETPID, span);
}

uint64_t inside_tid(struct hit *h, uint64_t span)
{
	return id_by_call(h, CALL_GETTID, span);
}

uint64_t inside_uid(struct hit *h, uint64_t span)
{
	return id_by_call(h, CALL_GETUID, span);
}

uint64_t inside_gid(struct hit *h, uint64_t span)
{
	return id_by_call(h, CALL_GETGID, span);
}

uint64_t inside_cpu(struct hit *h, uint64_t span)
{
#if defined(__x86_64__)
	(void)h, (void)span;
	return this_cpu();
#else
	uint32_t cpu = h->rseq ? *(volatile uint32_t *)(void *)(h->rseq + 4) : UINT32_MAX;

	if (cpu != UINT32_MAX || inside_call(h, CALL_GETCPU, (uintptr_t)&cpu, 0, 0, 0, 0) >= 0)
		return cpu;
	inside_fault(h, span, FAULT_ASK);
	return 0;
#endif
}

uint64_t inside_rand(struct hit *h)
{
	uint64_t x = read_tsc() ^ (uintptr_t)h;

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (x ^ x >> 31) & UINT32_MAX;
}

/* The float truncated, as cvttsd2si does: INT64_MIN when no s64 holds it. */
uint64_t inside_f2i(uint64_t bits, uint64_t size)
{
	unsigned fraction = size == 4 ? 23 : 52, exponents = size == 4 ? 8 : 11;
	uint64_t exponent = bits >> fraction & ((UINT64_C(1) << exponents) - 1);
	uint64_t mantissa = (bits & ((UINT64_C(1) << fraction) - 1)) | UINT64_C(1) << fraction;
	int64_t shift = (int64_t)exponent - ((1 << (exponents - 1)) - 1) - fraction;
	bool is_negative = bits >> (size * 8 - 1) & 1;

	if (shift + (int64_t)fraction < 0)
		return 0;
	if (shift + (int64_t)fraction > 62)
		return (uint64_t)INT64_MIN; /* -2^63 itself, too */
	mantissa = shift < 0 ? mantissa >> -shift : mantissa << shift;
	return is_negative ? -mantissa : mantissa;
}
