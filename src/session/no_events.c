/* A run without an event, explained: what was armed, who runs it, and what its probes need. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/proc.h"
#include "session/session.h"
#include "symbols/maps.h"

/* Processes that have one of the armed files mapped. */
struct runners {
	const struct script_armed *armed;
	struct buf text; /* of the maps */
	struct buf name; /* of a mapped file */
	unsigned count;
};

static bool is_armed(const struct script_armed *armed, const struct stat *st)
{
	for (size_t i = 0; i < armed->file_count; i++)
		if (file_is(armed->files[i], st))
			return true;
	return false;
}

/* Device numbers of /proc/PID/maps are not those of stat(2) on every file system. */
static int take_mapping(void *arg, const struct mapped_file *file)
{
	struct runners *r = arg;
	struct stat st;

	for (size_t i = 0; i < r->armed->file_count; i++)
		if (file->inode && r->armed->files[i]->inode == file->inode)
			return !mapped_file_locate(file, &r->name, &st) && is_armed(r->armed, &st);
	return 0;
}

static int take_process(void *arg, pid_t pid)
{
	struct runners *r = arg;

	r->count += pid != getpid() && maps_each_file(pid, &r->text, take_mapping, r) == 1;
	return 0;
}

static unsigned count_runners(const struct script_armed *armed)
{
	struct runners r = {.armed = armed};

	processes_each(take_process, &r);
	buf_free(&r.text);
	buf_free(&r.name);
	return r.count;
}

void session_remember_program(struct nopal_trace *t)
{
	char path[4096];
	struct str link = arena_printf(&t->arena, "/proc/%d/exe", (int)t->child.pid);
	ssize_t len = link.ptr ? readlink(link.ptr, path, sizeof(path)) : -1;

	if (len > 0 && (size_t)len < sizeof(path))
		t->program_path = arena_str(&t->arena, str_of(path, (size_t)len));
}

/* Where the events should have come from: the program may be another than the user thinks. */
static struct str who_ran(struct nopal_trace *t, const struct script_armed *armed, struct arena *a)
{
	const char *it = armed->unique_files == 1 ? "it" : "one of them";
	struct buf safe = BUF_INIT;
	unsigned count;
	struct str text;

	if (t->options.command) {
		buf_escaped(&safe, t->program_path);
		text = arena_printf(a, "the command ran '%.*s'", STR_FMT(buf_as_str(&safe)));
		buf_free(&safe);
		return text;
	}
	if (t->options.pid_count)
		return arena_printf(a, "%zu processes were traced", t->options.pid_count);
	if (t->pid)
		return arena_printf(a, "process %d was traced", (int)t->pid);
	count = count_runners(armed);
	if (!count)
		return arena_printf(a, "no process has %s mapped now", it);
	return arena_printf(a, "%u process%s %s mapped now", count, count == 1 ? " has" : "es have",
			    it);
}

static int found_entry(void *arg, struct str key, struct str value)
{
	(void)arg;
	(void)key;
	(void)value;
	return 1;
}

static bool anything_in_maps(struct nopal_trace *t)
{
	for (uint32_t i = 0; i < t->program->map_count; i++)
		if (map_each(&t->engine->maps, i, found_entry, NULL) == 1)
			return true;
	return false;
}

bool session_saw_nothing(struct nopal_trace *t)
{
	return !t->records && t->was_attached && !anything_in_maps(t);
}

void session_explain_no_events(struct nopal_trace *t, struct diag *d)
{
	struct script_armed armed;
	struct arena a = ARENA_INIT;
	struct str who;

	script_armed(t->script, &armed);
	if (!armed.sites || t->options.quiet || t->options.format == NOPAL_JSON)
		return;
	who = who_ran(t, &armed, &a);
	diag_warn(d, "no-events", "%s: %u site%s in %u file%s %s armed; %.*s",
		  armed.has_condition ? "no event passed the condition"
				      : "nothing was printed or counted",
		  armed.sites, armed.sites == 1 ? "" : "s", armed.unique_files,
		  armed.unique_files == 1 ? "" : "s", armed.sites == 1 ? "was" : "were",
		  STR_FMT(who));
	if (armed.note.len)
		diag_hint(d, "'%.*s' %.*s", STR_FMT(armed.noted), STR_FMT(armed.note));
	arena_free(&a);
}
