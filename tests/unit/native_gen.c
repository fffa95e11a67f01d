/* Trampolines: operands of every form, what they leave as it was, and what is in their code. That
 * programs do what they should is shown by native_cases.c and native_differential.c. */
#include <errno.h>

#include "help/case_suite.h"
#include "help/in_process.h"
#include "help/objdump.h"
#include "help/random_program.h"

#include "user/inside/blob.h"

#define SITE 0x400000
/* Register ids (arch/CPU.c): general ones are below this, the first vector register; and those that
 * a test knows how to set. */
#if defined(__aarch64__)
#define GENERAL_IDS    31
#define VECTOR_ID      64
#define VECTOR_IDS     32
#define HOST	       "aarch64"
#define LEAST_OPERANDS 20
#else
#define GENERAL_IDS    16
#define VECTOR_ID      32
#define VECTOR_IDS     16
#define HOST	       "x86_64"
#define LEAST_OPERANDS 70
#endif

/* ---- one clause at one site: emit(arg 0) */

static const struct type word = {.kind = TYPE_INT, .size = 8};
static const struct format word_format = {.kind = FORMAT_VALUE, .fields = &word, .field_count = 1};
static const struct field word_field = {0, SLOT_NO};
static const struct insn send_arg[] = {
	{.op = OP_ARG, .d = 0, .imm = 0},
	{.op = OP_EMIT, .imm = 0, .fields = &word_field, .field_count = 1},
	{.op = OP_RETURN},
};
static const struct str no_name = STR("site");
static const struct span no_span;

struct one_site {
	struct argument arg;
	struct attach attach;
	struct clause clause;
	struct program program;
};

static void one_site(struct one_site *s, const struct operand *o, const struct insn *code,
		     uint32_t count)
{
	s->arg = (struct argument){.operand = *o};
	s->attach = (struct attach){.kind = ATTACH_UPROBE,
				    .path = STR("/x"),
				    .arch = arch_host(),
				    .args = &s->arg,
				    .arg_count = 1};
	s->clause = (struct clause){.code = code,
				    .insn_count = count,
				    .reg_count = 1,
				    .attaches = &s->attach,
				    .attach_count = 1};
	s->program = (struct program){.clauses = &s->clause,
				      .clause_count = 1,
				      .formats = &word_format,
				      .format_count = 1,
				      .names = &no_name,
				      .name_count = 1,
				      .spans = &no_span,
				      .span_count = 1};
}

/* What came out: the number in the record, and how much could not be read. */
struct outcome {
	uint64_t value;
	unsigned records, faults;
};

static int take_record(void *arg, struct str bytes)
{
	struct outcome *o = arg;

	assert_int_equal(bytes.len, 16);
	memcpy(&o->value, bytes.ptr + 8, 8);
	o->records++;
	return 0;
}

static int take_fault(void *arg, const struct run_fault *fault)
{
	((struct outcome *)arg)->faults += (unsigned)fault->count;
	return 0;
}

typedef int fire_fn(struct engine *e, uint32_t clause, uint32_t attach, const struct context *c);

/* Without rseq and the thread's id, code takes other ways. */
static struct outcome run_site(const struct engine_ops *ops, fire_fn *fire, bool plain,
			       const struct one_site *s, struct context *c)
{
	const struct engine_options options = {0};
	struct outcome out = {0};
	struct diag d = DIAG_INIT;
	struct engine *e;

	assert_int_equal(ops->open(&options, &e, &d), 0);
	if (engine_build(e, &s->program, &d) || engine_attach(e, &d))
		fail_msg("%.*s", STR_FMT(d.first->text));
	if (ops == &engine_in_process) {
		struct in_process *p = (struct in_process *)e;

		p->no_rseq = p->no_tid = plain;
		p->page->ranges[0] = (struct memory_range){4096, 8192}; /* no memory of ours */
		p->page->range_count = 1;
	}
	assert_int_equal(fire(e, 0, 0, c), 1);
	assert_true(engine_drain(e, 0, take_record, &out) >= 0);
	assert_int_equal(engine_faults(e, take_fault, &out), 0);
	engine_close(e);
	diag_free(&d);
	return out;
}

/* ---- operands of the notes of all compilers: tests/cases/operands.txt */

static char memory[4096];
static _Thread_local char local[64];

static void fill_memory(void)
{
	for (size_t i = 0; i < sizeof(memory); i++)
		memory[i] = (char)(i * 7 + 129);
	for (size_t i = 0; i < sizeof(local); i++)
		local[i] = (char)(i * 11 + 130);
}

/* The number that the symbol of an operand stands for here. */
static uint64_t symbol_number(const struct operand *o)
{
	uint64_t middle = (uintptr_t)memory + 2048;

	switch (o->symbol_rule) {
	case SYMBOL_PC: return middle - SITE;
	case SYMBOL_TLS: return (uintptr_t)local - (uintptr_t)__builtin_thread_pointer();
	default: return middle;
	}
}

/* Registers such that memory operands mean memory of ours, if that is possible. */
static void fill_context(struct context *c, const struct operand *o)
{
	const struct arch *arch = arch_host();
	bool is_far = o->value > 1024 || o->value < -1024;

	for (unsigned id = 0; id < GENERAL_IDS; id++)
		c->regs[id] = UINT64_C(0x8182838485868788) + id * UINT64_C(0x0101010101010101);
	c->regs[arch->pc] = c->ip = SITE;
	c->regs[arch->tls] = (uintptr_t)__builtin_thread_pointer();
	for (unsigned n = 0; n < 32; n++)
		c->regs[VECTOR_ID + n] = (n + 1) * UINT64_C(0x9192939495969798);
	if (o->kind != OPERAND_MEM && o->kind != OPERAND_ADDRESS)
		return;
	if (o->base < GENERAL_IDS) /* the low bits of a symbol are added to its page */
		c->regs[o->base] = (uintptr_t)memory + 2048 -
				   (o->value > 0 && o->value < 4096 ? (uint64_t)o->value : 0);
	if (o->index < GENERAL_IDS)
		c->regs[o->index] = o->base == REG_NONE && !is_far
					    ? ((uintptr_t)memory + 2048) >> o->scale_shift
					    : 8;
}

static void expect_same(const struct test_case *t, const struct operand *o)
{
	struct one_site s;
	struct context c = {.nsecs = 1};
	struct outcome want, got;

	one_site(&s, o, send_arg, 3);
	fill_context(&c, o);
	c.regs[arch_host()->sp] = (uintptr_t)in_process_stack();
	const struct area areas[] = {
		{(uintptr_t)memory, {memory, sizeof(memory)}},
		{(uintptr_t)__builtin_thread_pointer() - 256,
		 {(char *)__builtin_thread_pointer() - 256, 512}},
		{c.regs[arch_host()->sp] - 256, {(char *)c.regs[arch_host()->sp] - 256, 1024}},
	};

	c.areas = areas;
	c.area_count = COUNT(areas);
	for (unsigned plain = 0; plain < 2; plain++) {
		got = run_site(&engine_in_process, in_process_fire, plain, &s, &c);
		want = run_site(&engine_interp, interp_fire, false, &s, &c);
		if (got.value != want.value || got.faults != want.faults || got.records != 1)
			fail_msg(CASE_FMT ": '%.*s' is %llx, not %llx (%u faults, not %u)",
				 CASE_ARGS(t), STR_FMT(o->raw), (unsigned long long)got.value,
				 (unsigned long long)want.value, got.faults, want.faults);
	}
}

static unsigned checked;

static void check_row(const struct test_case *t, struct str row)
{
	struct operand operands[OPERANDS_MAX];
	unsigned count = operands_parse(arch_host(), row, operands);

	for (unsigned i = 0; i < count; i++) {
		struct operand *o = &operands[i];

		if (o->symbol.len)
			operand_resolve(o, symbol_number(o));
		if (operand_problem(o) || native_unreadable(arch_host(), o) ||
		    (o->kind == OPERAND_REG && o->reg >= VECTOR_ID + VECTOR_IDS))
			continue;
		expect_same(t, o);
		checked++;
	}
}

static void run_operands(void **state)
{
	const struct test_case *t = *state;
	struct str rows = case_text(t, "rows");

	fill_memory();
	while (str_eq_text(case_value(t, "cpu"), HOST) && rows.len) {
		struct str line = str_cut(&rows, '\n');

		check_row(t, str_trim(str_cut(&line, '|')));
	}
}

static void operands_of_many_forms_were_read(void **state)
{
	(void)state;
	assert_in_range(checked, LEAST_OPERANDS, 1000);
}

/* ---- what is in the code */

struct look {
	unsigned count;
	bool is_over; /* padding has begun */
};

static bool begins(const char *line, const char *with)
{
	return strncmp(line, with, strlen(with)) == 0;
}

#if defined(__aarch64__)
/* Does a line write a vector register? */
static bool writes_vector(const char *line)
{
	const char *to = line + strcspn(line, " \t") + 1;

	return strchr("vqdshb", *to) && to[1] >= '0' && to[1] <= '9';
}

/* No line may change a vector register or state other than the condition flags, or call anything
 * but what x16 holds. */
static void look_at(void *arg, char *line)
{
	static const char *const never[] = {"svc", "hvc",  "st1",  "ld1",  "hint",
					    "ret", "br\t", "paci", ".inst"};
	struct look *l = arg;

	l->is_over |= begins(line, "udf");
	if (l->is_over)
		return;
	if (l->count++ == 0 && !begins(line, "sub\tsp, sp, #0x10"))
		fail_msg("begins with '%s'", line);
	for (size_t i = 0; i < COUNT(never); i++)
		if (begins(line, never[i]))
			fail_msg("has '%s'", line);
	if (begins(line, "msr") && !begins(line, "msr\tnzcv"))
		fail_msg("has '%s'", line);
	if (writes_vector(line) && !begins(line, "b"))
		fail_msg("has '%s'", line);
	if (begins(line, "blr") && !begins(line, "blr\tx16"))
		fail_msg("has '%s'", line);
}

#else
/* No line may touch the stack before the red zone is left alone, change a vector register or the
 * direction, interrupt or alignment flags, or call anything but what rax holds. */
static void look_at(void *arg, char *line)
{
	static const char *const never[] = {"pushf",   "popf",	"std",	 "cld",	  "sti",
					    "cli",     "int ",	"fx",	 "xsave", "xrstor",
					    "syscall", "enter", "leave", "(bad)", "wrfsbase"};
	struct look *l = arg;

	l->is_over |= begins(line, "int3");
	if (l->is_over)
		return;
	if (l->count++ == 0 && !begins(line, "lea    -0x80(%rsp),%rsp"))
		fail_msg("begins with '%s'", line);
	for (size_t i = 0; i < COUNT(never); i++)
		if (begins(line, never[i]))
			fail_msg("has '%s'", line);
	if (strstr(line, "mm") && strstr(line, "%") && !begins(line, "mov") &&
	    !begins(line, "vmov"))
		fail_msg("has '%s'", line);
	if (begins(line, "call") && !strstr(line, "*%rax"))
		fail_msg("has '%s'", line);
}
#endif

/* An engine with a program, and code for its first step. */
struct generator {
	const struct program *program;
	struct engine *engine;
	struct native_place place;
	struct native_code code;
	struct diag d;
};

static void generator_open(struct generator *g, const struct program *p)
{
	const struct engine_options options = {0};

	*g = (struct generator){.program = p, .d = DIAG_INIT};
	assert_int_equal(engine_in_process.open(&options, &g->engine, &g->d), 0);
	assert_int_equal(engine_build(g->engine, p, &g->d), 0);
	g->place = in_process_place((struct in_process *)g->engine);
	code_open(&g->code, g->place.landing);
}

static int generate(struct generator *g)
{
	const struct clause *c = &g->program->clauses[0];
	const struct native_step step = {g->program, c, &c->attaches[0]};

	return native_generate(&g->place, &step, 1, &g->code, &g->d);
}

static void generator_close(struct generator *g)
{
	code_close(&g->code);
	engine_close(g->engine);
	diag_free(&g->d);
}

static void code_is_harmless(void **state)
{
	static struct random_program random;

	(void)state;
	random_page_open();
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct generator g;
		struct look look = {0};

		random_program_make(&random, seed);
		generator_open(&g, &random.program);
		if (!generate(&g)) {
			objdump_each(&g.code, look_at, &look);
			assert_true(look.count > 20);
		}
		generator_close(&g);
	}
	random_page_close();
}

/* A predicate that rejects is decided before anything else is saved. */
static void rejecting_saves_little(void **state)
{
	static const struct insn code[] = {
		{.op = OP_ARG, .d = 0, .imm = 0},
		{.op = OP_JUMP_NOT, .a = 0, .imm = 3},
		{.op = OP_EMIT, .imm = 0, .fields = &word_field, .field_count = 1},
		{.op = OP_RETURN},
	};
	const struct operand rdi = {.kind = OPERAND_REG, .size = 8, .reg = 5};
	struct generator g;
	struct one_site s;

	(void)state;
	one_site(&s, &rdi, code, COUNT(code));
	generator_open(&g, &s.program);
	/* So that the record is a call, which saves all that it may change. */
	g.place.rseq = NATIVE_NONE;
	assert_int_equal(generate(&g), 0);
#if defined(__aarch64__)
	/* sub sp; str x0; mrs nzcv; str x0; sub sp for r0; mov x0, x5; str x0; ... */
	assert_memory_equal(g.code.bytes.ptr,
			    "\xff\x43\x00\xd1\xe0\x07\x00\xf9\x00\x42\x3b\xd5\xe0\x03\x00\xf9"
			    "\xff\x43\x00\xd1\xe0\x03\x05\xaa",
			    24);
#else
	/* lea; push rax; lahf; seto; push rax; lea -8(rsp) for r0; mov rdi, rax; mov; ... */
	assert_memory_equal(g.code.bytes.ptr,
			    "\x48\x8d\x64\x24\x80\x50\x9f\x0f\x90\xc0\x50\x48\x8d\x64\x24\xf8"
			    "\x48\x89\xf8",
			    19);
#endif
	generator_close(&g);
}

/* What only the kernel has is refused before any code is made, and with a message if it is not. */
static void what_the_kernel_has_is_refused(void **state)
{
	static const struct insn code[] = {
		{.op = OP_BUILTIN, .d = 0, .imm = BUILTIN_CGROUP},
		{.op = OP_RETURN},
	};
	const struct insn stack = {.op = OP_KSTACK}, field = {.op = OP_FIELD};
	const struct operand rdi = {.kind = OPERAND_REG, .size = 8, .reg = 5};
	struct generator g;
	struct one_site s;

	(void)state;
	one_site(&s, &rdi, code, COUNT(code));
	assert_non_null(native_undoable(&s.program, &code[0]));
	assert_non_null(native_undoable(&s.program, &stack));
	assert_non_null(native_undoable(&s.program, &field));
	assert_null(native_undoable(&s.program, &send_arg[0]));
	generator_open(&g, &s.program);
	assert_int_equal(generate(&g), -ENOTSUP);
	assert_string_equal(g.d.first->tag, "engine");
	generator_close(&g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(operands_of_many_forms_were_read),
		cmocka_unit_test(code_is_harmless),
		cmocka_unit_test(rejecting_saves_little),
		cmocka_unit_test(what_the_kernel_has_is_refused),
	};
	struct case_suite suite = {0};

	case_suite_add(&suite, "tests/cases/operands.txt", "cpu rows", run_operands);
	case_suite_add_tests(&suite, tests);
	return case_suite_run(&suite, "native code generator");
}
