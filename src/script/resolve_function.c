/* uprobe and uretprobe: functions and addresses -> places. A function's arguments are where the
 * calling convention has them at its first instruction. */
#include <errno.h>

#include "script/resolve.h"

#define STACK_ARGUMENTS 8 /* of a function, after those in registers */

/* Integer arguments of a function, as its calling convention has them at its first instruction. */
static struct operand *call_operands(struct arena *a, const struct arch *arch, unsigned *count)
{
	unsigned most = arch->call_reg_count + STACK_ARGUMENTS;
	struct operand *list = arena_array(a, struct operand, most);
	unsigned n = 0;

	for (; list && n < most && operand_call_arg(arch, n, &list[n]); n++) {
		struct operand *o = &list[n];

		o->raw = o->kind == OPERAND_REG ? str_from(arch_reg_name(arch, o->reg))
						: STR("stack");
	}
	*count = n;
	return list;
}

/* The 4 of f+4. */
static uint64_t added(const struct search *q)
{
	return q->spec->has_address ? 0 : q->spec->offset;
}

static struct str function_probe_name(const struct search *q, const struct found_function *f,
				      uint64_t plus)
{
	struct arena *a = &q->s->arena;
	const char *type = probe_type_name(q->spec->type);

	if (q->spec->has_address)
		return arena_printf(a, "%s:%.*s:0x%llx", type, STR_FMT(f->path),
				    (unsigned long long)q->spec->offset);
	if (plus)
		return arena_printf(a, "%s:%.*s:%.*s+%llu", type, STR_FMT(f->path),
				    STR_FMT(f->name), (unsigned long long)plus);
	return arena_printf(a, "%s:%.*s:%.*s", type, STR_FMT(f->path), STR_FMT(f->name));
}

/* Is there a place of this probe at this offset of this file? */
static bool has_place(const struct search *q, struct str path, uint64_t offset)
{
	const struct place_list *list = q->clause->places;

	for (size_t i = 0; i < list->count; i++)
		if (list->items[i]->spec == q->spec && list->items[i]->attach.offset == offset &&
		    str_eq(list->items[i]->attach.path, path))
			return true;
	return false;
}

/* "'f' of '/bin/x' has 995 bytes: +5000 is after its end" */
static struct str outside_text(const struct search *q, const struct found_function *f)
{
	unsigned long long offset = q->spec->offset;

	if (!f->extent)
		return arena_printf(&q->s->arena,
				    "0x%llx of '%.*s' is not in a function that has a symbol",
				    offset, STR_FMT(f->path));
	return arena_printf(&q->s->arena, "'%.*s' of '%.*s' has %llu bytes: +%llu is after its end",
			    STR_FMT(f->name), STR_FMT(f->path), (unsigned long long)f->extent,
			    offset);
}

/* After the end of its function, or in none, the start of instructions is unknown. False: the
 * place is skipped, with a message. */
static bool check_extent(const struct search *q, const struct found_function *f)
{
	static const char tag[] = "outside-function";
	bool is_entry = !q->spec->has_address && !q->spec->offset;
	bool is_pattern = str_has_wildcard(q->spec->name), unsafe = q->s->options.unsafe;
	struct str text;

	if (is_entry || (f->extent && f->offset - f->start + added(q) < f->extent))
		return true;
	text = outside_text(q, f);
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

static int add_function(void *arg, const struct found_function *f)
{
	struct search *q = arg;
	struct arena *a = &q->s->arena;
	uint64_t plus = added(q);
	struct str name = function_probe_name(q, f, plus);
	struct place place = {
		.attach = {.kind = q->spec->type == PROBE_URETPROBE ? ATTACH_URETPROBE
								    : ATTACH_UPROBE,
			   .path = arena_str(a, f->open_path),
			   .file = f->file,
			   .offset = f->offset + plus,
			   .into = f->extent ? f->offset - f->start + plus : 0,
			   .is_forced = q->s->options.unsafe,
			   .arch = f->arch},
	};

	q->found++;
	if (has_place(q, f->open_path, place.attach.offset))
		return 0;
	if (!check_extent(q, f))
		return 0;
	/* Where the ABI has arguments at the function's first instruction; further in, only its
	 * code says where they are. */
	if (q->spec->type == PROBE_UPROBE && f->arch)
		place.attach.operands = call_operands(a, f->arch, &place.attach.operand_count);
	if (!name.ptr || !place.attach.path.ptr || search_hold(q, f->file))
		return -ENOMEM;
	return search_add(q, place, name, f->name);
}

/* The name in a query: a pattern, or uprobe:PATH:0x1234, the instruction at a link-time address. */
int resolve_function(struct search *q)
{
	const struct probe_spec *spec = q->spec;
	struct find_query query = {.pid = q->s->options.pid,
				   .path = spec->path,
				   .name = spec->name,
				   .to_attach = true};
	int got;

	if (spec->has_address)
		query.name = arena_printf(&q->s->arena, "0x%llx", (unsigned long long)spec->offset);
	if (!query.name.ptr)
		return -ENOMEM;
	got = q->source->functions(q->source->run, &query, add_function, q, q->d);
	return got < 0 ? got : 0;
}
