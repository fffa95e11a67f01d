/* What is known about a site: its notes are found by binary search in what describe_read.c has
 * sorted, and put together. Two that contradict each other count as none. */
#include "probe/describe.h"

#include <errno.h>

#include "base/cursor.h"
#include "probe/describe_note.h"

/* ---- Looking up ---- */

/* The place of a location; NULL when there is none, or several that differ. */
static const struct described_place *find_place(const struct descriptions *ds, uint64_t location)
{
	size_t low = 0, high = ds->place_count, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ds->places[middle].location < location)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low, high = ds->place_count; end < high;) {
		size_t middle = end + (high - end) / 2;

		if (ds->places[middle].location <= location)
			end = middle + 1;
		else
			high = middle;
	}
	if (low == end || compare_described_places(&ds->places[low], &ds->places[end - 1]))
		return NULL;
	return &ds->places[low];
}

static const struct described_text *find_text(const struct descriptions *ds,
					      const struct site *site,
					      const struct described_place *place)
{
	struct described_text key = {.provider = site->provider,
				     .name = site->name,
				     .line = place->line,
				     .file_len = place->file_len,
				     .text_len = place->text_len};
	size_t low = 0, high = ds->text_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare_described_texts(&ds->texts[middle], &key);

		if (!order)
			return &ds->texts[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static int compare_probe(const struct told *d, const struct site *site)
{
	int order = str_cmp(d->provider, site->provider);

	return order ? order : str_cmp(d->name, site->name);
}

/* What is told of a probe; NULL when it is nothing, or several things that differ. */
static const struct told *find_told(const struct told *told, size_t count, const struct site *site)
{
	size_t low = 0, high = count, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_probe(&told[middle], site) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low, high = count; end < high;) {
		size_t middle = end + (high - end) / 2;

		if (compare_probe(&told[middle], site) <= 0)
			end = middle + 1;
		else
			high = middle;
	}
	if (low == end || compare_told(&told[low], &told[end - 1]))
		return NULL;
	return &told[low];
}

/* ---- One site ---- */

static void set_class(struct described_arg *arg, uint8_t type_class, uint8_t size)
{
	arg->type_class = type_class & 127;
	if (arg->type_class > ARG_UNKNOWN)
		arg->type_class = ARG_UNKNOWN;
	arg->is_signed = type_class & 128;
	arg->size = size;
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
	if (i >= rest->len) {
		argument = *rest;
		*rest = str_of(rest->ptr + rest->len, 0);
		return str_trim(argument);
	}
	argument = str_of(rest->ptr, i);
	*rest = str_of(rest->ptr + i + 1, rest->len - i - 1);
	return str_trim(argument);
}

/* Text is "provider, name, argument, ...". Text that was cut short gives what is surely whole;
 * whole text with another number of arguments gives none. */
static void set_sources(struct description *out, const struct described_text *t)
{
	bool cut = t->text.len < t->text_len;
	struct str rest = t->text;
	size_t count = 0;

	while (rest.len && count < out->arg_count + 3ul) {
		next_argument(&rest);
		count++;
	}
	if (!cut && count != out->arg_count + 2ul)
		return;
	rest = t->text;
	for (size_t i = 0; rest.len && i < out->arg_count + 2ul; i++) {
		struct str source = next_argument(&rest);

		if (i >= 2 && (rest.len || !cut))
			out->args[i - 2].source = source;
	}
}

/* Of a long file name only the end is there: show it from a '/' on. */
static struct str whole_names(struct str file, uint32_t len)
{
	ptrdiff_t slash = file.len < len ? str_index(file, '/') : -1;

	return slash < 0 ? file : str_of(file.ptr + slash + 1, file.len - (size_t)slash - 1);
}

static int describe_place(const struct descriptions *ds, const struct site *site,
			  const struct described_place *place, struct arena *a,
			  struct description *out)
{
	const struct described_text *text = find_text(ds, site, place);

	out->line = place->line;
	out->arg_count = (unsigned)(place->classes.len / 2);
	if (out->arg_count) {
		out->args = arena_array(a, struct described_arg, out->arg_count);
		if (!out->args)
			return -ENOMEM;
	}
	for (unsigned i = 0; i < out->arg_count; i++)
		set_class(&out->args[i], (uint8_t)place->classes.ptr[2 * i],
			  (uint8_t)place->classes.ptr[2 * i + 1]);
	if (text) {
		out->file = whole_names(text->file, text->file_len);
		set_sources(out, text);
	}
	return 0;
}

static bool is_address(enum arg_class type_class)
{
	return type_class == ARG_POINTER || type_class == ARG_STRING;
}

static bool is_integer(enum arg_class type_class)
{
	return type_class == ARG_SIGNED || type_class == ARG_UNSIGNED;
}

/* What the site passes counts for more than what is declared, but for what C cannot see there:
 * whether bytes behind an address are text, and that a number is an enum's. */
static void prefer_passed(const struct described_arg *passed, struct described_arg *declared)
{
	bool keeps_class = (is_address(declared->type_class) && is_address(passed->type_class)) ||
			   (declared->type_class == ARG_ENUM && is_integer(passed->type_class));

	if (!keeps_class)
		declared->type_class = passed->type_class;
	declared->source = passed->source;
	declared->is_signed = passed->is_signed;
	declared->size = passed->size;
}

/* args = count (class size name NUL type NUL)* */
static int describe_declared(const struct told *declared, struct arena *a, struct description *out)
{
	struct cursor c = cursor_of(declared->content.ptr, declared->content.len, false);
	struct described_arg *args = NULL;
	uint8_t count;

	if (!cursor_u8(&c, &count) || (out->args && out->arg_count != count))
		return 0;
	if (count) {
		args = arena_array(a, struct described_arg, count);
		if (!args)
			return -ENOMEM;
	}
	for (unsigned i = 0; i < count; i++) {
		uint8_t type_class, size;

		if (!cursor_u8(&c, &type_class) || !cursor_u8(&c, &size) ||
		    !cursor_text(&c, &args[i].name) || !cursor_text(&c, &args[i].type))
			return 0;
		set_class(&args[i], type_class, size);
		if (out->args)
			prefer_passed(&out->args[i], &args[i]);
	}
	out->args = args;
	out->arg_count = count;
	return 0;
}

/* line = text NUL */
static void describe_line(const struct told *line, struct description *out)
{
	struct cursor c = cursor_of(line->content.ptr, line->content.len, false);

	cursor_text(&c, &out->text);
}

int describe_site(const struct descriptions *ds, const struct site *site, struct arena *a,
		  struct description *out)
{
	const struct described_place *place = find_place(ds, site->location);
	const struct told *declared = find_told(ds->declared, ds->declared_count, site);
	const struct told *line = find_told(ds->lines, ds->line_count, site);
	struct description found = {0};
	int err = 0;

	if (!place && !declared && !line)
		return -ENOENT;
	if (place)
		err = describe_place(ds, site, place, a, &found);
	if (!err && declared)
		err = describe_declared(declared, a, &found);
	if (line)
		describe_line(line, &found);
	if (!err)
		*out = found;
	return err;
}

static bool keep(struct arena *a, struct str *text)
{
	*text = arena_str(a, *text);
	return text->ptr;
}

/* A copy that borrows from nothing but the arena. */
static const struct description *keep_description(struct arena *a, const struct description *d)
{
	struct description *copy = arena_new(a, struct description);

	if (!copy)
		return NULL;
	*copy = *d;
	if (!keep(a, &copy->file) || !keep(a, &copy->text))
		return NULL;
	for (unsigned i = 0; i < copy->arg_count; i++)
		if (!keep(a, &copy->args[i].source) || !keep(a, &copy->args[i].name) ||
		    !keep(a, &copy->args[i].type))
			return NULL;
	return copy;
}

/* Many sites may share one long text, which is gone through for each of them. */
static int count_description(struct budget *b, const struct description *d)
{
	uint64_t bytes = 100 + d->file.len + d->text.len;

	for (unsigned i = 0; i < d->arg_count; i++)
		bytes += d->args[i].source.len + d->args[i].name.len + d->args[i].type.len;
	budget_work(b, 4 * bytes);
	return budget_error(b);
}

int describe_sites(const struct image *image, struct site_list *list, struct diag *d)
{
	struct descriptions ds;
	struct description found;
	int err = descriptions_read(image, &ds, d);

	for (size_t i = 0; err != -ENOMEM && i < list->count; i++) {
		err = describe_site(&ds, &list->sites[i], &list->arena, &found);
		if (err)
			continue;
		if (count_description(image->budget, &found))
			break;
		list->sites[i].described = keep_description(&list->arena, &found);
		if (!list->sites[i].described)
			err = -ENOMEM;
	}
	descriptions_free(&ds);
	return err == -ENOMEM ? err : 0;
}
