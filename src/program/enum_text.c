#include "program/enum_text.h"

#include <string.h>

#include "base/array.h"

#define REAL_TIME 34 /* the first signal without a name of its own */

static uint64_t any_number(uint64_t bits)
{
	return bits;
}

/* An error's number, also negative, as the kernel returns it. */
static uint64_t positive_error(uint64_t bits)
{
	int64_t number = (int32_t)bits;

	return (uint64_t)(number < 0 ? -number : number);
}

static void error_text(uint64_t number, struct buf *out)
{
	buf_text(out, errno_text((int)number));
}

static void signal_text(uint64_t number, struct buf *out)
{
	const char *text = number < REAL_TIME ? sigdescr_np((int)number) : NULL;

	if (text)
		buf_text(out, text);
	else if (number >= REAL_TIME && number <= 64)
		buf_printf(out, "Real-time signal %d", (int)number - REAL_TIME);
	else if (!number)
		buf_text(out, "Unknown signal 0");
	else
		buf_text(out, "N/A");
}

static void syscall_text(uint64_t number, struct buf *out)
{
	buf_text(out, syscall_name(number));
}

/* clang-format off */
static const struct enum_text {
	const char *type;
	unsigned count;
	uint64_t (*number)(uint64_t bits);
	void (*text)(uint64_t number, struct buf *out);
} rows[] = {
	{ "errno",   134, positive_error,   error_text   },
	{ "signal",  65,  any_number, signal_text  },
	{ "syscall", 520, any_number, syscall_text },
};
/* clang-format on */

static const struct enum_text *find_spelling(const struct type *t)
{
	for (size_t i = 0; i < COUNT(rows) && t->kind == TYPE_DISPLAY; i++)
		if (!strcmp(t->display, rows[i].type))
			return &rows[i];
	return NULL;
}

unsigned enum_text_count(const struct type *t)
{
	const struct enum_text *s = find_spelling(t);

	return s ? s->count : 0;
}

uint64_t enum_text_number(const struct type *t, uint64_t bits)
{
	return find_spelling(t)->number(bits);
}

void enum_text_at(const struct type *t, uint64_t number, struct buf *out)
{
	find_spelling(t)->text(number, out);
}
