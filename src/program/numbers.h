/* Arithmetic of programs that all engines share. Code that runs in traced processes uses this, too,
 * so it needs nothing but the compiler. */
#ifndef NOPAL_PROGRAM_NUMBERS_H
#define NOPAL_PROGRAM_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

#define MILLION 1000000 /* what percentiles are parts of */

/* The low `size` bytes, 1 to 8, as a number. */
static inline uint64_t extend_bits(uint64_t bits, unsigned size, bool is_signed)
{
	unsigned unused = 64 - 8 * size;

	if (size >= 8)
		return bits;
	bits <<= unused;
	return is_signed ? (uint64_t)((int64_t)bits >> unused) : bits >> unused;
}

/* ---- Aggregations: columns of aggregates.h */

/* What a value takes in for each event. */
enum aggregate_takes {
	TAKES_ONE,    /* 1 */
	TAKES_NUMBER, /* the number */
	TAKES_BOTH,   /* 1, and into the second word the number */
	TAKES_HIST,   /* 1 into a bucket of hist() */
	TAKES_LHIST,  /* 1 into a bucket of lhist() */
};

/* How two words become one. */
enum aggregate_join {
	JOIN_ADD,
	JOIN_OR,
	JOIN_LEAST, /* ORDER: join_has_first() */
	JOIN_MOST,
};

/* Is a word that holds nothing yet not 0? Then the next word says that there is one. */
static inline bool join_has_first(enum aggregate_join how)
{
	return how >= JOIN_LEAST;
}

static inline uint64_t join_words(enum aggregate_join how, bool is_signed, uint64_t a, uint64_t b)
{
	bool less = is_signed ? (int64_t)a < (int64_t)b : a < b;

	switch (how) {
	case JOIN_OR: return a | b;
	case JOIN_LEAST: return less ? a : b;
	case JOIN_MOST: return less ? b : a;
	default: return a + b;
	}
}

/* ---- Buckets of histograms: those of bpftrace
 *
 * hist(n, k): bucket 0 holds negative values. Below 2^(k+1) each number has a bucket of its own;
 * above, each power of two is cut into 2^k buckets of equal width. With k = 0 these are
 * (..., 0) [0] [1] [2, 4) [4, 8) ... With i = bucket - 1 and n = 2^k the lowest value of a bucket
 * beyond the linear part is (n + i % n) << (i / n - 1). */
static inline unsigned hist_buckets(unsigned bits)
{
	return ((65 - bits) << bits) + 1;
}

/* Which one a value falls into. */
static inline unsigned hist_bucket(uint64_t value, bool is_signed, unsigned bits)
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

/* Lowest value of a bucket, unsigned (bucket 0: the bits of INT64_MIN); its end is the next
 * bucket's lowest. After the last bucket: 0, for 2^64. */
static inline uint64_t hist_bucket_low(unsigned bucket, unsigned bits)
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

/* What a bucket stands for in a percentile. */
static inline uint64_t middle_of_hist(unsigned bucket, unsigned bits)
{
	uint64_t per_power = UINT64_C(1) << bits;
	unsigned i = bucket - 1;

	if (bucket == 0)
		return UINT64_MAX;
	if (i < 2 * per_power)
		return i;
	return hist_bucket_low(bucket, bits) + (((UINT64_C(1) << ((i >> bits) - 1)) - 1) >> 1);
}

/* How many of `total` values a percentile leaves below or at it, at least. */
static inline uint64_t rank_of_percentile(uint64_t total, uint64_t millionths)
{
	return (total * millionths + MILLION - 1) / MILLION;
}

/* Buckets between min and max. The last one is narrower when step does not divide the range: as in
 * bpftrace its values are then counted as above. */
static inline uint64_t steps_of_lhist(int64_t min, int64_t max, int64_t step)
{
	return ((uint64_t)max - (uint64_t)min) / (uint64_t)step;
}

static inline unsigned bucket_of_lhist(int64_t value, int64_t min, int64_t max, int64_t step)
{
	uint64_t steps = steps_of_lhist(min, max, step), at;

	if (value < min)
		return 0;
	at = ((uint64_t)value - (uint64_t)min) / (uint64_t)step;
	return (unsigned)(at < steps ? at : steps) + 1;
}

/* What a bucket stands for in a percentile. */
static inline uint64_t middle_of_lhist(unsigned bucket, int64_t min, int64_t max, int64_t step)
{
	uint64_t low = (uint64_t)min + (bucket - 1) * (uint64_t)step;

	if (bucket == 0)
		return (uint64_t)min - 1;
	return bucket == steps_of_lhist(min, max, step) + 1 ? low : low + ((uint64_t)step - 1) / 2;
}

#endif
