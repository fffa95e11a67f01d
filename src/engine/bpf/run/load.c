/* From clauses to programs in the kernel: frames, code, verifier.
 *
 *	units_make()	clauses that share sites are one unit
 *	add_unit()	no cookies in this kernel: a unit for each case
 *	  load_unit()	  sleepable, or else not
 *	    load_once()	    code, and the verifier's verdict
 *	  load_without_walk()	  user stacks by frame pointers, when the verifier refuses the walk
 *	  too large	  split the clauses into two units, and add each
 *
 * One program for many sites is the aim: it is one link, which attaches and closes at once. Only
 * clauses that the verifier cannot check as one program become several. */
#include "engine/bpf/run/bpf.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/bpf/kernel/bpf_syscall.h"
#include "engine/bpf/kernel/rights.h"
#include "engine/bpf/run/refusal.h"
#include "program/op.h"

#define SLEEPABLE (1u << 4) /* BPF_F_SLEEPABLE */
/* The kernel's work grows with the square of a program's size: two halves take half as long. But
 * each program has links of its own, of which each takes milliseconds to attach. */
#define PROGRAM_LINES 3000u

/* clang-format off */
static const struct {
	enum bpf_prog_type type;
	const char *name;
	uint32_t attach_type; /* of programs of BTF */
} program_kinds[] = {
	[UNIT_KPROBE]     = { BPF_PROG_TYPE_KPROBE,         "nopal_kprobe",  0                },
	[UNIT_KRETPROBE]  = { BPF_PROG_TYPE_KPROBE,         "nopal_kreturn", 0                },
	[UNIT_FENTRY]     = { BPF_PROG_TYPE_TRACING,        "nopal_fentry",  BPF_TRACE_FENTRY },
	[UNIT_FEXIT]      = { BPF_PROG_TYPE_TRACING,        "nopal_fexit",   BPF_TRACE_FEXIT  },
	[UNIT_ITER]       = { BPF_PROG_TYPE_TRACING,        "nopal_iter",    BPF_TRACE_ITER   },
	[UNIT_UPROBE]     = { BPF_PROG_TYPE_KPROBE,         "nopal_uprobe",  0                },
	[UNIT_URETPROBE]  = { BPF_PROG_TYPE_KPROBE,         "nopal_return",  0                },
	[UNIT_TRACEPOINT] = { BPF_PROG_TYPE_TRACEPOINT,     "nopal_trace",   0                },
	[UNIT_SAMPLE]     = { BPF_PROG_TYPE_PERF_EVENT,     "nopal_sample",  0                },
	[UNIT_RAW]        = { BPF_PROG_TYPE_RAW_TRACEPOINT, "nopal_raw",     0                },
	[UNIT_RUN]        = { BPF_PROG_TYPE_SYSCALL,        "nopal_run",     0                },
};
/* clang-format on */

/* One attempt to load a unit. */
struct attempt {
	const struct frame *frames;
	enum refusal why;
	struct buf words; /* of the verifier */
};

/* The code of a unit, finished; the caller frees insns and functions. What is too large is not even
 * offered to the kernel if it can be split. */
static int make_code(struct bpf_engine *e, struct loaded *l, struct kernel_program *k,
		     struct attempt *t, struct diag *d)
{
	int err = gen_unit(&e->world, &l->unit, t->frames, &l->code, d);

	if (!err && l->code.count > PROGRAM_LINES && !unit_only_clause(&l->unit))
		err = -E2BIG;
	err = err ?: code_finish(&l->code, (struct bpf_insn **)&k->insns, &k->count) ?:
	      code_functions(&l->code, (struct code_function **)&k->functions, &k->function_count);
	if (err == -E2BIG)
		t->why = REFUSAL_INSNS;
	if (err || !l->code.has_long_jump || feature_has(&e->features, FEATURE_LONG_JUMP))
		return err;
	t->why = REFUSAL_REACH;
	return -E2BIG;
}

/* The reason of a refusal is looked up only when no other attempt follows: that loads the program
 * once more, for the log. */
static int load_once(struct bpf_engine *e, struct loaded *l, bool sleepable, struct attempt *t,
		     struct diag *d)
{
	struct kernel_program k = {.type = program_kinds[l->unit.kind].type,
				   .name = program_kinds[l->unit.kind].name,
				   .attach_type = program_kinds[l->unit.kind].attach_type,
				   .btf_id = program_kinds[l->unit.kind].attach_type
						     ? l->unit.sites->attach->btf_id
						     : 0,
				   .flags = sleepable ? SLEEPABLE : 0};
	int err;

	code_free(&l->code);
	e->world.sleepable = sleepable;
	err = make_code(e, l, &k, t, d);
	if (!err) {
		if (unit_is_uprobe(&l->unit) && e->features.known[FEATURE_UPROBE_MULTI] >= 0)
			k.attach_type = KERNEL_ATTACH_UPROBE_MULTI;
		err = l->fd = kernel_program_load(&k);
		if (err >= 0 && sleepable && unit_is_uprobe(&l->unit))
			feature_learn(&e->features, FEATURE_SLEEPABLE, true);
		if (e->options.log)
			log_program(e->options.log, k, &l->unit, err);
		if (err < 0 && (!sleepable || l->unit.kind == UNIT_RUN ||
				feature_has(&e->features, FEATURE_SLEEPABLE)))
			t->why = refusal_find(&k, err, &t->words);
	}
	free((void *)k.insns);
	free((void *)k.functions);
	return err < 0 ? err : 0;
}

/* Programs that clauses are run by must be sleepable. Those on uprobes are if the kernel has it;
 * when it refuses, and not for a reason of its verifier's, they are loaded as others. */
static int load_unit(struct bpf_engine *e, struct loaded *l, struct attempt *t, struct diag *d)
{
	bool may = l->unit.kind == UNIT_RUN ||
		   (unit_is_uprobe(&l->unit) && e->features.known[FEATURE_SLEEPABLE] >= 0);
	unsigned reported = d ? d->errors : 0;
	int err = load_once(e, l, may, t, d);

	if (!err || !may || t->why != REFUSAL_NONE || (d && d->errors != reported))
		return err;
	return load_once(e, l, false, t, d);
}

static bool keeps_stacks(const struct unit *u)
{
	for (uint32_t i = u->from; i < u->to; i++)
		for (uint32_t k = 0; k < u->program->clauses[i].insn_count; k++)
			if (u->program->clauses[i].code[k].op == OP_USTACK)
				return true;
	return false;
}

/* The walk over a user stack is a large piece of code, which the verifier of some kernel may not
 * take, or not several times in one clause. Stacks by frame pointers are better than none. */
static bool may_leave_walk_out(const struct bpf_engine *e, const struct unit *u,
			       const struct attempt *t)
{
	return (t->why == REFUSAL_OTHER || refusal_is_of_size(t->why)) &&
	       e->world.user.words_fd >= 0 && !e->world.user.is_left_out && keeps_stacks(u);
}

static int load_without_walk(struct bpf_engine *e, struct loaded *l, struct attempt *t,
			     struct diag *d)
{
	struct attempt other = {.frames = t->frames, .words = BUF_INIT};
	int err;

	e->world.user.is_left_out = true;
	err = load_unit(e, l, &other, d);
	e->world.user.is_left_out = false;
	if (!err && !e->is_walk_warned) {
		e->is_walk_warned = true;
		diag_warn_at(d, "no-walk", l->unit.program->clauses[l->unit.from].span,
			     "this kernel's verifier refuses to walk user stacks here: they are "
			     "followed by frame pointers, and end where a function keeps none");
	}
	buf_free(&other.words);
	return err;
}

/* may_goto needs no function calls and no limit of rounds, so it comes first; but the verifier
 * takes long over a loop of jumps around a call, and a loop over a map is one. A program without
 * loops must not depend on either. */
static enum loops choose_loops(struct bpf_engine *e, const struct program *p)
{
	bool any = false, calls = false;

	for (uint32_t i = 0; i < p->clause_count; i++)
		for (uint32_t k = 0; k < p->clauses[i].insn_count; k++) {
			enum op op = p->clauses[i].code[k].op;

			any |= op == OP_LOOP;
			calls |= op_is_each(op);
		}
	if (any && calls && feature_has(&e->features, FEATURE_BPF_LOOP))
		return LOOPS_CALLED;
	if (any && feature_has(&e->features, FEATURE_MAY_GOTO))
		return LOOPS_MAY_GOTO;
	return any && feature_has(&e->features, FEATURE_BPF_LOOP) ? LOOPS_CALLED : LOOPS_WALKED;
}

/* Loops over maps need their helper. */
static int refuse_each(struct bpf_engine *e, const struct program *p, struct diag *d)
{
	for (uint32_t i = 0; i < p->clause_count; i++)
		for (uint32_t k = 0; k < p->clauses[i].insn_count; k++) {
			const struct insn *in = &p->clauses[i].code[k];

			if (!op_is_each(in->op))
				continue;
			if (feature_has(&e->features, FEATURE_FOR_EACH))
				return 0;
			return diag_error_at(d, -ENOTSUP, "no-for-each",
					     in->span < p->span_count ? p->spans[in->span]
								      : p->clauses[i].span,
					     "this kernel has no loops over maps: Linux 5.13 does");
		}
	return 0;
}

static bool has_stacks(const struct clause *c)
{
	for (uint32_t i = 0; i < c->slot_count; i++)
		if (store_stacks_size(&c->slots[i].type, false))
			return true;
	return false;
}

/* What is done with stacks are functions, which need a part of the kernel's 512 bytes. */
static struct frame_limits limits_of(const struct bpf_engine *e, const struct clause *c)
{
	return (struct frame_limits){.loops = e->world.loops,
				     .stack_end = has_stacks(c) ? STACK_CALL_END : STACK_END};
}

int bpf_plan(struct bpf_engine *e, const struct program *p, struct frame **out, uint32_t *scratch,
	     struct diag *d)
{
	struct frame *frames = arena_array(&e->arena, struct frame, p->clause_count + 1);
	int refused = engine_can_run_all(&e->engine, p, d);

	if (!frames || refused)
		return frames ? refused : -ENOMEM;
	e->world.counts_running = !feature_has(&e->features, FEATURE_UPROBE_MULTI);
	e->world.loops = choose_loops(e, p);
	if (refuse_each(e, p, d))
		return -ENOTSUP;
	for (uint32_t i = 0; i < p->clause_count; i++) {
		const struct clause *c = &p->clauses[i];
		int err = frame_plan(&e->arena, p, c, limits_of(e, c), &frames[i]);

		if (err == -E2BIG) {
			diag_error_at(d, err, "too-large", c->span,
				      "the clause exceeds the scratch memory limit");
			diag_hint(d, "give its strings a length, str(p, n), or lower 'max_strlen'");
		}
		if (err)
			return err;
		if ((uint32_t)frames[i].scratch > *scratch)
			*scratch = (uint32_t)frames[i].scratch;
	}
	*out = frames;
	return 0;
}

/* A kernel may not allow tracing of its functions: it then refuses before its verifier has looked,
 * also what this user has the right to. */
static bool is_closed(const struct unit *u, const struct attempt *t)
{
	return (u->kind == UNIT_FENTRY || u->kind == UNIT_FEXIT) && t->why == REFUSAL_RIGHTS &&
	       rights_suffice();
}

static int refuse_function(const struct unit *u, struct diag *d)
{
	struct str name = unit_site_name(u, u->sites->attach);

	diag_error(d, -ENOTSUP, "closed-kernel",
		   "cannot attach to '%.*s': this kernel does not allow tracing of its functions",
		   STR_FMT(name));
	diag_hint(d, "tracepoints need none: nopal -l 'tracepoint:*:*'");
	return -ENOTSUP;
}

/* Load a unit as one program, or as two when it is too much for one. At one site the kernel runs
 * the program first that was attached last; so the second half of the clauses is loaded, and
 * attached, before the first. */
static int add_unit(struct bpf_engine *e, const struct unit *u, const struct frame *frames,
		    struct diag *d)
{
	struct attempt t = {.frames = frames, .words = BUF_INIT};
	struct unit halves[2], *units;
	uint32_t count = 0;
	struct loaded *l;
	int err;

	/* Without cookies a program cannot know at which site it runs: so each case, or each name,
	 * has its own. */
	if ((unit_is_uprobe(u) || unit_is_kprobe(u)) && unit_needs_cookie(u) &&
	    !feature_has(&e->features, FEATURE_COOKIE)) {
		err = units_apart(&e->arena, u, &units, &count);
		for (uint32_t i = 0; i < count && !err; i++)
			err = add_unit(e, &units[i], frames, d);
		return err;
	}
	l = arena_new(&e->arena, struct loaded);
	if (!l)
		return -ENOMEM;
	l->unit = *u;
	l->fd = -1;
	err = load_unit(e, l, &t, d);
	if (err && (unit_only_clause(u) || !refusal_is_of_size(t.why)) &&
	    may_leave_walk_out(e, u, &t) && !load_without_walk(e, l, &t, d))
		err = 0;
	if (!err) {
		*e->last = l;
		e->last = &l->next;
	} else {
		code_free(&l->code);
		if (refusal_is_of_size(t.why) && !unit_only_clause(u))
			err = unit_split(&e->arena, u, halves, d) ?:
			      add_unit(e, &halves[1], frames, d) ?:
			      add_unit(e, &halves[0], frames, d);
		else if (is_closed(u, &t))
			err = refuse_function(u, d);
		else if (t.why != REFUSAL_NONE)
			refusal_report(t.why, err, buf_as_str(&t.words), &e->world, u->program,
				       unit_only_clause(u), d);
	}
	buf_free(&t.words);
	return err;
}

int bpf_load(struct bpf_engine *e, const struct program *p, const struct frame *frames,
	     bool only_uprobes, struct diag *d)
{
	struct unit *units;
	uint32_t count;
	int err = units_make(&e->arena, p, &units, &count, d);

	for (uint32_t i = 0; i < count && !err; i++)
		if (!only_uprobes || unit_is_uprobe(&units[i]))
			err = add_unit(e, &units[i], frames, d);
	return err;
}
