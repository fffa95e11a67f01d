/* Grouping kernel maps by type and sizes; see group.h. The kernel gives all maps in an array of
 * maps the type and sizes of the first, and the verifier reads them off it: so an array holds one
 * shape. */
#include "engine/bpf/run/group.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "engine/bpf/kernel/make_map.h"

/* One kernel map and its shape: maps of one shape can be in one array. */
struct member {
	struct store_map *map;
	enum store_kind kind;
	bool forgets;
	uint32_t value_size; /* without the stacks of the key */
};

static int compare_shapes(const void *x, const void *y)
{
	const struct member *a = x, *b = y;
	const uint32_t shapes[][2] = {{a->kind, b->kind},
				      {a->forgets, b->forgets},
				      {a->map->key_size, b->map->key_size},
				      {a->map->stacks_size, b->map->stacks_size},
				      {a->value_size, b->value_size}};

	for (size_t i = 0; i < COUNT(shapes); i++)
		if (shapes[i][0] != shapes[i][1])
			return shapes[i][0] < shapes[i][1] ? -1 : 1;
	return 0;
}

/* An array with all of `members`, each of which gets its index. */
static int make_array(const struct member *members, uint32_t count, struct diag *d)
{
	struct kernel_map m = {.type = BPF_MAP_TYPE_ARRAY_OF_MAPS,
			       .key_size = 4,
			       .value_size = 4,
			       .max_entries = count,
			       .inner_fd = members->map->fd,
			       .name = "maps"};
	int fd = map_make(&m, d), err = 0;

	if (fd < 0)
		return fd;
	for (uint32_t i = 0; !err && i < count; i++) {
		uint32_t value = (uint32_t)members[i].map->fd;

		err = kernel_map_update(fd, &i, &value, BPF_ANY);
		members[i].map->group_fd = fd;
		members[i].map->group_at = i;
	}
	if (!err)
		return fd;
	close(fd);
	return diag_error(d, err, "map", "cannot fill an array of BPF maps: %s", strerror(-err));
}

static int make_arrays(struct groups *g, const struct member *members, uint32_t count,
		       struct diag *d)
{
	for (uint32_t at = 0, end; at < count; at = end) {
		int fd;

		end = at + 1;
		while (end < count && !compare_shapes(&members[at], &members[end]))
			end++;
		if (g->count == GROUP_DIRECT)
			return diag_error(d, -E2BIG, "too-many-maps",
					  "the script has %u maps of more than %u different sizes: "
					  "give the strings in their keys the same lengths",
					  count, GROUP_DIRECT);
		fd = make_array(members + at, end - at, d);
		if (fd < 0)
			return fd;
		g->fds[g->count++] = fd;
	}
	return 0;
}

int groups_make(struct groups *g, struct store *stores, uint32_t count, uint32_t direct,
		struct diag *d)
{
	struct member *members = calloc(4 * (size_t)count + 1, sizeof(*members));
	uint32_t n = 0;
	int err = 0;

	if (!members)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		for (struct store *s = &stores[i]; s; s = s->twin) {
			members[n++] =
				(struct member){&s->map, s->kind, s->def->forgets, s->value_size};
			if (s->long_map.fd >= 0)
				members[n++] = (struct member){&s->long_map, s->kind,
							       s->def->forgets, s->value_size};
		}
	qsort(members, n, sizeof(*members), compare_shapes);
	if (n > direct) {
		g->fds = calloc(GROUP_DIRECT, sizeof(*g->fds));
		err = g->fds ? make_arrays(g, members, n, d) : -ENOMEM;
	}
	free(members);
	return err;
}

void groups_close(struct groups *g)
{
	for (uint32_t i = 0; i < g->count; i++)
		close(g->fds[i]);
	free(g->fds);
	*g = (struct groups){0};
}
