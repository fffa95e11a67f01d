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
 * The language is that of bpftrace: see nopal-script(7).
 *
 * Calls return 0 (or a count) on success and -errno on failure, with a message in the struct
 * nopal_diag, which may be NULL. A trace belongs to the thread that opened it; only
 * nopal_trace_stop() may be called from other threads. */
#ifndef NOPAL_TRACE_H
#define NOPAL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "nopal/diag.h"
#include "nopal/show.h"

#ifdef __cplusplus
extern "C" {
#endif

struct nopal_trace;

/* Called with text for the user: what printf() prints, and the maps at exit. `len` bytes, without a
 * NUL. */
typedef void nopal_output_fn(void *arg, const char *text, size_t len);

/* ORDER: the options -f and --dump in cmd/ take these by position. */
/* NOPAL_FOLDED: an entry of a map is a line "main;run;step 3", ready for flame graphs; NOPAL_CSV: a
 * row of a table, keys first. */
enum nopal_format { NOPAL_TEXT, NOPAL_JSON, NOPAL_FOLDED, NOPAL_CSV };
enum nopal_dump { NOPAL_DUMP_TREE, NOPAL_DUMP_PROGRAM, NOPAL_DUMP_BPF };

/* A piece of a script that its author took from somewhere else, a word of a command line: messages
 * about the piece show the text that it was taken from. */
struct nopal_origin {
	size_t at, len;	  /* of the script: the bytes that are meant */
	const char *text; /* ... as many of this text, which ends in a NUL, ... */
	size_t text_at;	  /* ... from here on */
};

/* A zero means the default, so begin with `= { .size = sizeof(options) }`. */
struct nopal_trace_options {
	size_t size;		   /* sizeof(struct nopal_trace_options): lets the struct grow */
	const char *name;	   /* of the script, for messages: "-e", "latency.bt" */
	const char *const *params; /* $1 ... */
	size_t param_count;
	pid_t pid;	     /* trace only this process, unless `follow` is set; 0: all */
	const char *command; /* start this once all is attached, and trace it and its children */
	enum nopal_format format;
	nopal_output_fn *output; /* NULL: text is dropped; maps can still be read */
	void *output_arg;
	nopal_output_fn
		*notice;   /* gets warnings during the run ("Lost 3 events"); NULL: `output` */
	size_t ring_bytes; /* event buffer, default 4 MiB; a power of two */
	bool terminal; /* output is a terminal: also escape newlines and tabs in traced strings */
	bool unsafe;   /* allow system() */
	bool verbose;  /* give `notice` the verifier's log and the kernel features in use */
	/* Also trace the children that `pid` creates from now on, as is always done with `command`.
	 * Every process that runs the same file then gets the breakpoints and the raised
	 * semaphores. Aligned, because in older callers these bytes are padding, of any value. */
	bool follow __attribute__((aligned(sizeof(size_t))));
	/* Kernels before 6.6 need some 50 ms to detach a site: let a child process do it, so that
	 * nopal_trace_finish() and nopal_trace_close() return at once. The probes have no effect
	 * meanwhile. */
	bool detach_later;
	bool raw;   /* escape nothing: traced strings, names, what cat() and system() print */
	bool quiet; /* NOPAL_JSON: print only what the script prints, not the number of probes */
	/* The engine that runs the script: "bpf", "native" or "interp"; or several in order of
	 * preference, "native,bpf": clauses that share a map run on the first that can run all of
	 * them. "user" is "native,bpf" for those whom the kernel lets trace, "native" for others;
	 * "kernel" is "bpf". The default, "auto", is "kernel", but "user" for others with `pid` or
	 * `command`. */
	const char *engine;
	const char *events; /* interp: a file of recorded events, see nopal(1), to play instead */
	const struct nopal_origin *origins; /* of the script, in ascending order of `at` */
	size_t origin_count;
	/* NOPAL_JSON: an object for each event(), and for each entry of a map, {"type": "row",
	 * "map": "@", "key": ["a", 2], "value": 3}, with times in UTC and null for a string whose
	 * pointer is NULL; else the shapes of bpftrace. */
	bool structured;
	uint64_t max_events; /* end the run after N lines of printf() and print(); 0: no limit */
	/* Draw maps as tables and histograms for people, the largest first, with short names of
	 * probes; NULL: as bpftrace does. Only of NOPAL_TEXT; both live as long as the trace. */
	const struct nopal_look *look;
	const char *titles; /* of the keys' columns: "pid, args.word"; NULL: none */
	/* Show source lines and inlined functions in stacks, where there is debug information; the
	 * setting show_debug_info of a script does the same. */
	bool lines;
	enum nopal_frames frames; /* of text */
	/* warnf() says nothing. Aligned, as `follow` is. */
	bool no_warnings __attribute__((aligned(sizeof(size_t))));
	/* Headers of C that the script includes before its own, one a line; and the folders where
	 * headers are looked for. NULL: none. */
	const char *headers, *header_dirs;
	/* Trace in user mode where that is experimental: on aarch64. Aligned, as `follow` is. */
	bool experimental __attribute__((aligned(sizeof(size_t))));
	/* Trace only these processes, which the run ends with the last of; without `pid`, `command`
	 * and `follow`. */
	const pid_t *pids;
	size_t pid_count;
	/* Attach only the probes whose names, as `probe` has them, match this extended regular
	 * expression, and BEGIN and END; NULL: all. */
	const char *probe_filter;
	/* Also report each read and deletion of a key that a map does not have, and what failed
	 * each second, not only at the end. Aligned, as `follow` is. */
	bool report_missing_keys __attribute__((aligned(sizeof(size_t))));
	/* Run this test or bench probe of the script alone: "test:NAME", "bench:NAME". For
	 * nopal_trace_check() also "test:" or "bench:", all of them. NULL: none. */
	const char *trial;
};

/* Compile and load a script. Nothing is attached or printed yet. -EINVAL: the script has errors;
 * -ENOENT: a probe, file or process does not exist; -EPERM, -EACCES: missing privileges; -ENOTSUP:
 * the kernel lacks a feature; -ECANCELED, without a message: --help was among the parameters, and
 * `output` has got the options that the script declares. */
int nopal_trace_open(const char *script, const struct nopal_trace_options *options,
		     struct nopal_trace **out, struct nopal_diag *d);
/* Only compile, as far as is needed, and pass the text of the dump to options->output. */
int nopal_trace_dump(const char *script, const struct nopal_trace_options *options,
		     enum nopal_dump what, struct nopal_diag *d);
/* Pass the formatted script to options->output: one statement a line, indented, with its
 * comments. It needs no privilege, and compiles to the same program. */
int nopal_trace_format(const char *script, const struct nopal_trace_options *options,
		       struct nopal_diag *d);
/* The number of probes: one that has several sites counts once in each clause. */
unsigned nopal_trace_probe_count(const struct nopal_trace *t);
/* Run BEGIN, attach everything, and let the command run. */
int nopal_trace_attach(struct nopal_trace *t, struct nopal_diag *d);
/* Wait at most timeout_ms (-1: no limit) for events, pass on the text of those that have arrived,
 * and run intervals that are due. 1: call it again; 0: the run is over (exit(), nopal_trace_stop(),
 * or the command or process has ended); -errno. */
int nopal_trace_poll(struct nopal_trace *t, int timeout_ms, struct nopal_diag *d);
/* Ask for the end of the run. May be called from a signal handler or another thread. */
void nopal_trace_stop(struct nopal_trace *t);
/* Detach, drain, run END, print the maps and the numbers of lost events. Later polls return 0. */
int nopal_trace_finish(struct nopal_trace *t, struct nopal_diag *d);
/* Print all maps now. */
int nopal_trace_print_maps(struct nopal_trace *t);
/* What nopal does on SIGUSR1: run the clauses of self:signal:SIGUSR1, or, if the script has none,
 * print all maps. */
int nopal_trace_signal(struct nopal_trace *t, struct nopal_diag *d);
/* Of a test or bench probe: how often it ran, and how long all runs took together, the calls of the
 * kernel included. */
void nopal_trace_trial(const struct nopal_trace *t, uint64_t *runs, uint64_t *ns);
int nopal_trace_exit_code(const struct nopal_trace *t); /* the argument of exit(), or 0 */
/* After the run: the exit code of `command`, or 128 + N if signal N killed it; -1: there was no
 * command, or it has not ended. */
int nopal_trace_command_code(const struct nopal_trace *t);
void nopal_trace_close(struct nopal_trace *t); /* NULL is fine; detaches */

/* Counts since the attach; records + lost_records is the number of records that were sent. */
struct nopal_trace_stats {
	uint64_t records;      /* delivered */
	uint64_t lost_records; /* the event buffer was full */
	uint64_t lost_updates; /* a map was full */
	uint64_t lost_runs;    /* a clause could not run for want of scratch memory */
};
void nopal_trace_stats(struct nopal_trace *t, struct nopal_trace_stats *out);

/* Call `fn` with each entry of a map: the key as text ("a,2") and the value as print() shows it,
 * with its exact `number` for integers, count(), sum(), min(), max() and avg(). If `fn` returns a
 * value other than 0, the walk ends and that value is returned. */
struct nopal_map_entry {
	const char *key; /* "" for a map without keys */
	const char *text;
	int64_t number;
	bool is_number;
	const struct nopal_histogram *histogram; /* of hist() and lhist(); else NULL */
	const char *const *parts;		 /* of the key: "a", "2" */
	unsigned part_count;
	/* count(), sum(): the number less an earlier one is that of the time between. */
	bool adds_up;
};
typedef int nopal_map_fn(void *arg, const struct nopal_map_entry *entry);
int nopal_trace_map(struct nopal_trace *t, const char *name, nopal_map_fn *fn, void *arg,
		    struct nopal_diag *d);
/* The name of a map, "@lat"; NULL: there are only `index` or fewer. Lives as long as the trace. */
const char *nopal_trace_map_name(const struct nopal_trace *t, unsigned index);

/* Compile a script, attach and run nothing: call `fn` with the name of each probe that would be
 * attached, and its number of sites. Needs no privilege except to read the files. */
typedef int nopal_check_fn(void *arg, const char *probe, unsigned sites);
int nopal_trace_check(const char *script, const struct nopal_trace_options *options,
		      nopal_check_fn *fn, void *arg, struct nopal_diag *d);

/* Call `fn` with the name of every probe that matches a pattern, as `nopal -l` prints it:
 * "usdt:/bin/x:provider:name". Returns the number of probes. */
typedef int nopal_list_fn(void *arg, const char *probe);
int nopal_trace_list(const char *pattern, const struct nopal_trace_options *options,
		     nopal_list_fn *fn, void *arg, struct nopal_diag *d);

/* Pass on a list of the language's builtins, in groups: name, meaning, an example. */
int nopal_trace_builtins(nopal_output_fn *fn, void *arg);

/* Attach a BPF program of the caller (type KPROBE; expected_attach_type BPF_TRACE_UPROBE_MULTI if
 * the kernel has it) to every site of provider:name in `path`, with semaphores, as libbpf's
 * bpf_program__attach_usdt does. bpf_get_attach_cookie() returns `cookie`. With a pid, the kernel
 * puts breakpoints only into that process, and not into its children. The caller still owns
 * prog_fd. */
struct nopal_link;
int nopal_attach_bpf(int prog_fd, pid_t pid, const char *path, const char *provider,
		     const char *name, uint64_t cookie, struct nopal_link **out,
		     struct nopal_diag *d);
unsigned nopal_link_site_count(const struct nopal_link *link);
void nopal_link_detach(struct nopal_link *link); /* NULL is fine */

/* Report as text what this kernel and this user can trace (`nopal doctor`). 0: tracing works;
 * -errno: it does not. */
int nopal_doctor(nopal_output_fn *output, void *arg);
/* Pass on a table of the sites that a process has mapped: how each can be traced in user mode, or
 * why it cannot. -EPERM, -ESRCH, -ENOTSUP. */
int nopal_doctor_process(pid_t pid, nopal_output_fn *output, void *arg, struct nopal_diag *d);
/* Pass on as text which language runtimes a process has (Python, PHP, Ruby, Perl, Node, the JVM),
 * and the stack of each thread in its language. The threads are stopped for a moment. -ESRCH,
 * -EPERM; -ENOENT: it has none that is known; -ENOTSUP: it has, but no stack can be read. */
int nopal_lang_process(pid_t pid, nopal_output_fn *output, void *arg, struct nopal_diag *d);
/* Have a HotSpot JVM (JDK 17 or newer) write down the names of the functions that it has compiled,
 * by which stacks of the program are named, in /tmp/perf-PID.map; and pass on as text where. It is
 * asked as jcmd does it, as its own user. -ESRCH, -EPERM; -ENOENT: it is not a JVM; -ENOTSUP: it
 * cannot do it; -ETIMEDOUT. */
int nopal_lang_perf_map(pid_t pid, nopal_output_fn *output, void *arg, struct nopal_diag *d);
/* Undo what a tracer in user mode that was killed left in a process. Number of sites; -ENOENT:
 * there is nothing; -EBUSY: that tracer runs. */
int nopal_clean(pid_t pid, struct nopal_diag *d);
const char *nopal_version(void);

#ifdef __cplusplus
}
#endif

#endif
