/* #pragma D attributes: how stable the author says the probes are. */
#include <errno.h>

#include "provider/parse.h"

static const char *const stability_names[] = {"Internal", "Private",  "Obsolete", "External",
					      "Unstable", "Evolving", "Stable",	  "Standard"};
static const char *const class_names[] = {"Unknown", "CPU", "Platform", "Group", "ISA", "Common"};
static const char *const attribute_targets[] = {"provider", "module", "function", "name", "args"};

#define IS_ONE_OF(word, table) is_one_of(word, table, sizeof(table) / sizeof(*(table)))

static bool is_one_of(struct str word, const char *const *table, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (str_eq_text(word, table[i]))
			return true;
	return false;
}

static struct str take_pragma_word(struct str *rest)
{
	struct str word;

	*rest = str_trim(*rest);
	word = str_of(rest->ptr, 0);
	while (word.len < rest->len && !strchr(" \t\r\\\n", rest->ptr[word.len]))
		word.len++;
	*rest = str_of(rest->ptr + word.len, rest->len - word.len);
	return word;
}

/* stability = name "/" data "/" class */
static int check_stability(struct provider_parser *p, struct str text)
{
	struct str rest = text, name = str_cut(&rest, '/'), data = str_cut(&rest, '/');

	if (IS_ONE_OF(name, stability_names) && IS_ONE_OF(data, stability_names) &&
	    IS_ONE_OF(rest, class_names))
		return 0;
	parser_fail(p, text, "bad-attributes", "unknown stability '%.*s'", STR_FMT(text));
	diag_hint(p->lexer.diag, "for example Evolving/Evolving/Common");
	return -EINVAL;
}

/* "attributes" stability "provider" name ("provider" | "module" | "function" | "name" | "args") */
static int take_attributes(struct provider_parser *p, struct str all, struct str rest)
{
	struct provider_attributes *a = arena_new(&p->file->arena, struct provider_attributes);
	struct str word;
	int err;

	if (!a)
		return -ENOMEM;
	a->stability = take_pragma_word(&rest);
	err = check_stability(p, a->stability.len ? a->stability : all);
	if (err)
		return err;
	word = take_pragma_word(&rest);
	if (!str_eq_text(word, "provider"))
		return parser_fail(p, word.len ? word : all, "bad-attributes",
				   "expected 'provider' after the stability");
	a->provider = take_pragma_word(&rest);
	if (!a->provider.len)
		return parser_fail(p, all, "bad-attributes", "expected the name of a provider");
	a->what = take_pragma_word(&rest);
	if (!IS_ONE_OF(a->what, attribute_targets))
		return parser_fail(p, a->what.len ? a->what : all, "bad-attributes",
				   "expected provider, module, function, name or args");
	a->at = provider_span(&p->lexer, a->provider);
	*p->file->attributes_end = a;
	p->file->attributes_end = &a->next;
	return 0;
}

/* Pragmas other than attributes steer a tracer. */
int parse_pragma(struct provider_parser *p, struct str text)
{
	struct str rest = text, word = take_pragma_word(&rest);

	return str_eq_text(word, "attributes") ? take_attributes(p, text, rest) : 0;
}
