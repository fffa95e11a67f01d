/* Which bucket of a histogram a value falls into. The buckets are bpftrace's.
 *
 * hist(n, k): bucket 0 holds negative values. Below 2^(k+1) each number has a bucket of its own;
 * above, each power of two is cut into 2^k buckets of equal width. With k = 0 these are
 * (..., 0) [0] [1] [2, 4) [4, 8) ... With i = bucket - 1 and n = 2^k the lowest value of a bucket
 * beyond the linear part is (n + i % n) << (i / n - 1). */
#include "program/type.h"

unsigned hist_buckets(unsigned bits)
{
	return ((65 - bits) << bits) + 1;
}

unsigned hist_bucket(uint64_t value, bool is_signed, unsigned bits)
{
	uint64_t per_power = UINT64_C(1) << bits;
	unsigned msb;

	if (is_signed && (int64_t)value < 0)
		return 0;
	if (value < 2 * per_power)
		return (unsigned)value + 1;
	msb = 63 - (unsigned)__builtin_clzll(value);
	return ((msb - bits + 1) << bits) + (value >> (msb - bits) & (per_power - 1)) + 1;
}

uint64_t hist_bucket_low(unsigned bucket, unsigned bits)
{
	unsigned i = bucket - 1, power = i >> bits;
	uint64_t per_power = UINT64_C(1) << bits;

	if (bucket == 0)
		return (uint64_t)INT64_MIN;
	if (bucket >= hist_buckets(bits))
		return 0;
	if (i < 2 * per_power)
		return i;
	return (per_power + (i & (per_power - 1))) << (power - 1);
}

/* Buckets between min and max. The last one is narrower when step does not divide the range: as in
 * bpftrace its values are then counted as above. */
static uint64_t lhist_steps(const struct type *t)
{
	return ((uint64_t)t->max - (uint64_t)t->min) / (uint64_t)t->step;
}

unsigned lhist_buckets(const struct type *t)
{
	return (unsigned)lhist_steps(t) + 2;
}

unsigned lhist_bucket(const struct type *t, int64_t value)
{
	uint64_t steps = lhist_steps(t), step;

	if (value < t->min)
		return 0;
	step = ((uint64_t)value - (uint64_t)t->min) / (uint64_t)t->step;
	return (unsigned)(step < steps ? step : steps) + 1;
}
