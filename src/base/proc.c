/* What /proc says of processes. */
#include "base/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"

#define STAT_BYTES_MOST	    4096
#define STATUS_BYTES_MOST   (64u << 10)
#define CHILDREN_BYTES_MOST (1u << 20)

size_t process_read_start(pid_t pid, const char *name, void *out, size_t size)
{
	char path[64];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? 0 : read(fd, out, size);
	if (fd >= 0)
		close(fd);
	return len < 0 ? 0 : (size_t)len;
}

uint64_t process_stat_number(pid_t pid, unsigned place)
{
	char text[STAT_BYTES_MOST];
	uint64_t value = 0;
	struct str rest;
	const char *end;

	text[process_read_start(pid, "stat", text, sizeof(text) - 1)] = 0;
	/* "12 (a name) S 1 ...": the name may have anything in it. */
	end = strrchr(text, ')');
	if (!end || !end[1])
		return 0;
	rest = str_from(end + 2);
	for (unsigned i = 3; i < place; i++)
		str_cut(&rest, ' ');
	return str_to_u64(str_cut(&rest, ' '), &value) ? 0 : value;
}

uint64_t process_count_files(pid_t pid)
{
	char path[32];
	uint64_t count = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count > 2 ? count - 2 : 0; /* . and .. */
}

int process_status(pid_t pid, struct buf *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	return file_slurp(path, STATUS_BYTES_MOST, text);
}

struct str process_status_line(struct str status, const char *name)
{
	while (status.len) {
		struct str line = str_cut(&status, '\n');

		if (str_eq_text(str_trim(str_cut(&line, ':')), name))
			return str_trim(line);
	}
	return STR("");
}

bool process_status_number(struct str status, const char *name, uint32_t place, uint64_t *out)
{
	struct str line = process_status_line(status, name), word = STR("");

	for (uint32_t i = 0; i <= place && line.len; i++)
		word = str_cut(&line, '\t');
	return !str_to_u64(word, out);
}

/* By number. */
static int compare_pids(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int processes_each(int (*fn)(void *arg, pid_t pid), void *arg)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	pid_t *pids = NULL;
	size_t count = 0, cap = 0;
	uint64_t pid;
	int err = 0;

	if (!dir)
		return -errno;
	while (!err && (entry = readdir(dir))) {
		if (*entry->d_name < '1' || *entry->d_name > '9' ||
		    str_to_u64(str_from(entry->d_name), &pid) || pid > INT32_MAX)
			continue;
		err = array_grow(pids, count, cap);
		if (!err)
			pids[count++] = (pid_t)pid;
	}
	closedir(dir);
	if (!err && count)
		qsort(pids, count, sizeof(*pids), compare_pids);
	for (size_t i = 0; i < count && !err; i++)
		err = fn(arg, pids[i]);
	free(pids);
	return err;
}

static int each_in_list(const char *path, int (*fn)(void *arg, pid_t pid), void *arg)
{
	struct buf text = BUF_INIT;
	struct str rest = STR("");
	uint64_t pid;
	int err = 0;

	if (!file_slurp(path, CHILDREN_BYTES_MOST, &text))
		rest = str_trim(buf_as_str(&text));
	while (!err && rest.len)
		if (!str_to_u64(str_cut(&rest, ' '), &pid) && pid <= INT32_MAX)
			err = fn(arg, (pid_t)pid);
	buf_free(&text);
	return err;
}

static int each_child_of(pid_t pid, const char *thread, int (*fn)(void *arg, pid_t pid), void *arg)
{
	char path[320];

	snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)pid, thread);
	return each_in_list(path, fn, arg);
}

/* The kernel lists the children of each thread. The directory of the threads has as many links as
 * it has directories, itself and the one above counted; most processes have one thread, and need no
 * walk. */
int processes_each_child(pid_t pid, int (*fn)(void *arg, pid_t pid), void *arg)
{
	struct dirent *entry;
	char path[64], first[16];
	struct stat st;
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	snprintf(first, sizeof(first), "%d", (int)pid);
	if (!stat(path, &st) && st.st_nlink == 2 + 1)
		return each_child_of(pid, first, fn, arg);
	dir = opendir(path);
	while (dir && !err && (entry = readdir(dir))) {
		if (*entry->d_name == '.')
			continue;
		err = each_child_of(pid, entry->d_name, fn, arg);
	}
	if (dir)
		closedir(dir);
	return err;
}
