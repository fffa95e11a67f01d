/* The interpreter engine: each operation, maps, records, losses and faults. The rows hold for every
 * engine. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "program_text.h"

#include "engine/interp/interp.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* What all rows run against: a process with two areas that touch and one that does not. */
static const char low[] = "abcdefgh\0\xff\xff\xff\xff\xff\xff\xff";
static const char high[] = "tail\0....";
static const struct area areas[] = {
	{0x1000, {low, 16}},
	{0x1010, {high, 8}},
	{0x2000, {"no end", 6}},
};
static const uint64_t frames[] = {0x401000, 0x402000, 0x403000};

static struct context test_context(void)
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

/* An engine around a program, and what came out of it. */
struct bench {
	struct test_program t;
	struct diag d;
	struct engine *e;
	struct buf out; /* records and maps as text */
};

static void bench_open(struct bench *b, const char *text, const struct engine_options *options)
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

static void bench_close(struct bench *b)
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
		buf_printf(out, "%llu/", (unsigned long long)v->extra);
		show_words(v, out);
		break;
	case TYPE_TUPLE: show_elements(v, out); break;
	case TYPE_USYM:
	case TYPE_KSYM:
	case TYPE_TIME:
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

static int show_fault(void *arg, const struct engine_fault *fault)
{
	static const char *const names[] = {"read", "full", "loop"};
	struct bench *b = arg;

	buf_printf(&b->out, "!%s@%u", names[fault->kind], fault->place);
	buf_printf(&b->out, fault->count == 1 ? " " : "x%llu ", (unsigned long long)fault->count);
	return 0;
}

/* Everything that can be seen: records, maps, faults. */
static const char *bench_show(struct bench *b)
{
	buf_clear(&b->out);
	buf_text(&b->out, "");
	assert_true(engine_interp.drain(b->e, 0, show_record, b) >= 0);
	for (uint32_t i = 0; i < b->t.program.map_count; i++) {
		struct map_show s = {b, &b->t.program.maps[i]};

		assert_int_equal(engine_interp.map_each(b->e, i, show_entry, &s), 0);
	}
	assert_int_equal(engine_interp.faults(b->e, show_fault, b), 0);
	return b->out.ptr ? b->out.ptr : "";
}

static void run_row(const char *prologue, const char *code, const char *want,
		    const struct arch *arch)
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

/* Numbers: r0 and r1 are set, `op` makes r2. */
static const struct {
	uint64_t a, b;
	const char *op;
	int64_t want;
} number_rows[] = {
	{7, 9, "r2 = const -5", -5},
	{7, 9, "r2 = mov r1", 9},
	{INT64_MAX, 1, "r2 = add r0, r1", INT64_MIN},
	{0, 1, "r2 = sub r0, r1", -1},
	{1ull << 63, 2, "r2 = mul r0, r1", 0},
	{(uint64_t)-10, 3, "r2 = udiv r0, r1", 6148914691236517202},
	{(uint64_t)-10, 3, "r2 = sdiv r0, r1", -3},
	{10, 0, "r2 = udiv r0, r1", 0},
	{10, 0, "r2 = sdiv r0, r1", 0},
	{(uint64_t)INT64_MIN, (uint64_t)-1, "r2 = sdiv r0, r1", INT64_MIN},
	{(uint64_t)INT64_MIN, (uint64_t)-1, "r2 = smod r0, r1", 0},
	{(uint64_t)INT64_MIN, (uint64_t)-1, "r2 = udiv r0, r1", 0},
	{(uint64_t)-10, 3, "r2 = umod r0, r1", 0},
	{(uint64_t)-10, 3, "r2 = smod r0, r1", -1},
	{10, (uint64_t)-3, "r2 = smod r0, r1", 1},
	{10, 0, "r2 = umod r0, r1", 0},
	{10, 0, "r2 = smod r0, r1", 0},
	{12, 10, "r2 = and r0, r1", 8},
	{12, 10, "r2 = or r0, r1", 14},
	{12, 10, "r2 = xor r0, r1", 6},
	{1, 63, "r2 = shl r0, r1", INT64_MIN},
	{1, 64, "r2 = shl r0, r1", 1},
	{1, 65, "r2 = shl r0, r1", 2},
	{1, (uint64_t)-1, "r2 = shl r0, r1", INT64_MIN},
	{(uint64_t)-1, 63, "r2 = shr r0, r1", 1},
	{(uint64_t)-1, 64, "r2 = shr r0, r1", -1},
	{(uint64_t)INT64_MIN, 63, "r2 = sar r0, r1", -1},
	{(uint64_t)INT64_MIN, 64, "r2 = sar r0, r1", INT64_MIN},
	{(uint64_t)INT64_MIN, 0, "r2 = neg r0", INT64_MIN},
	{5, 0, "r2 = neg r0", -5},
	{5, 0, "r2 = not r0", -6},
	{5, 5, "r2 = eq r0, r1", 1},
	{5, 6, "r2 = eq r0, r1", 0},
	{5, 5, "r2 = ne r0, r1", 0},
	{(uint64_t)-1, 1, "r2 = ult r0, r1", 0},
	{(uint64_t)-1, 1, "r2 = slt r0, r1", 1},
	{1, 1, "r2 = ult r0, r1", 0},
	{1, 1, "r2 = ule r0, r1", 1},
	{1, 1, "r2 = slt r0, r1", 0},
	{1, 1, "r2 = sle r0, r1", 1},
	{1, (uint64_t)-1, "r2 = ule r0, r1", 1},
	{1, (uint64_t)-1, "r2 = sle r0, r1", 0},
	{0x1ff, 0, "r2 = zext r0, 1", 255},
	{0x1ff, 0, "r2 = sext r0, 1", -1},
	{0x18000, 0, "r2 = zext r0, 2", 0x8000},
	{0x18000, 0, "r2 = sext r0, 2", -0x8000},
	{0x1ffffffff, 0, "r2 = zext r0, 4", 0xffffffff},
	{0x17fffffff, 0, "r2 = sext r0, 4", 0x7fffffff},
	{0x3ff8000000000000, 0, "r2 = f2i r0, 8", 1},	      /* 1.5 */
	{0xbfefffffffffffff, 0, "r2 = f2i r0, 8", 0},	      /* -0.99... */
	{0x8000000000000000, 0, "r2 = f2i r0, 8", 0},	      /* -0.0 */
	{0x0000000000000001, 0, "r2 = f2i r0, 8", 0},	      /* the smallest */
	{0xc00c000000000000, 0, "r2 = f2i r0, 8", -3},	      /* -3.5 */
	{0x43e0000000000000, 0, "r2 = f2i r0, 8", INT64_MIN}, /* 2^63 */
	{0x43dfffffffffffff, 0, "r2 = f2i r0, 8", 0x7ffffffffffffc00},
	{0xc3e0000000000000, 0, "r2 = f2i r0, 8", INT64_MIN}, /* -2^63, exactly */
	{0xc3e0000000000001, 0, "r2 = f2i r0, 8", INT64_MIN},
	{0x7ff0000000000000, 0, "r2 = f2i r0, 8", INT64_MIN},	     /* inf */
	{0xfff0000000000000, 0, "r2 = f2i r0, 8", INT64_MIN},	     /* -inf */
	{0x7ff8000000000000, 0, "r2 = f2i r0, 8", INT64_MIN},	     /* nan */
	{0x4340000000000001, 0, "r2 = f2i r0, 8", 9007199254740994}, /* 2^53 + 2 */
	{0x3fc00000, 0, "r2 = f2i r0, 4", 1},			     /* 1.5f */
	{0xdeadbeef3fc00000, 0, "r2 = f2i r0, 4", 1},
	{0xc0600000, 0, "r2 = f2i r0, 4", -3},
	{0x5f000000, 0, "r2 = f2i r0, 4", INT64_MIN},
	{0x5effffff, 0, "r2 = f2i r0, 4", 0x7fffff8000000000},
	{0xdf000000, 0, "r2 = f2i r0, 4", INT64_MIN},
	{0x7f800000, 0, "r2 = f2i r0, 4", INT64_MIN},
	{0x7fc00000, 0, "r2 = f2i r0, 4", INT64_MIN},
	{0x00000001, 0, "r2 = f2i r0, 4", 0},
};

static void numbers(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(number_rows); i++) {
		char text[300], want[30];

		snprintf(text, sizeof(text), "r0 = const %lld\nr1 = const %lld\n%s\nemit 0(r2)",
			 (long long)number_rows[i].a, (long long)number_rows[i].b,
			 number_rows[i].op);
		snprintf(want, sizeof(want), "%lld ", (long long)number_rows[i].want);
		run_row("format 0 value \"\" (int64)\nclause 0: 3 registers\nbegin name 0 func 0\n",
			text, want, NULL);
	}
}

/* Code behind this head, and all that comes out. */
static const char head[] =
	"map m0 \"@\" none -> int64, 1 entries\n"
	"map m1 \"@k\" string[8] -> int64, 2 entries\n"
	"map m2 \"@s\" int64 -> string[8], 2 entries\n"
	"map m3 \"@t\" (int64,string[8]) -> count, 9 entries\n"
	"map m4 \"@n\" none -> count, 1 entries\n"
	"literal 0 \"lit\"\nliteral 1 \"\"\nliteral 2 \"12345678\"\n"
	"name 0 \"the place\"\nname 1 \"main\"\n"
	"format 0 value \"\" (int64)\n"
	"format 1 value \"\" (string[8])\n"
	"format 2 printf \"\" (int64, string[8], (int64,string[8]))\n"
	"format 3 value \"\" (ustack[2])\n"
	"format 4 value \"\" (kstack[4])\n"
	"format 5 value \"\" (usym)\n"
	"format 6 exit \"\" ()\n"
	"format 7 value \"\" (buffer[8])\n"
	"clause 0: 4 registers\n"
	"uprobe \"/x\" 0x10 name 0 func 1 args "
	"\"-4@%3\" \"4@%3\" \"1@%4>>8\" \"-1@$200\" \"8@$-3\" \"8@0(1)\" \"2@-2(1,2,0)\" "
	"\"-2@6(1,2,1)\" \"4@0(-)\" \"8f@%4\" \"4@4096(-)\" \"4f@%4\" \"4@-16(17)\" "
	"\"8@-5242880(16,1,0)\" \"-4f@%3\" \"4@%14\" \"4@4096(13)\" \"4@%13\" \"4@4098(14)\"\n"
	"s0 string[8]\ns1 string[8]\ns2 (int64,string[8])\ns3 int64\ns4 ustack[2]\n"
	"s5 kstack[4]\ns6 usym\ns7 buffer[8]\n";

static const struct {
	const char *code, *want;
} rows[] = {
	/* Arguments. */
	{"r0 = arg 0\nemit 0(r0)", "-10 "},
	{"r0 = arg 1\nemit 0(r0)", "4294967286 "},
	{"r0 = arg 2\nemit 0(r0)", "119 "},
	{"r0 = arg 3\nemit 0(r0)", "-56 "},
	{"r0 = arg 4\nemit 0(r0)", "-3 "},
	{"r0 = arg 5\nemit 0(r0)", "7523094288207667809 "}, /* abcdefgh */
	{"r0 = arg 6\nemit 0(r0)", "25185 "},		    /* ab */
	{"r0 = arg 7\nemit 0(r0)", "-1 "},
	{"r0 = arg 8\nemit 0(r0)", "0 !read@0 "},
	{"r0 = arg 9\nemit 0(r0)", "1234605616436508552 "},
	{"r0 = arg 10\nemit 0(r0)", "1684234849 "}, /* abcd */
	{"r0 = arg 11\nemit 0(r0)", "1432778632 "},
	{"r0 = arg 12\nemit 0(r0)", "1696624494 "},	     /* "no e" through the thread pointer */
	{"r0 = arg 13\nemit 0(r0)", "7523094288207667809 "}, /* pc-relative */
	{"r0 = arg 14\nemit 0(r0)", "4294967286 "},
	{"r0 = arg 15\nemit 0(r0)", "0 "},	    /* a register that is always 0 */
	{"r0 = arg 16\nemit 0(r0)", "1684234849 "}, /* a base that means none */
	{"r0 = arg 17\nemit 0(r0)", "99 "},
	{"r0 = arg 18\nemit 0(r0)", "1717920867 "}, /* cdef */
	{"r0 = reg 14\nemit 0(r0)", "0 "},
	{"r0 = reg 4\nemit 0(r0)", "1234605616436508552 "},
	/* Builtins. */
	{"r0 = builtin pid\nemit 0(r0)", "100 "},
	{"r0 = builtin tid\nemit 0(r0)", "101 "},
	{"r0 = builtin uid\nemit 0(r0)", "1 "},
	{"r0 = builtin gid\nemit 0(r0)", "2 "},
	{"r0 = builtin cpu\nemit 0(r0)", "3 "},
	{"r0 = builtin nsecs\nemit 0(r0)", "1000000 "},
	{"r0 = builtin elapsed\nemit 0(r0)", "600000 "},
	{"r0 = builtin cgroup\nemit 0(r0)", "77 "},
	{"r0 = builtin rand\nemit 0(r0)", "4275878552 "},
	{"r0 = builtin probe\nemit 0(r0)", "0 "},
	{"r0 = builtin func\nemit 0(r0)", "1 "},
	{"r0 = builtin ip\nemit 0(r0)", "5242880 "},
	{"r0 = builtin ncpus\nemit 0(r0)", "4 "},
	/* Memory. */
	{"r0 = const 0x1000\nr0 = load r0, u8\nemit 0(r0)", "97 "},
	{"r0 = const 0x1009\nr0 = load r0, i8\nemit 0(r0)", "-1 "},
	{"r0 = const 0x1009\nr0 = load r0, u16\nemit 0(r0)", "65535 "},
	{"r0 = const 0x1009\nr0 = load r0, i32\nemit 0(r0)", "-1 "},
	{"r0 = const 0x100e\nr0 = load r0, u32\nemit 0(r0)", "1635057663 "}, /* ff ff t a */
	{"r0 = const 0x1015\nr0 = load r0, u32\nemit 0(r0)", "0 !read@1 "},
	{"r0 = const -1\nr0 = load r0, u64\nemit 0(r0)", "0 !read@1 "},
	/* Text: whole, across areas, NULL, unreadable, cut by the slot, cut by the script. */
	{"r0 = const 0x1002\ns0 = str r0, -\nemit 1(s0)", "cdefgh "},
	{"r0 = const 0x1000\ns0 = str r0, -\nemit 1(s0)", "abcdefgh "},
	{"r0 = const 0x1010\ns0 = str r0, -\nemit 1(s0)", "tail "},
	{"r0 = const 0x100e\ns0 = str r0, -\nemit 1(s0)", "\\xff\\xfftail "},
	{"r0 = const 0x100b\ns0 = str r0, -\nemit 1(s0)", "\\xff\\xff\\xff\\xff\\xfftai+ "},
	{"r0 = const 0\ns0 = str r0, -\nemit 1(s0)", "NULL "},
	{"r0 = const 5\ns0 = str r0, -\nemit 1(s0)", "? !read@1 "},
	{"r0 = const 0x2000\ns0 = str r0, -\nemit 1(s0)", "? !read@1 "},
	{"r0 = const 0x2000\nr1 = const 4\ns0 = str r0, r1\nemit 1(s0)", "no e "},
	{"r0 = const 0x2000\nr1 = const 5\ns0 = str r0, r1\nemit 1(s0)", "no en "},
	{"r0 = const 0x2000\nr1 = const 6\ns0 = str r0, r1\nemit 1(s0)", "no end "},
	{"r0 = const 0x2000\nr1 = const 7\ns0 = str r0, r1\nemit 1(s0)", "? !read@2 "},
	{"r0 = const 5\nr1 = const 0\ns0 = str r0, r1\nemit 1(s0)", " "},
	{"r0 = const 0x100f\nr1 = const 5\ns0 = str r0, r1\nemit 1(s0)", "\\xfftail "},
	{"r0 = const 0x1000\nr1 = const 3\ns0 = str r0, r1\nemit 1(s0)", "abc "},
	{"r0 = const 0x1000\nr1 = const 0\ns0 = str r0, r1\nemit 1(s0)", " "},
	{"r0 = const 0x1000\nr1 = const -1\ns0 = str r0, r1\nemit 1(s0)", "abcdefgh "},
	{"r0 = const 0x1000\ns0 = str r0, -\nr0 = const 0x1010\ns0 = str r0, -\nemit 1(s0)",
	 "tail "},
	{"r0 = const 0x1001\nr1 = const 3\ns7 = buf r0, r1\nemit 7(s7)", "bcd "},
	{"r0 = const 0x1006\nr1 = const 5\ns7 = buf r0, r1\nemit 7(s7)", "gh\\x00\\xff\\xff "},
	{"r0 = const 0x1000\nr1 = const 9\ns7 = buf r0, r1\nemit 7(s7)", "abcdefgh+ "},
	{"r0 = const 0x2000\nr1 = const 7\ns7 = buf r0, r1\nemit 7(s7)", "? !read@2 "},
	{"r0 = const 0\nr1 = const 7\ns7 = buf r0, r1\nemit 7(s7)", "NULL "},
	{"r0 = const 0x5000\nr1 = const 0\ns7 = buf r0, r1\nemit 7(s7)", " "},
	{"s0 = text 0\nemit 1(s0)", "lit "},
	{"s0 = text 2\ns0 = text 1\nemit 1(s0)", " "},
	{"s0 = text 2\nemit 1(s0)", "12345678 "},
	{"s0 = comm\nemit 1(s0)", "worker "},
	{"s4 = ustack\nemit 3(s4)", "5100/4198400,4202496 "},
	{"s5 = kstack\nemit 4(s5)", "0/4198400,4202496 "},
	/* Comparing text. */
	{"s0 = text 0\ns1 = text 0\nr0 = strcmp s0, s1, -1\nemit 0(r0)", "0 "},
	{"s0 = text 0\ns1 = text 2\nr0 = strcmp s0, s1, -1\nemit 0(r0)", "1 "},
	{"s0 = text 0\ns1 = text 2\nr0 = strcmp s0, s1, 0\nemit 0(r0)", "0 "},
	{"s0 = text 0\ns1 = text 1\nr0 = strcmp s0, s1, 1\nemit 0(r0)", "1 "},
	{"r0 = const 0x1000\ns0 = str r0, -\nr1 = const 3\ns1 = str r0, r1\n"
	 "r0 = strcmp s0, s1, 3\nr1 = strcmp s0, s1, 4\nr2 = strcmp s0, s1, -1\n"
	 "emit 0(r0)\nemit 0(r1)\nemit 0(r2)",
	 "0 1 1 "},
	{"r0 = const 0x1000\nr1 = const 3\ns0 = str r0, r1\ns1 = str r0, r1\n"
	 "r0 = strcmp s0, s1, 100\nemit 0(r0)",
	 "0 "},
	/* Slots. */
	{"r0 = const 7\ns0 = text 0\ns2[0] = put r0\ns2[8] = copy s0\nemit 2(r0, s0, s2)",
	 "7 lit (7,lit) "},
	{"r0 = const 7\ns2 = zero\ns2[0] = put r0\nr1 = get s2[0]\ns1 = part s2[8]\nemit 0(r1)\n"
	 "emit 1(s1)",
	 "7  "},
	{"r0 = const 7\ns0 = text 0\ns2[0] = put r0\ns2[8] = copy s0\ns1 = part s2[8]\n"
	 "s3 = part s2[0]\nr1 = get s3[0]\nr2 = get s0[0]\nemit 1(s1)\nemit 0(r1)\nemit 0(r2)",
	 "lit 7 3 "},
	{"r0 = const 10\nr1 = const 11\ns6[0] = put r0\ns6[8] = put r1\nemit 5(s6)", "a@11 "},
	{"s0 = text 0\nr0 = const 1\ns2[0] = put r0\ns2[8] = copy s0\ns2[0] = copy s2\n"
	 "s2 = part s2[0]\nemit 2(r0, s0, s2)",
	 "1 lit (1,lit) "},
	/* Jumps and loops. */
	{"r0 = const 1\njump 3\nr0 = const 2\nemit 0(r0)", "1 "},
	{"r0 = const 1\njump_if r0, 3\nr0 = const 2\nemit 0(r0)", "1 "},
	{"r0 = const 1\njump_not r0, 3\nr0 = const 2\nemit 0(r0)", "2 "},
	{"r0 = const 1\nemit 0(r0)\nreturn\nemit 0(r0)", "1 "},
	{"r0 = const 1\nloop 3, 4\nr0 = add r0, r0\nnext 1\nemit 0(r0)", "8 !loop@3 "},
	{"r0 = const 1\nloop 1, 4\nr0 = add r0, r0\nnext 1\nemit 0(r0)", "2 !loop@3 "},
	{"r0 = const 0\nr1 = const 1\nr2 = const 5\nloop 10, 8\nr3 = eq r0, r2\njump_if r3, 8\n"
	 "r0 = add r0, r1\nnext 3\nemit 0(r0)",
	 "5 "},
	{"r0 = const 0\nr1 = const 1\nloop 3, 7\nloop 4, 6\nr0 = add r0, r1\nnext 3\nnext 2\n"
	 "emit 0(r0)",
	 "12 !loop@5x3 !loop@6 "},
	{"r0 = const 0\nr1 = const 1\nloop 3, 8\nloop 4, 7\nr0 = add r0, r1\njump 7\nnext 3\nnext "
	 "2\n"
	 "emit 0(r0)",
	 "3 !loop@7 "},
	{"r0 = const 0\nr1 = const 1\nloop 3, 8\nloop 4, 7\nr0 = add r0, r1\njump 8\nnext 3\nnext "
	 "2\n"
	 "emit 0(r0)",
	 "1 "},
	{"r0 = const 1\nr1 = const 0\nloop 3, 6\njump_if r0, 5\nr1 = add r1, r0\nnext 2\nemit "
	 "0(r1)",
	 "0 !loop@5 "},
	/* Maps. */
	{"r0 = map_get m0\nr1 = map_has m0\nemit 0(r0)\nemit 0(r1)", "0 0 "},
	{"r0 = const 5\nmap_set m0, r0\nr1 = map_get m0\nr2 = map_has m0\nemit 0(r1)\nemit 0(r2)",
	 "5 1 @=5 "},
	{"r0 = const 0\nmap_set m0, r0\nr2 = map_has m0\nemit 0(r2)", "1 @=0 "},
	{"r0 = const 5\nmap_set m0, r0\nmap_del m0\nr1 = map_has m0\nemit 0(r1)", "0 "},
	{"r0 = const 5\nr1 = map_add m0, r0\n- = map_add m0, r0\nr2 = map_add m0, r0\nemit 0(r1)\n"
	 "emit 0(r2)",
	 "0 10 @=15 "},
	{"r0 = const 5\ns0 = text 0\nmap_set m1[s0], r0\ns0 = text 1\nmap_set m1[s0], r0\n"
	 "s0 = text 2\nmap_set m1[s0], r0\nr1 = map_add m1[s0], r0\nr2 = map_has m1[s0]\n"
	 "emit 0(r1)\nemit 0(r2)",
	 "0 0 @k[lit]=5 @k[]=5 !full@6 !full@7 "},
	{"r0 = const 5\ns0 = text 0\nmap_set m1[s0], r0\ns0 = text 1\nmap_set m1[s0], r0\n"
	 "s0 = text 0\nmap_del m1[s0]\nmap_del m1[s0]\ns0 = text 2\nmap_set m1[s0], r0",
	 "@k[]=5 @k[12345678]=5 "},
	{"r0 = const 5\ns3[0] = put r0\ns0 = text 0\nmap_put m2[s3], s0\ns0 = text 2\n"
	 "s1 = map_copy m2[s3]\nemit 1(s1)\nmap_put m2[s3], s0",
	 "lit @s[5]=12345678 "},
	{"r0 = const 5\ns3[0] = put r0\ns0 = text 0\ns0 = map_copy m2[s3]\nemit 1(s0)", " "},
	{"r0 = const 1\ns2 = zero\naggregate m3[s2], -\ns0 = text 0\ns2[0] = put r0\ns2[8] = copy "
	 "s0\n"
	 "aggregate m3[s2], r0\naggregate m3[s2], r0\nr1 = map_get m3[s2]\nemit 0(r1)",
	 "2 @t[(0,)]=1 @t[(1,lit)]=2 "},
	/* A key with the same text is the same key, whatever the slot held before. */
	{"s0 = text 2\ns0 = text 0\nr0 = const 1\nmap_set m1[s0], r0\ns1 = text 0\n"
	 "- = map_add m1[s1], r0",
	 "@k[lit]=2 "},
	{"emit 6()", "exit "},
};

static void operations(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		run_row(head, rows[i].code, rows[i].want, NULL);
}

/* Aggregates: the value type, the numbers taken in, the value, what map_get gives. */
static const struct {
	const char *type;
	int64_t in[6];
	unsigned count;
	const char *want;
	bool readable;
} aggregate_rows[] = {
	{"count", {5, 6, 7}, 3, "3 @=3 ", true},
	{"sum(int64)", {5, -6}, 2, "-1 @=-1 ", true},
	{"sum(int64)", {INT64_MAX, 1}, 2, "-9223372036854775808 @=-9223372036854775808 ", true},
	{"min(int64)", {5, -6, 7}, 3, "-6 @=-6,1 ", true},
	{"min(uint64)", {5, -6, 7}, 3, "5 @=5,1 ", true},
	{"max(int64)", {5, -6}, 2, "5 @=5,1 ", true},
	{"max(int64)", {-5, -6}, 2, "-5 @=-5,1 ", true},
	{"max(uint64)", {5, -6}, 2, "-6 @=-6,1 ", true},
	{"avg(int64)", {5, -6, -4}, 3, "-1 @=3,-5 ", true},
	{"avg(uint64)", {5, 6}, 2, "5 @=2,11 ", true},
	{"stats(int64)", {5, 6}, 2, "@=2,11 ", false},
	{"hist(0)", {-1, 0, 1, 2, 3, 1024}, 6, "@=0:1 1:1 2:1 3:2 12:1 ", false},
	{"hist(0,unsigned)", {-1, 7}, 2, "@=4:1 65:1 ", false},
	{"hist(2)", {7, 8, 9, 10}, 4, "@=8:1 9:2 10:1 ", false},
	{"lhist(0,10,5)", {-1, 0, 4, 5, 10, 11}, 6, "@=0:1 1:2 2:1 3:2 ", false},
};

static void aggregates(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(aggregate_rows); i++) {
		struct buf prologue = BUF_INIT, code = BUF_INIT;

		buf_printf(&prologue,
			   "map m0 \"@\" none -> %s, 1 entries\nformat 0 value \"\" (int64)\n"
			   "clause 0: 1 registers\nbegin name 0 func 0\n",
			   aggregate_rows[i].type);
		for (unsigned n = 0; n < aggregate_rows[i].count; n++)
			buf_printf(&code, "r0 = const %lld\naggregate m0, r0\n",
				   (long long)aggregate_rows[i].in[n]);
		if (aggregate_rows[i].readable)
			buf_text(&code, "r0 = map_get m0\nemit 0(r0)");
		run_row(prologue.ptr, code.ptr, aggregate_rows[i].want, NULL);
		buf_free(&prologue);
		buf_free(&code);
	}
}

static const struct {
	const char *code, *want;
} event_rows[] = {
	{"r0 = field 0, u8\nemit 0(r0)", "1 "},
	{"r0 = field 3, i8\nemit 0(r0)", "-124 "},
	{"r0 = field 0, i32\nemit 0(r0)", "-2080177663 "},
	{"r0 = field 0, u32\nemit 0(r0)", "2214789633 "},
	{"r0 = field 17, u32\nemit 0(r0)", "0 !read@0 "},
	{"s0 = field_str 4, 8\nemit 1(s0)", "name "},
	{"s0 = field_str 4, 2\nemit 1(s0)", "na "},
	{"s0 = field_str 12, 0\nemit 1(s0)", "text "},
	{"s0 = field_str 16, 0\nemit 1(s0)", "? !read@0 "},
	{"s0 = field_str 19, 0\nemit 1(s0)", "? !read@0 "},
	{"s0 = field_str 16, 9\nemit 1(s0)", "? !read@0 "},
	{"s0 = field_str 0, 4\nemit 1(s0)", "\\x01\\x02\\x03\\x84 "},
	{"s1 = field_str 4, 8\nemit 2(s1)", "name "},
};

static void tracepoint_fields(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(event_rows); i++)
		run_row("format 0 value \"\" (int64)\nformat 1 value \"\" (string[8])\n"
			"format 2 value \"\" (string[16])\nclause 0: 1 registers\n"
			"tracepoint \"a:b\" name 0 func 0\ns0 string[8]\ns1 string[16]\n",
			event_rows[i].code, event_rows[i].want, NULL);
}

/* Addresses of a 32-bit program wrap at 32 bits. */
static void narrow_addresses(void **state)
{
	(void)state;
	run_row("format 0 value \"\" (int64)\nclause 0: 1 registers\n"
		"uprobe \"/x\" 0 name 0 func 0 args \"1@4106(3)\"\n",
		"r0 = arg 0\nemit 0(r0)", "97 ", &test_arch32);
}

static const char noisy[] = "map m0 \"@\" none -> count, 1 entries\n"
			    "format 0 value \"\" (int64)\n"
			    "format 1 exit \"\" ()\n"
			    "clause 0: 1 registers\n"
			    "uprobe \"/x\" 0x10 name 0 func 0\n"
			    "r0 = builtin pid\n"
			    "aggregate m0, -\n"
			    "emit 0(r0)\n"
			    "emit 1()\n"
			    "return\n";

static int stop(void *arg, struct str bytes)
{
	(void)arg;
	(void)bytes;
	return 7;
}

/* A ring of 64 bytes holds four records of 16; control records always arrive, in order. */
static void full_ring_counts_losses(void **state)
{
	const struct engine_options options = {.ring_bytes = 50};
	struct context c = test_context();
	struct engine_stats stats;
	struct bench b = {0};

	(void)state;
	bench_open(&b, noisy, &options);
	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(interp_fire(b.e, 0, 0, &c), 1);
	engine_interp.stats(b.e, &stats);
	assert_int_equal(stats.lost_records, 3);
	assert_int_equal(engine_interp.drain(b.e, 0, stop, NULL), 7);
	assert_string_equal(bench_show(&b), "exit 100 exit 100 exit 100 exit exit exit exit @=7 ");
	assert_int_equal(interp_fire(b.e, 0, 0, &c), 1);
	assert_string_equal(bench_show(&b), "100 exit @=8 ");
	engine_interp.stats(b.e, &stats);
	assert_int_equal(stats.lost_records, 3);
	assert_int_equal(stats.lost_updates, 0);
	bench_close(&b);
}

/* Only the traced process, only while attached, only places that are there. */
static void fires_only_what_is_attached(void **state)
{
	const struct engine_options options = {.pid = 100};
	struct context c = test_context();
	struct bench b = {0};

	(void)state;
	bench_open(&b, noisy, &options);
	assert_int_equal(interp_fire(b.e, 0, 0, &c), 1);
	c.pid = 99;
	assert_int_equal(interp_fire(b.e, 0, 0, &c), 0);
	c.pid = 100;
	assert_int_equal(interp_fire(b.e, 0, 1, &c), -EINVAL);
	assert_int_equal(interp_fire(b.e, 1, 0, &c), -EINVAL);
	engine_interp.detach(b.e);
	assert_int_equal(interp_fire(b.e, 0, 0, &c), 0);
	assert_string_equal(bench_show(&b), "100 exit @=1 ");
	bench_close(&b);
	engine_interp.close(NULL);
}

static void maps_are_cleared_and_zeroed(void **state)
{
	struct context c = test_context();
	struct bench b = {0};

	(void)state;
	bench_open(&b,
		   "map m0 \"@a\" int64 -> sum(int64), 5 entries\n"
		   "map m1 \"@b\" none -> min(int64), 1 entries\n"
		   "clause 0: 1 registers\nbegin name 0 func 0\ns0 int64\n"
		   "r0 = const 4\ns0[0] = put r0\naggregate m0[s0], r0\naggregate m1, r0\nreturn\n",
		   NULL);
	interp_fire(b.e, 0, 0, &c);
	assert_int_equal(engine_interp.map_zero(b.e, 0), 0);
	assert_int_equal(engine_interp.map_zero(b.e, 1), 0);
	assert_string_equal(bench_show(&b), "@a[4]=0 @b=0,0 ");
	interp_fire(b.e, 0, 0, &c);
	assert_string_equal(bench_show(&b), "@a[4]=4 @b=4,1 ");
	assert_int_equal(engine_interp.map_clear(b.e, 0), 0);
	assert_string_equal(bench_show(&b), "@b=4,1 ");
	interp_fire(b.e, 0, 0, &c);
	assert_string_equal(bench_show(&b), "@a[4]=4 @b=4,1 ");
	bench_close(&b);
}

/* BEGIN, END and intervals run by themselves, in this process. */
static void begin_and_end_run(void **state)
{
	struct bench b = {0};
	struct buf want = BUF_INIT;

	(void)state;
	bench_open(
		&b,
		"format 0 value \"\" (int64)\n"
		"clause 0: 1 registers\nbegin name 0 func 0\nr0 = const 1\nemit 0(r0)\nreturn\n"
		"clause 1: 1 registers\nend name 0 func 0\nr0 = const 2\nemit 0(r0)\nreturn\n"
		"clause 2: 1 registers\nbegin name 0 func 0\nr0 = builtin pid\nemit 0(r0)\nreturn\n"
		"clause 3: 1 registers\ninterval 5 name 0 func 0\nr0 = const 4\nemit "
		"0(r0)\nreturn\n",
		NULL);
	assert_int_equal(engine_interp.run(b.e, ATTACH_BEGIN, 0, &b.d), 0);
	assert_int_equal(engine_interp.run(b.e, ATTACH_BEGIN, 2, &b.d), 0);
	assert_int_equal(engine_interp.run(b.e, ATTACH_BEGIN, 9, &b.d), 0);
	buf_printf(&want, "1 %d ", (int)getpid());
	assert_string_equal(bench_show(&b), want.ptr);
	assert_int_equal(engine_interp.run(b.e, ATTACH_INTERVAL, 3, &b.d), 0);
	assert_int_equal(engine_interp.run(b.e, ATTACH_END, 0, &b.d), 0);
	assert_int_equal(engine_interp.run(b.e, ATTACH_END, 1, &b.d), 0);
	assert_string_equal(bench_show(&b), "4 2 ");
	buf_free(&want);
	bench_close(&b);
}

/* An extension's clauses count on behind those that are there, and share the maps. */
static void extension_shares_maps(void **state)
{
	struct test_program more = {0}, other = {0};
	struct context c = test_context();
	struct bench b = {0};

	(void)state;
	bench_open(&b, noisy, NULL);
	program_read(&more, "map m0 \"@\" none -> count, 1 entries\nclause 0: 0 registers\n"
			    "uprobe \"/y\" 1 name 0 func 0\naggregate m0, -\nreturn\n");
	program_read(&other, "map m0 \"@\" none -> int64, 1 entries\n");
	assert_int_equal(engine_interp.extend(b.e, &more.program, &b.d), 0);
	assert_int_equal(engine_interp.extend(b.e, &other.program, &b.d), -EINVAL);
	assert_int_equal(interp_fire(b.e, 0, 0, &c), 1);
	assert_int_equal(interp_fire(b.e, 1, 0, &c), 1);
	assert_string_equal(bench_show(&b), "100 exit @=2 ");
	bench_close(&b);
	program_unread(&more);
	program_unread(&other);
}

static void refuses_bad_programs(void **state)
{
	const struct engine_options options = {0};
	struct diag d = DIAG_INIT;
	struct test_program t = {0};
	struct engine *e;

	(void)state;
	program_read(&t, "clause 0: 1 registers\nbegin name 0 func 0\nr0 = mov r0\nreturn\n");
	assert_int_equal(engine_interp.open(&options, &e, &d), 0);
	assert_int_equal(engine_interp.build(e, &t.program, &d), -EINVAL);
	engine_interp.close(e);
	diag_free(&d);
	program_unread(&t);
}

/* Many keys, removed in another order than they came; number 5 stays. */
static void tables_hold_many_keys(void **state)
{
	struct context c = test_context();
	struct bench b = {0};

	(void)state;
	bench_open(&b,
		   "map m0 \"@\" int64 -> int64, 100000 entries\n"
		   "clause 0: 2 registers\nuprobe \"/x\" 0 name 0 func 0\ns0 int64\n"
		   "r0 = reg 1\ns0[0] = put r0\nmap_set m0[s0], r0\nreturn\n"
		   "clause 1: 2 registers\nuprobe \"/x\" 0 name 0 func 0\ns0 int64\n"
		   "r0 = reg 1\ns0[0] = put r0\nmap_del m0[s0]\nreturn\n",
		   NULL);
	for (uint64_t i = 0; i < 10000; i++) {
		c.regs[1] = i * 0x9e3779b97f4a7c15;
		assert_int_equal(interp_fire(b.e, 0, 0, &c), 1);
	}
	for (uint64_t i = 9999; i > 0; i--) {
		c.regs[1] = (i ^ (i > 8191 ? 0 : 5)) * 0x9e3779b97f4a7c15;
		assert_int_equal(interp_fire(b.e, 1, 0, &c), 1);
	}
	assert_string_equal(bench_show(&b), "@[1663341875487337577]=1663341875487337577 ");
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(operations),
		cmocka_unit_test(aggregates),
		cmocka_unit_test(tracepoint_fields),
		cmocka_unit_test(narrow_addresses),
		cmocka_unit_test(full_ring_counts_losses),
		cmocka_unit_test(fires_only_what_is_attached),
		cmocka_unit_test(maps_are_cleared_and_zeroed),
		cmocka_unit_test(begin_and_end_run),
		cmocka_unit_test(extension_shares_maps),
		cmocka_unit_test(refuses_bad_programs),
		cmocka_unit_test(tables_hold_many_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
