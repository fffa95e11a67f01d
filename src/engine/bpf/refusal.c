/* The kernel's refusals in our words; see inside.h. With log level 4 the verifier writes only its
 * verdict and counts, not the paths it followed, which fill any log. */
#include "engine/bpf/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define VERDICT_SIZE (64u << 10)
#define LOG_SIZE     (1u << 20)
#define LOG_TAIL     1500u

/* Load again with a log of this level and size, and add the last `tail` bytes of it. */
static void add_log(struct kernel_program *k, uint32_t level, uint32_t size, size_t tail,
		    struct buf *out)
{
	struct str log;
	int fd;

	k->log = calloc(1, size);
	if (!k->log)
		return;
	k->log_size = size;
	k->log_level = level;
	fd = kernel_program_load(k);
	if (fd >= 0)
		close(fd);
	log = str_trim(str_from(k->log));
	if (log.len > tail)
		log = str_of(log.ptr + log.len - tail, tail);
	buf_str(out, log);
	free(k->log);
	k->log = NULL;
}

enum refusal refusal_find(struct kernel_program *k, int err, struct buf *words)
{
	static const struct {
		const char *words;
		enum refusal why;
	} verdicts[] = {
		{"program is too large", REFUSAL_INSNS}, {"jumps is too complex", REFUSAL_JUMPS},
		{"16-bit range", REFUSAL_REACH},	 {"combined stack size", REFUSAL_STACK},
		{"call stack", REFUSAL_STACK},
	};
	struct rights rights;

	add_log(k, 4, VERDICT_SIZE, LOG_TAIL, words);
	for (size_t i = 0; i < sizeof(verdicts) / sizeof(*verdicts); i++)
		if (words->len &&
		    memmem(words->ptr, words->len, verdicts[i].words, strlen(verdicts[i].words)))
			return verdicts[i].why;
	if (err == -EPERM && !words->len)
		return REFUSAL_RIGHTS;
	rights_read(&rights);
	if (rights.lockdown == LOCKDOWN_CONFIDENTIALITY)
		return REFUSAL_LOCKDOWN;
	words->len = 0;
	add_log(k, 1, LOG_SIZE, LOG_TAIL, words);
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

	if (loop && loop->place < p->place_count)
		span = p->places[loop->place];
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
	if (why == REFUSAL_RIGHTS)
		words = str_from(rights_denied());
	if (!words.len)
		words = STR("no reason given");
	diag_error(d, err, "verifier", "the kernel refuses the program (%s): %.*s", strerror(-err),
		   STR_FMT(words));
	if (why == REFUSAL_LOCKDOWN)
		diag_hint(d, "the kernel is locked down (confidentiality): BPF programs cannot "
			     "read its memory, which scripts with strings, stacks or maps need");
	return err;
}
