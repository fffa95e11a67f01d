/* Short names of probes, for people: what an author calls a probe, without the file that it is in.
 *
 *	usdt:/usr/bin/app:shop:order			shop:order
 *	usdt:/memfd:nopal:app (deleted):app:request	app:request
 *	uprobe:/lib/libc.so.6:malloc			libc.so.6:malloc
 *
 * Where two files have the same one, the path stays: /usr/bin/app:shop:order. */
#include "report/inside.h"

#include <errno.h>

#include "base/hash.h"

/* `name` from after its last-but-`skip` colon on; whole when it has fewer. */
static struct str tail_of(struct str name, unsigned skip)
{
	size_t at = name.len;

	for (; at; at--)
		if (name.ptr[at - 1] == ':' && skip-- == 0)
			return str_of(name.ptr + at, name.len - at);
	return name;
}

static struct str text_after(struct str name, struct str type)
{
	return str_of(name.ptr + type.len, name.len - type.len);
}

static struct str short_name(struct str name)
{
	struct str rest;

	if (str_starts(name, STR("usdt:")))
		return tail_of(name, 1);
	if (!str_starts(name, STR("uprobe:")) && !str_starts(name, STR("uretprobe:")))
		return name;
	rest = tail_of(name, 1);
	for (size_t i = rest.len; i; i--)
		if (rest.ptr[i - 1] == '/')
			return str_of(rest.ptr + i, rest.len - i);
	return rest;
}

/* With the path, unless the probe was made at run time. */
static struct str long_name(struct str name)
{
	if (str_starts(name, STR("usdt:/memfd:")))
		return short_name(name);
	return str_starts(name, STR("usdt:")) ? text_after(name, STR("usdt:")) : name;
}

int short_names(struct arena *a, const struct str *names, uint32_t count, const struct str **out)
{
	struct str *made = arena_array(a, struct str, (size_t)count + 1);
	struct hash by_name = {.links = NULL};
	int err = made ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < count && !err; i++) {
		uint64_t hash;

		made[i] = short_name(names[i]);
		hash = hash_str((uintptr_t)made, made[i]);
		hash_each(k, &by_name, hash) {
			if (!str_eq(short_name(names[k]), made[i]) || str_eq(names[k], names[i]))
				continue;
			made[k] = long_name(names[k]);
			made[i] = long_name(names[i]);
			break;
		}
		err = hash_add(&by_name, hash, i);
	}
	hash_free(&by_name);
	if (!err)
		*out = made;
	return err;
}
