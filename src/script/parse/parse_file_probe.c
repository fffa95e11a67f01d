/* Probes of files: the parts of "usdt:PATH:PROVIDER:NAME" and "uprobe:PATH:FUNCTION" -> struct
 * probe_spec. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "find/pattern.h"
#include "script/parse/parse.h"

/* usdt = type ":" name | type ":" path ":" name | type ":" path ":" provider ":" name */
void parse_usdt(struct parser *p, const struct pattern *parts, struct probe_spec *s)
{
	if (parts->count < 2 || parts->count > 4 || !parts->part[parts->count - 1].len)
		parse_bad_probe(p, parts, "usdt:PATH:PROVIDER:NAME, or usdt:PATH:NAME");
	s->name = parts->part[parts->count - 1];
	if (parts->count > 2)
		s->path = parts->part[1];
	/* Without a process to look in, it is looked for in all of them. */
	if (!s->path.len && !p->options->pid)
		s->path = STR("*");
	if (parts->count == 4)
		s->provider = parts->part[2];
}

/* PATH@FILE:LINE and PATH@FILE:LINE:COLUMN. A path may have an '@' of its own before a function or
 * an address in hexadecimal. */
static bool build_line(const struct pattern *parts, struct probe_spec *s)
{
	struct str path = parts->part[1], rest = path;
	uint64_t line = 0, column = 0;

	if (parts->count < 3 || parts->count > 4 || str_index(path, '@') <= 0 ||
	    str_starts(parts->part[2], STR("0x")) || lex_number(parts->part[2], &line) || !line ||
	    line > UINT32_MAX ||
	    (parts->count == 4 && (lex_number(parts->part[3], &column) || !column)) ||
	    column > UINT32_MAX)
		return false;
	while (str_index(rest, '@') >= 0)
		str_cut(&rest, '@');
	s->path = str_of(path.ptr, path.len - rest.len - 1);
	s->source = rest;
	s->name = STR("");
	s->line = (uint32_t)line;
	s->column = (uint32_t)column;
	return rest.len && s->path.len;
}

/* PATH:cpp:NAME, where a '+' is a part of the name. */
static bool build_demangled(const struct pattern *parts, struct probe_spec *s)
{
	if (parts->count != 4 || !parts->part[1].len || !str_eq_text(parts->part[2], "cpp") ||
	    !parts->part[3].len)
		return false;
	s->path = parts->part[1];
	s->name = parts->part[3];
	s->is_demangled = true;
	return true;
}

/* The path may be left out where a process is given: it is the program that it runs. */
static bool add_program(struct parser *p, struct pattern *parts)
{
	char link[32], path[PATH_MAX];
	ssize_t len = -1;

	if (parts->count != 2 || !p->options->pid || p->options->has_command)
		return false;
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)p->options->pid);
	len = readlink(link, path, sizeof(path));
	if (len <= 0 || len == sizeof(path))
		return false;
	parts->part[2] = parts->part[1];
	parts->part[1] = arena_str(p->arena, str_of(path, (size_t)len));
	parts->count = 3;
	return parts->part[1].ptr;
}

/* uprobe = type ":" path ":" ( number | name ( "+" number )? | "cpp" ":" name );
 * uretprobe = type ":" path ":" ( "cpp" ":" )? name */
void parse_uprobe(struct parser *p, const struct pattern *parts, struct probe_spec *s)
{
	bool has_offset, is_return = s->type == PROBE_URETPROBE, fine;
	struct pattern with_path = *parts;
	struct str rest;

	if (add_program(p, &with_path))
		parts = &with_path;
	fine = parts->count == 3 && parts->part[1].len && parts->part[2].len;
	if (build_demangled(parts, s) || (!is_return && build_line(parts, s)))
		return;
	if (fine) {
		s->path = parts->part[1];
		rest = s->name = parts->part[2];
		s->has_address = lex_number(rest, &s->offset) == 0;
		s->name = s->has_address ? s->name : str_cut(&rest, '+');
		has_offset = s->has_address || s->name.len < parts->part[2].len;
		fine = !has_offset || (!is_return && lex_number(rest, &s->offset) == 0);
		if (s->has_address)
			s->name = STR("");
	}
	if (!fine && is_return && parts->count == 3)
		parse_bad_probe(p, parts, "uretprobe:PATH:FUNCTION");
	else if (!fine)
		parse_bad_probe(p, parts,
				"uprobe:PATH:FUNCTION, uprobe:PATH:FUNCTION+OFFSET, "
				"uprobe:PATH:0xADDRESS, uprobe:PATH:cpp:\"FUNCTION\" or "
				"uprobe:PATH@FILE:LINE");
}
