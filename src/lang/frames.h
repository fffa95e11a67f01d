/* Where interpreters keep their frames, as data, and the walk along them. Freestanding: traced
 * processes include it, too. lang.h says what it is for. */
#ifndef NOPAL_LANG_FRAMES_H
#define NOPAL_LANG_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	LANG_ENTRY_FLAGS,   /* if `entry_bits` of what it has the address of are `entry_value` */
	LANG_ENTRY_RETURNS, /* Perl: if it returns to no statement; and the frame that is in no sub
			     */
};

#define LANG_FRAME_MOST	 120 /* bytes of a frame that are read */
#define LANG_FRAME_MASK	 127 /* of offsets in it */
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
	/* enum lang_entry; where in the frame: of a u32, or of the address of one. BLOCKS: in a
	 * block, of where it returns to; and of a u32 in the stack, what it is for */
	uint8_t entry, entry_at, stack_use;
	uint32_t entry_bits, entry_value;
	uint8_t check; /* of a u32 in the object, by which another object at its address shows; or
			  LANG_NOTHING */
	bool is_pair;  /* the position belongs to the name, too */
};

/* Of LANG_START_KEY: in glibc's thread, at its pointer, the values of its first keys. */
#define LANG_KEYS      32
#define LANG_KEYS_AT   0x318
#define LANG_KEY_BYTES 16

#define LANG_BLOCK_TYPE	  15 /* the bits that are the type of one of Perl's blocks: */
#define LANG_BLOCK_NULL	  0
#define LANG_BLOCK_SUB	  9
#define LANG_BLOCK_FORMAT 10
#define LANG_BLOCK_EVAL	  11
#define LANG_BLOCK_DEFER  13
#define LANG_BLOCK_TRY	  0x40	/* of an eval: it is a block, not a text */
#define LANG_BLOCK_CODE	  0x40	/* of a sub: code in a pattern, */
#define LANG_BLOCK_FAKE	  0x80	/* ... which is a part of the sub that it is in */
#define LANG_BLOCK_SORT	  3	/* what a stack is for */
#define LANG_BLOCK_MOST	  16384 /* of all stacks together; the same for the kernel's walk */
#define LANG_MAIN	  1	/* object of Perl's frame that is in no sub; no address */

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
	LANG_PART,	 /* no end: the interpreter was entered for a part of the next frame */
	LANG_NOTES,
};

/* A walk: what it needs, and the frames that were found. */
struct lang_walking {
	const struct lang_shape_row *shape;
	uint64_t root, tls_offset, thread_pointer;
	const struct lang_memory *memory;
	bool marks; /* LANG_ENTRY is wanted */
	struct lang_frame *frames;
	size_t most, count;
};

/* The result says why there are no more frames. */
enum lang_note lang_walk_thread(struct lang_walking *w);

/* ---- The walk of one runtime in one process for those that cannot ask the tracer meanwhile, and
 * what to copy when a function is met for the first time, so that it has a name when its process
 * has ended. */

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

#endif
