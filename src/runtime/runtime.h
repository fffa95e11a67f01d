/* Run-time probes from inside: images, errors, generations of processes, the files of images, the
 * slots they are mapped into, and probes as their provider keeps them. */
#ifndef NOPAL_RUNTIME_RUNTIME_H
#define NOPAL_RUNTIME_RUNTIME_H

#include <stdatomic.h>
#include <sys/types.h>

#include "base/buf.h"
#include "nopal/runtime.h"

/* ---- Images (image.c) ------------------------------------------------------------------------ */

/* The ELF image of run-time probes: from names and types to the bytes of a file that every reader
 * of notes takes for a shared object. It consists of a few structures that are always the same, so
 * they are written here, and programs with such probes need no ELF library.
 *
 *	file		mapped at		what
 *	0		base			ELF header, program headers, build-id
 *	IMAGE_STUBS	base + IMAGE_STUBS	one stub a probe		r-x
 *	semaphores_at	base + IMAGE_DATA + ..	one 16-bit counter a probe	rw-
 *	...		-			notes, symbols, section headers
 *
 * The code and the semaphores may be in one page of the file, which is then mapped twice. */

/* Stubs: the code of run-time probes. A stub is a function that does nothing, `nop; ret`. Firing
 * calls it, with the values where the calling convention puts the arguments of a function; the note
 * names these operands.
 *
 * Because a stub is called, nothing below the stack pointer is in use at its first instruction. So
 * a 5-byte nop is safe there, which the kernel may replace by a call, without a trap. */
#define STUB_SIZE 16 /* bytes of a stub; aligned to it, so that no nop crosses a page or line */

struct stub_cpu {
	uint16_t machine;  /* EM_X86_64 */
	uint32_t flags;	   /* e_flags */
	uint32_t page;	   /* the largest page that kernels use on it */
	uint8_t code_size; /* bytes of `code` that can be reached */
	unsigned char code[STUB_SIZE];
	/* Write where value `i` is at the first instruction, in the assembler's syntax. */
	void (*operand)(unsigned i, struct buf *out);
};

extern const struct stub_cpu stub_cpus[];
extern const unsigned stub_cpu_count;

/* The row of the CPU that this was compiled for; NULL: there are no run-time probes on it. With a
 * 1-byte nop, stubs on x86-64 begin like those of libstapsdt; kernels then always trace them by a
 * breakpoint. */
const struct stub_cpu *stub_host(bool one_byte_nop);

#define IMAGE_DATA  (2 * 65536) /* from the code's address to that of the same byte as data */
#define IMAGE_STUBS 352		/* offset of the first stub */
#define IMAGE_MAX   ((65536 - IMAGE_STUBS) / STUB_SIZE) /* probes of one image */

/* Classes of .note.nopal (doc/describe-note.md). */
enum value_class {
	VALUE_UNSIGNED = 1,
	VALUE_SIGNED = 2,
	VALUE_BOOL = 3,
	VALUE_FLOAT = 4,
	VALUE_POINTER = 5,
	VALUE_STRING = 6,
};

/* How a note describes a value of a type of <nopal/runtime.h>. */
struct value_type {
	uint8_t size;
	bool is_signed;
	uint8_t type_class; /* enum value_class */
	const char *c_type;
	const char *name_suffix; /* appended to the argument's name */
};

/* How many values an argument of `type` has, 1 or 2, and their types; 0: an unknown type. */
unsigned runtime_value_types(enum nopal_type type, const struct value_type *out[2]);

/* A probe as the image describes it; a counted string has two values. */
struct image_probe {
	struct str name;
	struct str description; /* empty: none */
	unsigned value_count;
	const struct value_type *const *types; /* of each value */
	const struct str *names;	       /* of each value; empty: none */
};

/* Layout of an image, known from the number of its probes. */
struct image_layout {
	size_t code_end; /* bytes to be mapped as code, from offset 0 */
	size_t semaphores_at, semaphores_end;
};

struct image_layout image_layout_of(size_t count);
static inline size_t image_stub_at(size_t i)
{
	return IMAGE_STUBS + i * STUB_SIZE;
}

/* Append the whole file to `out`, which is empty; out->failed: out of memory. At most IMAGE_MAX
 * probes. The same input makes the same bytes. `base` 0: an image for a file. Else all addresses
 * are `base` higher and there are no descriptions, as debuggers read an image from memory. */
void image_write(const struct stub_cpu *cpu, struct str provider,
		 const struct image_probe *const *probes, size_t count, uint64_t base,
		 struct buf *out);

/* ---- Errors: why calls of <nopal/runtime.h> fail (runtime.c) --------------------------------- */

/* Fill *e, which may be NULL, and return `code`. %m is the text of errno. */
int runtime_fail(struct nopal_error *e, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- Generations (slot.c) -------------------------------------------------------------------- */

/* The *generation* of a process: a number in its memory that is larger than those of its ancestors.
 * By it a child that was made by a bare clone() or by _Fork(), where no handler of pthread_atfork()
 * has run, notices that it holds copies. A child that shares its parent's memory (vfork(),
 * CLONE_VM) counts as the same process. */
#define GENERATION_BUSY 0x80000000u /* no generation has this bit */

/* Call it once, before the first provider. */
void generation_init(void);
/* Call it once, after the last provider and the last event. */
void generation_end(void);
/* Never 0. May be called from signal handlers. */
uint32_t generation_now(void);
/* For the handler of pthread_atfork() in the child: works on every kernel. */
void generation_next(void);

/* ---- Files (file.c) -------------------------------------------------------------------------- */

#define MEMFD_NAME_MAX 249 /* bytes of a name that memfd_create() accepts */

/* A memfd called `name` with these bytes, sealed. A descriptor, or -1 with errno set. */
int memfd_make(const char *name, struct str content);
/* A file with these bytes in the user's run-time directory; *path, to be freed, is its name. A
 * descriptor, or a negative enum nopal_error_code. */
int named_file_make(const char *provider, struct str content, char **path, struct nopal_error *e);

/* ---- Slots (slot.c) -------------------------------------------------------------------------- */

/* The memory of a provider's probes. An *image slot* is reserved address space for the probes of
 * one image:
 *
 *	base + 0		stubs: the image as code while it is loaded, else idle stubs
 *	base + 64 KiB		handle block: the handles that users hold, always mapped
 *	base + 128 KiB		semaphores: the image as data while it is loaded
 *
 * A handle is NOPAL_PROBE_DISTANCE above its stub, and neither moves until the slot is closed.
 * Loading and unloading replace the mapping of the stubs in one step, so that a thread that is
 * firing always finds the same instructions there. */
struct probe_info;

/* A flag besides those of nopal/runtime.h: like NOPAL_RUNTIME_FILE, but a memfd if that fails. */
#define FLAG_FILE_IF_POSSIBLE 0x80000000u

/* What a user's handle points to. */
struct nopal_probe {
	_Alignas(STUB_SIZE) const struct probe_info *info; /* handles are as far apart as stubs */
};

struct image_slot {
	const struct stub_cpu *cpu;
	unsigned char *base;
	const struct image_probe **probes;
	size_t count, cap;
	size_t code_pages, data_pages; /* in bytes: what is mapped while it is loaded */
	int fd;			       /* of the image; -1: not loaded */
	dev_t dev;		       /* the image's file: children may close fd and reuse it */
	ino_t ino;
	_Atomic uint32_t generation; /* of the process that has last renewed the mappings */
	char *path;		     /* of the image's file; NULL: a memfd */
	int owner;		     /* the process that made the file */
	struct debug_image *debug;   /* what debuggers read; NULL: nothing */
	bool closed;		     /* it was loaded once: no more probes are added */
	struct image_slot *next;
};

/* These return 0 or an enum nopal_error_code, with a text in `e`. */
int slot_open(unsigned flags, struct image_slot **out, struct nopal_error *e);
void slot_close(struct image_slot *slot); /* NULL is fine */
/* Add a probe; slot_takes_more() was true. */
int slot_add(struct image_slot *slot, const struct image_probe *probe,
	     const struct probe_info *info, struct nopal_probe **out, struct nopal_error *e);
static inline bool slot_takes_more(const struct image_slot *slot)
{
	return !slot->closed && slot->count < IMAGE_MAX;
}
int slot_load(struct image_slot *slot, const char *provider, unsigned flags, struct nopal_error *e);
int slot_unload(struct image_slot *slot, struct nopal_error *e);
/* Renew the mappings of a slot in a child. */
void slot_adopt_now(struct image_slot *slot, uint32_t generation);
/* After a fork, make the child's copies of the probes its own. Any number of threads may call it,
 * and signal handlers. */
static inline void slot_adopt(struct image_slot *slot)
{
	uint32_t now = generation_now();

	if (atomic_load_explicit(&slot->generation, memory_order_acquire) != now)
		slot_adopt_now(slot, now);
}
/* Remove the file, if this process made it. */
void slot_unlink(struct image_slot *slot);

/* ---- Announcements (announce.c) -------------------------------------------------------------- */

/* Announcing images of run-time probes, which neither the dynamic loader nor a debugger knows.
 *
 * gdb and lldb search for probes in the files that the dynamic loader has loaded. They also read
 * ELF files from memory that a program puts into a list, made for compilers at run time ("JIT
 * Compilation Interface" in gdb's manual).
 *
 * Tracers can use two static probes:
 *
 *	nopal:provider_loaded(const char *provider, int fd, void *code, size_t probes)
 *	nopal:provider_unloaded(the same)
 *
 * loaded fires once tracers can attach; unloaded fires while they still can. */
/* Not at the same time from two threads. NULL: memory is short, and debuggers do not see the image.
 */
struct debug_image *debug_image_add(const struct image_slot *slot, const char *provider);
void debug_image_remove(struct debug_image *image); /* NULL is fine */

void announce_loaded(const char *provider, const struct image_slot *slot);
void announce_unloaded(const char *provider, const struct image_slot *slot);
/* Call the empty function that the dynamic loader calls when it has mapped libraries: a user-mode
 * tracer has its probe there, and the thread waits until what is new is traced. Not under the lock
 * of this library. */
void announce_to_debuggers(void);

/* ---- Probes (runtime.c) ---------------------------------------------------------------------- */

/* Everything about a probe, in one allocation. It does not change. */
struct probe_info {
	struct image_probe image;
	struct nopal_provider *provider;
	struct image_slot *slot;
	struct nopal_probe *handle;
	struct probe_info *next; /* in the same bucket */
	uint32_t hash;
	uint8_t arg_count;
	uint8_t arg_types[NOPAL_MAX_VALUES];  /* enum nopal_type */
	uint8_t arg_values[NOPAL_MAX_VALUES]; /* the first value of each argument */
	const struct value_type *types[NOPAL_MAX_VALUES];
	struct str names[NOPAL_MAX_VALUES];
	char text[]; /* what the strs point to, each followed by a NUL */
};

#endif
