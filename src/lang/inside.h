/* Private to this folder: the tables' rows, and reading memory. */
#ifndef NOPAL_LANG_INSIDE_H
#define NOPAL_LANG_INSIDE_H

#include "base/array.h"
#include "lang/lang.h"

#define TEXT_MOST 1024 /* bytes of a name or path that are shown */

/* Offsets that only naming needs, by language. */
struct python_code {
	uint8_t filename, name, qualname; /* qualname LANG_NOTHING: before 3.11 */
	uint8_t first_line, lines, bytecode;
	uint8_t ascii, wide; /* data of a str of ASCII, and of others */
	uint8_t unit;	     /* bytes that a position counts */
	enum { LINES_PAIRS, LINES_SIGNED, LINES_LOCATIONS } format;
};

struct php_code {
	uint8_t filename; /* of a function; the rest is the same in all versions */
};

struct ruby_code {
	uint8_t body, encoded, location, insns, count, index;
	uint8_t entry; /* bytes of an entry of the line table */
	enum {
		TEXT_SHORT,
		TEXT_ANY
	} text;		      /* length of a text in its object: in the flags; a word */
	uint8_t instructions; /* that there are: see evaluator.c */
};

struct perl_code {
	uint8_t line, file; /* of a statement */
	uint8_t flags, glob, stash, name, effective, glob_stash;
	uint8_t hash_aux; /* of a table's body: its name; LANG_NOTHING: after its array */
};

struct lang_layout {
	enum lang_kind kind;
	unsigned major, minor;
	struct lang_shape_row shape;
	union {
		struct python_code python;
		struct php_code php;
		struct ruby_code ruby;
		struct perl_code perl;
	};
};

/* NULL: not in the tables. */
const struct lang_layout *layout_find(enum lang_kind kind, unsigned major, unsigned minor);

static inline bool read_bytes(const struct lang_memory *m, uint64_t at, void *to, size_t len)
{
	return at && at + len > at && m->read(m->self, at, to, len);
}

static inline bool read_word(const struct lang_memory *m, uint64_t at, uint64_t *out)
{
	return read_bytes(m, at, out, sizeof(*out));
}

static inline bool read_u32(const struct lang_memory *m, uint64_t at, uint32_t *out)
{
	return read_bytes(m, at, out, sizeof(*out));
}

/* Bytes at `at`, at most TEXT_MOST of `len`, at the end of `out`. */
bool read_text(const struct lang_memory *m, uint64_t at, uint64_t len, struct buf *out);
/* Text that ends in NUL. */
bool read_c_text(const struct lang_memory *m, uint64_t at, struct buf *out);

#define SEGMENTS_MOST 4

/* A file that was looked at. */
struct lang_image {
	uint64_t device, inode;	     /* as /proc/PID/maps has them */
	struct lang_runtime runtime; /* addresses are link-time; LANG_NONE: it is none */
	struct {
		uint64_t offset, address;
	} code[SEGMENTS_MOST]; /* its executable segments, from the start of a page */
	unsigned code_count;
};

/* tls.c */
struct image;
bool tls_is_glibc(const struct image *image);	     /* false: it is not known */
uint64_t tls_module_slot(const struct image *image); /* 0: none */
/* Of the thread-local variable that a function reads first; its slot and its offset. */
bool tls_offset_of_code(const struct image *image, uint64_t function, uint64_t *slot,
			uint64_t *offset);
/* evaluator.c: of Ruby; false: it is not known. */
bool evaluator_find(const struct image *image, unsigned instructions, struct lang_code_range *out);
/* recognise.c: what the file is, and where its code is. The descriptor is taken. Only -ENOMEM is an
 * error: other files are of LANG_NONE. */
int recognise_file(int fd, struct str path, struct lang_image *out);
/* names.c: a runtime of a process, which is taken. -ENOMEM. */
int names_add(struct lang_names *n, pid_t pid, struct lang_runtime *runtime);

#endif
