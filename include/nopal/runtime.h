/* Probes made while the program runs, for languages that are not compiled, plugins and generated
 * code. Every tracer of USDT sees them: nopal, bpftrace, perf, bcc, gdb.
 *
 *	static const struct nopal_probe_arg args[] = {
 *		{NOPAL_STRING, "path"},
 *		{NOPAL_INT32, "status"},
 *	};
 *	struct nopal_provider *app = nopal_provider_new("myapp", 0, &error);
 *	struct nopal_probe *request = nopal_provider_probe(app, "request", args, 2, NULL, &error);
 *
 *	if (!request || nopal_provider_load(app, &error))
 *		...error.code, error.text...
 *	nopal_probe_fire(request, path, status);	a nanosecond while nobody is tracing
 *	if (nopal_probe_enabled(request))
 *		nopal_probe_fire(request, costly_path(), status);
 *	nopal_provider_destroy(app);
 *
 * A *provider* (struct nopal_provider) has *probes* (struct nopal_probe). Loading writes a small
 *ELF image of the probes into a memfd called "nopal:PROVIDER" and maps it; unloading takes it away.
 * A probe is a valid handle from the call that made it until its provider is destroyed, loaded or
 * not: while it is not loaded it is never enabled, and firing it does nothing.
 *
 * Threads: every function may be called from every thread at any time; only
 *nopal_provider_destroy() wants that nobody uses the provider and its probes any more. Signal
 *handlers may call nopal_probe_enabled(), nopal_probe_fire() and its relatives.
 *
 * fork(): the child has the same probes, loaded, and may do with them what it likes. So has a child
 * made behind libc's back (_Fork(), the bare system call); when other threads ran in its parent, it
 * may fire but no more, for one of them may have been loading. It may close the descriptor of the
 * image: if it does so before its first event, tracers of its parent do not see that of a probe the
 * kernel had optimised.
 *
 * Neither the dynamic loader nor any library but libc is used, so it works in static programs and
 * with musl.
 *
 * Machines: x86-64, aarch64, riscv64 (64-bit Linux). Link with -lnopal-runtime (pkg-config
 * nopal-runtime), which is small and needs only libc; libnopal has the same functions. */
#ifndef NOPAL_RUNTIME_H
#define NOPAL_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Some dialects call parts of this file extensions; users who ask for pedantry mean their code. */
#ifdef __GNUC__
#pragma GCC system_header
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define NOPAL_RUNTIME_VERSION 1 /* of this interface */

struct nopal_provider; /* a provider */
struct nopal_probe;    /* one of its probes */

/* ---- Errors ---------------------------------------------------------------------------------- */

/* Calls that can fail return one of these, 0 for success; those that return a pointer return NULL.
 * The numbers stay what they are. */
enum nopal_error_code {
	NOPAL_OK = 0,
	NOPAL_BAD_NAME = -1,	/* empty, too long, or with characters that tracers cannot take */
	NOPAL_NAME_TAKEN = -2,	/* the provider has a probe of that name */
	NOPAL_BAD_ARGS = -3,	/* more than 12 values, an unknown type, a bad argument name */
	NOPAL_NO_MEMORY = -4,	/* memory, address space or file descriptors are used up */
	NOPAL_SYSTEM = -5,	/* the system refused: `text` says what was tried, and why */
	NOPAL_UNSUPPORTED = -6, /* not on this CPU, or an unknown flag */
};

/* Where a call says what went wrong. Every `e` may be NULL. Untouched on success. */
struct nopal_error {
	int code;	/* enum nopal_error_code */
	char text[252]; /* "'twice' has a probe 'same' already" */
};

/* ---- Providers and probes -------------------------------------------------------------------- */

#define NOPAL_MAX_VALUES      12   /* values of one probe; a counted string is two */
#define NOPAL_MAX_PROVIDER    249  /* bytes of a provider's name */
#define NOPAL_MAX_NAME	      255  /* bytes of the name of a probe or argument */
#define NOPAL_MAX_DESCRIPTION 4000 /* bytes */

/* Types of arguments. The numbers stay what they are. */
enum nopal_type {
	NOPAL_INT8 = 1,
	NOPAL_UINT8 = 2,
	NOPAL_INT16 = 3,
	NOPAL_UINT16 = 4,
	NOPAL_INT32 = 5,
	NOPAL_UINT32 = 6,
	NOPAL_INT64 = 7,
	NOPAL_UINT64 = 8,
	NOPAL_BOOL = 9,	    /* as uint8: 0 or 1 */
	NOPAL_POINTER = 10, /* any address */
	NOPAL_STRING = 11,  /* the address of a string that ends in a NUL */
	NOPAL_COUNTED = 12, /* two values: the address of bytes, and their number. A tracer sees
			       two arguments: NAME, and behind it NAME_len; in bpftrace's words
			       str(arg0, arg1) */
	NOPAL_FLOAT = 13,  /* a tracer sees the bits of the IEEE value, as an unsigned integer of */
	NOPAL_DOUBLE = 14, /* its size; nopal knows from the description that they are a float */
};

struct nopal_probe_arg {
	enum nopal_type type;
	const char *name; /* letters, digits and _; NULL: none */
};

/* Flags of a provider. */
#define NOPAL_RUNTIME_FILE                                                        \
	1u /* the image is a file, in $XDG_RUNTIME_DIR or /run/user/UID, not a    \
	      memfd: for tracers that want a path, as perf. Removed by unload and \
	      destroy, at exit(), and after a kill by the next one. Programs that \
	      do not ask for it get it by NOPAL_RUNTIME=file in the environment,  \
	      where a file can be made */
#define NOPAL_RUNTIME_ANY_NAME                                                 \
	2u /* names may have any characters, and probes may share a name: they \
	      are then sites of one probe. For interfaces that promise this */
#define NOPAL_RUNTIME_ONE_BYTE_NOP                                             \
	4u /* on x86-64 a probe's first byte is 0x90 while nobody is tracing   \
	      it, as libstapsdt's is, for programs that look there themselves. \
	      An event then costs a breakpoint, about a third more */

/* A provider of this name: 1 to 249 letters, digits, _, - and ., the first a letter or _. Two
 * providers of one name are two providers, and tracers see the probes of both. */
struct nopal_provider *nopal_provider_new(const char *name, unsigned flags, struct nopal_error *e);

/* Add a probe, with up to 12 values in all; NULL after an error. Names as above, up to 255 bytes.
 * `description` is a line of text for people, kept in the image with the arguments' names and
 * types; NULL: none. Everything is copied. It is traceable after the next nopal_provider_load(). Of
 * no provider (`r` is NULL) there is no probe, and `e` says still why there is no provider. */
struct nopal_probe *nopal_provider_probe(struct nopal_provider *r, const char *name,
					 const struct nopal_probe_arg *args, unsigned arg_count,
					 const char *description, struct nopal_error *e);

/* Images that are loaded from now on are memfds, whatever the flags were. */
void nopal_provider_use_memfd(struct nopal_provider *r);

/* Make all probes that are not loaded yet visible to tracers. Call it again after adding probes to
 * a loaded provider: they get a further image, what is being traced stays as it is. Nothing to load
 * is success. After a failure what was loaded before is still loaded. */
int nopal_provider_load(struct nopal_provider *r, struct nopal_error *e);

/* Take all images away. Tracers lose the probes; handles stay valid and are not enabled. Other
 * threads may be firing meanwhile. It can be loaded again. For a moment this takes a descriptor,
 * and fails where there is none left; nopal_provider_destroy() needs none. */
int nopal_provider_unload(struct nopal_provider *r, struct nopal_error *e);

/* Unload and free the provider and all its probes. NULL is fine. */
void nopal_provider_destroy(struct nopal_provider *r);

const char *nopal_provider_name(const struct nopal_provider *r);
bool nopal_provider_is_loaded(struct nopal_provider *r);       /* at least one image is */
unsigned nopal_provider_probe_count(struct nopal_provider *r); /* loaded or not */
/* The probe of that name; NULL: none. */
struct nopal_probe *nopal_provider_find(struct nopal_provider *r, const char *name);

const char *nopal_probe_name(const struct nopal_probe *p);
struct nopal_provider *nopal_probe_provider(const struct nopal_probe *p);
unsigned nopal_probe_arg_count(const struct nopal_probe *p);
unsigned nopal_probe_value_count(const struct nopal_probe *p); /* counted strings are two */
enum nopal_type nopal_probe_arg_type(const struct nopal_probe *p, unsigned i);
const char *nopal_probe_arg_name(const struct nopal_probe *p, unsigned i); /* "": none */
/* The file descriptor of the image that has the probe, -1 while it is not loaded. It belongs to the
 * provider. */
int nopal_probe_fd(const struct nopal_probe *p);

/* ---- Firing ---------------------------------------------------------------------------------- */

/* Probes' first instructions and their handles are this many bytes apart, so that a handle is all
 * that the check needs. Part of the binary interface, as is the first byte of the nop. On x86-64
 * one test tells both nops from all that tracers put there: cc, e8, e9, ff. */
#define NOPAL_PROBE_DISTANCE 65536
#if defined __aarch64__
#define NOPAL_PROBE_NOP		 0x1f /* d503201f */
#define NOPAL_PROBE_IS_NOP(byte) ((byte) == NOPAL_PROBE_NOP)
#elif defined __riscv
#define NOPAL_PROBE_NOP		 0x13 /* 00000013 */
#define NOPAL_PROBE_IS_NOP(byte) ((byte) == NOPAL_PROBE_NOP)
#else
#define NOPAL_PROBE_NOP		 0x0f /* 0f 1f 44 00 00; or 90 */
#define NOPAL_PROBE_IS_NOP(byte) (((byte)&0x60) == 0)
#endif

/* The check reads an instruction while others change it: that is no race to be told of. */
#if defined __SANITIZE_THREAD__
#define NOPAL_PROBE_RACY __attribute__((__no_sanitize_thread__))
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
#define NOPAL_PROBE_RACY __attribute__((__no_sanitize__("thread")))
#endif
#endif
#ifndef NOPAL_PROBE_RACY
#define NOPAL_PROBE_RACY
#endif

/* Is anybody tracing the probe now? One load and a test. `p` is not NULL.
 *
 * It looks at the probe's first instruction, which every tracer replaces: the kernel does it in the
 * same step in which it raises the probe's semaphore, and debuggers, and tracers that know nothing
 * of semaphores, do it too. */
NOPAL_PROBE_RACY static __inline__ bool nopal_probe_enabled(const struct nopal_probe *p)
{
	return __builtin_expect(
		!NOPAL_PROBE_IS_NOP(*((const volatile unsigned char *)p - NOPAL_PROBE_DISTANCE)),
		0);
}

/* What a value is, so that it can become what the probe's argument is declared as. */
enum nopal_value_kind {
	NOPAL_FROM_UNSIGNED, /* also pointers, bool */
	NOPAL_FROM_SIGNED,   /* sign-extended to 64 bits */
	NOPAL_FROM_FLOAT,    /* the low 32 bits are an IEEE single */
	NOPAL_FROM_DOUBLE,   /* the bits are an IEEE double */
};

struct nopal_value {
	uint64_t bits;
	enum nopal_value_kind kind;
};

/* Fire. Values beyond those that the probe has are ignored, missing ones are 0. A value whose kind
 * is not the declared one is converted: numbers keep their value where the type can hold it,
 * integers are cut to the declared width, a float that no integer can hold becomes the nearest
 * one (NaN: 0). Does nothing while the probe is not enabled. */
void nopal_probe_fire_values(const struct nopal_probe *p, const struct nopal_value *values,
			     unsigned count);

/* Fire with the bits as the registers will have them: integers extended to 64 bits, addresses, the
 * bits of a float in the low half, of a double. No conversion at all. The same rules of count. */
void nopal_probe_fire_words(const struct nopal_probe *p, const uint64_t *words, unsigned count);

/* nopal_probe_fire(p, values...): 0 to 12 values, which are evaluated only while the probe is
 * enabled. Integers, characters, bool, enums, pointers, float and double; of a counted string the
 * address and the length. Disabled it is the check above, and no call. */

static __inline__ uint64_t nopal_bits_of_word(uint64_t x)
{
	return x;
}

static __inline__ uint64_t nopal_bits_of_float(float x)
{
	uint32_t bits;

	__builtin_memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static __inline__ uint64_t nopal_bits_of_double(double x)
{
	uint64_t bits;

	__builtin_memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static __inline__ uint64_t nopal_bits_of_long_double(long double x)
{
	return nopal_bits_of_double((double)x);
}

#ifdef __cplusplus
}

#if __cplusplus >= 201103L
extern "C++" {
template <class T, bool = __is_enum(T)> struct nopal_integer {
	typedef T type;
};
template <class T> struct nopal_integer<T, true> {
	typedef __underlying_type(T) type;
};
template <class T> inline nopal_value nopal_value_of(T x)
{
	typedef typename nopal_integer<T>::type integer;

	return nopal_value{static_cast<uint64_t>(static_cast<integer>(x)),
			   static_cast<integer>(-1) < static_cast<integer>(1)
				   ? NOPAL_FROM_SIGNED
				   : NOPAL_FROM_UNSIGNED};
}
template <class T> inline nopal_value nopal_value_of(T *x)
{
	return nopal_value{reinterpret_cast<uint64_t>(x), NOPAL_FROM_UNSIGNED};
}
inline nopal_value nopal_value_of(decltype(nullptr))
{
	return nopal_value{0, NOPAL_FROM_UNSIGNED};
}
inline nopal_value nopal_value_of(bool x)
{
	return nopal_value{x, NOPAL_FROM_UNSIGNED};
}
inline nopal_value nopal_value_of(float x)
{
	return nopal_value{nopal_bits_of_float(x), NOPAL_FROM_FLOAT};
}
inline nopal_value nopal_value_of(double x)
{
	return nopal_value{nopal_bits_of_double(x), NOPAL_FROM_DOUBLE};
}
inline nopal_value nopal_value_of(long double x)
{
	return nopal_value{nopal_bits_of_long_double(x), NOPAL_FROM_DOUBLE};
}
inline void nopal_probe_fire_all(const nopal_probe *p)
{
	nopal_probe_fire_values(p, nullptr, 0);
}
template <class... T> inline void nopal_probe_fire_all(const nopal_probe *p, T... x)
{
	const nopal_value values[] = {nopal_value_of(x)...};

	nopal_probe_fire_values(p, values, sizeof...(x));
}
}
#define NOPAL_FIRE_0(p)                                  \
	do {                                             \
		const struct nopal_probe *nopal_p = (p); \
		if (nopal_probe_enabled(nopal_p))        \
			nopal_probe_fire_all(nopal_p);   \
	} while (0)
#define NOPAL_FIRE_SOME(p, ...)                                     \
	do {                                                        \
		const struct nopal_probe *nopal_p = (p);            \
		if (nopal_probe_enabled(nopal_p))                   \
			nopal_probe_fire_all(nopal_p, __VA_ARGS__); \
	} while (0)
#define NOPAL_FIRE_COUNT_(p, a, b, c, d, e, f, g, h, i, j, k, l, count, ...) count
#define NOPAL_FIRE_COUNT(...)                                                                      \
	NOPAL_FIRE_COUNT_(__VA_ARGS__, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, \
			  SOME, SOME, 0, none)
#define NOPAL_FIRE_PASTE_(a, b) a##b
#define NOPAL_FIRE_PASTE(a, b)	NOPAL_FIRE_PASTE_(a, b)
#define nopal_probe_fire(...) \
	NOPAL_FIRE_PASTE(NOPAL_FIRE_, NOPAL_FIRE_COUNT(__VA_ARGS__))(__VA_ARGS__)
#endif
#else /* C */

/* The value itself for floating types; anything else as 64 bits, extended by its own sign. A value
 * may be a bit-field, which has no typeof: it gets a type by being promoted. */
#define NOPAL_PROMOTED(x) (1 ? (x) : 0)
#define NOPAL_PLAIN(x) \
	_Generic((x), float : (x), double : (x), long double : (x), default : (uint64_t)(x))
#define NOPAL_VALUE(x)                                            \
	{                                                         \
		_Generic((x), float                               \
			 : nopal_bits_of_float, double            \
			 : nopal_bits_of_double, long double      \
			 : nopal_bits_of_long_double, default     \
			 : nopal_bits_of_word)(NOPAL_PLAIN(x)),   \
			_Generic(NOPAL_PROMOTED(x), float         \
				 : NOPAL_FROM_FLOAT, double       \
				 : NOPAL_FROM_DOUBLE, long double \
				 : NOPAL_FROM_DOUBLE, int         \
				 : NOPAL_FROM_SIGNED, long        \
				 : NOPAL_FROM_SIGNED, long long   \
				 : NOPAL_FROM_SIGNED, default     \
				 : NOPAL_FROM_UNSIGNED)           \
	}

#define NOPAL_FIRE(p, count, ...)                                                                  \
	__extension__({                                                                            \
		const struct nopal_probe *nopal_p = (p);                                           \
		if (nopal_probe_enabled(nopal_p))                                                  \
			nopal_probe_fire_values(nopal_p,                                           \
						(const struct nopal_value[]){__VA_ARGS__}, count); \
	})
#define NOPAL_FIRE_0(p)		 NOPAL_FIRE(p, 0, {0, NOPAL_FROM_UNSIGNED})
#define NOPAL_FIRE_1(p, a)	 NOPAL_FIRE(p, 1, NOPAL_VALUE(a))
#define NOPAL_FIRE_2(p, a, b)	 NOPAL_FIRE(p, 2, NOPAL_VALUE(a), NOPAL_VALUE(b))
#define NOPAL_FIRE_3(p, a, b, c) NOPAL_FIRE(p, 3, NOPAL_VALUE(a), NOPAL_VALUE(b), NOPAL_VALUE(c))
#define NOPAL_FIRE_4(p, a, b, c, d) \
	NOPAL_FIRE(p, 4, NOPAL_VALUE(a), NOPAL_VALUE(b), NOPAL_VALUE(c), NOPAL_VALUE(d))
#define NOPAL_VALUES_4(a, b, c, d)     NOPAL_VALUE(a), NOPAL_VALUE(b), NOPAL_VALUE(c), NOPAL_VALUE(d)
#define NOPAL_FIRE_5(p, a, b, c, d, e) NOPAL_FIRE(p, 5, NOPAL_VALUES_4(a, b, c, d), NOPAL_VALUE(e))
#define NOPAL_FIRE_6(p, a, b, c, d, e, f) \
	NOPAL_FIRE(p, 6, NOPAL_VALUES_4(a, b, c, d), NOPAL_VALUE(e), NOPAL_VALUE(f))
#define NOPAL_FIRE_7(p, a, b, c, d, e, f, g) \
	NOPAL_FIRE(p, 7, NOPAL_VALUES_4(a, b, c, d), NOPAL_VALUE(e), NOPAL_VALUE(f), NOPAL_VALUE(g))
#define NOPAL_FIRE_8(p, a, b, c, d, e, f, g, h) \
	NOPAL_FIRE(p, 8, NOPAL_VALUES_4(a, b, c, d), NOPAL_VALUES_4(e, f, g, h))
#define NOPAL_FIRE_9(p, a, b, c, d, e, f, g, h, i) \
	NOPAL_FIRE(p, 9, NOPAL_VALUES_4(a, b, c, d), NOPAL_VALUES_4(e, f, g, h), NOPAL_VALUE(i))
#define NOPAL_FIRE_10(p, a, b, c, d, e, f, g, h, i, j)                                            \
	NOPAL_FIRE(p, 10, NOPAL_VALUES_4(a, b, c, d), NOPAL_VALUES_4(e, f, g, h), NOPAL_VALUE(i), \
		   NOPAL_VALUE(j))
#define NOPAL_FIRE_11(p, a, b, c, d, e, f, g, h, i, j, k)                                         \
	NOPAL_FIRE(p, 11, NOPAL_VALUES_4(a, b, c, d), NOPAL_VALUES_4(e, f, g, h), NOPAL_VALUE(i), \
		   NOPAL_VALUE(j), NOPAL_VALUE(k))
#define NOPAL_FIRE_12(p, a, b, c, d, e, f, g, h, i, j, k, l)                      \
	NOPAL_FIRE(p, 12, NOPAL_VALUES_4(a, b, c, d), NOPAL_VALUES_4(e, f, g, h), \
		   NOPAL_VALUES_4(i, j, k, l))
#define NOPAL_FIRE_COUNT_(p, a, b, c, d, e, f, g, h, i, j, k, l, count, ...) count
#define NOPAL_FIRE_COUNT(...) \
	NOPAL_FIRE_COUNT_(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, none)
#define NOPAL_FIRE_PASTE_(a, b) a##b
#define NOPAL_FIRE_PASTE(a, b)	NOPAL_FIRE_PASTE_(a, b)
#define nopal_probe_fire(...) \
	NOPAL_FIRE_PASTE(NOPAL_FIRE_, NOPAL_FIRE_COUNT(__VA_ARGS__))(__VA_ARGS__)
#endif

#endif
