/* Writing the image; runtime.h shows its layout. Sections are written one after the other, each
 * with its row of the section table, which follows them. The bytes are little-endian, because all
 * CPUs with stubs are. */
#include "runtime/runtime.h"

#include <elf.h>

#define BUILD_ID_BYTES 20
#define BUILD_ID_AT    (sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Phdr))
#define BASE_AT	       (BUILD_ID_AT + 12 + 4 + BUILD_ID_BYTES)

#define TYPICAL_PROBE 256 /* bytes of a probe in all sections, to allocate once */

_Static_assert(BASE_AT < IMAGE_STUBS, "headers and build-id fit before the stubs");
_Static_assert(IMAGE_STUBS % STUB_SIZE == 0, "stubs are aligned");

/* ORDER: section_names */
enum {
	SECTION_NULL,
	SECTION_BUILD_ID,
	SECTION_BASE,
	SECTION_TEXT,
	SECTION_SEMAPHORES,
	SECTION_NOTES,
	SECTION_DESCRIPTIONS,
	SECTION_SYMBOLS,
	SECTION_STRINGS,
	SECTION_NAMES,
	SECTION_COUNT
};

static const char section_names[] = "\0.note.gnu.build-id\0.stapsdt.base\0.text\0.probes\0"
				    ".note.stapsdt\0.note.nopal\0.symtab\0.strtab\0.shstrtab";

struct image_writing {
	const struct stub_cpu *cpu;
	struct str provider;
	const struct image_probe *const *probes;
	size_t count;
	uint64_t base; /* address of the first byte */
	bool has_descriptions;
	struct image_layout layout;
	struct buf *out;
	Elf64_Shdr sections[SECTION_COUNT];
};

struct image_layout image_layout_of(size_t count)
{
	size_t end = IMAGE_STUBS + count * STUB_SIZE;

	return (struct image_layout){
		.code_end = end,
		.semaphores_at = end,
		.semaphores_end = end + count * sizeof(uint16_t),
	};
}

/* ---- Stubs as data: a row for each CPU ---- */

/* System V ABI, AMD64 supplement, 3.2.3: six registers, then the stack above the return address.
 * The names are those of whole registers, and the size says which part is meant: gdb does not know
 * %r8b. */
static void x86_64_operand(unsigned i, struct buf *out)
{
	static const char *const names[] = {"%rdi", "%rsi", "%rdx", "%rcx", "%r8", "%r9"};

	if (i < 6)
		buf_text(out, names[i]);
	else
		buf_printf(out, "%u(%%rsp)", 8 + 8 * (i - 6));
}

/* Procedure Call Standard for the Arm 64-bit Architecture, 6.4: eight registers, then the stack. */
static void aarch64_operand(unsigned i, struct buf *out)
{
	if (i < 8)
		buf_printf(out, "x%u", i);
	else if (i == 8)
		buf_text(out, "[sp]");
	else
		buf_printf(out, "[sp, %u]", 8 * (i - 8));
}

/* RISC-V ELF psABI, integer calling convention: like Arm. */
static void riscv64_operand(unsigned i, struct buf *out)
{
	if (i < 8)
		buf_printf(out, "a%u", i);
	else
		buf_printf(out, "%u(sp)", 8 * (i - 8));
}

const struct stub_cpu stub_cpus[] = {
	{
		.machine = EM_X86_64,
		.page = 4096,
		.code_size = 6,
		.code = "\x0f\x1f\x44\x00\x00" /* nopl 0(%rax,%rax,1) */
			"\xc3"		       /* ret */
			"\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc",
		.operand = x86_64_operand,
	},
	{
		.machine = EM_AARCH64,
		.page = 65536,
		.code_size = 8,
		.code = "\x1f\x20\x03\xd5"  /* nop */
			"\xc0\x03\x5f\xd6", /* ret */
		.operand = aarch64_operand,
	},
	{
		.machine = EM_RISCV,
		.flags =
			5, /* EF_RISCV_RVC | EF_RISCV_FLOAT_ABI_DOUBLE, which not every elf.h has */
		.page = 4096,
		.code_size = 8,
		.code = "\x13\x00\x00\x00"  /* nop */
			"\x67\x80\x00\x00", /* ret */
		.operand = riscv64_operand,
	},
	{
		/* with a 1-byte nop */
		.machine = EM_X86_64,
		.page = 4096,
		.code_size = 2,
		.code = "\x90" /* nop */
			"\xc3" /* ret */
			"\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc",
		.operand = x86_64_operand,
	},
};
const unsigned stub_cpu_count = sizeof(stub_cpus) / sizeof(stub_cpus[0]);

const struct stub_cpu *stub_host(bool one_byte_nop)
{
#if defined __x86_64__ && defined __LP64__
	return &stub_cpus[one_byte_nop ? 3 : 0];
#elif defined __aarch64__ && defined __LP64__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	(void)one_byte_nop;
	return &stub_cpus[1];
#elif defined __riscv && __riscv_xlen == 64
	(void)one_byte_nop;
	return &stub_cpus[2];
#else
	(void)one_byte_nop;
	return NULL;
#endif
}

/* ---- Types of <nopal/runtime.h> as notes describe them ---- */

/* clang-format off */
static const struct {
	unsigned count;
	struct value_type values[2];
} types[] = {
	/*		values size  signed  class	     C type	    suffix of the name */
	[NOPAL_INT8]    = {1, {{1, true,  VALUE_SIGNED,   "int8_t",       ""}}},
	[NOPAL_UINT8]   = {1, {{1, false, VALUE_UNSIGNED, "uint8_t",      ""}}},
	[NOPAL_INT16]   = {1, {{2, true,  VALUE_SIGNED,   "int16_t",      ""}}},
	[NOPAL_UINT16]  = {1, {{2, false, VALUE_UNSIGNED, "uint16_t",     ""}}},
	[NOPAL_INT32]   = {1, {{4, true,  VALUE_SIGNED,   "int32_t",      ""}}},
	[NOPAL_UINT32]  = {1, {{4, false, VALUE_UNSIGNED, "uint32_t",     ""}}},
	[NOPAL_INT64]   = {1, {{8, true,  VALUE_SIGNED,   "int64_t",      ""}}},
	[NOPAL_UINT64]  = {1, {{8, false, VALUE_UNSIGNED, "uint64_t",     ""}}},
	[NOPAL_BOOL]    = {1, {{1, false, VALUE_BOOL,     "bool",         ""}}},
	[NOPAL_POINTER] = {1, {{8, false, VALUE_POINTER,  "const void *", ""}}},
	[NOPAL_STRING]  = {1, {{8, false, VALUE_STRING,   "const char *", ""}}},
	[NOPAL_COUNTED] = {2, {{8, false, VALUE_POINTER,  "const char *", ""},
			       {8, false, VALUE_UNSIGNED, "size_t",       "_len"}}},
	[NOPAL_FLOAT]   = {1, {{4, false, VALUE_FLOAT,    "float",        ""}}},
	[NOPAL_DOUBLE]  = {1, {{8, false, VALUE_FLOAT,    "double",       ""}}},
};
/* clang-format on */

unsigned runtime_value_types(enum nopal_type type, const struct value_type *out[2])
{
	if ((unsigned)type >= sizeof(types) / sizeof(types[0]))
		return 0;
	for (unsigned i = 0; i < types[type].count; i++)
		out[i] = &types[type].values[i];
	return types[type].count;
}

/* ---- Bytes ---- */

static void put_u32(struct buf *out, size_t value)
{
	uint32_t x = (uint32_t)value;

	buf_add(out, &x, sizeof(x));
}

static void put_u64(struct buf *out, uint64_t value)
{
	buf_add(out, &value, sizeof(value));
}

static void put_text(struct buf *out, struct str s)
{
	buf_str(out, s);
	buf_char(out, '\0');
}

static void pad_to(struct buf *out, size_t align)
{
	buf_fill(out, '\0', (align - out->len % align) % align);
}

/* Overwrite bytes that were written before. */
static void patch_bytes(struct buf *out, size_t at, const void *bytes, size_t len)
{
	if (!out->failed)
		memcpy(out->ptr + at, bytes, len);
}

/* ---- Notes ---- */

/* Returns the offset of the content, for note_close(). */
static size_t note_open(struct buf *out, struct str owner, uint32_t type)
{
	put_u32(out, owner.len);
	put_u32(out, 0);
	put_u32(out, type);
	buf_str(out, owner);
	pad_to(out, 4);
	return out->len;
}

static void note_close(struct buf *out, struct str owner, size_t content)
{
	uint32_t len = (uint32_t)(out->len - content);
	size_t padded = (owner.len + 3) / 4 * 4;

	patch_bytes(out, content - padded - 8, &len, sizeof(len));
	pad_to(out, 4);
}

static void write_note(struct image_writing *w, size_t i)
{
	static const struct str owner = {"stapsdt", 8};
	const struct image_probe *p = w->probes[i];
	size_t content = note_open(w->out, owner, 3);

	put_u64(w->out, w->base + image_stub_at(i));
	put_u64(w->out, w->base + BASE_AT);
	put_u64(w->out, w->base + IMAGE_DATA + w->layout.semaphores_at + i * sizeof(uint16_t));
	put_text(w->out, w->provider);
	put_text(w->out, p->name);
	for (unsigned k = 0; k < p->value_count; k++) { /* "8@%rdi -4@%esi" */
		buf_text(w->out, k ? " " : "");
		buf_text(w->out, p->types[k]->is_signed ? "-" : "");
		buf_u64(w->out, p->types[k]->size);
		buf_char(w->out, '@');
		w->cpu->operand(k, w->out);
	}
	buf_char(w->out, '\0');
	note_close(w->out, owner, content);
}

/* Notes of .note.nopal: type 3, names and C types of the arguments; type 16, a line of text. */
static void write_descriptions(struct image_writing *w, const struct image_probe *p)
{
	static const struct str owner = {"nopal", 6};
	size_t content = note_open(w->out, owner, 3);

	put_text(w->out, w->provider);
	put_text(w->out, p->name);
	buf_char(w->out, (char)p->value_count);
	for (unsigned i = 0; i < p->value_count; i++) {
		const struct value_type *type = p->types[i];

		buf_char(w->out, (char)(type->type_class | (type->is_signed ? 128 : 0)));
		buf_char(w->out, (char)type->size);
		buf_str(w->out, p->names[i]);
		put_text(w->out, str_from(p->names[i].len ? type->name_suffix : ""));
		put_text(w->out, str_from(type->c_type));
	}
	note_close(w->out, owner, content);
	if (!p->description.len)
		return;
	content = note_open(w->out, owner, 16);
	put_text(w->out, w->provider);
	put_text(w->out, p->name);
	put_text(w->out, p->description);
	note_close(w->out, owner, content);
}

/* ---- Sections ---- */

static void open_section(struct image_writing *w, unsigned index, uint32_t type, size_t align)
{
	pad_to(w->out, align);
	w->sections[index] = (Elf64_Shdr){
		.sh_type = type,
		.sh_offset = w->out->len,
		.sh_addralign = align,
	};
}

static void close_section(struct image_writing *w, unsigned index)
{
	w->sections[index].sh_size = w->out->len - w->sections[index].sh_offset;
}

/* A section that is mapped, `shift` bytes after its offset. */
static void set_loaded(struct image_writing *w, unsigned index, uint64_t flags, uint64_t shift)
{
	close_section(w, index);
	w->sections[index].sh_flags = SHF_ALLOC | flags;
	w->sections[index].sh_addr = w->base + w->sections[index].sh_offset + shift;
}

static void write_loaded(struct image_writing *w)
{
	static const struct str owner = {"GNU", 4};
	size_t content;

	buf_fill(w->out, '\0', BUILD_ID_AT);
	open_section(w, SECTION_BUILD_ID, SHT_NOTE, 4);
	content = note_open(w->out, owner, NT_GNU_BUILD_ID);
	buf_fill(w->out, '\0', BUILD_ID_BYTES);
	note_close(w->out, owner, content);
	set_loaded(w, SECTION_BUILD_ID, 0, 0);
	open_section(w, SECTION_BASE, SHT_PROGBITS, 1);
	buf_char(w->out, '\0');
	set_loaded(w, SECTION_BASE, 0, 0);
	buf_fill(w->out, '\0', IMAGE_STUBS - BASE_AT - 1);
	open_section(w, SECTION_TEXT, SHT_PROGBITS, STUB_SIZE);
	for (size_t i = 0; i < w->count; i++)
		buf_add(w->out, w->cpu->code, STUB_SIZE);
	set_loaded(w, SECTION_TEXT, SHF_EXECINSTR, 0);
	open_section(w, SECTION_SEMAPHORES, SHT_PROGBITS, 2);
	buf_fill(w->out, '\0', w->count * sizeof(uint16_t));
	set_loaded(w, SECTION_SEMAPHORES, SHF_WRITE, IMAGE_DATA);
}

static void write_notes(struct image_writing *w)
{
	open_section(w, SECTION_NOTES, SHT_NOTE, 4);
	for (size_t i = 0; i < w->count; i++)
		write_note(w, i);
	close_section(w, SECTION_NOTES);
	open_section(w, SECTION_DESCRIPTIONS, SHT_NOTE, 4);
	for (size_t i = 0; i < w->count && w->has_descriptions; i++)
		write_descriptions(w, w->probes[i]);
	close_section(w, SECTION_DESCRIPTIONS);
}

/* Each stub is a function with the probe's name. By that, tools know that its first byte is the
 * entry of a function. */
static void write_tables(struct image_writing *w)
{
	size_t name = 1;

	open_section(w, SECTION_SYMBOLS, SHT_SYMTAB, 8);
	buf_fill(w->out, '\0', sizeof(Elf64_Sym));
	for (size_t i = 0; i < w->count; i++) {
		Elf64_Sym s = {
			.st_name = (uint32_t)name,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = SECTION_TEXT,
			.st_value = w->base + image_stub_at(i),
			.st_size = w->cpu->code_size,
		};

		buf_add(w->out, &s, sizeof(s));
		name += w->probes[i]->name.len + 1;
	}
	close_section(w, SECTION_SYMBOLS);
	w->sections[SECTION_SYMBOLS].sh_entsize = sizeof(Elf64_Sym);
	w->sections[SECTION_SYMBOLS].sh_link = SECTION_STRINGS;
	w->sections[SECTION_SYMBOLS].sh_info = 1; /* the first global one */
	open_section(w, SECTION_STRINGS, SHT_STRTAB, 1);
	buf_char(w->out, '\0');
	for (size_t i = 0; i < w->count; i++)
		put_text(w->out, w->probes[i]->name);
	close_section(w, SECTION_STRINGS);
	open_section(w, SECTION_NAMES, SHT_STRTAB, 1);
	buf_add(w->out, section_names, sizeof(section_names));
	close_section(w, SECTION_NAMES);
}

/* ---- Headers ---- */

/* Bytes of the file that are in memory `shift` bytes after their offset. */
static Elf64_Phdr mapped_segment(uint32_t type, uint32_t flags, size_t offset, size_t end,
				 uint64_t shift, uint64_t align)
{
	return (Elf64_Phdr){
		.p_type = type,
		.p_flags = flags,
		.p_offset = offset,
		.p_vaddr = offset + shift,
		.p_paddr = offset + shift,
		.p_filesz = end - offset,
		.p_memsz = end - offset,
		.p_align = align,
	};
}

static void patch_headers(struct image_writing *w, size_t sections_at)
{
	const struct image_layout *at = &w->layout;
	uint64_t base = w->base, page = w->cpu->page;
	const Elf64_Phdr segments[4] = {
		mapped_segment(PT_LOAD, PF_R | PF_X, 0, at->code_end, base, page),
		mapped_segment(PT_LOAD, PF_R | PF_W, at->semaphores_at, at->semaphores_end,
			       base + IMAGE_DATA, page),
		mapped_segment(PT_NOTE, PF_R, BUILD_ID_AT, BASE_AT, base, 4),
		{.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W, .p_align = 16},
	};
	const Elf64_Ehdr h = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT,
			    ELFOSABI_NONE},
		.e_type = ET_DYN,
		.e_machine = w->cpu->machine,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_shoff = sections_at,
		.e_flags = w->cpu->flags,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 4,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTION_COUNT,
		.e_shstrndx = SECTION_NAMES,
	};

	patch_bytes(w->out, 0, &h, sizeof(h));
	patch_bytes(w->out, sizeof(h), segments, sizeof(segments));
}

/* One step of a hash like FNV-1a, eight bytes at a time; the shift mixes high bits into low ones.
 */
static uint64_t mix_word(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0x9e3779b97f4a7c15;
	return h ^ h >> 29;
}

/* The build-id distinguishes images; it does not protect against images that are made to have
 * the same one. The image consists of whole words. */
static void patch_build_id(struct image_writing *w)
{
	uint64_t id[3] = {0xcbf29ce484222325, 0x84222325cbf29ce4, 0x100000001b3};
	struct str bytes = buf_as_str(w->out);

	for (size_t i = 0; i + 8 <= bytes.len; i += 8) {
		uint64_t word;

		memcpy(&word, bytes.ptr + i, sizeof(word));
		id[0] = mix_word(id[0], word);
		id[1] = mix_word(id[1], ~word);
		id[2] = mix_word(id[2], word << 32 | word >> 32);
	}
	patch_bytes(w->out, BUILD_ID_AT + 16, id, BUILD_ID_BYTES);
}

void image_write(const struct stub_cpu *cpu, struct str provider,
		 const struct image_probe *const *probes, size_t count, uint64_t base,
		 struct buf *out)
{
	struct image_writing w = {
		.cpu = cpu,
		.provider = provider,
		.probes = probes,
		.count = count,
		.base = base,
		.has_descriptions = !base,
		.layout = image_layout_of(count),
		.out = out,
	};
	size_t sections_at, name = 0;

	buf_reserve(out, (count + 8) * TYPICAL_PROBE);
	write_loaded(&w);
	write_notes(&w);
	write_tables(&w);
	pad_to(out, 8);
	sections_at = out->len;
	for (unsigned i = 0; i < SECTION_COUNT; i++) { /* ORDER: section_names is as the enum */
		w.sections[i].sh_name = (uint32_t)name;
		name += strlen(section_names + name) + 1;
		buf_add(out, &w.sections[i], sizeof(w.sections[i]));
	}
	patch_headers(&w, sections_at);
	patch_build_id(&w);
}
