/* The D half of the provider grammar. A file is a list of
 *
 *     declaration = a C declaration: typedefs are remembered, the rest is skipped
 *     provider    = "provider" name "{" { probe } "}" [";"]
 *     probe       = "probe" name arguments [":" arguments] ";"
 *     clause      = description {"," description} ["/" predicate "/"] "{" … "}"
 *     pragma      = "#pragma D" …, anywhere
 *
 * Clauses, translators and inlines are D for a tracer: they are skipped. The first mistake in
 * syntax ends the reading of a file. */
#include "provider/provider.h"

#include <errno.h>

static struct provider_file *file_of(const struct c_parser *p)
{
	return p->names.self;
}

/* A name that is in a note and in C: letters, digits, underscores. The header's macros have
 * parameters arg1 to arg12: such a name would be replaced by a value. */
static void check_name(struct c_parser *p, struct str name, const char *what)
{
	uint64_t number;

	if (str_index(name, '$') >= 0 || str_index(name, '.') >= 0)
		parser_fail(p, name, "bad-name", "'%.*s' cannot be the name of a %s", STR_FMT(name),
			    what);
	if (str_starts(name, STR("arg")) &&
	    !str_to_u64(str_of(name.ptr + 3, name.len - 3), &number) && number &&
	    number <= PROVIDER_MAX_ARGS && name.ptr[3] != '0')
		parser_fail(p, name, "bad-name",
			    "'%.*s' is a name that the macros of the header use", STR_FMT(name));
}

/* "MYSQL" and "query__start" make MYSQL_QUERY_START. */
static struct str macro_name(struct arena *a, struct str provider, struct str probe)
{
	struct buf name = BUF_INIT;
	struct str out;

	buf_str(&name, provider);
	buf_char(&name, '_');
	for (size_t i = 0; i < probe.len; i++) {
		buf_char(&name, probe.ptr[i]);
		if (probe.ptr[i] == '_' && i + 1 < probe.len && probe.ptr[i + 1] == '_')
			i++;
	}
	for (size_t i = 0; i < name.len; i++)
		if (name.ptr[i] >= 'a' && name.ptr[i] <= 'z')
			name.ptr[i] = (char)(name.ptr[i] - 'a' + 'A');
	out = arena_str(a, buf_as_str(&name));
	buf_free(&name);
	return out;
}

/* probe = "probe" name arguments [":" arguments] ";"
 * The second list is what a tracer shows instead of the arguments, of no use to the program. */
static void parse_probe(struct c_parser *p, struct provider_decl *provider)
{
	struct provider_probe *probe = parser_new(p, sizeof(*probe));
	bool variadic = false, ignored;

	probe->provider = provider;
	parser_advance(p);
	if (p->tok.kind != C_WORD && p->tok.kind != C_NUMBER)
		parser_expected(p, "the name of a probe");
	probe->name = p->tok.text;
	probe->at = parser_span(&p->lexer, probe->name);
	probe->macro = macro_name(p->arena, provider->name, probe->name);
	check_name(p, probe->name, "probe");
	parser_advance(p);
	if (parser_at(p, "-"))
		parser_fail(p, p->tok.text, "bad-name",
			    "a hyphen in the name of a probe is written '__'");
	probe->args = parser_params(p, &variadic);
	/* Names that occur twice are a slip: only the types matter. */
	for (struct ctype_param *arg = probe->args; arg && !p->err; arg = arg->next) {
		if (probe->arg_count++ == PROVIDER_MAX_ARGS)
			parser_fail(p, arg->at, "too-many-arguments",
				    "a probe has at most %d arguments", PROVIDER_MAX_ARGS);
		for (struct ctype_param *same = arg->next; same && !p->err; same = same->next)
			if (arg->name.len && str_eq(arg->name, same->name)) {
				diag_warn_at(p->lexer.diag, "same-name",
					     parser_span(&p->lexer, same->at),
					     "two arguments are named '%.*s'", STR_FMT(same->name));
				break;
			}
	}
	if (variadic)
		parser_fail(p, p->last, "too-many-arguments",
			    "a probe has a fixed number of arguments");
	if (parser_take(p, ":"))
		probe->translated = parser_params(p, &ignored);
	/* The semicolon may be missing, for files that other compilers let pass. */
	if (!parser_at(p, "probe") && !parser_at(p, "}"))
		parser_expect(p, ";", "after a probe");
	else
		diag_warn_at(p->lexer.diag, "missing-semicolon", parser_span(&p->lexer, p->last),
			     "missing ';' after a probe");
	if (p->err)
		return;
	*provider->probes_end = probe;
	provider->probes_end = &probe->next;
	file_of(p)->probe_count++;
}

/* Stop after "expected …", and say it if the current word is nearly `word`. */
static void expected_word(struct c_parser *p, const char *what, const char *word)
{
	bool is_near = p->tok.kind == C_WORD && str_distance(p->tok.text, str_from(word), 3) < 3;

	if (p->err)
		return;
	parser_expected(p, what);
	if (is_near)
		diag_hint(p->lexer.diag, "did you mean '%s'?", word);
}

/* provider = "provider" name ["$target"] "{" { probe } "}" [";"] */
static void parse_provider(struct c_parser *p)
{
	struct provider_decl *provider = parser_new(p, sizeof(*provider));
	struct str name;

	provider->probes_end = &provider->probes;
	parser_advance(p);
	name = p->tok.text;
	if (p->tok.kind != C_WORD)
		parser_expected(p, "the name of a provider");
	if (str_ends(name, STR("$target"))) {
		provider->per_process = true;
		name.len -= strlen("$target");
	}
	if (!name.len)
		parser_expected(p, "a name before '$target'");
	provider->name = name;
	provider->at = parser_span(&p->lexer, name);
	check_name(p, name, "provider");
	parser_advance(p);
	parser_expect(p, "{", "after the name of the provider");
	while (parser_at(p, "probe"))
		parse_probe(p, provider);
	if (p->tok.kind == C_END)
		parser_fail(p, name, "syntax", "provider '%.*s' is never closed: '}' is missing",
			    STR_FMT(name));
	else if (!parser_take(p, "}"))
		expected_word(p, "'probe' or '}'", "probe");
	if (p->err)
		return;
	if (!provider->probes)
		diag_warn_at(p->lexer.diag, "no-probes", provider->at,
			     "provider '%.*s' has no probes", STR_FMT(name));
	*file_of(p)->providers_end = provider;
	file_of(p)->providers_end = &provider->next;
	parser_take(p, ";");
}

static const struct ctype *find_typedef(void *self, struct str name)
{
	const struct provider_file *file = self;

	return c_scope_type(&file->typedefs, CTYPE_NAMED, name);
}

/* A name that gets its old meaning again changes nothing, and must not make a chain of itself. */
static void parse_typedef(struct c_parser *p)
{
	struct specifiers s = parser_specifiers(p);

	do {
		struct declarator d = parser_declarator(p, &s);

		if (!d.name.len)
			parser_expected(p, "a name for the type");
		if (!p->err && c_scope_typedef(&file_of(p)->typedefs, d.name, d.type))
			parser_stop(p, -ENOMEM);
	} while (parser_take(p, ","));
	parser_expect(p, ";", "after a typedef");
}

/* Objects and functions of C, with initialisers and bodies: nothing of them is needed. A brace
 * after an "=" opens a list of values, any other one the body that ends the declaration. */
static void skip_declaration(struct c_parser *p)
{
	bool values = false;

	while (!p->err && !parser_at(p, ";")) {
		if (p->tok.kind == C_END || parser_at(p, "provider"))
			parser_expected(p, "';' after a declaration");
		if (parser_at(p, "{") && !values) {
			parser_skip_brackets(p);
			return;
		}
		values |= parser_at(p, "=");
		if (parser_at_any(p, "([{)]}"))
			parser_skip_brackets(p);
		else
			parser_advance(p);
	}
	parser_advance(p);
}

/* What D has for tracers: its head, then "{" … "}" [";"]. */
static void skip_block(struct c_parser *p, const char *where)
{
	while (!p->err && !parser_at(p, "{")) {
		if (p->tok.kind == C_END || parser_at(p, ";") || parser_at(p, "provider"))
			parser_expected(p, where);
		parser_advance(p);
	}
	parser_skip_brackets(p);
	parser_take(p, ";");
}

/* ---- Pragmas: how stable the author says the probes are ---- */

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
static void pass_over(struct c_parser *p, struct str at, const char *what)
{
	diag_warn_at(p->lexer.diag, "bad-attributes", parser_span(&p->lexer, at),
		     "attributes ignored: expected %s", what);
	diag_hint(p->lexer.diag, "for example Evolving/Evolving/Common provider shop provider");
}

/* pragma = "attributes" stability "provider" name target
 * stability = name "/" data "/" class
 * Pragmas other than attributes steer a tracer. */
static void parse_pragma(struct c_parser *p, struct str text)
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
						  .at = parser_span(&p->lexer, provider)};
		if (p->err)
			return;
		*file_of(p)->attributes_end = a;
		file_of(p)->attributes_end = &a->next;
	}
}

/* ---- Statements ---- */

/* Does a D clause start here? Names without a colon are refused, except D's own: they are more
 * often a typing error than a program. */
static bool at_clause(const struct c_parser *p)
{
	static const char *const own[] = {"BEGIN", "END", "ERROR", NULL};

	if (parser_at(p, ":") || parser_at(p, "*"))
		return true;
	if (p->tok.kind != C_WORD)
		return false;
	return word_is_one_of(p->tok.text, own) || parser_next_at(p, ":") ||
	       (parser_next_at(p, "-") && (parser_at(p, "tick") || parser_at(p, "profile")));
}

static void parse_statement(struct c_parser *p)
{
	if (parser_at(p, "provider")) {
		parse_provider(p);
	} else if (parser_at(p, "typedef") ||
		   (parser_at(p, "__extension__") && parser_next_at(p, "typedef"))) {
		parse_typedef(p);
	} else if (parser_at(p, "struct") || parser_at(p, "union") || parser_at(p, "enum")) {
		parser_specifiers(p);
		skip_declaration(p);
	} else if (parser_at(p, "translator")) { /* TO < FROM > { … }; */
		skip_block(p, "'{' after a translator");
	} else if (parser_take(p, ";")) {
		return;
	} else if (at_clause(p)) {
		file_of(p)->has_clauses = true;
		skip_block(p, "'{' after the description of a probe");
	} else if (parser_at_type(p) || parser_at(p, "_Static_assert")) {
		skip_declaration(p);
	} else {
		expected_word(p, "'provider' or a declaration", "provider");
	}
}

void provider_open(struct provider_file *file)
{
	*file = (struct provider_file){.arena = ARENA_INIT};
	file->providers_end = &file->providers;
	file->attributes_end = &file->attributes;
}

void provider_free(struct provider_file *file)
{
	arena_free(&file->arena);
	provider_open(file);
}

int provider_parse(struct provider_file *file, struct str path, struct str text, struct diag *d)
{
	struct c_parser p = {
		.arena = &file->arena,
		.names = {.self = file, .find_typedef = find_typedef, .pragma = parse_pragma},
	};
	struct str rest = text;

	file->typedefs.arena = &file->arena;
	if (!file->path.ptr)
		file->path = path;
	while (rest.len) { /* generators write an empty file when they have no probes */
		struct str line = str_trim(str_cut(&rest, '\n'));

		file->has_text |= line.len && line.ptr[0] != '#';
	}
	p.lexer = (struct c_lexer){.path = path, .text = text, .arena = &file->arena, .diag = d};
	parser_start(&p);
	while (p.tok.kind != C_END)
		parse_statement(&p);
	return p.err;
}
