/* A process that is traced in user mode: opening it, its memory, and where it has files mapped. */
#include "user/ptrace/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/tracees.h"
#include "symbols/maps.h"

/* ---- reading and writing */

static int all_of(ssize_t done, size_t len)
{
	if (done < 0)
		return errno == EIO ? -EFAULT : -errno;
	return (size_t)done == len ? 0 : done ? -EFAULT : -ESRCH;
}

int inject_read(struct inject *x, uint64_t address, void *bytes, size_t len)
{
	return all_of(pread(x->mem_fd, bytes, len, (off_t)address), len);
}

/* In words, as ptrace(2) writes them: what was around the bytes stays. */
static int poke(const struct inject *x, uint64_t address, const uint8_t *bytes, size_t len)
{
	uint64_t end = address + len;

	for (uint64_t at = address & ~UINT64_C(7); at < end; at += sizeof(uint64_t)) {
		uint64_t from = at > address ? at : address, to = at + 8 < end ? at + 8 : end;
		uint8_t word[8];
		long value;
		int err = all_of(pread(x->mem_fd, word, sizeof(word), (off_t)at), sizeof(word));

		if (err)
			return err;
		memcpy(word + (from - at), bytes + (from - address), to - from);
		memcpy(&value, word, sizeof(value));
		if (ptrace(PTRACE_POKEDATA, x->poker, (void *)(uintptr_t)at, (void *)value))
			return errno == EIO ? -EFAULT : -errno;
	}
	return 0;
}

/* Kernels since 6.12 may leave it to the thread that traces the process by ptrace to write memory
 * that the process itself may not write (proc_mem.force_override), and may then allow
 * PTRACE_POKEDATA alone. */
int inject_write(struct inject *x, uint64_t address, const void *bytes, size_t len)
{
	int err = all_of(pwrite(x->mem_fd, bytes, len, (off_t)address), len);

	return err == -EFAULT && x->poker ? poke(x, address, bytes, len) : err;
}

int inject_write_code(struct inject *x, uint64_t address, const void *bytes, size_t len)
{
	int err = inject_write(x, address, bytes, len);
	struct late_write *late;

	if (err != -EFAULT)
		return err;
	if (array_grow(x->late, x->late_count, x->late_cap))
		return -ENOMEM;
	late = &x->late[x->late_count];
	*late = (struct late_write){.address = address, .bytes = BUF_INIT};
	buf_add(&late->bytes, bytes, len);
	x->late_count++;
	return late->bytes.failed ? -ENOMEM : 0;
}

int inject_write_late(struct inject *x)
{
	int err = 0;

	for (size_t i = 0; i < x->late_count; i++) {
		const struct late_write *late = &x->late[i];

		if (!err)
			err = inject_write(x, late->address, late->bytes.ptr, late->bytes.len);
		buf_free(&x->late[i].bytes);
	}
	x->late_count = 0;
	return err;
}

/* ---- may it be traced? */

/* A number in /proc/PID/status; -1: not known. */
static long status_number(struct str status, const char *name)
{
	uint64_t value;

	return str_to_u64(process_status_line(status, name), &value) ? -1 : (long)value;
}

/* kernel.yama.ptrace_scope: whom the kernel lets debug a process, and what helps others. */
static const struct {
	const char *who, *hint;
} scopes[] = {
	{NULL, NULL},
	{"only its ancestors", "start it with -c, or run nopal as root"},
	{"only root", "run nopal as root"},
	{"no process", "root can trace it with --kernel"},
};

/* Which of them holds; 0 where there is no such setting. */
static unsigned ptrace_scope(void)
{
	struct buf text = BUF_INIT;
	uint64_t scope = 0;

	if (file_slurp("/proc/sys/kernel/yama/ptrace_scope", 16, &text) ||
	    str_to_u64(str_trim(buf_as_str(&text)), &scope) || scope >= COUNT(scopes))
		scope = 0;
	buf_free(&text);
	return (unsigned)scope;
}

static void refuse_by_scope(pid_t pid, unsigned scope, struct diag *d)
{
	diag_error(d, -EPERM, "user-mode-scope",
		   "cannot trace process %d in user mode: kernel.yama.ptrace_scope is %u, so the "
		   "kernel lets %s debug it",
		   (int)pid, scope, scopes[scope].who);
	diag_hint(d, "%s", scopes[scope].hint);
}

/* Its memory is gone, or was that of its main thread. */
static int refuse_ended(pid_t pid, struct diag *d)
{
	struct buf text = BUF_INIT;
	bool has_others =
		!process_status(pid, &text) && status_number(buf_as_str(&text), "Threads") > 1;

	buf_free(&text);
	if (has_others)
		return diag_error(d, -ENOTSUP, "user-mode-main",
				  "cannot trace process %d in user mode: its main thread has "
				  "ended, through which its memory is reached",
				  (int)pid);
	return diag_error(d, -ESRCH, "no-process",
			  "process %d has ended, or is a thread of the kernel", (int)pid);
}

/* Another user's, or one that the kernel protects from its own user. */
static void refuse_owner(pid_t pid, uid_t shown, struct diag *d)
{
	struct buf text = BUF_INIT;
	uint64_t real = shown;
	bool is_own;

	if (!process_status(pid, &text))
		process_status_number(buf_as_str(&text), "Uid", 0, &real);
	buf_free(&text);
	is_own = real == geteuid();
	if (is_own)
		diag_error(d, -EPERM, "user-mode-dumpable",
			   "cannot trace process %d in user mode: the kernel lets only root "
			   "debug it, since its program has set-user-ID bits or capabilities, or "
			   "it has asked for that (PR_SET_DUMPABLE)",
			   (int)pid);
	else
		diag_error(d, -EPERM, "user-mode-owner",
			   "cannot trace process %d in user mode: it belongs to another user (uid "
			   "%u)",
			   (int)pid, (unsigned)real);
}

static int refuse_access(pid_t pid, int err, struct diag *d)
{
	char path[64];
	struct stat st;
	unsigned scope = ptrace_scope();

	/* Of a process that is protected from its user this file is root's, the directory is not.
	 */
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (stat(path, &st))
		return diag_error(d, -ESRCH, "no-process", "there is no process %d", (int)pid);
	if (err != -EACCES && err != -EPERM && err != -ESRCH)
		return diag_error(d, err, "user-mode-denied",
				  "cannot trace process %d in user mode: %s", (int)pid,
				  strerror(-err));
	if (!process_stat_number(pid, STAT_PROGRAM))
		return refuse_ended(pid, d);
	if (geteuid() && st.st_uid != geteuid())
		refuse_owner(pid, st.st_uid, d);
	else if (scope)
		refuse_by_scope(pid, scope, d);
	else
		diag_error(d, -EPERM, "user-mode-denied",
			   "cannot trace process %d in user mode: %s", (int)pid, strerror(-err));
	if (!scope || (geteuid() && st.st_uid != geteuid()))
		diag_hint_permission(d, -EPERM, "trace one of your own processes");
	return -EPERM;
}

/* TracerPid of a process or thread; -1: not known. */
static long tracer_of(pid_t tid)
{
	struct buf text = BUF_INIT;
	long tracer =
		process_status(tid, &text) ? -1 : status_number(buf_as_str(&text), "TracerPid");

	buf_free(&text);
	return tracer;
}

/* Only a command that we have started is, and is so from the start. */
bool process_is_held(const struct inject *x)
{
	return x->was_held && tracer_of(x->pid) == getpid();
}

pid_t process_debugger(pid_t tid)
{
	long tracer = tracer_of(tid);

	return tracer > 0 && tracer != getpid() ? (pid_t)tracer : 0;
}

/* What matters in the status of a process, or of a thread. */
struct status {
	pid_t tracer; /* 0: none */
	bool has_filter;
	bool has_shadow; /* a shadow stack */
};

/* "x86_Thread_features:\tshstk wrss " */
static bool has_shadow_stack(struct str status)
{
	struct str words = process_status_line(status, "x86_Thread_features");

	while (words.len)
		if (str_eq_text(str_cut(&words, ' '), "shstk"))
			return true;
	return false;
}

static int read_status(pid_t tid, struct status *out)
{
	struct buf text = BUF_INIT;
	int err = process_status(tid, &text);
	long tracer = err ? 0 : status_number(buf_as_str(&text), "TracerPid");

	*out = (struct status){
		.tracer = tracer > 0 ? (pid_t)tracer : 0,
		.has_filter = err ? err != -ENOENT && err != -ESRCH
				  : status_number(buf_as_str(&text), "Seccomp") > 0,
		.has_shadow = !err && has_shadow_stack(buf_as_str(&text)),
	};
	buf_free(&text);
	return err;
}

bool inject_has_filter(pid_t tid)
{
	struct status status;

	read_status(tid, &status);
	return status.has_filter;
}

/* Another tracer of ours may hold it for a moment. */
static int check_status(struct inject *x, struct diag *d)
{
	uint64_t start = clock_now();
	struct status status;
	pid_t tracer;
	int err;

	do {
		err = read_status(x->pid, &status);
		tracer = status.tracer == getpid() ? 0 : status.tracer;
	} while (threads_are_awaited(tracer ? -EBUSY : 0, start));
	x->is_filtered = status.has_filter;
	x->was_held = status.tracer && !tracer;
	if (err)
		return refuse_access(x->pid, err, d);
	if (tracer) {
		diag_error(d, -EBUSY, "user-mode-traced",
			   "cannot trace process %d in user mode: process %d is debugging it",
			   (int)x->pid, (int)tracer);
		diag_hint(d, "detach the debugger, or use --kernel");
		return -EBUSY;
	}
	if (status.has_shadow)
		return diag_error(d, -ENOTSUP, "user-mode-shadow-stack",
				  "cannot trace process %d in user mode: it has a shadow stack "
				  "(CET), which user mode does not support",
				  (int)x->pid);
	return 0;
}

/* It would die: valgrind translates our jumps with the program's code. */
static int refuse_valgrind(pid_t pid, struct diag *d)
{
	return diag_error(d, -ENOTSUP, "user-mode-valgrind",
			  "cannot trace process %d in user mode: valgrind runs it", (int)pid);
}

static int check_program(struct inject *x, struct diag *d)
{
	unsigned char ident[20] = {0};
	char path[64], name[4096] = "";
	int fd;
	bool is_64;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)x->pid);
	if (readlink(path, name, sizeof(name) - 1) > 0 && strstr(name, "/valgrind/"))
		return refuse_valgrind(x->pid, d);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : refuse_access(x->pid, -errno, d);
	is_64 = read(fd, ident, sizeof(ident)) == sizeof(ident) && ident[4] == 2;
	close(fd);
	if (is_64)
		return 0;
	return diag_error(d, -ENOTSUP, "user-mode-32",
			  "cannot trace process %d in user mode: it is a 32-bit program",
			  (int)x->pid);
}

int process_memory(pid_t pid, int access)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, access | O_CLOEXEC);
	if (fd < 0 && errno == EMFILE && file_raise_limit())
		fd = open(path, access | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_memory(struct inject *x, struct diag *d)
{
	int err;

	x->mem_fd = process_memory(x->pid, O_RDWR);
	if (x->mem_fd < 0)
		return refuse_access(x->pid, x->mem_fd, d);
	err = space_read(&x->space, x->pid);
	return err ? refuse_access(x->pid, err, d) : 0;
}

static struct inject *new_process(pid_t pid)
{
	struct inject *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->pid = pid;
	x->mem_fd = -1;
	x->dd = 0xf0;
	return x;
}

int process_look(pid_t pid, struct inject **out)
{
	struct inject *x = new_process(pid);
	int fd;

	if (!x)
		return -ENOMEM;
	fd = x->mem_fd = process_memory(pid, O_RDONLY);
	if (fd >= 0)
		*out = x;
	else
		process_close(x);
	return fd < 0 ? fd : 0;
}

int process_open(pid_t pid, struct inject **out, struct diag *d)
{
	struct inject *x = new_process(pid);
	int err;

	if (!x)
		return -ENOMEM;
	err = check_status(x, d);
	if (!err)
		err = check_program(x, d);
	if (!err)
		err = open_memory(x, d);
	if (err)
		process_close(x);
	else
		*out = x;
	return err;
}

void process_close(struct inject *x)
{
	if (!x)
		return;
	if (x->mem_fd >= 0)
		close(x->mem_fd);
	space_free(&x->space);
	free(x->claims);
	for (size_t i = 0; i < x->late_count; i++)
		buf_free(&x->late[i].bytes);
	free(x->late);
	jumps_free(x);
	free(x);
}

void inject_use_beat(struct inject *x, void (*beat)(void *arg), void *arg)
{
	x->beat = beat;
	x->beat_arg = arg;
}

void process_beat(const struct inject *x)
{
	if (x->beat)
		x->beat(x->beat_arg);
}

/* Of threads that sleep in the kernel, one may have made another since. */
static int stop_made(struct threads *held)
{
	for (size_t i = 0; i < held->count; i++)
		if (held->all[i].is_asleep)
			return threads_stop_others(held);
	return 0;
}

/* What inject_held() has stopped. */
static int lend_held(struct threads *held, struct threads *out)
{
	int err = stop_made(held);

	*out = (struct threads){.pid = held->pid, .is_held = true};
	if (!err)
		err = array_reserve(out->all, out->cap, held->count);
	if (err)
		return err;
	memcpy(out->all, held->all, held->count * sizeof(*out->all));
	out->count = held->count;
	return 0;
}

/* A process that is held is stopped already, before its first instruction. */
int process_stop(struct inject *x, struct threads *out)
{
	int err = 0;

	process_beat(x);
	if (x->held) {
		err = lend_held(x->held, out);
	} else if (!process_is_held(x)) {
		err = threads_stop(x->pid, out);
	} else {
		*out = (struct threads){.pid = x->pid, .is_held = true};
		err = array_grow(out->all, 0, out->cap);
		if (!err)
			out->all[out->count++] = (struct thread){.tid = x->pid, .is_stopped = true};
	}
	for (size_t i = 0; i < out->count && !err && !x->poker; i++)
		if (out->all[i].is_stopped)
			x->poker = out->all[i].tid;
	return err;
}

int process_stop_for_calls(struct inject *x, struct threads *out)
{
	uint64_t start = clock_now();
	int err;

	do {
		err = process_stop(x, out);
		if (!err) {
			err = threads_await_one(out);
			if (err)
				process_go(x, out);
		}
	} while (threads_are_awaited(err, start));
	return err;
}

void process_go(struct inject *x, struct threads *t)
{
	if (!x->held)
		x->poker = 0;
	threads_resume(t);
}

int process_apart(struct inject *x, int (*fn)(void *arg), void *arg)
{
	return x->held || process_is_held(x) ? fn(arg) : tracees_apart(fn, arg);
}

/* ---- stopped all the time */

struct holding {
	struct inject *x;
	int (*fn)(void *arg);
	void *arg;
	int result;
};

/* 0 or -errno; the function's result is another thing. */
static int run_held(void *arg)
{
	struct holding *h = arg;
	struct inject *x = h->x;
	uint64_t start = clock_now();
	struct threads held;
	int err = process_stop_for_calls(x, &held);

	if (err)
		return err;
	x->held = &held;
	h->result = h->fn(h->arg);
	x->held = NULL;
	process_go(x, &held);
	x->pause.one_ns = x->pause.all_ns = clock_now() - start;
	return err;
}

int inject_held(struct inject *x, int (*fn)(void *arg), void *arg, struct diag *d)
{
	struct holding h = {x, fn, arg, 0};
	int err;

	if (process_is_held(x))
		return fn(arg);
	err = tracees_apart(run_held, &h);
	if (!err)
		return h.result;
	return remote_refuse(x, err, d);
}

int inject_open(pid_t pid, struct inject **out, struct diag *d)
{
	struct inject *x = NULL;
	int err = process_open(pid, &x, d);

	if (!err)
		err = undo_old(x, d);
	if (err)
		process_close(x);
	else
		*out = x;
	return err;
}

void inject_close(struct inject *x)
{
	if (x && x->ledger && !x->has_left)
		inject_leave(x);
	if (x)
		ledger_end(x);
	process_close(x);
}

pid_t inject_pid(const struct inject *x)
{
	return x->pid;
}

const struct inject_world *inject_world(const struct inject *x)
{
	return &x->world;
}

void inject_waits_at(struct inject *x, uint64_t address)
{
	if (x->wait_count < WAITS_MOST)
		x->waits[x->wait_count++] = address;
}

const struct inject_pause *inject_pause(const struct inject *x)
{
	return &x->pause;
}

void inject_expect(struct inject *x, uint64_t offset, size_t size)
{
	if (x->present_count < PRESENT_MOST)
		x->present[x->present_count++] = (struct piece){offset, offset + size};
}

void inject_share(struct inject *x, const struct inject_part *parts, size_t count, uint64_t span)
{
	x->parts = parts;
	x->part_count = count;
	x->span = span;
}

int inject_reread(struct inject *x)
{
	return space_read(&x->space, x->pid);
}

bool inject_has_files(const struct inject *x)
{
	return x->space.file_count > 0;
}

/* A memory map that is gone reads as empty. That of a child of vfork() is its parent's, which lives
 * on when the child calls exec(): the files of the new program are not in it. */
bool inject_has_ended(struct inject *x)
{
	const struct space *s = &x->space;
	char byte;

	if (x->world.process)
		return inject_read(x, x->world.process, &byte, 1) != 0;
	return kill(x->pid, 0) ||
	       (s->file_count && inject_read(x, s->files[0].start, &byte, 1) != 0);
}

/* ---- finding a file's bytes */

static uint64_t address_in(const struct range *r, uint64_t inode, uint64_t offset)
{
	if (r->inode != inode || offset < r->offset || offset - r->offset >= r->end - r->start)
		return 0;
	return r->start + (offset - r->offset);
}

unsigned inject_find(struct inject *x, uint64_t inode, uint64_t offset, uint64_t *out,
		     unsigned most)
{
	const struct space *s = &x->space;
	unsigned count = 0;

	for (size_t i = 0; i < s->file_count && count < most; i++) {
		uint64_t address = address_in(&s->files[i], inode, offset);

		if (address && s->files[i].is_code)
			out[count++] = address;
	}
	return count;
}

/* The file may be mapped several times: the data of an image come after its code, and before the
 * next image. */
uint64_t inject_find_data(struct inject *x, uint64_t inode, uint64_t offset, uint64_t pc)
{
	const struct space *s = &x->space;
	uint64_t found = 0;

	for (size_t i = 0; i < s->file_count; i++) {
		uint64_t address = address_in(&s->files[i], inode, offset);

		if (address && s->files[i].is_writable &&
		    (!found || (address > pc && (found < pc || address < found))))
			found = address;
	}
	return found;
}
