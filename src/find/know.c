/* What is known of a site's arguments beyond where they are: names, types, the source's place. Two
 * tell: the program itself (section .note.nopal), and the catalogue of well-known probes. The
 * program's own word counts for more, and its notes about this very site for the most. */
#include "find/know.h"

#include <errno.h>
#include <stdlib.h>

#include "find/finder.h"
#include "probe/describe.h"
#include "probe/type_class.h"
#include "provider/catalogue.h"

#define MAX_NAME 64 /* bytes of a name that a script can use */

static bool is_word_char(char c, bool first)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (!first && c >= '0' && c <= '9');
}

/* Can a script write args.NAME? */
static bool is_name(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!is_word_char(s.ptr[i], i == 0))
			return false;
	return s.len && s.len <= MAX_NAME;
}

/* source = word { ("." | "->") word }: its last word is a name for the value. */
static struct str name_of_source(struct str source)
{
	size_t at = 0, start;

	do {
		start = at;
		while (at < source.len && is_word_char(source.ptr[at], at == start))
			at++;
		if (at == start)
			return STR("");
		if (at == source.len)
			break;
		if (source.ptr[at] == '.')
			at++;
		else if (at + 1 < source.len && source.ptr[at] == '-' && source.ptr[at + 1] == '>')
			at += 2;
		else
			return STR("");
	} while (true);
	return str_of(source.ptr + start, at - start);
}

/* argN is the script's own name for the N-th argument. */
static bool is_numbered(struct str name)
{
	uint64_t number;

	return str_starts(name, STR("arg")) &&
	       !str_to_u64(str_of(name.ptr + 3, name.len - 3), &number);
}

/* A name stands for one argument: of two with the same name, neither has it. */
static void drop_repeated(struct known_site *k)
{
	for (unsigned i = 0; i < k->arg_count; i++) {
		bool repeated = false;

		for (unsigned n = i + 1; n < k->arg_count && k->args[i].name.len; n++)
			if (str_eq(k->args[n].name, k->args[i].name)) {
				repeated = true;
				k->args[n].name = STR("");
			}
		if (repeated)
			k->args[i].name = STR("");
	}
}

static bool is_integer(enum arg_class type_class)
{
	return type_class == ARG_SIGNED || type_class == ARG_UNSIGNED;
}

static bool is_length_name(struct str name, struct str of)
{
	struct str rest;

	if (name.len <= of.len || !str_starts(name, of))
		return false;
	rest = str_of(name.ptr + of.len, name.len - of.len);
	return str_eq_text(rest, "_len") || str_eq_text(rest, "_length") ||
	       str_eq_text(rest, "len");
}

/* May the argument be the address of text? Run-time probes say of text without a NUL that it is a
 * pointer, so that nobody reads it as if it had one. */
static bool may_be_text(const struct known_arg *arg)
{
	return arg->type_class == ARG_STRING ||
	       (arg->type_class == ARG_POINTER &&
		(str_eq_text(arg->type, "const char *") || str_eq_text(arg->type, "char *")));
}

/* `char *name, int name_len`: bytes that are counted, with or without a NUL at their end. */
static void find_lengths(struct known_site *k)
{
	for (unsigned i = 0; i + 1 < k->arg_count; i++) {
		struct known_arg *arg = &k->args[i];
		const struct known_arg *next = arg + 1;

		if (!may_be_text(arg) || !arg->name.len ||
		    !(is_integer(next->type_class) || next->type_class == ARG_UNKNOWN) ||
		    !is_length_name(next->name, arg->name))
			continue;
		arg->type_class = ARG_STRING;
		arg->length = (int)i + 1;
	}
}

static void take_class(struct known_arg *to, enum arg_class type_class, bool is_signed,
		       uint8_t size)
{
	to->type_class = type_class;
	to->is_signed = is_signed;
	to->size = size;
}

/* Whether bytes behind an address are text is what the declaration knows best. */
static bool is_address(enum arg_class type_class)
{
	return type_class == ARG_POINTER || type_class == ARG_STRING;
}

static struct str declarator(struct arena *a, const struct ctype_param *arg, struct str name)
{
	struct buf text = BUF_INIT;
	struct str out;

	ctype_print(&text, arg->type, name);
	out = arena_str(a, buf_as_str(&text));
	buf_free(&text);
	return out;
}

/* Names and types of the catalogue; classes where the site has none of its own. */
static int take_declaration(const struct provider_probe *probe, const struct arch *arch,
			    struct arena *a, struct known_site *k)
{
	const struct ctype_machine machine = ctype_machine_of(arch->machine, arch->word);
	struct known_arg *to = k->args;

	for (const struct ctype_param *arg = probe->args; arg; arg = arg->next, to++) {
		struct type_class is = type_class_of(arg->type, &machine);

		to->name = arena_str(a, arg->name);
		to->type = declarator(a, arg, STR(""));
		if (!to->name.ptr || !to->type.ptr)
			return -ENOMEM;
		if (is.type_class == ARG_BYTES && !is.size)
			is.type_class = ARG_UNKNOWN;
		take_class(to, is.type_class & 127u, is.type_class & 128u, is.size);
	}
	return 0;
}

static int take_text(struct arena *a, struct str from, struct str *to)
{
	if (!from.len)
		return 0;
	*to = arena_str(a, from);
	return to->ptr ? 0 : -ENOMEM;
}

/* What the program says of itself. Its declaration of a type may not know what the class is. */
static int take_own(const struct described_arg *from, struct arena *a, struct known_arg *to)
{
	bool is_declared = from->type.len;
	int err = is_numbered(from->name) ? 0 : take_text(a, from->name, &to->name);

	err = err ? err : take_text(a, from->type, &to->type);
	err = err ? err : take_text(a, from->source, &to->source);
	if (err || from->type_class == ARG_UNKNOWN ||
	    (from->type_class == ARG_BYTES && !from->size))
		return err;
	if (is_address(from->type_class) && is_address(to->type_class) && !is_declared)
		return 0;
	take_class(to, from->type_class, from->is_signed, from->size);
	return 0;
}

static int take_description(const struct description *from, struct arena *a, struct known_site *k)
{
	int err = take_text(a, from->file, &k->file);

	err = err ? err : take_text(a, from->text, &k->text);
	k->line = from->line;
	for (unsigned i = 0; i < k->arg_count && from->arg_count == k->arg_count && !err; i++)
		err = take_own(&from->args[i], a, &k->args[i]);
	return err;
}

static int compare_probes(const struct site *a, const struct site *b)
{
	int order = site_compare_probes(a, b);

	return order ? order
		     : (a->operand_count > b->operand_count) -
			       (a->operand_count < b->operand_count);
}

/* Of one probe the site whose source comes first, then the one whose note does. */
static int compare_described(const void *a, const void *b)
{
	const struct site *x = *(const struct site *const *)a, *y = *(const struct site *const *)b;
	int order = compare_probes(x, y);

	if (order)
		return order;
	if (x->described->line != y->described->line)
		return x->described->line < y->described->line ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* The sites of a list that are described, sorted; made once for each list, as it is asked for one
 * site after the other. -ENOMEM. */
static int sort_described(struct finder *f, const struct site_list *list)
{
	const struct site **sites;
	size_t count = 0;

	if (f->described_of == list)
		return 0;
	sites = realloc(f->described, (list->count + 1) * sizeof(*sites));
	if (!sites)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++)
		if (list->sites[i].described &&
		    list->sites[i].described->arg_count == list->sites[i].operand_count)
			sites[count++] = &list->sites[i];
	qsort(sites, count, sizeof(*sites), compare_described);
	f->described = sites;
	f->described_count = count;
	f->described_of = list;
	return 0;
}

/* The index of the first described site of the same probe, or of one behind it. */
static size_t first_described(const struct finder *f, const struct site *site)
{
	size_t low = 0, high = f->described_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_probes(f->described[middle], site) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Sites of one probe are about the same thing, whatever each calls it: the one whose source comes
 * first names an argument for all, so that one name does for the probe. Only so many are looked
 * at: a file could have a million without any. */
#define NAMING_SITES 1000

static struct str name_by_source(const struct finder *f, const struct site *site, unsigned n)
{
	size_t first = first_described(f, site);

	for (size_t i = first; i < f->described_count && i - first < NAMING_SITES; i++) {
		struct str name;

		if (compare_probes(f->described[i], site))
			break;
		name = name_of_source(f->described[i]->described->args[n].source);
		if (name.len)
			return name;
	}
	return STR("");
}

static void finish_names(const struct finder *f, const struct site *site, struct known_site *k)
{
	for (unsigned i = 0; i < k->arg_count; i++) {
		struct known_arg *arg = &k->args[i];

		arg->by_source = !arg->name.len;
		if (arg->by_source)
			arg->name = name_by_source(f, site, i);
		if (!is_name(arg->name) || is_numbered(arg->name))
			arg->name = STR("");
	}
	drop_repeated(k);
	find_lengths(k);
}

static struct catalogue *catalogue_of(struct finder *f)
{
	if (!f->catalogue && catalogue_new(&f->catalogue))
		return NULL;
	return f->catalogue;
}

int finder_know(struct finder *f, const struct found_image *image, const struct site *site,
		struct arena *a, struct known_site *out)
{
	const struct arch *arch = image->sites->arch;
	struct catalogue *c = catalogue_of(f);
	const struct provider_probe *probe;
	struct known_site k = {.arg_count = site->operand_count, .file = STR(""), .text = STR("")};
	int err = 0;

	k.args = arena_array(a, struct known_arg, k.arg_count + 1u);
	if (!k.args || !c || sort_described(f, image->sites))
		return -ENOMEM;
	for (unsigned i = 0; i < k.arg_count; i++)
		k.args[i] = (struct known_arg){.type_class = ARG_UNKNOWN, .length = -1};
	probe = arch ? catalogue_find(c, site->provider, site->name, k.arg_count) : NULL;
	if (probe)
		err = take_declaration(probe, arch, a, &k);
	k.is_known = probe || site->described;
	if (!err && site->described)
		err = take_description(site->described, a, &k);
	if (err)
		return err;
	finish_names(f, site, &k);
	*out = k;
	return 0;
}

void finder_know_problems(struct finder *f, struct diag *d)
{
	if (f->catalogue)
		catalogue_problems(f->catalogue, d);
}

/* "const char *word": the declared type may need the name in its middle, but notes have
 * it apart. */
static void show_arg(const struct known_arg *arg, unsigned index, struct buf *out)
{
	struct described_arg plain = {.type_class = arg->type_class,
				      .is_signed = arg->is_signed,
				      .size = arg->size,
				      .source = arg->source,
				      .name = arg->name,
				      .type = arg->type};

	if (arg->type.len || arg->source.len || arg->type_class != ARG_UNKNOWN)
		described_arg_show(&plain, out);
	else
		buf_printf(out, "arg%u", index);
	if (arg->by_source && arg->name.len && arg->source.len && !str_eq(arg->name, arg->source)) {
		buf_text(out, " = ");
		buf_escaped(out, arg->source);
	}
}

bool known_site_show(const struct known_site *k, const struct site *site, struct buf *out)
{
	if (!k->is_known)
		return false;
	buf_escaped(out, site->provider);
	buf_char(out, ':');
	buf_escaped(out, site->name);
	buf_char(out, '(');
	for (unsigned i = 0; i < k->arg_count; i++) {
		buf_text(out, i ? ", " : "");
		show_arg(&k->args[i], i, out);
	}
	buf_char(out, ')');
	if (!k->line)
		return true;
	buf_text(out, "  ");
	buf_escaped(out, k->file.len ? k->file : STR("line"));
	buf_printf(out, k->file.len ? ":%u" : " %u", k->line);
	return true;
}
