/* Options of a script, as its caller gives them, and the settings that come of them. */
#ifndef NOPAL_SCRIPT_OPTIONS_H
#define NOPAL_SCRIPT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

/* `len` bytes at `at` of the script are those at `text_at` of `text`, which is shown in messages
 * about them. */
struct script_origin {
	size_t at, len;
	struct str text;
	size_t text_at;
	struct str path; /* of the file that `text` is; empty: words of a command line */
};

/* Limits and settings; zero means the default. The environment (BPFTRACE_MAX_STRLEN,
 * NOPAL_MAX_STRLEN ...) and a script's config block are applied by script_parse on top of these. */
struct script_options {
	struct str path;	  /* for messages: "-e", "latency.bt" */
	const struct str *params; /* $1 ..., and --name=value for getopt() */
	unsigned param_count;
	const struct script_origin *origins; /* ascending; live as long as the script */
	size_t origin_count;
	struct str headers, header_dirs; /* --include, -I: one a line; headers are copied */
	pid_t pid;			 /* -p: for `usdt::p:n` and `usdt:n` */
	bool has_command;		 /* -c: `pid` is the process that was started */
	bool unsafe;			 /* system() is allowed */
	struct str probe_filter; /* probes whose names this extended regular expression matches;
				    empty: all. BEGIN and END always are. Lives as long */
	/* Of the probes test:NAME and bench:NAME only this one is there, and no other; "test:", all
	 * tests; "*", all of both and the others; empty: none of both. Lives as long. */
	struct str trial;
	bool report_missing_keys; /* -k: count uses of keys that are not there */
	uint32_t max_strlen;	  /* 1024 bytes */
	uint32_t max_map_keys;	  /* 262144, or 65536 where values are large */
	uint32_t max_probes;	  /* 100000 attachments */
	uint32_t ustack_depth;	  /* 127 frames */
	uint8_t stack_mode;	  /* enum type_show; 0: a function and an offset */
	enum { MISSING_ERROR, MISSING_WARN, MISSING_IGNORE } missing_probes;
};

/* The settings in force after parsing, and what the session needs from the script. */
struct script_facts {
	uint32_t max_strlen;   /* bytes of a string of which the script gives no length */
	uint32_t most_strlen;  /* ... and of one of which it does */
	uint32_t max_map_keys; /* 0: as many as suits each map */
	uint32_t max_probes, ring_pages;
	uint32_t max_cat_bytes; /* of a file that cat() prints */
	bool print_maps_on_exit;
	bool demangle;	      /* names of C++, Rust and D as in the source */
	bool show_debug_info; /* source lines and inlined functions in stacks */
	bool only_begin_end;  /* nothing but BEGIN and END: no event is waited for */
	bool sends_data;      /* printf and other output, and not only what acts on maps */
	bool uses_langs;      /* langstack ...: their language runtimes, too */
	bool uses_stacks;     /* ustack, usym: processes must be remembered while they live */
	bool uses_kernel;     /* probes in the kernel, which see the exec of a command */
	bool wants_help;  /* --help among the parameters, and no option of the script: script_help()
			   */
	bool uses_signal; /* SIGUSR1 is not for printing maps */
	bool needs_images; /* a usdt path is empty or `*`, or a pattern for a process: images mapped
			      later matter too */
	bool needs_entry;  /* functions are looked for in whatever the process maps */
	struct str trunc_trailer; /* ".." */
	/* What only config() shows. */
	struct str license;
	uint32_t log_size, max_bpf_progs, on_stack_limit;
	bool lazy_symbolication, use_blazesym;
	/* "enable" and "warn" allow the feature, "error" refuses it. */
	const char *unstable_tseries, *unstable_typeinfo, *unstable_import, *unstable_dw_ustack;
};

#endif
