/* What a clause can read of the event: probe arguments, registers, tracepoint fields, builtins, and
 * user memory. Sites of one clause may have an argument in different registers. The code then
 * switches on the case where the argument is used, not at its start, so that no argument is read in
 * vain. */
#include "engine/bpf/gen/emitter.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/bpf/kernel/registers.h"

#define FUNC_GET_FUNC_IP  173
#define FUNC_GET_FUNC_ARG 183
#define FUNC_GET_FUNC_RET 184
#define COMMON_SIZE	  8 /* bytes of the fields all tracepoints have */
#define COMMON_PID	  4 /* where one of them is */

/* R1 = what a read has left on the stack; where it failed, and not at `ok`: 0, and counted. */
static void take_read(struct emitter *g, const struct insn *in, int size, bool is_signed, int ok)
{
	struct code *c = g->code;
	int done = code_label(c);

	gen_fault(g, in, FAULT_READ);
	code_const(c, R1, 0);
	code_jump(c, done);
	code_bind(c, ok);
	code_load(c, size, R1, FRAME, STACK_A);
	if (is_signed)
		code_extend(g->code, R1, size, true);
	code_bind(c, done);
}

/* Read `size` bytes of user memory at TMP to STACK_A and R1, extended. The second try of sleepable
 * programs brings in a page that is not resident; the first is cheaper and nearly always enough.
 * Unreadable: 0, and counted. */
static void read_user(struct emitter *g, const struct insn *in, int size, bool is_signed)
{
	struct code *c = g->code;
	int ok = code_label(c);

	for (int sleeping = 0; sleeping <= gen_may_sleep(g); sleeping++) {
		code_helper(c, sleeping ? BPF_FUNC_copy_from_user : BPF_FUNC_probe_read_user,
			    SUM(FRAME, STACK_A), IMM(size), REG(TMP));
		code_jump_imm(c, BPF_JEQ, R0, 0, ok);
	}
	take_read(g, in, size, is_signed, ok);
}

static void read_kernel(struct emitter *g, const struct insn *in, int size, bool is_signed)
{
	int ok = code_label(g->code);

	code_helper(g->code, BPF_FUNC_probe_read_kernel, SUM(FRAME, STACK_A), IMM(size), REG(TMP));
	code_jump_imm(g->code, BPF_JEQ, R0, 0, ok);
	take_read(g, in, size, is_signed, ok);
}

/* Extend a constant from its low `size` bytes, as code_extend() does a register. */
static int64_t extend_constant(int64_t value, int size, bool is_signed)
{
	int shift = 64 - 8 * size;

	if (size >= 8)
		return value;
	value = (int64_t)((uint64_t)value << shift);
	return is_signed ? value >> shift : (int64_t)((uint64_t)value >> shift);
}

/* TMP = base + (index << scale) + displacement, as wide as the machine's addresses. */
static void compute_address(struct emitter *g, const struct operand *o, const struct arch *arch)
{
	struct code *c = g->code;

	code_const(c, TMP, o->value);
	if (o->base != REG_NONE) {
		code_load(c, 8, R1, CTX, saved_at(arch, o->base));
		code_alu(c, BPF_ADD, TMP, R1);
	}
	if (o->index != REG_NONE) {
		code_load(c, 8, R1, CTX, saved_at(arch, o->index));
		code_alu_imm(c, BPF_LSH, R1, o->scale_shift);
		code_alu(c, BPF_ADD, TMP, R1);
	}
	if (arch->word == 4)
		code_alu32(c, BPF_MOV, TMP, TMP);
}

/* R1 = a word that the kernel hands over. Pointers are made numbers on the way: the verifier knows
 * what they lead to, and lets programs compute only with numbers. */
static void read_context(struct emitter *g, const struct operand *o)
{
	struct code *c = g->code;

	if (g->unit->kind == UNIT_RAW) {
		code_load(c, 8, R1, CTX, (int)o->value);
		return;
	}
	code_store_imm(c, 8, FRAME, STACK_A, 0);
	if (g->unit->kind == UNIT_ITER)
		code_helper(c, BPF_FUNC_probe_read_kernel, SUM(FRAME, STACK_A), IMM(8),
			    SUM(CTX, (int32_t)o->value));
	else
		code_helper(c, FUNC_GET_FUNC_ARG, REG(CTX), IMM(o->value / 8), SUM(FRAME, STACK_A));
	code_load(c, 8, R1, FRAME, STACK_A);
}

/* R1 = the operand. */
static void read_operand(struct emitter *g, const struct insn *in, const struct operand *o,
			 const struct arch *arch)
{
	switch (o->kind) {
	case OPERAND_CONST:
		code_const(g->code, R1, extend_constant(o->value, o->size, o->is_signed));
		break;
	case OPERAND_REG:
		code_load(g->code, 8, R1, CTX, saved_at(arch, o->reg));
		if (o->reg_shift)
			code_alu_imm(g->code, BPF_RSH, R1, o->reg_shift);
		code_extend(g->code, R1, o->size, o->is_signed);
		break;
	case OPERAND_CONTEXT: read_context(g, o); break;
	case OPERAND_ADDRESS:
		compute_address(g, o, arch);
		code_alu(g->code, BPF_MOV, R1, TMP);
		break;
	default:
		compute_address(g, o, arch);
		read_user(g, in, o->size, o->is_signed && !o->is_float);
		break;
	}
}

/* The attach that represents the current clause in a case; NULL: the clause is not in it. */
static const struct attach *attach_in(const struct emitter *g, uint32_t number)
{
	const struct unit_case *c = &g->unit->cases[number];

	for (uint32_t i = 0; i < c->step_count; i++)
		if (c->steps[i].clause == g->clause_number)
			return c->steps[i].attach;
	return NULL;
}

typedef bool same_fn(const struct attach *a, const struct attach *b, int64_t imm);
typedef void read_fn(struct emitter *g, const struct insn *in, const struct attach *at);

/* What some cases of a unit read alike: the first of them, and where the code for it is. */
struct recipe {
	const struct attach *attach;
	int start;
};

/* R1 = what `read` reads, by the case: one piece of code for each recipe. */
static void read_by_case(struct emitter *g, const struct insn *in, same_fn *same, read_fn *read)
{
	uint32_t count = g->unit->case_count, known = 0, k;
	struct recipe *recipes = calloc(count, sizeof(*recipes));
	int *labels = calloc(count, sizeof(*labels)), done = code_label(g->code);

	g->code->failed |= !recipes || !labels;
	for (uint32_t i = 0; i < count && recipes && labels; i++) {
		const struct attach *at = attach_in(g, i);

		for (k = 0; at && k < known && !same(recipes[k].attach, at, in->imm);)
			k++;
		if (at && k == known)
			recipes[known++] = (struct recipe){at, code_label(g->code)};
		labels[i] = at ? recipes[k].start : -1;
	}
	if (!g->code->failed)
		gen_switch(g, labels);
	for (k = 0; k < known && !g->err; k++) {
		code_bind(g->code, recipes[k].start);
		read(g, in, recipes[k].attach);
		code_jump(g->code, done);
	}
	code_bind(g->code, done);
	gen_set(g, in->d, R1);
	free(recipes);
	free(labels);
}

static bool same_arg(const struct attach *a, const struct attach *b, int64_t arg)
{
	return a->arch == b->arch && (uint64_t)arg < a->arg_count && (uint64_t)arg < b->arg_count &&
	       operand_equal(&a->args[arg].operand, &b->args[arg].operand);
}

static void read_arg(struct emitter *g, const struct insn *in, const struct attach *at)
{
	read_operand(g, in, &at->args[in->imm].operand, at->arch);
}

void gen_arg(struct emitter *g, const struct insn *in)
{
	read_by_case(g, in, same_arg, read_arg);
}

static bool same_arch(const struct attach *a, const struct attach *b, int64_t unused)
{
	(void)unused;
	return a->arch == b->arch;
}

static void read_reg(struct emitter *g, const struct insn *in, const struct attach *at)
{
	if (at->kind == ATTACH_FEXIT) { /* the only register that it may ask for is the result's */
		code_store_imm(g->code, 8, FRAME, STACK_A, 0);
		code_helper(g->code, FUNC_GET_FUNC_RET, REG(CTX), SUM(FRAME, STACK_A));
		code_load(g->code, 8, R1, FRAME, STACK_A);
		return;
	}
	code_load(g->code, 8, R1, CTX, saved_at(at->arch, in->imm));
	if (at->arch->word == 4)
		code_alu32(g->code, BPF_MOV, R1, R1);
}

void gen_reg(struct emitter *g, const struct insn *in)
{
	read_by_case(g, in, same_arch, read_reg);
}

/* The bytes of a tracepoint. The kernel overwrites the first 8 before programs see them; of these
 * fields only the thread's number can be found another way. The verifier refuses loads that are not
 * aligned, so such fields are read through a helper. */
void gen_field(struct emitter *g, const struct insn *in)
{
	struct code *c = g->code;

	if (in->imm == COMMON_PID && in->size == 4) {
		code_call(c, BPF_FUNC_get_current_pid_tgid);
		code_mov(c, R1, R0);
	} else if (in->imm < COMMON_SIZE) {
		gen_fail(g, -ENOTSUP, "hidden-field",
			 "the kernel hides the common fields of a tracepoint, except common_pid");
		return;
	} else if (in->imm % in->size == 0) {
		code_load(c, in->size, R1, CTX, (int)in->imm);
	} else {
		code_helper(c, BPF_FUNC_probe_read_kernel, SUM(FRAME, STACK_A), IMM(in->size),
			    SUM(CTX, (int32_t)in->imm));
		code_load(c, in->size, R1, FRAME, STACK_A);
	}
	code_extend(g->code, R1, in->size, in->is_signed);
	gen_set(g, in->d, R1);
}

/* A name index: the same at every site, or in the cookie. */
static void read_name(struct emitter *g, bool func)
{
	const struct unit *u = g->unit;

	if (u->site_count == 1) {
		code_const(g->code, R0, func ? u->sites->attach->func : u->sites->attach->name);
		return;
	}
	code_load(g->code, 8, R0, FRAME, STACK_COOKIE);
	code_alu_imm(g->code, BPF_RSH, R0,
		     func ? COOKIE_CASE_BITS + COOKIE_NAME_BITS : COOKIE_CASE_BITS);
	code_alu_imm(g->code, BPF_AND, R0, (1 << COOKIE_NAME_BITS) - 1);
}

static void read_ip(struct emitter *g)
{
	int at = saved_at(arch_host(), arch_host()->pc);

	if ((g->unit->kind == UNIT_SAMPLE || g->unit->kind == UNIT_UPROBE) && at >= 0) {
		/* bpf_get_func_ip() gives 0 for uprobes before Linux 6.6. */
		code_load(g->code, 8, R0, CTX, at);
	} else if (g->unit->kind == UNIT_UPROBE || g->unit->kind == UNIT_URETPROBE) {
		code_helper(g->code, FUNC_GET_FUNC_IP, REG(CTX));
	} else {
		code_const(g->code, R0, 0);
	}
}

void gen_builtin(struct emitter *g, const struct insn *in)
{
	struct code *c = g->code;

	switch (in->imm) {
	case BUILTIN_PID:
	case BUILTIN_TID: code_pid(g->code, &g->world->filter, in->imm == BUILTIN_TID); break;
	case BUILTIN_UID:
		code_call(c, BPF_FUNC_get_current_uid_gid);
		code_alu32(c, BPF_MOV, R0, R0);
		break;
	case BUILTIN_GID:
		code_call(c, BPF_FUNC_get_current_uid_gid);
		code_alu_imm(c, BPF_RSH, R0, 32);
		break;
	case BUILTIN_CPU: code_call(c, BPF_FUNC_get_smp_processor_id); break;
	case BUILTIN_NSECS: code_call(c, BPF_FUNC_ktime_get_ns); break;
	case BUILTIN_ELAPSED:
		code_call(c, BPF_FUNC_ktime_get_ns);
		code_map_value(c, R1, g->world->control_fd, CONTROL_START * 8);
		code_load(c, 8, R1, R1, 0);
		code_alu(c, BPF_SUB, R0, R1);
		break;
	case BUILTIN_BOOT: code_call(c, BPF_FUNC_ktime_get_boot_ns); break;
	case BUILTIN_TAI: code_call(c, FUNC_TAI); break;
	case BUILTIN_JIFFIES: code_call(c, BPF_FUNC_jiffies64); break;
	case BUILTIN_NUMA: code_call(c, BPF_FUNC_get_numa_node_id); break;
	case BUILTIN_CGROUP: code_call(c, BPF_FUNC_get_current_cgroup_id); break;
	case BUILTIN_RAND: code_call(c, BPF_FUNC_get_prandom_u32); break;
	case BUILTIN_TASK: code_call(c, BPF_FUNC_get_current_task); break;
	case BUILTIN_PROBE:
	case BUILTIN_FUNC: read_name(g, in->imm == BUILTIN_FUNC); break;
	case BUILTIN_IP: read_ip(g); break;
	case BUILTIN_INIT_PID:
		code_call(c, BPF_FUNC_get_current_pid_tgid);
		code_alu_imm(c, BPF_RSH, R0, 32);
		break;
	case BUILTIN_INIT_TID:
		code_call(c, BPF_FUNC_get_current_pid_tgid);
		code_alu32(c, BPF_MOV, R0, R0);
		break;
	case BUILTIN_NCPUS: code_const(c, R0, g->world->cpus); break;
	default: gen_fail(g, -EINVAL, "bad-program", "unknown builtin"); return;
	}
	gen_set(g, in->d, R0);
}

void gen_load(struct emitter *g, const struct insn *in)
{
	gen_get(g, TMP, in->a);
	(in->op == OP_KLOAD ? read_kernel : read_user)(g, in, in->size, in->is_signed);
	gen_set(g, in->d, R1);
}

/* In a context where signals cannot be sent, the kernel keeps one signal, to send it later. */
void gen_signal(struct emitter *g, const struct insn *in)
{
	struct code *c = g->code;
	int sent = code_label(c);

	gen_get(g, TMP, in->a);
	code_helper(c, in->imm ? BPF_FUNC_send_signal_thread : BPF_FUNC_send_signal, REG(TMP));
	code_jump_imm(c, BPF_JEQ, R0, 0, sent);
	gen_fault(g, in, FAULT_SIGNAL);
	code_bind(c, sent);
}

/* The value begins after the head of a text. */
void gen_write(struct emitter *g, const struct insn *in)
{
	struct code *c = g->code;
	const struct type *t = gen_slot_type(g, in->s);
	int at = t->kind == TYPE_TUPLE ? 0 : HEAD_SIZE, written = code_label(c);

	gen_get(g, TMP, in->a);
	code_const(c, TMP2, 1);
	code_helper(c, BPF_FUNC_probe_write_user, REG(TMP), MEM(gen_slot(g, in->s), at),
		    IMM(in->imm));
	code_jump_imm(c, BPF_JEQ, R0, 0, written);
	gen_fault(g, in, FAULT_WRITE);
	code_const(c, TMP2, 0);
	code_bind(c, written);
	gen_set(g, in->d, TMP2);
}
