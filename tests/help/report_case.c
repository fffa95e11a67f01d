#include "help/report_case.h"

#include <stdlib.h>
#include <stdio.h>

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
		fields[f->field_count++] = take_type(&b->arena, line);
	f->fields = fields;
}

static struct step *add_step(struct bench *b)
{
	assert_true(b->step_count < 64);
	return &b->steps[b->step_count++];
}

void add_record(struct bench *b, struct str *line)
{
	const struct format *f = &b->formats[b->program.format_count - 1];
	struct record_head head = {0, (uint16_t)(b->program.format_count - 1), 0};
	struct buf out = BUF_INIT;
	uint32_t size;

	buf_add(&out, &head, sizeof(head));
	for (unsigned i = 0; i < f->field_count; i++)
		put_value(&b->arena, &f->fields[i], line, true, &out);
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
	m->key = take_type(&b->arena, line);
	m->value = take_type(&b->arena, line);
}

/* entry: KEY = VALUE, of the last map */
static void on_entry(struct bench *b, struct str *line)
{
	struct map_def *m = last_map(b);
	struct entry *e = &b->entries[b->entry_count++];

	e->map = b->program.map_count - 1;
	e->key = take_value(&b->arena, &m->key, line);
	if (m->key.kind != TYPE_NONE)
		assert_true(take(line, '='));
	e->value = take_value(&b->arena, &m->value, line);
}

void on_printf(struct bench *b, struct str *line)
{
	struct format *f = add_format(b, FORMAT_PRINTF);

	f->text = take_quoted(&b->arena, line);
	take_fields(b, f, line);
	assert_int_equal(format_parse(f->text, &b->arena, f), 0);
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
	add_format(b, FORMAT_TIME)->text = take_quoted(&b->arena, line);
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

void on_exit_code(struct bench *b, struct str *line)
{
	add_format(b, FORMAT_EXIT)->exit_code = take_number(line);
	add_record(b, line);
}

static void on_record(struct bench *b, struct str *line)
{
	add_record(b, line);
}

void on_names(struct bench *b, struct str *line)
{
	for (skip_blanks(line); line->len; skip_blanks(line))
		b->names[b->program.name_count++] = take_quoted(&b->arena, line);
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
	struct span *place = &b->spans[b->program.span_count];

	s->kind = STEP_FAULT;
	s->numbers[0] = (uint64_t)take_number(line);
	s->numbers[1] = (uint64_t)take_number(line);
	s->numbers[2] = b->program.span_count++;
	place->path = STR("script");
	place->at = (size_t)take_number(line);
	place->len = (size_t)take_number(line);
	place->source = take_quoted(&b->arena, line);
}

static void on_option(struct bench *b, struct str *line)
{
	struct str word = take_word(line);

	if (str_eq_text(word, "terminal"))
		b->options.terminal = true;
	else if (str_eq_text(word, "raw"))
		b->options.raw = true;
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

/* {x1b} is the byte, so that blanks at the end of a line and control bytes can be seen; {end} is
 * the end of text whose last line has no newline. */
static void add_expected(struct str line, struct buf *out)
{
	while (line.len && !str_starts(line, STR("{end}"))) {
		if (line.len >= 5 && str_starts(line, STR("{x")) && line.ptr[4] == '}') {
			line = str_of(line.ptr + 2, line.len - 2);
			buf_char(out, (char)take_hex(&line));
		} else {
			buf_char(out, *line.ptr);
		}
		line = str_of(line.ptr + 1, line.len - 1);
	}
}

void take_field(struct bench *b, const struct case_field *f)
{
	struct str rest = case_field_value(f);

	if (str_eq_text(f->key, "text")) {
		b->has_text = true;
		add_expected(f->text, &b->text);
		return;
	}
	if (str_eq_text(f->key, "json")) {
		b->has_json = true;
		add_expected(f->text, &b->json);
		return;
	}
	for (size_t i = 0; i < sizeof(directives) / sizeof(*directives); i++) {
		if (str_eq_text(f->key, directives[i].word)) {
			directives[i].fn(b, &rest);
			return;
		}
	}
	fail_msg("unknown key '%.*s'", STR_FMT(f->key));
}

void bench_init(struct bench *b)
{
	memset(b, 0, sizeof(*b));
	b->program.maps = b->maps;
	b->program.formats = b->formats;
	b->program.names = b->names;
	b->program.spans = b->spans;
	b->options.trunc_trailer = STR("..");
	b->exit_code = -1;
}

void bench_free(struct bench *b)
{
	arena_free(&b->arena);
	buf_free(&b->text);
	buf_free(&b->json);
	free(b);
}
