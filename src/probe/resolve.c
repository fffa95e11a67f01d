/* What the symbols of a file say of its sites: numbers of operands, and entries of functions.
 *
 * Symbol -> number, by the table in arch/operand.h. A name of several addresses is refused: the
 * note does not say which of them the compiler meant.
 *
 * The names that operands mention are put into a hash table first, then the symbols are gone over
 * once: both sides may be many, and equal, in a hostile file. */
#include "probe/sites.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/cursor.h"
#include "elf/symbols.h"

#define WHY_NO_SYMBOL \
	"its symbol is not in the symbol tables of the file (install the debug symbols)"
#define WHY_AMBIGUOUS  "several symbols of the file have its name"
#define WHY_MOVED      "its symbol has no fixed address, because the file is relocated when it is loaded"
#define WHY_NO_GOT     "the file has no global offset table"
#define WHY_SHARED_TLS "thread-local variables of a shared library have no fixed address"
#define WHY_NO_TLS     "its symbol is not thread-local"
#define WHY_IS_TLS     "its symbol is thread-local"
#define WHY_TLS_ARCH   "the location of thread-local variables is unknown on this machine"

#define GOT_NAME "_GLOBAL_OFFSET_TABLE_"

/* A name that an operand mentions, and what the symbols say of it. */
struct wanted_symbol {
	struct str name;
	struct symbol found; /* its name is not kept */
	unsigned count;	     /* of different addresses or kinds; beyond 2 not counted */
};

/* An operand that names a symbol, and where its site is. */
struct open_operand {
	struct operand *operand;
	uint64_t location;
};

struct resolver {
	const struct image *image;
	struct arena arena;
	struct wanted_symbol *wanted;
	size_t count, cap;
	struct open_operand *open;
	size_t open_count, open_cap;
	struct hash by_name; /* of wanted, by their index */
	size_t longest;	     /* name, in bytes */
	bool main_known, is_main;
};

/* The seed is an address, which no author of a file knows: names that collide cannot be made. */
static uint64_t hash_name(const struct resolver *r, struct str name)
{
	return hash_str((uintptr_t)r->image->elf * 0x9e3779b97f4a7c15ull, name);
}

static struct wanted_symbol *find_wanted(const struct resolver *r, struct str name)
{
	if (name.len > r->longest || !budget_work(r->image->budget, 10 + name.len))
		return NULL;
	hash_each(i, &r->by_name, hash_name(r, name))
		if (str_eq(r->wanted[i].name, name))
			return &r->wanted[i];
	return NULL;
}

static int want_symbol(struct resolver *r, struct str name)
{
	int err;

	if (name.len > SYMBOL_NAME_MAX)
		return 0;
	r->longest = name.len > r->longest ? name.len : r->longest;
	if (find_wanted(r, name))
		return 0;
	err = arena_grow(&r->arena, (void **)&r->wanted, r->count, &r->cap, sizeof(*r->wanted));
	if (!err)
		err = hash_add(&r->by_name, hash_name(r, name), r->count);
	if (!err)
		r->wanted[r->count++] = (struct wanted_symbol){.name = name};
	return err;
}

static int take_symbol(void *arg, const struct symbol *symbol)
{
	struct resolver *r = arg;
	struct wanted_symbol *w = symbol->name.len ? find_wanted(r, symbol->name) : NULL;

	if (!w)
		return budget_error(r->image->budget);
	if (w->count < 2 &&
	    (!w->count || w->found.address != symbol->address || w->found.kind != symbol->kind))
		w->count++;
	w->found = *symbol;
	return 0;
}

static const char *find_symbol(struct resolver *r, struct str name, struct symbol *out)
{
	const struct wanted_symbol *w = find_wanted(r, name);

	if (!w || !w->count)
		return WHY_NO_SYMBOL;
	if (w->count > 1)
		return WHY_AMBIGUOUS;
	*out = w->found;
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

static const char *number_of_got(struct resolver *r, const struct symbol *s, uint64_t *out)
{
	static const char *const sections[] = {".got.plt", ".got"};
	struct symbol got;

	if (!find_symbol(r, STR(GOT_NAME), &got)) {
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

	/* Thread-local storage of the main executable comes first, at a distance that only it
	 * decides. */
	if (!r->main_known) {
		const struct image *image = r->image;
		uint64_t value;

		r->main_known = true;
		r->is_main = image->type == ET_EXEC ||
			     (dynamic_value(image, DT_FLAGS_1, &value) && value & DF_1_PIE) ||
			     (image_section(image, ".interp", NULL) &&
			      !dynamic_value(image, DT_SONAME, &value));
	}
	if (!r->is_main)
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
	case SYMBOL_ADDRESS: *out = s.address; return r->image->type == ET_EXEC ? NULL : WHY_MOVED;
	case SYMBOL_PC: *out = s.address - location; return NULL;
	case SYMBOL_GOT: return number_of_got(r, &s, out);
	case SYMBOL_TLS: return number_of_tls(r, &s, out);
	default: return WHY_NO_SYMBOL;
	}
}

int sites_resolve(const struct image *image, struct str path, struct str root,
		  struct site_list *list)
{
	struct resolver r = {.image = image, .arena = {.budget = image->budget}};
	int err = 0;

	for (size_t i = 0; i < list->count; i++)
		for (unsigned k = 0; k < list->sites[i].arg_count && !err; k++) {
			struct operand *o = &list->sites[i].args[k].operand;

			if (o->kind == OPERAND_BAD || !o->symbol.len)
				continue;
			err = arena_grow(&r.arena, (void **)&r.open, r.open_count, &r.open_cap,
					 sizeof(*r.open));
			if (!err)
				err = want_symbol(&r, o->symbol);
			if (!err)
				r.open[r.open_count++] =
					(struct open_operand){o, list->sites[i].location};
		}
	if (!err && r.open_count)
		err = want_symbol(&r, STR(GOT_NAME));
	if (!err && r.open_count)
		err = symbols_scan(image, path, root, r.longest, take_symbol, &r);
	for (size_t i = 0; i < r.open_count && !err; i++) {
		struct operand *o = r.open[i].operand;
		uint64_t number = 0;
		const char *why = number_of(&r, r.open[i].location, o, &number);

		if (why) {
			o->kind = OPERAND_BAD;
			o->why = why;
		} else {
			operand_resolve(o, number);
		}
		err = budget_error(image->budget);
	}
	hash_free(&r.by_name);
	arena_free(&r.arena);
	return err;
}

/* ---- Entries of functions ---- */

/* Where a 5-byte nop is, and whether a function begins there. */
struct long_nop {
	uint64_t location;
	size_t site; /* its index */
	bool is_entry;
};

struct long_nops {
	const struct image *program;
	struct long_nop *items; /* by location */
	size_t count;
};

static int compare_places(const void *a, const void *b)
{
	const struct long_nop *x = a, *y = b;

	return x->location < y->location ? -1 : x->location > y->location;
}

static bool is_before(const void *place, const void *address)
{
	return ((const struct long_nop *)place)->location < *(const uint64_t *)address;
}

/* Of several at one place the first is marked. */
static int mark_entry(void *arg, const struct symbol *symbol)
{
	struct long_nops *p = arg;
	size_t i;

	if (symbol->kind != KIND_FUNCTION)
		return 0;
	i = lower_bound(p->items, p->count, sizeof(*p->items), is_before, &symbol->address);
	if (i < p->count && p->items[i].location == symbol->address)
		p->items[i].is_entry = true;
	budget_work(p->program->budget, 20);
	return budget_error(p->program->budget);
}

/* Collect the sites that are a 5-byte nop, by location. */
static int collect_nops(struct long_nops *p, const struct site_list *list)
{
	static const unsigned char nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
	unsigned char code[sizeof(nop5)];

	for (size_t i = 0; i < list->count; i++) {
		const struct site *site = &list->sites[i];

		if (!budget_work(p->program->budget, 500)) /* a system call */
			return budget_error(p->program->budget);
		if (!site->problem &&
		    pread(p->program->fd, code, sizeof(code), (off_t)site->offset) ==
			    sizeof(code) &&
		    !memcmp(code, nop5, sizeof(nop5)))
			p->items[p->count++] =
				(struct long_nop){.location = site->location, .site = i};
	}
	if (p->count)
		qsort(p->items, p->count, sizeof(*p->items), compare_places);
	return 0;
}

int sites_find_entries(const struct image *program, struct str path, struct str root,
		       struct site_list *list)
{
	struct arena arena = {.budget = program->budget};
	struct long_nops p = {.program = program};
	int err;

	if (program->machine != EM_X86_64 || program->fd < 0 || !list->count)
		return 0;
	p.items = arena_array(&arena, struct long_nop, list->count);
	err = p.items ? collect_nops(&p, list) : -ENOMEM;
	if (!err && p.count)
		err = symbols_scan(program, path, root, 0, mark_entry, &p);
	for (size_t i = 0; i < p.count && !err; i++) {
		if (i && p.items[i].location == p.items[i - 1].location)
			p.items[i].is_entry = p.items[i - 1].is_entry;
		list->sites[p.items[i].site].is_entry = p.items[i].is_entry;
	}
	arena_free(&arena);
	return err;
}
