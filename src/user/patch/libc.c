/* clang-format off */
/* Places in the C library, or in a program that has one in itself, which are found by their bytes.
 * Of each an instruction is moved that is as long as a jump:
 *
 *	vfork    b8 3a 00 00 00		mov $SYS_vfork, %eax
 *		 0f 05			syscall
 *		 57			push %rdi
 *		 3d 01 f0 ff ff		cmp $-4095, %eax	is moved: parent and child go on there
 *
 *	prctl    b8 9d 00 00 00		mov $SYS_prctl, %eax	is moved: the call comes next
 *		 0f 05			syscall
 *
 *	syscall  4c 8b 4c 24 08		mov 8(%rsp), %r9	is moved: the call comes next
 *		 0f 05			syscall
 *
 *	clone	 b8 38 00 00 00		mov $SYS_clone, %eax	is moved; that of clone3, too
 *		 0f 05			syscall
 *
 * aarch64: what is before the call is moved, if it only moves a register or stores some on the stack.
 *
 *	prctl    d28014e8		mov x8, #167
 *		 ...
 *		 29067fe6		stp w6, wzr, [sp, #48]	is moved
 *		 d4000001		svc #0
 *
 *	syscall  aa0703e6		mov x6, x7		is moved
 *		 d4000001		svc #0
 *
 * One instruction takes the place of one, while all threads are stopped, and a thread that waits for
 * its child is before it. That is not done to a probe's site, because of breakpoints of others; in
 * the middle of these functions none is expected.
 *
 * Calls that a program makes by instructions of its own are not changed: it may make a filter by
 * them, which nothing says before. */
/* clang-format on */
#include "user/patch/libc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/array.h"
#include "symbols/maps.h"
#include "user/patch/jumps.h"
#include "user/patch/known.h"
#include "user/patch/plan.h"

#define CODE_MOST    (16u << 20) /* of a C library */
#define PROGRAM_MOST (128u << 20)
#define MOST_LEN     16
#define OWN_MOST     65536			       /* bytes like a call's that are looked at */
#define CALL_LEN     (LANDING_FAR > JUMP_NEAR ? 2 : 4) /* syscall or svc */

struct code_pattern {
	enum inject_libc what;
	uint8_t len, moved; /* bytes; where the instruction is that is moved */
	uint8_t bytes[MOST_LEN];
};

/* clang-format off */
static const struct code_pattern patterns[] = {
#if defined(__x86_64__)
	{LIBC_VFORK,   13, 8, {0xb8, 0x3a, 0, 0, 0, 0x0f, 0x05, 0x57, 0x3d, 0x01, 0xf0, 0xff, 0xff}},
	{LIBC_PRCTL,   7, 0,  {0xb8, 0x9d, 0, 0, 0, 0x0f, 0x05}},
	{LIBC_SYSCALL, 7, 0,  {0x4c, 0x8b, 0x4c, 0x24, 0x08, 0x0f, 0x05}},
	{LIBC_CLONE,   7, 0,  {0xb8, 0x38, 0, 0, 0, 0x0f, 0x05}},
	{LIBC_CLONE3,  7, 0,  {0xb8, 0xb3, 0x01, 0, 0, 0x0f, 0x05}},
#elif defined(__aarch64__)
	{LIBC_PRCTL,   4, 0,  {0xe8, 0x14, 0x80, 0xd2}},
	{LIBC_SYSCALL, 8, 0,  {0xe6, 0x03, 0x07, 0xaa, 0x01, 0, 0, 0xd4}},
#else
	{LIBC_VFORK, 0, 0, {0}},
#endif
};
/* clang-format on */

/* ---- the code that is searched */

struct libc_search {
	struct range libc, program;
	struct mapped_file file; /* of the C library; its path is in `text` */
	struct buf text;
	bool is_glibc;
	uint64_t device, inode; /* of the program */
};

static int take_code(void *arg, const struct mapped_file *m)
{
	static const struct str names[] = {STR("libc.so"), STR("libc-"), STR("ld-musl")};
	struct str name = str_after_last(m->path, '/');
	struct libc_search *s = arg;

	if (!m->inode || m->access[2] != 'x' || m->end - m->start > PROGRAM_MOST)
		return 0;
	if (m->inode == s->inode && m->device == s->device && !s->program.end)
		s->program = (struct range){.start = m->start, .end = m->end};
	for (size_t i = 0; i < COUNT(names) && !s->libc.end && m->end - m->start <= CODE_MOST; i++)
		if (str_starts(name, names[i])) {
			s->libc = (struct range){.start = m->start, .end = m->end};
			s->file = *m;
			s->is_glibc =
				str_starts(name, STR("libc.so.")) || str_starts(name, STR("libc-"));
		}
	return 0;
}

static struct libc_search find_code(struct inject *x)
{
	struct libc_search s = {.text = BUF_INIT};
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)x->pid);
	if (!stat(path, &st)) {
		s.inode = st.st_ino;
		s.device = (uint64_t)major(st.st_dev) << 32 | minor(st.st_dev);
	}
	if (!maps_read(x->pid, &s.text))
		maps_parse_all(buf_as_str(&s.text), x->pid, take_code, &s);
	return s;
}

/* ---- places */

#if defined(__aarch64__)
#define SUPERVISOR_CALL 0xd4000001u
#define FAR_MOST	16 /* instructions from one that sets the number of a call to the call */

static bool is_movable(uint32_t insn)
{
	bool is_on_stack = (insn >> 5 & 31) == 31;

	return (insn & 0x7fe0ffe0) == 0x2a0003e0 ||		     /* mov x, x */
	       (insn & 0x7f800000) == 0x52800000 ||		     /* mov x, # */
	       ((insn & 0x7fc00000) == 0x29000000 && is_on_stack) || /* stp x, x, [sp, #] */
	       ((insn & 0xbfc00000) == 0xb9000000 && is_on_stack);   /* str x, [sp, #] */
}

/* The instruction that is moved; NULL: this is something else. */
static const uint8_t *find_moved(const struct code_pattern *p, const uint8_t *code,
				 const uint8_t *at, const uint8_t *end)
{
	uint32_t insn, before = 0;

	(void)p;
	if ((at - code) % 4)
		return NULL;
	for (unsigned i = 0; i < FAR_MOST && at + 4 <= end; i++, at += 4) {
		memcpy(&insn, at, sizeof(insn));
		if (insn == SUPERVISOR_CALL)
			return is_movable(before) ? at - 4 : NULL;
		if ((insn & 0x1c000000) == 0x14000000) /* branches */
			return NULL;
		before = insn;
	}
	return NULL;
}
#else
/* A prefix before the first byte would make it another instruction. */
static const uint8_t *find_moved(const struct code_pattern *p, const uint8_t *code,
				 const uint8_t *at, const uint8_t *end)
{
	bool begins_here = p->bytes[0] != 0xb8 || (at > code && (at[-1] & 0xf0) != 0x40);

	(void)end;
	return begins_here ? at + p->moved : NULL;
}
#endif

int plan_moved(struct inject *x, uint64_t at, const uint8_t *insn, unsigned len,
	       struct inject_site *s)
{
	uint8_t jump[LANDING_FAR];
	int err;

	*s = (struct inject_site){.pc = at,
				  .patch = at,
				  .len = JUMP_NEAR,
				  .copied_len = (uint8_t)len,
				  .is_far = LANDING_FAR > JUMP_NEAR};
	if (crosses_page(s->pc, JUMP_NEAR) || plan_is_disturbed(x, s->pc, JUMP_NEAR, s->pc, 0))
		return -ENOENT;
	err = landing_near(x, s->pc, LANDING_FAR, &s->landing);
	if (!err)
		err = landing_near(x, s->pc, COPY_ROOM, &s->copy);
	if (!err && !landing_bytes(s->pc, s->landing, JUMP_NEAR, jump))
		err = -ENOSPC;
	if (err)
		return err;
	memcpy(s->before, insn, JUMP_NEAR);
	memcpy(s->copied, insn, len);
	memcpy(s->after, jump, JUMP_NEAR);
	s->copy_end = s->pc + len;
	s->resume = s->copy;
	err = space_take(&x->space, s->copy, COPY_ROOM, false);
	return err ? err : plan_settle(x, s, INJECT_DISPLACED, 0);
}

#if defined(__x86_64__)
/* The next bytes of `syscall`, whether an instruction begins there or not; NULL: none. memchr() is
 * several times as fast as memmem() here. */
static const uint8_t *find_syscall(const uint8_t *at, const uint8_t *end)
{
	while (at + 1 < end && (at = memchr(at + 1, 0x05, (size_t)(end - at - 1))))
		if (at[-1] == 0x0f)
			return at - 1;
	return NULL;
}
#endif

/* Where one of the patterns may begin, at `at` or later; NULL: nowhere. */
#if defined(__x86_64__)
#define STEP 1

static const uint8_t *find_candidate(const uint8_t *at, const uint8_t *end)
{
	const uint8_t *call = end - at > JUMP_NEAR ? find_syscall(at + JUMP_NEAR, end) : NULL;

	return call ? call - JUMP_NEAR : NULL;
}
#else
#define STEP 4

static const uint8_t *find_candidate(const uint8_t *at, const uint8_t *end)
{
	return at < end ? at : NULL;
}
#endif

/* What is being searched, and for which patterns. */
struct matching {
	struct inject *x;
	uint64_t start; /* address of `code` */
	const uint8_t *code, *end;
	struct inject_place *out;
	unsigned count, most;
	unsigned found, lacks; /* bits of enum inject_libc */
};

static bool is_at(const struct matching *m, const struct code_pattern *p, const uint8_t *at)
{
	return p->len && at + p->len <= m->end && !memcmp(at, p->bytes, p->len);
}

/* One that cannot be changed is left out. */
static int plan_match(struct matching *m, const struct code_pattern *p, const uint8_t *at)
{
	const uint8_t *moved = find_moved(p, m->code, at, m->end);
	struct inject_place *place = &m->out[m->count];
	int err;

	if (!moved)
		return 0;
	err = plan_moved(m->x, m->start + (uint64_t)(moved - m->code), moved, JUMP_NEAR,
			 &place->site);
	if (err) {
		m->lacks |= LIBC_BIT(p->what);
		return err == -ENOMEM ? err : 0;
	}
	place->what = p->what;
	place->called = p->moved ? 0 : place->site.copy_end + CALL_LEN;
	m->found |= LIBC_BIT(p->what);
	m->count++;
	return 0;
}

/* Every glibc has prctl() and syscall(). */
static void find_missing(struct matching *m)
{
	const unsigned needed = LIBC_BIT(LIBC_PRCTL) | LIBC_BIT(LIBC_SYSCALL);

	m->lacks |= needed & ~m->found;
}

static int plan_patterns(struct matching *m)
{
	const uint8_t *at = m->code;
	int err = 0;

	for (; (at = find_candidate(at, m->end)) && !err; at += STEP)
		for (size_t i = 0; i < COUNT(patterns) && m->count < m->most && !err; i++)
			if (is_at(m, &patterns[i], at))
				err = plan_match(m, &patterns[i], at);
	return err ? err : (int)m->count;
}

/* ---- a file that was searched before */

/* With all that find_moved() may look at. */
static struct code_match match_of(const uint8_t *code, const uint8_t *at, const uint8_t *end)
{
	size_t before = at - code < STEP ? 0 : STEP, size = (size_t)(end - at) + before;
	struct code_match match = {.at = (uint64_t)(at - code) - before,
				   .before = (uint8_t)before,
				   .size = (uint8_t)(size < MATCH_BYTES ? size : MATCH_BYTES)};

	memcpy(match.bytes, at - before, match.size);
	return match;
}

static int find_patterns(const uint8_t *code, size_t len, struct code_match *out, unsigned most)
{
	const struct matching m = {.code = code, .end = code + len};
	const uint8_t *at = code;
	unsigned count = 0;

	for (; (at = find_candidate(at, m.end)); at += STEP)
		for (size_t i = 0; i < COUNT(patterns); i++) {
			if (!is_at(&m, &patterns[i], at))
				continue;
			if (count == most)
				return -ENOSPC;
			out[count] = match_of(code, at, m.end);
			out[count++].pattern = (uint8_t)i;
		}
	return (int)count;
}

/* Where a process has other bytes, a debugger is at work. */
static int plan_known_match(struct matching *m, uint64_t start, const struct code_match *match)
{
	const struct code_pattern *p = &patterns[match->pattern];
	uint8_t now[MATCH_BYTES];

	m->start = start + match->at;
	m->code = now;
	m->end = now + match->size;
	if (!inject_read(m->x, m->start, now, match->size) && is_at(m, p, now + match->before))
		return plan_match(m, p, now + match->before);
	m->lacks |= LIBC_BIT(p->what);
	return 0;
}

/* -ENOENT: its file is not known. */
static int plan_known(struct inject *x, const struct libc_search *s, struct inject_place *out,
		      unsigned most, unsigned *lacks)
{
	struct matching m = {.x = x, .out = out, .most = most};
	const struct code_match *all;
	int count = known_matches(x, &s->file, find_patterns, &all), err = 0;

	if (count < 0)
		return count;
	for (int i = 0; i < count && m.count < m.most && !err; i++)
		err = plan_known_match(&m, s->libc.start, &all[i]);
	find_missing(&m);
	*lacks |= m.lacks;
	return err ? err : (int)m.count;
}

#if defined(__x86_64__)
/* Does the code make system calls? The same bytes are in the middle of other instructions, too. */
static bool makes_calls(const uint8_t *code, size_t len)
{
	const uint8_t *at = code, *end = code + len;

	for (unsigned n = 0; (at = find_syscall(at, end)); at++)
		if (is_instruction(code, len, (size_t)(at - code)) || ++n == OWN_MOST)
			return true;
	return false;
}
#else
static bool makes_calls(const uint8_t *code, size_t len)
{
	(void)code, (void)len;
	return false;
}
#endif

/* Code that is not glibc's may make filters by calls of its own. */
static int plan_range(struct inject *x, const struct range *r, bool is_libc, bool is_glibc,
		      struct inject_place *out, unsigned most, unsigned *lacks)
{
	size_t len = (size_t)(r->end - r->start);
	uint8_t *code = malloc(len + 1);
	struct matching m = {.x = x, .start = r->start, .code = code, .out = out, .most = most};
	int count;

	if (!code)
		return -ENOMEM;
	if (inject_read(x, r->start, code, len))
		len = 0;
	m.end = code + len;
	count = is_libc ? plan_patterns(&m) : 0;
	if (is_glibc)
		find_missing(&m);
	else if (makes_calls(code, len))
		m.lacks |= LIBC_BIT(LIBC_OWN);
	*lacks |= m.lacks;
	free(code);
	return count;
}

/* A static program has the C library in itself. Of glibc all that makes filters is known. */
int inject_plan_libc(struct inject *x, struct inject_place *out, unsigned most, unsigned *lacks)
{
	struct libc_search s = find_code(x);
	bool is_static = !s.libc.end;
	int count = 0, n = 0;

	*lacks = 0;
	if (s.is_glibc)
		count = plan_known(x, &s, out, most, lacks);
	if (s.libc.end && (!s.is_glibc || count == -ENOENT))
		count = plan_range(x, &s.libc, true, s.is_glibc, out, most, lacks);
	if (s.program.end && count >= 0)
		n = plan_range(x, &s.program, is_static, false, out + count, most - (unsigned)count,
			       lacks);
	buf_free(&s.text);
	return count < 0 ? count : n < 0 ? n : count + n;
}
