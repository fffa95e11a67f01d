/* What is known of a site's arguments beyond where they are: names and types. Both the program
 * itself (section .note.nopal) and the catalogue of well-known probes may say it. The program
 * counts for more, and its notes about this very site for the most. */
#include "find/know.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "find/finder.h"
#include "provider/catalogue.h"
#include "provider/notes.h"

#define MAX_NAME 64 /* bytes of a name that a script can use */

/* source = word { ("." | "->") word }: its last word is a name for the value. */
static struct str name_of_source(struct str rest)
{
	while (true) {
		struct str word = str_of(rest.ptr, 0);
		size_t joint;

		while (word.len < rest.len && char_is_word(rest.ptr[word.len]))
			word.len++;
		rest = str_of(rest.ptr + word.len, rest.len - word.len);
		if (!str_is_word(word))
			return STR("");
		if (!rest.len)
			return word;
		joint = str_starts(rest, STR("->")) ? 2 : 1;
		if (joint == 1 && rest.ptr[0] != '.')
			return STR("");
		rest = str_of(rest.ptr + joint, rest.len - joint);
	}
}

/* A name must be of one argument: two with the same name both lose it. */
static void drop_repeated(struct argument *args, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		bool repeated = false;

		for (unsigned n = i + 1; n < count && args[i].name.len; n++)
			if (str_eq(args[n].name, args[i].name)) {
				repeated = true;
				args[n].name = STR("");
			}
		if (repeated)
			args[i].name = STR("");
	}
}

static bool is_known(const struct ctype *t, const struct ctype_machine *m)
{
	return t && ctype_layout_passed(t, m).size;
}

/* `char *name, int name_len`: bytes that are counted, with or without a NUL at their end. */
static void find_lengths(struct argument *args, unsigned count, const struct ctype_machine *m)
{
	for (unsigned i = 0; i + 1 < count; i++) {
		const struct argument *next = &args[i + 1];
		const struct ctype *t = args[i].type;
		struct str rest = next->name, name = args[i].name;

		if (!str_starts(rest, name))
			continue;
		rest = str_of(rest.ptr + name.len, rest.len - name.len);
		/* May it be the address of text? Run-time probes say of text without a NUL that it
		 * is a pointer, so that nothing reads it as if it had one. */
		if (!t || !(ctype_is_text(t) ||
			    (ctype_is_address(t) && (str_eq_text(t->name, "const char *") ||
						     str_eq_text(t->name, "char *")))))
			continue;
		if (args[i].name.len &&
		    (!is_known(next->type, m) || ctype_kind(next->type) == CTYPE_INTEGER) &&
		    (str_eq_text(rest, "_len") || str_eq_text(rest, "_length") ||
		     str_eq_text(rest, "len")))
			args[i].counted_by = (int)i + 1;
	}
}

/* Names and types of the catalogue, where the program declares none of its own. Where it has words
 * for a type that it does not define, the catalogue may know what they mean. */
static int take_declaration(const struct provider_probe *probe, const struct ctype_machine *m,
			    struct arena *a, struct argument *args)
{
	struct argument *arg = args;
	struct ctype *named;
	int err = 0;

	for (const struct ctype_param *p = probe->args; p && !err; p = p->next, arg++) {
		if (!arg->name.len) {
			arg->name = p->name;
			arg->name_from = p->name.len ? ORIGIN_CATALOGUE : ORIGIN_NONE;
		}
		if (arg->type_from != ORIGIN_PROGRAM) {
			err = argument_declare(arg, p->type, ORIGIN_CATALOGUE, m, a);
		} else if (!is_known(arg->type, m)) {
			named = arena_new(a, struct ctype);
			if (!named)
				return -ENOMEM;
			*named = *arg->type;
			named->to = p->type;
			arg->type = named;
		}
	}
	return err;
}

static int compare_probes(const struct site *a, const struct site *b)
{
	int order = site_compare_probes(a, b);

	return order ? order : (a->arg_count > b->arg_count) - (a->arg_count < b->arg_count);
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
		if (list->sites[i].described)
			sites[count++] = &list->sites[i];
	qsort(sites, count, sizeof(*sites), compare_described);
	f->described = sites;
	f->described_count = count;
	f->described_of = list;
	return 0;
}

static bool is_probe_before(const void *item, const void *key)
{
	return compare_probes(*(const struct site *const *)item, key) < 0;
}

/* Sites of one probe are about the same thing, whatever each calls it: the one whose source comes
 * first names an argument for all, so that one name does for the probe. Only 1,000 are looked
 * at: a file could have a million without any. */
#define NAMING_SITES 1000

static struct str name_by_source(const struct finder *f, const struct site *site, unsigned n)
{
	size_t first = lower_bound(f->described, f->described_count, sizeof(*f->described),
				   is_probe_before, site);

	for (size_t i = first; i < f->described_count && i - first < NAMING_SITES; i++) {
		struct str name;

		if (compare_probes(f->described[i], site))
			break;
		name = name_of_source(f->described[i]->args[n].source);
		if (name.len)
			return name;
	}
	return STR("");
}

static void finish_names(const struct finder *f, const struct site *site)
{
	for (unsigned i = 0; i < site->arg_count; i++) {
		struct argument *arg = &site->args[i];

		if (!arg->name.len) {
			arg->name = name_by_source(f, site, i);
			arg->name_from = ORIGIN_SITE;
		}
		if (!str_is_word(arg->name) || arg->name.len > MAX_NAME ||
		    argument_is_numbered(arg->name))
			arg->name = STR("");
	}
	drop_repeated(site->args, site->arg_count);
}

int finder_know(struct finder *f, const struct found_image *image, struct site *site)
{
	const struct arch *arch = image->sites->arch;
	struct ctype_machine m = ctype_machine_of(arch ? arch->machine : 0, arch ? arch->word : 0);
	struct arena *a = &image->sites->arena;
	const struct provider_probe *probe = NULL;
	int err = 0;

	if (site->is_asked)
		return 0;
	if ((!f->catalogue && catalogue_new(&f->catalogue)) || sort_described(f, image->sites))
		return -ENOMEM;
	for (unsigned i = 0; i < site->arg_count; i++)
		if (argument_is_numbered(site->args[i].name))
			site->args[i].name = STR("");
	if (arch)
		probe = catalogue_find(f->catalogue, site->provider, site->name, site->arg_count);
	if (probe)
		err = take_declaration(probe, &m, a, site->args);
	if (err)
		return err;
	finish_names(f, site);
	find_lengths(site->args, site->arg_count, &m);
	site->is_declared = probe;
	site->is_asked = true;
	return 0;
}

struct str site_note(const struct site *site)
{
	return provider_note(site->provider, site->name);
}

void finder_know_problems(struct finder *f, struct diag *d)
{
	if (f->catalogue)
		catalogue_problems(f->catalogue, d);
}

void site_declaration_show(const struct site *site, struct buf *out)
{
	const struct description *d = site->described;

	if (!site->is_declared && !d)
		return;
	buf_escaped(out, site->provider);
	buf_char(out, ':');
	buf_escaped(out, site->name);
	buf_char(out, '(');
	for (unsigned i = 0; i < site->arg_count; i++) {
		const struct argument *arg = &site->args[i];

		buf_text(out, i ? ", " : "");
		if (arg->type || arg->source.len)
			argument_show(arg, out);
		else
			buf_printf(out, "arg%u", i);
		if (arg->name_from == ORIGIN_SITE && arg->name.len && arg->source.len &&
		    !str_eq(arg->name, arg->source)) {
			buf_text(out, " = ");
			buf_escaped(out, arg->source);
		}
	}
	buf_char(out, ')');
	if (!d || !d->line)
		return;
	buf_text(out, "  ");
	buf_escaped(out, d->file.len ? d->file : STR("line"));
	buf_printf(out, d->file.len ? ":%u" : " %u", d->line);
}

struct str know_program(struct str path)
{
	return provider_program_note(path);
}

bool site_is_hot(const struct site *site)
{
	return provider_probe_is_hot(site->provider, site->name);
}

struct str know_provider(struct str provider)
{
	return provider_program_of(provider);
}
