/* Any bytes as the call frame information of an image, or as an image. The first byte says which.
 * The rows must be in order, of rules that exist; a walk by them over hostile memory ends. */
#include <elf.h>
#include <stdlib.h>

#include "help/elf_builder.h"
#include "help/rows.h"
#include "unwind/unwind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The same bytes over and over. */
static bool read_memory(void *arg, uint64_t address, uint64_t *out)
{
	const struct str *bytes = arg;

	if (bytes->len < 8 || address % 7 == 0)
		return false;
	memcpy(out, bytes->ptr + address % (bytes->len - 7), 8);
	return true;
}

static void walk(const struct unwind_table *t, const struct unwind_rules *rules, struct str bytes)
{
	struct unwind_regs regs = {.pc = t->base + 8, .sp = 1, .fp = 2, .lr = 4, .has_lr = true};

	for (unsigned i = 0; i < 127; i++) {
		uint16_t rule = unwind_rule_at(t, regs.pc);

		if (rule >= rules->count)
			abort();
		if (unwind_step(&rules->items[rule], &regs, read_memory, &bytes))
			break;
	}
}

static void read_image(const void *bytes, size_t len, struct str memory)
{
	struct budget b = budget_for_file(-1);
	struct unwind_table t = {0};
	struct unwind_rules rules;
	struct image *image;

	if (image_open_memory(bytes, len, STR("fuzz"), &image, NULL))
		return;
	image_set_budget(image, &b);
	if (unwind_rules_init(&rules))
		abort();
	if (!unwind_table_read(&(struct unwind_source){.image = image}, &rules, &t)) {
		for (size_t i = 0; i < t.count; i++)
			if (t.rows[i].rule >= rules.count ||
			    (i && row_address(&t, i) <= row_address(&t, i - 1)) ||
			    unwind_row_at(&t, row_address(&t, i)) != &t.rows[i])
				abort();
		if (t.count && t.rows[t.count - 1].rule != UNWIND_RULE_NONE)
			abort();
		walk(&t, &rules, memory);
		unwind_table_free(&t);
	}
	unwind_rules_free(&rules);
	image_close(image);
}

/* 0x400000 is where the code of the built file is. */
static void read_section(const char *name, uint16_t machine, uint64_t flags, const uint8_t *data,
			 size_t size)
{
	struct made_elf e = make_elf(8, false, machine);
	struct buf file;

	buf_add(add_section(&e, name, SHT_PROGBITS, flags, 0x400800), data, size);
	file = finish_elf(&e);
	read_image(file.ptr, file.len, str_of((const char *)data, size));
	buf_free(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t machine;
	uint64_t flags;

	if (!size || size > 1 << 20)
		return 0;
	machine = data[0] & 4 ? EM_AARCH64 : EM_X86_64;
	flags = data[0] & 8 ? SHF_COMPRESSED : SHF_ALLOC;
	switch (data[0] % 3) {
	case 0: read_section(".eh_frame", machine, SHF_ALLOC, data + 1, size - 1); break;
	case 1: read_section(".debug_frame", machine, flags, data + 1, size - 1); break;
	default: read_image(data + 1, size - 1, str_of((const char *)data + 1, size - 1));
	}
	return 0;
}
