/* ELF file -> list of sites: notes decoded, addresses adjusted and mapped to file offsets, argument
 * strings parsed. */
#ifndef NOPAL_PROBE_SITES_H
#define NOPAL_PROBE_SITES_H

#include "base/cursor.h"
#include "elf/image.h"
#include "probe/probe.h"

/* Which probes are wanted: patterns; an empty one matches all. */
struct site_filter {
	struct str provider, name;
};
bool site_is_wanted(const struct site_filter *f, struct str provider, struct str name);

/* `path`: where the image is; `root` is put before /usr/lib/debug ("" or "/proc/7/root"),
 * to find its separate debug file when it was stripped of its notes.
 *
 * 0, also for a file without probes; -EBADMSG for damaged notes: the list then has those that can
 * be read; -E2BIG or -EINTR without a message when the image's budget is used up. Free the list in
 * any case. */
int site_list_read(const struct image *image, struct str path, struct str root,
		   struct site_list *out, struct diag *d);
/* The same of the wanted ones only, when the file has more than SITES_FEW bytes of notes: they
 * alone take memory. */
#define SITES_FEW (64u << 10)
int site_list_read_some(const struct image *image, struct str path, struct str root,
			const struct site_filter *filter, struct site_list *out, struct diag *d);
void site_list_free(struct site_list *list);

/* resolve.c: operands that name a symbol get their number, in one pass over the symbols; one
 * becomes OPERAND_BAD when it has no certain number. The second sets is_entry of sites that are the
 * first instruction of a function, where it matters: x86's 5-byte nops. Nothing below the stack
 * pointer is in use there, so a tracer may do what it must not in the middle of a function.
 *
 * `path`, `root`: as for symtab_read(). 0; -ENOMEM; -E2BIG or -EINTR when the image's budget is
 * used up. */
int sites_resolve(const struct image *image, struct str path, struct str root,
		  struct site_list *list);
int sites_find_entries(const struct image *program, struct str path, struct str root,
		       struct site_list *list);

/* ---- Notes of <sys/sdt.h> ----
 *
 * One entry of an ELF section .note.stapsdt describes one site.
 *
 *   namesz 8 | descsz | type 3 | "stapsdt\0" | location, base, semaphore (a word each) |
 *   provider NUL | name NUL | arguments NUL | padding to 4 */

/* Any entry of a section of notes. */
struct note_entry {
	struct str owner, content; /* the owner with its NUL */
	uint32_t type;
};

/* The entry at the cursor, and what pads it. False when its sizes go past the end. */
bool note_entry_read(struct cursor *c, struct note_entry *out);

#endif
