/* Probes made at run time: loading in all orders, many of them, threads, forks, signals; nothing is
 * left behind. STRESS=1 makes it long, BRIEF=1 short. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "help/check.h"
#include "help/runtime.h"

/* ---- Loading ---- */

static void later_probes_get_an_image_of_their_own(void **state)
{
	struct nopal_provider *r = provider("later");
	struct nopal_probe *first = probe(r, "first", NULL, 0), *second;
	int fd;

	(void)state;
	load(r);
	spy_on(first);
	fd = nopal_probe_fd(first);
	second = probe(r, "second", NULL, 0);
	assert_false(nopal_probe_enabled(second));
	assert_int_equal(nopal_probe_fd(second), -1);
	load(r);
	assert_true(nopal_probe_fd(second) >= 0 && nopal_probe_fd(second) != fd);
	assert_int_equal(nopal_probe_fd(first), fd);
	assert_true(nopal_probe_enabled(first)); /* whoever traced it still does */
	assert_false(nopal_probe_enabled(second));
	load(r); /* nothing to do */
	assert_int_equal(nopal_probe_fd(first), fd);
	unload(r);
	unload(r);
	assert_false(nopal_probe_enabled(first) || nopal_probe_enabled(second));
	load(r);
	spy_on(second);
	nopal_probe_fire(second);
	assert_int_equal(spied.calls, 1);
	nopal_provider_destroy(r);
}

static void images_are_sealed(void **state)
{
	struct nopal_provider *r = provider("sealed");
	struct nopal_probe *p = probe(r, "p", NULL, 0);

	(void)state;
	load(r);
	assert_int_equal(pwrite(nopal_probe_fd(p), "x", 1, 0), -1);
	assert_int_equal(ftruncate(nopal_probe_fd(p), 0), -1);
	nopal_provider_destroy(r);
}

static unsigned files_in(const char *dir)
{
	struct dirent *entry;
	unsigned count = 0;
	DIR *d = opendir(dir);

	while (d && (entry = readdir(d)))
		count += *entry->d_name != '.';
	if (d)
		closedir(d);
	return count;
}

static void a_file_is_made_on_request_and_removed(void **state)
{
	char dir[] = "/tmp/nopal-runtime-XXXXXX";
	char longest[NOPAL_MAX_PROVIDER + 1];
	struct nopal_error e;
	struct nopal_provider *r;
	pid_t child;

	(void)state;
	memset(longest, 'x', NOPAL_MAX_PROVIDER);
	longest[NOPAL_MAX_PROVIDER] = '\0';
	assert_non_null(mkdtemp(dir));
	setenv("XDG_RUNTIME_DIR", dir, 1);
	r = nopal_provider_new(longest, NOPAL_RUNTIME_FILE, &e);
	probe(r, "p", NULL, 0);
	load(r);
	assert_int_equal(files_in(dir), 1);
	child = fork();
	if (!child) /* a child's end is not the end of the file; its own is */
		exit(0);
	waitpid(child, NULL, 0);
	assert_int_equal(files_in(dir), 1);
	unload(r);
	assert_int_equal(files_in(dir), 0);
	child = fork();
	if (!child) {
		nopal_provider_load(r, NULL);
		exit(files_in(dir) == 1 ? 7 : 8);
	}
	int status;
	waitpid(child, &status, 0);
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_int_equal(files_in(dir), 0);
	child = fork();
	if (!child) { /* killed: its file is left, until somebody makes another */
		nopal_provider_load(r, NULL);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	assert_int_equal(files_in(dir), 1);
	load(r);
	assert_int_equal(files_in(dir), 1);
	nopal_provider_destroy(r);
	assert_int_equal(files_in(dir), 0);
	chmod(dir, 0777);
	r = nopal_provider_new("filed", NOPAL_RUNTIME_FILE, &e);
	probe(r, "p", NULL, 0);
	assert_int_equal(nopal_provider_load(r, &e), NOPAL_SYSTEM); /* anybody could write there */
	nopal_provider_use_memfd(r);
	load(r);
	nopal_provider_destroy(r);
	rmdir(dir);
}

/* ---- Many ---- */

static unsigned long count_lines(const char *path)
{
	FILE *f = fopen(path, "r");
	unsigned long lines = 0;
	int c;

	while ((c = getc(f)) != EOF)
		lines += c == '\n';
	fclose(f);
	return lines;
}

static void ten_thousand_probes(void **state)
{
	enum { COUNT = 10000 };
	static const struct nopal_probe_arg arg = {NOPAL_INT32, "n"};
	struct nopal_provider *r = provider("many");
	struct nopal_probe **probes = calloc(COUNT, sizeof(struct nopal_probe *));
	char name[32];

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		snprintf(name, sizeof(name), "probe%d", i);
		probes[i] = probe(r, name, &arg, 1);
	}
	load(r);
	for (int i = 0; i < COUNT; i += 1009) {
		snprintf(name, sizeof(name), "probe%d", i);
		assert_ptr_equal(nopal_provider_find(r, name), probes[i]);
		assert_false(nopal_probe_enabled(probes[i]));
		spy_on(probes[i]);
		nopal_probe_fire(probes[i], i);
		assert_int_equal(spied.words[0], i);
	}
	free(probes);
	nopal_provider_destroy(r);
}

static void a_thousand_providers(void **state)
{
	enum { COUNT = 1000 };
	struct nopal_provider *all[COUNT];
	char name[32];
	int loaded = 0;

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		snprintf(name, sizeof(name), "provider%d", i);
		all[i] = provider(name);
		probe(all[i], "p", NULL, 0);
		loaded += !nopal_provider_load(all[i], NULL);
	}
	/* Each has a descriptor: there may be fewer of them than providers. */
	assert_true(loaded == COUNT || sysconf(_SC_OPEN_MAX) - loaded < 64);
	for (int i = 0; i < COUNT; i++)
		nopal_provider_destroy(all[i]);
}

/* Bytes of memory in use; 0 under the address sanitizer, which keeps what was freed for a while. */
static long memory(void)
{
#if defined __SANITIZE_ADDRESS__
	return 0;
#else
	FILE *f = fopen("/proc/self/statm", "r");
	long size, pages = 0;

	assert_int_equal(fscanf(f, "%ld %ld", &size, &pages), 2);
	fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
#endif
}

static void nothing_is_left_behind(void **state)
{
	unsigned long maps = 0, cycles = times(2000, 100000);
	long bytes = 0;
	unsigned fds = 0;

	(void)state;
	for (unsigned long i = 0; i < cycles; i++) {
		struct nopal_provider *r = provider("cycle");
		struct nopal_probe *p = probe(r, "p", NULL, 0);

		load(r);
		if (i % 3 == 0)
			unload(r);
		nopal_probe_fire(p);
		nopal_provider_destroy(r);
		if (i == 100) {
			maps = count_lines("/proc/self/maps");
			fds = files_in("/proc/self/fd");
		}
		if (i == cycles / 4)
			bytes = memory();
	}
	assert_in_range(memory() - bytes + (1 << 20), 0, 2 << 20);
	assert_int_equal(files_in("/proc/self/fd"), fds);
	assert_true(count_lines("/proc/self/maps") <= maps + 4);
}

/* ---- Threads, forks, signals ---- */

struct race {
	struct nopal_provider *r;
	struct nopal_probe *p;
	atomic_bool stop;
	atomic_ulong fired;
};

static void *fire_all_the_time(void *arg)
{
	struct race *race = arg;
	int i = 0;

	while (!atomic_load(&race->stop)) {
		nopal_probe_fire(race->p, i, "text");
		/* As if it had been seen enabled just before it went away. */
		((void (*)(uint64_t))spy_stub(race->p))(7);
		atomic_fetch_add_explicit(&race->fired, 1, memory_order_relaxed);
		i++;
	}
	return NULL;
}

static void firing_while_others_load(void **state)
{
	static const struct nopal_probe_arg args[] = {{NOPAL_INT32, "n"}, {NOPAL_STRING, "s"}};
	struct race race = {.r = provider("race")};
	pthread_t threads[8];
	char name[32];

	(void)state;
	race.p = probe(race.r, "p", args, 2);
	load(race.r); /* from now on its stub can be called */
	for (int i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, fire_all_the_time, &race), 0);
	for (unsigned long i = 0; i < times(300, 5000); i++) {
		unload(race.r);
		if (i % 100 == 0 && i < 1000) {
			snprintf(name, sizeof(name), "more%lu", i);
			probe(race.r, name, args, 2);
		}
		load(race.r);
	}
	while (atomic_load(&race.fired) < 1000)
		usleep(1000);
	atomic_store(&race.stop, true);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	nopal_provider_destroy(race.r);
}

static void *load_all_the_time(void *arg)
{
	struct race *race = arg;

	while (!atomic_load(&race->stop)) {
		nopal_provider_load(race->r, NULL);
		nopal_provider_unload(race->r, NULL);
	}
	return NULL;
}

static void forks_while_others_load(void **state)
{
	struct race race = {.r = provider("forked")};
	pthread_t thread;

	(void)state;
	race.p = probe(race.r, "p", NULL, 0);
	assert_int_equal(pthread_create(&thread, NULL, load_all_the_time, &race), 0);
	for (unsigned long i = 0; i < times(100, 3000); i++) {
		pid_t child = fork();
		int status;

		if (!child) { /* hangs if somebody else's lock came along */
			alarm(20);
			nopal_probe_fire(race.p);
			if (nopal_provider_load(race.r, NULL) ||
			    nopal_provider_unload(race.r, NULL))
				_exit(1);
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
	atomic_store(&race.stop, true);
	pthread_join(thread, NULL);
	nopal_provider_destroy(race.r);
}

static struct race *signalled;

static void fire_in_handler(int signal)
{
	int saved = errno;

	nopal_probe_fire(signalled->p, signal, "in a handler");
	atomic_fetch_add(&signalled->fired, 1);
	errno = saved;
}

/* Without a descriptor nothing is loaded or unloaded, what was loaded stays, and all can go. */
static void descriptors_run_out(void **state)
{
	struct nopal_provider *loaded = provider("loaded"), *not_loaded = provider("not_loaded");
	struct nopal_probe *p = probe(loaded, "p", NULL, 0), *q = probe(not_loaded, "q", NULL, 0);
	struct rlimit before, none;
	struct nopal_error e;

	(void)state;
	load(loaded);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(nopal_provider_load(not_loaded, &e), NOPAL_NO_MEMORY);
	assert_int_equal(nopal_provider_unload(loaded, &e), NOPAL_NO_MEMORY);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_true(nopal_probe_fd(p) >= 0 && nopal_probe_fd(q) == -1);
	spy_on(p);
	nopal_probe_fire(p);
	nopal_probe_fire(q);
	assert_int_equal(spied.calls, 1);
	load(not_loaded);
	unload(loaded);
	load(loaded);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	nopal_provider_destroy(loaded);
	nopal_provider_destroy(not_loaded);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void signals_may_fire(void **state)
{
	static const struct nopal_probe_arg args[] = {{NOPAL_INT32, "n"}, {NOPAL_STRING, "s"}};
	struct race race = {.r = provider("signal")};
	const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
	sigset_t alarms;

	(void)state;
	race.p = probe(race.r, "p", args, 2);
	signalled = &race;
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	signal(SIGALRM, fire_in_handler);
	setitimer(ITIMER_REAL, &often, NULL);
	while (atomic_load(&race.fired) < times(500, 20000)) {
		load(race.r);
		sigprocmask(SIG_BLOCK, &alarms, NULL); /* the jump is not written in one step */
		spy_on(race.p);
		sigprocmask(SIG_UNBLOCK, &alarms, NULL);
		unload(race.r);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_IGN); /* one may be on its way under valgrind */
	nopal_provider_destroy(race.r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(later_probes_get_an_image_of_their_own),
		cmocka_unit_test(images_are_sealed),
		cmocka_unit_test(a_file_is_made_on_request_and_removed),
		cmocka_unit_test(ten_thousand_probes),
		cmocka_unit_test(a_thousand_providers),
		cmocka_unit_test(nothing_is_left_behind),
		cmocka_unit_test(firing_while_others_load),
		cmocka_unit_test(forks_while_others_load),
		cmocka_unit_test(signals_may_fire),
		cmocka_unit_test(descriptors_run_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
