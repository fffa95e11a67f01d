/* What is known of an argument, put together and shown. */
#include "probe/argument.h"

#include <errno.h>

#include "probe/type_class.h"

struct argument *arguments_new(struct arena *a, const struct operand *operands, unsigned count)
{
	struct argument *args = arena_array(a, struct argument, count + 1u);

	for (unsigned i = 0; args && i < count; i++)
		args[i] = (struct argument){.operand = &operands[i], .counted_by = -1};
	return args;
}

/* A name for what the site passes: the declared type's words, and the meaning of another. */
static int name_type(struct argument *arg, const struct ctype *declared, const struct ctype *is,
		     struct arena *a)
{
	struct ctype *named = arena_new(a, struct ctype);
	struct buf text = BUF_INIT;

	if (!named)
		return -ENOMEM;
	ctype_print(&text, declared, STR(""));
	*named = (struct ctype){
		.kind = CTYPE_NAMED, .name = arena_str(a, buf_as_str(&text)), .to = is};
	buf_free(&text);
	arg->type = named;
	return named->name.ptr ? 0 : -ENOMEM;
}

/* An enum of the size and sign of the number that is passed. */
static const struct ctype *passed_enum(const struct ctype *passed, struct arena *a)
{
	struct ctype *t = arena_new(a, struct ctype);

	if (t)
		*t = (struct ctype){
			.kind = CTYPE_ENUM, .size = passed->size, .is_signed = passed->is_signed};
	return t;
}

int argument_declare(struct argument *arg, const struct ctype *declared,
		     enum argument_origin origin, const struct ctype_machine *m, struct arena *a)
{
	const struct ctype *passed = arg->type;
	struct type_class want, have;

	arg->type_from = (uint8_t)origin;
	arg->type = declared;
	if (!passed || (ctype_is_address(declared) && ctype_is_address(passed)))
		return 0;
	want = type_class_of(declared, m);
	have = type_class_of(passed, m);
	if (want.type_class == have.type_class && want.size == have.size)
		return 0;
	if (ctype_kind(declared) == CTYPE_ENUM && ctype_kind(passed) == CTYPE_INTEGER)
		passed = passed_enum(ctype_resolve(passed), a);
	return passed ? name_type(arg, declared, passed, a) : -ENOMEM;
}

bool argument_is_numbered(struct str name)
{
	uint64_t number;

	return str_starts(name, STR("arg")) &&
	       !str_to_u64(str_of(name.ptr + 3, name.len - 3), &number);
}

bool argument_is_text(const struct argument *arg)
{
	return arg->type && (ctype_is_text(arg->type) || arg->counted_by >= 0);
}

const char *argument_class(const struct argument *arg, const struct ctype_machine *m)
{
	if (!arg->type || !ctype_layout_passed(arg->type, m).size)
		return NULL;
	return arg->counted_by >= 0 ? "string" : type_class_name(type_class_of(arg->type, m));
}

static bool is_identifier(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];

		if (!(c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      (i && c >= '0' && c <= '9')))
			return false;
	}
	return s.len;
}

void argument_show(const struct argument *arg, struct buf *out)
{
	static const struct ctype unknown = {.kind = CTYPE_BYTES};
	struct str name = arg->name.len ? arg->name : arg->source;
	bool is_word = is_identifier(name);
	struct buf text = BUF_INIT;

	ctype_print(&text, arg->type ? arg->type : &unknown, is_word ? name : STR(""));
	buf_escaped(out, buf_as_str(&text));
	buf_free(&text);
	if (!name.len || is_word)
		return;
	buf_text(out, " = ");
	buf_escaped(out, name);
}
