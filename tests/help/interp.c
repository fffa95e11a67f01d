#include "help/interp.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* What all rows run against: a process with two areas that touch and one that does not. */
static const char low[] = "abcdefgh\0\xff\xff\xff\xff\xff\xff\xff";

static const char high[] = "tail\0....";

static const struct area areas[] = {
	{0x1000, {low, 16}},
	{0x1010, {high, 8}},
	{0x2000, {"no end", 6}},
};

static const uint64_t frames[] = {0x401000, 0x402000, 0x403000};

struct context test_context(void)
{
	struct context c = {
		.ip = 0x500000,
		.areas = areas,
		.area_count = COUNT(areas),
		.event = {"\x01\x02\x03\x84"
			  "name\0..."
			  "\x10\x00\x04\x00"
			  "text",
			  20},
		.pid = 100,
		.tid = 101,
		.uid = 1,
		.gid = 2,
		.cpu = 3,
		.ncpus = 4,
		.rand = 0xfedcba98,
		.stack_pid = 5100,
		.nsecs = 1000000,
		.boot_ahead = 500,
		.tai_ahead = 7000000,
		.cgroup = 77,
		.comm = STR("worker"),
		.ustack = frames,
		.ustack_count = 3,
		.kstack = frames,
		.kstack_count = 2,
	};

	c.regs[1] = 0x1000;
	c.regs[2] = 2;
	c.regs[3] = 0xfffffffffffffff6;
	c.regs[4] = 0x1122334455667788;
	c.regs[13] = c.regs[14] = 99;
	c.regs[17] = 0x2010;
	return c;
}

void bench_open(struct bench *b, const char *text, const struct engine_options *options)
{
	const struct engine_options none = {0};

	*b = (struct bench){.t.arch = b->t.arch};
	program_read(&b->t, text);
	assert_int_equal(engine_interp.open(options ? options : &none, &b->e, &b->d), 0);
	if (engine_interp.build(b->e, &b->t.program, &b->d))
		fail_msg("%.*s\n%s", STR_FMT(b->d.first->text), text);
	assert_int_equal(engine_interp.attach(b->e, &b->d), 0);
	interp_set_start(b->e, 400000);
}

void bench_close(struct bench *b)
{
	engine_interp.close(b->e);
	diag_free(&b->d);
	buf_free(&b->out);
	program_unread(&b->t);
}

static void show_value(const struct value *v, struct buf *out);

static void show_elements(const struct value *v, struct buf *out)
{
	struct cursor c = cursor_of(v->bytes.ptr, v->bytes.len, false);
	struct value element;

	buf_char(out, '(');
	for (unsigned i = 0; i < v->type->element_count; i++) {
		buf_text(out, i ? "," : "");
		assert_int_equal(value_decode(&v->type->elements[i], &c, &element), 0);
		show_value(&element, out);
	}
	buf_char(out, ')');
}

/* Counts of a histogram as bucket:count. */
static void show_words(const struct value *v, struct buf *out)
{
	bool first = true;

	for (size_t i = 0; i < v->bytes.len / 8; i++) {
		uint64_t word;

		memcpy(&word, v->bytes.ptr + 8 * i, 8);
		if (word && v->bytes.len > 16)
			buf_printf(out, first ? "%zu:%llu" : " %zu:%llu", i,
				   (unsigned long long)word);
		else if (v->bytes.len <= 16)
			buf_printf(out, i ? ",%lld" : "%lld", (long long)word);
		first = first && !word;
	}
}

static void show_value(const struct value *v, struct buf *out)
{
	switch (v->type->kind) {
	case TYPE_INT:
	case TYPE_FLOAT:
	case TYPE_NAME: buf_s64(out, (int64_t)v->bits); break;
	case TYPE_STR:
	case TYPE_BUF:
		buf_escaped(out, v->bytes);
		buf_text(out, v->flags & TEXT_CUT ? "+" : "");
		buf_text(out, v->flags & TEXT_NULL ? "NULL" : "");
		buf_text(out, v->flags & TEXT_UNREADABLE ? "?" : "");
		break;
	case TYPE_USTACK:
	case TYPE_KSTACK:
	case TYPE_LSTACK:
		buf_printf(out, "%llu/", (unsigned long long)v->extra);
		show_words(v, out);
		break;
	case TYPE_TUPLE: show_elements(v, out); break;
	case TYPE_DISPLAY:
		buf_printf(out, "%llx@%llu", (unsigned long long)v->bits,
			   (unsigned long long)v->extra);
		break;
	default: show_words(v, out);
	}
}

static int show_record(void *arg, struct str bytes)
{
	struct bench *b = arg;
	struct record r;
	struct value v;

	assert_int_equal(record_open(&b->t.program, bytes, &r), 0);
	for (unsigned i = 0; i < r.format->field_count; i++) {
		assert_int_equal(record_field(&r, &r.format->fields[i], &v), 0);
		show_value(&v, &b->out);
		buf_char(&b->out, ' ');
	}
	if (!r.format->field_count)
		buf_printf(&b->out, "%s ", format_name(r.format->kind));
	assert_int_equal(cursor_left(&r.rest), 0);
	return 0;
}

static void show_bytes(const struct type *t, struct str bytes, struct buf *out)
{
	struct cursor c = cursor_of(bytes.ptr, bytes.len, false);
	struct value v;

	assert_int_equal(value_decode(t, &c, &v), 0);
	assert_int_equal(cursor_left(&c), 0);
	show_value(&v, out);
}

struct map_show {
	struct bench *b;
	const struct map_def *m;
};

static int show_entry(void *arg, struct str key, struct str value)
{
	struct map_show *s = arg;

	buf_str(&s->b->out, s->m->name);
	if (s->m->key.kind != TYPE_NONE) {
		buf_char(&s->b->out, '[');
		show_bytes(&s->m->key, key, &s->b->out);
		buf_char(&s->b->out, ']');
	}
	buf_char(&s->b->out, '=');
	show_bytes(&s->m->value, value, &s->b->out);
	buf_char(&s->b->out, ' ');
	return 0;
}

static int show_fault(void *arg, const struct run_fault *fault)
{
	static const char *const names[] = {"read", "full", "loop", "divide"};
	struct bench *b = arg;

	buf_printf(&b->out, "!%s@%u", names[fault->kind], fault->span);
	buf_printf(&b->out, fault->count == 1 ? " " : "x%llu ", (unsigned long long)fault->count);
	return 0;
}

const char *bench_show(struct bench *b)
{
	buf_clear(&b->out);
	buf_text(&b->out, "");
	assert_true(engine_interp.drain(b->e, 0, show_record, b) >= 0);
	for (uint32_t i = 0; i < b->t.program.map_count; i++) {
		struct map_show s = {b, &b->t.program.maps[i]};

		assert_int_equal(map_each(&b->e->maps, i, show_entry, &s), 0);
	}
	assert_int_equal(engine_interp.faults(b->e, show_fault, b), 0);
	return b->out.ptr ? b->out.ptr : "";
}

void run_row(const char *prologue, const char *code, const char *want, const struct arch *arch)
{
	struct context c = test_context();
	struct bench b = {.t.arch = arch};
	char text[4096];

	snprintf(text, sizeof(text), "%s%s\nreturn\n", prologue, code);
	bench_open(&b, text, NULL);
	assert_int_equal(interp_fire(b.e, 0, 0, &c), 1);
	bench_show(&b);
	if (strcmp(b.out.ptr ? b.out.ptr : "", want) != 0)
		fail_msg("'%s' instead of '%s' for\n%s", b.out.ptr, want, code);
	bench_close(&b);
}
