/* Parsing perf maps. A file is appended to for as long as its process runs, so only what was added
 * is read; one that became shorter, or another file, is read from its start, but not again and
 * again. Code moves, so a later line wins over an earlier one that overlaps it.
 *
 * Names are 16 bytes each beside the text. The newest lie unsorted at the end until there are some
 * hundreds of them, because a name may be asked for after every line. */
#include "symbols/jit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/file.h"

#define TEXT_MOST     (48u << 20) /* bytes of a file */
#define NAMES_MOST    (1u << 20)  /* 16 bytes each */
#define UNSORTED_MOST 512
#define AGAIN_MS      1000 /* between two readings from the start */
#define PIECE	      (64u << 10)
#define TEXT_STEP     (1u << 20) /* what is taken of the pool at a time */

struct jit_name {
	uint64_t start;
	uint32_t size;
	uint32_t at; /* of the name in the text: the later, the newer */
};

struct jit_names {
	struct buf text;	/* whole lines */
	struct jit_name *names; /* the first `sorted` of them by start, then age */
	size_t count, cap, sorted;
	dev_t device;
	ino_t inode;
	uint64_t line_at; /* in the text: where the line begins that has no end yet */
	int64_t started_ms;
	struct budget *pool;
	uint64_t taken, text_taken; /* of the pool: in all, for the text */
	bool is_full;		    /* a limit was reached: newer names are not known */
};

static bool read_hex(struct str s, uint64_t *out)
{
	if (str_starts(s, STR("0x")))
		s = str_of(s.ptr + 2, s.len - 2);
	return !str_to_hex(s, out);
}

/* All files share the pool: if it cannot give this much, it may still have some for others. */
static bool take_memory(struct jit_names *j, uint64_t bytes)
{
	j->is_full |= j->pool->memory < bytes;
	if (j->is_full)
		return false;
	j->pool->memory -= bytes;
	j->taken += bytes;
	return true;
}

static int add_line(struct jit_names *j, struct str line)
{
	uint64_t start, size, end;

	if (!read_hex(str_cut(&line, ' '), &start) || !read_hex(str_cut(&line, ' '), &size) ||
	    !line.len || !size || __builtin_add_overflow(start, size, &end))
		return 0;
	if (j->count == j->cap) {
		size_t cap = j->cap ? j->cap * 2 : 256;

		j->is_full |=
			cap > NAMES_MOST || !take_memory(j, (cap - j->cap) * sizeof(*j->names));
		if (!j->is_full && array_reserve(j->names, j->cap, cap))
			return -ENOMEM;
	}
	if (j->is_full) /* there is room for no more names */
		return 0;
	j->names[j->count++] = (struct jit_name){
		.start = start,
		.size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX,
		.at = (uint32_t)(line.ptr - j->text.ptr),
	};
	return 0;
}

static bool is_older(const struct jit_name *a, const struct jit_name *b)
{
	return a->start != b->start ? a->start < b->start : a->at < b->at;
}

static int compare_names(const void *a, const void *b)
{
	return is_older(a, b) ? -1 : 1;
}

/* Sort the tail, then merge it into what is sorted, from the end. */
static int sort_tail(struct jit_names *j)
{
	size_t tail_count = j->count - j->sorted, left = j->sorted, to = j->count;
	struct jit_name *tail;

	if (!tail_count)
		return 0;
	qsort(j->names + j->sorted, tail_count, sizeof(*tail), compare_names);
	tail = malloc(tail_count * sizeof(*tail));
	if (!tail)
		return -ENOMEM;
	memcpy(tail, j->names + j->sorted, tail_count * sizeof(*tail));
	while (tail_count) {
		bool old = left && is_older(&tail[tail_count - 1], &j->names[left - 1]);

		j->names[--to] = old ? j->names[--left] : tail[--tail_count];
	}
	free(tail);
	j->sorted = j->count;
	return 0;
}

/* The lines that have an end by now. */
static int parse_lines(struct jit_names *j)
{
	int err = 0;

	while (!err) {
		const char *line = j->text.ptr + j->line_at;
		const char *end = memchr(line, '\n', j->text.len - j->line_at);

		if (!end)
			break;
		err = add_line(j, str_of(line, (size_t)(end - line)));
		j->line_at += (uint64_t)(end - line) + 1;
	}
	return !err && j->count - j->sorted > UNSORTED_MOST ? sort_tail(j) : err;
}

/* Read what was added since. */
static int read_more(struct jit_names *j, int fd)
{
	ssize_t got;

	while (!j->is_full) {
		if (j->text.len >= TEXT_MOST) {
			j->is_full = true;
			break;
		}
		if (j->text.len + PIECE > j->text_taken) {
			if (!take_memory(j, TEXT_STEP))
				break;
			j->text_taken += TEXT_STEP;
		}
		if (buf_reserve(&j->text, PIECE))
			return -ENOMEM;
		got = pread(fd, j->text.ptr + j->text.len, PIECE, (off_t)j->text.len);
		if (got < 0)
			return -errno;
		if (!got)
			break;
		j->text.len += (size_t)got;
	}
	return parse_lines(j);
}

static int64_t now_ms(void)
{
	struct timespec t = {0, 0};

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int read_fd(int fd, uid_t owner, struct budget *pool, struct jit_names **names)
{
	struct jit_names *j = *names;
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || (st.st_uid != owner && st.st_uid != 0))
		return -EPERM;
	if (!j || j->device != st.st_dev || j->inode != st.st_ino ||
	    st.st_size < (off_t)j->text.len) {
		if (j && now_ms() - j->started_ms < AGAIN_MS)
			return -EAGAIN;
		j = calloc(1, sizeof(*j));
		if (!j)
			return -ENOMEM;
		j->device = st.st_dev;
		j->inode = st.st_ino;
		j->started_ms = now_ms();
		j->pool = pool;
		jit_names_free(*names);
		*names = j;
	}
	return (uint64_t)st.st_size == j->text.len ? 0 : read_more(j, fd);
}

int jit_names_read(const char *path, uid_t owner, struct budget *pool, struct jit_names **names)
{
	int fd, err;

	if (*names && (*names)->is_full)
		return 0;
	fd = file_open_regular(path, O_NOFOLLOW);
	if (fd < 0)
		return fd;
	err = read_fd(fd, owner, pool, names);
	close(fd);
	return err;
}

void jit_names_free(struct jit_names *names)
{
	if (!names)
		return;
	names->pool->memory += names->taken;
	buf_free(&names->text);
	free(names->names);
	free(names);
}

bool jit_names_are_cut(const struct jit_names *names)
{
	return names->is_full;
}

/* How far back entries that overlap are looked for: code that moved lies close. */
#define OVERLAPS_MOST 64

static void prefer_newer(const struct jit_name *n, uint64_t address, const struct jit_name **best)
{
	if (address >= n->start && address - n->start < n->size && (!*best || n->at > (*best)->at))
		*best = n;
}

static bool starts_by(const void *name, const void *address)
{
	return ((const struct jit_name *)name)->start <= *(const uint64_t *)address;
}

bool jit_names_at(const struct jit_names *names, uint64_t address, struct str *name, uint64_t *into)
{
	const struct jit_name *best = NULL;
	size_t after = lower_bound(names->names, names->sorted, sizeof(*names->names), starts_by,
				   &address);

	for (size_t i = after; i > 0 && after - i < OVERLAPS_MOST; i--)
		prefer_newer(&names->names[i - 1], address, &best);
	for (size_t i = names->sorted; i < names->count; i++)
		prefer_newer(&names->names[i], address, &best);
	if (!best)
		return false;
	*name = str_of(names->text.ptr + best->at, names->text.len - best->at);
	*name = str_cut(name, '\n');
	*into = address - best->start;
	return true;
}
