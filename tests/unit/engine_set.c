/* A set of engines: which clause runs where, and that the set looks like one engine. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "help/interp.h"

#include "engine/engine.h"

/* m0 is used by a site and by BEGIN, m1 by BEGIN alone, m2 by another BEGIN through print(). */
/* clang-format off */
#define SHARED(operand) \
	"map m0 \"@a\" none -> int64, 1 entries\n" \
	"map m1 \"@b\" none -> int64, 1 entries\n" \
	"map m2 \"@c\" none -> int64, 1 entries\n" \
	"name 0 \"usdt:/x:p:n\"\n" \
	"format 0 print \"\" () m2\n" \
	"clause 0: 1 registers\n" \
	"uprobe \"/x\" 0x10 name 0 func 0 args \"" operand "\"\n" \
	"r0 = arg 0\n" \
	"map_set m0, r0\n" \
	"return\n" \
	"clause 1: 1 registers\n" \
	"begin name 0 func 0\n" \
	"r0 = const 7\n" \
	"map_set m0, r0\n" \
	"return\n" \
	"clause 2: 1 registers\n" \
	"begin name 0 func 0\n" \
	"r0 = const 8\n" \
	"map_set m1, r0\n" \
	"return\n"
/* clang-format on */

static const char shared[] = SHARED("8@%3");
/* The kernel does not save the thread pointer, register 17 here. */
static const char shared_by_tls[] = SHARED("8@0(17)");

static const char *refuse_registers(const struct arch *arch, const struct operand *o)
{
	(void)arch;
	return o->kind == OPERAND_REG ? "no registers here" : NULL;
}

/* Two interpreters: the first can read no registers, the second all. */
static struct engine_ops blind, sighted;
static struct engine *blind_engine, *sighted_engine; /* that were opened last */

static int open_blind(const struct engine_options *options, struct engine **out, struct diag *d)
{
	int err = engine_interp.open(options, out, d);

	(*out)->ops = &blind;
	blind_engine = *out;
	return err;
}

static int open_sighted(const struct engine_options *options, struct engine **out, struct diag *d)
{
	int err = engine_interp.open(options, out, d);

	(*out)->ops = &sighted;
	sighted_engine = *out;
	return err;
}

static void make_kinds(void)
{
	blind = sighted = engine_interp;
	blind.open = open_blind;
	sighted.open = open_sighted;
	blind.refuses = sighted.refuses = NULL;
	blind.unreadable = refuse_registers;
}

struct both {
	struct test_program t;
	struct engine *e;
	struct diag d;
	struct buf dump;
};

static int both_open_with(struct both *b, const struct engine_ops *first, const char *text,
			  const struct engine_options *options)
{
	const struct engine_ops *kinds[] = {first, &sighted};
	int err;

	make_kinds();
	*b = (struct both){0};
	program_read(&b->t, text);
	assert_int_equal(engine_set_open(kinds, 2, options, &b->e, &b->d), 0);
	err = engine_build(b->e, &b->t.program, &b->d);
	if (!err)
		engine_dump(b->e, &b->dump);
	return err;
}

static int both_open(struct both *b, const struct engine_ops *first, const char *text)
{
	return both_open_with(b, first, text, &(struct engine_options){0});
}

static void both_close(struct both *b)
{
	engine_close(b->e);
	diag_free(&b->d);
	buf_free(&b->dump);
	program_unread(&b->t);
}

static int keep_number(void *arg, struct str key, struct str value)
{
	(void)key;
	memcpy(arg, value.ptr, 8);
	return 0;
}

static uint64_t number_in(const struct both *b, uint32_t map)
{
	uint64_t number = 0;

	assert_int_equal(map_each(&b->e->maps, map, keep_number, &number), 0);
	return number;
}

static void run_begin(struct both *b)
{
	assert_int_equal(engine_attach(b->e, &b->d), 0);
	for (uint32_t i = 0; i < b->t.program.clause_count; i++)
		assert_int_equal(engine_run(b->e, ATTACH_BEGIN, 0, i, &b->d), 0);
	assert_int_equal(number_in(b, 0), 7);
	assert_int_equal(number_in(b, 1), 8);
}

/* The second program of the dump: what is before it is the first's. */
static const char *second_part(const struct both *b)
{
	const char *first = strstr(b->dump.ptr, "map m0");

	return first ? strstr(first + 1, "map m0") : NULL;
}

static void clauses_that_share_a_map_stay_together(void **state)
{
	struct both b;

	(void)state;
	assert_int_equal(both_open(&b, &blind, shared), 0);
	/* The site cannot be read by the first engine, so BEGIN goes with it for @a. */
	assert_non_null(second_part(&b));
	assert_non_null(strstr(second_part(&b), "const 7"));
	assert_null(strstr(second_part(&b), "const 8"));
	assert_non_null(strstr(b.dump.ptr, "const 8"));
	run_begin(&b);
	assert_int_equal(map_clear(&b.e->maps, 0), 0);
	assert_int_equal(number_in(&b, 0), 0);
	assert_int_equal(number_in(&b, 1), 8);
	both_close(&b);
}

static void what_is_asked_of_the_session_links_clauses(void **state)
{
	struct both b;
	char text[2048];

	(void)state;
	snprintf(text, sizeof(text),
		 "%sclause 3: 1 registers\nbegin name 0 func 0\nemit 0()\nreturn\n"
		 "clause 4: 1 registers\nuprobe \"/x\" 0x10 name 0 func 0 args \"8@%%3\"\n"
		 "r0 = arg 0\nmap_set m2, r0\nreturn\n",
		 shared);
	assert_int_equal(both_open(&b, &blind, text), 0);
	assert_non_null(strstr(second_part(&b), "emit 0"));
	both_close(&b);
}

static void the_first_engine_has_what_it_can_run(void **state)
{
	struct both b;

	(void)state;
	make_kinds();
	assert_int_equal(both_open(&b, &sighted, shared), 0);
	assert_null(strstr(second_part(&b), "const"));
	run_begin(&b);
	both_close(&b);
}

/* The first engine can read the operand of one site. */
/* clang-format off */
#define TWO_SITES(kind, more) \
	"map m0 \"@a\" none -> " kind ", 1 entries\n" \
	"name 0 \"usdt:/x:p:n\"\n" \
	"clause 0: 1 registers\n" \
	"uprobe \"/x\" 0x10 name 0 func 0 args \"8@%3\"\n" \
	"uprobe \"/x\" 0x20 name 0 func 0 args \"8@0(3)\"\n" \
	"r0 = arg 0\n" \
	"aggregate m0, r0\n" more \
	"return\n"
/* clang-format on */

static bool first_part_has(const struct both *b, const char *text)
{
	const char *at = strstr(b->dump.ptr, text);

	return at && at < second_part(b);
}

static void sites_are_divided_where_a_map_only_adds(void **state)
{
	struct both b;

	(void)state;
	assert_int_equal(both_open(&b, &blind, TWO_SITES("sum(int64)", "")), 0);
	assert_true(first_part_has(&b, "0x20"));
	assert_false(first_part_has(&b, "0x10"));
	assert_non_null(strstr(second_part(&b), "0x10"));
	assert_null(strstr(second_part(&b), "0x20"));
	both_close(&b);
	/* One who reads the map needs all of it. */
	assert_int_equal(both_open(&b, &blind, TWO_SITES("sum(int64)", "r0 = map_get m0\n")), 0);
	assert_false(first_part_has(&b, "0x20"));
	assert_non_null(strstr(second_part(&b), "0x20"));
	both_close(&b);
}

static void sites_of_a_run_that_grows_are_divided_too(void **state)
{
	const struct engine_options grows = {.may_grow = true};
	struct both b;

	(void)state;
	assert_int_equal(both_open_with(&b, &blind, TWO_SITES("sum(int64)", ""), &grows), 0);
	assert_true(first_part_has(&b, "0x20"));
	assert_non_null(strstr(second_part(&b), "0x10"));
	both_close(&b);
}

/* The first engine of a command that has not called exec does not know yet that it cannot reach the
 * second site. */
static bool is_entered;

static const char *reach_first_site(const struct engine *e, const struct engine_task *task)
{
	(void)e;
	return is_entered && !task->insn && !task->other && task->at->offset == 0x20
		       ? "not reached here"
		       : NULL;
}

static int enter(struct engine *e, const struct watch_event *event, struct diag *d)
{
	(void)e, (void)d;
	is_entered |= event->kind == PROCESS_ENTERED;
	return 0;
}

/* Two sites, each with the operand that both engines can read, of a command at its entry point. */
static void enter_two_sites(struct both *b, const char *kind, const char *more)
{
	const struct engine_ops *kinds[] = {&blind, &sighted};
	const struct engine_options held = {.is_held = true};
	char text[1024];

	snprintf(text, sizeof(text),
		 "map m0 \"@a\" none -> %s, 1 entries\nname 0 \"usdt:/x:p:n\"\n"
		 "clause 0: 1 registers\n"
		 "uprobe \"/x\" 0x10 name 0 func 0 args \"8@0(3)\"\n"
		 "uprobe \"/x\" 0x20 name 0 func 0 args \"8@0(3)\"\n"
		 "r0 = arg 0\n%sreturn\n",
		 kind, more);
	make_kinds();
	blind.refuses = reach_first_site;
	blind.note = enter;
	is_entered = false;
	*b = (struct both){0};
	program_read(&b->t, text);
	assert_int_equal(engine_set_open(kinds, 2, &held, &b->e, &b->d), 0);
	assert_int_equal(engine_build(b->e, &b->t.program, &b->d), 0);
	assert_int_equal(engine_attach(b->e, &b->d), 0);
	assert_int_equal(engine_note_kind(b->e, PROCESS_ENTERED, &b->d), 0);
}

static uint64_t fired(struct engine *e, uint32_t clause)
{
	struct context c = test_context();
	uint64_t number = 0;

	assert_int_equal(interp_fire(e, clause, 0, &c), 1);
	assert_int_equal(map_each(&e->maps, 0, keep_number, &number), 0);
	return number;
}

static void sites_of_a_command_are_divided_at_its_entry_point(void **state)
{
	struct context c = test_context();
	struct both b;

	(void)state;
	enter_two_sites(&b, "count", "aggregate m0, r0\n");
	/* The first clause of the first engine is the whole one, without sites. */
	assert_int_equal(fired(blind_engine, 1), 1);
	assert_int_equal(fired(sighted_engine, 0), 1);
	assert_int_equal(number_in(&b, 0), 2);
	both_close(&b);
	/* A map that a clause reads cannot be divided: its sites go together. */
	enter_two_sites(&b, "int64", "map_set m0, r0\n");
	assert_int_equal(interp_fire(blind_engine, 1, 0, &c), -EINVAL);
	assert_int_equal(interp_fire(sighted_engine, 0, 1, &c), 1);
	both_close(&b);
}

static void what_no_engine_can_run_is_refused_by_the_first(void **state)
{
	const struct engine_ops *kinds[] = {&blind, &blind};
	const struct engine_options none = {0};
	struct both b = {0};

	(void)state;
	make_kinds();
	program_read(&b.t, shared);
	assert_int_equal(engine_set_open(kinds, 2, &none, &b.e, &b.d), 0);
	assert_int_equal(engine_build(b.e, &b.t.program, &b.d), -ENOTSUP);
	assert_string_equal(b.d.first->tag, "unreadable-arg");
	assert_non_null(strstr(b.d.first->text.ptr, "no registers here"));
	both_close(&b);
}

/* The extension's clause belongs to the map that the second engine has. */
static void an_extension_follows_its_map(void **state)
{
	struct both b, more = {0};

	(void)state;
	assert_int_equal(both_open(&b, &blind, shared), 0);
	run_begin(&b);
	program_read(&more.t, shared);
	more.t.program.clauses++; /* BEGIN with @a and @b, without the site */
	more.t.program.clause_count = 1;
	assert_int_equal(engine_extend(b.e, &more.t.program, &b.d), 0);
	buf_clear(&b.dump);
	engine_dump(b.e, &b.dump);
	assert_non_null(strstr(second_part(&b), "const 7"));
	both_close(&b);
	program_unread(&more.t);
}

static int fail_to_extend(struct engine *e, const struct program *p, struct diag *d)
{
	(void)e, (void)p;
	return diag_error(d, -ENOMEM, "test-refuses", "refused for a test");
}

/* The first engine took its clause before the second failed. */
static void an_extension_that_one_engine_refuses_is_in_none(void **state)
{
	struct both b, more = {0};
	struct context c = test_context();

	(void)state;
	assert_int_equal(both_open(&b, &blind, shared), 0);
	run_begin(&b);
	sighted.extend = fail_to_extend;
	program_read(&more.t, shared);
	more.t.program.clauses++; /* BEGIN with @a, which is the second engine's, and with @b */
	more.t.program.clause_count = 2;
	assert_int_equal(engine_extend(b.e, &more.t.program, &b.d), -ENOMEM);
	assert_int_equal(interp_fire(blind_engine, 0, 0, &c), 1);
	assert_int_equal(interp_fire(blind_engine, 1, 0, &c), -EINVAL);
	sighted.extend = engine_interp.extend;
	assert_int_equal(engine_extend(b.e, &more.t.program, &b.d), 0);
	assert_int_equal(interp_fire(blind_engine, 1, 0, &c), 1);
	both_close(&b);
	program_unread(&more.t);
}

static void the_kernel_and_the_interpreter_share_a_script(void **state)
{
	struct both b;

	(void)state;
	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	assert_int_equal(both_open(&b, &engine_bpf, shared_by_tls), 0);
	assert_non_null(strstr(b.dump.ptr, "bpf program 0: run"));
	assert_non_null(strstr(b.dump.ptr, "const 7")); /* in the interpreter's part */
	assert_null(strstr(b.dump.ptr, "const 8"));
	run_begin(&b);
	engine_stop(b.e);
	engine_detach(b.e);
	both_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clauses_that_share_a_map_stay_together),
		cmocka_unit_test(what_is_asked_of_the_session_links_clauses),
		cmocka_unit_test(the_first_engine_has_what_it_can_run),
		cmocka_unit_test(sites_are_divided_where_a_map_only_adds),
		cmocka_unit_test(sites_of_a_run_that_grows_are_divided_too),
		cmocka_unit_test(sites_of_a_command_are_divided_at_its_entry_point),
		cmocka_unit_test(what_no_engine_can_run_is_refused_by_the_first),
		cmocka_unit_test(an_extension_follows_its_map),
		cmocka_unit_test(an_extension_that_one_engine_refuses_is_in_none),
		cmocka_unit_test(the_kernel_and_the_interpreter_share_a_script),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
