/* Kinds of attachments, a row each: its name in dumps, and what an attachment of it has (enum
 * attach_part): what program_check() asks of it, what code may read there, and what a dump shows.
 */
/* clang-format off */
ATTACH(BEGIN,      "begin",         0)
ATTACH(END,        "end",           0)
ATTACH(INTERVAL,   "interval",      HAS_PERIOD)                        /* every `period` ns */
ATTACH(PROFILE,    "profile",       HAS_PERIOD | HAS_REGISTERS)        /* every `period` ns on each CPU */
ATTACH(UPROBE,     "uprobe",        HAS_FILE | HAS_REGISTERS | HAS_ARGUMENTS) /* path, offset: usdt sites and function entries alike */
ATTACH(URETPROBE,  "uretprobe",     HAS_FILE | HAS_REGISTERS | HAS_ARGUMENTS)
ATTACH(TRACEPOINT, "tracepoint",    HAS_TRACEPOINT)                    /* tracepoint "category:event" */
ATTACH(COUNTER,    "counter",       HAS_COUNTER | HAS_PERIOD | HAS_REGISTERS) /* every `period` events of perf's counter */
ATTACH(WATCHPOINT, "watchpoint",    HAS_WATCH | HAS_REGISTERS)         /* `length` bytes at the address `offset`, `mode` */
ATTACH(RAW,        "rawtracepoint", HAS_EVENT | HAS_ARGUMENTS)         /* tracepoint "event"; its arguments are words that the kernel passes */
ATTACH(SIGNAL,     "signal",        0)                                 /* SIGUSR1 to the tracer */
ATTACH(KPROBE,     "kprobe",        HAS_SYMBOL | HAS_REGISTERS | HAS_ARGUMENTS) /* function of the kernel, `offset` bytes into it; or at that address */
ATTACH(KRETPROBE,  "kretprobe",     HAS_SYMBOL | HAS_REGISTERS)
ATTACH(FENTRY,     "fentry",        HAS_SYMBOL | HAS_BTF | HAS_ARGUMENTS) /* function of the kernel, number `btf_id` */
ATTACH(FEXIT,      "fexit",         HAS_SYMBOL | HAS_BTF | HAS_ARGUMENTS)
ATTACH(ITER,       "iter",          HAS_SYMBOL | HAS_BTF | HAS_ARGUMENTS) /* each object of a kind, once: `btf_id` is the function that iterates */
/* clang-format on */
