/* The object file of a provider file: one semaphore a probe, two bytes each, in the section
 * .probes, where tracers increment it; and one note a probe, its declaration: names and C types as
 * the provider file has them, with the class and size that these types have on the machine
 * (doc/describe-note.md, type 3). The object contains no code, so it links with whatever the
 * program was compiled for, also with branch protection. */
#include "author/author.h"

#include <elf.h>
#include <errno.h>

#include "base/array.h"
#include "probe/probe.h"

#define SEMAPHORE_SIZE 2
#define PAGE	       (4u << 10)
#define LARGE_PAGE     (64u << 10)
#define NOTE_DECLARED  3

static void add_text(struct buf *note, struct str text)
{
	buf_str(note, text);
	buf_char(note, '\0');
}

/* provider NUL name NUL count, then class, size, name NUL, type NUL for each argument */
void declare_probe(const struct provider_probe *probe, const struct elf_machine *m,
		   struct buf *notes)
{
	const struct ctype_machine machine = ctype_machine_of(m->machine, m->word);
	struct buf note = BUF_INIT;

	add_text(&note, probe->provider->name);
	add_text(&note, probe->name);
	buf_char(&note, (char)probe->arg_count);
	for (const struct ctype_param *arg = probe->args; arg; arg = arg->next) {
		struct type_class is = type_class_of(arg->type, &machine);

		buf_char(&note, (char)is.type_class);
		buf_char(&note, (char)is.size);
		add_text(&note, arg->name);
		ctype_print(&note, arg->type, STR(""));
		buf_char(&note, '\0');
	}
	elf_add_note(notes, m, STR("nopal"), NOTE_DECLARED, buf_as_str(&note));
	notes->failed |= note.failed;
	buf_free(&note);
}

/* May a page of memory have more than 4 KiB there? Then .probes is aligned to the largest, so that
 * no other segment of the file shares a page with it: see NOPAL_SDT_PAGE in <nopal/sdt.h>. */
static bool has_large_pages(const struct elf_machine *m)
{
	static const uint16_t machines[] = {EM_AARCH64, EM_PPC64, EM_MIPS, MACHINE_LOONGARCH};

	for (size_t i = 0; i < COUNT(machines); i++)
		if (m->machine == machines[i])
			return true;
	return false;
}

int provider_object(struct provider_file *file, struct str target, bool shared, struct buf *out,
		    struct diag *d)
{
	struct elf_object o = {.visible = shared,
			       .machine = elf_machine_for(target),
			       .section = {.name = ".probes"}};
	int err = 0;

	if (!o.machine) {
		diag_error(d, -EINVAL, "unknown-target", "unknown target '%.*s'", STR_FMT(target));
		diag_hint(d, "a target is a GNU triple such as aarch64-linux-gnu");
		return -EINVAL;
	}
	o.section.align = has_large_pages(o.machine) ? LARGE_PAGE : PAGE;
	o.symbols = arena_array(&file->arena, struct elf_symbol, file->probe_count + 1);
	if (!o.symbols)
		return -ENOMEM;
	provider_each_probe(probe, file) {
		struct str name = provider_semaphore(file, probe);

		if (!name.ptr)
			err = -ENOMEM;
		if (probe->repeated)
			continue;
		o.symbols[o.symbol_count++] = (struct elf_symbol){
			.name = name, .value = o.section.size, .size = SEMAPHORE_SIZE};
		o.section.size += SEMAPHORE_SIZE;
		declare_probe(probe, o.machine, &o.notes);
	}
	if (!err)
		err = elf_write_object(&o, out, d);
	buf_free(&o.notes);
	return err;
}
