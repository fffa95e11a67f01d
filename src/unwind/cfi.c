/* The instructions of call frame information: what they say of the CFA, the frame pointer and the
 * return address, piece by piece of a function. Other registers do not matter for a walk. */
#include "unwind/inside.h"

#define STATES_MOST 32 /* remembered at once; compilers need 2 */

struct cfi {
	const struct unwind_cpu *cpu;
	const struct frames *frames;
	const struct fde *fde;
	struct cfi_state now;
	unsigned kept_count;
	uint64_t at;	 /* link-time address */
	bool is_changed; /* `now` is not what the last row says */
	cfi_row_fn *fn;
	void *arg;
	struct cfi_state kept[STATES_MOST]; /* not filled before they are used: it is large */
};

/* clang-format off */
enum {
	CFA_ADVANCE = 0x40, CFA_OFFSET = 0x80, CFA_RESTORE = 0xc0, CFA_SHORT = 0xc0, /* low 6 bits: operand */
	CFA_SET_LOC = 0x01, CFA_ADVANCE_1 = 0x02, CFA_ADVANCE_2 = 0x03, CFA_ADVANCE_4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05, CFA_RESTORE_EXTENDED = 0x06, CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08, CFA_REGISTER = 0x09, CFA_REMEMBER = 0x0a, CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c, CFA_DEF_REGISTER = 0x0d, CFA_DEF_OFFSET = 0x0e, CFA_DEF_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10, CFA_OFFSET_SIGNED = 0x11, CFA_DEF_CFA_SIGNED = 0x12,
	CFA_DEF_OFFSET_SIGNED = 0x13, CFA_VAL_OFFSET = 0x14, CFA_VAL_OFFSET_SIGNED = 0x15,
	CFA_VAL_EXPRESSION = 0x16, CFA_ADVANCE_8 = 0x1d, CFA_SIGN_WITH_PC = 0x2c, CFA_SIGN = 0x2d,
	CFA_ARGS_SIZE = 0x2e, CFA_OFFSET_NEGATIVE = 0x2f, CFA_COUNT = 0x30,
};

/* Operands by letters: u and s numbers, a an address, b a block, digits a number of such a size.
 * The second number is in b when the first is a register. NULL: unknown. */
static const char *const operands[CFA_COUNT] = {
	[0] = "",
	[CFA_SET_LOC] = "a",          [CFA_ADVANCE_1] = "1",       [CFA_ADVANCE_2] = "2",
	[CFA_ADVANCE_4] = "4",        [CFA_ADVANCE_8] = "8",
	[CFA_OFFSET_EXTENDED] = "uu", [CFA_RESTORE_EXTENDED] = "u", [CFA_UNDEFINED] = "u",
	[CFA_SAME_VALUE] = "u",       [CFA_REGISTER] = "uu",       [CFA_REMEMBER] = "",
	[CFA_RESTORE_STATE] = "",     [CFA_DEF_CFA] = "uu",        [CFA_DEF_REGISTER] = "u",
	[CFA_DEF_OFFSET] = "u",       [CFA_DEF_EXPRESSION] = "b",  [CFA_EXPRESSION] = "ub",
	[CFA_OFFSET_SIGNED] = "us",   [CFA_DEF_CFA_SIGNED] = "us", [CFA_DEF_OFFSET_SIGNED] = "s",
	[CFA_VAL_OFFSET] = "uu",      [CFA_VAL_OFFSET_SIGNED] = "us", [CFA_VAL_EXPRESSION] = "ub",
	[CFA_SIGN_WITH_PC] = "",      [CFA_SIGN] = "",             [CFA_ARGS_SIZE] = "u",
	[CFA_OFFSET_NEGATIVE] = "uu",
};
/* clang-format on */

struct operand_values {
	uint64_t n[2];
	struct str block;
};

static bool read_operands(const struct cfi *c, struct cursor *from, const char *letters,
			  struct operand_values *out)
{
	for (unsigned i = 0; letters[i]; i++) {
		uint64_t len;
		bool ok;

		switch (letters[i]) {
		case 'u': ok = cursor_uleb(from, &out->n[i]); break;
		case 's': ok = cursor_sleb(from, (int64_t *)&out->n[i]); break;
		case 'a':
			ok = encoded_read(c->frames, from, c->fde->cie->encoding, &out->n[i]);
			break;
		case 'b':
			ok = cursor_uleb(from, &len) && len <= cursor_left(from) &&
			     cursor_bytes(from, len, &out->block);
			break;
		default: ok = cursor_word(from, (unsigned)(letters[i] - '0'), &out->n[i]);
		}
		if (!ok)
			return false;
	}
	return true;
}

/* ---- what the state is as a rule */

static bool fits_offset(int64_t n)
{
	return n == (int32_t)n;
}

static bool set_place(struct cfi_place p, uint8_t *kind, int32_t *offset)
{
	*kind = (uint8_t)(fits_offset(p.offset) ? p.kind : UNWIND_BAD);
	*offset = p.kind == UNWIND_AT_CFA || p.kind == UNWIND_AT_SP || p.kind == UNWIND_AT_FP
			  ? (int32_t)p.offset
			  : 0;
	return *kind != UNWIND_BAD;
}

static struct unwind_rule make_rule(const struct cfi *c)
{
	const struct unwind_rule unknown = {.cfa = UNWIND_UNKNOWN};
	const struct cfi_state *s = &c->now;
	struct unwind_rule r = {.cfa = (uint8_t)s->cfa, .more = (int8_t)s->more};

	if (s->cfa == UNWIND_NONE)
		r.cfa = s->cfa_reg == c->cpu->sp   ? UNWIND_SP
			: s->cfa_reg == c->cpu->fp ? UNWIND_FP
						   : UNWIND_UNKNOWN;
	/* Of the outermost frame nothing else matters. */
	if (s->ra.kind == UNWIND_LOST && !s->is_lost)
		return (struct unwind_rule){.cfa = UNWIND_SP, .ra = UNWIND_LOST};
	if (s->is_lost || r.cfa == UNWIND_UNKNOWN || !fits_offset(s->cfa_off))
		return unknown;
	r.cfa_off = (int32_t)s->cfa_off;
	set_place(s->fp, &r.fp, &r.fp_off);
	if (!set_place(s->ra, &r.ra, &r.ra_off))
		return unknown;
	/* Assembler may keep it in a register that a walk does not follow: x15 in glibc. */
	if (r.ra == UNWIND_SAME && c->fde->cie->ra != c->cpu->ra)
		return unknown;
	if (c->fde->cie->is_signal)
		r.ra |= UNWIND_SIGNAL;
	return r;
}

/* ---- instructions */

static struct cfi_place *find_place(struct cfi *c, uint64_t reg)
{
	return reg == c->fde->cie->ra ? &c->now.ra : reg == c->cpu->fp ? &c->now.fp : NULL;
}

static void set_rule(struct cfi *c, uint64_t reg, enum unwind_place kind, int64_t offset)
{
	struct cfi_place *p = find_place(c, reg);

	if (!p)
		return;
	*p = (struct cfi_place){kind, offset};
	c->is_changed = true;
}

static void restore_place(struct cfi *c, uint64_t reg)
{
	const struct cfi_state *initial = &c->fde->cie->initial;
	struct cfi_place *p = find_place(c, reg);

	if (!p)
		return;
	*p = p == &c->now.ra ? initial->ra : initial->fp;
	c->is_changed = true;
}

static void define_cfa(struct cfi *c, uint64_t reg, int64_t offset)
{
	c->now.cfa = UNWIND_NONE;
	c->now.cfa_reg = reg;
	c->now.cfa_off = offset;
	c->now.more = 0;
	c->is_changed = true;
}

static void define_by_expression(struct cfi *c, struct str code)
{
	struct cfi_state *s = &c->now;
	struct simple e;
	uint8_t n;

	c->is_changed = true;
	s->more = 0;
	s->cfa_off = 0;
	s->cfa = UNWIND_UNKNOWN;
	if (expression_plt(code, c->cpu, &n)) {
		s->cfa = UNWIND_PLT;
		s->cfa_off = n;
	} else if (expression_simple(code, c->frames->big_endian, &e)) {
		if (!e.is_loaded) {
			define_cfa(c, e.reg, e.offset);
		} else if (e.reg == c->cpu->sp || e.reg == c->cpu->fp) {
			s->cfa = e.reg == c->cpu->sp ? UNWIND_SP_LOAD : UNWIND_FP_LOAD;
			s->cfa_off = e.offset;
			s->more = e.more;
		}
	}
}

static void set_by_expression(struct cfi *c, uint64_t reg, struct str code)
{
	struct simple e;

	if (!expression_simple(code, c->frames->big_endian, &e) || e.is_loaded || e.more)
		set_rule(c, reg, UNWIND_BAD, 0);
	else if (e.reg == c->cpu->sp)
		set_rule(c, reg, UNWIND_AT_SP, e.offset);
	else if (e.reg == c->cpu->fp)
		set_rule(c, reg, UNWIND_AT_FP, e.offset);
	else
		set_rule(c, reg, UNWIND_BAD, 0);
}

/* The piece from `at` to `to` is complete. */
static int advance_to(struct cfi *c, uint64_t to)
{
	struct unwind_rule rule;
	uint64_t at = c->at;

	if (to <= at)
		return 0;
	c->at = to;
	if (!c->is_changed || at >= c->fde->end)
		return 0;
	c->is_changed = false;
	rule = make_rule(c);
	return c->fn(c->arg, at, &rule);
}

static bool keep_state(struct cfi *c)
{
	if (c->kept_count == STATES_MOST)
		return false;
	c->kept[c->kept_count++] = c->now;
	return true;
}

static bool take_state(struct cfi *c)
{
	if (!c->kept_count)
		return false;
	c->now = c->kept[--c->kept_count];
	c->is_changed = true;
	return true;
}

/* Offsets are counted in units of the CIE. Wraps like the stack machine of an unwinder. */
static int64_t scale_offset(const struct cfi *c, uint64_t n)
{
	return (int64_t)(n * (uint64_t)c->fde->cie->data_align);
}

/* False: not understood. */
static bool change_state(struct cfi *c, uint8_t op, const struct operand_values *v)
{
	uint64_t a = v->n[0], b = v->n[1];

	switch (op) {
	case CFA_OFFSET:
	case CFA_OFFSET_EXTENDED:
	case CFA_OFFSET_SIGNED: set_rule(c, a, UNWIND_AT_CFA, scale_offset(c, b)); break;
	case CFA_OFFSET_NEGATIVE: set_rule(c, a, UNWIND_AT_CFA, -scale_offset(c, b)); break;
	case CFA_RESTORE:
	case CFA_RESTORE_EXTENDED: restore_place(c, a); break;
	case CFA_UNDEFINED: set_rule(c, a, UNWIND_LOST, 0); break;
	case CFA_SAME_VALUE: set_rule(c, a, UNWIND_SAME, 0); break;
	case CFA_REGISTER: set_rule(c, a, a == b ? UNWIND_SAME : UNWIND_BAD, 0); break;
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SIGNED:
	case CFA_VAL_EXPRESSION: set_rule(c, a, UNWIND_BAD, 0); break;
	case CFA_EXPRESSION: set_by_expression(c, a, v->block); break;
	case CFA_REMEMBER: return keep_state(c);
	case CFA_RESTORE_STATE: return take_state(c);
	case CFA_DEF_CFA: define_cfa(c, a, (int64_t)b); break;
	case CFA_DEF_CFA_SIGNED: define_cfa(c, a, scale_offset(c, b)); break;
	case CFA_DEF_REGISTER: define_cfa(c, a, c->now.cfa_off); break;
	case CFA_DEF_OFFSET: define_cfa(c, c->now.cfa_reg, (int64_t)a); break;
	case CFA_DEF_OFFSET_SIGNED: define_cfa(c, c->now.cfa_reg, scale_offset(c, a)); break;
	case CFA_DEF_EXPRESSION: define_by_expression(c, v->block); break;
	default: break; /* nothing that matters here */
	}
	return true;
}

static bool is_advance(uint8_t op)
{
	return op == CFA_ADVANCE || op == CFA_SET_LOC ||
	       (op >= CFA_ADVANCE_1 && op <= CFA_ADVANCE_4) || op == CFA_ADVANCE_8;
}

/* One with an operand in its low bits. */
static int run_short(struct cfi *c, struct cursor *from, uint8_t op)
{
	uint64_t low = op & ~CFA_SHORT, n;

	switch (op & CFA_SHORT) {
	case CFA_ADVANCE: return advance_to(c, c->at + low * c->fde->cie->code_align);
	case CFA_OFFSET:
		if (cursor_uleb(from, &n))
			set_rule(c, low, UNWIND_AT_CFA, scale_offset(c, n));
		else
			c->now.is_lost = true;
		return 0;
	}
	restore_place(c, low);
	return 0;
}

static int run_long(struct cfi *c, struct cursor *from, uint8_t op)
{
	struct operand_values v = {{0, 0}, STR("")};

	if (op >= CFA_COUNT || !operands[op] || !read_operands(c, from, operands[op], &v))
		c->now.is_lost = true;
	else if (op == CFA_SET_LOC)
		return advance_to(c, v.n[0]);
	else if (is_advance(op))
		return advance_to(c, c->at + v.n[0] * c->fde->cie->code_align);
	else
		c->now.is_lost = !change_state(c, op, &v);
	return 0;
}

static int run_code(struct cfi *c, struct str code)
{
	struct cursor from = cursor_of(code.ptr, code.len, c->frames->big_endian);
	uint64_t n;
	uint8_t op;
	int err = 0;

	while (!err && !c->now.is_lost && cursor_u8(&from, &op))
		if (op & CFA_SHORT)
			err = run_short(c, &from, op);
		else if (op == CFA_DEF_OFFSET && cursor_uleb(&from, &n)) /* each push has one */
			define_cfa(c, c->now.cfa_reg, (int64_t)n);
		else
			err = run_long(c, &from, op);
	c->is_changed |= c->now.is_lost;
	return err;
}

/* What is not set here is not read before it is. */
int cfi_run(const struct unwind_cpu *cpu, const struct frames *f, const struct fde *fde,
	    cfi_row_fn *fn, void *arg)
{
	struct cie *cie = fde->cie;
	struct cfi c;
	int err;

	c.cpu = cpu;
	c.frames = f;
	c.fde = fde;
	c.kept_count = 0;
	c.is_changed = true;
	c.fn = fn;
	c.arg = arg;
	if (!cie->has_run) {
		cie->has_run = true;
		c.now = (struct cfi_state){.cfa = UNWIND_UNKNOWN};
		c.at = UINT64_MAX; /* in a CIE nothing advances */
		run_code(&c, cie->code);
		cie->initial = c.now;
		c.kept_count = 0;
	}
	c.now = cie->initial;
	c.at = fde->start;
	c.is_changed = true; /* whatever the CIE's instructions left */
	err = run_code(&c, fde->code);
	return err ? err : advance_to(&c, fde->end);
}
