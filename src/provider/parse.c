/* The D half of the provider grammar. A file is a list of
 *
 *     declaration = a C declaration: typedefs are remembered, the rest is passed over
 *     provider    = "provider" name "{" { probe } "}" [";"]
 *     probe       = "probe" name arguments [":" arguments] ";"
 *     clause      = description {"," description} ["/" predicate "/"] "{" … "}"
 *     pragma      = "#pragma D" …, anywhere
 *
 * Clauses, translators and inlines are D for a tracer: they are passed over. The first mistake in
 * syntax ends the reading of a file. */
#include <errno.h>

#include "base/hash.h"

#include "provider/parse.h"

/* A name that stands in a note and in C: letters, digits, underscores. */
static int check_name(struct provider_parser *p, struct str name, const char *what)
{
	if (str_index(name, '$') >= 0 || str_index(name, '.') >= 0)
		return parser_fail(p, name, "bad-name", "'%.*s' cannot be the name of a %s",
				   STR_FMT(name), what);
	return 0;
}

/* The header's macros have parameters arg1 to arg12: such a name would be replaced by a value. */
static int check_not_parameter(struct provider_parser *p, struct str name)
{
	uint64_t number;

	if (!str_starts(name, STR("arg")) ||
	    str_to_u64(str_of(name.ptr + 3, name.len - 3), &number) || !number ||
	    number > PROVIDER_MAX_ARGS || name.ptr[3] == '0')
		return 0;
	return parser_fail(p, name, "bad-name",
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

/* Count the arguments; names that occur twice are the author's slip, types are what counts. */
static int check_args(struct provider_parser *p, struct provider_probe *probe, bool variadic)
{
	for (struct ctype_param *arg = probe->args; arg; arg = arg->next) {
		if (probe->arg_count++ == PROVIDER_MAX_ARGS)
			return parser_fail(p, arg->at, "too-many-arguments",
					   "a probe has at most %d arguments", PROVIDER_MAX_ARGS);
		for (struct ctype_param *same = arg->next; same; same = same->next)
			if (arg->name.len && str_eq(arg->name, same->name)) {
				diag_warn_at(p->lexer.diag, "same-name",
					     provider_span(&p->lexer, same->at),
					     "two arguments are named '%.*s'", STR_FMT(same->name));
				break;
			}
	}
	if (variadic)
		return parser_fail(p, p->last, "too-many-arguments",
				   "a probe has a fixed number of arguments");
	return 0;
}

/* The semicolon may be missing, for files that other compilers let pass. */
static int end_probe(struct provider_parser *p)
{
	if (parser_at(p, ";"))
		return parser_advance(p);
	if (!parser_at(p, "probe") && !parser_at(p, "}"))
		return parser_expect(p, ";", "after a probe");
	diag_warn_at(p->lexer.diag, "missing-semicolon", provider_span(&p->lexer, p->last),
		     "missing ';' after a probe");
	return 0;
}

/* [":" arguments]: what a tracer shows instead of the arguments, of no use to the program */
static int parse_translated(struct provider_parser *p, struct provider_probe *probe)
{
	bool variadic;
	int err;

	if (!parser_at(p, ":"))
		return 0;
	err = parser_advance(p);
	return err ? err : parse_args(p, &probe->translated, &variadic);
}

static int parse_probe_name(struct provider_parser *p, struct provider_probe *probe)
{
	int err;

	if (p->tok.kind != TOKEN_WORD && p->tok.kind != TOKEN_NUMBER)
		return parser_expected(p, "the name of a probe");
	probe->name = p->tok.text;
	probe->at = provider_span(&p->lexer, probe->name);
	probe->macro = macro_name(&p->file->arena, probe->provider->name, probe->name);
	err = check_name(p, probe->name, "probe");
	err = err ? err : check_not_parameter(p, probe->name);
	err = err ? err : parser_advance(p);
	if (!err && parser_at(p, "-"))
		return parser_fail(p, p->tok.text, "bad-name",
				   "a hyphen in the name of a probe is written '__'");
	return err;
}

/* probe = "probe" name arguments [":" arguments] ";" */
static int parse_probe(struct provider_parser *p, struct provider_decl *provider)
{
	struct provider_probe *probe = arena_new(&p->file->arena, struct provider_probe);
	bool variadic = false;
	int err;

	if (!probe)
		return -ENOMEM;
	probe->provider = provider;
	err = parser_advance(p);
	err = err ? err : parse_probe_name(p, probe);
	err = err ? err : parse_args(p, &probe->args, &variadic);
	err = err ? err : check_args(p, probe, variadic);
	err = err ? err : parse_translated(p, probe);
	err = err ? err : end_probe(p);
	if (err)
		return err;
	*provider->probes_end = probe;
	provider->probes_end = &probe->next;
	p->file->probe_count++;
	return 0;
}

static void suggest(struct provider_parser *p, const char *word)
{
	if (p->tok.kind == TOKEN_WORD && str_distance(p->tok.text, str_from(word), 3) < 3)
		diag_hint(p->lexer.diag, "did you mean '%s'?", word);
}

static int parse_probes(struct provider_parser *p, struct provider_decl *provider)
{
	int err = 0;

	while (!err && parser_at(p, "probe"))
		err = parse_probe(p, provider);
	if (err)
		return err;
	if (p->tok.kind == TOKEN_END)
		return parser_fail(p, provider->name, "syntax",
				   "provider '%.*s' is never closed: '}' is missing",
				   STR_FMT(provider->name));
	if (parser_at(p, "}"))
		return parser_advance(p);
	parser_expected(p, "'probe' or '}'");
	suggest(p, "probe");
	return -EINVAL;
}

/* name = word ["$target"] */
static int parse_provider_name(struct provider_parser *p, struct provider_decl *provider)
{
	struct str name = p->tok.text;
	int err;

	if (p->tok.kind != TOKEN_WORD)
		return parser_expected(p, "the name of a provider");
	if (str_ends(name, STR("$target"))) {
		provider->per_process = true;
		name.len -= strlen("$target");
	}
	if (!name.len)
		return parser_expected(p, "a name before '$target'");
	provider->name = name;
	provider->at = provider_span(&p->lexer, name);
	err = check_name(p, name, "provider");
	err = err ? err : check_not_parameter(p, name);
	return err ? err : parser_advance(p);
}

/* provider = "provider" name "{" { probe } "}" [";"] */
static int parse_provider(struct provider_parser *p)
{
	struct provider_decl *provider = arena_new(&p->file->arena, struct provider_decl);
	int err;

	if (!provider)
		return -ENOMEM;
	provider->probes_end = &provider->probes;
	err = parser_advance(p);
	err = err ? err : parse_provider_name(p, provider);
	err = err ? err : parser_expect(p, "{", "after the name of the provider");
	err = err ? err : parse_probes(p, provider);
	if (err)
		return err;
	if (!provider->probes)
		diag_warn_at(p->lexer.diag, "no-probes", provider->at,
			     "provider '%.*s' has no probes", STR_FMT(provider->name));
	*p->file->providers_end = provider;
	p->file->providers_end = &provider->next;
	return parser_at(p, ";") ? parser_advance(p) : 0;
}

static struct provider_typedef **typedef_bucket(const struct provider_file *file, struct str name)
{
	return (struct provider_typedef **)&file->typedefs[hash_str(0, name) % PROVIDER_BUCKETS];
}

const struct ctype *provider_find_typedef(const struct provider_file *file, struct str name)
{
	for (const struct provider_typedef *t = *typedef_bucket(file, name); t; t = t->next)
		if (str_eq(t->name, name))
			return t->type;
	return NULL;
}

/* A name that gets its old meaning again changes nothing, and must not make a chain of itself. */
static int add_typedef(struct provider_parser *p, const struct declarator *d)
{
	struct provider_typedef *t, **bucket = typedef_bucket(p->file, d->name);

	if (!d->name.len)
		return parser_expected(p, "a name for the type");
	t = arena_new(&p->file->arena, struct provider_typedef);
	if (!t)
		return -ENOMEM;
	*t = (struct provider_typedef){.name = d->name, .type = d->type, .next = *bucket};
	*bucket = t;
	return 0;
}

static int parse_typedef(struct provider_parser *p)
{
	struct specifiers s;
	struct declarator d;
	int err = parse_specifiers(p, &s);

	if (!err && parser_at(p, ";"))
		return parser_expected(p, "a name for the type");
	while (!err) {
		err = parse_declarator(p, &s, &d);
		err = err ? err : add_typedef(p, &d);
		if (err || !parser_at(p, ","))
			break;
		err = parser_advance(p);
	}
	return err ? err : parser_expect(p, ";", "after a typedef");
}

/* Objects and functions of C, with initialisers and bodies: nothing of them is needed. A brace
 * after an "=" opens a list of values, any other one the body that ends the declaration. */
static int skip_declaration(struct provider_parser *p)
{
	bool values = false;
	int err = 0;

	while (!err && !parser_at(p, ";")) {
		if (p->tok.kind == TOKEN_END || parser_at(p, "provider"))
			return parser_expected(p, "';' after a declaration");
		if (parser_at(p, "{") && !values)
			return parser_skip_brackets(p);
		values |= parser_at(p, "=");
		if (parser_at_any(p, "([{)]}"))
			err = parser_skip_brackets(p);
		else
			err = parser_advance(p);
	}
	return err ? err : parser_advance(p);
}

/* struct, union or enum with their members, then perhaps what skip_declaration passes over. */
static int parse_tag_declaration(struct provider_parser *p)
{
	struct specifiers s;
	int err = parse_specifiers(p, &s);

	return err ? err : skip_declaration(p);
}

/* translator TO < FROM > { … }; */
static int skip_translator(struct provider_parser *p)
{
	int err = 0;

	while (!err && !parser_at(p, "{")) {
		if (p->tok.kind == TOKEN_END || parser_at(p, ";") || parser_at(p, "provider"))
			return parser_expected(p, "'{' after a translator");
		err = parser_advance(p);
	}
	err = err ? err : parser_skip_brackets(p);
	return !err && parser_at(p, ";") ? parser_advance(p) : err;
}

/* Does a D clause start here? Names without a colon are refused, except D's own: they are more
 * often a slip of the pen than a program. */
static bool at_clause(const struct provider_parser *p)
{
	static const char *const own[] = {"BEGIN", "END", "ERROR"};

	if (parser_at(p, ":") || parser_at(p, "*"))
		return true;
	if (p->tok.kind != TOKEN_WORD)
		return false;
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (parser_at(p, own[i]))
			return true;
	return parser_next_at(p, ":") ||
	       (parser_next_at(p, "-") && (parser_at(p, "tick") || parser_at(p, "profile")));
}

/* clause = descriptions ["/" predicate "/"] "{" … "}" [";"] */
static int skip_clause(struct provider_parser *p)
{
	int err = 0;

	p->file->has_clauses = true;
	while (!err && !parser_at(p, "{")) {
		if (p->tok.kind == TOKEN_END || parser_at(p, ";") || parser_at(p, "provider"))
			return parser_expected(p, "'{' after the description of a probe");
		err = parser_advance(p);
	}
	err = err ? err : parser_skip_brackets(p);
	return !err && parser_at(p, ";") ? parser_advance(p) : err;
}

static int parse_statement(struct provider_parser *p)
{
	if (parser_at(p, "provider"))
		return parse_provider(p);
	if (parser_at(p, "typedef") ||
	    (parser_at(p, "__extension__") && parser_next_at(p, "typedef")))
		return parse_typedef(p);
	if (parser_at(p, "struct") || parser_at(p, "union") || parser_at(p, "enum"))
		return parse_tag_declaration(p);
	if (parser_at(p, "translator"))
		return skip_translator(p);
	if (parser_at(p, ";"))
		return parser_advance(p);
	if (at_clause(p))
		return skip_clause(p);
	if (parse_at_type(p) || parser_at(p, "_Static_assert"))
		return skip_declaration(p);
	parser_expected(p, "'provider' or a declaration");
	suggest(p, "provider");
	return -EINVAL;
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

/* Generators write an empty file when they have no probes. */
static bool has_text(struct str text)
{
	while (text.len) {
		struct str line = str_trim(str_cut(&text, '\n'));

		if (line.len && line.ptr[0] != '#')
			return true;
	}
	return false;
}

int provider_parse(struct provider_file *file, struct str path, struct str text, struct diag *d)
{
	struct provider_parser p = {.file = file};
	int err;

	if (!file->path.ptr)
		file->path = path;
	file->has_text |= has_text(text);
	p.lexer = (struct provider_lexer){
		.path = path, .text = text, .arena = &file->arena, .diag = d};
	p.next.text = str_of(text.ptr, 0);
	err = parser_advance(&p);
	err = err ? err : parser_advance(&p);
	while (!err && p.tok.kind != TOKEN_END)
		err = parse_statement(&p);
	return err;
}
