/* Measures what an event costs at the probe, and what attaching costs: for an empty uprobe_multi
 * program, which is the floor, and for programs of our engine. Traces a site of its own.
 *
 *   engine attach        exec to attached: load, link, ready; then exit
 *   engine events [N]    ns per event: empty, count, count by text, printf; medians of rounds
 *   engine burst [N]     print N events as fast as possible: delivered, lost
 *   engine sites N       attach and detach N sites
 *
 * Times are medians; run it on a quiet machine. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "engine/bpf/kernel/bpf_syscall.h"
#include "engine/bpf/kernel/insn.h"
#include "engine/engine.h"

#define ROUNDS 61
extern char bench_sites[] __attribute__((visibility("hidden")));

/* One site for each thing that is measured, so that they can be measured in turns. */
#define SITE(n)                                                                     \
	extern char bench_site_##n[] __attribute__((visibility("hidden")));         \
	static __attribute__((noinline)) void fire_##n(long i, const char *text)    \
	{                                                                           \
		__asm__ volatile(".globl bench_site_" #n "\n.hidden bench_site_" #n \
				 "\nbench_site_" #n ": nop" ::"D"(i),               \
				 "S"(text));                                        \
	}
SITE(0)
SITE(1)
SITE(2)
SITE(3)
SITE(4)
SITE(5)

static const struct {
	char *site;
	void (*fire)(long i, const char *text);
} lanes[] = {{bench_site_0, fire_0}, {bench_site_1, fire_1}, {bench_site_2, fire_2},
	     {bench_site_3, fire_3}, {bench_site_4, fire_4}, {bench_site_5, fire_5}};

#define LANES 6

/* A row of sites that nothing runs. */
static __attribute__((noinline, used)) void row(void)
{
	__asm__ volatile("jmp 1f\n.globl bench_sites\n.hidden bench_sites\nbench_sites:\n"
			 ".rept 1000\nnop\n.endr\n1:");
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t offset_of(const char *address)
{
	unsigned long from, to, offset, at = (unsigned long)address, found = 0;
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx", &from, &to, &offset) == 3 && at >= from &&
		    at < to)
			found = at - from + offset;
	if (f)
		fclose(f);
	return found;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static uint64_t thread_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* By the thread's own clock: CPU time of readers and other processes does not count. */
static double cost_of(unsigned lane, long n)
{
	uint64_t from = thread_time();

	for (long i = 0; i < n; i++)
		lanes[lane].fire(i, "some text to read");
	return (double)(thread_time() - from) / (double)n;
}

/* Median cost of each lane; rounds in turns, since the machine's speed changes. */
static void measure(unsigned count, long n, double *median)
{
	static double cost[LANES][ROUNDS];

	for (int round = 0; round < ROUNDS; round++)
		for (unsigned lane = 0; lane < count; lane++)
			cost[lane][round] = cost_of(lane, n);
	for (unsigned lane = 0; lane < count; lane++) {
		qsort(cost[lane], ROUNDS, sizeof(double), compare);
		median[lane] = cost[lane][ROUNDS / 2];
	}
}

/* ---- the floor */

static int raw_attach(uint32_t flags, const uint64_t *offsets, uint32_t count)
{
	struct bpf_insn *insns = NULL;
	struct kernel_program p = {.type = BPF_PROG_TYPE_KPROBE,
				   .attach_type = KERNEL_ATTACH_UPROBE_MULTI,
				   .flags = flags};
	struct kernel_uprobes u = {.path = "/proc/self/exe", .offsets = offsets, .count = count};
	struct code c;
	int fd, link;

	code_init(&c);
	code_const(&c, R0, 0);
	code_exit(&c);
	if (code_finish(&c, &insns, &p.count))
		exit(1);
	p.insns = insns;
	fd = kernel_program_load(&p);
	link = fd < 0 ? fd : kernel_link_uprobes(fd, &u);
	if (link < 0) {
		fprintf(stderr, "engine: %s\n", strerror(-link));
		exit(1);
	}
	close(fd);
	free(insns);
	code_free(&c);
	return link;
}

/* ---- programs */

static const struct type none = {.kind = TYPE_NONE}, count_type = {.kind = TYPE_COUNT};
static const struct type text_type = {.kind = TYPE_STR, .size = 1024};
static const struct type print_types[] = {{.kind = TYPE_INT, .size = 4, .is_signed = true},
					  {.kind = TYPE_STR, .size = 1024}};
static const struct field print_fields[] = {{0, SLOT_NO}, {REG_NO, 0}};

static const struct insn count_code[] = {{.op = OP_AGGREGATE, .s = SLOT_NO, .a = REG_NO},
					 {.op = OP_RETURN}};
static const struct insn text_code[] = {{.op = OP_ARG, .d = 0, .imm = 1},
					{.op = OP_STR, .s = 0, .a = 0, .b = REG_NO},
					{.op = OP_AGGREGATE, .s = 0, .a = REG_NO},
					{.op = OP_RETURN}};
static const struct insn print_code[] = {
	{.op = OP_ARG, .d = 0, .imm = 0},
	{.op = OP_ARG, .d = 1, .imm = 1},
	{.op = OP_STR, .s = 0, .a = 1, .b = REG_NO},
	{.op = OP_EMIT, .imm = 0, .field_count = 2, .fields = print_fields},
	{.op = OP_RETURN}};

struct bench {
	const char *name;
	const struct insn *code;
	uint32_t count, slots;
	bool has_map, has_format;
	const struct type *key;
};

static const struct bench benches[] = {
	{"count()", count_code, 2, 0, true, false, &none},
	{"@[str(arg1)] = count()", text_code, 4, 1, true, false, &text_type},
	{"printf(int, str)", print_code, 5, 1, false, true, &none},
};

struct made {
	struct arena arena;
	struct program p;
	struct clause clause;
	struct attach attaches[1000];
	struct map_def map;
	struct format format;
	struct slot slot;
	struct str name;
	struct span span;
};

static void make(struct made *m, const struct bench *b, uint64_t offset, uint32_t sites)
{
	struct argument *args;
	unsigned count;

	memset(m, 0, sizeof(*m));
	arguments_parse(arch_host(), STR("-4@%edi 8@%rsi"), &m->arena, &args, &count);
	m->name = STR("usdt:self:bench:site");
	m->map = (struct map_def){STR("@"), *b->key, count_type, 4096};
	m->format = (struct format){.kind = FORMAT_PRINTF,
				    .text = STR("%d %s\n"),
				    .fields = print_types,
				    .field_count = 2};
	m->slot.type = text_type;
	for (uint32_t i = 0; i < sites; i++)
		m->attaches[i] = (struct attach){.kind = ATTACH_UPROBE,
						 .path = STR("/proc/self/exe"),
						 .offset = offset + i,
						 .arch = arch_host(),
						 .args = args,
						 .arg_count = count};
	m->clause = (struct clause){.code = b->code,
				    .insn_count = b->count,
				    .reg_count = 2,
				    .slots = &m->slot,
				    .slot_count = b->slots,
				    .attaches = m->attaches,
				    .attach_count = sites};
	m->p = (struct program){.arena = &m->arena,
				.clauses = &m->clause,
				.clause_count = 1,
				.maps = &m->map,
				.map_count = b->has_map,
				.formats = &m->format,
				.format_count = b->has_format,
				.names = &m->name,
				.name_count = 1,
				.spans = &m->span,
				.span_count = 1};
}

static struct engine *start(struct made *m)
{
	struct engine_options o = {0};
	struct engine *e = NULL;
	struct diag d = DIAG_INIT;
	struct buf text = BUF_INIT;

	if (engine_bpf.open(&o, &e, &d) || engine_bpf.build(e, &m->p, &d) ||
	    engine_bpf.attach(e, &d)) {
		diag_render(&d, &text);
		fprintf(stderr, "%s", text.ptr);
		exit(1);
	}
	return e;
}

/* ---- a reader that does what a user's would: text to /dev/null */

struct reader {
	struct engine *e;
	struct made *m;
	FILE *out;
	uint64_t got;
	bool stop;
};

static int print_record(void *arg, struct str bytes)
{
	struct reader *r = arg;
	struct record record;
	struct value number, text;

	if (record_open(&r->m->p, bytes, &record) ||
	    record_field(&record, &print_types[0], &number) ||
	    record_field(&record, &print_types[1], &text))
		exit(3);
	fprintf(r->out, "%d %.*s\n", (int)number.bits, STR_FMT(text.bytes));
	r->got++;
	return 0;
}

static void *read_all(void *arg)
{
	struct reader *r = arg;

	while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE))
		engine_bpf.drain(r->e, 50, print_record, r);
	while (engine_bpf.drain(r->e, 0, print_record, r) > 0)
		;
	return NULL;
}

/* ---- commands */

/* Lanes: 0 not traced, 1 empty, 2 empty and sleepable, 3.. our programs. */
static void events(long n)
{
	static const char *const names[] = {"untraced", "empty", "empty, sleepable"};
	static struct made m[COUNT(benches)];
	struct reader r[COUNT(benches)];
	pthread_t threads[COUNT(benches)];
	double cost[LANES];
	uint64_t offsets[LANES];
	int links[2];

	for (unsigned i = 0; i < LANES; i++)
		offsets[i] = offset_of(lanes[i].site);
	links[0] = raw_attach(0, &offsets[1], 1);
	links[1] = raw_attach(1u << 4, &offsets[2], 1);
	for (size_t i = 0; i < COUNT(benches); i++) {
		make(&m[i], &benches[i], offsets[3 + i], 1);
		r[i] = (struct reader){.m = &m[i], .out = fopen("/dev/null", "w")};
		r[i].e = start(&m[i]);
		pthread_create(&threads[i], NULL, read_all, &r[i]);
	}
	measure(LANES, n, cost);
	for (unsigned i = 0; i < LANES; i++)
		printf("%-26s %8.1f ns  %.2f x empty\n", i < 3 ? names[i] : benches[i - 3].name,
		       cost[i], cost[i] / cost[1]);
	for (size_t i = 0; i < COUNT(benches); i++) {
		__atomic_store_n(&r[i].stop, true, __ATOMIC_RELEASE);
		pthread_join(threads[i], NULL);
		fclose(r[i].out);
		engine_bpf.close(r[i].e);
	}
	close(links[0]);
	close(links[1]);
}

static void burst(long n)
{
	static struct made m;
	struct run_stats stats;
	struct reader r = {.m = &m, .out = fopen("/dev/null", "w")};
	pid_t pid;
	uint64_t from;

	make(&m, &benches[2], offset_of(lanes[0].site), 1);
	r.e = start(&m);
	from = now();
	pid = fork();
	if (!pid) {
		for (long i = 0; i < n; i++)
			lanes[0].fire(i, "some text to read");
		_exit(0);
	}
	while (!waitpid(pid, NULL, WNOHANG))
		engine_bpf.drain(r.e, 50, print_record, &r);
	while (engine_bpf.drain(r.e, 0, print_record, &r) > 0)
		;
	engine_bpf.stats(r.e, &stats);
	printf("fired %ld delivered %llu lost %llu in %.2f s\n", n, (unsigned long long)r.got,
	       (unsigned long long)stats.lost_records, (double)(now() - from) / 1e9);
	engine_bpf.close(r.e);
}

static void sites(uint32_t n)
{
	static struct made m;
	struct engine *e;
	uint64_t from = now(), between, *offsets = calloc(n, sizeof(*offsets));
	int link;

	for (uint32_t i = 0; i < n; i++)
		offsets[i] = offset_of(bench_sites) + i;
	from = now();
	link = raw_attach(0, offsets, n);
	between = now();
	close(link);
	printf("raw: %u sites attached in %.1f ms, detached in %.1f ms\n", n,
	       (double)(between - from) / 1e6, (double)(now() - between) / 1e6);
	make(&m, &benches[0], offset_of(bench_sites), n);
	from = now();
	e = start(&m);
	between = now();
	engine_bpf.detach(e);
	printf("engine: %u sites attached in %.1f ms, detached in %.1f ms\n", n,
	       (double)(between - from) / 1e6, (double)(now() - between) / 1e6);
	engine_bpf.close(e);
	free(offsets);
}

static void attach(void)
{
	uint64_t offset = offset_of(lanes[0].site), t[4];
	static struct made m;
	struct engine *e = NULL;
	struct engine_options o = {0};
	struct diag d = DIAG_INIT;
	int link;

	for (size_t i = 0; i < COUNT(benches); i++) {
		make(&m, &benches[i], offset, 1);
		t[0] = now();
		engine_bpf.open(&o, &e, &d);
		engine_bpf.build(e, &m.p, &d);
		t[1] = now();
		engine_bpf.attach(e, &d);
		t[2] = now();
		engine_bpf.close(e);
		t[3] = now();
		printf("%-26s build %.2f ms, attach %.2f ms, close %.2f ms\n", benches[i].name,
		       (double)(t[1] - t[0]) / 1e6, (double)(t[2] - t[1]) / 1e6,
		       (double)(t[3] - t[2]) / 1e6);
	}
	t[0] = now();
	link = raw_attach(0, &offset, 1);
	t[1] = now();
	close(link);
	t[2] = now();
	printf("%-26s attach %.2f ms, close %.2f ms\n", "empty", (double)(t[1] - t[0]) / 1e6,
	       (double)(t[2] - t[1]) / 1e6);
}

static void show_memory(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	printf("peak memory %ld KiB\n", u.ru_maxrss);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "events";
	long n = argc > 2 ? strtol(argv[2], NULL, 0) : 0;

	if (!strcmp(what, "events"))
		events(n ? n : 10000);
	else if (!strcmp(what, "burst"))
		burst(n ? n : 3000000);
	else if (!strcmp(what, "sites"))
		sites((uint32_t)(n ? n : 500));
	else
		attach();
	show_memory();
	return 0;
}
