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
	if (place >= UNWIND_LOST) {
		*out = 0; /* no frame is found by it */
		return true;
	}
	return read(arg, base + (uint64_t)(int64_t)offset, out);
}

/* Where the return address is in no memory, it is in the link register. */
static enum unwind_end find_return(const struct unwind_rule *r, const struct unwind_regs *regs,
				   uint64_t cfa, uint64_t *out, unwind_read_fn *read, void *arg)
{
	uint8_t ra = r->ra & ~UNWIND_SIGNAL;

	*out = regs->lr;
	if (ra > UNWIND_AT_FP || (ra == UNWIND_SAME && regs->lr == UNWIND_NO_LR))
		return UNWIND_NOT_RULE;
	if (!find_register(regs, cfa, ra, r->ra_off, out, read, arg))
		return UNWIND_UNREADABLE;
	return UNWIND_GOES_ON;
}

/* The kernel stores it before the stack pointer and pc of what a signal interrupted. */
static void find_link(const struct unwind_rule *r, const struct unwind_regs *regs, uint64_t *out,
		      unwind_read_fn *read, void *arg)
{
	uint64_t ra_at = regs->sp + (uint64_t)(int64_t)r->ra_off;

	if (regs->has_lr && r->ra == (UNWIND_AT_SP | UNWIND_SIGNAL) && !read(arg, ra_at - 16, out))
		*out = UNWIND_NO_LR;
}

/* Does the rule say at once that there is no caller to find? */
static enum unwind_end find_end(const struct unwind_rule *r)
{
	if ((r->ra & ~UNWIND_SIGNAL) == UNWIND_LOST)
		return UNWIND_ROOT;
	if (r->cfa == UNWIND_NONE)
		return UNWIND_NO_ROWS;
	if (r->cfa == UNWIND_REFUSED)
		return UNWIND_NO_ROOM;
	return r->cfa >= UNWIND_UNKNOWN ? UNWIND_NOT_RULE : UNWIND_GOES_ON;
}

enum unwind_end unwind_step(const struct unwind_rule *r, struct unwind_regs *regs,
			    unwind_read_fn *read, void *arg)
{
	struct unwind_regs next = {.fp = regs->fp, .lr = UNWIND_NO_LR, .has_lr = regs->has_lr};
	enum unwind_end end = find_end(r);

	if (end != UNWIND_GOES_ON)
		return end;
	if (!find_cfa(r, regs, &next.sp, read, arg))
		return UNWIND_UNREADABLE;
	end = find_return(r, regs, next.sp, &next.pc, read, arg);
	if (end != UNWIND_GOES_ON)
		return end;
	if (!find_register(regs, next.sp, r->fp, r->fp_off, &next.fp, read, arg))
		return UNWIND_UNREADABLE;
	next.is_exact = r->ra & UNWIND_SIGNAL;
	/* The stack of a signal handler may be anywhere; else callers are further up. */
	if (!next.is_exact && next.sp < regs->sp)
		return UNWIND_UNREADABLE;
	find_link(r, regs, &next.lr, read, arg);
	if (regs->has_lr) /* bits above the address may authenticate it */
		next.pc = next.pc << 16 >> 16;
	if (!next.pc)
		return UNWIND_ROOT;
	*regs = next;
	return UNWIND_GOES_ON;
}
