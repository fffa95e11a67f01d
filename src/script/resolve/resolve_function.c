/* Functions and addresses of programs -> attachments. */
#include "script/resolve/probe_search.h"

#include <errno.h>

#define STACK_ARGUMENTS 8 /* of a function, after those in registers */

/* Integer arguments of a function, as its calling convention has them at its first instruction. */
static struct argument *call_args(struct arena *a, const struct arch *arch, unsigned *count)
{
	unsigned most = arch->call_reg_count + STACK_ARGUMENTS;
	struct operand list[OPERANDS_MAX];
	struct argument *args;
	unsigned n = 0;

	for (; n < most && operand_call_arg(arch, n, &list[n]); n++) {
		struct operand *o = &list[n];

		o->raw = o->kind == OPERAND_REG ? str_from(arch_reg_name(arch, o->reg))
						: STR("stack");
	}
	args = arguments_new(a, list, n);
	*count = args ? n : 0;
	return args;
}

/* The 4 of f+4. */
static uint64_t added_offset(const struct probe_search *q)
{
	return q->spec->has_address ? 0 : q->spec->offset;
}

/* file.c:12, and with a column file.c:12:3. */
static struct str line_text(const struct probe_search *q, unsigned line)
{
	const struct probe_spec *s = q->spec;
	struct arena *a = &q->s->arena;

	return s->column ? arena_printf(a, "%.*s:%u:%u", STR_FMT(s->source), line, s->column)
			 : arena_printf(a, "%.*s:%u", STR_FMT(s->source), line);
}

static struct str function_probe_name(const struct probe_search *q, const struct found_function *f,
				      uint64_t plus)
{
	struct arena *a = &q->s->arena;
	const char *type = probe_type_name(q->spec->type);

	if (q->spec->is_demangled)
		return arena_printf(a, "%s:%.*s:cpp:\"%.*s\"", type, STR_FMT(f->path),
				    STR_FMT(f->plain));
	if (q->spec->line)
		return arena_printf(a, "%s:%.*s@%.*s", type, STR_FMT(f->path),
				    STR_FMT(line_text(q, q->spec->line)));
	if (q->spec->has_address)
		return arena_printf(a, "%s:%.*s:0x%llx", type, STR_FMT(f->path),
				    (unsigned long long)q->spec->offset);
	if (plus)
		return arena_printf(a, "%s:%.*s:%.*s+%llu", type, STR_FMT(f->path),
				    STR_FMT(f->name), (unsigned long long)plus);
	return arena_printf(a, "%s:%.*s:%.*s", type, STR_FMT(f->path), STR_FMT(f->name));
}

/* Is there an attachment of this probe at this offset of this file? */
static bool has_attachment(const struct probe_search *q, struct str path, uint64_t offset)
{
	const struct attachment_list *list = q->clause->attachments;

	for (size_t i = 0; i < list->count; i++)
		if (list->items[i]->spec == q->spec && list->items[i]->attach.offset == offset &&
		    str_eq(list->items[i]->attach.path, path))
			return true;
	return false;
}

/* After the end of its function, or in none, the start of instructions is unknown. False: the
 * attachment is skipped, with a message. */
static bool check_extent(const struct probe_search *q, const struct found_function *f)
{
	static const char tag[] = "outside-function";
	bool is_entry =
		!q->spec->has_address && !q->spec->offset && !q->spec->line && !f->is_inlined;
	bool is_pattern = str_has_wildcard(q->spec->name), unsafe = q->s->options.unsafe;
	unsigned long long offset = q->spec->line || f->is_inlined ? f->address : q->spec->offset;
	struct str text;

	if (is_entry || (f->extent && f->offset - f->start + added_offset(q) < f->extent))
		return true;
	if (f->extent)
		text = arena_printf(
			&q->s->arena, "'%.*s' of '%.*s' has %llu bytes: +%llu is after its end",
			STR_FMT(f->name), STR_FMT(f->path), (unsigned long long)f->extent, offset);
	else
		text = arena_printf(&q->s->arena,
				    "0x%llx of '%.*s' is not in a function that has a symbol",
				    offset, STR_FMT(f->path));
	if (unsafe || is_pattern) {
		diag_warn_at(q->d, tag, search_span(q), "%.*s%s", STR_FMT(text),
			     unsafe ? "" : "; it is skipped");
		return unsafe;
	}
	diag_error_at(q->d, -EINVAL, tag, search_span(q), "%.*s", STR_FMT(text));
	diag_hint(q->d,
		  "it is not known where instructions start there; --unsafe probes it anyway");
	return false;
}

/* At a return what the stack had at the call may be overwritten; and the kernel keeps the
 * arguments, which sees no vector registers. */
static void lose_at_return(struct attachment *at, struct argument *args)
{
	for (unsigned i = 0; i < at->attach.arg_count; i++) {
		struct operand *o = &args[i].operand;
		const char *why =
			args[i].passed == PASSED_AT_ADDRESS
				? "it is a struct on the stack, which is only kept until the "
				  "function returns"
			: o->kind == OPERAND_REG && o->is_float
				? "it was passed in a vector register, which the kernel's "
				  "tracers cannot see"
				: NULL;

		if (why)
			*o = (struct operand){.kind = OPERAND_BAD, .raw = STR(""), .why = why};
	}
}

/* The names and types of a function's parameters and of its result, where the clause uses them. */
static int add_types(struct probe_search *q, const struct found_function *f, struct attachment *at)
{
	const struct uses *u = q->clause->uses;
	bool is_return = q->spec->type == PROBE_URETPROBE;
	struct argument *args = (struct argument *)at->attach.args; /* made by call_args() */
	struct function_types types;
	int err;

	if (!f->arch || at->attach.into || f->is_inlined || !q->source->function_types ||
	    !((is_return && (u->needs & NEED_RESULT)) || resolve_uses_fields(u)))
		return 0;
	err = q->source->function_types(q->source->self, f, &types, q->d);
	if (err)
		return err == -ENOENT ? 0 : err;
	at->result = types.params.type->to;
	at->numbered = at->attach.arg_count;
	if (!args)
		return 0;
	err = function_arguments(&q->s->arena, f->arch, &types.params, &args, &at->attach.arg_count,
				 &at->params, &at->param_count);
	at->attach.args = args;
	if (!err && is_return)
		lose_at_return(at, args);
	return err;
}

static int add_function(void *arg, const struct found_function *f)
{
	struct probe_search *q = arg;
	struct arena *a = &q->s->arena;
	uint64_t plus = added_offset(q);
	struct str name = function_probe_name(q, f, plus);
	struct attachment attachment = {
		.attach = {.kind = q->spec->type == PROBE_URETPROBE ? ATTACH_URETPROBE
								    : ATTACH_UPROBE,
			   .path = arena_str(a, f->open_path),
			   .file = f->file,
			   .offset = f->offset + plus,
			   .into = f->extent ? f->offset - f->start + plus : 0,
			   .is_forced = q->s->options.unsafe,
			   .arch = f->arch},
	};
	int err;

	q->found = true;
	if (f->is_inlined && q->spec->type == PROBE_URETPROBE)
		return diag_error_at(
			q->d, -EINVAL, "inlined", search_span(q),
			"'%.*s' does not return: the compiler put it into other functions",
			STR_FMT(f->name));
	if (has_attachment(q, f->open_path, attachment.attach.offset))
		return 0;
	if (!check_extent(q, f))
		return 0;
	/* Where the ABI has arguments at the function's first instruction; further in, only its
	 * code says where they are. */
	if (q->spec->line && f->line != q->spec->line && !q->spec->attachment_count)
		diag_warn_at(q->d, "other-line", search_span(q),
			     "'%.*s' has no code: '%.*s' is probed",
			     STR_FMT(line_text(q, q->spec->line)), STR_FMT(line_text(q, f->line)));
	if ((q->spec->type == PROBE_UPROBE || resolve_uses_fields(q->clause->uses)) && f->arch &&
	    !f->is_inlined)
		attachment.attach.args = call_args(a, f->arch, &attachment.attach.arg_count);
	if (!name.ptr || !attachment.attach.path.ptr || search_hold(q, f->file))
		return -ENOMEM;
	err = add_types(q, f, &attachment);
	return err ? err : search_add(q, attachment, name, f->name);
}

/* The name in a query: a pattern, or uprobe:PATH:0x1234, the instruction at a link-time address. */
int resolve_function(struct probe_search *q)
{
	const struct probe_spec *spec = q->spec;
	struct find_query query = {.pid = q->s->options.pid,
				   .path = spec->path,
				   .name = spec->name,
				   .to_attach = true,
				   .source = spec->source,
				   .line = spec->line,
				   .column = spec->column,
				   .is_demangled = spec->is_demangled};

	if (spec->has_address)
		query.name = arena_printf(&q->s->arena, "0x%llx", (unsigned long long)spec->offset);
	if (!query.name.ptr)
		return -ENOMEM;
	return q->source->functions(q->source->run, &query, add_function, q, q->d);
}
