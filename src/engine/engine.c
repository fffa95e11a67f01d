/* What an engine can run: the one place that decides it, for compilers and for sessions. */
#include "engine/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

const char *engine_unreadable(const struct engine_ops *ops, const struct arch *arch,
			      const struct operand *o)
{
	const char *why = operand_problem(o);

	return why || !ops->unreadable ? why : ops->unreadable(arch, o);
}

const char *engine_refuses(const struct engine *e, struct engine_task task)
{
	return e->ops->refuses ? e->ops->refuses(e, &task) : NULL;
}

int engine_note_kind(struct engine *e, enum watch_kind kind, struct diag *d)
{
	return engine_note(e, &(struct watch_event){.kind = kind}, d);
}

static int can_run_insn(const struct engine *e, const struct program *p, const struct insn *in,
			const struct attach *at, struct arg_use use, struct diag *d)
{
	const struct operand reg = {.kind = OPERAND_REG, .size = 8, .reg = (uint8_t)in->imm};
	const char *why = engine_refuses(e, (struct engine_task){.program = p, .insn = in});

	if (why)
		return diag_error_at(d, -ENOTSUP, "undoable", use.span,
				     "the engine '%s' cannot do this: %s", e->ops->name, why);
	if (in->op == OP_ARG && use.number >= at->arg_count)
		return diag_error_at(d, -EINVAL, "no-argument", use.span,
				     "'%.*s' has no argument %u", STR_FMT(use.site), use.number);
	if (in->op != OP_ARG && in->op != OP_REG)
		return 0;
	why = engine_unreadable(e->ops, at->arch,
				in->op == OP_ARG ? &at->args[use.number].operand : &reg);
	if (!why)
		return 0;
	if (in->op == OP_ARG)
		return program_refuse_arg(at, use, why, d);
	return diag_error_at(d, -ENOTSUP, "unreadable-register", use.span,
			     "register '%s' cannot be read at '%.*s'",
			     arch_reg_name(at->arch, reg.reg), STR_FMT(use.site));
}

static struct str site_name(const struct program *p, const struct attach *at)
{
	return at->name < p->name_count ? p->names[at->name] : STR("");
}

static int can_reach(const struct engine *e, const struct program *p, const struct clause *c,
		     const struct attach *at, struct diag *d)
{
	const char *why =
		engine_refuses(e, (struct engine_task){.program = p, .clause = c, .at = at});

	if (!why)
		return 0;
	return diag_error_at(d, -ENOTSUP, "engine", c->span,
			     "the engine '%s' cannot trace '%.*s': %s", e->ops->name,
			     STR_FMT(site_name(p, at)), why);
}

/* Can the engine run clause `c` at its attachment `at`, if it reaches that? */
static int understands_at(const struct engine *e, const struct program *p, const struct clause *c,
			  const struct attach *at, struct diag *d)
{
	struct str site = site_name(p, at);
	int err = 0;

	for (uint32_t i = 0; i < c->insn_count && !err; i++) {
		const struct insn *in = &c->code[i];
		struct span span = in->span < p->span_count ? p->spans[in->span] : c->span;

		err = can_run_insn(e, p, in, at, (struct arg_use){(unsigned)in->imm, site, span},
				   d);
	}
	return err;
}

int engine_can_run(const struct engine *e, const struct program *p, const struct clause *c,
		   struct diag *d)
{
	int err = 0;

	for (uint32_t k = 0; k < c->attach_count && !err; k++)
		err = can_reach(e, p, c, &c->attaches[k], d)
			      ?: understands_at(e, p, c, &c->attaches[k], d);
	return err;
}

int engine_understands(const struct engine *e, const struct program *p, const struct clause *c,
		       struct diag *d)
{
	int err = 0;

	for (uint32_t k = 0; k < c->attach_count && !err; k++)
		err = understands_at(e, p, c, &c->attaches[k], d);
	return err;
}

int engine_can_run_all(const struct engine *e, const struct program *p, struct diag *d)
{
	int err = 0;

	for (uint32_t i = 0; i < p->clause_count && !err; i++)
		err = engine_can_run(e, p, &p->clauses[i], d);
	return err;
}

/* "0-3,8-11" -> 12: per-CPU values are as many as the highest number says. */
unsigned engine_cpus(void)
{
	char text[256], *at = text, *end;
	unsigned long last = 0;
	int fd = open("/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[len > 0 ? len : 0] = '\0';
	while (*at) {
		unsigned long n = strtoul(at, &end, 10);

		if (end == at)
			break;
		last = n > last ? n : last;
		at = *end ? end + 1 : end;
	}
	if (len <= 0)
		return (unsigned)sysconf(_SC_NPROCESSORS_CONF);
	return (unsigned)last + 1;
}
