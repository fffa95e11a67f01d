/* The tracing side of tests/cli/runtime_storm.bats: attach to the process of storm.c, look at what
 * comes, detach; again and again in one process.
 *
 *	storm_tracer PID CYCLES [calm]
 *
 * Each value follows from the first, so a wrong one is seen. From the first event of a thread to
 * its last none is missing: what the maps have is what was fired, and records that were delivered
 * and lost make the same number. `calm`: of a process whose code is translated no event comes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "held.h"

#include "nopal/trace.h"

static const char stormy[] =
	"usdt::storm:steady { if (arg1 != ~arg0 || arg2 != arg0 * 3 || arg3 != (arg0 ^ 5) || "
	"arg4 != arg0 + 6 || arg5 != arg0 - 7 || arg6 != arg0 + 8) { @wrong = count() } "
	"@n = count(); @first[arg0 >> 32] = min(arg0); @last[arg0 >> 32] = max(arg0); "
	"printf(\"%lu %lu\\n\", arg0, arg1) } "
	"usdt:*:restless:probe { if (arg1 != ~arg0) { @wrong = count() } @restless = count() }";
static const char calm_script[] = "usdt::storm:steady { @n = count() }";

static struct {
	unsigned long long events, records, lost, restless, wrong;
} total;

/* ---- Records ---- */

static char line[128];
static size_t line_len;
static unsigned long long lines;

static void end_line(void)
{
	unsigned long long a, b;

	line[line_len] = '\0';
	line_len = 0;
	if (!*line || *line == '@')
		return;
	lines++;
	if (sscanf(line, "%llu %llu", &a, &b) != 2 || a != ~b) {
		fprintf(stderr, "storm_tracer: wrong record '%s'\n", line);
		total.wrong++;
	}
}

static void take_text(void *arg, const char *text, size_t len)
{
	(void)arg;
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\n')
			end_line();
		else if (line_len + 1 < sizeof(line))
			line[line_len++] = text[i];
}

static void drop_text(void *arg, const char *text, size_t len)
{
	(void)arg, (void)text, (void)len;
}

/* ---- Maps ---- */

static int add_number(void *arg, const struct nopal_map_entry *entry)
{
	*(unsigned long long *)arg += (unsigned long long)entry->number;
	return 0;
}

static int add_one(void *arg, const struct nopal_map_entry *entry)
{
	(void)entry;
	++*(unsigned long long *)arg;
	return 0;
}

static unsigned long long sum(struct nopal_trace *t, const char *map, nopal_map_fn *fn)
{
	unsigned long long n = 0;

	nopal_trace_map(t, map, fn, &n, NULL);
	return n;
}

/* ---- Cycles ---- */

static void fail(const char *what, struct nopal_diag *d)
{
	fprintf(stderr, "storm_tracer: %s: %s\n", what, d ? nopal_diag_text(d) : "");
	exit(1);
}

static void check(struct nopal_trace *t, unsigned long cycle)
{
	unsigned long long n = sum(t, "n", add_number), threads = sum(t, "last", add_one);
	unsigned long long fired =
		sum(t, "last", add_number) - sum(t, "first", add_number) + threads;
	struct nopal_trace_stats s;

	nopal_trace_stats(t, &s);
	total.events += n;
	total.records += s.records;
	total.lost += s.lost_records;
	total.restless += sum(t, "restless", add_number);
	total.wrong += sum(t, "wrong", add_number);
	if (n != fired || s.records + s.lost_records != n || s.records != lines || s.lost_updates ||
	    s.lost_runs) {
		fprintf(stderr,
			"storm_tracer: cycle %lu: %llu fired, %llu counted, %llu records, %llu "
			"lines, %llu lost, %llu updates lost, %llu runs lost\n",
			cycle, fired, n, (unsigned long long)s.records, lines,
			(unsigned long long)s.lost_records, (unsigned long long)s.lost_updates,
			(unsigned long long)s.lost_runs);
		total.wrong++;
	}
}

static void run_cycle(pid_t pid, unsigned long cycle, bool calm)
{
	struct nopal_trace_options options = {
		.size = sizeof(options),
		.pid = pid,
		.ring_bytes = 1 << 18, /* small, so that it is full now and then */
		.output = take_text,
		.notice = drop_text,
	};
	struct nopal_diag *d = nopal_diag_new();
	struct nopal_trace *t = NULL;

	lines = line_len = 0;
	if (nopal_trace_open(calm ? calm_script : stormy, &options, &t, d) ||
	    nopal_trace_attach(t, d))
		fail("cannot attach", d);
	for (int i = 0; i < (calm ? 2 : 1000) && !lines; i++)
		if (nopal_trace_poll(t, 10, d) < 0)
			fail("cannot poll", d);
	if (nopal_trace_finish(t, d))
		fail("cannot finish", d);
	if (!calm && !lines)
		fail("no event in a cycle", d);
	if (calm)
		total.wrong += sum(t, "n", add_number);
	else
		check(t, cycle);
	nopal_trace_close(t);
	nopal_diag_free(d);
}

int main(int argc, char **argv)
{
	pid_t pid = argc > 2 ? atoi(argv[1]) : 0;
	unsigned long cycles = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	bool calm = argc > 3;
	int files_before = 0;
	long pages = 0;

	for (unsigned long i = 0; i < cycles; i++) {
		run_cycle(pid, i, calm);
		if (i == 2)
			files_before = files();
		if (i == cycles / 4)
			pages = resident_pages();
	}
	if (cycles > 3 && files() != files_before)
		printf("%d descriptors more\n", files() - files_before), total.wrong++;
	printf("memory %+ld KiB\n", (resident_pages() - pages) * 4);
	printf("%lu cycles: %llu events of storm, %llu records, %llu lost, %llu of restless, %llu "
	       "wrong\n",
	       cycles, total.events, total.records, total.lost, total.restless, total.wrong);
	return total.wrong != 0;
}
