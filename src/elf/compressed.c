/* libelf decompresses whatever a section claims to hold, so that is judged first. */
#include "elf/compressed.h"

#include <errno.h>

/* zlib makes at most about a thousand bytes of one. */
#define EXPANSION_MOST 1100

/* Bytes that the section claims to have when it is decompressed. */
static int claimed_size(Elf_Scn *scn, bool gnu, uint64_t *out)
{
	GElf_Chdr header;
	Elf_Data *raw;

	if (!gnu) {
		if (!gelf_getchdr(scn, &header))
			return -EBADMSG;
		*out = header.ch_size;
		return 0;
	}
	raw = elf_rawdata(scn, NULL);
	if (!raw || raw->d_size < 12 || !raw->d_buf)
		return -EBADMSG;
	*out = 0;
	for (unsigned i = 4; i < 12; i++)
		*out = *out << 8 | ((unsigned char *)raw->d_buf)[i];
	return 0;
}

int section_decompress(Elf_Scn *scn, const GElf_Shdr *header, bool gnu, struct budget *budget)
{
	bool compressed = header->sh_flags & SHF_COMPRESSED;
	uint64_t size;
	int err;

	if (!compressed && !gnu)
		return 0;
	err = claimed_size(scn, !compressed, &size);
	if (err)
		return err;
	if (size / EXPANSION_MOST > header->sh_size)
		return -EBADMSG;
	if (!budget_memory(budget, size) || !budget_work(budget, 3 * size))
		return budget_error(budget);
	err = compressed ? elf_compress(scn, 0, 0) : elf_compress_gnu(scn, 0, 0);
	return err < 0 ? -EBADMSG : 1;
}
