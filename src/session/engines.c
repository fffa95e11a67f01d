/* The engines by their names, which are the rows of ENGINES. */
#include "session/session.h"

#include <errno.h>

#include "base/buf.h"

#define DEFAULT_ENGINES "bpf"

#define ROW(name, about) {&engine_##name, about},

static const struct {
	const struct engine_ops *ops;
	const char *about;
} engines[] = {ENGINES(ROW)};

#define COUNT (sizeof(engines) / sizeof(*engines))

static const struct engine_ops *find(struct str name)
{
	for (size_t i = 0; i < COUNT; i++)
		if (str_eq_text(name, engines[i].ops->name))
			return engines[i].ops;
	return NULL;
}

static int refuse(struct str name, struct diag *d)
{
	struct buf known = BUF_INIT;

	for (size_t i = 0; i < COUNT; i++)
		buf_printf(&known, "%s%s (%s)", i ? ", " : "", engines[i].ops->name,
			   engines[i].about);
	diag_error(d, -EINVAL, "unknown-engine", "there is no engine '%.*s'", STR_FMT(name));
	diag_hint(d, "the engines are %.*s", STR_FMT(buf_as_str(&known)));
	buf_free(&known);
	return -EINVAL;
}

int engines_choose(const char *names, struct engine_choice *out, struct diag *d)
{
	struct str rest = str_from(names ? names : DEFAULT_ENGINES);

	out->count = 0;
	do {
		struct str name = str_cut(&rest, ',');
		const struct engine_ops *ops = find(name);

		if (!ops)
			return refuse(name, d);
		if (out->count == ENGINES_MAX)
			return diag_error(d, -EINVAL, "unknown-engine",
					  "too many engines: the limit is %d", ENGINES_MAX);
		out->kinds[out->count++] = ops;
	} while (rest.len);
	return 0;
}

const char *engines_unreadable(const struct engine_choice *c, const struct arch *arch,
			       const struct operand *o)
{
	const char *first = NULL;

	for (unsigned i = 0; i < c->count; i++) {
		const char *why = engine_unreadable(c->kinds[i], arch, o);

		if (!why)
			return NULL;
		first = first ? first : why;
	}
	return first;
}
