/* The rule of an address, as the kernel looks it up (engine/bpf/walk/user_find.c) and as the table
 * of the file has it. And one step of a walk, as the kernel runs it (engine/bpf/walk/user_step.c)
 * and as unit tests and fuzzing run it (unwind/step.c): both must end alike, and lead to the same
 * caller, by random rules from random registers through random memory. The kernel reads the memory
 * of this test: one page between two that cannot be read. WALK_SEED=N begins with other numbers. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "help/check.h"
#include "help/hook.h"
#include "help/rows.h"
#include "base/diag.h"
#include "engine/bpf/kernel/bpf_syscall.h"
#include "engine/bpf/kernel/make_map.h"
#include "engine/bpf/walk/user_code.h"
#include "engine/engine.h"

#define SLEEPABLE (1u << 4) /* BPF_F_SLEEPABLE */
#define PAGE	  4096u
#define WINDOW	  0x200000000000ull /* nothing else is near: far offsets lead nowhere */
#define DEPTH	  2
#define WALK_AT	  (HEAD_SIZE + 8 * DEPTH)
#define STEPS	  50000

/* A program that is loaded, and what it works with. */
struct loaded {
	bool has_lr, may_sleep;
	int program_fd, scratch_fd;
	uint8_t *scratch; /* a slot with one frame, then the words of the walk */
	size_t scratch_bytes;
};

/* One comparison. */
struct sample {
	struct unwind_rule rule;
	struct unwind_regs from;
};

struct result {
	enum unwind_end end;
	struct unwind_regs to; /* of UNWIND_GOES_ON */
};

/* ---- the step of the kernel */

typedef void emit_fn(struct user_code *w);

/* What `emit` emits ends as the result says, or goes on. */
static void emit_program(struct code *c, const struct loaded *s, emit_fn *emit,
			 const struct user_maps *maps)
{
	const struct walk_cpu cpu = {.link = s->has_lr ? "x30" : NULL};
	struct walks walks = {.code = c, .user = maps};
	struct user_code w = {.walks = &walks,
			      .cpu = &cpu,
			      .slot = in_scratch(0),
			      .at = WALK_AT,
			      .depth = DEPTH,
			      .may_sleep = s->may_sleep,
			      .again = code_label(c)};

	for (int i = 0; i < UNWIND_ENDS_COUNT_; i++)
		w.ends[i] = code_label(c);
	code_map_value(c, SCRATCH, s->scratch_fd, 0);
	emit(&w);
	code_bind(c, w.again);
	code_const(c, R0, UNWIND_GOES_ON);
	code_exit(c);
	for (int i = 0; i < UNWIND_ENDS_COUNT_; i++) {
		code_bind(c, w.ends[i]);
		code_const(c, R0, i);
		code_exit(c);
	}
}

static void *memory_make(size_t bytes, int *fd, size_t *mapped)
{
	struct diag d = DIAG_INIT;
	void *memory = NULL;

	assert_int_equal(map_make_memory("memory", bytes, fd, &memory, mapped, &d), 0);
	diag_free(&d);
	return memory;
}

/* `s` says which kind of program. */
static void program_load(struct loaded *s, emit_fn *emit, const struct user_maps *maps)
{
	struct code c;

	s->scratch = memory_make(WALK_AT + WALK_SIZE, &s->scratch_fd, &s->scratch_bytes);
	code_init(&c);
	emit_program(&c, s, emit, maps);
	s->program_fd =
		kernel_program_load_code(&c, (struct kernel_program){.type = BPF_PROG_TYPE_SYSCALL,
								     .name = "nopal_test",
								     .flags = SLEEPABLE});
	assert_true(s->program_fd >= 0);
}

static void emit_step(struct user_code *w)
{
	walk_load(w, TMP, WALK_PC);
	walk_load(w, R1, WALK_RULE);
	walk_step(w);
}

static void program_unload(struct loaded *s)
{
	close(s->program_fd);
	close(s->scratch_fd);
	munmap(s->scratch, s->scratch_bytes);
}

static void put_word(struct loaded *s, int what, uint64_t value)
{
	memcpy(s->scratch + WALK_AT + what, &value, sizeof(value));
}

static uint64_t word(const struct loaded *s, int what)
{
	uint64_t value;

	memcpy(&value, s->scratch + WALK_AT + what, sizeof(value));
	return value;
}

static struct result run_kernel(struct loaded *s, const struct sample *sample)
{
	const uint64_t slot[1 + DEPTH] = {1};
	uint64_t rule[2], frame;
	uint32_t end;

	memcpy(s->scratch, slot, sizeof(slot));
	memcpy(rule, &sample->rule, sizeof(rule));
	put_word(s, WALK_RULE, rule[0]);
	put_word(s, WALK_OFFSETS, rule[1]);
	put_word(s, WALK_PC, sample->from.pc);
	put_word(s, WALK_SP, sample->from.sp);
	put_word(s, WALK_FP, sample->from.fp);
	put_word(s, WALK_LINK, sample->from.lr);
	put_word(s, WALK_EXACT, 1);
	assert_int_equal(kernel_program_run(s->program_fd, &end), 0);
	memcpy(&frame, s->scratch + HEAD_SIZE, sizeof(frame));
	if (end == UNWIND_GOES_ON) /* what a signal handler returns to is not a call */
		assert_int_equal(frame, word(s, WALK_EXACT) ? UNWIND_FRAME_EXACT : 0);
	return (struct result){.end = end,
			       .to = {.pc = word(s, WALK_PC),
				      .sp = word(s, WALK_SP),
				      .fp = word(s, WALK_FP),
				      .lr = word(s, WALK_LINK),
				      .is_exact = word(s, WALK_EXACT),
				      .has_lr = s->has_lr}};
}

/* ---- the same in C */

static bool read_window(void *arg, uint64_t address, uint64_t *out)
{
	const char *window = arg;

	if (address < WINDOW || address > WINDOW + PAGE - sizeof(*out))
		return false;
	memcpy(out, window + (address - WINDOW), sizeof(*out));
	return true;
}

static struct result run_here(const struct sample *sample, char *window)
{
	struct result r = {.to = sample->from};

	r.end = unwind_step(&sample->rule, &r.to, read_window, window);
	return r;
}

/* ---- random samples */

static char *window_open(void)
{
	char *at = (char *)(uintptr_t)(WINDOW - PAGE);

	assert_ptr_equal(mmap(at, 3 * PAGE, PROT_NONE,
			      MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
			 at);
	assert_int_equal(mprotect(at + PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
	return at + PAGE;
}

static void window_close(char *window)
{
	munmap(window - PAGE, 3 * PAGE);
}

static uint64_t some_value(uint64_t *random)
{
	static const uint64_t edges[] = {
		0,	    1,		 8,	     15,	16,
		UINT64_MAX, -7ull,	 -16ull,     INT64_MAX, 1ull << 63,
		1ull << 47, -1ull << 47, 1ull << 48, 0x401000,	0x00ff00000040100bull,
	};
	uint64_t r = next_random(random), more = next_random(random);

	switch (r % 10) {
	case 0: return edges[more % COUNT(edges)];
	case 1: return WINDOW + more % PAGE;
	case 2: return WINDOW + more % 32 - 16;
	case 3: return WINDOW + PAGE + more % 32 - 24;
	default: return WINDOW + more % PAGE / 8 * 8;
	}
}

static int32_t some_offset(uint64_t *random)
{
	static const int32_t edges[] = {0, 8, -8, -16, 1, 11, INT32_MAX, INT32_MIN};
	uint64_t r = next_random(random), more = next_random(random);

	switch (r % 6) {
	case 0: return edges[more % COUNT(edges)];
	case 1: return (int32_t)(more % 16); /* of entries of a PLT */
	case 2: return (int32_t)(more % 256) - 128;
	default: return ((int32_t)(more % 64) - 16) * 8;
	}
}

/* Also with numbers that no kind has. */
static struct unwind_rule some_rule(uint64_t *random)
{
	uint64_t r = next_random(random);
	struct unwind_rule rule = {.cfa = r % (UNWIND_REFUSED + 2),
				   .fp = (r >> 8) % (UNWIND_BAD + 2),
				   .ra = (r >> 16) % (UNWIND_BAD + 2),
				   .more = (int8_t)(r >> 24),
				   .cfa_off = some_offset(random),
				   .fp_off = some_offset(random),
				   .ra_off = some_offset(random)};

	if (r >> 32 & 1) { /* side by side, as most functions have them */
		rule.fp = rule.ra = UNWIND_AT_CFA;
		rule.fp_off = -16;
		rule.ra_off = -8;
	}
	if ((r >> 33) % 4 == 0)
		rule.ra |= UNWIND_SIGNAL;
	return rule;
}

static struct sample some_sample(uint64_t *random, bool has_lr)
{
	bool knows_lr = has_lr && next_random(random) % 2;

	return (struct sample){some_rule(random),
			       {.pc = some_value(random),
				.sp = some_value(random),
				.fp = some_value(random),
				.lr = knows_lr ? some_value(random) : UNWIND_NO_LR,
				.has_lr = has_lr}};
}

static void change_memory(uint64_t *random, char *window)
{
	for (unsigned i = 0; i < 16; i++) {
		uint64_t value = some_value(random);

		memcpy(window + next_random(random) % (PAGE / 8) * 8, &value, sizeof(value));
	}
}

/* ---- comparisons */

static void show_result(const char *who, const struct result *r)
{
	print_message("  %s: end %d, pc 0x%llx sp 0x%llx fp 0x%llx lr 0x%llx%s\n", who, r->end,
		      (unsigned long long)r->to.pc, (unsigned long long)r->to.sp,
		      (unsigned long long)r->to.fp, (unsigned long long)r->to.lr,
		      r->to.is_exact ? " exact" : "");
}

static void show_sample(const struct sample *s)
{
	const struct unwind_rule *r = &s->rule;

	print_message("  rule: cfa %u%+d%+d, fp %u%+d, ra %u%+d\n", r->cfa, r->cfa_off, r->more,
		      r->fp, r->fp_off, r->ra, r->ra_off);
	show_result("from", &(struct result){.to = s->from});
}

static bool same(const struct result *a, const struct result *b)
{
	return a->end == b->end &&
	       (a->end != UNWIND_GOES_ON ||
		(a->to.pc == b->to.pc && a->to.sp == b->to.sp && a->to.fp == b->to.fp &&
		 a->to.lr == b->to.lr && a->to.is_exact == b->to.is_exact));
}

static void compare_steps(struct loaded *s, char *window, uint64_t seed)
{
	static const enum unwind_end all[] = {UNWIND_GOES_ON, UNWIND_ROOT,     UNWIND_NO_ROWS,
					      UNWIND_NO_ROOM, UNWIND_NOT_RULE, UNWIND_UNREADABLE};
	unsigned long seen[UNWIND_ENDS_COUNT_] = {0}, steps = times(STEPS, 100 * STEPS);
	uint64_t random = seed;

	for (unsigned long i = 0; i < steps; i++) {
		struct sample sample = some_sample(&random, s->has_lr);
		struct result kernel, here;

		change_memory(&random, window);
		if (s->may_sleep) /* the page is read first by what may wait for it */
			assert_int_equal(madvise(window, PAGE, MADV_DONTNEED), 0);
		kernel = run_kernel(s, &sample);
		here = run_here(&sample, window);
		if (!same(&kernel, &here)) {
			show_sample(&sample);
			show_result("kernel", &kernel);
			show_result("here", &here);
			fail_msg("WALK_SEED=%llu: step %lu differs", (unsigned long long)seed, i);
		}
		seen[here.end]++;
	}
	for (unsigned i = 0; i < COUNT(all); i++)
		assert_true(seen[all[i]] > steps / 200);
}

static void compare(bool has_lr, bool may_sleep)
{
	const char *seed_text = getenv("WALK_SEED");
	uint64_t seed = seed_text ? strtoull(seed_text, NULL, 0) : 1;
	struct loaded s = {.has_lr = has_lr, .may_sleep = may_sleep};
	char *window;

	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
#if defined __SANITIZE_ADDRESS__
	print_message("under the address sanitizer most addresses can be read\n");
	skip();
#endif
	print_message("WALK_SEED=%llu\n", (unsigned long long)seed);
	window = window_open();
	program_load(&s, emit_step, NULL);
	compare_steps(&s, window, seed);
	program_unload(&s);
	window_close(window);
}

static void steps_of_the_kernel_are_those_in_c(void **state)
{
	(void)state;
	compare(false, false);
}

static void steps_that_may_sleep_are_the_same(void **state)
{
	(void)state;
	compare(false, true);
}

static void steps_with_a_link_register_are_the_same(void **state)
{
	(void)state;
	compare(true, false);
	compare(true, true);
}

/* ---- rows */

/* The tables of one file in memory that the kernel reads, and a lookup that is loaded. */
struct lookup {
	struct user_maps maps;
	struct unwind_tables *tables;
	struct unwind_file file;
	struct loaded program;
};

static void take_process(void *arg, pid_t pid, struct unwind_run run)
{
	(void)arg;
	(void)pid;
	(void)run;
}

static void take_file(void *arg, struct unwind_file_key key, const struct unwind_file *file)
{
	(void)key;
	((struct lookup *)arg)->file = *file;
}

static void make_maps(struct lookup *l)
{
	struct user_maps *m = &l->maps;
	size_t words = unwind_tables_words(l->tables);
	struct unwind_publisher publisher = {l, take_process, take_file};

	user_maps_init(m);
	m->word_count = (uint32_t)words + WALK_WORDS_AFTER;
	m->mapping_count = 64;
	m->words = memory_make(m->word_count * sizeof(union unwind_word), &m->words_fd,
			       &m->word_bytes);
	m->rules = memory_make(UNWIND_RULES_MOST * sizeof(struct unwind_rule), &m->rules_fd,
			       &m->rule_bytes);
	m->mappings = memory_make(m->mapping_count * sizeof(struct unwind_mapping), &m->mappings_fd,
				  &m->mapping_bytes);
	assert_int_equal(unwind_tables_move(l->tables,
					    &(struct unwind_memory){m->words, m->rules, m->mappings,
								    words, m->mapping_count},
					    &publisher),
			 0);
}

/* The rule of the address in WALK_NEW. */
static void emit_lookup(struct user_code *w)
{
	walk_load(w, TMP2, WALK_NEW);
	walk_find_rule(w);
}

static void lookup_open(struct lookup *l, const struct unwind_source *source)
{
	assert_int_equal(unwind_tables_new(&l->tables), 0);
	assert_int_equal(unwind_tables_add(l->tables, 1, (struct unwind_file_key){1, 1}, source),
			 0);
	make_maps(l);
	program_load(&l->program, emit_lookup, &l->maps);
}

static void lookup_close(struct lookup *l)
{
	program_unload(&l->program);
	user_maps_close(&l->maps, &(struct engine_options){.unwind = l->tables});
	unwind_tables_free(l->tables);
}

static struct unwind_rule look_up(struct lookup *l, const struct unwind_table *t, uint64_t address)
{
	struct unwind_rule rule = {.cfa = UNWIND_NONE};
	uint32_t end;

	put_word(&l->program, MAPPING(base), t->base);
	memcpy(l->program.scratch + WALK_AT + MAPPING(first), &l->file.chunks, 8);
	put_word(&l->program, WALK_NEW, address);
	assert_int_equal(kernel_program_run(l->program.program_fd, &end), 0);
	assert_true(end == UNWIND_GOES_ON || end == UNWIND_NO_ROWS);
	if (end == UNWIND_GOES_ON)
		memcpy(&rule, l->program.scratch + WALK_AT + WALK_RULE, sizeof(rule));
	return rule;
}

static void compare_rule(struct lookup *l, const struct unwind_table *t,
			 const struct unwind_rules *rules, uint64_t address)
{
	struct unwind_rule kernel = look_up(l, t, address);
	const struct unwind_rule *here = &rules->items[unwind_rule_at(t, address)];

	if (!memcmp(&kernel, here, sizeof(kernel)))
		return;
	print_message("at 0x%llx:\n", (unsigned long long)address);
	show_sample(&(struct sample){.rule = kernel});
	show_sample(&(struct sample){.rule = *here});
	fail();
}

/* Also of addresses before the first chunk and after the last. */
static void compare_rows(const char *path)
{
	struct unwind_rules *rules = malloc(sizeof(*rules));
	uint64_t random = 1, count = times(20000, 2000000);
	struct unwind_table t = {0};
	struct lookup l = {0};
	struct image *image;

	assert_int_equal(image_open(path, &image, NULL), 0);
	assert_int_equal(unwind_rules_init(rules), 0);
	assert_int_equal(unwind_table_read(&(struct unwind_source){.image = image}, rules, &t), 0);
	lookup_open(&l, &(struct unwind_source){.image = image});
	assert_true(t.count > 100);
	assert_int_equal(l.file.chunks.count, t.chunk_count);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t bytes = (uint64_t)t.chunk_count * UNWIND_CHUNK;
		uint64_t row = row_address(&t, next_random(&random) % t.count);

		compare_rule(&l, &t, rules, row + next_random(&random) % 3 - 1);
		compare_rule(&l, &t, rules, t.base + next_random(&random) % (bytes + 64) - 32);
	}
	lookup_close(&l);
	unwind_table_free(&t);
	unwind_rules_free(rules);
	free(rules);
	image_close(image);
}

static void rows_that_the_kernel_finds_are_the_tables(void **state)
{
	(void)state;
	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	compare_rows("/proc/self/exe");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_of_the_kernel_are_those_in_c),
		cmocka_unit_test(steps_that_may_sleep_are_the_same),
		cmocka_unit_test(steps_with_a_link_register_are_the_same),
		cmocka_unit_test(rows_that_the_kernel_finds_are_the_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
