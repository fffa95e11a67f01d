/* A script from inside: what the files of this module share. The tree says what was written, the
 * symbols what the names stand for, the attachments where clauses run, and the lists what has been
 * interned for programs so far. Everything lives in the script's arena. */
#ifndef NOPAL_SCRIPT_INSIDE_H
#define NOPAL_SCRIPT_INSIDE_H

#include "program/record.h"
#include "script/parse/builtin.h"
#include "script/parse/counters.h"
#include "script/parse/script_state.h"
#include "script/parse/tree.h"
#include "script/resolve/header_types.h"
#include "script/resolve/resolve.h"
#include "script/resolve/probe_search.h"
#include "script/script.h"

/* A map, as the script uses it. Types grow until check.c finds nothing new. */
struct map {
	struct str name; /* "@lat" */
	uint32_t index;
	bool has_key, has_value; /* the type is known */
	bool is_fixed;		 /* code of a program uses it: its type can grow no more */
	bool is_read;		 /* by an expression */
	bool is_target;		 /* of an assignment, perhaps of a value that is made of it */
	bool is_never;		 /* assigned: it is 0 */
	bool is_emptied;	 /* by clear() or delete() */
	bool is_taken;		 /* printed and cleared in one step: pair_takes() */
	bool is_fine;		 /* a histogram that pct() reads: it keeps all bits there can be */
	struct type key, value;
	struct mark key_mark, value_mark; /* the use that fixed the type */
	const struct expr *copied;	  /* @m = @count; NULL: there is none */
	bool has_own;			  /* it gets values other than such copies */
	/* Of series.c. */
	bool is_assigned, is_hidden;
	struct map_series series;
	struct type series_key; /* of the program's map; `key` is the script's */
	struct map *ring;
	const struct tree_clause *keeper; /* kept.c: keeps arguments for the returns of this */
	struct map *next;
};

/* A variable of one clause. */
struct variable {
	struct str name; /* "x" */
	bool is_typed;
	bool needs_zero;	/* may be read before it is written */
	unsigned pass;		/* of check.c: the last one that met an assignment, or its `let` */
	unsigned assigned;	/* the same, but an assignment only */
	const struct expr *let; /* what declares it; NULL: its first assignment */
	unsigned depth;		/* of blocks: where it was declared */
	bool is_over;		/* that block has ended */
	bool is_hidden;		/* ... and nothing after it means this variable */
	uint32_t most;		/* bytes with the NUL of a declared string[N]; 0: any number */
	struct shape shape;
	struct mark mark; /* the assignment that fixed the type */
	uint16_t reg, slot;
	struct variable *next;
};

/* The attachments of one clause that the same code serves. */
struct variant {
	struct tree_clause *clause;
	struct attachment **attachments;
	size_t count, cap;
	struct variable *variables;
	struct variant *next;
};

bool type_is_word(const struct type *t);			   /* lives in a register */
uint32_t map_entries(const struct script *s, const struct map *m); /* that it may have */

/* compile.c: the code of all attachments that no program has yet */
int compile_program(struct script *s, struct program **out, struct diag *d);
/* warnings.c: once all types are found; the first variant of each clause */
void warnings_find(const struct script *s, struct variant *const *first, struct diag *d);
/* ---- Check: types of the tree ---- */

/* A clause is compiled once for each kind of attachment it has (a variant): check_variant types the
 * tree for these attachments. Types of maps and variables grow from check to check; code is made
 * when they have stopped growing. */

/* The state of one check. Passes with d NULL are quiet: they find types, the last one speaks. The
 * first error of a statement stays in `err`: what is checked after it in the statement is neither
 * typed nor reported, so that only what changes a type or follows a pointer needs to ask. */
struct check {
	struct script *s;
	struct variant *v;
	struct diag *d;
	int err;
	unsigned pass; /* from 1 */
	unsigned block_depth, loop_depth;
	bool changed;  /* a type has grown: check again */
	bool is_asked; /* for its type only: what is looked at never runs */
};

/* Type the whole clause for the attachments of `v`. -EINVAL after all its errors were reported. */
int check_variant(struct check *c, struct variant *v);
void check_expr(struct check *c, struct expr *e);
/* ... of an expression that never runs, as in sizeof */
void check_asked(struct check *c, struct expr *e);
/* if comptime (...): is the branch for `when` left out, neither looked at nor compiled? */
bool stmt_skips(const struct stmt *s, bool when);
/* ... the same of if comptime as a value */
bool ternary_skips(const struct expr *e, bool when);
/* `e` must be an integer; `what` says of what in the message. */
void check_int(struct check *c, const struct expr *e, const char *what);
/* Type `e`, which must be an integer. */
void check_number(struct check *c, struct expr *e, const char *what);
/* Has it the sign of what it meets? So have constants that are not negative, and bools. */
bool type_is_flexible(const struct type *t);
/* The bytes of a number that are shown, which are those that it needs. */
unsigned type_shown_bytes(const struct type *t);
void check_string(struct check *c, struct expr *e, size_t most);
/* What an if, while, ?: or a predicate asks for. */
void check_condition(struct check *c, struct expr *e);
/* `e` must have a value that can be kept or sent. */
void check_storable(struct check *c, struct expr *e, const char *what);
/* $x = value: the first assignment fixes the type; `mark` is the text of the assignment. */
void check_assign_variable(struct check *c, struct expr *target, struct expr *value,
			   struct mark mark);
/* Nothing when there is an error already. */
void check_error(struct check *c, const struct expr *e, const char *tag, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* The script uses what a setting with this value may refuse. */
void check_unstable(struct check *c, const struct expr *e, const char *setting, const char *value);
/* "string[16]" for messages; lives in the script's arena. */
const char *check_type_text(const struct check *c, const struct type *t);
/* Let strings that `e` takes from variables and maps be as large as `t` says. */
void check_widen(struct check *c, struct expr *e, const struct type *t);
/* (b=2, a=1), a value of its own, takes the order that the names have in `known`. */
void check_reorder(struct check *c, struct expr *e, const struct type *known);
/* The map's element or variable is computed in place, which gives a signed or unsigned number. */
void check_in_place(struct check *c, struct expr *target, bool is_signed);
/* A lasting type takes in type `t`; -EINVAL when they differ in kind. */
int check_merge(struct check *c, struct type *known, const struct type *t);
/* The map of this name, made when it is new; NULL after an error, such as no memory. */
struct map *check_map(struct check *c, struct str name);
/* The keys of @m[...]. */
void check_map_key(struct check *c, struct expr *e);
/* pct() reads it: it keeps more bits than it shows, from its first value on. False: it did. */
bool type_refine(struct type *histogram);
/* Maps that are read but nowhere assigned hold numbers, which are 0. True: there are such. */
bool maps_default(struct script *s);
/* Somewhere the map must be assigned; `use` says what is done to it here. */
void check_filled(struct check *c, const struct expr *map, const char *use);
/* The map's values must not be histograms or statistics. */
void check_is_readable(struct check *c, const struct expr *map);
/* $x of a macro is "x.3" inside; the script has "x". */
struct str variable_name(struct str name);
struct variable *check_find_variable(const struct check *c, struct str name);
struct shape shape_int(bool is_signed); /* 8 bytes */
struct shape shape_bool(void);
struct shape shape_of(struct type t);
struct shape shape_open(void);
/* In a clause without attachments: may `e` be of any type yet? */
bool check_is_open(const struct check *c, const struct expr *e);
/* Is the type string, or string[16]? */
bool check_named_text(const struct ctype *t, struct type *out);
/* A string or buffer of at least so many bytes. */
struct type type_text(enum type_kind kind, uint64_t bytes);
uint32_t type_capacity(const struct type *t); /* what sizeof() says of a text */

/* bytes.c: is it an array in memory, and of how many bytes? */
bool check_is_array(struct check *c, const struct expr *e, uint64_t *bytes);
/* buf() of an array's or text's value; false: it is neither. */
bool check_value_bytes(struct check *c, struct expr *e);

/* spelled.c: a value that is kept as a number becomes its text, where a text is wanted. False: it
 * has none that is known here. */
bool check_spelled(struct check *c, struct expr *e);
/* Such a cast: its type. */
bool check_spelled_cast(struct check *c, struct expr *e);

/* str(text, n), where the text is none that is in the script. */
void check_shortened(struct check *c, struct expr *e);

/* search.c: the rounds of strstr() at worst, one for each byte compared. */
uint64_t search_most_rounds(const struct expr *e);
/* normalize.c: a byte is looked at twice at most. */
uint64_t normalize_most_rounds(const struct expr *e);
/* series.c: is it a call of tseries()? */
bool expr_is_series(const struct expr *e);
/* The map `target` was assigned this value: is it a time series, as elsewhere? */
void check_series(struct check *c, struct expr *target, const struct expr *value);
/* A time series cannot be "read". */
void check_no_series(struct check *c, const struct expr *map, const char *use);

/* The kinds of expressions: each types one kind whose parts are not typed yet; check_expr() calls
 * the right one. */
bool expr_is_int(const struct expr *e);
bool expr_is_text(const struct expr *e);

void check_variable(struct check *c, struct expr *e); /* $x */
void check_counted(struct check *c, struct expr *e);  /* $x of $x++ and $x += n: a number */
void check_map_read(struct check *c, struct expr *e); /* @m[key] */

void check_unary(struct check *c, struct expr *e);  /* -a */
void check_binary(struct check *c, struct expr *e); /* a + b */
/* Is what the operation gives of the two a signed number? */
bool operator_gives_signed(enum operator op, const struct expr *a, const struct expr *b);
void check_step(struct check *c, struct expr *e);    /* a++ */
void check_ternary(struct check *c, struct expr *e); /* a ? b : c */

void check_load(struct check *c, struct expr *e);    /* *p, its operand typed */
void check_address(struct check *c, struct expr *e); /* &p->x, likewise */
/* &$v, &@m: a function that takes bytes gets those of the value. */
void check_refer(struct check *c, struct expr *e);
void check_block(struct check *c, struct expr *e);			 /* { a; b } */
void check_index(struct check *c, struct expr *e);			 /* p[n] */
void check_member(struct check *c, struct expr *e);			 /* p->x */
void check_cast(struct check *c, struct expr *e);			 /* (int32)a */
struct type check_typeof(struct check *c, struct expr *like);		 /* typeof(like) */
void check_sizeof(struct check *c, struct expr *e);			 /* sizeof(struct conn) */
void check_setting(struct check *c, struct expr *e, struct expr *value); /* config.max_strlen */
void check_offsetof(struct check *c, struct expr *e); /* offsetof(struct conn, fd) */
/* constants.c: an expression that is not in the text, at the place of `like`; NULL: c->err is
 * -ENOMEM. */
struct expr *new_constant(struct check *c, const struct expr *like, struct expr constant);
bool check_constant(struct check *c, struct expr *e); /* RED, true; false: it is none */
void check_task(struct check *c, struct expr *e);     /* curtask */
/* Do the values that it has lead to kernel memory? */
bool check_is_kernel_probe(const struct probe_spec *s);

/* ---- C types: check_ctype.c ---- */

/* What a type is after all: no typedef, and no declaration when the definition is known. Its
 * members are read. */
const struct ctype *check_ctype(struct check *c, const struct ctype *t);
/* Of what check_ctype() gave: is there a definition? */
bool check_ctype_known(const struct ctype *t);
void check_unknown_type(struct check *c, const struct expr *e, const struct ctype *t);
/* Bytes; 0: not known. Of void 1, as gcc counts. */
uint64_t check_ctype_size(struct check *c, const struct ctype *t);
/* How a value of this type is computed and shown; NONE for structs, and for arrays of anything but
 * characters, which have a value only when they are settled. */
struct type check_value_type(struct check *c, const struct ctype *t);
/* So many elements as one value. */
struct type check_array_of(struct check *c, const struct type *element, unsigned count);
/* A struct or array in memory becomes a value: all of it is read, into a tuple. */
void check_settle(struct check *c, struct expr *e);
/* The type of such a value; `e` is for messages. */
struct type check_whole_type(struct check *c, const struct expr *e, const struct ctype *t);
const struct ctype *check_pointer_to(struct check *c, const struct ctype *to);
/* What a pointer points to; NULL: it is none. */
const struct ctype *type_target(const struct type *t);
/* Do both point, but to values of other types? */
bool type_points_elsewhere(const struct type *a, const struct type *b);
bool ctype_is_composite(const struct ctype *t); /* a struct or union */

void check_call(struct check *c, struct expr *e);  /* f(a), and builtin names: pid */
void check_field(struct check *c, struct expr *e); /* args.x */

/* ---- Lower: tree -> code ---- */

/* Registers hold numbers, slots hold texts and other values; those of a statement are free again
 * after it. The first error stays in lower->err: emitters then do nothing that matters, so that
 * nothing above them needs to ask before the end. */

/* Jumps that wait for their target: number + 1 of the last of them; each holds the one before it in
 * imm until lower_bind. */
struct label {
	uint32_t last;
};

struct lower_slot {
	struct type type;
	bool is_busy;
	unsigned owner; /* depth of the statement that uses it */
};

/* The code of one variant in the making. */
struct lower {
	struct script *s;
	struct variant *v;
	struct diag *d;
	struct arena *arena;
	int err; /* the first one; its message is written */
	struct insn *code;
	size_t count, cap;
	struct insn spare; /* what is emitted after an error */
	struct lower_slot *slots;
	size_t slot_count, slot_cap;
	uint32_t next_reg, most_regs;
	unsigned depth;		     /* of statements */
	uint32_t span;		     /* of the expression being lowered */
	bool copy_reads;	     /* the statement changes variables: what was read is copied */
	uint64_t rounds;	     /* of the loops around, multiplied */
	struct label *leave, *again; /* of the innermost loop: break, continue */
	struct label *end_function;  /* of the innermost function: return */
	struct kept *kept;	     /* the variant is of returns, and uses arguments */
};

int lower_variant(struct lower *l, struct variant *v, struct clause *out);
/* Its code is complete: what the clause has of it. */
int lower_finish(struct lower *l, struct clause *out);
void lower_fail(struct lower *l, int err);

/* A value in a register (integers, floats and names): any, or the one given. */
uint16_t lower_word(struct lower *l, const struct expr *e);
void lower_word_to(struct lower *l, const struct expr *e, uint16_t reg);
/* Other values in a slot of type `t`, which may be a variable's own: read it only. */
uint16_t lower_memory(struct lower *l, const struct expr *e, const struct type *t);
void lower_memory_to(struct lower *l, const struct expr *e, uint16_t slot);
/* One or the other, as the type of `e` says. */
void lower_value_to(struct lower *l, const struct expr *e, uint16_t out);
/* @t = tseries(...) */
void lower_series(struct lower *l, const struct stmt *s);
/* has_key(@t, key), delete(@t, key) */
void lower_series_find(struct lower *l, const struct expr *map, bool removes, uint16_t found);
/* Unless `found` is set, a fault of this kind is counted. */
void lower_missing(struct lower *l, uint16_t found, int kind);
/* With -k, a read of m[key] counts when there is no such key. */
void lower_lookup(struct lower *l, const struct map *m, uint16_t key);
/* Statements that were checked: each print(@m) that a clear(@m) or zero(@m) follows takes the map,
 * so that the two are one step (enum format_take). */
void pair_takes(struct stmt *body);
/* The statements of a block that is an expression. */
void lower_block(struct lower *l, const struct expr *e);
/* Statements, one after the other. */
void lower_body(struct lower *l, const struct stmt *s);
/* For what it does, not for its value. */
void lower_effect(struct lower *l, const struct expr *e);
/* The key of @m[...] in a slot; SLOT_NO without a key. */
uint16_t lower_key(struct lower *l, const struct expr *map);
/* ... its parts at the beginning of a slot of a tuple */
void lower_key_parts(struct lower *l, const struct expr *map, const struct type *tuple,
		     uint16_t slot);
void lower_jump(struct lower *l, const struct expr *e, bool when, struct label *to);
/* p + n counts in what p points to: the register with what to add for `n`, which is in `reg`. */
uint16_t lower_scaled(struct lower *l, const struct expr *p, const struct expr *n, uint16_t reg);
/* Cut a declared variable's new value to the variable's size. */
void lower_fit(struct lower *l, const struct variable *v);

/* The kinds of expressions; `out` is the register or slot where the value goes. */
void lower_unary(struct lower *l, const struct expr *e, uint16_t out);	 /* -a */
void lower_binary(struct lower *l, const struct expr *e, uint16_t out);	 /* a + b */
void lower_step(struct lower *l, const struct expr *e, uint16_t out);	 /* a++; REG_NO: no value */
void lower_cast(struct lower *l, const struct expr *e, uint16_t out);	 /* (int32)a */
void lower_ternary(struct lower *l, const struct expr *e, uint16_t out); /* a ? b : c */

/* The bytes of a value: buf(), str(text, n). */
void lower_value_bytes(struct lower *l, const struct expr *e, uint16_t out);
void lower_shortened(struct lower *l, const struct expr *e, uint16_t out);
/* spelled.c: the text of a value that is kept as a number; false: it has none. */
bool lower_spelled(struct lower *l, const struct expr *e, uint16_t out);
/* What is in memory; the address of it. */
void lower_place(struct lower *l, const struct expr *e, uint16_t out);
uint16_t lower_address(struct lower *l, const struct expr *e);
bool place_in_memory(const struct expr *e); /* it has an address: it is not in registers */
/* (uint8[4])a */
void lower_byte_array(struct lower *l, const struct expr *e, uint16_t out);
/* ... and the number of such an array again; array[i] where i is not known before */
void lower_joined(struct lower *l, const struct expr *array, uint16_t out);
void lower_chosen(struct lower *l, const struct expr *e, uint16_t out);
/* Bytes of what a pointer points to, 1 for void. */
uint64_t lower_pointee_size(const struct lower *l, const struct type *pointer);

/* Instructions by shape: the letters are those of program/op.h, `i` is imm. */
struct insn *lower_op(struct lower *l, enum op op); /* never NULL; d a b s t are *_NO */
void emit_di(struct lower *l, enum op op, uint16_t d, uint64_t imm);
void emit_dai(struct lower *l, enum op op, uint16_t d, uint16_t a, uint64_t imm);
void emit_dab(struct lower *l, enum op op, uint16_t d, uint16_t a, uint16_t b);
void emit_si(struct lower *l, enum op op, uint16_t s, uint64_t imm);
void emit_sti(struct lower *l, enum op op, uint16_t s, uint16_t t, uint64_t imm);
void emit_strcmp(struct lower *l, uint16_t d, uint16_t s, uint16_t t, int64_t bytes);
void emit_load(struct lower *l, uint16_t d, uint16_t a, const struct type *t);
void emit_put(struct lower *l, uint16_t s, uint64_t offset, uint16_t a);
struct insn *emit_ds(struct lower *l, enum op op, uint16_t d, uint16_t s, uint64_t imm);
/* OP_STR, OP_BUF and so on: what is at an address, at most `length` bytes (REG_NO: any number) and
 * at most `most`. Lengths are unsigned, so that a negative one is cut. */
void emit_read(struct lower *l, enum op op, uint16_t s, uint16_t a, uint16_t length, uint32_t most);
/* An operation on m[key]; the caller sets d, a or t. */
struct insn *emit_map(struct lower *l, enum op op, const struct map *m, uint16_t key);
void emit_operator(struct lower *l, enum operator op, bool is_signed, uint16_t a, uint16_t b,
		   uint16_t out);

uint16_t lower_reg(struct lower *l);
uint16_t lower_const(struct lower *l, uint64_t value);
uint16_t lower_slot(struct lower *l, const struct type *t);
uint16_t lower_slot_like(struct lower *l, uint16_t slot); /* another one of its type */
void lower_free_slot(struct lower *l, uint16_t slot);	  /* before its statement ends */
uint32_t lower_intern(struct lower *l, struct text_list *list, struct str text);
void lower_bind(struct lower *l, struct label *label);
void lower_goto(struct lower *l, enum op op, uint16_t reg, struct label *label);

#define EMIT_MAX_FIELDS 255 /* of one record */
/* A record of this format, which is interned; f->fields may be the caller's. */
void lower_emit(struct lower *l, const struct format *f, const struct field *fields);
/* Any value as a field of a record. */
struct field lower_field(struct lower *l, const struct expr *e);

/* A loop being made: where it began and what was around it. */
struct loop {
	size_t start;
	struct label leave, again;
	uint64_t outer_rounds;
	struct label *outer_leave, *outer_again;
};

/* The code between the two is run at most `rounds` times; `mark` is the loop's text. l->leave and
 * l->again are its labels meanwhile. */
void loop_open(struct lower *l, struct mark mark, uint64_t rounds, struct loop *loop);
/* The same for each entry of a map, whose key is put into a slot; the caller sets d or t. */
struct insn *loop_open_entries(struct lower *l, struct mark mark, const struct map *m, uint16_t key,
			       struct loop *loop);
void loop_close(struct lower *l, struct loop *loop);

/* ---- Builtins ---- */

/* Each is one row, which contains everything about it. The rows are in the files that check and
 * lower them (values.c, texts.c, maps.c, output.c, printf.c); builtins.c finds them. */

/* Probe types a builtin can be used in; 0 in a row: all. */
#define IN(type)	  (1u << PROBE_##type)
#define HAVE_BTF_ARGS	  (IN(RAWTRACEPOINT) | IN(FENTRY) | IN(FEXIT))
#define HAVE_ARGUMENTS	  (IN(USDT) | IN(UPROBE) | IN(KPROBE) | HAVE_BTF_ARGS)
#define HAVE_SITES	  (IN(USDT) | IN(UPROBE) | IN(URETPROBE))
#define HAVE_FUNCTION	  (HAVE_SITES | IN(KPROBE) | IN(KRETPROBE) | IN(FENTRY) | IN(FEXIT))
#define HAVE_SAMPLES	  (IN(PROFILE) | IN(SOFTWARE) | IN(HARDWARE) | IN(WATCHPOINT))
#define HAVE_REGISTERS	  (HAVE_SITES | HAVE_SAMPLES | IN(KPROBE) | IN(KRETPROBE))
#define HAVE_RETVAL	  (IN(URETPROBE) | IN(KRETPROBE) | IN(FEXIT))
#define HAVE_NAMED_FIELDS (HAVE_SITES | IN(TRACEPOINT) | IN(ITER) | HAVE_BTF_ARGS)

/* Types of results. */
/* clang-format off */
#define NO_RESULT   {.kind = TYPE_NONE}
#define RESULT_U64  {.kind = TYPE_INT, .size = 8}
#define RESULT_BOOL {.kind = TYPE_INT, .size = 1, .show = SHOW_BOOL}
#define RESULT_S64  {.kind = TYPE_INT, .size = 8, .is_signed = true}
#define RESULT_NAME {.kind = TYPE_NAME}
/* clang-format on */

/* Tables of rows; the name of the last row is NULL. */
extern const struct builtins script_builtins;

extern const struct function value_rows[], text_rows[], network_rows[], search_rows[], map_rows[],
	output_rows[], printf_rows[], constant_rows[], option_rows[], standard_rows[],
	unsafe_rows[], series_rows[], address_rows[], normalize_rows[], typeinfo_rows[],
	path_rows[];
/* Definitions of builtins that are macros; the name of the last is NULL. */
extern const struct builtin_macro standard_macros[];

/* Can argument `n` be read at this attachment? */
void check_readable(struct check *c, const struct expr *e, const struct attachment *p, unsigned n);

/* Are the named arguments that the clause uses the same at both attachments? */
bool named_same(const struct uses *u, const struct attachment *a, const struct attachment *b);
/* The argument whose name is like `name`, which is not that of a builtin; empty: none. */
struct str named_guess(const struct check *c, struct str name);
/* args.word of a variant with usdt attachments. */
void check_named(struct check *c, struct expr *e);
/* argN where a float is wanted: it becomes one if it is known to be one. */
void check_as_float(struct check *c, struct expr *e);
/* ... and a hint for the error when it did not. */
void hint_no_float(struct check *c, const struct expr *e);
/* args.x where text is wanted: a char * becomes the text. False: `e` is something else. */
bool check_as_text(struct check *c, struct expr *e);
/* ... is it one? */
bool is_named_text(const struct variant *variant, const struct expr *e);
void lower_named(struct lower *l, const struct expr *e, uint16_t out);
/* args.x that is a struct passed by value: its address; or, in registers, one of its words. */
void lower_by_value(struct lower *l, const struct expr *e, unsigned word, uint16_t out);
/* The text of args.x, which check_as_text() takes: `length` bytes (REG_NO: any number) and at most
 * `most`. */
void lower_named_text(struct lower *l, const struct expr *e, uint16_t length, uint32_t most,
		      uint16_t out);
/* Where the word of args.x is in what the kernel hands over; false: it is elsewhere. */
bool named_word(const struct variant *v, const struct expr *e, unsigned *offset);
/* Argument number n of the attachments; at a return the one of the call. */
void lower_argument(struct lower *l, unsigned n, uint16_t out);

/* ---- kept.c: arguments of functions at their returns ---- */

/* What a variant of returns reads, while it is lowered. */
struct kept {
	uint16_t numbers[PROGRAM_MAX_PARTS - 1]; /* of the arguments, in the order of the words */
	unsigned count;
	uint16_t slot; /* the words, after that of kept.c */
	size_t end;    /* of the instructions that take them */
	struct map *map;
};

/* Does the variant read arguments at a return? */
bool kept_wanted(const struct variant *v);
/* At the start of the code: take what the entry has kept, or leave the clause. */
void kept_open(struct lower *l, struct kept *k, struct label *end);
/* Argument n, which becomes one of those that are kept. */
void kept_argument(struct lower *l, unsigned n, uint16_t out);
/* After the code: the map and the types are known. */
void kept_close(struct lower *l);
/* The clause for the entries. */
int kept_clause(struct script *s, const struct variant *v, const struct kept *k, struct clause *out,
		struct diag *d);

/* args: afterwards e->args are its e->number parts, as expressions of their own. */
void check_whole(struct check *c, struct expr *e);
void check_whole_value(struct check *c, struct expr *e);
void lower_whole(struct lower *l, const struct expr *e, uint16_t out);
void check_retval(struct check *c, struct expr *e);
void lower_retval(struct lower *l, const struct expr *e, uint16_t out);
/* A part that has no value: a text among the program's names is shown instead. */
void lower_part_note(struct lower *l, struct str text, uint16_t out);

#endif
