/* Code that copies, clears and bounds values in registers and spill slots; see spill.h. */
#include "engine/bpf/kernel/spill.h"

#define COPY_INLINE 128u /* bytes up to which copies are loads and stores */

void code_extend(struct code *c, int reg, int64_t bytes, bool is_signed)
{
	int shift = 64 - 8 * (int)bytes;

	if (bytes >= 8 || bytes < 1)
		return;
	code_alu_imm(c, BPF_LSH, reg, shift);
	code_alu_imm(c, is_signed ? BPF_ARSH : BPF_RSH, reg, shift);
}

void code_limit(struct code *c, int reg, int64_t most)
{
	int fits = code_label(c);

	code_jump_imm(c, BPF_JLE, reg, (int32_t)most, fits);
	code_const(c, reg, most);
	code_bind(c, fits);
}

void code_copy(struct code *c, int to, int32_t to_at, int from, int32_t from_at, uint32_t len)
{
	if (len > COPY_INLINE) {
		code_helper(c, BPF_FUNC_probe_read_kernel, SUM(to, to_at), IMM(len),
			    SUM(from, from_at));
		return;
	}
	for (int32_t n = 0; n < (int32_t)len; n += 8) {
		code_load(c, 8, R0, from, from_at + n);
		code_store(c, 8, to, to_at + n, R0);
	}
}

void code_zero(struct code *c, int zeros_fd, struct spill to, int32_t more, uint32_t len)
{
	if (len > COPY_INLINE) {
		code_helper(c, BPF_FUNC_probe_read_kernel, MEM(to, more), IMM(len),
			    MAP_VALUE(zeros_fd, 0));
		return;
	}
	for (uint32_t at = 0; at < len; at += 8)
		code_store_imm(c, 8, spill_base(to), to.offset + more + (int32_t)at, 0);
}
