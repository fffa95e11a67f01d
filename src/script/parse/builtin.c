/* Finding builtins by name. */
#include "script/parse/builtin.h"

bool arg_number(struct str name, unsigned *out)
{
	uint64_t number;

	if (name.len < 4 || name.len > 6 || !str_starts(name, STR("arg")) ||
	    (name.ptr[3] == '0' && name.len > 4) || name.ptr[3] < '0' || name.ptr[3] > '9' ||
	    str_to_u64(str_of(name.ptr + 3, name.len - 3), &number) || number > 127)
		return false;
	*out = (unsigned)number;
	return true;
}

/* Rows of which the name is not all that scripts write: argN, args.x */
#define OPEN_NAMES (NEED_ARGUMENT | NEED_FIELD)

/* The row with this need, of OPEN_NAMES; 0: with this name. */
static const struct function *find_row(const struct builtins *b, unsigned need, struct str name)
{
	for (const struct function *const *t = b->tables; *t; t++)
		for (const struct function *f = *t; f->name; f++)
			if ((f->needs & OPEN_NAMES) == need && (need || str_eq_text(name, f->name)))
				return f;
	return NULL;
}

const struct function *function_find(const struct builtins *b, struct str name)
{
	unsigned number;

	return find_row(b, arg_number(name, &number) ? NEED_ARGUMENT : 0, name);
}

const struct function *function_of_fields(const struct builtins *b)
{
	return find_row(b, NEED_FIELD, STR(""));
}

bool function_is_value(const struct builtins *b, struct str name)
{
	const struct function *f = function_find(b, name);

	return f && f->group == GROUP_VALUE;
}

struct str function_guess(const struct builtins *b, struct str name)
{
	struct guess guess = {.nearest = 3};

	for (const struct function *const *t = b->tables; *t; t++)
		for (const struct function *f = *t; f->name; f++)
			if (f->group != GROUP_FOREIGN && !(f->needs & OPEN_NAMES))
				guess_offer(&guess, name, str_from(f->name));
	return guess.best;
}
