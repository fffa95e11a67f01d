/* Tracing with libnopal: compile a script, attach it, drain its events, read its maps.
 *
 *	struct nopal_diag *d = nopal_diag_new();
 *	struct nopal_trace_options options = { .size = sizeof(options), .output = print };
 *	struct nopal_trace *t;
 *
 *	if (nopal_trace_open("usdt:./tick:tick:word { @[str(arg0)] = count() }", &options, &t, d))
 *		...nopal_diag_text(d)...
 *	nopal_trace_attach(t, d);
 *	while (nopal_trace_poll(t, -1, d) > 0)
 *		;
 *	nopal_trace_finish(t, d);          // END, what is left in the ring, the maps
 *	nopal_trace_close(t);
 *
 * The language is bpftrace's: see nopal-script(7).
 *
 * Calls return 0 (or a count) on success and -errno on failure, with a message in the struct
 * nopal_diag, which may be NULL. A trace belongs to the thread that opened it; only
 * nopal_trace_stop() may be called from anywhere. */
#ifndef NOPAL_TRACE_H
#define NOPAL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "nopal/diag.h"

#ifdef __cplusplus
extern "C" {
#endif

struct nopal_trace;

/* Text for the user: what printf() and the maps at exit print. `len` bytes, no NUL. */
typedef void nopal_output_fn(void *arg, const char *text, size_t len);

enum nopal_format { NOPAL_TEXT, NOPAL_JSON };
enum nopal_dump { NOPAL_DUMP_TREE, NOPAL_DUMP_PROGRAM, NOPAL_DUMP_BPF };

/* Zero means the default everywhere, so `= { .size = sizeof(options) }` is a good start. */
struct nopal_trace_options {
	size_t size;		   /* sizeof(struct nopal_trace_options): lets the struct grow */
	const char *name;	   /* of the script, for messages: "-e", "latency.bt" */
	const char *const *params; /* $1 ... */
	size_t param_count;
	pid_t pid;	     /* trace this process alone, unless `follow` is set; 0: all */
	const char *command; /* start this, trace it and its children; it waits for the attach */
	enum nopal_format format;
	nopal_output_fn *output; /* NULL: text is dropped, maps can still be read */
	void *output_arg;
	nopal_output_fn *notice; /* warnings while running ("Lost 3 events"); NULL: to `output` */
	size_t ring_bytes;	 /* event buffer, default 4 MiB; a power of two */
	bool terminal; /* output is a terminal: escape newlines and tabs in traced strings, too */
	bool unsafe;   /* allow system() */
	bool verbose;  /* give `notice` the verifier's log and the kernel features in use */
	/* Also trace the children that `pid` has from now on; always so with `command`. Then every
	 * process that runs the same file meets the breakpoints, and sees the semaphores raised.
	 * Aligned, since the padding of a smaller struct may hold anything. */
	bool follow __attribute__((aligned(sizeof(size_t))));
	/* Kernels before 6.6 take some 50 ms to detach a site: let a child process do it, so that
	 * nopal_trace_finish() and nopal_trace_close() return at once. The probes do nothing then.
	 */
	bool detach_later;
	bool raw;   /* traced strings, names, what cat() and system() give: nothing is escaped */
	bool quiet; /* NOPAL_JSON: only what the script prints, not how many probes there are */
	/* Who runs the script: "bpf" (the default) or "interp", or several in order of preference,
	 * "interp,bpf": clauses that share a map stay together, on the first that can run them. */
	const char *engine;
	const char *events; /* interp: a file of recorded events, see nopal(1), to play instead */
};

/* Compile and load. Nothing is attached yet and nothing has been printed. -EINVAL: the script is
 * wrong; -ENOENT: a probe, file or process is missing; -EPERM, -EACCES: privileges; -ENOTSUP: the
 * kernel cannot. */
int nopal_trace_open(const char *script, const struct nopal_trace_options *options,
		     struct nopal_trace **out, struct nopal_diag *d);
/* Only compile, as far as the dump needs, and give its text to options->output. */
int nopal_trace_dump(const char *script, const struct nopal_trace_options *options,
		     enum nopal_dump what, struct nopal_diag *d);
/* Number of places that will be attached. */
unsigned nopal_trace_probe_count(const struct nopal_trace *t);
/* Run BEGIN, attach everything, let the command go. */
int nopal_trace_attach(struct nopal_trace *t, struct nopal_diag *d);
/* Hand over what has arrived, run intervals that are due, wait at most timeout_ms (-1: until
 * something happens). 1: go on; 0: the run is over (exit(), stop, the command or process is gone);
 * -errno. */
int nopal_trace_poll(struct nopal_trace *t, int timeout_ms, struct nopal_diag *d);
/* End the run soon, from a signal handler or another thread. */
void nopal_trace_stop(struct nopal_trace *t);
/* Detach, drain, run END, print the maps and what was lost. Later polls return 0. */
int nopal_trace_finish(struct nopal_trace *t, struct nopal_diag *d);
/* Print all maps now. */
int nopal_trace_print_maps(struct nopal_trace *t);
int nopal_trace_exit_code(const struct nopal_trace *t); /* exit()'s argument; 0 */
/* After the run: the exit code of `command`, 128 + N when signal N killed it; -1: none, or it has
 * not ended. */
int nopal_trace_command_code(const struct nopal_trace *t);
void nopal_trace_close(struct nopal_trace *t); /* NULL is fine; detaches */

/* What was lost since the attach; delivered + lost records = fired. */
struct nopal_trace_stats {
	uint64_t records;      /* delivered */
	uint64_t lost_records; /* the event buffer was full */
	uint64_t lost_updates; /* a map was full */
	uint64_t lost_runs;    /* a clause could not run for want of scratch memory */
};
void nopal_trace_stats(struct nopal_trace *t, struct nopal_trace_stats *out);

/* One key of a map, as text ("a,2"), and its value as print() shows it; `number` is exact for
 * integers, count(), sum(), min(), max() and avg(). Non-zero from the callback ends the walk and is
 * returned. */
struct nopal_map_entry {
	const char *key; /* "" for a map without keys */
	const char *text;
	int64_t number;
	bool is_number;
};
typedef int nopal_map_fn(void *arg, const struct nopal_map_entry *entry);
int nopal_trace_map(struct nopal_trace *t, const char *name, nopal_map_fn *fn, void *arg,
		    struct nopal_diag *d);

/* Every probe a pattern names, one text each, as `nopal -l` prints: "usdt:/bin/x:provider:name".
 * Number of probes. */
typedef int nopal_list_fn(void *arg, const char *probe);
int nopal_trace_list(const char *pattern, const struct nopal_trace_options *options,
		     nopal_list_fn *fn, void *arg, struct nopal_diag *d);

/* The builtins of the language, one a line, in groups: name, what it is, an example. */
int nopal_trace_builtins(nopal_output_fn *fn, void *arg);

/* Attach a BPF program of the caller's own (type KPROBE; expected_attach_type
 * BPF_TRACE_UPROBE_MULTI where the kernel has it) to every site of provider:name in `path`,
 * semaphores included, as libbpf's bpf_program__attach_usdt does. `cookie` is what
 * bpf_get_attach_cookie() gives. With a pid the kernel arms that process alone, without its
 * children. The caller keeps the program's fd. */
struct nopal_link;
int nopal_attach_bpf(int prog_fd, pid_t pid, const char *path, const char *provider,
		     const char *name, uint64_t cookie, struct nopal_link **out,
		     struct nopal_diag *d);
unsigned nopal_link_site_count(const struct nopal_link *link);
void nopal_link_detach(struct nopal_link *link); /* NULL is fine */

/* What this kernel and this user can do, as text (`nopal doctor`). 0 when tracing works, -errno
 * when not. */
int nopal_doctor(nopal_output_fn *output, void *arg);
const char *nopal_version(void);

#ifdef __cplusplus
}
#endif

#endif
