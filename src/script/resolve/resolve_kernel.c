/* Probes of the kernel itself -> attachments: raw tracepoints, functions, iterators. What their
 * arguments are called and of what types they are, the kernel's BTF says. */
#include <errno.h>
#include <unistd.h>

#include "script/resolve/probe_search.h"

/* Without BTF a raw tracepoint has as many arguments as the kernel allows, of which nothing is
 * known. */
#define RAW_ARGUMENTS 12

/* The word at an offset of what the kernel hands over. */
static struct argument word_at(uint64_t offset, struct str name, const struct ctype *type)
{
	return (struct argument){.operand = {.kind = OPERAND_CONTEXT,
					     .size = 8,
					     .bytes = 8,
					     .value = (int64_t)offset,
					     .raw = STR("word")},
				 .name = name,
				 .type = type,
				 .counted_by = -1};
}

/* An argument for each of the parameters from `p` on; `most` when they are not known. */
static int add_words(struct probe_search *q, const struct ctype_param *p, bool is_known,
		     unsigned most, struct attach *at)
{
	struct argument *args = arena_array(&q->s->arena, struct argument, most);
	unsigned count = 0;

	if (!args)
		return -ENOMEM;
	for (; count < most && (p || !is_known); count++, p = p ? p->next : NULL)
		args[count] =
			word_at(8 * (uint64_t)count, p ? p->name : STR(""), p ? p->type : NULL);
	at->args = args;
	at->arg_count = count;
	return 0;
}

/* ---- rawtracepoint ---- */

/* The first parameter of the function that calls what is attached is not of the tracepoint. */
static int add_raw(void *arg, struct str name, const struct ctype *function)
{
	struct probe_search *q = arg;
	struct arena *a = &q->s->arena;
	struct str probe = arena_printf(a, "rawtracepoint:%.*s", STR_FMT(name));
	struct attachment attachment = {.attach = {.kind = ATTACH_RAW, .arch = arch_host()}};
	const struct ctype_param *p = function && function->params ? function->params->next : NULL;
	int err;

	attachment.attach.tracepoint = arena_str(a, name);
	if (!probe.ptr || !attachment.attach.tracepoint.ptr)
		return -ENOMEM;
	err = add_words(q, p, function != NULL, function ? OPERANDS_MAX : RAW_ARGUMENTS,
			&attachment.attach);
	return err ? err : search_add(q, attachment, probe, STR(""));
}

/* Only of a module that is loaded there are functions and events. */
bool kernel_has_module(struct arena *a, struct str module)
{
	struct str path;

	if (!module.len || str_has_wildcard(module) || str_eq_text(module, "vmlinux"))
		return true;
	path = arena_printf(a, "/sys/module/%.*s", STR_FMT(module));
	return path.ptr && str_index(module, '/') < 0 && !access(path.ptr, F_OK);
}

int resolve_raw(struct probe_search *q)
{
	const struct script_source *source = q->source;

	if (q->spec->attachment_count || !kernel_has_module(&q->s->arena, q->spec->provider))
		return 0;
	return source->raw_events
		       ? source->raw_events(source->self, q->spec->name, add_raw, q, q->d)
		       : add_raw(q, q->spec->name, NULL);
}

/* ---- Functions ---- */

/* A value that takes two words, as some structs do, moves the arguments after it. */
static bool is_wide(const struct ctype *t, const struct ctype_machine *m)
{
	return ctype_layout(t, m).size > 8;
}

/* What is passed to the function: of fentry the words that the kernel hands over, of a kprobe
 * registers. */
static int function_words(struct probe_search *q, const struct ctype *type, struct attach *at)
{
	const struct arch *arch = at->arch;
	struct ctype_machine m = ctype_machine_of(arch->machine, arch->word);
	struct argument *args;
	unsigned slot = 0, n = 0;
	int err = add_words(q, type ? type->params : NULL, type != NULL, OPERANDS_MAX, at);

	if (err)
		return err;
	args = (struct argument *)at->args; /* made by add_words() */
	for (; n < at->arg_count; n++, slot++) {
		args[n].operand.value = 8 * (int64_t)slot;
		slot += args[n].type && is_wide(args[n].type, &m);
	}
	return 0;
}

static int register_arguments(struct probe_search *q, struct attach *at)
{
	struct argument *args =
		arena_array(&q->s->arena, struct argument, at->arch->call_reg_count + 1u);
	unsigned n = 0;

	if (!args)
		return -ENOMEM;
	for (; n < at->arch->call_reg_count && operand_call_arg(at->arch, n, &args[n].operand);
	     n++) {
		args[n].operand.raw = str_from(arch_reg_name(at->arch, args[n].operand.reg));
		args[n].counted_by = -1;
	}
	at->args = args;
	at->arg_count = n;
	return 0;
}

static bool is_traced(enum probe_type type)
{
	return type == PROBE_FENTRY || type == PROBE_FEXIT;
}

static int add_kernel_function(void *arg, const struct kernel_function *f)
{
	/* clang-format off */
	static const enum attach_kind kinds[] = {
		[PROBE_KPROBE] = ATTACH_KPROBE, [PROBE_KRETPROBE] = ATTACH_KRETPROBE,
		[PROBE_FENTRY] = ATTACH_FENTRY, [PROBE_FEXIT]     = ATTACH_FEXIT,
	};
	/* clang-format on */
	struct probe_search *q = arg;
	struct arena *a = &q->s->arena;
	const struct probe_spec *spec = q->spec;
	struct str module = spec->provider, probe;
	struct attachment at = {.attach = {.kind = kinds[spec->type],
					   .function = arena_str(a, f->name),
					   .btf_id = f->id,
					   .offset = spec->offset,
					   .arch = arch_host()}};
	int err = 0;

	if (!f->id && is_traced(spec->type)) /* it is missing, or without types */
		return 0;
	if (!f->id && spec->is_one_of && !kernel_has_function(q->source, f->name))
		return 0;
	probe = arena_printf(a, "%s:%.*s%s%.*s", probe_type_name(spec->type), STR_FMT(module),
			     module.len ? ":" : "", STR_FMT(f->name));
	if (spec->offset && !spec->has_address)
		probe = arena_printf(a, "%.*s+%llu", STR_FMT(probe),
				     (unsigned long long)spec->offset);
	if (!probe.ptr || !at.attach.function.ptr)
		return -ENOMEM;
	if (is_traced(spec->type))
		err = function_words(q, f->type, &at.attach);
	else if (spec->type == PROBE_KPROBE && !spec->offset)
		err = register_arguments(q, &at.attach);
	if (spec->type == PROBE_FEXIT && f->type)
		at.result = f->type->to;
	if (spec->has_address)
		at.attach.function = STR("");
	return err ? err : search_add(q, at, probe, f->name);
}

/* Of those that BTF does not describe. */
bool kernel_has_function(const struct script_source *source, struct str name)
{
	uint64_t address;

	return !source->kernel_symbol || !source->kernel_symbol(source->self, name, &address, NULL);
}

int resolve_kernel_function(struct probe_search *q)
{
	const struct script_source *source = q->source;
	struct kernel_function only = {.name = q->spec->name};

	if (q->spec->attachment_count || !kernel_has_module(&q->s->arena, q->spec->provider))
		return 0;
	if (!source->kernel_functions || q->spec->has_address)
		return add_kernel_function(q, &only);
	return source->kernel_functions(source->self, q->spec->name, add_kernel_function, q, q->d);
}

/* ---- iter ---- */

/* The kernel wraps each pointer in a union with 8 bytes, so that all machines have it alike. */
const struct ctype_member *context_member(const struct ctype_member *m)
{
	const struct ctype *t = ctype_resolve(m->type);

	return !m->name.len && t && !ctype_complete(t) && t->member_count ? t->members : m;
}

/* A struct of the kernel has what iter:task hands over, and a function is what iterates. */
int resolve_iter(struct probe_search *q)
{
	const struct script_source *source = q->source;
	struct arena *a = &q->s->arena;
	struct str name = q->spec->name, probe = arena_printf(a, "iter:%.*s", STR_FMT(name));
	struct attachment at = {.attach = {.kind = ATTACH_ITER, .arch = arch_host()}};
	const struct ctype *context;
	struct argument *args;
	int err = -ENOENT;

	if (q->spec->attachment_count)
		return 0;
	if (source->type)
		err = source->type(source->self, NULL, CTYPE_STRUCT,
				   arena_printf(a, ITER_CONTEXT "%.*s", STR_FMT(name)), &context,
				   q->d);
	if (!err)
		err = source->kernel_id(source->self, CTYPE_FUNCTION,
					arena_printf(a, "bpf_iter_%.*s", STR_FMT(name)),
					&at.attach.btf_id, q->d);
	if (!err)
		err = ctype_complete(context);
	if (err)
		return err == -ENOENT ? 0 : err;
	args = arena_array(a, struct argument, context->member_count + 1u);
	if (!args || !probe.ptr)
		return -ENOMEM;
	for (unsigned i = 0; i < context->member_count; i++) {
		const struct ctype_member *m = context_member(&context->members[i]);

		args[i] = word_at(context->members[i].offset, m->name, m->type);
	}
	at.attach.args = args;
	at.attach.arg_count = context->member_count;
	at.attach.function = name;
	return search_add(q, at, probe, STR(""));
}
