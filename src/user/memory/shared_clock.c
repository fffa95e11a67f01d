/* The TSC as CLOCK_MONOTONIC. Traced processes multiply with what shared_clock.c last wrote; a call
 * of clock_gettime would cost them more than all the rest.
 *
 * A sample is a reading of both clocks at one moment, known to some 20 ns. Their rate comes from
 * two samples: the further they are apart, the better it is known, and the longer it may be used.
 * So the clock is corrected after a few milliseconds first, then after twice as long, at most after
 * a second: the kernel steers CLOCK_MONOTONIC, too. The line never jumps: a new one begins where
 * the old one has got to, and its slope leads it to where the clock will be at the next correction.
 */
#include "user/memory/shared_clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/file.h"
#include "user/inside/words.h"
#include "user/memory/store.h"

#define TRIES	   16
#define FIRST_NS   UINT64_C(2000000)	/* between the first two samples */
#define LONGEST_NS UINT64_C(1000000000) /* between corrections, and the longest baseline */
#define JUMP_NS	   1000000		/* further off: somebody stopped the machine */
#define ONE	   ((double)(UINT64_C(1) << 32))

#define CLOCK_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

uint64_t clock_line_ns(const struct clock_line *line, uint64_t tsc)
{
	uint64_t since = tsc - line->tsc, low, high;

	if (since >> 63) {
		multiply(-since, line->mult, &low, &high);
		return line->ns - (high << 32 | low >> 32);
	}
	multiply(since, line->mult, &low, &high);
	return line->ns + (high << 32 | low >> 32);
}

uint64_t clock_line_ticks(const struct clock_line *line, uint64_t ns)
{
	return line->mult ? (ns << 32) / line->mult : 0;
}

bool clock_fit_add(struct clock_fit *f, uint64_t tsc, uint64_t ns)
{
	double rate = (double)(ns - f->first_ns) / (double)(tsc - f->first_tsc); /* ns per tick */
	uint64_t span = ns - f->first_ns, period = span < LONGEST_NS ? span : LONGEST_NS;
	struct clock_line line = {.tsc = tsc, .ns = ns};
	double error = 0;
	bool jump;

	if (f->line.mult) {
		line.ns = clock_line_ns(&f->line, tsc);
		error = (double)(int64_t)(ns - line.ns);
	}
	jump = error > JUMP_NS || error < -JUMP_NS;
	if (jump) {
		line.ns = ns;
		error = 0;
	}
	line.mult = (uint64_t)(rate * (1 + error / (double)period) * ONE);
	f->line = line;
	f->next = tsc + (uint64_t)((double)period / rate);
	/* The baseline is the last period, or two: rates change with the temperature. */
	if (span >= LONGEST_NS || jump) {
		f->first_tsc = f->tsc ? f->tsc : tsc;
		f->first_ns = f->ns ? f->ns : ns;
	}
	f->tsc = tsc;
	f->ns = ns;
	return jump;
}

/* Both clocks at one moment: the try that was interrupted least. */
static void sample(uint64_t *tsc, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = read_tsc(), after;
		struct timespec now;

		clock_gettime(CLOCK_MONOTONIC, &now);
		after = read_tsc();
		if (after - before >= best)
			continue;
		best = after - before;
		*tsc = before + best / 2;
		*ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	}
}

/* Hand the line to the traced processes. */
static void publish(struct native_store *s)
{
	struct shared_clock *c = (struct shared_clock *)(void *)(s->base + s->layout.clock_at);
	uint64_t next = (word_load(&c->current) + 1) % CLOCKS;

	word_store(&c->lines[next].tsc, s->clock.line.tsc);
	word_store(&c->lines[next].ns, s->clock.line.ns);
	word_store(&c->lines[next].mult, s->clock.line.mult);
	word_release(&c->current, next);
}

void native_clock_start(struct native_store *s)
{
	struct timespec wait = {.tv_nsec = FIRST_NS};
	uint64_t tsc, ns;

	sample(&s->clock.first_tsc, &s->clock.first_ns);
	nanosleep(&wait, NULL);
	sample(&tsc, &ns);
	clock_fit_add(&s->clock, tsc, ns);
	publish(s);
}

void native_clock_tick(struct native_store *s)
{
	uint64_t tsc, ns;

	if (read_tsc() < s->clock.next)
		return;
	sample(&tsc, &ns);
	clock_fit_add(&s->clock, tsc, ns);
	publish(s);
}

#if defined(__x86_64__)
/* The kernel's own clocks that are the TSC times a factor. It chooses another when it finds out
 * that the TSC stops or changes its speed; what the CPU says of itself decides nothing in a virtual
 * machine. Linux, arch/x86/kernel/tsc.c, kvmclock.c; drivers/clocksource/hyperv_timer.c. */
static const char *const tsc_sources[] = {"tsc", "tsc-early", "kvm-clock",
					  "hyperv_clocksource_tsc_page"};

static bool is_tsc(const char *name)
{
	for (size_t i = 0; i < COUNT(tsc_sources); i++)
		if (strcmp(name, tsc_sources[i]) == 0)
			return true;
	return false;
}

bool native_clock_is_tsc(const char *path, char name[CLOCK_NAME])
{
	FILE *f = fopen(path ? path : CLOCK_SOURCE, "re");
	bool known = f && fgets(name, CLOCK_NAME, f);

	if (f)
		fclose(f);
	name[known ? strcspn(name, "\n") : 0] = '\0';
	return !known || is_tsc(name);
}
#else
bool native_clock_is_tsc(const char *path, char name[CLOCK_NAME])
{
	(void)path;
	name[0] = '\0';
	return true;
}
#endif
