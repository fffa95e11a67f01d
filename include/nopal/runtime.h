/* Probes that a program makes while it runs, for interpreters, plug-ins and generated code. Every
 * tracer of USDT probes sees them: nopal, bpftrace, perf, bcc, gdb.
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
 *	nopal_probe_fire(request, path, status);	a nanosecond while it is not traced
 *	if (nopal_probe_enabled(request))
 *		nopal_probe_fire(request, costly_path(), status);
 *	nopal_provider_destroy(app);
 *
 * A *provider* (struct nopal_provider) has *probes* (struct nopal_probe). Loading a provider writes
 * a small ELF image of its probes into a memfd called "nopal:PROVIDER" and maps it; unloading
 * unmaps it. A probe is a valid handle from the call that made it until its provider is destroyed.
 * While it is not loaded it is not enabled, and firing it does nothing.
 *
 * Threads: every function may be called from every thread at any time, except that after
 * nopal_provider_destroy() no thread may use the provider or its probes. Signal handlers may call
 * nopal_probe_enabled(), nopal_probe_fire() and the other functions that fire.
 *
 * fork(): the child has the same probes, loaded, and may use every function. A child that was made
 * without libc's fork() (by _Fork() or the bare system call) has them, too, but if its parent had
 * other threads it may only fire, since one of them may have been loading. A child may close the
 * descriptor of the image; if it does so before its first event, tracers of the parent may miss
 * that event.
 *
 * The implementation uses libc only, and not the dynamic loader, so it works in static programs and
 * with musl.
 *
 * CPUs: x86-64, aarch64, riscv64 (64-bit Linux). Link with -lnopal-runtime (pkg-config
 * nopal-runtime), which is small and needs only libc; libnopal contains the same functions. */
#ifndef NOPAL_RUNTIME_H
#define NOPAL_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Compilers that warn about extensions should warn about the user's code, not about this file. */
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

/* Calls that can fail return one of these codes; those that return a pointer return NULL after an
 * error. The numbers are part of the binary interface. */
enum nopal_error_code {
	NOPAL_OK = 0,
	NOPAL_BAD_NAME = -1,	/* empty, too long, or with characters that tracers do not accept */
	NOPAL_NAME_TAKEN = -2,	/* the provider already has a probe with this name */
	NOPAL_BAD_ARGS = -3,	/* more than 12 values, an unknown type, a bad argument name */
	NOPAL_NO_MEMORY = -4,	/* out of memory, address space or file descriptors */
	NOPAL_SYSTEM = -5,	/* a system call failed: `text` says which, and why */
	NOPAL_UNSUPPORTED = -6, /* this CPU has no run-time probes, or a flag is unknown */
};

/* What went wrong. Every `e` may be NULL. A call that succeeds does not change it. */
struct nopal_error {
	int code;	/* enum nopal_error_code */
	char text[252]; /* "'twice' has a probe 'same' already" */
};

/* ---- Providers and probes -------------------------------------------------------------------- */

#define NOPAL_MAX_VALUES      12   /* values of one probe; a counted string is two */
#define NOPAL_MAX_PROVIDER    249  /* bytes of a provider's name */
#define NOPAL_MAX_NAME	      255  /* bytes of the name of a probe or argument */
#define NOPAL_MAX_DESCRIPTION 4000 /* bytes */

/* Types of arguments. The numbers are part of the binary interface. */
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
			       two arguments, NAME and NAME_len; a bpftrace script reads them
			       with str(arg0, arg1) */
	NOPAL_FLOAT = 13,   /* tracers see the bits of the IEEE value as an unsigned integer of */
	NOPAL_DOUBLE = 14,  /* its size; nopal knows from the description that it is a float */
};

struct nopal_probe_arg {
	enum nopal_type type;
	const char *name; /* letters, digits and _; NULL: none */
};

/* Flags of a provider. */

/* The image is a file in $XDG_RUNTIME_DIR or /run/user/UID instead of a memfd, for tracers that
 * need a path, such as perf. The file is removed by unload, destroy and exit(); after a kill, by
 * the next process that makes one. NOPAL_RUNTIME=file in the environment sets this flag for
 * programs that do not; they still get a memfd if the file cannot be made. */
#define NOPAL_RUNTIME_FILE 1u
/* Names may contain any characters, and probes may share a name: they are then sites of one probe.
 * For interfaces that promise this. */
#define NOPAL_RUNTIME_ANY_NAME 2u
/* On x86-64, the first byte of a probe that is not traced is 0x90, as with libstapsdt, for programs
 * that read it themselves. An event then costs a breakpoint, about a third more. */
#define NOPAL_RUNTIME_ONE_BYTE_NOP 4u

/* Make a provider. Its name has 1 to 249 letters, digits, _, - and ., and begins with a letter or
 * _. Two providers may have the same name: tracers see the probes of both. NULL after an error. */
struct nopal_provider *nopal_provider_new(const char *name, unsigned flags, struct nopal_error *e);

/* Add a probe with at most 12 values. Its name follows the same rules and has up to 255 bytes.
 * `description` is a line of text for people, which is stored in the image with the names and types
 * of the arguments; NULL: none. Everything is copied. The probe can be traced after the next
 * nopal_provider_load(). NULL after an error. If `provider` is NULL, this returns NULL and leaves
 * *e unchanged, so that errors can be checked once, after the last probe. */
struct nopal_probe *nopal_provider_probe(struct nopal_provider *provider, const char *name,
					 const struct nopal_probe_arg *args, unsigned arg_count,
					 const char *description, struct nopal_error *e);

/* Load images as memfds from now on, whatever the flags of the provider are. */
void nopal_provider_use_memfd(struct nopal_provider *provider);

/* Make all probes that are not loaded yet visible to tracers. Call it again after adding probes to
 * a loaded provider: they get an image of their own, and probes that are being traced are not
 * affected. If there is nothing to load, it succeeds. After a failure, what was loaded before is
 * still loaded. */
int nopal_provider_load(struct nopal_provider *provider, struct nopal_error *e);

/* Unmap all images. Tracers lose the probes; handles stay valid and are not enabled. Other threads
 * may be firing meanwhile. The provider can be loaded again. This needs a file descriptor for a
 * moment, and fails if none is left; nopal_provider_destroy() needs none. */
int nopal_provider_unload(struct nopal_provider *provider, struct nopal_error *e);

/* Unload and free the provider and all its probes. NULL is fine. */
void nopal_provider_destroy(struct nopal_provider *provider);

const char *nopal_provider_name(const struct nopal_provider *provider);
bool nopal_provider_is_loaded(struct nopal_provider *provider);	      /* at least one image is */
unsigned nopal_provider_probe_count(struct nopal_provider *provider); /* loaded or not */
/* The probe with this name; NULL: none. */
struct nopal_probe *nopal_provider_find(struct nopal_provider *provider, const char *name);

const char *nopal_probe_name(const struct nopal_probe *p);
struct nopal_provider *nopal_probe_provider(const struct nopal_probe *p);
unsigned nopal_probe_arg_count(const struct nopal_probe *p);
unsigned nopal_probe_value_count(const struct nopal_probe *p); /* counted strings are two */
enum nopal_type nopal_probe_arg_type(const struct nopal_probe *p, unsigned i);
const char *nopal_probe_arg_name(const struct nopal_probe *p, unsigned i); /* "": none */
/* The file descriptor of the image that contains the probe; -1 while it is not loaded. The provider
 * owns it. */
int nopal_probe_fd(const struct nopal_probe *p);

/* ---- Firing ---------------------------------------------------------------------------------- */

/* The first instruction of a probe is this many bytes below its handle, so that the check needs the
 * handle only. This distance and the first byte of the nop are part of the binary interface. On
 * x86-64 one test distinguishes both nops from everything that tracers write: cc, e8, e9, ff. */
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

/* The check reads an instruction that tracers change: thread sanitizers must not report this. */
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

/* Is the probe being traced? One load and a test. `p` is not NULL.
 *
 * This reads the probe's first instruction, which every tracer replaces: the kernel does so in the
 * step in which it increments the probe's semaphore, and so do debuggers and tracers that do not
 * use semaphores. */
NOPAL_PROBE_RACY static __inline__ bool nopal_probe_enabled(const struct nopal_probe *p)
{
	return __builtin_expect(
		!NOPAL_PROBE_IS_NOP(*((const volatile unsigned char *)p - NOPAL_PROBE_DISTANCE)),
		0);
}

/* What a value is, so that it can be converted to the declared type of the argument. */
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

/* Fire, if the probe is enabled. Excess values are ignored, missing ones are 0. Values of another
 * kind than the declared one are converted: a number keeps its value if the type can hold it; an
 * integer is truncated to the declared width; a float that no integer of the type can hold becomes
 * the nearest one (NaN: 0). */
void nopal_probe_fire_values(const struct nopal_probe *p, const struct nopal_value *values,
			     unsigned count);

/* Fire with the bits that the registers will hold: integers extended to 64 bits, addresses, the
 * bits of a double, those of a float in the low half. Nothing is converted. Excess and missing
 * values are treated as above. */
void nopal_probe_fire_words(const struct nopal_probe *p, const uint64_t *words, unsigned count);

/* nopal_probe_fire(p, values...) fires with 0 to 12 values: integers, characters, bool, enums,
 * pointers, float and double; for a counted string its address and its length. They are evaluated
 * only if the probe is enabled: otherwise this costs the check above, and no call. */

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

/* A floating value as it is; any other as 64 bits, extended by its own sign. A value may be a
 * bit-field, which has no typeof: promotion gives it a type. */
/* clang-format off */
#define NOPAL_PROMOTED(x) (1 ? (x) : 0)
#define NOPAL_PLAIN(x) \
	_Generic((x), float: (x), double: (x), long double: (x), default: (uint64_t)(x))
#define NOPAL_VALUE(x)                                    \
	{                                                 \
		_Generic((x),                             \
			float: nopal_bits_of_float,       \
			double: nopal_bits_of_double,     \
			long double: nopal_bits_of_long_double, \
			default: nopal_bits_of_word)(NOPAL_PLAIN(x)), \
		_Generic(NOPAL_PROMOTED(x),               \
			float: NOPAL_FROM_FLOAT,          \
			double: NOPAL_FROM_DOUBLE,        \
			long double: NOPAL_FROM_DOUBLE,   \
			int: NOPAL_FROM_SIGNED,           \
			long: NOPAL_FROM_SIGNED,          \
			long long: NOPAL_FROM_SIGNED,     \
			default: NOPAL_FROM_UNSIGNED)     \
	}
#define NOPAL_VALUES_1(x)       NOPAL_VALUE(x)
#define NOPAL_VALUES_2(x, ...)  NOPAL_VALUE(x), NOPAL_VALUES_1(__VA_ARGS__)
#define NOPAL_VALUES_3(x, ...)  NOPAL_VALUE(x), NOPAL_VALUES_2(__VA_ARGS__)
#define NOPAL_VALUES_4(x, ...)  NOPAL_VALUE(x), NOPAL_VALUES_3(__VA_ARGS__)
#define NOPAL_VALUES_5(x, ...)  NOPAL_VALUE(x), NOPAL_VALUES_4(__VA_ARGS__)
#define NOPAL_VALUES_6(x, ...)  NOPAL_VALUE(x), NOPAL_VALUES_5(__VA_ARGS__)
#define NOPAL_VALUES_7(x, ...)  NOPAL_VALUE(x), NOPAL_VALUES_6(__VA_ARGS__)
#define NOPAL_VALUES_8(x, ...)  NOPAL_VALUE(x), NOPAL_VALUES_7(__VA_ARGS__)
#define NOPAL_VALUES_9(x, ...)  NOPAL_VALUE(x), NOPAL_VALUES_8(__VA_ARGS__)
#define NOPAL_VALUES_10(x, ...) NOPAL_VALUE(x), NOPAL_VALUES_9(__VA_ARGS__)
#define NOPAL_VALUES_11(x, ...) NOPAL_VALUE(x), NOPAL_VALUES_10(__VA_ARGS__)
#define NOPAL_VALUES_12(x, ...) NOPAL_VALUE(x), NOPAL_VALUES_11(__VA_ARGS__)
/* clang-format on */

#define NOPAL_FIRE(p, count, ...)                                                                  \
	__extension__({                                                                            \
		const struct nopal_probe *nopal_p = (p);                                           \
		if (nopal_probe_enabled(nopal_p))                                                  \
			nopal_probe_fire_values(nopal_p,                                           \
						(const struct nopal_value[]){__VA_ARGS__}, count); \
	})
/* clang-format off */
#define NOPAL_FIRE_0(p)        NOPAL_FIRE(p, 0, {0, NOPAL_FROM_UNSIGNED})
#define NOPAL_FIRE_1(p, ...)   NOPAL_FIRE(p, 1, NOPAL_VALUES_1(__VA_ARGS__))
#define NOPAL_FIRE_2(p, ...)   NOPAL_FIRE(p, 2, NOPAL_VALUES_2(__VA_ARGS__))
#define NOPAL_FIRE_3(p, ...)   NOPAL_FIRE(p, 3, NOPAL_VALUES_3(__VA_ARGS__))
#define NOPAL_FIRE_4(p, ...)   NOPAL_FIRE(p, 4, NOPAL_VALUES_4(__VA_ARGS__))
#define NOPAL_FIRE_5(p, ...)   NOPAL_FIRE(p, 5, NOPAL_VALUES_5(__VA_ARGS__))
#define NOPAL_FIRE_6(p, ...)   NOPAL_FIRE(p, 6, NOPAL_VALUES_6(__VA_ARGS__))
#define NOPAL_FIRE_7(p, ...)   NOPAL_FIRE(p, 7, NOPAL_VALUES_7(__VA_ARGS__))
#define NOPAL_FIRE_8(p, ...)   NOPAL_FIRE(p, 8, NOPAL_VALUES_8(__VA_ARGS__))
#define NOPAL_FIRE_9(p, ...)   NOPAL_FIRE(p, 9, NOPAL_VALUES_9(__VA_ARGS__))
#define NOPAL_FIRE_10(p, ...)  NOPAL_FIRE(p, 10, NOPAL_VALUES_10(__VA_ARGS__))
#define NOPAL_FIRE_11(p, ...)  NOPAL_FIRE(p, 11, NOPAL_VALUES_11(__VA_ARGS__))
#define NOPAL_FIRE_12(p, ...)  NOPAL_FIRE(p, 12, NOPAL_VALUES_12(__VA_ARGS__))
/* clang-format on */

#define NOPAL_FIRE_COUNT_(p, a, b, c, d, e, f, g, h, i, j, k, l, count, ...) count
#define NOPAL_FIRE_COUNT(...) \
	NOPAL_FIRE_COUNT_(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, none)
#define NOPAL_FIRE_PASTE_(a, b) a##b
#define NOPAL_FIRE_PASTE(a, b)	NOPAL_FIRE_PASTE_(a, b)
#define nopal_probe_fire(...) \
	NOPAL_FIRE_PASTE(NOPAL_FIRE_, NOPAL_FIRE_COUNT(__VA_ARGS__))(__VA_ARGS__)
#endif

#endif
