/* A function of the traced process, by the table that its image has for unwinding
 * (PT_GNU_EH_FRAME): where each function begins, in order, and its entry in .eh_frame, which has
 * its size. A function that its compiler has divided is several of them. All of it is read from the
 * process's memory, and may be anything. */
#include "user/patch/eh_frame.h"

#include <stddef.h>

#include "user/ptrace/tracee_state.h"

#define ENTRIES_MOST (1u << 24)
/* The encodings of addresses that linkers write (LSB, "DWARF Extensions"); others are not read. */
#define FRAME_PTR 0x1b /* pcrel | sdata4 */
#define COUNT_ENC 0x03 /* udata4 */
#define TABLE_ENC 0x3b /* datarel | sdata4 */

struct table_head {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame;
	uint32_t count;
};

struct eh_frame_entry { /* both from the table's start */
	int32_t start, frame;
};

struct frame_head {
	uint32_t length, cie;
	int32_t start; /* from this field's address: the encoding of all but odd compilers */
	uint32_t size;
};

/* Where the first byte of the file is mapped that is mapped at `pc`. */
static uint64_t image_start(const struct space *s, uint64_t pc)
{
	uint64_t inode = 0, start = 0;

	for (size_t i = 0; i < s->file_count; i++)
		if (pc >= s->files[i].start && pc < s->files[i].end)
			inode = s->files[i].inode;
	for (size_t i = 0; inode && i < s->file_count; i++)
		if (s->files[i].inode == inode && !s->files[i].offset && s->files[i].start <= pc)
			start = s->files[i].start;
	return start;
}

unsigned inject_segments(struct inject *x, uint64_t image, Elf64_Phdr *segments)
{
	Elf64_Ehdr head;

	if (inject_read(x, image, &head, sizeof(head)) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phnum > INJECT_SEGMENTS ||
	    head.e_phoff > PAGE ||
	    inject_read(x, image + head.e_phoff, segments, head.e_phnum * sizeof(*segments)))
		return 0;
	return head.e_phnum;
}

/* The address of the table; 0: there is none. */
static uint64_t find_table(struct inject *x, uint64_t image)
{
	Elf64_Phdr segments[INJECT_SEGMENTS];
	uint64_t low = UINT64_MAX, table = 0;
	unsigned count = inject_segments(x, image, segments);

	for (unsigned i = 0; i < count; i++) {
		if (segments[i].p_type == PT_LOAD && low == UINT64_MAX)
			low = segments[i].p_vaddr & ~(uint64_t)(PAGE - 1);
		if (segments[i].p_type == PT_GNU_EH_FRAME)
			table = segments[i].p_vaddr;
	}
	return table && low != UINT64_MAX ? image + (table - low) : 0;
}

static bool entry_of(struct inject *x, uint64_t table, uint64_t number, uint64_t *start,
		     uint64_t *frame)
{
	struct eh_frame_entry e;

	if (inject_read(x, table + sizeof(struct table_head) + number * sizeof(e), &e, sizeof(e)))
		return false;
	*start = table + (uint64_t)(int64_t)e.start;
	*frame = table + (uint64_t)(int64_t)e.frame;
	return true;
}

static bool end_of(struct inject *x, uint64_t frame, uint64_t start, uint64_t *out)
{
	struct frame_head head;

	if (inject_read(x, frame, &head, sizeof(head)) ||
	    frame + offsetof(struct frame_head, start) + (uint64_t)(int64_t)head.start != start)
		return false;
	*out = start + head.size;
	return true;
}

bool function_bounds(struct inject *x, uint64_t pc, uint64_t *start, uint64_t *end)
{
	uint64_t image = image_start(&x->space, pc), table = image ? find_table(x, image) : 0;
	uint64_t low = 0, high, middle, at, frame;
	struct table_head head;

	if (!table || inject_read(x, table, &head, sizeof(head)) || head.version != 1 ||
	    head.frame_encoding != FRAME_PTR || head.count_encoding != COUNT_ENC ||
	    head.table_encoding != TABLE_ENC || !head.count || head.count > ENTRIES_MOST)
		return false;
	for (high = head.count; high - low > 1;) {
		middle = low + (high - low) / 2;
		if (!entry_of(x, table, middle, &at, &frame))
			return false;
		if (at <= pc)
			low = middle;
		else
			high = middle;
	}
	return entry_of(x, table, low, start, &frame) && end_of(x, frame, *start, end) &&
	       *start <= pc && pc < *end;
}
