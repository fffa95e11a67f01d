/* Arguments at returns: calls and returns in orders that a program could have, run by the
 * interpreter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/array.h"
#include "engine/interp/interp.h"
#include "help/fake_source.h"

#define STACK	   0x7000 /* where the stack is that has return addresses */
#define TRAMPOLINE 0x5000 /* of the kernel: where a page begins */
#define ELSEWHERE  0x5678

/* What happens, one letter and one digit each:
 *
 *	c n	main(n) is called at stack place `sp`, from elsewhere
 *	t n	... by the last call of a function there
 *	r	it returns
 *	> <	the stack pointer moves down or up
 *	|	another thread */
struct bench {
	struct script *script;
	struct program *program;
	struct engine *e;
	struct diag d;
	uint64_t words[4]; /* of the stack */
	char out[64];
	size_t len;
};

static int take_record(void *arg, struct str bytes)
{
	struct bench *b = arg;
	struct record record;
	struct value value;

	assert_int_equal(record_open(b->program, bytes, &record), 0);
	assert_int_equal(record_field(&record, &record.format->fields[0], &value), 0);
	b->len +=
		(size_t)snprintf(b->out + b->len, sizeof(b->out) - b->len, "%d ", (int)value.bits);
	return 0;
}

static int take_fault(void *arg, const struct run_fault *fault)
{
	struct bench *b = arg;

	assert_int_equal(fault->kind, FAULT_UNSEEN);
	b->len += (size_t)snprintf(b->out + b->len, sizeof(b->out) - b->len, "unseen %d ",
				   (int)fault->count);
	return 0;
}

static void open_bench(struct bench *b)
{
	const struct script_options options = {.path = STR("-e")};
	const struct engine_options none = {0};
	static struct fake fake;
	struct script_source source = fake_source(&fake);

	assert_int_equal(script_parse(STR("uretprobe:/bin/app:main { print(args.arg0) }"), &options,
				      &b->script, &b->d),
			 0);
	assert_int_equal(script_resolve(b->script, &source, &b->d), 0);
	assert_int_equal(script_compile(b->script, &b->program, &b->d), 0);
	assert_int_equal(b->program->clause_count, 2);
	assert_int_equal(engine_interp.open(&none, &b->e, &b->d), 0);
	assert_int_equal(engine_build(b->e, b->program, &b->d), 0);
	assert_int_equal(engine_attach(b->e, &b->d), 0);
}

static void close_bench(struct bench *b)
{
	engine_close(b->e);
	script_free(b->script);
	diag_free(&b->d);
}

/* Clause 0 is that of the entry. */
static void fire(struct bench *b, unsigned thread, unsigned sp, char what, unsigned n)
{
	const struct arch *arch = arch_host();
	const struct area area = {STACK, {(const char *)b->words, sizeof(b->words)}};
	uint64_t to = what == 't' ? TRAMPOLINE : ELSEWHERE, at = STACK + 8 * (uint64_t)sp;
	bool pushes = arch->call_stack == 8;
	struct context c = {.areas = &area, .area_count = 1, .pid = 10, .tid = 10 + thread};

	b->words[sp] = to;
	if (!pushes)
		c.regs[arch_find_reg(arch, STR("lr"))->id] = to;
	c.regs[arch->sp] = at + (what == 'r' && pushes ? 8 : 0);
	c.regs[arch->call_regs[0]] = n;
	assert_int_equal(interp_fire(b->e, what == 'r', 0, &c), 1);
}

static void plays(const char *events, const char *want)
{
	struct bench b = {0};
	unsigned sp = 3, thread = 0;

	open_bench(&b);
	for (; *events; events++) {
		if (*events == '>')
			sp--;
		else if (*events == '<')
			sp++;
		else if (*events == '|')
			thread = !thread;
		else if (*events == 'r')
			fire(&b, thread, sp, 'r', 0);
		else {
			fire(&b, thread, sp, events[0], (unsigned)events[1] - '0');
			events++;
		}
	}
	assert_true(engine_drain(b.e, 0, take_record, &b) >= 0);
	assert_int_equal(engine_faults(b.e, take_fault, &b), 0);
	assert_string_equal(b.out, want);
	close_bench(&b);
}

static void returns_have_their_own_arguments(void **state)
{
	static const struct {
		const char *events, *want;
	} rows[] = {
		{"c1r", "1 "},
		{"c1rc2r", "1 2 "},
		{"c1>c2>c3r<r<r", "3 2 1 "}, /* recursion */
		{"c1|c2|r|r", "1 2 "},	     /* threads */
		{"c1>c2<c3r", "3 "},	     /* longjmp to before the first */
		{"c1>c2<>c3r<r", "3 1 "},    /* ... and to the first */
		{"r", "unseen 1 "},	     /* it was called before */
		{"c1rr", "1 unseen 1 "},     /* ... in a chain */
		{"c1t2r", "2 "},	     /* ... the first is to return yet */
		{"c1t2rr", "2 1 "},	     /* they return the last one first */
		{"c1t2t3rrr", "3 2 1 "},
		{"c1t2rt3rr", "2 3 1 "},
		{"c1t2rrc4r", "2 1 4 "},
		{"c1t2t3c4r", "4 "}, /* longjmp out of a chain */
		{"c1t2rrr", "2 1 unseen 1 "},
		{"t1r", "1 "}, /* by another function */
		{"c1t2>c5t6rr<rr", "6 5 2 1 "},
		{"c1|r|r", "1 unseen 1 "},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		plays(rows[i].events, rows[i].want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(returns_have_their_own_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
