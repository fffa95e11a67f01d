/* The number of a control group is the inode number of its folder. The kernel opens it by this
 * number, for root; others look through the folders. */
#include "report/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDERS_MOST  50000
#define FILEID_KERNFS 0xfe /* of the kernel's exportfs.h: the handle is the number */

/* The path of an open folder. */
static bool path_of(int fd, char *out, size_t size)
{
	char link[32];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, out, size - 1);
	out[len < 0 ? 0 : len] = '\0';
	return len > 0;
}

static bool open_by_number(const char *mount, uint64_t id, char *out, size_t size)
{
	struct {
		struct file_handle head;
		uint64_t id;
	} handle = {{.handle_bytes = sizeof(id), .handle_type = FILEID_KERNFS}, id};
	int root = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = root < 0 ? -1 : open_by_handle_at(root, &handle.head, O_PATH | O_CLOEXEC);
	struct stat st;
	bool found = fd >= 0 && !fstat(fd, &st) && st.st_ino == id && S_ISDIR(st.st_mode) &&
		     path_of(fd, out, size) && !strncmp(out, mount, strlen(mount));

	if (fd >= 0)
		close(fd);
	if (root >= 0)
		close(root);
	return found;
}

static bool look_through(const char *mount, uint64_t id, char *out, size_t size)
{
	char *roots[] = {(char *)mount, NULL};
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);
	unsigned seen = 0;
	bool found = false;
	FTSENT *e;

	while (tree && !found && seen < FOLDERS_MOST && (e = fts_read(tree))) {
		seen += e->fts_info == FTS_D;
		found = e->fts_info == FTS_D && e->fts_statp->st_ino == id;
		if (found)
			snprintf(out, size, "%s", e->fts_path);
	}
	if (tree)
		fts_close(tree);
	return found;
}

static void add_path(const char *name, const char *path, size_t mount_len, struct buf *out)
{
	const char *inner = strlen(path) > mount_len ? path + mount_len : "/";

	buf_printf(out, "%s%s:%s", out->len ? "," : "", name, inner);
}

/* One kind of hierarchies: "cgroup2", "cgroup". */
static void add_mounts(const char *type, uint64_t id, struct str filter, struct buf *out)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	char path[4096];

	while (mounts && (m = getmntent(mounts))) {
		const char *slash = strrchr(m->mnt_dir, '/');
		const char *name = !strcmp(type, "cgroup2") ? "unified"
				   : slash		    ? slash + 1
							    : m->mnt_dir;

		if (strcmp(m->mnt_type, type) != 0 || !str_match(filter, str_from(name)))
			continue;
		if (open_by_number(m->mnt_dir, id, path, sizeof(path)) ||
		    look_through(m->mnt_dir, id, path, sizeof(path)))
			add_path(name, path, strlen(m->mnt_dir), out);
	}
	if (mounts)
		endmntent(mounts);
}

void cgroup_path(uint64_t id, struct str filter, struct buf *out)
{
	add_mounts("cgroup2", id, filter, out);
	add_mounts("cgroup", id, filter, out);
}
