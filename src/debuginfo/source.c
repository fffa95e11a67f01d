/* Where an instruction is in the source: its line, and the functions whose bodies the compiler put
 * around it. */
#include <errno.h>

#include "debuginfo/inside.h"

/* clang-format off */
#define UNIT_WORK    500       /* steps to look at the head of a unit */
#define ROW_WORK     25        /* to decode a byte of a line table */
#define LINES_MOST   (4u << 20) /* bytes of line tables that are decoded: each can become a row of 60 */
#define DECODED_MOST 64        /* units; libdw keeps their lines */
/* clang-format on */

static void set_file(struct debuginfo *di, Dwarf_Die *top, const char *path,
		     struct debug_frame *out)
{
	Dwarf_Attribute a;
	const char *folder =
		entry_attribute(di, top, DW_AT_comp_dir, &a) ? dwarf_formstring(&a) : NULL;

	out->file = str_from(path ? path : "");
	out->folder = str_from(folder ? folder : "");
}

/* Bytes of the line table of a unit: up to the next one. */
static uint64_t lines_size(const struct debuginfo *di, uint32_t unit)
{
	uint64_t at = di->units[unit].lines, next = di->lines.len;

	if (at >= next)
		return 0;
	for (size_t i = 0; i < di->unit_count; i++) {
		uint64_t other = di->units[i].lines;

		if (other > at && other < next)
			next = other;
	}
	return next - at;
}

static void set_line(struct debuginfo *di, Dwarf_Die *top, uint64_t address,
		     struct debug_frame *out)
{
	Dwarf_Line *line = dwarf_getsrc_die(top, address);
	int number = 0;

	if (!line || dwarf_lineno(line, &number) || number < 0)
		return;
	out->line = (unsigned)number;
	set_file(di, top, dwarf_linesrc(line, NULL, NULL), out);
}

/* Where the copy's function is called: the place in the function around it. libdw decodes lines and
 * files together. */
static void set_call(struct debuginfo *di, Dwarf_Die *top, uint64_t entry, bool has_files,
		     struct debug_frame *out)
{
	uint64_t file, line;
	Dwarf_Files *files;
	size_t count;
	Dwarf_Die die;

	if (!dwarf_offdie(di->dwarf, entry, &die))
		return;
	if (entry_number(di, &die, DW_AT_call_line, &line))
		out->line = (unsigned)line;
	if (has_files && entry_number(di, &die, DW_AT_call_file, &file) &&
	    !dwarf_getsrcfiles(top, &files, &count) && file < count)
		set_file(di, top, dwarf_filesrc(files, file, NULL, NULL), out);
}

/* All that is known of an address in a unit: number of frames. */
static unsigned describe_address(struct debuginfo *di, uint32_t unit, Dwarf_Die *top,
				 uint64_t address, struct debug_frame frames[DEBUG_FRAMES_MOST])
{
	const struct unit_scopes *u = unit_scopes_get(di, unit, top);
	const struct scope *s = u ? scope_at(u, address) : NULL;
	bool has_lines = di->units[unit].decoded_in == di->round;
	unsigned count = 1;

	frames[0] = (struct debug_frame){.line = 0};
	if (has_lines)
		set_line(di, top, address, &frames[0]);
	for (; s; s = scope_around(u, s)) {
		frames[count - 1].function = function_name(di, u, s->entry);
		if (!s->is_inlined)
			break;
		/* Of too many the outermost is what the innermost of the rest is in. */
		if (count == DEBUG_FRAMES_MOST)
			count--;
		frames[count] = (struct debug_frame){.line = 0};
		set_call(di, top, s->entry, has_lines, &frames[count++]);
	}
	return count;
}

/* Let the lines of a unit be decoded, unless they are too many. What libdw has decoded is
 * forgotten from time to time: what it keeps of units is not counted. */
static int prepare_lines(struct debuginfo *di, uint32_t unit)
{
	uint64_t size;

	if (di->units[unit].decoded_in == di->round)
		return 0;
	size = lines_size(di, unit);
	if (size > LINES_MOST ||
	    !budget_work(di->frames_budget, size * ROW_WORK + di->unit_count)) {
		di->are_frames_cut = true;
		return 0;
	}
	di->decoded_bytes += size;
	if (++di->decoded > DECODED_MOST || di->decoded_bytes > LINES_MOST) {
		di->decoded = 1;
		di->decoded_bytes = size;
		di->round++;
		di->units[unit].decoded_in = di->round;
		debuginfo_release(di); /* not each time: addresses of a stack are close together */
		return debuginfo_forget(di);
	}
	di->units[unit].decoded_in = di->round;
	return 0;
}

static int describe_units(struct debuginfo *di)
{
	if (!di->are_described && !budget_work(di->frames_budget, di->unit_count * UNIT_WORK)) {
		di->are_frames_cut = true;
		return -E2BIG;
	}
	return units_describe(di);
}

int debuginfo_frames(struct debuginfo *di, uint64_t address,
		     struct debug_frame frames[DEBUG_FRAMES_MOST], unsigned *count)
{
	uint32_t units[UNITS_OVERLAP_MOST];
	int err = describe_units(di);
	unsigned found = err ? 0 : units_at(di, address, units);
	Dwarf_Die top;

	*count = 0;
	arena_free(&di->frame_names);
	for (unsigned i = 0; i < found && !err && !*count; i++) {
		err = prepare_lines(di, units[i]);
		if (err || !unit_top(di, units[i], &top))
			continue;
		*count = describe_address(di, units[i], &top, address, frames);
		if (*count == 1 && !frames[0].line && !frames[0].function.len)
			*count = 0;
	}
	return err || *count ? err : -ENOENT;
}

void debuginfo_set_budget(struct debuginfo *di, struct budget *b)
{
	di->frames_budget = b;
}

bool debuginfo_frames_are_cut(const struct debuginfo *di)
{
	return di->are_frames_cut;
}
