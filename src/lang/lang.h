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

/* ORDER: enum language of program.h has the first five. */
enum lang_kind {
	LANG_NONE,
	LANG_PYTHON,
	LANG_PHP,
	LANG_RUBY,
	LANG_PERL,
	LANG_NODE,
	LANG_JVM,
	LANG_KINDS
};

const char *lang_kind_name(enum lang_kind kind); /* "python" */

/* Memory of a process. `read` fills all of `to` or gives false. */
struct lang_memory {
	void *self;
	bool (*read)(void *self, uint64_t address, void *to, size_t len);
};

/* Where the walk of a thread begins. `root` is an address of the runtime's. */
enum lang_start {
	LANG_START_ROOT,   /* the state is at `root` */
	LANG_START_GLOBAL, /* *root is the state */
	LANG_START_TLS,	 /* a thread's own variable, at tls_offset of module *root, is the state */
	LANG_START_KEY,	 /* what the thread has set for the key at `root`; glibc */
	LANG_START_LIST, /* of the thread with the thread's pointer, in the lists at `root` */
};

/* How frames lie in memory. */
enum lang_shape {
	LANG_LINKED, /* state -> first frame; each has the address of the next, 0 at the end */
	LANG_ARRAY,  /* state -> first frame, and where the array ends; one lies after the other */
	LANG_BLOCKS, /* Perl: state -> the current statement, and blocks from the last to the first
		      */
};

/* By which frames C code has entered the interpreter: the outermost of those that one call of the
 * function that evaluates code runs. */
enum lang_entry {
	LANG_ENTRY_UNKNOWN,
	LANG_ENTRY_EACH,    /* every one */
	LANG_ENTRY_BITS,    /* if some of `entry_bits` are set */
	LANG_ENTRY_SKIPPED, /* those before one that is skipped */
};

#define LANG_FRAME_MOST	 120 /* bytes of a frame that are read */
#define LANG_FRAMES_MOST 127 /* of a stack by default */
#define LANG_NOTHING	 255 /* an offset that does not exist */
#define LANG_NO_NEXT	 UINT16_MAX

/* All that a walk needs to know, as data, so that the kernel can do it, too. Offsets in bytes. */
struct lang_shape_row {
	uint8_t start, shape; /* enum lang_start, enum lang_shape */
	/* LIST: of the runtime, an interpreter (LANG_NO_NEXT: there is one), a thread. A list ends
	 * with 0 or where it begins. The thread is the state, or has its address at `of_thread` */
	uint16_t interpreters, next_interpreter, first_thread;
	uint8_t next_thread, thread_pointer, of_thread;
	/* state -> frame: *(state + top), then *(that + top_again) unless LANG_NOTHING */
	uint16_t top;
	uint8_t top_again;
	/* ARRAY: *(state + base) + 8 * *(state + words) is the end.
	 * BLOCKS: *(state + top) is the statement, *(state + base) the stack; of that: `words` the
	 * blocks, `last` the number of the last one, `next` the stack below. In a block `position`
	 * is the statement that it was entered from, `object` its sub */
	uint8_t base, words, last, type;
	/* in a frame; its size is also the step of an array */
	uint8_t size, object, position, next;
	uint8_t position_size; /* 4: signed; 8 */
	bool is_relative;      /* the position counts from the object's address */
	uint8_t line; /* of a u32 at the address that the position is: the line; LANG_NOTHING: none
		       */
	uint8_t skip_at, skip; /* frames whose byte there is that are not of a function; 0: none */
	uint8_t entry, entry_at; /* enum lang_entry; of a u32 in the frame */
	uint32_t entry_bits;
	uint8_t check; /* of a u32 in the object, by which another object at its address shows; or
			  LANG_NOTHING */
	bool is_pair;  /* the position belongs to the name, too */
};

/* Of LANG_START_KEY: in glibc's thread, at its pointer, the values of its first keys. */
#define LANG_KEYS      32
#define LANG_KEYS_AT   0x318
#define LANG_KEY_BYTES 16

#define LANG_BLOCK_SUB	  9 /* types of Perl's blocks */
#define LANG_BLOCK_FORMAT 10
#define LANG_BLOCK_MOST	  16384 /* of all stacks together; the same for the kernel's walk */
#define LANG_MAIN	  1	/* object of Perl's frame that is in no sub; no address */

struct lang_layout; /* tables.c: the row of a version */

struct lang_runtime {
	enum lang_kind kind;
	unsigned major, minor, micro;
	bool has_version;
	struct str path;		  /* of the image; in `text` */
	const struct lang_layout *layout; /* NULL: stacks cannot be read, `problem` says why */
	const char *problem;
	uint64_t root, tls_offset;
	uint64_t code_type; /* Python: of code objects; JVM: its table of types; 0: not known */
	struct buf text;
	/* Of a file that is in no process: addresses are link-time. */
	uint64_t device, inode, code;
};

/* A frame; object 0: a note in place of a function, enum lang_note in `position`. The upper 16
 * bits of an object are of its check word, if the kernel has walked, and else 0. */
struct lang_frame {
	uint64_t object, position;
};

#define LANG_ADDRESS(object) ((object)&0x7fffffffffffull)
/* In the object, where it was asked for: the interpreter was entered here. */
#define LANG_ENTRY 0x800000000000ull

/* Why a stack ends, or is not there. */
enum lang_note {
	LANG_ROOT,	 /* its outermost frame was read */
	LANG_LIMIT,	 /* there are more frames than asked for */
	LANG_UNREADABLE, /* memory could not be read, or makes no sense */
	LANG_NO_THREAD,	 /* the runtime does not know this thread, or it runs nothing */
	LANG_NO_RUNTIME, /* none was found in the process (yet) */
	LANG_NOTES,
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

/* Memory of a live process, by process_vm_readv(2). */
struct lang_memory lang_memory_of(const pid_t *pid);

/* ---- For the kernel: the walk of one runtime in one process, and what to copy when a function is
 * met for the first time, so that it has a name when its process has ended. */

#define LANG_STEPS	32
#define LANG_REGISTERS	8
#define LANG_CHUNKS	32
#define LANG_BYTES	8192 /* of all chunks */
#define LANG_CHUNK_MOST 4096
#define LANG_AT_MOST	4095 /* where the last chunk begins */

enum lang_step_kind {
	LANG_STEP_FOLLOW, /* register `to` = *(register `from` + offset) */
	LANG_STEP_INDEX,  /* register `to` += 8 * *(register `from` + offset) */
	LANG_STEP_COPY,	  /* a chunk from (register `from` + offset) */
};

/* Register 0 is the object, 1 the position. */
struct lang_step {
	uint8_t kind; /* enum lang_step_kind */
	uint8_t from, to, chunk;
	uint16_t offset, at; /* bytes; `at` in the bytes of all chunks */
	uint16_t len;	     /* of a chunk; of the others: 0, or then a chunk from register `to` */
	uint16_t spare[3];
};

struct lang_target {
	uint64_t root, tls_offset;
	/* Of a program, for processes that are not known yet, where `root` is link-time: its file
	 * as /proc/PID/maps has it, and the address of its code. */
	uint64_t device, inode, text;
	uint32_t id; /* of the runtime, in the definitions */
	uint32_t step_count, bytes, kind;
	struct lang_shape_row shape;
	struct lang_step steps[LANG_STEPS];
};

/* What the kernel sends: a head, then `bytes` of chunks. */
struct lang_chunk {
	uint64_t address;
	uint32_t len, at;
};

struct lang_definition {
	uint64_t object, pid, position; /* position 0: it does not belong to the name */
	uint64_t id;
	struct lang_chunk chunks[LANG_CHUNKS];
};

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
