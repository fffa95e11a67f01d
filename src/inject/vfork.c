/* vfork() of glibc: a child has the memory of the thread that made it, its stack and its struct
 * rseq too, but the kernel does not write there which CPU the child runs on. The two differ where
 * both come from the system call:
 *
 *	b8 3a 00 00 00		mov $SYS_vfork, %eax
 *	0f 05			syscall
 *	57			push %rdi
 *	3d 01 f0 ff ff		cmp $-4095, %eax	becomes a jump; its copy is run afterwards
 *
 * One instruction takes the place of one, while all threads are stopped, as in displace.c; a thread
 * that waits for its child is before it. That is not done to a probe's site unasked, because of
 * breakpoints of others; in the middle of this function none is expected. */
#include "inject/inside.h"

#include <errno.h>

#if defined(__x86_64__)

#include <stdlib.h>

#include "symbols/maps.h"

#define CODE_MOST (16u << 20) /* of a C library */
#define COMPARE	  8	      /* where it is in the pattern */

static const uint8_t pattern[] = {0xb8, 0x3a, 0,    0,	  0,	0x0f, 0x05,
				  0x57, 0x3d, 0x01, 0xf0, 0xff, 0xff};

static int take_libc(void *arg, const struct mapped_file *m)
{
	struct range *out = arg;
	struct str name = str_after_last(m->path, '/');

	if (!m->inode || m->access[2] != 'x' ||
	    (!str_starts(name, STR("libc.so")) && !str_starts(name, STR("libc-"))))
		return 0;
	*out = (struct range){.start = m->start, .end = m->end};
	return 1;
}

static bool find_libc(struct inject *x, struct range *out)
{
	struct buf text = BUF_INIT;
	bool found = !maps_read(x->pid, &text) &&
		     maps_parse_all(buf_as_str(&text), x->pid, take_libc, out) == 1;

	buf_free(&text);
	return found && out->end - out->start <= CODE_MOST;
}

/* Where the comparison is; 0: it is not there, or not only once. */
static uint64_t find_compare(struct inject *x, const struct range *libc)
{
	size_t len = (size_t)(libc->end - libc->start), rest;
	uint8_t *code = malloc(len), *at = NULL, *next;

	if (code && !inject_read(x, libc->start, code, len))
		at = memmem(code, len, pattern, sizeof(pattern));
	rest = at ? len - (size_t)(at - code) - 1 : 0;
	next = at ? memmem(at + 1, rest, pattern, sizeof(pattern)) : NULL;
	free(code);
	return at && !next ? libc->start + (uint64_t)(at - code) + COMPARE : 0;
}

int inject_plan_vfork(struct inject *x, struct inject_site *s)
{
	uint8_t jump[LANDING_FAR];
	struct range libc;
	int err;

	*s = (struct inject_site){.len = JUMP_NEAR, .copied_len = JUMP_NEAR, .is_far = true};
	if (find_libc(x, &libc))
		s->pc = s->patch = find_compare(x, &libc);
	if (!s->pc || crosses_page(s->pc, JUMP_NEAR) ||
	    plan_is_disturbed(x, s->pc, JUMP_NEAR, s->pc, 0))
		return -ENOENT;
	err = landing_near(x, s->pc, LANDING_FAR, &s->landing);
	if (!err)
		err = landing_near(x, s->pc, COPY_ROOM, &s->copy);
	if (err)
		return err;
	if (!landing_bytes(s->pc, s->landing, JUMP_NEAR, jump))
		return -ENOSPC;
	memcpy(s->before, pattern + COMPARE, JUMP_NEAR);
	memcpy(s->copied, pattern + COMPARE, JUMP_NEAR);
	memcpy(s->after, jump, JUMP_NEAR);
	s->copy_end = s->pc + JUMP_NEAR;
	s->resume = s->copy;
	err = space_take(&x->space, s->copy, COPY_ROOM, false);
	return err ? err : plan_settle(x, s, INJECT_DISPLACED, 0);
}
#else
int inject_plan_vfork(struct inject *x, struct inject_site *s)
{
	(void)x, (void)s;
	return -ENOENT;
}
#endif
