/* Code in a file that keeps frame pointers and has no call frame information: the functions that V8
 * builds for itself when it is built. Node has some 1,600 of them, 1.6 MB, and every stack of
 * JavaScript goes through them. The file says where they are by two functions that return a
 * constant:
 *
 *	v8::internal::DefaultEmbeddedBlobCode		mov eax, 0x18c4000; ret
 *	v8::internal::DefaultEmbeddedBlobCodeSize	mov eax, [rip + 0x1ce1156]; ret */
#include "unwind/inside.h"

#include <elf.h>

#include "base/array.h"
#include "elf/symbols.h"

#define NAME_MOST  64
#define BYTES_MOST (64u << 20) /* of such code */

struct looking {
	uint64_t code, size; /* addresses of the two functions; 0: not met */
};

static int take_symbol(void *arg, const struct symbol *symbol)
{
	struct looking *l = arg;

	if (str_eq_text(symbol->name, "_ZN2v88internal23DefaultEmbeddedBlobCodeEv"))
		l->code = symbol->address;
	if (str_eq_text(symbol->name, "_ZN2v88internal27DefaultEmbeddedBlobCodeSizeEv"))
		l->size = symbol->address;
	return l->code && l->size;
}

static bool read_at(const struct image *image, uint64_t address, void *to, size_t len)
{
	uint64_t offset;

	return image_offset_of(image, address, &offset) &&
	       image_read(image, offset, to, len) == (ssize_t)len;
}

/* The ways to return a constant, and where it is. */
/* clang-format off */
static const struct {
	char bytes[4];
	uint8_t len, width;	     /* of the opcode, and of what is returned */
	bool is_relative, is_loaded; /* counted from the next instruction; stored there */
} returns[] = {
	{"\xb8",         1, 4, false, false}, /* mov  eax, n */
	{"\x48\x8d\x05", 3, 8, true,  false}, /* lea  rax, [rip + n] */
	{"\x48\x8b\x05", 3, 8, true,  true},  /* mov  rax, [rip + n] */
	{"\x8b\x05",     2, 4, true,  true},  /* mov  eax, [rip + n] */
};
/* clang-format on */

/* *number = what is stored at that address */
static bool load_number(const struct image *image, size_t width, uint64_t *number)
{
	uint64_t address = *number;

	*number = 0;
	return read_at(image, address, number, width);
}

/* What a function may do before, and then undoes before its end. */
static const struct str prologues[] = {
	STR("\xf3\x0f\x1e\xfa"), /* endbr64 */
	STR("\x55\x48\x89\xe5"), /* push rbp; mov rbp, rsp */
};

static bool returned_by(const struct image *image, uint64_t function, uint64_t *out)
{
	char bytes[24], *at = bytes;
	int32_t number;

	if (!read_at(image, function, bytes, sizeof(bytes)))
		return false;
	for (size_t i = 0; i < COUNT(prologues); i++)
		if (!memcmp(at, prologues[i].ptr, prologues[i].len))
			at += prologues[i].len;
	for (size_t i = 0; i < COUNT(returns); i++) {
		size_t len = returns[i].len;
		const char *end = at + len + sizeof(number);

		end += *end == '\x5d'; /* pop rbp */
		if (memcmp(at, returns[i].bytes, len) || *end != '\xc3')
			continue;
		memcpy(&number, at + len, sizeof(number));
		*out = returns[i].is_relative ? function + (uint64_t)(at - bytes) + len + 4 +
							(uint64_t)(int64_t)number
					      : (uint32_t)number;
		return !returns[i].is_loaded || load_number(image, returns[i].width, out);
	}
	return false;
}

bool chained_find(const struct image *image, uint64_t *start, uint64_t *end)
{
	struct looking l = {0};
	const struct segment *s;
	uint64_t size;

	if (image->machine != EM_X86_64 || image->big_endian)
		return false;
	if (symbols_scan(image, STR(""), STR(""), NAME_MOST, take_symbol, &l) != 1 ||
	    !returned_by(image, l.code, start) || !returned_by(image, l.size, &size))
		return false;
	s = image_segment_at(image, *start);
	if (!s || !s->executable || size > BYTES_MOST ||
	    size > s->memory_size - (*start - s->address))
		return false;
	*end = *start + size;
	return size;
}
