/* What is known of an argument, put together and shown. */
#include "probe/probe.h"

#include <errno.h>

/* ---- Classes ---- */

#define SIGNED_BIT 0x80
#define MOST_SIZE  99 /* bytes that the note can say */

/* The classes of doc/describe-note.md. */
enum arg_class {
	ARG_BYTES,    /* a struct, or something else without a better name */
	ARG_UNSIGNED, /* unsigned int */
	ARG_SIGNED,   /* int */
	ARG_BOOL,     /* bool */
	ARG_FLOAT,    /* double */
	ARG_POINTER,  /* void * */
	ARG_STRING,   /* char *, NUL-terminated */
	ARG_ENUM,     /* enum color; C sites show an integer, unless declared */
	ARG_CHAR,     /* char */
	ARG_COUNT_,
};

static const struct ctype any = {.kind = CTYPE_VOID};
static const struct ctype character = {.kind = CTYPE_CHAR, .size = 1};

/* clang-format off */
static const struct {
	const char *name;
	enum ctype_kind kind;
	const struct ctype *to;
} classes[ARG_COUNT_] = {
	[ARG_BYTES]    = { "bytes",    CTYPE_BYTES,   NULL       },
	[ARG_UNSIGNED] = { "unsigned", CTYPE_INTEGER, NULL       },
	[ARG_SIGNED]   = { "signed",   CTYPE_INTEGER, NULL       },
	[ARG_BOOL]     = { "bool",     CTYPE_BOOL,    NULL       },
	[ARG_FLOAT]    = { "float",    CTYPE_FLOAT,   NULL       },
	[ARG_POINTER]  = { "pointer",  CTYPE_POINTER, &any       },
	[ARG_STRING]   = { "string",   CTYPE_POINTER, &character },
	[ARG_ENUM]     = { "enum",     CTYPE_ENUM,    NULL       },
	[ARG_CHAR]     = { "char",     CTYPE_CHAR,    NULL       },
};
/* clang-format on */

struct type_class type_class_of(const struct ctype *t, const struct ctype_machine *m)
{
	struct ctype_layout is = ctype_layout_passed(t, m);
	unsigned type_class = ARG_BYTES;

	if (is.size && ctype_is_address(t))
		type_class = ctype_is_text(t) ? ARG_STRING : ARG_POINTER;
	else if (is.size)
		switch (ctype_kind(t)) {
		case CTYPE_BOOL: type_class = ARG_BOOL; break;
		case CTYPE_CHAR: type_class = ARG_CHAR; break;
		case CTYPE_INTEGER: type_class = is.is_signed ? ARG_SIGNED : ARG_UNSIGNED; break;
		case CTYPE_FLOAT: type_class = ARG_FLOAT; break;
		case CTYPE_ENUM: type_class = ARG_ENUM; break;
		default: break;
		}
	return (struct type_class){(uint8_t)(type_class | (is.is_signed ? SIGNED_BIT : 0)),
				   is.size <= MOST_SIZE ? (uint8_t)is.size : 0};
}

int class_type(struct class_types *types, struct type_class c, const struct ctype **out)
{
	const struct ctype ***row = &types->rows[c.type_class];
	unsigned type_class = c.type_class & ~SIGNED_BIT;
	struct ctype *t;

	*out = NULL;
	if (type_class >= ARG_COUNT_ || (type_class == ARG_BYTES && !c.size))
		return 0;
	if (!*row && !(*row = arena_array(types->arena, const struct ctype *, 256)))
		return -ENOMEM;
	if (!(*row)[c.size]) {
		t = arena_new(types->kept, struct ctype);
		if (!t)
			return -ENOMEM;
		*t = (struct ctype){.kind = classes[type_class].kind,
				    .size = c.size,
				    .is_signed = c.type_class & SIGNED_BIT,
				    .to = classes[type_class].to};
		(*row)[c.size] = t;
	}
	*out = (*row)[c.size];
	return 0;
}

/* ---- Arguments ---- */

struct argument *arguments_new(struct arena *a, const struct operand *operands, unsigned count)
{
	struct argument *args = arena_array(a, struct argument, count);

	for (unsigned i = 0; args && i < count; i++)
		args[i] = (struct argument){.operand = operands[i], .counted_by = -1};
	return args;
}

int arguments_parse(const struct arch *arch, struct str text, struct arena *a,
		    struct argument **out, unsigned *count)
{
	struct operand operands[OPERANDS_MAX];
	unsigned n = operands_parse(arch, text, operands);
	struct argument *args = n ? arguments_new(a, operands, n) : NULL;

	if (n && !args)
		return -ENOMEM;
	*out = args;
	*count = n;
	return 0;
}

int argument_declare(struct argument *arg, const struct ctype *declared,
		     enum argument_origin origin, const struct ctype_machine *m, struct arena *a)
{
	const struct ctype *passed = arg->type;
	struct type_class want, have;
	struct buf text = BUF_INIT;
	struct ctype *number, *named;

	arg->type_from = (uint8_t)origin;
	arg->type = declared;
	if (!passed || (ctype_is_address(declared) && ctype_is_address(passed)))
		return 0;
	want = type_class_of(declared, m);
	have = type_class_of(passed, m);
	if (want.type_class == have.type_class && want.size == have.size)
		return 0;
	if (ctype_kind(declared) == CTYPE_ENUM && ctype_kind(passed) == CTYPE_INTEGER) {
		number = arena_new(a, struct ctype);
		if (!number)
			return -ENOMEM;
		*number = *ctype_resolve(passed);
		number->kind = CTYPE_ENUM;
		passed = number;
	}
	/* A name for what the site passes: the declared type's words, and the meaning of another.
	 */
	named = arena_new(a, struct ctype);
	if (!named)
		return -ENOMEM;
	ctype_print(&text, declared, STR(""));
	*named = (struct ctype){
		.kind = CTYPE_NAMED, .name = arena_str(a, buf_as_str(&text)), .to = passed};
	buf_free(&text);
	arg->type = named;
	return named->name.ptr ? 0 : -ENOMEM;
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
	if (arg->counted_by >= 0)
		return "string";
	return classes[type_class_of(arg->type, m).type_class & ~SIGNED_BIT].name;
}

void argument_show(const struct argument *arg, struct buf *out)
{
	static const struct ctype unknown = {.kind = CTYPE_BYTES};
	struct str name = arg->name.len ? arg->name : arg->source;
	bool is_word = str_is_word(name);
	struct buf text = BUF_INIT;

	ctype_print(&text, arg->type ? arg->type : &unknown, is_word ? name : STR(""));
	buf_escaped(out, buf_as_str(&text));
	buf_free(&text);
	if (!name.len || is_word)
		return;
	buf_text(out, " = ");
	buf_escaped(out, name);
}
