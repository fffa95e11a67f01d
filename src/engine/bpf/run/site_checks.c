/* Leaving out sites; see site_checks.h. */
#include "engine/bpf/run/site_checks.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/file.h"
#include "engine/bpf/kernel/features.h"
#include "engine/bpf/run/bpf.h"

#define WALK_BYTES (4u << 20) /* of a function's code, before a site in it */

/* clang-format off */
static const struct {
	const char *tag, *why;
} problems[] = {
	[SITE_NOP10]    = { "nop10",               "it is a 10-byte nop, where the kernel accepts no probe" },
	[SITE_RED_ZONE] = { "red-zone",            "it is a 5-byte nop, where this kernel's probe would "
	                                           "overwrite the stack below the stack pointer" },
	[SITE_NO_NOP]   = { "no-nop",              "the instruction is not a nop" },
	[SITE_FOREIGN]  = { "foreign-cpu",         "the file is for another CPU" },
	[SITE_PREFIX]   = { "bad-prefix",          "its instruction has a prefix (lock, or a segment) with which "
	                                           "the kernel accepts no probe" },
	[SITE_OPCODE]   = { "bad-opcode",          "the kernel accepts no probe on this instruction" },
	[SITE_VECTOR]   = { "vector-instruction",  "it is a vector instruction (VEX or EVEX), which the kernel takes "
	                                           "for another one" },
	[SITE_CUT_OFF]  = { "cut-off",             "the file has no bytes there" },
	[SITE_TWICE]    = { "two-semaphores",      "another probe at the same address has another "
	                                           "semaphore, and the kernel accepts only one" },
	[SITE_MIDDLE]   = { "mid-instruction",     "it is in the middle of an instruction" },
	[SITE_UNKNOWN]  = { "unknown-instruction", "it follows bytes that Nopal cannot decode as an instruction" },
	[SITE_FAR]      = { "far-instruction",     "it is more than 4 MiB after the start of its function" },
};
/* clang-format on */

/* With --unsafe the user vouches for a uprobe's address. */
static bool is_refused(const struct unit_site *site)
{
	bool is_doubt = site->problem >= SITE_MIDDLE; /* ORDER */

	return site->problem && !(site->attach->is_forced && is_doubt);
}

/* "'a:b' at offset 0x4 of './x' is skipped: the instruction is not a nop: 48 89 e5",
 * "... an instruction: 48 89 e5 at +12". `verdict` is "" or " is skipped". */
static void describe_site(const struct unit *u, const struct unit_site *site, const char *verdict,
			  struct buf *out)
{
	struct str name = unit_site_name(u, site->attach);

	buf_printf(out, "'%.*s' at offset 0x%llx of '%.*s'%s: %s", STR_FMT(name),
		   (unsigned long long)site->attach->offset, STR_FMT(site->attach->path), verdict,
		   problems[site->problem].why);
	for (unsigned i = 0; i < site->byte_count && site->problem != SITE_TWICE; i++)
		buf_printf(out, "%s%02x", i ? " " : ": ", site->bytes[i]);
	if (site->problem == SITE_MIDDLE || site->problem == SITE_UNKNOWN)
		buf_printf(out, " at +%llu", (unsigned long long)site->into);
}

static void show_bytes(struct unit_site *site, struct str code, size_t most)
{
	if (most > SITE_BYTES)
		most = SITE_BYTES;
	site->byte_count = (uint8_t)(code.len < most ? code.len : most);
	memcpy(site->bytes, code.ptr, site->byte_count);
}

/* The CPU that runs the code decides what a nop is, whatever the file's header says. */
static bool is_native(const struct attach *at)
{
	static const uint16_t also[][2] = {{EM_X86_64, EM_386}, {EM_AARCH64, EM_ARM}};
	const struct arch *host = arch_host();

	if (!host || at->arch == host || (!at->arch && !at->is_static))
		return true;
	for (size_t i = 0; at->arch && i < COUNT(also); i++)
		if (host->machine == also[i][0] && at->arch->machine == also[i][1])
			return true;
	return false;
}

/* Prefixes of x86 that the kernel refuses, among those that may be beside them. */
static bool has_bad_prefix(struct str code)
{
	static const char all[] = "\x66\x67\xf2\xf3\x64\x65\x26\x2e\x36\x3e\xf0";
	const char *bad = all + 6;

	for (size_t i = 0; i < code.len && code.ptr[i] && strchr(all, code.ptr[i]); i++)
		if (strchr(bad, code.ptr[i]))
			return true;
	return false;
}

/* Opcodes that the kernel refuses, a bit each: measured on 6.18, with perf_event_open() at each. */
static bool is_bad_opcode(uint8_t opcode)
{
	static const uint32_t bad[8] = {
		0xc0c040c0, 0x80808080, 0x00000000, 0x0000f007, /* 00, 20, 40, 60 */
		0x04000004, 0x00000000, 0x0070f000, 0x0c13f4f0, /* 80, a0, c0, e0 */
	};

	return bad[opcode / 32] >> opcode % 32 & 1;
}

/* The first opcode byte that the kernel looks at. It takes the opcode after a VEX or EVEX prefix
 * for one without, and vpcmpeqb, say, for a conditional jump, which it carries out instead. */
static enum site_problem look_at_opcode(struct str code)
{
	static const char prefixes[] = "\x66\x67\xf2\xf3";
	const uint8_t *b = (const uint8_t *)code.ptr;
	size_t i = 0;

	while (i < code.len && b[i] && strchr(prefixes, code.ptr[i]))
		i++;
	if (i < code.len && (b[i] == 0xc4 || b[i] == 0xc5 || b[i] == 0x62))
		return SITE_VECTOR;
	if (i < code.len && b[i] >> 4 == 4) /* REX */
		i++;
	return i < code.len && is_bad_opcode(b[i]) ? SITE_OPCODE : SITE_FINE;
}

/* The kernel places its breakpoint on the file's bytes, not on those of a process; so an existing
 * breakpoint, or a call that replaced one, is never seen here: where the file itself has one, the
 * kernel takes no probe either. */
static enum site_problem look_for_nop(struct unit_site *site, struct str code)
{
	static const struct str nop10 = {"\x66\x2e\x0f\x1f\x84", 5},
				nop5 = {"\x0f\x1f\x44\x00\x00", 5};
	const struct attach *at = site->attach;
	bool is_x86_64 = at->arch->machine == EM_X86_64;

	if (is_x86_64 && str_starts(code, nop10))
		return SITE_NOP10;
	if (is_x86_64 && str_starts(code, nop5) && !at->is_entry)
		return SITE_RED_ZONE;
	if (at->is_static && !instruction_nop(at->arch, code)) {
		show_bytes(site, code, 8);
		return code.len ? SITE_NO_NOP : SITE_CUT_OFF;
	}
	if (at->is_static || !is_x86_64)
		return SITE_FINE;
	show_bytes(site, code, instruction_length(at->arch, code));
	return has_bad_prefix(code) ? SITE_PREFIX : look_at_opcode(code);
}

/* Walk over `code`, from the function's start to the site. */
static enum site_problem walk_to_site(struct unit_site *site, struct str code)
{
	const struct attach *at = site->attach;
	uint64_t into = at->into;
	struct str last;
	size_t start;
	int err;

	if (code.len <= into)
		return SITE_CUT_OFF;
	err = instruction_walk(at->arch, code, into, &start);
	if (!err && start == into)
		return SITE_FINE;
	last = str_of(code.ptr + start, code.len - start);
	site->into = start;
	show_bytes(site, last, err ? 8 : instruction_length(at->arch, last));
	return err ? SITE_UNKNOWN : SITE_MIDDLE;
}

/* Is it a nop, or else: does an instruction of its function begin there? -ENOMEM. */
static int look_at_site(int fd, struct unit_site *site, struct features *f)
{
	const struct attach *at = site->attach;
	char bytes[INSTRUCTION_LONGEST], *code;
	uint64_t into = at->into;
	ssize_t got;

	if (!is_native(at))
		site->problem = SITE_FOREIGN;
	if (site->problem || !at->arch)
		return 0;
	got = pread(fd, bytes, sizeof(bytes), (off_t)at->offset);
	site->problem = look_for_nop(site, str_of(bytes, got > 0 ? (size_t)got : 0));
	if (site->problem == SITE_RED_ZONE && feature_has(f, FEATURE_NOP5_SAFE))
		site->problem = SITE_FINE;
	if (site->problem || at->is_static || !into || into > at->offset)
		return 0;
	if (into > WALK_BYTES) {
		site->problem = SITE_FAR;
		return 0;
	}
	code = malloc(into + INSTRUCTION_LONGEST);
	if (!code)
		return -ENOMEM;
	got = pread(fd, code, into + INSTRUCTION_LONGEST, (off_t)(at->offset - into));
	site->problem = walk_to_site(site, str_of(code, got > 0 ? (size_t)got : 0));
	free(code);
	return 0;
}

/* The bytes are read from the very file that will be attached to. */
static int look_at_unit(struct unit *u, struct features *f, struct diag *d)
{
	int err = 0;

	for (uint32_t i = 0; i < u->site_count && !err; i++) {
		const struct attach *at = u->sites[i].attach;
		const struct attach *before = i ? u->sites[i - 1].attach : NULL;

		if (!at->file)
			return diag_error(d, -EINVAL, "no-file", "'%.*s' is not open",
					  STR_FMT(at->path));
		err = look_at_site(at->file->fd, &u->sites[i], f);
		if (before && !u->sites[i].problem && !attach_compare_files(before, at) &&
		    before->offset == at->offset && before->sema_offset != at->sema_offset)
			u->sites[i].problem = SITE_TWICE;
	}
	return err;
}

/* How many sites of one clause are kept. */
struct tally {
	uint32_t kept;
	const struct unit_site *refused; /* the first */
	uint32_t name;
	bool any, several; /* sites, names */
};

static void count_site(const struct unit *u, const struct unit_site *site, struct tally *clauses,
		       struct tally *total)
{
	const struct unit_case *c = &u->cases[site->cookie & COOKIE_CASE_MASK];
	/* Any process may map any file, so a file that was only found that way does not end the
	 * run. */
	bool missing = is_refused(site) && !site->attach->is_met;

	total->kept += !is_refused(site);
	if (missing && !total->refused)
		total->refused = site;
	for (uint32_t i = 0; i < c->step_count; i++) {
		struct tally *t = &clauses[c->steps[i].clause];

		t->kept += !is_refused(site);
		if (missing && !t->refused)
			t->refused = site;
		t->several |= t->any && t->name != site->attach->name;
		t->name = site->attach->name;
		t->any = true;
	}
}

static int refuse_site(const struct unit *u, const struct unit_site *site, struct diag *d)
{
	struct buf text = BUF_INIT;

	describe_site(u, site, "", &text);
	diag_error(d, -ENOTSUP, problems[site->problem].tag, "cannot probe %.*s",
		   STR_FMT(buf_as_str(&text)));
	if (site->problem >= SITE_MIDDLE) /* ORDER */
		diag_hint(d, "--unsafe probes it anyway");
	buf_free(&text);
	return -ENOTSUP;
}

/* Nothing may be missing of a clause that names one probe, and something must remain of all. */
static int judge_clauses(struct bpf_engine *e, const struct loaded *first, struct diag *d)
{
	uint32_t count = first->unit.program->clause_count;
	struct tally *clauses = arena_array(&e->arena, struct tally, count + 1), total = {0};

	if (!clauses)
		return -ENOMEM;
	for (const struct loaded *l = first; l; l = l->next)
		for (uint32_t i = 0; unit_is_uprobe(&l->unit) && i < l->unit.site_count; i++)
			count_site(&l->unit, &l->unit.sites[i], clauses, &total);
	for (uint32_t i = 0; i < count; i++)
		if (clauses[i].refused && !clauses[i].kept && !clauses[i].several)
			return refuse_site(&first->unit, clauses[i].refused, d);
	return total.refused && !total.kept ? refuse_site(&first->unit, total.refused, d) : 0;
}

static void warn_of(const struct unit *u, const struct unit_site *site, struct diag *d)
{
	struct buf text = BUF_INIT;

	describe_site(u, site,
		      is_refused(site) ? " is skipped" : " is probed, and may break the program",
		      &text);
	diag_warn(d, problems[site->problem].tag, "%.*s", STR_FMT(buf_as_str(&text)));
	buf_free(&text);
}

/* Keep the sites without a problem, and warn of the first few others. */
static void keep_others(struct unit *u, uint32_t *left_out, uint32_t shown, struct diag *d)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < u->site_count; i++) {
		const struct unit_site *site = &u->sites[i];
		bool refused = is_refused(site);

		if (site->problem && !u->is_rest && (!refused || (*left_out)++ < shown))
			warn_of(u, site, d);
		if (!refused)
			u->sites[kept++] = *site;
	}
	u->site_count = kept;
}

static void warn_of_rest(uint32_t before, uint32_t left_out, uint32_t shown, struct diag *d)
{
	shown = before > shown ? before : shown;

	if (left_out > shown)
		diag_warn(d, "sites-left-out", "%u more site%s skipped for the same reasons",
			  left_out - shown, left_out - shown == 1 ? " was" : "s were");
}

int sites_leave_out(struct bpf_engine *e, struct loaded *first, bool all, struct diag *d)
{
	uint32_t before = e->left_out, shown = e->options.log ? UINT32_MAX : SITES_SHOWN;
	int err = 0;

	for (struct loaded *l = first; l && !err; l = l->next)
		if (unit_is_uprobe(&l->unit))
			err = look_at_unit(&l->unit, &e->features, d);
	if (!err && all && first)
		err = judge_clauses(e, first, d);
	if (err)
		return err;
	for (struct loaded *l = first; l; l = l->next)
		if (unit_is_uprobe(&l->unit))
			keep_others(&l->unit, &e->left_out, shown, d);
	warn_of_rest(before, e->left_out, shown, d);
	return 0;
}

int sites_leave_out_of(struct unit *u, struct features *f, struct diag *d)
{
	uint32_t left_out = 0, bad = 0;
	int err = look_at_unit(u, f, d);

	if (err)
		return err;
	for (uint32_t i = 0; i < u->site_count; i++)
		bad += is_refused(&u->sites[i]);
	if (bad && bad == u->site_count)
		return refuse_site(u, u->sites, d);
	keep_others(u, &left_out, SITES_SHOWN, d);
	warn_of_rest(0, left_out, SITES_SHOWN, d);
	return 0;
}
