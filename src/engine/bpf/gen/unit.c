/* Sorting the attachments of a program into units, sites and cases; see unit.h.
 *
 *	clause A: site 1 (arg0 in rdi), site 2 (arg0 in rsi)
 *	clause B: site 2, site 3
 *
 *	visits by site		site	steps			case
 *
 *	1 A, 2 A, 2 B, 3 B	1	A with rdi		0
 *				2	A with rsi, B		1
 *				3	B			2
 *
 * A file can have 40,000 sites, with few cases: the work for each site is kept small. */
#include "engine/bpf/gen/unit.h"

#include <errno.h>
#include <stdlib.h>

/* An attachment while sorting. */
struct visit {
	const struct attach *attach;
	const struct attach *recipe; /* the first attach of the clause that needs the same code */
	uint32_t clause;
};

bool unit_is_uprobe(const struct unit *u)
{
	return u->kind == UNIT_UPROBE || u->kind == UNIT_URETPROBE;
}

bool unit_is_kprobe(const struct unit *u)
{
	return u->kind == UNIT_KPROBE || u->kind == UNIT_KRETPROBE;
}

bool unit_is_own(const struct unit *u)
{
	return u->kind == UNIT_RUN || u->kind == UNIT_ITER;
}

struct str unit_site_name(const struct unit *u, const struct attach *at)
{
	if (at->name < u->program->name_count)
		return u->program->names[at->name];
	return STR("?");
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* By their paths, so that runs do not differ; two files may have had the same path. */
int attach_compare_files(const struct attach *a, const struct attach *b)
{
	return str_cmp(a->path, b->path) ?: compare_u64((uintptr_t)a->file, (uintptr_t)b->file);
}

uint32_t unit_file_end(const struct unit *u, uint32_t at)
{
	uint32_t end = at + 1;

	while (end < u->site_count &&
	       !attach_compare_files(u->sites[at].attach, u->sites[end].attach))
		end++;
	return end;
}

/* What a clause reads that can differ from site to site. */
struct used {
	bool args[OPERANDS_MAX];
	unsigned end; /* after the last argument */
	bool regs;    /* registers by name */
};

static void find_used(const struct clause *c, struct used *u)
{
	*u = (struct used){.end = 0};
	for (uint32_t i = 0; i < c->insn_count; i++) {
		const struct insn *in = &c->code[i];

		u->regs |= in->op == OP_REG;
		if (in->op != OP_ARG || (uint64_t)in->imm >= OPERANDS_MAX)
			continue;
		u->args[in->imm] = true;
		u->end = in->imm >= u->end ? (unsigned)in->imm + 1 : u->end;
	}
}

/* Do two sites of a clause need the same code? */
static bool same_recipe(const struct used *u, const struct attach *a, const struct attach *b)
{
	if ((u->end || u->regs) && a->arch != b->arch)
		return false;
	for (unsigned i = 0; i < u->end; i++) {
		bool in_a = i < a->arg_count, in_b = i < b->arg_count;

		if (u->args[i] && (in_a != in_b || (in_a && !operand_equal(&a->args[i].operand,
									   &b->args[i].operand))))
			return false;
	}
	return true;
}

static enum unit_kind kind_of(enum attach_kind kind)
{
	static const enum unit_kind kinds[ATTACH_KINDS] = {
#define ATTACH(kind, name, unit, parts) UNIT_##unit,
#include "program/attach_kinds.h"
#undef ATTACH
	};

	return kinds[kind];
}

int attach_compare(const void *x, const void *y)
{
	const struct attach *a = x, *b = y;

	return attach_compare_files(a, b)			?:
	       compare_u64(a->offset, b->offset)		?:
	       compare_u64(a->sema_offset, b->sema_offset)	?:
	       compare_u64(a->name, b->name)			?:
	       compare_u64(a->func, b->func);
}

static int compare_visits(const void *x, const void *y)
{
	const struct visit *a = x, *b = y;

	return attach_compare(a->attach, b->attach) ?: compare_u64(a->clause, b->clause) ?:
	       compare_u64((uintptr_t)a->attach, (uintptr_t)b->attach);
}

/* All attachments of the unit's kind and clauses, in the order of sites, each with its recipe: the
 * first attachment of the clause that needs the same code. */
static int collect_visits(struct arena *a, const struct unit *u, struct visit **out, size_t *count)
{
	const struct program *p = u->program;
	size_t total = 0, n = 0;
	struct visit *visits;

	for (uint32_t i = u->from; i < u->to; i++)
		total += p->clauses[i].attach_count;
	visits = arena_array(a, struct visit, total + 1);
	if (!visits)
		return -ENOMEM;
	for (uint32_t i = u->from; i < u->to; i++) {
		const struct clause *c = &p->clauses[i];
		size_t first = n;
		struct used used;

		find_used(c, &used);
		for (uint32_t j = 0; j < c->attach_count; j++) {
			const struct attach *at = &c->attaches[j], *recipe = at;

			if (kind_of(at->kind) != u->kind)
				continue;
			for (size_t k = first; k < n && recipe == at; k++)
				if (visits[k].recipe == visits[k].attach &&
				    same_recipe(&used, visits[k].attach, at))
					recipe = visits[k].attach;
			visits[n++] = (struct visit){at, recipe, i};
		}
	}
	qsort(visits, n, sizeof(*visits), compare_visits);
	*out = visits;
	*count = n;
	return 0;
}

/* The number of the case for the visits of one site, which may be a new one. */
static int find_case(struct arena *a, struct unit *u, const struct visit *visits, size_t count,
		     uint32_t *number)
{
	struct unit_step *steps;

	/* The last first: neighbouring sites are often of the same case. */
	for (*number = u->case_count; *number > 0;) {
		const struct unit_case *c = &u->cases[--*number];
		size_t same = 0;

		while (same < count && same < c->step_count &&
		       c->steps[same].clause == visits[same].clause &&
		       c->steps[same].attach == visits[same].recipe)
			same++;
		if (same == count && same == c->step_count)
			return 0;
	}
	steps = arena_array(a, struct unit_step, count);
	if (!steps)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		steps[i] = (struct unit_step){visits[i].clause, visits[i].recipe};
	*number = u->case_count++;
	u->cases[*number] = (struct unit_case){steps, (uint32_t)count, *number};
	return 0;
}

/* By the clauses in their order, then by their recipes: neighbours have a beginning in common. */
static int compare_cases(const void *x, const void *y)
{
	const struct unit_case *a = x, *b = y;
	int order = 0;

	for (uint32_t i = 0; !order && i < a->step_count && i < b->step_count; i++)
		order = compare_u64(a->steps[i].clause, b->steps[i].clause)
				?: compare_u64((uintptr_t)a->steps[i].attach,
					       (uintptr_t)b->steps[i].attach);
	return order ?: compare_u64(a->step_count, b->step_count);
}

/* Fill a unit whose kind, program and clauses are given. Its cases are numbered so that those that
 * take the same way are neighbours: then a switch compares ranges, not single cases. */
static int make_shared(struct arena *a, struct unit *u, struct diag *d)
{
	struct visit *visits;
	uint32_t *numbers;
	size_t count;

	if (collect_visits(a, u, &visits, &count))
		return -ENOMEM;
	u->cases = arena_array(a, struct unit_case, count + 1);
	u->sites = arena_array(a, struct unit_site, count + 1);
	if (!u->cases || !u->sites)
		return -ENOMEM;
	for (size_t at = 0, end; at < count; at = end) {
		uint32_t number;

		end = at + 1; /* visits [at, end) are one site: the same place, each clause once */
		while (end < count && visits[end].clause != visits[end - 1].clause &&
		       !attach_compare(visits[at].attach, visits[end].attach))
			end++;
		if (find_case(a, u, visits + at, end - at, &number))
			return -ENOMEM;
		u->sites[u->site_count++] =
			(struct unit_site){.attach = visits[at].attach, .cookie = number};
	}
	if (u->case_count >> COOKIE_CASE_BITS || u->program->name_count >> COOKIE_NAME_BITS)
		return diag_error(d, -E2BIG, "too-large",
				  "the script has too many different attachments: %u",
				  u->case_count);
	numbers = arena_array(a, uint32_t, u->case_count + 1);
	if (!numbers)
		return -ENOMEM;
	qsort(u->cases, u->case_count, sizeof(*u->cases), compare_cases);
	for (uint32_t i = 0; i < u->case_count; i++)
		numbers[u->cases[i].found] = i;
	for (uint32_t i = 0; i < u->site_count; i++) {
		const struct attach *at = u->sites[i].attach;

		u->sites[i].cookie = COOKIE(numbers[u->sites[i].cookie], at->name, at->func);
	}
	return 0;
}

/* What a unit of one attachment points to, or of several that are the same event. */
struct single {
	struct unit_case only;
	struct unit_site site;
};

/* One event of perf for all clauses at it: the kernel runs those of several events in any order. */
static bool is_same_sample(const struct attach *a, const struct attach *b)
{
	return a->kind == b->kind && a->name == b->name && a->period == b->period &&
	       a->counter_type == b->counter_type && a->counter == b->counter &&
	       a->mode == b->mode && a->offset == b->offset && a->length == b->length;
}

static const struct attach *find_sample(const struct clause *c, const struct attach *at)
{
	for (uint32_t i = 0; i < c->attach_count; i++)
		if (is_same_sample(&c->attaches[i], at))
			return &c->attaches[i];
	return NULL;
}

/* Is the event in the unit of an earlier attachment? */
static bool is_taken(const struct program *p, uint32_t clause, const struct attach *at)
{
	if (kind_of(at->kind) != UNIT_SAMPLE)
		return false;
	for (uint32_t i = 0; i < clause; i++)
		if (find_sample(&p->clauses[i], at))
			return true;
	return find_sample(&p->clauses[clause], at) != at;
}

/* The unit of one attachment of a clause, with the later clauses at the same event. */
static int make_single(struct arena *a, const struct program *p, uint32_t clause,
		       const struct attach *at, struct unit *out)
{
	bool is_sample = kind_of(at->kind) == UNIT_SAMPLE;
	uint32_t end = is_sample ? p->clause_count : clause + 1;
	struct unit_step *steps = arena_array(a, struct unit_step, end - clause);
	struct single *s = arena_new(a, struct single);

	if (!steps || !s)
		return -ENOMEM;
	s->site = (struct unit_site){.attach = at, .cookie = COOKIE(0, at->name, at->func)};
	*out = (struct unit){.kind = kind_of(at->kind),
			     .program = p,
			     .cases = &s->only,
			     .case_count = 1,
			     .sites = &s->site,
			     .site_count = 1,
			     .from = clause};
	steps[s->only.step_count++] = (struct unit_step){clause, at};
	for (uint32_t i = clause + 1; i < end; i++) {
		const struct attach *same = find_sample(&p->clauses[i], at);

		if (same)
			steps[s->only.step_count++] = (struct unit_step){i, same};
	}
	s->only.steps = steps;
	out->to = steps[s->only.step_count - 1].clause + 1;
	return 0;
}

int units_make(struct arena *a, const struct program *p, struct unit **out, uint32_t *count,
	       struct diag *d)
{
	uint32_t n = 0, most = 4;
	struct unit *units;
	int err;

	for (uint32_t i = 0; i < p->clause_count; i++)
		most += p->clauses[i].attach_count;
	units = arena_array(a, struct unit, most);
	if (!units)
		return -ENOMEM;
	/* ORDER: of enum unit_kind, the four kinds that share programs are first. */
	for (enum unit_kind kind = UNIT_UPROBE; kind <= UNIT_KRETPROBE; kind++) {
		units[n] = (struct unit){.kind = kind, .program = p, .to = p->clause_count};
		err = make_shared(a, &units[n], d);
		if (err)
			return err;
		n += units[n].site_count != 0;
	}
	for (uint32_t i = 0; i < p->clause_count; i++)
		for (uint32_t j = 0; j < p->clauses[i].attach_count; j++) {
			const struct attach *at = &p->clauses[i].attaches[j];

			if (kind_of(at->kind) < UNIT_TRACEPOINT || is_taken(p, i, at)) /* ORDER */
				continue;
			err = make_single(a, p, i, at, &units[n++]);
			if (err)
				return err;
		}
	*out = units;
	*count = n;
	return 0;
}

bool unit_has_clause(const struct unit *u, uint32_t clause)
{
	for (uint32_t i = 0; i < u->case_count; i++)
		for (uint32_t s = 0; s < u->cases[i].step_count; s++)
			if (u->cases[i].steps[s].clause == clause)
				return true;
	return false;
}

const struct clause *unit_only_clause(const struct unit *u)
{
	const struct clause *found = NULL;

	for (uint32_t i = u->from; i < u->to; i++) {
		if (!unit_has_clause(u, i))
			continue;
		if (found)
			return NULL;
		found = &u->program->clauses[i];
	}
	return found;
}

/* Half of the steps of a unit of one event. */
static int split_steps(struct arena *a, const struct unit *u, struct unit out[2])
{
	const struct unit_case *whole = u->cases;
	uint32_t half = whole->step_count / 2;

	for (unsigned i = 0; i < 2; i++) {
		struct unit_case *part = arena_new(a, struct unit_case);

		if (!part)
			return -ENOMEM;
		part->steps = whole->steps + (i ? half : 0);
		part->step_count = i ? whole->step_count - half : half;
		out[i] = *u;
		out[i].cases = part;
		out[i].is_rest = i;
	}
	return 0;
}

int unit_split(struct arena *a, const struct unit *u, struct unit out[2], struct diag *d)
{
	uint32_t total = 0, before = 0, middle = u->from;

	for (uint32_t i = u->from; i < u->to; i++)
		total += unit_has_clause(u, i);
	if (total < 2)
		return -ENOENT;
	if (u->kind == UNIT_SAMPLE)
		return split_steps(a, u, out);
	for (; before < total / 2; middle++)
		before += unit_has_clause(u, middle);
	out[0] = (struct unit){
		.kind = u->kind, .program = u->program, .from = u->from, .to = middle};
	out[1] = (struct unit){.kind = u->kind,
			       .program = u->program,
			       .from = middle,
			       .to = u->to,
			       .is_rest = true};
	return make_shared(a, &out[0], d) ?: make_shared(a, &out[1], d);
}

/* Does a clause read the names of the probe or its function, which the cookie has? */
static bool uses_names(const struct unit *u)
{
	for (uint32_t i = u->from; i < u->to; i++) {
		const struct clause *c = &u->program->clauses[i];

		for (uint32_t j = 0; j < c->insn_count; j++)
			if (c->code[j].op == OP_BUILTIN &&
			    (c->code[j].imm == BUILTIN_PROBE || c->code[j].imm == BUILTIN_FUNC))
				return true;
	}
	return false;
}

bool unit_needs_cookie(const struct unit *u)
{
	return u->case_count != 1 || (u->site_count != 1 && uses_names(u));
}

int units_apart(struct arena *a, const struct unit *u, struct unit **out, uint32_t *count)
{
	struct unit *units = arena_array(a, struct unit, u->site_count + 1);
	struct unit_site *sites = arena_array(a, struct unit_site, u->site_count + 1);
	bool alone = uses_names(u);
	uint32_t n = 0, used = 0;

	if (!units || !sites)
		return -ENOMEM;
	for (uint32_t i = 0; i < u->case_count; i++) {
		struct unit *one = NULL;

		for (uint32_t s = 0; s < u->site_count; s++) {
			if ((u->sites[s].cookie & COOKIE_CASE_MASK) != i)
				continue;
			if (!one || alone) {
				one = &units[n++];
				*one = *u;
				one->cases = &u->cases[i];
				one->case_count = 1;
				one->sites = &sites[used];
				one->site_count = 0;
			}
			sites[used] = u->sites[s];
			sites[used++].cookie &= ~(uint64_t)COOKIE_CASE_MASK;
			one->site_count++;
		}
	}
	*out = units;
	*count = n;
	return 0;
}
