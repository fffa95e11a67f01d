/* Probes: text -> struct probe_spec. Probes have a lexical life of their own (paths, patterns,
 * names with any byte), so they are read by character up to the predicate or block. */
#include "script/parse.h"

#include <errno.h>

#define MAX_PARTS 6
#define SECOND	  1000000000ull

/* A probe as colons cut it. */
struct parts {
	struct str part[MAX_PARTS];
	struct mark mark[MAX_PARTS];
	unsigned count;
	struct mark all;
};

struct time_unit {
	const char *name;
	uint64_t ns;
};

static const struct time_unit time_units[] = {
	{"s", SECOND}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}};

static bool at_end(const struct lexer *l)
{
	return l->at >= l->text.len;
}

static char here(const struct lexer *l)
{
	return at_end(l) ? '\0' : l->text.ptr[l->at];
}

static bool ends_part(char c)
{
	return c == ':' || c == ',' || c == '{' || c == '"' || c == ' ' || c == '\t' || c == '\n' ||
	       c == '\r' || c == ';' || c == '}';
}

/* "$1" within a part becomes the parameter's text. */
static int substitute(struct parser *p, struct str raw, struct mark mark, struct buf *out)
{
	for (size_t i = 0; i < raw.len;) {
		size_t digits = 0;
		uint64_t number = 0;
		bool missing;

		while (i + 1 + digits < raw.len && digits < 6 && raw.ptr[i + 1 + digits] >= '0' &&
		       raw.ptr[i + 1 + digits] <= '9')
			number = number * 10 + (uint64_t)(raw.ptr[i + 1 + digits++] - '0');
		if (raw.ptr[i] != '$' || !number) {
			buf_char(out, raw.ptr[i++]);
			continue;
		}
		buf_str(out, parse_param(p, number, &missing));
		if (missing)
			return diag_error_at(p->d, -EINVAL, "missing-param", parse_span(p, mark),
					     "'$%llu' is not given: the script has %u parameters",
					     (unsigned long long)number, p->options->param_count);
		i += 1 + digits;
	}
	return out->failed ? -ENOMEM : 0;
}

/* part = ( string | any byte but : , { } ; " blank )*; a / only in a path */
static int parse_part(struct parser *p, bool is_path, struct parts *parts)
{
	struct lexer *l = &p->lexer;
	struct buf text = BUF_INIT;
	struct mark *mark = &parts->mark[parts->count];
	size_t start = l->at;
	int err = 0;

	while (!err && !at_end(l)) {
		size_t from = l->at;
		struct str quoted;

		if (here(l) == '"') {
			err = lex_string(l, &quoted);
			if (!err)
				buf_str(&text, quoted);
			continue;
		}
		while (!at_end(l) && !ends_part(here(l)) && (is_path || here(l) != '/'))
			l->at++;
		if (l->at == from)
			break;
		mark->at = (uint32_t)from;
		mark->len = (uint32_t)(l->at - from);
		err = substitute(p, str_of(l->text.ptr + from, l->at - from), *mark, &text);
	}
	mark->at = (uint32_t)start;
	mark->len = (uint32_t)(l->at - start);
	if (!err) {
		parts->part[parts->count++] = arena_str(p->arena, buf_as_str(&text));
		if (!parts->part[parts->count - 1].ptr)
			err = -ENOMEM;
	}
	buf_free(&text);
	return err;
}

/* Do this type's probes have a path behind the first colon? */
static bool has_path(struct str type)
{
	enum probe_type t;

	return probe_type_find(type, &t) &&
	       (t == PROBE_USDT || t == PROBE_UPROBE || t == PROBE_URETPROBE);
}

/* parts = part ( ":" part )* */
static int parse_parts(struct parser *p, struct parts *parts)
{
	struct lexer *l = &p->lexer;
	size_t start = l->at;
	int err = parse_part(p, false, parts);

	while (!err && here(l) == ':' && !at_end(l)) {
		l->at++;
		if (parts->count == MAX_PARTS)
			return diag_error_at(
				p->d, -EINVAL, "bad-probe",
				parse_span(p, (struct mark){(uint32_t)start,
							    (uint32_t)(l->at - start)}),
				"too many ':' in this probe");
		err = parse_part(p, parts->count == 1 && has_path(parts->part[0]), parts);
	}
	parts->all = (struct mark){(uint32_t)start, (uint32_t)(l->at - start)};
	if (!err && !parts->all.len) {
		parts->all.len = at_end(l) ? 0 : 1;
		return diag_error_at(p->d, -EINVAL, "syntax", parse_span(p, parts->all),
				     at_end(l) ? "expected a probe, but the script ends here"
					       : "expected a probe before '%c'",
				     here(l));
	}
	return err;
}

static int bad_probe(struct parser *p, const struct parts *parts, const char *form)
{
	diag_error_at(p->d, -EINVAL, "bad-probe", parse_span(p, parts->all),
		      "'%.*s' is not a complete probe", (int)parts->all.len,
		      p->lexer.text.ptr + parts->all.at);
	diag_hint(p->d, "the form is %s", form);
	return -EINVAL;
}

static int build_bare(struct parser *p, const struct parts *parts, struct probe_spec *s)
{
	return parts->count == 1 ? 0 : bad_probe(p, parts, probe_type_name(s->type));
}

/* unit count: "s" "1" -> 1 s; "hz" "99" -> 1/99 s */
static int period_of(struct str unit, struct str count, uint64_t *out)
{
	uint64_t n;

	if (lex_number(count, &n) || n == 0)
		return -EINVAL;
	if (str_eq_text(unit, "hz")) {
		*out = SECOND / n;
		return n <= SECOND ? 0 : -EINVAL;
	}
	for (size_t i = 0; i < sizeof(time_units) / sizeof(time_units[0]); i++)
		if (str_eq_text(unit, time_units[i].name))
			return __builtin_mul_overflow(n, time_units[i].ns, out) ? -EINVAL : 0;
	return -EINVAL;
}

/* 10ms */
static bool has_unit(struct str count)
{
	return count.len && (count.ptr[count.len - 1] < '0' || count.ptr[count.len - 1] > '9');
}

/* interval = type ":" ( "s" | "ms" | "us" | "hz" ) ":" number | type ":" number unit? */
static int build_timer(struct parser *p, const struct parts *parts, struct probe_spec *s)
{
	const char *form = s->type == PROBE_PROFILE ? "profile:hz:99, profile:ms:10 or profile:10ms"
						    : "interval:s:1, interval:hz:10 or interval:1s";
	int err = -EINVAL;

	if (parts->count == 3 && !has_unit(parts->part[2]))
		err = period_of(parts->part[1], parts->part[2], &s->period);
	else if (parts->count == 2)
		err = period_of(STR("ns"), parts->part[1], &s->period);
	if (!err && s->period > INT64_MAX)
		err = -EINVAL;
	return err ? bad_probe(p, parts, form) : 0;
}

/* usdt = type ":" name | type ":" path ":" name | type ":" path ":" provider ":" name */
static int build_usdt(struct parser *p, const struct parts *parts, struct probe_spec *s)
{
	if (parts->count < 2 || parts->count > 4 || !parts->part[parts->count - 1].len)
		return bad_probe(p, parts, "usdt:PATH:PROVIDER:NAME, or usdt:PATH:NAME");
	s->name = parts->part[parts->count - 1];
	if (parts->count > 2)
		s->path = parts->part[1];
	if (parts->count == 4)
		s->provider = parts->part[2];
	return 0;
}

/* uprobe = type ":" path ":" ( number | name ( "+" number )? ) */
static int build_uprobe(struct parser *p, const struct parts *parts, struct probe_spec *s)
{
	static const char form[] = "uprobe:PATH:FUNCTION, uprobe:PATH:FUNCTION+OFFSET or "
				   "uprobe:PATH:0xADDRESS";
	struct str name, rest;

	if (parts->count != 3 || !parts->part[1].len || !parts->part[2].len)
		return bad_probe(p, parts, form);
	s->path = parts->part[1];
	rest = parts->part[2];
	if (lex_number(rest, &s->offset) == 0) {
		s->has_address = true;
		return s->type == PROBE_UPROBE ? 0 : bad_probe(p, parts, "uretprobe:PATH:FUNCTION");
	}
	name = str_cut(&rest, '+');
	s->name = name;
	if (name.len < parts->part[2].len &&
	    (lex_number(rest, &s->offset) || s->type == PROBE_URETPROBE))
		return bad_probe(p, parts,
				 s->type == PROBE_URETPROBE ? "uretprobe:PATH:FUNCTION" : form);
	return 0;
}

/* tracepoint = type ":" category ":" event */
static int build_tracepoint(struct parser *p, const struct parts *parts, struct probe_spec *s)
{
	if (parts->count != 3 || !parts->part[1].len || !parts->part[2].len)
		return bad_probe(p, parts, "tracepoint:CATEGORY:EVENT");
	s->provider = parts->part[1];
	s->name = parts->part[2];
	return 0;
}

typedef int build_fn(struct parser *p, const struct parts *parts, struct probe_spec *s);

static build_fn *const builders[] = {
	[PROBE_BEGIN] = build_bare,	  [PROBE_END] = build_bare,
	[PROBE_INTERVAL] = build_timer,	  [PROBE_PROFILE] = build_timer,
	[PROBE_USDT] = build_usdt,	  [PROBE_UPROBE] = build_uprobe,
	[PROBE_URETPROBE] = build_uprobe, [PROBE_TRACEPOINT] = build_tracepoint,
};

static int unknown_type(struct parser *p, const struct parts *parts)
{
	struct span span = parse_span(p, parts->mark[0]);
	struct str guess = probe_type_guess(parts->part[0]);

	if (probe_type_is_foreign(parts->part[0]))
		return diag_error_at(p->d, -EINVAL, "unsupported", span,
				     "'%.*s' probes are not supported", STR_FMT(parts->part[0]));
	diag_error_at(p->d, -EINVAL, "unknown-probe-type", span, "unknown probe type '%.*s'",
		      STR_FMT(parts->part[0]));
	if (guess.len)
		diag_hint(p->d, "did you mean '%.*s'?", STR_FMT(guess));
	else
		diag_hint(p->d, "the probe types are usdt, uprobe, uretprobe, tracepoint, "
				"interval, profile, BEGIN and END");
	return -EINVAL;
}

static int parse_probe(struct parser *p, struct probe_spec **out)
{
	struct parts parts = {.count = 0};
	struct probe_spec *s = arena_new(p->arena, struct probe_spec);
	int err = s ? lex_blank(&p->lexer) : -ENOMEM;

	if (!err)
		err = parse_parts(p, &parts);
	if (!err)
		err = parse_count_node(p);
	if (err)
		return err;
	if (!probe_type_find(parts.part[0], &s->type))
		return unknown_type(p, &parts);
	s->mark = parts.all;
	err = builders[s->type](p, &parts, s);
	if (!err)
		*out = s;
	return err;
}

/* probes = probe ( "," probe )* */
int parse_probes(struct parser *p, struct probe_spec **out)
{
	int err;

	for (;;) {
		err = parse_probe(p, out);
		if (!err)
			err = lex_blank(&p->lexer);
		if (err || here(&p->lexer) != ',')
			return err;
		p->lexer.at++;
		out = &(*out)->next;
	}
}

int parse_pattern(struct parser *p, struct probe_spec **out)
{
	int err = parse_probe(p, out);

	if (!err)
		err = lex_blank(&p->lexer);
	if (!err && !at_end(&p->lexer))
		return diag_error_at(p->d, -EINVAL, "syntax",
				     parse_span(p, (struct mark){(uint32_t)p->lexer.at, 1}),
				     "expected the end of the pattern before '%c'",
				     here(&p->lexer));
	return err;
}
