/* The dynamic loader of a process calls an empty function whenever it has mapped or unmapped
 * libraries, before any code of these runs, so that debuggers can put a breakpoint there. It is one
 * `ret` and padding, five bytes that can become a jump: the padding is never run, and a thread that
 * is at the `ret` finds the jump there instead. Without padding only the `ret` changes, as a 1-byte
 * nop does: the next function's first bytes are the offset.
 *
 * DT_DEBUG of the program says where the function is, in glibc and musl alike; static programs have
 * none. */
#include "user/patch/libc.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "base/file.h"
#include "user/patch/jumps.h"
#include "user/patch/plan.h"

#define HEADERS_MOST 64
#define DYNAMIC_MOST 512
#define NAME_MOST    256 /* of a library */
#define AUXV_MAX     4096

/* A number of /proc/PID/auxv; 0: it has none. */
static uint64_t auxiliary(struct str vector, uint64_t tag)
{
	uint64_t pair[2];

	for (size_t at = 0; at + sizeof(pair) <= vector.len; at += sizeof(pair)) {
		memcpy(pair, vector.ptr + at, sizeof(pair));
		if (pair[0] == tag)
			return pair[1];
	}
	return 0;
}

/* The program's dynamic section, and what its addresses are relative to; 0: none. */
static uint64_t find_section(struct inject *x, struct str vector, uint64_t *base)
{
	uint64_t at = auxiliary(vector, AT_PHDR), count = auxiliary(vector, AT_PHNUM), bias = 0;
	Elf64_Phdr headers[HEADERS_MOST];

	*base = 0;
	if (!at || count > HEADERS_MOST || inject_read(x, at, headers, count * sizeof(*headers)))
		return 0;
	for (uint64_t i = 0; i < count; i++) {
		if (headers[i].p_type == PT_PHDR)
			*base = bias = at - headers[i].p_vaddr;
		if (headers[i].p_type == PT_DYNAMIC)
			return bias + headers[i].p_vaddr;
	}
	return 0;
}

static uint64_t find_dynamic(struct inject *x, uint64_t *base)
{
	struct buf text = BUF_INIT;
	char path[64];
	uint64_t at = 0;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)x->pid);
	if (!file_slurp(path, AUXV_MAX, &text))
		at = find_section(x, buf_as_str(&text), base);
	buf_free(&text);
	return at;
}

/* The next entry; false: there are no more. */
static bool next_dynamic(struct inject *x, uint64_t dynamic, unsigned *i, Elf64_Dyn *out)
{
	uint64_t at = dynamic + *i * sizeof(*out);

	return dynamic && (*i)++ < DYNAMIC_MOST && !inject_read(x, at, out, sizeof(*out)) &&
	       out->d_tag != DT_NULL;
}

/* struct r_debug, which the loader keeps; 0: it has not begun, or there is no loader. */
static uint64_t find_debug(struct inject *x)
{
	uint64_t base, dynamic = find_dynamic(x, &base);
	Elf64_Dyn entry;

	for (unsigned i = 0; next_dynamic(x, dynamic, &i, &entry);)
		if (entry.d_tag == DT_DEBUG)
			return entry.d_un.d_ptr;
	return 0;
}

/* ---- what it has loaded for good */

/* Some loaders make addresses of the section absolute in memory. */
static uint64_t find_names(struct inject *x, uint64_t dynamic, uint64_t base)
{
	Elf64_Dyn entry;

	for (unsigned i = 0; next_dynamic(x, dynamic, &i, &entry);)
		if (entry.d_tag == DT_STRTAB)
			return entry.d_un.d_ptr < base ? base + entry.d_un.d_ptr : entry.d_un.d_ptr;
	return 0;
}

/* "libx.so.1" of the file libx.so.1.2. */
static bool is_name_of(struct inject *x, uint64_t at, struct str file)
{
	char name[NAME_MOST] = "";

	if (file.len + 2 > sizeof(name) || inject_read(x, at, name, file.len + 1))
		return false;
	return name[0] && str_starts(file, str_from(name));
}

bool inject_is_linked(struct inject *x, struct str path)
{
	uint64_t base, dynamic = find_dynamic(x, &base), names = find_names(x, dynamic, base);
	Elf64_Dyn entry;

	for (unsigned i = 0; names && next_dynamic(x, dynamic, &i, &entry);)
		if (entry.d_tag == DT_NEEDED &&
		    is_name_of(x, names + entry.d_un.d_val, str_after_last(path, '/')))
			return true;
	return false;
}

/* ---- the place */

/* The bytes of the loader's `ret`, which are in `code`, become a jump to a landing. */
int plan_returned(struct inject *x, struct inject_site *s, const uint8_t *code)
{
	uint8_t jump[LANDING_FAR];
	int err;

	if (plan_is_disturbed(x, s->pc, JUMP_NEAR, s->pc, 0))
		return -ENOENT;
	err = landing_near(x, s->pc, LANDING_FAR, &s->landing);
	if (err)
		return err;
	if (!landing_bytes(s->pc, s->landing, JUMP_NEAR, jump))
		return -ENOSPC;
	s->patch = s->pc;
	s->len = JUMP_NEAR;
	memcpy(s->before, code, JUMP_NEAR);
	memcpy(s->after, jump, JUMP_NEAR);
	return plan_settle(x, s, INJECT_RETURN, 0);
}

#if defined(__aarch64__)
/* d503245f d65f03c0  becomes  d503245f 14......: bti c, if it is there, and ret. All threads are
 * stopped meanwhile: ret is not one of the instructions that may change while others run them. */
static int plan_return(struct inject *x, struct inject_site *s)
{
	static const uint8_t landing_pad[] = {0x5f, 0x24, 0x03, 0xd5},
			     ret[] = {0xc0, 0x03, 0x5f, 0xd6};
	uint8_t code[8];

	if (inject_read(x, s->pc, code, sizeof(code)))
		return -ENOENT;
	if (!memcmp(code, landing_pad, sizeof(landing_pad))) {
		s->pc += sizeof(landing_pad);
		memmove(code, code + sizeof(landing_pad), sizeof(ret));
	}
	return memcmp(code, ret, sizeof(ret)) ? -ENOENT : plan_returned(x, s, code);
}
#else
/* c3 w x y z  becomes  e9 w x y z */
static int plan_pun(struct inject *x, struct inject_site *s, const uint8_t code[PLAN_BYTES])
{
	int done = plan_byte(x, s, code);

	s->form = done == 1 ? INJECT_RETURN : INJECT_NONE;
	return done < 0 ? done : done ? 0 : -ENOSPC;
}

/* f3 0f 1e fa c3 66 2e 0f 1f ..  becomes  f3 0f 1e fa e9 o f f s */
static int plan_return(struct inject *x, struct inject_site *s)
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint8_t code[2 * PLAN_BYTES + sizeof(endbr)];

	if (inject_read(x, s->pc, code, sizeof(code)))
		return -ENOENT;
	if (!memcmp(code, endbr, sizeof(endbr))) {
		s->pc += sizeof(endbr);
		memmove(code, code + sizeof(endbr), sizeof(code) - sizeof(endbr));
	}
	if (code[0] != 0xc3)
		return -ENOENT;
	if (padding_bytes(code + 1, sizeof(code) - 1) < JUMP_NEAR - 1)
		return plan_pun(x, s, code);
	return plan_returned(x, s, code);
}
#endif

int inject_plan_loader(struct inject *x, struct inject_site *out, uint64_t *state)
{
	uint64_t at = find_debug(x);
	struct r_debug debug;
	int err;

	if (!at || inject_read(x, at, &debug, sizeof(debug)) || !debug.r_brk)
		return -ENOENT;
	*out = (struct inject_site){.pc = debug.r_brk};
	err = plan_return(x, out);
	if (!err)
		*state = at + offsetof(struct r_debug, r_state);
	return err;
}
