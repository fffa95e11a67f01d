/* Memory that a traced process shares with the tracer, and writes anything into: rings, maps,
 * counters. The input is a list of writes, of 1 + 3 + 8 bytes: which part, where in it, what; a
 * write to part 255 is a turn of the tracer, which then reads and changes everything. */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/array.h"
#include "user/memory/store.h"

#define WRITE 12
#define TURNS 8

static const struct type pair[] = {{.kind = TYPE_INT, .size = 8}, {.kind = TYPE_STR, .size = 16}};

#define INT_KEY	 .key = {.kind = TYPE_INT, .size = 8}, .max_entries = 3
#define TEXT_KEY .key = {.kind = TYPE_STR, .size = 24}, .max_entries = 3
static const struct map_def maps[] = {
	{INT_KEY, .value = {.kind = TYPE_INT, .size = 8}},
	{TEXT_KEY, .value = {.kind = TYPE_COUNT}},
	{INT_KEY, .value = {.kind = TYPE_STR, .size = 16}},
	{INT_KEY, .value = {.kind = TYPE_TUPLE, .elements = pair, .element_count = 2}},
	{TEXT_KEY, .value = {.kind = TYPE_USTACK, .size = 32}},
	{INT_KEY, .value = {.kind = TYPE_HIST}},
	{INT_KEY, .value = {.kind = TYPE_MIN, .is_signed = true}},
	{.value = {.kind = TYPE_INT, .size = 8}, .max_entries = 1},
	{.value = {.kind = TYPE_AVG}, .max_entries = 1},
};
static const struct format formats[] = {
	{.kind = FORMAT_PRINTF, .fields = pair, .field_count = 2},
	{.kind = FORMAT_EXIT},
};
static const struct span no_span;
static const struct program program = {.maps = maps,
				       .map_count = COUNT(maps),
				       .formats = formats,
				       .format_count = 2,
				       .spans = &no_span,
				       .span_count = 1};

static int take_record(void *arg, struct str bytes)
{
	struct value v;
	struct record r;

	(void)arg;
	if (record_open(&program, bytes, &r))
		return 0;
	for (unsigned i = 0; i < r.format->field_count; i++)
		if (record_field(&r, &r.format->fields[i], &v))
			break;
	return 0;
}

static int take_entry(void *arg, struct str key, struct str value)
{
	const struct map_def *def = arg;
	struct cursor k = cursor_of(key.ptr, key.len, false);
	struct cursor v = cursor_of(value.ptr, value.len, false);
	struct value decoded;

	if (key.len != type_memory(&def->key) || value.len != type_memory(&def->value))
		abort();
	(void)value_decode(&def->key, &k, &decoded);
	(void)value_decode(&def->value, &v, &decoded);
	return 0;
}

/* One operation of each kind that the map can have. */
static void change_map(struct native_store *s, uint32_t map)
{
	const struct map_shape *m = &s->shapes[map];
	uint64_t key[4] = {3, map}, value[16] = {2};

	inside_map_has(&s->hit, m, key);
	if (m->is_word) {
		inside_map_set(&s->hit, m, key, 5, 0);
		inside_map_add(&s->hit, m, key, 5, 0);
	} else if (m->cell_words) {
		inside_aggregate(&s->hit, m, key, 5, 0);
	} else {
		inside_map_put(&s->hit, m, key, value, 0);
		inside_map_copy(&s->hit, m, key, value);
	}
	if (m->is_word ||
	    (m->cell_words && m->cell_words <= 2)) /* what scripts read in an expression */
		inside_map_get(&s->hit, m, key);
	inside_map_del(&s->hit, m, key);
}

static void send(struct native_store *s)
{
	static const struct {
		uint64_t head;
		struct emit_field field;
	} shape = {UINT64_C(1) << 32, {.form = FORM_TEXT, .words = 4}};
	uint64_t frame[4] = {17};

	s->hit.tsc = 0;
	inside_emit(&s->hit, (const struct emit_shape *)(const void *)&shape, (const char *)frame);
}

static void take_turn(struct native_store *s)
{
	const struct map_store m = native_store_maps(s);
	struct run_stats stats;
	uint64_t mark;

	native_ring_drain(s, take_record, NULL, NULL, NULL);
	for (uint32_t i = 0; i < COUNT(maps); i++) {
		map_each(&m, i, take_entry, (void *)(uintptr_t)&maps[i]);
		change_map(s, i);
		map_zero(&m, i);
		map_clear(&m, i);
	}
	send(s);
	inside_scratch_claim(&s->hit, &mark);
	native_ring_drain(s, take_record, NULL, NULL, NULL);
	native_store_stats(s, &stats);
}

/* Parts: one for each ring's head, marks and records, the rest for what is before the rings. */
static void write_word(struct native_store *s, unsigned part, uint64_t where, uint64_t what)
{
	const struct layout *l = &s->layout;
	uint64_t data = part / 3 < l->cpus ? l->ring_data : l->shared_data;
	uint64_t parts[3] = {0, LAYOUT_PAGE, data};
	uint64_t at = where % (l->rings_at / 8) * 8;

	if (part < 3 * ring_count(l))
		at = ring_at(l, part / 3) + parts[part % 3] + where % 512 * 8;
	memcpy(s->base + at, &what, 8);
}

/* The memory as it is when new; opening takes milliseconds, for the clock. */
static struct native_store *renew(void)
{
	static struct native_store *s;
	static char *image;
	const struct native_sizes sizes = {
		.cpus = 2, .ring_bytes = 1 << 16, .scratch_size = 64, .scratch_count = 2};

	if (!s) {
		if (native_store_open(&program, &sizes, &s, NULL))
			abort();
		image = malloc(s->layout.rings_at);
		if (!image)
			abort();
		memcpy(image, s->base, s->layout.rings_at);
	}
	madvise(s->base, s->layout.size, MADV_REMOVE);
	memcpy(s->base, image, s->layout.rings_at);
	memset(s->rings, 0, ring_count(&s->layout) * sizeof(*s->rings));
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct native_store *s = renew();
	unsigned turns = 0;

	for (; size >= WRITE && turns < TURNS; data += WRITE, size -= WRITE) {
		uint64_t what;

		memcpy(&what, data + 4, 8);
		if (data[0] == 255) {
			take_turn(s);
			turns++;
		} else {
			write_word(s, data[0], data[1] | data[2] << 8 | data[3] << 16, what);
		}
	}
	take_turn(s);
	return 0;
}
