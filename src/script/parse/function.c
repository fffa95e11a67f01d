/* Functions: fn name($a : type, $b : type) : type { ... }. As a macro's, the block of a function is
 * parsed again for each use. Its parameters are variables of its own, which begin with the values
 * of the arguments; `return` sets one more variable, which is the value of the block, and leaves
 * the block. So a function may have loops and several returns, and may use maps of the script. */
#include "script/parse/macro.h"

#include <errno.h>

/* The type up to one of these; nothing is looked up yet. */
static void skip_type(struct parser *p)
{
	while (!p->err && !parse_is(p, TOKEN_COMMA) && !parse_is(p, TOKEN_RPAREN) &&
	       !parse_is(p, TOKEN_LBRACE)) {
		if (parse_is(p, TOKEN_END))
			parse_unexpected(p, "a type");
		parse_advance(p);
	}
}

/* param = variable ":" type */
static void read_param(struct parser *p, struct macro *m)
{
	struct macro_param *param = &m->params[m->count];

	if (m->count == MACRO_PARAMS) {
		parse_error(p, p->token.mark, "too-many-args",
			    "a function has at most %d parameters", MACRO_PARAMS);
		return;
	}
	*param = (struct macro_param){EXPR_VARIABLE, p->token.text};
	for (unsigned i = 0; i < m->count; i++)
		if (str_eq(m->params[i].name, param->name))
			parse_error(p, p->token.mark, "macro-params",
				    "the function has two parameters '$%.*s'",
				    STR_FMT(param->name));
	parse_expect(p, TOKEN_VARIABLE, "a parameter such as $n");
	parse_expect(p, TOKEN_COLON, "':' and the type of the parameter");
	skip_type(p);
	m->count++;
}

/* function = "fn" word "(" ( param ( "," param )* )? ")" ":" type block; the block is skipped */
void parse_function(struct parser *p)
{
	struct macro *m = arena_new(p->arena, struct macro);

	if (!m) {
		parse_fail(p, -ENOMEM);
		return;
	}
	parse_advance(p);
	m->is_function = true;
	m->name = p->token.text;
	m->mark = p->token.mark;
	m->body = p->lexer; /* the token to come is the "(" */
	parse_expect(p, TOKEN_WORD, "a function's name");
	parse_expect(p, TOKEN_LPAREN, "'('");
	while (!p->err && !parse_is(p, TOKEN_RPAREN)) {
		if (m->count)
			parse_expect(p, TOKEN_COMMA, "',' or ')'");
		read_param(p, m);
	}
	parse_expect(p, TOKEN_RPAREN, "')'");
	parse_expect(p, TOKEN_COLON, "':' and the type of the result");
	skip_type(p);
	parse_skip_block(p);
	macro_add(p, m);
}

/* let variable : type = value */
static struct stmt *new_let(struct parser *p, struct expr *variable, struct expr *value)
{
	struct stmt *s = arena_new(p->arena, struct stmt);

	if (!s) {
		parse_fail(p, -ENOMEM);
		return &p->no_stmt;
	}
	s->kind = STMT_LET;
	s->mark = value ? value->mark : variable->mark;
	s->target = variable;
	s->value = value;
	return s;
}

/* A parameter, which gets the value of the argument. */
static struct stmt *parse_param(struct parser *p, struct expr *value)
{
	struct expr *variable = expr_new(p, EXPR_VARIABLE, p->token.mark, NULL, 0);

	variable->text = p->token.text;
	parse_macro_variable(p, variable);
	parse_expect(p, TOKEN_VARIABLE, "a parameter");
	parse_expect(p, TOKEN_COLON, "':'");
	variable->named = parse_type_name(p);
	return new_let(p, variable, value);
}

/* No variable of the script has such a name. */
static struct expr *new_result(struct parser *p, const struct macro_call *call, struct mark mark)
{
	struct expr *e = expr_new(p, EXPR_VARIABLE, mark, NULL, 0);

	e->text = arena_printf(p->arena, "%.*s().%u", STR_FMT(call->macro->name), call->number);
	if (!e->text.ptr)
		parse_fail(p, -ENOMEM);
	return e;
}

/* ":" type: the variable for the result, declared; NULL: it is void */
static struct stmt *parse_result(struct parser *p, struct macro_call *call)
{
	struct mark mark;
	const struct ctype *type;

	parse_expect(p, TOKEN_COLON, "':'");
	mark = p->token.mark;
	type = parse_type_name(p);
	if (p->err || type->kind == CTYPE_VOID)
		return NULL;
	call->result = new_result(p, call, mark);
	call->result->named = type;
	return new_let(p, call->result, NULL);
}

struct expr *function_block(struct parser *p, struct macro_call *call)
{
	struct stmt *first = NULL, **last = &first;
	struct mark mark = call->macro->mark;
	struct expr *value = NULL, *e;

	parse_expect(p, TOKEN_LPAREN, "'('");
	for (unsigned i = 0; i < call->macro->count && !p->err; i++) {
		if (i)
			parse_expect(p, TOKEN_COMMA, "','");
		*last = parse_param(p, call->args[i]);
		last = &(*last)->next;
	}
	parse_expect(p, TOKEN_RPAREN, "')'");
	*last = parse_result(p, call);
	if (*last)
		last = &(*last)->next;
	if (!p->err)
		*last = parse_block(p);
	if (call->result && !call->has_returned)
		parse_error(p, mark, "no-return", "the function '%.*s' returns no value",
			    STR_FMT(call->macro->name));
	if (call->result)
		value = new_result(p, call, call->result->mark);
	e = expr_new(p, EXPR_BLOCK, mark, &value, value ? 1 : 0);
	if (p->err)
		return e;
	e->body = first;
	e->is_function = true;
	return e;
}

bool function_return(struct parser *p, struct stmt *s)
{
	struct macro_call *call = p->macro;

	if (!call || !call->macro->is_function)
		return false;
	if (call->result && !s->value)
		parse_error(p, s->mark, "no-return", "the function '%.*s' returns a value",
			    STR_FMT(call->macro->name));
	else if (!call->result && s->value)
		parse_error(p, s->value->mark, "void-return",
			    "the function '%.*s' is void and returns no value",
			    STR_FMT(call->macro->name));
	s->leaves_function = true;
	call->has_returned = true;
	if (call->result)
		s->target = new_result(p, call, s->mark);
	return true;
}
