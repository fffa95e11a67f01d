/* Reading probes: nopal/sites.h. A collection is a finder and the sites that it has found; a site
 * is three pointers into the finder's lists, and can be shown as text and as JSON. */
#include <errno.h>
#include <stdlib.h>

#include "base/export.h"
#include "base/array.h"
#include "base/json.h"
#include "base/public.h"
#include "engine/engine.h"
#include "find/know.h"
#include "find/pattern.h"
#include "nopal/sites.h"

struct nopal_site {
	const struct found_image *image;
	struct site *site;
	struct nopal_sites *owner;
};

struct nopal_sites {
	struct arena arena; /* texts that were asked for */
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

	return err < 0 ? diag_ensure(d, err, "search for probes") : (int)(p->count - before);
}

NOPAL_EXPORT int nopal_sites_file(struct nopal_sites *p, const char *path, struct nopal_diag *d)
{
	struct find_query q = {.path = str_from(path)};

	if (!q.path.len)
		return diag_error(diag_inner(d), -EINVAL, "no-path",
				  "the path of the file is empty");
	return run_query(p, &q, diag_inner(d));
}

NOPAL_EXPORT char *nopal_sites_library(struct nopal_sites *p, const char *path, size_t *count)
{
	struct arena a = ARENA_INIT;
	struct str library = finder_library(p->finder, str_from(path), &a, count);
	char *copy = *count ? strndup(library.ptr, library.len) : NULL;

	arena_free(&a);
	return copy;
}

NOPAL_EXPORT const char *nopal_program_note(const char *path)
{
	struct str note = know_program(str_from(path));

	return note.len ? note.ptr : NULL;
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

/* The probe whose name is most like the one that was not found. */
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

/* Why a file has no probes: they are in a library, as an interpreter's often are, or the program
 * was built without. */
static void hint_none(struct nopal_sites *p, struct str path, struct diag *d)
{
	struct arena a = ARENA_INIT;
	size_t count = 0;
	struct str library = finder_library(p->finder, path, &a, &count);
	struct str note = know_program(path);

	if (count)
		diag_hint(d, "it is linked with '%.*s', which has %zu probe%s", STR_FMT(library),
			  count, count == 1 ? "" : "s");
	else
		diag_hint(d, "%.*s",
			  STR_FMT(note.len ? note
					   : STR("it has no probes: programs are built with them "
						 "by <sys/sdt.h>")));
	arena_free(&a);
}

/* Report that `q` found nothing, with a probe that may be meant. */
static int not_found(struct nopal_sites *p, const struct find_query *q, const char *pattern,
		     struct diag *d)
{
	struct nearest nearest = {.wanted = q->name, .distance = 4};
	struct find_query any = {.pid = q->pid, .path = q->path};
	struct buf text = BUF_INIT;
	int images;

	buf_escaped(&text, str_from(pattern));
	diag_error(d, -ENOENT, "no-probe",
		   strchr(pattern, ':') ? "no probe matches '%.*s'" : "no probes in '%.*s'",
		   STR_FMT(buf_as_str(&text)));
	images = finder_sites(p->finder, &any, take_nearest, &nearest, NULL);
	buf_clear(&text);
	buf_escaped(&text, nearest.provider);
	buf_char(&text, ':');
	buf_escaped(&text, nearest.name);
	if (nearest.name.len)
		diag_hint(d, "did you mean '%.*s'?", STR_FMT(buf_as_str(&text)));
	else if (images <= 0)
		hint_none(p, q->path, d);
	buf_free(&text);
	return -ENOENT;
}

NOPAL_EXPORT int nopal_sites_find(struct nopal_sites *p, const char *pattern, pid_t pid,
				  struct nopal_diag *d)
{
	struct arena parts = ARENA_INIT;
	struct find_query q;
	unsigned errors = nopal_diag_errors(d);
	int count = pattern_query(str_from(pattern), &parts, &q, diag_inner(d));

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

/* ---- Fields of a site ------------------------------------------------------------------------ */

/* clang-format off */
#define GETTER(type, name, value, none)                                  \
	NOPAL_EXPORT type nopal_site_##name(const struct nopal_site *s)  \
	{                                                                \
		return s ? (value) : (none);                             \
	}

/* All texts end in a NUL: names in the notes do, and paths are copies. */
GETTER(const char *, file,             s->image->path.ptr,            NULL)
GETTER(const char *, open_path,        s->image->open_path.ptr,       NULL)
GETTER(const char *, build_id,         s->image->sites->build_id.ptr, NULL)
GETTER(const char *, provider,         s->site->provider.ptr,         NULL)
GETTER(const char *, name,             s->site->name.ptr,             NULL)
GETTER(uint64_t,     location,         s->site->location,             0)
GETTER(uint64_t,     base,             s->site->base,                 0)
GETTER(uint64_t,     semaphore,        s->site->semaphore,            0)
GETTER(uint64_t,     offset,           s->site->offset,               0)
GETTER(uint64_t,     semaphore_offset, s->site->sema_offset,          0)
GETTER(const char *, args,             s->site->args_text.ptr,        NULL)
GETTER(const char *, problem,          s->site->problem,              NULL)
GETTER(unsigned,     arg_count,        s->site->arg_count,        0)
/* clang-format on */

/* The site with what is known of its arguments, which is looked up when it is first asked for.
 * NULL: out of memory. */
static const struct site *site_know(const struct nopal_site *s)
{
	return s && !finder_know(s->owner->finder, s->image, s->site) ? s->site : NULL;
}

/* A copy that ends in a NUL: names may be pieces of longer texts. */
static const char *text_or_null(struct nopal_sites *p, struct str text)
{
	return text.len ? arena_text(&p->arena, text) : NULL;
}

NOPAL_EXPORT const char *nopal_site_source_file(const struct nopal_site *s)
{
	const struct description *d = s ? s->site->described : NULL;

	return d ? text_or_null(s->owner, d->file) : NULL;
}

NOPAL_EXPORT unsigned nopal_site_source_line(const struct nopal_site *s)
{
	return s && s->site->described ? s->site->described->line : 0;
}

NOPAL_EXPORT void nopal_sites_problems(const struct nopal_sites *p, struct nopal_diag *d)
{
	finder_problems(p->finder, diag_inner(d));
}

static const char *reg_name(const struct arch *arch, uint8_t id)
{
	return id == REG_NONE ? NULL : arch_reg_name(arch, id);
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
		/* Only for this CPU can the engine say what it reads. */
		.problem = arch == arch_host()	    ? engine_unreadable(&engine_bpf, arch, o)
			   : o->kind == OPERAND_BAD ? o->why
						    : NULL,
	};
	if (o->kind == OPERAND_REG) {
		out->kind = NOPAL_ARG_REGISTER;
		out->reg = reg_name(arch, o->reg);
		out->shift = o->reg_shift;
	}
	if (o->kind == OPERAND_MEM || o->kind == OPERAND_ADDRESS) {
		out->kind = NOPAL_ARG_MEMORY;
		out->base = reg_name(arch, o->base);
		out->index = reg_name(arch, o->index);
		out->scale = 1u << (o->scale_shift & 3);
	}
}

static void fill_known(const struct nopal_site *s, unsigned index, struct nopal_arg *out)
{
	const struct site *known = site_know(s);
	const struct arch *arch = s->image->sites->arch;
	const struct argument *arg = known ? &known->args[index] : NULL;
	struct ctype_machine m;
	struct buf type = BUF_INIT;

	out->length = -1;
	if (!arg)
		return;
	m = ctype_machine_of(arch->machine, arch->word);
	out->name = text_or_null(s->owner, arg->name);
	/* A type that is declared. What is only passed has a class. */
	if (arg->type_from == ORIGIN_PROGRAM || arg->type_from == ORIGIN_CATALOGUE)
		ctype_print(&type, arg->type, STR(""));
	out->type = text_or_null(s->owner, buf_as_str(&type));
	buf_free(&type);
	out->source = text_or_null(s->owner, arg->source);
	out->type_class = argument_class(arg, &m);
	out->is_string = argument_is_text(arg);
	out->length = arg->counted_by;
}

NOPAL_EXPORT int nopal_site_arg(const struct nopal_site *s, unsigned index, struct nopal_arg *out)
{
	if (!s || !out)
		return -EINVAL;
	if (index >= s->site->arg_count)
		return -ERANGE;
	fill_arg(s->image->sites->arch, &s->site->args[index].operand, out);
	fill_known(s, index, out);
	return 0;
}

/* ---- A site as text ---------------------------------------------------------------------------
 */

/* The buffer's bytes, for the caller to free. */
static char *give_text(struct buf *b)
{
	buf_char(b, '\0');
	if (!b->failed)
		return b->ptr;
	buf_free(b);
	return NULL;
}

NOPAL_EXPORT char *nopal_site_pattern(const struct nopal_site *s)
{
	struct buf text = BUF_INIT;

	if (!s)
		return NULL;
	buf_text(&text, "usdt:");
	pattern_quote(s->image->path, &text);
	buf_char(&text, ':');
	pattern_quote(s->site->provider, &text);
	buf_char(&text, ':');
	pattern_quote(s->site->name, &text);
	return give_text(&text);
}

NOPAL_EXPORT char *nopal_site_arg_text(const struct nopal_site *s, unsigned index)
{
	struct buf text = BUF_INIT;

	if (!s)
		return NULL;
	if (index < s->site->arg_count)
		operand_describe(&s->site->args[index].operand, s->image->sites->arch, &text);
	return give_text(&text);
}

NOPAL_EXPORT char *nopal_site_declaration(const struct nopal_site *s)
{
	const struct site *known = site_know(s);
	struct buf text = BUF_INIT;

	if (!s)
		return NULL;
	if (known)
		site_declaration_show(known, &text);
	return give_text(&text);
}

NOPAL_EXPORT char *nopal_site_note(const struct nopal_site *s)
{
	struct buf text = BUF_INIT;

	if (!s)
		return NULL;
	buf_str(&text, site_note(s->site));
	return give_text(&text);
}

NOPAL_EXPORT char *nopal_site_description(const struct nopal_site *s)
{
	struct buf text = BUF_INIT;

	if (!s)
		return NULL;
	if (s->site->described)
		buf_escaped(&text, s->site->described->text);
	return give_text(&text);
}

static void json_optional(struct json *j, const char *key, const char *text)
{
	if (text)
		json_pair(j, key, str_from(text));
}

static void json_number(struct json *j, const char *key, int64_t value)
{
	json_key(j, key);
	json_s64(j, value);
}

static void json_flag(struct json *j, const char *key, bool value)
{
	json_key(j, key);
	json_bool(j, value);
}

static void json_arg(struct json *j, const struct nopal_arg *arg)
{
	static const char *const kinds[] = {
		[NOPAL_ARG_CONSTANT] = "constant",
		[NOPAL_ARG_REGISTER] = "register",
		[NOPAL_ARG_MEMORY] = "memory",
		[NOPAL_ARG_UNKNOWN] = "unknown",
	};

	json_open(j, '{');
	/* Known from the program or a provider file. */
	json_optional(j, "name", arg->name);
	json_optional(j, "type", arg->type);
	json_optional(j, "class", arg->type_class);
	json_optional(j, "source", arg->source);
	if (arg->name || arg->type || arg->source)
		json_flag(j, "string", arg->is_string);
	if (arg->length >= 0)
		json_number(j, "length_argument", arg->length);
	/* Known from the operand. */
	json_number(j, "size", arg->size);
	json_flag(j, "signed", arg->is_signed);
	json_flag(j, "float", arg->is_float);
	json_pair(j, "kind", str_from(kinds[arg->kind]));
	json_optional(j, "register", arg->reg);
	if (arg->shift)
		json_number(j, "shift", arg->shift);
	json_optional(j, "base", arg->base);
	json_optional(j, "index", arg->index);
	if (arg->index)
		json_number(j, "scale", arg->scale);
	if (arg->kind == NOPAL_ARG_CONSTANT)
		json_number(j, "value", arg->value);
	if (arg->kind == NOPAL_ARG_MEMORY)
		json_number(j, "offset", arg->value);
	json_pair(j, "raw", str_of(arg->raw, arg->raw_len));
	json_optional(j, "problem", arg->problem);
	json_close(j, '}');
}

static void json_site(struct json *j, const struct nopal_site *s)
{
	const struct description *described = s->site->described;
	struct nopal_arg arg;

	json_open(j, '{');
	json_pair(j, "file", s->image->path);
	json_pair(j, "build_id", s->image->sites->build_id);
	json_pair(j, "provider", s->site->provider);
	json_pair(j, "name", s->site->name);
	json_key(j, "location");
	json_hex(j, s->site->location);
	json_key(j, "base");
	json_hex(j, s->site->base);
	json_key(j, "semaphore");
	json_hex(j, s->site->semaphore);
	json_optional(j, "source_file", nopal_site_source_file(s));
	if (nopal_site_source_line(s))
		json_number(j, "source_line", nopal_site_source_line(s));
	if (described && described->text.len)
		json_pair(j, "description", described->text);
	json_pair(j, "args", s->site->args_text);
	json_key(j, "arguments");
	json_open(j, '[');
	for (unsigned i = 0; !nopal_site_arg(s, i, &arg); i++)
		json_arg(j, &arg);
	json_close(j, ']');
	json_optional(j, "problem", s->site->problem);
	json_close(j, '}');
}

NOPAL_EXPORT char *nopal_site_json(const struct nopal_site *s)
{
	struct buf text = BUF_INIT;
	struct json j = {.out = &text};

	if (!s)
		return NULL;
	json_site(&j, s);
	return give_text(&text);
}
