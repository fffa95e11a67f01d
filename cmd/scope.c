/* Options -> the predicate of a script. */
#include "scope.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup.h"

#define MAX_CGROUPS 64

/* Conditions are joined by "&&". */
static void begin(struct script_text *t, bool *any)
{
	script_put(t, *any ? " && " : "/");
	*any = true;
}

static int put_user(struct script_text *t, const struct command *c, const char *user)
{
	const struct passwd *entry = getpwnam(user);
	long uid;

	if (parse_number(user, 0, &uid))
		script_put(t, "uid == %ld", uid);
	else if (entry)
		script_put(t, "uid == %u", entry->pw_uid);
	else
		return usage_error(c, "no user '%s'", user);
	return 0;
}

static int put_cgroup(struct script_text *t, const struct command *c, enum cgroup_kind kind,
		      const char *name)
{
	uint64_t ids[MAX_CGROUPS];
	int count = cgroup_find(kind, name, ids, MAX_CGROUPS);

	if (count > MAX_CGROUPS)
		return usage_error(c,
				   "'%s' has more than %d cgroups: name one that is further down",
				   name, MAX_CGROUPS);
	if (count <= 0)
		return usage_error(c, cgroup_missing(kind), name);
	script_put(t, "(");
	for (int i = 0; i < count; i++)
		script_put(t, "%scgroup == %llu", i ? " || " : "", (unsigned long long)ids[i]);
	script_put(t, ")");
	return 0;
}

/* The options that name cgroups. */
static int put_cgroups(struct script_text *t, const struct command *c, const struct scope *s,
		       bool *any)
{
	const char *const names[] = {
		[CGROUP_PATH] = s->cgroup,
		[CGROUP_UNIT] = s->unit,
		[CGROUP_CONTAINER] = s->container,
	};
	int code = 0;

	for (unsigned kind = 0; kind < sizeof(names) / sizeof(*names) && !code; kind++) {
		if (!names[kind])
			continue;
		begin(t, any);
		code = put_cgroup(t, c, kind, names[kind]);
	}
	return code;
}

/* What is compared with builtins; the rest needs to be looked up. */
static int put_names(struct script_text *t, const struct command *c, const struct scope *s,
		     bool *any)
{
	int code = 0;
	long tid;

	if (s->comm) {
		begin(t, any);
		script_put(t, "comm == ");
		script_put_literal(t, s->comm);
	}
	if (s->comm_part) {
		begin(t, any);
		script_put(t, "strcontains(comm, ");
		script_put_literal(t, s->comm_part);
		script_put(t, ")");
	}
	if (s->cpu) {
		begin(t, any);
		script_put(t, "cpu == %s", s->cpu);
	}
	if (s->tid) {
		if (!parse_number(s->tid, 1, &tid))
			return usage_error(c, "option '-L' needs a thread ID, not '%s'", s->tid);
		begin(t, any);
		script_put(t, "tid == %ld", tid);
	}
	if (s->uid) {
		begin(t, any);
		code = put_user(t, c, s->uid);
	}
	return code;
}

int scope_write(struct script_text *t, const struct command *c, const struct scope *s,
		const char *filter)
{
	bool any = false;
	int code;

	code = put_names(t, c, s, &any);
	if (!code)
		code = put_cgroups(t, c, s, &any);
	if (!code && s->condition) {
		bool joined = any;

		begin(t, &any);
		script_put(t, joined ? "(" : "");
		script_put_word(t, s->condition);
		script_put(t, joined ? ")" : "");
	}
	if (!code && filter) {
		begin(t, &any);
		script_put(t, "(");
		script_put_word(t, filter);
		script_put(t, ")");
	}
	if (any)
		script_put(t, "/\n");
	return code;
}
