/* Reading /proc/PID/maps. Root opens mapped files through /proc/PID/map_files, which always leads
 * to the very file; others go by name, or through /proc/PID/exe and fd for files without one. */
#include "symbols/maps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"

#define MAPS_BYTES_MOST (64u << 20)

bool mapped_is_deleted(const struct mapped_file *file)
{
	return str_ends(file->path, STR(MAPPED_DELETED));
}

/* "55d0-55d2 r-xp 00001000 08:02 1234   /usr/bin/x" */
static bool parse_line(struct str line, struct mapped_file *out)
{
	struct str range = str_cut(&line, ' '), access = str_cut(&line, ' ');
	uint64_t major, minor;

	if (access.len != sizeof(out->access) || str_to_hex(str_cut(&range, '-'), &out->start) ||
	    str_to_hex(range, &out->end) || str_to_hex(str_cut(&line, ' '), &out->offset) ||
	    str_to_hex(str_cut(&line, ':'), &major) || str_to_hex(str_cut(&line, ' '), &minor) ||
	    str_to_u64(str_cut(&line, ' '), &out->inode))
		return false;
	memcpy(out->access, access.ptr, sizeof(out->access));
	out->device = major << 32 | minor;
	while (line.len && *line.ptr == ' ')
		line = str_of(line.ptr + 1, line.len - 1);
	out->path = line;
	return out->start < out->end;
}

int maps_parse_all(struct str text, pid_t pid, mapped_fn *fn, void *arg)
{
	struct mapped_file file = {.pid = pid};
	int err = 0;

	while (text.len && !err)
		if (parse_line(str_cut(&text, '\n'), &file))
			err = fn(arg, &file);
	return err;
}

/* Hands on what is code. */
struct code_only {
	mapped_fn *fn;
	void *arg;
};

static int take_code(void *arg, const struct mapped_file *file)
{
	const struct code_only *only = arg;

	return file->access[2] == 'x' ? only->fn(only->arg, file) : 0;
}

int maps_parse(struct str text, pid_t pid, mapped_fn *fn, void *arg)
{
	return maps_parse_all(text, pid, take_code, &(struct code_only){fn, arg});
}

/* Hands on the first mapping of each run of one file. */
struct file_runs {
	mapped_fn *fn;
	void *arg;
	struct mapped_file last;
};

static int take_mapping(void *arg, const struct mapped_file *file)
{
	struct file_runs *runs = arg;

	if (!file->inode || !file->path.len || *file->path.ptr != '/' ||
	    (file->inode == runs->last.inode && str_eq(file->path, runs->last.path)))
		return 0;
	runs->last = *file;
	return runs->fn(runs->arg, file);
}

int maps_parse_files(struct str text, pid_t pid, mapped_fn *fn, void *arg)
{
	return maps_parse(text, pid, take_mapping, &(struct file_runs){.fn = fn, .arg = arg});
}

int maps_read(pid_t pid, struct buf *text)
{
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	buf_clear(text);
	err = file_slurp(path, MAPS_BYTES_MOST, text);
	return err == -ENOENT ? -ESRCH : err;
}

int maps_each_file(pid_t pid, struct buf *text, mapped_fn *fn, void *arg)
{
	int err = maps_read(pid, text);

	return err ? err : maps_parse_files(buf_as_str(text), pid, fn, arg);
}

/* ---- One mapping after the other by ioctl(2), without its name: a tenth of the kernel's work. */

/* What Linux 6.11 takes, as its linux/fs.h has it. */
struct mapping_query {
	uint64_t size, flags, from; /* in */
	uint64_t start, end, access, page_size, offset, inode;
	uint32_t major, minor;
	uint32_t name_size, build_id_size; /* in: 0 for none */
	uint64_t name, build_id;
};

#define QUERY_MAPPING	 _IOWR('f', 17, struct mapping_query)
#define QUERY_EXECUTABLE 0x04
#define QUERY_OR_NEXT	 0x10
#define QUERY_OF_FILE	 0x20

int maps_each_code(pid_t pid, mapped_fn *fn, void *arg)
{
	struct mapping_query q = {.end = 0};
	char path[64];
	int fd, err = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err) {
		q = (struct mapping_query){
			.size = sizeof(q),
			.flags = QUERY_EXECUTABLE | QUERY_OR_NEXT | QUERY_OF_FILE,
			.from = q.end,
		};
		err = ioctl(fd, QUERY_MAPPING, &q) ? -errno : 0;
		if (!err)
			err = fn(arg, &(struct mapped_file){
					      .pid = pid,
					      .start = q.start,
					      .end = q.end,
					      .offset = q.offset,
					      .device = (uint64_t)q.major << 32 | q.minor,
					      .inode = q.inode,
					      .path = STR(""),
				      });
	}
	close(fd);
	return err == -ENOENT ? 0 : err == -ENOTTY ? -ENOTSUP : err;
}

/* The way to a file that is tried. */
struct way {
	struct buf *name;
	struct stat *st;
	uint64_t inode; /* 0: any */
	int *fd;	/* it must lead to an open file; NULL: a name will do */
};

/* A way of /proc ends with its process, which may be between the look and the opening; and a device
 * that has taken the file's name by then is not opened. */
static bool open_way(const struct way *w)
{
	int fd = file_open_regular(w->name->ptr, 0);

	if (fd < 0)
		return false;
	if (fstat(fd, w->st) || (w->inode && w->st->st_ino != w->inode)) {
		close(fd); /* replaced in between */
		return false;
	}
	*w->fd = fd;
	return true;
}

static bool try_way(const struct way *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static bool try_way(const struct way *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	buf_clear(w->name);
	buf_vprintf(w->name, format, args);
	va_end(args);
	return !w->name->failed && !stat(w->name->ptr, w->st) && S_ISREG(w->st->st_mode) &&
	       (!w->inode || w->st->st_ino == w->inode) && (!w->fd || open_way(w));
}

/* A descriptor of the process that is the file: the only way for a user without privileges to a
 * memfd. */
static bool try_fds(const struct way *w, pid_t pid)
{
	char path[64];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir)))
		found = try_way(w, "%s/%s", path, entry->d_name);
	if (dir)
		closedir(dir);
	return found;
}

/* `same` must lead to the inode; `any` is a way of the kernel's own. File systems that stack others
 * show another device in maps, so only the inode tells. */
static int find_way(const struct mapped_file *file, struct way same, struct way any)
{
	/* The kernel writes a newline in a name as \012; the link has it as it is. */
	bool has_name = !mapped_is_deleted(file) && str_index(file->path, '\\') < 0;
	int pid = (int)file->pid;

	if (try_way(&any, "/proc/%d/map_files/%llx-%llx", pid, (unsigned long long)file->start,
		    (unsigned long long)file->end) ||
	    (has_name && try_way(&any, "/proc/%d/root%.*s", pid, STR_FMT(file->path))) ||
	    (has_name && try_way(&same, "%.*s", STR_FMT(file->path))) ||
	    try_way(&same, "/proc/%d/exe", pid) || try_fds(&same, file->pid))
		return 0;
	return -ENOENT;
}

int mapped_file_locate(const struct mapped_file *file, struct buf *name, struct stat *st)
{
	return find_way(file, (struct way){name, st, file->inode, NULL},
			(struct way){name, st, 0, NULL});
}

int mapped_file_open(const struct mapped_file *file)
{
	struct buf name = BUF_INIT;
	struct stat st;
	int fd = -1;
	const struct way same = {&name, &st, file->inode, &fd};
	int err = find_way(file, same, same);

	buf_free(&name);
	return err ? err : fd;
}
