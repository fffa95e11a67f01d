/* The tree as text, for --dump=tree: one node a line, children one step to the right. */
#include "script/parse/tree.h"

#include "script/parse/declarations.h"
#include "script/parse/probe_spec.h"

static void print_expr(const struct expr *e, unsigned level, struct buf *out);
static void print_body(const struct stmt *s, unsigned level, struct buf *out);

static void indent_line(unsigned level, struct buf *out)
{
	buf_fill(out, ' ', (size_t)level * 2);
}

static void print_line(const char *text, unsigned level, struct buf *out)
{
	indent_line(level, out);
	buf_text(out, text);
	buf_char(out, '\n');
}

/* What a node says of itself, without its children. */
static void print_head(const struct expr *e, struct buf *out)
{
	switch (e->kind) {
	case EXPR_INT: buf_printf(out, "int %llu", (unsigned long long)e->number); break;
	case EXPR_STRING:
		buf_text(out, "string \"");
		buf_escaped(out, e->text);
		buf_char(out, '"');
		break;
	case EXPR_PARAM: buf_printf(out, "param $%llu", (unsigned long long)e->number); break;
	case EXPR_PARAMS: buf_text(out, "params $#"); break;
	case EXPR_VARIABLE: buf_printf(out, "variable $%.*s", STR_FMT(e->text)); break;
	case EXPR_MAP: buf_printf(out, "map @%.*s", STR_FMT(e->text)); break;
	case EXPR_NAME: buf_printf(out, "name %.*s", STR_FMT(e->text)); break;
	case EXPR_CALL: buf_printf(out, "call %.*s", STR_FMT(e->text)); break;
	case EXPR_UNARY: buf_printf(out, "unary %s", operator_text(e->op)); break;
	case EXPR_STEP:
		buf_printf(out, "%s %s", e->is_postfix ? "postfix" : "prefix",
			   operator_text(e->op));
		break;
	case EXPR_BINARY: buf_printf(out, "binary %s", operator_text(e->op)); break;
	case EXPR_TERNARY: buf_text(out, "ternary"); break;
	case EXPR_CAST:
		buf_text(out, "cast ");
		if (e->named)
			ctype_print(out, e->named, STR(""));
		else
			buf_text(out, "typeof");
		break;
	case EXPR_TUPLE: buf_text(out, "tuple"); break;
	case EXPR_ELEMENT: buf_printf(out, "element %llu", (unsigned long long)e->number); break;
	case EXPR_FIELD: buf_printf(out, "field args.%.*s", STR_FMT(e->text)); break;
	case EXPR_INDEX: buf_text(out, "index"); break;
	case EXPR_BLOCK: buf_text(out, "block"); break;
	case EXPR_MEMBER: buf_printf(out, "member %.*s", STR_FMT(e->text)); break;
	case EXPR_SIZEOF:
	case EXPR_OFFSETOF:
	case EXPR_TYPE:
		buf_text(out, e->kind == EXPR_SIZEOF	 ? "sizeof "
			      : e->kind == EXPR_OFFSETOF ? "offsetof "
							 : "typeof ");
		if (e->named)
			ctype_print(out, e->named, STR(""));
		buf_text(out, e->named && e->text.len ? " " : "");
		buf_str(out, e->text);
		break;
	}
}

static void print_expr(const struct expr *e, unsigned level, struct buf *out)
{
	if (!e) {
		print_line("same", level, out);
		return;
	}
	indent_line(level, out);
	print_head(e, out);
	buf_char(out, '\n');
	print_body(e->body, level + 1, out);
	for (unsigned i = 0; i < e->arg_count; i++)
		print_expr(e->args[i], level + 1, out);
}

static void print_stmt(const struct stmt *s, unsigned level, struct buf *out)
{
	/* clang-format off */
	static const char *const names[] = {
		[STMT_EXPR]     = "do",     [STMT_ASSIGN]   = "assign",
		[STMT_LET]      = "let",    [STMT_IF]       = "if",
		[STMT_UNROLL]   = "unroll", [STMT_WHILE]    = "while",
		[STMT_FOR]      = "for",    [STMT_BLOCK]    = "block",
		[STMT_BREAK]    = "break",  [STMT_CONTINUE] = "continue",
		[STMT_RETURN]   = "return",
	};
	/* clang-format on */

	indent_line(level, out);
	buf_text(out, names[s->kind]);
	if (s->kind == STMT_ASSIGN)
		buf_printf(out, " %s=", operator_text(s->op));
	buf_char(out, '\n');
	if (s->target)
		print_expr(s->target, level + 1, out);
	if (s->value)
		print_expr(s->value, level + 1, out);
	if (s->to)
		print_expr(s->to, level + 1, out);
	print_body(s->body, level + (s->kind == STMT_BLOCK ? 1 : 2), out);
	if (s->other) {
		print_line("else", level, out);
		print_body(s->other, level + 2, out);
	}
}

static void print_body(const struct stmt *s, unsigned level, struct buf *out)
{
	for (; s; s = s->next)
		print_stmt(s, level, out);
}

static void print_part(const char *name, struct str text, struct buf *out)
{
	if (!text.len)
		return;
	buf_printf(out, " %s=", name);
	buf_escaped(out, text);
}

static bool is_counted(const struct probe_spec *s)
{
	return s->type == PROBE_SOFTWARE || s->type == PROBE_HARDWARE;
}

static void print_probe(const struct probe_spec *s, struct buf *out)
{
	indent_line(1, out);
	buf_printf(out, "probe %s", probe_type_name(s->type));
	print_part("path", s->path, out);
	print_part(s->type == PROBE_TRACEPOINT ? "category" : "provider", s->provider, out);
	print_part("name", s->name, out);
	if (s->has_address || s->offset)
		buf_printf(out, " offset=0x%llx", (unsigned long long)s->offset);
	if (s->line)
		buf_printf(out, " line=%.*s:%u:%u", STR_FMT(s->source), s->line, s->column);
	if (s->mode)
		buf_printf(out, " length=%u mode=%u", s->length, s->mode);
	if (s->period)
		buf_printf(out, is_counted(s) ? " every=%llu" : " period=%lluns",
			   (unsigned long long)s->period);
	buf_char(out, '\n');
}

void tree_print(const struct tree *t, struct buf *out)
{
	for (const struct setting *s = t->settings; s; s = s->next) {
		buf_printf(out, "config %.*s = ", STR_FMT(s->name));
		buf_escaped(out, s->value);
		buf_char(out, '\n');
	}
	for (const struct tree_clause *c = t->clauses; c; c = c->next) {
		print_line("clause", 0, out);
		for (const struct probe_spec *s = c->probes; s; s = s->next)
			print_probe(s, out);
		if (c->predicate) {
			print_line("predicate", 1, out);
			print_expr(c->predicate, 2, out);
		}
		print_body(c->body, 1, out);
	}
}
