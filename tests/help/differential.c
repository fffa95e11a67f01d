#include "help/differential.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "engine/interp/interp.h"
#include "help/random_program.h"

#define RUNS 3 /* of the clause */

/* All that came out of a run, as text. */
struct outcome {
	const struct program *p;
	struct buf text;
	struct str entries[64];
	size_t count;
	struct arena arena;
};

static void add_hex(struct buf *out, struct str bytes)
{
	for (size_t i = 0; i < bytes.len; i++)
		buf_printf(out, i % 8 == 7 ? "%02x " : "%02x", (unsigned char)bytes.ptr[i]);
}

static int take_record(void *arg, struct str bytes)
{
	struct outcome *o = arg;

	buf_text(&o->text, "record ");
	add_hex(&o->text, bytes);
	buf_char(&o->text, '\n');
	return 0;
}

static int take_entry(void *arg, struct str key, struct str value)
{
	struct outcome *o = arg;
	struct buf line = BUF_INIT;

	add_hex(&line, key);
	buf_text(&line, "-> ");
	add_hex(&line, value);
	if (o->count < COUNT(o->entries))
		o->entries[o->count++] = arena_str(&o->arena, buf_as_str(&line));
	buf_free(&line);
	return 0;
}

static int take_fault(void *arg, const struct run_fault *fault)
{
	struct outcome *o = arg;

	if (o->count < COUNT(o->entries))
		o->entries[o->count++] =
			arena_printf(&o->arena, "place %04u kind %d: %llu", fault->span,
				     (int)fault->kind, (unsigned long long)fault->count);
	return 0;
}

static int compare_entries(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static void add_sorted(struct outcome *o, const char *what)
{
	qsort(o->entries, o->count, sizeof(*o->entries), compare_entries);
	for (size_t i = 0; i < o->count; i++)
		buf_printf(&o->text, "%s %.*s\n", what, STR_FMT(o->entries[i]));
	o->count = 0;
}

static void take_all(struct outcome *o, struct engine *e)
{
	struct run_stats stats;

	assert_true(engine_drain(e, 0, take_record, o) >= 0);
	for (uint32_t i = 0; i < o->p->map_count; i++) {
		assert_int_equal(map_each(&e->maps, i, take_entry, o), 0);
		add_sorted(o, o->p->maps[i].name.ptr);
	}
	assert_int_equal(engine_faults(e, take_fault, o), 0);
	add_sorted(o, "fault");
	engine_stats(e, &stats);
	buf_printf(&o->text, "lost %llu records, %llu updates, %llu loops cut\n",
		   (unsigned long long)stats.lost_records, (unsigned long long)stats.lost_updates,
		   (unsigned long long)stats.loop_limits);
}

static void run_interp(struct engine *e, struct diag *d)
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
		assert_int_equal(interp_fire(e, 0, 0, &c), 1);
}

static void run_other(struct engine *e, struct diag *d)
{
	for (unsigned i = 0; i < RUNS; i++)
		assert_int_equal(engine_run(e, ATTACH_BEGIN, 0, d), 0);
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

/* Only what differs, up to a few lines. */
static void show_difference(struct str interp, struct str bpf)
{
	for (unsigned shown = 0; shown < 8 && (interp.len || bpf.len);) {
		struct str a = str_cut(&interp, '\n'), b = str_cut(&bpf, '\n');

		if (str_eq(a, b))
			continue;
		print_comment("interpreter", a);
		print_comment("other engine", b);
		shown++;
	}
}

static void run_engine(const struct engine_ops *ops, void (*run)(struct engine *, struct diag *),
		       struct outcome *o, uint64_t seed)
{
	const struct engine_options options = {.group_maps = seed % 2};
	struct diag d = DIAG_INIT;
	struct engine *e = NULL;

	if (ops->open(&options, &e, &d) || engine_build(e, o->p, &d) || engine_attach(e, &d))
		show_and_fail(o->p, &d, seed, ops->name);
	run(e, &d);
	take_all(o, e);
	engine_close(e);
	diag_free(&d);
}

static void free_outcome(struct outcome *o)
{
	buf_free(&o->text);
	arena_free(&o->arena);
}

static bool is_refused(const struct maker *m, insn_fn *refused)
{
	for (uint32_t i = 0; refused && i < m->count; i++)
		if (refused(&m->code[i]))
			return true;
	return false;
}

static void compare(const struct engine_ops *other, insn_fn *refused, uint64_t seed)
{
	static struct random_program random;
	struct program *p = &random.program;
	struct outcome want = {.p = p}, got = {.p = p};
	struct diag d = DIAG_INIT;

	random_program_make(&random, seed);
	if (is_refused(&random.maker, refused))
		return;
	if (program_check(p, &d))
		show_and_fail(p, &d, seed, "refused");
	run_engine(&engine_interp, run_interp, &want, seed);
	run_engine(other, run_other, &got, seed);
	if (!str_eq(buf_as_str(&want.text), buf_as_str(&got.text))) {
		show_difference(buf_as_str(&want.text), buf_as_str(&got.text));
		show_and_fail(p, &d, seed, "the engines differ");
	}
	free_outcome(&want);
	free_outcome(&got);
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

void differential_run(const struct engine_ops *other, uint64_t programs, insn_fn *refused)
{
	uint64_t first = setting("DIFFERENTIAL_SEED", 1);
	uint64_t count = setting("DIFFERENTIAL", programs);

	random_page_open();
	prctl(PR_SET_NAME, "engines");
	for (uint64_t seed = first; seed < first + count; seed++)
		compare(other, refused, seed);
	random_page_close();
}
