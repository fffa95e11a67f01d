/* Functions of maps: count and the other aggregations, clear zero delete has_key. */
#include "script/values.h"

/* count(), sum(n), min(n), max(n), avg(n), stats(n): the row has the type */
int check_aggregate(struct check *c, struct expr *e)
{
	(void)c;
	e->shape = shape_of((struct type){
		.kind = (enum type_kind)e->function->number,
		.is_signed = e->arg_count && e->args[0]->shape.type.is_signed,
		.is_open = e->arg_count && e->args[0]->shape.type.is_open,
	});
	return 0;
}

/* hist(n), hist(n, k) */
int check_hist(struct check *c, struct expr *e)
{
	uint64_t bits = e->arg_count > 1 ? e->args[1]->value : 0;

	if (bits > 5)
		return check_error(c, e->args[1], "wrong-arg-type",
				   "the bits of a histogram are a number from 0 to 5");
	e->shape = shape_of((struct type){.kind = TYPE_HIST,
					  .is_signed = e->args[0]->shape.type.is_signed,
					  .is_open = e->args[0]->shape.type.is_open,
					  .bits = (uint8_t)bits});
	return 0;
}

/* lhist(n, min, max, step) */
int check_lhist(struct check *c, struct expr *e)
{
	int64_t min = (int64_t)e->args[1]->value, max = (int64_t)e->args[2]->value,
		step = (int64_t)e->args[3]->value;

	if (step <= 0)
		return check_error(c, e->args[3], "wrong-arg-type", "the step must be positive");
	if (min >= max)
		return check_error(c, e->args[2], "wrong-arg-type",
				   "the greatest value must be above the least");
	if ((uint64_t)step > (uint64_t)max - (uint64_t)min)
		return check_error(c, e->args[3], "wrong-arg-type",
				   "the step %lld is larger than the range, %llu", (long long)step,
				   (unsigned long long)max - (unsigned long long)min);
	if (((uint64_t)max - (uint64_t)min) / (uint64_t)step > PROGRAM_MAX_LHIST)
		return check_error(c, e, "too-big", "more than %d steps", PROGRAM_MAX_LHIST);
	e->shape =
		shape_of((struct type){.kind = TYPE_LHIST, .min = min, .max = max, .step = step});
	return 0;
}

/* A map that is only named must be filled somewhere. */
static int check_filled(struct check *c, const struct expr *map)
{
	if (map->map->has_value)
		return 0;
	return check_error(c, map, "undefined-map",
			   "'%.*s' is used, but nothing is ever stored in it",
			   STR_FMT(map->map->name));
}

/* clear(@m), zero(@m) */
int check_whole_map(struct check *c, struct expr *e)
{
	return check_filled(c, e->args[0]);
}

void lower_whole_map(struct lower *l, const struct expr *e, uint16_t out)
{
	(void)out;
	lower_emit(l,
		   &(struct format){.kind = (enum format_kind)e->function->number,
				    .map = e->args[0]->map->index},
		   NULL);
}

/* delete(@m, key) is delete(@m[key]); a tuple stands for several keys. */
static void take_key(struct expr *e)
{
	struct expr *map = e->args[0], *key = e->args[1];
	bool is_tuple = key->kind == EXPR_TUPLE;

	map->args = is_tuple ? key->args : &e->args[1];
	map->arg_count = is_tuple ? key->arg_count : 1;
	e->arg_count = 1;
}

static int check_keyed(struct check *c, struct expr *e)
{
	struct expr *map = e->args[0];
	int err;

	if (map->kind != EXPR_MAP)
		return check_error(c, map, "wrong-arg-type", "'%s' wants a map here",
				   e->function->name);
	if (e->arg_count == 2 && map->arg_count)
		return check_error(c, e, "wrong-arg-count", "'%s' has two keys here",
				   e->function->name);
	if (e->arg_count == 2)
		take_key(e);
	err = check_map_key(c, map);
	if (!err)
		map->map->is_read = true;
	return err ? err : check_filled(c, map);
}

/* delete(@m[key]), delete(@m, key) */
int check_delete(struct check *c, struct expr *e)
{
	return check_keyed(c, e);
}

void lower_delete(struct lower *l, const struct expr *e, uint16_t out)
{
	(void)out;
	emit_map(l, OP_MAP_DEL, e->args[0]->map, lower_key(l, e->args[0]));
}

/* has_key(@m, key) */
int check_has_key(struct check *c, struct expr *e)
{
	e->shape = shape_int(true);
	return check_keyed(c, e);
}

void lower_has_key(struct lower *l, const struct expr *e, uint16_t out)
{
	emit_map(l, OP_MAP_HAS, e->args[0]->map, lower_key(l, e->args[0]))->d = out;
}
