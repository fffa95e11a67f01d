/* Reading .note.nopal. Four kinds of notes: places (a site's address, line and classes), texts
 * (file name and source text, which may come in pieces and many times over), declarations, and
 * lines for people. They are decoded once and sorted; the pieces of a text are put together. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cursor.h"
#include "probe/describe_note.h"

#define SECTION	  ".note.nopal"
#define MAX_BYTES (16u << 20)

enum { NOTE_PLACE = 1, NOTE_TEXT = 2, NOTE_DECLARED = 3, NOTE_LINE = 16 };

static const struct str owner = {"nopal", 6}; /* with its NUL */

/* ---- Order ---- */

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

int compare_described_places(const void *pa, const void *pb)
{
	const struct described_place *a = pa, *b = pb;
	int order = compare_u64(a->location, b->location);

	order = order ? order : compare_u64(a->line, b->line);
	order = order ? order : compare_u64(a->file_len, b->file_len);
	order = order ? order : compare_u64(a->text_len, b->text_len);
	return order ? order : str_cmp(a->classes, b->classes);
}

int compare_described_texts(const struct described_text *a, const struct described_text *b)
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
	int order = compare_described_texts(a, b);

	order = order ? order : compare_u64(a->at, b->at);
	order = order ? order : str_cmp(a->file, b->file);
	return order ? order : str_cmp(a->text, b->text);
}

int compare_told(const void *pa, const void *pb)
{
	const struct told *a = pa, *b = pb;
	int order = str_cmp(a->provider, b->provider);

	order = order ? order : str_cmp(a->name, b->name);
	return order ? order : str_cmp(a->content, b->content);
}

/* ---- Decoding ---- */

struct decoding {
	struct descriptions *out;
	unsigned word;
	uint64_t base;
	size_t place_cap, text_cap, declared_cap, line_cap;
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

static int add_told(struct decoding *d, struct cursor *c, struct told **told, size_t *count,
		    size_t *cap)
{
	struct told one = {0};

	if (!cursor_text(c, &one.provider) || !cursor_text(c, &one.name) || !cursor_left(c) ||
	    !cursor_bytes(c, cursor_left(c), &one.content))
		return -EBADMSG;
	if (arena_grow(&d->out->arena, (void **)told, *count, cap, sizeof(one)))
		return -ENOMEM;
	(*told)[(*count)++] = one;
	return 0;
}

static int add_note(struct decoding *d, uint32_t type, struct cursor content)
{
	struct descriptions *out = d->out;

	switch (type) {
	case NOTE_PLACE: return add_place(d, &content);
	case NOTE_TEXT: return add_text(d, &content);
	case NOTE_DECLARED:
		return add_told(d, &content, &out->declared, &out->declared_count,
				&d->declared_cap);
	case NOTE_LINE: return add_told(d, &content, &out->lines, &out->line_count, &d->line_cap);
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
			if (compare_described_texts(&ds->texts[first], &ds->texts[end]))
				break;
		err = join(&ds->arena, &ds->texts[first], &ds->texts[end], &ds->texts[count++]);
		if (err)
			return err;
	}
	ds->text_count = count;
	return 0;
}

static int decode(struct str content, unsigned word, bool big_endian, uint64_t base,
		  struct descriptions *out)
{
	struct decoding d = {.out = out, .word = word, .base = base};
	int err;

	err = decode_all(&d, cursor_of(content.ptr, content.len, big_endian));
	if (err)
		return err;
	if (out->place_count)
		qsort(out->places, out->place_count, sizeof(*out->places),
		      compare_described_places);
	if (out->declared_count)
		qsort(out->declared, out->declared_count, sizeof(*out->declared), compare_told);
	if (out->line_count)
		qsort(out->lines, out->line_count, sizeof(*out->lines), compare_told);
	if (out->text_count)
		qsort(out->texts, out->text_count, sizeof(*out->texts), compare_texts);
	return join_texts(out);
}

int descriptions_decode(struct str content, unsigned word, bool big_endian, uint64_t base,
			struct descriptions *out)
{
	*out = (struct descriptions){.arena = ARENA_INIT};
	return decode(content, word, big_endian, base, out);
}

int descriptions_read(const struct image *image, struct descriptions *out, struct diag *d)
{
	const struct section *notes = image_section(image, SECTION, NULL);
	const struct section *base = image_section(image, ".stapsdt.base", NULL);
	struct str content;
	int err;

	*out = (struct descriptions){.arena = {.budget = image->budget}};
	if (!notes || notes->type != SHT_NOTE)
		return 0;
	err = image_content(image, notes, MAX_BYTES, &content);
	if (!err)
		err = decode(content, image->word, image->big_endian, base ? base->address : 0,
			     out);
	if (err == -ENOMEM || budget_error(image->budget))
		return -ENOMEM;
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
