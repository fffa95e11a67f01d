#include "help/differential.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "engine/interp/interp.h"
#include "help/outcome.h"
#include "help/random_program.h"
#include "help/random_script.h"
#include "script/script.h"

#define RUNS 3 /* of the clause */

static void take_all(struct outcome *o, struct engine *e)
{
	struct run_stats stats;

	assert_true(engine_drain(e, 0, outcome_record, o) >= 0);
	outcome_maps(o, &e->maps);
	assert_int_equal(engine_faults(e, outcome_fault, o), 0);
	engine_stats(e, &stats);
	outcome_counts(o, &stats);
}

static void run_interp(struct engine *e, const struct program *p, struct diag *d)
{
	const struct str page = random_page();
	const struct area area = {(uintptr_t)page.ptr, page};
	char comm[16] = "";
	struct context c = {.areas = &area,
			    .area_count = 1,
			    .pid = (uint32_t)getpid(),
			    .tid = (uint32_t)gettid(),
			    .uid = (uint32_t)getuid(),
			    .gid = (uint32_t)getgid()};

	(void)d;
	prctl(PR_GET_NAME, comm);
	c.comm = str_from(comm);
	for (unsigned i = 0; i < RUNS; i++)
		for (uint32_t clause = 0; clause < p->clause_count; clause++)
			assert_int_equal(interp_fire(e, clause, 0, &c), 1);
}

static void run_other(struct engine *e, const struct program *p, struct diag *d)
{
	for (unsigned i = 0; i < RUNS; i++)
		for (uint32_t clause = 0; clause < p->clause_count; clause++)
			assert_int_equal(engine_run(e, ATTACH_BEGIN, 0, clause, d), 0);
}

/* Lines of text as comments of the test's output. */
static void print_comment(const char *title, struct str text)
{
	printf("# %s\n", title);
	while (text.len) {
		struct str line = str_cut(&text, '\n');

		printf("#   %.*s\n", STR_FMT(line));
	}
}

static void show_and_fail(const struct program *p, const struct diag *d, uint64_t seed,
			  const char *what)
{
	struct buf text = BUF_INIT;

	diag_render(d, &text);
	program_print(p, &text);
	print_comment(what, buf_as_str(&text));
	fail_msg("program %llu: %s", (unsigned long long)seed, what);
}

typedef void run_fn(struct engine *e, const struct program *p, struct diag *d);

/* False: the engine finds the program too complex, and says so. */
static bool run_engine(const struct engine_ops *ops, run_fn *run, struct outcome *o, uint64_t seed)
{
	const struct engine_options options = {.group_maps = seed % 2};
	struct diag d = DIAG_INIT;
	struct engine *e = NULL;
	int err = ops->open(&options, &e, &d) ?: engine_build(e, o->p, &d) ?: engine_attach(e, &d);
	bool complex = err && d.first && d.first->tag && !strcmp(d.first->tag, "too-complex");

	if (err && !complex)
		show_and_fail(o->p, &d, seed, ops->name);
	if (!err) {
		run(e, o->p, &d);
		take_all(o, e);
	}
	engine_close(e);
	diag_free(&d);
	return !err;
}

/* Do both engines agree on the program? False: it is too complex for the other. */
static bool compare_engines(const struct program *p, const struct engine_ops *other, uint64_t seed)
{
	struct outcome want = {.p = p}, got = {.p = p};
	bool taken = run_engine(other, run_other, &got, seed);
	struct diag d = DIAG_INIT;

	if (taken)
		run_engine(&engine_interp, run_interp, &want, seed);
	if (taken && !outcome_same(&want, "interpreter", &got, "other engine"))
		show_and_fail(p, &d, seed, "the engines differ");
	outcome_free(&want);
	outcome_free(&got);
	return taken;
}

static bool is_refused(const struct program *p, insn_fn *refused)
{
	for (uint32_t c = 0; refused && c < p->clause_count; c++)
		for (uint32_t i = 0; i < p->clauses[c].insn_count; i++)
			if (refused(p, &p->clauses[c].code[i]))
				return true;
	return false;
}

static bool compare(const struct engine_ops *other, insn_fn *refused, uint64_t seed)
{
	static struct random_program random;
	struct diag d = DIAG_INIT;

	random_program_make(&random, seed);
	if (is_refused(&random.program, refused))
		return true;
	if (program_check(&random.program, &d))
		show_and_fail(&random.program, &d, seed, "refused");
	return compare_engines(&random.program, other, seed);
}

/* ---- Scripts ---- */

enum verdict { AGREE, TOO_COMPLEX, NOT_ITS, VERDICTS };

/* With `clauses`, of that many seeds from this one on. */
static enum verdict compare_script(const struct engine_ops *other, insn_fn *refused, uint64_t seed,
				   unsigned clauses)
{
	const struct str page = random_page();
	char address[32], text[64];
	struct script_maker m = {
		.number = "7", .text = text, .address = address, .no_map_loops = refused};
	const struct script_options options = {.path = STR("random"), .max_strlen = 64};
	const struct script_source nothing = {.self = NULL};
	struct script *script = NULL;
	struct program *p = NULL;
	struct diag d = DIAG_INIT;
	enum verdict verdict = NOT_ITS;

	snprintf(address, sizeof(address), "%llu", (unsigned long long)(uintptr_t)page.ptr);
	snprintf(text, sizeof(text), "str(%llu, 40)", (unsigned long long)(uintptr_t)page.ptr + 14);
	if (clauses)
		make_script_of(&m, seed, "BEGIN", clauses);
	else
		make_script(&m, seed, "BEGIN");
	if (script_parse(buf_as_str(&m.out), &options, &script, &d) ||
	    script_resolve(script, &nothing, &d) || script_compile(script, &p, &d)) {
		struct buf messages = BUF_INIT;

		diag_render(&d, &messages);
		print_comment("script", buf_as_str(&m.out));
		print_comment("messages", buf_as_str(&messages));
		fail_msg("script %llu is refused", (unsigned long long)seed);
	}
	if (!is_refused(p, refused))
		verdict = compare_engines(p, other, seed) ? AGREE : TOO_COMPLEX;
	script_free(script);
	diag_free(&d);
	buf_free(&m.out);
	return verdict;
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

void differential_run(const struct engine_ops *other, uint64_t programs, insn_fn *refused)
{
	uint64_t first = setting("DIFFERENTIAL_SEED", 1);
	uint64_t count = setting("DIFFERENTIAL", programs), taken = 0;

	random_page_open();
	prctl(PR_SET_NAME, "engines");
	for (uint64_t seed = first; seed < first + count; seed++)
		taken += compare(other, refused, seed);
	random_page_close();
	assert_true(taken * 1000 >= count * 999);
}

/* Of 100 scripts, those that are not too complex. On aarch64's kernel 6.1, which has no long jumps,
 * eight of the first 40 have one over more than 16,000 instructions. */
#ifdef __aarch64__
#define SIMPLE_ENOUGH 75
#else
#define SIMPLE_ENOUGH 90
#endif

void differential_scripts(const struct engine_ops *other, uint64_t scripts)
{
	uint64_t first = setting("DIFFERENTIAL_SEED", 1);
	uint64_t count = setting("DIFFERENTIAL_SCRIPTS", scripts), taken = 0;

	random_page_open();
	prctl(PR_SET_NAME, "engines");
	for (uint64_t seed = first; seed < first + count; seed++)
		taken += compare_script(other, NULL, seed, 0) == AGREE;
	random_page_close();
	print_message("%llu of %llu scripts agree, the others are too complex\n",
		      (unsigned long long)taken, (unsigned long long)count);
	assert_true(taken * 100 >= count * SIMPLE_ENOUGH);
}

/* Time goes into the making and unmaking of kernel objects: a lot of clauses share them. */
void differential_clauses(const struct engine_ops *other, uint64_t clauses, insn_fn *refused)
{
	uint64_t first = setting("DIFFERENTIAL_SEED", 1), count[VERDICTS] = {0};
	uint64_t end = first + setting("DIFFERENTIAL_CLAUSES", clauses);
	unsigned batch = (unsigned)setting("DIFFERENTIAL_BATCH", 32);

	random_page_open();
	prctl(PR_SET_NAME, "engines");
	for (uint64_t seed = first; seed < end; seed += batch) {
		bool agree = compare_script(other, refused, seed, batch) == AGREE;

		count[AGREE] += agree ? batch : 0;
		for (unsigned i = 0; i < batch && !agree; i++) {
			enum verdict verdict = compare_script(other, refused, seed + i, 1);

			count[verdict]++;
			if (verdict == TOO_COMPLEX)
				print_message("clause %llu is too complex\n",
					      (unsigned long long)(seed + i));
		}
		if ((seed - first) / batch % 64 == 63)
			print_message("%llu clauses agree\n", (unsigned long long)count[AGREE]);
	}
	random_page_close();
	print_message("%llu clauses from %llu on agree, %llu are too complex, %llu left out\n",
		      (unsigned long long)count[AGREE], (unsigned long long)first,
		      (unsigned long long)count[TOO_COMPLEX], (unsigned long long)count[NOT_ITS]);
	assert_true(count[TOO_COMPLEX] * 1000 <= end - first);
	assert_true(count[AGREE] * 100 >= (end - first) * 90);
}
