/* Provider files for users of the library: nopal/provider_files.h. */
#include "author/author.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/export.h"
#include "base/public.h"
#include "elf/write.h"
#include "nopal/provider_files.h"

struct nopal_provider_files {
	struct provider_file file;
	bool shared, unchecked;
};

NOPAL_EXPORT struct nopal_provider_files *nopal_provider_files_new(void)
{
	struct nopal_provider_files *p = calloc(1, sizeof(*p));

	if (p)
		provider_open(&p->file);
	return p;
}

NOPAL_EXPORT void nopal_provider_files_free(struct nopal_provider_files *p)
{
	if (!p)
		return;
	provider_free(&p->file);
	free(p);
}

NOPAL_EXPORT int nopal_provider_files_add(struct nopal_provider_files *p, const char *path,
					  const char *text, size_t len, struct nopal_diag *d)
{
	struct str own_path = arena_str(&p->file.arena, str_from(path));
	struct str own_text = arena_str(&p->file.arena, str_of(text, len));

	if (!own_path.ptr || !own_text.ptr)
		return diag_error(diag_inner(d), -ENOMEM, "no-memory", "out of memory");
	return provider_parse(&p->file, own_path, own_text, diag_inner(d));
}

NOPAL_EXPORT int nopal_provider_files_check(struct nopal_provider_files *p, struct nopal_diag *d)
{
	struct diag own = DIAG_INIT;
	int err = provider_check(&p->file, d ? diag_inner(d) : &own);

	diag_free(&own);
	return err;
}

NOPAL_EXPORT void nopal_provider_files_share(struct nopal_provider_files *p, bool shared)
{
	p->shared = shared;
}

NOPAL_EXPORT void nopal_provider_files_leave_unchecked(struct nopal_provider_files *p,
						       bool unchecked)
{
	p->unchecked = unchecked;
}

/* Hand over the bytes, or report that memory ran out. */
static int hand_over_bytes(struct buf *out, int err, char **bytes, size_t *len,
			   struct nopal_diag *d)
{
	if (!err && out->failed)
		err = diag_error(diag_inner(d), -ENOMEM, "no-memory", "out of memory");
	if (err) {
		buf_free(out);
		return err;
	}
	*bytes = out->ptr;
	*len = out->len;
	return 0;
}

NOPAL_EXPORT int nopal_provider_files_header(struct nopal_provider_files *p, const char *name,
					     char **text, size_t *len, struct nopal_diag *d)
{
	struct buf out = BUF_INIT;

	provider_header(&p->file, str_from(name), !p->unchecked, &out);
	return hand_over_bytes(&out, 0, text, len, d);
}

NOPAL_EXPORT int nopal_provider_files_object(struct nopal_provider_files *p, const char *target,
					     void **bytes, size_t *len, struct nopal_diag *d)
{
	struct buf out = BUF_INIT;
	struct str triple = str_from(target ? target : elf_host_triple());

	return hand_over_bytes(&out,
			       provider_object(&p->file, triple, p->shared, &out, diag_inner(d)),
			       (char **)bytes, len, d);
}

NOPAL_EXPORT const char *nopal_provider_files_variant(const char *target, const char *mode)
{
	const char *triple = target ? target : elf_host_triple(), *variant = NULL;
	const struct elf_machine *m = elf_machine_for(str_from(triple));

	if (!m)
		return NULL;
	if (!strcmp(mode, "32"))
		variant = m->narrow;
	else if (!strcmp(mode, "64"))
		variant = m->wide;
	else if (!strcmp(mode, "x32") && m->machine == EM_X86_64)
		variant = "x86_64-linux-gnux32";
	return variant && elf_machine_for(str_from(variant)) == m ? triple : variant;
}
