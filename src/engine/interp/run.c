/* Running a clause: one instruction after the other, each exactly as program.h says. */
#include "engine/interp/state.h"

#include "program/op.h"

static uint64_t compute_op(enum op op, uint64_t a, uint64_t b)
{
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	switch (op) {
	case OP_ADD: return a + b;
	case OP_SUB: return a - b;
	case OP_MUL: return a * b;
	case OP_UDIV: return b ? a / b : 1;
	case OP_SDIV: return !b ? 1 : b == UINT64_MAX ? -a : (uint64_t)(sa / sb);
	case OP_UMOD: return b ? a % b : 1;
	case OP_SMOD: return !b ? 1 : b == UINT64_MAX ? 0 : (uint64_t)(sa % sb);
	case OP_AND: return a & b;
	case OP_OR: return a | b;
	case OP_XOR: return a ^ b;
	case OP_SHL: return a << (b & 63);
	case OP_SHR: return a >> (b & 63);
	case OP_SAR: return (uint64_t)(sa >> (b & 63));
	case OP_EQ: return a == b;
	case OP_NE: return a != b;
	case OP_ULT: return a < b;
	case OP_ULE: return a <= b;
	case OP_SLT: return sa < sb;
	case OP_SLE: return sa <= sb;
	default: return 0;
	}
}

static struct str slot_text(const struct interp_run *r, uint16_t slot)
{
	const struct text_head *head = (const struct text_head *)run_slot(r, slot);

	return str_of((const char *)(head + 1), head->len);
}

static uint64_t compare_texts(const struct interp_run *r, const struct insn *i)
{
	struct str a = slot_text(r, i->s), b = slot_text(r, i->t);

	if (i->imm >= 0 && a.len > (uint64_t)i->imm)
		a.len = (size_t)i->imm;
	if (i->imm >= 0 && b.len > (uint64_t)i->imm)
		b.len = (size_t)i->imm;
	return !str_eq(a, b);
}

static void append_text(struct interp_run *r, const struct insn *i)
{
	struct text_head *to = (struct text_head *)run_slot(r, i->s);
	const struct text_head *from = (const struct text_head *)run_slot(r, i->t);
	uint32_t room = run_type(r, i->s)->size, most = run_type(r, i->t)->size;
	uint32_t keep = room > most ? room - most : 0, add = from->len;

	to->flags = (to->flags | from->flags) & TEXT_CUT;
	if (to->len > keep || add > room - keep)
		to->flags = TEXT_CUT;
	to->len = to->len < keep ? to->len : keep;
	add = add < room - keep ? add : room - keep;
	memcpy((char *)(to + 1) + to->len, from + 1, add);
	to->len += add;
	memset((char *)(to + 1) + to->len, 0, room - to->len);
}

static void push_byte(struct interp_run *r, const struct insn *i)
{
	struct text_head *to = (struct text_head *)run_slot(r, i->s);

	if (to->len < run_type(r, i->s)->size)
		((char *)(to + 1))[to->len++] = (char)r->u->regs[i->a];
	else
		to->flags = TEXT_CUT;
}

static void mark_text(struct interp_run *r, const struct insn *i)
{
	((struct text_head *)run_slot(r, i->s))->flags |=
		((const struct text_head *)run_slot(r, i->t))->flags;
}

static uint64_t byte_of(struct str text, uint64_t at)
{
	return at < text.len ? (unsigned char)text.ptr[at] : 0;
}

/* The next entry for the OP_EACH at `loop`, from the last one down: so what the body removes is not
 * missed by the rounds after it. The body, or else what comes after it, is run next. */
static void next_entry(struct interp_run *r, uint32_t loop)
{
	const struct insn *i = &r->u->clause->code[loop];
	uint64_t *left = &r->u->rounds[loop];

	r->pc = map_entry(r, i, left) ? loop : i->target - 1;
}

static void loop_again(struct interp_run *r, const struct insn *i)
{
	if (r->u->clause->code[i->target].op != OP_LOOP) {
		next_entry(r, i->target);
		return;
	}
	if (--r->u->rounds[i->target] > 0) {
		r->pc = i->target;
		return;
	}
	count_fault(r, FAULT_LOOP_LIMIT);
	r->e->stats.loop_limits++;
}

/* Operations on slots and maps. */
static void run_memory(struct interp_run *r, const struct insn *i)
{
	uint64_t *regs = r->u->regs;

	if (r->e->store && op_uses_map(i->op)) {
		store_run(r, i);
		return;
	}
	switch (i->op) {
	case OP_PUT: memcpy(run_slot(r, i->s) + i->imm, &regs[i->a], 8); break;
	case OP_GET: memcpy(&regs[i->d], run_slot(r, i->s) + i->imm, 8); break;
	case OP_ZERO: memset(run_slot(r, i->s), 0, type_memory(run_type(r, i->s))); break;
	case OP_COPY:
		memmove(run_slot(r, i->s) + i->imm, run_slot(r, i->t),
			type_memory(run_type(r, i->t)));
		break;
	case OP_PART:
		memmove(run_slot(r, i->s), run_slot(r, i->t) + i->imm,
			type_memory(run_type(r, i->s)));
		break;
	case OP_TEXT: put_text(r, i->s, r->u->p->literals[i->imm], 0); break;
	case OP_STR:
	case OP_KSTR: read_str(r, i); break;
	case OP_BUF:
	case OP_KBUF: read_buf(r, i); break;
	case OP_COMM: put_text(r, i->s, r->c->comm, 0); break;
	case OP_USTACK:
	case OP_KSTACK: read_stack(r, i); break;
	case OP_LSTACK: no_lang_stack(r, i); break;
	case OP_FIELD_STR: read_field_str(r, i); break;
	case OP_STRCMP: regs[i->d] = compare_texts(r, i); break;
	case OP_APPEND: append_text(r, i); break;
	case OP_PUSH: push_byte(r, i); break;
	case OP_MARK: mark_text(r, i); break;
	case OP_WRITE: /* no process's memory is there to be written */
		regs[i->d] = 0;
		count_fault(r, FAULT_WRITE);
		break;
	case OP_LENGTH: regs[i->d] = slot_text(r, i->s).len; break;
	case OP_BYTE: regs[i->d] = byte_of(slot_text(r, i->s), regs[i->a]); break;
	case OP_MAP_GET: regs[i->d] = map_get(r, i); break;
	case OP_MAP_COPY: map_copy(r, i); break;
	case OP_MAP_SET: map_set(r, i); break;
	case OP_MAP_PUT: map_put(r, i); break;
	case OP_MAP_ADD: map_add(r, i); break;
	case OP_MAP_DEL: map_del(r, i); break;
	case OP_MAP_HAS: regs[i->d] = map_has(r, i); break;
	case OP_PERCENTILE: regs[i->d] = map_percentile(r, i); break;
	case OP_AGGREGATE: map_aggregate(r, i); break;
	case OP_EMIT: emit_record(r, i); break;
	}
}

/* Jumps set r->pc to the instruction after which to go on. */
static void run_insn(struct interp_run *r, const struct insn *i)
{
	uint64_t *regs = r->u->regs;
	double number;

	switch (i->op) {
	case OP_CONST: regs[i->d] = (uint64_t)i->imm; break;
	case OP_MOV: regs[i->d] = regs[i->a]; break;
	case OP_NEG: regs[i->d] = -regs[i->a]; break;
	case OP_NOT: regs[i->d] = ~regs[i->a]; break;
	case OP_ZEXT: regs[i->d] = extend_bits(regs[i->a], (unsigned)i->imm, false); break;
	case OP_SEXT: regs[i->d] = extend_bits(regs[i->a], (unsigned)i->imm, true); break;
	case OP_F2I:
		number = float_of_bits(regs[i->a], (unsigned)i->imm);
		/* As cvttsd2si: truncated, INT64_MIN for what no s64 holds. */
		regs[i->d] = (uint64_t)(number >= -0x1p63 && number < 0x1p63 ? (int64_t)number
									     : INT64_MIN);
		break;
	case OP_ARG: regs[i->d] = read_arg(r, &r->at->args[i->imm].operand); break;
	case OP_REG: regs[i->d] = read_reg(r, (uint8_t)i->imm); break;
	case OP_FIELD: regs[i->d] = read_field(r, i); break;
	case OP_BUILTIN: regs[i->d] = read_builtin(r, i->imm); break;
	case OP_LOAD:
	case OP_KLOAD: regs[i->d] = read_user(r, regs[i->a], i->size, i->is_signed); break;
	case OP_PATH: no_path(r, i); break;
	case OP_FAULT: count_fault(r, (int)i->imm); break;
	case OP_SIGNAL: count_fault(r, FAULT_SIGNAL); break; /* there is no process */
	case OP_JUMP: r->pc = (uint32_t)i->imm - 1; break;
	case OP_JUMP_IF:
	case OP_JUMP_NOT:
		if (!regs[i->a] == (i->op == OP_JUMP_NOT))
			r->pc = (uint32_t)i->imm - 1;
		break;
	case OP_LOOP: r->u->rounds[r->pc] = (uint64_t)i->imm; break;
	case OP_NEXT: loop_again(r, i); break;
	case OP_EACH:
	case OP_EACH_COPY:
		r->u->rounds[r->pc] = UINT64_MAX;
		next_entry(r, r->pc);
		break;
	default:
		if (i->op < OP_ADD || i->op > OP_SLE) {
			run_memory(r, i);
			break;
		}
		if (i->op >= OP_UDIV && i->op <= OP_SMOD && !regs[i->b])
			count_fault(r, FAULT_DIVIDE);
		regs[i->d] = compute_op((enum op)i->op, regs[i->a], regs[i->b]);
	}
}

int run_clause(struct interp *e, const struct workspace *u, const struct attach *at,
	       const struct context *c)
{
	struct interp_run r = {.e = e, .u = u, .at = at, .c = c};

	for (; u->clause->code[r.pc].op != OP_RETURN && !r.err; r.pc++)
		run_insn(&r, &u->clause->code[r.pc]);
	return r.err;
}
