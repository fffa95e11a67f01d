/* Texts of help: the builtins of the language, and the options of a script. */
#include "script/script.h"

#include "script/builtins/function.h"
#include "script/parse/declarations.h"
#include "script/parse/script_state.h"

void script_print_builtins(struct buf *out)
{
	/* ORDER: enum builtin_group */
	static const char *const titles[] = {"Values", "Functions", "Statements", "Aggregations"};

	for (unsigned group = GROUP_VALUE; group < GROUP_FOREIGN; group++) {
		buf_printf(out, "%s%s:\n", group ? "\n" : "", titles[group]);
		for (const struct function *const *t = script_builtins.tables; *t; t++)
			for (const struct function *f = *t; f->name; f++)
				if (f->group == group)
					buf_printf(out, "  %-9s %-45s %s\n", f->name, f->help,
						   f->example);
	}
}

int script_each_builtin(script_builtin_fn *fn, void *arg)
{
	int err = 0;

	for (const struct function *const *t = script_builtins.tables; *t; t++)
		for (const struct function *f = *t; f->name && !err; f++)
			if (f->group != GROUP_FOREIGN)
				err = fn(arg, f->name, f->help, f->example);
	return err;
}

/* "--limit=10", "--all" */
static void print_option(const struct script *s, const struct declared_option *o, struct buf *out)
{
	struct mark text = o->otherwise ? o->otherwise->mark : (struct mark){0, 0};

	buf_printf(out, "--%.*s", STR_FMT(o->name));
	if (text.len)
		buf_printf(out, "=%.*s", (int)text.len, s->text.ptr + text.at);
}

void script_help(const struct script *s, struct buf *out)
{
	struct buf option = BUF_INIT;
	int width = 0;

	buf_printf(out, s->tree.declared ? "Options of %.*s:\n" : "%.*s has no options\n",
		   STR_FMT(s->path));
	for (int is_last = 0; is_last < 2; is_last++)
		for (const struct declared_option *o = s->tree.declared; o; o = o->next) {
			buf_clear(&option);
			print_option(s, o, &option);
			if (!is_last)
				width = (int)option.len > width ? (int)option.len : width;
			else if (o->about.len)
				buf_printf(out, "  %-*.*s  %.*s\n", width,
					   STR_FMT(buf_as_str(&option)), STR_FMT(o->about));
			else
				buf_printf(out, "  %.*s\n", STR_FMT(buf_as_str(&option)));
		}
	buf_free(&option);
}
