/* Leaving out sites; see sites.h. */
#include "engine/bpf/sites.h"

#include <errno.h>
#include <unistd.h>

#include "base/file.h"
#include "engine/bpf/inside.h"

#define EM_X86_64 62

static const struct {
	const char *tag, *why;
} problems[] = {
	[SITE_NOP10] = {"nop10", "it is a 10-byte nop, where the kernel takes no probe"},
	[SITE_RED_ZONE] = {"red-zone",
			   "it is a 5-byte nop, where this kernel's probe would overwrite the "
			   "stack below the stack pointer"},
};

static enum site_problem problem_at(int fd, const struct attach *at, struct features *f)
{
	static const unsigned char nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
	static const unsigned char nop10[] = {0x66, 0x2e, 0x0f, 0x1f, 0x84};
	unsigned char bytes[sizeof(nop5)];

	if (!at->arch || at->arch->machine != EM_X86_64)
		return SITE_FINE;
	if (pread(fd, bytes, sizeof(bytes), (off_t)at->offset) != sizeof(bytes))
		return SITE_FINE; /* the kernel will say */
	if (!memcmp(bytes, nop10, sizeof(nop10)))
		return SITE_NOP10;
	if (!memcmp(bytes, nop5, sizeof(nop5)) && !at->is_entry &&
	    !feature_has(f, FEATURE_NOP5_SAFE))
		return SITE_RED_ZONE;
	return SITE_FINE;
}

/* The bytes are read from the very file that will be attached to. */
static int look_at_unit(struct unit *u, struct features *f, struct diag *d)
{
	for (uint32_t i = 0; i < u->site_count; i++) {
		const struct attach *at = u->sites[i].attach;

		if (!at->file)
			return diag_error(d, -EINVAL, "no-file", "'%.*s' is not open",
					  STR_FMT(at->path));
		u->sites[i].problem = problem_at(at->file->fd, at, f);
	}
	return 0;
}

static bool is_uprobe(const struct loaded *l)
{
	return l->unit.kind == UNIT_UPROBE || l->unit.kind == UNIT_URETPROBE;
}

/* What becomes of the places of one clause. */
struct tally {
	uint32_t kept;
	const struct unit_site *refused; /* the first */
	uint32_t name;
	bool any, several; /* places, names */
};

static void count_site(const struct unit *u, const struct unit_site *site, struct tally *clauses,
		       struct tally *total)
{
	const struct unit_case *c = &u->cases[site->cookie & ((1u << COOKIE_CASE_BITS) - 1)];

	total->kept += !site->problem;
	if (site->problem && !total->refused)
		total->refused = site;
	for (uint32_t i = 0; i < c->step_count; i++) {
		struct tally *t = &clauses[c->steps[i].clause];

		t->kept += !site->problem;
		if (site->problem && !t->refused)
			t->refused = site;
		t->several |= t->any && t->name != site->attach->name;
		t->name = site->attach->name;
		t->any = true;
	}
}

static struct str site_name(const struct unit *u, const struct attach *at)
{
	if (at->name < u->program->name_count)
		return u->program->names[at->name];
	return STR("?");
}

static int refuse(const struct unit *u, const struct unit_site *site, struct diag *d)
{
	const struct attach *at = site->attach;
	struct str name = site_name(u, at);

	return diag_error(d, -ENOTSUP, problems[site->problem].tag,
			  "cannot probe '%.*s' at offset 0x%llx of '%.*s': %s", STR_FMT(name),
			  (unsigned long long)at->offset, STR_FMT(at->path),
			  problems[site->problem].why);
}

/* Nothing may be missing of a clause that names one probe, and something must remain of all. */
static int judge(struct engine *e, const struct loaded *first, struct diag *d)
{
	uint32_t count = first->unit.program->clause_count;
	struct tally *clauses = arena_array(&e->arena, struct tally, count + 1), total = {0};

	if (!clauses)
		return -ENOMEM;
	for (const struct loaded *l = first; l; l = l->next)
		for (uint32_t i = 0; is_uprobe(l) && i < l->unit.site_count; i++)
			count_site(&l->unit, &l->unit.sites[i], clauses, &total);
	for (uint32_t i = 0; i < count; i++)
		if (clauses[i].refused && !clauses[i].kept && !clauses[i].several)
			return refuse(&first->unit, clauses[i].refused, d);
	return total.refused && !total.kept ? refuse(&first->unit, total.refused, d) : 0;
}

/* Keep the sites without a problem, and warn of the others as long as there were few. */
static void keep_others(struct unit *u, uint32_t *left_out, struct diag *d)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < u->site_count; i++) {
		const struct unit_site *site = &u->sites[i];
		struct str name = site_name(u, site->attach);

		if (!site->problem) {
			u->sites[kept++] = *site;
			continue;
		}
		if ((*left_out)++ < SITES_SHOWN)
			diag_warn(d, problems[site->problem].tag,
				  "'%.*s' at offset 0x%llx of '%.*s' is not probed: %s",
				  STR_FMT(name), (unsigned long long)site->attach->offset,
				  STR_FMT(site->attach->path), problems[site->problem].why);
	}
	u->site_count = kept;
}

static void warn_of_rest(uint32_t before, uint32_t left_out, struct diag *d)
{
	uint32_t shown = before > SITES_SHOWN ? before : SITES_SHOWN;

	if (left_out > shown)
		diag_warn(d, "sites-left-out", "%u more places are not probed for such reasons",
			  left_out - shown);
}

int sites_leave_out(struct engine *e, struct loaded *first, bool all, struct diag *d)
{
	uint32_t before = e->left_out;
	int err = 0;

	for (struct loaded *l = first; l && !err; l = l->next)
		if (is_uprobe(l))
			err = look_at_unit(&l->unit, &e->features, d);
	if (!err && all && first)
		err = judge(e, first, d);
	if (err)
		return err;
	for (struct loaded *l = first; l; l = l->next)
		if (is_uprobe(l))
			keep_others(&l->unit, &e->left_out, d);
	warn_of_rest(before, e->left_out, d);
	return 0;
}

int sites_leave_out_of(struct unit *u, struct features *f, struct diag *d)
{
	uint32_t left_out = 0, bad = 0;
	int err = look_at_unit(u, f, d);

	if (err)
		return err;
	for (uint32_t i = 0; i < u->site_count; i++)
		bad += u->sites[i].problem != SITE_FINE;
	if (bad && bad == u->site_count)
		return refuse(u, u->sites, d);
	keep_others(u, &left_out, d);
	warn_of_rest(0, left_out, d);
	return 0;
}
