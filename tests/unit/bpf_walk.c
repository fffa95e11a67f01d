/* One step of a walk, as the kernel runs it (engine/bpf/walk/user_step.c) and as unit tests and
 * fuzzing run it (unwind/step.c): both must end alike, and lead to the same caller, by random rules
 * from random registers through random memory. The kernel reads the memory of this test: one page
 * between two that cannot be read. WALK_SEED=N begins with other numbers. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "help/check.h"
#include "help/hook.h"
#include "base/diag.h"
#include "engine/bpf/kernel/bpf_syscall.h"
#include "engine/bpf/kernel/make_map.h"
#include "engine/bpf/walk/user_code.h"

#define SLEEPABLE (1u << 4) /* BPF_F_SLEEPABLE */
#define PAGE	  4096u
#define WINDOW	  0x200000000000ull /* nothing else is near: far offsets lead nowhere */
#define DEPTH	  2
#define WALK_AT	  (HEAD_SIZE + 8 * DEPTH)
#define STEPS	  50000

/* A step that is loaded, and what it works with. */
struct step {
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

static void emit_step(struct code *c, const struct step *s)
{
	const struct walk_cpu cpu = {.link = s->has_lr ? "x30" : NULL};
	struct walks walks = {.code = c};
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
	walk_load(&w, TMP, WALK_PC);
	walk_load(&w, R1, WALK_RULE);
	walk_step(&w);
	code_bind(c, w.again);
	code_const(c, R0, UNWIND_GOES_ON);
	code_exit(c);
	for (int i = 0; i < UNWIND_ENDS_COUNT_; i++) {
		code_bind(c, w.ends[i]);
		code_const(c, R0, i);
		code_exit(c);
	}
}

static void step_load(struct step *s, bool has_lr, bool may_sleep)
{
	struct diag d = DIAG_INIT;
	void *memory = NULL;
	struct code c;

	*s = (struct step){.has_lr = has_lr, .may_sleep = may_sleep};
	assert_int_equal(map_make_memory("scratch", WALK_AT + WALK_SIZE, &s->scratch_fd, &memory,
					 &s->scratch_bytes, &d),
			 0);
	s->scratch = memory;
	code_init(&c);
	emit_step(&c, s);
	s->program_fd =
		kernel_program_load_code(&c, (struct kernel_program){.type = BPF_PROG_TYPE_SYSCALL,
								     .name = "nopal_step",
								     .flags = SLEEPABLE});
	assert_true(s->program_fd >= 0);
	diag_free(&d);
}

static void step_unload(struct step *s)
{
	close(s->program_fd);
	close(s->scratch_fd);
	munmap(s->scratch, s->scratch_bytes);
}

static void put_word(struct step *s, int what, uint64_t value)
{
	memcpy(s->scratch + WALK_AT + what, &value, sizeof(value));
}

static uint64_t word(const struct step *s, int what)
{
	uint64_t value;

	memcpy(&value, s->scratch + WALK_AT + what, sizeof(value));
	return value;
}

static struct result run_kernel(struct step *s, const struct sample *sample)
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

static void compare_steps(struct step *s, char *window, uint64_t seed)
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
	struct step s;
	char *window;

	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	print_message("WALK_SEED=%llu\n", (unsigned long long)seed);
	window = window_open();
	step_load(&s, has_lr, may_sleep);
	compare_steps(&s, window, seed);
	step_unload(&s);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_of_the_kernel_are_those_in_c),
		cmocka_unit_test(steps_that_may_sleep_are_the_same),
		cmocka_unit_test(steps_with_a_link_register_are_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
