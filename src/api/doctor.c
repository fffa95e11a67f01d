/* What this kernel and this user can do, and what to do about the rest. The verdict is that of a
 * trial: a small script is run on a function of our own, as any other script would be. */
#include "session/session.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/export.h"
#include "engine/bpf/features.h"
#include "engine/bpf/rights.h"
#include "symbols/maps.h"

/* ---- the trial */

#define TRIAL_TEXT "is this read"

/* What the trial traces. */
static __attribute__((noinline)) void traced_function(const char *text)
{
	__asm__ volatile("" : : "r"(text) : "memory");
}

struct own_file {
	uint64_t address;
	struct buf name; /* to open it by */
};

static int take_own_file(void *arg, const struct mapped_file *file)
{
	struct own_file *own = arg;
	struct stat st;

	if (own->address < file->start || own->address >= file->end)
		return 0;
	return mapped_file_locate(file, false, &own->name, &st) ? -ENOENT : 1;
}

/* The function as symbols give it: relative to the file, if the file is not bound to a place. */
static uint64_t file_address(uint64_t address)
{
	Dl_info info;
	const ElfW(Ehdr) * head;

	if (!dladdr((void *)(uintptr_t)address, &info) || !info.dli_fbase)
		return address;
	head = info.dli_fbase;
	return head->e_type == ET_EXEC ? address : address - (uint64_t)(uintptr_t)head;
}

static int write_script(struct buf *script, struct diag *d)
{
	struct own_file own = {.address = (uint64_t)(uintptr_t)traced_function};
	struct buf maps = BUF_INIT;
	int found = maps_each_file(getpid(), &maps, take_own_file, &own);

	if (found > 0)
		buf_printf(script,
			   "uprobe:\"%s\":0x%llx { printf(\"%%s\", str(arg0)); @[str(arg0)] = "
			   "count() }",
			   own.name.ptr, (unsigned long long)file_address(own.address));
	buf_free(&maps);
	buf_free(&own.name);
	if (found > 0 && !script->failed)
		return 0;
	return diag_error(d, -ENOENT, "no-file",
			  "cannot find the file of this program in /proc/self/maps");
}

static int is_counted(void *arg, const struct nopal_map_entry *entry)
{
	bool *counted = arg;

	*counted |= entry->number == 1 && str_eq_text(STR(TRIAL_TEXT), entry->key);
	return 0;
}

/* Is an event of our own counted? 0 or -errno. */
static int run_script(const char *script, struct nopal_diag *d)
{
	const struct nopal_trace_options options = {
		.size = sizeof(options), .name = "doctor", .pid = getpid(), .unsafe = true};
	void (*volatile call)(const char *) =
		traced_function; /* no copy of it made for this text */
	struct nopal_trace *t;
	bool counted = false;
	int err = nopal_trace_open(script, &options, &t, d);

	if (err)
		return err;
	err = nopal_trace_attach(t, d);
	if (!err)
		call(TRIAL_TEXT);
	if (!err)
		err = nopal_trace_finish(t, d);
	if (!err)
		err = nopal_trace_map(t, "@", is_counted, &counted, d);
	nopal_trace_close(t);
	if (err || counted)
		return err;
	return diag_error(diag_inner(d), -EIO, "not-counted",
			  "a probe in this program was attached and hit, but not counted");
}

/* Runs it, and says what went wrong. */
static int try_tracing(struct buf *out)
{
	struct nopal_diag *d = nopal_diag_new();
	struct buf script = BUF_INIT;
	int err = d ? write_script(&script, diag_inner(d)) : -ENOMEM;

	if (!err)
		err = run_script(script.ptr, d);
	if (err && d)
		buf_text(out, nopal_diag_text(d));
	nopal_diag_free(d);
	buf_free(&script);
	return err;
}

/* ---- the rest of the report */

static void print_machine(struct buf *out)
{
	struct utsname kernel;

	if (!uname(&kernel))
		buf_printf(out, "kernel         %s %s\n", kernel.release, kernel.machine);
	buf_printf(out, "nopal          %s\n", NOPAL_VERSION);
}

/* The rights that a user needs who is not root, and what a locked down kernel forbids. */
static void print_rights(struct buf *out)
{
	static const char *const lockdowns[] = {
		[LOCKDOWN_NONE] = "no",
		[LOCKDOWN_INTEGRITY] = "integrity: tracing is not touched by it",
		[LOCKDOWN_CONFIDENTIALITY] =
			"confidentiality: BPF programs may not read memory of the kernel",
	};
	struct rights r;
	const struct {
		const char *name;
		bool has;
		const char *means;
	} rows[] = {
		{"CAP_BPF", (rights_read(&r), r.bpf), "loads programs into the kernel"},
		{"CAP_PERFMON", r.perfmon, "attaches them"},
		{"CAP_SYS_PTRACE", r.ptrace, "looks at the files of other users' processes"},
		{"CAP_DAC_READ_SEARCH", r.read_all, "reads tracefs: tracepoints"},
	};

	buf_printf(out, "user           %s%s\n", geteuid() ? "not root" : "root",
		   r.in_user_namespace ? " of a user namespace, which does not count" : "");
	buf_printf(out, "lockdown       %s\n\n", lockdowns[r.lockdown]);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		buf_printf(out, "%-19s %-4s %s\n", rows[i].name, rows[i].has ? "yes" : "no",
			   rows[i].means);
	buf_char(out, '\n');
}

/* Mounted and readable: its directory is often closed to all but root. */
static void print_tracefs(struct buf *out)
{
	struct diag d = DIAG_INIT;
	const char *dir = tracefs_dir(&d);
	struct buf events = BUF_INIT;

	if (dir)
		buf_printf(&events, "%s/events", dir);
	if (dir && faccessat(AT_FDCWD, events.ptr, R_OK | X_OK, AT_EACCESS))
		buf_printf(out, "%-14s no   %s: %s; tracepoints need it\n", "tracefs", dir,
			   strerror(errno));
	else
		buf_printf(out, "%-14s %-4s %s\n", "tracefs", dir ? "yes" : "no",
			   dir ? dir : "not mounted; tracepoints need it");
	buf_free(&events);
	diag_free(&d);
}

NOPAL_EXPORT int nopal_doctor(nopal_output_fn *output, void *arg)
{
	struct buf text = BUF_INIT;
	struct features features;
	int err;

	features_init(&features);
	print_machine(&text);
	print_rights(&text);
	features_print(&features, &text);
	print_tracefs(&text);
	buf_char(&text, '\n');
	err = try_tracing(&text);
	buf_text(&text, err ? "tracing in the kernel does not work here; listing probes does\n"
			    : "tracing works\n");
	if (text.ptr)
		output(arg, text.ptr, text.len);
	buf_free(&text);
	return err;
}
