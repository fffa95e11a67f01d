/* print(@m) that a clear(@m) or zero(@m) follows: both become one step. */
#include "script/check/check.h"

#include "script/check/map.h"
#include "script/parse/builtin.h"

/* The argument of a statement that is a call of this function, if it is a map; else NULL. */
static const struct expr *map_of_call(const struct stmt *s, const char *function)
{
	const struct expr *e = s->kind == STMT_EXPR ? s->value : NULL;

	if (!e || e->kind != EXPR_CALL || !e->function || strcmp(e->function->name, function) ||
	    e->args[0]->kind != EXPR_MAP)
		return NULL;
	return e->args[0];
}

/* Does the statement so use all of the map? */
static bool is_of_map(const struct stmt *s, const char *function, const struct map *m)
{
	const struct expr *e = map_of_call(s, function);

	return e && !e->arg_count && e->map == m;
}

/* May it be that what follows this statement does not run? */
static bool may_leave(const struct stmt *s)
{
	const struct expr *e = s->value;

	if (s->kind != STMT_EXPR && s->kind != STMT_ASSIGN && s->kind != STMT_LET)
		return true;
	return e && (e->kind == EXPR_BLOCK ||
		     (e->kind == EXPR_CALL && e->function && !strcmp(e->function->name, "exit")));
}

/* Of print(@m): the clear(@m) or zero(@m) after it, if nothing else of the map is printed first. */
static void pair_take(struct stmt *print, struct map *m)
{
	for (struct stmt *s = print->next; s && !may_leave(s); s = s->next) {
		const struct expr *printed = map_of_call(s, "print");
		bool clears = is_of_map(s, "clear", m);

		if (printed && printed->map == m)
			return;
		if (!clears && !is_of_map(s, "zero", m))
			continue;
		print->value->number = clears ? TAKE_ENTRIES : TAKE_VALUES;
		s->value->number = 1;
		m->is_taken = true;
		return;
	}
}

void pair_takes(struct stmt *body)
{
	for (struct stmt *s = body; s; s = s->next) {
		const struct expr *map = map_of_call(s, "print");

		if (map && !map->arg_count && map->map)
			pair_take(s, map->map);
	}
}
