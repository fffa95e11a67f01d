/* nopal_attach_bpf: a program that somebody else loaded, on every site of a probe. The sites are
 * found as for a script, and attached as the BPF engine attaches its own. */
#include "session/session.h"

#include <errno.h>
#include <stdlib.h>

#include "base/export.h"
#include "engine/bpf/attach.h"
#include "engine/bpf/sites.h"

struct nopal_link {
	struct links links;
	unsigned sites;
};

/* Sites on their way from the finder to the engine. */
struct gatherer {
	struct arena arena;
	uint64_t cookie;
	struct str name;     /* "provider:name", for messages */
	struct file **files; /* held */
	size_t file_count, file_cap;
	struct attach *attaches;
	size_t count, cap;
};

static int hold(struct gatherer *g, struct file *file)
{
	if (arena_grow(&g->arena, (void **)&g->files, g->file_count, &g->file_cap,
		       sizeof(g->files[0])))
		return -ENOMEM;
	g->files[g->file_count++] = file_hold(file);
	return 0;
}

static int gather(void *arg, const struct found_image *image, const size_t *matches, size_t count)
{
	struct gatherer *g = arg;
	struct str path = arena_str(&g->arena, image->open_path);

	if (!path.ptr || hold(g, image->file))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct site *site = &image->sites->sites[matches[i]];

		if (site->problem)
			continue;
		if (arena_grow(&g->arena, (void **)&g->attaches, g->count, &g->cap,
			       sizeof(g->attaches[0])))
			return -ENOMEM;
		g->attaches[g->count++] = (struct attach){
			.kind = ATTACH_UPROBE,
			.path = path,
			.file = image->file,
			.offset = site->offset,
			.sema_offset = site->sema_offset,
			.is_static = true,
			.is_entry = site->is_entry,
			.arch = image->sites->arch,
		};
	}
	return 0;
}

static int compare_sites(const void *a, const void *b)
{
	const struct attach *x = ((const struct unit_site *)a)->attach,
			    *y = ((const struct unit_site *)b)->attach;
	int order = attach_compare_files(x, y);

	return order ? order : (x->offset > y->offset) - (x->offset < y->offset);
}

/* One uprobe_multi link a file; a program that was not loaded for such links goes on
 * perf events. */
static int attach_sites(struct gatherer *g, int prog_fd, pid_t pid, struct links *links,
			struct diag *d)
{
	struct program program = {.names = &g->name, .name_count = 1};
	struct unit unit = {
		.kind = UNIT_UPROBE, .program = &program, .site_count = (uint32_t)g->count};
	struct features features;
	struct attach_options options = {.features = &features, .pid = pid};
	int err;

	unit.sites = arena_array(&g->arena, struct unit_site, g->count);
	if (!unit.sites)
		return -ENOMEM;
	for (size_t i = 0; i < g->count; i++)
		unit.sites[i] = (struct unit_site){.attach = &g->attaches[i], .cookie = g->cookie};
	qsort(unit.sites, g->count, sizeof(unit.sites[0]), compare_sites);
	features_init(&features);
	err = sites_leave_out_of(&unit, &features, d);
	if (err)
		return err;
	g->count = unit.site_count;
	err = attach_unit(links, &options, &unit, prog_fd, NULL);
	if (!err)
		return 0;
	links_close(links);
	feature_lacks(&features, FEATURE_UPROBE_MULTI);
	return attach_unit(links, &options, &unit, prog_fd, d);
}

static int find_sites(struct gatherer *g, const struct find_query *query, struct diag *d)
{
	struct finder *finder;
	int err = finder_new(&finder);

	if (err)
		return err;
	err = finder_sites(finder, query, gather, g, d);
	finder_free(finder);
	if (err < 0)
		return err;
	if (!g->count)
		return diag_error(d, -ENOENT, "unknown-probe", "no probe '%.*s' in '%.*s'",
				  STR_FMT(g->name), STR_FMT(query->path));
	return 0;
}

NOPAL_EXPORT int nopal_attach_bpf(int prog_fd, pid_t pid, const char *path, const char *provider,
				  const char *name, uint64_t cookie, struct nopal_link **out,
				  struct nopal_diag *diag)
{
	struct diag *d = diag_inner(diag);
	struct gatherer g = {.cookie = cookie};
	const struct find_query query = {.pid = pid,
					 .path = str_from(path),
					 .provider = str_from(provider),
					 .name = str_from(name),
					 .to_attach = true};
	struct nopal_link *link = calloc(1, sizeof(*link));
	int err = link ? 0 : -ENOMEM;

	g.name = arena_printf(&g.arena, "%s:%s", provider, name);
	if (!err)
		err = find_sites(&g, &query, d);
	if (!err)
		err = attach_sites(&g, prog_fd, pid, &link->links, d);
	if (!err) {
		link->sites = (unsigned)g.count;
		*out = link;
	} else {
		nopal_link_detach(link);
	}
	for (size_t i = 0; i < g.file_count; i++)
		file_drop(g.files[i]);
	arena_free(&g.arena);
	return diag_ensure(d, err, "attach the program");
}

NOPAL_EXPORT unsigned nopal_link_site_count(const struct nopal_link *link)
{
	return link->sites;
}

NOPAL_EXPORT void nopal_link_detach(struct nopal_link *link)
{
	if (!link)
		return;
	links_close(&link->links);
	free(link);
}
