/* Reading .note.nopal. Three kinds of notes: places (a site's address, line and classes), texts
 * (file name and source text, which may come in pieces and many times over), and declarations. They
 * are decoded once, sorted, and found by binary search. Two that contradict each other count as
 * none. */
#include "probe/describe.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cursor.h"

#define SECTION	  ".note.nopal"
#define MAX_BYTES (16u << 20)

enum { NOTE_PLACE = 1, NOTE_TEXT = 2, NOTE_DECLARED = 3 };

static const struct str owner = {"nopal", 6}; /* with its NUL */

struct described_place {
	uint64_t location;
	uint32_t line, file_len, text_len;
	struct str classes; /* two bytes an argument */
};

struct described_text {
	struct str provider, name;
	uint32_t line, file_len, text_len;
	uint16_t at; /* where in the source text this piece begins */
	struct str file, text;
};

struct declared {
	struct str provider, name;
	struct str args; /* undecoded */
};

/* ---- Order ---- */

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_places(const void *pa, const void *pb)
{
	const struct described_place *a = pa, *b = pb;
	int order = compare_u64(a->location, b->location);

	order = order ? order : compare_u64(a->line, b->line);
	order = order ? order : compare_u64(a->file_len, b->file_len);
	order = order ? order : compare_u64(a->text_len, b->text_len);
	return order ? order : str_cmp(a->classes, b->classes);
}

static int compare_keys(const struct described_text *a, const struct described_text *b)
{
	int order = str_cmp(a->provider, b->provider);

	order = order ? order : str_cmp(a->name, b->name);
	order = order ? order : compare_u64(a->line, b->line);
	order = order ? order : compare_u64(a->file_len, b->file_len);
	return order ? order : compare_u64(a->text_len, b->text_len);
}

static int compare_texts(const void *pa, const void *pb)
{
	const struct described_text *a = pa, *b = pb;
	int order = compare_keys(a, b);

	order = order ? order : compare_u64(a->at, b->at);
	order = order ? order : str_cmp(a->file, b->file);
	return order ? order : str_cmp(a->text, b->text);
}

static int compare_declared(const void *pa, const void *pb)
{
	const struct declared *a = pa, *b = pb;
	int order = str_cmp(a->provider, b->provider);

	order = order ? order : str_cmp(a->name, b->name);
	return order ? order : str_cmp(a->args, b->args);
}

/* ---- Decoding ---- */

struct decoding {
	struct descriptions *out;
	unsigned word;
	uint64_t base;
	size_t place_cap, text_cap, declared_cap;
};

static int add_place(struct decoding *d, struct cursor *c)
{
	struct described_place *places = d->out->places;
	struct described_place p = {0};
	uint64_t base;
	uint8_t count;

	if (!cursor_word(c, d->word, &p.location) || !cursor_word(c, d->word, &base) ||
	    !cursor_u32(c, &p.line) || !cursor_u32(c, &p.file_len) || !cursor_u32(c, &p.text_len) ||
	    !cursor_u8(c, &count) || !cursor_bytes(c, 2 * (size_t)count, &p.classes))
		return -EBADMSG;
	if (base && d->base)
		p.location += d->base - base;
	if (d->word == 4)
		p.location = (uint32_t)p.location;
	if (arena_grow(&d->out->arena, (void **)&places, d->out->place_count, &d->place_cap,
		       sizeof(p)))
		return -ENOMEM;
	d->out->places = places;
	places[d->out->place_count++] = p;
	return 0;
}

/* Stored text may be filled up with NULs to its end. */
static struct str without_nuls(struct str s)
{
	const char *nul = s.len ? memchr(s.ptr, '\0', s.len) : NULL;

	return nul ? str_of(s.ptr, (size_t)(nul - s.ptr)) : s;
}

static int add_text(struct decoding *d, struct cursor *c)
{
	struct described_text *texts = d->out->texts;
	struct described_text t = {0};
	uint16_t file_stored, text_stored;

	if (!cursor_u32(c, &t.line) || !cursor_u32(c, &t.file_len) || !cursor_u32(c, &t.text_len) ||
	    !cursor_u16(c, &t.at) || !cursor_u16(c, &file_stored) || !cursor_u16(c, &text_stored) ||
	    !cursor_text(c, &t.provider) || !cursor_text(c, &t.name) ||
	    !cursor_bytes(c, file_stored, &t.file) || !cursor_bytes(c, text_stored, &t.text))
		return -EBADMSG;
	t.file = without_nuls(t.file);
	t.text = without_nuls(t.text);
	if (arena_grow(&d->out->arena, (void **)&texts, d->out->text_count, &d->text_cap,
		       sizeof(t)))
		return -ENOMEM;
	d->out->texts = texts;
	texts[d->out->text_count++] = t;
	return 0;
}

static int add_declared(struct decoding *d, struct cursor *c)
{
	struct declared *declared = d->out->declared;
	struct declared one = {0};

	if (!cursor_text(c, &one.provider) || !cursor_text(c, &one.name) || !cursor_left(c) ||
	    !cursor_bytes(c, cursor_left(c), &one.args))
		return -EBADMSG;
	if (arena_grow(&d->out->arena, (void **)&declared, d->out->declared_count, &d->declared_cap,
		       sizeof(one)))
		return -ENOMEM;
	d->out->declared = declared;
	declared[d->out->declared_count++] = one;
	return 0;
}

static int add_note(struct decoding *d, uint32_t type, struct cursor content)
{
	switch (type) {
	case NOTE_PLACE: return add_place(d, &content);
	case NOTE_TEXT: return add_text(d, &content);
	case NOTE_DECLARED: return add_declared(d, &content);
	default: return 0; /* of a later version */
	}
}

/* Entries are padded to 4 bytes; the last one's padding may be missing. */
static void skip_padding(struct cursor *c, uint32_t size)
{
	size_t pad = (4 - size % 4) % 4, left = cursor_left(c);

	cursor_skip(c, pad < left ? pad : left);
}

static int decode_all(struct decoding *d, struct cursor c)
{
	while (cursor_left(&c)) {
		uint32_t name_size, size, type;
		struct str name, content;
		int err;

		if (!cursor_u32(&c, &name_size) || !cursor_u32(&c, &size) ||
		    !cursor_u32(&c, &type) || !cursor_bytes(&c, name_size, &name)) {
			d->out->bad++;
			return 0;
		}
		skip_padding(&c, name_size);
		if (!cursor_bytes(&c, size, &content)) {
			d->out->bad++;
			return 0;
		}
		skip_padding(&c, size);
		if (!str_eq(name, owner))
			continue;
		err = add_note(d, type, cursor_of(content.ptr, content.len, c.big_endian));
		if (err == -ENOMEM)
			return err;
		d->out->bad += err != 0;
	}
	return 0;
}

/* ---- Putting texts together ---- */

/* Two texts for one place agree when one is the other cut short, as compilers do. The longer one
 * is kept in *a. File names are cut at their beginning. */
static bool merge(struct described_text *a, const struct described_text *b)
{
	const struct str *file = a->file.len < b->file.len ? &b->file : &a->file;
	const struct str *text = a->text.len < b->text.len ? &b->text : &a->text;
	bool agree = str_ends(*file, file == &a->file ? b->file : a->file) &&
		     str_starts(*text, text == &a->text ? b->text : a->text);

	a->file = *file;
	a->text = *text;
	return agree;
}

/* The pieces from `first` on have one key and are sorted by place. Makes one text: what follows on
 * from the beginning; an empty one when two pieces contradict each other. */
static int join(struct arena *a, const struct described_text *first,
		const struct described_text *end, struct described_text *out)
{
	struct described_text joined = *first;
	struct buf text = BUF_INIT;
	bool agree = true;

	for (const struct described_text *t = first; t < end;) {
		struct described_text piece = *t++;

		for (; t < end && t->at == piece.at; t++)
			agree &= merge(&piece, t);
		if (piece.at == 0)
			joined.file = piece.file;
		if (piece.at == text.len && text.len + piece.text.len <= piece.text_len)
			buf_str(&text, piece.text);
	}
	joined.text = text.failed || !agree ? STR("") : arena_str(a, buf_as_str(&text));
	if (!agree)
		joined.file = STR("");
	buf_free(&text);
	*out = joined;
	return joined.text.ptr ? 0 : -ENOMEM;
}

static int join_texts(struct descriptions *ds)
{
	size_t count = 0;

	for (size_t first = 0, end; first < ds->text_count; first = end) {
		int err;

		for (end = first + 1; end < ds->text_count; end++)
			if (compare_keys(&ds->texts[first], &ds->texts[end]))
				break;
		err = join(&ds->arena, &ds->texts[first], &ds->texts[end], &ds->texts[count++]);
		if (err)
			return err;
	}
	ds->text_count = count;
	return 0;
}

int descriptions_decode(struct str content, unsigned word, bool big_endian, uint64_t base,
			struct descriptions *out)
{
	struct decoding d = {.out = out, .word = word, .base = base};
	int err;

	*out = (struct descriptions){.arena = ARENA_INIT};
	err = decode_all(&d, cursor_of(content.ptr, content.len, big_endian));
	if (err)
		return err;
	if (out->place_count)
		qsort(out->places, out->place_count, sizeof(*out->places), compare_places);
	if (out->declared_count)
		qsort(out->declared, out->declared_count, sizeof(*out->declared), compare_declared);
	if (out->text_count)
		qsort(out->texts, out->text_count, sizeof(*out->texts), compare_texts);
	return join_texts(out);
}

int descriptions_read(const struct image *image, struct descriptions *out, struct diag *d)
{
	const struct section *notes = image_section(image, SECTION, NULL);
	const struct section *base = image_section(image, ".stapsdt.base", NULL);
	struct str content;
	int err;

	*out = (struct descriptions){.arena = ARENA_INIT};
	if (!notes || notes->type != SHT_NOTE)
		return 0;
	err = image_content(image, notes, MAX_BYTES, &content);
	if (!err)
		err = descriptions_decode(content, image->word, image->big_endian,
					  base ? base->address : 0, out);
	if (err == -ENOMEM)
		return err;
	if (err || out->bad) {
		diag_warn(d, "corrupt-descriptions",
			  "'%.*s' is damaged: its section " SECTION
			  " cannot be read, so some arguments have no names",
			  STR_FMT(image->name));
		return -EBADMSG;
	}
	return 0;
}

void descriptions_free(struct descriptions *ds)
{
	arena_free(&ds->arena);
	*ds = (struct descriptions){.arena = ARENA_INIT};
}

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
	if (low == end || compare_places(&ds->places[low], &ds->places[end - 1]))
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
		int order = compare_keys(&ds->texts[middle], &key);

		if (!order)
			return &ds->texts[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static int compare_probe(const struct declared *d, const struct site *site)
{
	int order = str_cmp(d->provider, site->provider);

	return order ? order : str_cmp(d->name, site->name);
}

/* The declaration of a probe; NULL when there is none, or several that differ. */
static const struct declared *find_declared(const struct descriptions *ds, const struct site *site)
{
	size_t low = 0, high = ds->declared_count, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_probe(&ds->declared[middle], site) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low, high = ds->declared_count; end < high;) {
		size_t middle = end + (high - end) / 2;

		if (compare_probe(&ds->declared[middle], site) <= 0)
			end = middle + 1;
		else
			high = middle;
	}
	if (low == end || compare_declared(&ds->declared[low], &ds->declared[end - 1]))
		return NULL;
	return &ds->declared[low];
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

/* args = count (class size name NUL type NUL)* */
static int describe_declared(const struct declared *declared, struct arena *a,
			     struct description *out)
{
	struct cursor c = cursor_of(declared->args.ptr, declared->args.len, false);
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
		if (out->args) {
			args[i].source = out->args[i].source;
			args[i].type_class = out->args[i].type_class;
			args[i].is_signed = out->args[i].is_signed;
			args[i].size = out->args[i].size;
		}
	}
	out->args = args;
	out->arg_count = count;
	return 0;
}

int describe_site(const struct descriptions *ds, const struct site *site, struct arena *a,
		  struct description *out)
{
	const struct described_place *place = find_place(ds, site->location);
	const struct declared *declared = find_declared(ds, site);
	struct description found = {0};
	int err = 0;

	if (!place && !declared)
		return -ENOENT;
	if (place)
		err = describe_place(ds, site, place, a, &found);
	if (!err && declared)
		err = describe_declared(declared, a, &found);
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
	if (!keep(a, &copy->file))
		return NULL;
	for (unsigned i = 0; i < copy->arg_count; i++)
		if (!keep(a, &copy->args[i].source) || !keep(a, &copy->args[i].name) ||
		    !keep(a, &copy->args[i].type))
			return NULL;
	return copy;
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
		list->sites[i].described = keep_description(&list->arena, &found);
		if (!list->sites[i].described)
			err = -ENOMEM;
	}
	descriptions_free(&ds);
	return err == -ENOMEM ? err : 0;
}

/* ---- Showing ---- */

/* C's names for a class and a size. */
static const char *type_name(const struct described_arg *arg)
{
	static const struct {
		uint8_t size;
		const char *is_signed, *is_unsigned;
	} integers[] = {
		{1, "signed char", "unsigned char"},
		{2, "short", "unsigned short"},
		{4, "int", "unsigned int"},
		{8, "long long", "unsigned long long"},
		{16, "__int128", "unsigned __int128"},
	};

	switch (arg->type_class) {
	case ARG_BOOL: return "bool";
	case ARG_FLOAT: return arg->size == 4 ? "float" : arg->size == 8 ? "double" : "long double";
	case ARG_POINTER: return "void *";
	case ARG_STRING: return "char *";
	case ARG_ENUM: return "enum";
	case ARG_CHAR:
		if (arg->size == 1)
			return "char";
		break;
	case ARG_UNSIGNED:
	case ARG_SIGNED: break;
	default: return "bytes";
	}
	for (size_t i = 0; i < sizeof(integers) / sizeof(integers[0]); i++)
		if (integers[i].size == arg->size)
			return arg->is_signed ? integers[i].is_signed : integers[i].is_unsigned;
	return "bytes";
}

static bool is_identifier(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];

		if (!(c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      (i && c >= '0' && c <= '9')))
			return false;
	}
	return s.len;
}

void described_arg_show(const struct described_arg *arg, struct buf *out)
{
	struct str type = arg->type.len ? arg->type : str_from(type_name(arg));
	struct str name = arg->name.len ? arg->name : arg->source;

	buf_escaped(out, type);
	if (!name.len)
		return;
	if (!is_identifier(name))
		buf_text(out, " = ");
	else if (type.len && type.ptr[type.len - 1] != '*')
		buf_char(out, ' ');
	buf_escaped(out, name);
}
