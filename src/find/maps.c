/* Reading /proc/PID/maps. Root opens mapped files through /proc/PID/map_files, which always leads
 * to the very file; others go by name, or through /proc/PID/exe and fd for files without one. */
#include "find/maps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DELETED " (deleted)"

static int read_file(const char *path, struct buf *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	ssize_t got;

	if (fd < 0)
		return -errno;
	buf_clear(text);
	do {
		err = buf_reserve(text, 65536);
		if (err)
			break;
		got = read(fd, text->ptr + text->len, 65536);
		if (got > 0)
			text->len += (size_t)got;
		else if (got < 0 && errno != EINTR)
			err = -errno;
	} while (!err && got);
	close(fd);
	return err;
}

static bool hex_to_u64(struct str s, uint64_t *out)
{
	uint64_t value = 0;

	if (!s.len || s.len > 16)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
						   : -1;

		if (digit < 0)
			return false;
		value = value << 4 | (unsigned)digit;
	}
	*out = value;
	return true;
}

/* "7f0000-7f1000 r-xp 00000000 08:01 1234       /usr/lib/libx.so": true for a file mapped
 * as code. */
static bool parse_line(struct str line, struct mapped_file *out)
{
	struct str range = str_cut(&line, ' '), start = str_cut(&range, '-');
	struct str access = str_cut(&line, ' ');

	str_cut(&line, ' ');
	str_cut(&line, ' ');
	if (access.len < 4 || access.ptr[2] != 'x' || str_to_u64(str_cut(&line, ' '), &out->inode))
		return false;
	while (line.len && *line.ptr == ' ')
		line = str_of(line.ptr + 1, line.len - 1);
	if (!out->inode || !line.len || *line.ptr != '/')
		return false;
	out->path = line;
	out->deleted = str_ends(line, STR(DELETED));
	return hex_to_u64(start, &out->start) && hex_to_u64(range, &out->end);
}

int maps_parse(struct str text, pid_t pid, mapped_fn *fn, void *arg)
{
	struct mapped_file file = {.pid = pid}, last = {0};
	int err = 0;

	while (text.len && !err) {
		struct str line = str_cut(&text, '\n');

		if (!parse_line(line, &file) ||
		    (file.inode == last.inode && str_eq(file.path, last.path)))
			continue;
		last = file;
		err = fn(arg, &file);
	}
	return err;
}

int maps_each(pid_t pid, struct buf *text, mapped_fn *fn, void *arg)
{
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	err = read_file(path, text);
	if (err)
		return err == -ENOENT ? -ESRCH : err;
	return maps_parse(buf_as_str(text), pid, fn, arg);
}

static bool is_file(const char *name, struct stat *st)
{
	return !stat(name, st) && S_ISREG(st->st_mode);
}

/* A descriptor of the process that is the file: the only way for a user without privileges to a
 * memfd. */
static bool locate_fd(const struct mapped_file *file, struct buf *name, struct stat *st)
{
	char path[64];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)file->pid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		buf_clear(name);
		buf_printf(name, "%s/%s", path, entry->d_name);
		found = !name->failed && is_file(name->ptr, st) && st->st_ino == file->inode;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* The kernel writes a newline in a name as \012; the link has it as it is. */
static bool is_exact(struct str path)
{
	return str_index(path, '\\') < 0;
}

int mapped_file_locate(const struct mapped_file *file, struct buf *name, struct stat *st)
{
	buf_clear(name);
	buf_printf(name, "/proc/%d/map_files/%llx-%llx", (int)file->pid,
		   (unsigned long long)file->start, (unsigned long long)file->end);
	if (!name->failed && is_file(name->ptr, st))
		return 0;
	buf_clear(name);
	buf_printf(name, "/proc/%d/root%.*s", (int)file->pid, STR_FMT(file->path));
	if (!file->deleted && !name->failed && is_exact(file->path) && is_file(name->ptr, st))
		return 0;
	buf_clear(name);
	buf_printf(name, "/proc/%d/exe", (int)file->pid);
	if (!name->failed && is_file(name->ptr, st) && st->st_ino == file->inode)
		return 0;
	return locate_fd(file, name, st) ? 0 : -ENOENT;
}

static int compare_pids(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int list_processes(pid_t **out, size_t *count)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	size_t cap = 0;
	pid_t *pids = NULL;

	if (!dir)
		return -errno;
	*count = 0;
	while ((entry = readdir(dir))) {
		uint64_t pid;

		if (*entry->d_name < '1' || *entry->d_name > '9' ||
		    str_to_u64(str_from(entry->d_name), &pid))
			continue;
		if (*count == cap) {
			pid_t *more = realloc(pids, (cap = cap ? cap * 2 : 256) * sizeof(*pids));

			if (!more) {
				free(pids);
				closedir(dir);
				return -ENOMEM;
			}
			pids = more;
		}
		pids[(*count)++] = (pid_t)pid;
	}
	closedir(dir);
	if (*count)
		qsort(pids, *count, sizeof(*pids), compare_pids);
	*out = pids;
	return 0;
}

int processes_each(int (*fn)(void *arg, pid_t pid), void *arg)
{
	pid_t *pids = NULL;
	size_t count = 0;
	int err = list_processes(&pids, &count);

	for (size_t i = 0; i < count && !err; i++)
		err = fn(arg, pids[i]);
	free(pids);
	return err;
}
