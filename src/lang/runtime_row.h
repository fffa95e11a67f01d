/* A language runtime is a row, in the file of its language with the functions beside it. Where its
 * frames are is in the tables of its versions (tables.c). */
#ifndef NOPAL_LANG_RUNTIME_ROW_H
#define NOPAL_LANG_RUNTIME_ROW_H

#include "lang/inside.h"

#define FILES_MOST   2
#define SYMBOLS_MOST 8

struct image;
struct runtime_row;

/* ---- recognise.c: which runtime an image is */

/* An image whose name is like that of a runtime's files. */
struct recognition {
	const struct image *image;
	struct str path;
	const struct runtime_row *row;
	bool has[SYMBOLS_MOST];	   /* of the row's symbols, by their number */
	uint64_t at[SYMBOLS_MOST]; /* link-time addresses */
	struct lang_runtime *out;
};

/* Bytes of the file that are mapped at a link-time address. */
bool recognition_read(const struct recognition *l, uint64_t address, void *to, size_t len);
/* "3.11.2" at the start of a text, with whatever follows. */
bool recognition_version(struct str text, struct lang_runtime *r);
/* The text at an address. */
bool recognition_version_at(const struct recognition *l, uint64_t address);
/* The text after `before`, in the constants of the image. */
bool recognition_version_after(const struct recognition *l, const char *before);
/* Take the layout of its version, unless there is a problem. True. */
bool recognition_layout(struct recognition *l, const char *problem);
#define RECOGNITION_NOT_GLIBC "its C library is not known to be glibc" /* a problem */
/* Where its version has a thread's state. */
enum lang_start recognition_start(const struct recognition *l);
/* The same for a thread-local variable, one of the symbols; `program`: how a program's name begins,
 * which is module 1, without a slot. True. */
bool recognition_thread_local(struct recognition *l, unsigned variable, struct str program);

/* ---- target.c: what the kernel copies of a function that it meets first */

#define TEXT_BYTES 304 /* of a name, with what is before it */
#define NAME_BYTES 200 /* of a name in Perl */
#define PATH_BYTES 536

/* Steps on their way into a target. */
struct target_writer {
	struct lang_target *t;
	uint16_t at;
	uint8_t chunk;
};

struct lang_step *target_step(struct target_writer *p, enum lang_step_kind kind, uint8_t to,
			      uint8_t from, uint16_t offset);
/* The bytes that a step leads to, a chunk of the copy. */
void target_chunk(struct target_writer *p, struct lang_step *step, uint16_t len);
/* A chunk from `from` on. */
void target_copy(struct target_writer *p, uint8_t from, uint16_t len);
/* to = *(from + offset), and a chunk from there on. */
void target_follow(struct target_writer *p, uint8_t to, uint8_t from, uint16_t offset,
		   uint16_t len);

/* ---- the row */

struct runtime_row {
	const char *name;		   /* "python" */
	const char *files[FILES_MOST];	   /* how the names of its files begin */
	const char *symbols[SYMBOLS_MOST]; /* that are looked for */
	/* Fill l->out; false: the image is not one of this runtime. */
	bool (*look)(struct recognition *l);
	/* What a frame is called; NULL: frames are not read. */
	int (*name_frame)(const struct lang_runtime *r, const struct lang_memory *m,
			  struct lang_frame frame, struct lang_name *out);
	/* The steps from a function to all that its name is made of, in the order in which
	 * name_frame() reads it; the largest piece last. */
	void (*plan)(struct target_writer *p, const struct lang_layout *l);
};

extern const struct runtime_row python_row, php_row, ruby_row, perl_row, node_row, jvm_row;
extern const struct runtime_row *const runtime_rows[LANG_KINDS]; /* walk.c; LANG_NONE: NULL */

#endif
