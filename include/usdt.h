/* SPDX-License-Identifier: 0BSD
 *
 * <usdt.h>: the macros of libbpf's header, on top of <nopal/sdt.h>.
 *
 *	USDT(group, name, args...)				a probe
 *	USDT_WITH_SEMA(group, name, args...)			with its own semaphore,
 *	USDT_IS_ACTIVE(group, name)				which this asks
 *	USDT_DEFINE_SEMA(sema), USDT_DECLARE_SEMA(sema)		a semaphore for several probes,
 *	USDT_WITH_EXPLICIT_SEMA(sema, group, name, args...)	which use it,
 *	USDT_SEMA_IS_ACTIVE(sema)				and which this asks
 *
 * USDT_ARG_CONSTRAINT and USDT_NOP can be defined before the inclusion. */
#ifndef __USDT_H
#define __USDT_H

#ifdef __has_include
#if __has_include(<nopal/sdt.h>)
#include <nopal/sdt.h>
#else
#include "nopal/sdt.h"
#endif
#else
#include <nopal/sdt.h>
#endif
/* clang-format off */
#ifdef __GNUC__
#pragma GCC system_header
#endif

#define USDT_MAJOR_VERSION 0
#define USDT_MINOR_VERSION 1
#define USDT_PATCH_VERSION 0

struct usdt_sema {
	volatile unsigned short active;
};

/* What follows the site is the door as well, unless the user has an own nop. */
#ifndef USDT_NOP
#define USDT_NOP NOPAL_SDT_NOP
#endif
#ifdef USDT_ARG_CONSTRAINT
#define NOPAL_SDT_CONSTRAINT_USDT(n) NOPAL_SDT_STR(USDT_ARG_CONSTRAINT)
#define NOPAL_SDT_BOX_USDT(n) 0
#else
#define NOPAL_SDT_CONSTRAINT_USDT(n) NOPAL_SDT_CONSTRAINT_NOPAL(n)
#define NOPAL_SDT_BOX_USDT(n) NOPAL_SDT_BOX_NOPAL(n)
#endif

#define NOPAL_USDT_(g, n, count, make, sema, source, inputs, checks) \
	NOPAL_SDT_PROBE(g, n, count, make, sema, source, inputs, checks, USDT_NOP)
#define NOPAL_USDT_0(make, sema, s, g, n) NOPAL_USDT_(g, n, 0, make, sema, s, (USDT), ())
#define NOPAL_USDT_1(make, sema, s, g, n, a1) \
	NOPAL_USDT_(g, n, 1, make, sema, s, (USDT, a1), (a1))
#define NOPAL_USDT_2(make, sema, s, g, n, a1, a2) \
	NOPAL_USDT_(g, n, 2, make, sema, s, (USDT, a1, a2), (a1, a2))
#define NOPAL_USDT_3(make, sema, s, g, n, a1, a2, a3) \
	NOPAL_USDT_(g, n, 3, make, sema, s, (USDT, a1, a2, a3), (a1, a2, a3))
#define NOPAL_USDT_4(make, sema, s, g, n, a1, a2, a3, a4) \
	NOPAL_USDT_(g, n, 4, make, sema, s, (USDT, a1, a2, a3, a4), (a1, a2, a3, a4))
#define NOPAL_USDT_5(make, sema, s, g, n, a1, a2, a3, a4, a5) \
	NOPAL_USDT_(g, n, 5, make, sema, s, (USDT, a1, a2, a3, a4, a5), (a1, a2, a3, a4, a5))
#define NOPAL_USDT_6(make, sema, s, g, n, a1, a2, a3, a4, a5, a6) \
	NOPAL_USDT_(g, n, 6, make, sema, s, (USDT, a1, a2, a3, a4, a5, a6), (a1, a2, a3, a4, a5, a6))
#define NOPAL_USDT_7(make, sema, s, g, n, a1, a2, a3, a4, a5, a6, a7) \
	NOPAL_USDT_(g, n, 7, make, sema, s, (USDT, a1, a2, a3, a4, a5, a6, a7), (a1, a2, a3, a4, a5, a6, a7))
#define NOPAL_USDT_8(make, sema, s, g, n, a1, a2, a3, a4, a5, a6, a7, a8) \
	NOPAL_USDT_(g, n, 8, make, sema, s, (USDT, a1, a2, a3, a4, a5, a6, a7, a8), (a1, a2, a3, a4, a5, a6, a7, a8))
#define NOPAL_USDT_9(make, sema, s, g, n, a1, a2, a3, a4, a5, a6, a7, a8, a9) \
	NOPAL_USDT_(g, n, 9, make, sema, s, (USDT, a1, a2, a3, a4, a5, a6, a7, a8, a9), (a1, a2, a3, a4, a5, a6, a7, a8, a9))
#define NOPAL_USDT_10(make, sema, s, g, n, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
	NOPAL_USDT_(g, n, 10, make, sema, s, (USDT, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10), (a1, a2, a3, a4, a5, a6, a7, a8, a9, a10))
#define NOPAL_USDT_11(make, sema, s, g, n, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
	NOPAL_USDT_(g, n, 11, make, sema, s, (USDT, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11), (a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11))
#define NOPAL_USDT_12(make, sema, s, g, n, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
	NOPAL_USDT_(g, n, 12, make, sema, s, (USDT, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12), (a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12))
#define NOPAL_USDT_many(...) NOPAL_SDT_TOO_MANY
#define NOPAL_USDT_none(...) NOPAL_SDT_TOO_FEW
#define NOPAL_USDT_PICK(...) NOPAL_SDT_PASTE(NOPAL_USDT_, NOPAL_SDT_COUNT(__VA_ARGS__))

#define USDT(...) NOPAL_USDT_PICK(__VA_ARGS__)("", 0, #__VA_ARGS__, __VA_ARGS__)

/* The semaphore that belongs to a probe. */
#define USDT_WITH_SEMA(...)                                                       \
	NOPAL_USDT_PICK(__VA_ARGS__)(NOPAL_USDT_MAKE(__VA_ARGS__, 0),             \
				     NOPAL_USDT_OWN(__VA_ARGS__, 0), #__VA_ARGS__, __VA_ARGS__)
#define NOPAL_USDT_OWN(g, n, ...) NOPAL_SDT_SEMA(g, n)
#define NOPAL_USDT_MAKE(g, n, ...) NOPAL_SDT_SEMA_MAKE(NOPAL_SDT_SEMA(g, n))
#define USDT_IS_ACTIVE(group, name) NOPAL_ENABLED(group, name)

/* A semaphore that the program defines once and several probes share. */
#define USDT_SEMA(sema) __usdt_sema_##sema
#define USDT_DEFINE_SEMA(sema)                                                    \
	struct usdt_sema USDT_SEMA(sema) __asm__(NOPAL_SDT_STR(USDT_SEMA(sema)))  \
		__attribute__((__section__(".probes"), __visibility__("hidden"), __used__)) = {0}
#define USDT_DECLARE_SEMA(sema)                                                   \
	extern struct usdt_sema USDT_SEMA(sema)                                   \
		__asm__(NOPAL_SDT_STR(USDT_SEMA(sema)))                           \
		__attribute__((__visibility__("hidden")))
#define USDT_WITH_EXPLICIT_SEMA(sema, ...) \
	NOPAL_USDT_PICK(__VA_ARGS__)(NOPAL_SDT_PAGE, USDT_SEMA(sema), #__VA_ARGS__, __VA_ARGS__)
#define USDT_SEMA_IS_ACTIVE(sema) (USDT_SEMA(sema).active > 0)

#endif
/* clang-format on */
