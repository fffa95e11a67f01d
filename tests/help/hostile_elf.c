#include "help/hostile_elf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *hostile_room(struct hostile *h, size_t size)
{
	while (h->len + size > h->cap) {
		h->cap = h->cap ? 2 * h->cap : 1 << 20;
		h->bytes = realloc(h->bytes, h->cap);
		if (!h->bytes)
			abort();
	}
	h->len += size;
	return memset(h->bytes + h->len - size, 0, size);
}

void hostile_put(struct hostile *h, const void *bytes, size_t size)
{
	memcpy(hostile_room(h, size), bytes, size);
}

void hostile_section(struct hostile *h, const char *name, uint32_t type, uint64_t offset,
		     uint64_t size, uint32_t link)
{
	if (h->count == h->section_cap) {
		h->section_cap = h->section_cap ? 2 * h->section_cap : 64;
		h->sections = realloc(h->sections, h->section_cap * sizeof(*h->sections));
		if (!h->sections)
			abort();
	}
	h->sections[h->count++] = (Elf64_Shdr){
		.sh_name = (uint32_t)h->names_len,
		.sh_type = type,
		.sh_offset = offset,
		.sh_size = size,
		.sh_link = link,
		.sh_addralign = 1,
		.sh_entsize = type == SHT_SYMTAB ? sizeof(Elf64_Sym) : 0,
	};
	memcpy(h->names + h->names_len, name, strlen(name) + 1);
	h->names_len += strlen(name) + 1;
}

void hostile_start(struct hostile *h)
{
	*h = (struct hostile){0};
	hostile_room(h, sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr));
	hostile_section(h, "", SHT_NULL, 0, 0, 0);
}

void hostile_note(struct hostile *h, const char *provider, const char *name, const char *args)
{
	uint32_t size = (uint32_t)(24 + strlen(provider) + strlen(name) + strlen(args) + 3);
	const uint32_t head[3] = {8, size, 3};
	const uint64_t words[3] = {0x1000, 0, 0};

	hostile_put(h, head, sizeof(head));
	hostile_put(h, "stapsdt", 8);
	hostile_put(h, words, sizeof(words));
	hostile_put(h, provider, strlen(provider) + 1);
	hostile_put(h, name, strlen(name) + 1);
	hostile_put(h, args, strlen(args) + 1);
	hostile_room(h, (4 - size % 4) % 4);
}

void hostile_symbol(struct hostile *h, uint32_t name, uint64_t address)
{
	const Elf64_Sym symbol = {.st_name = name,
				  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				  .st_shndx = 1,
				  .st_value = address,
				  .st_size = 4};

	hostile_put(h, &symbol, sizeof(symbol));
}

int hostile_finish(struct hostile *h)
{
	size_t names_at = h->len, table_at;
	Elf64_Ehdr head = {.e_type = ET_EXEC,
			   .e_machine = EM_X86_64,
			   .e_version = EV_CURRENT,
			   .e_phoff = sizeof(head),
			   .e_ehsize = sizeof(head),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 1,
			   .e_shentsize = sizeof(Elf64_Shdr)};
	Elf64_Phdr code = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_align = 0x1000};
	int fd = memfd_create("hostile", MFD_CLOEXEC);

	hostile_section(h, ".shstrtab", SHT_STRTAB, names_at, 0, 0);
	h->sections[h->count - 1].sh_size = h->names_len;
	hostile_put(h, h->names, h->names_len);
	hostile_room(h, (8 - h->len % 8) % 8);
	table_at = h->len;
	hostile_put(h, h->sections, h->count * sizeof(*h->sections));
	memcpy(head.e_ident, ELFMAG "\2\1\1", 7);
	head.e_shoff = table_at;
	head.e_shnum = (Elf64_Half)h->count;
	head.e_shstrndx = (Elf64_Half)(h->count - 1);
	code.p_filesz = code.p_memsz = h->len;
	memcpy(h->bytes, &head, sizeof(head));
	memcpy(h->bytes + sizeof(head), &code, sizeof(code));
	for (size_t at = 0; at < h->len;) {
		ssize_t put = fd < 0 ? -1 : write(fd, h->bytes + at, h->len - at);

		if (put <= 0)
			abort();
		at += (size_t)put;
	}
	free(h->bytes);
	free(h->sections);
	return fd;
}

/* Equal notes, and `sections` that hold all of them. */
static void hostile_notes(struct hostile *h, unsigned notes, const char *name, const char *args,
			  unsigned sections)
{
	size_t at = h->len, end;

	for (unsigned i = 0; i < notes; i++)
		hostile_note(h, "hostile", name, args);
	end = h->len;
	for (unsigned i = 0; i < sections; i++)
		hostile_section(h, ".note.stapsdt", SHT_NOTE, at, end - at, 0);
}

/* A string table with one name, "same", at 1. */
static void hostile_same(struct hostile *h)
{
	size_t at = h->len;

	hostile_put(h, "\0same\0", 6);
	hostile_section(h, ".strtab", SHT_STRTAB, at, 6, 0);
	hostile_room(h, (8 - h->len % 8) % 8);
}

int hostile_equal_names(unsigned notes, unsigned symbols)
{
	struct hostile h;
	size_t at;

	hostile_start(&h);
	hostile_notes(&h, notes, "equal", "8@same(%rip)", 1);
	hostile_same(&h);
	at = h.len;
	for (unsigned i = 0; i < symbols; i++)
		hostile_symbol(&h, 1, 0x2000);
	hostile_section(&h, ".symtab", SHT_SYMTAB, at, h.len - at, 2);
	return hostile_finish(&h);
}

int hostile_long_names(unsigned symbols, unsigned length)
{
	struct hostile h;
	char *args = malloc(length + 16);
	size_t at, texts;

	if (!args)
		abort();
	hostile_start(&h);
	at = h.len;
	strcpy(args, "8@");
	memset(args + 2, 'a', length);
	strcpy(args + 2 + length, "(%rip)");
	hostile_note(&h, "hostile", "long", args);
	hostile_section(&h, ".note.stapsdt", SHT_NOTE, at, h.len - at, 0);
	texts = h.len;
	hostile_put(&h, "", 1);
	memset(hostile_room(&h, length), 'a', length);
	hostile_put(&h, "", 1);
	hostile_section(&h, ".strtab", SHT_STRTAB, texts, length + 2ul, 0);
	hostile_room(&h, (8 - h.len % 8) % 8);
	at = h.len;
	for (unsigned i = 0; i < symbols; i++)
		hostile_symbol(&h, 1 + i % 64, 0x2000 + i);
	hostile_section(&h, ".symtab", SHT_SYMTAB, at, h.len - at, 2);
	free(args);
	return hostile_finish(&h);
}

int hostile_overlaps(unsigned sections, unsigned notes)
{
	struct hostile h;

	hostile_start(&h);
	hostile_notes(&h, notes, "overlap", "8@%rdi", sections);
	return hostile_finish(&h);
}

int hostile_dynamic(unsigned notes, unsigned entries)
{
	struct hostile h;
	size_t at;

	hostile_start(&h);
	hostile_notes(&h, notes, "dynamic", "8@%fs:same@tpoff", 1);
	hostile_same(&h);
	at = h.len;
	hostile_symbol(&h, 1, 16);
	((Elf64_Sym *)(h.bytes + at))->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS);
	hostile_section(&h, ".symtab", SHT_SYMTAB, at, h.len - at, 2);
	at = h.len;
	for (unsigned i = 0; i < entries; i++) {
		const Elf64_Dyn entry = {.d_tag = DT_DEBUG};

		hostile_put(&h, &entry, sizeof(entry));
	}
	hostile_section(&h, ".dynamic", SHT_DYNAMIC, at, h.len - at, 0);
	return hostile_finish(&h);
}

int hostile_link(const char *name)
{
	struct hostile h;
	size_t at;

	hostile_start(&h);
	at = h.len;
	hostile_put(&h, name, strlen(name) + 1);
	hostile_room(&h, (4 - (strlen(name) + 1) % 4) % 4);
	hostile_put(&h, "\1\2\3\4", 4);
	hostile_section(&h, ".gnu_debuglink", SHT_PROGBITS, at, h.len - at, 0);
	return hostile_finish(&h);
}
