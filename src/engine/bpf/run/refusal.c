/* The verifier's log, and the kernel's refusals in our words; see refusal.h. */
#include "engine/bpf/run/refusal.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "engine/bpf/kernel/bpf_syscall.h"
#include "engine/bpf/kernel/rights.h"

#define COUNTS_SIZE (64u << 10)
#define STEPS_SIZE  (1u << 20)
#define WHOLE_SIZE  (16u << 20)
#define LOG_COUNTS  4 /* the verdict, and counts of instructions, states, stack */
#define LOG_STEPS   1 /* every step on the way to the refusal, which fills any log */
#define LOG_TAIL    1500u

/* Load again, for the kernel's log; the caller frees it. NULL: no memory. */
static char *load_for_log(struct kernel_program k, uint32_t level, uint32_t size)
{
	int fd = -1;

	k.log = calloc(1, size);
	k.log_size = size;
	k.log_level = level;
	if (k.log)
		fd = kernel_program_load(&k);
	if (fd >= 0)
		close(fd);
	return k.log;
}

void log_program(struct buf *out, struct kernel_program k, const struct unit *u, int fd)
{
	char *text =
		load_for_log(k, fd < 0 ? LOG_STEPS : LOG_COUNTS, fd < 0 ? WHOLE_SIZE : COUNTS_SIZE);
	struct str log = str_trim(str_from(text));

	buf_printf(out, "%s: ", k.name);
	buf_count(out, k.count, "instruction");
	buf_text(out, ", ");
	buf_count(out, u->site_count, "site");
	buf_printf(out, ": %s\n", fd < 0 ? strerror(-fd) : "loaded");
	while (log.len) {
		struct str line = str_cut(&log, '\n');

		buf_printf(out, "    %.*s\n", STR_FMT(line));
	}
	free(text);
}

/* Add the end of the log. */
static void add_log(struct kernel_program k, uint32_t level, uint32_t size, struct buf *out)
{
	char *text = load_for_log(k, level, size);
	struct str log = str_trim(str_from(text));
	size_t tail = log.len < LOG_TAIL ? log.len : LOG_TAIL;

	buf_str(out, str_of(log.ptr + log.len - tail, tail));
	free(text);
}

enum refusal refusal_find(const struct kernel_program *k, int err, struct buf *words)
{
	/* clang-format off */
	static const struct {
		const char *words;
		enum refusal why;
	} verdicts[] = {
		{ "program is too large", REFUSAL_INSNS },
		{ "jumps is too complex", REFUSAL_JUMPS },
		{ "16-bit range",         REFUSAL_REACH },
		{ "combined stack size",  REFUSAL_STACK },
		{ "call stack",           REFUSAL_STACK },
		{ "probe_write_user",     REFUSAL_WRITE },
	};
	/* clang-format on */
	struct rights rights;

	add_log(*k, LOG_COUNTS, COUNTS_SIZE, words);
	for (size_t i = 0; i < COUNT(verdicts); i++)
		if (words->len &&
		    memmem(words->ptr, words->len, verdicts[i].words, strlen(verdicts[i].words)))
			return verdicts[i].why;
	/* Without rights the kernel refuses before its verifier writes a word. */
	if (err == -EPERM && !words->len)
		return REFUSAL_RIGHTS;
	rights_read(&rights);
	if (rights.lockdown == LOCKDOWN_CONFIDENTIALITY)
		return REFUSAL_LOCKDOWN;
	words->len = 0;
	add_log(*k, LOG_STEPS, STEPS_SIZE, words);
	return REFUSAL_OTHER;
}

bool refusal_is_of_size(enum refusal why)
{
	/* ORDER: see enum refusal. */
	return why >= REFUSAL_INSNS && why <= REFUSAL_STACK;
}

/* The first loop of a clause that the verifier follows round by round. */
static const struct insn *find_walked_loop(const struct gen_world *w, const struct clause *c)
{
	for (uint32_t i = 0; w->loops == LOOPS_WALKED && i < c->insn_count; i++)
		if (c->code[i].op == OP_LOOP)
			return &c->code[i];
	return NULL;
}

static int report_size(enum refusal why, int err, const struct gen_world *w,
		       const struct program *p, const struct clause *c, struct diag *d)
{
	static const char *const limits[] = {
		[REFUSAL_INSNS] = "the verifier checks at most 1,000,000 instructions",
		[REFUSAL_JUMPS] = "the verifier checks at most 8,192 branches in a row",
		[REFUSAL_REACH] = "a jump can skip at most 16,000 instructions",
		[REFUSAL_STACK] = "nested functions have 512 bytes of stack",
	};
	const struct insn *loop = c ? find_walked_loop(w, c) : NULL;
	struct span span = c ? c->span : (struct span){0};

	if (loop && loop->span < p->span_count)
		span = p->spans[loop->span];
	diag_error_at(d, err, "too-complex", span, "%s is too complex for this kernel: %s",
		      loop ? "this loop" : "this clause", limits[why]);
	if (loop)
		diag_hint(d, "it checks every round of a loop, because it has neither bpf_loop "
			     "(Linux 5.17) nor may_goto (6.9): use fewer rounds, or 'break'");
	else
		diag_hint(d, "split it into several clauses, or shorten its 'unroll'");
	return err;
}

int refusal_report(enum refusal why, int err, struct str words, const struct gen_world *w,
		   const struct program *p, const struct clause *clause, struct diag *d)
{
	if (refusal_is_of_size(why))
		return report_size(why, err, w, p, clause, d);
	if (why == REFUSAL_WRITE) {
		diag_error(d, err, "no-write",
			   "this kernel does not let BPF programs write to a "
			   "process's memory, as write_user() does");
		diag_hint(d, "in user mode the process itself writes: --user");
		return err;
	}
	if (why == REFUSAL_RIGHTS)
		words = str_from(rights_denied());
	if (!words.len)
		words = STR("no reason given");
	diag_error(d, err, "verifier", "the kernel refuses the program (%s)", strerror(-err));
	diag_log(d, words);
	if (why == REFUSAL_LOCKDOWN)
		diag_hint(d, "the kernel is locked down (confidentiality): BPF programs cannot "
			     "read its memory, which scripts with strings, stacks or maps need");
	return err;
}
