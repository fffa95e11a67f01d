/* Symbol -> number, by the table in arch/operand.h. A name that stands for several addresses is
 * refused: the note does not say which of them the compiler meant. */
#include "probe/resolve.h"

#include <elf.h>

#include "base/cursor.h"

#define WHY_NO_SYMBOL  "its symbol is in no symbol table of the file (install the debug symbols)"
#define WHY_AMBIGUOUS  "several symbols of the file have its name"
#define WHY_MOVED      "its symbol has no fixed address: the file is moved when it is loaded"
#define WHY_NO_GOT     "the file has no global offset table"
#define WHY_SHARED_TLS "thread-local variables of a shared library have no fixed place"
#define WHY_NO_TLS     "its symbol is not thread-local"
#define WHY_IS_TLS     "its symbol is thread-local"
#define WHY_TLS_ARCH   "the place of thread-local variables is not known for this machine"

struct search {
	struct symbol found;
	unsigned count; /* of different addresses */
};

static int take_symbol(void *arg, const struct symbol *symbol)
{
	struct search *s = arg;

	if (!s->count || s->found.address != symbol->address || s->found.kind != symbol->kind)
		s->count++;
	s->found = *symbol;
	return s->count > 1;
}

static const char *find_symbol(struct resolver *r, struct str name, struct symbol *out)
{
	struct search s = {0};

	if (!r->tried) {
		r->tried = true;
		if (symtab_read(r->image, r->path, r->root, &r->symbols, NULL))
			r->symbols = NULL;
	}
	if (!r->symbols || symtab_find(r->symbols, name, take_symbol, &s) < 0 || !s.count)
		return WHY_NO_SYMBOL;
	if (s.count > 1)
		return WHY_AMBIGUOUS;
	*out = s.found;
	return NULL;
}

/* The value of the first entry with `tag` in the dynamic section. */
static bool dynamic_value(const struct image *image, uint64_t tag, uint64_t *out)
{
	const struct section *section = image_section_of_type(image, SHT_DYNAMIC);
	struct str content;
	struct cursor c;
	uint64_t t, value;

	if (!section || image_content(image, section, 1 << 20, &content))
		return false;
	c = cursor_of(content.ptr, content.len, image->big_endian);
	while (cursor_word(&c, image->word, &t) && cursor_word(&c, image->word, &value) && t) {
		if (t != tag)
			continue;
		*out = value;
		return true;
	}
	return false;
}

/* Thread-local storage of the main executable comes first, at a distance that only it decides. */
static bool is_main_executable(const struct image *image)
{
	uint64_t value;

	if (image->type == ET_EXEC)
		return true;
	if (dynamic_value(image, DT_FLAGS_1, &value) && value & DF_1_PIE)
		return true;
	return image_section(image, ".interp", NULL) && !dynamic_value(image, DT_SONAME, &value);
}

static const char *number_of_address(struct resolver *r, const struct symbol *s, uint64_t *out)
{
	if (r->image->type != ET_EXEC)
		return WHY_MOVED;
	*out = s->address;
	return NULL;
}

static const char *number_of_got(struct resolver *r, const struct symbol *s, uint64_t *out)
{
	static const char *const sections[] = {".got.plt", ".got"};
	struct symbol got;

	if (!find_symbol(r, STR("_GLOBAL_OFFSET_TABLE_"), &got)) {
		*out = s->address - got.address;
		return NULL;
	}
	for (size_t i = 0; i < 2; i++) {
		const struct section *section = image_section(r->image, sections[i], NULL);

		if (!section)
			continue;
		*out = s->address - section->address;
		return NULL;
	}
	return WHY_NO_GOT;
}

static const char *number_of_tls(struct resolver *r, const struct symbol *s, uint64_t *out)
{
	const struct segment *tls = &r->image->tls;
	uint64_t mask = tls->align > 1 ? tls->align - 1 : 0, head = 2 * (uint64_t)r->image->word;

	if (!is_main_executable(r->image))
		return WHY_SHARED_TLS;
	switch (r->image->machine) {
	case EM_X86_64:
	case EM_386:
	case EM_S390:
		*out = s->address - tls->memory_size - ((-tls->address - tls->memory_size) & mask);
		return NULL;
	case EM_AARCH64:
	case EM_ARM: *out = s->address + head + ((tls->address - head) & mask); return NULL;
	case EM_RISCV: *out = s->address + (tls->address & mask); return NULL;
	case EM_PPC64:
	case EM_MIPS: *out = s->address + (tls->address & mask) - 0x7000; return NULL;
	default: return WHY_TLS_ARCH;
	}
}

static const char *number_of(struct resolver *r, uint64_t location, const struct operand *o,
			     uint64_t *out)
{
	struct symbol s;
	const char *why = find_symbol(r, o->symbol, &s);

	if (why)
		return why;
	if ((s.kind == KIND_TLS) != (o->symbol_rule == SYMBOL_TLS))
		return s.kind == KIND_TLS ? WHY_IS_TLS : WHY_NO_TLS;
	switch (o->symbol_rule) {
	case SYMBOL_ADDRESS: return number_of_address(r, &s, out);
	case SYMBOL_PC: *out = s.address - location; return NULL;
	case SYMBOL_GOT: return number_of_got(r, &s, out);
	case SYMBOL_TLS: return number_of_tls(r, &s, out);
	default: return WHY_NO_SYMBOL;
	}
}

void resolver_run(struct resolver *r, uint64_t location, struct operand *o)
{
	const char *why;
	uint64_t number = 0;

	if (o->kind == OPERAND_BAD || !o->symbol.len)
		return;
	why = number_of(r, location, o, &number);
	if (!why) {
		operand_resolve(o, number);
		return;
	}
	o->kind = OPERAND_BAD;
	o->why = why;
}

void resolver_close(struct resolver *r)
{
	symtab_free(r->symbols);
	r->symbols = NULL;
}
