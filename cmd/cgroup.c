/* cgroups by name. The number of a cgroup is the inode number of its folder. */
#include "cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_DEPTH 32 /* of folders */
#define MIN_ID	  4  /* letters of a container's ID */

struct search {
	enum cgroup_kind kind;
	const char *name;
	uint64_t *ids;
	int count, most;
};

/* "docker-3f2a….scope", "libpod-3f2a….scope", "3f2a…": does the ID begin so? */
static bool is_container(const char *folder, const char *id)
{
	size_t len = strlen(id);
	const char *dash = strrchr(folder, '-');

	if (len < MIN_ID || strspn(id, "0123456789abcdef") != len)
		return false;
	folder = dash ? dash + 1 : folder;
	return strspn(folder, "0123456789abcdef") >= 12 && !strncmp(folder, id, len);
}

static bool is_unit(const char *folder, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(folder, name, len) && (!folder[len] || !strcmp(folder + len, ".service"));
}

static bool is_meant(const struct search *s, const char *folder)
{
	return s->kind == CGROUP_UNIT	     ? is_unit(folder, s->name)
	       : s->kind == CGROUP_CONTAINER ? is_container(folder, s->name)
					     : false;
}

/* The folder of `dir`, and those in it; `inside`: all of them are meant. Takes the descriptor. */
static void search_folder(struct search *s, int fd, bool inside, int depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;
	struct stat st;

	if (!dir) {
		close(fd);
		return;
	}
	if (inside && !fstat(dirfd(dir), &st)) {
		if (s->count < s->most)
			s->ids[s->count] = st.st_ino;
		s->count++;
	}
	while (depth && (entry = readdir(dir))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		fd = openat(dirfd(dir), entry->d_name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0)
			search_folder(s, fd, inside || is_meant(s, entry->d_name), depth - 1);
	}
	closedir(dir);
}

/* Where cgroup2 is mounted, to be freed; NULL: nowhere. */
static char *find_mount(void)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *entry;
	char *path = NULL;

	while (mounts && !path && (entry = getmntent(mounts)))
		if (!strcmp(entry->mnt_type, "cgroup2"))
			path = strdup(entry->mnt_dir);
	if (mounts)
		endmntent(mounts);
	return path;
}

/* A path as it is, or below the mount, as /proc/PID/cgroup has it. */
static int open_path(const char *mount, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	char *below = NULL;
	int fd = -1;

	if (!strncmp(name, mount, strlen(mount)))
		return open(name, flags);
	if (asprintf(&below, "%s/%s", mount, name) >= 0)
		fd = open(below, flags);
	free(below);
	return fd;
}

int cgroup_find(enum cgroup_kind kind, const char *name, uint64_t *ids, int most)
{
	struct search s = {.kind = kind, .name = name, .ids = ids, .most = most};
	char *mount = find_mount();
	int fd;

	if (!mount)
		return -1;
	fd = kind == CGROUP_PATH ? open_path(mount, name)
				 : open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(mount);
	if (fd < 0)
		return 0;
	search_folder(&s, fd, kind == CGROUP_PATH, MAX_DEPTH);
	return s.count;
}

const char *cgroup_missing(enum cgroup_kind kind)
{
	static const char *const messages[] = {
		[CGROUP_PATH] = "no cgroup '%s' (of version 2: see /proc/PID/cgroup)",
		[CGROUP_UNIT] = "no unit '%s' has a cgroup: is it running?",
		[CGROUP_CONTAINER] = ("no container with the ID '%s' has a cgroup: give the ID, "
				      "not the name, or -p PID"),
	};

	return messages[kind];
}
