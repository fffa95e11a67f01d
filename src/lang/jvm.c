/* A flag of the HotSpot JVM, as it is in a process: by the tables that the JVM exports for
 * debuggers. `root` of the runtime is where their address is kept.
 *
 *	gHotSpotVMStructs -> { "JVMFlag", "flags", static, address of the array's address }, ...
 *	gHotSpotVMTypes   -> { "JVMFlag", size of an element }, ...
 *
 * JDK 8 calls it Flag. */
#include "lang/runtime_row.h"

#define STRUCTS_MOST 8192
#define FLAGS_MOST   8192
#define TYPES_MOST   8192
#define STRUCT_SIZE  48
#define TYPE_SIZE    40
#define FLAG_MOST    64 /* bytes of an element */

/* Where the flags are, and the members of one. */
struct jvm_flags {
	uint64_t array, count;
	uint64_t size;
	uint64_t name, address; /* offsets */
};

static bool is_text(const struct lang_memory *m, uint64_t at, const char *want)
{
	char text[32];
	size_t len = strlen(want) + 1;

	return len <= sizeof(text) && read_bytes(m, at, text, len) && !memcmp(text, want, len);
}

static bool is_flag_type(const struct lang_memory *m, uint64_t name)
{
	return is_text(m, name, "JVMFlag") || is_text(m, name, "Flag");
}

/* A row: type name, field name, type of the field, is static, offset, address. */
static void take_row(const struct lang_memory *m, const uint64_t row[6], struct jvm_flags *f)
{
	if (is_text(m, row[1], "flags"))
		read_word(m, row[5], &f->array);
	else if (is_text(m, row[1], "numFlags"))
		read_word(m, row[5], &f->count);
	else if (is_text(m, row[1], "_name"))
		f->name = row[4];
	else if (is_text(m, row[1], "_addr"))
		f->address = row[4];
}

/* A row: type name, name of what it is derived from, three numbers of 4 bytes, size. */
static void find_size(const struct lang_memory *m, uint64_t root, struct jvm_flags *f)
{
	uint64_t table, row[TYPE_SIZE / 8];

	if (!read_word(m, root, &table))
		return;
	for (unsigned i = 0; i < TYPES_MOST; i++) {
		if (!read_bytes(m, table + i * TYPE_SIZE, row, sizeof(row)) || !row[0])
			return;
		if (is_flag_type(m, row[0])) {
			f->size = row[4];
			return;
		}
	}
}

static bool find_flags(const struct lang_memory *m, uint64_t root, struct jvm_flags *f)
{
	uint64_t table, row[STRUCT_SIZE / 8];

	*f = (struct jvm_flags){.name = FLAG_MOST, .address = FLAG_MOST};
	if (!read_word(m, root, &table))
		return false;
	for (unsigned i = 0; i < STRUCTS_MOST; i++) {
		if (!read_bytes(m, table + i * STRUCT_SIZE, row, sizeof(row)) || !row[0])
			break;
		if (is_flag_type(m, row[0]))
			take_row(m, row, f);
	}
	return f->array && f->count && f->count <= FLAGS_MOST && f->name <= FLAG_MOST - 8 &&
	       f->address <= FLAG_MOST - 8;
}

bool lang_jvm_flag(const struct lang_runtime *r, const struct lang_memory *m, const char *name)
{
	uint64_t flag[FLAG_MOST / 8];
	struct jvm_flags f;
	uint8_t value;

	if (r->kind != LANG_JVM || !find_flags(m, r->root, &f))
		return false;
	find_size(m, r->code_type, &f);
	if (f.size > sizeof(flag) || f.name + 8 > f.size || f.address + 8 > f.size)
		return false;
	for (uint64_t i = 0; i < f.count; i++) {
		if (!read_bytes(m, f.array + i * f.size, flag, f.size))
			return false;
		if (is_text(m, flag[f.name / 8], name))
			return read_bytes(m, flag[f.address / 8], &value, 1) && value;
	}
	return false;
}

bool lang_keeps_frames(pid_t pid, struct str maps, struct lang_images *images)
{
	const struct lang_memory m = lang_memory_of(&pid);
	struct lang_runtime all[4];
	int count = lang_recognise(pid, maps, images, all, COUNT(all));
	bool keeps = true;

	for (int i = 0; i < count; i++) {
		if (all[i].kind == LANG_JVM)
			keeps &= lang_jvm_flag(&all[i], &m, "PreserveFramePointer");
		lang_runtime_free(&all[i]);
	}
	return keeps;
}

/* ---- the row */

/* Symbols that are looked for. */
enum { STRUCTS, TYPES };

static bool look_jvm(struct recognition *l)
{
	if (!l->has[STRUCTS])
		return false;
	l->out->root = l->at[STRUCTS];
	l->out->code_type = l->has[TYPES] ? l->at[TYPES] : 0;
	l->out->problem = "ustack ends at its code, which keeps no frame pointers: start it with "
			  "-XX:+PreserveFramePointer, and for names run nopal lang --perf-map PID";
	return true;
}

const struct runtime_row jvm_row = {
	.name = "jvm",
	.files = {"libjvm"},
	.symbols = {[STRUCTS] = "gHotSpotVMStructs", [TYPES] = "gHotSpotVMTypes"},
	.look = look_jvm,
};
