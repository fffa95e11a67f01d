/* Records and maps as text and JSON: the tables of tests/cases/report/. A case builds a program of
 * a few maps and formats, then lets records arrive and maps be printed through an engine that only
 * has what the case says. The words of the cases are in `directives` below. */
#include <errno.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "report/histogram.h"
#include "report/moment.h"
#include "report/render.h"
#include "report/report.h"
#include "report/symbols.h"

#define MOST 16

struct step {
	enum { STEP_RECORD, STEP_MAPS, STEP_LOST, STEP_ATTACHED, STEP_FAULT } kind;
	struct str bytes;
	uint64_t numbers[4];
};

struct entry {
	uint32_t map;
	struct str key, value;
	bool gone;
};

/* One case: everything that its lines built, and what must come out. */
struct bench {
	struct arena arena;
	struct program program;
	struct map_def maps[MOST];
	struct format formats[MOST];
	struct str names[MOST];
	struct span places[MOST];
	struct entry entries[256];
	size_t entry_count;
	struct step steps[64];
	size_t step_count;
	struct report_options options;
	bool has_text, has_json;
	struct buf text, json;
	int exit_code; /* of exit(); -1: it did not run */
	int error;     /* of the last record */
};

/* ---- words of a line ---- */

static void skip_blanks(struct str *s)
{
	while (s->len && (*s->ptr == ' ' || *s->ptr == '\t'))
		*s = str_of(s->ptr + 1, s->len - 1);
}

static bool take(struct str *s, char c)
{
	skip_blanks(s);
	if (!s->len || *s->ptr != c)
		return false;
	*s = str_of(s->ptr + 1, s->len - 1);
	return true;
}

/* A word ends at a blank or one of `,()[]=/:*`. */
static struct str take_word(struct str *s)
{
	size_t len = 0;
	struct str word;

	skip_blanks(s);
	while (len < s->len && !strchr(" \t,()[]=/:*", s->ptr[len]))
		len++;
	word = str_of(s->ptr, len);
	*s = str_of(s->ptr + len, s->len - len);
	return word;
}

static int64_t take_number(struct str *s)
{
	struct str word = take_word(s);
	uint64_t u = 0;
	int64_t i = 0;

	if (word.len && *word.ptr == '-') {
		assert_int_equal(str_to_s64(word, &i), 0);
		return i;
	}
	assert_int_equal(str_to_u64(word, &u), 0);
	return (int64_t)u;
}

/* Two hex digits. */
static unsigned char take_hex(struct str *s)
{
	char digits[3] = {0};

	assert_true(s->len >= 2);
	memcpy(digits, s->ptr, 2);
	*s = str_of(s->ptr + 2, s->len - 2);
	return (unsigned char)strtoul(digits, NULL, 16);
}

static unsigned char take_escape(struct str *s)
{
	char c = *s->ptr;

	*s = str_of(s->ptr + 1, s->len - 1);
	if (c == 'n')
		return '\n';
	if (c == 't')
		return '\t';
	return c == 'x' ? take_hex(s) : (unsigned char)c;
}

/* "text\n\x01" */
static struct str take_quoted(struct bench *b, struct str *s)
{
	struct buf out = BUF_INIT;
	struct str copy;

	assert_true(take(s, '"'));
	while (s->len && *s->ptr != '"') {
		char c = *s->ptr;

		*s = str_of(s->ptr + 1, s->len - 1);
		buf_char(&out, c == '\\' ? (char)take_escape(s) : c);
	}
	assert_true(take(s, '"'));
	copy = arena_str(&b->arena, buf_as_str(&out));
	buf_free(&out);
	return copy;
}

/* ---- types ---- */

static const struct {
	const char *name;
	struct type type;
} types[] = {
	{"none", {.kind = TYPE_NONE}},
	{"int64", {.kind = TYPE_INT, .size = 8, .is_signed = true}},
	{"int32", {.kind = TYPE_INT, .size = 4, .is_signed = true}},
	{"int16", {.kind = TYPE_INT, .size = 2, .is_signed = true}},
	{"int8", {.kind = TYPE_INT, .size = 1, .is_signed = true}},
	{"uint64", {.kind = TYPE_INT, .size = 8}},
	{"uint32", {.kind = TYPE_INT, .size = 4}},
	{"uint8", {.kind = TYPE_INT, .size = 1}},
	{"double", {.kind = TYPE_FLOAT, .size = 8}},
	{"float", {.kind = TYPE_FLOAT, .size = 4}},
	{"str", {.kind = TYPE_STR, .size = 64}},
	{"buf", {.kind = TYPE_BUF, .size = 64}},
	{"name", {.kind = TYPE_NAME}},
	{"ustack", {.kind = TYPE_USTACK, .size = 64}},
	{"kstack", {.kind = TYPE_KSTACK, .size = 64}},
	{"usym", {.kind = TYPE_USYM}},
	{"ksym", {.kind = TYPE_KSYM}},
	{"count", {.kind = TYPE_COUNT}},
	{"sum", {.kind = TYPE_SUM, .is_signed = true}},
	{"usum", {.kind = TYPE_SUM}},
	{"min", {.kind = TYPE_MIN, .is_signed = true}},
	{"max", {.kind = TYPE_MAX, .is_signed = true}},
	{"umax", {.kind = TYPE_MAX}},
	{"avg", {.kind = TYPE_AVG, .is_signed = true}},
	{"stats", {.kind = TYPE_STATS, .is_signed = true}},
	{"hist", {.kind = TYPE_HIST, .is_signed = true}},
	{"lhist", {.kind = TYPE_LHIST, .is_signed = true}},
};

static struct type take_type(struct bench *b, struct str *s);

static struct type take_tuple_type(struct bench *b, struct str *s)
{
	struct type t = {.kind = TYPE_TUPLE};
	struct type *elements = arena_array(&b->arena, struct type, MOST);

	do {
		elements[t.element_count++] = take_type(b, s);
	} while (take(s, ','));
	assert_true(take(s, ')'));
	t.elements = elements;
	return t;
}

static struct type take_type(struct bench *b, struct str *s)
{
	struct type t = {.kind = TYPE_NONE};
	struct str word;

	if (take(s, '('))
		return take_tuple_type(b, s);
	word = take_word(s);
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (!str_eq_text(word, types[i].name))
			continue;
		t = types[i].type;
		if (t.kind == TYPE_HIST && take(s, '(')) {
			t.bits = (uint8_t)take_number(s);
			take(s, ')');
		} else if (t.kind == TYPE_LHIST) {
			assert_true(take(s, '('));
			t.min = take_number(s);
			assert_true(take(s, ','));
			t.max = take_number(s);
			assert_true(take(s, ','));
			t.step = take_number(s);
			assert_true(take(s, ')'));
		}
		return t;
	}
	fail_msg("unknown type '%.*s'", STR_FMT(word));
	return t;
}

/* ---- values, as engines write them ---- */

static void put(struct buf *out, uint64_t word)
{
	buf_add(out, &word, sizeof(word));
}

static void put_padded(struct buf *out, struct str bytes, size_t size)
{
	buf_str(out, bytes);
	if (bytes.len < size)
		buf_fill(out, '\0', size - bytes.len);
}

static size_t padded(size_t len)
{
	return (len + 7) & ~(size_t)7;
}

/* "text", or null, unreadable; cut behind it. */
static void put_text(struct bench *b, const struct type *t, struct str *s, bool packed,
		     struct buf *out)
{
	struct str text = {"", 0};
	uint32_t head[2] = {0, 0};

	skip_blanks(s);
	if (s->len && *s->ptr == '"') {
		text = take_quoted(b, s);
	} else {
		struct str word = take_word(s);

		head[1] = str_eq_text(word, "null") ? TEXT_NULL : TEXT_UNREADABLE;
	}
	skip_blanks(s);
	if (str_starts(*s, STR("cut"))) {
		take_word(s);
		head[1] |= TEXT_CUT;
	}
	assert_true(text.len <= t->size);
	head[0] = (uint32_t)text.len;
	buf_add(out, head, sizeof(head));
	put_padded(out, text, packed ? padded(text.len) : t->size);
}

/* [PID address address ...] */
static void put_stack(const struct type *t, struct str *s, bool packed, struct buf *out)
{
	uint64_t frames[8] = {0};
	uint32_t head[2] = {0, 0};

	assert_true(take(s, '['));
	head[1] = (uint32_t)take_number(s);
	while (!take(s, ']'))
		frames[head[0]++] = (uint64_t)take_number(s);
	buf_add(out, head, sizeof(head));
	put_padded(out, str_of((const char *)frames, 8 * head[0]), packed ? 0 : t->size);
}

/* A float with its point, inf, -inf or nan. */
static uint64_t take_float(const struct type *t, struct str *s)
{
	struct str word = take_word(s);
	char text[64] = "";
	double wide;
	float narrow;
	uint64_t bits = 0;
	uint32_t low;

	memcpy(text, word.ptr, word.len < 63 ? word.len : 63);
	wide = strtod(text, NULL);
	narrow = (float)wide;
	memcpy(&low, &narrow, sizeof(low));
	memcpy(&bits, &wide, sizeof(bits));
	return t->size == 4 ? low : bits;
}

/* count/total of a mean; VALUE*COUNT ... of a histogram; N or unset of an extreme. */
static void put_aggregate(const struct type *t, struct str *s, struct buf *out)
{
	uint64_t buckets[4096] = {0};

	switch (t->kind) {
	case TYPE_MIN:
	case TYPE_MAX:
		skip_blanks(s);
		if (str_starts(*s, STR("unset"))) {
			put(out, 0);
			put(out, 0);
		} else {
			put(out, (uint64_t)take_number(s));
			put(out, 1);
		}
		return;
	case TYPE_AVG:
	case TYPE_STATS:
		put(out, (uint64_t)take_number(s));
		assert_true(take(s, '/'));
		put(out, (uint64_t)take_number(s));
		return;
	case TYPE_HIST:
	case TYPE_LHIST:
		for (skip_blanks(s); s->len; skip_blanks(s)) {
			int64_t value = take_number(s);
			unsigned at = t->kind == TYPE_HIST
					      ? hist_bucket((uint64_t)value, true, t->bits)
					      : lhist_bucket(t, value);

			assert_true(take(s, '*'));
			buckets[at] += (uint64_t)take_number(s);
		}
		buf_add(out, buckets, type_memory(t));
		return;
	default: put(out, (uint64_t)take_number(s)); return;
	}
}

static void put_value(struct bench *b, const struct type *t, struct str *s, bool packed,
		      struct buf *out)
{
	switch (t->kind) {
	case TYPE_NONE: break;
	case TYPE_FLOAT: put(out, take_float(t, s)); break;
	case TYPE_STR:
	case TYPE_BUF: put_text(b, t, s, packed, out); break;
	case TYPE_USTACK:
	case TYPE_KSTACK: put_stack(t, s, packed, out); break;
	case TYPE_USYM:
	case TYPE_KSYM: { /* PID:address */
		int64_t pid = take_number(s);

		assert_true(take(s, ':'));
		put(out, (uint64_t)take_number(s));
		put(out, (uint64_t)pid);
		break;
	}
	case TYPE_TUPLE: /* a tuple lies in a record as it does in memory */
		assert_true(take(s, '('));
		for (unsigned i = 0; i < t->element_count; i++) {
			assert_true(!i || take(s, ','));
			put_value(b, &t->elements[i], s, false, out);
		}
		assert_true(take(s, ')'));
		break;
	default: put_aggregate(t, s, out); break;
	}
}

static struct str take_value(struct bench *b, const struct type *t, struct str *s)
{
	struct buf out = BUF_INIT;
	struct str copy;

	put_value(b, t, s, false, &out);
	assert_int_equal(out.len, type_memory(t));
	copy = arena_str(&b->arena, buf_as_str(&out));
	buf_free(&out);
	return copy;
}

/* ---- the words of a case ---- */

typedef void directive_fn(struct bench *b, struct str *line);

static struct map_def *last_map(struct bench *b)
{
	assert_true(b->program.map_count > 0);
	return &b->maps[b->program.map_count - 1];
}

static struct format *add_format(struct bench *b, enum format_kind kind)
{
	struct format *f = &b->formats[b->program.format_count++];

	assert_true(b->program.format_count <= MOST);
	f->kind = kind;
	if (b->program.map_count)
		f->map = b->program.map_count - 1;
	return f;
}

static void take_fields(struct bench *b, struct format *f, struct str *line)
{
	struct type *fields = arena_array(&b->arena, struct type, MOST);

	for (skip_blanks(line); line->len; skip_blanks(line))
		fields[f->field_count++] = take_type(b, line);
	f->fields = fields;
}

static struct step *add_step(struct bench *b)
{
	assert_true(b->step_count < 64);
	return &b->steps[b->step_count++];
}

/* A record of the last format, its fields from the line. */
static void add_record(struct bench *b, struct str *line)
{
	const struct format *f = &b->formats[b->program.format_count - 1];
	struct record_head head = {0, (uint16_t)(b->program.format_count - 1), 0};
	struct buf out = BUF_INIT;
	uint32_t size;

	buf_add(&out, &head, sizeof(head));
	for (unsigned i = 0; i < f->field_count; i++)
		put_value(b, &f->fields[i], line, true, &out);
	size = (uint32_t)out.len;
	memcpy(out.ptr, &size, sizeof(size));
	*add_step(b) =
		(struct step){.kind = STEP_RECORD, .bytes = arena_str(&b->arena, buf_as_str(&out))};
	buf_free(&out);
}

/* map: @name KEYTYPE VALUETYPE */
static void on_map(struct bench *b, struct str *line)
{
	struct map_def *m = &b->maps[b->program.map_count++];

	assert_true(b->program.map_count <= MOST);
	m->name = take_word(line);
	m->key = take_type(b, line);
	m->value = take_type(b, line);
}

/* entry: KEY = VALUE, of the last map */
static void on_entry(struct bench *b, struct str *line)
{
	struct map_def *m = last_map(b);
	struct entry *e = &b->entries[b->entry_count++];

	e->map = b->program.map_count - 1;
	e->key = take_value(b, &m->key, line);
	if (m->key.kind != TYPE_NONE)
		assert_true(take(line, '='));
	e->value = take_value(b, &m->value, line);
}

static void on_printf(struct bench *b, struct str *line)
{
	struct format *f = add_format(b, FORMAT_PRINTF);

	f->text = take_quoted(b, line);
	take_fields(b, f, line);
}

static void on_cat(struct bench *b, struct str *line)
{
	on_printf(b, line);
	b->formats[b->program.format_count - 1].kind = FORMAT_CAT;
}

static void on_system(struct bench *b, struct str *line)
{
	on_printf(b, line);
	b->formats[b->program.format_count - 1].kind = FORMAT_SYSTEM;
}

static void on_join(struct bench *b, struct str *line)
{
	on_printf(b, line);
	b->formats[b->program.format_count - 1].kind = FORMAT_JOIN;
}

static void on_value(struct bench *b, struct str *line)
{
	take_fields(b, add_format(b, FORMAT_VALUE), line);
}

static void on_map_value(struct bench *b, struct str *line)
{
	take_fields(b, add_format(b, FORMAT_MAP_VALUE), line);
}

static void on_time(struct bench *b, struct str *line)
{
	add_format(b, FORMAT_TIME)->text = take_quoted(b, line);
	add_record(b, line);
}

/* print: TOP DIV, of the last map */
static void on_print(struct bench *b, struct str *line)
{
	struct format *f = add_format(b, FORMAT_PRINT);

	f->top = take_number(line);
	f->div = take_number(line);
	add_record(b, line);
}

static void on_clear(struct bench *b, struct str *line)
{
	add_format(b, FORMAT_CLEAR);
	add_record(b, line);
}

static void on_zero(struct bench *b, struct str *line)
{
	add_format(b, FORMAT_ZERO);
	add_record(b, line);
}

static void on_exit_code(struct bench *b, struct str *line)
{
	add_format(b, FORMAT_EXIT)->exit_code = take_number(line);
	add_record(b, line);
}

static void on_record(struct bench *b, struct str *line)
{
	add_record(b, line);
}

/* names: "a" "b" */
static void on_names(struct bench *b, struct str *line)
{
	for (skip_blanks(line); line->len; skip_blanks(line))
		b->names[b->program.name_count++] = take_quoted(b, line);
}

static void on_maps(struct bench *b, struct str *line)
{
	(void)line;
	add_step(b)->kind = STEP_MAPS;
}

/* lost: RECORDS UPDATES RUNS LOOPS */
static void on_lost(struct bench *b, struct str *line)
{
	struct step *s = add_step(b);

	s->kind = STEP_LOST;
	for (int i = 0; i < 4; i++)
		s->numbers[i] = (uint64_t)take_number(line);
}

static void on_attached(struct bench *b, struct str *line)
{
	struct step *s = add_step(b);

	s->kind = STEP_ATTACHED;
	s->numbers[0] = (uint64_t)take_number(line);
}

/* fault: KIND COUNT AT LEN "source" */
static void on_fault(struct bench *b, struct str *line)
{
	struct step *s = add_step(b);
	struct span *place = &b->places[b->program.place_count];

	s->kind = STEP_FAULT;
	s->numbers[0] = (uint64_t)take_number(line);
	s->numbers[1] = (uint64_t)take_number(line);
	s->numbers[2] = b->program.place_count++;
	place->path = STR("script");
	place->at = (size_t)take_number(line);
	place->len = (size_t)take_number(line);
	place->source = take_quoted(b, line);
}

static void on_option(struct bench *b, struct str *line)
{
	struct str word = take_word(line);

	if (str_eq_text(word, "terminal"))
		b->options.terminal = true;
	else if (str_eq_text(word, "unsafe"))
		b->options.unsafe = true;
	else
		fail_msg("unknown option '%.*s'", STR_FMT(word));
}

static const struct {
	const char *word;
	directive_fn *fn;
} directives[] = {
	{"map", on_map},       {"entry", on_entry},	   {"printf", on_printf},
	{"value", on_value},   {"mapvalue", on_map_value}, {"join", on_join},
	{"time", on_time},     {"print", on_print},	   {"clear", on_clear},
	{"zero", on_zero},     {"exit", on_exit_code},	   {"cat", on_cat},
	{"system", on_system}, {"record", on_record},	   {"names", on_names},
	{"maps", on_maps},     {"lost", on_lost},	   {"attached", on_attached},
	{"fault", on_fault},   {"option", on_option},
};

/* {x1b} is the byte, so that blanks at the end of a line and control bytes can be seen. */
static void add_expected(struct str line, struct buf *out)
{
	while (line.len) {
		if (line.len >= 5 && str_starts(line, STR("{x")) && line.ptr[4] == '}') {
			line = str_of(line.ptr + 2, line.len - 2);
			buf_char(out, (char)take_hex(&line));
		} else {
			buf_char(out, *line.ptr);
		}
		line = str_of(line.ptr + 1, line.len - 1);
	}
}

/* Expected output: "text> line", "json> line"; "text- part" without the end of the line. */
static bool take_expected(struct bench *b, struct str line)
{
	bool json = str_starts(line, STR("json"));
	struct buf *out = json ? &b->json : &b->text;

	if (!json && !str_starts(line, STR("text")))
		return false;
	if (line.len < 5 || (line.ptr[4] != '>' && line.ptr[4] != '-'))
		return false;
	*(json ? &b->has_json : &b->has_text) = true;
	if (line.len > 6)
		add_expected(str_of(line.ptr + 6, line.len - 6), out);
	if (line.ptr[4] == '>')
		buf_char(out, '\n');
	return true;
}

static void take_line(struct bench *b, struct str line)
{
	struct str rest = line, word;

	if (take_expected(b, line))
		return;
	word = take_word(&rest);
	assert_true(take(&rest, ':'));
	for (size_t i = 0; i < sizeof(directives) / sizeof(*directives); i++) {
		if (str_eq_text(word, directives[i].word)) {
			directives[i].fn(b, &rest);
			return;
		}
	}
	fail_msg("unknown word '%.*s'", STR_FMT(word));
}

/* ---- the engine that has what the case says ---- */

static int fake_each(struct engine *e, uint32_t map, map_entry_fn *fn, void *arg)
{
	struct bench *b = (struct bench *)e;
	int err = 0;

	for (size_t i = 0; i < b->entry_count && !err; i++)
		if (b->entries[i].map == map && !b->entries[i].gone)
			err = fn(arg, b->entries[i].key, b->entries[i].value);
	return err;
}

static int fake_clear(struct engine *e, uint32_t map)
{
	struct bench *b = (struct bench *)e;

	for (size_t i = 0; i < b->entry_count; i++)
		b->entries[i].gone |= b->entries[i].map == map;
	return 0;
}

static int fake_zero(struct engine *e, uint32_t map)
{
	struct bench *b = (struct bench *)e;

	for (size_t i = 0; i < b->entry_count; i++)
		if (b->entries[i].map == map)
			b->entries[i].value =
				str_of(arena_alloc(&b->arena, b->entries[i].value.len + 1),
				       b->entries[i].value.len);
	return 0;
}

static const struct engine_ops fake_ops = {
	.name = "fake", .map_each = fake_each, .map_clear = fake_clear, .map_zero = fake_zero};

/* ---- running a case ---- */

static void run_step(struct bench *b, struct report *r, const struct step *s, struct buf *out)
{
	struct engine *e = (struct engine *)b;
	enum report_action action = REPORT_DONE;
	struct engine_fault fault = {.place = (uint32_t)s->numbers[2]};
	const struct engine_stats stats = {s->numbers[0], s->numbers[1], s->numbers[2],
					   s->numbers[3]};

	switch (s->kind) {
	case STEP_RECORD:
		b->error = report_record(r, &fake_ops, e, s->bytes, out, &action, &b->exit_code);
		assert_int_equal(b->error, 0);
		break;
	case STEP_MAPS: assert_int_equal(report_all_maps(r, &fake_ops, e, out), 0); break;
	case STEP_LOST: report_lost(r, &stats, out); break;
	case STEP_ATTACHED: report_attached(r, (unsigned)s->numbers[0], out); break;
	case STEP_FAULT:
		fault.kind = (int)s->numbers[0];
		fault.count = s->numbers[1];
		report_fault(r, &fault, out);
		break;
	}
}

static void run_style(struct bench *b, enum report_style style, const struct buf *expected)
{
	struct symbols *symbols = NULL;
	struct report *r = NULL;
	struct buf out = BUF_INIT;
	struct entry entries[256];

	b->options.style = style;
	memcpy(entries, b->entries, sizeof(entries));
	assert_int_equal(symbols_new(&symbols), 0);
	assert_int_equal(report_new(&b->program, &b->options, symbols, &r), 0);
	for (size_t i = 0; i < b->step_count; i++)
		run_step(b, r, &b->steps[i], &out);
	memcpy(b->entries, entries, sizeof(entries));
	buf_char(&out, '\0'); /* compared as C text below */
	assert_string_equal(out.ptr, expected->len ? expected->ptr : "");
	report_free(r);
	symbols_free(symbols);
	buf_free(&out);
}

static void bench_init(struct bench *b)
{
	memset(b, 0, sizeof(*b));
	b->program.maps = b->maps;
	b->program.formats = b->formats;
	b->program.names = b->names;
	b->program.places = b->places;
	b->options.trunc_trailer = STR("..");
	b->exit_code = -1;
}

static void bench_free(struct bench *b)
{
	arena_free(&b->arena);
	buf_free(&b->text);
	buf_free(&b->json);
	free(b);
}

/* A case is the lines from "-- title" to the next. */
static void run_case(void **state)
{
	struct str rest = str_from(*state);
	struct bench *b = malloc(sizeof(*b));

	assert_non_null(b);
	bench_init(b);
	str_cut(&rest, '\n');
	while (rest.len) {
		struct str line = str_cut(&rest, '\n');

		if (line.len && *line.ptr != '#')
			take_line(b, line);
	}
	assert_true(b->has_text || b->has_json);
	if (b->has_text)
		run_style(b, REPORT_TEXT, &b->text);
	if (b->has_json)
		run_style(b, REPORT_JSON, &b->json);
	bench_free(b);
}

/* ---- what tables cannot say ---- */

static void times_are_formatted(void **state)
{
	static const struct {
		const char *format;
		int64_t nsecs;
		const char *expected;
	} rows[] = {
		{"%Y-%m-%d %H:%M:%S", 0, "1970-01-01 00:00:00"},
		{"%H:%M:%S.%f", 3661000123999, "01:01:01.000123"},
		{"%f", -1, "999999"},
		{"%S", -1, "59"},
		{"100%% %", 0, "100% %"},
		{"%q|%", 0, "%q|%"},
		{"%-d|%02e|%_H|", 0, "1|01| 0|"},
		{"", 0, ""},
	};

	(void)state;
	setenv("TZ", "UTC", 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct buf out = BUF_INIT;

		moment_format(str_from(rows[i].format), rows[i].nsecs, &out);
		assert_string_equal(out.ptr ? out.ptr : "", rows[i].expected);
		buf_free(&out);
	}
}

static struct report *report_of(struct bench *b)
{
	struct report *r = NULL;

	assert_int_equal(report_new(&b->program, &b->options, NULL, &r), 0);
	return r;
}

/* Each way in which a record can be shorter than its fields leaves nothing behind. */
static void malformed_records_show_nothing(void **state)
{
	struct bench *b = malloc(sizeof(*b));
	struct str line = STR("\"%d %s %d\\n\" int64 str int64");
	struct buf out = BUF_INIT;
	enum report_action action = REPORT_DONE;
	struct report *r;
	int code = 0;

	(void)state;
	bench_init(b);
	on_printf(b, &line);
	line = STR("1 \"some text\" 2");
	add_record(b, &line);
	r = report_of(b);
	buf_text(&out, "before");
	for (uint32_t size = 0; size < b->steps[0].bytes.len; size += 4) {
		char *copy = malloc(size ? size : 1);

		memcpy(copy, b->steps[0].bytes.ptr, size);
		if (size >= 4)
			memcpy(copy, &size, sizeof(size));
		assert_int_equal(
			report_record(r, &fake_ops, NULL, str_of(copy, size), &out, &action, &code),
			-EPROTO);
		assert_string_equal(out.ptr, "before");
		free(copy);
	}
	report_free(r);
	buf_free(&out);
	bench_free(b);
}

static void exit_ends_the_run(void **state)
{
	struct bench *b = malloc(sizeof(*b));
	struct str line = STR("3");
	struct buf out = BUF_INIT;
	enum report_action action = REPORT_DONE;
	struct report *r;

	(void)state;
	bench_init(b);
	on_exit_code(b, &line);
	r = report_of(b);
	assert_int_equal(
		report_record(r, &fake_ops, NULL, b->steps[0].bytes, &out, &action, &b->exit_code),
		0);
	assert_int_equal(action, REPORT_EXIT);
	assert_int_equal(b->exit_code, 3);
	assert_int_equal(out.len, 0);
	report_free(r);
	bench_free(b);
}

static void later_names_are_known(void **state)
{
	static const struct str more_names[] = {{"a", 1}, {"b", 1}};
	const struct program more = {.names = more_names, .name_count = 2};
	struct bench *b = malloc(sizeof(*b));
	struct str line = STR("\"%s\\n\" name");
	struct buf out = BUF_INIT;
	enum report_action action;
	struct report *r;
	int code;

	(void)state;
	bench_init(b);
	on_printf(b, &line);
	line = STR("1");
	add_record(b, &line);
	line = STR("\"a\"");
	on_names(b, &line);
	r = report_of(b);
	report_record(r, &fake_ops, NULL, b->steps[0].bytes, &out, &action, &code);
	report_names(r, &more);
	report_record(r, &fake_ops, NULL, b->steps[0].bytes, &out, &action, &code);
	assert_string_equal(out.ptr, "(unknown)\nb\n");
	report_free(r);
	buf_free(&out);
	bench_free(b);
}

/* ---- */

struct suite {
	struct CMUnitTest tests[512];
	size_t count;
};

static void add_test(struct suite *s, const char *name, CMUnitTestFunction fn, void *state)
{
	if (s->count == sizeof(s->tests) / sizeof(*s->tests))
		return; /* main() counts them */
	s->tests[s->count++] = (struct CMUnitTest){name, fn, NULL, NULL, state};
}

/* Cut a file into its cases; names and texts live as long as the program. */
static void add_cases(struct suite *s, const char *path)
{
	struct buf text = BUF_INIT;
	char piece[4096];
	size_t got;
	FILE *file = fopen(path, "r");
	char *at, *next;

	while (file && (got = fread(piece, 1, sizeof(piece), file)) > 0)
		buf_add(&text, piece, got);
	if (file)
		fclose(file);
	at = text.ptr ? strstr(text.ptr, "-- ") : NULL;
	for (; at; at = next) {
		char *end = strchr(at, '\n');

		next = strstr(at, "\n-- ");
		if (next)
			*next++ = '\0';
		add_test(s, strndup(at + 3, end ? (size_t)(end - at - 3) : strlen(at + 3)),
			 run_case, at);
	}
}

int main(void)
{
	static struct suite suite;
	glob_t files;

	if (!glob("tests/cases/report/*.txt", 0, NULL, &files))
		for (size_t i = 0; i < files.gl_pathc; i++)
			add_cases(&suite, files.gl_pathv[i]);
	globfree(&files);
	if (!suite.count || suite.count + 4 > sizeof(suite.tests) / sizeof(*suite.tests))
		return 1;
	add_test(&suite, "times are formatted", times_are_formatted, NULL);
	add_test(&suite, "malformed records show nothing", malformed_records_show_nothing, NULL);
	add_test(&suite, "exit ends the run", exit_ends_the_run, NULL);
	add_test(&suite, "later names are known", later_names_are_known, NULL);
	return _cmocka_run_group_tests("report", suite.tests, suite.count, NULL, NULL);
}
