/* What the columns of aggregates.h mean for a map's value: how it takes in a number, how the values
 * of two CPUs become one, and which number is read from it. The same as eBPF code is in
 * engine/bpf/gen/aggregation.c, in shared memory in user/inside/inside_map.c;
 * tests/unit/differential.c and native_differential.c compare them. */
#include "program/type.h"

static void take_number(const struct type *t, uint64_t *words, uint64_t n)
{
	enum aggregate_join join = type_aggregation(t)->join;

	if (!join_has_first(join) || words[1])
		n = join_words(join, t->is_signed, words[0], n);
	words[0] = n;
	if (join_has_first(join))
		words[1] = 1;
}

void aggregate_take(const struct type *t, void *memory, uint64_t n)
{
	const struct aggregation *a = type_aggregation(t);
	uint64_t *words = memory;

	if (!a)
		return;
	switch (a->takes) {
	case TAKES_ONE: words[0]++; break;
	case TAKES_NUMBER: take_number(t, words, n); break;
	case TAKES_BOTH:
		words[0]++;
		words[1] += n;
		break;
	case TAKES_HIST: words[hist_bucket(n, t->is_signed, t->bits)]++; break;
	case TAKES_LHIST: words[lhist_bucket(t, (int64_t)n)]++; break;
	}
}

void aggregate_merge(const struct type *t, void *memory, const void *other)
{
	const struct aggregation *a = type_aggregation(t);
	uint64_t *words = memory;
	const uint64_t *more = other;

	if (type_adds_up(t)) {
		for (size_t i = 0; i < type_memory(t) / 8; i++)
			words[i] += more[i];
		return;
	}
	if (!join_has_first(a->join) || more[1])
		take_number(t, words, more[0]);
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
	const struct aggregation *a = type_aggregation(t);
	const any_word *words = memory;

	if (!a)
		return words[0];
	switch (a->takes) {
	case TAKES_BOTH:
		if ((int64_t)words[0] <= 0)
			return 0;
		return t->is_signed ? (uint64_t)((int64_t)words[1] / (int64_t)words[0])
				    : words[1] / words[0];
	case TAKES_HIST:
	case TAKES_LHIST: return histogram_count(t, memory);
	default: return join_has_first(a->join) && !words[1] ? 0 : words[0];
	}
}

static uint64_t middle_of(const struct type *t, unsigned bucket)
{
	return t->kind == TYPE_HIST ? middle_of_hist(bucket, t->bits)
				    : middle_of_lhist(bucket, t->min, t->max, t->step);
}

double histogram_sum(const struct type *t, const void *memory)
{
	const any_word *words = memory;
	double sum = 0;

	for (unsigned i = 0; i < type_memory(t) / 8; i++)
		if (words[i])
			sum += (double)words[i] * (double)(int64_t)middle_of(t, i);
	return sum;
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
	return middle_of(t, bucket);
}
