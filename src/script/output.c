/* Functions that send records: print join time exit. */
#include <errno.h>
#include <stdio.h>

#include "script/values.h"

#define JOIN_PIECES  16
#define JOIN_BYTES   512 /* of each; all of them must fit into one record */
#define DEFAULT_TIME "%H:%M:%S\n"

/* A call that has no value and whose arguments fit already. */
int check_statement(struct check *c, struct expr *e)
{
	(void)c;
	(void)e;
	return 0;
}

static int check_print_map(struct check *c, struct expr *e)
{
	struct expr *map = e->args[0];

	map->map = check_map(c, map->text);
	if (!map->map)
		return -ENOMEM;
	if (!map->map->has_value)
		return check_error(c, map, "undefined-map",
				   "'%.*s' is printed, but nothing is ever stored in it",
				   STR_FMT(map->map->name));
	for (unsigned i = 1; i < e->arg_count; i++) {
		int err = check_expr(c, e->args[i]);

		if (err)
			return err;
		if (e->args[i]->shape.type.kind != TYPE_INT || !e->args[i]->is_const ||
		    (int64_t)e->args[i]->value < 0)
			return check_error(c, e->args[i], "wrong-arg-type",
					   "'print' wants a constant number here");
	}
	return 0;
}

static bool is_readable(const struct type *value)
{
	return value->kind != TYPE_STATS && value->kind != TYPE_HIST && value->kind != TYPE_LHIST;
}

static int check_print_entry(struct check *c, struct expr *map)
{
	int err = check_map_key(c, map);

	if (err)
		return err;
	if (!map->map->has_value)
		return check_error(c, map, "undefined-map",
				   "'%.*s' is printed, but nothing is ever stored in it",
				   STR_FMT(map->map->name));
	if (is_readable(&map->map->value))
		return 0;
	check_error(c, map, "unsupported", "printing one of several %s is not supported yet",
		    map->map->value.kind == TYPE_STATS ? "statistics" : "histograms");
	diag_hint(c->d, "print(%.*s) prints all of them", STR_FMT(map->map->name));
	return -EINVAL;
}

/* print(@m), print(@m, top), print(@m, top, div), print(@m[key]), print(value) */
int check_print(struct check *c, struct expr *e)
{
	struct expr *a = e->args[0];
	int err;

	if (a->kind == EXPR_MAP && !a->arg_count)
		return check_print_map(c, e);
	if (e->arg_count > 1)
		return check_error(c, e->args[1], "wrong-arg-count",
				   "only a whole map can be cut to its greatest values");
	if (a->kind == EXPR_MAP)
		return check_print_entry(c, a);
	err = check_expr(c, a);
	return err || a->is_whole ? err : check_storable(c, a, "a value to print");
}

/* print(@m[key]): the key and the value */
static int lower_print_entry(struct lower *l, const struct expr *map)
{
	const struct type *value = &map->map->value;
	struct type types[2] = {map->map->key, *value};
	struct field fields[2] = {{REG_NO, SLOT_NO}, {REG_NO, SLOT_NO}};
	struct format f = {.kind = FORMAT_MAP_VALUE, .map = map->map->index, .field_count = 2};
	uint16_t key;
	struct insn *i;
	int err;

	f.fields = types;
	err = type_is_word(&types[0]) ? lower_word(l, map->args[0], &fields[0].reg)
				      : lower_key(l, map, &fields[0].slot);
	if (err)
		return err;
	key = fields[0].slot;
	if (type_is_word(&types[0])) {
		key = lower_slot(l, &types[0]);
		i = lower_op(l, OP_PUT);
		i->s = key;
		i->a = fields[0].reg;
	}
	if (type_is_aggregate(value))
		types[1] = type_int(8, value->kind != TYPE_COUNT && value->is_signed);
	i = lower_op(l, type_is_word(&types[1]) ? OP_MAP_GET : OP_MAP_COPY);
	i->map = (uint16_t)map->map->index;
	i->s = key;
	if (type_is_word(&types[1]))
		i->d = fields[1].reg = lower_reg(l);
	else
		i->t = fields[1].slot = lower_slot(l, value);
	return lower_emit(l, &f, fields);
}

/* print(args): the parts, and their names in the format's text */
static int lower_print_args(struct lower *l, const struct expr *whole)
{
	struct format f = {.kind = FORMAT_RECORD};
	struct type types[EMIT_MAX_FIELDS];
	struct field fields[EMIT_MAX_FIELDS];
	struct buf names = BUF_INIT;
	int err = 0;

	for (unsigned n = 0; n < whole->number && !err; n++) {
		const struct expr *part = whole->args[n];

		types[n] = part->shape.type;
		err = lower_field(l, part, &fields[n]);
		buf_printf(&names, "%s%.*s", n ? " " : "", STR_FMT(part->text));
		f.field_count++;
	}
	f.fields = types;
	f.text = arena_str(&l->s->arena, buf_as_str(&names));
	buf_free(&names);
	if (!err && !f.text.ptr)
		err = -ENOMEM;
	return err ? err : lower_emit(l, &f, fields);
}

int lower_print(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct expr *a = e->args[0];
	struct format f = {.kind = FORMAT_VALUE, .field_count = 1, .fields = &a->shape.type};
	struct field field;
	int err;

	(void)out;
	if (a->kind == EXPR_MAP && a->arg_count)
		return lower_print_entry(l, a);
	if (a->kind == EXPR_MAP) {
		f = (struct format){.kind = FORMAT_PRINT, .map = a->map->index};
		f.top = e->arg_count > 1 ? (int64_t)e->args[1]->value : 0;
		f.div = e->arg_count > 2 ? (int64_t)e->args[2]->value : 0;
		return lower_emit(l, &f, NULL);
	}
	if (a->is_whole)
		return lower_print_args(l, a);
	err = lower_field(l, a, &field);
	return err ? err : lower_emit(l, &f, &field);
}

/* The pointer at address `at`, and the text it points to. */
static void load_piece(struct lower *l, uint16_t at, uint16_t pointer, uint16_t slot)
{
	struct insn *i = lower_op(l, OP_LOAD);

	i->d = pointer;
	i->a = at;
	i->size = 8;
	i = lower_op(l, OP_STR);
	i->s = slot;
	i->a = pointer;
}

/* Fill the slots from the array; those behind the NULL are empty, as what lies there is
 * not ours. */
static void load_pieces(struct lower *l, uint16_t array, const struct field *pieces)
{
	struct label ends[JOIN_PIECES] = {{0}}, done = {0};
	uint16_t at = lower_reg(l), pointer = lower_reg(l), step;
	struct insn *i = lower_op(l, OP_MOV);

	i->d = at;
	i->a = array;
	step = lower_const(l, 8);
	for (unsigned n = 0; n < JOIN_PIECES; n++) {
		load_piece(l, at, pointer, pieces[n].slot);
		lower_goto(l, OP_JUMP_NOT, pointer, &ends[n]);
		lower_binary_op(l, OPERATOR_ADD, false, at, step, at);
	}
	lower_goto(l, OP_JUMP, REG_NO, &done);
	for (unsigned n = 0; n < JOIN_PIECES; n++) {
		lower_bind(l, &ends[n]);
		if (n + 1 < JOIN_PIECES)
			lower_op(l, OP_ZERO)->s = pieces[n + 1].slot;
	}
	lower_bind(l, &done);
}

/* join(argv), join(argv, delimiter): up to 16 strings, ended by NULL */
int lower_join(struct lower *l, const struct expr *e, uint16_t out)
{
	uint32_t most = l->s->facts.max_strlen < JOIN_BYTES ? l->s->facts.max_strlen : JOIN_BYTES;
	struct type text = type_text(TYPE_STR, most), types[JOIN_PIECES];
	struct field fields[JOIN_PIECES];
	struct format f = {.kind = FORMAT_JOIN,
			   .text = e->arg_count > 1 ? e->args[1]->text : STR(" "),
			   .fields = types,
			   .field_count = JOIN_PIECES};
	uint16_t array;
	int err = lower_word(l, e->args[0], &array);

	(void)out;
	if (err)
		return err;
	for (unsigned n = 0; n < JOIN_PIECES; n++) {
		types[n] = text;
		fields[n] = (struct field){REG_NO, lower_slot(l, &text)};
	}
	load_pieces(l, array, fields);
	return lower_emit(l, &f, fields);
}

int lower_time(struct lower *l, const struct expr *e, uint16_t out)
{
	struct format f = {.kind = FORMAT_TIME,
			   .text = e->arg_count ? e->args[0]->text : STR(DEFAULT_TIME)};

	(void)out;
	return lower_emit(l, &f, NULL);
}

/* exit(), exit(code): the clause is over, too */
int lower_exit(struct lower *l, const struct expr *e, uint16_t out)
{
	struct format f = {.kind = FORMAT_EXIT,
			   .exit_code = e->arg_count ? (int64_t)e->args[0]->value : 0};
	int err = lower_emit(l, &f, NULL);

	(void)out;
	lower_op(l, OP_RETURN);
	return err;
}
