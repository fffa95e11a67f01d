/* Memory of the traced process, texts and stacks. A bad pointer is never followed: memory is read
 * directly only where the process page says that it cannot vanish, and everything else by
 * process_vm_readv(2) from the process itself, which fails instead of faulting. */
#include "user/inside/inside.h"

#include "program/numbers.h"
#include "program/record.h"
#include "unwind/unwind.h"
#include "user/inside/words.h"

#define COMM_SIZE  16
#define GET_NAME   16 /* PR_GET_NAME */
#define PAGE	   4096u
#define HEAD_WORDS 1u
#define MAX_FRAME  (1u << 20) /* bytes of one function's frame, in a stack */
#define BYTES	   UINT64_C(0x0101010101010101)
#define HIGH_BITS  UINT64_C(0x8080808080808080)

void inside_zero(uint64_t *slot, uint64_t words)
{
	for (uint64_t i = 0; i < words; i++)
		word_store(&slot[i], 0);
}

void inside_copy(uint64_t *to, const uint64_t *from, uint64_t words)
{
	for (uint64_t i = 0; i < words; i++)
		word_store(&to[i], word_load(&from[i]));
}

/* ---- reading */

static uint64_t bytes_in(const struct memory_range *r, uint64_t address)
{
	uint64_t start = word_load(&r->start), end = word_load(&r->end);

	return address >= start && address < end ? end - address : 0;
}

/* Bytes from `address` on that can be read directly: of the image that the site is in, of the page
 * that this thread's stack pointer is in, or of a range of the process page. */
static uint64_t direct_bytes(const struct hit *h, uint64_t address)
{
	const struct process_page *p = h->process;
	uint64_t left = bytes_in(&h->layout->image, address), count;

	if (left)
		return left;
	if (!p)
		return 0;
	if (address >= (uintptr_t)h && !(((uintptr_t)h ^ address) / PAGE))
		return PAGE - address % PAGE;
	count = word_acquire(&p->range_count);
	for (uint64_t i = 0; i < PROCESS_RANGES && i < count && !left; i++)
		left = bytes_in(&p->ranges[i], address);
	return left;
}

struct extent { /* struct iovec */
	uint64_t address, len;
};

/* Bytes of this process, by system call: process_vm_readv(2) or process_vm_writev(2). They take the
 * number of a thread, too: that of the process says nothing when its main thread has ended. */
static bool copy_by_call(const struct hit *h, int64_t number, uint64_t ours, uint64_t address,
			 uint64_t len)
{
	struct extent here = {ours, len}, there = {address, len};
	int64_t tid = inside_call(h, CALL_GETTID, 0, 0, 0, 0, 0);

	return inside_call(h, number, (uint64_t)tid, (uintptr_t)&here, 1, (uintptr_t)&there, 1) ==
	       (int64_t)len;
}

/* Words that need not be aligned, and may be any type. */
struct __attribute__((packed, may_alias)) loose {
	uint64_t word;
};

/* May it be read and written in words? Else byte by byte: the flag is the program's, and stays.
 */
static bool may_use_words(uint64_t address)
{
	return !(address % 8) || !checks_alignment();
}

/* Bytes of `address` that can be read at once by one of the two ways, at most `len`; 0: none. */
static uint64_t chunk_of(const struct hit *h, uint64_t address, uint64_t len, bool *direct)
{
	uint64_t most = direct_bytes(h, address);

	*direct = most != 0;
	if (!most)
		most = PAGE - address % PAGE;
	return most < len ? most : len;
}

static void copy_bytes(char *to, const char *from, uint64_t len)
{
	uint64_t least = may_use_words((uintptr_t)to | (uintptr_t)from) ? 8 : UINT64_MAX;

	for (; len >= least; len -= 8, to += 8, from += 8)
		((struct loose *)(void *)to)->word =
			((const struct loose *)(const void *)from)->word;
	for (; len; len--)
		*(volatile char *)to++ = *(const volatile char *)from++;
}

bool inside_read(struct hit *h, void *out, uint64_t address, uint64_t len)
{
	uint64_t at, part;
	char *to = out;
	bool direct;

	for (at = 0; at < len; at += part) {
		part = chunk_of(h, address + at, len - at, &direct);
		if (direct)
			copy_bytes(to + at, (const char *)(uintptr_t)(address + at), part);
		else if (!copy_by_call(h, CALL_READV, (uintptr_t)(to + at), address + at, part))
			return false;
	}
	return true;
}

/* What a read that failed is counted as: where no calls may be made, it is not known whether there
 * is anything at the address. */
static uint64_t read_fault(const struct hit *h)
{
	return h->process && h->kept && word_load(&h->kept->no_calls) ? FAULT_ASK : FAULT_READ;
}

uint64_t inside_load(struct hit *h, uint64_t address, uint64_t how, uint64_t span)
{
	unsigned size = how & 0xff;
	uint64_t bits = 0;

	if (!inside_read(h, &bits, address, size)) {
		inside_fault(h, span, read_fault(h));
		return 0;
	}
	return extend_bits(bits, size, how & INSIDE_SIGNED);
}

uint64_t inside_write(struct hit *h, uint64_t address, const uint64_t *value, uint64_t len,
		      uint64_t span)
{
	if (copy_by_call(h, CALL_WRITEV, (uintptr_t)value, address, len))
		return 1;
	inside_fault(h, span, FAULT_WRITE);
	return 0;
}

/* ---- texts */

static char *text_of(uint64_t *slot)
{
	return (char *)(slot + HEAD_WORDS);
}

/* Zeros after the first words of a text, up to the end of its slot. */
static __attribute__((noinline)) void pad(uint64_t *slot, uint64_t size, uint64_t words)
{
	for (uint64_t end = (size & ~INSIDE_PADDED) / 8; words < end; words++)
		word_store(&slot[HEAD_WORDS + words], 0);
}

/* Write the head of a text, whose bytes are in the slot, and zeros after it. */
static void finish(uint64_t *slot, uint64_t size, uint64_t len, uint32_t flags)
{
	uint64_t words = (len + 7) / 8;

	slot[0] = len | (uint64_t)flags << 32;
	if (len % 8)
		slot[words] &= ~UINT64_C(0) >> (64 - 8 * (len % 8));
	if (size & INSIDE_PADDED)
		pad(slot, size, words);
}

static void set_unreadable(struct hit *h, uint64_t *slot, uint64_t size, uint64_t span)
{
	inside_fault(h, span, read_fault(h));
	finish(slot, size, 0, TEXT_UNREADABLE);
}

/* Copy text up to a NUL; bytes copied, without it: less than `len` if it is there. */
static uint64_t copy_text(char *to, const char *from, uint64_t len)
{
	uint64_t at = 0, least = may_use_words((uintptr_t)to | (uintptr_t)from) ? 8 : UINT64_MAX;

	for (; len - at >= least; at += 8) {
		uint64_t word = ((const struct loose *)(const void *)(from + at))->word;
		uint64_t nul = (word - BYTES) & ~word & HIGH_BITS;

		((struct loose *)(void *)(to + at))->word = word;
		if (nul)
			return at + (unsigned)__builtin_ctzll(nul) / 8;
	}
	for (; at < len; at++) {
		char byte = *(const volatile char *)(from + at);

		if (!byte)
			break;
		*(volatile char *)(to + at) = byte;
	}
	return at;
}

/* Read text of at most `len` bytes; *got: its bytes, `len` if there is no NUL among them. */
static bool read_text(struct hit *h, char *to, uint64_t address, uint64_t len, uint64_t *got)
{
	*got = 0;
	while (*got < len) {
		bool direct;
		uint64_t part = chunk_of(h, address + *got, len - *got, &direct), copied;
		const char *from = to + *got;

		if (direct)
			from = (const char *)(uintptr_t)(address + *got);
		else if (!copy_by_call(h, CALL_READV, (uintptr_t)(to + *got), address + *got, part))
			return false;
		copied = copy_text(to + *got, from, part);
		*got += copied;
		if (copied < part)
			break;
	}
	return true;
}

static __attribute__((noinline)) void read_str(struct hit *h, uint64_t *slot, uint64_t address,
					       uint64_t want, uint64_t sizes, uint64_t span)
{
	uint64_t size = (uint32_t)sizes, limit = sizes >> 32, most = want < limit ? want : limit,
		 len;
	uint32_t flags = 0;
	char next;

	if (!address) {
		finish(slot, size, 0, TEXT_NULL);
		return;
	}
	if (!read_text(h, text_of(slot), address, most, &len)) {
		set_unreadable(h, slot, size, span);
		return;
	}
	/* Was it the limit that cut the text, and not the script? */
	if (len == most && want > limit && (!inside_read(h, &next, address + len, 1) || next))
		flags = TEXT_CUT;
	finish(slot, size, len, flags);
}

/* Most texts are constants of the program, and short. This is the way for them; a text that has no
 * NUL where that ends goes the other way, from its beginning. */
void inside_str(struct hit *h, uint64_t *slot, uint64_t address, uint64_t want, uint64_t sizes,
		uint64_t span)
{
	uint64_t limit = sizes >> 32, most = want < limit ? want : limit, at;
	uint64_t left = bytes_in(&h->layout->image, address), *to = slot;

	most = most < left ? most : left;
	if (!may_use_words(address))
		most = 0;
	for (at = 8; at <= most; at += 8) {
		uint64_t word = ((const struct loose *)(uintptr_t)(address + at))[-1].word;
		uint64_t nul = (word - BYTES) & ~word & HIGH_BITS;

		*++to = word;
		if (!nul)
			continue;
		*to = word & (((nul & -nul) >> 7) - 1);
		slot[0] = at - 8 + (unsigned)__builtin_ctzll(nul) / 8;
		if (sizes & INSIDE_PADDED)
			pad(slot, (uint32_t)sizes, at / 8);
		return;
	}
	read_str(h, slot, address, want, sizes, span);
}

void inside_buf(struct hit *h, uint64_t *slot, uint64_t address, uint64_t want, uint64_t sizes,
		uint64_t span)
{
	uint64_t size = (uint32_t)sizes, limit = sizes >> 32, len = want < limit ? want : limit;

	if (!address)
		finish(slot, size, 0, TEXT_NULL);
	else if (!inside_read(h, text_of(slot), address, len))
		set_unreadable(h, slot, size, span);
	else
		finish(slot, size, len, want > limit ? TEXT_CUT : 0);
}

void inside_text(uint64_t *slot, uint64_t size, const char *text, uint64_t len)
{
	uint64_t most = size & ~INSIDE_PADDED, part = len < most ? len : most;

	copy_bytes(text_of(slot), text, part);
	finish(slot, size, part, len > most ? TEXT_CUT : 0);
}

void inside_comm(struct hit *h, uint64_t *slot, uint64_t size, uint64_t span)
{
	char name[COMM_SIZE] = "";
	uint64_t len = 0;

	if (inside_call(h, CALL_PRCTL, GET_NAME, (uintptr_t)name, 0, 0, 0) < 0) {
		inside_fault(h, span, FAULT_ASK);
		finish(slot, size, 0, TEXT_UNREADABLE);
		return;
	}
	while (len < sizeof(name) && name[len])
		len++;
	inside_text(slot, size, name, len);
}

void inside_append(uint64_t *to, const uint64_t *from, uint64_t sizes)
{
	uint32_t size = (uint32_t)sizes, room = size & ~(uint32_t)INSIDE_PADDED;
	uint32_t most = (uint32_t)(sizes >> 32), keep = room > most ? room - most : 0;
	uint32_t had = (uint32_t)to[0], add = (uint32_t)from[0];
	uint32_t flags = (uint32_t)((to[0] | from[0]) >> 32) & TEXT_CUT;

	if (had > keep || add > room - keep)
		flags = TEXT_CUT;
	had = had < keep ? had : keep;
	add = add < room - keep ? add : room - keep;
	copy_bytes(text_of(to) + had, (const char *)(from + HEAD_WORDS), add);
	finish(to, size, had + add, flags);
}

uint64_t inside_strcmp(const uint64_t *a, const uint64_t *b, uint64_t most)
{
	uint64_t x = (uint32_t)a[0], y = (uint32_t)b[0];
	const char *s = (const char *)(a + HEAD_WORDS), *t = (const char *)(b + HEAD_WORDS);

	/* A slot in shared memory may say anything. */
	most = most < PROGRAM_MAX_TEXT ? most : PROGRAM_MAX_TEXT;
	x = x < most ? x : most;
	y = y < most ? y : most;
	if (x != y)
		return 1;
	for (; x >= 8; x -= 8, s += 8, t += 8)
		if (((const struct loose *)(const void *)s)->word !=
		    ((const struct loose *)(const void *)t)->word)
			return 1;
	for (; x; x--)
		if (*s++ != *t++)
			return 1;
	return 0;
}

/* A frame of the usual form begins with the caller's frame pointer and the return address. */
void inside_ustack(struct hit *h, uint64_t *slot, uint64_t size, uint64_t ip, const uint64_t *fp_sp,
		   uint64_t pid)
{
	uint64_t most = (size & ~INSIDE_PADDED) / 8, fp = fp_sp[0], low = fp_sp[1], count = 0;
	uint64_t frame[2];

	if (most)
		slot[HEAD_WORDS + count++] = ip;
	while (count < most && fp >= low && fp - low <= MAX_FRAME && fp % 8 == 0 &&
	       inside_read(h, frame, fp, sizeof(frame)) && frame[1]) {
		slot[HEAD_WORDS + count++] = frame[1];
		low = fp + sizeof(frame);
		fp = frame[0];
	}
	slot[0] = count | pid << 32 | (uint64_t)UNWIND_CHAINED << (32 + STACK_PID_BITS);
	if (size & INSIDE_PADDED)
		inside_zero(slot + HEAD_WORDS + count, most - count);
}

#ifdef INSIDE_BLOB
/* Compilers call it for initialisers; the code inside has no libc. */
void *memset(void *at, int byte, size_t size);
void *memset(void *at, int byte, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((char *)at)[i] = (char)byte;
	return at;
}
#endif
