/* Reading the sites of one image: linear in the number of notes. */
#include "probe/sites.h"

#include <elf.h>
#include <errno.h>

#include "elf/debugfile.h"
#include "probe/describe.h"
#include "probe/entry.h"
#include "probe/note.h"
#include "probe/resolve.h"

#define NOTE_SECTION ".note.stapsdt"
#define BASE_SECTION ".stapsdt.base"

#define WHY_DEBUG_FILE "this is a separate debug file: the code is in the program it belongs to"
#define WHY_NOT_CODE   "its address is not in an executable segment of the file"
#define WHY_SEMAPHORE  "its semaphore is not in a writable segment of the file"
#define WHY_ODD	       "its semaphore is at an odd address, which the kernel refuses"

/* What is needed while the sites of one image are read. */
struct reading {
	const struct image *program; /* what runs: its segments count */
	const struct image *notes;   /* where the notes are: the program or its debug file */
	struct site_list *list;
	uint64_t base; /* address of .stapsdt.base; 0: none */
	bool is_debug_file;
	struct resolver resolver;
	struct diag *d;
};

static uint64_t base_address(const struct reading *r)
{
	const struct section *s = image_section(r->program, BASE_SECTION, NULL);

	if (!s)
		s = image_section(r->notes, BASE_SECTION, NULL);
	return s ? s->address : 0;
}

/* Why a uprobe cannot go there, or NULL. */
static const char *place_site(const struct reading *r, struct site *site)
{
	const struct segment *code = image_segment_at(r->program, site->location);
	const struct segment *data;

	site->offset = SITE_NO_OFFSET;
	if (r->is_debug_file)
		return WHY_DEBUG_FILE;
	if (!code || !code->executable ||
	    !image_offset_of(r->program, site->location, &site->offset))
		return WHY_NOT_CODE;
	if (!site->semaphore)
		return NULL;
	data = image_segment_at(r->program, site->semaphore);
	if (!data || !data->writable ||
	    !image_offset_of(r->program, site->semaphore, &site->sema_offset))
		return WHY_SEMAPHORE;
	return site->sema_offset % 2 ? WHY_ODD : NULL;
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

static int read_args(struct reading *r, struct site *site)
{
	int err;

	if (!r->list->arch || !site->args.len)
		return 0;
	err = operands_parse(r->list->arch, site->args, &r->list->arena, &site->operands,
			     &site->operand_count);
	for (unsigned i = 0; !err && i < site->operand_count; i++)
		resolver_run(&r->resolver, site->location, &site->operands[i]);
	return err;
}

static int add_site(struct reading *r, const struct note *note)
{
	struct site *site = &r->list->sites[r->list->count++];

	site->provider = note->provider;
	site->name = note->name;
	site->args = note->args;
	site->base = note->base;
	adjust(r, note, site);
	site->problem = place_site(r, site);
	return read_args(r, site);
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

/* The sites of one section of notes. Text is copied once, all at a time. */
static int read_section(struct reading *r, const struct section *section)
{
	struct note_reader notes;
	struct str content;
	struct note note;
	size_t count = 0;
	int err = image_content(r->notes, section, IMAGE_MAX_NOTES, &content);

	if (err) {
		diag_error(r->d, err, "corrupt-notes",
			   "'%.*s' is damaged: its section " NOTE_SECTION " %s",
			   STR_FMT(r->notes->name),
			   err == -E2BIG ? "is larger than 64 MiB" : "lies outside the file");
		return -EBADMSG;
	}
	content = arena_str(&r->list->arena, content);
	if (!content.ptr)
		return -ENOMEM;
	notes = note_reader_of(content, r->notes->word, r->notes->big_endian);
	while (note_next(&notes, &note))
		count++;
	if (notes.old)
		warn_old(r);
	if (count > SIZE_MAX / sizeof(struct site) - r->list->count)
		return -ENOMEM;
	struct site *sites = arena_array(&r->list->arena, struct site, r->list->count + count);
	if (!sites)
		return -ENOMEM;
	if (r->list->count)
		memcpy(sites, r->list->sites, r->list->count * sizeof(*sites));
	r->list->sites = sites;
	notes = note_reader_of(content, r->notes->word, r->notes->big_endian);
	for (err = 0; !err && note_next(&notes, &note);)
		err = add_site(r, &note);
	return err ? err : notes.bad ? damaged(r, &notes) : 0;
}

/* Several sections of one name are rare; that each costs a copy of the sites before it is bounded
 * by reading only so many. */
#define MAX_SECTIONS 64

static int read_sections(struct reading *r)
{
	const struct section *s = NULL;
	int err = 0;

	for (unsigned i = 0; i < MAX_SECTIONS; i++) {
		int one;

		s = image_section(r->notes, NOTE_SECTION, s);
		if (!s)
			break;
		/* objcopy --only-keep-debug may leave its name without content. */
		if (s->type != SHT_NOTE)
			continue;
		one = read_section(r, s);
		if (one == -ENOMEM)
			return one;
		err = one ? one : err;
	}
	return err;
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

	if (s && !image_content(r->program, s, IMAGE_MAX_NOTES, &content) &&
	    note_is_old_section(content, r->program->big_endian))
		warn_old(r);
}

static int keep_build_id(struct site_list *list, const struct image *image)
{
	struct str id = image_build_id(image);
	struct buf hex = BUF_INIT;

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
	int err = keep_build_id(r->list, r->program);

	if (err)
		return err;
	r->base = base_address(r);
	r->is_debug_file = image_is_debug_file(r->program);
	r->list->arch = arch_for(r->program->machine, r->program->word);
	r->resolver.image = r->program;
	r->resolver.arch = r->list->arch;
	err = read_sections(r);
	resolver_close(&r->resolver);
	if (err != -ENOMEM && describe_sites(r->notes, r->list, r->d))
		return -ENOMEM;
	return err;
}

int site_list_read(const struct image *image, struct str path, struct str root,
		   struct site_list *out, struct diag *d)
{
	struct reading r = {.program = image, .notes = image, .list = out, .d = d};
	struct image *debug = NULL;
	int err;

	*out = (struct site_list){.arena = ARENA_INIT};
	err = check_linked(&r);
	if (err)
		return err;
	look_for_old(&r);
	if (!has_notes(image)) {
		debug = debugfile_open(image, path, root);
		if (!debug || !has_notes(debug)) {
			image_close(debug);
			return 0;
		}
		r.notes = debug;
	}
	r.resolver.path = path;
	r.resolver.root = root;
	err = read_all(&r);
	sites_find_entries(image, path, root, out);
	image_close(debug);
	return err;
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
