/* Functions that return strings, buffers and symbols: str buf usym ksym strftime strncmp. */
#include <errno.h>

#include "script/builtins/bytes.h"
#include "script/builtins/function.h"
#include "script/check/named.h"
#include "script/check/value_text.h"
#include "script/lower/emit.h"
#include "script/lower/named_code.h"
#include "script/lower/places.h"

/* The limit of str(p, n) and buf(p, n): a constant n may be beyond what strings have unasked. A
 * negative one is as good as none, for scripts that were written for bpftrace. */
static uint32_t text_most(const struct script_facts *f, const struct expr *e)
{
	const struct expr *n = e->arg_count > 1 ? e->args[1] : NULL;

	return n && n->is_const && (int64_t)n->value >= 0 ? f->most_strlen : f->max_strlen;
}

/* How many bytes str(p, n) and buf(p, n) may give: n when it is constant, never more than the
 * limit. */
static uint64_t text_bytes(const struct check *c, const struct expr *e)
{
	const struct expr *n = e->arg_count > 1 ? e->args[1] : NULL;
	uint64_t most = text_most(&c->s->facts, e);

	if (!n || !n->is_const || n->value > most)
		return most;
	return n->value;
}

static void check_length(struct check *c, const struct expr *e)
{
	const struct expr *n = e->arg_count > 1 ? e->args[1] : NULL;

	if (!c->err && n && n->is_const && n->shape.type.is_signed && (int64_t)n->value < 0)
		check_error(c, n, "wrong-arg-type", "the length of '%s' must not be negative",
			    e->function->name);
	if (c->err || !n || !n->is_const || (int64_t)n->value <= (int64_t)PROGRAM_MAX_TEXT)
		return;
	check_error(c, n, "too-long", "'%s' returns at most %u bytes", e->function->name,
		    PROGRAM_MAX_TEXT);
	diag_hint(c->d, "read longer data in pieces: str(p, %u), str(p + %u, %u)", PROGRAM_MAX_TEXT,
		  PROGRAM_MAX_TEXT, PROGRAM_MAX_TEXT);
}

/* $1, or $1 + skip; NULL: it is neither. */
static const struct expr *param_of(const struct expr *e, uint64_t *skip)
{
	*skip = 0;
	if (e->kind == EXPR_BINARY && e->op == OPERATOR_ADD && e->args[1]->kind == EXPR_INT) {
		*skip = e->args[1]->number;
		e = e->args[0];
	}
	return e->kind == EXPR_PARAM ? e : NULL;
}

static bool is_param_text(const struct expr *call)
{
	uint64_t skip;

	return param_of(call->args[0], &skip);
}

/* str($1), str($1 + skip), str($1, n): n bytes of the parameter's text at most. */
static struct str param_text(const struct script_options *o, const struct expr *call)
{
	const struct expr *n = call->arg_count > 1 ? call->args[1] : NULL;
	uint64_t skip;
	const struct expr *e = param_of(call->args[0], &skip);
	struct str text = e->number <= o->param_count ? o->params[e->number - 1] : STR("");

	text = skip < text.len ? str_of(text.ptr + skip, text.len - skip) : STR("");
	if (n && (int64_t)n->value >= 0 && n->value < text.len)
		text.len = n->value;
	return text;
}

static void check_param_text(struct check *c, struct expr *e)
{
	struct str text = param_text(&c->s->options, e);

	if (e->arg_count > 1 && !e->args[1]->is_const)
		check_error(c, e->args[1], "wrong-arg-type",
			    "the length of a parameter's text must be constant");
	if (text.len > PROGRAM_MAX_TEXT)
		check_error(c, e, "too-big", "the text of the parameter is longer than %u bytes",
			    PROGRAM_MAX_TEXT);
	e->shape = shape_of(type_text(TYPE_STR, text.len));
	e->shape.type.capacity = (uint32_t)text.len + 1;
}

/* str("text", 2): its first bytes */
static void check_literal_part(struct check *c, struct expr *e)
{
	struct expr *n = e->args[1];

	check_shortened(c, e);
	if (c->err || !n->is_const)
		return;
	e->text = e->args[0]->text;
	if (n->value < e->text.len)
		e->text.len = n->value;
	e->kind = EXPR_STRING;
	e->arg_count = 0;
	check_expr(c, e);
}

/* str(p), str(p, n), str("text"), str(args.text, n); str($1) is the parameter's text, and
 * str($1 + 2) that from its third byte on */
static void check_str(struct check *c, struct expr *e)
{
	struct expr *p = e->args[0];
	uint64_t bytes;

	if (is_param_text(e)) {
		check_param_text(c, e);
		return;
	}
	check_expr(c, p);
	if (p->kind == EXPR_STRING && e->arg_count > 1) {
		check_literal_part(c, e);
		return;
	}
	check_enum_text(c, p);
	/* Scripts in the wild write str() also around what is a string already. */
	if (p->shape.type.kind == TYPE_STR && e->arg_count == 1) {
		e->shape = p->shape;
		return;
	}
	if (p->shape.type.kind != TYPE_STR) {
		check_int(c, p, "the address of 'str'");
	} else if (!check_as_text(c, p)) {
		check_shortened(c, e);
		return;
	}
	check_length(c, e);
	bytes = text_bytes(c, e);
	/* One byte more than asked for: what the script itself cuts gets no trailer. */
	e->shape = shape_of(type_text(TYPE_STR, bytes + (bytes < text_most(&c->s->facts, e))));
}

/* The register with the length, or REG_NO when there is only the limit. */
static uint16_t lower_length(struct lower *l, const struct expr *e)
{
	const struct expr *n = e->arg_count > 1 ? e->args[1] : NULL;

	if (!n || (n->is_const && (int64_t)n->value < 0))
		return REG_NO;
	return lower_word(l, n);
}

/* Kernel text has no length but a constant one. */
static uint32_t kernel_most(const struct lower *l, const struct expr *e)
{
	const struct expr *n = e->arg_count > 1 ? e->args[1] : NULL;
	uint32_t most = text_most(&l->s->facts, e);

	return n && n->is_const && n->value < most ? (uint32_t)n->value : most;
}

static void lower_str(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct expr *p = e->args[0];
	uint16_t address;

	if (is_param_text(e)) {
		emit_si(l, OP_TEXT, out,
			lower_intern(l, &l->s->literals, param_text(&l->s->options, e)));
	} else if (p->shape.type.kind == TYPE_STR && e->arg_count > 1 && !is_named_text(l->v, p)) {
		lower_shortened(l, e, out);
	} else if (p->shape.type.kind == TYPE_STR && e->arg_count > 1) {
		lower_named_text(l, p, lower_length(l, e), text_most(&l->s->facts, e), out);
	} else if (p->shape.type.kind == TYPE_STR) {
		lower_memory_to(l, p, out);
	} else {
		address = lower_word(l, p);
		if (p->shape.type.is_kernel)
			emit_read(l, OP_KSTR, out, address, REG_NO, kernel_most(l, e));
		else
			emit_read(l, OP_STR, out, address, lower_length(l, e),
				  text_most(&l->s->facts, e));
	}
}

/* buf("text"): its bytes and the NUL; buf("text", n): n of them, NULs after its end */
static void check_literal_bytes(struct check *c, struct expr *e)
{
	struct expr *text = e->args[0];
	const struct expr *n = e->arg_count > 1 ? e->args[1] : NULL;
	uint64_t bytes = n && (int64_t)n->value >= 0 ? n->value : text->text.len + 1;
	char *copy;

	if (e->number) /* the text is that of an earlier pass */
		bytes = e->number;
	e->number = bytes;

	check_expr(c, text);
	if (n && !n->is_const)
		check_error(c, n, "wrong-arg-type",
			    "the number of bytes of a string in quotes must be constant");
	check_length(c, e);
	if (c->err)
		return;
	copy = arena_alloc(&c->s->arena, bytes + 1); /* zeroed */
	if (!copy) {
		c->err = -ENOMEM;
		return;
	}
	memcpy(copy, text->text.ptr, bytes < text->text.len ? bytes : text->text.len);
	text->text = str_of(copy, bytes);
	e->shape = shape_of(type_text(TYPE_BUF, bytes));
}

/* buf(p, n), buf("text"), buf(array) */
static void check_buf(struct check *c, struct expr *e)
{
	uint64_t bytes = 0;
	bool is_array;

	if (e->args[0]->kind == EXPR_STRING) {
		check_literal_bytes(c, e);
		return;
	}
	check_refer(c, e->args[0]);
	check_expr(c, e->args[0]);
	is_array = check_is_array(c, e->args[0], &bytes);
	if (!is_array && check_value_bytes(c, e))
		return;
	if (!is_array)
		check_int(c, e->args[0], "this argument of 'buf'");
	if (!c->err && e->arg_count < 2 && !is_array)
		check_error(c, e, "wrong-arg-count", "'buf' needs a length");
	e->number = e->arg_count < 2 && bytes < text_bytes(c, e) ? bytes : 0;
	e->shape = shape_of(type_text(TYPE_BUF, e->number ? e->number : text_bytes(c, e)));
	check_length(c, e);
}

static void lower_buf(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct expr *of = e->args[0];
	bool is_word = type_is_word(&of->shape.type);
	uint32_t most = text_most(&l->s->facts, e);
	uint16_t address, length;

	if (of->kind == EXPR_STRING) {
		lower_memory_to(l, of, out);
	} else if (!is_word && !(of->is_place && place_in_memory(of))) {
		lower_value_bytes(l, e, out);
	} else {
		address = is_word ? lower_word(l, of) : lower_address(l, of);
		length = lower_length(l, e);
		if (length == REG_NO)
			length = lower_const(l, e->number ? e->number : most);
		emit_read(l, of->shape.type.is_kernel ? OP_KBUF : OP_BUF, out, address, length,
			  most);
	}
}

/* The address, and the process whose symbol it is; 0 for the kernel. */
static void lower_symbol(struct lower *l, const struct expr *e, uint16_t out)
{
	uint16_t address = lower_word(l, e->args[0]), pid = lower_reg(l);

	if (e->function->number)
		emit_di(l, OP_BUILTIN, pid, BUILTIN_PID);
	else
		emit_di(l, OP_CONST, pid, 0);
	emit_put(l, out, 0, address);
	emit_put(l, out, 8, pid);
}

/* One word, which the report shows as text. */
static void lower_shown(struct lower *l, const struct expr *e, uint16_t out)
{
	emit_put(l, out, 0, lower_word(l, e->args[0]));
}

static void lower_username(struct lower *l, const struct expr *e, uint16_t out)
{
	uint16_t uid = lower_reg(l);

	(void)e;
	emit_di(l, OP_BUILTIN, uid, BUILTIN_UID);
	emit_put(l, out, 0, uid);
}

static bool is_monotonic(const struct expr *e)
{
	return e->arg_count && str_eq_text(e->text, "nsecs") && e->args[0]->kind == EXPR_NAME &&
	       str_eq_text(e->args[0]->text, "monotonic");
}

/* strftime(format, nsecs) */
static void check_strftime(struct check *c, struct expr *e)
{
	const struct expr *time = e->args[1];

	if (is_monotonic(time))
		check_error(c, time, "wrong-arg-type",
			    "'strftime' cannot show the clock 'monotonic': it has no date");
	else if (time->is_const && time->shape.type.is_signed && (int64_t)time->value < 0)
		check_error(c, time, "wrong-arg-type", "'strftime' expects no negative time");
}

/* Nanoseconds, the number of the format among the names, and the clock. */
static void lower_strftime(struct lower *l, const struct expr *e, uint16_t out)
{
	uint32_t format = lower_intern(l, &l->s->names, e->args[0]->text);
	uint16_t nsecs = lower_word(l, e->args[1]);

	emit_put(l, out, 0, nsecs);
	emit_put(l, out, 8, lower_const(l, format));
	emit_put(l, out, 16, lower_const(l, e->args[1]->shape.type.clock));
}

static void lower_strlen(struct lower *l, const struct expr *e, uint16_t out)
{
	uint16_t text = lower_memory(l, e->args[0], &e->args[0]->shape.type);

	emit_ds(l, OP_LENGTH, out, text, 0);
}

#define CONCAT_CAPACITY 1024 /* what sizeof() says at least, as in bpftrace */

/* Room for all that both may hold. A text that is added to itself, as $s = str_concat($s, "x"),
 * would grow in each pass: it is cut at 1024 bytes, or what one of them has. */
static uint64_t concat_bytes(const struct check *c, const struct expr *e)
{
	uint64_t a = e->args[0]->shape.type.size, b = e->args[1]->shape.type.size;
	uint64_t most = a > b ? a : b, before = e->number; /* in the last pass */

	if (c->pass <= 2 || a + b <= before)
		return a + b;
	return most > CONCAT_CAPACITY ? most : CONCAT_CAPACITY;
}

/* str_concat(a, b) */
static void check_concat(struct check *c, struct expr *e)
{
	uint64_t bytes = concat_bytes(c, e);

	if (bytes > PROGRAM_MAX_TEXT)
		check_error(c, e, "too-long", "'str_concat' returns at most %u bytes",
			    PROGRAM_MAX_TEXT);
	e->number = bytes;
	e->shape = shape_of(type_text(TYPE_STR, bytes));
	if (bytes < CONCAT_CAPACITY)
		e->shape.type.capacity = CONCAT_CAPACITY;
}

static void lower_concat(struct lower *l, const struct expr *e, uint16_t out)
{
	struct type both = type_text(TYPE_STR, (uint64_t)e->args[0]->shape.type.size +
						       e->args[1]->shape.type.size);
	bool fits = both.size <= l->slots[out].type.size; /* which may be larger than the result */
	uint16_t all = fits ? lower_slot_like(l, out) : lower_slot(l, &both);

	emit_si(l, OP_ZERO, all, 0);
	for (unsigned i = 0; i < 2; i++)
		emit_sti(l, OP_APPEND, all, lower_memory(l, e->args[i], &e->args[i]->shape.type),
			 0);
	if (!fits)
		emit_si(l, OP_ZERO, out, 0);
	emit_sti(l, fits ? OP_COPY : OP_APPEND, out, all, 0);
}

/* strncmp(a, b, n): 0 when the first n bytes are equal */
static void check_strncmp(struct check *c, struct expr *e)
{
	if ((int64_t)e->args[2]->value < 0)
		check_error(c, e->args[2], "wrong-arg-type", "a length cannot be negative");
}

static void lower_strncmp(struct lower *l, const struct expr *e, uint16_t out)
{
	uint16_t a = lower_memory(l, e->args[0], &e->args[0]->shape.type);
	uint16_t b = lower_memory(l, e->args[1], &e->args[1]->shape.type);

	emit_strcmp(l, out, a, b, (int64_t)e->args[2]->value);
}

/* clang-format off */

/* name, arguments, group, needs, probe types, result, check, lowering, number, help, example */
const struct function text_rows[] = {
	{ "str", "x[i", GROUP_FUNCTION, 0, 0, NO_RESULT, check_str, lower_str, 0,
	  "text at an address, up to its NUL", "@[str(arg0, 16)] = count();" },
	{ "buf", "x[i", GROUP_FUNCTION, 0, 0, NO_RESULT, check_buf, lower_buf, 0,
	  "bytes at an address", "printf(\"%r\\n\", buf(arg0, 16));" },
	{ "usym", "p", GROUP_FUNCTION, NEED_STACKS, 0, DISPLAY_TYPE("usym", 2), NULL, lower_symbol, true,
	  "the function at an address of the process", "@[usym(arg0)] = count();" },
	{ "ksym", "p", GROUP_FUNCTION, NEED_STACKS, 0, DISPLAY_TYPE("ksym", 2), NULL, lower_symbol, false,
	  "the function at an address of the kernel", "@[ksym(arg0)] = count();" },
	{ "strerror", "i", GROUP_FUNCTION, 0, 0, DISPLAY_TYPE("errno", 1), NULL, lower_shown, 0,
	  "what an error number means", "print(strerror(arg0));" },
	{ "signal_name", "i", GROUP_FUNCTION, 0, 0, DISPLAY_TYPE("signal", 1), NULL, lower_shown, 0,
	  "what a signal's number means", "print(signal_name(arg0));" },
	{ "syscall_name", "i", GROUP_FUNCTION, 0, 0, DISPLAY_TYPE("syscall", 1), NULL, lower_shown, 0,
	  "the name of a system call by its number", "print(syscall_name(0));" },
	{ "username", "", GROUP_VALUE, 0, 0, DISPLAY_TYPE("user", 1), NULL, lower_username, 0,
	  "name of the user", "@[username] = count();" },
	{ "strftime", "si", GROUP_FUNCTION, 0, 0, DISPLAY_TYPE("time", 3), check_strftime, lower_strftime, 0,
	  "a time as text", "print(strftime(\"%H:%M:%S\", nsecs));" },
	{ "strlen", "t", GROUP_FUNCTION, 0, 0, RESULT_U64, NULL, lower_strlen, 0,
	  "the length of a text in bytes", "@ = hist(strlen(str(arg0)));" },
	{ "str_concat", "tt", GROUP_FUNCTION, 0, 0, NO_RESULT, check_concat, lower_concat, 0,
	  "a text and another after it", "@[str_concat(comm, \"!\")] = count();" },
	{ "strncmp", "ttc", GROUP_FUNCTION, 0, 0, RESULT_U64, check_strncmp, lower_strncmp, 0,
	  "0 when the first bytes of two texts are equal", "if (strncmp(comm, \"ab\", 2) == 0) { exit(); }" },
	{ .name = NULL },
};
/* clang-format on */
