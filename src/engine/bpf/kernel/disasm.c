/* eBPF as text, in the notation of the kernel's verifier: "r1 = *(u64 *)(r6 +112)". So a line of
 * --dump=bpf can be found in the verifier's log. Jumps have the number of their target, as in
 * llvm-objdump, since distances change when far jumps grow. */
#include "engine/bpf/kernel/insn.h"

static const char *const widths[] = {
	[BPF_W >> 3] = "u32", [BPF_H >> 3] = "u16", [BPF_B >> 3] = "u8", [BPF_DW >> 3] = "u64"};

/* clang-format off */
static const char *const alu_ops[16] = {
	"+=", "-=", "*=", "/=", "|=", "&=", "<<=", ">>=", "neg", "%=", "^=", "=", "s>>=", "swap"};

static const char *const atomic_ops[256] = {
	[BPF_ADD] = "add", [BPF_ADD | BPF_FETCH] = "fetch_add", [BPF_OR] = "or",
	[BPF_XCHG] = "xchg", [BPF_CMPXCHG] = "cmpxchg"};

static const char *const jump_ops[16] = {
	[BPF_JEQ >> 4] = "==", [BPF_JGT >> 4]  = ">",  [BPF_JGE >> 4]  = ">=",  [BPF_JSET >> 4] = "&",
	[BPF_JNE >> 4] = "!=", [BPF_JSGT >> 4] = "s>", [BPF_JSGE >> 4] = "s>=",
	[BPF_JLT >> 4] = "<",  [BPF_JLE >> 4]  = "<=", [BPF_JSLT >> 4] = "s<",  [BPF_JSLE >> 4] = "s<=",
};
/* clang-format on */

static const char *width_of(const struct bpf_insn *in)
{
	return widths[BPF_SIZE(in->code) >> 3];
}

static void print_source(const struct bpf_insn *in, const char *reg, struct buf *out)
{
	if (BPF_SRC(in->code) == BPF_X)
		buf_printf(out, "%s%u", reg, in->src_reg);
	else
		buf_printf(out, "%d", in->imm);
}

static void print_alu(const struct bpf_insn *in, struct buf *out)
{
	const char *reg = BPF_CLASS(in->code) == BPF_ALU ? "w" : "r";
	unsigned op = BPF_OP(in->code);

	buf_printf(out, "%s%u ", reg, in->dst_reg);
	if (op == BPF_NEG) {
		buf_printf(out, "= -%s%u", reg, in->dst_reg);
		return;
	}
	buf_printf(out, "%s ", alu_ops[op >> 4] ? alu_ops[op >> 4] : "?");
	print_source(in, reg, out);
}

static void print_wide(const struct code_line *line, struct buf *out)
{
	uint32_t low = (uint32_t)line->wide, high = (uint32_t)(line->wide >> 32);

	buf_printf(out, "r%u = ", line->insn.dst_reg);
	if (line->insn.src_reg == BPF_PSEUDO_MAP_FD)
		buf_printf(out, "map %u", low);
	else if (line->insn.src_reg == BPF_PSEUDO_MAP_VALUE)
		buf_printf(out, "value of map %u %+d", low, (int)high);
	else
		buf_printf(out, "0x%llx", (unsigned long long)line->wide);
}

static void print_jump(const struct code *c, const struct code_line *line, struct buf *out)
{
	const struct bpf_insn *in = &line->insn;
	unsigned op = BPF_OP(in->code);

	if (op == BPF_EXIT) {
		buf_text(out, "exit");
		return;
	}
	if (op == BPF_CALL) {
		if (line->label < 0)
			buf_printf(out, "call %d", in->imm);
		else
			buf_printf(out, "call function %u", c->lines[c->labels[line->label]].at);
		return;
	}
	if (op == 0xe0) {
		buf_text(out, "may_");
	} else if (op != BPF_JA) {
		buf_printf(out, "if r%u %s ", in->dst_reg,
			   jump_ops[op >> 4] ? jump_ops[op >> 4] : "?");
		print_source(in, "r", out);
		buf_char(out, ' ');
	}
	buf_printf(out, "goto %u", c->lines[c->labels[line->label]].at);
}

static void print_line(const struct code *c, const struct code_line *line, struct buf *out)
{
	const struct bpf_insn *in = &line->insn;

	switch (BPF_CLASS(in->code)) {
	case BPF_ALU:
	case BPF_ALU64: print_alu(in, out); break;
	case BPF_LDX:
		buf_printf(out, "r%u = *(%s *)(r%u %+d)", in->dst_reg, width_of(in), in->src_reg,
			   in->off);
		break;
	case BPF_ST:
		buf_printf(out, "*(%s *)(r%u %+d) = %d", width_of(in), in->dst_reg, in->off,
			   in->imm);
		break;
	case BPF_STX:
		if (BPF_MODE(in->code) == BPF_ATOMIC)
			buf_printf(out, "lock %s *(%s *)(r%u %+d), r%u", atomic_ops[in->imm & 0xff],
				   width_of(in), in->dst_reg, in->off, in->src_reg);
		else
			buf_printf(out, "*(%s *)(r%u %+d) = r%u", width_of(in), in->dst_reg,
				   in->off, in->src_reg);
		break;
	case BPF_LD: print_wide(line, out); break;
	default: print_jump(c, line, out); break;
	}
}

void code_print(const struct code *c, struct buf *out)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct code_line *line = &c->lines[i];

		if (!line->is_reached)
			continue;
		if (line->span) {
			buf_text(out, "; ");
			buf_escaped(out, c->notes[line->span - 1]);
			buf_char(out, '\n');
		}
		buf_printf(out, "%5u: ", line->at);
		print_line(c, line, out);
		buf_char(out, '\n');
	}
}
