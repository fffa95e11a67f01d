/* What the finder's files share: the cache, the finder, and going from a query to the images it
 * means. */
#ifndef NOPAL_FIND_FINDER_H
#define NOPAL_FIND_FINDER_H

#include <sys/stat.h>

#include "base/hash.h"
#include "elf/symbols.h"
#include "find/find.h"
#include "probe/sites.h"

/* The images a finder has met, by device and inode: each file is read once, and "no probes" is
 * remembered too. A file that was written to since (size or time differ) is another file.
 *
 * An image keeps its file open while a caller holds it, too. If a caller needs the file later, the
 * image is read again from a new descriptor: the name may lead to another file by now.
 *
 * While a machine runs, images come and go without end: those that no caller was given may be
 * forgotten, and are read again when they come back. */

/* One way an image was found. The same image can be known by several paths. */
struct finding {
	struct found_image image; /* first: what callers see */
	struct cached_image *cached;
	struct finding *next;
	/* Another way, should open_path lead elsewhere by the time it is opened: through the
	 * process, or, where open_path is that, through another process. Empty: there is none. */
	struct str mapped_path;
};

/* The sites that one query wanted. A file with few sites has one list for all queries. */
struct cached_sites {
	struct site_filter wanted; /* owned */
	struct site_list sites;
	enum budget_end over; /* why there are none */
	bool all_files;	      /* ... and the limit is that of the run */
	bool is_unwanted;     /* counted in the cache's `unwanted` */
	struct cached_sites *next;
};

struct cached_image {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec changed;
	struct cached_image *next; /* of the retired */
	struct finding *findings;
	uint64_t query;	       /* the last query that found it ... */
	struct finding *found; /* ... like this */
	bool is_shown;	       /* a caller has it: it is kept */

	struct file *file;	    /* NULL: closed, or never opened */
	struct cached_sites *lists; /* NULL: not read, or forgotten */
	struct diag diag;	    /* what went wrong when its sites were read */
	bool is_limit_reported;	    /* that it was left out */
	bool symbols_read;
	struct symtab *symbols; /* NULL: none */
	bool names_read;
	struct symtab *names;	 /* to show only, wherever they come from; NULL: none */
	const struct arch *arch; /* after symbols_read */
};

/* What all files of other users together may cost in one run: many files cost as much as one that
 * is too large. Files of root, and our own, are only limited one by one. */
#define OTHERS_MEMORY (256u << 20)
#define OTHERS_WORK   20000000000ull
/* Memory for the symbols of a file that was named. */
#define NAMED_MEMORY (1u << 30)
/* Memory for sites that no query has matched, kept in case one does. */
#define UNWANTED_MEMORY (32u << 20)

struct cache {
	struct cached_image **images;
	size_t count, cap, shown;
	struct hash by_inode; /* their indexes */
	int stop_fd;	      /* readable: reading files ends; -1: none */
	struct budget others;
	size_t unwanted;	      /* bytes of lists in which nothing matched */
	struct cached_sites none;     /* of a file that cannot be opened now, but perhaps later */
	struct cached_image *retired; /* replaced, but callers have them */
};

void cache_free(struct cache *c);
/* The image that stat(2) describes; new ones are added. NULL: no memory. */
struct cached_image *cache_image(struct cache *c, const struct stat *st);
/* Remember that the image is known by these names, which are copied. NULL: no memory. */
struct finding *cache_finding(struct cached_image *image, struct str path, struct str open_path,
			      struct str mapped_path, pid_t pid);
/* The file at `name`, through another process, is the image, too. -ENOMEM. */
int cache_add_way(struct finding *f, struct str name);
/* The image is given to a caller. */
void cache_show(struct cache *c, struct cached_image *image);
/* Forget the images that no caller has, when there are more than `most` of them. */
void cache_trim(struct cache *c, size_t most);
void cache_init(struct cache *c);
/* The sites of an image among which the wanted ones are, read unless that was done. What is wrong
 * with the file is in cached->diag; a file that is too large has an empty list that says so.
 * -ENOMEM; -EINTR: the run is to stop. */
int cache_read_sites(struct cache *c, struct finding *f, const struct site_filter *wanted,
		     struct cached_sites **out);
/* Nothing in that list was wanted: forget it when there are many. */
void cache_unwanted(struct cache *c, struct cached_image *image, struct cached_sites *list);
/* Its file must be open: what was read from a file that is closed by now is retired, and *f becomes
 * a finding of the same name about which nothing is known yet. -ENOMEM. */
int cache_renew(struct cache *c, struct finding **f);
/* Close the image's file unless a caller holds it. */
void cache_let_go(struct cached_image *image);
/* Read its symbols unless that was done; then it may have none. Errors are messages in `d` when it
 * was named; that it is too large is always reported. -ENOMEM. */
int cache_read_symbols(struct cache *c, struct finding *f, bool named, struct diag *d);
/* The same for symbols that only serve to show names: an untrusted debug file will do. */
void cache_read_names(struct cache *c, struct finding *f, struct diag *d);
/* Has it no full table of symbols, and no debug file that has one? *build_id is in hex, for the
 * user. */
bool cache_stripped(struct finding *f, struct str *build_id, struct arena *a);
/* The debug file that was ignored because root does not own it: its name, or empty. */
struct str cache_untrusted(struct finding *f, struct arena *a);

struct finder {
	struct cache cache;
	uint64_t query;	 /* number of the running query: each image comes up once in it */
	struct buf text; /* the maps of a process */
	struct buf name; /* a file name */
	size_t *matches; /* indexes of sites */
	size_t match_cap;
	const struct site **described; /* of know.c: sites of one list that are described */
	size_t described_count;
	const struct site_list *described_of;
	struct diag problems;		       /* not reported yet */
	bool said_forbidden;		       /* that there are processes that may not be read */
	struct catalogue *catalogue;	       /* of know.c; NULL: not needed yet */
	struct finder_types *types;	       /* of types.c; made when it is first needed */
	struct kernel_symbols *kernel_symbols; /* of address.c; made when it is first needed */
};

struct debuginfo;

/* types.c: the DWARF of a program, read once. -ENOENT without a message: it has none. */
int finder_debuginfo(struct finder *f, struct file *file, struct debuginfo **out, struct diag *d);
void finder_types_free(struct finder_types *t); /* NULL is fine */

/* The images a query's path and pid mean, whatever is in them, as an array in the order of their
 * paths (free() it). `named`: the path names one file, so that what is wrong with it is reported.
 * 0 or -errno with a message. */
struct image_set {
	struct finding **items;
	size_t count, cap;
	bool named;
};
int finder_images(struct finder *f, pid_t pid, struct str path, struct image_set *out,
		  struct diag *d);

#endif
