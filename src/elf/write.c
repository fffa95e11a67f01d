/* The writer of relocatable files, on libelf. libelf writes to descriptors only, so the file is
 * made in an anonymous memory file and read back. */
#include "elf/write.h"

#include <errno.h>
#include <gelf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"

/* Constants that older <elf.h> lack. */

#define X86_FEATURE_1	  0xc0000002u /* bits: 1 IBT, 2 SHSTK */
#define AARCH64_FEATURE_1 0xc0000000u /* bits: 1 BTI, 2 PAC, 4 GCS */

/* Rows of one CPU: the narrower ABI asks for itself by name, the last row is the default. An object
 * without feature bits would switch branch protection off for the whole program; data is never
 * in its way, so every bit is set. */
/* clang-format off */
static const struct elf_machine machines[] = {
	/* triple          abi    machine            word  big    flags       property           bits  -m32     -m64 */
	{ "x86_64",        "x32", EM_X86_64,         4,    false, 0,          X86_FEATURE_1,     3,    "i386",  "x86_64" },
	{ "x86_64",        NULL,  EM_X86_64,         8,    false, 0,          X86_FEATURE_1,     3,    "i386",  "x86_64" },
	{ "amd64",         NULL,  EM_X86_64,         8,    false, 0,          X86_FEATURE_1,     3,    "i386",  "x86_64" },
	{ "i?86",          NULL,  EM_386,            4,    false, 0,          X86_FEATURE_1,     3,    "i386",  "x86_64" },
	{ "aarch64",       NULL,  EM_AARCH64,        8,    false, 0,          AARCH64_FEATURE_1, 7,    NULL,    "aarch64" },
	{ "arm64",         NULL,  EM_AARCH64,        8,    false, 0,          AARCH64_FEATURE_1, 7,    NULL,    "aarch64" },
	{ "aarch64_be",    NULL,  EM_AARCH64,        8,    true,  0,          AARCH64_FEATURE_1, 7,    NULL,    "aarch64_be" },
	{ "arm*eb",        NULL,  EM_ARM,            4,    true,  0x05000000, 0,                 0,    "armeb", NULL },
	{ "arm*",          NULL,  EM_ARM,            4,    false, 0x05000000, 0,                 0,    "arm",   NULL },
	{ "riscv64*",      "sf",  EM_RISCV,          8,    false, 0x1,        0,                 0,    NULL,    "riscv64" },
	{ "riscv64*",      NULL,  EM_RISCV,          8,    false, 0x5,        0,                 0,    NULL,    "riscv64" },
	{ "powerpc64le",   NULL,  EM_PPC64,          8,    false, 2,          0,                 0,    NULL,    "powerpc64le" },
	{ "ppc64le",       NULL,  EM_PPC64,          8,    false, 2,          0,                 0,    NULL,    "powerpc64le" },
	{ "powerpc64",     NULL,  EM_PPC64,          8,    true,  1,          0,                 0,    NULL,    "powerpc64" },
	{ "ppc64",         NULL,  EM_PPC64,          8,    true,  1,          0,                 0,    NULL,    "powerpc64" },
	{ "s390x",         NULL,  EM_S390,           8,    true,  0,          0,                 0,    NULL,    "s390x" },
	{ "mips64*el",     NULL,  EM_MIPS,           8,    false, 0x80000007, 0,                 0,    NULL,    "mips64el" },
	{ "mipsisa64r6el", NULL,  EM_MIPS,           8,    false, 0xa0000407, 0,                 0,    NULL,    "mipsisa64r6el" },
	{ "mips64*",       NULL,  EM_MIPS,           8,    true,  0x80000007, 0,                 0,    NULL,    "mips64" },
	{ "loongarch64",   "sf",  MACHINE_LOONGARCH, 8,    false, 0x41,       0,                 0,    NULL,    "loongarch64" },
	{ "loongarch64",   NULL,  MACHINE_LOONGARCH, 8,    false, 0x43,       0,                 0,    NULL,    "loongarch64" },
};
/* clang-format on */

const struct elf_machine *elf_machine_for(struct str triple)
{
	struct str rest = triple, cpu = str_cut(&rest, '-');

	for (size_t i = 0; i < COUNT(machines); i++) {
		const struct elf_machine *m = &machines[i];

		if (str_match(str_from(m->triple), cpu) &&
		    (!m->abi || str_ends(rest, str_from(m->abi))))
			return m;
	}
	return NULL;
}

const char *elf_host_triple(void)
{
#if defined __x86_64__ && defined __ILP32__
	return "x86_64-linux-gnux32";
#elif defined __x86_64__
	return "x86_64-linux-gnu";
#elif defined __i386__
	return "i386-linux-gnu";
#elif defined __aarch64__
	return "aarch64-linux-gnu";
#elif defined __arm__
	return "arm-linux-gnueabihf";
#elif defined __riscv && __riscv_xlen == 64
	return "riscv64-linux-gnu";
#elif defined __powerpc64__ && defined __LITTLE_ENDIAN__
	return "powerpc64le-linux-gnu";
#elif defined __powerpc64__
	return "powerpc64-linux-gnu";
#elif defined __s390x__
	return "s390x-linux-gnu";
#elif defined __mips64 && defined __MIPSEL__
	return "mips64el-linux-gnuabi64";
#elif defined __mips64
	return "mips64-linux-gnuabi64";
#elif defined __loongarch__
	return "loongarch64-linux-gnu";
#else
	return "unknown";
#endif
}

/* A file that is being made: libelf's handle, and the tables of names. After the first failure
 * `err` is set, and nothing more is added. */
struct writer {
	const struct elf_object *object;
	Elf *elf;
	struct buf section_names, symbol_names;
	int err;
};

/* A section and its content, which must live until the file is written. */
static void add_section(struct writer *w, const char *name, GElf_Shdr header, Elf_Data content)
{
	Elf_Scn *section = w->err ? NULL : elf_newscn(w->elf);
	Elf_Data *data = section ? elf_newdata(section) : NULL;
	GElf_Shdr now;

	if (!data || !gelf_getshdr(section, &now)) {
		w->err = w->err ? w->err : -EIO;
		return;
	}
	header.sh_name = (GElf_Word)w->section_names.len;
	buf_text(&w->section_names, name);
	buf_char(&w->section_names, '\0');
	content.d_version = EV_CURRENT;
	if (!content.d_align)
		content.d_align = 1;
	*data = content;
	header.sh_addralign = content.d_align;
	if (!gelf_update_shdr(section, &header))
		w->err = -EIO;
}

static Elf_Data bytes_of(void *bytes, size_t size, size_t align)
{
	return (Elf_Data){.d_buf = bytes, .d_type = ELF_T_BYTE, .d_size = size, .d_align = align};
}

static void put_u32(const struct elf_machine *m, unsigned char *at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		at[m->big_endian ? 3 - i : i] = (unsigned char)(value >> 8 * i);
}

/* namesz, descsz, type; the owner with its NUL and the content, each filled up to four bytes */
void elf_add_note(struct buf *notes, const struct elf_machine *m, struct str owner, uint32_t type,
		  struct str content)
{
	unsigned char head[12];

	put_u32(m, head, (uint32_t)owner.len + 1);
	put_u32(m, head + 4, (uint32_t)content.len);
	put_u32(m, head + 8, type);
	buf_add(notes, head, sizeof(head));
	buf_str(notes, owner);
	buf_char(notes, '\0');
	buf_fill(notes, '\0', -(owner.len + 1) & 3);
	buf_str(notes, content);
	buf_fill(notes, '\0', -content.len & 3);
}

/* namesz, descsz, NT_GNU_PROPERTY_TYPE_0, "GNU", then one property: type, 4, bits, padding */
static void add_features(struct writer *w, unsigned char note[32])
{
	const struct elf_machine *m = w->object->machine;
	size_t size = m->word == 8 ? 32 : 28;
	const uint32_t words[] = {4, (uint32_t)size - 16, 5, 0, m->property, 4, m->features};

	if (!m->property)
		return;
	for (size_t i = 0; i < COUNT(words); i++)
		put_u32(m, note + 4 * i, words[i]);
	memcpy(note + 12, "GNU", 4);
	add_section(w, ".note.gnu.property",
		    (GElf_Shdr){.sh_type = SHT_NOTE, .sh_flags = SHF_ALLOC},
		    bytes_of(note, size, m->word));
}

/* The symbol table, which is linked to the table of names that follows it. */
static void add_symbols(struct writer *w, void *symbols)
{
	const struct elf_object *o = w->object;
	size_t entry = o->machine->word == 8 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym), index = 0;
	Elf_Data table = bytes_of(symbols, entry * (o->symbol_count + 1), o->machine->word);
	Elf_Data *added;

	table.d_type = ELF_T_SYM;
	if (!w->err && elf_getshdrnum(w->elf, &index))
		w->err = -EIO;
	add_section(w, ".symtab",
		    (GElf_Shdr){.sh_type = SHT_SYMTAB,
				.sh_link = (GElf_Word)index + 1,
				.sh_info = 1,
				.sh_entsize = entry},
		    table);
	if (w->err)
		return;
	added = elf_getdata(elf_getscn(w->elf, index), NULL);
	buf_char(&w->symbol_names, '\0');
	for (size_t i = 0; i < o->symbol_count; i++) {
		GElf_Sym symbol = {
			.st_name = (GElf_Word)w->symbol_names.len,
			.st_info = GELF_ST_INFO(STB_GLOBAL, STT_OBJECT),
			.st_other = o->visible ? STV_DEFAULT : STV_HIDDEN,
			.st_shndx = 1,
			.st_value = o->symbols[i].value,
			.st_size = o->symbols[i].size,
		};

		buf_str(&w->symbol_names, o->symbols[i].name);
		buf_char(&w->symbol_names, '\0');
		if (!gelf_update_sym(added, (int)i + 1, &symbol))
			w->err = -EIO;
	}
	if (!w->err && w->symbol_names.failed)
		w->err = -ENOMEM;
}

static void add_names(struct writer *w, const char *name, const struct buf *names)
{
	add_section(w, name, (GElf_Shdr){.sh_type = SHT_STRTAB},
		    bytes_of(names->ptr, names->len, 1));
}

/* The section names come last; their own name must be among them before they are handed over. */
static void add_section_names(struct writer *w)
{
	struct buf all = BUF_INIT;

	buf_str(&all, buf_as_str(&w->section_names));
	buf_add(&all, ".shstrtab", sizeof(".shstrtab"));
	if (all.failed && !w->err)
		w->err = -ENOMEM;
	add_names(w, ".shstrtab", &all);
	buf_free(&w->section_names);
	w->section_names = all;
}

static int add_header(struct writer *w)
{
	const struct elf_machine *m = w->object->machine;
	GElf_Ehdr header;

	if (!gelf_newehdr(w->elf, m->word == 8 ? ELFCLASS64 : ELFCLASS32) ||
	    !gelf_getehdr(w->elf, &header))
		return -EIO;
	header.e_ident[EI_DATA] = m->big_endian ? ELFDATA2MSB : ELFDATA2LSB;
	header.e_type = ET_REL;
	header.e_machine = m->machine;
	header.e_version = EV_CURRENT;
	header.e_flags = m->flags;
	return gelf_update_ehdr(w->elf, &header) ? 0 : -EIO;
}

static int write_sections(struct writer *w, void *zeros, void *symbols)
{
	const struct elf_object *o = w->object;
	unsigned char features[32] = {0};
	GElf_Ehdr header;
	size_t count;

	w->err = o->notes.failed ? -ENOMEM : add_header(w);
	buf_char(&w->section_names, '\0');
	add_section(w, o->section.name,
		    (GElf_Shdr){.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_WRITE},
		    bytes_of(zeros, o->section.size, o->section.align));
	add_features(w, features);
	if (o->notes.len)
		add_section(w, ".note.nopal", (GElf_Shdr){.sh_type = SHT_NOTE},
			    bytes_of(o->notes.ptr, o->notes.len, 4));
	/* Tells linkers that the program's stack need not be executable. */
	add_section(w, ".note.GNU-stack", (GElf_Shdr){.sh_type = SHT_PROGBITS},
		    bytes_of(NULL, 0, 1));
	add_symbols(w, symbols);
	add_names(w, ".strtab", &w->symbol_names);
	add_section_names(w);
	if (w->err)
		return w->err;
	if (elf_getshdrnum(w->elf, &count) || !gelf_getehdr(w->elf, &header))
		return -EIO;
	header.e_shstrndx = (GElf_Half)(count - 1);
	return !gelf_update_ehdr(w->elf, &header) || elf_update(w->elf, ELF_C_WRITE) < 0 ? -EIO : 0;
}

int elf_write_object(const struct elf_object *o, struct buf *out, struct diag *d)
{
	struct writer w = {.object = o, .section_names = BUF_INIT, .symbol_names = BUF_INIT};
	struct arena scratch = ARENA_INIT;
	void *zeros = arena_alloc(&scratch, o->section.size + 1);
	void *symbols = arena_alloc_array(&scratch, o->symbol_count + 1, sizeof(Elf64_Sym));
	int fd = memfd_create("object", MFD_CLOEXEC), err = -EIO;

	elf_version(EV_CURRENT);
	if (fd >= 0)
		w.elf = elf_begin(fd, ELF_C_WRITE, NULL);
	if (w.elf && zeros && symbols)
		err = write_sections(&w, zeros, symbols);
	if (err)
		diag_error(d, err, "write-object", "cannot make the object file: %s",
			   w.elf    ? elf_errmsg(-1)
			   : fd < 0 ? strerror(errno)
				    : "no memory");
	elf_end(w.elf);
	if (!err && (lseek(fd, 0, SEEK_SET) || file_read_all(fd, SIZE_MAX, out)))
		err = -EIO;
	if (fd >= 0)
		close(fd);
	buf_free(&w.section_names);
	buf_free(&w.symbol_names);
	arena_free(&scratch);
	return err;
}
