/* program_check: everything that engines rely on in each operand. Types, maps, formats and
 * attachments are checked by check_defs.c, the order of instructions by flow.c. */
#include "program/check.h"

#include <errno.h>
#include <stdio.h>

#include "program/record.h"

static int fail_text(struct diag *d, const char *where, const char *format, va_list args)
{
	struct buf text = BUF_INIT;

	buf_vprintf(&text, format, args);
	diag_error(d, -EINVAL, "bad-program", "%s%.*s", where, STR_FMT(buf_as_str(&text)));
	buf_free(&text);
	return -EINVAL;
}

int check_refuse(struct diag *d, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fail_text(d, "", format, args);
	va_end(args);
	return -EINVAL;
}

int check_fail(const struct checker *c, uint32_t insn, const char *format, ...)
{
	const struct op_info *info =
		insn < c->clause->insn_count ? op_info(c->clause->code[insn].op) : NULL;
	char where[96];
	va_list args;

	snprintf(where, sizeof(where), "clause %u, instruction %u (%s): ", c->clause_number, insn,
		 info ? info->name : "?");
	va_start(args, format);
	fail_text(c->d, where, format, args);
	va_end(args);
	return -EINVAL;
}

int program_refuse_arg(const struct attach *at, struct arg_use use, const char *why, struct diag *d)
{
	const struct argument *arg = &at->args[use.number];

	/* A parameter that is in no argN. */
	if (!arg->operand.raw.len && arg->name.len)
		return diag_error_at(d, -ENOTSUP, "unreadable-arg", use.span,
				     "'%.*s' of '%.*s' cannot be read: %s", STR_FMT(arg->name),
				     STR_FMT(use.site), why);
	return diag_error_at(d, -ENOTSUP, "unreadable-arg", use.span,
			     "arg%u of '%.*s' at 0x%llx, '%.*s', cannot be read: %s", use.number,
			     STR_FMT(use.site), (unsigned long long)at->offset,
			     STR_FMT(arg->operand.raw), why);
}

static bool has_reg_id(const struct arch *arch, int64_t id)
{
	for (size_t i = 0; i < arch->reg_count; i++) {
		if (arch->regs[i].id == id)
			return true;
	}
	return id == arch->tls || id == arch->pc;
}

/* OP_ARG, OP_REG and tracepoint fields must make sense at every place of the clause. */
static int check_at_places(const struct checker *c, uint32_t at, char letter)
{
	int64_t imm = c->clause->code[at].imm;

	for (uint32_t i = 0; i < c->clause->attach_count; i++) {
		const struct attach *a = &c->clause->attaches[i];

		if (letter == 'c' && a->kind != ATTACH_TRACEPOINT)
			return check_fail(c, at, "attachment %u is not a tracepoint", i);
		if (letter == 'c')
			continue;
		if (letter == 'r' && check_has_result(a, imm))
			continue;
		if (letter == 'r' && (!attach_has(a->kind, HAS_REGISTERS) || !a->arch))
			return check_fail(c, at, "attachment %u has no user registers", i);
		if (letter == 'u' && !attach_has(a->kind, HAS_ARGUMENTS))
			return check_fail(c, at, "attachment %u has no user registers", i);
		if (letter == 'r' && !has_reg_id(a->arch, imm))
			return check_fail(c, at, "attachment %u has no register %lld", i,
					  (long long)imm);
		if (letter == 'u' && (imm < 0 || imm >= a->arg_count))
			return check_fail(c, at, "attachment %u has no argument %lld", i,
					  (long long)imm);
		if (letter == 'u' && operand_problem(&a->args[imm].operand))
			return check_fail(c, at, "argument %lld of attachment %u cannot be read",
					  (long long)imm, i);
	}
	return 0;
}

static int check_reg(const struct checker *c, uint32_t at, uint16_t reg, bool optional)
{
	if (reg < c->clause->reg_count || (optional && reg == REG_NO))
		return 0;
	return check_fail(c, at, "there is no register r%u", reg);
}

static int check_slot(const struct checker *c, uint32_t at, uint16_t slot)
{
	const struct op_info *info = op_info(c->clause->code[at].op);

	if (slot >= c->clause->slot_count)
		return check_fail(c, at, "there is no slot s%u", slot);
	if (info->slots && !(info->slots & TYPE_BIT(c->clause->slots[slot].type.kind)))
		return check_fail(c, at, "slot s%u has the wrong type", slot);
	return 0;
}

static int check_word(const struct checker *c, uint32_t at, bool write)
{
	const struct insn *i = &c->clause->code[at];
	unsigned part;
	bool word;

	if (check_slot(c, at, i->s))
		return -EINVAL;
	if (i->imm < 0 || i->imm % 8 ||
	    type_part_at(&c->clause->slots[i->s].type, (uint64_t)i->imm, &part, &word))
		return check_fail(c, at, "s%u has no word at %lld", i->s, (long long)i->imm);
	if (write && !word)
		return check_fail(c, at, "%lld bytes into s%u is not a number of its own",
				  (long long)i->imm, i->s);
	return 0;
}

/* `part` lies in `whole` at imm. */
static int check_part(const struct checker *c, uint32_t at, uint16_t whole, uint16_t part)
{
	const struct insn *i = &c->clause->code[at];
	if (check_slot(c, at, whole) || check_slot(c, at, part))
		return -EINVAL;
	if (i->imm < 0 || !type_holds(&c->clause->slots[whole].type, (uint64_t)i->imm,
				      &c->clause->slots[part].type))
		return check_fail(c, at, "s%u does not fit into s%u at %lld", part, whole,
				  (long long)i->imm);
	return 0;
}

static int check_map(const struct checker *c, uint32_t at)
{
	const struct insn *i = &c->clause->code[at];
	const struct op_info *info = op_info(i->op);
	const struct map_def *m;

	if (i->map >= c->p->map_count)
		return check_fail(c, at, "there is no map m%u", i->map);
	m = &c->p->maps[i->map];
	if (info->values && !(info->values & TYPE_BIT(m->value.kind)))
		return check_fail(c, at, "map m%u has values of another kind", i->map);
	if (i->op == OP_AGGREGATE && i->a == REG_NO &&
	    type_aggregation(&m->value)->takes != TAKES_ONE)
		return check_fail(c, at, "no value to take in");
	if (m->key.kind == TYPE_NONE || i->s == SLOT_NO)
		return (m->key.kind == TYPE_NONE) == (i->s == SLOT_NO)
			       ? 0
			       : check_fail(c, at, "map m%u %s", i->map,
					    i->s == SLOT_NO ? "needs a key" : "has no key");
	if (i->s >= c->clause->slot_count ||
	    !type_same_layout(&c->clause->slots[i->s].type, &m->key))
		return check_fail(c, at, "s%u is not a key of map m%u", i->s, i->map);
	return 0;
}

/* The key goes to slot s, which check_map() has seen to be one; the value, in memory, to t. */
static int check_entries(const struct checker *c, uint32_t at)
{
	const struct insn *i = &c->clause->code[at];

	if (check_map(c, at))
		return -EINVAL;
	if (i->s == SLOT_NO)
		return check_fail(c, at, "map m%u has no key", i->map);
	if (i->op == OP_EACH && i->d != REG_NO && !type_is_readable(&c->p->maps[i->map].value))
		return check_fail(c, at, "map m%u has values of another kind", i->map);
	if (i->op == OP_EACH_COPY &&
	    !type_same_layout(&c->clause->slots[i->t].type, &c->p->maps[i->map].value))
		return check_fail(c, at, "s%u is not a value of map m%u", i->t, i->map);
	return 0;
}

static int check_literal(const struct checker *c, uint32_t at)
{
	const struct insn *i = &c->clause->code[at];

	if (i->imm < 0 || i->imm >= c->p->literal_count)
		return check_fail(c, at, "there is no literal %lld", (long long)i->imm);
	if (c->p->literals[i->imm].len > c->clause->slots[i->s].type.size)
		return check_fail(c, at, "literal %lld is too long for s%u", (long long)i->imm,
				  i->s);
	return 0;
}

static int check_field(const struct checker *c, uint32_t at, unsigned n, const struct type *t)
{
	const struct field *field = &c->clause->code[at].fields[n];

	if ((field->reg == REG_NO) == (field->slot == SLOT_NO))
		return check_fail(c, at, "field %u is neither a register nor a slot", n);
	if ((field->slot == SLOT_NO) != !!(TYPE_WORDS & TYPE_BIT(t->kind)))
		return check_fail(c, at, "field %u should be a %s", n,
				  field->slot == SLOT_NO ? "slot" : "register");
	if (field->slot == SLOT_NO)
		return check_reg(c, at, field->reg, false);
	if (field->slot >= c->clause->slot_count ||
	    !type_same_layout(&c->clause->slots[field->slot].type, t))
		return check_fail(c, at, "field %u: s%u is of another type than the format says", n,
				  field->slot);
	return 0;
}

static int check_emit(const struct checker *c, uint32_t at)
{
	const struct insn *i = &c->clause->code[at];
	const struct format *f;
	int err = 0;

	if (i->imm < 0 || i->imm >= c->p->format_count || i->imm > UINT16_MAX)
		return check_fail(c, at, "there is no format %lld", (long long)i->imm);
	f = &c->p->formats[i->imm];
	if (i->field_count != f->field_count || (i->field_count && !i->fields))
		return check_fail(c, at, "%u fields, but format %lld has %u", i->field_count,
				  (long long)i->imm, f->field_count);
	for (unsigned n = 0; n < i->field_count && !err; n++)
		err = check_field(c, at, n, &f->fields[n]);
	return err;
}

static int check_imm(const struct checker *c, uint32_t at, bool fine, const char *what)
{
	if (fine)
		return 0;
	return check_fail(c, at, "%lld is not %s", (long long)c->clause->code[at].imm, what);
}

static uint64_t value_bytes(const struct type *t)
{
	return t->kind == TYPE_TUPLE ? type_memory(t) : t->size;
}

/* One operand, by its letter in the table; letters of jumps are flow.c's. */
static int check_operand(const struct checker *c, uint32_t at, char letter)
{
	const struct insn *i = &c->clause->code[at];

	switch (letter) {
	case 'd': return check_reg(c, at, i->d, false);
	case 'D': return check_reg(c, at, i->d, true);
	case 'a': return check_reg(c, at, i->a, false);
	case 'A': return check_reg(c, at, i->a, true);
	case 'b': return check_reg(c, at, i->b, false);
	case 'B': return check_reg(c, at, i->b, true);
	case 's': return check_slot(c, at, i->s);
	case 't': return check_slot(c, at, i->t);
	case 'p': return i->op == OP_COPY ? check_part(c, at, i->s, i->t) : check_word(c, at, true);
	case 'g': return check_word(c, at, false);
	case 'q': return check_part(c, at, i->t, i->s);
	case 'k': return check_map(c, at);
	case 'E': return check_entries(c, at);
	case 'w': return check_imm(c, at, check_is_width(i->imm) && i->imm != 8, "1, 2 or 4 bytes");
	case 'f': return check_imm(c, at, i->imm == 4 || i->imm == 8, "4 or 8 bytes");
	case 'x': return check_is_width(i->size) ? 0 : check_fail(c, at, "size %u", i->size);
	case 'm':
		return check_imm(c, at, i->imm >= 0 && i->imm <= c->clause->slots[i->s].type.size,
				 "bytes of the slot");
	case 'z':
		return check_imm(c, at,
				 i->imm > 0 && (uint64_t)i->imm <=
						       value_bytes(&c->clause->slots[i->s].type),
				 "bytes of the value");
	case 'n': return check_imm(c, at, i->imm > 0 && i->imm <= PROGRAM_MAX_ROUNDS, "rounds");
	case 'y': return check_imm(c, at, i->imm > 0 && i->imm <= MILLION, "millionths");
	case 'F': return check_imm(c, at, i->imm >= 0 && i->imm < FAULT_KINDS, "a fault");
	case 'o': return check_imm(c, at, i->imm >= 0 && i->imm < BUILTIN_COUNT_, "a builtin");
	case 'c':
		if (i->imm < 0 || i->imm > UINT16_MAX)
			return check_imm(c, at, false, "an offset in a tracepoint");
		return check_at_places(c, at, letter);
	case 'u':
	case 'r': return check_at_places(c, at, letter);
	case 'v': return check_literal(c, at);
	case 'e': return check_emit(c, at);
	default: return 0;
	}
}

static int check_insn(const struct checker *c, uint32_t at)
{
	const struct insn *i = &c->clause->code[at];
	const struct op_info *info = op_info(i->op);
	int err = 0;

	if (!info)
		return check_fail(c, at, "there is no operation %u", i->op);
	if (c->p->span_count && i->span >= c->p->span_count)
		return check_fail(c, at, "there is no span %u in the script", i->span);
	for (const char *letter = info->results; *letter && !err; letter++)
		err = check_operand(c, at, *letter);
	for (const char *letter = info->operands; *letter && !err; letter++)
		err = check_operand(c, at, *letter);
	if (!err && i->op == OP_APPEND && i->s == i->t)
		return check_fail(c, at, "s%u is appended to itself", i->s);
	if (err || (i->op != OP_MAP_COPY && i->op != OP_MAP_PUT))
		return err;
	/* The slot that a whole map value comes from or goes to. */
	if (i->map < c->p->map_count &&
	    type_same_layout(&c->clause->slots[i->t].type, &c->p->maps[i->map].value))
		return 0;
	return check_fail(c, at, "s%u is not a value of map m%u", i->t, i->map);
}

static int check_clause(const struct checker *c)
{
	const struct clause *clause = c->clause;
	int err = 0;

	if (clause->insn_count > PROGRAM_MAX_INSNS || clause->reg_count > REG_NO ||
	    clause->slot_count > SLOT_NO)
		return check_refuse(c->d, "clause %u is too large", c->clause_number);
	for (uint32_t i = 0; i < clause->slot_count && !err; i++)
		err = check_type(c->d, &clause->slots[i].type, "slot", i);
	for (uint32_t i = 0; i < clause->attach_count && !err; i++)
		err = check_attach(c, i);
	for (uint32_t i = 0; i < clause->insn_count && !err; i++)
		err = check_insn(c, i);
	return err ? err : check_flow(c);
}

int program_check(const struct program *p, struct diag *d)
{
	struct checker c = {.p = p, .d = d};
	int err = 0;

	for (uint32_t i = 0; i < p->map_count && !err; i++)
		err = check_map_def(p, i, d);
	for (uint32_t i = 0; i < p->format_count && !err; i++)
		err = check_format(p, i, d);
	for (; c.clause_number < p->clause_count && !err; c.clause_number++) {
		c.clause = &p->clauses[c.clause_number];
		err = check_clause(&c);
	}
	return err;
}
