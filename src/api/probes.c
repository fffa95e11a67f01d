/* The public face of reading probes: nopal/sites.h. A collection is a finder and the sites it has
 * found; a site is three pointers into the finder's lists. Its texts are site_text.c's. */
#include <errno.h>
#include <stdlib.h>

#include "base/export.h"
#include "base/array.h"
#include "base/public.h"
#include "engine/engine.h"
#include "api/pattern.h"
#include "api/site.h"

struct nopal_sites {
	struct arena arena; /* what is known of sites */
	struct finder *finder;
	struct nopal_site *sites;
	size_t count, cap;
};

NOPAL_EXPORT int nopal_sites_new(struct nopal_sites **out)
{
	struct nopal_sites *p = calloc(1, sizeof(*p));
	int err = p ? finder_new(&p->finder) : -ENOMEM;

	if (err) {
		free(p);
		return err;
	}
	*out = p;
	return 0;
}

NOPAL_EXPORT void nopal_sites_free(struct nopal_sites *p)
{
	if (!p)
		return;
	finder_free(p->finder);
	arena_free(&p->arena);
	free(p->sites);
	free(p);
}

static int take_image(void *arg, const struct found_image *image, const size_t *matches,
		      size_t count)
{
	struct nopal_sites *p = arg;
	if (array_reserve(p->sites, p->cap, p->count + count))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		p->sites[p->count++] = (struct nopal_site){
			.image = image, .site = &image->sites->sites[matches[i]], .owner = p};
	return 0;
}

static int run_query(struct nopal_sites *p, const struct find_query *q, struct diag *d)
{
	size_t before = p->count;
	int err = finder_sites(p->finder, q, take_image, p, d);

	return err < 0 ? diag_ensure(d, err, "look for probes") : (int)(p->count - before);
}

NOPAL_EXPORT int nopal_sites_file(struct nopal_sites *p, const char *path, struct nopal_diag *d)
{
	struct find_query q = {.path = str_from(path)};

	if (!q.path.len)
		return diag_error(diag_inner(d), -EINVAL, "no-path",
				  "the path of the file is empty");
	return run_query(p, &q, diag_inner(d));
}

NOPAL_EXPORT int nopal_sites_process(struct nopal_sites *p, pid_t pid, struct nopal_diag *d)
{
	struct find_query q = {.pid = pid};

	return run_query(p, &q, diag_inner(d));
}

NOPAL_EXPORT int nopal_sites_system(struct nopal_sites *p, struct nopal_diag *d)
{
	struct find_query q = {.path = STR("*")};

	return run_query(p, &q, diag_inner(d));
}

/* The probe whose name is nearest to the one that was not found. */
struct nearest {
	struct str wanted;
	struct str provider, name;
	unsigned distance;
};

static int take_nearest(void *arg, const struct found_image *image, const size_t *matches,
			size_t count)
{
	struct nearest *n = arg;

	for (size_t i = 0; i < count; i++) {
		const struct site *site = &image->sites->sites[matches[i]];
		unsigned distance = str_distance(n->wanted, site->name, n->distance);

		if (distance >= n->distance)
			continue;
		n->distance = distance;
		n->name = site->name;
		n->provider = site->provider;
	}
	return 0;
}

/* `q` finds nothing: say so, and what there is instead. */
static int not_found(struct nopal_sites *p, const struct find_query *q, const char *pattern,
		     struct diag *d)
{
	struct nearest nearest = {.wanted = q->name, .distance = 4};
	struct find_query any = {.pid = q->pid, .path = q->path};
	struct buf text = BUF_INIT;
	int images;

	buf_escaped(&text, str_from(pattern));
	diag_error(d, -ENOENT, "no-probe", "no probe matches '%.*s'", STR_FMT(buf_as_str(&text)));
	images = finder_sites(p->finder, &any, take_nearest, &nearest, NULL);
	buf_clear(&text);
	buf_escaped(&text, nearest.provider);
	buf_char(&text, ':');
	buf_escaped(&text, nearest.name);
	if (nearest.name.len)
		diag_hint(d, "did you mean '%.*s'?", STR_FMT(buf_as_str(&text)));
	else if (images <= 0)
		diag_hint(d, "nothing there has probes: they are compiled in with <sys/sdt.h>");
	buf_free(&text);
	return -ENOENT;
}

NOPAL_EXPORT int nopal_sites_find(struct nopal_sites *p, const char *pattern, pid_t pid,
				  struct nopal_diag *d)
{
	struct arena parts = ARENA_INIT;
	struct find_query q;
	unsigned errors = nopal_diag_errors(d);
	int count = pattern_parse(str_from(pattern), &parts, &q, diag_inner(d));

	if (!count) {
		q.pid = pid;
		count = run_query(p, &q, diag_inner(d));
	}
	if (!count && nopal_diag_errors(d) == errors)
		count = not_found(p, &q, pattern, diag_inner(d));
	arena_free(&parts);
	return count;
}

NOPAL_EXPORT size_t nopal_sites_count(const struct nopal_sites *p)
{
	return p ? p->count : 0;
}

NOPAL_EXPORT const struct nopal_site *nopal_sites_at(const struct nopal_sites *p, size_t index)
{
	return p && index < p->count ? &p->sites[index] : NULL;
}

/* All text of the rooms below ends in NUL: names in the notes do, paths are copies. */

NOPAL_EXPORT const char *nopal_site_file(const struct nopal_site *s)
{
	return s ? s->image->path.ptr : NULL;
}

NOPAL_EXPORT const char *nopal_site_open_path(const struct nopal_site *s)
{
	return s ? s->image->open_path.ptr : NULL;
}

NOPAL_EXPORT const char *nopal_site_build_id(const struct nopal_site *s)
{
	return s ? s->image->sites->build_id.ptr : NULL;
}

NOPAL_EXPORT const char *nopal_site_provider(const struct nopal_site *s)
{
	return s ? s->site->provider.ptr : NULL;
}

NOPAL_EXPORT const char *nopal_site_name(const struct nopal_site *s)
{
	return s ? s->site->name.ptr : NULL;
}

NOPAL_EXPORT uint64_t nopal_site_location(const struct nopal_site *s)
{
	return s ? s->site->location : 0;
}

NOPAL_EXPORT uint64_t nopal_site_base(const struct nopal_site *s)
{
	return s ? s->site->base : 0;
}

NOPAL_EXPORT uint64_t nopal_site_semaphore(const struct nopal_site *s)
{
	return s ? s->site->semaphore : 0;
}

NOPAL_EXPORT uint64_t nopal_site_offset(const struct nopal_site *s)
{
	return s ? s->site->offset : 0;
}

NOPAL_EXPORT uint64_t nopal_site_semaphore_offset(const struct nopal_site *s)
{
	return s ? s->site->sema_offset : 0;
}

NOPAL_EXPORT const char *nopal_site_args(const struct nopal_site *s)
{
	return s ? s->site->args.ptr : NULL;
}

NOPAL_EXPORT const char *nopal_site_problem(const struct nopal_site *s)
{
	return s ? s->site->problem : NULL;
}

NOPAL_EXPORT unsigned nopal_site_arg_count(const struct nopal_site *s)
{
	return s ? s->site->operand_count : 0;
}

const struct known_site *site_know(const struct nopal_site *s)
{
	struct nopal_sites *p = s ? s->owner : NULL;
	struct known_site *known;

	if (!s)
		return NULL;
	if (s->known)
		return s->known;
	known = arena_new(&p->arena, struct known_site);
	if (!known || finder_know(p->finder, s->image, s->site, &p->arena, known))
		return NULL;
	return p->sites[s - p->sites].known = known;
}

/* Texts of site_know() are copies that end in NUL, or pieces of them that need a copy of their
 * own. */
static const char *text_or_null(struct nopal_sites *p, struct str text)
{
	return text.len ? arena_text(&p->arena, text) : NULL;
}

NOPAL_EXPORT const char *nopal_site_source_file(const struct nopal_site *s)
{
	const struct known_site *known = site_know(s);

	return known ? text_or_null(s->owner, known->file) : NULL;
}

NOPAL_EXPORT unsigned nopal_site_source_line(const struct nopal_site *s)
{
	const struct known_site *known = site_know(s);

	return known ? known->line : 0;
}

NOPAL_EXPORT void nopal_sites_problems(const struct nopal_sites *p, struct nopal_diag *d)
{
	finder_problems(p->finder, diag_inner(d));
}

static const char *reg_name(const struct arch *arch, uint8_t id)
{
	return id == REG_NONE ? NULL : arch_reg_name(arch, id);
}

static void fill_memory(const struct arch *arch, const struct operand *o, struct nopal_arg *out)
{
	out->kind = NOPAL_ARG_MEMORY;
	out->base = reg_name(arch, o->base);
	out->index = reg_name(arch, o->index);
	out->scale = 1u << (o->scale_shift & 3);
}

/* Other machines' registers cannot be judged by this one's. */
static const char *kernel_problem(const struct arch *arch, const struct operand *o)
{
	return arch == arch_host()	? engine_unreadable(&engine_bpf, arch, o)
	       : o->kind == OPERAND_BAD ? o->why
					: NULL;
}

static void fill_arg(const struct arch *arch, const struct operand *o, struct nopal_arg *out)
{
	*out = (struct nopal_arg){
		.kind = o->kind == OPERAND_CONST ? NOPAL_ARG_CONSTANT : NOPAL_ARG_UNKNOWN,
		.size = o->bytes,
		.is_signed = o->is_signed,
		.is_float = o->is_float,
		.value = o->value,
		.scale = 1,
		.raw = o->raw.ptr,
		.raw_len = o->raw.len,
		.problem = kernel_problem(arch, o),
	};
	if (o->kind == OPERAND_REG) {
		out->kind = NOPAL_ARG_REGISTER;
		out->reg = reg_name(arch, o->reg);
		out->shift = o->reg_shift;
	}
	if (o->kind == OPERAND_MEM || o->kind == OPERAND_ADDRESS)
		fill_memory(arch, o, out);
}

static void fill_known(const struct nopal_site *s, unsigned index, struct nopal_arg *out)
{
	const struct known_site *known = site_know(s);
	const struct known_arg *arg = known ? &known->args[index] : NULL;

	out->length = -1;
	if (!arg)
		return;
	out->name = text_or_null(s->owner, arg->name);
	out->type = text_or_null(s->owner, arg->type);
	out->source = text_or_null(s->owner, arg->source);
	out->type_class = arg_class_name(arg->type_class);
	out->is_string = arg->type_class == ARG_STRING;
	out->length = arg->length;
}

NOPAL_EXPORT int nopal_site_arg(const struct nopal_site *s, unsigned index, struct nopal_arg *out)
{
	if (!s || !out)
		return -EINVAL;
	if (index >= s->site->operand_count)
		return -ERANGE;
	fill_arg(s->image->sites->arch, &s->site->operands[index], out);
	fill_known(s, index, out);
	return 0;
}
