/* Kinds of attachments, a row each: its name in dumps, the kind of BPF program that runs there
 * (engine/bpf/gen/unit.h), and what an attachment of it has (enum attach_part): what
 * program_check() asks of it, what code may read there, and what a dump shows. */
/* clang-format off */
/*     kind        name             program     parts */
ATTACH(BEGIN,      "begin",         RUN,        0)
ATTACH(END,        "end",           RUN,        0)
ATTACH(INTERVAL,   "interval",      RUN,        HAS_PERIOD)                                     /* every `period` ns */
ATTACH(PROFILE,    "profile",       SAMPLE,     HAS_PERIOD | HAS_REGISTERS)                     /* every `period` ns on each CPU */
ATTACH(UPROBE,     "uprobe",        UPROBE,     HAS_FILE | HAS_REGISTERS | HAS_ARGUMENTS)       /* path, offset: usdt sites and function entries alike */
ATTACH(URETPROBE,  "uretprobe",     URETPROBE,  HAS_FILE | HAS_REGISTERS | HAS_ARGUMENTS)
ATTACH(TRACEPOINT, "tracepoint",    TRACEPOINT, HAS_TRACEPOINT)                                 /* tracepoint "category:event" */
ATTACH(COUNTER,    "counter",       SAMPLE,     HAS_COUNTER | HAS_PERIOD | HAS_REGISTERS)       /* every `period` events of perf's counter */
ATTACH(WATCHPOINT, "watchpoint",    SAMPLE,     HAS_WATCH | HAS_REGISTERS)                      /* `length` bytes at the address `offset`, `mode` */
ATTACH(RAW,        "rawtracepoint", RAW,        HAS_EVENT | HAS_ARGUMENTS)                      /* tracepoint "event"; its arguments are words that the kernel passes */
ATTACH(SIGNAL,     "signal",        RUN,        0)                                              /* SIGUSR1 to the tracer */
ATTACH(KPROBE,     "kprobe",        KPROBE,     HAS_SYMBOL | HAS_REGISTERS | HAS_ARGUMENTS)     /* function of the kernel, `offset` bytes into it; or at that address */
ATTACH(KRETPROBE,  "kretprobe",     KRETPROBE,  HAS_SYMBOL | HAS_REGISTERS)
ATTACH(FENTRY,     "fentry",        FENTRY,     HAS_SYMBOL | HAS_BTF | HAS_ARGUMENTS)           /* function of the kernel, number `btf_id` */
ATTACH(FEXIT,      "fexit",         FEXIT,      HAS_SYMBOL | HAS_BTF | HAS_ARGUMENTS)
ATTACH(ITER,       "iter",          ITER,       HAS_SYMBOL | HAS_BTF | HAS_ARGUMENTS)           /* each object of a kind, once: `btf_id` is the function that iterates */
/* clang-format on */
