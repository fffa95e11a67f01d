/* Reading the sites of one image: linear in the bytes of its notes and of its symbols. */
#include "probe/sites.h"

#include <elf.h>
#include <errno.h>

#include "elf/debugfile.h"
#include "probe/describe.h"
#include "probe/note.h"

#define NOTE_SECTION ".note.stapsdt"
#define BASE_SECTION ".stapsdt.base"
#define OLD_MAX	     (1u << 20) /* bytes of notes in an old format that are looked at */

#define WHY_DEBUG_FILE "this is a separate debug file: the code is in the program it belongs to"
#define WHY_NOT_CODE   "its address is not in an executable segment of the file"
#define WHY_SEMAPHORE  "its semaphore is not in a writable segment of the file"
#define WHY_CODE       "its semaphore is in a segment that is code as well"
#define WHY_NO_FILE \
	"its semaphore is in memory that is not in the file, which the kernel cannot count in"
#define WHY_ODD "its semaphore is at an odd address, which the kernel refuses"

#define SEMAPHORE_SIZE 2 /* bytes: an unsigned short */

#define WHY_UNTRUSTED                                                                             \
	"its note is in '%.*s', and for tracing a debug file must be root's, writable by nobody " \
	"else, and below the tracer's own /"

/* What is needed while the sites of one image are read. */
struct reading {
	const struct image *program; /* what runs: its segments count */
	const struct image *notes;   /* where the notes are: the program or its debug file */
	struct site_list *list;
	uint64_t base; /* address of .stapsdt.base; 0: none */
	bool is_debug_file;
	const char *why_not; /* the notes are not to be trusted: why none can be attached */
	const struct site_filter *filter;
	struct str path, root;
	struct diag *d;
};

static uint64_t base_address(const struct reading *r)
{
	const struct section *s = image_section(r->program, BASE_SECTION, NULL);

	if (!s)
		s = image_section(r->notes, BASE_SECTION, NULL);
	return s ? s->address : 0;
}

/* Is `address` in a writable segment, whether the file has its bytes or not? */
static bool is_only_memory(const struct image *image, uint64_t address)
{
	for (size_t i = 0; i < image->load_count; i++) {
		const struct segment *s = &image->loads[i];

		if (s->writable && address >= s->address && address - s->address < s->memory_size)
			return true;
	}
	return false;
}

/* Why the kernel must not count there, or NULL. As a semaphore is at an even place, two of them are
 * one or do not overlap; one that several probes share (libbpf's <usdt.h> has those) counts for
 * all.
 */
static const char *place_semaphore(const struct image *image, struct site *site)
{
	const struct segment *data = image_segment_at(image, site->semaphore);
	uint64_t offset;

	if (!data)
		return is_only_memory(image, site->semaphore) ? WHY_NO_FILE : WHY_SEMAPHORE;
	if (!data->writable)
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
	return NULL;
}

/* Why a uprobe cannot go there, or NULL. */
static const char *place_site(const struct reading *r, struct site *site)
{
	const struct segment *code = image_segment_at(r->program, site->location);

	site->offset = SITE_NO_OFFSET;
	if (r->is_debug_file)
		return WHY_DEBUG_FILE;
	if (r->why_not)
		return r->why_not;
	if (!code || !code->executable ||
	    !image_offset_of(r->program, site->location, &site->offset))
		return WHY_NOT_CODE;
	return site->semaphore ? place_semaphore(r->program, site) : NULL;
}

/* When the section .stapsdt.base is not where the note says it was, prelink has moved the file
 * since: all moves by the same distance. */
static void adjust(const struct reading *r, const struct note *note, struct site *site)
{
	uint64_t moved = note->base && r->base ? r->base - note->base : 0;

	site->location = note->location + moved;
	site->semaphore = note->semaphore ? note->semaphore + moved : 0;
	if (r->program->word == 4) {
		site->location = (uint32_t)site->location;
		site->semaphore = (uint32_t)site->semaphore;
	}
}

static bool keep(struct arena *a, struct str text, struct str *out)
{
	*out = arena_str(a, text);
	return out->ptr;
}

static int add_site(struct reading *r, const struct note *note)
{
	struct arena *a = &r->list->arena;
	struct site *site = &r->list->sites[r->list->count];

	if (!keep(a, note->provider, &site->provider) || !keep(a, note->name, &site->name) ||
	    !keep(a, note->args, &site->args_text))
		return -ENOMEM;
	site->base = note->base;
	adjust(r, note, site);
	site->problem = place_site(r, site);
	r->list->count++;
	if (!r->list->arch || !site->args_text.len)
		return 0;
	return operands_parse(r->list->arch, site->args_text, a, &site->operands,
			      &site->operand_count);
}

static int damaged(const struct reading *r, const struct note_reader *notes)
{
	diag_error(
		r->d, -EBADMSG, "corrupt-notes",
		"'%.*s' is damaged: the probe note at byte %zu of its section " NOTE_SECTION " %s",
		STR_FMT(r->notes->name), notes->first_bad,
		notes->cut && notes->bad == 1 ? "goes past the section's end" : "makes no sense");
	diag_hint(r->d, "it may be cut off or still being written: compare it with a good copy");
	return -EBADMSG;
}

static void warn_old(const struct reading *r)
{
	diag_warn(
		r->d, "old-notes",
		"'%.*s' has probes in SystemTap's format 1 or 2 (before 2010), which are not read",
		STR_FMT(r->notes->name));
	diag_hint(r->d, "build it again with the <sys/sdt.h> of today");
}

/* Several sections of one name are rare; only a hostile file has more than these. */
#define MAX_SECTIONS 64

/* Sections of notes, each read whole. */
struct contents {
	struct str items[MAX_SECTIONS];
	unsigned count;
};

static int read_content(struct reading *r, const struct section *section, struct contents *c)
{
	int err = image_content(r->notes, section, IMAGE_MAX_NOTES, &c->items[c->count]);

	if (!err) {
		c->count++;
		return 0;
	}
	if (err == -ENOMEM || budget_error(r->notes->budget))
		return err == -ENOMEM ? err : budget_error(r->notes->budget);
	diag_error(r->d, err, "corrupt-notes", "'%.*s' is damaged: its section " NOTE_SECTION " %s",
		   STR_FMT(r->notes->name),
		   err == -E2BIG ? "is larger than 64 MiB" : "lies outside the file");
	return -EBADMSG;
}

/* What can be read of them; *out untouched by a section that cannot. */
static int read_contents(struct reading *r, struct contents *out)
{
	const struct section *s = NULL;
	int err = 0;

	while (out->count < MAX_SECTIONS && (s = image_section(r->notes, NOTE_SECTION, s))) {
		int one;

		/* objcopy --only-keep-debug may leave its name without content. */
		if (s->type != SHT_NOTE)
			continue;
		one = read_content(r, s, out);
		if (one && one != -EBADMSG)
			return one;
		err = one ? one : err;
	}
	return err;
}

/* Each wanted note of a section; `fn` NULL: they are only counted. -EBADMSG for damage. */
static int each_note(struct reading *r, struct str content,
		     int (*fn)(struct reading *r, const struct note *note), size_t *count)
{
	struct note_reader notes = note_reader_of(content, r->notes->word, r->notes->big_endian);
	struct note note;
	int err = 0;

	while (!err && note_next(&notes, &note)) {
		budget_work(r->notes->budget, 100 + 4 * (note.provider.len + note.name.len) +
						      (fn ? 16 * note.args.len : 0));
		err = budget_error(r->notes->budget);
		if (err || !site_is_wanted(r->filter, note.provider, note.name))
			continue;
		(*count)++;
		if (fn)
			err = fn(r, &note);
	}
	if (err || !fn)
		return err;
	if (notes.old)
		warn_old(r);
	return notes.bad ? damaged(r, &notes) : 0;
}

/* The list is as long as it will be before the first site is added. */
static int add_sites(struct reading *r, const struct contents *c)
{
	size_t count = 0, added = 0;
	int err = 0;

	for (unsigned i = 0; i < c->count && !err; i++)
		err = each_note(r, c->items[i], NULL, &count);
	if (err)
		return err;
	r->list->sites = arena_array(&r->list->arena, struct site, count);
	if (!r->list->sites)
		return -ENOMEM;
	for (unsigned i = 0; i < c->count; i++) {
		int one = each_note(r, c->items[i], add_site, &added);

		if (one && one != -EBADMSG)
			return one;
		err = one ? one : err;
	}
	return err;
}

static const struct site_filter everything = {{"", 0}, {"", 0}};

/* Few sites are kept all, for other questions about the same file. */
static void widen_filter(struct reading *r, const struct contents *c)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < c->count; i++)
		bytes += c->items[i].len;
	if (bytes <= SITES_FEW)
		r->filter = &everything;
	r->list->is_whole = !r->filter->provider.len && !r->filter->name.len;
}

static int read_sections(struct reading *r)
{
	struct contents c = {.count = 0};
	int err = read_contents(r, &c), added;

	if (err && err != -EBADMSG)
		return err;
	widen_filter(r, &c);
	added = add_sites(r, &c);
	return added ? added : err;
}

static bool has_notes(const struct image *image)
{
	const struct section *s = NULL;

	while ((s = image_section(image, NOTE_SECTION, s)))
		if (s->type == SHT_NOTE)
			return true;
	return false;
}

static void look_for_old(struct reading *r)
{
	const struct section *s = image_section(r->program, ".probes", NULL);
	struct str content;

	if (s && !image_content(r->program, s, OLD_MAX, &content) &&
	    note_is_old_section(content, r->program->big_endian))
		warn_old(r);
}

static int keep_build_id(struct site_list *list, const struct image *image)
{
	struct buf hex = BUF_INIT;
	struct str id;

	errno = 0;
	id = image_build_id(image);
	if (!id.len && errno == ENOMEM)
		return -ENOMEM;
	for (size_t i = 0; i < id.len; i++)
		buf_printf(&hex, "%02x", (unsigned char)id.ptr[i]);
	list->build_id = arena_str(&list->arena, buf_as_str(&hex));
	buf_free(&hex);
	return list->build_id.ptr ? 0 : -ENOMEM;
}

static int check_linked(struct reading *r)
{
	if (r->program->type == ET_EXEC || r->program->type == ET_DYN)
		return 0;
	diag_error(r->d, -ENOEXEC, "not-linked", "'%.*s' is not an executable or shared library",
		   STR_FMT(r->program->name));
	if (r->program->type == ET_REL)
		diag_hint(r->d, "it is an object file: link it first");
	return -ENOEXEC;
}

static int read_all(struct reading *r)
{
	int err = keep_build_id(r->list, r->program), also;

	if (err)
		return err;
	r->base = base_address(r);
	r->is_debug_file = image_is_debug_file(r->program);
	r->list->arch = arch_for(r->program->machine, r->program->word);
	err = read_sections(r);
	if (err && err != -EBADMSG)
		return err;
	also = sites_resolve(r->program, r->path, r->root, r->list);
	if (!also)
		also = describe_sites(r->notes, r->list, r->d);
	if (!also)
		also = sites_find_entries(r->program, r->path, DEBUG_TRUSTED, r->list);
	return also ? also : err;
}

/* What was taken of a budget that did not reach is given back: nothing is kept of the list. */
static int finish(const struct image *image, struct site_list *list, int err)
{
	int over = budget_error(image->budget);

	list->arena.budget = NULL;
	if (over)
		site_list_free(list);
	return over ? over : err;
}

bool site_is_wanted(const struct site_filter *f, struct str provider, struct str name)
{
	return (!f->provider.len || str_match(f->provider, provider)) &&
	       (!f->name.len || str_match(f->name, name));
}

static struct image *with_notes(struct image *debug)
{
	if (debug && has_notes(debug))
		return debug;
	image_close(debug);
	return NULL;
}

/* The debug file with the notes: one that can be trusted, else one that serves to list them. */
static struct image *open_notes(struct reading *r)
{
	struct image *debug = with_notes(debugfile_open(r->program, r->path, DEBUG_TRUSTED));

	if (debug)
		return debug;
	debug = with_notes(debugfile_open(r->program, r->path, r->root));
	if (debug)
		r->why_not = arena_printf(&r->list->arena, WHY_UNTRUSTED, STR_FMT(debug->name)).ptr;
	return debug;
}

int site_list_read_some(const struct image *image, struct str path, struct str root,
			const struct site_filter *filter, struct site_list *out, struct diag *d)
{
	struct reading r = {.program = image,
			    .notes = image,
			    .list = out,
			    .filter = filter,
			    .path = path,
			    .root = root,
			    .d = d};
	struct image *debug = NULL;
	int err;

	*out = (struct site_list){.arena = {.budget = image->budget}, .is_whole = true};
	err = check_linked(&r);
	if (err)
		return finish(image, out, err);
	look_for_old(&r);
	if (!has_notes(image)) {
		debug = open_notes(&r);
		if (!debug)
			return finish(image, out, 0);
		r.notes = debug;
	}
	err = read_all(&r);
	image_close(debug);
	return finish(image, out, err);
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
