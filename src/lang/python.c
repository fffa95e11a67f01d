/* Names of Python's frames: a code object has the names as str objects, and a table of lines in one
 * of three formats: pairs (3.9, Objects/lnotab_notes.txt), signed pairs (3.10, PEP 626), locations
 * (3.11, Objects/locations.md). A position is an instruction's number in bytes from the start. */
#include "lang/runtime_row.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cursor.h"

#define TYPE_AT	   8  /* of every object */
#define LENGTH_AT  16 /* of str and bytes */
#define STATE_AT   32 /* of str: bits 2 to 4 are a character's bytes, 5 compact, 6 ASCII */
#define BYTES_AT   32 /* of bytes: the data */
#define LINES_MOST (256u << 10) /* bytes of a table of lines */

static void add_character(struct buf *out, uint32_t c)
{
	if (c < 0x80) {
		buf_char(out, (char)c);
	} else if (c < 0x800) {
		buf_char(out, (char)(0xc0 | c >> 6));
		buf_char(out, (char)(0x80 | (c & 0x3f)));
	} else if (c < 0x10000) {
		buf_char(out, (char)(0xe0 | c >> 12));
		buf_char(out, (char)(0x80 | (c >> 6 & 0x3f)));
		buf_char(out, (char)(0x80 | (c & 0x3f)));
	} else if (c < 0x110000) {
		buf_char(out, (char)(0xf0 | c >> 18));
		buf_char(out, (char)(0x80 | (c >> 12 & 0x3f)));
		buf_char(out, (char)(0x80 | (c >> 6 & 0x3f)));
		buf_char(out, (char)(0x80 | (c & 0x3f)));
	}
}

/* Characters of 1, 2 or 4 bytes, to UTF-8. */
static bool read_wide(const struct lang_memory *m, uint64_t at, uint64_t len, unsigned size,
		      struct buf *out)
{
	char bytes[TEXT_MOST];

	if (len > TEXT_MOST / size)
		len = TEXT_MOST / size;
	if (len && !read_bytes(m, at, bytes, len * size))
		return false;
	for (uint64_t i = 0; i < len; i++) {
		uint32_t c = 0;

		memcpy(&c, bytes + i * size, size);
		add_character(out, c);
	}
	return true;
}

static bool read_str(const struct python_code *c, const struct lang_memory *m, uint64_t at,
		     struct buf *out)
{
	uint64_t len;
	uint32_t state, size;

	if (!at || !read_word(m, at + LENGTH_AT, &len) || !read_u32(m, at + STATE_AT, &state))
		return false;
	size = state >> 2 & 7;
	if (!(state >> 5 & 1) || (size != 1 && size != 2 && size != 4) || len > INT64_MAX)
		return false;
	if (state >> 6 & 1)
		return read_text(m, at + c->ascii, len, out);
	return read_wide(m, at + c->wide, len, size, out);
}

/* ---- tables of lines. Each finds the line at instruction `wanted`; 0: it has none. */

/* { u8 bytes, s8 lines }...: each pair: bytes and lines to go on by */
static int64_t line_of_pairs(struct cursor *c, int64_t line, uint64_t wanted)
{
	uint8_t bytes, lines;
	uint64_t at = 0;

	while (cursor_u8(c, &bytes) && cursor_u8(c, &lines)) {
		at += bytes;
		if (at > wanted)
			break;
		line += (int8_t)lines;
	}
	return line;
}

/* { u8 bytes, s8 lines }...: bytes of code, and how much further their line is; -128: they
 * have none */
static int64_t line_of_signed(struct cursor *c, int64_t line, uint64_t wanted)
{
	uint8_t bytes, lines;
	uint64_t at = 0;

	while (cursor_u8(c, &bytes) && cursor_u8(c, &lines)) {
		bool none = (int8_t)lines == INT8_MIN;

		line += none ? 0 : (int8_t)lines;
		at += bytes;
		if (at > wanted)
			return none ? 0 : line;
	}
	return 0;
}

/* Six bits a byte, the lowest first; bit 6: there is more. */
static uint64_t take_varint(struct cursor *c)
{
	uint64_t value = 0;
	uint8_t byte = 0x40;

	for (unsigned shift = 0; byte & 0x40 && cursor_u8(c, &byte); shift += 6)
		value |= shift < 60 ? (uint64_t)(byte & 0x3f) << shift : 0;
	return value;
}

/* Its lowest bit is the sign. */
static int64_t take_signed(struct cursor *c)
{
	uint64_t value = take_varint(c);

	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

enum { CODE_ONE_LINE = 10, CODE_NO_COLUMN = 13, CODE_LONG = 14, CODE_NONE = 15 };

/* Each entry: 1, four bits of code, three of units less 1; then what the code says */
static int64_t line_of_locations(struct cursor *c, int64_t line, uint64_t wanted)
{
	uint64_t at = 0;
	uint8_t byte;

	while (cursor_u8(c, &byte)) {
		unsigned code = byte >> 3 & 15;

		if (code < CODE_ONE_LINE) {
			cursor_skip(c, 1);
		} else if (code < CODE_NO_COLUMN) {
			line += code - CODE_ONE_LINE;
			cursor_skip(c, 2);
		} else if (code < CODE_NONE) {
			line = (int64_t)((uint64_t)line + (uint64_t)take_signed(c));
		}
		for (unsigned i = 0; code == CODE_LONG && i < 3; i++)
			take_varint(c);
		at += (byte & 7) + 1u;
		if (at > wanted)
			return code == CODE_NONE || c->failed ? 0 : line;
	}
	return 0;
}

typedef int64_t line_fn(struct cursor *c, int64_t line, uint64_t wanted);

static line_fn *const formats[] = {
	[LINES_PAIRS] = line_of_pairs,
	[LINES_SIGNED] = line_of_signed,
	[LINES_LOCATIONS] = line_of_locations,
};

/* The line of a position; 0: not known. One before the first instruction is of a call that has not
 * begun: the function's own line. */
static uint64_t find_line(const struct python_code *p, const struct lang_memory *m, uint64_t code,
			  uint64_t position)
{
	int64_t wanted = (int64_t)position - p->bytecode, line;
	uint64_t table, len;
	uint32_t first;
	struct cursor c;
	char *bytes;

	if (!read_u32(m, code + p->first_line, &first) || first > INT32_MAX)
		return 0;
	if (wanted < 0)
		return first;
	if (!read_word(m, code + p->lines, &table) || !read_word(m, table + LENGTH_AT, &len) ||
	    len > LINES_MOST)
		return 0;
	if (!len) /* pairs: of a function that is one line */
		return p->format == LINES_PAIRS ? first : 0;
	bytes = malloc(len);
	if (!bytes || !read_bytes(m, table + BYTES_AT, bytes, len)) {
		free(bytes);
		return 0;
	}
	c = cursor_of(bytes, len, false);
	if (p->format == LINES_SIGNED)
		wanted *= 2; /* 3.10 counts instructions */
	line = formats[p->format](&c, first, (uint64_t)wanted / p->unit);
	free(bytes);
	return line > 0 && line <= INT32_MAX ? (uint64_t)line : 0;
}

static int python_name(const struct lang_runtime *r, const struct lang_memory *m,
		       struct lang_frame frame, struct lang_name *out)
{
	const struct python_code *p = &r->layout->python;
	uint64_t type, name, file;

	if (!read_word(m, frame.object + TYPE_AT, &type))
		return -EFAULT;
	if (r->code_type && type != r->code_type) {
		/* None, or the code object of another version's frame: of no function */
		out->is_hidden = true;
		return 0;
	}
	if (!read_word(m, frame.object + (p->qualname == LANG_NOTHING ? p->name : p->qualname),
		       &name) ||
	    !read_str(p, m, name, &out->function) ||
	    !read_word(m, frame.object + p->filename, &file) || !read_str(p, m, file, &out->file))
		return -EFAULT;
	out->line = find_line(p, m, frame.object, frame.position);
	out->is_hidden = str_eq_text(buf_as_str(&out->function), "<interpreter trampoline>");
	return 0;
}

/* ---- the row */

/* Symbols that are looked for. */
enum { RUNTIME, VERSION, CODE_TYPE };

/* Before 3.11 only names say what it is: .../libpython3.9.so.1.0, .../python3.10 */
static bool python_version_of_name(struct recognition *l)
{
	struct str name = str_after_last(l->path, '/');
	const char *at = memmem(name.ptr, name.len, "python", 6);

	return at &&
	       recognition_version(str_of(at + 6, (size_t)(name.ptr + name.len - at) - 6), l->out);
}

static bool look_python(struct recognition *l)
{
	uint32_t version;

	if (!l->has[RUNTIME])
		return false;
	if (l->has[VERSION] && recognition_read(l, l->at[VERSION], &version, sizeof(version))) {
		l->out->major = version >> 24;
		l->out->minor = version >> 16 & 0xff;
		l->out->micro = version >> 8 & 0xff;
		l->out->has_version = true;
	} else {
		l->out->has_version = python_version_of_name(l);
		l->out->micro = 0;
	}
	l->out->root = l->at[RUNTIME];
	l->out->code_type = l->has[CODE_TYPE] ? l->at[CODE_TYPE] : 0;
	return recognition_layout(l, NULL);
}

static void plan_python(struct target_writer *p, const struct lang_layout *l)
{
	const struct python_code *c = &l->python;

	target_copy(p, 0, 208);
	target_follow(p, 2, 0, c->filename, PATH_BYTES);
	target_follow(p, 2, 0, c->qualname == LANG_NOTHING ? c->name : c->qualname, TEXT_BYTES);
	target_follow(p, 2, 0, c->lines, LANG_CHUNK_MOST);
}

const struct runtime_row python_row = {
	.name = "python",
	.files = {"libpython", "python"},
	.symbols =
		{[RUNTIME] = "_PyRuntime", [VERSION] = "Py_Version", [CODE_TYPE] = "PyCode_Type"},
	.look = look_python,
	.name_frame = python_name,
	.plan = plan_python,
};
