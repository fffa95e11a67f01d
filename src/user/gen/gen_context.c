/* What a clause reads of the thread that is at the site: registers, operands, builtins, memory.
 * What a register held is where the trampoline has saved it, or still in the register. */
#include "user/gen/gen_state.h"

/* How far from the stack pointer memory is sure to be there: the red zone below it, and the frames
 * of the function and its callers above. */
#define STACK_LOW  (-RED_ZONE)
#define STACK_HIGH 4096
/* How far from the thread pointer a program's own thread-local variables may be. */
#define TLS_REACH (1 << 20)

/* ---- registers: ids as arch/CPU.c has them */

void native_thread_pointer(struct gen *g, int to)
{
	asm_thread_pointer(g->code, to, g->place->has_fsgsbase);
}

/* Was a general register saved, and is it where it was saved? */
static bool is_saved(const struct gen *g, int reg)
{
	uint32_t saved = ASM_BIT(ACC) | g->head_saves | (g->in_body ? g->body_saves : 0);

	return saved >> reg & 1;
}

/* A register that instructions do not number so: from what is known of the site and the thread. */
static void read_special(struct gen *g, uint8_t id, unsigned size, bool is_signed, int to)
{
	const struct arch *arch = arch_host();
	struct native_code *c = g->code;

	if (id == arch->pc)
		asm_const(c, to, g->place->site);
	else if (id == arch->sp)
		asm_lea(c, to, native_at(g, 0));
	else if (id == arch->tls)
		native_thread_pointer(g, to);
	else if (asm_vector(id) != ASM_NONE)
		asm_from_vector(c, size == 8 ? 8 : 4, to, asm_vector(id));
	else /* one that is always 0 */
		asm_const(c, to, 0);
	asm_extend(c, size, is_signed, to, to);
}

/* `to` = `size` bytes of what a register held, from bit `shift` on. */
static void read_reg(struct gen *g, uint8_t id, unsigned size, unsigned shift, bool is_signed,
		     int to)
{
	struct native_code *c = g->code;
	int reg = asm_general(id);

	if (reg == ASM_NONE || reg == STACK) {
		read_special(g, id, size, is_signed, to);
	} else if (is_saved(g, reg)) {
		asm_load(c, size, is_signed, to,
			 native_at(g, g->saved_at[reg] - (int32_t)(shift / 8)));
	} else if (shift) {
		asm_mov(c, to, reg);
		asm_shift_imm(c, SHIFT_RIGHT, to, (uint8_t)shift);
		asm_extend(c, size, is_signed, to, to);
	} else {
		asm_extend(c, size, is_signed, to, reg);
	}
}

void native_saved(struct gen *g, int reg, int to)
{
	if (is_saved(g, reg))
		asm_load(g->code, 8, false, to, native_at(g, g->saved_at[reg]));
	else
		asm_mov(g->code, to, reg);
}

const char *native_unreadable(const struct arch *arch, const struct operand *o)
{
	bool is_known;

	if (!arch->is_host)
		return "it is an operand of another CPU";
	is_known = o->kind != OPERAND_REG || asm_general(o->reg) != ASM_NONE ||
		   asm_vector(o->reg) != ASM_NONE || o->reg == arch->pc || o->reg == arch->sp ||
		   o->reg == arch->tls || o->reg == arch->zero;
	return is_known ? NULL
			: "only general and vector registers can be read in the process itself";
}

void native_reg(struct gen *g, const struct insn *in)
{
	read_reg(g, (uint8_t)in->imm, 8, 0, false, ACC);
	native_write(g, in->d, ACC);
}

/* ---- operands in memory */

static bool fits(int64_t value)
{
	return value >= INT32_MIN && value <= INT32_MAX;
}

bool native_is_stable(const struct gen *g, const struct operand *o, struct asm_mem *m)
{
	/* Where the program has alignment checks on, only the call may read it. */
	if (o->index != REG_NONE || o->value % o->size)
		return false;
	if (o->base == arch_host()->sp && o->value >= STACK_LOW && o->value <= STACK_HIGH) {
		*m = native_at(g, -(int32_t)o->value);
		return true;
	}
	if (o->base == arch_host()->tls && g->place->tid != NATIVE_NONE && o->value >= -TLS_REACH &&
	    o->value < TLS_REACH) {
		*m = MEM_THREAD(o->value);
		return true;
	}
	return false;
}

/* ACC = base + (index << scale) + value; ruins TMP. */
static void operand_address(struct gen *g, const struct operand *o)
{
	struct native_code *c = g->code;

	if (o->base == REG_NONE)
		asm_const(c, ACC, (uint64_t)o->value);
	else
		read_reg(g, o->base, 8, 0, false, ACC);
	if (o->base != REG_NONE && fits(o->value) && o->value) {
		asm_alu_imm(c, ALU_ADD, ACC, (int32_t)o->value);
	} else if (o->base != REG_NONE && o->value) {
		asm_const(c, TMP, (uint64_t)o->value);
		asm_alu(c, ALU_ADD, ACC, TMP);
	}
	if (o->index == REG_NONE)
		return;
	read_reg(g, o->index, 8, 0, false, TMP);
	if (o->scale_shift)
		asm_shift_imm(c, SHIFT_LEFT, TMP, o->scale_shift);
	asm_alu(c, ALU_ADD, ACC, TMP);
}

/* Memory that is not near the stack pointer, or not aligned: its address less that of the red zone
 * is in ACC, and the latter in TMP. */
static void load_far(struct gen *g, const struct cold *cold)
{
	const struct insn *in = cold->insn;
	const struct operand *o = in->op == OP_ARG ? &g->attach->args[in->imm].operand : NULL;
	unsigned size = o ? o->size : in->size;
	bool is_signed = o ? o->is_signed && !o->is_float : in->is_signed;
	struct aside a;

	asm_alu(g->code, ALU_ADD, ACC, TMP);
	asm_mov(g->code, TMP, ACC);
	a = native_aside_begin(g, 0);
	native_aside_hit(g);
	native_call(g, INSIDE_LOAD, HIT, HOST(TMP), IMM(size | (is_signed ? INSIDE_SIGNED : 0)),
		    IMM(in->span));
	native_aside_end(g, &a);
}

/* ACC = memory at the address in ACC; ruins TMP. Programs mostly pass what is on their stack. */
static void load_checked(struct gen *g, const struct insn *in, unsigned size, bool is_signed)
{
	struct native_code *c = g->code;
	int done = asm_label(c), far = native_cold(g, in, load_far, done);

	asm_lea(c, TMP, native_at(g, RED_ZONE));
	asm_alu(c, ALU_SUB, ACC, TMP);
	asm_alu_imm(c, ALU_CMP, ACC, RED_ZONE + STACK_HIGH);
	asm_jump_if(c, COND_A, far);
	if (size > 1) { /* as the address, since the stack pointer is a multiple of 8 */
		asm_test_imm(c, ACC, (int32_t)size - 1);
		asm_jump_if(c, COND_NE, far);
	}
	asm_load(c, size, is_signed, ACC, MEM_INDEX(TMP, ACC, 0, 0));
	asm_bind(c, done);
}

static void read_memory(struct gen *g, const struct insn *in, const struct operand *o,
			bool is_signed)
{
	struct asm_mem m;

	if (native_is_stable(g, o, &m)) {
		asm_load(g->code, o->size, is_signed, ACC, m);
		return;
	}
	operand_address(g, o);
	load_checked(g, in, o->size, is_signed);
}

void native_arg(struct gen *g, const struct insn *in)
{
	const struct operand *o = &g->attach->args[in->imm].operand;
	bool is_signed = o->is_signed && !o->is_float;

	switch (o->kind) {
	case OPERAND_CONST: native_write_const(g, in->d, (uint64_t)o->value); return;
	case OPERAND_REG: read_reg(g, o->reg, o->size, o->reg_shift, is_signed, ACC); break;
	case OPERAND_MEM: read_memory(g, in, o, is_signed); break;
	case OPERAND_ADDRESS: operand_address(g, o); break;
	case OPERAND_CONTEXT:
	case OPERAND_BAD: asm_const(g->code, ACC, 0); break;
	}
	native_write(g, in->d, ACC);
}

void native_load(struct gen *g, const struct insn *in)
{
	native_call(g, INSIDE_LOAD, HIT, REG(in->a),
		    IMM(in->size | (in->is_signed ? INSIDE_SIGNED : 0)), IMM(in->span));
	native_write(g, in->d, ACC);
}

/* ---- builtins */

bool native_builtin_calls(const struct gen *g, int64_t builtin)
{
	switch (builtin) {
	case BUILTIN_TID:
	case BUILTIN_INIT_TID: return g->place->tid == NATIVE_NONE;
	case BUILTIN_UID:
	case BUILTIN_GID:
	case BUILTIN_CPU:
	case BUILTIN_RAND: return true;
	default: return false;
	}
}

static void ask_pid(struct gen *g, const struct cold *cold)
{
	struct aside a = native_aside_begin(g, 0);

	native_aside_hit(g);
	native_call(g, INSIDE_PID, HIT, IMM(cold->insn->span));
	native_aside_end(g, &a);
}

/* ACC = the process's id. A child has none in its page and asks the system. */
void native_pid(struct gen *g, const struct insn *in)
{
	struct native_code *c = g->code;
	int known = asm_label(c), ask = native_cold(g, in, ask_pid, known);

	asm_const(c, ACC, g->place->process + offsetof(struct process_page, pid));
	asm_load(c, 8, false, ACC, MEM(ACC, 0));
	asm_test(c, ACC, ACC);
	asm_jump_if(c, COND_E, ask);
	asm_bind(c, known);
}

#define LINE_SHIFT 5
_Static_assert(sizeof(struct clock_line) == 1 << LINE_SHIFT, "of a line's index");

/* TMP = the current line of the clock; ruins AUX. */
static void find_clock_line(struct gen *g)
{
	struct native_code *c = g->code;

	asm_const(c, TMP, g->place->shared + g->place->layout->clock_at);
	asm_load(c, 8, false, AUX, MEM(TMP, offsetof(struct shared_clock, current)));
	asm_alu_imm(c, ALU_AND, AUX, CLOCKS - 1);
	asm_shift_imm(c, SHIFT_LEFT, AUX, LINE_SHIFT);
	asm_lea(c, TMP, MEM_INDEX(TMP, AUX, 0, offsetof(struct shared_clock, lines)));
}

/* ACC = CLOCK_MONOTONIC when the site was hit: layout.h has the formula; ruins TMP, AUX. The line
 * is found first: many CPUs do nothing else while they read the TSC. */
static void read_nsecs(struct gen *g)
{
	struct native_code *c = g->code;
	int known = asm_label(c);

	find_clock_line(g);
	asm_load(c, 8, false, ACC, native_at(g, g->tsc_at));
	asm_test(c, ACC, ACC);
	asm_jump_if(c, COND_NE, known);
	asm_clock(c);
	asm_store(c, 8, native_at(g, g->tsc_at), ACC);
	asm_bind(c, known);
	asm_alu_load(c, ALU_SUB, ACC, MEM(TMP, offsetof(struct clock_line, tsc)));
	asm_load(c, 8, false, AUX, MEM(TMP, offsetof(struct clock_line, mult)));
	asm_scale(c);
	asm_alu_load(c, ALU_ADD, ACC, MEM(TMP, offsetof(struct clock_line, ns)));
}

static void read_tid(struct gen *g, const struct insn *in)
{
	if (g->place->tid == NATIVE_NONE)
		native_call(g, INSIDE_TID, HIT, IMM(in->span));
	else
		asm_load(g->code, 4, false, ACC, MEM_THREAD(g->place->tid));
}

void native_builtin(struct gen *g, const struct insn *in)
{
	struct native_code *c = g->code;

	switch ((enum builtin)in->imm) {
	/* Where these are not the same, native.c leaves the clause to the kernel. */
	case BUILTIN_PID:
	case BUILTIN_INIT_PID: native_pid(g, in); break;
	case BUILTIN_TID:
	case BUILTIN_INIT_TID: read_tid(g, in); break;
	case BUILTIN_UID: native_call(g, INSIDE_UID, HIT, IMM(in->span)); break;
	case BUILTIN_GID: native_call(g, INSIDE_GID, HIT, IMM(in->span)); break;
	case BUILTIN_CPU: native_call(g, INSIDE_CPU, HIT, IMM(in->span)); break;
	case BUILTIN_RAND: native_call(g, INSIDE_RAND, HIT); break;
	case BUILTIN_NSECS: read_nsecs(g); break;
	case BUILTIN_ELAPSED:
		read_nsecs(g);
		asm_const(c, TMP, g->place->shared + offsetof(struct layout, start));
		asm_alu_load(c, ALU_SUB, ACC, MEM(TMP, 0));
		break;
	case BUILTIN_PROBE: native_write_const(g, in->d, g->attach->name); return;
	case BUILTIN_FUNC: native_write_const(g, in->d, g->attach->func); return;
	case BUILTIN_IP: native_write_const(g, in->d, g->place->site); return;
	case BUILTIN_NCPUS: native_write_const(g, in->d, g->place->layout->cpus); return;
	case BUILTIN_TASK:
	case BUILTIN_BOOT:
	case BUILTIN_TAI:
	case BUILTIN_JIFFIES:
	case BUILTIN_NUMA:
	case BUILTIN_CGROUP:
	case BUILTIN_COUNT_: native_fail(g, "engine", "only the kernel knows this value"); return;
	}
	native_write(g, in->d, ACC);
}
