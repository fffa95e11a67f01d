/* Decoding notes. A note whose inside is wrong spoils only itself, because its sizes still say
 * where the next one begins; sizes that are wrong end the section. */
#include "probe/sites.h"

#define NOTE_TYPE   3
#define OLD_MAGIC_1 0x31425250u /* "PRB1" */
#define OLD_MAGIC_2 0x32425055u /* "UPB2" */

static const struct str owner = {"stapsdt", 8}; /* with its NUL */

struct note_reader note_reader_of(struct str content, unsigned word, bool big_endian)
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

bool note_next(struct note_reader *r, struct note *out)
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

bool note_is_old_section(struct str content, bool big_endian)
{
	struct cursor c = cursor_of(content.ptr, content.len, big_endian);
	uint32_t word;

	while (cursor_u32(&c, &word))
		if (word == OLD_MAGIC_1 || word == OLD_MAGIC_2)
			return true;
	return false;
}
