/* Values of every type, with the edges of each, as the interpreter sees them of run-time probes:
 * the scripts and the expected lines are those that tests/cli/values.bats has for tracers.
 *
 * The process is its own debugger. A breakpoint is put on the probe's stub, registers and stack of
 * each hit are kept, and when the probe has fired all its values the program runs on them. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#include "help/case_suite.h"
#include "engine/interp/interp.h"
#include "find/find.h"
#include "help/values.h"
#include "report/report.h"
#include "symbols/symbols.h"
#include "script/script.h"

#define STACK_WORDS 32
#define MAX_HITS    64
#define NOP_SIZE    5
#define BREAKPOINT  "\xcc"

#ifdef __x86_64__

/* What a probe's stub found when it was called. */
struct hit {
	greg_t regs[NGREG];
	uint64_t stack[STACK_WORDS];
};

static struct hit hits[MAX_HITS];
static volatile unsigned hit_count;

/* The stack is read as it is, what lies between variables, too. */
__attribute__((no_sanitize("address"))) static void keep_hit(int signal, siginfo_t *info,
							     void *context)
{
	ucontext_t *u = context;
	greg_t *regs = u->uc_mcontext.gregs;
	struct hit *h = &hits[hit_count % MAX_HITS];
	const volatile uint64_t *stack = (const void *)regs[REG_RSP];

	(void)signal;
	(void)info;
	memcpy(h->regs, regs, sizeof(h->regs));
	for (size_t i = 0; i < STACK_WORDS; i++)
		h->stack[i] = stack[i];
	hit_count++;
	regs[REG_RIP] += NOP_SIZE - 1; /* behind the nop */
}

static void put_breakpoint(const struct nopal_probe *p)
{
	int fd = open("/proc/self/mem", O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, BREAKPOINT, 1, (off_t)((uintptr_t)p - NOPAL_PROBE_DISTANCE)),
			 1);
	close(fd);
}

/* A script on the probes of this process, and what it prints. */
struct world {
	struct nopal_provider *r;
	struct nopal_probe *probes[VALUES_PROBES];
	struct diag d;
	struct finder *finder;
	struct script *script;
	struct program *program;
	struct engine *e;
	struct symbols *symbols;
	struct report *report;
	struct buf text, out;
};

static void check(struct world *w, int err, const char *what)
{
	struct buf text = BUF_INIT;

	if (err >= 0)
		return;
	diag_render(&w->d, &text);
	fail_msg("%s: %s\n%s", what, strerror(-err), text.ptr ? text.ptr : "");
}

static void make_probes(struct world *w)
{
	w->r = nopal_provider_new("values", 0, NULL);
	assert_non_null(w->r);
	for (size_t i = 0; i < VALUES_PROBES; i++) {
		const struct values_probe *v = &values_probes[i];

		w->probes[i] = nopal_provider_probe(w->r, v->name, v->args, v->count, NULL, NULL);
		assert_non_null(w->probes[i]);
	}
	assert_int_equal(nopal_provider_load(w->r, NULL), 0);
}

static void read_script(struct world *w, const char *name)
{
	struct case_file f;
	const struct test_case *t;

	case_file_need("tests/cases/values.txt", "script", &f);
	t = case_find(&f, name);
	assert_non_null(t);
	buf_str(&w->text, case_text(t, "script"));
	case_file_close(&f);
}

static void compile_script(struct world *w)
{
	const struct script_options options = {.path = STR("values"), .pid = getpid()};
	struct script_source source;

	check(w, finder_new(&w->finder), "find");
	source = script_source_machine(w->finder);
	check(w, script_parse(buf_as_str(&w->text), &options, &w->script, &w->d), "parse");
	check(w, script_resolve(w->script, &source, &w->d), "resolve");
	check(w, script_compile(w->script, &w->program, &w->d), "compile");
	assert_int_equal(w->program->clause_count, VALUES_PROBES);
}

static void open_world(struct world *w, const char *script)
{
	const struct engine_options options = {0};
	const struct report_options style = {.trunc_trailer = STR(".."), .raw = true};

	*w = (struct world){.text = BUF_INIT, .out = BUF_INIT};
	make_probes(w);
	read_script(w, script);
	compile_script(w);
	check(w, engine_interp.open(&options, &w->e, &w->d), "open");
	check(w, engine_interp.build(w->e, w->program, &w->d), "build");
	check(w, engine_interp.attach(w->e, &w->d), "attach");
	check(w, symbols_new(&w->symbols), "symbols");
	check(w, report_new(w->program, &style, w->symbols, &w->report), "report");
}

static void close_world(struct world *w)
{
	report_free(w->report);
	symbols_free(w->symbols);
	engine_interp.close(w->e);
	script_free(w->script);
	finder_free(w->finder);
	nopal_provider_destroy(w->r);
	diag_free(&w->d);
	buf_free(&w->text);
	buf_free(&w->out);
}

static int take_record(void *arg, struct str bytes)
{
	struct world *w = arg;
	enum report_action action;
	int exit_code;

	return report_record(w->report, &w->e->maps, bytes, &w->out, &action, &exit_code);
}

/* Registers by name: the kernel's order and ours have nothing to do with each other. */
static void set_registers(struct context *c, const greg_t *from)
{
	static const struct {
		const char *name;
		int at;
	} names[] = {{"rax", REG_RAX}, {"rbx", REG_RBX}, {"rcx", REG_RCX}, {"rdx", REG_RDX},
		     {"rsi", REG_RSI}, {"rdi", REG_RDI}, {"rbp", REG_RBP}, {"rsp", REG_RSP},
		     {"r8", REG_R8},   {"r9", REG_R9},	 {"r10", REG_R10}, {"r11", REG_R11},
		     {"r12", REG_R12}, {"r13", REG_R13}, {"r14", REG_R14}, {"r15", REG_R15}};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct arch_reg *reg = arch_find_reg(arch_host(), str_from(names[i].name));

		assert_non_null(reg);
		c->regs[reg->id] = (uint64_t)from[names[i].at];
	}
}

/* The n-th value, where the calling convention has it. */
static uint64_t word_of(const struct hit *h, unsigned n)
{
	static const int regs[] = {REG_RDI, REG_RSI, REG_RDX, REG_RCX, REG_R8, REG_R9};

	return n < 6 ? (uint64_t)h->regs[regs[n]] : h->stack[n - 6 + 1];
}

/* The stack, and the bytes that strings are at. */
static size_t find_areas(const struct values_probe *v, const struct hit *h, struct area *areas)
{
	size_t count = 0;
	unsigned word = 0;

	areas[count++] = (struct area){(uint64_t)h->regs[REG_RSP],
				       str_of((const char *)h->stack, sizeof(h->stack))};
	for (unsigned i = 0; i < v->count; i++, word++) {
		uint64_t at = word_of(h, word);
		const char *bytes = (const char *)(uintptr_t)at;

		if (v->args[i].type == NOPAL_STRING)
			areas[count++] = (struct area){at, str_of(bytes, strlen(bytes) + 1)};
		if (v->args[i].type == NOPAL_COUNTED)
			areas[count++] = (struct area){at, str_of(bytes, word_of(h, ++word))};
	}
	return count;
}

static void run_hit(struct world *w, size_t number, const struct hit *h)
{
	struct area areas[NOPAL_MAX_VALUES + 1];
	struct context c = {.ip = (uint64_t)h->regs[REG_RIP] - 1,
			    .areas = areas,
			    .area_count = find_areas(&values_probes[number], h, areas)};

	set_registers(&c, h->regs);
	assert_int_equal(w->program->clauses[number].attach_count, 1);
	assert_int_equal(interp_fire(w->e, (uint32_t)number, 0, &c), 1);
	check(w, engine_interp.drain(w->e, 0, take_record, w), "drain");
}

/* Clauses stand in the order of the probes. */
static void fire_all(struct world *w, FILE *expected)
{
	for (size_t i = 0; i < VALUES_PROBES; i++) {
		hit_count = 0;
		put_breakpoint(w->probes[i]);
		values_probes[i].fire(w->probes[i], expected);
		assert_in_range(hit_count, 1, MAX_HITS);
		for (unsigned n = 0; n < hit_count; n++)
			run_hit(w, i, &hits[n]);
	}
}

static void compare(struct str got, struct str want)
{
	for (unsigned line = 1; got.len || want.len; line++) {
		struct str a = str_cut(&got, '\n'), b = str_cut(&want, '\n');

		if (!str_eq(a, b))
			fail_msg("line %u is\n%.*s\ninstead of\n%.*s", line,
				 (int)(a.len < 200 ? a.len : 200), a.ptr,
				 (int)(b.len < 200 ? b.len : 200), b.ptr);
	}
}

static void every_value_is_exact(void **state)
{
	struct sigaction trap = {.sa_sigaction = keep_hit, .sa_flags = SA_SIGINFO}, before;
	char *expected = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&expected, &size);
	struct world w;

	(void)state;
	assert_non_null(f);
	open_world(&w, "nopal");
	assert_int_equal(sigaction(SIGTRAP, &trap, &before), 0);
	fire_all(&w, f);
	sigaction(SIGTRAP, &before, NULL);
	fclose(f);
	assert_true(size > LONGEST);
	compare(buf_as_str(&w.out), str_of(expected, size));
	close_world(&w);
	free(expected);
}

#else

static void every_value_is_exact(void **state)
{
	(void)state;
	skip(); /* breakpoints are x86-64's here */
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_value_is_exact)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
