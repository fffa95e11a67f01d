/* A script from inside: what the files of this module share. The tree says what was written, the
 * symbols what the names stand for, the attachments where clauses run, and the lists what has been
 * interned for programs so far. Everything lives in the script's arena. */
#ifndef NOPAL_SCRIPT_INSIDE_H
#define NOPAL_SCRIPT_INSIDE_H

#include "program/record.h"
#include "script/check/check.h"
#include "script/check/ctypes.h"
#include "script/check/map.h"
#include "script/check/named.h"
#include "script/check/spelled_value.h"
#include "script/check/value_type.h"
#include "script/parse/builtin.h"
#include "script/parse/counters.h"
#include "script/parse/script_state.h"
#include "script/parse/tree.h"
#include "script/resolve/header_types.h"
#include "script/resolve/resolve.h"
#include "script/resolve/probe_search.h"
#include "script/script.h"

/* bytes.c: is it an array in memory, and of how many bytes? */
bool check_is_array(struct check *c, const struct expr *e, uint64_t *bytes);
/* buf() of an array's or text's value; false: it is neither. */
bool check_value_bytes(struct check *c, struct expr *e);

/* str(text, n), where the text is none that is in the script. */
void check_shortened(struct check *c, struct expr *e);

/* search.c: the rounds of strstr() at worst, one for each byte compared. */
uint64_t search_most_rounds(const struct expr *e);
/* normalize.c: a byte is looked at twice at most. */
uint64_t normalize_most_rounds(const struct expr *e);

uint32_t map_entries(const struct script *s, const struct map *m); /* that it may have */

/* compile.c: the code of all attachments that no program has yet */
int compile_program(struct script *s, struct program **out, struct diag *d);
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

void lower_named(struct lower *l, const struct expr *e, uint16_t out);
/* args.x that is a struct passed by value: its address; or, in registers, one of its words. */
void lower_by_value(struct lower *l, const struct expr *e, unsigned word, uint16_t out);
/* The text of args.x, which check_as_text() takes: `length` bytes (REG_NO: any number) and at most
 * `most`. */
void lower_named_text(struct lower *l, const struct expr *e, uint16_t length, uint32_t most,
		      uint16_t out);
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

void lower_whole(struct lower *l, const struct expr *e, uint16_t out);
void lower_retval(struct lower *l, const struct expr *e, uint16_t out);
/* A part that has no value: a text among the program's names is shown instead. */
void lower_part_note(struct lower *l, struct str text, uint16_t out);

#endif
