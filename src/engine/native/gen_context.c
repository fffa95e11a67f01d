/* What a clause reads of the thread that is at the site: registers, operands, builtins, memory.
 * What a register held is where the trampoline has saved it, or still in the register. */
#include "engine/native/gen_state.h"

/* How far from the stack pointer memory is sure to be there: the red zone below it, and the frames
 * of the function and its callers above. */
#define STACK_LOW  (-RED_ZONE)
#define STACK_HIGH 4096
/* How far from the thread pointer a program's own thread-local variables may be. */
#define TLS_REACH (1 << 20)

/* ---- registers
 *
 * Ids as arch/x86_64.c has them: 0 to 15 in the order of DWARF, rip, the segment base, then vector
 * registers. */
enum { ID_RSP = 7, ID_RIP = 16, ID_FS = 17, ID_XMM0 = 32, ID_ST0 = 64 };

static const int8_t host_regs[16] = {RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP,
				     R8,  R9,  R10, R11, R12, R13, R14, R15};

void native_thread_pointer(struct gen *g, int to)
{
	if (g->place->has_fsgsbase)
		x86_rdfsbase(g->code, to);
	else
		x86_load(g->code, 8, false, to, MEM_FS(0)); /* the ABI has it there, too */
}

/* Was a general register saved, and is it where it was saved? */
static bool is_saved(const struct gen *g, int reg)
{
	uint32_t saved = X86_BIT(RAX) | g->head_saves | (g->in_body ? g->body_saves : 0);

	return saved >> reg & 1;
}

/* `to` = `size` bytes of what a register held, from bit `shift` on. */
static void read_reg(struct gen *g, uint8_t id, unsigned size, unsigned shift, bool is_signed,
		     int to)
{
	struct native_code *c = g->code;
	int reg = id < 16 ? host_regs[id] : X86_NONE;

	if (id == ID_RIP) {
		x86_const(c, to, g->place->site);
		x86_extend(c, size, is_signed, to, to);
	} else if (id == ID_FS) {
		native_thread_pointer(g, to);
		x86_extend(c, size, is_signed, to, to);
	} else if (id >= ID_XMM0 && id < ID_ST0) {
		x86_from_xmm(c, size == 8 ? 8 : 4, to, id - ID_XMM0);
		x86_extend(c, size, is_signed, to, to);
	} else if (reg == RSP) {
		x86_lea(c, to, native_at(g, 0));
		x86_extend(c, size, is_signed, to, to);
	} else if (is_saved(g, reg)) {
		x86_load(c, size, is_signed, to,
			 native_at(g, g->saved_at[reg] - (int32_t)(shift / 8)));
	} else if (shift) {
		x86_mov(c, to, reg);
		x86_shift_imm(c, SHIFT_RIGHT, to, (uint8_t)shift);
		x86_extend(c, size, is_signed, to, to);
	} else {
		x86_extend(c, size, is_signed, to, reg);
	}
}

void native_saved(struct gen *g, int reg, int to)
{
	if (is_saved(g, reg))
		x86_load(g->code, 8, false, to, native_at(g, g->saved_at[reg]));
	else
		x86_mov(g->code, to, reg);
}

const char *native_unreadable(const struct arch *arch, const struct operand *o)
{
	bool is_vector = o->kind == OPERAND_REG && o->reg >= ID_ST0;

	if (!arch->is_host)
		return "it is an operand of another CPU";
	return is_vector ? "only general and xmm registers can be read in the process itself"
			 : NULL;
}

void native_reg(struct gen *g, const struct insn *in)
{
	read_reg(g, (uint8_t)in->imm, 8, 0, false, RAX);
	native_write(g, in->d, RAX);
}

/* ---- operands in memory */

static bool fits(int64_t value)
{
	return value >= INT32_MIN && value <= INT32_MAX;
}

bool native_is_sure(const struct gen *g, const struct operand *o, struct x86_mem *m)
{
	if (o->index != REG_NONE)
		return false;
	if (o->base == ID_RSP && o->value >= STACK_LOW && o->value <= STACK_HIGH) {
		*m = native_at(g, -(int32_t)o->value);
		return true;
	}
	if (o->base == ID_FS && g->place->tid != NATIVE_NONE && o->value >= -TLS_REACH &&
	    o->value < TLS_REACH) {
		*m = MEM_FS(o->value);
		return true;
	}
	return false;
}

/* rax = base + (index << scale) + value; ruins rcx. */
static void operand_address(struct gen *g, const struct operand *o)
{
	struct native_code *c = g->code;

	if (o->base == REG_NONE)
		x86_const(c, RAX, (uint64_t)o->value);
	else
		read_reg(g, o->base, 8, 0, false, RAX);
	if (o->base != REG_NONE && fits(o->value) && o->value) {
		x86_alu_imm(c, ALU_ADD, RAX, (int32_t)o->value);
	} else if (o->base != REG_NONE && o->value) {
		x86_const(c, RCX, (uint64_t)o->value);
		x86_alu(c, ALU_ADD, RAX, RCX);
	}
	if (o->index == REG_NONE)
		return;
	read_reg(g, o->index, 8, 0, false, RCX);
	if (o->scale_shift)
		x86_shift_imm(c, SHIFT_LEFT, RCX, o->scale_shift);
	x86_alu(c, ALU_ADD, RAX, RCX);
}

/* Memory that is not near the stack pointer: its address less that of the red zone is in rax, and
 * the latter in rcx. */
static void load_far(struct gen *g, const struct cold *cold)
{
	const struct insn *in = cold->insn;
	const struct operand *o = in->op == OP_ARG ? &g->attach->args[in->imm].operand : NULL;
	unsigned size = o ? o->size : in->size;
	bool is_signed = o ? o->is_signed && !o->is_float : in->is_signed;
	struct aside a;

	x86_alu(g->code, ALU_ADD, RAX, RCX);
	x86_mov(g->code, RCX, RAX);
	a = native_aside_begin(g, 0);
	native_aside_hit(g);
	native_call(g, INSIDE_LOAD, HIT, HOST(RCX), IMM(size | (is_signed ? INSIDE_SIGNED : 0)),
		    IMM(in->span));
	native_aside_end(g, &a);
}

/* rax = memory at the address in rax; ruins rcx. Programs mostly pass what is on their stack. */
static void load_checked(struct gen *g, const struct insn *in, unsigned size, bool is_signed)
{
	struct native_code *c = g->code;
	int done = x86_label(c), far = native_cold(g, in, load_far, done);

	x86_lea(c, RCX, native_at(g, RED_ZONE));
	x86_alu(c, ALU_SUB, RAX, RCX);
	x86_alu_imm(c, ALU_CMP, RAX, RED_ZONE + STACK_HIGH);
	x86_jump_if(c, COND_A, far);
	x86_load(c, size, is_signed, RAX, MEM_INDEX(RCX, RAX, 0, 0));
	x86_bind(c, done);
}

static void read_memory(struct gen *g, const struct insn *in, const struct operand *o,
			bool is_signed)
{
	struct x86_mem m;

	if (native_is_sure(g, o, &m)) {
		x86_load(g->code, o->size, is_signed, RAX, m);
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
	case OPERAND_REG: read_reg(g, o->reg, o->size, o->reg_shift, is_signed, RAX); break;
	case OPERAND_MEM: read_memory(g, in, o, is_signed); break;
	case OPERAND_ADDRESS: operand_address(g, o); break;
	case OPERAND_BAD: x86_const(g->code, RAX, 0); break;
	}
	native_write(g, in->d, RAX);
}

void native_load(struct gen *g, const struct insn *in)
{
	native_call(g, INSIDE_LOAD, HIT, REG(in->a),
		    IMM(in->size | (in->is_signed ? INSIDE_SIGNED : 0)), IMM(in->span));
	native_write(g, in->d, RAX);
}

/* ---- builtins */

/* clang-format off */
static const char *const kernel_only[BUILTIN_COUNT_] = {
	[BUILTIN_CGROUP]  = "only the kernel knows the cgroup",
	[BUILTIN_TASK]    = "only the kernel knows its task",
	[BUILTIN_BOOT]    = "only the kernel has this clock",
	[BUILTIN_TAI]     = "only the kernel has this clock",
	[BUILTIN_JIFFIES] = "only the kernel has this clock",
	[BUILTIN_NUMA]    = "only the kernel knows the node of a CPU",
};
/* clang-format on */

const char *native_undoable(const struct program *p, const struct insn *in)
{
	(void)p;
	switch (in->op) {
	case OP_KSTACK: return "only the kernel sees its own stack";
	case OP_EACH:
	case OP_EACH_COPY: return "only the kernel and the tracer loop over maps";
	case OP_FIELD:
	case OP_FIELD_STR: return "only the kernel has tracepoints";
	case OP_KLOAD:
	case OP_KSTR: return "only the kernel reads its own memory";
	case OP_BUILTIN: return kernel_only[in->imm];
	default: return native_has_code(in->op) ? NULL : "only the kernel can do this";
	}
}

bool native_builtin_calls(const struct gen *g, int64_t builtin)
{
	switch (builtin) {
	case BUILTIN_TID: return g->place->tid == NATIVE_NONE;
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

	(void)cold;
	native_aside_hit(g);
	native_call(g, INSIDE_PID, HIT);
	native_aside_end(g, &a);
}

/* rax = the process's id. A child has none in its page and asks the system. */
void native_pid(struct gen *g)
{
	struct native_code *c = g->code;
	int known = x86_label(c), ask = native_cold(g, NULL, ask_pid, known);

	x86_const(c, RAX, g->place->process + offsetof(struct process_page, pid));
	x86_load(c, 8, false, RAX, MEM(RAX, 0));
	x86_test(c, RAX, RAX);
	x86_jump_if(c, COND_E, ask);
	x86_bind(c, known);
}

/* rax = CLOCK_MONOTONIC when the site was hit: layout.h has the formula; ruins rcx, rdx. */
static void read_nsecs(struct gen *g)
{
	struct native_code *c = g->code;
	int known = x86_label(c);

	x86_load(c, 8, false, RAX, native_at(g, g->tsc_at));
	x86_test(c, RAX, RAX);
	x86_jump_if(c, COND_NE, known);
	x86_rdtsc(c);
	x86_store(c, 8, native_at(g, g->tsc_at), RAX);
	x86_bind(c, known);
	x86_const(c, RCX, g->place->shared + g->place->layout->clock_at);
	x86_load(c, 8, false, RDX, MEM(RCX, offsetof(struct clock, current)));
	x86_alu_imm(c, ALU_AND, RDX, CLOCKS - 1);
	x86_imul_imm(c, RDX, RDX, sizeof(struct clock_line));
	x86_lea(c, RCX, MEM_INDEX(RCX, RDX, 0, offsetof(struct clock, lines)));
	x86_alu_load(c, ALU_SUB, RAX, MEM(RCX, offsetof(struct clock_line, tsc)));
	x86_load(c, 8, false, RDX, MEM(RCX, offsetof(struct clock_line, mult)));
	x86_unary(c, UNARY_IMUL, RDX);
	x86_shift_pair(c, RAX, RDX, 32);
	x86_alu_load(c, ALU_ADD, RAX, MEM(RCX, offsetof(struct clock_line, ns)));
}

static void read_tid(struct gen *g)
{
	if (g->place->tid == NATIVE_NONE)
		native_call(g, INSIDE_TID, HIT);
	else
		x86_load(g->code, 4, false, RAX, MEM_FS(g->place->tid));
}

void native_builtin(struct gen *g, const struct insn *in)
{
	struct native_code *c = g->code;

	switch ((enum builtin)in->imm) {
	case BUILTIN_PID: native_pid(g); break;
	case BUILTIN_TID: read_tid(g); break;
	case BUILTIN_UID: native_call(g, INSIDE_UID, HIT); break;
	case BUILTIN_GID: native_call(g, INSIDE_GID, HIT); break;
	case BUILTIN_CPU: native_call(g, INSIDE_CPU, NOTHING); break;
	case BUILTIN_RAND: native_call(g, INSIDE_RAND, HIT); break;
	case BUILTIN_NSECS: read_nsecs(g); break;
	case BUILTIN_ELAPSED:
		read_nsecs(g);
		x86_const(c, RCX, g->place->shared + offsetof(struct layout, start));
		x86_alu_load(c, ALU_SUB, RAX, MEM(RCX, 0));
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
	native_write(g, in->d, RAX);
}
