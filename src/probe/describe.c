/* What is known of a site: its notes are found by binary search in what describe_read.c has sorted,
 * and put together. Two that contradict each other count as none. */
#include "probe/describe.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cursor.h"

/* ---- Looking up ---- */

/* A note against the site it may be about. */
typedef int site_order_fn(const void *note, const struct site *site);

static int order_by_location(const void *note, const struct site *site)
{
	const struct site_note *n = note;

	return n->location < site->location ? -1 : n->location > site->location;
}

static int order_by_probe(const void *note, const struct site *site)
{
	const struct probe_note *n = note;
	int order = str_cmp(n->provider, site->provider);

	return order ? order : str_cmp(n->name, site->name);
}

/* A bound among the notes of a list: before those about the site, or after them. */
struct bound {
	const struct site *site;
	site_order_fn *order;
	bool after;
};

static bool is_before(const void *note, const void *key)
{
	const struct bound *b = key;

	return b->order(note, b->site) < b->after;
}

/* The note about a site; NULL when there is none, or several that differ. They are sorted by all
 * they say, so it is enough to compare the first with the last. */
static void *find_note(const struct note_list *list, size_t size, site_order_fn *order,
		       int (*compare)(const void *, const void *), const struct site *site)
{
	const struct bound low = {site, order, false}, high = {site, order, true};
	size_t first = lower_bound(list->items, list->count, size, is_before, &low);
	size_t end = lower_bound(list->items, list->count, size, is_before, &high);
	char *items = list->items;

	if (first == end || compare(items + first * size, items + (end - 1) * size))
		return NULL;
	return items + first * size;
}

static struct probe_note *find_probe_note(const struct note_list *list, const struct site *site)
{
	return find_note(list, sizeof(struct probe_note), order_by_probe, probe_note_compare, site);
}

/* ---- One site ---- */

static int keep_text(const struct descriptions *ds, struct str from, struct str *to)
{
	*to = arena_str(ds->kept, from);
	return to->ptr ? 0 : -ENOMEM;
}

/* The next macro argument of *rest, as the preprocessor divides them: commas within parentheses and
 * quotes do not count. */
static struct str next_argument(struct str *rest)
{
	size_t depth = 0, i;
	char quote = 0;
	struct str argument;

	for (i = 0; i < rest->len; i++) {
		char c = rest->ptr[i];

		if (quote && c == '\\')
			i++;
		else if (quote)
			quote = c == quote ? 0 : quote;
		else if (c == '"' || c == '\'')
			quote = c;
		else if (c == '(')
			depth++;
		else if (c == ')' && depth)
			depth--;
		else if (c == ',' && !depth)
			break;
	}
	i = i < rest->len ? i : rest->len;
	argument = str_of(rest->ptr, i);
	*rest = str_of(rest->ptr + i, rest->len - i);
	str_cut(rest, ',');
	return str_trim(argument);
}

/* Text is "provider, name, argument, ...". Text that was cut short gives what is surely whole;
 * whole text with another number of arguments gives none. */
static int set_sources(const struct descriptions *ds, const struct text_note *t, struct site *site)
{
	bool cut = t->text.len < t->text_len;
	struct str rest = t->text;
	size_t count = 0;
	int err = 0;

	while (rest.len && count < site->arg_count + 3ul) {
		next_argument(&rest);
		count++;
	}
	if (!cut && count != site->arg_count + 2ul)
		return 0;
	rest = t->text;
	for (size_t i = 0; rest.len && i < site->arg_count + 2ul && !err; i++) {
		struct str source = next_argument(&rest);

		if (i >= 2 && (rest.len || !cut))
			err = keep_text(ds, source, &site->args[i - 2].source);
	}
	return err;
}

/* The types of what the site passes, file and line. A note with another number of arguments than
 * the site is about something else. */
static int take_site_note(struct descriptions *ds, const struct site_note *note, struct site *site,
			  struct description *out)
{
	const unsigned char *classes = (const unsigned char *)note->classes.ptr;
	bool is_same_count = note->classes.len == 2 * (size_t)site->arg_count;
	const struct text_note *text = NULL, key = {.provider = site->provider,
						    .name = site->name,
						    .line = note->line,
						    .file_len = note->file_len,
						    .text_len = note->text_len};
	int err = 0;

	if (ds->texts.count)
		text = bsearch(&key, ds->texts.items, ds->texts.count, sizeof(key),
			       text_note_compare);
	for (unsigned i = 0; is_same_count && i < site->arg_count && !err; i++) {
		struct type_class c = {classes[2 * i], classes[2 * i + 1]};

		err = class_type(&ds->types, c, &site->args[i].type);
		site->args[i].type_from = ORIGIN_SITE;
	}
	out->line = note->line;
	if (!err && text) {
		struct str file = text->file;

		/* Of a long name only the end was kept: show it from a '/' on. */
		if (file.len < text->file_len && str_index(file, '/') >= 0)
			str_cut(&file, '/');
		err = keep_text(ds, file, &out->file);
	}
	return !err && text && is_same_count ? set_sources(ds, text, site) : err;
}

/* parameter = class size name NUL type NUL. The words of the type are a name for what the class
 * says. */
static int decode_param(struct descriptions *ds, struct cursor *c, struct ctype_param *out)
{
	struct type_class type_class;
	struct str name, words;
	const struct ctype *is;
	struct ctype *named;

	if (!cursor_u8(c, &type_class.type_class) || !cursor_u8(c, &type_class.size) ||
	    !cursor_text(c, &name) || !cursor_text(c, &words))
		return -EBADMSG;
	if (keep_text(ds, name, &out->name) || class_type(&ds->types, type_class, &is))
		return -ENOMEM;
	out->type = is;
	if (!words.len)
		return 0;
	out->type = named = arena_new(ds->kept, struct ctype);
	if (!named)
		return -ENOMEM;
	*named = (struct ctype){.kind = CTYPE_NAMED, .to = is};
	return keep_text(ds, words, &named->name);
}

/* declaration = count { parameter }; decoded when its first site is described. -ENOMEM. */
static int take_declaration(struct descriptions *ds, struct probe_note *note, struct site *site)
{
	struct cursor c = cursor_of(note->content.ptr, note->content.len, false);
	uint8_t count;
	int err = 0;

	if (!note->is_decoded && cursor_u8(&c, &count)) {
		note->is_decoded = true;
		note->params = arena_array(&ds->arena, struct ctype_param, count + 1u);
		if (!note->params)
			return -ENOMEM;
		for (unsigned i = 0; i < count && !err; i++)
			err = decode_param(ds, &c, &note->params[i]);
		note->param_count = err ? 0 : count;
	}
	if (err == -ENOMEM || note->param_count != site->arg_count)
		return err == -ENOMEM ? err : 0;
	err = 0;
	for (unsigned i = 0; i < note->param_count && !err; i++) {
		const struct ctype_param *p = &note->params[i];
		struct argument *arg = &site->args[i];

		arg->name = p->name;
		arg->name_from = p->name.len ? ORIGIN_PROGRAM : ORIGIN_NONE;
		if (p->type && p->type->kind == CTYPE_NAMED)
			err = argument_declare(arg, p->type, ORIGIN_PROGRAM, &ds->machine,
					       ds->kept);
		else if (!arg->type)
			arg->type = p->type;
	}
	return err;
}

int describe_site(struct descriptions *ds, struct site *site)
{
	const struct site_note *note =
		find_note(&ds->sites, sizeof(*note), order_by_location, site_note_compare, site);
	struct probe_note *declaration = find_probe_note(&ds->declarations, site);
	const struct probe_note *line = find_probe_note(&ds->lines, site);
	struct description *out;
	int err = 0;

	if (!note && !declaration && !line)
		return -ENOENT;
	out = arena_new(ds->kept, struct description);
	if (!out)
		return -ENOMEM;
	*out = (struct description){.file = STR(""), .text = STR("")};
	site->described = out;
	if (note)
		err = take_site_note(ds, note, site, out);
	if (!err && declaration)
		err = take_declaration(ds, declaration, site);
	if (!err && line) { /* text NUL */
		struct cursor c = cursor_of(line->content.ptr, line->content.len, false);
		struct str text = STR("");

		cursor_text(&c, &text);
		err = keep_text(ds, text, &out->text);
	}
	return err;
}

int describe_sites(const struct image *image, struct site_list *list, struct diag *d)
{
	struct descriptions ds;
	int err = descriptions_read(image, &list->arena, &ds, d);

	for (size_t i = 0; err != -ENOMEM && i < list->count; i++) {
		struct site *site = &list->sites[i];
		uint64_t bytes = 100;

		err = describe_site(&ds, site);
		if (err)
			continue;
		/* Many sites may share one long text, which is gone through for each of them. */
		bytes += site->described->file.len + site->described->text.len;
		for (unsigned k = 0; k < site->arg_count; k++)
			bytes += site->args[k].source.len + site->args[k].name.len;
		budget_work(image->budget, 4 * bytes);
		if (budget_error(image->budget))
			break;
	}
	descriptions_free(&ds);
	return err == -ENOMEM ? err : 0;
}
