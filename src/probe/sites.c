/* Reading the sites of one image: linear in the bytes of its notes and of its symbols. */
#include "probe/sites.h"

#include <elf.h>
#include <errno.h>
#include <unistd.h>

#include "elf/debugfile.h"
#include "probe/describe.h"

#define NOTE_SECTION ".note.stapsdt"
#define BASE_SECTION ".stapsdt.base"
#define OLD_MAX	     (1u << 20) /* bytes of notes in an old format that are looked at */

#define WHY_DEBUG_FILE "this is a separate debug file: the code is in the program it belongs to"
#define WHY_NOT_CODE   "its address is not in an executable segment of the file"
#define WHY_SEMAPHORE  "its semaphore is not in a writable segment of the file"
#define WHY_CODE       "its semaphore is in an executable segment"
#define WHY_NO_FILE \
	"its semaphore is in memory that is not in the file, where the kernel cannot count"
#define WHY_ODD "its semaphore is at an odd address, which the kernel refuses"

#define SEMAPHORE_SIZE 2 /* bytes: an unsigned short */

#define WHY_UNTRUSTED                                                                              \
	"its note is in '%.*s': to be traced, a debug file must belong to root, only root may be " \
	"able to write to it, and it must be below the tracer's root directory"

/* Several sections of one name are rare; only a hostile file has more than these. */
#define MAX_SECTIONS 64

/* ---- Decoding notes ----
 *
 * A note whose inside is wrong spoils only itself, because its sizes still say where the next one
 * begins; sizes that are wrong end the section. */

#define NOTE_TYPE   3
#define OLD_MAGIC_1 0x31425250u /* "PRB1" */
#define OLD_MAGIC_2 0x32425055u /* "UPB2" */

static const struct str owner = {"stapsdt", 8}; /* with its NUL */

struct note {
	uint64_t location, base, semaphore; /* link-time addresses as written */
	struct str provider, name, args;
};

struct note_reader {
	struct cursor at;
	const unsigned char *start;
	unsigned word;	  /* bytes of an address */
	size_t old;	  /* notes of this kind with another version, skipped */
	size_t bad;	  /* notes with malformed content, skipped */
	size_t first_bad; /* offset of the first of them in the section */
	bool cut;	  /* the rest of the section cannot be read */
};

static struct note_reader note_reader_of(struct str content, unsigned word, bool big_endian)
{
	return (struct note_reader){
		.at = cursor_of(content.ptr, content.len, big_endian),
		.start = (const unsigned char *)content.ptr,
		.word = word,
	};
}

/* Entries are padded to 4 bytes; the last one's padding may be missing. */
static void skip_padding(struct cursor *c, uint32_t size)
{
	size_t pad = (4 - size % 4) % 4, left = cursor_left(c);

	cursor_skip(c, pad < left ? pad : left);
}

bool note_entry_read(struct cursor *c, struct note_entry *out)
{
	uint32_t owner_size, size;

	if (!cursor_u32(c, &owner_size) || !cursor_u32(c, &size) || !cursor_u32(c, &out->type) ||
	    !cursor_bytes(c, owner_size, &out->owner))
		return false;
	skip_padding(c, owner_size);
	if (!cursor_bytes(c, size, &out->content))
		return false;
	skip_padding(c, size);
	return true;
}

static void count_bad(struct note_reader *r, const unsigned char *start)
{
	if (!r->bad++)
		r->first_bad = (size_t)(start - r->start);
}

/* The next note that can be read; false after the last one. */
static bool note_next(struct note_reader *r, struct note *out)
{
	struct note_entry entry;
	struct cursor c;

	while (cursor_left(&r->at)) {
		const unsigned char *start = r->at.at;

		if (!note_entry_read(&r->at, &entry)) {
			count_bad(r, start);
			r->cut = true;
			return false;
		}
		if (!str_eq(entry.owner, owner))
			continue;
		if (entry.type != NOTE_TYPE) {
			r->old++;
			continue;
		}
		c = cursor_of(entry.content.ptr, entry.content.len, r->at.big_endian);
		if (cursor_word(&c, r->word, &out->location) &&
		    cursor_word(&c, r->word, &out->base) &&
		    cursor_word(&c, r->word, &out->semaphore) && cursor_text(&c, &out->provider) &&
		    cursor_text(&c, &out->name) && cursor_text(&c, &out->args) && out->name.len)
			return true;
		count_bad(r, start);
	}
	return false;
}

/* Does the content of a .probes section look like SystemTap's first formats (up to 1.3), which kept
 * records there? */
static bool note_is_old_section(struct str content, bool big_endian)
{
	struct cursor c = cursor_of(content.ptr, content.len, big_endian);
	uint32_t word;

	while (cursor_u32(&c, &word))
		if (word == OLD_MAGIC_1 || word == OLD_MAGIC_2)
			return true;
	return false;
}

/* ---- Sites ---- */

/* What is needed while the sites of one image are read. */
struct site_reading {
	const struct image *program; /* what runs: its segments count */
	const struct image *notes;   /* where the notes are: the program or its debug file */
	struct site_list *list;
	struct str contents[MAX_SECTIONS]; /* sections of notes, each read whole */
	unsigned content_count;
	bool is_damaged; /* the list has what can be read; there is a message */
	uint64_t base;	 /* address of .stapsdt.base; 0: none */
	bool is_debug_file;
	const char *why_not; /* the notes are not to be trusted: why none can be attached */
	const struct site_filter *filter;
	struct str path, root;
	struct diag *d;
};

/* Have two writable segments, rounded to pages, this offset of the file? So it is with lld's data
 * that is made read-only after relocation. The kernel counts in the first one, which is not the one
 * that the program reads. */
static bool is_mapped_twice(const struct image *image, uint64_t offset)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), at = offset / page;
	unsigned count = 0;

	for (size_t i = 0; i < image->load_count; i++) {
		const struct segment *s = &image->loads[i];

		count += s->writable && s->file_size && at >= s->offset / page &&
			 at <= (s->offset + s->file_size - 1) / page;
	}
	return count > 1;
}

/* Why the kernel must not count there, or NULL. As a semaphore is at an even place, two of them are
 * one or do not overlap; one that several probes share (libbpf's <usdt.h> has those) counts for
 * all. */
static const char *place_semaphore(const struct image *image, struct site *site)
{
	const struct segment *data = image_segment_at(image, site->semaphore);
	uint64_t offset;

	for (size_t i = 0; !data && i < image->load_count; i++) {
		const struct segment *s = &image->loads[i];

		if (s->writable && site->semaphore >= s->address &&
		    site->semaphore - s->address < s->memory_size)
			return WHY_NO_FILE;
	}
	if (!data || !data->writable)
		return WHY_SEMAPHORE;
	if (data->executable)
		return WHY_CODE;
	if (data->file_size - (site->semaphore - data->address) < SEMAPHORE_SIZE)
		return WHY_NO_FILE;
	if (!image_offset_of(image, site->semaphore, &offset))
		return WHY_SEMAPHORE;
	if (offset % SEMAPHORE_SIZE || site->semaphore % SEMAPHORE_SIZE)
		return WHY_ODD;
	site->sema_offset = offset;
	site->sema_is_twice = is_mapped_twice(image, offset);
	return NULL;
}

static int add_site(struct site_reading *r, const struct note *note)
{
	struct arena *a = &r->list->arena;
	struct site *site = &r->list->sites[r->list->count];
	const struct segment *code;
	/* When the section .stapsdt.base is not where the note says it was, prelink has moved the
	 * file since: all moves by the same distance. */
	uint64_t moved = note->base && r->base ? r->base - note->base : 0;

	/* Neighbours often have the same provider, and a file may have 100,000 sites. */
	site->provider = r->list->count && str_eq(site[-1].provider, note->provider)
				 ? site[-1].provider
				 : arena_str(a, note->provider);
	site->name = arena_str(a, note->name);
	site->args_text = arena_str(a, note->args);
	if (!site->provider.ptr || !site->name.ptr || !site->args_text.ptr)
		return -ENOMEM;
	site->base = note->base;
	site->location = note->location + moved;
	site->semaphore = note->semaphore ? note->semaphore + moved : 0;
	if (r->program->word == 4) {
		site->location = (uint32_t)site->location;
		site->semaphore = (uint32_t)site->semaphore;
	}
	site->offset = SITE_NO_OFFSET;
	code = image_segment_at(r->program, site->location);
	if (r->is_debug_file)
		site->problem = WHY_DEBUG_FILE;
	else if (r->why_not)
		site->problem = r->why_not;
	else if (!code || !code->executable ||
		 !image_offset_of(r->program, site->location, &site->offset))
		site->problem = WHY_NOT_CODE;
	else
		site->problem = site->semaphore ? place_semaphore(r->program, site) : NULL;
	r->list->count++;
	if (!r->list->arch || !site->args_text.len)
		return 0;
	return arguments_parse(r->list->arch, site->args_text, a, &site->args, &site->arg_count);
}

static void warn_old(const struct site_reading *r)
{
	diag_warn(
		r->d, "old-notes",
		"'%.*s' has probes in SystemTap's format 1 or 2 (before 2010), which are not read",
		STR_FMT(r->notes->name));
	diag_hint(r->d, "rebuild it with a current <sys/sdt.h>");
}

/* The sections of notes, as far as they can be read. */
static int read_contents(struct site_reading *r)
{
	const struct section *s = NULL;

	while (r->content_count < MAX_SECTIONS && (s = image_section(r->notes, NOTE_SECTION, s))) {
		int err;

		/* objcopy --only-keep-debug may leave its name without content. */
		if (s->type != SHT_NOTE)
			continue;
		err = image_content(r->notes, s, IMAGE_MAX_NOTES, &r->contents[r->content_count]);
		if (!err) {
			r->content_count++;
			continue;
		}
		if (err == -ENOMEM || budget_error(r->notes->budget))
			return err == -ENOMEM ? err : budget_error(r->notes->budget);
		r->is_damaged = true;
		diag_error(r->d, err, "corrupt-notes",
			   "'%.*s' is damaged: its section " NOTE_SECTION " %s",
			   STR_FMT(r->notes->name),
			   err == -E2BIG ? "is larger than 64 MiB" : "is outside the file");
	}
	return 0;
}

/* What is wrong with a section whose notes have been added. */
static void report_notes(struct site_reading *r, const struct note_reader *notes)
{
	if (notes->old)
		warn_old(r);
	if (!notes->bad)
		return;
	r->is_damaged = true;
	diag_error(r->d, -EBADMSG, "corrupt-notes",
		   "'%.*s' is damaged: the probe note at byte %zu of its section " NOTE_SECTION
		   " %s",
		   STR_FMT(r->notes->name), notes->first_bad,
		   notes->cut && notes->bad == 1 ? "extends past the end of the section"
						 : "is malformed");
	diag_hint(r->d, "it may be truncated or still being written: compare it with a good copy");
}

/* Count the wanted notes, or add their sites. */
static int each_note(struct site_reading *r, bool add, size_t *count)
{
	int err = 0;

	for (unsigned i = 0; i < r->content_count && !err; i++) {
		struct note_reader notes =
			note_reader_of(r->contents[i], r->notes->word, r->notes->big_endian);
		struct note note;

		while (!err && note_next(&notes, &note)) {
			budget_work(r->notes->budget,
				    100 + 4 * (note.provider.len + note.name.len) +
					    (add ? 16 * note.args.len : 0));
			err = budget_error(r->notes->budget);
			if (err || !site_is_wanted(r->filter, note.provider, note.name))
				continue;
			(*count)++;
			err = add ? add_site(r, &note) : 0;
		}
		if (!err && add)
			report_notes(r, &notes);
	}
	return err;
}

static const struct site_filter everything = {{"", 0}, {"", 0}};

static bool has_notes(const struct image *image)
{
	const struct section *s = NULL;

	while ((s = image_section(image, NOTE_SECTION, s)))
		if (s->type == SHT_NOTE)
			return true;
	return false;
}

/* Read the wanted notes of a file, or all when they are few: other questions about the same file
 * may come. */
static int read_notes(struct site_reading *r)
{
	size_t bytes = 0, count = 0, added = 0;
	int err = read_contents(r);

	for (unsigned i = 0; i < r->content_count; i++)
		bytes += r->contents[i].len;
	if (bytes <= SITES_FEW)
		r->filter = &everything;
	r->list->is_whole = !r->filter->provider.len && !r->filter->name.len;
	/* The list is as long as it will be before the first site is added. */
	err = err ? err : each_note(r, false, &count);
	if (err)
		return err;
	r->list->sites = arena_array(&r->list->arena, struct site, count);
	return r->list->sites ? each_note(r, true, &added) : -ENOMEM;
}

static int read_all(struct site_reading *r)
{
	const struct section *base = image_section(r->program, BASE_SECTION, NULL);
	struct buf hex = BUF_INIT;
	struct str id;
	int err;

	errno = 0;
	id = image_build_id(r->program);
	err = !id.len && errno == ENOMEM ? -ENOMEM : 0;
	buf_hex_bytes(&hex, id);
	r->list->build_id = arena_str(&r->list->arena, buf_as_str(&hex));
	buf_free(&hex);
	if (!base)
		base = image_section(r->notes, BASE_SECTION, NULL);
	r->base = base ? base->address : 0;
	r->is_debug_file = image_is_debug_file(r->program);
	r->list->arch = arch_for(r->program->machine, r->program->word);
	if (err || !r->list->build_id.ptr)
		return -ENOMEM;
	err = read_notes(r);
	if (!err)
		err = sites_resolve(r->program, r->path, r->root, r->list);
	if (!err)
		err = describe_sites(r->notes, r->list, r->d);
	if (!err)
		err = sites_find_entries(r->program, r->path, DEBUG_TRUSTED, r->list);
	return err ? err : r->is_damaged ? -EBADMSG : 0;
}

/* What was taken of a budget that did not reach is given back: nothing is kept of the list. */
static int finish_list(const struct image *image, struct site_list *list, int err)
{
	int over = budget_error(image->budget);

	list->arena.budget = NULL;
	if (over)
		site_list_free(list);
	return over ? over : err;
}

/* Some authors write the names in quotes, which are then a part of them: they match without. */
static bool name_matches(struct str pattern, struct str name)
{
	if (!pattern.len || str_match(pattern, name))
		return true;
	return name.len > 2 && name.ptr[0] == '"' && name.ptr[name.len - 1] == '"' &&
	       str_match(pattern, str_of(name.ptr + 1, name.len - 2));
}

bool site_is_wanted(const struct site_filter *f, struct str provider, struct str name)
{
	return name_matches(f->provider, provider) && name_matches(f->name, name);
}

static struct image *with_notes(struct image *debug)
{
	if (debug && has_notes(debug))
		return debug;
	image_close(debug);
	return NULL;
}

int site_list_read_some(const struct image *image, struct str path, struct str root,
			const struct site_filter *filter, struct site_list *out, struct diag *d)
{
	struct site_reading r = {.program = image,
				 .notes = image,
				 .list = out,
				 .filter = filter,
				 .path = path,
				 .root = root,
				 .d = d};
	const struct section *old = image_section(image, ".probes", NULL);
	struct image *debug = NULL;
	struct str content;
	int err;

	*out = (struct site_list){.arena = {.budget = image->budget}, .is_whole = true};
	if (image->type != ET_EXEC && image->type != ET_DYN) {
		diag_error(d, -ENOEXEC, "not-linked",
			   "'%.*s' is not an executable or shared library", STR_FMT(image->name));
		if (image->type == ET_REL)
			diag_hint(d, "it is an object file: link it first");
		return finish_list(image, out, -ENOEXEC);
	}
	if (old && !image_content(image, old, OLD_MAX, &content) &&
	    note_is_old_section(content, image->big_endian))
		warn_old(&r);
	if (!has_notes(image)) {
		/* The debug file with the notes: one that can be trusted, else one that serves to
		 * list them. */
		debug = with_notes(debugfile_open(image, path, DEBUG_TRUSTED));
		if (!debug) {
			debug = with_notes(debugfile_open(image, path, root));
			r.why_not = debug ? arena_printf(&out->arena, WHY_UNTRUSTED,
							 STR_FMT(debug->name))
						    .ptr
					  : NULL;
		}
		if (!debug)
			return finish_list(image, out, 0);
		r.notes = debug;
	}
	err = read_all(&r);
	image_close(debug);
	return finish_list(image, out, err);
}

int site_list_read(const struct image *image, struct str path, struct str root,
		   struct site_list *out, struct diag *d)
{
	return site_list_read_some(image, path, root, &everything, out, d);
}

int site_compare_probes(const struct site *a, const struct site *b)
{
	int order = str_cmp(a->name, b->name);

	return order ? order : str_cmp(a->provider, b->provider);
}

void site_list_free(struct site_list *list)
{
	arena_free(&list->arena);
	*list = (struct site_list){.arena = ARENA_INIT};
}
