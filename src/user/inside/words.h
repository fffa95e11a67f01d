/* Words of memory that other threads, other processes and signal handlers change meanwhile: loads,
 * stores, exchanges, fences; and system calls. Freestanding. */
#ifndef NOPAL_USER_INSIDE_WORDS_H
#define NOPAL_USER_INSIDE_WORDS_H

#include <stdbool.h>
#include <stdint.h>

/* Tests define it, to let other threads, handlers and kills come between any two steps. */
#ifndef WORDS_HOOK
#define WORDS_HOOK() ((void)0)
#endif

static inline uint64_t word_load(const uint64_t *at)
{
	WORDS_HOOK();
	return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static inline uint64_t word_acquire(const uint64_t *at)
{
	WORDS_HOOK();
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

static inline void word_store(uint64_t *at, uint64_t value)
{
	WORDS_HOOK();
	__atomic_store_n(at, value, __ATOMIC_RELAXED);
}

static inline void word_release(uint64_t *at, uint64_t value)
{
	WORDS_HOOK();
	__atomic_store_n(at, value, __ATOMIC_RELEASE);
}

/* Before a second look at what says that the words read since the first are good. */
static inline void fence_loads(void)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

/* Between what says that words are no longer good, and changing them. */
static inline void fence_stores(void)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

/* Before a look at what another thread may have stored before it looked at what this one has just
 * exchanged. */
static inline void fence_after_swap(void)
{
#if defined(__x86_64__)
	__asm__ volatile("" ::: "memory"); /* lock cmpxchg is one */
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

static inline uint64_t word_add(uint64_t *at, uint64_t value)
{
	WORDS_HOOK();
	return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}

static inline bool word_swap(uint64_t *at, uint64_t old, uint64_t value)
{
	WORDS_HOOK();
	return __atomic_compare_exchange_n(at, &old, value, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

/* Exchange two words at a multiple of 16, if they are a and b, for c and d. */
static inline bool pair_swap(uint64_t *at, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
#if defined(__x86_64__)
	bool done;

	WORDS_HOOK();
	__asm__ volatile("lock cmpxchg16b %1"
			 : "=@ccz"(done), "+m"(*(uint64_t(*)[2])at), "+a"(a), "+d"(b)
			 : "b"(c), "c"(d)
			 : "memory");
	return done;
#elif defined(__aarch64__)
	uint64_t x, y;
	uint32_t failed;

	/* What does not match is stored again: only then was the pair read in one piece. */
	__asm__ volatile("1:	ldaxp	%0, %1, [%3]\n"
			 "	cmp	%0, %4\n"
			 "	ccmp	%1, %5, #0, eq\n"
			 "	b.ne	2f\n"
			 "	stlxp	%w2, %6, %7, [%3]\n"
			 "	cbnz	%w2, 1b\n"
			 "	b	3f\n"
			 "2:	stlxp	%w2, %0, %1, [%3]\n"
			 "	cbnz	%w2, 1b\n"
			 "3:\n"
			 : "=&r"(x), "=&r"(y), "=&r"(failed)
			 : "r"(at), "r"(a), "r"(b), "r"(c), "r"(d)
			 : "cc", "memory");
	return x == a && y == b;
#else /* the engine is not offered there: this only has to compile */
	if (at[0] != a || at[1] != b)
		return false;
	at[0] = c;
	at[1] = d;
	return true;
#endif
}

/* The 128-bit product of two numbers. */
static inline void multiply(uint64_t a, uint64_t b, uint64_t *low, uint64_t *high)
{
#ifdef __SIZEOF_INT128__
	unsigned __int128 product = (unsigned __int128)a * b;

	*low = (uint64_t)product;
	*high = (uint64_t)(product >> 64);
#else
	uint64_t middle = (a >> 32) * (uint32_t)b + ((a & UINT32_MAX) * (uint32_t)b >> 32);
	uint64_t other = (a & UINT32_MAX) * (b >> 32) + (uint32_t)middle;

	*low = a * b;
	*high = (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
#endif
}

/* The counter of aarch64 has as few as a million ticks a second. They are divided, so that what
 * follows within one tick can have a stamp of its own. */
#define COUNTER_SHIFT 6

/* A clock that all CPUs have in common. On aarch64 without isb it may be read before what comes
 * first. */
static inline uint64_t read_tsc(void)
{
#if defined(__x86_64__)
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
	uint64_t now;

	__asm__ volatile("isb\n	mrs %0, cntvct_el0" : "=r"(now)::"memory");
	return now << COUNTER_SHIFT;
#else
	return 0;
#endif
}

/* Does an access fault whose address is not a multiple of its size? Programs ask for that by a flag
 * of x86-64 (EFLAGS.AC), which the kernel and the C library's functions expect to be clear. */
static inline bool checks_alignment(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_readeflags_u64() >> 18 & 1;
#else
	return false;
#endif
}

/* The CPU that this thread ran on just now. Linux has its number in the limit of a segment, for the
 * vDSO. On other CPUs, a number below 64, of the thread: it only spreads threads. */
static inline uint32_t this_cpu(void)
{
#if defined(__x86_64__)
	uint32_t limit = 0;

	__asm__("lsl %1, %0" : "+r"(limit) : "r"(0x7b) : "cc");
	return limit & 0xfff;
#elif defined(__aarch64__)
	uint64_t thread;

	__asm__("mrs %0, tpidr_el0" : "=r"(thread));
	return (thread >> 12 ^ thread >> 20) & 63;
#else
	return 0;
#endif
}

/* System calls that code in traced processes makes; results as the kernel returns them. */
#if defined(__x86_64__)
enum {
	CALL_CLOSE = 3,
	CALL_MREMAP = 25,
	CALL_GETPID = 39,
	CALL_SOCKET = 41,
	CALL_CONNECT = 42,
	CALL_SETSOCKOPT = 54,
	CALL_GETUID = 102,
	CALL_GETGID = 104,
	CALL_PRCTL = 157,
	CALL_FUTEX = 202,
	CALL_PPOLL = 271,
	CALL_GETTID = 186,
	CALL_GETCPU = 309,
	CALL_READV = 310,
	CALL_WRITEV = 311,
	CALL_SECCOMP = 317
};

static inline int64_t system_call(int64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
				  uint64_t e, uint64_t f)
{
	register uint64_t r10 __asm__("r10") = d;
	register uint64_t r8 __asm__("r8") = e;
	register uint64_t r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "+a"(number)
			 : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return number;
}
#else
enum {
	CALL_GETCPU = 168,
	CALL_CLOSE = 57,
	CALL_MREMAP = 216,
	CALL_PPOLL = 73,
	CALL_GETPID = 172,
	CALL_SOCKET = 198,
	CALL_CONNECT = 203,
	CALL_SETSOCKOPT = 208,
	CALL_GETUID = 174,
	CALL_GETGID = 176,
	CALL_PRCTL = 167,
	CALL_FUTEX = 98,
	CALL_GETTID = 178,
	CALL_READV = 270,
	CALL_WRITEV = 271,
	CALL_SECCOMP = 277
};

static inline int64_t system_call(int64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
				  uint64_t e, uint64_t f)
{
#if defined(__aarch64__)
	register int64_t x8 __asm__("x8") = number;
	register uint64_t x0 __asm__("x0") = a;
	register uint64_t x1 __asm__("x1") = b;
	register uint64_t x2 __asm__("x2") = c;
	register uint64_t x3 __asm__("x3") = d;
	register uint64_t x4 __asm__("x4") = e;
	register uint64_t x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return (int64_t)x0;
#else
	(void)number, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
	return -38;
#endif
}
#endif

/* ---- system calls from the middle of a function that does not expect one */

#if defined(__aarch64__)
/* clang-format off */
#define WORDS_16(row) \
	row(0) row(1) row(2) row(3) row(4) row(5) row(6) row(7) \
	row(8) row(9) row(10) row(11) row(12) row(13) row(14) row(15)
#define WORDS_32(row) \
	WORDS_16(row) row(16) row(17) row(18) row(19) row(20) row(21) row(22) row(23) \
	row(24) row(25) row(26) row(27) row(28) row(29) row(30) row(31)
#define SAVE_Z(n) "	str	z" #n ", [sp, #" #n ", mul vl]\n"
#define LOAD_Z(n) "	ldr	z" #n ", [sp, #" #n ", mul vl]\n"
#define SAVE_P(n) "	str	p" #n ", [x9, #" #n ", mul vl]\n"
#define LOAD_P(n) "	ldr	p" #n ", [x9, #" #n ", mul vl]\n"
/* clang-format on */

/* A call keeps 128 bits of each vector register and clears the rest. That is saved, in 35 vectors
 * of stack: mostly 1 KiB or less, at most 9. */
static inline int64_t system_call_sve(int64_t number, uint64_t a, uint64_t b, uint64_t c,
				      uint64_t d, uint64_t e, uint64_t f)
{
	register int64_t x8 __asm__("x8") = number;
	register uint64_t x0 __asm__("x0") = a;
	register uint64_t x1 __asm__("x1") = b;
	register uint64_t x2 __asm__("x2") = c;
	register uint64_t x3 __asm__("x3") = d;
	register uint64_t x4 __asm__("x4") = e;
	register uint64_t x5 __asm__("x5") = f;

	__asm__ volatile("	.arch	armv8.2-a+sve\n"
			 "	addvl	sp, sp, #-32\n"
			 "	addvl	sp, sp, #-3\n"
			 "	addvl	x9, sp, #31\n"
			 "	addvl	x9, x9, #1\n" WORDS_32(SAVE_Z)
				 WORDS_16(SAVE_P) "	rdffr	p0.b\n"
						  "	str	p0, [x9, #16, mul vl]\n"
						  "	svc	#0\n"
						  "	ldr	p0, [x9, #16, mul vl]\n"
						  "	wrffr	p0.b\n" WORDS_16(LOAD_P) WORDS_32(
							  LOAD_Z) "	addvl	sp, sp, #31\n"
								  "	addvl	sp, sp, #4\n"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "x9", "memory");
	return (int64_t)x0;
}

/* Is the thread in the mode that a system call would end? */
static inline bool is_streaming(void)
{
	uint64_t mode;

	__asm__ volatile("mrs %0, s3_3_c4_c2_2" : "=r"(mode)); /* svcr */
	return mode & 1;
}
#endif

/* `vectors`: bits of enum long_vectors of layout.h. -ENOSYS: this thread must not make a call now.
 */
static inline int64_t hidden_call(uint32_t vectors, int64_t number, uint64_t a, uint64_t b,
				  uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
#if defined(__aarch64__)
	if (vectors & 2 && is_streaming())
		return -38;
	if (vectors & 1)
		return system_call_sve(number, a, b, c, d, e, f);
#else
	(void)vectors;
#endif
	return system_call(number, a, b, c, d, e, f);
}

#endif
