/* printf's %gr: the kernel's names of allocation flags. They are in what the kernel says of its own
 * event kmem:kmalloc, from where they are read when the first number is shown:
 *
 *	... "|", {( unsigned long)((( gfp_t)((((1UL))) << (8)))), "NAME"}, ...
 *
 * Comes in: text of the kernel, or of a test's directory, so it may be anything. */
#include <errno.h>

#include "find/tracefs.h"
#include "report/inside.h"

#define DEPTH_MOST 64 /* of parentheses */

struct gfp_flag {
	struct str name;
	uint64_t bits;
};

/* The rest of an expression. */
struct expression {
	struct str rest;
	unsigned depth;
};

static bool take_sign(struct expression *e, const char *sign)
{
	struct str s = str_trim(e->rest), wanted = str_from(sign);

	if (!str_starts(s, wanted))
		return false;
	e->rest = str_of(s.ptr + wanted.len, s.len - wanted.len);
	return true;
}

static bool take_or(struct expression *e, uint64_t *out);

/* number = digits { "U" | "L" } */
static bool take_number(struct expression *e, uint64_t *out)
{
	struct str s = str_trim(e->rest);
	size_t end = 0, digits;

	while (end < s.len && char_is_word(s.ptr[end]))
		end++;
	for (digits = end; digits && strchr("uUlL", s.ptr[digits - 1]);)
		digits--;
	e->rest = str_of(s.ptr + end, s.len - end);
	return digits && !str_to_u64(str_of(s.ptr, digits), out);
}

/* A cast that changes nothing: "( gfp_t)", "( unsigned long)", after its "(". */
static bool take_type(struct expression *e)
{
	struct str s = str_trim(e->rest);
	size_t end = 0;

	while (end < s.len && (char_is_word(s.ptr[end]) || s.ptr[end] == ' '))
		end++;
	if (!end || char_is_digit(*s.ptr) || end == s.len || s.ptr[end] != ')')
		return false;
	e->rest = str_of(s.ptr + end + 1, s.len - end - 1);
	return true;
}

/* unary = "~" unary | "(" type ")" unary | "(" or ")" | number */
static bool take_unary(struct expression *e, uint64_t *out)
{
	bool is = e->depth++ < DEPTH_MOST;

	if (is && take_sign(e, "~")) {
		is = take_unary(e, out);
		*out = ~*out;
	} else if (is && take_sign(e, "(")) {
		is = take_type(e) ? take_unary(e, out) : take_or(e, out) && take_sign(e, ")");
	} else if (is) {
		is = take_number(e, out);
	}
	e->depth--;
	return is;
}

/* shift = unary { "<<" unary } */
static bool take_shift(struct expression *e, uint64_t *out)
{
	uint64_t by;

	if (!take_unary(e, out))
		return false;
	while (take_sign(e, "<<")) {
		if (!take_unary(e, &by) || by > 63)
			return false;
		*out <<= by;
	}
	return true;
}

/* and = shift { "&" shift } */
static bool take_and(struct expression *e, uint64_t *out)
{
	uint64_t other;

	if (!take_shift(e, out))
		return false;
	while (take_sign(e, "&")) {
		if (!take_shift(e, &other))
			return false;
		*out &= other;
	}
	return true;
}

/* or = and { "|" and } */
static bool take_or(struct expression *e, uint64_t *out)
{
	uint64_t other;

	if (!take_and(e, out))
		return false;
	while (take_sign(e, "|")) {
		if (!take_and(e, &other))
			return false;
		*out |= other;
	}
	return true;
}

/* flag = "{" or "," '"' name '"' "}" */
static bool take_flag(struct expression *e, struct gfp_flag *out)
{
	const char *end;

	if (!take_sign(e, "{") || !take_or(e, &out->bits) || !take_sign(e, ",") ||
	    !take_sign(e, "\""))
		return false;
	end = memchr(e->rest.ptr, '"', e->rest.len);
	if (!end)
		return false;
	out->name = str_of(e->rest.ptr, (size_t)(end - e->rest.ptr));
	e->rest = str_of(end + 1, e->rest.len - out->name.len - 1);
	return take_sign(e, "}");
}

static void read_flags(struct gfp *g)
{
	struct diag d = DIAG_INIT; /* without the table numbers are shown */
	struct trace_event event;
	struct expression e = {.depth = 0};
	struct gfp_flag flag;
	const char *first;

	g->is_read = true;
	if (trace_event_read(&g->arena, STR("kmem"), STR("kmalloc"), &event, &d))
		event.print = STR("");
	diag_free(&d);
	first = memmem(event.print.ptr, event.print.len, ", {", 3);
	if (!first)
		return;
	e.rest = str_of(first, (size_t)(event.print.ptr + event.print.len - first));
	while (take_sign(&e, ",") && take_flag(&e, &flag)) {
		if (arena_grow(&g->arena, (void **)&g->flags, g->count, &g->cap, sizeof(flag)))
			return;
		g->flags[g->count++] = flag;
	}
}

void gfp_print(struct gfp *g, uint64_t number, struct buf *out)
{
	const char *sign = "";

	if (!g->is_read)
		read_flags(g);
	if (!number)
		buf_char(out, '0');
	for (size_t i = 0; i < g->count && number; i++) {
		uint64_t bits = g->flags[i].bits;

		if (!bits || (number & bits) != bits)
			continue;
		buf_text(out, sign);
		buf_escaped(out, g->flags[i].name);
		number &= ~bits;
		sign = "|";
	}
	if (number)
		buf_printf(out, "%s0x%llx", sign, (unsigned long long)number);
}

void gfp_free(struct gfp *g)
{
	arena_free(&g->arena);
}
