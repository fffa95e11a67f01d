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

/* Nothing is made of attributes but a comment, so no form of them is an error: SystemTap's dtrace
 * does not look at them at all. */
static void pass_over(struct provider_parser *p, struct str at, const char *what)
{
	diag_warn_at(p->lexer.diag, "bad-attributes", provider_span(&p->lexer, at),
		     "attributes ignored: expected %s", what);
	diag_hint(p->lexer.diag, "for example Evolving/Evolving/Common provider shop provider");
}

/* pragma = "attributes" stability "provider" name target
 * stability = name "/" data "/" class
 * Pragmas other than attributes steer a tracer. */
void parse_pragma(struct provider_parser *p, struct str text)
{
	struct str rest = text, pragma = take_pragma_word(&rest);
	struct str stability = take_pragma_word(&rest), keyword = take_pragma_word(&rest);
	struct str provider = take_pragma_word(&rest), what = take_pragma_word(&rest);
	struct str class = stability, name = str_cut(&class, '/'), data = str_cut(&class, '/');
	struct provider_attributes *a;

	if (!str_eq_text(pragma, "attributes"))
		return;
	if (!word_is_one_of(name, stability_names) || !word_is_one_of(data, stability_names) ||
	    !word_is_one_of(class, class_names)) {
		pass_over(p, stability.len ? stability : text, "a stability");
	} else if (!str_eq_text(keyword, "provider")) {
		pass_over(p, keyword.len ? keyword : text, "'provider' after the stability");
	} else if (!provider.len) {
		pass_over(p, text, "the name of a provider");
	} else if (!word_is_one_of(what, attribute_targets)) {
		pass_over(p, what.len ? what : text, "provider, module, function, name or args");
	} else {
		a = parser_new(p, sizeof(*a));
		*a = (struct provider_attributes){.provider = provider,
						  .what = what,
						  .stability = stability,
						  .at = provider_span(&p->lexer, provider)};
		if (p->err)
			return;
		*p->file->attributes_end = a;
		p->file->attributes_end = &a->next;
	}
}
