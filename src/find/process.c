/* /proc/PID/stat; see process.h. */
#include "find/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"

#define KERNEL_THREAD 0x00200000u /* PF_KTHREAD of the kernel's linux/sched.h */

/* proc(5): the fields after the name, from the third on. */
enum { FIELD_STATE = 0, FIELD_PARENT = 1, FIELD_FLAGS = 6, FIELD_THREADS = 17, FIELD_COUNT = 18 };

/* "12 (a name) S 1 ...": the name may have anything in it, so its end is the last parenthesis. */
static int parse_stat(struct str text, struct process_state *out)
{
	ssize_t open = str_index(text, '('), close = (ssize_t)text.len;
	struct str field[FIELD_COUNT], rest, comm;

	while (close > open && text.ptr[close - 1] != ')')
		close--;
	if (open < 0 || close <= open + 1)
		return -EBADMSG;
	comm = str_of(text.ptr + open + 1, (size_t)(close - open) - 2);
	rest = str_trim(str_of(text.ptr + close, text.len - (size_t)close));
	for (int i = 0; i < FIELD_COUNT; i++) {
		field[i] = str_cut(&rest, ' ');
		if (!field[i].len)
			return -EBADMSG;
	}
	/* Each number ends at a blank of the text. */
	*out = (struct process_state){
		.state = field[FIELD_STATE].ptr[0],
		.parent = (pid_t)strtol(field[FIELD_PARENT].ptr, NULL, 10),
		.threads = (unsigned)strtoul(field[FIELD_THREADS].ptr, NULL, 10),
		.is_kernel = strtoul(field[FIELD_FLAGS].ptr, NULL, 10) & KERNEL_THREAD,
	};
	snprintf(out->comm, sizeof(out->comm), "%.*s", STR_FMT(comm));
	return 0;
}

static int read_stat(const char *path, struct process_state *out)
{
	char text[1024];
	ssize_t len;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len <= 0)
		return -ESRCH;
	text[len] = '\0';
	return parse_stat(str_of(text, (size_t)len), out);
}

int process_state_read(pid_t pid, struct process_state *out)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	return read_stat(path, out);
}

bool process_main_ended(pid_t pid)
{
	struct process_state p;

	return !process_state_read(pid, &p) && p.state == 'Z' && p.threads > 1;
}

pid_t process_visible_task(pid_t pid)
{
	struct process_state p;
	struct dirent *entry;
	char path[64];
	pid_t found = pid;
	DIR *tasks;

	if (!process_main_ended(pid))
		return pid;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	while (tasks && found == pid && (entry = readdir(tasks))) {
		pid_t task = (pid_t)strtol(entry->d_name, NULL, 10);

		snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)task);
		if (task > 0 && task != pid && !read_stat(path, &p) && p.state != 'Z' &&
		    p.state != 'X')
			found = task;
	}
	if (tasks)
		closedir(tasks);
	return found;
}
