/* Language runtimes of the processes of a run. They are looked for when the run begins, and when a
 * process maps a file that may be one; a child has those of its parent until it runs another
 * program. The engine learns of each at once, for the events of a process that starts come at once,
 * too. */
#include "session/session.h"

#include "base/array.h"
#include "base/proc.h"
#include "lang/lang.h"

static int see_one(void *arg, pid_t pid)
{
	lang_names_see(arg, pid);
	return 0;
}

/* Programs that most scripts are run by. Others are known once a process has been seen to run them.
 */
static const char *const programs[] = {
	"/usr/bin/python3", "/usr/local/bin/python3", "/usr/bin/php",
	"/usr/bin/perl",    "/usr/bin/ruby",
};

void session_see_langs(struct nopal_trace *t)
{
	if (!t->langs)
		return;
	for (size_t i = 0; i < COUNT(programs); i++)
		lang_names_add_file(t->langs, programs[i]);
	if (t->pid)
		lang_names_see(t->langs, t->pid);
	else
		processes_each(see_one, t->langs);
	engine_note_kind(t->engine, PROCESS_RUNTIMES, NULL);
}

/* Every program with shared libraries maps this when it begins. */
static bool is_loader(struct str path)
{
	struct str name = str_after_last(path, '/');

	return str_starts(name, STR("ld-linux")) || str_starts(name, STR("ld-musl"));
}

void session_note_lang(struct nopal_trace *t, const struct watch_event *event)
{
	if (!t->langs)
		return;
	if (event->kind == PROCESS_FORKED)
		lang_names_fork(t->langs, event->parent, event->pid);
	else if (event->kind == PROCESS_ENDED)
		lang_names_forget(t->langs, event->pid);
	else if (lang_is_runtime_file(event->path) ||
		 (is_loader(event->path) && lang_names_has(t->langs, event->pid)))
		lang_names_see(t->langs, event->pid);
	else
		return;
	engine_note_kind(t->engine, PROCESS_RUNTIMES, NULL);
}
