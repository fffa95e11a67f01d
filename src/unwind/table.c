/* The table of an image: its functions in the order of their addresses, each as rows.
 *
 * Two neighbouring rows with the same rule are one. A gap between functions ends the last row,
 * unless it is so short that it can only be padding: then the row before holds for it, too. */
#include "unwind/inside.h"

#include <errno.h>
#include <elf.h>
#include <stdlib.h>

#include "base/array.h"

#define PADDING	       16	    /* bytes between functions */
#define GAP_LEAST      (256u << 10) /* of code without entries, that may be chained */
#define ENTRY_STEPS    16	    /* of the budget, for an entry; each of its bytes is one more */
#define FUNCTION_STEPS 64	    /* ... for its rows; each byte of instructions is four more */

static const struct unwind_cpu cpus[] = {
	{EM_X86_64, 7, 6, 16},
	{EM_AARCH64, 31, 29, 30},
};

/* A function, and where its instructions are: offsets in a section. */
struct unwind_function {
	uint64_t start, end;
	uint32_t code, len;
	uint32_t cie : 30, section : 2;
};

_Static_assert(FRAMES_MOST <= 1 << 30 && SECTIONS <= 1 << 2, "they fit");

struct table_reading {
	const struct image *image;
	const struct unwind_cpu *cpu;
	struct frame_sections sections;
	struct unwind_function *functions; /* as sections have them, and then by address */
	size_t count, cap;
	struct unwind_rules *rules;
	struct unwind_table *table;
	uint64_t floor;		       /* the functions so far end here */
	uint64_t chained, chained_end; /* code that keeps frame pointers, before the next function;
					  0: none any more */
};

static const struct unwind_cpu *find_cpu(uint16_t machine)
{
	for (size_t i = 0; i < COUNT(cpus); i++)
		if (cpus[i].machine == machine)
			return &cpus[i];
	return NULL;
}

bool unwind_knows_cpu(uint16_t machine)
{
	return find_cpu(machine);
}

/* ---- the functions */

/* Linkers keep the entries of functions that they dropped, at addresses where no code is. */
static bool is_code(const struct image *image, uint64_t address)
{
	for (size_t i = 0; i < image->load_count; i++) {
		const struct segment *s = &image->loads[i];

		if (s->executable && address - s->address < s->memory_size)
			return true;
	}
	return false;
}

static int list_functions(struct table_reading *r, uint32_t section)
{
	const struct frames *f = &r->sections.all[section];
	struct cie cie = {0};
	struct entry e;
	struct fde fde;
	size_t at = 0;

	for (size_t start = at; entry_next(f, &at, &e); start = at) {
		if (!budget_work(r->image->budget,
				 ENTRY_STEPS + (at - start) + r->image->load_count))
			return budget_error(r->image->budget);
		if (e.is_cie || !fde_read(f, &e, &cie, &fde) || fde.start >= fde.end ||
		    !is_code(r->image, fde.start))
			continue;
		if (r->count == r->cap &&
		    !budget_memory(r->image->budget, (r->cap + 1) * sizeof(*r->functions)))
			return -E2BIG;
		if (array_grow(r->functions, r->count, r->cap))
			return -ENOMEM;
		r->functions[r->count++] =
			(struct unwind_function){.start = fde.start,
						 .end = fde.end,
						 .code = (uint32_t)(fde.code.ptr - f->bytes.ptr),
						 .len = (uint32_t)fde.code.len,
						 .cie = (uint32_t)cie.at & (FRAMES_MOST - 1),
						 .section = section & 3};
	}
	return 0;
}

/* Do the entries leave out more than an eighth of the code? Padding is less than that. */
static bool leaves_code_out(const struct table_reading *r)
{
	uint64_t code = 0, known = 0;

	for (size_t i = 0; i < r->image->load_count; i++)
		code += r->image->loads[i].executable ? r->image->loads[i].file_size : 0;
	for (size_t i = 0; i < r->count && known < code; i++) {
		uint64_t len = r->functions[i].end - r->functions[i].start;

		known += len < code ? len : code;
	}
	return known < code - code / 8;
}

/* Those of the separate debug file, if they are wanted: it may be large. When that is too much
 * work, the image's own are still read. */
static int list_separate(struct table_reading *r, const struct unwind_source *source)
{
	struct budget *budget = r->image->budget, before = budget ? *budget : (struct budget){0};
	size_t own = r->count;
	int err;

	if (!source->path.len || !leaves_code_out(r))
		return 0;
	err = sections_find_separate(source, &r->sections);
	if (!err)
		err = list_functions(r, SECTION_SEPARATE);
	if (budget && budget_error(budget) == -E2BIG) {
		*budget = before;
		r->count = own;
	}
	return err == -E2BIG || err == -EBADMSG ? 0 : err;
}

#define DIGIT_BITS 11

/* One pass of a radix sort: by a digit of the distance to `low`. What is equal keeps its order. */
static void sort_by_digit(const struct unwind_function *from, struct unwind_function *to,
			  size_t count, uint64_t low, unsigned shift)
{
	const uint64_t mask = (1 << DIGIT_BITS) - 1;
	size_t at[1 << DIGIT_BITS] = {0}, before = 0;

	for (size_t i = 0; i < count; i++)
		at[(from[i].start - low) >> shift & mask]++;
	for (size_t i = 0; i <= mask; i++) {
		size_t here = at[i];

		at[i] = before;
		before += here;
	}
	for (size_t i = 0; i < count; i++)
		to[at[(from[i].start - low) >> shift & mask]++] = from[i];
}

/* By address; of one address, first what came first. Mostly they come in order. */
static int sort_functions(struct table_reading *r)
{
	uint64_t low = UINT64_MAX, high = 0;
	struct unwind_function *spare, *swap;
	bool sorted = true;

	for (size_t i = 0; i < r->count; i++) {
		sorted &= r->functions[i].start >= high;
		low = r->functions[i].start < low ? r->functions[i].start : low;
		high = r->functions[i].start > high ? r->functions[i].start : high;
	}
	if (sorted)
		return 0;
	if (!budget_memory(r->image->budget, r->count * sizeof(*spare)))
		return -E2BIG;
	spare = malloc(r->count * sizeof(*spare));
	if (!spare)
		return -ENOMEM;
	for (unsigned shift = 0; shift < 64 && (high - low) >> shift; shift += DIGIT_BITS) {
		sort_by_digit(r->functions, spare, r->count, low, shift);
		swap = r->functions;
		r->functions = spare;
		spare = swap;
	}
	free(spare);
	return 0;
}

/* Symbols are read only of files with so large a gap between two functions. */
static void find_chained(struct table_reading *r)
{
	bool has_gap = false;

	for (size_t i = 1; i < r->count && !has_gap; i++)
		has_gap = r->functions[i].start > r->functions[i - 1].end + GAP_LEAST;
	if (!has_gap || !chained_find(r->image, &r->chained, &r->chained_end))
		r->chained = 0;
}

/* ---- the rows */

/* Does the budget pay for an array that grows, if it must? */
static int pay_for(const struct table_reading *r, size_t count, size_t cap, size_t size)
{
	return count < cap || budget_memory(r->image->budget, (cap + 1) * size) ? 0 : -E2BIG;
}

/* The chunks up to the one of `pc` begin after the rows so far. */
static int open_chunks(struct table_reading *r, uint64_t pc)
{
	struct unwind_table *t = r->table;
	int err;

	while (t->chunk_count <= pc >> UNWIND_CHUNK_SHIFT) {
		err = pay_for(r, t->chunk_count, t->chunk_cap, sizeof(*t->before));
		if (err || array_grow(t->before, t->chunk_count, t->chunk_cap))
			return err ? err : -ENOMEM;
		t->before[t->chunk_count++] = t->count ? (uint32_t)t->count - 1 : 0;
	}
	return 0;
}

static int push_row(struct table_reading *r, uint64_t pc, uint16_t rule)
{
	struct unwind_table *t = r->table;
	int err;

	if (pc > UINT32_MAX || t->count == UNWIND_ROWS_MOST)
		return -E2BIG;
	err = open_chunks(r, pc) ?: pay_for(r, t->count, t->cap, sizeof(*t->rows));
	if (err || array_grow(t->rows, t->count, t->cap))
		return err ? err : -ENOMEM;
	t->rows[t->count++] = (struct unwind_row){(uint16_t)(pc & (UNWIND_CHUNK - 1)), rule};
	return 0;
}

static int add_row(struct table_reading *r, uint64_t address, uint16_t rule)
{
	const struct unwind_table *t = r->table;
	int err = 0;

	if (t->count && t->rows[t->count - 1].rule == rule)
		return 0;
	if (!t->count && address != t->base)
		err = push_row(r, 0, UNWIND_RULE_NONE);
	return err ?: push_row(r, address - t->base, rule);
}

/* Is the last row at this address? */
static bool ends_at(const struct unwind_table *t, uint64_t address)
{
	uint64_t pc = address - t->base, chunk = pc >> UNWIND_CHUNK_SHIFT;

	return t->count && t->chunk_count == chunk + 1 &&
	       (!chunk || t->before[chunk] + 1 < t->count) &&
	       t->rows[t->count - 1].pc == (pc & (UNWIND_CHUNK - 1));
}

/* A function that begins in the one before has what that one leaves of it. */
static int take_row(void *arg, uint64_t address, const struct unwind_rule *rule)
{
	struct table_reading *r = arg;
	uint16_t number = unwind_rules_number(r->rules, rule);

	if (address > r->floor)
		return add_row(r, address, number);
	if (ends_at(r->table, r->floor))
		r->table->count--;
	return add_row(r, r->floor, number);
}

static int end_at(struct table_reading *r, uint64_t address)
{
	return r->table->count ? add_row(r, address, UNWIND_RULE_NONE) : 0;
}

/* What comes next is at `start`, or where the functions so far end. */
static int begin_at(struct table_reading *r, uint64_t start)
{
	int err = 0;

	if (start > r->floor && start - r->floor >= PADDING)
		err = end_at(r, r->floor);
	r->floor = start > r->floor ? start : r->floor;
	return err;
}

static int add_chained(struct table_reading *r)
{
	int err = begin_at(r, r->chained) ?: add_row(r, r->floor, UNWIND_RULE_CHAIN);

	r->floor = r->chained_end > r->floor ? r->chained_end : r->floor;
	r->chained = 0;
	return err;
}

static int add_function(struct table_reading *r, const struct unwind_function *p, struct cie *cie)
{
	const struct frames *f = &r->sections.all[p->section];
	struct fde fde = {p->start, p->end, cie, str_of(f->bytes.ptr + p->code, p->len)};
	int err = 0;

	if (p->end <= r->floor || !cie_find(f, p->cie, cie))
		return 0;
	if (!budget_work(r->image->budget, FUNCTION_STEPS + 4 * (uint64_t)p->len))
		return budget_error(r->image->budget);
	err = begin_at(r, p->start) ?: cfi_run(r->cpu, f, &fde, take_row, r);
	r->floor = p->end;
	return err;
}

static int add_functions(struct table_reading *r)
{
	struct cie cies[SECTIONS] = {{0}};
	int err = 0;

	if (!r->count)
		return 0;
	r->table->base = r->floor = r->functions[0].start;
	find_chained(r);
	for (size_t i = 0; i < r->count && !err; i++) {
		if (r->chained && r->chained <= r->functions[i].start)
			err = add_chained(r);
		err = err ?: add_function(r, &r->functions[i], &cies[r->functions[i].section]);
	}
	return err ? err : end_at(r, r->floor);
}

int unwind_table_read(const struct unwind_source *source, struct unwind_rules *rules,
		      struct unwind_table *out)
{
	struct unwind_table table = {0};
	struct table_reading r = {.image = source->image, .rules = rules, .table = &table};
	int err = 0;

	r.cpu = find_cpu(r.image->machine);
	if (!r.cpu)
		return -ENOTSUP;
	err = sections_find(r.image, &r.sections);
	for (uint32_t i = 0; i < SECTION_SEPARATE && !err; i++)
		err = list_functions(&r, i);
	err = err ?: list_separate(&r, source) ?: sort_functions(&r) ?: add_functions(&r);
	free(r.functions);
	sections_free(&r.sections);
	if (err)
		unwind_table_free(&table);
	else
		*out = table;
	return err;
}

void unwind_table_free(struct unwind_table *t)
{
	free(t->rows);
	free(t->before);
	*t = (struct unwind_table){0};
}

static bool begins_by(const void *row, const void *pc)
{
	return ((const struct unwind_row *)row)->pc <= *(const uint32_t *)pc;
}

const struct unwind_row *unwind_row_at(const struct unwind_table *t, uint64_t address)
{
	uint64_t distance = address - t->base, chunk = distance >> UNWIND_CHUNK_SHIFT;
	uint32_t pc = distance & (UNWIND_CHUNK - 1);
	size_t from, to;

	if (!t->count || address < t->base || chunk >= t->chunk_count)
		return NULL;
	from = t->before[chunk];
	to = chunk + 1 < t->chunk_count ? t->before[chunk + 1] : t->count - 1;
	/* The first holds, wherever in its own chunk it is. */
	return t->rows + from +
	       lower_bound(t->rows + from + 1, to - from, sizeof(*t->rows), begins_by, &pc);
}

uint16_t unwind_rule_at(const struct unwind_table *t, uint64_t address)
{
	const struct unwind_row *row = unwind_row_at(t, address);

	return row ? row->rule : UNWIND_RULE_NONE;
}
