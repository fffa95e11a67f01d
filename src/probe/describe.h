/* What a program says of its own probes: section .note.nopal, written by <nopal/sdt.h>, by provider
 * objects and by run-time probes. doc/describe-note.md has it byte for byte.
 *
 * Comes in: the section. Goes out: for a site, file and line, and for each argument its type,
 * source expression, and the name and C type that the program declares; and a line for people. All
 * of it is optional; what is not known, or said in two ways, is empty. */
#ifndef NOPAL_PROBE_DESCRIBE_H
#define NOPAL_PROBE_DESCRIBE_H

#include "elf/image.h"
#include "probe/probe.h"

/* Notes of one kind, sorted: an array of the structs below. */
struct note_list {
	void *items;
	size_t count, cap;
};

/* The content of one section. Notes borrow from the section's bytes; what is found out about sites
 * is copied into `kept`. */
struct descriptions {
	struct arena arena, *kept;
	struct ctype_machine machine;
	struct note_list sites, texts, declarations, lines;
	struct class_types types;
	size_t bad; /* malformed notes, which are skipped */
};

/* 0, also for an image without descriptions; -EBADMSG for a damaged section: `out` has then what
 * can be read of it. To be freed in any case, and before the image is closed. */
int descriptions_read(const struct image *image, struct arena *kept, struct descriptions *out,
		      struct diag *d);
/* The same for bytes in memory. `base`: address of .stapsdt.base, 0: none. -ENOMEM. */
int descriptions_decode(struct str content, unsigned word, bool big_endian, uint64_t base,
			struct arena *kept, struct descriptions *out);
void descriptions_free(struct descriptions *ds);

/* Fill in site->described and site->args. -ENOENT: the site is not described; -ENOMEM. */
int describe_site(struct descriptions *ds, struct site *site);
/* Describe all sites of a list, in its arena. What cannot be read is a warning. -ENOMEM. */
int describe_sites(const struct image *image, struct site_list *list, struct diag *d);

/* ---- Notes, decoded by describe_read.c and looked up by describe.c ---- */

/* A site, by its address. */
struct site_note {
	uint64_t location;
	uint32_t line, file_len, text_len;
	struct str classes; /* two bytes an argument */
};

/* The source text of sites, by probe, line and lengths. */
struct text_note {
	struct str provider, name;
	uint32_t line, file_len, text_len;
	uint16_t at; /* where in the source text this piece begins */
	struct str file, text;
};

/* What a note says about a probe and not about a site: a declaration, or a line for people. */
struct probe_note {
	struct str provider, name;
	struct str content; /* undecoded */
	bool is_decoded;
	struct ctype_param *params; /* of a declaration, as an array */
	unsigned param_count;
};

/* The orders they are sorted in. Of sites and probes: 0 when both notes say the same. Of texts: 0
 * when they belong to the same line of the source. */
int site_note_compare(const void *pa, const void *pb);
int text_note_compare(const void *pa, const void *pb);
int probe_note_compare(const void *pa, const void *pb);

#endif
