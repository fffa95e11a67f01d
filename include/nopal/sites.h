/* Reading USDT probes with libnopal: what is in a file, a process, the whole machine.
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
 * A probe (provider:name) has one or more sites, the places in the code where it fires. Each site
 * has its own arguments: the compiler may keep them elsewhere at each.
 *
 * A collection is filled by any number of calls. Each of them returns the number of sites added, or
 * -errno with a message in `d`, which may be NULL. A damaged file adds those sites that can be
 * read, and a message: look at nopal_diag_errors(). Collections belong to one thread at a time.
 * Text and sites live until nopal_sites_free(). Of a site that is NULL (an index past the end)
 *every text is NULL, every number 0, and nopal_site_arg() returns -EINVAL. */
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

/* The sites of one ELF file; a name without a slash is looked up in $PATH, among the libraries of
 * the loader's cache, then here. Notes that were stripped are taken from the separate debug file. A
 * file without probes adds 0. */
int nopal_sites_file(struct nopal_sites *p, const char *path, struct nopal_diag *d);
/* The sites of every image that a process has mapped as code, deleted files and memfds too. */
int nopal_sites_process(struct nopal_sites *p, pid_t pid, struct nopal_diag *d);
/* The sites of every image that any process has mapped; each image once. */
int nopal_sites_system(struct nopal_sites *p, struct nopal_diag *d);
/* The sites that a pattern names: "usdt:PATH:PROVIDER:NAME", "PATH:PROVIDER:NAME",
 * "usdt:PATH:NAME", or "usdt:PATH", where each part may have * and ? in it, and "quotes" around
 * what is to be taken literally. PATH may be * for all images. With a pid that is not 0, paths are
 * those of the process, and PATH may be empty. Nothing that matches is -ENOENT. */
int nopal_sites_find(struct nopal_sites *p, const char *pattern, pid_t pid, struct nopal_diag *d);

/* Names and types come from the files themselves and from provider files, which are read when they
 * are first asked for. This adds a warning for each that could not be read so far. */
void nopal_sites_problems(const struct nopal_sites *p, struct nopal_diag *d);

size_t nopal_sites_count(const struct nopal_sites *p);
const struct nopal_site *nopal_sites_at(const struct nopal_sites *p, size_t index);

const char *nopal_site_file(const struct nopal_site *s);     /* path of the ELF file */
const char *nopal_site_build_id(const struct nopal_site *s); /* hex digits; "": none */
const char *nopal_site_provider(const struct nopal_site *s);
const char *nopal_site_name(const struct nopal_site *s);
uint64_t nopal_site_location(const struct nopal_site *s);  /* link-time address */
uint64_t nopal_site_base(const struct nopal_site *s);	   /* the note's own, for prelink */
uint64_t nopal_site_semaphore(const struct nopal_site *s); /* link-time address; 0: none */
/* Where a uprobe goes, and its reference counter: offsets in the file. UINT64_MAX when the location
 * is in no segment of the file; 0 without a semaphore. */
uint64_t nopal_site_offset(const struct nopal_site *s);
uint64_t nopal_site_semaphore_offset(const struct nopal_site *s);
/* What open(2) takes to get at the file just now: "/proc/7/map_files/...". By the time that it is
 * opened it may lead elsewhere: nopal_attach_bpf() attaches to the file that was read. */
const char *nopal_site_open_path(const struct nopal_site *s);
const char *nopal_site_args(const struct nopal_site *s); /* as the note has them: "-4@%eax" */
/* The line of source that fires it: NULL and 0 when it is not known. */
const char *nopal_site_source_file(const struct nopal_site *s);
unsigned nopal_site_source_line(const struct nopal_site *s);
/* Why the site cannot be traced, or NULL. */
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
	unsigned size; /* bytes: 1, 2, 4, 8; of memory any number, and then scripts have its address
			* as the argument: a struct, a long double */
	bool is_signed;
	bool is_float;
	int64_t value; /* constant, or displacement; symbols are resolved already. A base that
			* is the instruction pointer stands for the site's own address. */
	const char *reg, *base, *index; /* register names, NULL: none */
	unsigned shift;
	unsigned scale;	 /* 1, 2, 4, 8 */
	const char *raw; /* its text in the note: `raw_len` bytes, no NUL */
	size_t raw_len;
	const char *problem; /* why the kernel's uprobes cannot read it, or NULL */
	/* What the program or a provider file tells of it; NULL: not known. */
	const char *name;   /* "word", as scripts have it: args.word */
	const char *type;   /* "const char *" */
	const char *source; /* "p->word" */
	/* "bytes", "unsigned", "signed", "bool", "float", "pointer", "string", "enum" or "char" */
	const char *type_class;
	bool is_string; /* the address of text, up to a NUL or as long as `length` says */
	int length;	/* the argument that counts the bytes of this string, or -1 */
};

unsigned nopal_site_arg_count(const struct nopal_site *s);
/* -ERANGE when there is no such argument. */
int nopal_site_arg(const struct nopal_site *s, unsigned index, struct nopal_arg *out);

/* Texts to be freed with free(); NULL when there is no memory. Bytes of strangers are escaped. */
/* "usdt:/usr/lib/libx.so:provider:name", with quotes where a script needs them. */
char *nopal_site_pattern(const struct nopal_site *s);
/* An argument in words: "signed 4-byte  -4(%rbp)". */
char *nopal_site_arg_text(const struct nopal_site *s, unsigned index);
/* What is known of it: "tick:word(const char *word, int n)  tick.c:41"; "": nothing. */
char *nopal_site_declaration(const struct nopal_site *s);
/* The line for people that run-time probes may have: "a request was answered"; "": none. */
char *nopal_site_description(const struct nopal_site *s);
/* One JSON object: file build_id provider name location base semaphore args arguments, and
 * source_file, source_line and description when they are known. */
char *nopal_site_json(const struct nopal_site *s);

#ifdef __cplusplus
}
#endif

#endif
