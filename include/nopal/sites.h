/* Finding USDT probes with libnopal: in a file, a process, the whole machine.
 *
 *	struct nopal_diag *d = nopal_diag_new();
 *	struct nopal_sites *probes;
 *
 *	nopal_sites_new(&probes);
 *	if (nopal_sites_file(probes, "/usr/lib/libx.so", d) < 0)
 *		...nopal_diag_text(d)...
 *	for (size_t i = 0; i < nopal_sites_count(probes); i++) {
 *		const struct nopal_site *site = nopal_sites_at(probes, i);
 *		printf("%s:%s\n", nopal_site_provider(site), nopal_site_name(site));
 *	}
 *	nopal_sites_free(probes);
 *
 * A probe (provider:name) has one or more sites, the points in the machine code where it fires.
 * Each site has its own arguments, since the compiler may keep them in other registers at each.
 *
 * A collection is filled by any number of calls. Each returns the number of sites that it added, or
 * -errno with a message in `d`, which may be NULL. A damaged file adds those sites that can be
 * read, and a message, so check nopal_diag_errors(), too. A collection belongs to one thread at a
 * time. Texts and sites live until nopal_sites_free(). If a site is NULL (an index past the end),
 * its texts are NULL, its numbers are 0, and nopal_site_arg() returns -EINVAL. */
#ifndef NOPAL_SITES_H
#define NOPAL_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "nopal/diag.h"

#ifdef __cplusplus
extern "C" {
#endif

struct nopal_sites;
struct nopal_site;

int nopal_sites_new(struct nopal_sites **out);
void nopal_sites_free(struct nopal_sites *p); /* NULL is fine */

/* The library with probes that an ELF file without any is linked with, to be freed, and the number
 * of its sites; NULL: there is none. */
char *nopal_sites_library(struct nopal_sites *p, const char *path, size_t *count);
/* Why a well-known program has no probes, by the name of its file: "Python has probes when it is
 * built with --with-dtrace". NULL: nothing is known. */
const char *nopal_program_note(const char *path);
/* Add the sites of one ELF file. A name without a slash is searched in $PATH, among the libraries
 * of the loader's cache, and in the current directory. Notes that were stripped are read from the
 * separate debug file. A file without probes adds 0. */
int nopal_sites_file(struct nopal_sites *p, const char *path, struct nopal_diag *d);
/* Add the sites of every image that a process has mapped as code, also of deleted files and memfds.
 */
int nopal_sites_process(struct nopal_sites *p, pid_t pid, struct nopal_diag *d);
/* Add the sites of every image that any process has mapped; each image once. */
int nopal_sites_system(struct nopal_sites *p, struct nopal_diag *d);
/* Add the sites that match a pattern: "usdt:PATH:PROVIDER:NAME", "PATH:PROVIDER:NAME",
 * "usdt:PATH:NAME", or "usdt:PATH". Each part may contain the wildcards * and ?, and "quotes"
 * around literal text. PATH may be * for all images. With a pid other than 0, paths are those of
 * the process, and PATH may be empty. -ENOENT: nothing matches. */
int nopal_sites_find(struct nopal_sites *p, const char *pattern, pid_t pid, struct nopal_diag *d);

/* Names and types of arguments come from the files themselves and from provider files, which are
 * read when they are first needed. This adds a warning for each provider file that could not be
 * read. */
void nopal_sites_problems(const struct nopal_sites *p, struct nopal_diag *d);

size_t nopal_sites_count(const struct nopal_sites *p);
const struct nopal_site *nopal_sites_at(const struct nopal_sites *p, size_t index);

const char *nopal_site_file(const struct nopal_site *s);     /* path of the ELF file */
const char *nopal_site_build_id(const struct nopal_site *s); /* hex digits; "": none */
const char *nopal_site_provider(const struct nopal_site *s);
const char *nopal_site_name(const struct nopal_site *s);
uint64_t nopal_site_location(const struct nopal_site *s);  /* link-time address */
uint64_t nopal_site_base(const struct nopal_site *s);	   /* from the note, for prelink */
uint64_t nopal_site_semaphore(const struct nopal_site *s); /* link-time address; 0: none */
/* The offsets in the file for a uprobe and for its reference counter. UINT64_MAX if no segment of
 * the file contains the location; 0 if the site has no semaphore. */
uint64_t nopal_site_offset(const struct nopal_site *s);
uint64_t nopal_site_semaphore_offset(const struct nopal_site *s);
/* A path by which open(2) finds the file now, such as "/proc/7/map_files/...". It may lead
 * to another file later; nopal_attach_bpf() attaches to the file that was read. */
const char *nopal_site_open_path(const struct nopal_site *s);
const char *nopal_site_args(const struct nopal_site *s); /* the text of the note: "-4@%eax" */
/* The line of source that fires the site; NULL and 0: unknown. */
const char *nopal_site_source_file(const struct nopal_site *s);
unsigned nopal_site_source_line(const struct nopal_site *s);
/* Why the site cannot be traced; NULL: it can. */
const char *nopal_site_problem(const struct nopal_site *s);

enum nopal_arg_kind {
	NOPAL_ARG_CONSTANT, /* value                                         */
	NOPAL_ARG_REGISTER, /* reg, shifted right by `shift` bits            */
	NOPAL_ARG_MEMORY,   /* at base + index * scale + value               */
	NOPAL_ARG_UNKNOWN,  /* cannot be read: `problem` says why            */
};

/* One decoded argument. */
struct nopal_arg {
	enum nopal_arg_kind kind;
	unsigned size; /* in bytes: 1, 2, 4, 8; in memory any number (a struct, a long double), and
			* then scripts get its address as the argument */
	bool is_signed;
	bool is_float;
	int64_t value; /* constant, or displacement, with symbols resolved. If the base is the
			* instruction pointer, it means the site's own address. */
	const char *reg, *base, *index; /* register names, NULL: none */
	unsigned shift;
	unsigned scale;	 /* 1, 2, 4, 8 */
	const char *raw; /* its text in the note: `raw_len` bytes, without a NUL */
	size_t raw_len;
	const char *problem; /* why uprobes cannot read it; NULL: they can */
	/* What the program or a provider file says about it; NULL: unknown. */
	const char *name;   /* "word", in scripts args.word */
	const char *type;   /* "const char *" */
	const char *source; /* "p->word" */
	/* "bytes", "unsigned", "signed", "bool", "float", "pointer", "string", "enum" or "char" */
	const char *type_class;
	bool is_string; /* the address of a text that ends in a NUL or has a `length` */
	int length;	/* number of the argument that counts the bytes of this string, or -1 */
};

unsigned nopal_site_arg_count(const struct nopal_site *s);
/* -ERANGE: there is no argument with this index. */
int nopal_site_arg(const struct nopal_site *s, unsigned index, struct nopal_arg *out);

/* The caller frees the results of these; NULL: out of memory. Untrusted bytes are escaped. */
/* "usdt:/usr/lib/libx.so:provider:name", with quotes where a script needs them. */
char *nopal_site_pattern(const struct nopal_site *s);
/* An argument in words: "signed 4-byte  -4(%rbp)". */
char *nopal_site_arg_text(const struct nopal_site *s, unsigned index);
/* The declaration: "tick:word(const char *word, int n)  tick.c:41"; "": unknown. */
char *nopal_site_declaration(const struct nopal_site *s);
/* The condition under which the site fires at all: "fires only while ..."; "": none is known. */
char *nopal_site_note(const struct nopal_site *s);
/* The description that a run-time probe may have: "a request was answered"; "": none. */
char *nopal_site_description(const struct nopal_site *s);
/* One JSON object with the fields file, build_id, provider, name, location, base, semaphore, args
 * and arguments, and source_file, source_line and description if they are known. */
char *nopal_site_json(const struct nopal_site *s);

#ifdef __cplusplus
}
#endif

#endif
