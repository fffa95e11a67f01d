/* The notes of <sys/sdt.h>: one entry of an ELF section .note.stapsdt describes one site.
 *
 *   namesz 8 | descsz | type 3 | "stapsdt\0" | location, base, semaphore (a word each) |
 *   provider NUL | name NUL | arguments NUL | padding to 4
 *
 * Comes in: the section's bytes. Goes out: notes that borrow their text from them. */
#ifndef NOPAL_PROBE_NOTE_H
#define NOPAL_PROBE_NOTE_H

#include "base/cursor.h"

/* Any entry of a section of notes. */
struct note_entry {
	struct str owner, content; /* the owner with its NUL */
	uint32_t type;
};

/* The entry at the cursor, and what pads it. False when its sizes go past the end. */
bool note_entry_read(struct cursor *c, struct note_entry *out);

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

struct note_reader note_reader_of(struct str content, unsigned word, bool big_endian);
/* The next note that can be read; false after the last one. */
bool note_next(struct note_reader *r, struct note *out);
/* Does the content of a .probes section look like SystemTap's first formats (up to 1.3), which kept
 * records there? */
bool note_is_old_section(struct str content, bool big_endian);

#endif
