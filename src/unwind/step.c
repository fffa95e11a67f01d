/* One step of a walk, in plain C: what the programs in the kernel do (engine/bpf/walk/user_step.c).
 */
#include "unwind/unwind.h"

static bool find_cfa(const struct unwind_rule *r, const struct unwind_regs *regs, uint64_t *out,
		     unwind_read_fn *read, void *arg)
{
	uint64_t base = r->cfa == UNWIND_FP || r->cfa == UNWIND_FP_LOAD ? regs->fp : regs->sp;

	if (r->cfa == UNWIND_PLT) {
		*out = base + 8 + ((regs->pc & 15) >= (uint64_t)r->cfa_off ? 8 : 0);
		return true;
	}
	*out = base + (uint64_t)(int64_t)r->cfa_off;
	if (r->cfa == UNWIND_SP || r->cfa == UNWIND_FP)
		return true;
	if (!read(arg, *out, out))
		return false;
	*out += (uint64_t)(int64_t)r->more;
	return true;
}

/* *out keeps the register's old value where it is unchanged. */
static bool find_register(const struct unwind_regs *regs, uint64_t cfa, uint8_t place,
			  int32_t offset, uint64_t *out, unwind_read_fn *read, void *arg)
{
	uint64_t base = place == UNWIND_AT_SP ? regs->sp : place == UNWIND_AT_FP ? regs->fp : cfa;

	if (place == UNWIND_SAME)
		return true;
	if (place == UNWIND_LOST || place == UNWIND_BAD) {
		*out = 0; /* no frame is found by it */
		return true;
	}
	return read(arg, base + (uint64_t)(int64_t)offset, out);
}

enum unwind_end unwind_step(const struct unwind_rule *r, struct unwind_regs *regs,
			    unwind_read_fn *read, void *arg)
{
	uint8_t ra = r->ra & ~UNWIND_SIGNAL;
	struct unwind_regs next = {.pc = regs->lr, .fp = regs->fp};

	if (r->cfa == UNWIND_NONE)
		return UNWIND_NO_ROWS;
	if (r->cfa == UNWIND_REFUSED)
		return UNWIND_NO_ROOM;
	if (r->cfa >= UNWIND_UNKNOWN)
		return UNWIND_NOT_RULE;
	if (ra == UNWIND_LOST)
		return UNWIND_ROOT;
	if (ra == UNWIND_SAME && !regs->lr_is_set)
		return UNWIND_NOT_RULE;
	if (!find_cfa(r, regs, &next.sp, read, arg) ||
	    !find_register(regs, next.sp, ra, r->ra_off, &next.pc, read, arg) ||
	    !find_register(regs, next.sp, r->fp, r->fp_off, &next.fp, read, arg))
		return UNWIND_UNREADABLE;
	if (!next.pc)
		return UNWIND_ROOT;
	next.is_exact = r->ra & UNWIND_SIGNAL;
	/* aarch64: the kernel stores it before the stack pointer and pc. */
	if (next.is_exact && ra == UNWIND_AT_SP)
		next.lr_is_set = read(arg, regs->sp + (uint64_t)(int64_t)r->ra_off - 16, &next.lr);
	/* The stack of a signal handler may be anywhere; else callers are further up. */
	if (!next.is_exact && next.sp < regs->sp)
		return UNWIND_UNREADABLE;
	*regs = next;
	return UNWIND_GOES_ON;
}
