/* Thread-local variables of an image, as its file has them: the slot with the number of its module,
 * and where in the module's block a variable lies that has no symbol. x86-64 and glibc. */
#include "lang/inside.h"

#include <elf.h>
#include <string.h>

#include "elf/image.h"

#define RELOCATIONS_MOST (16u << 20)
#define NAMES_MOST	 (16u << 20)
#define CODE_BYTES	 48 /* of a function that are looked at */

bool tls_is_glibc(const struct image *image)
{
	static const char name[] = "libc.so.6"; /* with its 0 */
	const struct section *s = image_section(image, ".dynstr", NULL);
	struct str names;

	return s && !image_content(image, s, NAMES_MOST, &names) &&
	       memmem(names.ptr, names.len, name, sizeof(name));
}

/* A relocation of that kind at `slot`, or the first one anywhere if it is 0. */
static bool find_relocation(const struct image *image, unsigned kind, uint64_t slot,
			    Elf64_Rela *out)
{
	const struct section *s = image_section(image, ".rela.dyn", NULL);
	struct str bytes;

	if (!s || image_content(image, s, RELOCATIONS_MOST, &bytes))
		return false;
	for (size_t at = 0; at + sizeof(*out) <= bytes.len; at += sizeof(*out)) {
		memcpy(out, bytes.ptr + at, sizeof(*out));
		if (ELF64_R_TYPE(out->r_info) == kind && (!slot || out->r_offset == slot))
			return true;
	}
	return false;
}

uint64_t tls_module_slot(const struct image *image)
{
	Elf64_Rela rela;

	return find_relocation(image, R_X86_64_DTPMOD64, 0, &rela) ? rela.r_offset : 0;
}

static bool read_image(const struct image *image, uint64_t address, void *to, size_t len)
{
	uint64_t offset;

	return image_offset_of(image, address, &offset) &&
	       image_read(image, offset, to, len) == (ssize_t)len;
}

/* The psABI has one sequence for the address of a variable, which linkers know, too:
 *
 *	66 48 8d 3d SLOT	lea SLOT(%rip), %rdi
 *	66 66 48 e8 ....	call ....	or 66 48 ff 15 ....
 *
 * and what is read of it comes next: 48 8b 00, mov (%rax), %rax. The slot has the module's number
 * and, written by the linker, the offset in its block. */
bool tls_offset_of_code(const struct image *image, uint64_t function, uint64_t *slot,
			uint64_t *offset)
{
	unsigned char code[CODE_BYTES];
	Elf64_Rela rela;
	int32_t distance;

	if (!read_image(image, function, code, sizeof(code)))
		return false;
	for (size_t i = 0; i + 19 <= sizeof(code); i++) {
		const unsigned char *at = code + i;

		if (memcmp(at, "\x66\x48\x8d\x3d", 4) ||
		    (memcmp(at + 8, "\x66\x66\x48\xe8", 4) &&
		     memcmp(at + 8, "\x66\x48\xff\x15", 4)) ||
		    memcmp(at + 16, "\x48\x8b\x00", 3))
			continue;
		memcpy(&distance, at + 4, sizeof(distance));
		*slot = function + i + 8 + (uint64_t)(int64_t)distance;
		return find_relocation(image, R_X86_64_DTPMOD64, *slot, &rela) &&
		       !find_relocation(image, R_X86_64_DTPOFF64, *slot + 8, &rela) &&
		       read_image(image, *slot + 8, offset, sizeof(*offset));
	}
	return false;
}
