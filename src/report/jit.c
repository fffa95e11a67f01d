/* Parsing perf maps. Code moves, so a later line wins over an earlier one that overlaps it. */
#include "report/jit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "report/slurp.h"

#define JIT_FILE_MOST (64u << 20)

struct jit_name {
	uint64_t start, end;
	size_t line; /* number, for the order of the file */
	struct str name;
};

struct jit_names {
	struct buf text;
	struct arena arena;
	struct jit_name *names; /* by start, then line */
	size_t count, cap;
	off_t size; /* of the file when it was read */
};

static bool to_hex(struct str s, uint64_t *out)
{
	uint64_t value = 0;

	if (str_starts(s, STR("0x")))
		s = str_of(s.ptr + 2, s.len - 2);
	if (!s.len || s.len > 16)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];

		if (c >= '0' && c <= '9')
			value = value << 4 | (uint64_t)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			value = value << 4 | (uint64_t)((c | 32) - 'a' + 10);
		else
			return false;
	}
	*out = value;
	return true;
}

static int add_line(struct jit_names *j, struct str line)
{
	struct jit_name n = {.line = j->count};
	uint64_t size;
	int err;

	if (!to_hex(str_cut(&line, ' '), &n.start) || !to_hex(str_cut(&line, ' '), &size) ||
	    !line.len || !size || __builtin_add_overflow(n.start, size, &n.end))
		return 0;
	n.name = line;
	err = arena_grow(&j->arena, (void **)&j->names, j->count, &j->cap, sizeof(n));
	if (!err)
		j->names[j->count++] = n;
	return err;
}

static int compare(const void *a, const void *b)
{
	const struct jit_name *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->line < y->line ? -1 : 1;
}

static int parse(struct jit_names *j)
{
	struct str rest = buf_as_str(&j->text);
	int err = 0;

	while (!err && rest.len)
		err = add_line(j, str_cut(&rest, '\n'));
	if (!err && j->count)
		qsort(j->names, j->count, sizeof(*j->names), compare);
	return err;
}

static int read_fd(int fd, uid_t owner, struct jit_names **names)
{
	struct jit_names *j;
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || (st.st_uid != owner && st.st_uid != 0))
		return -EPERM;
	if (*names && (*names)->size == st.st_size)
		return 0;
	j = calloc(1, sizeof(*j));
	if (!j)
		return -ENOMEM;
	j->size = st.st_size;
	err = slurp_fd(fd, JIT_FILE_MOST, &j->text);
	if (!err)
		err = parse(j);
	if (err) {
		jit_names_free(j);
		return err;
	}
	jit_names_free(*names);
	*names = j;
	return 0;
}

int jit_names_read(const char *path, uid_t owner, struct jit_names **names)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	int err;

	if (fd < 0)
		return -errno;
	err = read_fd(fd, owner, names);
	close(fd);
	return err;
}

void jit_names_free(struct jit_names *names)
{
	if (!names)
		return;
	buf_free(&names->text);
	arena_free(&names->arena);
	free(names);
}

/* How far back entries that overlap are looked for: code that moved lies close. */
#define OVERLAPS_MOST 64

bool jit_names_at(const struct jit_names *names, uint64_t address, struct str *name, uint64_t *into)
{
	const struct jit_name *best = NULL;
	size_t low = 0, high = names->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (names->names[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i > 0 && low - i < OVERLAPS_MOST; i--) {
		const struct jit_name *n = &names->names[i - 1];

		if (address < n->end && (!best || n->line > best->line))
			best = n;
	}
	if (!best)
		return false;
	*name = best->name;
	*into = address - best->start;
	return true;
}
