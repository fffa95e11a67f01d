/* What user mode can do with a process: a table of its sites, and undoing what a killed tracer
 * left. */
#include "nopal/trace.h"

#include <errno.h>

#include "base/export.h"
#include "base/public.h"
#include "find/find.h"
#include "user/gen/gen.h"
#include "user/patch/inject.h"
#include "user/patch/libc.h"
#include "user/ptrace/tracee.h"
#include "user/run/native.h"

#define MAPPED_MOST 4
#define PLACES_MOST 32

/* A walk over all sites of a process. */
struct site_survey {
	struct inject *x;
	struct buf out;
	unsigned forms[INJECT_FORMS]; /* how many of each form, in this image */
	unsigned all, reached;	      /* in all images */
};

static void print_site(struct site_survey *l, const struct site *site, const struct inject_site *s)
{
	struct buf name = BUF_INIT;

	buf_printf(&name, "%.*s:%.*s", STR_FMT(site->provider), STR_FMT(site->name));
	buf_text(&l->out, "  ");
	buf_escaped(&l->out, buf_as_str(&name));
	buf_fill(&l->out, ' ', name.len < 40 ? 40 - name.len : 0);
	buf_printf(&l->out, " 0x%012llx  ", (unsigned long long)s->pc);
	if (s->form == INJECT_NONE)
		buf_printf(&l->out, "no        %s\n", s->why);
	else
		buf_printf(&l->out, "%s\n", inject_form_name(s->form));
	l->forms[s->form]++;
	buf_free(&name);
}

static int look_at_site(struct site_survey *l, const struct found_image *image,
			const struct site *site)
{
	uint64_t addresses[MAPPED_MOST];
	unsigned count =
		inject_find(l->x, image->file->inode, site->offset, addresses, MAPPED_MOST);

	for (unsigned i = 0; i < count; i++) {
		struct inject_site s = {.pc = addresses[i]};
		int err = inject_plan(l->x, &s);

		if (err)
			return err;
		print_site(l, site, &s);
	}
	return 0;
}

static void sum_up(struct site_survey *l)
{
	unsigned all = 0, none = l->forms[INJECT_NONE];

	for (unsigned i = 0; i < INJECT_FORMS; i++)
		all += l->forms[i];
	buf_printf(&l->out, "  %u of %u site%s can be traced in user mode", all - none, all,
		   all == 1 ? "" : "s");
	for (unsigned i = INJECT_NONE + 1, before = 0; i < INJECT_FORMS; i++)
		if (l->forms[i])
			buf_printf(&l->out, "%s%u %s", before++ ? ", " : ": ", l->forms[i],
				   inject_form_name((enum inject_form)i));
	buf_text(&l->out, "\n\n");
	l->all += all;
	l->reached += all - none;
}

static int look_at_image(void *arg, const struct found_image *image, const size_t *matches,
			 size_t count)
{
	struct site_survey *l = arg;
	int err = 0;

	if (!image->file)
		return 0;
	buf_escaped(&l->out, image->path);
	buf_char(&l->out, '\n');
	memset(l->forms, 0, sizeof(l->forms));
	for (size_t i = 0; i < count && !err; i++)
		err = look_at_site(l, image, &image->sites->sites[matches[i]]);
	sum_up(l);
	return err;
}

/* ---- what is changed besides, while a session lasts */

static const char *const places[] = {
	[LIBC_VFORK] = "vfork()", [LIBC_PRCTL] = "prctl()",   [LIBC_SYSCALL] = "syscall()",
	[LIBC_CLONE] = "clone()", [LIBC_CLONE3] = "clone3()",
};

static void print_place(struct site_survey *l, const char *name, const struct inject_site *s)
{
	buf_printf(&l->out, "  %-40s 0x%012llx  %s\n", name, (unsigned long long)s->pc,
		   inject_form_name(s->form));
}

/* An instruction of 5 bytes is moved at each, so that children and filters are seen in time. */
static int look_at_places(struct site_survey *l)
{
	struct inject_place found[PLACES_MOST];
	struct inject_site loader;
	unsigned lacks;
	uint64_t state;
	int count, err;

	buf_text(&l->out, "C library and dynamic loader, while a session lasts\n");
	count = inject_plan_libc(l->x, found, PLACES_MOST, &lacks);
	for (int i = 0; i < count; i++)
		print_place(l, places[found[i].what], &found[i].site);
	err = inject_plan_loader(l->x, &loader, &state);
	if (!err)
		print_place(l, "loading a library", &loader);
	buf_char(&l->out, '\n');
	return count == -ENOMEM || err == -ENOMEM ? -ENOMEM : 0;
}

static int look_at_all(struct site_survey *l, struct diag *d)
{
	const struct find_query q = {.pid = inject_pid(l->x), .to_attach = true};
	struct finder *finder;
	int err = finder_new(&finder);

	if (err)
		return err;
	err = finder_sites(finder, &q, look_at_image, l, d);
	finder_problems(finder, d);
	finder_free(finder);
	return err < 0 ? err : 0;
}

NOPAL_EXPORT int nopal_doctor_process(pid_t pid, nopal_output_fn *output, void *arg,
				      struct nopal_diag *diag)
{
	struct diag *d = diag_inner(diag);
	const char *why = native_problem(true);
	struct site_survey l = {.out = BUF_INIT};
	int err;

	if (why)
		return diag_error(d, -ENOTSUP, "user-mode-cpu",
				  "user mode is not possible on this machine: %s", why);
	err = inject_open(pid, &l.x, d);
	if (!err)
		err = look_at_all(&l, d);
	if (!err && l.all)
		err = look_at_places(&l);
	if (!err && !l.all)
		buf_printf(&l.out, "process %d has mapped no file with probes\n", (int)pid);
	if (!err && l.out.failed)
		err = -ENOMEM;
	if (!err)
		output(arg, l.out.ptr, l.out.len);
	inject_close(l.x);
	buf_free(&l.out);
	return diag_ensure(d, err, "look at the process");
}

NOPAL_EXPORT int nopal_clean(pid_t pid, struct nopal_diag *diag)
{
	struct diag *d = diag_inner(diag);

	return diag_ensure(d, inject_clean(pid, d), "undo what was left in the process");
}
