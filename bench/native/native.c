/* Measures what an event costs at a site that jumps to machine code of ours, in this process: a
 * nop of 10 bytes is made a jump, a loop hits it, and the reader empties the ring between rounds.
 *
 *   native [NAME]	nanoseconds for each event, without those of the loop; medians of rounds in
 *			which nothing was lost; NAME measures one row, NATIVE_CODE=FILE keeps its
 *			code
 *
 * Times are those of the thread, so other programs on the machine disturb less. bench/native/run
 * compiles it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "help/check.h"
#include "help/in_process.h"

#define ROUNDS 101
#define EVENTS 10000

/* ---- the site: its arguments are a number and a text */

extern char bench_site[], bench_back[];

static __attribute__((noinline)) void hit(long number, const char *text)
{
	__asm__ volatile(".globl bench_site\n.hidden bench_site\n.globl bench_back\n"
			 ".hidden bench_back\n.p2align 4\nbench_site:\n"
			 ".byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0\nbench_back:"
			 :
			 : "D"(number), "S"(text));
}

/* ---- the programs */

/* clang-format off */
#define U64 {.kind = TYPE_INT, .size = 8}
#define STR64 {.kind = TYPE_STR, .size = 64}

static const struct type fields[] = {U64, U64, STR64};
static const struct format formats[] = {
	{.kind = FORMAT_PRINTF, .fields = fields, .field_count = 1},
	{.kind = FORMAT_PRINTF, .fields = fields, .field_count = 2},
	{.kind = FORMAT_PRINTF, .fields = fields + 1, .field_count = 2},
};
static const struct map_def maps[] = {
	{STR("@count"), {.kind = TYPE_NONE}, {.kind = TYPE_COUNT}, 1, false},
	{STR("@hist"), {.kind = TYPE_NONE}, {.kind = TYPE_HIST}, 1, false},
	{STR("@int"), U64, {.kind = TYPE_COUNT}, 4096, false},
	{STR("@text"), STR64, {.kind = TYPE_COUNT}, 4096, false},
	{STR("@start"), U64, U64, 4096, true},
	{STR("@lat"), {.kind = TYPE_NONE}, {.kind = TYPE_HIST}, 1, false},
};
static const struct slot slots[] = {{U64}, {STR64}};
static const struct span spans[1];
static const struct str names[] = {STR("site")};

enum { S_INT, S_TEXT };

static const struct field int_field[] = {{0, SLOT_NO}};
static const struct field time_fields[] = {{0, SLOT_NO}, {1, SLOT_NO}};
static const struct field text_fields[] = {{0, SLOT_NO}, {REG_NO, S_TEXT}};

#define ARG(to, n)	 {.op = OP_ARG, .d = (to), .imm = (n)}
#define SET(to, n)	 {.op = OP_CONST, .d = (to), .imm = (n)}
#define TIME(to)	 {.op = OP_BUILTIN, .d = (to), .imm = BUILTIN_NSECS}
#define TID(to)		 {.op = OP_BUILTIN, .d = (to), .imm = BUILTIN_TID}
#define KEY(from)	 {.op = OP_PUT, .s = S_INT, .a = (from)}
#define TEXT(from)	 {.op = OP_STR, .s = S_TEXT, .a = (from), .b = REG_NO}
#define COUNT_IN(m, key) {.op = OP_AGGREGATE, .map = (m), .s = (key), .a = REG_NO}
#define TAKE(m, from)	 {.op = OP_AGGREGATE, .map = (m), .s = SLOT_NO, .a = (from)}
#define SEND(f, list)	 {.op = OP_EMIT, .imm = (f), .fields = (list), .field_count = COUNT(list)}
#define END_		 {.op = OP_RETURN}

#define ROW(name, ...) static const struct insn name[] = {__VA_ARGS__, END_};
ROW(nothing, SET(0, 0))
ROW(count, COUNT_IN(0, SLOT_NO))
ROW(reject, ARG(0, 0), SET(1, -5), {.op = OP_EQ, .d = 0, .a = 0, .b = 1},
    {.op = OP_JUMP_NOT, .a = 0, .imm = 5}, COUNT_IN(0, SLOT_NO))
ROW(hist, ARG(0, 0), TAKE(1, 0))
ROW(record_int, ARG(0, 0), SEND(0, int_field))
ROW(record_time, ARG(0, 0), TIME(1), SEND(1, time_fields))
ROW(record_text, ARG(0, 0), ARG(1, 1), TEXT(1), SEND(2, text_fields))
ROW(by_int, ARG(0, 0), KEY(0), COUNT_IN(2, S_INT))
ROW(by_text, ARG(1, 1), TEXT(1), COUNT_IN(3, S_TEXT))
ROW(pair_start, TIME(0), TID(1), KEY(1), {.op = OP_MAP_SET, .map = 4, .s = S_INT, .a = 0})
ROW(pair_done, TID(1), KEY(1), {.op = OP_MAP_GET, .d = 0, .map = 4, .s = S_INT}, TIME(2),
    {.op = OP_SUB, .d = 2, .a = 2, .b = 0}, TAKE(5, 2), {.op = OP_MAP_DEL, .map = 4, .s = S_INT})

static const struct {
	const char *name;
	const struct insn *code;
	unsigned count;
} rows[] = {
#define NAMED(name) {#name, name, COUNT(name)}
	NAMED(nothing),	    NAMED(count),	NAMED(reject), NAMED(hist),    NAMED(record_int),
	NAMED(record_time), NAMED(record_text), NAMED(by_int), NAMED(by_text), NAMED(pair_start),
	NAMED(pair_done),
};
/* clang-format on */

/* ---- measuring */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static double round_ns(void)
{
	double start = now();

	for (long i = 0; i < EVENTS; i++)
		hit(i & 1023, "a short text of 22 by");
	return (now() - start) / EVENTS;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static int ignore(void *arg, struct str bytes)
{
	(void)bytes;
	++*(unsigned long *)arg;
	return 0;
}

static void measure(struct in_process *p, struct clause *clause, const struct program *program,
		    unsigned row, double loop)
{
	const struct native_step step = {program, clause, clause->attaches};
	struct native_place place = in_process_place(p);
	double times[ROUNDS];
	unsigned long records = 0;
	struct run_stats stats;

	place.site = (uintptr_t)bench_site;
	place.back = (uintptr_t)bench_back;
	place.landing = (uintptr_t)p->code;
	clause->code = rows[row].code;
	clause->insn_count = rows[row].count;
	in_process_generate(p, &place, &step, 1);
	native_cpu_patch(bench_site, p->code);
	for (unsigned i = 0; i < ROUNDS; i++) {
		times[i] = round_ns() - loop;
		engine_drain(&p->engine, 0, ignore, &records);
	}
	engine_stats(&p->engine, &stats);
	qsort(times, ROUNDS, sizeof(*times), by_value);
	printf("%-12s %6.1f ns  (best %.1f)  %lu records, %llu lost\n", rows[row].name,
	       times[ROUNDS / 2], times[0], records, (unsigned long long)stats.lost_records);
}

/* The texts are read where they are. */
static void allow_all(struct process_page *page)
{
	page->ranges[0] = (struct memory_range){4096, UINT64_C(1) << 47};
	page->range_count = 1;
}

int main(int argc, char **argv)
{
	const struct argument args[2] = {
		{.operand = {.kind = OPERAND_REG, .size = 8, .is_signed = true, .reg = 5}},
		{.operand = {.kind = OPERAND_REG, .size = 8, .reg = 4}},
	};
	const struct attach at = {.kind = ATTACH_UPROBE,
				  .path = STR("/x"),
				  .arch = arch_host(),
				  .args = args,
				  .arg_count = 2};
	struct clause clause = {.code = rows[0].code,
				.insn_count = rows[0].count,
				.reg_count = 3,
				.slots = slots,
				.slot_count = COUNT(slots),
				.attaches = &at,
				.attach_count = 1};
	struct program program = {.clauses = &clause,
				  .clause_count = 1,
				  .maps = maps,
				  .map_count = COUNT(maps),
				  .formats = formats,
				  .format_count = COUNT(formats),
				  .names = names,
				  .name_count = 1,
				  .spans = spans,
				  .span_count = 1};
	const struct engine_options options = {0};
	struct diag d = DIAG_INIT;
	struct engine *e;
	double loop;

	for (unsigned i = 0; i < 50; i++)
		loop = round_ns();
	engine_in_process.open(&options, &e, &d);
	if (engine_build(e, &program, &d))
		return 1;
	((struct in_process *)e)->code = in_process_near(bench_site);
	allow_all(((struct in_process *)e)->page);
	printf("the loop takes %.1f ns\n", loop);
	for (unsigned i = 0; i < COUNT(rows); i++)
		if (argc < 2 || strcmp(argv[1], rows[i].name) == 0)
			measure((struct in_process *)e, &clause, &program, i, loop);
	return 0;
}
