#include "help/random_script.h"

#include <stdint.h>
#include <string.h>

#define SCRIPT_VARIABLES 6
#define SCRIPT_DEPTH	 6

static unsigned script_random(struct script_maker *m, unsigned below)
{
	m->state = m->state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(m->state >> 33) % below;
}

const char *script_pick(struct script_maker *m, const char *const *from, unsigned count)
{
	return from[script_random(m, count)];
}

#define PICK(m, ...)                                       \
	script_pick(m, (const char *const[]){__VA_ARGS__}, \
		    sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void script_number(struct script_maker *m, unsigned depth);
static void script_text(struct script_maker *m);

/* Structs of every kind of member; each leads to the others. */
static const char structs[] =
	"enum kind { NONE, SOME = 3, MANY };\n"
	"struct inner { short low; unsigned char bytes[6]; char name[12]; };\n"
	"struct narrow { unsigned long wide : 40; long sign : 17; unsigned char one : 1, two : 2;\n"
	"  short s : 9; } __attribute__((packed));\n"
	"struct outer {\n"
	"  int number; unsigned bits : 5, more : 11; int below : 3;\n"
	"  struct inner in[2]; struct outer *next; enum kind kind;\n"
	"  union { long whole; int halves[2]; }; _Bool is_set; long list[20];\n"
	"  struct narrow narrow[3]; short grid[2][3];\n"
	"};\n";

/* What is a struct outer in memory. */
static void script_struct(struct script_maker *m, unsigned depth)
{
	switch (script_random(m, depth ? 4 : 2)) {
	case 0: buf_printf(&m->out, "((struct outer *)%s)", m->address); break;
	case 1: buf_text(&m->out, "@pointer"); break;
	case 2:
		script_struct(m, depth - 1);
		buf_text(&m->out, "->next");
		break;
	default:
		buf_text(&m->out, "(");
		script_struct(m, depth - 1);
		buf_text(&m->out, PICK(m, " + 1)", " - 1)", " + $v1 % 3)"));
		break;
	}
}

static void script_member(struct script_maker *m, unsigned depth)
{
	static const char *const constants[] = {"0", "1"};

	script_struct(m, depth);
	switch (script_random(m, 10)) {
	case 0: buf_text(&m->out, "->in[1].bytes[$v1 & 3]"); break;
	case 4:
		buf_text(&m->out, PICK(m, "->narrow[1].", "->narrow[$v1 & 1].", "->narrow[0]."));
		buf_text(&m->out, PICK(m, "wide", "sign", "one", "two", "s"));
		break;
	case 5: buf_text(&m->out, "->grid[1][$v2 & 1]"); break;
	case 1: buf_text(&m->out, "->kind"); break;
	case 2: buf_printf(&m->out, "->halves[%s]", script_pick(m, constants, 2)); break;
	case 3: buf_text(&m->out, "->list[$v2 & 15]"); break;
	default:
		buf_text(&m->out, PICK(m, "->number", "->bits", "->more", "->below", "->in[0].low",
				       "->whole", "->is_set"));
		break;
	}
}

/* A whole struct or array. */
static void script_value(struct script_maker *m)
{
	script_struct(m, 1);
	buf_text(&m->out, PICK(m, "->in[1]", "->in[0].bytes", "->halves", "->list", "->in",
			       "->narrow[1]", "->grid[0]"));
}

static void script_struct_statement(struct script_maker *m)
{
	switch (script_random(m, 6)) {
	case 0:
		buf_text(&m->out, "print(");
		script_value(m);
		buf_text(&m->out, ")");
		break;
	case 1:
		buf_text(&m->out, "@inner = ");
		script_struct(m, 1);
		buf_text(&m->out, "->in[0]");
		break;
	case 2:
		buf_text(&m->out, "@kept[");
		script_struct(m, 1);
		buf_text(&m->out, "->in[1], @inner.low] = count()");
		break;
	case 3:
		buf_text(&m->out, "@pointer = ");
		script_struct(m, 2);
		break;
	case 4:
		buf_text(&m->out, "print((@inner.bytes[2], @inner.name, ");
		script_member(m, 1);
		buf_text(&m->out, "))");
		break;
	default:
		buf_text(&m->out, "print(*");
		script_struct(m, 1);
		buf_text(&m->out, ")");
		break;
	}
}

/* A number that a function, a cast or an aggregation gives. */
static void script_function(struct script_maker *m, unsigned depth)
{
	switch (script_random(m, 8)) {
	case 0:
		buf_printf(&m->out, "%s(", PICK(m, "-", "~", "(bool)", "(int64)!"));
		script_number(m, depth - 1);
		buf_char(&m->out, ')');
		break;
	case 1:
		buf_text(&m->out, PICK(m, "strlen(", "(int64)strcontains(\"a line\", ",
				       "strstr(\"seventeen\", "));
		script_text(m);
		buf_char(&m->out, ')');
		break;
	case 2:
		buf_text(&m->out, "strncmp(");
		script_text(m);
		buf_text(&m->out, ", ");
		script_text(m);
		buf_printf(&m->out, ", %u)", 1 + script_random(m, 9));
		break;
	case 3:
		buf_text(&m->out,
			 PICK(m, "@sum", "@least", "@most", "@mean", "@flags",
			      m->loops || m->no_map_loops ? "@two" : "len(@many)",
			      "pct(@times, 50)", "@tuple.0", "@tuple.2", "$t.0", "$t.1.1"));
		break;
	case 4:
		buf_text(&m->out, "(int64)has_key(@many, ");
		script_number(m, depth - 1);
		buf_char(&m->out, ')');
		break;
	default:
		buf_printf(&m->out, "%s(%s)(", PICK(m, "", "", "", "bswap(", "bswap("),
			   PICK(m, "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
				"uint64"));
		script_number(m, depth - 1);
		buf_char(&m->out, ')');
		break;
	}
}

/* Never a constant: `2 > 3 ? $v2 : 0` is one. */
static void script_divisor(struct script_maker *m, unsigned depth)
{
	buf_printf(&m->out, "($v%u ^ ", script_random(m, SCRIPT_VARIABLES));
	script_number(m, depth);
	buf_text(&m->out, ")");
}

/* (a + b). One of the two is a variable when the other may be a constant: of constants a division
 * by zero and more than 64 bits are errors. */
static void script_operation(struct script_maker *m, unsigned depth)
{
	size_t at = m->out.len;
	const char *operation;
	bool varies;

	buf_text(&m->out, "(");
	script_number(m, depth);
	varies = memchr(m->out.ptr + at, '$', m->out.len - at) ||
		 memchr(m->out.ptr + at, '@', m->out.len - at);
	operation = PICK(m, "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>");
	buf_printf(&m->out, " %s ", operation);
	if (varies && !strchr("/%", *operation))
		script_number(m, depth);
	else if (varies)
		script_divisor(m, depth);
	else
		buf_printf(&m->out, "$v%u", script_random(m, SCRIPT_VARIABLES));
	buf_text(&m->out, ")");
}

static void script_number(struct script_maker *m, unsigned depth)
{
	if (depth && script_random(m, 5) == 0) {
		size_t at = m->out.len;

		script_function(m, depth);
		if (str_starts(str_of(m->out.ptr + at, m->out.len - at), STR("bswap(")))
			buf_char(&m->out, ')');
		return;
	}
	if (m->address && script_random(m, 6) == 0) {
		script_member(m, depth > 2 ? 2 : depth);
		return;
	}
	switch (script_random(m, depth ? 11 : 4)) {
	case 0: buf_printf(&m->out, "%u", script_random(m, 20)); break;
	case 1: buf_text(&m->out, m->number); break;
	case 2:
	case 3: buf_printf(&m->out, "$v%u", script_random(m, SCRIPT_VARIABLES)); break;
	case 4: buf_text(&m->out, PICK(m, "@one", "@two")); break;
	case 5:
		buf_text(&m->out, "@many[");
		script_number(m, depth - 1);
		buf_text(&m->out, "]");
		break;
	case 6:
		buf_text(&m->out, "(");
		script_number(m, depth - 1);
		buf_text(&m->out, " > 3 ? ");
		script_number(m, depth - 1);
		buf_text(&m->out, " : ");
		script_number(m, depth - 1);
		buf_text(&m->out, ")");
		break;
	default: script_operation(m, depth - 1); break;
	}
}

static void script_text(struct script_maker *m)
{
	if (m->address && script_random(m, 6) == 0) {
		script_struct(m, 1);
		buf_text(&m->out, "->in[1].name");
		return;
	}
	switch (script_random(m, 7)) {
	case 0: buf_text(&m->out, m->text); break;
	case 1: buf_text(&m->out, "@word"); break;
	case 2: buf_text(&m->out, PICK(m, "$t.1.0", "@tuple.1", "comm")); break;
	default:
		buf_printf(&m->out, "\"%s\"", PICK(m, "", "a", "hello", "seventeen bytes!!"));
		break;
	}
}

static void script_condition(struct script_maker *m, unsigned depth)
{
	switch (script_random(m, depth ? 8 : 3)) {
	case 7:
		buf_printf(&m->out, "find(@many, %u, $v%u)", script_random(m, 9),
			   script_random(m, SCRIPT_VARIABLES));
		break;
	case 0:
		script_text(m);
		buf_printf(&m->out, " %s ", PICK(m, "==", "!="));
		script_text(m);
		break;
	case 1:
	case 2:
	case 3:
		script_number(m, 1);
		buf_printf(&m->out, " %s ", PICK(m, "==", "!=", "<", ">", "<=", ">="));
		script_number(m, 1);
		break;
	case 4:
		buf_text(&m->out, "!(");
		script_condition(m, depth - 1);
		buf_text(&m->out, ")");
		break;
	default:
		buf_text(&m->out, "(");
		script_condition(m, depth - 1);
		buf_printf(&m->out, ") %s (", PICK(m, "&&", "||"));
		script_condition(m, depth - 1);
		buf_text(&m->out, ")");
		break;
	}
}

static void script_indent(struct script_maker *m, unsigned depth)
{
	buf_printf(&m->out, "%*s", (int)(2 * depth), "");
}

static void script_block(struct script_maker *m, unsigned depth);

/* NAME(number) of an aggregation, and what it is assigned to. */
static void script_aggregation(struct script_maker *m)
{
	static const char *const kinds[] = {
		"@sum = sum(",	    "@least = min(", "@most = max(",  "@mean = avg(",
		"@flags = bit_or(", "@all = stats(", "@fine = hist(", "@line = lhist(",
	};
	static const char *const keyed[] = {
		"sum(", "min(", "max(", "avg(", "bit_or(", "stats(", "hist(", "lhist(",
	};
	unsigned kind = script_random(m, 8);

	if (script_random(m, 2)) {
		buf_text(&m->out, kinds[kind]);
	} else {
		buf_printf(&m->out, "@of%u[", kind);
		script_number(m, 1);
		buf_text(&m->out, kind % 2 ? ", (" : ", ");
		script_text(m);
		if (kind % 2) {
			buf_text(&m->out, ", ");
			script_number(m, 0);
			buf_char(&m->out, ')');
		}
		buf_printf(&m->out, "] = %s", keyed[kind]);
	}
	buf_text(&m->out, "(int64)");
	script_number(m, 2);
	buf_text(&m->out, kind == 6 ? ", 3)" : kind == 7 ? ", -10, 100, 7)" : ")");
}

/* A tuple with a text and, in it, a tuple. */
static void script_tuple(struct script_maker *m)
{
	bool variable = script_random(m, 2);

	buf_text(&m->out, variable ? "$t = ((int64)" : "@tuple = ((int64)");
	script_number(m, 1);
	buf_text(&m->out, variable ? ", (" : ", ");
	script_text(m);
	buf_text(&m->out, ", (int64)");
	script_number(m, 1);
	buf_text(&m->out, variable ? "))" : ")");
}

static void script_map(struct script_maker *m)
{
	switch (script_random(m, 12)) {
	case 8:
	case 9: script_aggregation(m); break;
	case 10: script_tuple(m); break;
	case 11:
		buf_text(&m->out,
			 PICK(m, "print($t)", "print(@tuple)", "print((@sum, $t, @word))"));
		break;
	case 0:
		buf_text(&m->out, "@one = ");
		script_number(m, 2);
		break;
	case 1: buf_text(&m->out, "@two++"); break;
	case 2:
		buf_text(&m->out, "@many[");
		script_number(m, 1);
		buf_text(&m->out, "] = ");
		script_number(m, 2);
		break;
	case 3:
		buf_text(&m->out, "@words[");
		script_text(m);
		buf_text(&m->out, "] = count()");
		break;
	case 4:
		buf_text(&m->out, "@pairs[");
		script_number(m, 1);
		buf_text(&m->out, ", ");
		script_text(m);
		buf_text(&m->out, "] = sum(");
		script_number(m, 1);
		buf_text(&m->out, ")");
		break;
	case 5:
		buf_text(&m->out, "@word = ");
		script_text(m);
		break;
	case 6:
		buf_text(&m->out, "@times = hist(");
		script_number(m, 1);
		buf_text(&m->out, ")");
		break;
	default:
		buf_text(&m->out, "delete(@many[");
		script_number(m, 1);
		buf_text(&m->out, "])");
		break;
	}
}

static void script_print(struct script_maker *m)
{
	static const char *const formats[] = {"%ld", "%ld %s", "%s %ld %ld", "%s", "%ld %s %s"};
	const char *f = formats[script_random(m, 5)];

	buf_printf(&m->out, "printf(\"%s\\n\"", f);
	for (; *f; f++) {
		if (*f != '%')
			continue;
		buf_text(&m->out, ", ");
		if (f[1] == 's')
			script_text(m);
		else
			script_number(m, 2);
	}
	buf_text(&m->out, ")");
}

static void script_if(struct script_maker *m, unsigned depth)
{
	buf_text(&m->out, "if (");
	script_condition(m, 2);
	buf_text(&m->out, ") ");
	script_block(m, depth);
	if (script_random(m, 2)) {
		buf_text(&m->out, " else ");
		script_block(m, depth);
	}
	buf_char(&m->out, '\n');
}

static void script_loop(struct script_maker *m, unsigned depth)
{
	unsigned n = m->counters++;

	m->loops++;
	if (script_random(m, 4) == 0) {
		buf_printf(&m->out, "unroll (%u) ", 1 + script_random(m, 4));
		m->loops--; /* nothing to break out of */
		script_block(m, depth);
	} else if (script_random(m, 4) == 0) {
		buf_printf(&m->out, "for ($c%u : 0..%u) ", n, script_random(m, 9));
		script_block(m, depth);
		m->loops--;
	} else if (!m->no_map_loops &&
		   script_random(m, 6) == 0) { /* of what has no order, only sums */
		buf_printf(&m->out, "for ($c%u : @many) { $v0 = $v0 + $c%u.0 * 3 + $c%u.1; }", n, n,
			   n);
		m->loops--;
	} else {
		buf_printf(&m->out, "$c%u = 0;\n", n);
		script_indent(m, depth);
		buf_printf(&m->out, "while ($c%u < %u) {\n", n, 1 + script_random(m, 9));
		script_indent(m, depth + 1);
		buf_printf(&m->out, "$c%u++;\n", n);
		script_indent(m, depth + 1);
		script_block(m, depth + 1);
		buf_text(&m->out, "\n");
		script_indent(m, depth);
		buf_text(&m->out, "}");
		m->loops--;
	}
	buf_char(&m->out, '\n');
}

static void script_statement(struct script_maker *m, unsigned depth)
{
	unsigned kind = script_random(m, 16);

	if (m->left)
		m->left--;
	script_indent(m, depth);
	if (kind < 5 && depth < SCRIPT_DEPTH) {
		script_if(m, depth);
		return;
	}
	if (kind < 7 && depth < SCRIPT_DEPTH && m->loops < 2) {
		script_loop(m, depth);
		return;
	}
	if (kind < 8 && m->loops)
		buf_text(&m->out, PICK(m, "break", "continue"));
	else if (kind == 8 && depth > 2 && script_random(m, 4) == 0)
		buf_text(&m->out, "return");
	else if (m->address && kind < 10)
		script_struct_statement(m);
	else if (kind < 11)
		script_map(m);
	else if (kind < 13)
		script_print(m);
	else {
		buf_printf(&m->out, "$v%u = ", script_random(m, SCRIPT_VARIABLES));
		script_number(m, 3);
	}
	buf_text(&m->out, ";\n");
}

static void script_block(struct script_maker *m, unsigned depth)
{
	unsigned count = 1 + script_random(m, 4);

	buf_text(&m->out, "{\n");
	while (count-- && m->left)
		script_statement(m, depth + 1);
	script_indent(m, depth);
	buf_text(&m->out, "}");
}

static void script_clause(struct script_maker *m, const char *probe, bool predicate)
{
	buf_text(&m->out, probe);
	if (predicate)
		buf_printf(&m->out, " /%s != %u/", m->number, script_random(m, 5));
	buf_text(&m->out, " {\n");
	for (unsigned i = 0; i < SCRIPT_VARIABLES; i++)
		buf_printf(&m->out, "  $v%u = (int64)%s%s;\n", i, i ? "" : m->number,
			   i ? PICK(m, "0", "1", "7", "100") : "");
	buf_printf(&m->out, "  $t = ((int64)1, (%s, (int64)2));\n", m->text);
	while (m->left)
		script_statement(m, 1);
	buf_text(&m->out, "}\n");
}

/* What is before the clauses. */
static void script_head(struct script_maker *m, const char *probe)
{
	buf_text(&m->out, "let @many = hash(64);\n"); /* rounds of loops are limited */
	if (m->address)
		buf_printf(&m->out,
			   "%s%s { @pointer = (struct outer *)%s; @inner = @pointer->in[0]; }\n",
			   structs, probe, m->address);
	/* Types of maps are what is first written to them. */
	buf_text(&m->out, "BEGIN { @one = 1; @two = 2; @many[1] = 2; @word = \"word\";\n"
			  "  @sum = sum(1); @least = min(5); @most = max(5); @mean = avg(5);\n"
			  "  @flags = bit_or(1); @times = hist(1); }\n");
	buf_printf(&m->out, "%s { @tuple = ((int64)1, %s, (int64)2); }\n", probe, m->text);
}

static void script_seed(struct script_maker *m, uint64_t seed)
{
	m->state = seed * 0x9e3779b97f4a7c15u + 1;
	script_random(m, 2);
}

void make_script(struct script_maker *m, uint64_t seed, const char *probe)
{
	unsigned clauses;

	script_seed(m, seed);
	clauses = script_random(m, 3) ? 1 : 1 + script_random(m, 12);
	script_head(m, probe);
	for (unsigned i = 0; i < clauses; i++) {
		m->left = 5 + script_random(m, clauses == 1 ? 110 : 20);
		script_clause(m, probe, clauses > 1);
	}
}

void make_script_of(struct script_maker *m, uint64_t seed, const char *probe, unsigned clauses)
{
	script_head(m, probe);
	for (unsigned i = 0; i < clauses; i++) {
		script_seed(m, seed + i);
		m->left = 2 + script_random(m, 12);
		script_clause(m, probe, false);
	}
}
