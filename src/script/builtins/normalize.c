/* normalize(text): a statement of SQL without its values, so that a map counts statements and not
 * rows. A finite automaton reads the text byte by byte; its tables are data of the program, and the
 * code that runs it is the same for all engines.
 *
 *	SELECT  * FROM t WHERE id = 17 AND name IN ('a', 'b') -- request 5
 *	SELECT * FROM t WHERE id = ? AND name IN (?)
 *
 * Numbers, strings and placeholders become "?", a list of them one "?", rows of such lists one row;
 * blanks and comments become one blank. "Names" in double quotes or backquotes stay. A backslash in
 * a string takes the quote after it along, as in MySQL; PostgreSQL means that only in E'...'. */
#include <errno.h>
#include <string.h>

#include "script/builtins/function.h"
#include "script/lower/emit.h"
#include "script/lower/loop.h"

/* What a byte is. */
enum byte_class {
	BYTE_END, /* after the text */
	BYTE_BLANK,
	BYTE_NEWLINE,
	BYTE_DIGIT,
	BYTE_LETTER,
	BYTE_EXPONENT, /* e E */
	BYTE_QUOTE,
	BYTE_DOUBLE,
	BYTE_BACKQUOTE,
	BYTE_BACKSLASH,
	BYTE_MINUS,
	BYTE_PLUS,
	BYTE_SLASH,
	BYTE_STAR,
	BYTE_COMMA,
	BYTE_OPEN,
	BYTE_CLOSE,
	BYTE_BRACKET, /* ] } */
	BYTE_DOT,
	BYTE_HOLE, /* ? */
	BYTE_OTHER,
	BYTE_CLASSES
};

/* What is done at a byte. */
enum action {
	ACT_NONE = 0,
	ACT_KEEP = 1,  /* the byte is taken over */
	ACT_HOLE = 2,  /* a "?" for a value that begins here */
	ACT_BLANK = 4, /* a blank is due before what comes next */
	ACT_NO_BLANK = 8,
	ACT_AGAIN = 16, /* the byte is looked at again, in the next state */
	ACT_OWED = 32,	/* what the state before has held back is needed after all */
};

/* A value is in one of three places: anywhere; the first row of a list, "(1, 2"; the rows after it,
 * which are left out. */
enum place { PLACE_ANY, PLACE_ROW, PLACE_MORE, PLACES };

enum state {
	STATE_START, /* a value may come: "-5" is one */
	STATE_AFTER, /* a name or value has come: in "a -5" the minus is an operator */
	STATE_OPENED,
	STATE_WORD,
	STATE_SIGN,	/* "-" where a value may come */
	STATE_SIGN_ROW, /* ... after "(" */
	STATE_MINUS,	/* "-" elsewhere */
	STATE_SLASH,
	STATE_LINE, /* -- comment */
	STATE_COMMENT,
	STATE_STAR, /* of its end */
	STATE_DOUBLE,
	STATE_BACKQUOTE,
	STATE_ROW,	/* (?) */
	STATE_ROW_NEXT, /* (?), */
	STATE_ROW_OPEN, /* (?), ( */
	STATE_ROW_SIGN, /* (?), (- */
	STATE_PLACED,	/* from here on for each place: */
	STATE_NUMBER = STATE_PLACED,
	STATE_EXPONENT = STATE_NUMBER + PLACES,
	STATE_STRING = STATE_EXPONENT + PLACES,
	STATE_ESCAPE = STATE_STRING + PLACES,
	STATE_VALUE = STATE_ESCAPE + PLACES, /* its end */
	STATE_NEXT = STATE_VALUE + PLACES,   /* "," after it */
	STATE_NEXT_SIGN = STATE_NEXT + PLACES,
	STATE_NEXT_LINE = STATE_NEXT_SIGN + PLACES, /* -- comment after the comma */
	STATES = STATE_NEXT_LINE + PLACES
};

/* Parts of what a state has held back, in the order of the text. */
enum owed {
	OWED_COMMA = 1,
	OWED_OPEN = 2,
	OWED_HOLE = 4,
	OWED_AGAIN = 8,
	OWED_SIGN = 16,
	OWED_SLASH = 32
};

#define OWED_ROW (OWED_COMMA | OWED_OPEN)

struct automaton {
	uint8_t classes[256], owed[STATES];
	uint8_t next[STATES * BYTE_CLASSES], act[STATES * BYTE_CLASSES];
};

/* ---- Its tables ---- */

static uint8_t class_of(unsigned byte)
{
	static const struct {
		const char *bytes;
		enum byte_class is;
	} rows[] = {
		/* clang-format off */
		{ " \t\r\v\f", BYTE_BLANK },  { "\n", BYTE_NEWLINE },  { "0123456789", BYTE_DIGIT },
		{ "eE", BYTE_EXPONENT },      { "_$@", BYTE_LETTER },  { "'", BYTE_QUOTE },
		{ "\"", BYTE_DOUBLE },        { "`", BYTE_BACKQUOTE }, { "\\", BYTE_BACKSLASH },
		{ "-", BYTE_MINUS },          { "+", BYTE_PLUS },      { "/", BYTE_SLASH },
		{ "*", BYTE_STAR },           { ",", BYTE_COMMA },     { "(", BYTE_OPEN },
		{ ")", BYTE_CLOSE },          { "]}", BYTE_BRACKET },  { ".", BYTE_DOT },
		{ "?", BYTE_HOLE },
		/* clang-format on */
	};

	if (!byte)
		return BYTE_END;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strchr(rows[i].bytes, (int)byte))
			return (uint8_t)rows[i].is;
	return byte >= 128 || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z')
		       ? BYTE_LETTER
		       : BYTE_OTHER;
}

static void set_edge(struct automaton *a, unsigned state, unsigned byte, unsigned act,
		     unsigned next)
{
	a->act[state * BYTE_CLASSES + byte] = (uint8_t)act;
	a->next[state * BYTE_CLASSES + byte] = (uint8_t)next;
}

static void set_all(struct automaton *a, unsigned state, unsigned act, unsigned next)
{
	for (unsigned byte = BYTE_BLANK; byte < BYTE_CLASSES; byte++)
		set_edge(a, state, byte, act, next);
	set_edge(a, state, BYTE_END, act & ACT_OWED, STATE_START);
}

static void set_blanks(struct automaton *a, unsigned state, unsigned next)
{
	set_edge(a, state, BYTE_BLANK, ACT_BLANK, next);
	set_edge(a, state, BYTE_NEWLINE, ACT_BLANK, next);
}

/* Where a value may begin: at all of its first bytes but a minus. */
static void set_values(struct automaton *a, unsigned state, unsigned act, enum place place)
{
	set_edge(a, state, BYTE_DIGIT, act, STATE_NUMBER + place);
	set_edge(a, state, BYTE_QUOTE, act, STATE_STRING + place);
	set_edge(a, state, BYTE_HOLE, act, STATE_VALUE + place);
}

static void make_outside(struct automaton *a, unsigned state, enum place place, unsigned minus)
{
	set_all(a, state, ACT_KEEP, STATE_START);
	set_blanks(a, state, state == STATE_WORD ? STATE_AFTER : state);
	set_values(a, state, ACT_HOLE, place);
	set_edge(a, state, BYTE_LETTER, ACT_KEEP, STATE_WORD);
	set_edge(a, state, BYTE_EXPONENT, ACT_KEEP, STATE_WORD);
	set_edge(a, state, BYTE_DOUBLE, ACT_KEEP, STATE_DOUBLE);
	set_edge(a, state, BYTE_BACKQUOTE, ACT_KEEP, STATE_BACKQUOTE);
	set_edge(a, state, BYTE_MINUS, ACT_NONE, minus);
	set_edge(a, state, BYTE_SLASH, ACT_NONE, STATE_SLASH);
	set_edge(a, state, BYTE_OPEN, ACT_KEEP, STATE_OPENED);
	set_edge(a, state, BYTE_CLOSE, ACT_KEEP, STATE_AFTER);
	set_edge(a, state, BYTE_BRACKET, ACT_KEEP, STATE_AFTER);
	set_edge(a, state, BYTE_END, ACT_NONE, STATE_START);
}

static void make_sign(struct automaton *a, unsigned state, unsigned act, unsigned number)
{
	set_all(a, state, ACT_OWED | ACT_AGAIN, STATE_START);
	set_edge(a, state, BYTE_MINUS, ACT_NONE, STATE_LINE);
	if (number)
		set_edge(a, state, BYTE_DIGIT, act, number);
}

static void make_skipped(struct automaton *a)
{
	set_all(a, STATE_SLASH, ACT_OWED | ACT_AGAIN, STATE_START);
	set_edge(a, STATE_SLASH, BYTE_STAR, ACT_NONE, STATE_COMMENT);
	a->owed[STATE_SLASH] = OWED_SLASH;
	set_all(a, STATE_LINE, ACT_NONE, STATE_LINE);
	set_edge(a, STATE_LINE, BYTE_NEWLINE, ACT_BLANK, STATE_AFTER);
	set_all(a, STATE_COMMENT, ACT_NONE, STATE_COMMENT);
	set_edge(a, STATE_COMMENT, BYTE_STAR, ACT_NONE, STATE_STAR);
	set_all(a, STATE_STAR, ACT_NONE, STATE_COMMENT);
	set_edge(a, STATE_STAR, BYTE_STAR, ACT_NONE, STATE_STAR);
	set_edge(a, STATE_STAR, BYTE_SLASH, ACT_BLANK, STATE_AFTER);
	set_all(a, STATE_DOUBLE, ACT_KEEP, STATE_DOUBLE);
	set_edge(a, STATE_DOUBLE, BYTE_DOUBLE, ACT_KEEP, STATE_WORD);
	set_all(a, STATE_BACKQUOTE, ACT_KEEP, STATE_BACKQUOTE);
	set_edge(a, STATE_BACKQUOTE, BYTE_BACKQUOTE, ACT_KEEP, STATE_WORD);
}

static void make_rows(struct automaton *a)
{
	set_all(a, STATE_ROW, ACT_AGAIN, STATE_AFTER);
	set_blanks(a, STATE_ROW, STATE_ROW);
	set_edge(a, STATE_ROW, BYTE_COMMA, ACT_NONE, STATE_ROW_NEXT);
	set_all(a, STATE_ROW_NEXT, ACT_OWED | ACT_AGAIN, STATE_START);
	set_blanks(a, STATE_ROW_NEXT, STATE_ROW_NEXT);
	set_edge(a, STATE_ROW_NEXT, BYTE_OPEN, ACT_NO_BLANK, STATE_ROW_OPEN);
	a->owed[STATE_ROW_NEXT] = OWED_COMMA;
	set_all(a, STATE_ROW_OPEN, ACT_OWED | ACT_AGAIN, STATE_START);
	set_blanks(a, STATE_ROW_OPEN, STATE_ROW_OPEN);
	set_values(a, STATE_ROW_OPEN, ACT_NO_BLANK, PLACE_MORE);
	set_edge(a, STATE_ROW_OPEN, BYTE_MINUS, ACT_NONE, STATE_ROW_SIGN);
	a->owed[STATE_ROW_OPEN] = OWED_ROW;
	make_sign(a, STATE_ROW_SIGN, ACT_NO_BLANK, STATE_NUMBER + PLACE_MORE);
	set_edge(a, STATE_ROW_SIGN, BYTE_MINUS, ACT_OWED | ACT_AGAIN, STATE_START);
	a->owed[STATE_ROW_SIGN] = OWED_ROW | OWED_SIGN;
}

static void make_number(struct automaton *a, enum place place)
{
	unsigned number = STATE_NUMBER + place, exponent = STATE_EXPONENT + place;

	for (unsigned state = number; state <= exponent; state += PLACES) {
		set_all(a, state, ACT_AGAIN, STATE_VALUE + place);
		set_edge(a, state, BYTE_DIGIT, ACT_NONE, number);
		set_edge(a, state, BYTE_LETTER, ACT_NONE, number);
		set_edge(a, state, BYTE_DOT, ACT_NONE, number);
		set_edge(a, state, BYTE_EXPONENT, ACT_NONE, exponent);
	}
	set_edge(a, exponent, BYTE_MINUS, ACT_NONE, number);
	set_edge(a, exponent, BYTE_PLUS, ACT_NONE, number);
}

/* A value of one place: its bytes, what may follow it. */
static void make_value(struct automaton *a, enum place place)
{
	unsigned string = STATE_STRING + place, escape = STATE_ESCAPE + place;
	unsigned value = STATE_VALUE + place, next = STATE_NEXT + place;
	unsigned sign = STATE_NEXT_SIGN + place, line = STATE_NEXT_LINE + place;
	bool is_more = place == PLACE_MORE;

	make_number(a, place);
	set_all(a, string, ACT_NONE, string);
	set_edge(a, string, BYTE_QUOTE, ACT_NONE, value);
	set_edge(a, string, BYTE_BACKSLASH, ACT_NONE, escape);
	set_all(a, escape, ACT_NONE, string);
	set_all(a, value, ACT_AGAIN | (is_more ? ACT_OWED : 0), STATE_AFTER);
	set_blanks(a, value, value);
	set_edge(a, value, BYTE_QUOTE, ACT_NONE, string);
	set_edge(a, value, BYTE_COMMA, ACT_NONE, next);
	if (place != PLACE_ANY)
		set_edge(a, value, BYTE_CLOSE, is_more ? ACT_NO_BLANK : ACT_KEEP, STATE_ROW);
	set_all(a, next, ACT_OWED | ACT_AGAIN, STATE_START);
	set_blanks(a, next, next);
	set_values(a, next, ACT_NO_BLANK, place);
	set_edge(a, next, BYTE_MINUS, ACT_NONE, sign);
	make_sign(a, sign, ACT_NO_BLANK, STATE_NUMBER + place);
	set_edge(a, sign, BYTE_MINUS, ACT_NONE, line);
	set_all(a, line, ACT_NONE, line);
	set_edge(a, line, BYTE_NEWLINE, ACT_BLANK, next);
	set_edge(a, line, BYTE_END, ACT_OWED, STATE_START);
	a->owed[value] = is_more ? OWED_ROW | OWED_HOLE : 0;
	a->owed[next] = is_more ? OWED_ROW | OWED_HOLE | OWED_AGAIN : OWED_COMMA;
	a->owed[sign] = a->owed[next] | OWED_SIGN;
	a->owed[line] = a->owed[next];
	for (unsigned state = STATE_NUMBER + place; state < STATE_VALUE && is_more;
	     state += PLACES) {
		a->owed[state] = OWED_ROW | OWED_HOLE;
		set_edge(a, state, BYTE_END, ACT_OWED, STATE_START);
	}
}

static void make_automaton(struct automaton *a)
{
	for (unsigned byte = 0; byte < 256; byte++)
		a->classes[byte] = class_of(byte);
	make_outside(a, STATE_START, PLACE_ANY, STATE_SIGN);
	make_outside(a, STATE_AFTER, PLACE_ANY, STATE_MINUS);
	make_outside(a, STATE_OPENED, PLACE_ROW, STATE_SIGN_ROW);
	make_outside(a, STATE_WORD, PLACE_ANY, STATE_MINUS);
	set_edge(a, STATE_WORD, BYTE_DIGIT, ACT_KEEP, STATE_WORD);
	set_edge(a, STATE_WORD, BYTE_DOT, ACT_KEEP, STATE_WORD);
	make_sign(a, STATE_SIGN, ACT_HOLE, STATE_NUMBER + PLACE_ANY);
	make_sign(a, STATE_SIGN_ROW, ACT_HOLE, STATE_NUMBER + PLACE_ROW);
	make_sign(a, STATE_MINUS, ACT_NONE, 0);
	a->owed[STATE_SIGN] = a->owed[STATE_SIGN_ROW] = a->owed[STATE_MINUS] = OWED_SIGN;
	make_skipped(a);
	make_rows(a);
	for (unsigned place = 0; place < PLACES; place++)
		make_value(a, (enum place)place);
}

/* ---- The code that runs it ---- */

/* Registers and slots of the code. */
struct machine {
	struct lower *l;
	uint16_t text, out;			    /* slots */
	uint16_t classes, next, act, owed;	    /* slots with the tables */
	uint16_t state, byte, blank, row, bits, is; /* registers */
	uint16_t end, at, one, columns;
};

static uint16_t add_table(struct lower *l, const uint8_t *bytes, size_t count)
{
	struct str text = arena_str(l->arena, str_of((const char *)bytes, count));
	struct type t = type_text(TYPE_BUF, count);
	uint16_t slot = lower_slot(l, &t);

	if (!text.ptr)
		lower_fail(l, -ENOMEM);
	else
		emit_si(l, OP_TEXT, slot, lower_intern(l, &l->s->literals, text));
	return slot;
}

static void look_up(const struct machine *m, uint16_t table, uint16_t at, uint16_t out)
{
	emit_ds(m->l, OP_BYTE, out, table, 0)->a = at;
}

static void push_byte(const struct machine *m, uint16_t reg)
{
	struct insn *i = lower_op(m->l, OP_PUSH);

	i->s = m->out;
	i->a = reg;
}

static void push_char(const struct machine *m, char byte)
{
	emit_di(m->l, OP_CONST, m->is, (uint8_t)byte);
	push_byte(m, m->is);
}

/* Go to `to` unless the bit is set among m->bits. */
static void jump_unless(const struct machine *m, unsigned bit, struct label *to)
{
	emit_di(m->l, OP_CONST, m->is, bit);
	emit_operator(m->l, OPERATOR_BAND, false, m->is, m->bits, m->is);
	lower_goto(m->l, OP_JUMP_NOT, m->is, to);
}

/* The blank that is due, if there is one and it is not the first byte. */
static void push_blank(const struct machine *m)
{
	struct label none = {0};

	lower_goto(m->l, OP_JUMP_NOT, m->blank, &none);
	emit_di(m->l, OP_CONST, m->blank, 0);
	emit_ds(m->l, OP_LENGTH, m->is, m->out, 0);
	lower_goto(m->l, OP_JUMP_NOT, m->is, &none);
	push_char(m, ' ');
	lower_bind(m->l, &none);
}

/* What a state has held back, in m->bits; between rows there is one blank. */
static void push_owed(const struct machine *m)
{
	static const struct {
		enum owed bit;
		char byte;
		bool has_blank; /* the one that is due comes before it */
	} parts[] = {
		/* clang-format off */
		{ OWED_COMMA, ',', false }, { OWED_OPEN, ' ', false }, { OWED_OPEN, '(', false },
		{ OWED_HOLE, '?', false },  { OWED_AGAIN, ',', false }, { OWED_SIGN, '-', true },
		{ OWED_SLASH, '/', true },
		/* clang-format on */
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		struct label none = {0};

		jump_unless(m, parts[i].bit, &none);
		if (parts[i].has_blank)
			push_blank(m);
		push_char(m, parts[i].byte);
		lower_bind(m->l, &none);
	}
}

/* One byte, or the end: the state becomes the next one. */
static void step_byte(const struct machine *m)
{
	struct label nothing = {0}, keep = {0}, hole = {0}, blank = {0}, no_blank = {0},
		     again = {0};
	struct lower *l = m->l;

	look_up(m, m->text, m->at, m->byte);
	look_up(m, m->classes, m->byte, m->row);
	emit_operator(l, OPERATOR_MUL, false, m->state, m->columns, m->is);
	emit_operator(l, OPERATOR_ADD, false, m->row, m->is, m->row);
	look_up(m, m->act, m->row, m->bits);
	jump_unless(m, ACT_OWED, &nothing);
	look_up(m, m->owed, m->state, m->bits);
	push_owed(m);
	look_up(m, m->act, m->row, m->bits);
	lower_bind(l, &nothing);
	look_up(m, m->next, m->row, m->state);
	jump_unless(m, ACT_KEEP, &keep);
	push_blank(m);
	push_byte(m, m->byte);
	lower_bind(l, &keep);
	jump_unless(m, ACT_HOLE, &hole);
	push_blank(m);
	push_char(m, '?');
	lower_bind(l, &hole);
	jump_unless(m, ACT_BLANK, &blank);
	emit_di(l, OP_CONST, m->blank, 1);
	lower_bind(l, &blank);
	jump_unless(m, ACT_NO_BLANK, &no_blank);
	emit_di(l, OP_CONST, m->blank, 0);
	lower_bind(l, &no_blank);
	emit_di(l, OP_CONST, m->is, ACT_AGAIN);
	emit_operator(l, OPERATOR_BAND, false, m->is, m->bits, m->is);
	lower_goto(l, OP_JUMP_IF, m->is, &again);
	emit_operator(l, OPERATOR_ADD, false, m->at, m->one, m->at);
	lower_bind(l, &again);
}

static void check_normalize(struct check *c, struct expr *e)
{
	const struct expr *a = e->args[0];

	(void)c;
	e->shape = shape_of(
		type_text(TYPE_STR, a->kind == EXPR_STRING ? a->text.len : a->shape.type.size));
}

/* A number of rounds, or what is left to a loop within loops. */
static uint64_t rounds_of(const struct lower *l, const struct expr *e)
{
	uint64_t worst = normalize_most_rounds(e);
	uint64_t left = PROGRAM_MAX_ROUNDS / l->rounds;

	return worst < left || !left ? worst : left;
}

static void lower_normalize(struct lower *l, const struct expr *e, uint16_t out)
{
	struct machine m = {.l = l, .text = lower_memory(l, e->args[0], &e->args[0]->shape.type)};
	struct automaton a = {.classes = {0}};
	struct loop loop;

	make_automaton(&a);
	m.out = lower_slot_like(l, out); /* which may be larger than the result */
	m.classes = add_table(l, a.classes, sizeof(a.classes));
	m.next = add_table(l, a.next, sizeof(a.next));
	m.act = add_table(l, a.act, sizeof(a.act));
	m.owed = add_table(l, a.owed, sizeof(a.owed));
	m.state = lower_const(l, STATE_START);
	m.byte = lower_reg(l);
	m.blank = lower_const(l, 0);
	m.row = lower_reg(l);
	m.bits = lower_reg(l);
	m.is = lower_reg(l);
	m.end = lower_reg(l);
	m.at = lower_const(l, 0);
	m.one = lower_const(l, 1);
	m.columns = lower_const(l, BYTE_CLASSES);
	emit_si(l, OP_ZERO, m.out, 0);
	emit_ds(l, OP_LENGTH, m.end, m.text, 0);
	loop_open(l, e->mark, rounds_of(l, e), &loop);
	emit_operator(l, OPERATOR_LE, false, m.at, m.end, m.is);
	lower_goto(l, OP_JUMP_NOT, m.is, l->leave);
	step_byte(&m);
	loop_close(l, &loop);
	emit_sti(l, OP_MARK, m.out, m.text, 0);
	emit_sti(l, OP_COPY, out, m.out, 0);
}

/* clang-format off */

/* name, arguments, group, needs, probe types, result, check, lowering, number, help, example */
const struct function normalize_rows[] = {
	{ "normalize", "t", GROUP_FUNCTION, 0, 0, NO_RESULT, check_normalize, lower_normalize, 0,
	  "a statement of SQL, with ? for its values", "@[normalize(str(arg0))] = count();" },
	{ .name = NULL },
};
/* clang-format on */
