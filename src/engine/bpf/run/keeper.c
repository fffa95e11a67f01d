/* The keeper of raised semaphores: a child process that raises them and, when its parent is gone,
 * lowers them; see semaphores.h.
 *
 * A process is known by its number and where its vDSO is, which changes with exec. What was forked
 * from it after a word was raised has a copy of the word: it has the same vDSO and the same file at
 * the same address. */
#include "engine/bpf/run/keeper.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/proc.h"
#include "engine/bpf/run/helper.h"
#include "symbols/maps.h"

#define STAT_STARTED 22 /* place in /proc/PID/stat: when it was forked, in ticks since boot */
#define COPY_RAISE   64 /* glibc's dlmopen() makes at most 15 copies of a library */
#define SETTLE_NS    1000000000u /* for the kernel to remove its breakpoints */
#define PAUSE_NS     1000000

/* A word that was raised. */
struct raised_word {
	struct keeper_word word;
	uint64_t vdso;	 /* of its process; 0: the kernel has none */
	uint64_t raised; /* ticks since boot */
};

/* What is known of a process. */
struct memory {
	pid_t pid;
	uint64_t vdso;
	uint64_t started; /* ticks since boot */
	struct buf *maps; /* text of /proc/PID/maps */
};

enum pass {
	PASS_LOWER,  /* words by 1; those of copies as in the next one */
	PASS_SETTLE, /* words of copies to 0, if no tracer is left */
	PASS_LAST,   /* ... the others by what they were raised by */
};

struct raised_list {
	struct raised_word *items;
	size_t count, cap;
	struct buf maps;
	enum pass pass;
	bool is_unsettled; /* in this pass */
};

/* ---- processes */

static int find_vdso(void *arg, const struct mapped_file *file)
{
	struct memory *m = arg;

	if (!str_eq(file->path, STR("[vdso]")))
		return 0;
	m->vdso = file->start;
	return 1;
}

static int read_memory(pid_t pid, struct buf *maps, struct memory *out)
{
	int err = maps_read(pid, maps);

	*out = (struct memory){.pid = pid, .maps = maps};
	if (err)
		return err;
	maps_parse_all(buf_as_str(maps), pid, find_vdso, out);
	out->started = process_stat_number(pid, STAT_STARTED);
	return 0;
}

static uint64_t ticks_now(void)
{
	return (uint64_t)clock_read(CLOCK_BOOTTIME) / (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

static int covers_word(void *arg, const struct mapped_file *file)
{
	const struct keeper_word *w = arg;

	return file->inode == w->inode && file->device == w->device && w->address >= file->start &&
	       w->address < file->end;
}

static bool has_file_at(const struct memory *m, const struct keeper_word *word)
{
	return maps_parse_all(buf_as_str(m->maps), m->pid, covers_word, (void *)word);
}

/* Has this process the word that was raised: its own, one that it shares with its parent until it
 * calls exec, or a copy from a fork after that? */
static bool has_word(const struct memory *m, const struct raised_word *k)
{
	if (m->vdso != k->vdso)
		return false;
	return m->pid == k->word.pid || m->started >= k->raised ||
	       !syscall(SYS_kcmp, m->pid, k->word.pid, KCMP_VM, 0, 0);
}

static bool shares_memory(pid_t a, pid_t b)
{
	return a != b && !syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0);
}

/* ---- words */

static int result_of(ssize_t done, size_t size)
{
	return done == (ssize_t)size ? 0 : done < 0 ? -errno : -EFAULT;
}

static int read_at(pid_t pid, uint64_t address, void *out, size_t size)
{
	struct iovec own = {out, size}, other = {(void *)(uintptr_t)address, size};

	return result_of(process_vm_readv(pid, &own, 1, &other, 1, 0), size);
}

/* By a call that writes only what the process itself may write. */
static int word_write(pid_t pid, uint64_t address, uint16_t value)
{
	struct iovec own = {&value, sizeof(value)},
		     other = {(void *)(uintptr_t)address, sizeof(value)};

	return result_of(process_vm_writev(pid, &own, 1, &other, 1, 0), sizeof(value));
}

static int word_change(pid_t pid, uint64_t address, int by)
{
	uint16_t value;
	int err = read_at(pid, address, &value, sizeof(value));

	if (err || value + by < 0 || value + by > UINT16_MAX)
		return err;
	return word_write(pid, address, (uint16_t)(value + by));
}

static int raise_of(const struct keeper_word *word)
{
	return word->site ? COPY_RAISE : 1;
}

/* ---- raising */

static int raise_word(struct raised_list *l, const struct keeper_word *word)
{
	struct memory m;
	uint16_t value = 0;
	int err = read_memory(word->pid, &l->maps, &m);

	if (err)
		return err;
	if (!has_file_at(&m, word))
		return -EFAULT;
	err = read_at(word->pid, word->address, &value, sizeof(value));
	if (err)
		return err;
	for (size_t i = 0; i < l->count; i++)
		if (l->items[i].word.address == word->address && value &&
		    has_word(&m, &l->items[i]))
			return 0;
	if (array_grow(l->items, l->count, l->cap))
		return -ENOMEM;
	err = word_change(word->pid, word->address, raise_of(word));
	if (err)
		return err;
	l->items[l->count++] =
		(struct raised_word){.word = *word, .vdso = m.vdso, .raised = ticks_now()};
	return 1;
}

/* ---- lowering */

static int compare_raised(const void *x, const void *y)
{
	const struct raised_word *a = x, *b = y;

	return a->word.address < b->word.address ? -1 : a->word.address > b->word.address;
}

static bool is_traced(pid_t pid, const struct keeper_word *word)
{
	uint32_t code;

	return read_at(pid, word->site, &code, sizeof(code)) || code != word->code;
}

static void lower_word(struct raised_list *l, pid_t pid, const struct keeper_word *word)
{
	if (word->site && !is_traced(pid, word))
		word_write(pid, word->address, 0);
	else if (l->pass == (word->site ? PASS_LAST : PASS_LOWER))
		word_change(pid, word->address, -raise_of(word));
	else
		l->is_unsettled |= word->site != 0;
}

/* Each word once in each memory, and one that a process shares with the one that it was raised in
 * only there. */
static int lower_in(void *arg, pid_t pid)
{
	struct raised_list *l = arg;
	uint64_t last = 0;
	struct memory m;

	if (read_memory(pid, &l->maps, &m))
		return 0;
	for (size_t i = 0; i < l->count; i++) {
		const struct raised_word *k = &l->items[i];

		if (k->word.address == last || !has_word(&m, k) || !has_file_at(&m, &k->word) ||
		    shares_memory(pid, k->word.pid))
			continue;
		lower_word(l, pid, &k->word);
		last = k->word.address;
	}
	return 0;
}

static bool run_pass(struct raised_list *l, enum pass pass)
{
	l->pass = pass;
	l->is_unsettled = false;
	if (l->count)
		processes_each(lower_in, l);
	return !l->is_unsettled;
}

static void lower_all(struct raised_list *l)
{
	const struct timespec pause = {0, PAUSE_NS};
	uint64_t start = clock_now();
	bool are_settled;

	qsort(l->items, l->count, sizeof(*l->items), compare_raised);
	are_settled = run_pass(l, PASS_LOWER);
	while (!are_settled && clock_now() - start < SETTLE_NS) {
		nanosleep(&pause, NULL);
		are_settled = run_pass(l, PASS_SETTLE);
	}
	if (!are_settled)
		run_pass(l, PASS_LAST);
}

/* Over its end of the socket; returns when the other end is closed. */
static void serve_tracer(int fd)
{
	struct raised_list l = {.maps = BUF_INIT};
	struct keeper_word word;
	ssize_t got;

	while ((got = recv(fd, &word, sizeof(word), 0)) == sizeof(word)) {
		int result = raise_word(&l, &word);

		if (send(fd, &result, sizeof(result), MSG_NOSIGNAL) != sizeof(result))
			break;
	}
	lower_all(&l);
	free(l.items);
	buf_free(&l.maps);
}

/* ---- in the tracer */

static int start_keeper(struct keeper *k)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	pid = fork();
	if (pid == 0) {
		bpf_become_helper("nopal-keeper", &ends[1], 1);
		serve_tracer(ends[1]);
		_exit(0);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return -EAGAIN;
	}
	*k = (struct keeper){pid, ends[0]};
	return 0;
}

int keeper_raise(struct keeper *k, const struct keeper_word *word)
{
	int result, err = k->pid ? 0 : start_keeper(k);

	if (err)
		return err;
	if (send(k->fd, word, sizeof(*word), MSG_NOSIGNAL) != sizeof(*word) ||
	    recv(k->fd, &result, sizeof(result), 0) != sizeof(result))
		return -EPIPE;
	return result;
}

void keeper_end(struct keeper *k)
{
	char end;

	if (!k->pid)
		return;
	shutdown(k->fd, SHUT_WR);
	while (recv(k->fd, &end, 1, 0) < 0 && errno == EINTR)
		;
	close(k->fd);
	while (waitpid(k->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*k = (struct keeper){0};
}
