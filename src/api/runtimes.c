/* The language runtimes of a process, and the stacks of its threads in their languages. */
#include "nopal/trace.h"

#include <errno.h>

#include "base/export.h"
#include "base/public.h"
#include "lang/lang.h"
#include "symbols/maps.h"

#define RUNTIMES_MOST 8
#define FRAMES_MOST   1024

struct lang_view {
	pid_t pid;
	struct lang_runtime runtimes[RUNTIMES_MOST];
	unsigned count;
	struct lang_memory memory;
	struct buf out;
	struct lang_name name;
	unsigned stacks;
};

static const char *state_of(const struct lang_view *l, const struct lang_runtime *r)
{
	if (r->kind == LANG_JVM && lang_jvm_flag(r, &l->memory, "PreserveFramePointer"))
		return "ustack names its code by /tmp/perf-PID.map: run nopal lang --perf-map PID";
	return r->problem ? r->problem : "its stacks can be read";
}

static void print_runtime(struct lang_view *l, const struct lang_runtime *r)
{
	lang_print(r, &l->out);
	buf_text(&l->out, "  ");
	buf_escaped(&l->out, r->path);
	buf_printf(&l->out, "\n  %s\n", state_of(l, r));
}

static void print_frame(struct lang_view *l, const struct lang_runtime *r, struct lang_frame frame)
{
	struct buf line = BUF_INIT;

	lang_name(r, &l->memory, frame, &l->name);
	if (l->name.is_hidden)
		return;
	lang_print_name(&l->name, true, &line);
	buf_text(&l->out, "        ");
	buf_escaped(&l->out, buf_as_str(&line));
	buf_char(&l->out, '\n');
	buf_free(&line);
}

/* A thread that runs no script of this runtime is not shown. */
static void print_stack(struct lang_view *l, const struct lang_runtime *r, pid_t tid,
			uint64_t thread_pointer)
{
	struct lang_frame frames[FRAMES_MOST];
	enum lang_note note;
	size_t count;

	note = lang_walk(r, &l->memory, thread_pointer, frames, FRAMES_MOST, &count);
	/* PHP without threads has one stack, that of its main thread. */
	if (note == LANG_NO_THREAD || note == LANG_NO_RUNTIME ||
	    (r->kind == LANG_PHP && tid != l->pid))
		return;
	buf_printf(&l->out, "\nthread %d, %s\n", (int)tid, lang_kind_name(r->kind));
	for (size_t i = 0; i < count; i++)
		print_frame(l, r, frames[i]);
	if (lang_note_text(note))
		buf_printf(&l->out, "        [%s]\n", lang_note_text(note));
	l->stacks++;
}

static int take_thread(void *arg, pid_t tid, uint64_t thread_pointer)
{
	struct lang_view *l = arg;

	for (unsigned i = 0; i < l->count; i++)
		print_stack(l, &l->runtimes[i], tid, thread_pointer);
	return 0;
}

static bool has_layout(const struct lang_view *l)
{
	for (unsigned i = 0; i < l->count; i++)
		if (l->runtimes[i].layout)
			return true;
	return false;
}

static int find_runtimes(struct lang_view *l, struct diag *d)
{
	struct buf maps = BUF_INIT;
	int err = maps_read(l->pid, &maps), count;

	if (err) {
		buf_free(&maps);
		diag_error(d, err, "lang-process", "cannot read the mappings of process %d: %s",
			   (int)l->pid, strerror(-err));
		diag_hint_permission(d, err, "as the user whose process it is");
		return err;
	}
	count = lang_recognise(l->pid, buf_as_str(&maps), NULL, l->runtimes, RUNTIMES_MOST);
	buf_free(&maps);
	if (count < 0)
		return count;
	l->count = (unsigned)count;
	if (!count)
		return diag_error(d, -ENOENT, "no-runtime",
				  "process %d runs no known language runtime: python, php, "
				  "ruby, perl, node or jvm",
				  (int)l->pid);
	return 0;
}

static int print_stacks(struct lang_view *l, struct diag *d)
{
	int err;

	if (!has_layout(l))
		return -ENOTSUP;
	err = lang_each_thread(l->pid, take_thread, l);
	if (err) {
		diag_error(d, err, "lang-threads", "cannot stop the threads of process %d: %s",
			   (int)l->pid, strerror(-err));
		diag_hint_permission(d, err, "without another tracer or debugger on it");
	}
	if (!err && !l->stacks)
		buf_text(&l->out, "\nno thread runs a script\n");
	return err;
}

NOPAL_EXPORT int nopal_lang_process(pid_t pid, nopal_output_fn *output, void *arg,
				    struct nopal_diag *diag)
{
	struct diag *d = diag_inner(diag);
	struct lang_view l = {.pid = pid, .out = BUF_INIT};
	int err;

	l.memory = lang_memory_of(&l.pid);
	err = find_runtimes(&l, d);
	for (unsigned i = 0; i < l.count; i++)
		print_runtime(&l, &l.runtimes[i]);
	if (!err)
		err = print_stacks(&l, d);
	if (l.out.failed)
		err = -ENOMEM;
	if (l.out.len)
		output(arg, l.out.ptr, l.out.len);
	for (unsigned i = 0; i < l.count; i++)
		lang_runtime_free(&l.runtimes[i]);
	lang_name_free(&l.name);
	buf_free(&l.out);
	return err == -ENOTSUP ? err : diag_ensure(d, err, "look at the process");
}
