/* Finding builtins, and the text of --help-script. */
#include "script/builtins.h"

static const struct function *const tables[] = {value_rows, text_rows, output_rows, printf_rows,
						map_rows};

#define TABLES (sizeof(tables) / sizeof(*tables))

/* Rows of which the name is not what scripts write. */
static bool is_pattern(const struct function *f)
{
	return !strcmp(f->name, "argN") || !strcmp(f->name, "args.");
}

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

const struct function *function_find(struct str name)
{
	unsigned number;

	if (str_eq_text(name, "argN"))
		return NULL;
	if (arg_number(name, &number))
		name = STR("argN");
	for (size_t i = 0; i < TABLES; i++)
		for (const struct function *f = tables[i]; f->name; f++)
			if (str_eq_text(name, f->name))
				return f;
	return NULL;
}

struct str function_guess(struct str name)
{
	struct guess guess = {.nearest = 3};

	for (size_t i = 0; i < TABLES; i++)
		for (const struct function *f = tables[i]; f->name; f++)
			if (f->group != GROUP_FOREIGN && !is_pattern(f))
				guess_offer(&guess, name, str_from(f->name));
	return guess.best;
}

static void print_group(enum builtin_group group, struct buf *out)
{
	for (size_t i = 0; i < TABLES; i++)
		for (const struct function *f = tables[i]; f->name; f++)
			if (f->group == group)
				buf_printf(out, "  %-9s %-45s %s\n", f->name, f->help, f->example);
}

void script_print_builtins(struct buf *out)
{
	/* ORDER: enum builtin_group */
	static const char *const titles[] = {"Values", "Functions", "Statements", "Aggregations"};

	for (unsigned group = GROUP_VALUE; group < GROUP_FOREIGN; group++) {
		buf_printf(out, "%s%s:\n", group ? "\n" : "", titles[group]);
		print_group((enum builtin_group)group, out);
	}
}

int script_each_builtin(script_builtin_fn *fn, void *arg)
{
	int err = 0;

	for (size_t i = 0; i < TABLES; i++)
		for (const struct function *f = tables[i]; f->name && !err; f++)
			if (f->group != GROUP_FOREIGN)
				err = fn(arg, f->name, f->help, f->example);
	return err;
}
