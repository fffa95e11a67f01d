/* tseries(): what it takes, and what of an interval's values is kept. */
#include <errno.h>

#include "base/array.h"
#include "script/builtins/function.h"

#define INTERVALS_MOST 1000000

/* What of an interval's values is kept. */
static const struct {
	const char *name;
	enum type_kind kind;
} kept[] = {
	{"sum", TYPE_SUM},
	{"min", TYPE_MIN},
	{"max", TYPE_MAX},
	{"avg", TYPE_AVG},
};

static bool find_kept(const struct expr *e, enum type_kind *out)
{
	for (size_t i = 0; i < COUNT(kept); i++)
		if ((e->kind == EXPR_STRING || e->kind == EXPR_NAME) &&
		    str_eq_text(e->text, kept[i].name)) {
			*out = kept[i].kind;
			return true;
		}
	return false;
}

/* tseries(n, interval, count), tseries(n, interval, count, "avg") */
static void check_tseries(struct check *c, struct expr *e)
{
	int64_t interval = (int64_t)e->args[1]->value, count = (int64_t)e->args[2]->value;
	enum type_kind kind = TYPE_INT;

	check_unstable(c, e, "unstable_tseries", c->s->facts.unstable_tseries);
	if (interval < 1)
		check_error(c, e->args[1], "wrong-arg-type",
			    "an interval must be at least 1 nanosecond, such as 100ms or 5s");
	else if (count < 1 || count > INTERVALS_MOST)
		check_error(c, e->args[2], "wrong-arg-type",
			    "the number of intervals is from 1 to %d", INTERVALS_MOST);
	else if (e->arg_count > 3 && !find_kept(e->args[3], &kind))
		check_error(c, e->args[3], "wrong-arg-type",
			    "'tseries' keeps the last value, or \"sum\", \"min\", \"max\" or "
			    "\"avg\"");
	e->shape = shape_of(type_int(8, e->args[0]->shape.type.is_signed));
	e->shape.type.kind = kind;
	e->shape.type.is_open = e->args[0]->shape.type.is_open;
}

/* clang-format off */

/* name, arguments, group, needs, probe types, result, check, lowering, number, help, example */
const struct function series_rows[] = {
	{ "tseries", "icc[x", GROUP_AGGREGATION, 0, 0, NO_RESULT, check_tseries, NULL, 0,
	  "values over time, in intervals", "@ = tseries(arg0, 100ms, 20, \"avg\");" },
	{ .name = NULL },
};
/* clang-format on */
