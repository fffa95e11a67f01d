/* Any names, types and numbers of run-time probes as an image: what is written is read back. The
 * input is a row of probes: a byte for the number of values, their types, then the name to a NUL;
 * its first byte chooses the CPU. */
#include <stdlib.h>

#include "help/image_check.h"
#include "base/cursor.h"

#define MAX_PROBES 200

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

struct fuzzed {
	struct image_probe image;
	const struct value_type *types[NOPAL_MAX_VALUES + 1];
	struct str names[NOPAL_MAX_VALUES];
};

static bool take_types(struct cursor *c, struct fuzzed *f)
{
	uint8_t values, type;
	unsigned count = 0;

	if (!cursor_u8(c, &values))
		return false;
	while (count < values % (NOPAL_MAX_VALUES + 1) && cursor_u8(c, &type)) {
		const struct value_type *types[2];
		unsigned n =
			runtime_value_types((enum nopal_type)(type % (NOPAL_DOUBLE + 1)), types);

		for (unsigned i = 0; i < n && count < NOPAL_MAX_VALUES; i++) {
			f->types[count] = types[i];
			f->names[count++] = type & 128 ? STR("name") : STR("");
		}
	}
	f->image.value_count = count;
	return true;
}

/* Readers take no probe without a name. */
static bool take_probe(struct cursor *c, struct fuzzed *f)
{
	if (!take_types(c, f) || !cursor_text(c, &f->image.name) || !f->image.name.len)
		return false;
	f->image.types = f->types;
	f->image.names = f->names;
	f->image.description = f->image.name.len % 2 ? f->image.name : STR("");
	return true;
}

static bool has_twins(const struct fuzzed *all, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			if (str_eq(all[i].image.name, all[j].image.name))
				return true;
	return false;
}

/* Names that symbol tables use for something else: linkers write a version behind '@', and $x and
 * $d mark code and data. */
static bool is_no_symbol(struct str name)
{
	return str_index(name, '@') >= 0 || *name.ptr == '$';
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static struct fuzzed all[MAX_PROBES];
	const struct image_probe *probes[MAX_PROBES];
	struct cursor c = cursor_of(bytes, len, false);
	size_t count = 0;
	uint8_t cpu;

	if (!cursor_u8(&c, &cpu))
		return 0;
	while (count < MAX_PROBES && take_probe(&c, &all[count])) {
		if (is_no_symbol(all[count].image.name))
			return 0;
		probes[count] = &all[count].image;
		count++;
	}
	if (check_image(&stub_cpus[cpu % stub_cpu_count], STR("app"), probes, count,
			!has_twins(all, count)))
		abort();
	return 0;
}
