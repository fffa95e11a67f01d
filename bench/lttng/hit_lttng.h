/* The event of bench/hits.c for LTTng-UST. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "bench/lttng/hit_lttng.h"

#if !defined(HIT_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define HIT_LTTNG_H

#include <lttng/tracepoint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(bench, hit,
	LTTNG_UST_TP_ARGS(int, number, const char *, text),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, number, number)
		lttng_ust_field_string(text, text)
	)
)
/* clang-format on */
#endif

#include <lttng/tracepoint-event.h>
