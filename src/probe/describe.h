/* What a program tells about its own probes: section .note.nopal, written by <nopal/sdt.h> and by
 * provider objects. doc/describe-note.md has it byte for byte.
 *
 * Comes in: the section. Goes out: for a site, file and line, and for each argument its type class,
 * size, source expression, and the name and C type that a provider file declares; and a line for
 * people. All of it is optional; what is not known, or told in two ways, is empty. */
#ifndef NOPAL_PROBE_DESCRIBE_H
#define NOPAL_PROBE_DESCRIBE_H

#include "elf/image.h"
#include "probe/probe.h"

enum arg_class {
	ARG_BYTES,    /* a struct, or something else without a better name */
	ARG_UNSIGNED, /* unsigned int */
	ARG_SIGNED,   /* int */
	ARG_BOOL,     /* bool */
	ARG_FLOAT,    /* double */
	ARG_POINTER,  /* void * */
	ARG_STRING,   /* char *, NUL-terminated */
	ARG_ENUM,     /* enum color; C sites show an integer, unless declared */
	ARG_CHAR,     /* char */
	ARG_UNKNOWN,  /* a class of a later version */
};

/* "enum"; NULL for ARG_UNKNOWN. */
const char *arg_class_name(enum arg_class type_class);

struct described_arg {
	enum arg_class type_class;
	bool is_signed;
	uint8_t size;	   /* bytes of the whole value, also where the operand has half of it */
	struct str source; /* "p->len"; empty: not known */
	struct str name;   /* as a provider file declares it: "len" */
	struct str type;   /* and its C type: "size_t" */
};

struct description {
	struct str file; /* "src/tick.c"; empty: not known */
	unsigned line;	 /* 0: not known */
	struct described_arg *args;
	unsigned arg_count;
	struct str text; /* "a request was answered": a line for people; empty: none */
};

/* The content of one section, sorted. Text borrows from the section's bytes and from the arena. */
struct descriptions {
	struct arena arena;
	struct described_place *places; /* by location */
	struct described_text *texts;	/* by provider, name, line and lengths */
	struct told *declared;		/* arguments, by provider and name */
	struct told *lines;		/* for people, by provider and name */
	size_t place_count, text_count, declared_count, line_count;
	size_t bad; /* notes passed over because they make no sense */
};

/* 0, also for an image without descriptions; -EBADMSG for a damaged section: `out` has then what
 * can be read of it. To be freed in any case, and before the image is closed. */
int descriptions_read(const struct image *image, struct descriptions *out, struct diag *d);
/* The same for bytes in memory. `base`: address of .stapsdt.base, 0: none. -ENOMEM. */
int descriptions_decode(struct str content, unsigned word, bool big_endian, uint64_t base,
			struct descriptions *out);
void descriptions_free(struct descriptions *ds);

/* What is known about a site; arguments are allocated from `a`. -ENOENT: nothing. */
int describe_site(const struct descriptions *ds, const struct site *site, struct arena *a,
		  struct description *out);
/* Describe all sites of a list: site->described, which lives as long as the list. What cannot be
 * read is a warning. -ENOMEM. */
int describe_sites(const struct image *image, struct site_list *list, struct diag *d);
/* The way to show an argument to people: "const char *word" as declared or as the source has it,
 * "int = n + 1" for an expression, "int" when no more is known. */
void described_arg_show(const struct described_arg *arg, struct buf *out);

#endif
