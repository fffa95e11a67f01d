/* The BPF engine at other places than probes in programs: returns, tracepoints, clocks; stacks; and
 * what a run can do while it goes on. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "help/bpf.h"

static const struct type unsigned_type = {.kind = TYPE_INT, .size = 8};

static int register_id(const char *name)
{
	return arch_find_reg(arch_host(), str_from(name))->id;
}

/* fire_twice(n) returns 2 * n; its entry and its return are probed. */
static void returns_give_their_value(void **state)
{
	struct target t;
	struct run r;
	struct make *m = make_new();

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	make_clause(m, 1);
	make_function(m, &t, "twice")->kind = ATTACH_URETPROBE;
	ADD(m, .op = OP_REG, .d = 0, .imm = register_id(REG_RESULT));
	make_print(m, &int_type, reg0, 1);
	make_clause(m, 1);
	make_function(m, &t, "twice");
	ADD(m, .op = OP_REG, .d = 0, .imm = register_id(REG_FIRST));
	make_print(m, &int_type, reg0, 1);
	EXPECT_START(r, m, 0);
	target_tell(&t, "twice 21");
	target_tell(&t, "twice -4");
	assert_string_equal(run_text(&r), "21;42;-4;-8;");
	run_stop(&r);
	target_stop(&t);
}

/* The numbers of registers in a uprobe are those the program sees; so is the address. */
static void the_address_is_the_sites(void **state)
{
	struct target t;
	struct run r;
	struct make *m = make_new();
	char want[64];

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	make_clause(m, 2);
	make_site(m, &t, "int", ARGS_INT);
	ADD(m, .op = OP_BUILTIN, .d = 0, .imm = BUILTIN_IP);
	make_print(m, &unsigned_type, reg0, 1);
	EXPECT_START(r, m, 0);
	target_tell(&t, "int 1");
	snprintf(want, sizeof(want), "%lld;", (long long)target_tell(&t, "where"));
	assert_string_equal(run_text(&r), want);
	run_stop(&r);
	target_stop(&t);
}

static void tracepoints_have_fields(void **state)
{
	static const struct type name = {.kind = TYPE_STR, .size = 64};
	struct target t;
	struct run r;
	struct make *m = make_new();
	struct attach *a;
	char want[300];

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	make_clause(m, 3);
	a = make_place(m, ATTACH_TRACEPOINT);
	a->tracepoint = STR("sched:sched_process_exec");
	make_slot(m, name);
	ADD(m, .op = OP_BUILTIN, .d = 0, .imm = BUILTIN_PID);
	ADD(m, .op = OP_CONST, .d = 1, .imm = t.puppet.pid);
	ADD(m, .op = OP_NE, .d = 2, .a = 0, .b = 1);
	ADD(m, .op = OP_JUMP_IF, .a = 2, .imm = 6);
	ADD(m, .op = OP_FIELD_STR, .s = 0, .imm = 8, .size = 0);
	make_print(m, &name, slot0, 1);
	ADD(m, .op = OP_FIELD, .d = 0, .imm = 12, .size = 4, .is_signed = true);
	ADD(m, .op = OP_EQ, .d = 0, .a = 0, .b = 1);
	ADD(m, .op = OP_JUMP_NOT, .a = 0, .imm = 10);
	make_print(m, &int_type, reg0, 1);
	EXPECT_START(r, m, 0);
	snprintf(want, sizeof(want), "'%s';1;", t.path);
	target_tell(&t, "exec");
	assert_string_equal(run_text(&r), want);
	run_stop(&r);
	target_stop(&t);
}

static void clocks_tick_on_every_cpu(void **state)
{
	struct run r;
	struct make *m = make_new();
	struct map_text text = {&r, 0, BUF_INIT};
	long ticks = 0;

	(void)state;
	SKIP_WITHOUT_ROOT();
	make_clause(m, 1);
	make_place(m, ATTACH_PROFILE)->period = 1000000;
	make_map(m, none, counter, 1);
	ADD(m, .op = OP_AGGREGATE, .s = SLOT_NO, .a = REG_NO);
	EXPECT_START(r, m, 0);
	for (int i = 0; i < 500 && ticks < 10; i++) { /* as long as it takes, within reason */
		usleep(10000);
		buf_clear(&text.out);
		map_each(&r.e->maps, 0, show_entry, &text);
		ticks = text.out.len ? strtol(text.out.ptr + 1, NULL, 10) : 0;
	}
	assert_true(ticks >= 10);
	buf_free(&text.out);
	run_stop(&r);
}

static int take_stack(void *arg, struct str bytes)
{
	struct run *r = arg;
	struct record record;
	struct value v;

	assert_int_equal(record_open(&r->m->p, bytes, &record), 0);
	assert_int_equal(record_field(&record, record.format->fields, &v), 0);
	assert_true(v.bytes.len >= 8);
	memcpy(&r->records, v.bytes.ptr, sizeof(r->records)); /* low half of the first frame */
	return 0;
}

static void user_stacks_begin_at_the_site(void **state)
{
	static const struct type stack = {.kind = TYPE_USTACK, .size = 127 * 8};
	struct target t;
	struct run r;
	struct make *m = make_new();

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	make_clause(m, 1);
	make_site(m, &t, "int", ARGS_INT);
	make_slot(m, stack);
	ADD(m, .op = OP_USTACK, .s = 0);
	make_print(m, &stack, slot0, 1);
	EXPECT_START(r, m, 0);
	target_tell(&t, "int 1");
	assert_int_equal(engine_bpf.drain(r.e, 0, take_stack, &r), 1);
	assert_int_equal(r.records, (uint32_t)target_tell(&t, "where"));
	run_stop(&r);
	target_stop(&t);
}

/* A second program of the same script goes on in the same maps. */
static void a_run_can_be_extended(void **state)
{
	struct target t;
	struct run r;
	struct make *m = make_new(), *more = make_new();

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	make_clause(m, 1);
	make_site(m, &t, "int", ARGS_INT);
	make_map(m, none, counter, 1);
	ADD(m, .op = OP_AGGREGATE, .s = SLOT_NO, .a = REG_NO);
	make_clause(more, 1);
	make_site(more, &t, "other", ARGS_OTHER);
	make_map(more, none, counter, 1);
	ADD(more, .op = OP_AGGREGATE, .s = SLOT_NO, .a = REG_NO);
	ADD(more, .op = OP_RETURN);
	EXPECT_START(r, m, 0);
	target_tell(&t, "other 5");
	target_tell(&t, "int 1");
	assert_int_equal(engine_bpf.extend(r.e, &more->p, &r.d), 0);
	target_tell(&t, "other 5");
	target_tell(&t, "int 1");
	assert_map(&r, 0, ":7;");
	run_stop(&r);
	make_free(more);
	target_stop(&t);
}

/* A few records do not wake the reader; a quarter of the ring, and control records, do. */
static void the_reader_is_woken_at_the_watermark(void **state)
{
	struct target t;
	struct run r;
	struct make *m = make_new();
	struct pollfd p = {.events = POLLIN};

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	make_clause(m, 1);
	make_site(m, &t, "int", ARGS_INT);
	ADD(m, .op = OP_ARG, .d = 0, .imm = 0);
	make_print(m, &int_type, reg0, 1);
	make_clause(m, 1);
	make_site(m, &t, "other", ARGS_OTHER);
	ADD(m, .op = OP_EMIT, .imm = make_format(m, FORMAT_TIME, NULL, 0));
	EXPECT_START(r, m, .ring_bytes = 65536);
	p.fd = engine_bpf.wait_fd(r.e);
	run_text(&r);
	target_tell(&t, "int 10");
	assert_int_equal(poll(&p, 1, 50), 0);
	target_tell(&t, "int 1000");
	assert_int_equal(poll(&p, 1, 5000), 1);
	run_text(&r);
	assert_int_equal(r.records, 1010);
	assert_int_equal(poll(&p, 1, 0), 0);
	target_tell(&t, "other 1");
	assert_int_equal(poll(&p, 1, 5000), 1);
	run_stop(&r);
	target_stop(&t);
}

/* The dump names the programs, their instructions, and the places of the script. */
static void the_dump_can_be_read(void **state)
{
	static const char script[] = "usdt:x:y:z { @ = count(); }";
	struct make *m = make_new();
	struct buf b = BUF_INIT;
	struct run r;

	(void)state;
	SKIP_WITHOUT_ROOT();
	make_clause(m, 1);
	make_place(m, ATTACH_BEGIN);
	make_map(m, none, counter, 1);
	ADD(m, .op = OP_AGGREGATE, .s = SLOT_NO, .a = REG_NO);
	m->spans[0] = (struct span){.source = STR(script), .at = 13, .len = 11};
	EXPECT_START(r, m, 0);
	engine_bpf.dump(r.e, &b);
	assert_non_null(strstr(b.ptr, "bpf program 0: run, 1 site, 1 case\n"));
	assert_non_null(strstr(b.ptr, "; @ = count()\n"));
	assert_non_null(strstr(b.ptr, "call 1\n"));
	assert_non_null(strstr(b.ptr, "lock add *(u64 *)(r0 +0), r1\n"));
	assert_non_null(strstr(b.ptr, ": exit\n"));
	buf_free(&b);
	run_stop(&r);
}

static void a_refused_program_says_why(void **state)
{
	struct target t;
	struct run r;
	struct make *m = make_new();

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	make_clause(m, 1);
	make_site(m, &t, "int", "")->file = NULL;
	make_map(m, none, counter, 1);
	ADD(m, .op = OP_AGGREGATE, .s = SLOT_NO, .a = REG_NO);
	assert_int_equal(run_start(&r, m, (struct engine_options){0}), -EINVAL);
	assert_string_equal(r.d.first->tag, "no-file");
	run_stop(&r);
	m = make_new();
	make_clause(m, 1);
	make_place(m, ATTACH_TRACEPOINT)->tracepoint = STR("sched:no_such_event");
	make_map(m, none, counter, 1);
	ADD(m, .op = OP_AGGREGATE, .s = SLOT_NO, .a = REG_NO);
	assert_true(run_start(&r, m, (struct engine_options){0}) < 0);
	assert_true(r.d.errors > 0);
	run_stop(&r);
	target_stop(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(returns_give_their_value),
		cmocka_unit_test(the_address_is_the_sites),
		cmocka_unit_test(tracepoints_have_fields),
		cmocka_unit_test(clocks_tick_on_every_cpu),
		cmocka_unit_test(user_stacks_begin_at_the_site),
		cmocka_unit_test(a_run_can_be_extended),
		cmocka_unit_test(the_reader_is_woken_at_the_watermark),
		cmocka_unit_test(the_dump_can_be_read),
		cmocka_unit_test(a_refused_program_says_why),
	};

	return cmocka_run_group_tests_name("bpf_kinds", tests, NULL, NULL);
}
