/* The library's face for reading probes, on ourselves. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include <sys/sdt.h>

#include "nopal/sites.h"
#include "nopal/trace.h"

__attribute__((noinline, used)) static void fires(int number)
{
	DTRACE_PROBE2(probestest, numbers, number, 42);
}

static void no_site_no_options_no_messages(void **state)
{
	struct nopal_trace_options small = {.size = 4},
				   both = {.size = sizeof(both), .pid = 1, .command = "true"};
	const pid_t own[] = {getpid(), getpid()};
	struct nopal_trace_options more = {
		.size = sizeof(more), .pid = 1, .pids = own, .pid_count = 2};
	struct nopal_trace_options followed = {
		.size = sizeof(followed), .follow = true, .pids = own, .pid_count = 2};
	struct nopal_sites *probes;
	struct nopal_diag *d = nopal_diag_new();
	struct nopal_trace *t = NULL;
	struct nopal_arg arg;

	(void)state;
	assert_int_equal(nopal_sites_new(&probes), 0);
	assert_int_equal(nopal_sites_find(probes, "/proc/self/exe:no:such", 0, NULL), -ENOENT);
	assert_true(nopal_sites_file(probes, NULL, NULL) < 0);
	assert_null(nopal_sites_at(probes, 0));
	assert_null(nopal_site_file(NULL));
	assert_null(nopal_site_build_id(NULL));
	assert_null(nopal_site_provider(NULL));
	assert_null(nopal_site_name(NULL));
	assert_null(nopal_site_open_path(NULL));
	assert_null(nopal_site_args(NULL));
	assert_null(nopal_site_problem(NULL));
	assert_null(nopal_site_source_file(NULL));
	assert_null(nopal_site_pattern(NULL));
	assert_null(nopal_site_arg_text(NULL, 0));
	assert_null(nopal_site_declaration(NULL));
	assert_null(nopal_site_description(NULL));
	assert_null(nopal_site_json(NULL));
	assert_int_equal(nopal_site_location(NULL) + nopal_site_base(NULL) +
				 nopal_site_semaphore(NULL) + nopal_site_offset(NULL) +
				 nopal_site_semaphore_offset(NULL) + nopal_site_source_line(NULL) +
				 nopal_site_arg_count(NULL),
			 0);
	assert_int_equal(nopal_site_arg(NULL, 0, &arg), -EINVAL);
	nopal_sites_free(probes);
	assert_int_equal(nopal_trace_open("BEGIN { }", NULL, &t, NULL), -EINVAL);
	assert_int_equal(nopal_trace_open("BEGIN { }", &small, &t, NULL), -EINVAL);
	assert_int_equal(nopal_trace_open("BEGIN { }", &both, &t, d), -EINVAL);
	assert_string_equal(nopal_diag_tag(d), "bad-options");
	assert_int_equal(nopal_trace_open("BEGIN { }", &more, &t, NULL), -EINVAL);
	assert_int_equal(nopal_trace_open("BEGIN { }", &followed, &t, NULL), -EINVAL);
	nopal_diag_free(d);
	assert_null(t);
	assert_int_equal(nopal_trace_dump("BEGIN { }", NULL, NOPAL_DUMP_TREE, NULL), -EINVAL);
	assert_int_equal(nopal_trace_dump("BEGIN { }", &small, NOPAL_DUMP_TREE, NULL), -EINVAL);
	assert_int_equal(nopal_trace_list("usdt:*", NULL, NULL, NULL, NULL), -EINVAL);
	assert_int_equal(nopal_diag_errors(NULL), 0);
	assert_string_equal(nopal_diag_text(NULL), "");
}

static int no_entry(void *arg, const struct nopal_map_entry *entry)
{
	(void)arg, (void)entry;
	return -EINVAL;
}

static void a_map_that_is_not_in_the_script(void **state)
{
	const struct nopal_trace_options options = {.size = sizeof(options)};
	struct nopal_diag *d = nopal_diag_new();
	struct nopal_trace *t;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(nopal_trace_open("BEGIN { @a = 1 }", &options, &t, d), 0);
	assert_int_equal(nopal_trace_map(t, "@b", no_entry, NULL, d), -ENOENT);
	assert_string_equal(nopal_diag_tag(d), "unknown-map");
	nopal_trace_close(t);
	nopal_diag_free(d);
}

/* Its descriptor for stops was missing without a word. */
static void a_run_that_could_not_be_stopped_was_opened(void **state)
{
	const struct nopal_trace_options options = {.size = sizeof(options), .engine = "interp"};
	struct nopal_trace *t = NULL;
	struct rlimit before, none;
	int next = dup(STDOUT_FILENO), err;

	(void)state;
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = (rlim_t)next;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	err = nopal_trace_open("BEGIN { }", &options, &t, NULL);
	setrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(err, -EMFILE);
	assert_null(t);
}

/* Maps a copy of this program, whose probes the run is about. */
static void map_copy(void)
{
	char path[] = "/tmp/nopal-probes-XXXXXX", room[65536];
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = mkstemp(path);
	ssize_t got;

	while ((got = read(from, room, sizeof(room))) > 0)
		assert_int_equal(write(to, room, (size_t)got), got);
	assert_true(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, to, 0) != MAP_FAILED);
	close(from);
	close(to);
	unlink(path);
}

/* Nothing was armed, so nothing was too late. */
static void a_run_that_was_not_attached_warned_of_images_that_were_armed_later(void **state)
{
	const struct nopal_trace_options options = {.size = sizeof(options)};
	struct nopal_diag *d = nopal_diag_new();
	struct nopal_trace *t;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(nopal_trace_open("usdt:*:probestest:* { @ = count() }", &options, &t, d),
			 0);
	nopal_diag_clear(d);
	map_copy();
	assert_int_equal(nopal_trace_finish(t, d), 0);
	assert_string_equal(nopal_diag_text(d), "");
	nopal_trace_close(t);
	nopal_diag_free(d);
}

static void a_site_and_its_arguments(void **state)
{
	struct nopal_diag *d = nopal_diag_new();
	const struct nopal_site *site;
	struct nopal_sites *probes;
	struct nopal_arg arg;
	char *text;

	(void)state;
	assert_int_equal(nopal_sites_new(&probes), 0);
	assert_int_equal(nopal_sites_find(probes, "/proc/self/exe:probestest:num*", 0, d), 1);
	assert_int_equal(nopal_sites_count(probes), 1);
	site = nopal_sites_at(probes, 0);
	assert_null(nopal_sites_at(probes, 1));
	assert_string_equal(nopal_site_file(site), "/proc/self/exe");
	assert_string_equal(nopal_site_provider(site), "probestest");
	assert_string_equal(nopal_site_name(site), "numbers");
	assert_null(nopal_site_problem(site));
	assert_true(nopal_site_offset(site) > 0);
	assert_true(nopal_site_base(site) > 0);
	assert_int_equal(nopal_site_semaphore(site), 0);
	assert_int_equal(nopal_site_semaphore_offset(site), 0);
	assert_int_equal(access(nopal_site_open_path(site), R_OK), 0);
	assert_int_equal(nopal_site_arg_count(site), 2);
	assert_int_equal(nopal_site_arg(site, 0, &arg), 0);
	assert_int_equal(arg.size, 4);
	assert_true(arg.is_signed);
	assert_int_equal(nopal_site_arg(site, 2, &arg), -ERANGE);
	text = nopal_site_pattern(site);
	assert_string_equal(text, "usdt:/proc/self/exe:probestest:numbers");
	free(text);
	text = nopal_site_json(site);
	assert_non_null(strstr(text, "\"provider\": \"probestest\", \"name\": \"numbers\""));
	free(text);
	text = nopal_site_arg_text(site, 0);
	assert_int_equal(strncmp(text, "signed 4-byte ", 14), 0);
	free(text);
	assert_int_equal(nopal_diag_errors(d), 0);
	nopal_sites_free(probes);
	nopal_diag_free(d);
}

static void collections_grow_with_each_call(void **state)
{
	struct nopal_sites *probes;
	int first, second;

	(void)state;
	assert_int_equal(nopal_sites_new(&probes), 0);
	first = nopal_sites_file(probes, "/proc/self/exe", NULL);
	second = nopal_sites_process(probes, getpid(), NULL);
	assert_true(first >= 1);
	assert_true(second >= first);
	assert_int_equal(nopal_sites_count(probes), first + second);
	assert_int_equal(nopal_sites_file(probes, "/nowhere", NULL), -ENOENT);
	assert_int_equal(nopal_sites_count(probes), first + second);
	nopal_sites_free(probes);
}

static void a_missing_probe_names_the_nearest(void **state)
{
	struct nopal_diag *d = nopal_diag_new();
	struct nopal_sites *probes;

	(void)state;
	assert_int_equal(nopal_sites_new(&probes), 0);
	assert_int_equal(nopal_sites_find(probes, "usdt:/proc/self/exe:probestest:nunbers", 0, d),
			 -ENOENT);
	assert_string_equal(nopal_diag_tag(d), "no-probe");
	assert_non_null(strstr(nopal_diag_text(d), "did you mean 'probestest:numbers'?"));
	nopal_sites_free(probes);
	nopal_diag_free(d);
}

/* What lay behind the last member of the first version may be anything in a caller's struct. */
static void options_grow_beyond_old_padding(void **state)
{
	struct first {
		size_t size;
		const char *name;
		const char *const *params;
		size_t param_count;
		pid_t pid;
		const char *command;
		enum nopal_format format;
		nopal_output_fn *output;
		void *output_arg;
		nopal_output_fn *notice;
		size_t ring_bytes;
		bool terminal, unsafe, verbose;
	};

	(void)state;
	assert_int_equal(offsetof(struct nopal_trace_options, verbose),
			 offsetof(struct first, verbose));
	assert_true(offsetof(struct nopal_trace_options, follow) >= sizeof(struct first));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_map_that_is_not_in_the_script),
		cmocka_unit_test(a_run_that_could_not_be_stopped_was_opened),
		cmocka_unit_test(
			a_run_that_was_not_attached_warned_of_images_that_were_armed_later),
		cmocka_unit_test(a_site_and_its_arguments),
		cmocka_unit_test(no_site_no_options_no_messages),
		cmocka_unit_test(collections_grow_with_each_call),
		cmocka_unit_test(a_missing_probe_names_the_nearest),
		cmocka_unit_test(options_grow_beyond_old_padding),
	};

	fires(getpid());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
