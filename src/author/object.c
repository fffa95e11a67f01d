/* The object file of a provider file: one semaphore a probe, two bytes each, in the section .probes
 * that tracers count in, and one note a probe that tells what its arguments were declared as. It
 * holds no code, so it links with whatever the program was compiled for, also with branch
 * protection on. */
#include "author/author.h"

#include <errno.h>

#include "author/declare.h"
#include "elf/write.h"

#define SEMAPHORE_SIZE 2

static int add_semaphores(struct provider_file *file, struct elf_object *o)
{
	uint64_t at = 0;

	for (struct provider_decl *p = file->providers; p; p = p->next)
		for (struct provider_probe *probe = p->probes; probe; probe = probe->next) {
			struct str name = arena_printf(&file->arena, "%.*s_%.*s_semaphore",
						       STR_FMT(p->name), STR_FMT(probe->name));

			if (!name.ptr)
				return -ENOMEM;
			if (probe->repeated)
				continue;
			o->symbols[o->symbol_count++] = (struct elf_symbol){
				.name = name, .value = at, .size = SEMAPHORE_SIZE};
			at += SEMAPHORE_SIZE;
		}
	o->section.size = at;
	return 0;
}

static void add_declarations(struct provider_file *file, struct elf_object *o)
{
	for (struct provider_decl *p = file->providers; p; p = p->next)
		for (struct provider_probe *probe = p->probes; probe; probe = probe->next)
			if (!probe->repeated)
				declare_probe(probe, o->machine, &o->notes);
}

int provider_object(struct provider_file *file, const struct object_request *r, struct buf *out,
		    struct diag *d)
{
	struct elf_object o = {.visible = r->shared,
			       .section = {.name = ".probes", .align = SEMAPHORE_SIZE}};
	int err;

	o.machine = elf_machine_for(r->target);
	if (!o.machine) {
		diag_error(d, -EINVAL, "unknown-target", "unknown target '%.*s'",
			   STR_FMT(r->target));
		diag_hint(d, "a target is a GNU triple such as aarch64-linux-gnu");
		return -EINVAL;
	}
	o.symbols = arena_array(&file->arena, struct elf_symbol, file->probe_count + 1);
	if (!o.symbols)
		return -ENOMEM;
	err = add_semaphores(file, &o);
	add_declarations(file, &o);
	err = err ? err : elf_write_object(&o, out, d);
	buf_free(&o.notes);
	return err;
}
