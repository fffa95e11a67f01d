/* Arguments by name -> code: what is read of them, and at which width. */
#include "script/lower/named_code.h"

#include <errno.h>

#include "script/check/named.h"
#include "script/lower/emit.h"
#include "script/lower/saved_args.h"

void lower_retval(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct attachment *p = l->v->count ? l->v->attachments[0] : NULL;
	const struct arch *arch = p && p->attach.arch ? p->attach.arch : arch_host();
	struct arg_value v;

	(void)e;
	emit_di(l, OP_REG, out, arch->call_ret);
	if (p && named_result(p, &v) && v.extend_from)
		emit_dai(l, v.shape.type.is_signed ? OP_SEXT : OP_ZEXT, out, out, v.extend_from);
}

void lower_whole(struct lower *l, const struct expr *e, uint16_t out)
{
	lower_value_to(l, e->args[0], out);
}

void lower_part_note(struct lower *l, struct str text, uint16_t out)
{
	emit_di(l, OP_CONST, out, lower_intern(l, &l->s->names, text));
}

void lower_argument(struct lower *l, unsigned n, uint16_t out)
{
	if (l->saved)
		saved_args_argument(l, n, out);
	else
		emit_di(l, OP_ARG, out, n);
}

/* The smaller one of two lengths; REG_NO is none. */
static uint16_t lower_shorter(struct lower *l, uint16_t a, uint16_t b)
{
	uint16_t least, is_less;
	struct label done = {0};

	if (a == REG_NO || b == REG_NO)
		return a == REG_NO ? b : a;
	least = lower_reg(l);
	is_less = lower_reg(l);
	emit_dai(l, OP_MOV, least, a, 0);
	emit_operator(l, OPERATOR_LT, false, a, b, is_less);
	lower_goto(l, OP_JUMP_IF, is_less, &done);
	emit_dai(l, OP_MOV, least, b, 0);
	lower_bind(l, &done);
	return least;
}

void lower_named_text(struct lower *l, const struct expr *e, uint16_t length, uint32_t most,
		      uint16_t out)
{
	uint16_t address = lower_reg(l), count = REG_NO;
	struct arg_value v = {.counted_by = -1};
	unsigned n = 0;

	named_find_text(l->v, e, &n, &v);
	lower_argument(l, n, address);
	if (v.counted_by >= 0) {
		count = lower_reg(l);
		lower_argument(l, (unsigned)v.counted_by, count);
	}
	emit_read(l, OP_STR, out, address, lower_shorter(l, count, length), most);
}

/* What the file says of a member may be wrong: then there is no such word. */
void lower_by_value(struct lower *l, const struct expr *e, unsigned word, uint16_t out)
{
	const struct attachment *p = l->v->attachments[0];
	const struct argument *arg;
	unsigned n = 0;

	named_find(p, e->text, &n);
	arg = &p->attach.args[n];
	if (e->passed == PASSED_IN_WORDS) {
		n = arg->first_word;
		n += word < (named_layout(p, arg->type).size + 7) / 8 ? word : 0;
	}
	lower_argument(l, n, out);
}

void lower_named(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct attachment *p = l->v->attachments[0];
	struct arg_value v;
	unsigned n = 0;
	uint16_t raw;

	named_find(p, e->text, &n);
	v = named_value_for(p, e, n);
	if (e->shape.type.kind == TYPE_STR) {
		lower_named_text(l, e, REG_NO, l->s->facts.max_strlen, out);
	} else if (v.shape.type.kind != TYPE_NONE) {
		raw = v.extend_from ? lower_reg(l) : out;
		lower_argument(l, n, raw);
		if (v.extend_from)
			emit_dai(l, v.shape.type.is_signed ? OP_SEXT : OP_ZEXT, out, raw,
				 v.extend_from);
	} else if (v.is_unreadable) {
		lower_part_note(l, STR("(unreadable)"), out);
	} else {
		lower_part_note(
			l, arena_printf(&l->s->arena, "(%llu bytes)", (unsigned long long)v.size),
			out);
	}
}
