/* Text -> tree: settings, declarations and clauses. Statements are in parse_stmt.c, expressions in
 * parse_expr.c, probes in parse_probe.c, tokens in parse_token.c. */
#include "script/parse/parse.h"

#include <errno.h>

#include "base/array.h"

#define MAX_ENTRIES (1u << 24)

/* Declarations of C between clauses. */
static const char *const c_words[] = {"struct", "union", "enum", "typedef", NULL};

/* clause = probes predicate? block ; predicate = "/" expr "/" */
static struct tree_clause *parse_clause(struct parser *p)
{
	struct tree_clause *c = arena_new(p->arena, struct tree_clause);
	struct lexer *l = &p->lexer;

	if (!c) {
		parse_fail(p, -ENOMEM);
		return NULL;
	}
	c->mark.at = (uint32_t)l->at;
	parse_probes(p, &c->probes);
	if (!p->err && l->at < l->text.len && l->text.ptr[l->at] == '/') {
		l->at++;
		l->in_predicate = true;
		parse_advance(p);
		c->predicate = parse_expr(p);
		l->in_predicate = false;
		if (!parse_is(p, TOKEN_END_PREDICATE))
			parse_unexpected(p, "'/' and a block");
	}
	parse_advance(p);
	c->body = parse_block(p);
	c->mark.len = (uint32_t)(l->at - c->mark.at);
	return c;
}

/* Its end is found as parse_clause() does, but nothing is made of it. */
static void skip_clause(struct parser *p)
{
	struct probe_spec *probes;
	struct lexer *l = &p->lexer;

	parse_probes(p, &probes);
	if (!p->err && l->at < l->text.len && l->text.ptr[l->at] == '/') {
		l->at++;
		l->in_predicate = true;
		while (!p->err && !parse_is(p, TOKEN_END_PREDICATE) && !parse_is(p, TOKEN_END))
			parse_advance(p);
		l->in_predicate = false;
	}
	parse_advance(p);
	parse_skip_block(p);
}

/* setting = word "=" ( number | word | string ) */
static struct setting *parse_setting(struct parser *p)
{
	struct setting *s = arena_new(p->arena, struct setting);

	if (!s) {
		parse_fail(p, -ENOMEM);
		return NULL;
	}
	s->mark = p->token.mark;
	s->name = p->token.text;
	parse_expect(p, TOKEN_WORD, "a setting's name");
	parse_expect(p, TOKEN_ASSIGN, "'='");
	s->value = p->token.text;
	s->mark.len = p->token.mark.at + p->token.mark.len - s->mark.at;
	if (!parse_is(p, TOKEN_INT) && !parse_is(p, TOKEN_WORD) && !parse_is(p, TOKEN_STRING))
		parse_unexpected(p, "a value");
	parse_advance(p);
	return s;
}

/* config = "config" "=" "{" ( setting ";" )* "}" */
static void parse_config(struct parser *p, struct setting **out)
{
	parse_advance(p);
	parse_expect(p, TOKEN_ASSIGN, "'='");
	parse_expect(p, TOKEN_LBRACE, "'{'");
	while (!p->err && !parse_is(p, TOKEN_RBRACE)) {
		if (parse_take(p, TOKEN_SEMICOLON))
			continue;
		*out = parse_setting(p);
		parse_semicolon(p);
		if (*out)
			out = &(*out)->next;
	}
}

/* size = "let" map "=" word "(" number ")" ";"? */
static void parse_map_size(struct parser *p)
{
	static const char *const kinds[] = {"hash", "percpuhash", "lruhash", "percpulruhash", NULL};
	struct map_size *size = arena_new(p->arena, struct map_size);

	if (!size) {
		parse_fail(p, -ENOMEM);
		return;
	}
	parse_advance(p);
	size->name = p->token.text;
	size->mark = p->token.mark;
	parse_expect(p, TOKEN_MAP, "a map");
	for (const struct map_size *other = p->tree->sizes; other; other = other->next)
		if (str_eq(other->name, size->name))
			parse_error(p, size->mark, "redeclared", "map '@%.*s' is already declared",
				    STR_FMT(size->name));
	parse_expect(p, TOKEN_ASSIGN, "'='");
	if (!parse_is(p, TOKEN_WORD) || !word_is_one_of(p->token.text, kinds))
		parse_error(p, p->token.mark, "unknown-map-kind",
			    "a map is a hash, percpuhash, lruhash or percpulruhash");
	size->forgets = str_ends(p->token.text, STR("lruhash"));
	size->is_per_cpu = str_starts(p->token.text, STR("percpu"));
	parse_advance(p);
	parse_expect(p, TOKEN_LPAREN, "'('");
	if (!parse_is(p, TOKEN_INT) || !p->token.number || p->token.number > MAX_ENTRIES)
		parse_error(p, p->token.mark, "bad-map-size",
			    "the size of a map is a number from 1 to %u", MAX_ENTRIES);
	size->entries = (uint32_t)p->token.number;
	parse_advance(p);
	if (!parse_is(p, TOKEN_RPAREN))
		parse_unexpected(p, "')'");
	parse_blank(p);
	if (!p->err && p->lexer.at < p->lexer.text.len && p->lexer.text.ptr[p->lexer.at] == ';')
		p->lexer.at++;
	size->next = p->tree->sizes;
	p->tree->sizes = size;
}

/* A definition of C, which ends with or without a semicolon. */
static void parse_declaration(struct parser *p, const struct token *word, bool is_late)
{
	struct lexer *l = &p->lexer;
	int err;

	if (is_late)
		parse_error(p, word->mark, "late-definition", "C definitions come before probes");
	if (p->err)
		return;
	err = c_scope_read(&p->tree->types, l->path, l->text, &l->at, p->d);

	if (err)
		parse_fail(p, err);
}

/* The token at the start of an item, without moving; a word, or none. */
static struct token first_token(const struct parser *p)
{
	struct lexer look = p->lexer;
	struct token t = {.kind = TOKEN_END};

	look.d = NULL;
	if (lex_token(&look, &t))
		t.kind = TOKEN_END;
	return t;
}

/* import = "import" string ";"?; import.c has put the file's text elsewhere */
static void parse_import(struct parser *p, const struct token *word, bool is_late)
{
	if (is_late)
		parse_error(p, word->mark, "late-import", "imports come before probes");
	p->lexer.at = word->mark.at + word->mark.len;
	parse_advance(p);
	if (!parse_is(p, TOKEN_STRING))
		parse_unexpected(p, "the name of a file in quotes");
	parse_blank(p);
	if (!p->err && p->lexer.at < p->lexer.text.len && p->lexer.text.ptr[p->lexer.at] == ';')
		p->lexer.at++;
}

/* Whether the settings of the script may stand here. */
static bool may_configure(struct parser *p, const struct token *word, bool is_script, bool is_late)
{
	if (!is_script)
		return !parse_error(p, word->mark, "import-config",
				    "a file that is imported has no settings");
	if (is_late)
		return !parse_error(p, word->mark, "late-config", "config comes before probes");
	if (p->tree->settings)
		return !parse_error(p, word->mark, "double-config", "there is a config already");
	return true;
}

/* An item that begins with a word of its own; false: it is a clause. */
static bool parse_item(struct parser *p, const struct token *t, bool is_script, bool is_late)
{
	struct lexer *l = &p->lexer;

	if (t->kind != TOKEN_WORD)
		return false;
	if (str_eq_text(t->text, "import")) {
		parse_import(p, t, is_late);
	} else if (str_eq_text(t->text, "config")) {
		l->at = t->mark.at + t->mark.len;
		if (may_configure(p, t, is_script, is_late))
			parse_config(p, &p->tree->settings);
	} else if (str_eq_text(t->text, "macro")) {
		l->at = t->mark.at + t->mark.len;
		parse_macro(p);
	} else if (str_eq_text(t->text, "fn")) {
		l->at = t->mark.at + t->mark.len;
		parse_function(p);
	} else if (str_eq_text(t->text, "let")) {
		l->at = t->mark.at + t->mark.len;
		parse_map_size(p);
	} else {
		return false;
	}
	return true;
}

/* part = ( directive | declaration of C | config | import | macro | function | clause )* */
static void parse_part(struct parser *p, bool is_script)
{
	struct tree_clause **last = &p->tree->clauses, **first;
	struct lexer *l = &p->lexer;

	while (*last)
		last = &(*last)->next;
	first = last;
	if (str_starts(str_of(l->text.ptr + l->at, l->text.len - l->at), STR("#!")))
		lex_line(l);
	for (parse_blank(p); !p->err && l->at < l->text.len; parse_blank(p)) {
		struct token t = first_token(p);

		if (l->text.ptr[l->at] == '#') {
			parse_directive(p);
			continue;
		}
		if (t.kind == TOKEN_WORD && word_is_one_of(t.text, c_words)) {
			parse_declaration(p, &t, last != first);
			continue;
		}
		if (parse_item(p, &t, is_script, last != first))
			continue;
		if (p->is_survey)
			skip_clause(p);
		else if ((*last = parse_clause(p)))
			last = &(*last)->next;
	}
}

static void parse_parts_of(struct parser *p)
{
	struct lexer *l = &p->lexer;
	const struct import_part whole = {.at = l->at, .len = l->text.len - l->at};
	const struct import_part *parts = p->parts ? p->parts : &whole;
	unsigned count = p->parts ? p->part_count : 1;

	p->tree->types.constant = parse_macro_value;
	p->tree->types.self = p;
	for (unsigned i = 0; i < count && !p->err; i++) {
		l->at = parts[i].at;
		l->text.len = parts[i].at + parts[i].len;
		parse_part(p, i + 1 == count);
	}
	p->tree->types.constant = NULL; /* the parser ends here */
}

/* A macro may be used before its definition. What is wrong in the text is reported by the parser
 * that goes over it next. */
static int find_macros(struct parser *p)
{
	struct parser survey = *p;
	struct tree tree = {0};

	if (!memmem(p->lexer.text.ptr, p->lexer.text.len, "macro", strlen("macro")) &&
	    !memmem(p->lexer.text.ptr, p->lexer.text.len, "fn", strlen("fn")))
		return 0;
	survey.tree = &tree;
	survey.is_survey = true;
	survey.d = survey.lexer.d = NULL;
	if (tree_open(&tree, p->arena))
		return -ENOMEM;
	parse_parts_of(&survey);
	p->macros = survey.macros;
	return survey.err == -ENOMEM ? -ENOMEM : 0;
}

/* tree = part part*, the imported ones first */
int parse_tree(struct parser *p, struct tree *out)
{
	size_t size = p->parts ? p->parts[p->part_count - 1].len : p->lexer.text.len - p->lexer.at;

	if (size > PARSE_MAX_TEXT)
		return diag_error(p->d, -E2BIG, "too-big", "the script is too large: %zu bytes",
				  size);
	p->tree = out;
	if (tree_open(out, p->arena) || find_macros(p))
		return -ENOMEM;
	out->includes = parse_include_lines(p, p->options->headers);
	parse_parts_of(p);
	if (!p->err && !out->clauses)
		return diag_error(p->d, -EINVAL, "empty-script", "the script has no clauses");
	return p->err;
}
