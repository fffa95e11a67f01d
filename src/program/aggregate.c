/* What the aggregations mean, in plain C: how a map's value takes in a number, how the values of
 * two CPUs become one, and which number is read from it. The same as eBPF code is in
 * engine/bpf/gen_aggregate.c; tests/unit/differential.c compares the two. */
#include "program/type.h"

/* The extreme, and whether there is one: 0 is also a value. */
static void take_extreme(const struct type *t, uint64_t *words, uint64_t n)
{
	bool less = t->is_signed ? (int64_t)n < (int64_t)words[0] : n < words[0];

	if (!words[1] || less == (t->kind == TYPE_MIN))
		words[0] = n;
	words[1] = 1;
}

void aggregate_take(const struct type *t, void *memory, uint64_t n)
{
	uint64_t *words = memory;

	switch (t->kind) {
	case TYPE_COUNT: words[0]++; break;
	case TYPE_SUM: words[0] += n; break;
	case TYPE_MIN:
	case TYPE_MAX: take_extreme(t, words, n); break;
	case TYPE_BIT_OR: words[0] |= n; break;
	case TYPE_AVG:
	case TYPE_STATS:
		words[0]++;
		words[1] += n;
		break;
	case TYPE_HIST: words[hist_bucket(n, t->is_signed, t->bits)]++; break;
	case TYPE_LHIST: words[lhist_bucket(t, (int64_t)n)]++; break;
	default: break;
	}
}

void aggregate_merge(const struct type *t, void *memory, const void *other)
{
	uint64_t *words = memory;
	const uint64_t *more = other;

	if (type_adds_up(t)) {
		for (size_t i = 0; i < type_memory(t) / 8; i++)
			words[i] += more[i];
		return;
	}
	switch (t->kind) {
	case TYPE_MIN:
	case TYPE_MAX:
		if (more[1])
			take_extreme(t, words, more[0]);
		break;
	case TYPE_BIT_OR: words[0] |= more[0]; break;
	default: break;
	}
}

/* A word at any address: values are also read from buffers. */
typedef uint64_t any_word __attribute__((aligned(1), may_alias));

uint64_t histogram_count(const struct type *t, const void *memory)
{
	const any_word *words = memory;
	uint64_t total = 0;

	for (size_t i = 0; i < type_memory(t) / 8; i++)
		total += words[i];
	return total;
}

uint64_t aggregate_number(const struct type *t, const void *memory)
{
	const any_word *words = memory;

	switch (t->kind) {
	case TYPE_MIN:
	case TYPE_MAX: return words[1] ? words[0] : 0;
	case TYPE_AVG:
	case TYPE_STATS:
		if ((int64_t)words[0] <= 0)
			return 0;
		return t->is_signed ? (uint64_t)((int64_t)words[1] / (int64_t)words[0])
				    : words[1] / words[0];
	case TYPE_HIST:
	case TYPE_LHIST: return histogram_count(t, memory);
	default: return words[0];
	}
}

uint64_t aggregate_percentile(const struct type *t, const void *memory, uint64_t millionths)
{
	const any_word *words = memory;
	unsigned buckets = (unsigned)(type_memory(t) / 8), bucket = 0;
	uint64_t total = histogram_count(t, memory), seen = 0, rank;

	if (!total)
		return 0;
	rank = rank_of_percentile(total, millionths);
	for (unsigned i = 0; i < buckets; i++) {
		seen += words[i];
		bucket += seen < rank;
	}
	bucket = bucket < buckets ? bucket : buckets - 1;
	return t->kind == TYPE_HIST ? middle_of_hist(bucket, t->bits)
				    : middle_of_lhist(bucket, t->min, t->max, t->step);
}
