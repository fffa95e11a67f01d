/* What this kernel and this user can do, and what to do about the rest. */
#include "session/session.h"

#include <errno.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/export.h"
#include "engine/bpf/features.h"

/* A feature without which nothing can be traced, and what to do when it is missing. */
struct need {
	enum feature feature;
	const char *advice;
};

static const struct need needs[] = {
	{FEATURE_UPROBE,
	 "the kernel needs CONFIG_UPROBE_EVENTS; in a container, /sys must show event_source"},
	{FEATURE_RING, "tracing needs root, or CAP_BPF and CAP_PERFMON, and Linux 5.8"},
};

static void print_user(struct buf *out)
{
	struct utsname kernel;

	if (!uname(&kernel))
		buf_printf(out, "kernel         %s %s\n", kernel.release, kernel.machine);
	buf_printf(out, "user           %s\n", geteuid() ? "not root" : "root");
	buf_printf(out, "nopal          %s\n\n", NOPAL_VERSION);
}

/* The missing needs; 0 when there are none. */
static int print_needs(struct features *f, struct buf *out)
{
	int err = 0;

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		if (feature_has(f, needs[i].feature))
			continue;
		err = geteuid() ? -EPERM : -ENOTSUP;
		buf_printf(out, "hint: %s\n",
			   geteuid() ? "tracing needs root: try sudo" : needs[i].advice);
		break;
	}
	return err;
}

NOPAL_EXPORT int nopal_doctor(nopal_output_fn *output, void *arg)
{
	struct buf text = BUF_INIT;
	struct features features;
	struct diag d = DIAG_INIT;
	const char *tracefs;
	int err;

	features_init(&features);
	print_user(&text);
	features_print(&features, &text);
	tracefs = tracefs_dir(&d);
	buf_printf(&text, "%-14s %-4s %s\n", "tracefs", tracefs ? "yes" : "no",
		   tracefs ? tracefs : "tracepoints, and children of -p and -c");
	buf_char(&text, '\n');
	err = print_needs(&features, &text);
	buf_text(&text, err ? "tracing in the kernel does not work here; listing probes does\n"
			    : "tracing works\n");
	if (text.ptr)
		output(arg, text.ptr, text.len);
	buf_free(&text);
	diag_free(&d);
	return err;
}
