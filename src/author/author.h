/* From the tree of a provider file to what programs with these probes are built with: a header with
 * one macro a probe (header.c), and an object file with one semaphore a probe (object.c). */
#ifndef NOPAL_AUTHOR_AUTHOR_H
#define NOPAL_AUTHOR_AUTHOR_H

#include "elf/write.h"
#include "provider/provider.h"

/* Check the file as a whole: probes that are declared twice, names that collide once they are
 * macros, no provider at all. Call it once, after the last text. 0 or -EINVAL. */
int provider_check(struct provider_file *file, struct diag *d);

/* The C and C++ header. `name` is the name of the file it will be. */
void provider_header(struct provider_file *file, struct str name, bool is_checked, struct buf *out);

/* The relocatable object file for a target such as "aarch64-linux-gnu". `shared`: other modules may
 * use the semaphores, as plug-ins use those of their program. 0; -EINVAL: an unknown target; -EIO:
 * the ELF library failed. */
int provider_object(struct provider_file *file, struct str target, bool shared, struct buf *out,
		    struct diag *d);

/* Append the note that says how a probe was declared, for programs of machine `m`. */
void declare_probe(const struct provider_probe *probe, const struct elf_machine *m,
		   struct buf *notes);

/* All probes of a file, in the order of their declaration. */
#define provider_each_probe(probe, file)                                                  \
	for (struct provider_decl *each_ = (file)->providers; each_; each_ = each_->next) \
		for (struct provider_probe *probe = each_->probes; probe; probe = probe->next)

/* The symbol of a probe's semaphore, in the file's arena. */
static inline struct str provider_semaphore(struct provider_file *file,
					    const struct provider_probe *probe)
{
	return arena_printf(&file->arena, "%.*s_%.*s_semaphore", STR_FMT(probe->provider->name),
			    STR_FMT(probe->name));
}

#endif
