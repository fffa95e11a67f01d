/* Functions that change the traced program: signals and its memory. Each needs --unsafe. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "script/builtins/function.h"
#include "script/lower/emit.h"

#define SIGNAL_MOST 64 /* of the kernel */
/* Where the current process is the one that hit the probe. */
#define HAVE_PROCESS (HAVE_REGISTERS | IN(TRACEPOINT) | IN(PROFILE) | HAVE_BTF_ARGS)

/* "KILL", "SIGKILL", "kill" -> 9; 0: there is no such signal */
static int signal_of(struct str name)
{
	char upper[16] = "";

	if (name.len >= sizeof(upper))
		return 0;
	for (size_t i = 0; i < name.len; i++)
		upper[i] = name.ptr[i] >= 'a' && name.ptr[i] <= 'z' ? (char)(name.ptr[i] - 32)
								    : name.ptr[i];
	for (int n = 1; n <= SIGNAL_MOST; n++) {
		const char *abbreviation = sigabbrev_np(n);

		if (abbreviation &&
		    (!strcmp(abbreviation, upper) ||
		     (!strncmp(upper, "SIG", 3) && !strcmp(abbreviation, upper + 3))))
			return n;
	}
	return 0;
}

/* signal("KILL"), signal(9), signal(arg0) */
static void check_signal(struct check *c, struct expr *e)
{
	struct expr *a = e->args[0];

	if (a->kind == EXPR_STRING) {
		e->number = (uint64_t)signal_of(a->text);
		if (!e->number)
			check_error(c, a, "bad-signal", "there is no signal '%.*s'",
				    STR_FMT(a->text));
		return;
	}
	check_expr(c, a);
	check_int(c, a, "a signal");
	if (!c->err && a->is_const && (a->value < 1 || a->value > SIGNAL_MOST))
		check_error(c, a, "bad-signal", "the number of a signal is from 1 to %d",
			    SIGNAL_MOST);
}

static void lower_signal(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct expr *a = e->args[0];
	uint16_t number = a->kind == EXPR_STRING ? lower_const(l, e->number) : lower_word(l, a);

	(void)out;
	emit_dai(l, OP_SIGNAL, REG_NO, number, (uint64_t)e->function->number);
}

/* &$v, &@m, as bpftrace has it: the value itself. */
static struct expr *value_behind(struct expr *a)
{
	return expr_refers(a) ? a->args[0] : a;
}

/* write_user(address, value, bytes): a string, a buffer, or a number of 8 bytes */
static void check_write(struct check *c, struct expr *e)
{
	struct expr *value = e->args[1] = value_behind(e->args[1]), *n = e->args[2];
	const struct type *t = &value->shape.type;
	uint64_t most;
	bool is_text;

	check_expr(c, value);
	if (c->err || check_is_open(c, value)) {
		e->shape = shape_bool();
		return;
	}
	is_text = t->kind == TYPE_STR || t->kind == TYPE_BUF;
	most = is_text ? t->size : 8;
	if (!is_text)
		check_int(c, value, "what is written");
	if (!c->err && (!n->value || n->value > most))
		check_error(c, n, "wrong-arg-type",
			    "the number of bytes must be from 1 to %llu, which the value has",
			    (unsigned long long)most);
	e->shape = shape_bool();
}

static void lower_write(struct lower *l, const struct expr *e, uint16_t out)
{
	static const struct type word = {.kind = TYPE_INT, .size = 8};
	static const struct type words = {
		.kind = TYPE_TUPLE, .elements = &word, .element_count = 1};
	const struct expr *value = e->args[1];
	const bool is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	uint16_t address = lower_word(l, e->args[0]), slot;
	struct insn *i;

	if (expr_is_int(value)) {
		uint16_t number = lower_word(l, value), first = lower_reg(l);

		/* Its low bytes come first in memory; on other machines they are put there. */
		emit_operator(l, OPERATOR_SHL, false, number,
			      lower_const(l, is_big ? 64 - 8 * e->args[2]->value : 0), first);
		slot = lower_slot(l, &words);
		emit_put(l, slot, 0, first);
	} else {
		slot = lower_memory(l, value, &value->shape.type);
	}
	i = emit_ds(l, OP_WRITE, out, slot, e->args[2]->value);
	i->a = address;
}

/* clang-format off */

/* name, arguments, group, needs, probe types, result, check, lowering, number, help, example */
const struct function unsafe_rows[] = {
	{ "signal", "x", GROUP_STATEMENT, NEED_UNSAFE, HAVE_PROCESS, NO_RESULT, check_signal, lower_signal, false,
	  "send a signal to the process (needs --unsafe)", "signal(\"STOP\");" },
	{ "signal_thread", "x", GROUP_STATEMENT, NEED_UNSAFE, HAVE_PROCESS, NO_RESULT, check_signal, lower_signal, true,
	  "send a signal to the thread (needs --unsafe)", "signal_thread(10);" },
	{ "write_user", "pxc", GROUP_FUNCTION, NEED_UNSAFE, HAVE_PROCESS, NO_RESULT, check_write, lower_write, 0,
	  "change the program's memory (needs --unsafe)", "print(write_user(arg0, 0, 4));" },
	{ .name = NULL },
};
/* clang-format on */
