/* nopal_attach_bpf: a BPF program of the caller's, on every site of a probe. The sites are found as
 * for a script, and attached by the BPF engine. */
#include "session/session.h"

#include <errno.h>
#include <stdlib.h>

#include "base/export.h"
#include "engine/bpf/run/attach.h"

struct nopal_link {
	struct links links;
	unsigned sites;
};

/* The sites of a probe. */
struct found_sites {
	struct arena arena;
	struct file **files; /* held */
	size_t file_count, file_cap;
	struct attach *attaches;
	size_t count, cap;
};

static int add_sites(void *arg, const struct found_image *image, const size_t *matches,
		     size_t count)
{
	struct found_sites *f = arg;
	struct str path = arena_str(&f->arena, image->open_path);

	if (!path.ptr || arena_grow(&f->arena, (void **)&f->files, f->file_count, &f->file_cap,
				    sizeof(f->files[0])))
		return -ENOMEM;
	f->files[f->file_count++] = file_hold(image->file);
	for (size_t i = 0; i < count; i++) {
		const struct site *site = &image->sites->sites[matches[i]];

		if (site->problem)
			continue;
		if (arena_grow(&f->arena, (void **)&f->attaches, f->count, &f->cap,
			       sizeof(f->attaches[0])))
			return -ENOMEM;
		f->attaches[f->count++] = (struct attach){
			.kind = ATTACH_UPROBE,
			.path = path,
			.file = image->file,
			.is_static = true,
			.is_entry = site->is_entry,
			.offset = site->offset,
			.sema_offset = site->sema_offset,
			.arch = image->sites->arch,
		};
	}
	return 0;
}

static int find_sites(struct found_sites *f, const struct find_query *query, struct str name,
		      struct diag *d)
{
	struct finder *finder;
	int err = finder_new(&finder);

	if (err)
		return err;
	err = finder_sites(finder, query, add_sites, f, d);
	finder_free(finder);
	if (err < 0)
		return err;
	if (!f->count)
		return diag_error(d, -ENOENT, "unknown-probe", "no probe '%.*s' in '%.*s'",
				  STR_FMT(name), STR_FMT(query->path));
	return 0;
}

NOPAL_EXPORT int nopal_attach_bpf(int prog_fd, pid_t pid, const char *path, const char *provider,
				  const char *name, uint64_t cookie, struct nopal_link **out,
				  struct nopal_diag *diag)
{
	struct diag *d = diag_inner(diag);
	struct found_sites f = {.files = NULL};
	const struct find_query query = {.pid = pid,
					 .path = str_from(path),
					 .provider = str_from(provider),
					 .name = str_from(name),
					 .to_attach = true};
	const struct caller_program caller = {
		.fd = prog_fd,
		.pid = pid,
		.cookie = cookie,
		.name = arena_printf(&f.arena, "%s:%s", provider, name)};
	struct nopal_link *link = calloc(1, sizeof(*link));
	int err = link ? find_sites(&f, &query, caller.name, d) : -ENOMEM;

	if (!err)
		err = attach_caller(&link->links, &caller, f.attaches, &f.count, d);
	if (!err) {
		link->sites = (unsigned)f.count;
		*out = link;
	} else {
		nopal_link_detach(link);
	}
	for (size_t i = 0; i < f.file_count; i++)
		file_drop(f.files[i]);
	arena_free(&f.arena);
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
