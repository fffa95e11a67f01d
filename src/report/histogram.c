/* The rows of a histogram. */
#include "report/histogram.h"

#include "base/buf.h"
#include "base/json.h"
#include "report/draw.h"

#define LABEL_WIDTH 16
#define COUNT_WIDTH 8
#define BAR_WIDTH   52

/* One bucket: [low, high), either end open. */
struct bucket {
	bool from_below, to_above;
	bool is_wide;	    /* `high` is 2^64, one more than it can hold */
	bool is_unsigned;   /* of hist(): never negative but in the open bucket */
	uint8_t bits;	    /* ... the buckets for a power of two, as a power of two */
	bool has_units;	    /* of lhist(): its steps are whole K */
	uint64_t low, high; /* two's complement */
};

struct histogram {
	const struct type *type;
	unsigned bits; /* of hist(), as it is shown */
	struct str counts;
	unsigned first, end; /* buckets to show */
	uint64_t most;	     /* the largest count */
};

static uint64_t kept_at(const struct histogram *h, unsigned bucket)
{
	uint64_t count = 0;

	if (h->counts.len / 8 > bucket)
		memcpy(&count, h->counts.ptr + 8 * (size_t)bucket, sizeof(count));
	return count;
}

/* The first of the buckets that are kept for one that is shown. */
static unsigned first_kept(const struct histogram *h, unsigned bucket)
{
	if (!h->type->hidden_bits || bucket == 0)
		return bucket;
	if (bucket >= hist_buckets(h->bits))
		return hist_buckets(h->type->bits);
	return hist_bucket(hist_bucket_low(bucket, h->bits), false, h->type->bits);
}

static uint64_t count_at(const struct histogram *h, unsigned bucket)
{
	unsigned end = first_kept(h, bucket + 1);
	uint64_t count = 0;

	for (unsigned i = first_kept(h, bucket); i < end; i++)
		count += kept_at(h, i);
	return count;
}

static void histogram_open(const struct value *v, struct histogram *h)
{
	unsigned bits = (unsigned)v->type->bits - v->type->hidden_bits;
	unsigned buckets = v->type->kind == TYPE_HIST ? hist_buckets(bits) : lhist_buckets(v->type);

	*h = (struct histogram){.type = v->type, .bits = bits, .counts = v->bytes};
	for (unsigned i = 0; i < buckets; i++) {
		uint64_t count = count_at(h, i);

		if (!count)
			continue;
		if (!h->most)
			h->first = i;
		h->end = i + 1;
		if (count > h->most)
			h->most = count;
	}
}

static struct bucket bucket_at(const struct histogram *h, unsigned i)
{
	const struct type *t = h->type;
	uint64_t min = (uint64_t)t->min, step = (uint64_t)t->step;

	if (t->kind == TYPE_HIST)
		return (struct bucket){
			.from_below = i == 0,
			.is_wide = i + 1 == hist_buckets(h->bits),
			.is_unsigned = true,
			.bits = (uint8_t)h->bits,
			.low = (uint64_t)hist_bucket_low(i, h->bits),
			.high = i + 1 == hist_buckets(h->bits)
					? 0
					: (uint64_t)hist_bucket_low(i + 1, h->bits),
		};
	if (i == 0)
		return (struct bucket){
			.from_below = true, .has_units = step % 1024 == 0, .high = min};
	if (i + 1 == lhist_buckets(t))
		/* A last step that is cut short by the maximum is part of it. */
		return (struct bucket){.to_above = true,
				       .has_units = step % 1024 == 0,
				       .low = min + (i - 1) * step};
	return (struct bucket){
		.has_units = step % 1024 == 0, .low = min + (i - 1) * step, .high = min + i * step};
}

/* 2048 -> "2K", 3145728 -> "3M": as bpftrace, hist() takes the unit by the width of the buckets, so
 * that of [1536, 1792) and [1792, 2048) both look alike, and lhist() has no more than M. */
static unsigned unit_of(const struct bucket *b, uint64_t number)
{
	unsigned power = number ? 63u - (unsigned)__builtin_clzll(number) : 0;

	if (b->is_unsigned)
		return power > b->bits ? (power - b->bits) / 10 : 0;
	if (!b->has_units || !number || number % 1024)
		return 0;
	return number % (1024 * 1024) ? 1 : 2;
}

static void add_label(const struct bucket *b, uint64_t number, struct buf *out)
{
	uint64_t size = number;
	unsigned unit;

	if (!b->is_unsigned && (int64_t)number < 0) {
		buf_char(out, '-');
		size = 0 - number;
	}
	unit = unit_of(b, size);
	buf_u64(out, size >> 10 * unit);
	if (unit)
		buf_char(out, " KMGTPE"[unit]);
}

static void add_range(const struct bucket *b, struct buf *out)
{
	buf_char(out, b->from_below ? '(' : '[');
	if (b->from_below)
		buf_text(out, "...");
	else
		add_label(b, b->low, out);
	if (!b->from_below && !b->to_above && !b->is_wide && b->high - b->low == 1) {
		buf_char(out, ']');
		return;
	}
	buf_text(out, ", ");
	if (b->to_above)
		buf_text(out, "...");
	else if (b->is_wide)
		buf_text(out, "16E");
	else
		add_label(b, b->high, out);
	buf_char(out, ')');
}

static void add_row(const struct histogram *h, unsigned i, int64_t div, struct buf *out)
{
	struct bucket b = bucket_at(h, i);
	uint64_t count = count_at(h, i);
	/* In single precision, as bpftrace does it: bars are equal to the character. Those of
	 * hist() are of the counts as they are, also as there; those of lhist(), which it does not
	 * divide, of the numbers that are shown. */
	uint64_t scale = h->type->kind == TYPE_LHIST ? (uint64_t)div : 1, most = h->most / scale;
	int bar = most ? (int)((float)(count / scale) / (float)most * BAR_WIDTH) : 0;
	size_t start = out->len, label;

	add_range(&b, out);
	label = out->len - start;
	buf_fill(out, ' ', label < LABEL_WIDTH ? LABEL_WIDTH - label : 0);
	buf_printf(out, "%*llu |", COUNT_WIDTH, (unsigned long long)(count / (uint64_t)div));
	buf_fill(out, '@', (size_t)bar);
	buf_fill(out, ' ', (size_t)(BAR_WIDTH - bar));
	buf_text(out, "|\n");
}

void histogram_text(const struct value *v, int64_t div, struct buf *out)
{
	struct histogram h;

	histogram_open(v, &h);
	for (unsigned i = h.first; i < h.end; i++)
		add_row(&h, i, div, out);
}

static void add_bound(struct json *j, const char *key, uint64_t bound, bool is_unsigned)
{
	json_key(j, key);
	if (is_unsigned)
		json_u64(j, bound);
	else
		json_s64(j, (int64_t)bound);
}

void histogram_json(const struct value *v, int64_t div, struct buf *out)
{
	struct json j = {out, false};
	struct histogram h;

	histogram_open(v, &h);
	json_open(&j, '[');
	for (unsigned i = h.first; i < h.end; i++) {
		struct bucket b = bucket_at(&h, i);

		json_open(&j, '{');
		if (!b.from_below)
			add_bound(&j, "min", b.low, b.is_unsigned);
		if (!b.to_above)
			add_bound(&j, "max", b.high - 1, b.is_unsigned && !b.from_below);
		json_key(&j, "count");
		json_u64(&j, count_at(&h, i) / (uint64_t)div);
		json_close(&j, '}');
	}
	json_close(&j, ']');
}

/* ---- For people */

#define SHARE_WIDTH 9 /* "  12.3 % " */
#define BAR_LEAST   8 /* a narrower bar is left out */

/* "[64K, 128K)", "below 0", "65.5 us - 131 us" */
static void add_bounds(const struct bucket *b, const struct nopal_look *look, struct buf *out)
{
	if (!look->nanoseconds || b->from_below || b->to_above || b->is_wide) {
		add_range(b, out);
		return;
	}
	draw_duration(b->low, out);
	if (b->high - b->low == 1)
		return;
	buf_text(out, " - ");
	draw_duration(b->high, out);
}

/* How wide the columns are. */
struct measures {
	size_t bounds, counts;
	uint64_t total;
};

static void measure_histogram(const struct histogram *h, const struct nopal_look *look,
			      struct measures *m, struct buf *scratch)
{
	*m = (struct measures){.counts = strlen("COUNT")};
	for (unsigned i = h->first; i < h->end; i++) {
		struct bucket b = bucket_at(h, i);

		buf_clear(scratch);
		add_bounds(&b, look, scratch);
		m->bounds = scratch->len > m->bounds ? scratch->len : m->bounds;
		buf_clear(scratch);
		draw_count(count_at(h, i), scratch);
		m->counts = scratch->len > m->counts ? scratch->len : m->counts;
		m->total += count_at(h, i);
	}
	buf_clear(scratch);
}

static void draw_row(const struct histogram *h, unsigned i, const struct measures *m,
		     const struct nopal_look *look, struct buf *out)
{
	size_t used = 2 + m->bounds + 2 + m->counts + SHARE_WIDTH + 1;
	unsigned bar = look->width > used ? look->width - (unsigned)used : 0;
	struct bucket b = bucket_at(h, i);
	uint64_t count = count_at(h, i);
	struct buf cell = BUF_INIT;

	add_bounds(&b, look, &cell);
	buf_fill(out, ' ', 2 + m->bounds - cell.len);
	buf_str(out, buf_as_str(&cell));
	buf_clear(&cell);
	draw_count(count, &cell);
	buf_fill(out, ' ', 2 + m->counts - cell.len);
	buf_str(out, buf_as_str(&cell));
	buf_printf(out, "%6.1f %% ", 100.0 * (double)count / (double)m->total);
	if (bar >= BAR_LEAST) {
		buf_text(out, look->utf8 ? "▕" : "|");
		draw_bar((double)count / (double)h->most, bar, look, out);
		while (out->len && out->ptr[out->len - 1] == ' ')
			out->len--;
	}
	buf_char(out, '\n');
	out->failed |= cell.failed;
	buf_free(&cell);
}

void draw_histogram(const struct type *t, struct str counts, const struct nopal_look *look,
		    struct buf *out)
{
	struct value v = {.type = t, .bytes = counts};
	struct buf scratch = BUF_INIT;
	struct measures m;
	struct histogram h;

	histogram_open(&v, &h);
	measure_histogram(&h, look, &m, &scratch);
	for (unsigned i = h.first; i < h.end; i++)
		draw_row(&h, i, &m, look, out);
	out->failed |= scratch.failed;
	buf_free(&scratch);
}
