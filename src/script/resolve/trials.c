/* Test and bench probes: clauses that run only when they are asked for, each in a run of its own.
 * They are attached as BEGIN is. A test fails when it returns a number that is not 0, or exits with
 * a status, as assert() does. */
#include <errno.h>

#include "script/resolve/resolve.h"
#include "script/parse/probe_spec.h"

static bool is_trial(const struct probe_spec *p)
{
	return p->type == PROBE_TEST || p->type == PROBE_BENCH;
}

/* Is the probe among those that `trial` of the options asks for? */
static bool is_wanted(const struct script *s, const struct probe_spec *p)
{
	struct str wanted = s->options.trial, kind = str_cut(&wanted, ':');

	if (!s->options.trial.len)
		return !is_trial(p);
	return str_eq_text(kind, "*") ||
	       (is_trial(p) && str_eq_text(kind, probe_type_name(p->type)) &&
		(!wanted.len || str_eq(wanted, p->name)));
}

static bool has_twin_before(const struct script *s, const struct probe_spec *p)
{
	for (const struct tree_clause *c = s->tree.clauses; c; c = c->next)
		for (const struct probe_spec *q = c->probes; q; q = q->next)
			if (q->type == p->type && q->mark.at < p->mark.at &&
			    str_eq(q->name, p->name))
				return true;
	return false;
}

static int check_names(struct script *s, struct diag *d)
{
	for (const struct tree_clause *c = s->tree.clauses; c; c = c->next)
		for (const struct probe_spec *p = c->probes; p; p = p->next)
			if (is_trial(p) && has_twin_before(s, p))
				return diag_error_at(d, -EINVAL, "duplicate-test",
						     script_span(s, p->mark),
						     "there is a probe %s:%.*s already",
						     probe_type_name(p->type), STR_FMT(p->name));
	return 0;
}

int trials_select(struct script *s, struct diag *d)
{
	struct tree_clause **c = &s->tree.clauses;
	bool dropped = false;

	if (check_names(s, d))
		return -EINVAL;
	while (*c) {
		struct probe_spec **p = &(*c)->probes;

		while (*p) {
			bool wanted = is_wanted(s, *p);

			dropped |= !wanted;
			if (wanted)
				p = &(*p)->next;
			else
				*p = (*p)->next;
		}
		if ((*c)->probes)
			c = &(*c)->next;
		else
			*c = (*c)->next;
	}
	if (s->tree.clauses || !dropped)
		return 0;
	if (s->options.trial.len)
		return diag_error(d, -ENOENT, "no-tests", "the script has no probe '%.*s%s'",
				  STR_FMT(s->options.trial),
				  str_ends(s->options.trial, STR(":")) ? "NAME" : "");
	diag_error(d, -ENOENT, "only-tests", "the script has only test and bench probes");
	diag_hint(d, "--test and --bench run them");
	return -ENOENT;
}
