/* Types of probes, a row each: what they are called, how their parts are read (parse_probe.c), how
 * attachments are found for them (resolve.c), and which kind of attachment one is that needs no
 * search. */
/* clang-format off */
/*    type           name             other spelling     short    also     parts are read by  attachments are found by  kind        */
PROBE(BEGIN,         "BEGIN",         "begin",           "begin", "begin", build_bare,        resolve_bare,             BEGIN)
PROBE(END,           "END",           "end",             "end",   "end",   build_bare,        resolve_bare,             END)
PROBE(INTERVAL,      "interval",      "interval",        "i",     "i",     build_timer,       resolve_bare,             INTERVAL)
PROBE(PROFILE,       "profile",       "profile",         "p",     "p",     build_timer,       resolve_bare,             PROFILE)
PROBE(USDT,          "usdt",          "usdt",            "U",     "U",     parse_usdt,        resolve_usdt,             UPROBE)
PROBE(UPROBE,        "uprobe",        "uprobe",          "u",     "u",     parse_uprobe,      resolve_function,         UPROBE)
PROBE(URETPROBE,     "uretprobe",     "uretprobe",       "ur",    "ur",    parse_uprobe,      resolve_function,         URETPROBE)
PROBE(TRACEPOINT,    "tracepoint",    "tracepoint",      "t",     "t",     build_tracepoint,  resolve_events,           TRACEPOINT)
PROBE(SOFTWARE,      "software",      "software",        "s",     "s",     build_counter,     resolve_bare,             COUNTER)
PROBE(HARDWARE,      "hardware",      "hardware",        "h",     "h",     build_counter,     resolve_bare,             COUNTER)
PROBE(WATCHPOINT,    "watchpoint",    "asyncwatchpoint", "w",     "aw",    build_watchpoint,  resolve_bare,             WATCHPOINT)
PROBE(RAWTRACEPOINT, "rawtracepoint", "rawtracepoint",   "rt",    "rt",    build_raw,         resolve_raw,              RAW)
PROBE(SELF,          "self",          "self",            "self",  "self",  build_self,        resolve_bare,             SIGNAL)
PROBE(KPROBE,        "kprobe",        "kprobe",          "k",     "k",     build_kprobe,      resolve_kernel_function,  KPROBE)
PROBE(KRETPROBE,     "kretprobe",     "kretprobe",       "kr",    "kr",    build_kprobe,      resolve_kernel_function,  KRETPROBE)
PROBE(FENTRY,        "fentry",        "kfunc",           "f",     "f",     build_fentry,      resolve_kernel_function,  FENTRY)
PROBE(FEXIT,         "fexit",         "kretfunc",        "fr",    "fr",    build_fentry,      resolve_kernel_function,  FEXIT)
PROBE(ITER,          "iter",          "iter",            "it",    "it",    build_iter,        resolve_iter,             ITER)
PROBE(TEST,          "test",          "test",            "test",  "test",  build_trial,       resolve_bare,             BEGIN)
PROBE(BENCH,         "bench",         "bench",           "bench", "bench", build_trial,       resolve_bare,             BEGIN)
/* clang-format on */
