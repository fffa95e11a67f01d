/* Lines that start with #: what scripts have of the C preprocessor. Macros are replaced where they
 * are used (parse_advance), conditions leave out what they leave out, and
 * headers are read by header_types.c, for what the script, the traced file and the kernel do not
 * define. */
#include <errno.h>

#include "script/parse/parse.h"

/* The rest of the line, without a comment at its end; the lexer is then at the newline. */
static struct str take_line(struct lexer *l)
{
	struct str line = lex_line(l);

	for (size_t i = 0; i + 1 < line.len; i++)
		if (line.ptr[i] == '/' && line.ptr[i + 1] == '/')
			line.len = i;
	return str_trim(line);
}

static struct str take_word(struct str *rest)
{
	struct str word;

	*rest = str_trim(*rest);
	word = str_of(rest->ptr, 0);
	while (word.len < rest->len && char_is_word(rest->ptr[word.len]))
		word.len++;
	*rest = str_of(rest->ptr + word.len, rest->len - word.len);
	return word;
}

struct define *parse_find_define(const struct parser *p, struct str name)
{
	for (struct define *m = p->tree ? p->tree->defines : NULL; m; m = m->next)
		if (str_eq(m->name, name))
			return m;
	return NULL;
}

bool parse_macro_value(void *parser, struct str name, int64_t *value)
{
	struct parser *p = parser;
	struct define *m = parse_find_define(p, name);
	struct str text = p->lexer.text;
	int err;

	if (!m || m->is_active || m->has_params)
		return false;
	m->is_active = true;
	text.len = m->text.at + m->text.len;
	err = c_scope_value(&p->tree->types, p->lexer.path, text, m->text.at, value, NULL);
	m->is_active = false;
	return !err;
}

const struct ctype *parse_type_name(struct parser *p)
{
	static const struct ctype none = {.kind = CTYPE_VOID};
	const struct ctype *type = &none;
	struct lexer *l = &p->lexer;
	int err = p->err;

	if (err)
		return type;
	l->at = (size_t)(p->token.text.ptr - l->text.ptr);
	err = c_scope_type_name(&p->tree->types, l->path, l->text, &l->at, &type, p->d);
	if (err)
		parse_fail(p, err);
	parse_advance(p);
	return type;
}

/* "(a, b)" of a macro; *rest is then its text */
static void take_params(struct parser *p, struct define *m, struct str *rest)
{
	struct str list = *rest, name;

	m->has_params = true;
	list = str_of(list.ptr + 1, list.len - 1);
	for (;;) {
		name = take_word(&list);
		list = str_trim(list);
		if (name.len && !str_is_word(name))
			list.len = 0; /* a number */
		if (name.len && m->param_count < DEFINE_PARAMS)
			m->params[m->param_count++] = name;
		if (!name.len || !list.len || list.ptr[0] != ',')
			break;
		list = str_of(list.ptr + 1, list.len - 1);
	}
	if (!list.len || list.ptr[0] != ')' || m->param_count == DEFINE_PARAMS)
		parse_error(p, parse_mark_of(p, *rest), "define-args",
			    "a macro has up to %d names in parentheses", DEFINE_PARAMS - 1);
	else
		*rest = str_of(list.ptr + 1, list.len - 1);
}

/* #define NAME text ; #define NAME(x) text */
static void take_define(struct parser *p, struct str rest)
{
	struct define *m = arena_new(p->arena, struct define);
	struct str name = take_word(&rest);

	if (!m) {
		parse_fail(p, -ENOMEM);
		return;
	}
	if (!str_is_word(name)) {
		parse_error(p, parse_mark_of(p, name), "syntax", "'#define' takes a name");
		return;
	}
	*m = (struct define){.name = name, .next = p->tree->defines};
	if (rest.len && rest.ptr[0] == '(')
		take_params(p, m, &rest);
	m->text = parse_mark_of(p, str_trim(rest));
	p->tree->defines = m;
}

static void take_undef(struct parser *p, struct str rest)
{
	struct str name = take_word(&rest);
	struct define **m = &p->tree->defines;

	while (*m)
		if (str_eq((*m)->name, name))
			*m = (*m)->next;
		else
			m = &(*m)->next;
}

/* Types come from the kernel where scripts ask whether they do. */
static bool is_defined(const struct parser *p, struct str name)
{
	return str_eq_text(name, "BPFTRACE_HAVE_BTF") || parse_find_define(p, name);
}

/* "defined(X)", "!defined X", or a constant. */
static bool read_condition(struct parser *p, struct str text)
{
	struct str rest = text, word;
	bool is_not = rest.len && rest.ptr[0] == '!';
	int64_t value = 0;

	if (is_not)
		rest = str_of(rest.ptr + 1, rest.len - 1);
	word = take_word(&rest);
	if (str_eq_text(word, "defined")) {
		rest = str_trim(rest);
		if (rest.len && rest.ptr[0] == '(')
			rest = str_of(rest.ptr + 1, rest.len - 1);
		word = take_word(&rest);
		rest = str_trim(rest);
		if (!rest.len || str_eq_text(rest, ")"))
			return is_defined(p, word) != is_not;
	}
	rest = str_of(p->lexer.text.ptr, (size_t)(text.ptr + text.len - p->lexer.text.ptr));
	if (c_scope_value(&p->tree->types, p->lexer.path, rest,
			  (size_t)(text.ptr - p->lexer.text.ptr), &value, NULL))
		parse_error(p, parse_mark_of(p, text), "unsupported",
			    "this condition is not supported: it is not constant");
	return value;
}

/* The next line that starts with #, from its word on; empty at the end of the text. */
static struct str next_directive(struct lexer *l)
{
	while (l->at < l->text.len) {
		struct str line = take_line(l);

		l->at += l->at < l->text.len;
		if (line.len && line.ptr[0] == '#')
			return str_trim(str_of(line.ptr + 1, line.len - 1));
	}
	return STR("");
}

static bool opens_condition(struct str word)
{
	return str_eq_text(word, "if") || str_eq_text(word, "ifdef") || str_eq_text(word, "ifndef");
}

/* Leave out everything up to the branch that holds, or to the #endif. `is_done`: one has held. */
static void skip_branches(struct parser *p, struct mark open, bool is_done)
{
	unsigned depth = 0;

	for (;;) {
		struct str line = next_directive(&p->lexer), word = take_word(&line);

		if (!word.ptr || !word.len) {
			parse_error(p, open, "open-condition", "this condition has no '#endif'");
			return;
		}
		if (opens_condition(word))
			depth++;
		else if (str_eq_text(word, "endif") && !depth--)
			return;
		else if (!depth && !is_done && str_eq_text(word, "else"))
			return;
		else if (!depth && !is_done && str_eq_text(word, "elif") &&
			 read_condition(p, str_trim(line)))
			return;
		if (p->err)
			return;
	}
}

/* The header is read when something of it is looked for that nothing else defines. */
static void take_include(struct parser *p, struct str rest)
{
	struct str lines = arena_printf(p->arena, "%.*s#include %.*s\n", STR_FMT(p->tree->includes),
					STR_FMT(rest));

	if (lines.ptr)
		p->tree->includes = lines;
	else
		parse_fail(p, -ENOMEM);
}

struct str parse_include_lines(struct parser *p, struct str headers)
{
	struct str lines = {.len = 0};

	while (headers.len && !p->err) {
		struct str file = str_cut(&headers, '\n');

		lines = arena_printf(p->arena, "%.*s#include \"%.*s\"\n", STR_FMT(lines),
				     STR_FMT(file));
		if (!lines.ptr)
			parse_fail(p, -ENOMEM);
	}
	return lines;
}

/* Does it change nothing of what a script takes from a file? "#pragma pack" changes structs. */
static bool is_idle(struct str word, struct str rest)
{
	return str_eq_text(word, "endif") ||
	       (str_eq_text(word, "pragma") && !str_starts(rest, STR("pack")));
}

void parse_directive(struct parser *p)
{
	struct lexer *l = &p->lexer;
	struct str rest, word;
	struct mark at;
	bool holds = true;

	l->at++;
	rest = take_line(l);
	word = take_word(&rest);
	rest = str_trim(rest);
	at = parse_mark_of(p, word);
	if (str_eq_text(word, "define"))
		take_define(p, rest);
	else if (str_eq_text(word, "undef"))
		take_undef(p, rest);
	else if (str_eq_text(word, "include"))
		take_include(p, rest);
	else if (str_eq_text(word, "ifdef"))
		holds = is_defined(p, take_word(&rest));
	else if (str_eq_text(word, "ifndef"))
		holds = !is_defined(p, take_word(&rest));
	else if (str_eq_text(word, "if"))
		holds = read_condition(p, rest);
	else if (str_eq_text(word, "else") || str_eq_text(word, "elif"))
		skip_branches(p, at, true);
	else if (word.len && !is_idle(word, rest))
		parse_error(p, at, "unsupported", "'#%.*s' is not supported", STR_FMT(word));
	if (!holds && !p->err)
		skip_branches(p, at, false);
}
