/* Attaching by the BPF engine: to what, whom it follows, what it leaves alone and what stays when
 * it is gone. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "help/bpf.h"

#include "engine/bpf/kernel/bpf_syscall.h"
#include "engine/bpf/kernel/kernel_btf.h"
#include "engine/bpf/run/bpf.h"
#include "engine/bpf/run/refusal.h"

#define SKIP_WHERE_NOP5_IS_SAFE()                                          \
	do {                                                               \
		struct features features_;                                 \
		features_init(&features_);                                 \
		if (feature_has(&features_, FEATURE_NOP5_SAFE)) {          \
			print_message("this kernel keeps the red zone\n"); \
			skip();                                            \
		}                                                          \
	} while (0)

static void works_without_uprobe_multi(void **state)
{
	struct target t;
	struct run r;
	struct make *m = make_new();

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	make_clause(m, 1);
	make_site(m, &t, "int", ARGS_INT)->sema_offset = target_offset(&t, "sema");
	make_site(m, &t, "other", ARGS_OTHER);
	make_map(m, none, (struct type){.kind = TYPE_SUM, .size = 8, .is_signed = true}, 1);
	ADD(m, .op = OP_ARG, .d = 0, .imm = 0);
	ADD(m, .op = OP_AGGREGATE, .s = SLOT_NO, .a = 0);
	setenv("NOPAL_NO_FEATURES", "uprobe_multi", 1);
	EXPECT_START(r, m, 0);
	unsetenv("NOPAL_NO_FEATURES");
	assert_int_equal(target_tell(&t, "sema"), 1);
	target_tell(&t, "int 10");
	target_tell(&t, "other 5");
	assert_map(&r, 0, ":55;");
	engine_bpf.detach(r.e);
	engine_bpf.detach(r.e);
	assert_int_equal(target_tell(&t, "sema"), 0);
	target_tell(&t, "int 10");
	assert_map(&r, 0, ":55;");
	run_stop(&r);
	target_stop(&t);
}

static void the_environment_takes_features_away(void **state)
{
	struct target t;
	struct run r;

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	setenv("NOPAL_NO_FEATURES", "sleepable, uprobe_multi,cookie", 1);
	EXPECT_START(r, make_counter(&t), 0);
	target_tell(&t, "int 10");
	assert_map(&r, 0, ":10;");
	run_stop(&r);
	unsetenv("NOPAL_NO_FEATURES");
	target_stop(&t);
}

/* A tracer that is killed leaves no semaphore raised and no probe armed. */
static void nothing_is_left_after_kill(void **state)
{
	struct target t;
	pid_t tracer;
	int ready[2];
	char byte;

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	assert_int_equal(pipe(ready), 0);
	tracer = fork();
	if (!tracer) {
		struct make *m = make_counter(&t);
		struct run r;

		m->attaches[0][0].sema_offset = target_offset(&t, "sema");
		if (run_start(&r, m, (struct engine_options){0}) || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(target_tell(&t, "sema"), 1);
	kill(tracer, SIGKILL);
	waitpid(tracer, NULL, 0);
	for (int i = 0; i < 200 && target_tell(&t, "sema") != 0; i++)
		usleep(10000); /* the kernel tidies up in its own time */
	assert_int_equal(target_tell(&t, "sema"), 0);
	target_stop(&t);
}

static void follows_forks(void **state)
{
	static const struct {
		bool pid, follow;
		const char *want;
	} rows[] = {{false, false, ":200;"}, {true, false, ":100;"}, {true, true, ":200;"}};
	struct target t;

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	setenv("NOPAL_NO_FEATURES", "uprobe_multi", 1);
	for (int multi = 0; multi < 2; multi++) {
		for (int i = 0; i < 3; i++) {
			struct run r;

			EXPECT_START(r, make_counter(&t), .pid = rows[i].pid ? t.puppet.pid : 0,
				     .follow_forks = rows[i].follow);
			target_tell(&t, "int 100");
			target_tell(&t, "fork 100");
			assert_map(&r, 0, rows[i].want);
			run_stop(&r);
		}
		unsetenv("NOPAL_NO_FEATURES");
	}
	target_stop(&t);
}

static void dangerous_sites_are_refused(void **state)
{
	static const struct {
		const char *site, *tag;
		bool entry;
	} rows[] = {{"nop5", "red-zone", false}, {"nop10", "nop10", false}, {"nop5", NULL, true}};
	struct target t;

	(void)state;
	SKIP_WITHOUT_ROOT();
	SKIP_WHERE_NOP5_IS_SAFE();
	target_start(&t);
	for (int i = 0; i < 3; i++) {
		struct make *m = make_new();
		struct run r;
		int err;

		make_clause(m, 1);
		make_site(m, &t, rows[i].site, "")->is_entry = rows[i].entry;
		make_map(m, none, counter, 1);
		ADD(m, .op = OP_AGGREGATE, .s = SLOT_NO, .a = REG_NO);
		err = run_start(&r, m, (struct engine_options){0});
		assert_int_equal(err, rows[i].tag ? -ENOTSUP : 0);
		if (rows[i].tag)
			assert_string_equal(r.d.first->tag, rows[i].tag);
		target_tell(&t, "nops");
		assert_map(&r, 0, rows[i].tag ? "" : ":1;");
		run_stop(&r);
	}
	target_stop(&t);
}

static unsigned count_warnings(const struct run *r, const char *tag)
{
	unsigned n = 0;

	for (const struct message *m = r->d.first; m; m = m->next)
		n += m->level == DIAG_WARNING && !strcmp(m->tag, tag);
	return n;
}

/* `nops` dangerous places of one probe, and a good one of another when `good`. */
static struct make *make_mixed(struct target *t, int nops, bool good, bool together)
{
	struct make *m = make_new();

	m->names[m->p.name_count++] = STR("usdt:good");
	make_clause(m, 1);
	make_map(m, none, counter, 1);
	for (int i = 0; i < nops; i++)
		make_site(m, t, i % 2 ? "nop10" : "nop5", "")->func = (uint32_t)i % 2;
	ADD(m, .op = OP_AGGREGATE, .s = SLOT_NO, .a = REG_NO);
	if (!good)
		return m;
	if (!together) {
		make_clause(m, 1);
		ADD(m, .op = OP_AGGREGATE, .s = SLOT_NO, .a = REG_NO);
	}
	make_site(m, t, "int", "")->name = 2;
	return m;
}

static void dangerous_sites_are_left_out_when_others_remain(void **state)
{
	static const struct {
		bool good, together;
		int err;
	} rows[] = {{false, true, -ENOTSUP}, {true, true, 0}, {true, false, -ENOTSUP}};
	struct target t;

	(void)state;
	SKIP_WITHOUT_ROOT();
	SKIP_WHERE_NOP5_IS_SAFE();
	target_start(&t);
	for (int i = 0; i < 3; i++) {
		struct make *m = make_mixed(&t, 2, rows[i].good, rows[i].together);
		struct run r;

		assert_int_equal(run_start(&r, m, (struct engine_options){0}), rows[i].err);
		if (!rows[i].err) {
			assert_int_equal(r.d.errors, 0);
			assert_int_equal(count_warnings(&r, "red-zone"), 1);
			assert_int_equal(count_warnings(&r, "nop10"), 1);
		}
		target_tell(&t, "nops");
		target_tell(&t, "int 3");
		assert_map(&r, 0, rows[i].err ? "" : ":3;");
		run_stop(&r);
	}
	target_stop(&t);
}

static void many_dangerous_sites_make_few_warnings(void **state)
{
	struct target t;
	struct make *m;
	struct run r;

	(void)state;
	SKIP_WITHOUT_ROOT();
	SKIP_WHERE_NOP5_IS_SAFE();
	target_start(&t);
	m = make_mixed(&t, 8, true, true);
	for (uint32_t i = 0; i < 8; i++)
		m->attaches[0][i].sema_offset = i; /* different places */
	assert_int_equal(run_start(&r, m, (struct engine_options){0}), 0);
	assert_int_equal(count_warnings(&r, "red-zone") + count_warnings(&r, "nop10"), 5);
	assert_int_equal(count_warnings(&r, "sites-left-out"), 1);
	assert_non_null(strstr(r.d.last->text.ptr, "3 more sites"));
	target_tell(&t, "int 2");
	assert_map(&r, 0, ":2;");
	run_stop(&r);
	target_stop(&t);
}

static void unreadable_arguments_matter_only_when_used(void **state)
{
	struct target t;

	(void)state;
	SKIP_WITHOUT_ROOT();
	target_start(&t);
	for (int arg = 0; arg < 2; arg++) {
		static const char *const tags[] = {NULL, "unreadable-arg"};
		struct make *m = make_new();
		struct run r;
		int err;

		make_clause(m, 1);
		make_site(m, &t, "int", ARGS_FLOAT);
		make_map(m, none, (struct type){.kind = TYPE_SUM, .size = 8, .is_signed = true}, 1);
		ADD(m, .op = OP_ARG, .d = 0, .imm = arg);
		ADD(m, .op = OP_AGGREGATE, .s = SLOT_NO, .a = 0);
		err = run_start(&r, m, (struct engine_options){0});
		assert_true(!err == !tags[arg]);
		if (tags[arg])
			assert_string_equal(r.d.first->tag, tags[arg]);
		run_stop(&r);
	}
	target_stop(&t);
}

static void fields_of_the_kernels_types(void **state)
{
	uint32_t pid = 0, tgid = 0, untouched = 7;

	(void)state;
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		skip();
	assert_int_equal(btf_kernel_field("task_struct", "pid", &pid), 0);
	assert_int_equal(btf_kernel_field("task_struct", "tgid", &tgid), 0);
	assert_int_equal(tgid, pid + 4); /* they are declared one after the other */
	assert_int_equal(btf_kernel_field("task_struct", "nothing_like_it", &untouched), -ENOENT);
	assert_int_equal(btf_kernel_field("no_such_struct", "pid", &untouched), -ENOENT);
	assert_int_equal(untouched, 7);
}

static void a_refused_program_is_logged_whole(void **state)
{
	const struct bpf_insn returns_nothing[] = {{.code = BPF_JMP | BPF_EXIT}};
	const struct kernel_program k = {.type = BPF_PROG_TYPE_KPROBE,
					 .name = "refused",
					 .insns = returns_nothing,
					 .count = 1};
	const struct unit u = {.site_count = 3};
	struct buf out = BUF_INIT;

	(void)state;
	SKIP_WITHOUT_ROOT();
	log_program(&out, k, &u, -EACCES);
	assert_non_null(strstr(out.ptr, "refused: 1 instruction, 3 sites: Permission denied\n"));
	assert_non_null(strstr(out.ptr, "    R0 !read_ok\n"));
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(works_without_uprobe_multi),
		cmocka_unit_test(the_environment_takes_features_away),
		cmocka_unit_test(nothing_is_left_after_kill),
		cmocka_unit_test(follows_forks),
		cmocka_unit_test(dangerous_sites_are_refused),
		cmocka_unit_test(dangerous_sites_are_left_out_when_others_remain),
		cmocka_unit_test(many_dangerous_sites_make_few_warnings),
		cmocka_unit_test(a_refused_program_is_logged_whole),
		cmocka_unit_test(unreadable_arguments_matter_only_when_used),
		cmocka_unit_test(fields_of_the_kernels_types),
	};

	return cmocka_run_group_tests_name("bpf_attach", tests, NULL, NULL);
}
