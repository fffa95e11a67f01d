/* From clauses to programs in the kernel: frames, code, verifier. */
#include "engine/bpf/inside.h"
#include "engine/bpf/rights.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define LOG_SIZE  (1u << 20)
#define LOG_TAIL  1500u
#define SLEEPABLE (1u << 4) /* BPF_F_SLEEPABLE */

static void describe_load(const struct unit *u, struct kernel_program *k)
{
	static const struct {
		enum bpf_prog_type type;
		const char *name;
	} kinds[] = {
		[UNIT_UPROBE] = {BPF_PROG_TYPE_KPROBE, "nopal_uprobe"},
		[UNIT_URETPROBE] = {BPF_PROG_TYPE_KPROBE, "nopal_return"},
		[UNIT_TRACEPOINT] = {BPF_PROG_TYPE_TRACEPOINT, "nopal_trace"},
		[UNIT_PROFILE] = {BPF_PROG_TYPE_PERF_EVENT, "nopal_profile"},
		[UNIT_RUN] = {BPF_PROG_TYPE_SYSCALL, "nopal_run"},
	};

	k->type = kinds[u->kind].type;
	k->name = kinds[u->kind].name;
}

/* The end of the verifier's log, which has the reason. */
static int explain_load(struct kernel_program *k, int err, struct diag *d)
{
	const char *why = "";
	struct rights rights;
	size_t len;

	k->log = calloc(1, LOG_SIZE);
	k->log_size = LOG_SIZE;
	if (k->log) {
		int fd = kernel_program_load(k);

		if (fd >= 0)
			close(fd);
		len = strlen(k->log);
		why = k->log + (len > LOG_TAIL ? len - LOG_TAIL : 0);
	}
	if (err == -EPERM && !*why)
		why = rights_denied();
	diag_error(d, err, "verifier", "the kernel refuses the program (%s): %s", strerror(-err),
		   *why ? why : "no reason given");
	rights_read(&rights);
	if (rights.lockdown == LOCKDOWN_CONFIDENTIALITY)
		diag_hint(d, "the kernel is locked down (confidentiality): no BPF program may read "
			     "its memory, which scripts with texts, stacks or maps need");
	free(k->log);
	k->log = NULL;
	return err;
}

/* Code for one unit, then a fd. `sleepable` is only a wish for uprobes. */
static int load_once(struct engine *e, struct loaded *l, const struct frame *frames, bool sleepable,
		     bool explain, struct diag *d)
{
	struct kernel_program k = {0};
	struct bpf_insn *insns = NULL;
	int err;

	code_free(&l->code);
	e->world.sleepable = sleepable;
	err = gen_unit(&e->world, &l->unit, frames, &l->code, d);
	if (!err)
		err = code_finish(&l->code, &insns, &k.count);
	if (err == -E2BIG)
		diag_error(d, err, "too-large", "the script makes a program too large for eBPF");
	if (err)
		return err;
	describe_load(&l->unit, &k);
	k.flags = sleepable ? SLEEPABLE : 0;
	k.insns = insns;
	if (unit_is_uprobe(&l->unit) && e->features.known[FEATURE_UPROBE_MULTI] >= 0)
		k.attach_type = KERNEL_ATTACH_UPROBE_MULTI;
	l->fd = kernel_program_load(&k);
	if (l->fd < 0 && explain)
		explain_load(&k, l->fd, d);
	free(insns);
	return l->fd < 0 ? l->fd : 0;
}

static int load_unit(struct engine *e, struct loaded *l, const struct frame *frames, struct diag *d)
{
	bool must = l->unit.kind == UNIT_RUN;
	bool may = must || (unit_is_uprobe(&l->unit) && e->features.known[FEATURE_SLEEPABLE] >= 0);
	unsigned said = d ? d->errors : 0;
	int err = load_once(e, l, frames, may, must || !may, d);

	if (!err || must || !may || (d && d->errors != said))
		return err;
	if (feature_has(&e->features, FEATURE_SLEEPABLE)) /* then it is the code that is wrong */
		return load_once(e, l, frames, true, true, d);
	return load_once(e, l, frames, false, true, d);
}

static int too_large(const struct clause *c, struct diag *d)
{
	int err = diag_error_at(d, -E2BIG, "too-large", c->span,
				"the clause needs more memory than a probe has");

	diag_hint(d, "give its strings lengths, str(p, n), or make 'max_strlen' smaller");
	return err;
}

static bool has_loops(const struct program *p)
{
	for (uint32_t i = 0; i < p->clause_count; i++)
		for (uint32_t k = 0; k < p->clauses[i].insn_count; k++)
			if (p->clauses[i].code[k].op == OP_LOOP)
				return true;
	return false;
}

static enum loops choose_loops(struct engine *e, const struct program *p)
{
	if (has_loops(p) && feature_has(&e->features, FEATURE_MAY_GOTO))
		return LOOPS_MAY_GOTO;
	return LOOPS_WALKED;
}

int engine_plan(struct engine *e, const struct program *p, struct frame **out, uint32_t *scratch,
		struct diag *d)
{
	struct frame *frames = arena_array(&e->arena, struct frame, p->clause_count + 1);

	if (!frames)
		return -ENOMEM;
	e->world.loops = choose_loops(e, p);
	for (uint32_t i = 0; i < p->clause_count; i++) {
		int err = frame_plan(&e->arena, p, &p->clauses[i], e->world.loops, &frames[i]);

		if (err == -E2BIG)
			return too_large(&p->clauses[i], d);
		if (err)
			return err;
		if ((uint32_t)frames[i].scratch > *scratch)
			*scratch = (uint32_t)frames[i].scratch;
	}
	*out = frames;
	return 0;
}

int engine_load(struct engine *e, const struct program *p, const struct frame *frames,
		bool only_uprobes, struct diag *d)
{
	struct unit *units;
	uint32_t count;
	int err = units_make(&e->arena, p, &units, &count, d);

	for (uint32_t i = 0; i < count && !err; i++) {
		struct loaded *l;

		if (only_uprobes && !unit_is_uprobe(&units[i]))
			continue;
		l = arena_new(&e->arena, struct loaded);
		if (!l)
			return -ENOMEM;
		l->unit = units[i];
		l->fd = -1;
		*e->last = l;
		e->last = &l->next;
		err = load_unit(e, l, frames, d);
	}
	return err;
}
