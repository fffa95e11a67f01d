/* Stacks in the language of a program: Python, PHP, Ruby and Perl, as their interpreters keep them.
 *
 *   lang_recognise   a process -> the runtimes in it: kind, version, addresses
 *   lang_walk        a thread of a runtime -> frames: (object, position), innermost first
 *   lang_name        a frame -> function, file, line
 *
 * Memory is read through a callback: of a live process, of a piece that was copied, of a test. It
 * belongs to the traced program and may contain anything: all walks and texts are bounded.
 * Where things are in an interpreter's memory depends on its version, and is in tables (tables.c).
 * A version that is not in them is named and not read. x86-64 only, for the tables are. */
#ifndef NOPAL_LANG_LANG_H
#define NOPAL_LANG_LANG_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/diag.h"
#include "lang/frames.h"

const char *lang_kind_name(enum lang_kind kind); /* "python" */

struct lang_layout; /* tables.c: the row of a version */

/* Offsets in a file; end 0: there is none. */
struct lang_code_range {
	uint64_t start, end;
};

struct lang_runtime {
	enum lang_kind kind;
	unsigned major, minor, micro;
	bool has_version;
	struct str path;		  /* of the image; in `text` */
	const struct lang_layout *layout; /* NULL: stacks cannot be read, `problem` says why */
	const char *problem;
	uint64_t root, tls_offset;
	uint64_t code_type; /* Python: of code objects; JVM: its table of types; 0: not known */
	struct lang_code_range evaluator; /* Ruby: the function that runs instructions */
	struct buf text;
	/* Of a file that is in no process: addresses are link-time. */
	uint64_t device, inode, code;
};

const char *lang_note_text(enum lang_note note); /* NULL: none is needed */

/* A frame for people. */
struct lang_name {
	struct buf function; /* empty: not known */
	struct buf file;     /* empty: none, for a function written in C */
	uint64_t line;	     /* 0: not known */
	bool is_hidden;	     /* a frame of the interpreter's own that no script has */
};

void lang_name_free(struct lang_name *n);

struct lang_image;

struct lang_images {
	struct lang_image **items;
	size_t count, cap;
};

/* The runtimes in a process, at most `most`, in the order of its mappings; their number. `maps` is
 * the text of /proc/PID/maps. The caller frees each. -ENOMEM. */
int lang_recognise(pid_t pid, struct str maps, struct lang_images *images, struct lang_runtime *out,
		   unsigned most);
/* The files that were looked at: each is read once. NULL: they are read each time. The runtime of
 * image number `i`, of the file and not of a process; false: it is none; `i` goes on to the next.
 */
void lang_images_free(struct lang_images *images); /* and zero it */
bool lang_images_next(const struct lang_images *images, size_t *i, const struct lang_runtime **out);
/* Look at a file before any process runs it. -errno. */
int lang_images_add(struct lang_images *images, const char *path);
void lang_runtime_free(struct lang_runtime *r);
/* "python 3.11.2" */
void lang_print(const struct lang_runtime *r, struct buf *out);

/* The frames of the thread with this thread pointer (fs_base), innermost first: at most `most` into
 * `frames`, their number into *count. The result says why there are no more. */
enum lang_note lang_walk(const struct lang_runtime *r, const struct lang_memory *m,
			 uint64_t thread_pointer, struct lang_frame *frames, size_t most,
			 size_t *count);
/* 0, or -EFAULT: what is known by then is in *out, whose buffers are cleared first. */
int lang_name(const struct lang_runtime *r, const struct lang_memory *m, struct lang_frame frame,
	      struct lang_name *out);
const struct lang_shape_row *lang_shape_of(const struct lang_runtime *r);

/* A flag of the JVM that is on or off, such as "PreserveFramePointer". What cannot be read is off.
 */
bool lang_jvm_flag(const struct lang_runtime *r, const struct lang_memory *m, const char *name);
/* Does code that a process makes at run time keep frame pointers? Only a JVM is known to make it
 * without, unless -XX:+PreserveFramePointer. `maps`, `images`: as for lang_recognise(). */
bool lang_keeps_frames(pid_t pid, struct str maps, struct lang_images *images);

/* What a JVM said, or why it said nothing. */
enum lang_answer {
	LANG_ANSWER_GIVEN,  /* "0\n", or the number of an error; then text */
	LANG_ANSWER_DENIED, /* its user cannot do it */
	LANG_ANSWER_DEAF,   /* it takes no SIGQUIT */
	LANG_ANSWER_ENDED,  /* the process has ended */
	LANG_ANSWER_NONE,   /* it did not answer in time, or not as a JVM does */
	LANG_ANSWERS,
};

/* Run a command of jcmd in a process, which must be a HotSpot JVM: "Compiler.perfmap". What it
 * says, untrusted, goes to the end of `text`. -errno: the process cannot be looked at. */
int lang_jvm_ask(pid_t pid, const char *command, struct buf *text, enum lang_answer *answer);
/* Memory of a live process, by process_vm_readv(2). */
struct lang_memory lang_memory_of(const pid_t *pid);

/* -ENOTSUP: its stacks cannot be read. */
int lang_target(const struct lang_runtime *r, uint32_t id, struct lang_target *out);

/* ---- The runtimes of all processes of a run, and the functions that were met. */

struct lang_names;

int lang_names_new(struct lang_names **out); /* -ENOMEM */
void lang_names_free(struct lang_names *n);  /* NULL is fine */
/* Look for runtimes in a process: at first, and when it has mapped a file that may be one. */
void lang_names_see(struct lang_names *n, pid_t pid);
/* Programs that may be runtimes, to be known before they run. */
void lang_names_add_file(struct lang_names *n, const char *path);
void lang_names_fork(struct lang_names *n, pid_t parent, pid_t child);
void lang_names_forget(struct lang_names *n, pid_t pid); /* it has ended, or runs another program */
/* What a walk needs of a runtime that the process has now; NULL: there is none. LANG_NONE: the
 * first one. */
const struct lang_target *lang_names_target(const struct lang_names *n, pid_t pid,
					    enum lang_kind kind);
bool lang_names_has(const struct lang_names *n, pid_t pid);
/* May a file of this name be a runtime? */
bool lang_is_runtime_file(struct str path);
/* Hand over what has changed since the last call, each once: a target, or NULL: there is none any
 * more. A process's first runtime comes as LANG_NONE, too. */
/* Process 0: a program's file, for processes that are not known yet. */
typedef void lang_target_fn(void *arg, pid_t pid, enum lang_kind kind,
			    const struct lang_target *target);
void lang_names_changes(struct lang_names *n, lang_target_fn *fn, void *arg);
/* A definition that the kernel has sent; any bytes. */
void lang_names_define(struct lang_names *n, struct str bytes);
/* The name of a frame: of its definition, else from its process. */
void lang_names_find(struct lang_names *n, pid_t pid, struct lang_frame frame,
		     struct lang_name *out);

/* Why stacks of a runtime that the process has, or had, cannot be read: "python 3.15.2: ..." at the
 * end of `out`. False: it has none of these. */
bool lang_names_problem(const struct lang_names *n, pid_t pid, struct buf *out);

/* Is an offset of a file, as /proc/PID/maps names it, in the function by which a runtime runs
 * instructions? Of those whose function has no symbol. */
bool lang_names_evaluates(const struct lang_names *n, uint64_t device, uint64_t inode,
			  uint64_t offset);

/* Make frames of a process those that the same functions and lines have in every process, of
 * process 0; the interpreter's own are left out, so *count may become less. False: one has no name,
 * and `frames` are of no use any more. */
bool lang_names_unify(struct lang_names *n, pid_t pid, struct lang_frame *frames, size_t *count);

/* ---- Processes */

/* Each thread of a process with its thread pointer, while all of them are stopped: not for long.
 * Non-zero from `fn` ends it and is returned. -EPERM: not this user's to look at, or traced by
 * another; -ESRCH. */
typedef int lang_thread_fn(void *arg, pid_t tid, uint64_t thread_pointer);
int lang_each_thread(pid_t pid, lang_thread_fn *fn, void *arg);

/* "work (/srv/app.py:12)" as one line; a function that is not known is "(unreadable)". Untrusted:
 * not escaped. */
void lang_print_name(const struct lang_name *n, bool with_line, struct buf *out);

#endif
