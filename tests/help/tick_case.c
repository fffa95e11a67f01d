#include "help/tick_case.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../targets/conn.h"

#include "report/report.h"
#include "script/script.h"
#include "symbols/symbols.h"

#define MAX_ARGS 64

/* The probes of tick, as a machine that passes arguments in registers has them. */
enum { WORD, NUMBER, LOOP, GATE, CONN, PROBE_COUNT };

struct machine {
	struct site sites[PROBE_COUNT];
	struct argument args[PROBE_COUNT][2];
	struct site_list list;
};

static void set_operand(struct operand *o, const struct arch *arch, unsigned n, const char *raw)
{
	assert_true(operand_call_arg(arch, n, o));
	o->size = raw[0] == '-' ? (uint8_t)(raw[1] - '0') : (uint8_t)(raw[0] - '0');
	o->is_signed = raw[0] == '-';
	o->raw = str_from(raw);
}

static void machine_init(struct machine *m)
{
	static const struct {
		const char *name, *arg[2];
	} probes[PROBE_COUNT] = {
		[WORD] = {"word", {"8@", "-4@"}}, [NUMBER] = {"number", {"-8@", NULL}},
		[LOOP] = {"loop", {"-4@", "8@"}}, [GATE] = {"gate", {"-4@", NULL}},
		[CONN] = {"conn", {"8@", NULL}},
	};

	*m = (struct machine){
		.list = {.arch = arch_host(), .sites = m->sites, .count = PROBE_COUNT}};
	for (unsigned i = 0; i < PROBE_COUNT; i++) {
		struct site *s = &m->sites[i];

		*s = (struct site){.provider = STR("tick"),
				   .name = str_from(probes[i].name),
				   .location = 0x1000 + 16 * i,
				   .offset = 0x1000 + 16 * i,
				   .args = m->args[i]};
		for (; s->arg_count < 2 && probes[i].arg[s->arg_count]; s->arg_count++)
			set_operand(&m->args[i][s->arg_count].operand, m->list.arch, s->arg_count,
				    probes[i].arg[s->arg_count]);
	}
}

static bool matches(struct str pattern, struct str name)
{
	return !pattern.len || str_match(pattern, name);
}

static int machine_sites(void *self, const struct find_query *q, found_fn *fn, void *arg,
			 struct diag *d)
{
	struct machine *m = self;
	const struct found_image image = {
		.path = STR("./tick"), .open_path = STR("./tick"), .sites = &m->list};
	size_t found[PROBE_COUNT], count = 0;

	(void)d;
	for (size_t i = 0; i < PROBE_COUNT; i++) {
		if (matches(q->provider, m->sites[i].provider) &&
		    matches(q->name, m->sites[i].name))
			found[count++] = i;
	}
	return count ? fn(arg, &image, found, count) : 0;
}

static int machine_functions(void *self, const struct find_query *q, function_fn *fn, void *arg,
			     struct diag *d)
{
	(void)self, (void)q, (void)fn, (void)arg, (void)d;
	return 0;
}

static struct str machine_function_at(void *self, const struct found_image *image, uint64_t offset)
{
	(void)self, (void)image, (void)offset;
	return STR("fire");
}

static int machine_events(void *self, struct str category, struct str name, trace_event_fn *fn,
			  void *arg, struct diag *d)
{
	(void)self, (void)category, (void)name, (void)fn, (void)arg, (void)d;
	return 0;
}

static int machine_event(void *self, struct arena *a, struct str category, struct str name,
			 struct trace_event *out, struct diag *d)
{
	(void)self, (void)a, (void)category, (void)name, (void)out;
	return diag_error(d, -ENOENT, "unknown-probe", "no tracepoints here");
}

/* One run of a case. */
struct run {
	const struct case_engine *engine;
	const struct test_case *test;
	struct machine machine;
	struct diag d;
	struct script *script;
	struct program *program;
	struct script_facts facts;
	struct engine *e;
	struct symbols *symbols;
	struct report *report;
	struct buf out;
	bool exiting;
	uint64_t nsecs;
};

static void check(struct run *r, int err, const char *what)
{
	struct buf text = BUF_INIT;

	if (err >= 0)
		return;
	diag_render(&r->d, &text);
	fail_msg(CASE_FMT ": %s: %s\n%s", CASE_ARGS(r->test), what, strerror(-err),
		 text.ptr ? text.ptr : "");
}

static void run_compile(struct run *r)
{
	struct script_source source = {.run = &r->machine,
				       .self = &r->machine,
				       .sites = machine_sites,
				       .functions = machine_functions,
				       .function_at = machine_function_at,
				       .events = machine_events,
				       .event = machine_event};
	struct str params[MAX_ARGS];
	struct script_options options = {.path = STR("case"), .params = params};

	for (struct str rest = case_value(r->test, "args");
	     rest.len && options.param_count < MAX_ARGS;)
		params[options.param_count++] = str_cut(&rest, ' ');
	check(r, script_parse(case_text(r->test, "script"), &options, &r->script, &r->d), "parse");
	check(r, script_resolve(r->script, &source, &r->d), "resolve");
	check(r, script_compile(r->script, &r->program, &r->d), "compile");
	script_facts(r->script, &r->facts);
}

static void run_open(struct run *r)
{
	const struct engine_options options = {0};
	struct report_options style = {.trunc_trailer = r->facts.trunc_trailer};

	check(r, r->engine->ops->open(&options, &r->e, &r->d), "open");
	check(r, engine_build(r->e, r->program, &r->d), "build");
	check(r, engine_attach(r->e, &r->d), "attach");
	check(r, symbols_new(&r->symbols), "symbols");
	check(r, report_new(r->program, &style, r->symbols, &r->report), "report");
	if (r->engine->started)
		r->engine->started(r->e, 0);
}

static void run_close(struct run *r)
{
	report_free(r->report);
	symbols_free(r->symbols);
	engine_close(r->e);
	script_free(r->script);
	diag_free(&r->d);
	buf_free(&r->out);
}

static int take_record(void *arg, struct str bytes)
{
	struct run *r = arg;
	enum report_action action = REPORT_DONE;
	int exit_code = 0, err;

	if (r->exiting)
		return 0;
	err = report_record(r->report, &r->e->maps, bytes, &r->out, &action, &exit_code);
	r->exiting = r->exiting || action == REPORT_EXIT;
	return err;
}

static void run_drain(struct run *r)
{
	check(r, engine_drain(r->e, 0, take_record, r), "drain");
}

static void run_clauses(struct run *r, enum attach_kind kind)
{
	for (uint32_t i = 0; i < r->program->clause_count; i++) {
		check(r, engine_run(r->e, kind, 0, i, &r->d), "run");
		run_drain(r);
	}
}

/* Fire every clause at the site: arguments where the operands say, text in memory. */
static void fire(struct run *r, unsigned probe, const uint64_t *args, struct str text)
{
	const struct area areas[] = {
		{(uintptr_t)conns, {(const char *)conns, sizeof(conns)}},
		{(uintptr_t)conns[0].host, {conns[0].host, strlen(conns[0].host) + 1}},
		{(uintptr_t)text.ptr, {text.ptr, text.len + 1}},
	};
	const struct site *s = &r->machine.sites[probe];
	struct context c = {.ip = 0x400000 + s->offset,
			    .areas = areas,
			    .area_count = text.ptr ? 3 : 2,
			    .pid = 1000,
			    .tid = 1000,
			    .ncpus = 1,
			    .comm = STR("tick"),
			    .nsecs = r->nsecs += 1000};

	for (unsigned i = 0; i < s->arg_count; i++)
		c.regs[s->args[i].operand.reg] = args[i];
	for (uint32_t i = 0; i < r->program->clause_count; i++) {
		const struct clause *clause = &r->program->clauses[i];

		for (uint32_t n = 0; n < clause->attach_count; n++) {
			if (clause->attaches[n].kind == ATTACH_UPROBE &&
			    clause->attaches[n].offset == s->offset)
				assert_in_range(r->engine->fire(r->e, i, n, &c), 0,
						1); /* 0 after exit() */
		}
	}
	run_drain(r);
}

/* What tick does with its arguments: one row for each mode of tests/targets/tick.c. */

static void tick_words(struct run *r, char **args)
{
	for (; *args; args++) {
		uint64_t values[] = {(uintptr_t)*args, strlen(*args)};

		fire(r, WORD, values, str_from(*args));
	}
}

static void tick_numbers(struct run *r, char **args)
{
	for (; *args; args++) {
		uint64_t value = (uint64_t)strtol(*args, NULL, 0);

		fire(r, NUMBER, &value, str_of(NULL, 0));
	}
}

/* Memory where it is in this process. */
static void tick_conns(struct run *r, char **args)
{
	for (; *args; args++) {
		uint64_t value = (uintptr_t)&conns[atoi(*args) % CONN_COUNT];

		fire(r, CONN, &value, str_of(NULL, 0));
	}
}

static void tick_loop(struct run *r, char **args)
{
	for (long i = 0; i < (*args ? atol(*args) : 1); i++) {
		struct str text = STR("the quick brown fox");
		uint64_t values[] = {(uint64_t)i, (uintptr_t)text.ptr};

		fire(r, LOOP, values, text);
	}
}

static void tick_hostile(struct run *r, char **args)
{
	static const char *const words[] = {"\033[2J\007bell\nline",
					    "\xff\xfe broken \xc3\xa9 fine"};
	const uint64_t bad[] = {16, (uint64_t)-1}, null[] = {0, 0};

	(void)args;
	tick_words(r, (char *[]){(char *)words[0], (char *)words[1], NULL});
	fire(r, WORD, bad, str_of(NULL, 0));
	fire(r, WORD, null, str_of(NULL, 0));
}

/* Text without a NUL, at the end of a page with nothing after it: the byte that fire() takes for it
 * is the last letter. */
static void tick_edge(struct run *r, char **args)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t len = strtoul(*args, NULL, 0), room = (len + page) & -page;
	char *pages =
		mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *text = pages + room - len;
	uint64_t values[] = {(uintptr_t)text, len};

	assert_true(pages != MAP_FAILED && len);
	assert_int_equal(mprotect(pages + room, page, PROT_NONE), 0);
	for (size_t i = 0; i < len; i++)
		text[i] = (char)('a' + i % 26);
	fire(r, WORD, values, str_of(text, len - 1));
	munmap(pages, room + page);
}

static void tick(struct run *r, struct str command)
{
	static const struct {
		const char *name;
		void (*run)(struct run *r, char **args);
	} modes[] = {
		{"word", tick_words},	   {"number", tick_numbers}, {"loop", tick_loop},
		{"hostile", tick_hostile}, {"edge", tick_edge},	     {"conn", tick_conns},
	};
	struct arena a = ARENA_INIT;
	char *args[MAX_ARGS + 1] = {0};
	unsigned count = 0;
	bool known = false;

	while (command.len && count < MAX_ARGS)
		args[count++] = arena_text(&a, str_cut(&command, ' '));
	assert_true(count > 1 && strcmp(args[0], "tick") == 0);
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(args[1], modes[i].name) != 0)
			continue;
		modes[i].run(r, args + 2);
		known = true;
	}
	assert_true(known);
	arena_free(&a);
}

void tick_case_run(const struct test_case *test, const struct case_engine *engine)
{
	struct run r = {.engine = engine, .test = test};

	machine_init(&r.machine);
	run_compile(&r);
	run_open(&r);
	run_clauses(&r, ATTACH_BEGIN);
	for (const struct case_field *f = NULL; (f = case_next(test, "fire", f)) && !r.exiting;)
		tick(&r, case_field_value(f));
	r.exiting = false;
	run_clauses(&r, ATTACH_END);
	if (r.facts.print_maps_on_exit)
		check(&r, report_all_maps(r.report, &r.e->maps, &r.out), "maps");
	case_expect_trimmed(test, "out", buf_as_str(&r.out));
	run_close(&r);
}
