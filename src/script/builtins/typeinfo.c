/* typeinfo(e): the type of a value, as a record of constants, in the words of
 * bpftrace. */
#include <errno.h>

#include "base/array.h"
#include "script/builtins/function.h"
#include "script/check/ctypes.h"
#include "script/check/map.h"
#include "script/check/named.h"

/* Kinds of values that are only shown. */
static const struct {
	const char *display, *name;
} display_names[] = {
	{"()", "tuple"},      {"{}", "record"},	      {"[]", "array"},
	{"usym", "usym_t"},   {"ksym", "ksym_t"},     {"time", "timestamp"},
	{"mac", "macaddr_t"}, {"user", "username_t"}, {"cgroup", "cgroup_path_t"},
	{"errno", "string"},  {"signal", "string"},   {"syscall", "string"},
	{"comm", "string"},
};

static const char *display_name(const struct type *t)
{
	for (size_t i = 0; i < COUNT(display_names); i++)
		if (!strcmp(t->display, display_names[i].display))
			return display_names[i].name;
	return t->display;
}

/* The kind: "int", "string". Aggregates are named as bpftrace's types of their results. */
static const char *base_name(const struct type *t)
{
	switch (t->kind) {
	case TYPE_NONE: return "none";
	case TYPE_INT:
		return t->show == SHOW_BOOL		       ? "bool"
		       : type_target(t) || t->show == SHOW_HEX ? "pointer"
							       : "int";
	case TYPE_FLOAT: return "float";
	case TYPE_STR:
	case TYPE_NAME: return "string";
	case TYPE_BUF: return t->show == SHOW_ARRAY ? "array" : "buffer";
	case TYPE_TUPLE:
		return t->show == SHOW_ARRAY	? "array"
		       : t->show == SHOW_RECORD ? "record"
						: "tuple";
	case TYPE_USTACK: return "ustack";
	case TYPE_KSTACK: return "kstack";
	case TYPE_COUNT: return "count_t";
	case TYPE_SUM: return t->is_signed ? "sum_t" : "usum_t";
	case TYPE_MIN: return t->is_signed ? "min_t" : "umin_t";
	case TYPE_MAX: return t->is_signed ? "max_t" : "umax_t";
	case TYPE_AVG: return t->is_signed ? "avg_t" : "uavg_t";
	case TYPE_STATS: return t->is_signed ? "stats_t" : "ustats_t";
	case TYPE_HIST: return "hist_t";
	case TYPE_LHIST: return "lhist_t";
	case TYPE_DISPLAY: return display_name(t);
	default: return "stack";
	}
}

static void print_full(const struct ctype_machine *m, const struct type *t, struct buf *out);

static void print_parts(const struct ctype_machine *m, const struct type *t, struct buf *out)
{
	bool is_record = t->show == SHOW_RECORD;

	buf_text(out, is_record ? "record { " : "(");
	for (unsigned i = 0; i < t->element_count; i++) {
		buf_text(out, !i ? "" : is_record ? ", " : ",");
		if (is_record)
			buf_printf(out, ".%.*s = ", STR_FMT(t->elements[i].name));
		print_full(m, &t->elements[i], out);
	}
	buf_text(out, is_record ? " }" : ")");
}

/* The kind, the mode and the limit. */
static void print_stack(const struct type *t, struct buf *out)
{
	const char *mode = t->show == SHOW_PERF	      ? "perf"
			   : t->show == SHOW_RAW      ? "raw"
			   : t->show == SHOW_BUILD_ID ? "build_id"
						      : "bpftrace";

	buf_printf(out, "%s_%s_%u", base_name(t), mode, t->size / 8);
}

static bool is_sized_text(const struct type *t)
{
	return !strcmp(base_name(t), "string") && t->kind != TYPE_NAME;
}

/* Numbers have one name, whatever C calls them: "uint64" for "size_t". */
static void print_c(const struct ctype_machine *m, const struct ctype *t, struct buf *out)
{
	struct ctype_layout is = ctype_layout(t, m);
	enum ctype_kind kind = ctype_kind(t);

	if (kind == CTYPE_POINTER) {
		print_c(m, ctype_resolve(t)->to, out);
		buf_text(out, " *");
	} else if (kind == CTYPE_INTEGER || kind == CTYPE_CHAR) {
		buf_printf(out, "%sint%u", is.is_signed ? "" : "u", 8 * (unsigned)is.size);
	} else {
		ctype_print(out, t, STR(""));
	}
}

/* "int64", "string[6]", "(int8,string[3])" */
static void print_full(const struct ctype_machine *m, const struct type *t, struct buf *out)
{
	unsigned size = t->shown ? t->shown : t->size;

	if (is_sized_text(t))
		buf_printf(out, "string[%u]", type_capacity(t));
	else if (t->ctype && t->show != SHOW_BOOL)
		print_c(m, t->ctype, out);
	else if (t->kind == TYPE_TUPLE && t->show == SHOW_ARRAY)
		buf_printf(out, "%sint%u[%u]", t->elements[0].is_signed ? "" : "u",
			   8 * t->elements[0].size, t->element_count);
	else if (t->kind == TYPE_TUPLE)
		print_parts(m, t, out);
	else if (t->kind == TYPE_INT && t->show != SHOW_BOOL)
		buf_printf(out, "%sint%u", t->is_signed ? "" : "u", 8 * size);
	else if (t->kind == TYPE_BUF)
		buf_printf(out, "buffer[%u]", type_capacity(t));
	else if (t->kind == TYPE_USTACK || t->kind == TYPE_KSTACK)
		print_stack(t, out);
	else
		buf_text(out, base_name(t));
}

/* What a map holds, also if scripts cannot read it; of a map with keys that is given none, what
 * its keys are. */
static struct type map_type(struct check *c, struct expr *e)
{
	e->map = check_map(c, e->text);
	if (!c->err && !e->arg_count && e->map->has_key && e->map->key.kind != TYPE_NONE)
		return e->map->key;
	if (e->map)
		e->map->is_read = true;
	if (!c->err && !e->map->has_key && !e->arg_count)
		check_filled(c, e, "read"); /* its keys show further down, if it has any */
	if (!c->err)
		check_map_key(c, e);
	if (!c->err)
		check_filled(c, e, "read");
	return c->err ? (struct type){.kind = TYPE_NONE} : e->map->value;
}

static struct type type_of(struct check *c, struct expr *e)
{
	if (e->kind == EXPR_MAP)
		return map_type(c, e);
	check_asked(c, e);
	if (!c->err && e->is_whole)
		check_whole_value(c, e);
	return e->shape.type;
}

/* A struct in memory has a C type only; other values are as the script keeps them. */
static void describe_type(struct check *c, struct expr *e, struct str *base, struct buf *full)
{
	struct type t = type_of(c, e);

	if (c->err)
		return;
	if (t.kind == TYPE_NONE && e->is_place && t.ctype) {
		*base = t.ctype->kind == CTYPE_ARRAY ? STR("array") : STR("record");
		ctype_print(full, t.ctype, STR(""));
		return;
	}
	if (t.kind == TYPE_NONE)
		check_error(c, e, "no-value", "this has no value and so no type");
	*base = str_from(base_name(&t));
	print_full(&c->s->tree.types.machine, &t, full);
}

/* e becomes (btf_id=0, base_type="int", full_type="int64"). */
static void check_typeinfo(struct check *c, struct expr *e)
{
	struct expr **args = arena_array(&c->s->arena, struct expr *, 3), *of = e->args[0];
	struct buf full = BUF_INIT;
	struct str base = STR("");

	check_unstable(c, e, "unstable_typeinfo", c->s->facts.unstable_typeinfo);
	if (!c->err)
		describe_type(c, of, &base, &full);
	if (!args)
		c->err = -ENOMEM;
	if (!c->err) {
		struct str text = arena_str(&c->s->arena, buf_as_str(&full));

		args[0] = new_constant(c, e, (struct expr){.kind = EXPR_INT});
		args[1] = new_constant(c, e, (struct expr){.kind = EXPR_STRING, .text = base});
		args[2] = new_constant(c, e, (struct expr){.kind = EXPR_STRING, .text = text});
	}
	buf_free(&full);
	if (c->err)
		return;
	e->kind = EXPR_TUPLE;
	e->args = args;
	e->arg_count = 3;
	e->text = STR("btf_id base_type full_type");
	check_expr(c, e);
}

/* clang-format off */
const struct function typeinfo_rows[] = {
	{ "typeinfo", "x", GROUP_FUNCTION, 0, 0, NO_RESULT, check_typeinfo, NULL, 0,
	  "the type of a value, as a record", "print(typeinfo(pid).full_type);" },
	{ .name = NULL },
};
/* clang-format on */
