/* Events that perf counts, by the names that scripts have for them: software and hardware probes.
 */
#include "script/parse/counters.h"

#include <linux/perf_event.h>

#include "base/array.h"

/* clang-format off */
static const struct counter counters[] = {
	/* type          name                  other spelling  perf's number                            every N */
	{ PROBE_SOFTWARE, "alignment-faults",    NULL,         PERF_COUNT_SW_ALIGNMENT_FAULTS,          1       },
	{ PROBE_SOFTWARE, "bpf-output",          NULL,         PERF_COUNT_SW_BPF_OUTPUT,                1       },
	{ PROBE_SOFTWARE, "context-switches",    "cs",         PERF_COUNT_SW_CONTEXT_SWITCHES,          1000    },
	{ PROBE_SOFTWARE, "cpu-clock",           "cpu",        PERF_COUNT_SW_CPU_CLOCK,                 1000000 },
	{ PROBE_SOFTWARE, "cpu-migrations",      NULL,         PERF_COUNT_SW_CPU_MIGRATIONS,            1       },
	{ PROBE_SOFTWARE, "dummy",               NULL,         PERF_COUNT_SW_DUMMY,                     1       },
	{ PROBE_SOFTWARE, "emulation-faults",    NULL,         PERF_COUNT_SW_EMULATION_FAULTS,          1       },
	{ PROBE_SOFTWARE, "major-faults",        NULL,         PERF_COUNT_SW_PAGE_FAULTS_MAJ,           1       },
	{ PROBE_SOFTWARE, "minor-faults",        NULL,         PERF_COUNT_SW_PAGE_FAULTS_MIN,           100     },
	{ PROBE_SOFTWARE, "page-faults",         "faults",     PERF_COUNT_SW_PAGE_FAULTS,               100     },
	{ PROBE_SOFTWARE, "task-clock",          NULL,         PERF_COUNT_SW_TASK_CLOCK,                1000000 },
	{ PROBE_HARDWARE, "backend-stalls",      NULL,         PERF_COUNT_HW_STALLED_CYCLES_BACKEND,    1000000 },
	{ PROBE_HARDWARE, "branch-instructions", "branches",   PERF_COUNT_HW_BRANCH_INSTRUCTIONS,       100000  },
	{ PROBE_HARDWARE, "branch-misses",       NULL,         PERF_COUNT_HW_BRANCH_MISSES,             100000  },
	{ PROBE_HARDWARE, "bus-cycles",          NULL,         PERF_COUNT_HW_BUS_CYCLES,                100000  },
	{ PROBE_HARDWARE, "cache-misses",        NULL,         PERF_COUNT_HW_CACHE_MISSES,              1000000 },
	{ PROBE_HARDWARE, "cache-references",    NULL,         PERF_COUNT_HW_CACHE_REFERENCES,          1000000 },
	{ PROBE_HARDWARE, "cpu-cycles",          "cycles",     PERF_COUNT_HW_CPU_CYCLES,                1000000 },
	{ PROBE_HARDWARE, "frontend-stalls",     NULL,         PERF_COUNT_HW_STALLED_CYCLES_FRONTEND,   1000000 },
	{ PROBE_HARDWARE, "instructions",        NULL,         PERF_COUNT_HW_INSTRUCTIONS,              1000000 },
	{ PROBE_HARDWARE, "ref-cycles",          NULL,         PERF_COUNT_HW_REF_CPU_CYCLES,            1000000 },
};
/* clang-format on */

const struct counter *counter_at(enum probe_type type, size_t n)
{
	for (size_t i = 0; i < COUNT(counters); i++)
		if (counters[i].type == type && !n--)
			return &counters[i];
	return NULL;
}

const struct counter *counter_find(enum probe_type type, struct str name)
{
	const struct counter *c;

	for (size_t i = 0; (c = counter_at(type, i)); i++)
		if (str_eq_text(name, c->name) || (c->other && str_eq_text(name, c->other)))
			return c;
	return NULL;
}

struct str counter_guess(enum probe_type type, struct str name)
{
	struct guess guess = {.nearest = 4};
	const struct counter *c;

	for (size_t i = 0; (c = counter_at(type, i)); i++) {
		guess_offer(&guess, name, str_from(c->name));
		if (c->other)
			guess_offer(&guess, name, str_from(c->other));
	}
	return guess.best;
}

unsigned counter_perf_type(enum probe_type type)
{
	return type == PROBE_HARDWARE ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
}
