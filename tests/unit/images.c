/* The watch on mappings, by mapping. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "watch/later.h"
#include "watch/reports.h"

#define MOST_CPUS 64
#define PAGE	  4096

struct heard {
	const char *path;
	unsigned count;
	struct watch_event event;
	struct seen seen;
	unsigned new;
};

static void hear(void *arg, const struct watch_event *e)
{
	struct heard *h = arg;

	if (e->kind != PROCESS_MAPPED || e->pid != getpid() || !str_eq_text(e->path, h->path))
		return;
	h->count++;
	h->new += seen_add(&h->seen, seen_key(e));
	h->event = *e;
}

static int make_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0700);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, PAGE), 0);
	return fd;
}

static void map_and_unmap(int fd)
{
	void *at = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	munmap(at, PAGE);
}

/* Wait until the watch has something to tell, and hear it. A minute is never needed. */
static bool wait_and_hear(struct reports *w, struct heard *h)
{
	struct pollfd fds[MOST_CPUS];
	unsigned before = h->count, count = reports_fds(w, fds, MOST_CPUS);

	while (h->count == before) {
		if (poll(fds, count, 60000) <= 0)
			return false;
		assert_int_equal(reports_read(w, hear, h), 0);
	}
	return true;
}

static struct reports *open_watch(void)
{
	struct reports *w;

	if (reports_open(0, true, &w, NULL)) {
		print_message("needs perf events of all processes\n");
		skip();
	}
	return w;
}

static void a_mapping_is_told_at_once(void **state)
{
	char dir[] = "/tmp/nopal-images-XXXXXX", path[64];
	struct reports *w = open_watch();
	struct heard h = {.path = path};
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/image", dir);
	fd = make_file(path);
	map_and_unmap(fd);
	assert_true(wait_and_hear(w, &h));
	assert_int_equal(h.event.len, PAGE);
	assert_int_equal(h.event.offset, 0);
	map_and_unmap(fd);
	assert_true(wait_and_hear(w, &h));
	assert_int_equal(h.count, 2);
	assert_int_equal(h.new, 1);
	close(fd);
	unlink(path);
	rmdir(dir);
	seen_free(&h.seen);
	reports_close(w);
}

/* File systems give numbers of removed files to new ones: not all do, and not always. */
static void a_number_used_again_is_another_image(void **state)
{
	char dir[] = "/tmp/nopal-images-XXXXXX", path[64];
	struct reports *w = open_watch();
	struct heard h = {.path = path};
	ino_t inodes[2];
	struct stat st;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/image", dir);
	for (unsigned i = 0; i < 2; i++) {
		fd = make_file(path);
		assert_int_equal(fstat(fd, &st), 0);
		inodes[i] = st.st_ino;
		map_and_unmap(fd);
		assert_true(wait_and_hear(w, &h));
		close(fd);
		unlink(path);
	}
	rmdir(dir);
	assert_int_equal(h.new, 2);
	seen_free(&h.seen);
	reports_close(w);
	if (inodes[0] != inodes[1]) {
		print_message("this file system does not use numbers again at once\n");
		skip();
	}
}

/* ---- one process and its children */

#define CHILDREN 300

struct family {
	struct reports *watch;
	const char *path;
	pid_t first;
	pid_t children[CHILDREN];
	unsigned count, mapped, orphans;
	bool is_over;
};

static void hear_family(void *arg, const struct watch_event *e)
{
	struct family *f = arg;
	bool is_child = f->count && e->pid == f->children[f->count - 1];

	if (e->kind == PROCESS_FORKED && e->parent == f->first && f->count < CHILDREN)
		f->children[f->count++] = e->pid;
	f->is_over |= e->kind == PROCESS_ENDED && e->pid == f->first;
	if (e->kind != PROCESS_MAPPED || !str_eq_text(e->path, f->path))
		return;
	f->mapped++;
	f->orphans += !is_child;
}

/* One after the other, on any CPU. */
static void have_children(int fd, int go)
{
	char byte;

	assert_int_equal(read(go, &byte, 1), 1);
	for (unsigned i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();

		if (!pid) {
			map_and_unmap(fd);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	_exit(0);
}

/* For any user: what the children of a process map is heard, and never before their fork. */
static void a_family_is_told_in_order(void **state)
{
	char dir[] = "/tmp/nopal-images-XXXXXX", path[64];
	struct family f = {.path = path};
	int fd, go[2];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/image", dir);
	fd = make_file(path);
	assert_int_equal(pipe(go), 0);
	f.first = fork();
	if (!f.first)
		have_children(fd, go[0]);
	if (reports_open(f.first, false, &f.watch, NULL)) {
		kill(f.first, SIGKILL);
		print_message("needs perf events of a process\n");
		skip();
	}
	assert_int_equal(write(go[1], "g", 1), 1);
	while (!f.is_over)
		assert_int_equal(reports_read(f.watch, hear_family, &f), 0);
	waitpid(f.first, NULL, 0);
	assert_int_equal(f.count, CHILDREN);
	assert_int_equal(f.mapped, CHILDREN);
	assert_int_equal(f.orphans, 0);
	close(fd);
	unlink(path);
	rmdir(dir);
	reports_close(f.watch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mapping_is_told_at_once),
		cmocka_unit_test(a_number_used_again_is_another_image),
		cmocka_unit_test(a_family_is_told_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
