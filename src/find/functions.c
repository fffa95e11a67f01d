/* Answering queries for functions. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "debuginfo/debuginfo.h"
#include "find/finder.h"
#include "symbols/demangle.h"

/* One walk over the functions of one image. */
struct function_walk {
	struct finder *finder;
	const struct find_query *query;
	bool named; /* what is wrong with the file is an error */
	struct diag *d;
	struct finding *finding;
	struct str name;
	function_fn *fn;
	void *arg;
	int found;
	/* The function reported last: one that is in two symbol tables is reported once. */
	struct buf last_name; /* empty: none yet */
	uint64_t last_offset;
	struct buf plain; /* the name that was compared last, demangled */
	bool is_exact;	  /* a `*` in the name is that of a pointer */
	int ended;	  /* what the callback returned */
	bool is_inlined;  /* what is found are copies inside other functions */
	unsigned line;	  /* of the source, that is found */
};

/* Bytes of a function from where calls enter it. */
static uint64_t extent_of(struct symtab *symbols, const struct symbol *function)
{
	uint64_t skipped = function->entry - function->address,
		 extent = symtab_extent(symbols, function);

	return extent > skipped ? extent - skipped : 0;
}

static struct found_function function_of(const struct finding *f, struct str name)
{
	return (struct found_function){
		.path = f->image.path,
		.open_path = f->image.open_path,
		.file = f->cached->file,
		.name = name,
		.arch = f->cached->arch,
	};
}

/* "_Z3fooi" of "_Z3fooi.isra.0", which a compiler made of the function; empty: the symbol is only a
 * part of one, such as "_Z3fooi.cold". */
static struct str source_symbol(struct str name)
{
	struct str rest = name, first = str_cut(&rest, '.');

	while (rest.len) {
		struct str word = str_cut(&rest, '.');

		if (str_eq_text(word, "cold") || str_eq_text(word, "part"))
			return STR("");
	}
	return first;
}

/* Is that the name of the function, without its parameters or with them? */
static bool is_demangled_name(struct function_walk *w, struct str name)
{
	static const enum demangle_form forms[] = {DEMANGLE_WHOLE, DEMANGLE_SHORT};

	name = source_symbol(name);
	if (!name.len)
		return false;
	for (size_t i = 0; i < COUNT(forms); i++) {
		struct str plain;

		buf_clear(&w->plain);
		demangle(name, forms[i], &w->plain);
		plain = buf_as_str(&w->plain);
		if (w->is_exact ? str_eq(w->name, plain) : str_match(w->name, plain))
			return true;
	}
	return false;
}

static int take_symbol(void *arg, const struct symbol *symbol)
{
	struct function_walk *w = arg;
	struct finding *f = w->finding;
	struct found_function function = function_of(f, symbol->name);

	if (symbol->kind != KIND_FUNCTION ||
	    !(w->query->is_demangled ? is_demangled_name(w, symbol->name)
				     : str_match(w->name, symbol->name)) ||
	    !symtab_offset_of(f->cached->symbols, symbol->entry, &function.offset))
		return 0;
	if (w->last_offset == function.offset && str_eq(buf_as_str(&w->last_name), symbol->name))
		return 0;
	if (w->query->is_demangled) {
		buf_clear(&w->plain);
		demangle(source_symbol(symbol->name), DEMANGLE_WHOLE, &w->plain);
		function.plain = buf_as_str(&w->plain);
	}
	function.address = symbol->entry;
	function.start = function.offset;
	function.extent = extent_of(f->cached->symbols, symbol);
	w->found++;
	w->last_offset = function.offset;
	buf_clear(&w->last_name);
	buf_str(&w->last_name, symbol->name);
	return w->ended =
		       w->last_name.failed || w->plain.failed ? -ENOMEM : w->fn(w->arg, &function);
}

/* The instruction at a link-time address, in the function that holds it. Only what is in the file
 * can be probed. */
static int take_address(struct function_walk *w, uint64_t address)
{
	const struct finding *f = w->finding;
	struct found_function function = function_of(f, STR(""));
	struct symbol symbol;

	function.address = address;
	function.is_inlined = w->is_inlined;
	function.line = w->line;
	if (!symtab_offset_of(f->cached->symbols, address, &function.offset))
		return 0;
	if (symtab_at(f->cached->symbols, address, &symbol) && address >= symbol.entry &&
	    address - symbol.entry < extent_of(f->cached->symbols, &symbol)) {
		function.name = symbol.name;
		function.start = function.offset - (address - symbol.entry);
		function.extent = extent_of(f->cached->symbols, &symbol);
	}
	if (w->is_inlined)
		function.name = w->name;
	w->found++;
	return w->fn(w->arg, &function);
}

static int take_place(void *arg, uint64_t address, uint64_t function)
{
	struct function_walk *w = arg;

	(void)function; /* the symbols say which function has it */
	return w->ended = take_address(w, address);
}

/* The copies of a function that is nowhere else. */
static int walk_inlined(struct function_walk *w)
{
	struct file *file = w->finding->cached->file;
	struct debuginfo *info;
	int err = file ? finder_debuginfo(w->finder, file, &info, w->d) : -ENOENT;

	if (err)
		return err == -ENOENT ? 0 : err;
	w->is_inlined = true;
	err = debuginfo_inlined(info, w->name, take_place, w);
	w->is_inlined = false;
	return err < 0 ? err : 0;
}

static int lack_lines(const struct function_walk *w, int err)
{
	const struct find_query *q = w->query;
	struct buf path = BUF_INIT, source = BUF_INIT, column = BUF_INIT;

	if (!w->named)
		return 0;
	buf_escaped(&path, w->finding->image.path);
	buf_escaped(&source, q->source);
	if (err == -ENODATA) {
		diag_error(w->d, -ENOENT, "no-debuginfo", "'%.*s' has no debug information",
			   STR_FMT(buf_as_str(&path)));
		diag_hint(w->d, "compile it with -g, or install the package with its debug file");
	} else if (err) {
		diag_error(w->d, -ENOENT, "no-source", "no source file of '%.*s' is called '%.*s'",
			   STR_FMT(buf_as_str(&path)), STR_FMT(buf_as_str(&source)));
	} else {
		if (q->column)
			buf_printf(&column, ", column %u,", q->column);
		diag_error(w->d, -ENOENT, "no-code",
			   "'%.*s' has no code at line %u%.*s or after it",
			   STR_FMT(buf_as_str(&source)), q->line, STR_FMT(buf_as_str(&column)));
	}
	buf_free(&path);
	buf_free(&source);
	buf_free(&column);
	return -ENOENT;
}

/* The places of a line: w->line is the one that has code by the time they are reported. */
static int walk_line(struct function_walk *w)
{
	const struct find_query *q = w->query;
	struct debuginfo *info;
	int err = finder_debuginfo(w->finder, w->finding->cached->file, &info, w->d);

	if (err)
		return err == -ENOENT ? lack_lines(w, -ENODATA) : err;
	err = debuginfo_lines(info, q->source, q->line, q->column, &w->line, take_place, w);
	if (!w->line && (err >= 0 || err == -ENOENT))
		return lack_lines(w, err);
	return err < 0 ? err : 0;
}

static int note_unsized(void *arg, const struct symbol *symbol)
{
	bool *any = arg;

	*any |= !symbol->size;
	return 0;
}

/* f(int*) is that function, not every one whose name begins and ends like it, if there is it. */
static int walk_demangled(struct function_walk *w)
{
	int found = w->found, err;

	w->is_exact = true;
	err = symtab_each(w->finding->cached->symbols, take_symbol, w);
	w->is_exact = false;
	if (err || w->found > found || !str_has_wildcard(w->name))
		return err;
	return symtab_each(w->finding->cached->symbols, take_symbol, w);
}

/* A function without a size ends at the next symbol, for which the table must be sorted. */
static int walk_image(struct function_walk *w)
{
	struct symtab *symbols = w->finding->cached->symbols;
	bool any_unsized = false;
	uint64_t address;
	int err;

	if (w->query->line)
		return walk_line(w);
	if (w->query->is_demangled)
		return walk_demangled(w);
	if (str_starts(w->name, STR("0x")) && !str_to_u64(w->name, &address))
		return take_address(w, address);
	if (str_has_wildcard(w->name))
		return symtab_each(symbols, take_symbol, w);
	err = symtab_find(symbols, w->name, note_unsized, &any_unsized);
	if (any_unsized && !err)
		symtab_sort(symbols);
	err = err ? err : symtab_find(symbols, w->name, take_symbol, w);
	return err || w->found ? err : walk_inlined(w);
}

#define WHY_NAMES "the names of all together take more than 400 million steps of work"

/* Names that overlap may be too long together to be looked through. */
static int judge_walk(const struct function_walk *w, int err)
{
	struct buf path = BUF_INIT;

	if (err != -E2BIG || w->ended)
		return err;
	buf_escaped(&path, w->finding->image.path);
	if (w->named)
		diag_error(w->d, err, "over-budget",
			   "functions of '%.*s' cannot be found: " WHY_NAMES,
			   STR_FMT(buf_as_str(&path)));
	else
		diag_warn(w->d, "over-budget", "functions of '%.*s' are skipped: " WHY_NAMES,
			  STR_FMT(buf_as_str(&path)));
	buf_free(&path);
	return w->named ? err : 0;
}

/* Nothing was found: it may be in a debug file that is ignored. */
static void warn_untrusted(struct finding *f, struct diag *d)
{
	struct arena a = ARENA_INIT;
	struct str name = cache_untrusted(f, &a);

	if (name.len) {
		diag_warn(d, "untrusted-debug", "functions that only '%.*s' describes are skipped",
			  STR_FMT(name));
		diag_hint(d, "a debug file is trusted only if root owns it, only root can write to "
			     "it, and it is below the tracer's root directory");
	}
	arena_free(&a);
}

/* Nothing was found: most names of a stripped file are in no table. */
static void warn_stripped(struct finding *f, struct diag *d)
{
	struct arena a = ARENA_INIT;
	struct buf path = BUF_INIT;
	struct str id;

	if (cache_stripped(f, &id, &a)) {
		buf_escaped(&path, f->image.path);
		diag_warn(d, "stripped",
			  "'%.*s' is stripped: only the functions that it exports have names",
			  STR_FMT(buf_as_str(&path)));
		diag_hint(d,
			  "install its debug symbols: on Debian the package that "
			  "'find-dbgsym-packages %.*s' names%s%.*s",
			  STR_FMT(buf_as_str(&path)), id.len ? "; build ID " : "", STR_FMT(id));
	}
	buf_free(&path);
	arena_free(&a);
}

/* glibc 2.34 moved the functions of these libraries to libc. Their files are still there, empty. */
static bool has_moved_to_libc(struct str library)
{
	static const char *const moved[] = {"pthread", "libpthread", "libdl",
					    "librt",   "libutil",    "libanl"};
	struct str name = str_cut(&library, '.');

	for (size_t i = 0; i < COUNT(moved); i++)
		if (str_eq_text(name, moved[i]))
			return true;
	return false;
}

static int search_functions(struct finder *f, const struct find_query *q, function_fn *fn,
			    void *arg, struct diag *d)
{
	struct function_walk w = {.finder = f, .query = q, .name = q->name, .fn = fn, .arg = arg};
	struct image_set set;
	int err = finder_images(f, q->pid, q->path, &set, d);

	for (size_t i = 0; i < set.count && !err; i++) {
		if (q->to_attach || q->line)
			err = cache_renew(&f->cache, &set.items[i]);
		if (err)
			break;
		w.finding = set.items[i];
		w.named = set.named;
		w.d = set.named ? d : &f->problems;
		buf_clear(&w.last_name);
		err = cache_read_symbols(&f->cache, w.finding, w.named, w.d);
		if (!err && w.finding->cached->symbols) {
			cache_show(&f->cache, w.finding->cached);
			err = judge_walk(&w, walk_image(&w));
		}
		if (!err && q->to_attach && w.named && !w.found && !has_moved_to_libc(q->path)) {
			warn_untrusted(w.finding, d);
			warn_stripped(w.finding, d);
		}
		cache_let_go(w.finding->cached);
	}
	free(set.items);
	buf_free(&w.last_name);
	buf_free(&w.plain);
	return err ? err : w.found;
}

int finder_functions(struct finder *f, const struct find_query *q, function_fn *fn, void *arg,
		     struct diag *d)
{
	int found = search_functions(f, q, fn, arg, d);
	struct find_query other = *q;

	if (found || !has_moved_to_libc(q->path))
		return found;
	other.path = STR("libc");
	return search_functions(f, &other, fn, arg, d);
}

struct str finder_function_at(struct finder *f, const struct found_image *image, uint64_t offset)
{
	struct finding *finding = (struct finding *)image; /* the image is its first member */
	struct symbol symbol;

	cache_read_names(&f->cache, finding, &f->problems);
	if (!finding->cached->names ||
	    !symtab_at_offset(finding->cached->names, offset, &symbol, NULL))
		return STR("");
	return symbol.name;
}
