/* SPDX-License-Identifier: 0BSD
 *
 * <nopal/sdt.h>: static probes for C, C++ and assembler, in one file.
 *
 * Permission to use, copy, modify, and/or distribute this software for any purpose with or without
 * fee is hereby granted.
 *
 * THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS
 * SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE
 * AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES
 * WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN ACTION OF CONTRACT,
 * NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE
 * OF THIS SOFTWARE.
 *
 *	NOPAL_PROBE(provider, name, args...)	0 to 12 arguments
 *	if (NOPAL_ENABLED(provider, name))	is it being traced?
 *		NOPAL_PROBE(provider, name, costly());
 *
 * A probe is one `nop` (on x86-64 a 10-byte nop follows it, which tracers can replace by a jump)
 * and a note in section .note.stapsdt that says where the arguments are; every tool for USDT probes
 * reads it. Arguments that are in registers cost nothing. A second note, .note.nopal, describes
 * them: source text, type, file and line (doc/describe-note.md). Neither section is loaded.
 *
 * Arguments: integers, bool, characters, enums, pointers, arrays (their address), float, double.
 * A value that is wider than a register, complex, a struct or a union is passed as bytes in memory:
 * "24@(%rax)". In C the probe copies it first. If it has more than 8 bytes, most tools cannot read
 * it, gdb cannot read the arguments after it, and perf and libbpf reject the probe: for these
 * tools, pass its address. gcc has no type for a bit-field in C: write `+s.bits`. A float or double
 * is passed as its IEEE bits, an unsigned number of its size; .note.nopal says that it is a float.
 *
 * Two limits, which SystemTap's header also has. With -masm=intel, the note names registers in a
 * way that no tool reads. gold with --gc-sections fails ("defined in a discarded section") if it
 * drops a function that has a probe; bfd keeps the function, and lld drops it.
 *
 * Options, to be defined before the first inclusion:
 *	NOPAL_SDT_SHORT_NOP		only the 1-byte nop, also on x86-64
 *	NOPAL_SDT_NO_DESCRIBE		no .note.nopal
 *	NOPAL_SDT_ANY_PAGE		semaphores share a page of the file with other data: the
 *file is up to 4 KiB smaller, and if lld has linked it, the kernel cannot raise them
 *	NOPAL_SDT_ARG_CONSTRAINT	the asm constraint of arguments; the operands are then what
 *					the compiler chooses, and tools may be unable to read them.
 *					With r, perf also reads constants, at the cost of an
 *					instruction each
 * C needs a compiler with _Generic. Tested with gcc 12, clang 14, binutils 2.40. <sys/sdt.h> and
 * <usdt.h> are other interfaces to this file. */
/* clang-format off */
#ifndef NOPAL_SDT_H
#define NOPAL_SDT_H 1

/* Compilers that warn about extensions should warn about the user's code, not about this file. */
#if defined __GNUC__ && !defined __ASSEMBLER__
#pragma GCC system_header
#endif

#define NOPAL_SDT_STR_(...) #__VA_ARGS__
#define NOPAL_SDT_STR(...)  NOPAL_SDT_STR_(__VA_ARGS__)

/* ---- What differs between machines --------------------------------------------------------- */

#ifdef __LP64__
#define NOPAL_SDT_WORD .8byte
#else
#define NOPAL_SDT_WORD .4byte
#endif

/* The note's address is that of the first byte. It must be a 1-byte nop on x86: kernels turn a
 * probed 5-byte nop into a call, whose return address lands in the caller's red zone. */
#if defined NOPAL_SDT_NOP
#elif defined __s390__ || defined __s390x__ || defined __ia64__
#define NOPAL_SDT_NOP nop 0
#else
#define NOPAL_SDT_NOP nop
#endif
/* The templates that print an operand, and the memory that a register points to. %I prints whether
 * it is a constant. %k prints the 32-bit name of a register: on i386 not every register has a
 * name for its low byte, gdb does not know %r8b, and SystemTap reads a negative char in %al as
 * positive. */
#if defined __powerpc__ || defined __powerpc64__
#define NOPAL_SDT_VALUE(id) "%I[" id "]%[" id "]"
#define NOPAL_SDT_DEREF(id) "0(%[" id "])"
#elif defined __i386__
#define NOPAL_SDT_VALUE(id) "%k[" id "]"
#define NOPAL_SDT_DEREF(id) "(%k[" id "])"
#elif defined __x86_64__
#define NOPAL_SDT_VALUE(id) "%[" id "]"
#define NOPAL_SDT_BYTE(id) "%k[" id "]"
#define NOPAL_SDT_DEREF(id) "(%[" id "])"
#elif defined __aarch64__ || defined __arm__
#define NOPAL_SDT_VALUE(id) "%[" id "]"
#define NOPAL_SDT_DEREF(id) "[%[" id "]]"
#else
#define NOPAL_SDT_VALUE(id) "%[" id "]"
#define NOPAL_SDT_DEREF(id) "0(%[" id "])"
#endif
#ifndef NOPAL_SDT_BYTE
#define NOPAL_SDT_BYTE(id) NOPAL_SDT_VALUE(id) /* a value of one byte */
#endif

/* A number without a prefix such as $. On riscv %c takes small numbers only, on s390 it means a
 * byte; there numbers have no prefix. */
#if defined __riscv || defined __loongarch__ || defined __s390__ || defined __s390x__
#define NOPAL_SDT_NUMBER(id) "%[" id "]"
#else
#define NOPAL_SDT_NUMBER(id) "%c[" id "]"
#endif

/* A constant or a register: every tool reads these (except perf, which does not read constants,
 * whatever the header), and they cost nothing if the value is in a register. Memory would be
 * cheaper if the value must be loaded, but clang then stores every argument to the stack, and
 * gcc writes symbols and thread-local and indexed addresses, which tracers do not resolve. On
 * CPUs with few registers, the later arguments may be in memory. */
#if defined __i386__
#define NOPAL_SDT_FEW "nor"
#define NOPAL_SDT_FEW_BOX 0
#else
#define NOPAL_SDT_FEW "nr"
#define NOPAL_SDT_FEW_BOX 1
#endif
#define NOPAL_SDT_CONSTRAINT_OWN_1 "nr"
#define NOPAL_SDT_CONSTRAINT_OWN_2 "nr"
#define NOPAL_SDT_CONSTRAINT_OWN_3 "nr"
#define NOPAL_SDT_CONSTRAINT_OWN_4 NOPAL_SDT_FEW
#define NOPAL_SDT_CONSTRAINT_OWN_5 NOPAL_SDT_FEW
#define NOPAL_SDT_CONSTRAINT_OWN_6 NOPAL_SDT_FEW
#define NOPAL_SDT_CONSTRAINT_OWN_7 NOPAL_SDT_FEW
#define NOPAL_SDT_CONSTRAINT_OWN_8 NOPAL_SDT_FEW
#define NOPAL_SDT_CONSTRAINT_OWN_9 NOPAL_SDT_FEW
#define NOPAL_SDT_CONSTRAINT_OWN_10 NOPAL_SDT_FEW
#define NOPAL_SDT_CONSTRAINT_OWN_11 NOPAL_SDT_FEW
#define NOPAL_SDT_CONSTRAINT_OWN_12 NOPAL_SDT_FEW
#define NOPAL_SDT_BOX_OWN_1 1
#define NOPAL_SDT_BOX_OWN_2 1
#define NOPAL_SDT_BOX_OWN_3 1
#define NOPAL_SDT_BOX_OWN_4 NOPAL_SDT_FEW_BOX
#define NOPAL_SDT_BOX_OWN_5 NOPAL_SDT_FEW_BOX
#define NOPAL_SDT_BOX_OWN_6 NOPAL_SDT_FEW_BOX
#define NOPAL_SDT_BOX_OWN_7 NOPAL_SDT_FEW_BOX
#define NOPAL_SDT_BOX_OWN_8 NOPAL_SDT_FEW_BOX
#define NOPAL_SDT_BOX_OWN_9 NOPAL_SDT_FEW_BOX
#define NOPAL_SDT_BOX_OWN_10 NOPAL_SDT_FEW_BOX
#define NOPAL_SDT_BOX_OWN_11 NOPAL_SDT_FEW_BOX
#define NOPAL_SDT_BOX_OWN_12 NOPAL_SDT_FEW_BOX
#ifdef NOPAL_SDT_ARG_CONSTRAINT
#define NOPAL_SDT_CONSTRAINT_NOPAL(n) NOPAL_SDT_STR(NOPAL_SDT_ARG_CONSTRAINT)
#define NOPAL_SDT_BOX_NOPAL(n) 0
#else
#define NOPAL_SDT_CONSTRAINT_NOPAL(n) NOPAL_SDT_CONSTRAINT_OWN_##n
#define NOPAL_SDT_BOX_NOPAL(n) NOPAL_SDT_BOX_OWN_##n
#endif

/* ---- The bytes of a probe ------------------------------------------------------------------- */

/* The pieces below are assembler text. In a C file they are string literals, one line each; in an
 * assembler file they are the lines themselves, ended by a semicolon. Local labels: 7701 the site,
 * 7702 to 7705 inside the note. */
#ifdef __ASSEMBLER__
#define NOPAL_SDT_LINE(...)  __VA_ARGS__;
#define NOPAL_SDT_QUOTED_(x) #x
#define NOPAL_SDT_QUOTED(x)  NOPAL_SDT_QUOTED_(x)
#define NOPAL_SDT_ASCIZ(x)   .asciz NOPAL_SDT_QUOTED(x);
#else
#define NOPAL_SDT_LINE(...) NOPAL_SDT_STR(__VA_ARGS__) "\n"
#define NOPAL_SDT_ASCIZ_(x) NOPAL_SDT_LINE(.asciz #x)
#define NOPAL_SDT_ASCIZ(x)  NOPAL_SDT_ASCIZ_(x)
#endif

/* A 10-byte nop after the site, which tracers can replace by a jump. */
#if defined __x86_64__ && !defined NOPAL_SDT_SHORT_NOP
#define NOPAL_SDT_DOOR NOPAL_SDT_LINE(.byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0)
#else
#define NOPAL_SDT_DOOR
#endif

/* The relocations change no bytes. They make linkers keep the base when they drop unused sections,
 * and not merge two functions that differ only in their probes. */
#define NOPAL_SDT_SITE(...)                                    \
	NOPAL_SDT_LINE(7701 : __VA_ARGS__)                     \
	NOPAL_SDT_LINE(.reloc 7701b, BFD_RELOC_NONE, 7704f)    \
	NOPAL_SDT_LINE(.reloc 7701b, BFD_RELOC_NONE, _.stapsdt.base)

/* "?": the note belongs to the COMDAT group of the code, so that inline functions and templates
 * have as many notes as sites. */
#define NOPAL_SDT_NOTE_OPEN(section, owner, type)              \
	NOPAL_SDT_LINE(.pushsection section, "?", "note")      \
	NOPAL_SDT_LINE(.balign 4)                              \
	NOPAL_SDT_LINE(.4byte 7703f - 7702f, 7705f - 7704f, type) \
	NOPAL_SDT_LINE(7702 : .asciz owner)                    \
	NOPAL_SDT_LINE(7703 : .balign 4)                       \
	NOPAL_SDT_LINE(7704 :)
#define NOPAL_SDT_NOTE_CLOSE                                   \
	NOPAL_SDT_LINE(7705 : .balign 4)                       \
	NOPAL_SDT_LINE(.popsection)

/* One probe: site, note and base. `semaphore` is its symbol, or 0; `args` writes the operands. */
#define NOPAL_SDT_BODY(provider, name, semaphore, args, ...)   \
	NOPAL_SDT_SITE(__VA_ARGS__)                            \
	NOPAL_SDT_DOOR                                         \
	NOPAL_SDT_NOTE_OPEN(.note.stapsdt, "stapsdt", 3)       \
	NOPAL_SDT_LINE(NOPAL_SDT_WORD 7701b)                   \
	NOPAL_SDT_LINE(NOPAL_SDT_WORD _.stapsdt.base)          \
	NOPAL_SDT_LINE(NOPAL_SDT_WORD semaphore)               \
	NOPAL_SDT_ASCIZ(provider)                              \
	NOPAL_SDT_ASCIZ(name)                                  \
	args                                                   \
	NOPAL_SDT_LINE(.byte 0)                                \
	NOPAL_SDT_NOTE_CLOSE                                   \
	NOPAL_SDT_BASE

/* Readers compare the base's address in the note with the address of the section: the difference is
 * the distance by which prelink has moved the file. */
#define NOPAL_SDT_BASE                                         \
	NOPAL_SDT_LINE(.ifndef _.stapsdt.base)                 \
	NOPAL_SDT_LINE(.pushsection .stapsdt.base, "aG", "progbits", .stapsdt.base, comdat) \
	NOPAL_SDT_LINE(.weak _.stapsdt.base)                   \
	NOPAL_SDT_LINE(.hidden _.stapsdt.base)                 \
	NOPAL_SDT_LINE(_.stapsdt.base : .space 1)              \
	NOPAL_SDT_LINE(.size _.stapsdt.base, 1)                \
	NOPAL_SDT_LINE(.popsection)                            \
	NOPAL_SDT_LINE(.endif)

/* Semaphores are on a page of their own in the file (64 KiB where pages may be so large): the kernel
 * raises the word in the first writable mapping of its page, and with lld that would be one of the
 * data before, which becomes read-only. An empty section, once a program, aligns all of .probes;
 * linkers that drop unused sections keep it if it has the flag R (retain), where the assembler
 * knows that. */
#if defined __aarch64__ || defined __powerpc64__ || defined __mips__ || defined __loongarch__
#define NOPAL_SDT_PAGE_BITS 16
#else
#define NOPAL_SDT_PAGE_BITS 12
#endif
#define NOPAL_SDT_PAGE_FLAGS "awG"
#ifdef __has_attribute
#if __has_attribute(__retain__)
#undef NOPAL_SDT_PAGE_FLAGS
#define NOPAL_SDT_PAGE_FLAGS "awGR"
#endif
#endif
#if defined NOPAL_SDT_ANY_PAGE && defined __ASSEMBLER__
#define NOPAL_SDT_PAGE
#elif defined NOPAL_SDT_ANY_PAGE
#define NOPAL_SDT_PAGE ""
#else
#define NOPAL_SDT_PAGE                                         \
	NOPAL_SDT_LINE(.pushsection .probes, NOPAL_SDT_PAGE_FLAGS, "progbits", _nopal_probes_page, comdat) \
	NOPAL_SDT_LINE(.p2align NOPAL_SDT_PAGE_BITS)           \
	NOPAL_SDT_LINE(.popsection)
#endif

/* An implicit semaphore is one hidden word, however many files use it. A note refers to it weakly:
 * where NOPAL_ENABLED is not used, it stays undefined, reads 0, and the probe has no semaphore. */
#define NOPAL_SDT_SEMA(provider, name) __usdt_sema_##provider##__##name
#define NOPAL_SDT_SEMA_USE(symbol)                             \
	NOPAL_SDT_LINE(.weak symbol)                           \
	NOPAL_SDT_LINE(.hidden symbol)
#define NOPAL_SDT_SEMA_MAKE(symbol)                            \
	NOPAL_SDT_PAGE                                         \
	NOPAL_SDT_LINE(.ifndef symbol)                         \
	NOPAL_SDT_LINE(.pushsection .probes, "awG", "progbits", symbol, comdat) \
	NOPAL_SDT_LINE(.weak symbol)                           \
	NOPAL_SDT_LINE(.hidden symbol)                         \
	NOPAL_SDT_LINE(.balign 2)                              \
	NOPAL_SDT_LINE(.type symbol, STT_OBJECT)               \
	NOPAL_SDT_LINE(.size symbol, 2)                        \
	NOPAL_SDT_LINE(symbol : .zero 2)                       \
	NOPAL_SDT_LINE(.popsection)                            \
	NOPAL_SDT_LINE(.endif)

#ifndef __ASSEMBLER__

/* ---- What an argument is: one constant, and its value ---------------------------------------- */

/* The constant, from which the assembler extracts: bits 0-15 and 18-23, the decimal digits of the
 * size, the last one in bits 0-3; 16, signed; 17, in memory that the operand points to; 24-30,
 * the type class. */
#define NOPAL_SDT_SIZE_LIMIT 400000
#define NOPAL_SDT_CODE(size, is_signed, boxed, type_class)           \
	((int)(size) % 10 | (int)(size) / 10 % 10 << 4 |             \
	 (int)(size) / 100 % 10 << 8 | (int)(size) / 1000 % 10 << 12 | \
	 (int)(size) / 10000 % 10 << 18 | (int)(size) / 100000 % 4 << 22 | \
	 ((is_signed) ? 1 << 16 : 0) | ((boxed) ? 1 << 17 : 0) |     \
	 (type_class) << 24)

/* Type classes of .note.nopal. */
#define NOPAL_SDT_BYTES	   0 /* a struct, a vector, any other type */
#define NOPAL_SDT_UNSIGNED 1
#define NOPAL_SDT_SIGNED   2
#define NOPAL_SDT_BOOL	   3
#define NOPAL_SDT_FLOAT	   4
#define NOPAL_SDT_POINTER  5
#define NOPAL_SDT_STRING   6 /* a pointer to char */
#define NOPAL_SDT_ENUM	   7 /* C++ only: in C an enum is an integer */
#define NOPAL_SDT_CHAR	   8 /* char, char8_t, char16_t, char32_t, wchar_t */

#define NOPAL_SDT_ALWAYS_INLINE __inline__ __attribute__((__always_inline__, __artificial__))

#ifdef __cplusplus
extern "C++" {

#define NOPAL_SDT_TOO_BIG \
	"a probe argument cannot have 400,000 bytes or more: pass its address, or its members"

template <bool fits> struct nopal_sdt_argument_is_too_big___pass_its_address;
template <> struct nopal_sdt_argument_is_too_big___pass_its_address<true> {
	enum { yes = 1 };
};

/* T without const and volatile; for an array, the pointer that is passed. */
template <class T> struct nopal_sdt_bare {
	typedef T type;
};
template <class T> struct nopal_sdt_bare<const T> {
	typedef typename nopal_sdt_bare<T>::type type;
};
template <class T> struct nopal_sdt_bare<volatile T> {
	typedef typename nopal_sdt_bare<T>::type type;
};
template <class T> struct nopal_sdt_bare<const volatile T> {
	typedef typename nopal_sdt_bare<T>::type type;
};
template <class T> struct nopal_sdt_bare<T &> {
	typedef typename nopal_sdt_bare<T>::type type;
};
template <class T> struct nopal_sdt_bare<T[]> {
	typedef T *type;
};
template <class T, __SIZE_TYPE__ n> struct nopal_sdt_bare<T[n]> {
	typedef T *type;
};
template <class T, __SIZE_TYPE__ n> struct nopal_sdt_bare<const T[n]> {
	typedef const T *type;
};
template <class T, __SIZE_TYPE__ n> struct nopal_sdt_bare<volatile T[n]> {
	typedef volatile T *type;
};
template <class T, __SIZE_TYPE__ n> struct nopal_sdt_bare<const volatile T[n]> {
	typedef const volatile T *type;
};

#if __cplusplus >= 201103L
template <class R, class... A> struct nopal_sdt_bare<R(A...)> {
	typedef R (*type)(A...);
};
#endif
#if __cplusplus >= 201703L
template <class R, class... A> struct nopal_sdt_bare<R(A...) noexcept> {
	typedef R (*type)(A...);
};
#endif

/* Class and sign by type. */
template <class T, bool is_enum> struct nopal_sdt_named {
	enum { type_class = NOPAL_SDT_BYTES, is_signed = 0 };
};
template <class T> struct nopal_sdt_type : nopal_sdt_named<T, __is_enum(T)> {};
template <class T> struct nopal_sdt_type<T *> {
	enum { type_class = NOPAL_SDT_POINTER, is_signed = 0 };
};
#define NOPAL_SDT_TYPE(T, c, s)                        \
	template <> struct nopal_sdt_type<T> {         \
		enum { type_class = (c), is_signed = (s) }; \
	};
#define NOPAL_SDT_TYPE_SIGNED(T)   NOPAL_SDT_TYPE(T, NOPAL_SDT_SIGNED, 1)
#define NOPAL_SDT_TYPE_UNSIGNED(T) NOPAL_SDT_TYPE(T, NOPAL_SDT_UNSIGNED, 0)
NOPAL_SDT_TYPE_SIGNED(signed char)
NOPAL_SDT_TYPE_SIGNED(short)
NOPAL_SDT_TYPE_SIGNED(int)
NOPAL_SDT_TYPE_SIGNED(long)
NOPAL_SDT_TYPE_UNSIGNED(unsigned char)
NOPAL_SDT_TYPE_UNSIGNED(unsigned short)
NOPAL_SDT_TYPE_UNSIGNED(unsigned int)
NOPAL_SDT_TYPE_UNSIGNED(unsigned long)
__extension__ typedef long long nopal_sdt_s64;
__extension__ typedef unsigned long long nopal_sdt_u64;
NOPAL_SDT_TYPE_SIGNED(nopal_sdt_s64)
NOPAL_SDT_TYPE_UNSIGNED(nopal_sdt_u64)
#ifdef __SIZEOF_INT128__
__extension__ typedef __int128 nopal_sdt_s128;
__extension__ typedef unsigned __int128 nopal_sdt_u128;
NOPAL_SDT_TYPE_SIGNED(nopal_sdt_s128)
NOPAL_SDT_TYPE_UNSIGNED(nopal_sdt_u128)
#endif
NOPAL_SDT_TYPE(bool, NOPAL_SDT_BOOL, 0)
NOPAL_SDT_TYPE(float, NOPAL_SDT_FLOAT, 0)
NOPAL_SDT_TYPE(double, NOPAL_SDT_FLOAT, 0)
NOPAL_SDT_TYPE(long double, NOPAL_SDT_FLOAT, 0)
NOPAL_SDT_TYPE(char, NOPAL_SDT_CHAR, (char)-1 < (char)1)
NOPAL_SDT_TYPE(wchar_t, NOPAL_SDT_CHAR, (wchar_t)-1 < (wchar_t)1)
#ifdef __cpp_char8_t
NOPAL_SDT_TYPE(char8_t, NOPAL_SDT_CHAR, 0)
#endif
#if __cplusplus >= 201103L
NOPAL_SDT_TYPE(char16_t, NOPAL_SDT_CHAR, 0)
NOPAL_SDT_TYPE(char32_t, NOPAL_SDT_CHAR, 0)
#endif
NOPAL_SDT_TYPE(char *, NOPAL_SDT_STRING, 0)
NOPAL_SDT_TYPE(const char *, NOPAL_SDT_STRING, 0)
#if __cplusplus >= 201103L
NOPAL_SDT_TYPE(decltype(nullptr), NOPAL_SDT_POINTER, 0)
#endif
template <class T> struct nopal_sdt_named<T, true> {
	enum {
		type_class = NOPAL_SDT_ENUM,
		is_signed = nopal_sdt_type<__underlying_type(T)>::is_signed
	};
};

/* The address of a value's bytes. The empty asm forces the compiler to store them in memory. */
struct nopal_sdt_box {
	const void *address;
	template <class T>
	NOPAL_SDT_ALWAYS_INLINE nopal_sdt_box(const T &x)
		: address((const void *)&reinterpret_cast<const volatile char &>(x))
	{
		__asm__ __volatile__("" : : "r"(address) : "memory");
	}
	NOPAL_SDT_ALWAYS_INLINE operator const void *() const
	{
		return address;
	}
};

/* The type that a value is converted to, and its conversion to the operand. */
template <class T, bool boxed> struct nopal_sdt_pass {
	static nopal_sdt_box taken();
	static const void *passed();
};
#if defined __i386__
/* A float as its bits; see NOPAL_SDT_PLAIN. */
struct nopal_sdt_bits {
	union {
		float value;
		unsigned bits;
	};
	NOPAL_SDT_ALWAYS_INLINE nopal_sdt_bits(float x) : value(x)
	{
	}
	NOPAL_SDT_ALWAYS_INLINE operator unsigned() const
	{
		return bits;
	}
};
template <> struct nopal_sdt_pass<float, false> {
	static nopal_sdt_bits taken();
	static unsigned passed();
};
#endif
template <class T> struct nopal_sdt_pass<T, false> {
	static T taken();
	static T passed();
};

template <class T, bool may_box> struct nopal_sdt_measured {
	enum {
		fits = sizeof(T) < NOPAL_SDT_SIZE_LIMIT,
		boxed = may_box && ((int)nopal_sdt_type<T>::type_class == NOPAL_SDT_BYTES ||
				    sizeof(T) > sizeof(void *)),
		code = NOPAL_SDT_CODE(sizeof(T), nopal_sdt_type<T>::is_signed, boxed,
				      (int)nopal_sdt_type<T>::type_class)
	};
#if __cplusplus >= 201103L
	static_assert(fits, NOPAL_SDT_TOO_BIG);
#else
	enum { checked = nopal_sdt_argument_is_too_big___pass_its_address<fits>::yes };
#endif
};
template <class T, bool may_box>
struct nopal_sdt_arg
	: nopal_sdt_measured<typename nopal_sdt_bare<T>::type, may_box>,
	  nopal_sdt_pass<typename nopal_sdt_bare<T>::type,
			 nopal_sdt_measured<typename nopal_sdt_bare<T>::type, may_box>::boxed> {};

/* Casts instead of a function, so that constants are constants also without optimization. */
#define NOPAL_SDT_ARG_CODE(x, box)  nopal_sdt_arg<__typeof__((x)), box>::code
#define NOPAL_SDT_ARG_VALUE(x, box)                                         \
	((__typeof__(nopal_sdt_arg<__typeof__((x)), box>::passed()))          \
	 (__typeof__(nopal_sdt_arg<__typeof__((x)), box>::taken()))(x))
#define NOPAL_SDT_CHECK(x)
}
#else /* C */

#ifdef __SIZEOF_INT128__
#define NOPAL_SDT_GENERIC_INT128(is_signed, is_unsigned) \
	, __int128 : is_signed, unsigned __int128 : is_unsigned
#else
#define NOPAL_SDT_GENERIC_INT128(is_signed, is_unsigned)
#endif

/* Class by type. Any other type is a pointer or an array if the compiler's builtin says so, or
 * bytes. */
#define NOPAL_SDT_ARG_CLASS(x)                                                            \
	(__extension__ _Generic((x),                                                      \
		 char: NOPAL_SDT_CHAR,                                                    \
		 signed char: NOPAL_SDT_SIGNED,                                           \
		 short: NOPAL_SDT_SIGNED,                                                 \
		 int: NOPAL_SDT_SIGNED,                                                   \
		 long: NOPAL_SDT_SIGNED,                                                  \
		 long long: NOPAL_SDT_SIGNED,                                             \
		 unsigned char: NOPAL_SDT_UNSIGNED,                                       \
		 unsigned short: NOPAL_SDT_UNSIGNED,                                      \
		 unsigned int: NOPAL_SDT_UNSIGNED,                                        \
		 unsigned long: NOPAL_SDT_UNSIGNED,                                       \
		 unsigned long long: NOPAL_SDT_UNSIGNED                                   \
		 NOPAL_SDT_GENERIC_INT128(NOPAL_SDT_SIGNED, NOPAL_SDT_UNSIGNED),          \
		 _Bool: NOPAL_SDT_BOOL,                                                   \
		 float: NOPAL_SDT_FLOAT,                                                  \
		 double: NOPAL_SDT_FLOAT,                                                 \
		 long double: NOPAL_SDT_FLOAT,                                            \
		 char *: NOPAL_SDT_STRING,                                                \
		 const char *: NOPAL_SDT_STRING,                                          \
		 default: NOPAL_SDT_IS_POINTER(x) ? NOPAL_SDT_POINTER : NOPAL_SDT_BYTES))
#define NOPAL_SDT_ARG_SIGNED(x)                     \
	(__extension__ _Generic((x),                \
		 char: (char)-1 < (char)1,          \
		 signed char: 1,                    \
		 short: 1,                          \
		 int: 1,                            \
		 long: 1,                           \
		 long long: 1                       \
		 NOPAL_SDT_GENERIC_INT128(1, 0),    \
		 default: 0))
#define NOPAL_SDT_IS_POINTER(x) (__builtin_classify_type(x) == 5 || __builtin_classify_type(x) == 14)
/* The comma makes a value of a bit-field, so that sizeof applies; in gcc it has a special type. */
#define NOPAL_SDT_ARG_SIZE(x) \
	sizeof(__builtin_choose_expr(NOPAL_SDT_IS_POINTER(x), (void *)0, (0, (x))))
#define NOPAL_SDT_IS_BIT_FIELD(x) \
	(__builtin_classify_type(x) == 1 && NOPAL_SDT_ARG_CLASS(x) == NOPAL_SDT_BYTES)
#define NOPAL_SDT_IS_BOXED(x, box)                                                             \
	((box) && !NOPAL_SDT_IS_BIT_FIELD(x) &&                                                \
	 (NOPAL_SDT_ARG_CLASS(x) == NOPAL_SDT_BYTES || NOPAL_SDT_ARG_SIZE(x) > sizeof(void *)))
#define NOPAL_SDT_ARG_CODE(x, box)                                      \
	NOPAL_SDT_CODE(NOPAL_SDT_ARG_SIZE(x), NOPAL_SDT_ARG_SIGNED(x),  \
		       NOPAL_SDT_IS_BOXED(x, box), NOPAL_SDT_ARG_CLASS(x))

/* In C before C11, libc defines _Static_assert as a macro that drops the text; a macro name that is
 * not followed by a parenthesis is not expanded. */
#define NOPAL_SDT_NOTHING
#define NOPAL_SDT_CHECK(x)                                                                        \
	__extension__ _Static_assert NOPAL_SDT_NOTHING(                                           \
		NOPAL_SDT_ARG_SIZE(x) < NOPAL_SDT_SIZE_LIMIT,                                     \
		"a probe argument cannot have 400,000 bytes or more: pass its address, or its "   \
		"members");                                                                       \
	__extension__ _Static_assert NOPAL_SDT_NOTHING(!NOPAL_SDT_IS_BIT_FIELD(x),                \
		"a probe argument cannot be a bit-field: write a + before it");

/* The value as an operand: itself, or the address of a copy that lives as long as the probe's
 * block. The empty asm forces the compiler to store its bytes in memory. (Not static: C forbids
 * static functions in inline functions with external linkage. gnu_inline: no copy is emitted.) */
extern NOPAL_SDT_ALWAYS_INLINE __attribute__((__gnu_inline__)) const void *
nopal_sdt_keep(const volatile char *p)
{
	__asm__ __volatile__("" : : "r"(p) : "memory");
	return (const void *)p;
}
#define NOPAL_SDT_WHEN_BOXED(x, box) __builtin_choose_expr(NOPAL_SDT_IS_BOXED(x, box), (x), 0)
#if defined __i386__
/* Where memory may be an operand, a constant float would be the compiler's own copy of it, at a symbol
 * that is in no table. So a float is its bits, which are a number, and a double is a copy of it, in C. */
#define NOPAL_SDT_IS_FLOAT(x, type) \
	(NOPAL_SDT_ARG_CLASS(x) == NOPAL_SDT_FLOAT && NOPAL_SDT_ARG_SIZE(x) == sizeof(type))
#define NOPAL_SDT_WHEN_FLOAT(x, type) __builtin_choose_expr(NOPAL_SDT_IS_FLOAT(x, type), (x), 0)
#define NOPAL_SDT_PLAIN(x)                                                                     \
	__builtin_choose_expr(                                                                 \
		NOPAL_SDT_IS_FLOAT(x, float),                                                  \
		(__extension__(union {                                                         \
			float value;                                                           \
			unsigned bits;                                                         \
		}){NOPAL_SDT_WHEN_FLOAT(x, float)}).bits,                                      \
		__builtin_choose_expr(                                                         \
			NOPAL_SDT_IS_FLOAT(x, double),                                         \
			*(const double *)nopal_sdt_keep((const volatile char *)(__extension__( \
				double[1]){NOPAL_SDT_WHEN_FLOAT(x, double)})),                 \
			(x)))
#else
#define NOPAL_SDT_PLAIN(x) (x)
#endif
#define NOPAL_SDT_ARG_VALUE(x, box)                                                            \
	__builtin_choose_expr(                                                                 \
		NOPAL_SDT_IS_BOXED(x, box),                                                    \
		nopal_sdt_keep((const volatile char *)(__extension__(                          \
			__typeof__(NOPAL_SDT_WHEN_BOXED(x, box))[1]){                          \
			NOPAL_SDT_WHEN_BOXED(x, box)})),                                       \
		NOPAL_SDT_PLAIN(x))
#endif

/* ---- Arguments in the note: sizes, operands, descriptions ----------------------------------- */

#define NOPAL_SDT_ARG_TEXT(n) \
	NOPAL_SDT_ARG_TEXT_(NOPAL_SDT_NUMBER("nopal_c" #n), "nopal_v" #n)
#define NOPAL_SDT_ARG_TEXT_(code, value)                                            \
	".if (" code "&16646128)==65536\n" /* gdb stops at -16@ */                  \
	".ascii \"-\"\n.endif\n"                                                   \
	".if " code "&16580352\n" /* 100 and more */                                \
	".if " code "&16515072\n"                                                   \
	".if " code "&12582912\n.byte 48+((" code ">>22)&3)\n.endif\n"              \
	".byte 48+((" code ">>18)&15)\n.endif\n"                                    \
	".if " code "&16576512\n.byte 48+((" code ">>12)&15)\n.endif\n"             \
	".byte 48+((" code ">>8)&15)\n.endif\n"                                     \
	".if " code "&16580592\n.byte 48+((" code ">>4)&15)\n.endif\n"              \
	".byte 48+(" code "&15)\n"                                                 \
	".if " code "&131072\n.ascii \"@" NOPAL_SDT_DEREF(value) "\"\n"             \
	".elseif (" code "&16580607)==1\n.ascii \"@" NOPAL_SDT_BYTE(value) "\"\n"   \
	".else\n.ascii \"@" NOPAL_SDT_VALUE(value) "\"\n.endif\n"
#define NOPAL_SDT_BLANK ".ascii \" \"\n"
#define NOPAL_SDT_TEXT_0
#define NOPAL_SDT_TEXT_1 NOPAL_SDT_ARG_TEXT(1)
#define NOPAL_SDT_TEXT_2 NOPAL_SDT_TEXT_1 NOPAL_SDT_BLANK NOPAL_SDT_ARG_TEXT(2)
#define NOPAL_SDT_TEXT_3 NOPAL_SDT_TEXT_2 NOPAL_SDT_BLANK NOPAL_SDT_ARG_TEXT(3)
#define NOPAL_SDT_TEXT_4 NOPAL_SDT_TEXT_3 NOPAL_SDT_BLANK NOPAL_SDT_ARG_TEXT(4)
#define NOPAL_SDT_TEXT_5 NOPAL_SDT_TEXT_4 NOPAL_SDT_BLANK NOPAL_SDT_ARG_TEXT(5)
#define NOPAL_SDT_TEXT_6 NOPAL_SDT_TEXT_5 NOPAL_SDT_BLANK NOPAL_SDT_ARG_TEXT(6)
#define NOPAL_SDT_TEXT_7 NOPAL_SDT_TEXT_6 NOPAL_SDT_BLANK NOPAL_SDT_ARG_TEXT(7)
#define NOPAL_SDT_TEXT_8 NOPAL_SDT_TEXT_7 NOPAL_SDT_BLANK NOPAL_SDT_ARG_TEXT(8)
#define NOPAL_SDT_TEXT_9 NOPAL_SDT_TEXT_8 NOPAL_SDT_BLANK NOPAL_SDT_ARG_TEXT(9)
#define NOPAL_SDT_TEXT_10 NOPAL_SDT_TEXT_9 NOPAL_SDT_BLANK NOPAL_SDT_ARG_TEXT(10)
#define NOPAL_SDT_TEXT_11 NOPAL_SDT_TEXT_10 NOPAL_SDT_BLANK NOPAL_SDT_ARG_TEXT(11)
#define NOPAL_SDT_TEXT_12 NOPAL_SDT_TEXT_11 NOPAL_SDT_BLANK NOPAL_SDT_ARG_TEXT(12)

/* Two bytes an argument: class, with bit 7 for signed; size, 0 for 100 and more. */
#define NOPAL_SDT_ARG_CLASSES(n) NOPAL_SDT_ARG_CLASSES_(NOPAL_SDT_NUMBER("nopal_c" #n))
#define NOPAL_SDT_ARG_CLASSES_(code)                                         \
	".byte ((" code ">>24)&127)+((" code ">>9)&128)\n"                   \
	".if " code "&16580352\n.byte 0\n.else\n"                           \
	".byte (" code "&15)+10*((" code ">>4)&15)\n.endif\n"
#define NOPAL_SDT_CLASSES_0
#define NOPAL_SDT_CLASSES_1 NOPAL_SDT_ARG_CLASSES(1)
#define NOPAL_SDT_CLASSES_2 NOPAL_SDT_CLASSES_1 NOPAL_SDT_ARG_CLASSES(2)
#define NOPAL_SDT_CLASSES_3 NOPAL_SDT_CLASSES_2 NOPAL_SDT_ARG_CLASSES(3)
#define NOPAL_SDT_CLASSES_4 NOPAL_SDT_CLASSES_3 NOPAL_SDT_ARG_CLASSES(4)
#define NOPAL_SDT_CLASSES_5 NOPAL_SDT_CLASSES_4 NOPAL_SDT_ARG_CLASSES(5)
#define NOPAL_SDT_CLASSES_6 NOPAL_SDT_CLASSES_5 NOPAL_SDT_ARG_CLASSES(6)
#define NOPAL_SDT_CLASSES_7 NOPAL_SDT_CLASSES_6 NOPAL_SDT_ARG_CLASSES(7)
#define NOPAL_SDT_CLASSES_8 NOPAL_SDT_CLASSES_7 NOPAL_SDT_ARG_CLASSES(8)
#define NOPAL_SDT_CLASSES_9 NOPAL_SDT_CLASSES_8 NOPAL_SDT_ARG_CLASSES(9)
#define NOPAL_SDT_CLASSES_10 NOPAL_SDT_CLASSES_9 NOPAL_SDT_ARG_CLASSES(10)
#define NOPAL_SDT_CLASSES_11 NOPAL_SDT_CLASSES_10 NOPAL_SDT_ARG_CLASSES(11)
#define NOPAL_SDT_CLASSES_12 NOPAL_SDT_CLASSES_11 NOPAL_SDT_ARG_CLASSES(12)

/* Inputs of the asm statement; `c` names the header that chooses constraints: NOPAL, STAP or USDT. */
#define NOPAL_SDT_INPUT(n, c, x)                                         \
	, [nopal_c##n] "n"(NOPAL_SDT_ARG_CODE(x, NOPAL_SDT_BOX_##c(n))), \
		[nopal_v##n] NOPAL_SDT_CONSTRAINT_##c(n)(NOPAL_SDT_ARG_VALUE(x, NOPAL_SDT_BOX_##c(n)))
#define NOPAL_SDT_INPUTS_0(c)
#define NOPAL_SDT_INPUTS_1(c, a1) \
	NOPAL_SDT_INPUT(1, c, a1)
#define NOPAL_SDT_INPUTS_2(c, a1, a2) \
	NOPAL_SDT_INPUTS_1(c, a1) NOPAL_SDT_INPUT(2, c, a2)
#define NOPAL_SDT_INPUTS_3(c, a1, a2, a3) \
	NOPAL_SDT_INPUTS_2(c, a1, a2) NOPAL_SDT_INPUT(3, c, a3)
#define NOPAL_SDT_INPUTS_4(c, a1, a2, a3, a4) \
	NOPAL_SDT_INPUTS_3(c, a1, a2, a3) NOPAL_SDT_INPUT(4, c, a4)
#define NOPAL_SDT_INPUTS_5(c, a1, a2, a3, a4, a5) \
	NOPAL_SDT_INPUTS_4(c, a1, a2, a3, a4) NOPAL_SDT_INPUT(5, c, a5)
#define NOPAL_SDT_INPUTS_6(c, a1, a2, a3, a4, a5, a6) \
	NOPAL_SDT_INPUTS_5(c, a1, a2, a3, a4, a5) NOPAL_SDT_INPUT(6, c, a6)
#define NOPAL_SDT_INPUTS_7(c, a1, a2, a3, a4, a5, a6, a7) \
	NOPAL_SDT_INPUTS_6(c, a1, a2, a3, a4, a5, a6) NOPAL_SDT_INPUT(7, c, a7)
#define NOPAL_SDT_INPUTS_8(c, a1, a2, a3, a4, a5, a6, a7, a8) \
	NOPAL_SDT_INPUTS_7(c, a1, a2, a3, a4, a5, a6, a7) NOPAL_SDT_INPUT(8, c, a8)
#define NOPAL_SDT_INPUTS_9(c, a1, a2, a3, a4, a5, a6, a7, a8, a9) \
	NOPAL_SDT_INPUTS_8(c, a1, a2, a3, a4, a5, a6, a7, a8) NOPAL_SDT_INPUT(9, c, a9)
#define NOPAL_SDT_INPUTS_10(c, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
	NOPAL_SDT_INPUTS_9(c, a1, a2, a3, a4, a5, a6, a7, a8, a9) NOPAL_SDT_INPUT(10, c, a10)
#define NOPAL_SDT_INPUTS_11(c, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
	NOPAL_SDT_INPUTS_10(c, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) NOPAL_SDT_INPUT(11, c, a11)
#define NOPAL_SDT_INPUTS_12(c, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
	NOPAL_SDT_INPUTS_11(c, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) NOPAL_SDT_INPUT(12, c, a12)
#define NOPAL_SDT_CHECKS_0()
#define NOPAL_SDT_CHECKS_1(a1) \
	NOPAL_SDT_CHECK(a1)
#define NOPAL_SDT_CHECKS_2(a1, a2) \
	NOPAL_SDT_CHECKS_1(a1) NOPAL_SDT_CHECK(a2)
#define NOPAL_SDT_CHECKS_3(a1, a2, a3) \
	NOPAL_SDT_CHECKS_2(a1, a2) NOPAL_SDT_CHECK(a3)
#define NOPAL_SDT_CHECKS_4(a1, a2, a3, a4) \
	NOPAL_SDT_CHECKS_3(a1, a2, a3) NOPAL_SDT_CHECK(a4)
#define NOPAL_SDT_CHECKS_5(a1, a2, a3, a4, a5) \
	NOPAL_SDT_CHECKS_4(a1, a2, a3, a4) NOPAL_SDT_CHECK(a5)
#define NOPAL_SDT_CHECKS_6(a1, a2, a3, a4, a5, a6) \
	NOPAL_SDT_CHECKS_5(a1, a2, a3, a4, a5) NOPAL_SDT_CHECK(a6)
#define NOPAL_SDT_CHECKS_7(a1, a2, a3, a4, a5, a6, a7) \
	NOPAL_SDT_CHECKS_6(a1, a2, a3, a4, a5, a6) NOPAL_SDT_CHECK(a7)
#define NOPAL_SDT_CHECKS_8(a1, a2, a3, a4, a5, a6, a7, a8) \
	NOPAL_SDT_CHECKS_7(a1, a2, a3, a4, a5, a6, a7) NOPAL_SDT_CHECK(a8)
#define NOPAL_SDT_CHECKS_9(a1, a2, a3, a4, a5, a6, a7, a8, a9) \
	NOPAL_SDT_CHECKS_8(a1, a2, a3, a4, a5, a6, a7, a8) NOPAL_SDT_CHECK(a9)
#define NOPAL_SDT_CHECKS_10(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
	NOPAL_SDT_CHECKS_9(a1, a2, a3, a4, a5, a6, a7, a8, a9) NOPAL_SDT_CHECK(a10)
#define NOPAL_SDT_CHECKS_11(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
	NOPAL_SDT_CHECKS_10(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) NOPAL_SDT_CHECK(a11)
#define NOPAL_SDT_CHECKS_12(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
	NOPAL_SDT_CHECKS_11(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) NOPAL_SDT_CHECK(a12)

/* ---- The notes that describe ----------------------------------------------------------------- */

/* Compilers estimate the size of an asm by its lines, and would not inline functions with probes;
 * "inline" means that it is small. */
#if (defined __clang_major__ && __clang_major__ >= 11) || (!defined __clang__ && __GNUC__ >= 9)
#define NOPAL_SDT_ASM __asm__ __volatile__ __inline__
#else
#define NOPAL_SDT_ASM __asm__ __volatile__
#endif

/* clang warns about the length of the assembler text as if the user had written it. */
#ifdef __clang__
#define NOPAL_SDT_QUIET                           \
	_Pragma("clang diagnostic push")          \
	_Pragma("clang diagnostic ignored \"-Woverlength-strings\"") \
	_Pragma("clang diagnostic ignored \"-Wundefined-internal\"")
#define NOPAL_SDT_LOUD _Pragma("clang diagnostic pop")
#else
#define NOPAL_SDT_QUIET
#define NOPAL_SDT_LOUD
#endif

/* The note of the site: address, line, arguments. The lengths of the file name and of the source
 * text lead to the note of the text. */
#ifdef NOPAL_SDT_NO_DESCRIBE
#define NOPAL_SDT_DESCRIBE(n)
#define NOPAL_SDT_DESCRIBE_TEXT(provider, name, text)
#else
#define NOPAL_SDT_DESCRIBE(n)                                  \
	NOPAL_SDT_NOTE_OPEN(.note.nopal, "nopal", 1)           \
	NOPAL_SDT_LINE(NOPAL_SDT_WORD 7701b)                   \
	NOPAL_SDT_LINE(NOPAL_SDT_WORD _.stapsdt.base)          \
	NOPAL_SDT_LINE(.4byte __LINE__)                        \
	".4byte " NOPAL_SDT_NUMBER("nopal_file") "," NOPAL_SDT_NUMBER("nopal_text") "\n" \
	NOPAL_SDT_LINE(.byte n)                                \
	NOPAL_SDT_CLASSES_##n                                  \
	NOPAL_SDT_NOTE_CLOSE

/* The note of the text contains no addresses, so it may be anywhere, any number of times. */
#define NOPAL_SDT_TEXT_NOTE(provider, name, lengths, at, file, text) \
	NOPAL_SDT_NOTE_OPEN(.note.nopal, "nopal", 2)           \
	NOPAL_SDT_LINE(.4byte __LINE__)                        \
	lengths                                                \
	NOPAL_SDT_LINE(.2byte at, 7707f - 7706f, 7708f - 7707f) \
	NOPAL_SDT_ASCIZ(provider)                              \
	NOPAL_SDT_ASCIZ(name)                                  \
	"7706:\n" file "7707:\n" text "7708:\n"                \
	NOPAL_SDT_NOTE_CLOSE

/* The simple form: an asm without operands, in which a percent sign has no meaning. gcc assumes
 * that such an asm changes memory, so when it optimizes, the text is passed as numbers of four
 * bytes each, up to a limit. (Without optimization it cannot convert text to numbers.) */
#define NOPAL_SDT_TEXT_PLAIN(provider, name, source)                                        \
	__asm__ __volatile__(NOPAL_SDT_TEXT_NOTE(                                           \
		provider, name, ".4byte 7707f-7706f, 7708f-7707f\n", 0,                     \
		NOPAL_SDT_LINE(.ascii __FILE__), NOPAL_SDT_LINE(.ascii source)))
#if defined __clang__ || !defined __OPTIMIZE__
#define NOPAL_SDT_DESCRIBE_TEXT(provider, name, source) \
	NOPAL_SDT_QUIET                                 \
	NOPAL_SDT_TEXT_PLAIN(provider, name, source);   \
	NOPAL_SDT_LOUD
#else
#define NOPAL_SDT_DESCRIBE_TEXT(provider, name, source)                                       \
	if (__builtin_constant_p(NOPAL_SDT_CHUNK(source, 0))) {                               \
		NOPAL_SDT_ASM(NOPAL_SDT_TEXT_NOTE(provider, name, NOPAL_SDT_TEXT_LENGTHS, 0,  \
						  NOPAL_SDT_CHUNKS_FILE, NOPAL_SDT_CHUNKS_1)  \
			      : : [nopal_f] "n"((int)sizeof(__FILE__) - 1),                   \
				[nopal_t] "n"((int)sizeof(source) - 1)                        \
				NOPAL_SDT_INPUTS_FILE(__FILE__) NOPAL_SDT_INPUTS_TEXT_1(source)); \
		if (sizeof(source) - 1 > 64)                                                  \
			NOPAL_SDT_ASM(NOPAL_SDT_TEXT_NOTE(provider, name,                     \
							  NOPAL_SDT_TEXT_LENGTHS, 64, "",     \
							  NOPAL_SDT_CHUNKS_2)                 \
				      : : [nopal_f] "n"((int)sizeof(__FILE__) - 1),           \
					[nopal_t] "n"((int)sizeof(source) - 1)                \
					NOPAL_SDT_INPUTS_TEXT_2(source));                     \
	} else {                                                                              \
		NOPAL_SDT_TEXT_PLAIN(provider, name, source);                                 \
	}
#define NOPAL_SDT_TEXT_LENGTHS \
	".4byte " NOPAL_SDT_NUMBER("nopal_f") "," NOPAL_SDT_NUMBER("nopal_t") "\n"
/* Four bytes of a literal from offset i, in the order of memory; of the file name, the last 40
 * bytes. */
typedef int nopal_sdt_chunk __attribute__((__may_alias__, __aligned__(1)));
#define NOPAL_SDT_CHUNK(s, i) \
	(*(const nopal_sdt_chunk *)(s "\0\0\0" + ((i) < sizeof(s) ? (i) : 0)))
#define NOPAL_SDT_CHUNK_TAIL(s, i) \
	NOPAL_SDT_CHUNK(s, (sizeof(s) > 41 ? sizeof(s) - 41 : 0) + (i))
/* A chunk in the note, unless the text ends before it. */
#define NOPAL_SDT_CHUNK_IF(length, at, chunk)                           \
	".if " NOPAL_SDT_NUMBER(length) ">" at "\n.4byte " NOPAL_SDT_NUMBER(chunk) "\n.endif\n"
#define NOPAL_SDT_CHUNKS_FILE \
	NOPAL_SDT_CHUNK_IF("nopal_f", "0", "nopal_f0") \
	NOPAL_SDT_CHUNK_IF("nopal_f", "4", "nopal_f1") \
	NOPAL_SDT_CHUNK_IF("nopal_f", "8", "nopal_f2") \
	NOPAL_SDT_CHUNK_IF("nopal_f", "12", "nopal_f3") \
	NOPAL_SDT_CHUNK_IF("nopal_f", "16", "nopal_f4") \
	NOPAL_SDT_CHUNK_IF("nopal_f", "20", "nopal_f5") \
	NOPAL_SDT_CHUNK_IF("nopal_f", "24", "nopal_f6") \
	NOPAL_SDT_CHUNK_IF("nopal_f", "28", "nopal_f7") \
	NOPAL_SDT_CHUNK_IF("nopal_f", "32", "nopal_f8") \
	NOPAL_SDT_CHUNK_IF("nopal_f", "36", "nopal_f9")
#define NOPAL_SDT_INPUTS_FILE(s) \
	, [nopal_f0] "n"(NOPAL_SDT_CHUNK_TAIL(s, 0)) \
	, [nopal_f1] "n"(NOPAL_SDT_CHUNK_TAIL(s, 4)) \
	, [nopal_f2] "n"(NOPAL_SDT_CHUNK_TAIL(s, 8)) \
	, [nopal_f3] "n"(NOPAL_SDT_CHUNK_TAIL(s, 12)) \
	, [nopal_f4] "n"(NOPAL_SDT_CHUNK_TAIL(s, 16)) \
	, [nopal_f5] "n"(NOPAL_SDT_CHUNK_TAIL(s, 20)) \
	, [nopal_f6] "n"(NOPAL_SDT_CHUNK_TAIL(s, 24)) \
	, [nopal_f7] "n"(NOPAL_SDT_CHUNK_TAIL(s, 28)) \
	, [nopal_f8] "n"(NOPAL_SDT_CHUNK_TAIL(s, 32)) \
	, [nopal_f9] "n"(NOPAL_SDT_CHUNK_TAIL(s, 36))
#define NOPAL_SDT_CHUNKS_1 \
	NOPAL_SDT_CHUNK_IF("nopal_t", "0", "nopal_t0") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "4", "nopal_t1") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "8", "nopal_t2") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "12", "nopal_t3") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "16", "nopal_t4") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "20", "nopal_t5") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "24", "nopal_t6") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "28", "nopal_t7") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "32", "nopal_t8") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "36", "nopal_t9") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "40", "nopal_t10") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "44", "nopal_t11") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "48", "nopal_t12") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "52", "nopal_t13") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "56", "nopal_t14") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "60", "nopal_t15")
#define NOPAL_SDT_INPUTS_TEXT_1(s) \
	, [nopal_t0] "n"(NOPAL_SDT_CHUNK(s, 0)) \
	, [nopal_t1] "n"(NOPAL_SDT_CHUNK(s, 4)) \
	, [nopal_t2] "n"(NOPAL_SDT_CHUNK(s, 8)) \
	, [nopal_t3] "n"(NOPAL_SDT_CHUNK(s, 12)) \
	, [nopal_t4] "n"(NOPAL_SDT_CHUNK(s, 16)) \
	, [nopal_t5] "n"(NOPAL_SDT_CHUNK(s, 20)) \
	, [nopal_t6] "n"(NOPAL_SDT_CHUNK(s, 24)) \
	, [nopal_t7] "n"(NOPAL_SDT_CHUNK(s, 28)) \
	, [nopal_t8] "n"(NOPAL_SDT_CHUNK(s, 32)) \
	, [nopal_t9] "n"(NOPAL_SDT_CHUNK(s, 36)) \
	, [nopal_t10] "n"(NOPAL_SDT_CHUNK(s, 40)) \
	, [nopal_t11] "n"(NOPAL_SDT_CHUNK(s, 44)) \
	, [nopal_t12] "n"(NOPAL_SDT_CHUNK(s, 48)) \
	, [nopal_t13] "n"(NOPAL_SDT_CHUNK(s, 52)) \
	, [nopal_t14] "n"(NOPAL_SDT_CHUNK(s, 56)) \
	, [nopal_t15] "n"(NOPAL_SDT_CHUNK(s, 60))
#define NOPAL_SDT_CHUNKS_2 \
	NOPAL_SDT_CHUNK_IF("nopal_t", "64", "nopal_t0") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "68", "nopal_t1") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "72", "nopal_t2") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "76", "nopal_t3") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "80", "nopal_t4") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "84", "nopal_t5") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "88", "nopal_t6") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "92", "nopal_t7") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "96", "nopal_t8") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "100", "nopal_t9") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "104", "nopal_t10") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "108", "nopal_t11") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "112", "nopal_t12") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "116", "nopal_t13") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "120", "nopal_t14") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "124", "nopal_t15") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "128", "nopal_t16") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "132", "nopal_t17") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "136", "nopal_t18") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "140", "nopal_t19") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "144", "nopal_t20") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "148", "nopal_t21") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "152", "nopal_t22") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "156", "nopal_t23") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "160", "nopal_t24") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "164", "nopal_t25") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "168", "nopal_t26") \
	NOPAL_SDT_CHUNK_IF("nopal_t", "172", "nopal_t27")
#define NOPAL_SDT_INPUTS_TEXT_2(s) \
	, [nopal_t0] "n"(NOPAL_SDT_CHUNK(s, 64)) \
	, [nopal_t1] "n"(NOPAL_SDT_CHUNK(s, 68)) \
	, [nopal_t2] "n"(NOPAL_SDT_CHUNK(s, 72)) \
	, [nopal_t3] "n"(NOPAL_SDT_CHUNK(s, 76)) \
	, [nopal_t4] "n"(NOPAL_SDT_CHUNK(s, 80)) \
	, [nopal_t5] "n"(NOPAL_SDT_CHUNK(s, 84)) \
	, [nopal_t6] "n"(NOPAL_SDT_CHUNK(s, 88)) \
	, [nopal_t7] "n"(NOPAL_SDT_CHUNK(s, 92)) \
	, [nopal_t8] "n"(NOPAL_SDT_CHUNK(s, 96)) \
	, [nopal_t9] "n"(NOPAL_SDT_CHUNK(s, 100)) \
	, [nopal_t10] "n"(NOPAL_SDT_CHUNK(s, 104)) \
	, [nopal_t11] "n"(NOPAL_SDT_CHUNK(s, 108)) \
	, [nopal_t12] "n"(NOPAL_SDT_CHUNK(s, 112)) \
	, [nopal_t13] "n"(NOPAL_SDT_CHUNK(s, 116)) \
	, [nopal_t14] "n"(NOPAL_SDT_CHUNK(s, 120)) \
	, [nopal_t15] "n"(NOPAL_SDT_CHUNK(s, 124)) \
	, [nopal_t16] "n"(NOPAL_SDT_CHUNK(s, 128)) \
	, [nopal_t17] "n"(NOPAL_SDT_CHUNK(s, 132)) \
	, [nopal_t18] "n"(NOPAL_SDT_CHUNK(s, 136)) \
	, [nopal_t19] "n"(NOPAL_SDT_CHUNK(s, 140)) \
	, [nopal_t20] "n"(NOPAL_SDT_CHUNK(s, 144)) \
	, [nopal_t21] "n"(NOPAL_SDT_CHUNK(s, 148)) \
	, [nopal_t22] "n"(NOPAL_SDT_CHUNK(s, 152)) \
	, [nopal_t23] "n"(NOPAL_SDT_CHUNK(s, 156)) \
	, [nopal_t24] "n"(NOPAL_SDT_CHUNK(s, 160)) \
	, [nopal_t25] "n"(NOPAL_SDT_CHUNK(s, 164)) \
	, [nopal_t26] "n"(NOPAL_SDT_CHUNK(s, 168)) \
	, [nopal_t27] "n"(NOPAL_SDT_CHUNK(s, 172))
#endif
#endif

/* ---- Probes ---------------------------------------------------------------------------------- */

/* inputs, checks: the arguments in parentheses, "(c, a1, a2)" and "(a1, a2)". `more` is assembler
 * text after the probe; `source` is the source text of the probe's arguments. */
#define NOPAL_SDT_PROBE(provider, name, n, more, semaphore, source, inputs, checks, ...)           \
	do {                                                                                       \
		NOPAL_SDT_CHECKS_##n checks                                                        \
		NOPAL_SDT_QUIET                                                                    \
		NOPAL_SDT_ASM(NOPAL_SDT_BODY(provider, name, semaphore, NOPAL_SDT_TEXT_##n, __VA_ARGS__) \
			      more NOPAL_SDT_DESCRIBE(n)                                           \
			      :                                                                    \
			      : [nopal_file] "n"((int)sizeof(__FILE__) - 1),                       \
				[nopal_text] "n"((int)sizeof(source) - 1) NOPAL_SDT_INPUTS_##n inputs); \
		NOPAL_SDT_LOUD                                                                     \
		NOPAL_SDT_DESCRIBE_TEXT(provider, name, source)                                    \
	} while (0)

/* NOPAL_PROBE counts its arguments, including provider and name. */
#define NOPAL_SDT_COUNT_(p, n, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, \
			 b1, b2, b3, b4, b5, b6, b7, b8, count, ...) count
#define NOPAL_SDT_COUNT(...)                                                      \
	NOPAL_SDT_COUNT_(__VA_ARGS__, many, many, many, many, many, many, many, many, \
			 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, none, none)
/* Any other number causes an error that contains this name. */
#define NOPAL_SDT_TOO_MANY a_probe_has_at_most_12_arguments
#define NOPAL_SDT_TOO_FEW a_probe_needs_a_provider_and_a_name
#define NOPAL_SDT_PASTE_(a, b) a##b
#define NOPAL_SDT_PASTE(a, b)  NOPAL_SDT_PASTE_(a, b)

#define NOPAL_PROBE(...) \
	NOPAL_SDT_PASTE(NOPAL_SDT_PROBE_, NOPAL_SDT_COUNT(__VA_ARGS__))(#__VA_ARGS__, __VA_ARGS__)
#define NOPAL_SDT_OWN(source, p, n, count, inputs, checks)                                    \
	NOPAL_SDT_PROBE(p, n, count, NOPAL_SDT_SEMA_USE(NOPAL_SDT_SEMA(p, n)),                \
			NOPAL_SDT_SEMA(p, n), source, inputs, checks, NOPAL_SDT_NOP)
#define NOPAL_SDT_PROBE_many(...) NOPAL_SDT_TOO_MANY
#define NOPAL_SDT_PROBE_none(...) NOPAL_SDT_TOO_FEW
#define NOPAL_SDT_PROBE_0(s, p, n) NOPAL_SDT_OWN(s, p, n, 0, (NOPAL), ())
#define NOPAL_SDT_PROBE_1(s, p, n, a1) \
	NOPAL_SDT_OWN(s, p, n, 1, (NOPAL, a1), (a1))
#define NOPAL_SDT_PROBE_2(s, p, n, a1, a2) \
	NOPAL_SDT_OWN(s, p, n, 2, (NOPAL, a1, a2), (a1, a2))
#define NOPAL_SDT_PROBE_3(s, p, n, a1, a2, a3) \
	NOPAL_SDT_OWN(s, p, n, 3, (NOPAL, a1, a2, a3), (a1, a2, a3))
#define NOPAL_SDT_PROBE_4(s, p, n, a1, a2, a3, a4) \
	NOPAL_SDT_OWN(s, p, n, 4, (NOPAL, a1, a2, a3, a4), (a1, a2, a3, a4))
#define NOPAL_SDT_PROBE_5(s, p, n, a1, a2, a3, a4, a5) \
	NOPAL_SDT_OWN(s, p, n, 5, (NOPAL, a1, a2, a3, a4, a5), (a1, a2, a3, a4, a5))
#define NOPAL_SDT_PROBE_6(s, p, n, a1, a2, a3, a4, a5, a6) \
	NOPAL_SDT_OWN(s, p, n, 6, (NOPAL, a1, a2, a3, a4, a5, a6), (a1, a2, a3, a4, a5, a6))
#define NOPAL_SDT_PROBE_7(s, p, n, a1, a2, a3, a4, a5, a6, a7) \
	NOPAL_SDT_OWN(s, p, n, 7, (NOPAL, a1, a2, a3, a4, a5, a6, a7), (a1, a2, a3, a4, a5, a6, a7))
#define NOPAL_SDT_PROBE_8(s, p, n, a1, a2, a3, a4, a5, a6, a7, a8) \
	NOPAL_SDT_OWN(s, p, n, 8, (NOPAL, a1, a2, a3, a4, a5, a6, a7, a8), (a1, a2, a3, a4, a5, a6, a7, a8))
#define NOPAL_SDT_PROBE_9(s, p, n, a1, a2, a3, a4, a5, a6, a7, a8, a9) \
	NOPAL_SDT_OWN(s, p, n, 9, (NOPAL, a1, a2, a3, a4, a5, a6, a7, a8, a9), (a1, a2, a3, a4, a5, a6, a7, a8, a9))
#define NOPAL_SDT_PROBE_10(s, p, n, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
	NOPAL_SDT_OWN(s, p, n, 10, (NOPAL, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10), (a1, a2, a3, a4, a5, a6, a7, a8, a9, a10))
#define NOPAL_SDT_PROBE_11(s, p, n, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
	NOPAL_SDT_OWN(s, p, n, 11, (NOPAL, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11), (a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11))
#define NOPAL_SDT_PROBE_12(s, p, n, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
	NOPAL_SDT_OWN(s, p, n, 12, (NOPAL, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12), (a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12))

/* Is the probe being traced? Its semaphore is defined here, on first use. In templates within a
 * namespace, g++ drops the asm name of a declaration, so the load is written in assembler for
 * the CPUs below (on other CPUs such templates do not link). */
#if defined __cplusplus && !defined __clang__ && defined __x86_64__
#define NOPAL_SDT_LOAD(symbol) /* also for -masm=intel */              \
	"{movw " NOPAL_SDT_STR(symbol) "(%%rip), %0|mov %0, WORD PTR " \
	NOPAL_SDT_STR(symbol) "[rip]}\n"
#elif defined __cplusplus && !defined __clang__ && defined __aarch64__
#define NOPAL_SDT_LOAD(symbol)              \
	NOPAL_SDT_LINE(adrp %x0, symbol)    \
	NOPAL_SDT_LINE(ldrh %w0, [%x0, :lo12:symbol])
#elif defined __cplusplus && !defined __clang__ && defined __riscv
#define NOPAL_SDT_LOAD(symbol)              \
	NOPAL_SDT_LINE(lla %0, symbol)      \
	NOPAL_SDT_LINE(lhu %0, 0(%0))
#endif
#ifdef NOPAL_SDT_LOAD
#define NOPAL_ENABLED(provider, name)                                                          \
	(__extension__({                                                                       \
		unsigned short nopal_sdt_active;                                               \
		NOPAL_SDT_ASM(NOPAL_SDT_SEMA_MAKE(NOPAL_SDT_SEMA(provider, name))              \
			      NOPAL_SDT_LOAD(NOPAL_SDT_SEMA(provider, name))                   \
			      : "=r"(nopal_sdt_active));                                       \
		__builtin_expect(nopal_sdt_active != 0, 0);                                    \
	}))
#else
#define NOPAL_ENABLED(provider, name)                                                          \
	(__extension__({                                                                       \
		NOPAL_SDT_QUIET                                                                \
		extern volatile unsigned short NOPAL_SDT_SEMA(provider, name)                  \
			__asm__(NOPAL_SDT_STR(NOPAL_SDT_SEMA(provider, name)))                 \
				__attribute__((__visibility__("hidden")));                     \
		NOPAL_SDT_ASM(NOPAL_SDT_SEMA_MAKE(NOPAL_SDT_SEMA(provider, name)) : : "n"(0)); \
		NOPAL_SDT_LOUD                                                                 \
		__builtin_expect(NOPAL_SDT_SEMA(provider, name) != 0, 0);                      \
	}))
#endif

#endif /* not __ASSEMBLER__ */
#endif
/* clang-format on */
