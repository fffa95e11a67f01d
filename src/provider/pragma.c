/* #pragma D attributes: how stable the author says the probes are. */
#include "provider/parse.h"

static const char *const stability_names[] = {"Internal", "Private",  "Obsolete",
					      "External", "Unstable", "Evolving",
					      "Stable",	  "Standard", NULL};
static const char *const class_names[] = {"Unknown", "CPU",    "Platform", "Group",
					  "ISA",     "Common", NULL};
static const char *const attribute_targets[] = {"provider", "module", "function",
						"name",	    "args",   NULL};

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
static bool is_stability(struct str text)
{
	struct str rest = text, name = str_cut(&rest, '/'), data = str_cut(&rest, '/');

	return word_is_one_of(name, stability_names) && word_is_one_of(data, stability_names) &&
	       word_is_one_of(rest, class_names);
}

/* Nothing is made of attributes but a comment, so no form of them is an error: SystemTap's dtrace
 * does not look at them at all. */
static void pass_over(struct provider_parser *p, struct str at, const char *what)
{
	diag_warn_at(p->lexer.diag, "bad-attributes", provider_span(&p->lexer, at),
		     "attributes ignored: expected %s", what);
	diag_hint(p->lexer.diag, "for example Evolving/Evolving/Common provider shop provider");
}

static void add_attributes(struct provider_parser *p, const struct provider_attributes *found)
{
	struct provider_attributes *a = parser_new(p, sizeof(*a));

	if (p->err)
		return;
	*a = *found;
	*p->file->attributes_end = a;
	p->file->attributes_end = &a->next;
}

/* "attributes" stability "provider" name ("provider" | "module" | "function" | "name" | "args") */
static void take_attributes(struct provider_parser *p, struct str all, struct str rest)
{
	struct str stability = take_pragma_word(&rest), keyword = take_pragma_word(&rest);
	struct str provider = take_pragma_word(&rest), what = take_pragma_word(&rest);

	if (!is_stability(stability))
		pass_over(p, stability.len ? stability : all, "a stability");
	else if (!str_eq_text(keyword, "provider"))
		pass_over(p, keyword.len ? keyword : all, "'provider' after the stability");
	else if (!provider.len)
		pass_over(p, all, "the name of a provider");
	else if (!word_is_one_of(what, attribute_targets))
		pass_over(p, what.len ? what : all, "provider, module, function, name or args");
	else
		add_attributes(
			p, &(struct provider_attributes){.provider = provider,
							 .what = what,
							 .stability = stability,
							 .at = provider_span(&p->lexer, provider)});
}

/* Pragmas other than attributes steer a tracer. */
void parse_pragma(struct provider_parser *p, struct str text)
{
	struct str rest = text, word = take_pragma_word(&rest);

	if (str_eq_text(word, "attributes"))
		take_attributes(p, text, rest);
}
