/* Entries of .eh_frame and .debug_frame. They are nearly the same; what differs is how a CIE is
 * distinguished from an FDE, how an FDE names its CIE, and how addresses are written:
 *
 *	u32 length (0xffffffff: a u64 follows)
 *	u32 id		.eh_frame: 0 is a CIE, else bytes back to the CIE of this FDE
 *			.debug_frame: all ones is a CIE, else the offset of the CIE
 *	CIE: version, augmentation "zRPLS", alignments, return register, their data, instructions
 *	FDE: start, length, augmentation data, instructions
 */
#include "unwind/inside.h"

/* How an address is written: the low 4 bits are a form, the next 3 what the number is relative to.
 */
enum {
	FORM_WORD = 0x0,
	FORM_ULEB = 0x1,
	FORM_U16 = 0x2,
	FORM_U32 = 0x3,
	FORM_U64 = 0x4,
	FORM_SIGNED = 0x8, /* the same forms, signed */
	RELATIVE_TO_NOTHING = 0x00,
	RELATIVE_TO_HERE = 0x10,
	RELATIVE_MASK = 0x70,
	INDIRECT = 0x80,
	OMITTED = 0xff,
};

static bool read_form(const struct frames *f, struct cursor *c, uint8_t form, uint64_t *out)
{
	static const uint8_t sizes[] = {
		[FORM_WORD] = 0, [FORM_U16] = 2, [FORM_U32] = 4, [FORM_U64] = 8};
	uint8_t base = form & ~FORM_SIGNED & 0x0f;
	unsigned size;

	if (base == FORM_ULEB)
		return form & FORM_SIGNED ? cursor_sleb(c, (int64_t *)out) : cursor_uleb(c, out);
	if (base > FORM_U64)
		return false;
	size = sizes[base] ? sizes[base] : f->word;
	if (!cursor_word(c, size, out))
		return false;
	if (form & FORM_SIGNED && size < 8 && *out >> (8 * size - 1))
		*out |= UINT64_MAX << 8 * size;
	return true;
}

bool encoded_read(const struct frames *f, struct cursor *c, uint8_t encoding, uint64_t *out)
{
	uint64_t here = f->address + (uint64_t)((const char *)c->at - f->bytes.ptr), value;

	if (encoding == OMITTED || encoding & INDIRECT || !read_form(f, c, encoding & 0x0f, &value))
		return false;
	switch (encoding & RELATIVE_MASK) {
	case RELATIVE_TO_NOTHING: *out = value; return true;
	case RELATIVE_TO_HERE: *out = value + here; return true;
	}
	return false;
}

bool entry_next(const struct frames *f, size_t *at, struct entry *out)
{
	struct cursor c = cursor_of(f->bytes.ptr, f->bytes.len, f->big_endian);
	uint64_t len = 0, id;
	size_t id_at;
	struct str body;
	unsigned size = 4;

	if (!cursor_skip(&c, *at))
		return false;
	/* A length of 0 ends what one object file brought; others may follow. */
	while (!len && cursor_left(&c))
		if (!cursor_word(&c, 4, &len) || (!len && f->is_open))
			return false;
	if (len == UINT32_MAX) {
		size = 8;
		if (!cursor_word(&c, 8, &len))
			return false;
	}
	if (!len || len > cursor_left(&c) || !cursor_bytes(&c, len, &body))
		return false;
	*at = f->bytes.len - cursor_left(&c);
	id_at = (size_t)(body.ptr - f->bytes.ptr);
	/* Those of .eh_frame are always 4 bytes long. */
	size = f->is_debug ? size : 4;
	out->body = cursor_of(body.ptr, body.len, f->big_endian);
	if (!cursor_word(&out->body, size, &id))
		return false;
	out->is_cie = f->is_debug ? id == (size == 8 ? UINT64_MAX : UINT32_MAX) : !id;
	out->cie = out->is_cie ? id_at - (f->is_debug && size == 8 ? 12 : 4)
			       : (size_t)(f->is_debug ? id : id_at - id);
	return true;
}

/* Data of the letters after 'z'. False: a letter that is not known. */
static bool read_letters(const struct frames *f, struct cursor *c, struct str letters,
			 struct cie *out)
{
	uint64_t ignored;
	uint8_t encoding;

	for (size_t i = 0; i < letters.len; i++)
		switch (letters.ptr[i]) {
		case 'R':
			if (!cursor_u8(c, &out->encoding))
				return false;
			break;
		case 'L':
			if (!cursor_skip(c, 1))
				return false;
			break;
		case 'P':
			if (!cursor_u8(c, &encoding) || !read_form(f, c, encoding & 0x0f, &ignored))
				return false;
			break;
		case 'S': out->is_signal = true; break;
		case 'B': /* aarch64: return addresses are signed with key B */
		case 'G': /* ... memory is tagged */ break;
		default: return false;
		}
	return true;
}

static bool read_cie(const struct frames *f, struct cursor *c, struct cie *out)
{
	struct str letters, data;
	uint8_t version, byte;
	uint64_t len;
	struct cursor d;

	if (!cursor_u8(c, &version) || !version || version > 4 || !cursor_text(c, &letters))
		return false;
	if (version == 4 && !cursor_skip(c, 2)) /* sizes of addresses and segments */
		return false;
	if (!cursor_uleb(c, &out->code_align) || !cursor_sleb(c, &out->data_align))
		return false;
	if (version == 1 ? !cursor_u8(c, &byte) : !cursor_uleb(c, &out->ra))
		return false;
	if (version == 1)
		out->ra = byte;
	if (letters.len && letters.ptr[0] == 'z') {
		if (!cursor_uleb(c, &len) || len > cursor_left(c) || !cursor_bytes(c, len, &data))
			return false;
		d = cursor_of(data.ptr, data.len, f->big_endian);
		out->is_sized = true;
		if (!read_letters(f, &d, str_of(letters.ptr + 1, letters.len - 1), out))
			return false;
	} else if (letters.len) {
		return false;
	}
	return cursor_bytes(c, cursor_left(c), &out->code);
}

void cie_read(const struct frames *f, const struct entry *e, struct cie *out)
{
	struct cursor c = e->body;

	*out = (struct cie){.at = e->cie};
	out->is_good = read_cie(f, &c, out);
}

/* Most functions have the CIE of the one before. */
bool cie_find(const struct frames *f, size_t at, struct cie *cie)
{
	struct entry e;
	size_t next = at;

	if (cie->at == at && cie->code.ptr)
		return cie->is_good;
	if (at >= f->bytes.len || !entry_next(f, &next, &e) || !e.is_cie || e.cie != at)
		return false;
	cie_read(f, &e, cie);
	return cie->is_good;
}

bool fde_read(const struct frames *f, const struct entry *e, struct cie *cie, struct fde *out)
{
	struct cursor c = e->body;
	uint64_t len;

	if (!cie_find(f, e->cie, cie) || !encoded_read(f, &c, cie->encoding, &out->start) ||
	    !read_form(f, &c, cie->encoding & 0x07, &len) ||
	    __builtin_add_overflow(out->start, len, &out->end))
		return false;
	if (cie->is_sized &&
	    (!cursor_uleb(&c, &len) || len > cursor_left(&c) || !cursor_skip(&c, len)))
		return false;
	out->cie = cie;
	return cursor_bytes(&c, cursor_left(&c), &out->code);
}
