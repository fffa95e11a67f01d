/* Lines of source -> addresses. Line tables are large, so only those are decoded whose list of
 * files mentions the file: its name is searched for in .debug_line and .debug_line_str as bytes. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "debuginfo/inside.h"

/* A statement of the wanted file. */
struct statement {
	uint64_t address;
	unsigned line;
	uint64_t scope;	   /* the entry of the innermost block that has it */
	uint64_t function; /* first instruction of the function around it; 0: not known */
};

#define MAX_PLACES 10000

struct line_search {
	struct debuginfo *di;
	struct str file, base; /* as asked for, and its last part */
	unsigned line, column;
	uint8_t *is_wanted; /* of each unit */
	bool is_file_known;
	bool in_line;		  /* the row before was of the line, too */
	struct statement *places; /* of the nearest line that was met */
	size_t count, cap;
};

/* The line table at this place of .debug_line, and the units that use it. Tables begin with their
 * length, so the last one that begins before is the one. */
static void mark_users(struct line_search *s, uint64_t at)
{
	uint64_t best = NO_LINES;

	for (size_t i = 0; i < s->di->unit_count; i++) {
		uint64_t lines = s->di->units[i].lines;

		if (lines != NO_LINES && lines <= at && (best == NO_LINES || lines > best))
			best = lines;
	}
	for (size_t i = 0; i < s->di->unit_count && best != NO_LINES; i++)
		s->is_wanted[i] |= s->di->units[i].lines == best;
}

static int mark_word(void *arg, uint64_t at)
{
	mark_users(arg, at);
	return 0;
}

/* The units whose tables mention a file of that last part: "tick.c", or "src/tick.c" whole. */
static int find_units(struct line_search *s)
{
	struct debuginfo *di = s->di;
	struct str texts[] = {s->base, s->file};
	int err = units_describe(di);

	for (unsigned i = 0; i < 2 && !err; i++) {
		uint64_t *offsets = NULL;
		size_t count;

		err = find_text(di, di->line_strings, texts[i], &offsets, &count);
		if (!err && count)
			err = find_words(di, di->lines, offsets, count, mark_word, s);
		free(offsets);
		if (err)
			break;
		/* As a whole path it ends in the text. */
		err = find_text(di, di->lines, texts[i], &offsets, &count);
		for (size_t k = 0; k < count && !err; k++)
			mark_users(s, offsets[k]);
		free(offsets);
	}
	debuginfo_release(di);
	return err;
}

/* Is `path` the wanted file? Its last parts must be the same. */
static bool is_wanted_file(const struct line_search *s, const char *path)
{
	struct str p = str_from(path);

	return str_ends(p, s->file) && (p.len == s->file.len || s->file.ptr[0] == '/' ||
					p.ptr[p.len - s->file.len - 1] == '/');
}

/* A row of a table: does a statement of the wanted line, or of the nearest one after it, begin
 * there? */
static bool is_wanted_row(struct line_search *s, Dwarf_Line *line, struct statement *out)
{
	bool begins = false, ends = true, was_in_line = s->in_line;
	Dwarf_Addr address;
	const char *path;
	int number, column;

	s->in_line = false;
	if (dwarf_lineno(line, &number) || number < 0 || (unsigned)number < s->line ||
	    (s->count && (unsigned)number > s->places[0].line) ||
	    dwarf_lineendsequence(line, &ends) || ends ||
	    !(path = dwarf_linesrc(line, NULL, NULL)) || !is_wanted_file(s, path))
		return false;
	if (s->column && (dwarf_linecol(line, &column) || (unsigned)column != s->column))
		return false;
	s->in_line = true;
	*out = (struct statement){.line = (unsigned)number};
	/* The rows of one line may go on, for its parts. */
	if ((was_in_line && s->count && s->places[0].line == out->line) ||
	    dwarf_linebeginstatement(line, &begins) || !begins || dwarf_lineaddr(line, &address))
		return false;
	out->address = address;
	return true;
}

/* The innermost block around the place, and the function. Where an inlined copy begins, what
 * belongs to the function around it may begin, too. */
static void find_scope(struct line_search *s, uint32_t unit, Dwarf_Die *top, struct statement *p)
{
	Dwarf_Die *scopes = NULL;
	uint64_t scope;
	int count = dwarf_getscopes(top, p->address, &scopes);

	for (int i = 0; i < count; i++) {
		Dwarf_Addr entry;

		if (!i)
			p->scope = dwarf_dieoffset(&scopes[i]);
		if (!p->function && dwarf_tag(&scopes[i]) == DW_TAG_subprogram &&
		    !dwarf_entrypc(&scopes[i], &entry))
			p->function = entry;
	}
	free(scopes);
	scope = inlined_at(s->di, unit, p->address);
	if (scope)
		p->scope = scope;
}

/* A line may have several runs of instructions in one block, as the head of a loop has: the first
 * is where the line begins, as in debuggers. Each inlined copy is a block of its own. */
static int take_place(struct line_search *s, uint32_t unit, Dwarf_Die *top, struct statement *p)
{
	if (s->count && p->line < s->places[0].line)
		s->count = 0;
	find_scope(s, unit, top, p);
	for (size_t i = 0; i < s->count && p->scope; i++)
		if (s->places[i].scope == p->scope) {
			if (p->address < s->places[i].address)
				s->places[i] = *p;
			return 0;
		}
	if (s->count == MAX_PLACES)
		return -E2BIG;
	if (array_grow(s->places, s->count, s->cap))
		return -ENOMEM;
	s->places[s->count++] = *p;
	return 0;
}

static void note_file(struct line_search *s, Dwarf_Die *top)
{
	Dwarf_Files *files;
	size_t count;

	if (s->is_file_known || dwarf_getsrcfiles(top, &files, &count))
		return;
	for (size_t i = 0; i < count && !s->is_file_known; i++) {
		const char *path = dwarf_filesrc(files, i, NULL, NULL);

		s->is_file_known = path && is_wanted_file(s, path);
	}
}

/* What libdw keeps of each table that it decoded. */
#define KEPT_UNITS 64

static int read_units(struct line_search *s)
{
	struct debuginfo *di = s->di;
	unsigned decoded = 0;
	int err = 0;

	for (uint32_t i = 0; i < di->unit_count && !err; i++) {
		Dwarf_Lines *lines;
		Dwarf_Die top;
		size_t count;

		if (!s->is_wanted[i] || !unit_top(di, i, &top))
			continue;
		note_file(s, &top);
		if (!s->is_file_known || dwarf_getsrclines(&top, &lines, &count))
			continue;
		s->in_line = false;
		for (size_t n = 0; n < count && !err; n++) {
			struct statement p;

			if (is_wanted_row(s, dwarf_onesrcline(lines, n), &p))
				err = take_place(s, i, &top, &p);
		}
		if (++decoded % KEPT_UNITS == 0 && !err)
			err = debuginfo_forget(di);
		debuginfo_release(di);
	}
	return err;
}

static int compare_places(const void *a, const void *b)
{
	const struct statement *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static int report_statements(struct line_search *s, debug_place_fn *fn, void *arg)
{
	int err = 0, count = 0;

	qsort(s->places, s->count, sizeof(*s->places), compare_places);
	for (size_t i = 0; i < s->count && !err; i++) {
		if (i && s->places[i].address == s->places[i - 1].address)
			continue;
		count++;
		err = fn(arg, s->places[i].address, s->places[i].function);
	}
	return err ? err : count;
}

int debuginfo_lines(struct debuginfo *di, struct str file, unsigned line, unsigned column,
		    unsigned *found, debug_place_fn *fn, void *arg)
{
	struct line_search s = {.di = di,
				.file = file,
				.base = str_after_last(file, '/'),
				.line = line,
				.column = column};
	int err;

	*found = 0;
	s.is_wanted = calloc(di->unit_count + 1, 1);
	err = s.is_wanted ? find_units(&s) : -ENOMEM;
	if (!err)
		err = read_units(&s);
	if (!err && !s.is_file_known)
		err = -ENOENT;
	if (!err && s.count) {
		*found = s.places[0].line;
		err = report_statements(&s, fn, arg);
	}
	free(s.is_wanted);
	free(s.places);
	debuginfo_release(di);
	return err;
}
