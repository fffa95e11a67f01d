/* Reading a map through the public API. */
#include "session/session.h"

#include <errno.h>

#include "base/export.h"

struct reader {
	nopal_map_fn *fn;
	void *arg;
	struct buf key, text; /* with a NUL after them */
};

static int give_entry(void *arg, struct str key, struct str text, bool is_number, int64_t number)
{
	struct reader *r = arg;
	struct nopal_map_entry entry = {.number = number, .is_number = is_number};

	buf_clear(&r->key);
	buf_clear(&r->text);
	buf_add(&r->key, key.ptr, key.len);
	buf_add(&r->text, text.ptr, text.len);
	if (r->key.failed || r->text.failed)
		return -ENOMEM;
	entry.key = r->key.ptr;
	entry.text = r->text.ptr;
	return r->fn(r->arg, &entry);
}

/* A map by name, with or without its '@'; the one without a name is "@" or "". */
static int find_map(const struct program *p, struct str name, uint32_t *out)
{
	if (name.len && name.ptr[0] == '@')
		name = str_of(name.ptr + 1, name.len - 1);
	for (uint32_t i = 0; i < p->map_count; i++) {
		struct str one = p->maps[i].name;

		if (one.len && one.ptr[0] == '@')
			one = str_of(one.ptr + 1, one.len - 1);
		if (str_eq(one, name)) {
			*out = i;
			return 0;
		}
	}
	return -ENOENT;
}

NOPAL_EXPORT int nopal_trace_map(struct nopal_trace *t, const char *name, nopal_map_fn *fn,
				 void *arg, struct nopal_diag *d)
{
	struct reader reader = {.fn = fn, .arg = arg};
	uint32_t map;
	int err = find_map(t->program, str_from(name), &map);

	if (err)
		return diag_error(diag_inner(d), err, "unknown-map", "the script has no map '%s'",
				  name);
	err = report_entries(t->report, &t->engine->maps, map, give_entry, &reader);
	buf_free(&reader.key);
	buf_free(&reader.text);
	return err;
}
