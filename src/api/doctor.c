/* What this kernel and this user can do, and what to change if that is not enough. A trial decides:
 * a small script traces a function of this library, as any other script would. */
#include "session/session.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/array.h"
#include "base/export.h"
#include "engine/bpf/kernel/features.h"
#include "engine/bpf/kernel/rights.h"
#include "symbols/maps.h"
#include "user/memory/shared_clock.h"
#include "user/patch/inject.h"
#include "user/run/native.h"

/* ---- The trial */

#define TRIAL_TEXT "is this read"

/* The trial traces this. */
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
	return mapped_file_locate(file, &own->name, &st) ? -ENOENT : 1;
}

static int write_script(struct buf *script, struct diag *d)
{
	struct own_file own = {.address = (uint64_t)(uintptr_t)traced_function};
	/* As symbols have it: relative to the file, unless the file has a fixed address. */
	uint64_t address = own.address;
	const ElfW(Ehdr) * head;
	Dl_info info;
	struct buf maps = BUF_INIT;
	int found = maps_each_file(getpid(), &maps, take_own_file, &own);

	if (dladdr((void *)(uintptr_t)address, &info) && info.dli_fbase) {
		head = info.dli_fbase;
		address -= head->e_type == ET_EXEC ? 0 : (uint64_t)(uintptr_t)head;
	}
	if (found > 0)
		buf_printf(script,
			   "uprobe:\"%s\":0x%llx { printf(\"%%s\", str(arg0)); @[str(arg0)] = "
			   "count() }",
			   own.name.ptr, (unsigned long long)address);
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

/* Trace one event, and look for it in the map. */
static int run_script(const char *script, struct nopal_diag *d)
{
	const struct nopal_trace_options options = {.size = sizeof(options),
						    .name = "doctor",
						    .pid = getpid(),
						    .unsafe = true,
						    .engine = "kernel"};
	/* volatile: the compiler must not make a copy of the function for this text. */
	void (*volatile call)(const char *) = traced_function;
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
	return diag_error(
		diag_inner(d), -EIO, "not-counted",
		"a probe in this program was attached and hit, but its event was not counted");
}

/* Run the trial; `out` gets what went wrong. */
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

/* ---- The rest of the report */

/* The capabilities that users other than root need, and what the kernel's lockdown forbids. */
static void print_rights(const struct rights *r, struct buf *out)
{
	static const char *const lockdowns[] = {
		[LOCKDOWN_NONE] = "no",
		[LOCKDOWN_INTEGRITY] = "integrity: it does not restrict tracing",
		[LOCKDOWN_CONFIDENTIALITY] =
			"confidentiality: BPF programs cannot read the kernel's memory",
	};
	/* clang-format off */
	const struct {
		const char *name;
		bool has;
		const char *means;
	} rows[] = {
		{ "CAP_BPF",             r->bpf,      "load programs into the kernel"         },
		{ "CAP_PERFMON",         r->perfmon,  "attach them"                           },
		{ "CAP_SYS_PTRACE",      r->ptrace,   "find probes in other users' processes" },
		{ "CAP_DAC_READ_SEARCH", r->read_all, "read tracefs, for tracepoints"         },
	};
	/* clang-format on */

	buf_printf(out, "user           %s%s\n", geteuid() ? "not root" : "root",
		   r->in_user_namespace ? " in a user namespace, which gives no rights to trace"
					: "");
	buf_printf(out, "lockdown       %s\n\n", lockdowns[r->lockdown]);
	for (size_t i = 0; i < COUNT(rows); i++)
		buf_printf(out, "%-19s %-4s %s\n", rows[i].name, rows[i].has ? "yes" : "no",
			   rows[i].means);
	buf_char(out, '\n');
}

/* Is it mounted and readable? Often only root may read its directory. */
static void print_tracefs(struct buf *out)
{
	struct diag d = DIAG_INIT;
	const char *dir = tracefs_dir(&d);
	struct buf events = BUF_INIT;

	if (dir)
		buf_printf(&events, "%s/events", dir);
	if (dir && faccessat(AT_FDCWD, events.ptr, R_OK | X_OK, AT_EACCESS))
		buf_printf(out, "%-14s no   %s: %s; only tracepoints need it\n", "tracefs", dir,
			   strerror(errno));
	else
		buf_printf(out, "%-14s %-4s %s\n", "tracefs", dir ? "yes" : "no",
			   dir ? dir : "not mounted; only tracepoints need it");
	buf_free(&events);
	diag_free(&d);
}

/* What user mode rests on, tried out. */
static void print_user_mode(struct buf *out)
{
	/* clang-format off */
	static const char *const means[] = {
		[INJECT_WRITES_NONE]   = "the kernel does not let this user debug even a child: kernel.yama.ptrace_scope is 3, a filter forbids it, or nopal is itself traced, as by strace -f",
		[INJECT_WRITES_ALWAYS] = "by /proc/PID/mem",
		[INJECT_WRITES_TRACED] = "by the thread that has stopped the process (proc_mem.force_override=ptrace)",
		[INJECT_WRITES_POKED]  = "by ptrace(2) alone (proc_mem.force_override=never)",
	};
	/* clang-format on */
	const char *why = native_problem(false);
	enum inject_writes writes = why ? INJECT_WRITES_NONE : inject_try_writes();
	char clock[CLOCK_NAME];

	if (!why && !writes)
		why = means[writes];
	buf_printf(out, "%-14s %-4s %s\n", "user mode", why ? "no" : "yes",
		   why ? why
		       : "-p and -c trace processes that this user may debug; see nopal doctor -p "
			 "PID");
	if (why)
		return;
	buf_printf(out, "%-14s %-4s code is written %s\n", "its writes", "yes", means[writes]);
	buf_printf(out,
		   "%-14s %-4s frame pointers alone are followed; the kernel's engine reads unwind "
		   "tables\n",
		   "its stacks", "yes");
	if (!native_clock_is_tsc(NULL, clock))
		buf_printf(out,
			   "%-14s %-4s the kernel's clock is '%s', not the CPU's time stamp "
			   "counter: user mode counts, and has no records and no 'nsecs'\n",
			   "its clock", "no", clock);
}

/* After a failed trial: what the user can do. */
static void print_remedy(const struct rights *r, int err, struct buf *out)
{
	bool denied = err == -EPERM || err == -EACCES;

	buf_text(out, "tracing in the kernel does not work here; listing probes does\n");
	if (denied && geteuid())
		buf_text(out, "to do: run nopal with sudo, or give it rights: setcap "
			      "cap_bpf,cap_perfmon,cap_sys_ptrace+ep nopal\n");
	else if (denied && !(r->bpf && r->perfmon))
		buf_text(out,
			 "to do: this is root without the rights of root, as in a container: "
			 "start it with --cap-add BPF --cap-add PERFMON --cap-add SYS_PTRACE\n");
	if (!native_problem(false))
		buf_text(out, "your own processes can be traced in user mode: with -p or -c\n");
}

NOPAL_EXPORT int nopal_doctor(nopal_output_fn *output, void *arg)
{
	struct buf text = BUF_INIT;
	struct features features;
	struct rights rights;
	struct utsname kernel;
	int err;

	features_init(&features);
	if (!uname(&kernel))
		buf_printf(&text, "kernel         %s %s\n", kernel.release, kernel.machine);
	buf_printf(&text, "nopal          %s\n", NOPAL_VERSION);
	rights_read(&rights);
	print_rights(&rights, &text);
	features_print(&features, rights.bpf, &text);
	print_tracefs(&text);
	print_user_mode(&text);
	buf_char(&text, '\n');
	err = try_tracing(&text);
	if (err)
		print_remedy(&rights, err, &text);
	else
		buf_text(&text, "tracing works\n");
	if (text.ptr)
		output(arg, text.ptr, text.len);
	buf_free(&text);
	return err;
}
