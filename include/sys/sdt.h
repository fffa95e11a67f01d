/* SPDX-License-Identifier: 0BSD
 *
 * <sys/sdt.h>: the macros of SystemTap's header, on top of <nopal/sdt.h>.
 *
 * In C and C++: STAP_PROBE(provider, name), STAP_PROBE1 to STAP_PROBE12 and their other names
 * DTRACE_PROBE and DTRACE_PROBE1 to 12; with SDT_USE_VARIADIC defined before, STAP_PROBEV. In asm
 * statements: STAP_PROBE_ASM, STAP_PROBE_ASM_TEMPLATE and STAP_PROBE_ASM_OPERANDS. In assembler
 * files the same STAP_PROBEn and DTRACE_PROBEn take operands as text.
 *
 * _SDT_HAS_SEMAPHORES, defined before: every probe of this file has a semaphore that the program
 * declares, `unsigned short PROVIDER_NAME_semaphore` in section .probes. STAP_SDT_ARG_CONSTRAINT,
 * defined before: the asm constraint of arguments. There is no STAP_PROBE0: some programs
 * define their own. */
#ifndef _SYS_SDT_H
#define _SYS_SDT_H 1

#ifdef __has_include
#if __has_include(<nopal/sdt.h>)
#include <nopal/sdt.h>
#else
#include "../nopal/sdt.h"
#endif
#else
#include <nopal/sdt.h>
#endif
/* clang-format off */
#if defined __GNUC__ && !defined __ASSEMBLER__
#pragma GCC system_header
#endif

/* Names that others ask for. */
#define _SDT_NOTE_NAME "stapsdt"
#define _SDT_NOTE_TYPE 3
#define _SDT_NOP NOPAL_SDT_NOP
#define _SDT_ASM_ADDR NOPAL_SDT_WORD
#define _SDT_ASM_SECTION_AUTOGROUP_SUPPORT 1
#define _SDT_ASM_SECTION_RETAIN_SUPPORT 1
#define _SDT_ASM_AUTOGROUP "?"

/* The symbol that the note names, and a use of it that the compiler sees. */
#ifdef _SDT_HAS_SEMAPHORES
#define NOPAL_STAP_SEMA(provider, name) provider##_##name##_semaphore
#define NOPAL_STAP_SEMA_USE(provider, name) \
	__asm__ __volatile__("" : : "m"(provider##_##name##_semaphore));
#define NOPAL_STAP_SEMA_PAGE NOPAL_SDT_PAGE
#else
#ifdef __ASSEMBLER__
#define NOPAL_STAP_SEMA_PAGE
#else
#define NOPAL_STAP_SEMA_PAGE ""
#endif
#define NOPAL_STAP_SEMA(provider, name) 0
#define NOPAL_STAP_SEMA_USE(provider, name)
#endif

#ifdef __ASSEMBLER__
#define NOPAL_STAP_OPERANDS(text) .ascii NOPAL_SDT_QUOTED(text);
#define NOPAL_STAP(p, n, count, text) \
	NOPAL_SDT_BODY(p, n, NOPAL_STAP_SEMA(p, n), NOPAL_STAP_OPERANDS(text), NOPAL_SDT_NOP) \
	NOPAL_STAP_SEMA_PAGE
#define STAP_PROBE(p, n) \
	NOPAL_SDT_BODY(p, n, NOPAL_STAP_SEMA(p, n), , NOPAL_SDT_NOP) \
	NOPAL_STAP_SEMA_PAGE
#define STAP_PROBE1(p, n, a1) NOPAL_STAP(p, n, 1, a1)
#define STAP_PROBE2(p, n, a1, a2) NOPAL_STAP(p, n, 2, a1 a2)
#define STAP_PROBE3(p, n, a1, a2, a3) NOPAL_STAP(p, n, 3, a1 a2 a3)
#define STAP_PROBE4(p, n, a1, a2, a3, a4) NOPAL_STAP(p, n, 4, a1 a2 a3 a4)
#define STAP_PROBE5(p, n, a1, a2, a3, a4, a5) NOPAL_STAP(p, n, 5, a1 a2 a3 a4 a5)
#define STAP_PROBE6(p, n, a1, a2, a3, a4, a5, a6) NOPAL_STAP(p, n, 6, a1 a2 a3 a4 a5 a6)
#define STAP_PROBE7(p, n, a1, a2, a3, a4, a5, a6, a7) NOPAL_STAP(p, n, 7, a1 a2 a3 a4 a5 a6 a7)
#define STAP_PROBE8(p, n, a1, a2, a3, a4, a5, a6, a7, a8) NOPAL_STAP(p, n, 8, a1 a2 a3 a4 a5 a6 a7 a8)
#define STAP_PROBE9(p, n, a1, a2, a3, a4, a5, a6, a7, a8, a9) NOPAL_STAP(p, n, 9, a1 a2 a3 a4 a5 a6 a7 a8 a9)
#define STAP_PROBE10(p, n, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) NOPAL_STAP(p, n, 10, a1 a2 a3 a4 a5 a6 a7 a8 a9 a10)
#define STAP_PROBE11(p, n, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) NOPAL_STAP(p, n, 11, a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 a11)
#define STAP_PROBE12(p, n, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) NOPAL_STAP(p, n, 12, a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 a11 a12)
#define DTRACE_PROBE STAP_PROBE
#define DTRACE_PROBE1 STAP_PROBE1
#define DTRACE_PROBE2 STAP_PROBE2
#define DTRACE_PROBE3 STAP_PROBE3
#define DTRACE_PROBE4 STAP_PROBE4
#define DTRACE_PROBE5 STAP_PROBE5
#define DTRACE_PROBE6 STAP_PROBE6
#define DTRACE_PROBE7 STAP_PROBE7
#define DTRACE_PROBE8 STAP_PROBE8
#define DTRACE_PROBE9 STAP_PROBE9
#define DTRACE_PROBE10 STAP_PROBE10
#define DTRACE_PROBE11 STAP_PROBE11
#define DTRACE_PROBE12 STAP_PROBE12
#else

/* Who chooses the constraint. */
#ifdef STAP_SDT_ARG_CONSTRAINT
#define NOPAL_SDT_CONSTRAINT_STAP(n) NOPAL_SDT_STR(STAP_SDT_ARG_CONSTRAINT)
#define NOPAL_SDT_BOX_STAP(n) 0
#else
#define NOPAL_SDT_CONSTRAINT_STAP(n) NOPAL_SDT_CONSTRAINT_NOPAL(n)
#define NOPAL_SDT_BOX_STAP(n) NOPAL_SDT_BOX_NOPAL(n)
#endif

#define NOPAL_STAP(source, p, n, count, inputs, checks)                                    \
	do {                                                                               \
		NOPAL_STAP_SEMA_USE(p, n)                                                  \
		NOPAL_SDT_PROBE(p, n, count, NOPAL_STAP_SEMA_PAGE, NOPAL_STAP_SEMA(p, n),  \
				source, inputs, checks, NOPAL_SDT_NOP);                    \
	} while (0)
#define NOPAL_STAP_0(s, p, n) NOPAL_STAP(s, p, n, 0, (STAP), ())
#define NOPAL_STAP_1(s, p, n, a1) \
	NOPAL_STAP(s, p, n, 1, (STAP, a1), (a1))
#define NOPAL_STAP_2(s, p, n, a1, a2) \
	NOPAL_STAP(s, p, n, 2, (STAP, a1, a2), (a1, a2))
#define NOPAL_STAP_3(s, p, n, a1, a2, a3) \
	NOPAL_STAP(s, p, n, 3, (STAP, a1, a2, a3), (a1, a2, a3))
#define NOPAL_STAP_4(s, p, n, a1, a2, a3, a4) \
	NOPAL_STAP(s, p, n, 4, (STAP, a1, a2, a3, a4), (a1, a2, a3, a4))
#define NOPAL_STAP_5(s, p, n, a1, a2, a3, a4, a5) \
	NOPAL_STAP(s, p, n, 5, (STAP, a1, a2, a3, a4, a5), (a1, a2, a3, a4, a5))
#define NOPAL_STAP_6(s, p, n, a1, a2, a3, a4, a5, a6) \
	NOPAL_STAP(s, p, n, 6, (STAP, a1, a2, a3, a4, a5, a6), (a1, a2, a3, a4, a5, a6))
#define NOPAL_STAP_7(s, p, n, a1, a2, a3, a4, a5, a6, a7) \
	NOPAL_STAP(s, p, n, 7, (STAP, a1, a2, a3, a4, a5, a6, a7), (a1, a2, a3, a4, a5, a6, a7))
#define NOPAL_STAP_8(s, p, n, a1, a2, a3, a4, a5, a6, a7, a8) \
	NOPAL_STAP(s, p, n, 8, (STAP, a1, a2, a3, a4, a5, a6, a7, a8), (a1, a2, a3, a4, a5, a6, a7, a8))
#define NOPAL_STAP_9(s, p, n, a1, a2, a3, a4, a5, a6, a7, a8, a9) \
	NOPAL_STAP(s, p, n, 9, (STAP, a1, a2, a3, a4, a5, a6, a7, a8, a9), (a1, a2, a3, a4, a5, a6, a7, a8, a9))
#define NOPAL_STAP_10(s, p, n, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
	NOPAL_STAP(s, p, n, 10, (STAP, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10), (a1, a2, a3, a4, a5, a6, a7, a8, a9, a10))
#define NOPAL_STAP_11(s, p, n, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
	NOPAL_STAP(s, p, n, 11, (STAP, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11), (a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11))
#define NOPAL_STAP_12(s, p, n, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
	NOPAL_STAP(s, p, n, 12, (STAP, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12), (a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12))

/* Variadic, so that the source text is available: (provider, name, arguments). */
#define STAP_PROBE(...) NOPAL_STAP_0(#__VA_ARGS__, __VA_ARGS__)
#define STAP_PROBE1(...) NOPAL_STAP_1(#__VA_ARGS__, __VA_ARGS__)
#define STAP_PROBE2(...) NOPAL_STAP_2(#__VA_ARGS__, __VA_ARGS__)
#define STAP_PROBE3(...) NOPAL_STAP_3(#__VA_ARGS__, __VA_ARGS__)
#define STAP_PROBE4(...) NOPAL_STAP_4(#__VA_ARGS__, __VA_ARGS__)
#define STAP_PROBE5(...) NOPAL_STAP_5(#__VA_ARGS__, __VA_ARGS__)
#define STAP_PROBE6(...) NOPAL_STAP_6(#__VA_ARGS__, __VA_ARGS__)
#define STAP_PROBE7(...) NOPAL_STAP_7(#__VA_ARGS__, __VA_ARGS__)
#define STAP_PROBE8(...) NOPAL_STAP_8(#__VA_ARGS__, __VA_ARGS__)
#define STAP_PROBE9(...) NOPAL_STAP_9(#__VA_ARGS__, __VA_ARGS__)
#define STAP_PROBE10(...) NOPAL_STAP_10(#__VA_ARGS__, __VA_ARGS__)
#define STAP_PROBE11(...) NOPAL_STAP_11(#__VA_ARGS__, __VA_ARGS__)
#define STAP_PROBE12(...) NOPAL_STAP_12(#__VA_ARGS__, __VA_ARGS__)

/* As many arguments as there are. */
#ifdef SDT_USE_VARIADIC
#define NOPAL_STAP_many(...) NOPAL_SDT_TOO_MANY
#define NOPAL_STAP_none(...) NOPAL_SDT_TOO_FEW
#define STAP_PROBEV(...) \
	NOPAL_SDT_PASTE(NOPAL_STAP_, NOPAL_SDT_COUNT(__VA_ARGS__))(#__VA_ARGS__, __VA_ARGS__)
#endif

/* A probe inside an asm statement: STAP_PROBE_ASM(provider, name, operands as text), or
 * STAP_PROBE_ASM(provider, name, STAP_PROBE_ASM_TEMPLATE(2)) with STAP_PROBE_ASM_OPERANDS(2, a, b)
 * among the statement's inputs. The template is 14 macro arguments, which text never is: that distinguishes the two. */
#define STAP_PROBE_ASM(provider, ...)                                                    \
	NOPAL_SDT_PASTE(NOPAL_STAP_ASM_, NOPAL_STAP_ASM_KIND(__VA_ARGS__))               \
	(provider, __VA_ARGS__)
#define STAP_PROBE_ASM_TEMPLATE(n) NOPAL_SDT_TEXT_##n "", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
#define NOPAL_STAP_ASM_KIND(...)                                                         \
	NOPAL_STAP_ASM_KIND_(__VA_ARGS__, TEMPLATE, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, \
			     TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, NONE, 0)
#define NOPAL_STAP_ASM_KIND_(n, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, kind, ...) kind
#define NOPAL_STAP_ASM_NONE(p, n) \
	NOPAL_SDT_BODY(p, n, NOPAL_STAP_SEMA(p, n), "", NOPAL_SDT_NOP)
#define NOPAL_STAP_ASM_TEXT(p, n, ...) \
	NOPAL_SDT_BODY(p, n, NOPAL_STAP_SEMA(p, n), NOPAL_SDT_LINE(.ascii #__VA_ARGS__), NOPAL_SDT_NOP)
#define NOPAL_STAP_ASM_TEMPLATE(p, n, text, ...) \
	NOPAL_SDT_BODY(p, n, NOPAL_STAP_SEMA(p, n), text, NOPAL_SDT_NOP)

/* NOPAL_SDT_INPUTS_n begins with a comma; a first input that says nothing goes before it. */
#define STAP_PROBE_ASM_OPERANDS(n, ...) NOPAL_STAP_ASM_OPERANDS_##n(__VA_ARGS__)
#define NOPAL_STAP_ASM_OPERANDS_0() "n"(0)
#define NOPAL_STAP_ASM_OPERANDS_1(a1) "n"(0) NOPAL_SDT_INPUTS_1(STAP, a1)
#define NOPAL_STAP_ASM_OPERANDS_2(a1, a2) "n"(0) NOPAL_SDT_INPUTS_2(STAP, a1, a2)
#define NOPAL_STAP_ASM_OPERANDS_3(a1, a2, a3) "n"(0) NOPAL_SDT_INPUTS_3(STAP, a1, a2, a3)
#define NOPAL_STAP_ASM_OPERANDS_4(a1, a2, a3, a4) "n"(0) NOPAL_SDT_INPUTS_4(STAP, a1, a2, a3, a4)
#define NOPAL_STAP_ASM_OPERANDS_5(a1, a2, a3, a4, a5) "n"(0) NOPAL_SDT_INPUTS_5(STAP, a1, a2, a3, a4, a5)
#define NOPAL_STAP_ASM_OPERANDS_6(a1, a2, a3, a4, a5, a6) "n"(0) NOPAL_SDT_INPUTS_6(STAP, a1, a2, a3, a4, a5, a6)
#define NOPAL_STAP_ASM_OPERANDS_7(a1, a2, a3, a4, a5, a6, a7) "n"(0) NOPAL_SDT_INPUTS_7(STAP, a1, a2, a3, a4, a5, a6, a7)
#define NOPAL_STAP_ASM_OPERANDS_8(a1, a2, a3, a4, a5, a6, a7, a8) "n"(0) NOPAL_SDT_INPUTS_8(STAP, a1, a2, a3, a4, a5, a6, a7, a8)
#define NOPAL_STAP_ASM_OPERANDS_9(a1, a2, a3, a4, a5, a6, a7, a8, a9) "n"(0) NOPAL_SDT_INPUTS_9(STAP, a1, a2, a3, a4, a5, a6, a7, a8, a9)
#define NOPAL_STAP_ASM_OPERANDS_10(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) "n"(0) NOPAL_SDT_INPUTS_10(STAP, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10)
#define NOPAL_STAP_ASM_OPERANDS_11(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) "n"(0) NOPAL_SDT_INPUTS_11(STAP, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11)
#define NOPAL_STAP_ASM_OPERANDS_12(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) "n"(0) NOPAL_SDT_INPUTS_12(STAP, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12)

#define DTRACE_PROBE(...) NOPAL_STAP_0(#__VA_ARGS__, __VA_ARGS__)
#define DTRACE_PROBE1(...) NOPAL_STAP_1(#__VA_ARGS__, __VA_ARGS__)
#define DTRACE_PROBE2(...) NOPAL_STAP_2(#__VA_ARGS__, __VA_ARGS__)
#define DTRACE_PROBE3(...) NOPAL_STAP_3(#__VA_ARGS__, __VA_ARGS__)
#define DTRACE_PROBE4(...) NOPAL_STAP_4(#__VA_ARGS__, __VA_ARGS__)
#define DTRACE_PROBE5(...) NOPAL_STAP_5(#__VA_ARGS__, __VA_ARGS__)
#define DTRACE_PROBE6(...) NOPAL_STAP_6(#__VA_ARGS__, __VA_ARGS__)
#define DTRACE_PROBE7(...) NOPAL_STAP_7(#__VA_ARGS__, __VA_ARGS__)
#define DTRACE_PROBE8(...) NOPAL_STAP_8(#__VA_ARGS__, __VA_ARGS__)
#define DTRACE_PROBE9(...) NOPAL_STAP_9(#__VA_ARGS__, __VA_ARGS__)
#define DTRACE_PROBE10(...) NOPAL_STAP_10(#__VA_ARGS__, __VA_ARGS__)
#define DTRACE_PROBE11(...) NOPAL_STAP_11(#__VA_ARGS__, __VA_ARGS__)
#define DTRACE_PROBE12(...) NOPAL_STAP_12(#__VA_ARGS__, __VA_ARGS__)
#endif /* not __ASSEMBLER__ */

#endif
/* clang-format on */
