/* Tracepoint formats: the cases of tests/cases/tracefs.txt, a tracefs made of plain files, and the
 * real one of this machine. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "help/case_suite.h"

#include "find/tracefs.h"

static void dump_event(const struct trace_event *event, struct buf *out)
{
	buf_printf(out, "%.*s %u\n", STR_FMT(event->name), event->id);
	for (unsigned i = 0; i < event->field_count; i++) {
		const struct trace_field *f = &event->fields[i];

		buf_printf(out, "%.*s|%.*s|%u+%u%s%s%s%s\n", STR_FMT(f->name), STR_FMT(f->c_type),
			   f->offset, f->size, f->is_signed ? " signed" : "",
			   f->is_array ? " array" : "", f->is_data_loc ? " data_loc" : "",
			   f->is_rel_loc ? " rel_loc" : "");
	}
}

static void run_case(void **state)
{
	const struct test_case *t = *state;
	struct arena arena = ARENA_INIT;
	struct diag d = DIAG_INIT;
	struct buf event_text = BUF_INIT;
	struct trace_event event;

	if (!trace_event_parse(&arena, case_text(t, "format"), &event, &d))
		dump_event(&event, &event_text);
	case_expect(t, "event", buf_as_str(&event_text));
	case_expect_messages(t, &d);
	buf_free(&event_text);
	diag_free(&d);
	arena_free(&arena);
}

/* A directory that stands for tracefs, with two categories. */
static void make_file(const char *dir, const char *event, const char *file, const char *text)
{
	char command[512];
	FILE *out;

	snprintf(command, sizeof(command), "mkdir -p '%s/events/%s'", dir, event);
	assert_int_equal(system(command), 0);
	snprintf(command, sizeof(command), "%s/events/%s/%s", dir, event, file);
	out = fopen(command, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static int make_tracefs(void **state)
{
	static char dir[] = "/tmp/nopal-tracefs-XXXXXX";

	memcpy(dir, "/tmp/nopal-tracefs-XXXXXX", sizeof(dir));
	if (!mkdtemp(dir))
		return -1;
	make_file(dir, "net/recv", "format",
		  "name: recv\nID: 3\n\tfield:int len;\toffset:8;\tsize:4;\tsigned:1;\n");
	make_file(dir, "net/recv", "enable", "0");
	make_file(dir, "net/send", "format", "name: send\nID: 4\n");
	make_file(dir, "net/send", "enable", "0");
	make_file(dir, "net", "enable", "0");
	make_file(dir, "disk/write", "format", "junk\n");
	make_file(dir, "disk/write", "enable", "0");
	make_file(dir, "ftrace/function", "format", "name: function\nID: 1\n");
	setenv("NOPAL_TRACEFS", dir, 1);
	*state = dir;
	return 0;
}

static int remove_tracefs(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", (char *)*state);
	unsetenv("NOPAL_TRACEFS");
	return system(command);
}

/* The tag of the last message that read_event() met. */
static const char *refused_with;

static int read_event(const char *category, const char *name, struct buf *out)
{
	struct arena arena = ARENA_INIT;
	struct trace_event event;
	struct diag d = DIAG_INIT;
	int err = trace_event_read(&arena, str_from(category), str_from(name), &event, &d);

	buf_clear(out);
	refused_with = d.last ? d.last->tag : NULL;
	if (err)
		diag_render(&d, out);
	else
		dump_event(&event, out);
	diag_free(&d);
	arena_free(&arena);
	return err;
}

static void events_are_read_by_name(void **state)
{
	struct buf out = BUF_INIT;

	(void)state;
	assert_int_equal(read_event("net", "recv", &out), 0);
	assert_string_equal(out.ptr, "recv 3\nlen|int|8+4 signed\n");
	assert_int_equal(read_event("net", "resv", &out), -ENOENT);
	assert_string_equal(refused_with, "unknown-tracepoint");
	assert_string_equal(out.ptr,
			    "error: unknown tracepoint 'net:resv'\nhint: did you mean 'recv'?\n");
	assert_int_equal(read_event("nett", "recv", &out), -ENOENT);
	assert_string_equal(out.ptr,
			    "error: unknown tracepoint 'nett:recv'\nhint: did you mean 'net'?\n");
	assert_int_equal(read_event("disk", "write", &out), -EINVAL);
	buf_free(&out);
}

static void names_cannot_leave_the_directory(void **state)
{
	static const char *const bad[] = {"..", ".", "", "a/b", "../net", "/etc", "net/recv/.."};
	struct buf out = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(read_event(bad[i], "recv", &out), -EINVAL);
		assert_string_equal(refused_with, "bad-tracepoint");
		assert_int_equal(read_event("net", bad[i], &out), -EINVAL);
	}
	assert_int_equal(read_event("\033[2J", "x", &out), -ENOENT);
	assert_string_equal(out.ptr, "error: unknown tracepoint '\\x1b[2J:x'\n");
	buf_free(&out);
}

static void a_pipe_in_place_of_a_format_does_not_hang(void **state)
{
	char path[256];
	struct buf out = BUF_INIT;

	snprintf(path, sizeof(path), "%s/events/net/send/format", (char *)*state);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(read_event("net", "send", &out), -EINVAL);
	buf_free(&out);
}

static int add_name(void *arg, struct str category, struct str name)
{
	buf_printf(arg, "%.*s:%.*s ", STR_FMT(category), STR_FMT(name));
	return str_eq(name, STR("stop")) ? 7 : 0;
}

static void check_match(const char *category, const char *name, const char *want)
{
	struct buf out = BUF_INIT;

	buf_text(&out, "");
	assert_int_equal(
		trace_events_each(str_from(category), str_from(name), add_name, &out, NULL), 0);
	assert_string_equal(out.ptr, want);
	buf_free(&out);
}

static void events_are_matched_in_order(void **state)
{
	(void)state;
	check_match("net", "recv", "net:recv ");
	check_match("net", "*", "net:recv net:send ");
	check_match("*", "*", "disk:write net:recv net:send ");
	check_match("n*", "?e?v", "net:recv ");
	check_match("none", "*", "");
	check_match("none*", "*", "");
	assert_int_equal(trace_events_each(STR("../*"), STR("*"), add_name, NULL, NULL), -EINVAL);
}

static void a_callback_can_end_the_search(void **state)
{
	struct buf out = BUF_INIT;

	make_file(*state, "net/stop", "enable", "0");
	assert_int_equal(trace_events_each(STR("*"), STR("*"), add_name, &out, NULL), 7);
	assert_string_equal(out.ptr, "disk:write net:recv net:send net:stop ");
	buf_free(&out);
}

/* Every event of this kernel, read and checked against its own file. */
struct real {
	unsigned events, fields;
	struct diag d;
};

static int check_real_event(void *arg, struct str category, struct str name)
{
	struct arena arena = ARENA_INIT;
	struct real *real = arg;
	struct trace_event event;
	int err = trace_event_read(&arena, category, name, &event, &real->d);

	if (err)
		return err;
	assert_true(str_eq(event.name, name));
	assert_true(event.field_count >= 4);
	for (unsigned i = 0; i < event.field_count; i++)
		assert_true(event.fields[i].c_type.len > 0);
	assert_true(str_eq(event.fields[0].name, STR("common_type")));
	real->events++;
	real->fields += event.field_count;
	arena_free(&arena);
	return 0;
}

static unsigned count_by_shell(const char *command)
{
	FILE *in = popen(command, "r");
	unsigned count = 0;

	assert_non_null(in);
	assert_int_equal(fscanf(in, "%u", &count), 1);
	pclose(in);
	return count;
}

static void every_event_of_this_kernel(void **state)
{
	struct real real = {0, 0, DIAG_INIT};
	int err;

	(void)state;
	if (!tracefs_dir(NULL) || access("/sys/kernel/tracing/events", R_OK)) {
		print_message("skipped: tracefs is not readable here\n");
		skip();
	}
	err = trace_events_each(STR("*"), STR("*"), check_real_event, &real, &real.d);
	if (err)
		print_error("%.*s\n", STR_FMT(real.d.first->text));
	assert_int_equal(err, 0);
	assert_int_equal(real.events,
			 count_by_shell("ls -d /sys/kernel/tracing/events/*/*/enable | wc -l"));
	assert_int_equal(
		real.fields,
		count_by_shell("ls -d /sys/kernel/tracing/events/*/*/enable |"
			       " sed 's/enable$/format/' | xargs cat | grep -c '^.field:'"));
	diag_free(&real.d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(events_are_read_by_name, make_tracefs,
						remove_tracefs),
		cmocka_unit_test_setup_teardown(names_cannot_leave_the_directory, make_tracefs,
						remove_tracefs),
		cmocka_unit_test_setup_teardown(a_pipe_in_place_of_a_format_does_not_hang,
						make_tracefs, remove_tracefs),
		cmocka_unit_test_setup_teardown(events_are_matched_in_order, make_tracefs,
						remove_tracefs),
		cmocka_unit_test_setup_teardown(a_callback_can_end_the_search, make_tracefs,
						remove_tracefs),
		cmocka_unit_test(every_event_of_this_kernel),
	};
	struct case_suite suite = {0};

	case_suite_add(&suite, "tests/cases/tracefs.txt", "format event tags says", run_case);
	case_suite_add_tests(&suite, tests);
	return case_suite_run(&suite, "tracefs");
}
