/* Looking for files. Paths of another mount namespace are resolved below /proc/PID/root with
 * openat2(RESOLVE_IN_ROOT), so that absolute symbolic links there mean what that process means. */
#include "find/lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "elf/image.h"

#define MAX_CACHE (64u << 20) /* bytes of an ld.so.cache we would read */
#define NEW_MAGIC "glibc-ld.so.cache1.1"
#define OLD_MAGIC "ld.so-1.7.0"

/* Is there such a file: the one that `same` describes, or, when that is NULL, any? */
static bool is_file(const char *path, const struct stat *same)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) &&
	       (!same || (st.st_dev == same->st_dev && st.st_ino == same->st_ino));
}

/* The path that the kernel has for a descriptor; empty when it cannot be read. */
static struct str path_of_fd(int fd, struct arena *a)
{
	char link[64], target[4096];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, target, sizeof(target));
	return len > 0 && (size_t)len < sizeof(target) ? arena_str(a, str_of(target, (size_t)len))
						       : STR("");
}

/* The file that `path` means in a process. Its plain path is preferred when it means the same here,
 * because that outlives the process. */
static int locate_in_process(pid_t pid, struct str path, struct arena *a, struct located *out)
{
	struct str root = arena_printf(a, "/proc/%d/root", (int)pid);
	struct str inner = arena_str(a, path), outer, real, below;
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	struct stat st;
	int dir, fd = -1;

	if (!root.ptr || !inner.ptr)
		return -ENOMEM;
	outer = arena_printf(a, "%.*s%.*s", STR_FMT(root), STR_FMT(inner));
	if (!outer.ptr)
		return -ENOMEM;
	*out = (struct located){inner, outer};
	dir = open(root.ptr, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0) {
		fd = (int)syscall(SYS_openat2, dir, inner.ptr, &how, sizeof(how));
		close(dir);
	}
	/* An old kernel, or a link of /proc on the way, which must not be followed there. */
	if (fd < 0)
		return is_file(outer.ptr, NULL) ? 0 : -ENOENT;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return -ENOENT;
	}
	real = path_of_fd(fd, a);
	close(fd);
	below = arena_printf(a, "%.*s%.*s", STR_FMT(root), STR_FMT(real));
	if (!real.ptr || !below.ptr)
		return -ENOMEM;
	if (is_file(inner.ptr, &st))
		out->open_path = inner;
	else if (is_file(real.ptr, &st))
		out->open_path = real;
	else if (is_file(below.ptr, &st))
		out->open_path = below;
	return 0;
}

static int locate_file(pid_t pid, struct str path, struct arena *a, struct located *out)
{
	if (pid && *path.ptr == '/')
		return locate_in_process(pid, path, a, out);
	out->path = out->open_path = arena_str(a, path);
	if (!out->path.ptr)
		return -ENOMEM;
	return is_file(out->path.ptr, NULL) ? 0 : -ENOENT;
}

/* Is it an ELF file, and, if `arch` is not NULL, one of that CPU? */
static bool is_elf(const struct located *file, const struct arch *arch)
{
	struct image *image;
	bool same;

	if (image_open(file->open_path.ptr, &image, NULL))
		return false;
	same = !arch || (image->machine == arch->machine && image->word == arch->word);
	image_close(image);
	return same;
}

/* Scripts that only start the program (pyenv's shims) are skipped. */
static int lookup_in_path(pid_t pid, struct str name, struct arena *a, struct located *out)
{
	const char *dirs = getenv("PATH");
	struct str rest = str_from(dirs ? dirs : "/usr/local/bin:/usr/bin:/bin");
	struct located file;
	int found = -ENOENT;

	while (rest.len) {
		struct str dir = str_cut(&rest, ':'), path;

		if (!dir.len || *dir.ptr != '/')
			continue;
		path = arena_printf(a, "%.*s/%.*s", STR_FMT(dir), STR_FMT(name));
		if (!path.ptr)
			return -ENOMEM;
		if (locate_file(pid, path, a, &file))
			continue;
		if (found)
			*out = file;
		found = 0;
		if (!is_elf(&file, NULL))
			continue;
		*out = file;
		break;
	}
	return found;
}

/* ---- The loader's cache */

/* Layout: magic 20 bytes, count, length of texts, 5 more words; then entries of 24 bytes: flags,
 * name, path, ... with offsets from the magic. An older table may precede it. */
static struct cursor find_cache(struct str cache)
{
	size_t at = 0;

	if (str_starts(cache, STR(OLD_MAGIC))) {
		struct cursor c = cursor_of(cache.ptr, cache.len, false);
		uint32_t count = 0;

		cursor_skip(&c, 12);
		if (!cursor_u32(&c, &count) || count > cache.len / 12)
			return cursor_of("", 0, false);
		at = (16 + (size_t)count * 12 + 7) & ~(size_t)7;
	}
	if (at > cache.len || !str_starts(str_of(cache.ptr + at, cache.len - at), STR(NEW_MAGIC)))
		return cursor_of("", 0, false);
	return cursor_of(cache.ptr + at, cache.len - at, false);
}

static bool text_at(struct str table, uint32_t at, struct str *out)
{
	struct cursor c;

	if (at >= table.len)
		return false;
	c = cursor_of(table.ptr + at, table.len - at, false);
	return cursor_text(&c, out);
}

bool lookup_is_short(struct str name, struct str library)
{
	struct str rest = library;

	if (str_starts(library, STR("lib")) && !str_starts(name, STR("lib")))
		rest = str_of(library.ptr + 3, library.len - 3);
	if (!name.len || !str_starts(rest, name))
		return false;
	rest = str_of(rest.ptr + name.len, rest.len - name.len);
	return str_starts(rest, STR(".so")) && (rest.len == 3 || rest.ptr[3] == '.');
}

/* The path of the n-th entry whose name matches. */
static struct str find_entry(struct str cache, struct str name, unsigned n,
			     bool (*matches)(struct str name, struct str library))
{
	struct cursor c = find_cache(cache);
	struct str table = str_of((const char *)c.at, cursor_left(&c)), text, path, word, entry;
	uint32_t count = 0, name_at, path_at;

	if (!cursor_skip(&c, sizeof(NEW_MAGIC) - 1) || !cursor_bytes(&c, 4, &word) ||
	    !cursor_skip(&c, 24))
		return STR("");
	/* The file is of this machine's own byte order, so it is read through numbers of ours. */
	memcpy(&count, word.ptr, 4);
	while (count-- && cursor_bytes(&c, 24, &entry)) {
		memcpy(&name_at, entry.ptr + 4, 4);
		memcpy(&path_at, entry.ptr + 8, 4);
		if (!text_at(table, name_at, &text) || !matches(name, text) ||
		    !text_at(table, path_at, &path) || !path.len || *path.ptr != '/')
			continue;
		if (!n--)
			return path;
	}
	return STR("");
}

struct str loader_cache_find(struct str cache, struct str name, unsigned n)
{
	return find_entry(cache, name, n, str_eq);
}

/* Libraries of several machines may share a name: this machine's comes first. */
static int lookup_library(pid_t pid, struct str name, bool is_short, struct arena *a,
			  struct located *out)
{
	const struct arch *host = arch_host();
	struct buf text = BUF_INIT;
	struct str path;
	struct located file;
	int found = -ENOENT, err = locate_file(pid, STR("/etc/ld.so.cache"), a, &file);

	if (!err)
		err = file_slurp(file.open_path.ptr, MAX_CACHE, &text);
	for (unsigned i = 0; !err && i < 64; i++) {
		path = find_entry(buf_as_str(&text), name, i, is_short ? lookup_is_short : str_eq);
		if (!path.len)
			break;
		if (locate_file(pid, path, a, &file))
			continue;
		if (found)
			*out = file;
		found = 0;
		if (!host || !is_elf(&file, host))
			continue;
		*out = file;
		break;
	}
	buf_free(&text);
	return found;
}

int lookup_file(pid_t pid, struct str name, struct arena *a, struct located *out)
{
	struct str here;

	if (!name.len || memchr(name.ptr, '\0', name.len))
		return -ENOENT;
	if (str_index(name, '/') >= 0)
		return locate_file(pid, name, a, out);
	if (!lookup_in_path(pid, name, a, out) || !lookup_library(pid, name, false, a, out))
		return 0;
	here = arena_printf(a, "./%.*s", STR_FMT(name));
	if (!here.ptr)
		return -ENOMEM;
	return locate_file(0, here, a, out) ? lookup_library(pid, name, true, a, out) : 0;
}

int lookup_pattern(struct str pattern, int (*fn)(void *arg, struct str path), void *arg)
{
	struct buf text = BUF_INIT;
	glob_t found = {0};
	int err = 0;

	/* Only * and ? are special in our patterns. */
	for (size_t i = 0; i < pattern.len; i++) {
		if (pattern.ptr[i] == '[' || pattern.ptr[i] == '\\')
			buf_char(&text, '\\');
		buf_char(&text, pattern.ptr[i]);
	}
	/* A directory for which there was no memory looks like one that is empty. */
	errno = 0;
	if (text.failed || (text.len && glob(text.ptr, 0, NULL, &found) && errno == ENOMEM))
		err = -ENOMEM;
	if (!err)
		for (size_t i = 0; i < found.gl_pathc && !err; i++)
			err = fn(arg, str_from(found.gl_pathv[i]));
	globfree(&found);
	buf_free(&text);
	return err;
}
