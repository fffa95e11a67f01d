/* The limits of a process, looked at before anything is mapped in it: what a session maps must not
 * be what the program would have had. */
#include "user/patch/limits.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/proc.h"
#include "user/patch/ledger.h"

#define PRIVATE	      (LEDGER_STEP + OWN_PAGES * PAGE) /* bytes that are private and writable */
#define STACK	      4096		  /* bytes that a probe may use, and a signal */
#define FILES	      3			  /* that it opens for a moment */
#define ADDRESS_SHARE 4			  /* a session may take 1 in ADDRESS_SHARE free ones */
#define CAP_LOCK      (UINT64_C(1) << 14) /* its number in linux/capability.h */

/* How much of one resource a process has, and how much a session needs. */
struct share {
	uint64_t has, needs;
};

struct usage {
	struct share addresses, data, stack, files;
	bool locks;    /* it has locked memory */
	bool may_lock; /* ... any amount of it */
};

/* Does a session leave the process enough of it? */
static bool has_addresses(const struct usage *u, uint64_t limit)
{
	return limit > u->addresses.has &&
	       u->addresses.needs <= (limit - u->addresses.has) / ADDRESS_SHARE;
}

/* mlockall(2) of all that is mapped must go on to work where it would, in a program that locks
 * memory. Others would be refused for the default of 8 MiB, which many are just below. */
static bool has_lock(const struct usage *u, uint64_t limit)
{
	return !u->locks || u->may_lock || u->addresses.has > limit ||
	       u->addresses.has + u->addresses.needs <= limit;
}

static bool has_data(const struct usage *u, uint64_t limit)
{
	return u->data.has + u->data.needs <= limit;
}

static bool has_stack(const struct usage *u, uint64_t limit)
{
	return u->stack.has + u->stack.needs <= limit;
}

static bool has_files(const struct usage *u, uint64_t limit)
{
	return u->files.has + u->files.needs <= limit;
}

/* clang-format off */
static const struct limit {
	int resource;
	bool (*fits)(const struct usage *u, uint64_t limit);
	size_t share;              /* in struct usage */
	const char *name, *option; /* of prlimit(1) */
} limits[] = {
	{ RLIMIT_AS,      has_addresses, offsetof(struct usage, addresses), "addresses (RLIMIT_AS)",          "--as"      },
	{ RLIMIT_MEMLOCK, has_lock,      offsetof(struct usage, addresses), "locked memory (RLIMIT_MEMLOCK)", "--memlock" },
	{ RLIMIT_DATA,    has_data,      offsetof(struct usage, data),      "data (RLIMIT_DATA)",             "--data"    },
	{ RLIMIT_STACK,   has_stack,     offsetof(struct usage, stack),     "the stack (RLIMIT_STACK)",       "--stack"   },
	{ RLIMIT_NOFILE,  has_files,     offsetof(struct usage, files),     "open files (RLIMIT_NOFILE)",     "--nofile"  },
};

static const struct limit *const files_limit = &limits[COUNT(limits) - 1];
/* clang-format on */

/* The number that a line begins with: "VmSize:	 2476 kB"; 0: there is no such line. */
static uint64_t status_value(struct str status, const char *name, int base)
{
	struct str line = process_status_line(status, name);
	char text[32] = "";

	memcpy(text, line.ptr, line.len < sizeof(text) - 1 ? line.len : sizeof(text) - 1);
	return strtoull(text, NULL, base);
}

static uint64_t status_bytes(struct str status, const char *name)
{
	return status_value(status, name, 10) << 10;
}

bool process_locks_memory(pid_t pid)
{
	struct buf text = BUF_INIT;
	bool locks = process_status(pid, &text) || status_bytes(buf_as_str(&text), "VmLck");

	buf_free(&text);
	return locks;
}

static int read_usage(pid_t pid, struct usage *u)
{
	struct buf text = BUF_INIT;
	int err = process_status(pid, &text);
	struct str status = buf_as_str(&text);

	if (!err) {
		u->addresses.has = status_bytes(status, "VmSize");
		u->data.has = status_bytes(status, "VmData");
		u->stack.has = status_bytes(status, "VmStk");
		u->locks = status_bytes(status, "VmLck") > 0;
		u->may_lock = status_value(status, "CapEff", 16) & CAP_LOCK;
		u->files.has = process_count_files(pid);
	}
	buf_free(&text);
	return err;
}

static int refuse(pid_t pid, const struct limit *l, uint64_t limit, const struct usage *u,
		  struct diag *d)
{
	const struct share *share = (const void *)((const char *)u + l->share);
	bool is_count = l->resource == RLIMIT_NOFILE;
	unsigned shift = is_count ? 0 : 10;
	int err = diag_error(
		d, -ENOSPC, "user-mode-limit",
		"cannot trace process %d in user mode: its limit of %s is %llu%s, of which "
		"%llu are used, and a session needs %llu",
		(int)pid, l->name, (unsigned long long)(limit >> shift), is_count ? "" : " KiB",
		(unsigned long long)(share->has >> shift),
		(unsigned long long)(share->needs >> shift));

	diag_hint(d,
		  "raise it by 'prlimit %s=unlimited --pid %d', or trace with --kernel, as root; "
		  "less is needed with a smaller --ring-size, or smaller maps",
		  l->option, (int)pid);
	return err;
}

static struct usage usage_of(uint64_t size)
{
	return (struct usage){.addresses.needs = size + PRIVATE,
			      .data.needs = PRIVATE,
			      .stack.needs = STACK,
			      .files.needs = FILES};
}

int limits_refuse_files(pid_t pid, struct diag *d)
{
	struct usage u = usage_of(0);
	struct rlimit has = {0};

	read_usage(pid, &u);
	prlimit(pid, RLIMIT_NOFILE, NULL, &has);
	return refuse(pid, files_limit, has.rlim_cur, &u, d);
}

int inject_check_limits(pid_t pid, uint64_t size, struct diag *d)
{
	struct usage u = usage_of(size);
	struct rlimit has;

	if (read_usage(pid, &u))
		return 0; /* it has ended, and others say so */
	for (size_t i = 0; i < COUNT(limits); i++) {
		if (prlimit(pid, limits[i].resource, NULL, &has) || has.rlim_cur == RLIM_INFINITY)
			continue;
		if (!limits[i].fits(&u, has.rlim_cur))
			return refuse(pid, &limits[i], has.rlim_cur, &u, d);
	}
	return 0;
}
