#include "help/elf_builder.h"

#include <elf.h>
#include <stdlib.h>

void put(const struct made_elf *e, struct buf *b, uint64_t value, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		buf_char(b, (char)(value >> 8 * (e->big_endian ? size - 1 - i : i)));
}

static void put_word(const struct made_elf *e, struct buf *b, uint64_t value)
{
	put(e, b, value, e->word);
}

void pad_to(struct buf *b, size_t size)
{
	buf_fill(b, '\0', size > b->len ? size - b->len : 0);
}

struct made_elf make_elf(unsigned word, bool big_endian, uint16_t machine)
{
	return (struct made_elf){
		.word = word,
		.big_endian = big_endian,
		.machine = machine,
		.type = ET_EXEC,
		.count = 1,
	};
}

struct buf *add_section(struct made_elf *e, const char *name, uint32_t type, uint64_t flags,
			uint64_t address)
{
	struct made_section *s = &e->sections[e->count++];

	*s = (struct made_section){.name = name, .type = type, .flags = flags, .address = address};
	return &s->content;
}

void add_note(const struct made_elf *e, struct buf *b, uint32_t type, uint64_t location,
	      uint64_t base, uint64_t semaphore, const char *provider, const char *name,
	      const char *args)
{
	uint32_t size =
		(uint32_t)(3 * e->word + strlen(provider) + strlen(name) + strlen(args) + 3);

	put(e, b, 8, 4);
	put(e, b, size, 4);
	put(e, b, type, 4);
	buf_add(b, "stapsdt", 8);
	put_word(e, b, location);
	put_word(e, b, base);
	put_word(e, b, semaphore);
	buf_add(b, provider, strlen(provider) + 1);
	buf_add(b, name, strlen(name) + 1);
	buf_add(b, args, strlen(args) + 1);
	pad_to(b, (b->len + 3) & ~(size_t)3);
}

void add_symbol(const struct made_elf *e, struct buf *table, struct buf *texts, const char *name,
		uint8_t info, uint64_t address, uint64_t size)
{
	if (!texts->len)
		buf_char(texts, '\0');
	put(e, table, texts->len, 4);
	buf_add(texts, name, strlen(name) + 1);
	if (e->word == 8) {
		buf_char(table, (char)info);
		buf_char(table, 0);
		put(e, table, 1, 2);
	}
	put_word(e, table, address);
	put_word(e, table, size);
	if (e->word == 4) {
		buf_char(table, (char)info);
		buf_char(table, 0);
		put(e, table, 1, 2);
	}
}

static void put_segment(const struct made_elf *e, struct buf *b, uint32_t type, uint32_t flags,
			uint64_t offset, uint64_t address, uint64_t size)
{
	put(e, b, type, 4);
	if (e->word == 8)
		put(e, b, flags, 4);
	put_word(e, b, offset);
	put_word(e, b, address);
	put_word(e, b, address);
	put_word(e, b, size);
	put_word(e, b, size + (flags & PF_W ? e->bss : 0));
	if (e->word == 4)
		put(e, b, flags, 4);
	put_word(e, b, type == PT_TLS ? 16 : 0x1000);
}

static void put_header(const struct made_elf *e, struct buf *b, uint64_t table_at)
{
	const unsigned header = e->word == 8 ? 64 : 52, program = e->word == 8 ? 56 : 32;

	buf_add(b, ELFMAG, SELFMAG);
	buf_char(b, e->word == 8 ? ELFCLASS64 : ELFCLASS32);
	buf_char(b, e->big_endian ? ELFDATA2MSB : ELFDATA2LSB);
	buf_char(b, EV_CURRENT);
	pad_to(b, 16);
	put(e, b, e->type, 2);
	put(e, b, e->machine, 2);
	put(e, b, EV_CURRENT, 4);
	put_word(e, b, CODE_AT);
	put_word(e, b, header);
	put_word(e, b, table_at);
	put(e, b, 0, 4);
	put(e, b, header, 2);
	put(e, b, program, 2);
	put(e, b, 3, 2);
	put(e, b, e->word == 8 ? 64 : 40, 2);
	put(e, b, e->count, 2);
	put(e, b, e->count - 1, 2);
}

static void put_section(const struct made_elf *e, struct buf *b, const struct made_section *s,
			uint64_t name, uint64_t offset)
{
	put(e, b, name, 4);
	put(e, b, s->type, 4);
	put_word(e, b, s->flags);
	put_word(e, b, s->address);
	put_word(e, b, offset);
	put_word(e, b, s->content.len);
	put(e, b, s->link, 4);
	put(e, b, 0, 4);
	put_word(e, b, 4);
	put_word(e, b, 0);
}

struct buf finish_elf(struct made_elf *e)
{
	struct buf out = BUF_INIT, *names = add_section(e, ".shstrtab", SHT_STRTAB, 0, 0);
	uint64_t name_at[16] = {0}, at[16] = {0}, end = DATA_OFFSET + PART_SIZE;

	buf_char(names, '\0');
	for (unsigned i = 1; i < e->count; i++) {
		name_at[i] = names->len;
		buf_add(names, e->sections[i].name, strlen(e->sections[i].name) + 1);
	}
	for (unsigned i = 1; i < e->count; i++) {
		at[i] = end;
		end = (end + e->sections[i].content.len + 7) & ~7ull;
	}
	put_header(e, &out, end);
	put_segment(e, &out, PT_LOAD, PF_R | PF_X, CODE_OFFSET, CODE_AT, PART_SIZE);
	put_segment(e, &out, PT_LOAD, PF_R | PF_W | e->data_flags, DATA_OFFSET, DATA_AT, PART_SIZE);
	put_segment(e, &out, PT_TLS, PF_R, DATA_OFFSET, DATA_AT, 20);
	for (unsigned i = 1; i < e->count; i++) {
		pad_to(&out, at[i]);
		buf_add(&out, e->sections[i].content.ptr, e->sections[i].content.len);
	}
	pad_to(&out, end);
	for (unsigned i = 0; i < e->count; i++)
		put_section(e, &out, &e->sections[i], name_at[i], at[i]);
	for (unsigned i = 1; i < e->count; i++)
		buf_free(&e->sections[i].content);
	return out;
}
