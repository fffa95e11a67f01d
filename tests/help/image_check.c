#include "help/image_check.h"

#include <elf.h>
#include <stdlib.h>

/* The first argument registers of the CPUs, then the stack: the ids that operands have. */
static bool is_place_of_value(const struct arch *arch, const struct operand *o, unsigned i)
{
	unsigned in_registers = arch->machine == EM_X86_64 ? 6 : 8;

	if (i < in_registers)
		return o->kind == OPERAND_REG && o->reg == arch->call_regs[i] && !o->reg_shift;
	return o->kind == OPERAND_MEM && o->base == arch->sp && o->index == REG_NONE &&
	       o->value == (int64_t)(8 * (i - in_registers)) + arch->call_stack;
}

static const char *check_values(const struct arch *arch, const struct image_probe *p,
				const struct site *site)
{
	if (site->arg_count != p->value_count)
		return "number of operands";
	for (unsigned i = 0; i < p->value_count; i++) {
		const struct operand *o = &site->args[i].operand;

		if (o->size != p->types[i]->size || o->is_signed != p->types[i]->is_signed)
			return "width or sign";
		if (!is_place_of_value(arch, o, i))
			return "place of a value";
	}
	return NULL;
}

static const char *check_description(const struct image_probe *p, const struct site *site)
{
	const struct ctype_machine m = ctype_machine_of(EM_NONE, 8);

	if (!site->described)
		return "a description";
	if (!str_eq(site->described->text, p->description))
		return "description";
	for (unsigned i = 0; i < p->value_count; i++) {
		const struct argument *a = &site->args[i];
		struct type_class is = type_class_of(a->type, &m);
		size_t len = p->names[i].len;

		if ((is.type_class & 127) != (unsigned)p->types[i]->type_class ||
		    is.size != p->types[i]->size || is.type_class >> 7 != p->types[i]->is_signed)
			return "described type";
		if (!str_eq_text(a->type->name, p->types[i]->c_type))
			return "C type";
		if (len && (!str_starts(a->name, p->names[i]) ||
			    !str_eq_text(str_of(a->name.ptr + len, a->name.len - len),
					 p->types[i]->name_suffix)))
			return "name of an argument";
		if (!len && a->name.len)
			return "a name from nowhere";
	}
	return NULL;
}

static const char *check_place(const struct site *site, struct symtab *symbols, size_t i,
			       size_t count)
{
	struct symbol symbol;

	if (site->problem)
		return site->problem;
	if (site->offset != image_stub_at(i) || site->location != site->offset)
		return "location";
	if (site->sema_offset != image_layout_of(count).semaphores_at + 2 * i ||
	    site->semaphore != site->sema_offset + IMAGE_DATA)
		return "semaphore";
	if (!symtab_at(symbols, site->location, &symbol) || symbol.address != site->location ||
	    symbol.kind != KIND_FUNCTION || !str_eq(symbol.name, site->name))
		return "symbol";
	return NULL;
}

/* NULL: fine. `unique`: no two probes have the same name, so that each has its description. */
static const char *check_read(const struct image *image, struct str provider,
			      const struct image_probe *const *probes, size_t count, bool unique)
{
	struct site_list list = {.arena = ARENA_INIT};
	struct symtab *symbols = NULL;
	const char *why = "cannot be read";

	if (!site_list_read(image, STR(""), STR(""), &list, NULL) &&
	    !describe_sites(image, &list, NULL) &&
	    !symtab_read(image, STR(""), STR(""), &symbols, NULL))
		why = list.count == count && list.build_id.len == 40 ? NULL : "number of sites";
	for (size_t i = 0; !why && i < count; i++) {
		const struct site *site = &list.sites[i];

		if (!str_eq(site->provider, provider) || !str_eq(site->name, probes[i]->name))
			why = "name";
		if (!why)
			why = check_place(site, symbols, i, count);
		if (!why)
			why = check_values(list.arch, probes[i], site);
		if (!why && unique)
			why = check_description(probes[i], site);
	}
	symtab_free(symbols);
	site_list_free(&list);
	return why;
}

const char *check_image(const struct stub_cpu *cpu, struct str provider,
			const struct image_probe *const *probes, size_t count, bool unique)
{
	struct buf bytes = BUF_INIT;
	struct image *image;
	const char *why = "cannot be opened";

	image_write(cpu, provider, probes, count, 0, &bytes);
	if (!bytes.failed && !image_open_memory(bytes.ptr, bytes.len, STR("image"), &image, NULL)) {
		why = image->machine == cpu->machine
			      ? check_read(image, provider, probes, count, unique)
			      : "machine";
		image_close(image);
	}
	buf_free(&bytes);
	return why;
}
