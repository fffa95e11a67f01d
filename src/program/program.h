/* A program: the compiled form of a script, and the only thing that scripts and engines share.
 *
 * It is a list of clauses. A clause is straight three-address code with forward branches and
 * bounded loops over 64-bit registers (r0, r1, ...) and typed pieces of frame memory, the slots
 * (s0, s1, ...); and it is attached to any number of places. Everything a clause shows the user
 * (printf, print, exit) leaves as a record of one format. Registers are 64 bits wide and untyped;
 * whether they are signed is in the operation. A register or slot must be written before it is read
 * on every path. program_check() holds every engine's assumptions; whatever passes it can be run by
 * any engine. */
#ifndef NOPAL_PROGRAM_PROGRAM_H
#define NOPAL_PROGRAM_PROGRAM_H

#include "base/arena.h"
#include "base/diag.h"
#include "probe/probe.h"
#include "program/type.h"

/* The operations: see ops.h. */
enum op {
#define OP(name, ...) OP_##name,
#include "program/ops.h"
#undef OP
	OP_COUNT_,
};

/* OP_MAP_GET of an aggregate gives: COUNT and SUM the sum over CPUs, MIN and MAX the extreme, AVG
 * the average; STATS, HIST and LHIST cannot be read in a script. */

enum builtin {
	BUILTIN_PID, /* thread group id, in the tracer's pid namespace */
	BUILTIN_TID,
	BUILTIN_UID,
	BUILTIN_GID,
	BUILTIN_CPU,
	BUILTIN_NSECS,	 /* CLOCK_MONOTONIC */
	BUILTIN_ELAPSED, /* since the run began */
	BUILTIN_CGROUP,
	BUILTIN_RAND,  /* 32 random bits */
	BUILTIN_TASK,  /* kernel address of the thread's struct task_struct */
	BUILTIN_PROBE, /* name index of the place that fired: attach->name */
	BUILTIN_FUNC,  /* name index: attach->func */
	BUILTIN_IP,    /* address of the place */
	BUILTIN_NCPUS,
	BUILTIN_BOOT, /* CLOCK_BOOTTIME */
	BUILTIN_TAI,  /* CLOCK_TAI */
	BUILTIN_JIFFIES,
	BUILTIN_NUMA,	  /* node of the CPU */
	BUILTIN_INIT_PID, /* as BUILTIN_PID, in the first pid namespace */
	BUILTIN_INIT_TID,
	BUILTIN_COUNT_,
};

/* Mark the frames by which C code has entered the interpreter. */
#define LANGUAGE_ENTRIES 0x100

/* Whose script OP_LSTACK wants. ORDER: enum lang_kind */
enum language {
	LANGUAGE_ANY,
	LANGUAGE_PYTHON,
	LANGUAGE_PHP,
	LANGUAGE_RUBY,
	LANGUAGE_PERL,
	LANGUAGES
};

#define REG_NO	0xffff /* no register */
#define SLOT_NO 0xffff /* no slot: the key of a map without keys */

/* imm of OP_PATH: the number of pointers to follow, then the offset of each, the first one in what
 * the kernel hands to the program, then that of the struct path in the last object. */
#define PATH_POINTERS	     3
#define PATH_BITS	     15
#define PATH_COUNT_BITS	     4
#define PATH_STEP(n, offset) ((uint64_t)(offset) << (PATH_COUNT_BITS + PATH_BITS * (n)))
#define PATH_COUNT(imm)	     ((unsigned)((imm)&3))
#define PATH_OFFSET(imm, n)                                                   \
	((uint32_t)((uint64_t)(imm) >> (PATH_COUNT_BITS + PATH_BITS * (n))) & \
	 ((1u << PATH_BITS) - 1))

/* A record field: an 8-byte value in a register, or a whole slot. Exactly one is not *_NO. */
struct field {
	uint16_t reg;
	uint16_t slot;
};

struct insn {
	uint8_t op;
	uint8_t size;
	bool is_signed;
	uint8_t field_count;
	uint16_t d, a, b;
	uint16_t s, t;
	uint16_t map;
	uint32_t target;
	uint32_t span; /* index into program->spans: source of this instruction, for errors
			   counted */
	int64_t imm;
	const struct field *fields; /* OP_EMIT */
};

struct slot {
	struct type type;
};

enum attach_kind {
#define ATTACH(kind, name, unit, parts) ATTACH_##kind,
#include "program/attach_kinds.h"
#undef ATTACH
	ATTACH_KINDS
};

/* What an attachment of a kind has. */
enum attach_part {
	HAS_PERIOD = 1 << 0,
	HAS_FILE = 1 << 1,	 /* path, offset, and a CPU that its operands are for */
	HAS_TRACEPOINT = 1 << 2, /* "category:event" */
	HAS_EVENT = 1 << 3,	 /* a tracepoint without its category */
	HAS_COUNTER = 1 << 4,
	HAS_WATCH = 1 << 5,	/* a length and a mode */
	HAS_SYMBOL = 1 << 6,	/* a function of the kernel */
	HAS_BTF = 1 << 7,	/* ... its number */
	HAS_REGISTERS = 1 << 8, /* of the interrupted thread, for code */
	HAS_ARGUMENTS = 1 << 9,
};

/* What a watchpoint waits for. ORDER: perf's bits. */
enum watch_mode {
	WATCH_READ = 1,
	WATCH_WRITE = 2,
	WATCH_EXEC = 4,
};

/* One place a clause runs at. */
struct attach {
	enum attach_kind kind;
	uint32_t name; /* index into program->names: "usdt:/bin/x:p:n"; what `probe` prints */
	uint32_t func; /* index into program->names: function around the site; what `func` prints */
	struct str path;   /* of the file, for messages: "/proc/12/root/bin/x" */
	struct file *file; /* to attach to, which the script holds open; NULL: not to be attached */
	uint64_t offset;   /* of the site, in the file */
	uint64_t sema_offset;  /* of the semaphore, in the file; 0: none */
	int64_t sema_distance; /* from the site to the semaphore, in memory */
	bool sema_is_ours;     /* the kernel would count at another place than the program reads */
	uint64_t into;	       /* bytes after its function's first instruction; 0: it is that one */
	bool is_static;	       /* a USDT site: nothing but a nop may be there */
	bool is_hot;	       /* of a probe of each call, line, object or lock */
	bool is_met;	       /* in a file that a process maps: it may be skipped */
	bool is_forced;	       /* --unsafe: the place is probed whatever is there */
	bool is_entry; /* the first instruction of a called function: nothing below sp is alive
			  there */
	const struct arch *arch;     /* of the file */
	const struct argument *args; /* OP_ARG n reads the operand of the n-th */
	unsigned arg_count;
	uint64_t period;
	struct str tracepoint;
	uint32_t counter_type; /* PERF_TYPE_SOFTWARE, PERF_TYPE_HARDWARE ... */
	uint64_t counter;      /* ... and which of these */
	uint8_t length, mode;
	struct str function; /* of the kernel; empty: an address is probed */
	uint32_t btf_id;
};

/* An argument that a clause reads. */
struct arg_use {
	unsigned number;
	struct str site; /* the attachment's name, for messages */
	struct span span;
};

/* Report that this argument cannot be read at `at`; -ENOTSUP. Compilers and engines use it, and
 * `why` is an engine's (engine_unreadable). */
int program_refuse_arg(const struct attach *at, struct arg_use use, const char *why,
		       struct diag *d);

struct clause {
	const struct insn *code;
	uint32_t insn_count;
	uint32_t reg_count;
	const struct slot *slots;
	uint32_t slot_count;
	struct span span; /* of the clause in the script */
	const struct attach *attaches;
	uint32_t attach_count;
};

/* The values of intervals, over time: the last number of the key is that of the interval, counted
 * from 1970. */
struct map_series {
	uint64_t interval; /* nanoseconds */
	uint32_t count;	   /* of the intervals that are shown; 0: the map is none */
};

struct map_def {
	struct str name; /* "@", "@lat" */
	struct type key; /* TYPE_NONE: a single value; several keys: TUPLE */
	struct type value;
	uint32_t max_entries; /* 1 for TYPE_NONE */
	bool is_read;	      /* by a clause, of this program or of one that may extend it */
	bool is_hidden;	      /* not the script's own: it is not printed */
	bool forgets;	      /* a new entry takes the place of the one used longest ago */
	struct map_series series;
	bool is_emptied; /* a clause clears it or deletes from it */
	bool is_taken;	 /* a clause prints it and clears it, in one step: map_take() */
};

/* clang-format off */
enum format_kind {
	FORMAT_PRINTF,	  /* pieces show the fields                                  data    */
	FORMAT_VALUE,	  /* print(expression): one field                            data    */
	FORMAT_RECORD,	  /* print(args): text = the fields' names, "word n"         data    */
	FORMAT_MAP_VALUE, /* print(@m[key]): fields = key (if any) and value; map    data    */
	FORMAT_JOIN,	  /* text = delimiter, fields all STR; NULL ends             data    */
	FORMAT_TIME,	  /* time(): text = strftime format                          control */
	FORMAT_PRINT,	  /* print(@m, top, div)                                     control */
	FORMAT_CLEAR,	  /* clear(@m)                                               control */
	FORMAT_ZERO,	  /* zero(@m)                                                control */
	FORMAT_EXIT,	  /* exit()                                                  control */
	FORMAT_CAT,	  /* cat(): pieces make the path                             data    */
	FORMAT_SYSTEM,	  /* system(): pieces make the command, unsafe               data    */
	FORMAT_MESSAGE,	  /* errorf(): text (place), pieces; to standard error       data    */
	FORMAT_WARNING,	  /* warnf(): the same, unless warnings are not wanted       data    */
	FORMAT_DEBUG,	  /* debugf(): pieces, to the kernel's trace                 data    */
};

enum piece_flag { /* ORDER: FLAGS in format.c */
	PIECE_LEFT      = 1,  /* - */
	PIECE_PLUS      = 2,  /* + */
	PIECE_BLANK     = 4,  /*   */
	PIECE_ALTERNATE = 8,  /* # */
	PIECE_ZERO      = 16, /* 0 */
	PIECE_GROUP     = 32, /* ' */
	PIECE_QUOTED    = 64, /* a part of `args`: text is in quotes */
};
/* clang-format on */

#define PIECE_MAX_WIDTH 4096 /* wider is a typing error, and only costs memory */
#define PIECE_GFP	'R'  /* letter of %gr, whose value is a number */
#define PIECE_BAD	'?'  /* letter of what is not a conversion; in no program */

/* One piece of a printf format: literal text, or a conversion that shows a field. */
struct piece {
	struct str text; /* literal, with single '%'; or the conversion's source: "%-10s" */
	char letter;	 /* of the conversion: d i u x X o p c s r f F e E g G a A, PIECE_GFP;
			    0: literal */
	char variant;	 /* of %r: 'x', 'h' or 0 */
	uint8_t flags;	 /* enum piece_flag */
	uint8_t length;	 /* bytes that hh, h, l, ll ask for; 0: not given */
	uint8_t field;	 /* its number; pieces take the fields in their order */
	uint16_t width;
	int16_t precision; /* -1: none */
};

/* What print(@m) does besides: a clear(@m) or zero(@m) that follows it in its block is one step
 * with it, so that no event is lost between the two. */
enum format_take {
	TAKE_NOTHING,
	TAKE_ENTRIES, /* clear(@m) */
	TAKE_VALUES,  /* zero(@m) */
};

/* What a record means. Data records may be lost when the reader is too slow, and are then counted;
 * control records never are. */
struct format {
	enum format_kind kind;
	struct str text;
	const struct piece *pieces; /* PRINTF, CAT, SYSTEM, MESSAGE, WARNING, DEBUG */
	uint32_t piece_count;
	const struct type *fields;
	unsigned field_count;
	uint32_t map;
	int64_t top, div; /* FORMAT_PRINT; 0: not given */
	enum format_take take;
	int64_t exit_code; /* FORMAT_EXIT, if it has no field */
};

bool format_is_control(const struct format *f);
bool format_equal(const struct format *a, const struct format *b);
/* The next piece of a printf format, cut from *rest; false at its end. `field` is 0. */
bool piece_next(struct str *rest, struct piece *out);
bool piece_is_conversion(char letter);
/* The pieces of a whole text; what is not a conversion, or has no field left, is literal. */
int format_parse(struct str text, struct arena *a, struct format *f);
/* The text of the pieces. */
void format_source(const struct format *f, struct buf *out);
/* BEGIN, END and others that happen in the tracer. */
bool attach_is_tracers(const struct attach *at);
/* Does the code of a clause use this map? */
bool clause_uses_map(const struct clause *c, uint32_t map);
/* Is one of its attachments of this kind? */
bool clause_is_at(const struct clause *c, enum attach_kind kind);

struct program {
	struct arena *arena; /* everything below lives here */
	const struct clause *clauses;
	uint32_t clause_count;
	const struct map_def *maps;
	uint32_t map_count;
	const struct format *formats;
	uint32_t format_count;
	const struct str *literals; /* OP_TEXT */
	uint32_t literal_count;
	const struct str *names; /* TYPE_NAME */
	uint32_t name_count;
	const struct span *spans; /* insn.span */
	uint32_t span_count;
	bool is_stamped; /* drain() says of each record when it was made; engine_set asks for it */
};

/* Limits that program_check() holds. */
#define PROGRAM_MAX_TEXT	(1u << 16) /* `size` of a string, buffer or stack */
#define PROGRAM_MAX_VALUE	(1u << 18) /* bytes of a slot, key, value or field */
#define PROGRAM_MAX_PARTS	1024	   /* numbers, strings and stacks in one tuple */
#define PROGRAM_MAX_TUPLE_DEPTH 8
#define PROGRAM_MAX_LHIST	1000	   /* steps of lhist() */
#define PROGRAM_MAX_INSNS	(1u << 20) /* of a clause */
#define PROGRAM_MAX_LOOP_DEPTH	16
#define PROGRAM_MAX_ROUNDS	(1 << 24) /* of a loop, and of nested loops multiplied */

/* 0, or -EINVAL with a message that names the clause and instruction. An error here means a bug in
 * the compiler, or a hostile program: engines rely on it. */
int program_check(const struct program *p, struct diag *d);
/* The text of --dump=program; stable enough for tests to compare. */
void program_print(const struct program *p, struct buf *out);

/* Has any clause this operation? */
bool program_uses(const struct program *p, unsigned op);

#endif
