/* Reading .note.nopal. Four kinds of notes: sites (address, line and types), texts (file name and
 * source text, which may come in pieces and many times over), declarations, and lines for people.
 * They are decoded once and sorted; the pieces of a text are put together. */
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/array.h"
#include "probe/describe.h"
#include "probe/sites.h"

#define SECTION	  ".note.nopal"
#define MAX_BYTES (16u << 20)

static const struct str owner = {"nopal", 6}; /* with its NUL */

/* ---- Order ---- */

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

int site_note_compare(const void *pa, const void *pb)
{
	const struct site_note *a = pa, *b = pb;
	int order = compare_u64(a->location, b->location);

	order = order ? order : compare_u64(a->line, b->line);
	order = order ? order : compare_u64(a->file_len, b->file_len);
	order = order ? order : compare_u64(a->text_len, b->text_len);
	return order ? order : str_cmp(a->classes, b->classes);
}

int text_note_compare(const void *pa, const void *pb)
{
	const struct text_note *a = pa, *b = pb;
	int order = str_cmp(a->provider, b->provider);

	order = order ? order : str_cmp(a->name, b->name);
	order = order ? order : compare_u64(a->line, b->line);
	order = order ? order : compare_u64(a->file_len, b->file_len);
	return order ? order : compare_u64(a->text_len, b->text_len);
}

/* The pieces of a text, by their places in it. */
static int compare_pieces(const void *pa, const void *pb)
{
	const struct text_note *a = pa, *b = pb;
	int order = text_note_compare(a, b);

	order = order ? order : compare_u64(a->at, b->at);
	order = order ? order : str_cmp(a->file, b->file);
	return order ? order : str_cmp(a->text, b->text);
}

int probe_note_compare(const void *pa, const void *pb)
{
	const struct probe_note *a = pa, *b = pb;
	int order = str_cmp(a->provider, b->provider);

	order = order ? order : str_cmp(a->name, b->name);
	return order ? order : str_cmp(a->content, b->content);
}

/* ---- Decoding ---- */

/* A section that is being read. */
struct decoding {
	struct descriptions *out;
	unsigned word;
	uint64_t base;
};

typedef bool decode_fn(const struct decoding *d, struct cursor *c, void *out);

static bool decode_site(const struct decoding *d, struct cursor *c, void *out)
{
	struct site_note *n = out;
	uint64_t base;
	uint8_t count;

	if (!cursor_word(c, d->word, &n->location) || !cursor_word(c, d->word, &base) ||
	    !cursor_u32(c, &n->line) || !cursor_u32(c, &n->file_len) ||
	    !cursor_u32(c, &n->text_len) || !cursor_u8(c, &count) ||
	    !cursor_bytes(c, 2 * (size_t)count, &n->classes))
		return false;
	if (base && d->base)
		n->location += d->base - base;
	if (d->word == 4)
		n->location = (uint32_t)n->location;
	return true;
}

/* Stored text may be filled up with NULs to its end. */
static struct str without_nuls(struct str s)
{
	const char *nul = s.len ? memchr(s.ptr, '\0', s.len) : NULL;

	return nul ? str_of(s.ptr, (size_t)(nul - s.ptr)) : s;
}

static bool decode_text(const struct decoding *d, struct cursor *c, void *out)
{
	struct text_note *n = out;
	uint16_t file_stored, text_stored;

	(void)d;
	if (!cursor_u32(c, &n->line) || !cursor_u32(c, &n->file_len) ||
	    !cursor_u32(c, &n->text_len) || !cursor_u16(c, &n->at) ||
	    !cursor_u16(c, &file_stored) || !cursor_u16(c, &text_stored) ||
	    !cursor_text(c, &n->provider) || !cursor_text(c, &n->name) ||
	    !cursor_bytes(c, file_stored, &n->file) || !cursor_bytes(c, text_stored, &n->text))
		return false;
	n->file = without_nuls(n->file);
	n->text = without_nuls(n->text);
	return true;
}

static bool decode_probe(const struct decoding *d, struct cursor *c, void *out)
{
	struct probe_note *n = out;

	(void)d;
	return cursor_text(c, &n->provider) && cursor_text(c, &n->name) && cursor_left(c) &&
	       cursor_bytes(c, cursor_left(c), &n->content);
}

/* clang-format off */

/* The kinds of notes: where they go, and how they are sorted. */
static const struct note_kind {
	uint32_t type;
	size_t list; /* in struct descriptions */
	size_t size;
	decode_fn *decode;
	int (*compare)(const void *, const void *);
} kinds[] = {
	{ 1,  offsetof(struct descriptions, sites),        sizeof(struct site_note),  decode_site,  site_note_compare  },
	{ 2,  offsetof(struct descriptions, texts),        sizeof(struct text_note),  decode_text,  compare_pieces     },
	{ 3,  offsetof(struct descriptions, declarations), sizeof(struct probe_note), decode_probe, probe_note_compare },
	{ 16, offsetof(struct descriptions, lines),        sizeof(struct probe_note), decode_probe, probe_note_compare },
};

/* clang-format on */

static struct note_list *list_of(struct descriptions *ds, const struct note_kind *kind)
{
	return (struct note_list *)((char *)ds + kind->list);
}

static int add_note(struct decoding *d, uint32_t type, struct cursor content)
{
	for (size_t i = 0; i < COUNT(kinds); i++) {
		struct note_list *list = list_of(d->out, &kinds[i]);
		char *slot;

		if (kinds[i].type != type)
			continue;
		if (arena_grow(&d->out->arena, &list->items, list->count, &list->cap,
			       kinds[i].size))
			return -ENOMEM;
		slot = (char *)list->items + list->count * kinds[i].size;
		memset(slot, 0, kinds[i].size);
		if (kinds[i].decode(d, &content, slot))
			list->count++;
		else
			d->out->bad++;
	}
	return 0; /* also for one of a later version */
}

/* ---- Putting texts together ---- */

/* Two texts for one place agree when one is the other cut short, as compilers do. The longer one
 * is kept in *a. File names are cut at their beginning. */
static bool merge_notes(struct text_note *a, const struct text_note *b)
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
static int join_pieces(struct arena *a, const struct text_note *first, const struct text_note *end,
		       struct text_note *out)
{
	struct text_note joined = *first;
	struct buf text = BUF_INIT;
	bool agree = true;

	for (const struct text_note *t = first; t < end;) {
		struct text_note piece = *t++;

		for (; t < end && t->at == piece.at; t++)
			agree &= merge_notes(&piece, t);
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
	struct text_note *texts = ds->texts.items;
	size_t count = 0;

	for (size_t first = 0, end; first < ds->texts.count; first = end) {
		int err;

		for (end = first + 1; end < ds->texts.count; end++)
			if (text_note_compare(&texts[first], &texts[end]))
				break;
		err = join_pieces(&ds->arena, &texts[first], &texts[end], &texts[count++]);
		if (err)
			return err;
	}
	ds->texts.count = count;
	return 0;
}

static int decode_note(struct str content, unsigned word, bool big_endian, uint64_t base,
		       struct descriptions *out)
{
	struct decoding d = {.out = out, .word = word, .base = base};
	struct cursor c = cursor_of(content.ptr, content.len, big_endian);
	struct note_entry e;

	while (cursor_left(&c)) {
		if (!note_entry_read(&c, &e)) {
			out->bad++;
			break;
		}
		if (str_eq(e.owner, owner) &&
		    add_note(&d, e.type, cursor_of(e.content.ptr, e.content.len, big_endian)))
			return -ENOMEM;
	}
	for (size_t i = 0; i < COUNT(kinds); i++) {
		struct note_list *list = list_of(out, &kinds[i]);

		if (list->count)
			qsort(list->items, list->count, kinds[i].size, kinds[i].compare);
	}
	return join_texts(out);
}

static void open_descriptions(struct descriptions *ds, struct ctype_machine machine,
			      struct budget *budget, struct arena *kept)
{
	*ds = (struct descriptions){.arena = {.budget = budget}, .kept = kept, .machine = machine};
	ds->types = (struct class_types){.arena = &ds->arena, .kept = kept};
}

int descriptions_decode(struct str content, unsigned word, bool big_endian, uint64_t base,
			struct arena *kept, struct descriptions *out)
{
	open_descriptions(out, ctype_machine_of(EM_NONE, word), NULL, kept);
	return decode_note(content, word, big_endian, base, out);
}

int descriptions_read(const struct image *image, struct arena *kept, struct descriptions *out,
		      struct diag *d)
{
	const struct section *notes = image_section(image, SECTION, NULL);
	const struct section *base = image_section(image, ".stapsdt.base", NULL);
	struct str content;
	int err;

	open_descriptions(out, ctype_machine_of(image->machine, image->word), image->budget, kept);
	if (!notes || notes->type != SHT_NOTE)
		return 0;
	err = image_content(image, notes, MAX_BYTES, &content);
	if (!err)
		err = decode_note(content, image->word, image->big_endian, base ? base->address : 0,
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
