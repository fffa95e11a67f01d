/* Code in a running process: forms of sites, threads that run meanwhile, tracers that are killed.
 * The trampolines are made by hand, and count in shared memory. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/proc.h"
#include "base/tracees.h"
#include "help/check.h"
#include "help/puppet.h"
#include "user/patch/inject.h"
#include "user/patch/map.h"
#include "user/patch/site.h"
#include "user/ptrace/threads.h"
#include "user/ptrace/tracee.h"

#define SITES	  13
#define UNREACHED 6 /* of these: sites that no form reaches */

struct target {
	struct puppet puppet;
	char names[SITES][16];
	struct inject_site sites[SITES];
	int count;
	bool is_held; /* stopped all the time while the code is put in */
};

struct tracer {
	struct inject *x;
	struct diag d;
	int fd;
	uint64_t *counts;
	uint64_t code;
};

#define SHARED_SIZE 8192

/* ---- the traced program */

static long tell(struct target *t, const char *line, const char *what)
{
	return puppet_tell(&t->puppet, line, what);
}

static void start(struct target *t, uid_t uid)
{
	const char *dir = getenv("TARGETS");
	char path[256], line[128];

	memset(t, 0, sizeof(*t));
	snprintf(path, sizeof(path), "%s/inject", dir ? dir : "build/targets");
	puppet_start(&t->puppet, path, uid);
	while (fgets(line, sizeof(line), t->puppet.from) && strcmp(line, "ready\n")) {
		unsigned long address;

		if (sscanf(line, "%15s %lx", t->names[t->count], &address) == 2)
			t->sites[t->count++].pc = address;
	}
	assert_int_equal(t->count, SITES);
}

static int stop(struct target *t)
{
	return puppet_stop(&t->puppet);
}

static struct inject_site *site(struct target *t, const char *name)
{
	for (int i = 0; i < t->count; i++)
		if (!strcmp(t->names[i], name))
			return &t->sites[i];
	fail_msg("no site '%s'", name);
	return NULL;
}

/* ---- the tracer */

static void show(struct tracer *r)
{
	struct buf text = BUF_INIT;

	diag_render(&r->d, &text);
	if (text.len)
		print_message("%s", text.ptr);
	buf_free(&text);
}

#if defined(__aarch64__)
/* A trampoline that adds 1 to the number at `counter`. */
static size_t make_trampoline(uint8_t *out, uint64_t at_address, uint64_t counter, uint64_t resume)
{
	uint32_t code[] = {
		0xd10083ff, /* sub sp, sp, #32 */
		0xa90047f0, /* stp x16, x17, [sp] */
		0xf9000bef, /* str x15, [sp, #16] */
		0x5800012f, /* ldr x15, counter */
		0xc85f7df0, /* ldxr x16, [x15] */
		0x91000610, /* add x16, x16, #1 */
		0xc8117df0, /* stxr w17, x16, [x15] */
		0x35ffffb1, /* cbnz w17, ldxr */
		0xa94047f0, /* ldp x16, x17, [sp] */
		0xf9400bef, /* ldr x15, [sp, #16] */
		0x910083ff, /* add sp, sp, #32 */
		0x14000000, /* b resume */
	};

	code[11] |= (uint32_t)((int64_t)(resume - (at_address + 44)) / 4) & 0x3ffffff;
	memcpy(out, code, sizeof(code));
	memcpy(out + sizeof(code), &counter, sizeof(counter));
	return sizeof(code) + sizeof(counter);
}
#else
/* A trampoline that adds 1 to the number at `counter`. */
static size_t make_trampoline(uint8_t *out, uint64_t at_address, uint64_t counter, uint64_t resume)
{
	static const uint8_t head[] = {0x48, 0x8d, 0x64, 0x24, 0x80, /* lea -128(%rsp), %rsp */
				       0x9c, 0x50,		     /* pushfq; push %rax */
				       0x48, 0xb8},		     /* movabs $counter, %rax */
		tail[] = {0xf0, 0x48, 0xff, 0x00,		     /* lock incq (%rax) */
			  0x58, 0x9d,				     /* pop %rax; popfq */
			  0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0,     /* lea 128(%rsp), %rsp */
			  0xff, 0x25, 0,    0,	  0,	0};	     /* jmp *0(%rip) */
	uint8_t *at = out;

	(void)at_address;
	memcpy(at, head, sizeof(head));
	at += sizeof(head);
	memcpy(at, &counter, 8);
	at += 8;
	memcpy(at, tail, sizeof(tail));
	at += sizeof(tail);
	memcpy(at, &resume, 8);
	return (size_t)(at + 8 - out);
}
#endif

struct attaching {
	struct tracer *r;
	struct target *t;
};

static int put_in(void *arg)
{
	struct tracer *r = ((struct attaching *)arg)->r;
	struct target *t = ((struct attaching *)arg)->t;
	uint8_t code[64];
	int err = inject_map(r->x, r->fd, SHARED_SIZE, &r->d);

	for (int i = 0; i < t->count && !err; i++) {
		struct inject_site *s = &t->sites[i];
		size_t len;

		s->body = r->code + 64 * (uint64_t)i;
		len = make_trampoline(code, s->body, inject_world(r->x)->shared + 8 * (uint64_t)i,
				      s->resume);
		err = inject_write(r->x, s->body, code, len);
	}
	return err ? err : inject_enable(r->x, t->sites, (size_t)t->count, &r->d);
}

static int attach(struct tracer *r, struct target *t)
{
	struct attaching a = {r, t};
	int err;

	*r = (struct tracer){.d = DIAG_INIT};
	r->fd = memfd_create("counts", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(r->fd, SHARED_SIZE), 0);
	r->counts = mmap(NULL, SHARED_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	err = inject_open(t->puppet.pid, &r->x, &r->d);
	if (err)
		return err;
	for (int i = 0; i < t->count; i++)
		assert_int_equal(inject_plan(r->x, &t->sites[i]), 0);
	assert_int_equal(inject_reserve(r->x, t->sites[0].pc, 4096, &r->code), 0);
	return t->is_held ? inject_held(r->x, put_in, &a, &r->d) : put_in(&a);
}

static int detach(struct tracer *r, struct target *t)
{
	return inject_disable(r->x, t->sites, (size_t)t->count, &r->d);
}

static void end(struct tracer *r)
{
	show(r);
	inject_close(r->x);
	munmap(r->counts, SHARED_SIZE);
	close(r->fd);
	diag_free(&r->d);
}

/* ---- tests */

static int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* Why a site cannot be patched. */
#if defined(__aarch64__)
#define NO_FORM "the instruction is not a nop"
#else
#define NO_FORM "1-byte nop"
#endif

static const struct {
	const char *name;
	enum inject_form form;
} expected[] = {
/* clang-format off */
#if defined(__aarch64__)
	{"pun",	     INJECT_BRANCH},
	{"nop5",     INJECT_BRANCH},
	{"nop10",    INJECT_BRANCH},
	{"jump",     INJECT_BRANCH},
	{"none",     INJECT_NONE},
	{"kernel5",  INJECT_BRANCH},
	{"padded",   INJECT_BRANCH},
	{"relative", INJECT_NONE},
	{"branch",   INJECT_NONE},
	{"call",     INJECT_BRANCH},
	{"later",    INJECT_BRANCH},
	{"entered",  INJECT_NONE},
#else
	{"pun",	     INJECT_PUN},
	{"nop5",     INJECT_NOP5},
	{"nop10",    INJECT_NOP10},
	{"jump",     INJECT_RETARGET},
	{"none",     INJECT_NONE},
	{"kernel5",  INJECT_NOP5},
	{"padded",   INJECT_PADDED},
	{"relative", INJECT_NONE},
	{"branch",   INJECT_NONE},
	{"call",     INJECT_RETARGET},
	{"later",    INJECT_NONE},
	{"entered",  INJECT_NONE},
#endif
	{"table",    INJECT_NONE},
	/* clang-format on */
};

static void each_form_counts_every_call(void **state)
{
	struct target t;
	struct tracer r;
	char line[64];

	(void)state;
	start(&t, 0);
	assert_int_equal(attach(&r, &t), 0);
	for (size_t i = 0; i < SITES; i++) {
		struct inject_site *s = site(&t, expected[i].name);

		assert_int_equal(s->form, expected[i].form);
		assert_true(s->form || strstr(s->why, NO_FORM));
		snprintf(line, sizeof(line), "run %s 1000", expected[i].name);
		tell(&t, line, "");
		assert_int_equal(r.counts[s - t.sites], s->form ? 1000 : 0);
		assert_int_equal(inject_look(r.x, s), s->form ? SITE_ON : SITE_GONE);
	}
	print_message("stopped: all %llu us, one %llu us\n",
		      (unsigned long long)inject_pause(r.x)->all_ns / 1000,
		      (unsigned long long)inject_pause(r.x)->one_ns / 1000);
	assert_int_equal(detach(&r, &t), 0);
	for (size_t i = 0; i < SITES; i++) {
		snprintf(line, sizeof(line), "run %s 1000", expected[i].name);
		tell(&t, line, "");
		assert_int_equal(r.counts[i], t.sites[i].form ? 1000 : 0);
	}
	end(&r);
	assert_int_equal(stop(&t), 0);
}

/* One that waits for its tracer anyway is stopped once, and has no descriptor more afterwards. */
static void all_may_be_done_in_one_stop(void **state)
{
	struct target t;
	struct tracer r;
	char path[64];
	int before, after;

	(void)state;
	start(&t, 0);
	tell(&t, "hot 2", "");
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)t.puppet.pid);
	before = count_entries(path);
	t.is_held = true;
	assert_int_equal(attach(&r, &t), 0);
	after = count_entries(path);
	assert_int_equal(after, before);
	assert_int_equal(inject_pause(r.x)->threads, 3);
	tell(&t, "run pun 1000", "");
	assert_true(r.counts[site(&t, "pun") - t.sites] >= 1000);
	while (!r.counts[site(&t, "jump") - t.sites]) /* its threads go on */
		usleep(1000);
	assert_true(tell(&t, "quiet", "calls") > 0);
	assert_int_equal(detach(&r, &t), 0);
	end(&r);
	assert_int_equal(stop(&t), 0);
}

static void threads_run_while_sites_are_switched(void **state)
{
	struct target t;
	struct tracer r;
	long calls;

	(void)state;
	start(&t, 0);
	tell(&t, "hot 3", "");
	assert_int_equal(attach(&r, &t), 0);
	for (unsigned n = 0; n < repetitions(5, 20); n++) {
		assert_int_equal(detach(&r, &t), 0);
		assert_int_equal(inject_enable(r.x, t.sites, (size_t)t.count, &r.d), 0);
	}
	calls = tell(&t, "quiet", "calls");
	assert_true(calls > 0);
	for (int i = 0; i < t.count; i++)
		assert_true(r.counts[i] <= (uint64_t)calls);
	assert_true(r.counts[site(&t, "jump") - t.sites] > 0);
	detach(&r, &t);
	end(&r);
	assert_int_equal(stop(&t), 0);
}

static void threads_that_are_made_meanwhile_are_stopped_too(void **state)
{
	struct target t;
	struct tracer r;

	(void)state;
	start(&t, 0);
	tell(&t, "storm 4", "");
	assert_int_equal(attach(&r, &t), 0);
	for (unsigned n = 0; n < 50; n++) {
		assert_int_equal(detach(&r, &t), 0);
		assert_int_equal(inject_enable(r.x, t.sites, (size_t)t.count, &r.d), 0);
	}
	tell(&t, "quiet", "calls");
	end(&r);
	assert_int_equal(stop(&t), 0);
}

static void children_of_vfork_are_stopped_too(void **state)
{
	struct target t;
	struct tracer r;

	(void)state;
	start(&t, 0);
	tell(&t, "vforked 2", "");
	usleep(100000);
	assert_int_equal(attach(&r, &t), 0);
	assert_int_equal(inject_pause(r.x)->threads, 5);
	for (unsigned n = 0; n < 20; n++) {
		assert_int_equal(detach(&r, &t), 0);
		assert_int_equal(inject_enable(r.x, t.sites, (size_t)t.count, &r.d), 0);
	}
	assert_true(tell(&t, "quiet", "calls") > 0);
	assert_true(r.counts[site(&t, "jump") - t.sites] > 0);
	detach(&r, &t);
	end(&r);
	assert_int_equal(stop(&t), 0);
}

static void children_of_vfork_run_while_bytes_change(void **state)
{
	const char *text = getenv("CHANGES");
	unsigned changes = text ? (unsigned)atoi(text) : 300;
	struct target t;
	struct tracer r;

	(void)state;
	start(&t, 0);
	tell(&t, "vforks 3", "");
	assert_int_equal(attach(&r, &t), 0);
	for (unsigned n = 0; n < changes; n++) {
		assert_int_equal(detach(&r, &t), 0);
		assert_int_equal(inject_enable(r.x, t.sites, (size_t)t.count, &r.d), 0);
	}
	assert_true(tell(&t, "quiet", "calls") > 0);
	assert_true(r.counts[site(&t, "jump") - t.sites] > 0);
	detach(&r, &t);
	end(&r);
	assert_int_equal(stop(&t), 0);
}

static void ignore(int sig)
{
	(void)sig;
}

/* A child that gets a signal every 50 us. */
static pid_t start_signalled(void)
{
	struct itimerspec every = {{0, 50000}, {0, 50000}};
	pid_t child = fork();
	timer_t timer;

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGALRM, ignore);
	if (timer_create(CLOCK_MONOTONIC, NULL, &timer) || timer_settime(timer, 0, &every, NULL))
		_exit(1);
	for (;;)
		;
}

/* A signal that comes when a thread is asked to stop makes the kernel forget that it was asked. */
static void a_thread_that_gets_signals_all_the_time_stops(void **state)
{
	struct thread t = {.tid = start_signalled()};

	(void)state;
	for (unsigned i = 0; i < repetitions(500, 3000); i++) {
		assert_int_equal(thread_stop(&t, false), 0);
		assert_int_equal(thread_wait(&t, UINT64_MAX), 0);
		t.is_stopped = true;
		thread_resume(&t);
	}
	kill(t.tid, SIGKILL);
	assert_int_equal(waitpid(t.tid, NULL, 0), t.tid);
}

/* Start the target, and let it sleep in a call. */
static void start_asleep(struct target *t, const char *how)
{
	char line[64];

	start(t, 0);
	fprintf(t->puppet.to, "%s\n", how);
	fflush(t->puppet.to);
	assert_non_null(fgets(line, sizeof(line), t->puppet.from)); /* waiting */
	usleep(50000);
}

static void check_sleep(const char *how)
{
	struct target t;
	struct tracer r;

	start_asleep(&t, how);
	assert_int_equal(attach(&r, &t), 0);
	assert_int_equal(puppet_answer(&t.puppet, "result"), 0);
	detach(&r, &t);
	end(&r);
	assert_int_equal(stop(&t), 0);
}

static void a_call_that_sleeps_is_not_cut_short(void **state)
{
	(void)state;
	check_sleep("wait");
}

/* It began again with its whole limit after each stop, and never ended. */
static void a_limit_is_kept_through_many_stops(void **state)
{
	struct target t;
	struct pollfd answer = {.events = POLLIN};
	int stops = 0;

	(void)state;
	start_asleep(&t, "wait");
	answer.fd = fileno(t.puppet.from);
	while (stops++ < 1000 && !poll(&answer, 1, 20)) {
		struct thread thread = {.tid = t.puppet.pid};

		assert_int_equal(thread_stop(&thread, false), 0);
		assert_int_equal(thread_wait(&thread, UINT64_MAX), 0);
		thread.is_stopped = true;
		thread_resume(&thread);
	}
	print_message("%d stops\n", stops);
	assert_in_range(stops, 1, 999);
	assert_int_equal(puppet_answer(&t.puppet, "result"), 0);
	assert_int_equal(stop(&t), 0);
}

/* A tracer that is killed while it has stopped the thread: the call ended with EINTR. */
static void a_killed_tracer_cuts_no_call_short(void **state)
{
	struct target t;
	int stopped[2];
	char byte;
	pid_t tracer;

	(void)state;
	start_asleep(&t, "wait");
	assert_int_equal(pipe2(stopped, O_CLOEXEC), 0);
	tracer = fork();
	if (!tracer) {
		struct thread thread = {.tid = t.puppet.pid};

		if (!thread_stop(&thread, false) && !thread_wait(&thread, UINT64_MAX) &&
		    write(stopped[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(stopped[1]);
	assert_int_equal(read(stopped[0], &byte, 1), 1);
	kill(tracer, SIGKILL);
	waitpid(tracer, NULL, 0);
	close(stopped[0]);
	assert_int_equal(puppet_answer(&t.puppet, "result"), 0);
	assert_int_equal(stop(&t), 0);
}

static void a_signal_that_comes_during_a_stop_ends_the_call(void **state)
{
	struct target t;
	struct thread thread;

	(void)state;
	start_asleep(&t, "wait");
	thread = (struct thread){.tid = t.puppet.pid};
	assert_int_equal(thread_stop(&thread, false), 0);
	assert_int_equal(thread_wait(&thread, UINT64_MAX), 0);
	assert_int_equal(kill(thread.tid, SIGUSR1), 0);
	thread_resume(&thread);
	assert_int_equal(puppet_answer(&t.puppet, "result"), -EINTR);
	assert_int_equal(stop(&t), 0);
}

static void io_uring_enter_was_cut_short(void **state)
{
	(void)state;
	check_sleep("ring");
}

static void children_inherit_the_jumps(void **state)
{
	struct target t;
	struct tracer r;

	(void)state;
	start(&t, 0);
	assert_int_equal(attach(&r, &t), 0);
	tell(&t, "fork pun 100", "");
	tell(&t, "fork jump 100", "");
	assert_int_equal(r.counts[site(&t, "pun") - t.sites], 100);
	assert_int_equal(r.counts[site(&t, "jump") - t.sites], 100);
	detach(&r, &t);
	end(&r);
	assert_int_equal(stop(&t), 0);
}

static const char *first_tag(struct tracer *r)
{
	return r->d.first ? r->d.first->tag : "";
}

#define ATTACHED UINT_MAX /* not after a time, but when it has attached */

/* A tracer that dies without a word, at some moment of its attaching or after it. */
static void kill_a_tracer_after(struct target *t, useconds_t usecs)
{
	const char *slow = getenv("SLOW"); /* this many times slower: an emulated machine */
	int attached[2];
	char byte;
	pid_t tracer;

	assert_int_equal(pipe2(attached, O_CLOEXEC), 0);
	tracer = fork();
	if (!tracer) {
		struct tracer r;

		setpgid(0, 0);
		if (!attach(&r, t) && write(attached[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(attached[1]);
	if (usecs == ATTACHED)
		assert_int_equal(read(attached[0], &byte, 1), 1);
	else
		usleep(usecs * (slow ? (useconds_t)atoi(slow) : 1));
	close(attached[0]);
	kill(tracer, SIGKILL);
	waitpid(tracer, NULL, 0);
}

static void kill_tracers_often(bool with_signals, bool is_held)
{
	struct target t;
	struct tracer r;
	struct diag d = DIAG_INIT;

	start(&t, 0);
	t.is_held = is_held;
	if (with_signals)
		tell(&t, "signals", "");
	tell(&t, "hot 2", "");
	for (unsigned i = 0; i < repetitions(20, 60); i++) {
		kill_a_tracer_after(&t, i < 50 ? 100 * i : ATTACHED);
		if (i % 3 == 2) /* two find what those before them have left */
			inject_clean(t.puppet.pid, NULL);
	}
	assert_true(tell(&t, "quiet", "calls") > 0);
	/* A word on a stack may keep memory for some time. */
	for (unsigned i = 0; i < 50 && inject_clean(t.puppet.pid, &d) != -ENOENT; i++)
		usleep(1000);
	diag_free(&d);
	assert_int_equal(attach(&r, &t), 0);
	tell(&t, "run pun 10", "");
	assert_int_equal(r.counts[site(&t, "pun") - t.sites], 10);
	detach(&r, &t);
	end(&r);
	assert_int_equal(stop(&t), 0);
}

static void a_tracer_may_be_killed_at_any_moment(void **state)
{
	(void)state;
	kill_tracers_often(false, false);
}

/* A thread that went on alone may be in a handler, which returns to where it went on. */
static void a_tracer_may_be_killed_while_signals_are_handled(void **state)
{
	(void)state;
	kill_tracers_often(true, false);
}

static void a_tracer_may_be_killed_while_it_keeps_all_threads_stopped(void **state)
{
	(void)state;
	kill_tracers_often(false, true);
	kill_tracers_often(true, true);
}

/* With none left there is no pair of sockets, with two the message comes without the memory. */
static void a_process_without_a_free_descriptor_is_at_its_limit(void **state)
{
	static const struct rlimit enough = {64, 1024};
	unsigned refused = 0;
	struct target t;
	struct tracer r;

	(void)state;
	start(&t, 0);
	for (rlim_t most = 0; most < 64; most++) {
		struct rlimit limit = {most, 1024};
		uint64_t before = process_count_files(t.puppet.pid);
		int err;

		assert_int_equal(prlimit(t.puppet.pid, RLIMIT_NOFILE, &limit, NULL), 0);
		err = attach(&r, &t);
		assert_int_equal(process_count_files(t.puppet.pid), before);
		if (!err)
			break;
		assert_int_equal(err, -ENOSPC);
		assert_string_equal(first_tag(&r), "user-mode-limit");
		end(&r);
		refused++;
	}
	assert_in_range(refused, 3, 63);
	assert_int_equal(prlimit(t.puppet.pid, RLIMIT_NOFILE, &enough, NULL), 0);
	detach(&r, &t);
	end(&r);
	assert_int_equal(stop(&t), 0);
}

static void what_a_killed_tracer_left_is_cleaned(void **state)
{
	struct diag d = DIAG_INIT;
	struct target t;
	struct tracer r;

	(void)state;
	start(&t, 0);
	assert_int_equal(inject_clean(t.puppet.pid, &d), -ENOENT);
	assert_string_equal(d.first->tag, "nothing-to-clean");
	diag_free(&d);
	kill_a_tracer_after(&t, ATTACHED);
	assert_int_equal(inject_clean(t.puppet.pid, NULL), SITES - UNREACHED);
	assert_int_equal(attach(&r, &t), 0);
	assert_int_equal(inject_clean(t.puppet.pid, &r.d), -EBUSY);
	assert_string_equal(first_tag(&r), "still-traced");
	detach(&r, &t);
	end(&r);
	assert_int_equal(stop(&t), 0);
}

static void the_process_may_be_killed(void **state)
{
	struct target t;
	struct tracer r;

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		pid_t killer;

		start(&t, 0);
		tell(&t, "hot 2", "");
		killer = fork();
		if (!killer) {
			usleep(i * 100);
			kill(t.puppet.pid, SIGKILL);
			_exit(0);
		}
		if (!attach(&r, &t))
			detach(&r, &t);
		waitpid(killer, NULL, 0);
		assert_true(WIFSIGNALED(stop(&t)));
		inject_close(r.x);
		munmap(r.counts, SHARED_SIZE);
		close(r.fd);
		diag_free(&r.d);
	}
}

static int wait_for_killed(void *arg)
{
	const struct target *t = arg;
	struct threads all = {.pid = t->puppet.pid};
	int asked = threads_stop_new(&all, all.pid), err;

	kill(all.pid, SIGKILL);
	err = asked == 3 ? thread_wait(&all.all[0], UINT64_MAX) : asked;
	threads_resume(&all);
	return err;
}

/* A main thread whose end the kernel did not report was waited for, ten seconds long. */
static void the_process_may_be_killed_while_its_threads_are_awaited(void **state)
{
	struct target t;

	(void)state;
	start(&t, 0);
	tell(&t, "hot 2", "");
	assert_int_equal(tracees_apart(wait_for_killed, &t), -ESRCH);
	assert_true(WIFSIGNALED(stop(&t)));
}

static void debugged_processes_are_left_alone(void **state)
{
	struct target t;
	struct tracer r;
	pid_t debugger;

	(void)state;
	start(&t, 0);
	debugger = fork();
	if (!debugger) {
		ptrace(PTRACE_SEIZE, t.puppet.pid, NULL, NULL);
		for (;;)
			pause();
	}
	usleep(100000);
	assert_int_equal(attach(&r, &t), -EBUSY);
	assert_string_equal(first_tag(&r), "user-mode-traced");
	kill(debugger, SIGKILL);
	waitpid(debugger, NULL, 0);
	end(&r);
	assert_int_equal(attach(&r, &t), 0);
	detach(&r, &t);
	end(&r);
	assert_int_equal(stop(&t), 0);
}

/* Both planned the same sites: when one of them ended, the other's jumps led nowhere. */
static void two_tracers_at_once_are_refused(void **state)
{
	struct target t, same;
	struct tracer r, second;

	(void)state;
	start(&t, 0);
	same = t;
	assert_int_equal(attach(&r, &t), 0);
	assert_int_equal(attach(&second, &same), -EBUSY);
	assert_string_equal(first_tag(&second), "user-mode-traced");
	end(&second);
	detach(&r, &t);
	end(&r);
	assert_int_equal(attach(&second, &same), 0);
	tell(&t, "run nop10 10", "");
	assert_int_equal(second.counts[site(&t, "nop10") - t.sites], 10);
	detach(&second, &same);
	end(&second);
	assert_int_equal(stop(&t), 0);
}

static void tracers_that_begin_at_once_leave_the_process_alive(void **state)
{
	struct target t;

	(void)state;
	start(&t, 0);
	tell(&t, "hot 2", "");
	for (unsigned turn = 0; turn < 10; turn++) {
		pid_t tracers[3];

		for (unsigned i = 0; i < 3; i++) {
			tracers[i] = fork();
			if (!tracers[i]) {
				struct tracer r;

				if (!attach(&r, &t))
					detach(&r, &t);
				_exit(0);
			}
		}
		for (unsigned i = 0; i < 3; i++)
			waitpid(tracers[i], NULL, 0);
	}
	assert_true(tell(&t, "quiet", "calls") > 0);
	assert_int_equal(stop(&t), 0);
}

static void a_process_that_cannot_be_stopped_is_left_alone(void **state)
{
	struct target t;
	struct tracer r;
	char line[64];

	(void)state;
	start(&t, 0);
	fprintf(t.puppet.to, "vfork\n");
	fflush(t.puppet.to);
	assert_non_null(fgets(line, sizeof(line), t.puppet.from)); /* waiting */
	usleep(20000);
	assert_int_equal(attach(&r, &t), -ETIMEDOUT);
	assert_string_equal(first_tag(&r), "user-mode-stop");
	puppet_answer(&t.puppet, "");
	end(&r);
	assert_int_equal(attach(&r, &t), 0);
	detach(&r, &t);
	end(&r);
	assert_int_equal(stop(&t), 0);
}

static void a_process_without_memory_is_left_alone(void **state)
{
	const struct rlimit none = {1 << 20, 1 << 20};
	struct target t;
	struct tracer r;

	(void)state;
	start(&t, 0);
	assert_int_equal(prlimit(t.puppet.pid, RLIMIT_AS, &none, NULL), 0);
	assert_int_equal(attach(&r, &t), -ENOMEM);
	assert_string_equal(first_tag(&r), "user-mode-map");
	tell(&t, "run pun 10", "");
	end(&r);
	assert_int_equal(stop(&t), 0);
}

/* A program of 86 bytes: a jump to itself. */
static void programs_of_32_bits_are_refused(void **state)
{
	static const uint32_t image[] = {
		0x464c457f, 0x00010101, 0,	    0, /* \177ELF, 32 bits, little-endian */
		0x00030002, 1,		0x08048054, 0x34,	0,  0, /* ET_EXEC, EM_386; entry;
									  phoff */
		0x00200034, 0x00000001, 0, /* sizes: 52, 32; 1 program header */
		1,	    0,		0x08048000, 0x08048000, 88, 88, 5,
		0x1000,	    /* PT_LOAD, r-x */
		0x0000feeb, /* jmp . */
	};
	char path[] = "/tmp/nopal-32.XXXXXX";
	int fd = mkstemp(path), status;
	struct inject *x = NULL;
	struct diag d = DIAG_INIT;
	pid_t child;

	(void)state;
	assert_int_equal(write(fd, image, sizeof(image)), sizeof(image));
	fchmod(fd, 0755);
	close(fd);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* it would run for ever */
		execl(path, path, NULL);
		_exit(127);
	}
	usleep(100000);
	unlink(path);
	if (waitpid(child, &status, WNOHANG)) {
		print_message("this kernel runs no 32-bit programs\n");
		skip();
	}
	assert_int_equal(inject_open(child, &x, &d), -ENOTSUP);
	assert_string_equal(d.first->tag, "user-mode-32");
	diag_free(&d);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void filters_are_suspended_by_root(void **state)
{
	struct target t;
	struct tracer r;

	(void)state;
	if (geteuid())
		skip();
	start(&t, 0);
	tell(&t, "filter", "");
	assert_int_equal(attach(&r, &t), 0);
	tell(&t, "run nop10 10", "");
	assert_int_equal(r.counts[site(&t, "nop10") - t.sites], 10);
	detach(&r, &t);
	end(&r);
	assert_int_equal(stop(&t), 0);
}

#define NOBODY 65534

/* What an ordinary user gets: the exit status of a child that is one. */
static int as_nobody(int (*fn)(struct target *t), struct target *t)
{
	pid_t child = fork();
	int status;

	if (!child) {
		if (setgid(NOBODY) || setuid(NOBODY))
			_exit(99);
		_exit(fn(t));
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int try_other(struct target *t)
{
	struct tracer r;
	int err = attach(&r, t);

	return err == -EPERM && !strcmp(first_tag(&r), "user-mode-owner") ? 0 : 1;
}

static int try_own(struct target *unused)
{
	struct target t;
	struct tracer r;
	int err;

	(void)unused;
	start(&t, 0);
	err = attach(&r, &t);
	tell(&t, "run pun 10", "");
	err = err ? 2 : r.counts[site(&t, "pun") - t.sites] != 10;
	detach(&r, &t);
	end(&r);
	return err ? err : stop(&t);
}

static int try_filtered(struct target *unused)
{
	struct target t;
	struct tracer r;
	int err;

	(void)unused;
	start(&t, 0);
	tell(&t, "filter", "");
	err = attach(&r, &t);
	err = err == -ENOTSUP && !strcmp(first_tag(&r), "user-mode-filter") ? 0 : 1;
	end(&r);
	return err ? err : stop(&t);
}

#define SCOPE "/proc/sys/kernel/yama/ptrace_scope"

/* The kernel says no to what it would allow this user, as Yama does, and the setting is `scope`.
 * Where this cannot be had, false. */
static bool be_restricted(const char *scope)
{
	const struct landlock_ruleset_attr rules = {.handled_access_fs =
							    LANDLOCK_ACCESS_FS_MAKE_BLOCK};
	long fd = syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);
	FILE *f;

	if (fd < 0 || unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", "/proc/sys/kernel", "tmpfs", 0, NULL) ||
	    mkdir("/proc/sys/kernel/yama", 0755) || !(f = fopen(SCOPE, "w")))
		return false;
	fprintf(f, "%s\n", scope);
	return !fclose(f) && !setgid(NOBODY) && !setuid(NOBODY) &&
	       !prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !syscall(SYS_landlock_restrict_self, fd, 0);
}

static int try_restricted(struct target *t, const char *scope, const char *tag, const char *text)
{
	struct buf said = BUF_INIT;
	struct diag d = DIAG_INIT;
	struct inject *x;
	int err;

	if (!be_restricted(scope))
		return 77;
	err = inject_open(t->puppet.pid, &x, &d);
	diag_render(&d, &said);
	buf_char(&said, '\0');
	print_message("%s", said.ptr);
	return err == -EPERM && !strcmp(d.first->tag, tag) && strstr(said.ptr, text) ? 0 : 1;
}

static void a_kernel_that_forbids_to_debug_is_named(void **state)
{
	static const struct {
		const char *scope, *tag, *text;
	} cases[] = {
		{"0", "user-mode-denied", "in user mode: "},
		{"1", "user-mode-scope",
		 "kernel.yama.ptrace_scope is 1, so the kernel lets only its ancestors debug it\n"
		 "hint: start it with -c, or run nopal as root\n"},
		{"2", "user-mode-scope",
		 "is 2, so the kernel lets only root debug it\nhint: run nopal"},
		{"3", "user-mode-scope",
		 "is 3, so the kernel lets no process debug it\nhint: root can"},
	};
	struct target t;

	(void)state;
	if (geteuid())
		skip();
	start(&t, NOBODY);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		pid_t child = fork();
		int status;

		if (!child)
			_exit(try_restricted(&t, cases[i].scope, cases[i].tag, cases[i].text));
		waitpid(child, &status, 0);
		if (WEXITSTATUS(status) == 77) {
			stop(&t);
			skip();
		}
		assert_int_equal(status, 0);
	}
	assert_int_equal(stop(&t), 0);
}

static void ordinary_users_trace_their_own_processes(void **state)
{
	struct target t;

	(void)state;
	if (geteuid())
		skip();
	start(&t, 0);
	assert_int_equal(as_nobody(try_other, &t), 0);
	assert_int_equal(stop(&t), 0);
	assert_int_equal(as_nobody(try_own, NULL), 0);
	assert_int_equal(as_nobody(try_filtered, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form_counts_every_call),
		cmocka_unit_test(all_may_be_done_in_one_stop),
		cmocka_unit_test(threads_run_while_sites_are_switched),
		cmocka_unit_test(threads_that_are_made_meanwhile_are_stopped_too),
		cmocka_unit_test(children_of_vfork_are_stopped_too),
		cmocka_unit_test(children_of_vfork_run_while_bytes_change),
		cmocka_unit_test(a_thread_that_gets_signals_all_the_time_stops),
		cmocka_unit_test(a_call_that_sleeps_is_not_cut_short),
		cmocka_unit_test(a_limit_is_kept_through_many_stops),
		cmocka_unit_test(a_killed_tracer_cuts_no_call_short),
		cmocka_unit_test(a_signal_that_comes_during_a_stop_ends_the_call),
		cmocka_unit_test(io_uring_enter_was_cut_short),
		cmocka_unit_test(children_inherit_the_jumps),
		cmocka_unit_test(a_tracer_may_be_killed_at_any_moment),
		cmocka_unit_test(a_tracer_may_be_killed_while_signals_are_handled),
		cmocka_unit_test(a_process_without_a_free_descriptor_is_at_its_limit),
		cmocka_unit_test(a_tracer_may_be_killed_while_it_keeps_all_threads_stopped),
		cmocka_unit_test(what_a_killed_tracer_left_is_cleaned),
		cmocka_unit_test(the_process_may_be_killed),
		cmocka_unit_test(the_process_may_be_killed_while_its_threads_are_awaited),
		cmocka_unit_test(debugged_processes_are_left_alone),
		cmocka_unit_test(two_tracers_at_once_are_refused),
		cmocka_unit_test(tracers_that_begin_at_once_leave_the_process_alive),
		cmocka_unit_test(a_process_that_cannot_be_stopped_is_left_alone),
		cmocka_unit_test(a_process_without_memory_is_left_alone),
		cmocka_unit_test(programs_of_32_bits_are_refused),
		cmocka_unit_test(filters_are_suspended_by_root),
		cmocka_unit_test(a_kernel_that_forbids_to_debug_is_named),
		cmocka_unit_test(ordinary_users_trace_their_own_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
