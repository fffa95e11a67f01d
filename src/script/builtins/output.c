/* Functions that send records: print join time exit. */
#include <errno.h>
#include <stdio.h>

#include "script/builtins/function.h"
#include "script/check/map.h"
#include "script/check/named.h"
#include "script/lower/emit.h"

#define JOIN_PIECES  16
#define JOIN_BYTES   512 /* of each; all of them must fit into one record */
#define DEFAULT_TIME "%H:%M:%S\n"

static void check_print_map(struct check *c, struct expr *e)
{
	struct expr *map = e->args[0];

	map->map = check_map(c, map->text);
	check_filled(c, map, "printed");
	for (unsigned i = 1; i < e->arg_count; i++) {
		check_expr(c, e->args[i]);
		if (!expr_is_int(e->args[i]) || !e->args[i]->is_const ||
		    (int64_t)e->args[i]->value < 0)
			check_error(c, e->args[i], "wrong-arg-type", "'print' expects a constant");
	}
}

static void check_print_entry(struct check *c, struct expr *map)
{
	check_map_key(c, map);
	if (!c->err)
		map->map->is_read = true;
	check_filled(c, map, "printed");
	check_no_series(c, map, "printed in parts");
	if (c->err || type_is_readable(&map->map->value) || map->map->value.kind == TYPE_STATS)
		return;
	check_error(c, map, "unsupported", "one entry of a map of histograms cannot be printed");
	diag_hint(c->d, "print(%.*s) prints all of them", STR_FMT(map->map->name));
}

/* print(@m), print(@m, top), print(@m, top, div), print(@m[key]), print(value) */
static void check_print(struct check *c, struct expr *e)
{
	struct expr *a = e->args[0];

	if (a->kind == EXPR_MAP && !a->arg_count) {
		check_print_map(c, e);
		return;
	}
	if (e->arg_count > 1) {
		check_error(c, e->args[1], "wrong-arg-count",
			    "'print' takes one value; only a whole map has a limit after it");
		diag_hint(c->d, "several values: print((a, b)), or printf(\"%%s %%s\\n\", a, b)");
	}
	if (a->kind == EXPR_MAP) {
		check_print_entry(c, a);
		return;
	}
	check_expr(c, a);
	check_as_text(c, a);
	if (!a->is_whole)
		check_storable(c, a, "a value to print");
}

/* print(@m[key]): the key and the value; of statistics the key alone. */
static void lower_print_entry(struct lower *l, const struct expr *map)
{
	const struct type *value = &map->map->value;
	struct type types[2] = {map->map->key, *value};
	struct field fields[2] = {{REG_NO, SLOT_NO}, {REG_NO, SLOT_NO}};
	struct format f = {.kind = FORMAT_MAP_VALUE, .map = map->map->index, .field_count = 2};
	uint16_t key;

	f.fields = types;
	if (type_is_word(&types[0])) {
		fields[0].reg = lower_word(l, map->args[0]);
		key = lower_slot(l, &types[0]);
		emit_put(l, key, 0, fields[0].reg);
	} else {
		key = fields[0].slot = lower_key(l, map);
	}
	lower_lookup(l, map->map, key);
	if (value->kind == TYPE_STATS) {
		f.field_count = 1;
		lower_emit(l, &f, fields);
		return;
	}
	if (type_is_aggregate(value))
		types[1] = type_int(8, value->is_signed);
	if (type_is_word(&types[1])) {
		fields[1].reg = lower_reg(l);
		emit_map(l, OP_MAP_GET, map->map, key)->d = fields[1].reg;
	} else {
		fields[1].slot = lower_slot(l, value);
		emit_map(l, OP_MAP_COPY, map->map, key)->t = fields[1].slot;
	}
	lower_emit(l, &f, fields);
}

/* A record in the making: values, and their names in the format's text. */
struct named_record {
	struct type types[EMIT_MAX_FIELDS];
	struct field fields[EMIT_MAX_FIELDS];
	struct buf names;
	unsigned count;
};

static void add_named(struct lower *l, const struct expr *value, struct str group, struct str name,
		      struct named_record *r)
{
	if (l->err)
		return;
	if (r->count == EMIT_MAX_FIELDS) {
		l->err = diag_error_at(l->d, -E2BIG, "too-big", script_span(l->s, value->mark),
				       "too many values: the limit is %d", EMIT_MAX_FIELDS);
		return;
	}
	buf_printf(&r->names, "%s%.*s%s%.*s", r->count ? " " : "", STR_FMT(group),
		   group.len ? "." : "", STR_FMT(name));
	r->types[r->count] = value->shape.type;
	r->fields[r->count++] = lower_field(l, value);
}

/* args: each of its parts. */
static void add_parts(struct lower *l, const struct expr *whole, struct str group,
		      struct named_record *r)
{
	for (unsigned n = 0; n < whole->number; n++)
		add_named(l, whole->args[n], group, whole->args[n]->text, r);
}

static void emit_named(struct lower *l, struct named_record *r)
{
	struct format f = {.kind = FORMAT_RECORD, .fields = r->types, .field_count = r->count};

	f.text = arena_str(&l->s->arena, buf_as_str(&r->names));
	if (r->names.failed || !f.text.ptr)
		lower_fail(l, -ENOMEM);
	buf_free(&r->names);
	lower_emit(l, &f, r->fields);
}

static void lower_print_args(struct lower *l, const struct expr *whole)
{
	struct named_record r = {.count = 0};

	add_parts(l, whole, STR(""), &r);
	emit_named(l, &r);
}

static void lower_print(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct expr *a = e->args[0];
	struct format f = {.kind = FORMAT_VALUE, .field_count = 1, .fields = &a->shape.type};
	struct field field;

	(void)out;
	if (a->kind == EXPR_MAP && a->arg_count) {
		lower_print_entry(l, a);
	} else if (a->kind == EXPR_MAP) {
		f = (struct format){.kind = FORMAT_PRINT, .map = a->map->index};
		f.top = e->arg_count > 1 ? (int64_t)e->args[1]->value : 0;
		f.div = e->arg_count > 2 ? (int64_t)e->args[2]->value : 0;
		f.take = (enum format_take)e->number;
		lower_emit(l, &f, NULL);
	} else if (a->is_whole) {
		lower_print_args(l, a);
	} else {
		field = lower_field(l, a);
		lower_emit(l, &f, &field);
	}
}

/* How many words a text has, with one blank between them. */
static unsigned count_words(struct str text)
{
	unsigned count = 0;

	for (; text.len; count++)
		str_cut(&text, ' ');
	return count;
}

/* event("NAME NAME ...", value...): each value has a name. */
static void check_event(struct check *c, struct expr *e)
{
	unsigned names = count_words(e->args[0]->text);

	if (names != e->arg_count - 1u)
		check_error(c, e, "event-names", "'event' has %u name%s for %u value%s", names,
			    names == 1 ? "" : "s", e->arg_count - 1u, e->arg_count == 2 ? "" : "s");
}

static void lower_event(struct lower *l, const struct expr *e, uint16_t out)
{
	struct named_record r = {.count = 0};
	struct str rest = e->args[0]->text;

	(void)out;
	for (unsigned i = 1; i < e->arg_count; i++) {
		const struct expr *value = e->args[i];
		struct str name = str_cut(&rest, ' ');

		if (value->is_whole)
			add_parts(l, value, name, &r);
		else
			add_named(l, value, STR(""), name, &r);
	}
	emit_named(l, &r);
}

/* Fill the slots from the array; those after the NULL are empty, as what lies there is not part of
 * it. */
static void load_pieces(struct lower *l, uint16_t array, const struct field *pieces)
{
	static const struct type address = {.kind = TYPE_INT, .size = 8};
	struct label ends[JOIN_PIECES] = {{0}}, done = {0};
	uint16_t at = lower_reg(l), pointer = lower_reg(l), step;

	emit_dai(l, OP_MOV, at, array, 0);
	step = lower_const(l, address.size);
	for (unsigned n = 0; n < JOIN_PIECES; n++) {
		emit_load(l, pointer, at, &address);
		emit_read(l, OP_STR, pieces[n].slot, pointer, REG_NO, UINT32_MAX);
		lower_goto(l, OP_JUMP_NOT, pointer, &ends[n]);
		emit_operator(l, OPERATOR_ADD, false, at, step, at);
	}
	lower_goto(l, OP_JUMP, REG_NO, &done);
	/* One way in for each piece that may be the NULL; from there on it empties all the rest. */
	for (unsigned n = 0; n < JOIN_PIECES; n++) {
		lower_bind(l, &ends[n]);
		if (n + 1 < JOIN_PIECES)
			emit_si(l, OP_ZERO, pieces[n + 1].slot, 0);
	}
	lower_bind(l, &done);
}

/* join(argv), join(argv, delimiter): up to 16 strings, ended by NULL */
static void lower_join(struct lower *l, const struct expr *e, uint16_t out)
{
	uint32_t most = l->s->facts.max_strlen < JOIN_BYTES ? l->s->facts.max_strlen : JOIN_BYTES;
	struct type text = type_text(TYPE_STR, most), types[JOIN_PIECES];
	struct field fields[JOIN_PIECES];
	struct format f = {.kind = FORMAT_JOIN,
			   .text = e->arg_count > 1 ? e->args[1]->text : STR(" "),
			   .fields = types,
			   .field_count = JOIN_PIECES};
	uint16_t array = lower_word(l, e->args[0]);

	(void)out;
	for (unsigned n = 0; n < JOIN_PIECES; n++) {
		types[n] = text;
		fields[n] = (struct field){REG_NO, lower_slot(l, &text)};
	}
	load_pieces(l, array, fields);
	lower_emit(l, &f, fields);
}

static void lower_time(struct lower *l, const struct expr *e, uint16_t out)
{
	struct format f = {.kind = FORMAT_TIME,
			   .text = e->arg_count ? e->args[0]->text : STR(DEFAULT_TIME)};

	(void)out;
	lower_emit(l, &f, NULL);
}

/* exit(), exit(code): the clause is over, too */
static void lower_exit(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct expr *code = e->arg_count ? e->args[0] : NULL;
	const struct type number = type_int(8, true);
	struct field field = {REG_NO, SLOT_NO};
	struct format f = {.kind = FORMAT_EXIT};

	(void)out;
	if (code && code->is_const) {
		f.exit_code = (int64_t)code->value;
	} else if (code) {
		field.reg = lower_word(l, code);
		f.fields = &number;
		f.field_count = 1;
	}
	lower_emit(l, &f, &field);
	lower_op(l, OP_RETURN);
}

/* clang-format off */

/* name, arguments, group, needs, probe types, result, check, lowering, number, help, example */
const struct function output_rows[] = {
	{ "print", "x[xx", GROUP_STATEMENT, NEED_DATA, 0, NO_RESULT, check_print, lower_print, 0,
	  "print a value, a map, or its last entries", "print((pid, comm));" },
	{ "event", "s*", GROUP_STATEMENT, NEED_DATA, 0, NO_RESULT, check_event, lower_event, 0,
	  "print values with their names", "event(\"pid args\", pid, args);" },
	{ "join", "p[s", GROUP_STATEMENT, NEED_DATA, 0, NO_RESULT, NULL, lower_join, 0,
	  "print an array of strings, such as argv", "join(arg0, \",\");" },
	{ "time", "[s", GROUP_STATEMENT, 0, 0, NO_RESULT, NULL, lower_time, 0,
	  "print the time of day", "time(\"%H:%M:%S\\n\");" },
	{ "exit", "[i", GROUP_STATEMENT, 0, 0, NO_RESULT, NULL, lower_exit, 0,
	  "end the run, with an exit status", "exit(1);" },
	{ .name = "override", .group = GROUP_FOREIGN, .help = "the results of kernel functions are not changed" },
	{ .name = "skboutput", .group = GROUP_FOREIGN, .help = "packets are not written to files" },
	{ .name = "unwatch", .group = GROUP_FOREIGN, .help = "a watchpoint ends with the run" },
	{ .name = NULL },
};
/* clang-format on */
