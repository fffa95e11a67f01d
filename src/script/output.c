/* Functions that send records: printf cat system print join time exit. */
#include <errno.h>
#include <stdio.h>

#include "script/values.h"

#define MAX_FIELDS   255
#define JOIN_PIECES  16
#define JOIN_BYTES   512 /* of each; all of them must fit into one record */
#define DEFAULT_TIME "%H:%M:%S\n"
#define KIND(kind)   (1u << (kind))
#define NUMBERS	     (KIND(TYPE_INT) | KIND(TYPE_FLOAT))
#define TEXTS                                                                       \
	(KIND(TYPE_STR) | KIND(TYPE_NAME) | KIND(TYPE_USTACK) | KIND(TYPE_KSTACK) | \
	 KIND(TYPE_USYM) | KIND(TYPE_KSYM) | KIND(TYPE_TIME))

struct conversion {
	char letter;
	uint32_t kinds;
	const char *wanted;
};

static const struct conversion conversions[] = {
	{'d', NUMBERS, "an integer"},
	{'i', NUMBERS, "an integer"},
	{'u', NUMBERS, "an integer"},
	{'x', KIND(TYPE_INT), "an integer"},
	{'X', KIND(TYPE_INT), "an integer"},
	{'o', KIND(TYPE_INT), "an integer"},
	{'c', KIND(TYPE_INT), "an integer"},
	{'p', KIND(TYPE_INT), "an address"},
	{'s', TEXTS, "a string"},
	{'r', KIND(TYPE_BUF), "a buffer (buf)"},
	{'f', KIND(TYPE_FLOAT), "a float"},
	{'F', KIND(TYPE_FLOAT), "a float"},
	{'e', KIND(TYPE_FLOAT), "a float"},
	{'E', KIND(TYPE_FLOAT), "a float"},
	{'g', KIND(TYPE_FLOAT), "a float"},
	{'G', KIND(TYPE_FLOAT), "a float"},
	{'a', KIND(TYPE_FLOAT), "a float"},
	{'A', KIND(TYPE_FLOAT), "a float"},
};

/* One %-specifier of a format. */
struct specifier {
	struct str text; /* "%-10s" */
	const struct conversion *conversion;
};

static bool is_one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

static size_t digits(struct str format, size_t at)
{
	size_t n = 0;

	while (at + n < format.len && format.ptr[at + n] >= '0' && format.ptr[at + n] <= '9')
		n++;
	return n;
}

/* specifier = "%" flag* width? ( "." width? )? ( "hh" | "h" | "l" | "ll" | "j" | "z" | "t" )?
 * letter; a buffer's is %r, %rx or %rh. *at moves behind it; false when it is malformed. */
static bool take_specifier(struct str format, size_t *at, struct specifier *out)
{
	size_t start = *at, i = start + 1, n;
	char letter;

	while (i < format.len && is_one_of(format.ptr[i], "-+ #0'"))
		i++;
	i += n = digits(format, i);
	if (n <= 4 && i < format.len && format.ptr[i] == '.')
		i += 1 + (n = digits(format, i + 1));
	for (int k = 0; k < 2 && i < format.len && is_one_of(format.ptr[i], "hljzt"); k++)
		i++;
	letter = i < format.len ? format.ptr[i] : '\0';
	if (i < format.len)
		i++;
	if (letter == 'r' && i < format.len && is_one_of(format.ptr[i], "xh"))
		i++;
	*out = (struct specifier){str_of(format.ptr + start, i - start), NULL};
	*at = i;
	for (size_t k = 0; k < sizeof(conversions) / sizeof(conversions[0]); k++)
		if (conversions[k].letter == letter && n <= 4)
			out->conversion = &conversions[k];
	return out->conversion;
}

/* The next specifier from *at on, or false at the end. `broken` when there is one, but bad. */
static bool next_specifier(struct str format, size_t *at, struct specifier *out, bool *broken)
{
	for (; *at < format.len; (*at)++) {
		if (format.ptr[*at] != '%')
			continue;
		if (*at + 1 < format.len && format.ptr[*at + 1] == '%') {
			(*at)++;
			continue;
		}
		*broken = !take_specifier(format, at, out);
		return true;
	}
	return false;
}

static int check_field(struct check *c, const struct specifier *s, const struct expr *a)
{
	const struct type *t = &a->shape.type;

	if (a->is_whole && s->conversion->letter == 's')
		return 0;
	if (s->conversion->kinds & KIND(t->kind))
		return 0;
	check_error(c, a, "bad-format-arg", "'%.*s' wants %s, not %s", STR_FMT(s->text),
		    s->conversion->wanted, check_type_text(c, t));
	if (s->conversion->letter == 's' && t->kind == TYPE_INT)
		diag_hint(c->d, "if this is the address of a string: str(...)");
	if (t->kind == TYPE_FLOAT)
		diag_hint(c->d, "%%f prints it, %%d prints its integer part");
	return -EINVAL;
}

/* printf("format", value...), cat, system */
int check_printf(struct check *c, struct expr *e)
{
	struct str format = e->args[0]->text;
	struct specifier s;
	unsigned n = 1;
	size_t at = 0;
	bool broken = false;

	while (next_specifier(format, &at, &s, &broken)) {
		if (broken)
			return check_error(c, e->args[0], "bad-format",
					   "'%.*s' is no specifier of '%s'", STR_FMT(s.text),
					   e->function->name);
		if (n < e->arg_count && check_field(c, &s, e->args[n]))
			return -EINVAL;
		n++;
	}
	if (n != e->arg_count)
		return check_error(
			c, e, "format-count", "the format has %u specifier%s, but %u value%s",
			n - 1, n == 2 ? "" : "s", e->arg_count - 1u, e->arg_count == 2 ? "" : "s");
	return 0;
}

int lower_field(struct lower *l, const struct expr *e, struct field *out)
{
	*out = (struct field){REG_NO, SLOT_NO};
	if (type_is_word(&e->shape.type))
		return lower_word(l, e, &out->reg);
	return lower_memory(l, e, &e->shape.type, &out->slot);
}

static bool same_format(const struct format *a, const struct format *b)
{
	if (a->kind != b->kind || !str_eq(a->text, b->text) || a->field_count != b->field_count ||
	    a->map != b->map || a->top != b->top || a->div != b->div ||
	    a->exit_code != b->exit_code)
		return false;
	for (unsigned i = 0; i < a->field_count; i++)
		if (!type_equal(&a->fields[i], &b->fields[i]))
			return false;
	return true;
}

static int format_number(struct script *s, const struct format *f, uint32_t *out)
{
	struct format_list *list = &s->formats;
	struct type *types;

	for (size_t i = 0; i < list->count; i++) {
		if (same_format(&list->items[i], f)) {
			*out = (uint32_t)i;
			return 0;
		}
	}
	types = arena_array(&s->arena, struct type, f->field_count + 1u);
	if (!types || arena_grow(&s->arena, (void **)&list->items, list->count, &list->cap,
				 sizeof(*list->items)))
		return -ENOMEM;
	memcpy(types, f->fields, f->field_count * sizeof(*types));
	list->items[list->count] = *f;
	list->items[list->count].fields = types;
	*out = (uint32_t)list->count++;
	return 0;
}

int lower_emit(struct lower *l, const struct format *f, const struct field *fields)
{
	struct field *copy = arena_array(l->arena, struct field, f->field_count + 1u);
	struct format named = *f;
	struct insn *i;
	uint32_t number;

	if (!named.fields)
		named.fields = &(const struct type){.kind = TYPE_NONE};
	if (!copy || format_number(l->s, &named, &number))
		return -ENOMEM;
	if (number > UINT16_MAX)
		return diag_error_at(l->d, -E2BIG, "too-big", script_span(l->s, l->v->clause->mark),
				     "the script sends too many kinds of records");
	if (f->field_count)
		memcpy(copy, fields, f->field_count * sizeof(*copy));
	i = lower_op(l, OP_EMIT);
	i->imm = number;
	i->fields = copy;
	i->field_count = (uint8_t)f->field_count;
	return 0;
}

/* %d of a float prints its integer part. */
static int cut_float(struct lower *l, struct type *t, struct field *field)
{
	struct insn *i = lower_op(l, OP_F2I);

	i->a = field->reg;
	i->imm = t->size;
	i->d = field->reg = lower_reg(l);
	*t = type_int(8, true);
	return 0;
}

/* printf in the making: its values, and its format with `args` written out. */
struct printf_call {
	struct str rest; /* of the script's format */
	struct buf text;
	unsigned count;
	struct type types[MAX_FIELDS];
	struct field fields[MAX_FIELDS];
};

static int add_value(struct lower *l, const struct expr *e, struct printf_call *p)
{
	if (p->count == MAX_FIELDS)
		return diag_error_at(l->d, -E2BIG, "too-big", script_span(l->s, e->mark),
				     "more than %d values", MAX_FIELDS);
	p->types[p->count] = e->shape.type;
	return lower_field(l, e, &p->fields[p->count++]);
}

/* { .word = "hello", .n = 5 } */
static int add_parts(struct lower *l, const struct expr *whole, struct printf_call *p)
{
	int err = 0;

	buf_char(&p->text, '{');
	for (unsigned n = 0; n < whole->number && !err; n++) {
		buf_printf(&p->text, "%s .%.*s = %%q", n ? "," : "", STR_FMT(whole->args[n]->text));
		err = add_value(l, whole->args[n], p);
	}
	buf_text(&p->text, " }");
	return err;
}

/* Copy the format up to the specifier of the next value, and that too unless it is for `args`. */
static int add_argument(struct lower *l, const struct expr *e, struct printf_call *p)
{
	struct specifier s;
	size_t at = 0;
	bool broken;
	int err;

	next_specifier(p->rest, &at, &s, &broken);
	buf_str(&p->text, str_of(p->rest.ptr, at - (e->is_whole ? s.text.len : 0)));
	p->rest = str_of(p->rest.ptr + at, p->rest.len - at);
	if (e->is_whole)
		return add_parts(l, e, p);
	err = add_value(l, e, p);
	if (!err && e->shape.type.kind == TYPE_FLOAT && is_one_of(s.conversion->letter, "diu"))
		err = cut_float(l, &p->types[p->count - 1], &p->fields[p->count - 1]);
	return err;
}

int lower_printf(struct lower *l, const struct expr *e, uint16_t out)
{
	struct printf_call p = {.rest = e->args[0]->text, .text = BUF_INIT};
	struct format f = {.kind = (enum format_kind)e->function->number};
	int err = 0;

	(void)out;
	for (unsigned n = 1; n < e->arg_count && !err; n++)
		err = add_argument(l, e->args[n], &p);
	buf_str(&p.text, p.rest);
	f.text = arena_str(&l->s->arena, buf_as_str(&p.text));
	f.fields = p.types;
	f.field_count = p.count;
	if (!err && (p.text.failed || !f.text.ptr))
		err = -ENOMEM;
	buf_free(&p.text);
	return err ? err : lower_emit(l, &f, p.fields);
}

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
	struct type types[MAX_FIELDS];
	struct field fields[MAX_FIELDS];
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

/* join(argv), join(argv, delimiter): up to 16 strings, ended by NULL */
int check_join(struct check *c, struct expr *e)
{
	(void)c;
	(void)e;
	return 0;
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

/* Fill the slots from the array; those behind the NULL are empty, as what lies there is not ours.
 */
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
