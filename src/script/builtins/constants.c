/* Functions that the compiler answers: what kind of expression something is, assertions that hold
 * or not before anything runs, values of the command line. Their results are constants. */
#include <errno.h>
#include <sys/stat.h>

#include "script/builtins/function.h"
#include "script/check/ctypes.h"
#include "script/check/map.h"
#include "script/lower/lower.h"
#include "script/resolve/script_source.h"

/* The row has its type, RESULT_BOOL. */
static void set_bool(struct expr *e, bool value)
{
	e->is_const = true;
	e->value = value;
}

/* What is_str() and its like ask. ORDER: the numbers of the rows */
enum question { IS_LITERAL, IS_STR, IS_PTR, IS_ARRAY, IS_INTEGER, IS_UNSIGNED };

static bool is_array(const struct expr *e)
{
	const struct type *t = &e->shape.type;

	return t->show == SHOW_ARRAY || (e->is_place && t->ctype && t->ctype->kind == CTYPE_ARRAY);
}

static bool answer_question(const struct expr *e, enum question question)
{
	const struct type *t = &e->shape.type;
	bool is_int = t->kind == TYPE_INT && !type_target(t);

	switch (question) {
	case IS_LITERAL: return e->kind == EXPR_STRING || e->is_const;
	case IS_STR: return t->kind == TYPE_STR;
	case IS_PTR: return t->kind == TYPE_INT && type_target(t);
	case IS_ARRAY: return is_array(e);
	case IS_INTEGER: return is_int;
	case IS_UNSIGNED: return is_int && !t->is_signed;
	}
	return false;
}

static void check_question(struct check *c, struct expr *e)
{
	check_expr(c, e->args[0]);
	set_bool(e, !c->err && answer_question(e->args[0], (enum question)e->function->number));
}

/* is_scalar(@m) */
static void check_is_scalar(struct check *c, struct expr *e)
{
	check_filled(c, e->args[0], "used");
	set_bool(e, !c->err && e->args[0]->map->key.kind == TYPE_NONE);
}

/* static_assert(condition, "message") */
static void check_static_assert(struct check *c, struct expr *e)
{
	const struct expr *condition = e->args[0];

	check_int(c, condition, "the condition of 'static_assert'");
	if (!c->err && !condition->is_const)
		check_error(c, condition, "wrong-arg-type",
			    "'static_assert' expects a constant: 'assert' looks at values");
	else if (!c->err && !condition->value)
		check_error(c, e, "static-assert", "%.*s", STR_FMT(e->args[1]->text));
}

/* fail("format", literal...): an error where the compiler meets it */
static void check_fail(struct check *c, struct expr *e)
{
	struct buf text = BUF_INIT;
	struct str rest = e->args[0]->text;
	struct piece p;
	unsigned n = 1;

	for (unsigned i = 1; i < e->arg_count && !c->err; i++)
		if (!answer_question(e->args[i], IS_LITERAL))
			check_error(c, e->args[i], "wrong-arg-type",
				    "the arguments of 'fail' must be literals");
	while (piece_next(&rest, &p)) {
		const struct expr *a = p.letter && n < e->arg_count ? e->args[n++] : NULL;

		if (!a)
			buf_str(&text, p.text);
		else if (a->kind == EXPR_STRING)
			buf_str(&text, a->text);
		else
			buf_s64(&text, (int64_t)a->value);
	}
	check_error(c, e, "script-fails", "%.*s", STR_FMT(buf_as_str(&text)));
	buf_free(&text);
}

/* kfunc_exist("f"): does the kernel have a function of this name? */
static void check_kfunc_exist(struct check *c, struct expr *e)
{
	const struct script_source *source = c->s->source;
	const struct ctype *t;

	set_bool(e, source->type && !source->type(source->self, NULL, CTYPE_FUNCTION,
						  e->args[0]->text, &t, c->d));
}

/* kfunc_allowed("f"): scripts call none, so those that ask take another way. */
static void check_kfunc_allowed(struct check *c, struct expr *e)
{
	(void)c;
	set_bool(e, false);
}

/* ---- config: a record of constants ---- */

static const char *stack_mode_name(uint8_t show)
{
	static const char *const names[] = {
		[SHOW_PERF] = "perf",
		[SHOW_RAW] = "raw",
		[SHOW_FILE] = "file",
		[SHOW_BUILD_ID] = "build_id",
	};

	return show < sizeof(names) / sizeof(*names) && names[show] ? names[show] : "bpftrace";
}

static void check_config(struct check *c, struct expr *e)
{
	static const char *const missing[] = {"error", "warn", "ignore"};
	const struct script_facts *f = &c->s->facts;
	const struct script_options *o = &c->s->options;
	/* clang-format off */
	const struct {
		const char *name, *text; /* text NULL: a number; "": a bool */
		uint64_t number;
	} settings[] = {
		{ "cpp_demangle", "", f->demangle },
		{ "lazy_symbolication", "", f->lazy_symbolication },
		{ "print_maps_on_exit", "", f->print_maps_on_exit },
		{ "use_blazesym", "", f->use_blazesym },
		{ "show_debug_info", "", f->show_debug_info },
		{ "log_size", NULL, f->log_size },
		{ "max_bpf_progs", NULL, f->max_bpf_progs },
		{ "max_cat_bytes", NULL, f->max_cat_bytes ? f->max_cat_bytes : 10240 },
		{ "max_map_keys", NULL, f->max_map_keys ? f->max_map_keys : 262144 },
		{ "max_probes", NULL, f->max_probes },
		{ "max_strlen", NULL, f->max_strlen },
		{ "on_stack_limit", NULL, f->on_stack_limit },
		{ "perf_rb_pages", NULL, f->ring_pages ? f->ring_pages : 1024 },
		{ "str_trunc_trailer", f->trunc_trailer.len ? f->trunc_trailer.ptr : " ", 0 },
		{ "unstable_import_statement", f->unstable_import, 0 },
		{ "unstable_tseries", f->unstable_tseries, 0 },
		{ "unstable_typeinfo", f->unstable_typeinfo, 0 },
		{ "unstable_dw_ustack", f->unstable_dw_ustack, 0 },
		{ "missing_probes", missing[o->missing_probes], 0 },
		{ "stack_mode", stack_mode_name(o->stack_mode), 0 },
		{ "license", f->license.ptr, 0 },
	};
	/* clang-format on */
	enum { SETTINGS = sizeof(settings) / sizeof(*settings) };
	struct expr **args = arena_array(&c->s->arena, struct expr *, SETTINGS);
	struct buf names = BUF_INIT;

	for (unsigned i = 0; args && i < SETTINGS && !c->err; i++) {
		struct expr constant = {.kind = EXPR_INT, .number = settings[i].number};

		if (settings[i].text && settings[i].text[0])
			constant = (struct expr){.kind = EXPR_STRING,
						 .text = str_from(settings[i].text)};
		else if (settings[i].text)
			constant = (struct expr){
				.kind = EXPR_NAME,
				.text = str_from(settings[i].number ? "true" : "false")};
		args[i] = new_constant(c, e, constant);
		buf_printf(&names, "%s%s", i ? " " : "", settings[i].name);
	}
	if (!args || c->err) {
		c->err = -ENOMEM;
	} else {
		e->kind = EXPR_TUPLE; /* the row stays: what is read of it is a constant */
		e->args = args;
		e->arg_count = SETTINGS;
		e->text = arena_str(&c->s->arena, buf_as_str(&names));
		check_expr(c, e);
	}
	buf_free(&names);
}

/* Nothing is left to be done when the script runs. */
static void lower_nothing(struct lower *l, const struct expr *e, uint16_t out)
{
	(void)l;
	(void)e;
	(void)out;
}

/* uptr(p), kptr(p): whose memory an address leads to */
static void check_space(struct check *c, struct expr *e)
{
	check_expr(c, e->args[0]);
	check_int(c, e->args[0], "an address");
	if (c->err)
		return;
	e->shape = e->args[0]->shape;
	e->shape.type.is_kernel = e->function->number;
}

static void lower_space(struct lower *l, const struct expr *e, uint16_t out)
{
	lower_word_to(l, e->args[0], out);
}

/* cpid: the process of -c; has_cpid: is there one? */
static void check_child(struct check *c, struct expr *e)
{
	const struct script_options *o = &c->s->options;

	if (e->function->number) {
		set_bool(e, o->has_command);
		return;
	}
	e->is_const = true;
	e->value = o->has_command ? (uint64_t)o->pid : 0;
	if (!o->has_command)
		diag_warn_at(c->d, "no-command", script_span(c->s, e->mark),
			     "'cpid' is 0: no command was started with -c");
}

/* cgroupid("/sys/fs/cgroup/a"): the number of a cgroup is the inode number of its folder. */
static void check_cgroupid(struct check *c, struct expr *e)
{
	const char *path = arena_text(&c->s->arena, e->args[0]->text);
	struct stat st;

	if (!path) {
		c->err = -ENOMEM;
		return;
	}
	if (stat(path, &st))
		check_error(c, e->args[0], "no-cgroup", "cannot find the cgroup '%s': %s", path,
			    strerror(errno));
	e->is_const = true;
	e->value = st.st_ino;
}

/* clang-format off */

/* name, arguments, group, needs, probe types, result, check, lowering, number, help, example */
const struct function constant_rows[] = {
	{ "config", "", GROUP_VALUE, 0, 0, NO_RESULT, check_config, lower_nothing, 0,
	  "the settings of the script", "print(config.max_strlen);" },
	{ "cpid", "", GROUP_VALUE, 0, 0, RESULT_U64, check_child, lower_nothing, false,
	  "the process of the command of -c", "if (pid == cpid) { @ = count(); }" },
	{ "has_cpid", "", GROUP_VALUE, 0, 0, RESULT_BOOL, check_child, lower_nothing, true,
	  "is there a command of -c?", "print(has_cpid);" },
	{ "cgroupid", "s", GROUP_FUNCTION, 0, 0, RESULT_U64, check_cgroupid, lower_nothing, 0,
	  "the number of a control group", "if (cgroup == cgroupid(\"/sys/fs/cgroup\")) { @ = count(); }" },
	{ "uptr", "x", GROUP_FUNCTION, 0, 0, NO_RESULT, check_space, lower_space, false,
	  "an address of the program's memory", "print(*uptr((int32 *)arg0));" },
	{ "kptr", "x", GROUP_FUNCTION, 0, 0, NO_RESULT, check_space, lower_space, true,
	  "an address of the kernel's memory", "print(*kptr((int32 *)arg0));" },
	{ "is_literal", "x", GROUP_FUNCTION, 0, 0, RESULT_BOOL, check_question, lower_nothing, IS_LITERAL,
	  "is it known when the script is compiled?", "print(is_literal(5));" },
	{ "is_str", "x", GROUP_FUNCTION, 0, 0, RESULT_BOOL, check_question, lower_nothing, IS_STR,
	  "is it a string?", "print(is_str(comm));" },
	{ "is_ptr", "x", GROUP_FUNCTION, 0, 0, RESULT_BOOL, check_question, lower_nothing, IS_PTR,
	  "is it a pointer?", "print(is_ptr((int32 *)arg0));" },
	{ "is_array", "x", GROUP_FUNCTION, 0, 0, RESULT_BOOL, check_question, lower_nothing, IS_ARRAY,
	  "is it an array?", "print(is_array(pton(\"::1\")));" },
	{ "is_integer", "x", GROUP_FUNCTION, 0, 0, RESULT_BOOL, check_question, lower_nothing, IS_INTEGER,
	  "is it an integer?", "print(is_integer(pid));" },
	{ "is_unsigned_integer", "x", GROUP_FUNCTION, 0, 0, RESULT_BOOL, check_question, lower_nothing, IS_UNSIGNED,
	  "is it an unsigned integer?", "print(is_unsigned_integer(pid));" },
	{ "is_scalar", "m", GROUP_FUNCTION, 0, 0, RESULT_BOOL, check_is_scalar, lower_nothing, 0,
	  "is it a map without keys?", "@ = 1; print(is_scalar(@));" },
	{ "kfunc_exist", "s", GROUP_FUNCTION, 0, 0, RESULT_BOOL, check_kfunc_exist, lower_nothing, 0,
	  "does the kernel have this function?", "print(kfunc_exist(\"vfs_read\"));" },
	{ "kfunc_allowed", "s", GROUP_FUNCTION, 0, 0, RESULT_BOOL, check_kfunc_allowed, lower_nothing, 0,
	  "false: scripts call none of the kernel", "print(kfunc_allowed(\"bpf_task_from_pid\"));" },
	{ "static_assert", "es", GROUP_STATEMENT, 0, 0, NO_RESULT, check_static_assert, lower_nothing, 0,
	  "refuse the script unless it holds", "static_assert(sizeof(uint64) == 8, \"8 bytes\");" },
	{ "fail", "s*", GROUP_STATEMENT, 0, 0, NO_RESULT, check_fail, lower_nothing, 0,
	  "refuse the script with this message", "if comptime (!is_integer(pid)) { fail(\"no pid\"); }" },
	{ .name = NULL },
};
/* clang-format on */
