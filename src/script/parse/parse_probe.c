/* Probes: text -> struct probe_spec. Their parts have any bytes, so they are read by find/pattern.h
 * and not as tokens; what the parts mean for each type of probe is here. */
#include "script/parse/parse.h"

#include <ctype.h>
#include <errno.h>

#include "base/array.h"
#include "find/pattern.h"
#include "script/parse/counters.h"

#define SECOND 1000000000ull

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

static char byte_here(const struct lexer *l)
{
	return at_end(l) ? '\0' : l->text.ptr[l->at];
}

/* "$1" within a part becomes the parameter's text. */
static int substitute_params(void *arg, struct span bytes, struct buf *out)
{
	struct parser *p = arg;
	struct str raw = str_of(bytes.source.ptr + bytes.at, bytes.len);
	const struct script_options *options = p->options;

	for (size_t i = 0; i < raw.len && !p->err;) {
		size_t digits = 0;
		uint64_t number = 0;

		while (i + 1 + digits < raw.len && digits < 6 && raw.ptr[i + 1 + digits] >= '0' &&
		       raw.ptr[i + 1 + digits] <= '9')
			number = number * 10 + (uint64_t)(raw.ptr[i + 1 + digits++] - '0');
		if (raw.ptr[i] != '$' || !number) {
			buf_char(out, raw.ptr[i++]);
			continue;
		}
		if (number > options->param_count)
			parse_error(p, parse_mark_of(p, raw), "missing-param",
				    "'$%llu' is not given: the script has %u parameters",
				    (unsigned long long)number, options->param_count);
		else
			buf_str(out, options->params[number - 1]);
		i += 1 + digits;
	}
	return p->err;
}

/* Do this type's probes have a path after the first colon? */
static bool has_path(struct str type)
{
	enum probe_type t;

	return str_has_wildcard(type) ||
	       (probe_type_find(type, &t) &&
		(t == PROBE_USDT || t == PROBE_UPROBE || t == PROBE_URETPROBE));
}

/* The parts of a probe, of which there must be some. */
static void parse_parts(struct parser *p, struct pattern *parts)
{
	const struct pattern_script script = {has_path, substitute_params, p};
	struct lexer *l = &p->lexer;
	struct span at = {.path = l->path, .source = l->text, .at = l->at};
	int err = pattern_read(&at, &script, p->arena, parts, p->d);
	struct mark all = parse_mark_of(p, parts->all);

	l->at = at.at;
	if (err)
		parse_fail(p, err);
	else if (byte_here(l) == ':')
		parse_error(p, (struct mark){all.at, all.len + 1}, "bad-probe",
			    "too many ':' in this probe");
	else if (!all.len && at_end(l))
		parse_error(p, all, "syntax", "expected a probe, but the script ends here");
	else if (!all.len)
		parse_error(p, (struct mark){all.at, 1}, "syntax", "expected a probe before '%c'",
			    byte_here(l));
}

void parse_bad_probe(struct parser *p, const struct pattern *parts, const char *form)
{
	if (parse_error(p, parse_mark_of(p, parts->all), "bad-probe",
			"'%.*s' is not a complete probe", STR_FMT(parts->all)))
		diag_hint(p->d, "the form is %s", form);
}

static void build_bare(struct parser *p, const struct pattern *parts, struct probe_spec *s)
{
	bool is_starred = parts->count == 2 && str_eq_text(parts->part[1], "*");

	if (parts->count != 1 && !is_starred)
		parse_bad_probe(p, parts, probe_type_name(s->type));
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
	for (size_t i = 0; i < COUNT(time_units); i++)
		if (str_eq_text(unit, time_units[i].name))
			return __builtin_mul_overflow(n, time_units[i].ns, out) ? -EINVAL : 0;
	return -EINVAL;
}

/* 10ms */
static bool has_unit(struct str count)
{
	return count.len && (count.ptr[count.len - 1] < '0' || count.ptr[count.len - 1] > '9');
}

/* A number alone is nanoseconds, which other tracers take for a rate, or for seconds. */
static void refuse_period(struct parser *p, const struct pattern *parts, const struct probe_spec *s)
{
	bool is_profile = s->type == PROBE_PROFILE;

	parse_error(p, parse_mark_of(p, parts->all), "bad-probe",
		    "%llu ns are too short: the least is 1000, or 1us",
		    (unsigned long long)s->period);
	if (parts->count == 2 && !has_unit(parts->part[1]))
		diag_hint(p->d,
			  is_profile ? "%.*s times a second is profile:hz:%.*s"
				     : "every %.*s s is interval:s:%.*s",
			  STR_FMT(parts->part[1]), STR_FMT(parts->part[1]));
}

/* interval = type ":" ( "s" | "ms" | "us" | "hz" ) ":" number | type ":" number unit? */
static void build_timer(struct parser *p, const struct pattern *parts, struct probe_spec *s)
{
	int err = -EINVAL;

	if (parts->count == 3 && !has_unit(parts->part[2]))
		err = period_of(parts->part[1], parts->part[2], &s->period);
	else if (parts->count == 2)
		err = period_of(STR("ns"), parts->part[1], &s->period);
	if (!err && s->period < 1000)
		refuse_period(p, parts, s);
	else if (err || s->period > INT64_MAX)
		parse_bad_probe(p, parts,
				s->type == PROBE_PROFILE
					? "profile:hz:99, profile:ms:10 or profile:10ms"
					: "interval:s:1, interval:hz:10 or interval:1s");
}

/* tracepoint = type ":" category ":" event | type ":" pattern */
static void build_tracepoint(struct parser *p, const struct pattern *parts, struct probe_spec *s)
{
	if (parts->count == 2 && str_has_wildcard(parts->part[1])) {
		s->provider = STR("*");
		s->name = parts->part[1];
		return;
	}
	if (parts->count != 3 || !parts->part[1].len || !parts->part[2].len)
		parse_bad_probe(p, parts, "tracepoint:CATEGORY:EVENT");
	s->provider = parts->part[1];
	s->name = parts->part[2];
}

/* software = type ":" event ( ":" count? )? */
static void build_counter(struct parser *p, const struct pattern *parts, struct probe_spec *s)
{
	struct str count = parts->count == 3 ? parts->part[2] : STR("");
	const struct counter *found;
	struct str guess;

	if (parts->count < 2 || parts->count > 3 || (count.len && lex_number(count, &s->period)) ||
	    s->period > INT64_MAX) {
		parse_bad_probe(p, parts,
				s->type == PROBE_SOFTWARE
					? "software:page-faults, software:faults:100"
					: "hardware:cpu-cycles, hardware:cycles:100000");
		return;
	}
	s->name = parts->part[1];
	found = counter_find(s->type, s->name);
	if (found && !s->period)
		s->period = found->period;
	/* nopal -l takes patterns, and only that. */
	if (found || (p->is_pattern && str_has_wildcard(s->name)))
		return;
	guess = counter_guess(s->type, s->name);
	if (!parse_error(p, parse_mark_of(p, parts->all), "unknown-event",
			 "'%.*s' is not a %s event", STR_FMT(s->name), probe_type_name(s->type)))
		return;
	if (guess.len)
		diag_hint(p->d, "did you mean '%.*s'?", STR_FMT(guess));
	else
		diag_hint(p->d, "nopal -l '%s:*' lists them", probe_type_name(s->type));
}

/* "rw" -> WATCH_READ | WATCH_WRITE; 0: it is not a mode. */
static uint8_t watch_mode(struct str text)
{
	static const char letters[] = "rwx"; /* ORDER: enum watch_mode */
	uint8_t mode = 0;

	for (size_t i = 0; i < text.len; i++) {
		const char *letter = text.ptr[i] ? strchr(letters, text.ptr[i]) : NULL;
		uint8_t bit = letter ? (uint8_t)(1u << (letter - letters)) : 0;

		if (!bit || mode & bit)
			return 0;
		mode |= bit;
	}
	return mode;
}

/* watchpoint:FUNCTION+arg0:8:w, which only older bpftrace had. */
static void refuse_argument(struct parser *p, const struct pattern *parts)
{
	if (parse_error(p, parse_mark_of(p, parts->all), "unsupported",
			"a watchpoint is at an address, not at what a function gets"))
		diag_hint(p->d,
			  "the process would have to be stopped at each call until it is set: "
			  "print(arg0) in a uprobe of the function, and watch that address");
}

/* watchpoint = type ":" address ":" ( 1 | 2 | 4 | 8 ) ":" [rwx]+ */
static void build_watchpoint(struct parser *p, const struct pattern *parts, struct probe_spec *s)
{
	uint64_t length = 0;

	struct str plus = parts->part[1];

	str_cut(&plus, '+');
	if (parts->count == 4 && str_starts(plus, STR("arg")))
		refuse_argument(p, parts);
	else if (parts->count != 4 || lex_number(parts->part[1], &s->offset) ||
		 lex_number(parts->part[2], &length) || !length || length > 8 ||
		 (length & (length - 1)) || !(s->mode = watch_mode(parts->part[3])))
		parse_bad_probe(
			p, parts,
			"watchpoint:ADDRESS:LENGTH:MODE, such as watchpoint:0x7ffe1000:8:rw: "
			"LENGTH is 1, 2, 4 or 8, MODE is of r, w and x");
	s->length = (uint8_t)length;
}

/* rawtracepoint = type ":" ( module ":" )? event */
static void build_raw(struct parser *p, const struct pattern *parts, struct probe_spec *s)
{
	if (parts->count < 2 || parts->count > 3 || !parts->part[parts->count - 1].len)
		parse_bad_probe(p, parts,
				"rawtracepoint:EVENT, such as rawtracepoint:sched_switch");
	s->name = parts->part[parts->count - 1];
	if (parts->count == 3)
		s->provider = parts->part[1];
}

/* kprobe = type ":" ( module ":" )? ( function ( "+" number )? | number ) */
static void build_kprobe(struct parser *p, const struct pattern *parts, struct probe_spec *s)
{
	bool is_return = s->type == PROBE_KRETPROBE, has_offset;
	bool fine = parts->count > 1 && parts->count < 4 && parts->part[parts->count - 1].len;
	struct str rest;

	if (fine) {
		rest = s->name = parts->part[parts->count - 1];
		s->provider = parts->count == 3 ? parts->part[1] : STR("");
		s->has_address = lex_number(rest, &s->offset) == 0;
		s->name = str_cut(&rest, '+');
		has_offset = s->name.len < parts->part[parts->count - 1].len;
		fine = s->name.len && !(is_return && (has_offset || s->has_address)) &&
		       (!has_offset || lex_number(rest, &s->offset) == 0);
	}
	if (!fine)
		parse_bad_probe(
			p, parts,
			is_return ? "kretprobe:FUNCTION"
				  : "kprobe:FUNCTION, kprobe:FUNCTION+OFFSET or kprobe:ADDRESS");
	else if (s->has_address && !p->options->unsafe &&
		 parse_error(p, parse_mark_of(p, parts->all), "unsafe",
			     "a probe at an address of the kernel can crash the machine"))
		diag_hint(p->d, "write kprobe:FUNCTION+OFFSET; --unsafe allows an address");
}

/* fentry = type ":" ( module ":" )? function */
static void build_fentry(struct parser *p, const struct pattern *parts, struct probe_spec *s)
{
	if (parts->count < 2 || parts->count > 3 || !parts->part[parts->count - 1].len ||
	    str_index(parts->part[parts->count - 1], '+') >= 0)
		parse_bad_probe(p, parts,
				s->type == PROBE_FENTRY ? "fentry:FUNCTION, such as fentry:vfs_read"
							: "fexit:FUNCTION, such as fexit:vfs_read");
	s->name = parts->part[parts->count - 1];
	s->provider = parts->count == 3 ? parts->part[1] : STR("");
}

/* iter = type ":" object */
static void build_iter(struct parser *p, const struct pattern *parts, struct probe_spec *s)
{
	if (parts->count != 2 || !parts->part[1].len)
		parse_bad_probe(p, parts, "iter:OBJECT, such as iter:task");
	s->name = parts->part[parts->count - 1];
}

/* self = "self:signal:SIGUSR1" */
static void build_self(struct parser *p, const struct pattern *parts, struct probe_spec *s)
{
	if (parts->count != 3 || !str_eq_text(parts->part[1], "signal") ||
	    !str_eq_text(parts->part[2], "SIGUSR1"))
		parse_bad_probe(p, parts, "self:signal:SIGUSR1");
	s->name = parts->part[parts->count - 1];
}

/* test = "test:" name ; bench = "bench:" name */
static void build_trial(struct parser *p, const struct pattern *parts, struct probe_spec *s)
{
	if (parts->count != 2 || !parts->part[1].len)
		parse_bad_probe(p, parts, s->type == PROBE_TEST ? "test:NAME" : "bench:NAME");
	s->name = parts->part[parts->count - 1];
}

typedef void build_fn(struct parser *p, const struct pattern *parts, struct probe_spec *s);

static build_fn *const builders[PROBE_TYPES] = {
#define PROBE(type, name, other, brief, also, read, find, kind) read,
#include "script/parse/probe_types.h"
#undef PROBE
};

static void unknown_type(struct parser *p, const struct pattern *parts)
{
	struct str name = parts->part[0], guess = probe_type_guess(name);
	struct mark first = parse_mark_of(p, parts->first);

	if (!parse_error(p, first, "unknown-probe-type", "unknown probe type '%.*s'",
			 STR_FMT(name)))
		return;
	if (guess.len)
		diag_hint(p->d, "did you mean '%.*s'?", STR_FMT(guess));
	else if (parts->count == 2 && parts->part[1].len)
		diag_hint(p->d, "for a USDT probe write usdt:*:%.*s:%.*s, or usdt:FILE:%.*s:%.*s",
			  STR_FMT(name), STR_FMT(parts->part[1]), STR_FMT(name),
			  STR_FMT(parts->part[1]));
	else
		diag_hint(p->d,
			  "the probe types are usdt, uprobe, uretprobe, tracepoint, "
			  "rawtracepoint, kprobe, kretprobe, fentry, fexit, software, "
			  "hardware, watchpoint, iter, interval, profile, self, BEGIN and END");
}

/* What is after the type: as it is written, or with the values of its parameters. */
static struct str rest_of(struct parser *p, const struct pattern *parts)
{
	struct str rest = parts->all, text = STR("");

	str_cut(&rest, ':');
	if (str_index(rest, '$') < 0)
		return rest;
	for (unsigned i = 1; i < parts->count && text.ptr; i++)
		text = arena_printf(p->arena, "%.*s%s%.*s", STR_FMT(text), i > 1 ? ":" : "",
				    STR_FMT(parts->part[i]));
	if (!text.ptr)
		parse_fail(p, -ENOMEM);
	return text;
}

/* name=BEGIN: the name of a clause, which means nothing yet in bpftrace either */
static void skip_label(struct parser *p)
{
	struct lexer *l = &p->lexer;
	size_t end = l->at;

	while (end < l->text.len &&
	       (isalnum((unsigned char)l->text.ptr[end]) || l->text.ptr[end] == '_'))
		end++;
	if (end > l->at && end < l->text.len && l->text.ptr[end] == '=')
		l->at = end + 1;
}

static struct probe_spec *new_spec(struct parser *p, const struct pattern *parts)
{
	struct probe_spec *s = p->err ? NULL : arena_new(p->arena, struct probe_spec);

	if (!s) {
		parse_fail(p, -ENOMEM);
		return NULL;
	}
	parse_count_node(p);
	s->mark = parse_mark_of(p, parts->all);
	s->rest = rest_of(p, parts);
	return s;
}

/* "*probe:/bin/bash:main": one probe of each type that it may be. A type that has no such form is
 * left out. */
static struct probe_spec *build_all(struct parser *p, const struct pattern *parts)
{
	bool of_files = (p->options->pid && !p->options->has_command) ||
			(parts->count > 1 && str_index(parts->part[1], '/') >= 0);
	struct probe_spec *first = NULL, **out = &first, *s;
	enum probe_type type;

	for (size_t i = 0; probe_type_match(parts->part[0], of_files, &i, &type); i++) {
		struct parser quiet = *p;

		s = new_spec(p, parts);
		if (!s)
			return first;
		s->type = type;
		s->is_one_of = true;
		quiet.d = quiet.lexer.d = NULL;
		builders[type](&quiet, parts, s);
		if (quiet.err)
			continue;
		*out = s;
		out = &s->next;
	}
	if (!first)
		parse_error(p, parse_mark_of(p, parts->all), "unknown-probe-type",
			    "no type of probe has the form '%.*s'", STR_FMT(parts->all));
	return first;
}

/* NULL after an error. */
static struct probe_spec *parse_probe(struct parser *p)
{
	struct pattern parts;
	struct probe_spec *s;

	parse_blank(p);
	skip_label(p);
	if (p->err)
		return NULL;
	parse_parts(p, &parts);
	if (p->err)
		return NULL;
	if (str_has_wildcard(parts.part[0]))
		return build_all(p, &parts);
	s = new_spec(p, &parts);
	if (s && probe_type_find(parts.part[0], &s->type))
		builders[s->type](p, &parts, s);
	else if (s)
		unknown_type(p, &parts);
	return s;
}

/* probes = probe ( "," probe )* ","? */
void parse_probes(struct parser *p, struct probe_spec **out)
{
	for (; (*out = parse_probe(p)); out = &(*out)->next) {
		while ((*out)->next)
			out = &(*out)->next;
		parse_blank(p);
		if (p->err || byte_here(&p->lexer) != ',')
			return;
		p->lexer.at++;
		parse_blank(p);
		if (byte_here(&p->lexer) == '{' || byte_here(&p->lexer) == '/')
			return;
	}
}

int parse_pattern(struct parser *p, struct probe_spec **out)
{
	p->is_pattern = true;
	*out = parse_probe(p);
	parse_blank(p);
	if (!p->err && !at_end(&p->lexer))
		parse_error(p, (struct mark){(uint32_t)p->lexer.at, 1}, "syntax",
			    "expected the end of the pattern before '%c'", byte_here(&p->lexer));
	return p->err;
}
