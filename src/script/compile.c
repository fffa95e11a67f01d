/* Tree + attachments -> program: groups attachments, finds types, makes the code, and collects it
 * all.
 *
 *	variants_make()	attachments of a clause that the same code can serve
 *	find_types()	all variants are checked again, until no type of a map or variable grows
 *	lower_all()	each variant becomes a clause of the program
 *
 * Types need several passes because clauses share maps: the first clause may print what only the
 * last one stores. All of this is done again for each image that is mapped later. Kernel maps
 * cannot change their sizes, so then a map that code uses keeps its types (end_types). */
#include "script/compile.h"

#include <errno.h>

#include "script/check/check.h"
#include "script/check/map.h"
#include "script/check/named.h"
#include "script/lower/saved_args.h"
#include "script/lower/map_defs.h"

#define MAX_PASSES 100

/* ---- Variants ---- */

/* 0: it is not a float, or not there. */
static unsigned float_size(const struct attach *a, unsigned n)
{
	return n < a->arg_count && a->args[n].operand.is_float ? a->args[n].operand.size : 0;
}

static bool same_args(const struct uses *u, const struct attach *a, const struct attach *b)
{
	for (unsigned n = 0; n < 128; n++)
		if (u->args[n / 64] >> (n % 64) & 1 && float_size(a, n) != float_size(b, n))
			return false;
	return true;
}

static bool same_field(const struct trace_field *a, const struct trace_field *b)
{
	return str_eq(a->name, b->name) && str_eq(a->c_type, b->c_type) && a->offset == b->offset &&
	       a->size == b->size && a->is_signed == b->is_signed && a->is_array == b->is_array &&
	       a->is_data_loc == b->is_data_loc && a->is_rel_loc == b->is_rel_loc;
}

/* The fields that the clause uses, if it uses any: else the events were not read. */
static bool same_event(const struct uses *u, const struct trace_event *a,
		       const struct trace_event *b)
{
	if (!a || !b)
		return a == b;
	if (u->needs & NEED_ALL_ARGS) {
		if (a->field_count != b->field_count)
			return false;
		for (unsigned i = 0; i < a->field_count; i++)
			if (!same_field(&a->fields[i], &b->fields[i]))
				return false;
	}
	for (size_t i = 0; i < u->field_count; i++) {
		const struct trace_field *x = event_field(a, u->fields[i]);
		const struct trace_field *y = event_field(b, u->fields[i]);

		if (x && y ? !same_field(x, y) : x != y)
			return false;
	}
	return true;
}

/* A second variant is made only for what changes a type. Where an argument is may differ within a
 * variant: the engine sees to that (engine/bpf/gen/unit.h). */
static bool same_attachment(const struct uses *u, const struct attachment *a,
			    const struct attachment *b)
{
	bool needs_arch = (u->needs & NEED_ARCH) || a->attach.kind == ATTACH_URETPROBE;

	return a->attach.kind == b->attach.kind &&
	       (!needs_arch || a->attach.arch == b->attach.arch) &&
	       same_args(u, &a->attach, &b->attach) && same_event(u, a->event, b->event) &&
	       named_same(u, a, b);
}

/* Group the clause's attachments that no program has yet. A clause without any attachment gets one
 * variant without attachments, so that its text is checked all the same. */
static int variants_make(struct script *s, struct tree_clause *clause, struct variant **out)
{
	struct variant **v;

	for (size_t i = 0; i < clause->attachments->count || !*out; i++) {
		struct attachment *p =
			i < clause->attachments->count ? clause->attachments->items[i] : NULL;

		if (p && (p->is_done || (s->only && s->only->image != p->image)))
			continue;
		for (v = out; p && *v && !same_attachment(clause->uses, (*v)->attachments[0], p);)
			v = &(*v)->next;
		if (!*v)
			*v = arena_new(&s->arena, struct variant);
		if (!*v)
			return -ENOMEM;
		(*v)->clause = clause;
		if (!p)
			break;
		if (arena_grow(&s->arena, (void **)&(*v)->attachments, (*v)->count, &(*v)->cap,
			       sizeof(*(*v)->attachments)))
			return -ENOMEM;
		(*v)->attachments[(*v)->count++] = p;
	}
	return 0;
}

/* All variants of a script, clause after clause. */
struct variants {
	struct variant **first; /* of each clause */
	size_t clause_count;
};

static int variants_open(struct script *s, struct variants *out)
{
	size_t n = 0;

	for (struct tree_clause *c = s->tree.clauses; c; c = c->next)
		out->clause_count++;
	out->first = arena_array(&s->arena, struct variant *, out->clause_count + 1);
	if (!out->first)
		return -ENOMEM;
	for (struct tree_clause *c = s->tree.clauses; c; c = c->next) {
		int err = variants_make(s, c, &out->first[n++]);

		if (err)
			return err;
	}
	return 0;
}

/* All variants of one clause. An error in one of them is reported once. */
static int check_clause(struct check *c, struct variant *first)
{
	int err = 0;

	for (struct variant *v = first; v && !(err && c->d); v = v->next) {
		int one = check_variant(c, v);

		err = err ? err : one;
	}
	return err;
}

/* One pass through all clauses. The arguments of a clause without attachments are unknown, so those
 * with attachments go first; once there is a program, its errors were reported, or belong to an
 * image. */
static int check_all(struct check *c, const struct variants *all)
{
	struct diag *d = c->d;
	int first = 0;

	c->pass++;
	c->changed = false;
	for (int without = 0; without < 2; without++)
		for (size_t i = 0; i < all->clause_count; i++) {
			int err;

			if ((all->first[i]->count == 0) != without)
				continue;
			c->d = without && c->s->has_program ? NULL : d;
			err = check_clause(c, all->first[i]);
			if (!without || !c->s->has_program || err == -ENOMEM)
				first = first ? first : err;
		}
	c->d = d;
	return first;
}

/* Quiet passes until no type grows, then one that speaks: a pass that does not know all types yet
 * would report errors that are none, such as a map that is assigned only further down. Types only
 * grow (a string becomes longer, an aggregate signed), so the passes end. */
static int find_types(struct script *s, const struct variants *all, struct diag *d)
{
	struct check c = {.s = s};
	int err;

	do
		err = check_all(&c, all);
	while ((c.changed || maps_default(s)) && c.pass < MAX_PASSES);
	if (err == -ENOMEM)
		return err;
	c.d = d;
	err = check_all(&c, all);
	if (!err && !s->has_program)
		warnings_find(s, all->first, d);
	if (!err && c.changed)
		return diag_error(d, -EINVAL, "too-big", "cannot infer the types of the script");
	return err;
}

/* The tree carries the types of the last variant checked, so each is checked again before its code
 * is made. */
static int lower_one(struct script *s, struct variant *v, struct saved_args *saved,
		     struct clause *out, struct diag *d)
{
	/* A pass number that no pass had: variables must be assigned again before they are read. */
	struct check check = {.s = s, .pass = MAX_PASSES + 2};
	struct lower lower = {.s = s, .d = d, .arena = &s->arena, .saved = saved};
	struct attach *attaches = arena_array(&s->arena, struct attach, v->count + 1);
	int err = attaches ? check_variant(&check, v) : -ENOMEM;

	if (!err)
		err = lower_variant(&lower, v, out);
	for (size_t i = 0; i < v->count && !err; i++) {
		attaches[i] = v->attachments[i]->attach;
		v->attachments[i]->is_done = true;
	}
	out->attaches = attaches;
	out->attach_count = (uint32_t)v->count;
	return err;
}

struct clause_list {
	struct clause *items;
	size_t count, cap;
};

static int add_clause(struct script *s, struct clause_list *list, struct clause clause)
{
	if (arena_grow(&s->arena, (void **)&list->items, list->count, &list->cap,
		       sizeof(*list->items)))
		return -ENOMEM;
	list->items[list->count++] = clause;
	return 0;
}

/* A variant, after the clause that keeps arguments for it. */
static int lower_with_entry(struct script *s, struct variant *v, struct clause_list *out,
			    struct diag *d)
{
	struct saved_args saved = {.count = 0}, *uses = saved_args_wanted(v) ? &saved : NULL;
	struct clause entry = {.code = NULL}, clause = {.code = NULL};
	int err = lower_one(s, v, uses, &clause, d);

	if (!err && uses)
		err = saved_args_clause(s, v, uses, &entry, d) ?: add_clause(s, out, entry);
	return err ? err : add_clause(s, out, clause);
}

static int lower_all(struct script *s, const struct variants *all, struct clause_list *out,
		     struct diag *d)
{
	for (size_t i = 0; i < all->clause_count; i++) {
		for (struct variant *v = all->first[i]; v; v = v->next) {
			int err = v->count ? lower_with_entry(s, v, out, d) : 0;

			if (err)
				return err;
		}
	}
	return 0;
}

static int make_program(struct script *s, const struct clause_list *clauses, struct program **out)
{
	struct program *p = arena_new(&s->arena, struct program);
	const struct map_def *maps = maps_make(s);

	if (!p || !maps)
		return -ENOMEM;
	*p = (struct program){
		.arena = &s->arena,
		.clauses = clauses->items,
		.clause_count = (uint32_t)clauses->count,
		.maps = maps,
		.map_count = s->map_count,
		.formats = s->formats.items,
		.format_count = (uint32_t)s->formats.count,
		.literals = s->literals.items,
		.literal_count = (uint32_t)s->literals.count,
		.names = s->names.items,
		.name_count = (uint32_t)s->names.count,
		.spans = s->spans.items,
		.span_count = (uint32_t)s->spans.count,
	};
	*out = p;
	return 0;
}

/* Types that were found before: what code relies on is kept, the rest is found again. */
static int begin_types(struct script *s, struct map **kept)
{
	struct map *copies = arena_array(&s->arena, struct map, s->map_count + 1u);

	if (!copies)
		return -ENOMEM;
	*kept = copies;
	for (struct map *m = s->maps; m; m = m->next) {
		m->has_key &= m->is_fixed;
		m->has_value &= m->is_fixed;
		*copies++ = *m;
	}
	return 0;
}

static int cannot_grow(struct script *s, const struct map *m, const struct type *kept,
		       const struct type *wanted, const char *what, struct diag *d)
{
	struct buf text = BUF_INIT;

	type_print(kept, &text);
	buf_text(&text, ", and not ");
	type_print(wanted, &text);
	diag_error_at(d, -EINVAL, "map-is-made", script_span(s, m->value_mark),
		      "the %s of '%.*s' are %.*s, because the map is already in use", what,
		      STR_FMT(m->name), STR_FMT(buf_as_str(&text)));
	buf_free(&text);
	return -EINVAL;
}

/* Maps in use must be as they were; and are so again when anything went wrong. */
static int end_types(struct script *s, const struct map *kept, int err, struct diag *d)
{
	for (struct map *m = s->maps; m; m = m->next) {
		const struct map *before = &kept[m->index];

		if (!m->is_fixed)
			continue;
		if (!err && !type_equal(&m->key, &before->key))
			err = cannot_grow(s, m, &before->key, &m->key, "keys", d);
		if (!err && !type_equal(&m->value, &before->value))
			err = cannot_grow(s, m, &before->value, &m->value, "values", d);
		m->key = before->key;
		m->value = before->value;
	}
	return err;
}

int compile_program(struct script *s, struct program **out, struct diag *d)
{
	struct variants all = {NULL, 0};
	struct clause_list clauses = {NULL, 0, 0};
	struct program *p = NULL;
	struct map *kept = NULL;
	int err = variants_open(s, &all);

	if (!err)
		err = begin_types(s, &kept);
	if (!err)
		err = end_types(s, kept, find_types(s, &all, d), d);
	if (!err)
		err = maps_check(s, d);
	if (!err)
		err = lower_all(s, &all, &clauses, d);
	if (!err)
		err = make_program(s, &clauses, &p);
	if (!err)
		err = program_check(p, d);
	if (err)
		return err;
	for (struct map *m = s->maps; m; m = m->next)
		for (size_t i = 0; i < clauses.count && !m->is_fixed; i++)
			m->is_fixed = clause_uses_map(&clauses.items[i], m->index);
	s->has_program = true;
	*out = p;
	return 0;
}
