/* What trampolines call: maps, texts, memory and records. This code runs inside the traced process,
 * as one blob of bytes that is copied there, and the same file is compiled into the tracer, whose
 * interpreter runs BEGIN, END and intervals on the same maps.
 *
 * It has no libc, no global data and no vector registers, takes no lock, waits for no other thread,
 * and its loops are bounded whatever is in the shared memory. A thread may be killed anywhere in
 * it; a signal handler may interrupt it anywhere and call it again.
 *
 * Calls follow the CPU's C ABI, but none touches vector or x87 state, and on x86-64 rsp need only
 * be a multiple of 8. No function uses more than INSIDE_STACK bytes below the stack pointer. Keys,
 * values and slots are 8-byte aligned memory of their full type_memory() size, laid out as
 * program/type.h says; results have the bytes that engine/interp has. `span` is insn->span: faults
 * are counted there.
 *
 * Padding: a text in a slot is followed by zeros up to a multiple of 8 bytes; a slot that is
 * copied, or part of a tuple, must be padded to its end: INSIDE_PADDED asks for that. Keys and
 * values of FORM_TEXT and FORM_STACK need not be padded. */
#ifndef NOPAL_USER_INSIDE_INSIDE_H
#define NOPAL_USER_INSIDE_INSIDE_H

#include "user/inside/layout.h"

#define INSIDE_STACK 1024 /* and, on aarch64 with SVE, 35 vectors */

/* The thread that is at a probe. A trampoline makes it on its stack. */
struct hit {
	char *base;		      /* of the shared memory, in this process */
	const struct layout *layout;  /* in the target: base; in the tracer: its own copy */
	struct process_page *process; /* NULL: read memory by system calls */
	char *rseq; /* struct rseq of this thread, registered with signature 0x53053053; NULL: none
		     */
	struct kept_page *kept; /* NULL: system calls may be made, and maps are not used */
	uint64_t tsc; /* when the probe was hit; 0: not read yet, inside_emit() reads it */
	uint64_t tid; /* of this thread, as the process sees it; 0: not known */
};

/* ---- maps. `key` is NULL for a map without keys. Functions with `span` count FAULT_MAP_FULL there
 * and in lost_updates when there is no room for a new key, and then change nothing. */

/* OP_MAP_GET: a word, or what a script reads of an aggregate (program.h); 0 when absent. */
uint64_t inside_map_get(struct hit *h, const struct map_shape *m, const uint64_t *key);
/* OP_MAP_COPY: all value words to `out`; zeros when absent. */
void inside_map_copy(struct hit *h, const struct map_shape *m, const uint64_t *key, uint64_t *out);
/* OP_MAP_SET */
void inside_map_set(struct hit *h, const struct map_shape *m, const uint64_t *key, uint64_t value,
		    uint64_t span);
/* OP_MAP_PUT: all value words from `value`. */
void inside_map_put(struct hit *h, const struct map_shape *m, const uint64_t *key,
		    const uint64_t *value, uint64_t span);
/* OP_MAP_ADD; the value before. 0 when the map is full. */
uint64_t inside_map_add(struct hit *h, const struct map_shape *m, const uint64_t *key,
			uint64_t value, uint64_t span);
/* OP_MAP_DEL: 1 when the key was there, else 0 */
uint64_t inside_map_del(struct hit *h, const struct map_shape *m, const uint64_t *key);
/* OP_MAP_HAS: 1 or 0 */
uint64_t inside_map_has(struct hit *h, const struct map_shape *m, const uint64_t *key);
/* OP_EACH: the key after the one for which this returned `after`, 0 for the first; all its words to
 * `key`. The result is 0 when no key is left. Keys that exist from the first call to the last come
 * once each. */
uint64_t inside_map_next(struct hit *h, const struct map_shape *m, uint64_t after, uint64_t *key);
/* OP_PERCENTILE */
uint64_t inside_percentile(struct hit *h, const struct map_shape *m, const uint64_t *key,
			   uint64_t millionths);
/* OP_AGGREGATE */
void inside_aggregate(struct hit *h, const struct map_shape *m, const uint64_t *key, uint64_t value,
		      uint64_t span);

/* The first half of OP_AGGREGATE, for what is done in a restartable sequence: the entry of a key,
 * which is inserted if need be, and the number that its cells must have. Index 0: there is no room.
 */
struct map_place {
	uint64_t index, number;
};

struct map_place inside_map_place(struct hit *h, const struct map_shape *m, const uint64_t *key,
				  uint64_t span);

/* Map the chunk of an entry in this process, and more, so that this is rarely done. False: there is
 * no room for it, the process has reached a limit, or must not be made to make system calls. */
bool inside_grow(struct hit *h, const struct map_shape *m, uint64_t index);

/* For the tracer: write zeros to the value of a key, if it exists; the entry of a key, and the
 * number of its use, false: it does not exist; word `word` of the aggregate of use `number` of an
 * entry, of all CPUs; false: nothing was taken in. */
void inside_map_zero(struct hit *h, const struct map_shape *m, const uint64_t *key);
/* The key has a value, which is 0 if it had none. */
void inside_map_keep(struct hit *h, const struct map_shape *m, const uint64_t *key);
bool inside_find(struct hit *h, const struct map_shape *m, const uint64_t *key, uint64_t *index,
		 uint64_t *number);
bool inside_cell(struct hit *h, const struct map_shape *m, uint64_t index, uint64_t number,
		 uint32_t word, uint64_t *out);

/* ---- memory of the traced process. None of these ever faults: what is in no range of the process
 * page is read by process_vm_readv(2) from the process itself. */

/* OP_LOAD: `how` is the size, 1 2 4 8, | INSIDE_SIGNED. 0 and FAULT_READ when unreadable,
 * or FAULT_ASK when there must be no calls; so do texts. Operands
 * in memory (OP_ARG) whose base register is not rsp or rip are read by this, too. */
#define INSIDE_SIGNED 0x100u
uint64_t inside_load(struct hit *h, uint64_t address, uint64_t how, uint64_t span);
/* `len` bytes to `out`; false: not all can be read. No fault is counted. */
bool inside_read(struct hit *h, void *out, uint64_t address, uint64_t len);

/* OP_WRITE, by process_vm_writev(2): 1, or 0 and FAULT_WRITE */
uint64_t inside_write(struct hit *h, uint64_t address, const uint64_t *value, uint64_t len,
		      uint64_t span);

/* The sizes of a text slot: its type's `size`, and the limit, insn->imm or again `size`. */
#define INSIDE_SIZES(size, limit) ((uint64_t)(limit) << 32 | (uint32_t)(size))
#define INSIDE_PADDED		  UINT64_C(0x80000000) /* or'ed in: zeros up to the end of the slot */
/* OP_STR: `want` is register b, or UINT64_MAX for REG_NO. */
void inside_str(struct hit *h, uint64_t *slot, uint64_t address, uint64_t want, uint64_t sizes,
		uint64_t span);
/* OP_BUF */
void inside_buf(struct hit *h, uint64_t *slot, uint64_t address, uint64_t want, uint64_t sizes,
		uint64_t span);

/* ---- texts and stacks in slots */

/* `size` may have INSIDE_PADDED. OP_TEXT: `len` bytes of a literal that lies near the trampoline;
 * cut to `size`. */
void inside_text(uint64_t *slot, uint64_t size, const char *text, uint64_t len);
/* OP_COMM, by prctl(2); TEXT_UNREADABLE and FAULT_ASK when there must be no calls */
void inside_comm(struct hit *h, uint64_t *slot, uint64_t size, uint64_t span);
/* OP_STRCMP: 0 when equal in the first `most` bytes (UINT64_MAX: wholly), else 1 */
uint64_t inside_strcmp(const uint64_t *a, const uint64_t *b, uint64_t most);
/* OP_APPEND: `sizes` are those of the slots, that of `to` with INSIDE_PADDED, as INSIDE_SIZES has
 * them */
void inside_append(uint64_t *to, const uint64_t *from, uint64_t sizes);
/* OP_USTACK by frame pointers: `ip` of the probe, then the return addresses from `fp` on; `sp` as
 * at the probe. `pid` as stack_head carries it. */
void inside_ustack(struct hit *h, uint64_t *slot, uint64_t size, uint64_t ip, const uint64_t *fp_sp,
		   uint64_t pid);
/* OP_LSTACK: `language` is insn->imm, `place` the number of the program's struct lang_place. */
void inside_lstack(struct hit *h, uint64_t *slot, uint64_t size, uint64_t language, uint64_t place,
		   uint64_t pid);
/* slot[0 .. words) = 0, and a copy; for large slots */
void inside_zero(uint64_t *slot, uint64_t words);
void inside_copy(uint64_t *to, const uint64_t *from, uint64_t words);

/* ---- records */

struct emit_field {
	uint32_t at;   /* offset in the frame, a multiple of 8: a register that was put there, or a
			  slot */
	uint16_t form; /* enum form */
	uint16_t unused;
	uint32_t words; /* 1, or of the whole slot, head included */
};

/* What OP_EMIT sends; a constant near the trampoline. */
struct emit_shape {
	uint16_t format;
	uint8_t is_control; /* never lost: counted at missed_at when there is no room */
	uint8_t is_exit;    /* is_stopped is set afterwards */
	uint32_t field_count;
	struct emit_field fields[];
};

/* OP_EMIT */
void inside_emit(struct hit *h, const struct emit_shape *shape, const char *frame);

/* ---- the dynamic loader */

/* The dynamic loader has mapped or unmapped libraries: let the tracer look at them before their
 * code runs, and wait for it, not longer than it shows that it lives, and 10 s at most; given_up
 * counts threads that went on.
 * `base` as in struct hit; `state` is the loader's, 0 when it is done. */
void inside_library_wait(char *base, const uint32_t *state, struct process_page *process,
			 struct kept_page *kept);

/* ---- the C library */

/* A thread is about to make system call `number` with these arguments. If it asks for a seccomp
 * filter, no more calls are made here from now on, and those that were begun are waited for: not
 * longer than some 50 ms, since a signal handler may keep one. */
void inside_filter(struct process_page *process, uint64_t *no_calls, uint64_t number, uint64_t a,
		   uint64_t b, uint64_t c);

/* ---- the rest */

/* Count one fault: enum of struct run_fault in program/record.h. FAULT_LOOP_LIMIT is also counted
 * in loop_limits. */
void inside_fault(struct hit *h, uint64_t span, uint64_t kind);
/* A frame of layout->scratch_size bytes that is this run's until released; NULL: none is free, and
 * the run is counted as lost. */
char *inside_scratch_claim(struct hit *h, uint64_t *mark);
/* CLOCK_MONOTONIC of a TSC. */
uint64_t inside_nsecs(struct hit *h, uint64_t tsc);
/* A system call, of five arguments at most. -ENOSYS: there must be none now. */
int64_t inside_call(const struct hit *h, int64_t number, uint64_t a, uint64_t b, uint64_t c,
		    uint64_t d, uint64_t e);
/* By system calls: getpid(2), gettid(2), getuid(2), getgid(2): numbers as the process sees them. 0
 * and FAULT_ASK when there must be no calls. */
uint64_t inside_pid(struct hit *h, uint64_t span);
uint64_t inside_tid(struct hit *h, uint64_t span);
uint64_t inside_uid(struct hit *h, uint64_t span);
uint64_t inside_gid(struct hit *h, uint64_t span);
/* OP_F2I of IEEE bits of `size` bytes; without SSE. */
uint64_t inside_f2i(uint64_t bits, uint64_t size);
uint64_t inside_rand(struct hit *h);
/* The CPU, by getcpu(2) where nothing else has its number: then 0 and FAULT_ASK when there must be
 * no calls. */
uint64_t inside_cpu(struct hit *h, uint64_t span);

#endif
