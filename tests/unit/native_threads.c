/* Machine code at a site that many threads and signal handlers hit at once: every hit is counted
 * once, and each record was sent or counted as lost; a leaf function that keeps values below the
 * stack pointer, and flags across the probe, computes what it did before. HITS=N hits of each
 * thread. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/array.h"
#include "help/check.h"
#include "help/in_process.h"

#define THREADS 4

/* ---- the site, in a leaf function: 16 words below the stack pointer and a comparison are alive */

extern char leaf_site[], leaf_back[];
uint64_t leaf(uint64_t number);

#ifdef __x86_64__
/* clang-format off */
__asm__(
"	.text\n"
"	.p2align 4\n"
"	.globl leaf, leaf_site, leaf_back\n"
"	.hidden leaf, leaf_site, leaf_back\n"
"leaf:\n"
"	mov %rdi, -8(%rsp);    not %rdi;    mov %rdi, -16(%rsp)\n"
"	mov %rdi, -64(%rsp);   mov %rdi, -120(%rsp)\n"
"	not %rdi;              mov %rdi, -128(%rsp)\n"
"	movq %rdi, %xmm5\n"
"	cmp $1000, %rdi\n"
"leaf_site:\n"
"	.byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0\n"
"leaf_back:\n"
"	setae %al;             movzbl %al, %eax\n"
"	mov -8(%rsp), %rcx;    cmp %rcx, -128(%rsp);   jne 1f\n"
"	movq %xmm5, %rdx;       cmp %rcx, %rdx;         jne 1f\n"
"	not %rcx;              cmp %rcx, -16(%rsp);    jne 1f\n"
"	cmp %rcx, -64(%rsp);   jne 1f\n"
"	cmp %rcx, -120(%rsp);  jne 1f\n"
"	ret\n"
"1:	mov $99, %eax\n"
"	ret\n");
/* clang-format on */
#define FIRST 5 /* rdi */
#elif defined(__aarch64__)
/* No red zone there. */
__asm__("	.text\n"
	"	.p2align 4\n"
	"	.globl leaf, leaf_site, leaf_back\n"
	"	.hidden leaf, leaf_site, leaf_back\n"
	"leaf:\n"
	"	mov x17, x0;    mvn x16, x0;    fmov d5, x0\n"
	"	cmp x0, 1000\n"
	"leaf_site:\n"
	"	nop\n"
	"leaf_back:\n"
	"	cset w1, hs\n"
	"	cmp x17, x0;    b.ne 1f\n"
	"	mvn x16, x16;   cmp x16, x0;    b.ne 1f\n"
	"	fmov x2, d5;    cmp x2, x0;     b.ne 1f\n"
	"	mov w0, w1\n"
	"	ret\n"
	"1:	mov w0, 99\n"
	"	ret\n");
#define FIRST 0 /* x0 */
#else
#define FIRST 0
char leaf_site[1], leaf_back[1];

uint64_t leaf(uint64_t number)
{
	skip();
	return number;
}
#endif

/* ---- the clause: a count, a sum, a histogram, a count by number, and a record */

#define U64                                 \
	{                                   \
		.kind = TYPE_INT, .size = 8 \
	}

static const struct type words[] = {U64, U64, {.kind = TYPE_BUF, .size = 32}};
static const struct format format = {.kind = FORMAT_PRINTF, .fields = words, .field_count = 3};
static const struct map_def maps[] = {
	{STR("@n"),
	 {.kind = TYPE_NONE},
	 {.kind = TYPE_COUNT},
	 1,
	 false,
	 false,
	 false,
	 {0, 0},
	 false,
	 false},
	{STR("@s"),
	 {.kind = TYPE_NONE},
	 {.kind = TYPE_SUM},
	 1,
	 false,
	 false,
	 false,
	 {0, 0},
	 false,
	 false},
	{STR("@h"),
	 {.kind = TYPE_NONE},
	 {.kind = TYPE_HIST},
	 1,
	 false,
	 false,
	 false,
	 {0, 0},
	 false,
	 false},
	{STR("@k"), U64, {.kind = TYPE_COUNT}, 100, false, false, false, {0, 0}, false, false},
};
static const struct field sent[] = {{0, SLOT_NO}, {1, SLOT_NO}, {REG_NO, 1}};
static const char text[] = "a text of thirty-two bytes, and more";
static struct insn code[] = {
	{.op = OP_ARG, .d = 0, .imm = 0},
	{.op = OP_AGGREGATE, .map = 0, .s = SLOT_NO, .a = REG_NO},
	{.op = OP_CONST, .d = 1, .imm = 3},
	{.op = OP_AGGREGATE, .map = 1, .s = SLOT_NO, .a = 1},
	{.op = OP_AGGREGATE, .map = 2, .s = SLOT_NO, .a = 0},
	{.op = OP_CONST, .d = 2, .imm = 0}, /* the address of the text */
	{.op = OP_BUF, .s = 1, .a = 2, .b = 0},
	{.op = OP_EMIT, .imm = 0, .fields = sent, .field_count = 3},
	{.op = OP_UMOD, .d = 1, .a = 0, .b = 1},
	{.op = OP_PUT, .s = 0, .a = 1},
	{.op = OP_AGGREGATE, .map = 3, .s = 0, .a = REG_NO},
	{.op = OP_RETURN},
};
static const struct slot slots[] = {
	{U64}, {{.kind = TYPE_BUF, .size = 32}}, {{.kind = TYPE_BUF, .size = 400}}};
static const struct str name = STR("site");
static const struct span span;
static const struct argument first = {.operand = {.kind = OPERAND_REG, .size = 8, .reg = FIRST}};

static struct attach at;
static struct clause clause = {.code = code,
			       .insn_count = COUNT(code),
			       .reg_count = 3,
			       .slots = slots,
			       .slot_count = 2,
			       .attaches = &at,
			       .attach_count = 1};
static const struct program program = {.clauses = &clause,
				       .clause_count = 1,
				       .maps = maps,
				       .map_count = COUNT(maps),
				       .formats = &format,
				       .format_count = 1,
				       .names = &name,
				       .name_count = 1,
				       .spans = &span,
				       .span_count = 1};

/* ---- hits */

static unsigned long hits_each = 200000;
static unsigned long fired, wrong, in_handlers;

static void hit(uint64_t number)
{
	if (leaf(number) != (number >= 1000))
		__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&fired, 1, __ATOMIC_RELAXED);
}

static void handler(int signal)
{
	(void)signal;
	hit(5);
	__atomic_add_fetch(&in_handlers, 1, __ATOMIC_RELAXED);
}

static void *hit_often(void *arg)
{
	(void)arg;
	for (unsigned long i = 0; i < hits_each; i++)
		hit(i % 2000);
	return NULL;
}

struct sums {
	unsigned long records, bad;
	uint64_t total; /* of the words of a map */
};

static int take_record(void *arg, struct str bytes)
{
	struct sums *s = arg;
	uint64_t fields[3], len;

	memcpy(fields, bytes.ptr + 8, sizeof(fields));
	len = (uint32_t)fields[2];
	s->bad += fields[0] >= 2000 || fields[1] != 3 || len != (fields[0] < 32 ? fields[0] : 32) ||
		  bytes.len != 32 + ((len + 7) & ~UINT64_C(7)) ||
		  memcmp(bytes.ptr + 32, text, len) != 0;
	s->records++;
	return 0;
}

static int take_entry(void *arg, struct str key, struct str value)
{
	(void)key;
	for (size_t at_word = 0; at_word < value.len; at_word += 8) {
		uint64_t value_word;

		memcpy(&value_word, value.ptr + at_word, 8);
		((struct sums *)arg)->total += value_word;
	}
	return 0;
}

static uint64_t total_of(struct engine *e, uint32_t map)
{
	struct sums s = {0};

	assert_int_equal(map_each(&e->maps, map, take_entry, &s), 0);
	return s.total;
}

static void trace(struct in_process *p)
{
	const struct native_step step = {&program, &clause, &at};
	struct native_place place;

	p->code = in_process_near(leaf_site);
	place = in_process_place(p);
	place.site = (uintptr_t)leaf_site;
	place.back = (uintptr_t)leaf_back;
	in_process_generate(p, &place, &step, 1);
	native_cpu_patch(leaf_site, p->code);
}

/* ---- a handler that leaves the trampoline and never comes back to it */

#define JUMPS 3000

static sigjmp_buf out;
static volatile unsigned long jumps, begun, ended;

static void jump_out(int signal)
{
	(void)signal;
	jumps++;
	siglongjmp(out, 1);
}

/* The reader must not be left so. */
static void drain_undisturbed(struct engine *e, struct sums *sums)
{
	sigset_t alarm, old;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarm, &old);
	assert_true(engine_drain(e, 0, take_record, sums) >= 0);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

static void hit_until_jumped(struct engine *e, struct sums *sums)
{
	const struct itimerval often = {{0, 200}, {0, 200}}, never = {0};

	signal(SIGALRM, jump_out);
	sigsetjmp(out, 1);
	setitimer(ITIMER_REAL, &often, NULL);
	while (jumps < JUMPS) {
		begun++;
		leaf(begun % 2000);
		ended++;
		if (begun % 50 == 0)
			drain_undisturbed(e, sums);
	}
	setitimer(ITIMER_REAL, &never, NULL);
}

/* ---- the runs */

static struct engine *open_traced(bool plain)
{
	const struct engine_options options = {0};
	struct diag d = DIAG_INIT;
	struct engine *e;

	for (size_t i = 0; i < COUNT(code); i++)
		if (code[i].op == OP_CONST && code[i].d == 2)
			code[i].imm = (int64_t)(uintptr_t)text;
	at = (struct attach){.kind = ATTACH_UPROBE,
			     .path = STR("/x"),
			     .arch = arch_host(),
			     .args = &first,
			     .arg_count = 1};
	engine_in_process.open(&options, &e, &d);
	assert_int_equal(engine_build(e, &program, &d), 0);
	((struct in_process *)e)->page->ranges[0] = (struct memory_range){4096, UINT64_C(1) << 47};
	((struct in_process *)e)->page->range_count = 1;
	((struct in_process *)e)->no_rseq = plain;
	trace((struct in_process *)e);
	return e;
}

/* What is counted is whatever came to its end; of the others at most one for each jump. */
static void leave_often(uint32_t slot_count, bool plain)
{
	struct engine *e;
	struct sums sums = {0};
	struct run_stats stats;

	clause.slot_count = slot_count;
	e = open_traced(plain);
	clause.slot_count = 2;
	jumps = begun = ended = 0;
	hit_until_jumped(e, &sums);
	assert_true(engine_drain(e, 0, take_record, &sums) >= 0);
	engine_stats(e, &stats);
	assert_int_equal(sums.bad, 0);
	assert_in_range(total_of(e, 0), ended, begun);
	assert_in_range(total_of(e, 3), ended, begun);
	assert_in_range(sums.records + stats.lost_records, ended, begun);
	assert_in_range(begun - ended, 0, JUMPS);
	assert_int_equal(stats.lost_scratch, 0);
	engine_close(e);
}

static void leaving_a_trampoline_is_harmless(void **state)
{
	(void)state;
	leave_often(2, false);
}

/* With a third slot the frame is not on the stack. */
static void a_frame_that_was_left_is_used_again(void **state)
{
	(void)state;
	leave_often(3, false);
}

static void a_frame_that_was_left_is_used_again_without_rseq(void **state)
{
	(void)state;
	leave_often(3, true);
}

static void run(bool plain)
{
	const struct itimerval often = {{0, 300}, {0, 300}}, never = {0};
	struct engine *e = open_traced(plain);
	struct sums sums = {0};
	struct run_stats stats;
	pthread_t threads[THREADS];

	fired = wrong = in_handlers = 0;
	signal(SIGPROF, handler);
	setitimer(ITIMER_PROF, &often, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hit_often, NULL), 0);
	for (unsigned i = 0; i < THREADS; i++)
		while (pthread_tryjoin_np(threads[i], NULL) == EBUSY)
			assert_true(engine_drain(e, 0, take_record, &sums) >= 0);
	setitimer(ITIMER_PROF, &never, NULL);
	assert_true(engine_drain(e, 0, take_record, &sums) >= 0);
	engine_stats(e, &stats);
	print_message("%lu hits, %lu in handlers; %lu records, %llu lost\n", fired, in_handlers,
		      sums.records, (unsigned long long)stats.lost_records);
	assert_int_equal(((struct in_process *)e)->store->damaged, 0);
	assert_int_equal(wrong, 0);
	assert_int_equal(sums.bad, 0);
	assert_int_equal(sums.records + stats.lost_records, fired);
	assert_true(in_handlers > 0);
	assert_int_equal(total_of(e, 0), fired);
	assert_int_equal(total_of(e, 1), 3 * fired);
	assert_int_equal(total_of(e, 2), fired);
	assert_int_equal(total_of(e, 3), fired);
	engine_close(e);
}

static void hits_are_exact(void **state)
{
	(void)state;
	run(false);
}

static void hits_are_exact_without_rseq(void **state)
{
	(void)state;
	run(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hits_are_exact),
		cmocka_unit_test(hits_are_exact_without_rseq),
		cmocka_unit_test(leaving_a_trampoline_is_harmless),
		cmocka_unit_test(a_frame_that_was_left_is_used_again),
		cmocka_unit_test(a_frame_that_was_left_is_used_again_without_rseq),
	};

	if (getenv("HITS"))
		hits_each = strtoul(getenv("HITS"), NULL, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
