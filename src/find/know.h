/* What is known of a site beyond where its arguments are: their names and types, and the line of
 * source that fires it. From the program itself where it describes its probes
 * (doc/describe-note.md), else from the catalogue of well-known probes (provider/catalogue.h). */
#ifndef NOPAL_FIND_KNOW_H
#define NOPAL_FIND_KNOW_H

#include "find/find.h"
#include "probe/describe.h"

struct known_arg {
	struct str name;	   /* "word": a word no other argument has; empty: not known */
	bool by_source;		   /* the name is a word of the source, declared nowhere */
	struct str type;	   /* "const char *", as declared; empty: not known */
	struct str source;	   /* "p->word"; empty: not known */
	enum arg_class type_class; /* ARG_UNKNOWN: only the operand is known */
	bool is_signed;
	uint8_t size; /* bytes of the whole value; 0: not known */
	int length;   /* of a string: the argument that counts its bytes; -1: a NUL ends it */
};

struct known_site {
	struct str file; /* "src/tick.c"; empty: not known */
	unsigned line;	 /* 0: not known */
	struct str text; /* "a request was answered": a line for people; empty: none */
	bool is_known;	 /* something is */
	struct known_arg *args;
	unsigned arg_count; /* as many as the site has operands */
};

/* All text lives in `a`. A site that nobody knows anything of is no error. 0 or -ENOMEM. */
int finder_know(struct finder *f, const struct found_image *image, const struct site *site,
		struct arena *a, struct known_site *out);
/* Provider files that could not be read so far, as warnings; each is told once. */
void finder_know_problems(struct finder *f, struct diag *d);
/* "tick:word(const char *word, int n)  tick.c:41". False, and nothing, when nothing is known. */
bool known_site_show(const struct known_site *k, const struct site *site, struct buf *out);

#endif
