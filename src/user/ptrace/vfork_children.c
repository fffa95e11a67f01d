/* Processes that share the memory of another: children of vfork() until they call exec or exit, and
 * what clone() makes with CLONE_VM alone. They run the bytes that we change, and each is a
 * process of its own. While the threads of their parent are stopped, it cannot make more. */
#include "user/ptrace/threads.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/proc.h"

#define PATIENCE_NS 3000000u /* until most children of vfork() have called exec or exit */

static bool has_memory_of(pid_t pid, pid_t other)
{
	return syscall(SYS_kcmp, other, pid, KCMP_VM, 0, 0) == 0;
}

struct vfork_search {
	struct threads *threads;
	bool may_stop;
	int found;
};

static int look_at_child(void *arg, pid_t pid)
{
	struct vfork_search *s = arg;
	int found;

	if (!has_memory_of(s->threads->pid, pid))
		return 0;
	found = s->may_stop ? threads_stop_new(s->threads, pid) : 1;
	s->found += found > 0;
	return found < 0 && found != -ESRCH ? found : 0;
}

/* How many children of this process and of those that were stopped are not stopped; -errno. */
static int look_for_children(struct threads *t, bool may_stop)
{
	struct vfork_search s = {.threads = t, .may_stop = may_stop};
	int err = processes_each_child(t->pid, look_at_child, &s);

	for (size_t i = t->count; i-- && !err;)
		if (t->all[i].shares_memory)
			err = processes_each_child(t->all[i].tid, look_at_child, &s);
	return err ? err : s.found;
}

/* The list of children may lack one while others of them end, so that it counts as empty when it
 * was so twice. */
static int look_twice(struct threads *t, bool may_stop)
{
	int found = look_for_children(t, may_stop);

	return found ? found : look_for_children(t, may_stop);
}

/* ORDER: most of them will be gone soon. One that is stopped while it calls exec would run a
 * program with set-user-id without its privileges, unless root stopped it. */
int vfork_children_stop(struct threads *t)
{
	uint64_t start = clock_now();
	int found = look_twice(t, false), err = 0;

	while (found > 0 && clock_now() - start < PATIENCE_NS) {
		usleep(100);
		found = look_twice(t, false);
	}
	while (found > 0 && !err) {
		found = look_twice(t, true);
		err = found > 0 ? threads_wait(t) : 0;
	}
	return found < 0 ? found : err;
}
