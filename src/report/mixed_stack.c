/* ustack(mixed). A native stack has a frame for each call of the function that evaluates code; a
 * script's stack says by which frames that was entered. If there are as many of one as of the
 * other, the script's frames take the place of the function's. If not, it is not known where they
 * belong: one of the stacks is cut, or the language does not say it. Then one comes after
 * the other, with a note between them.
 *
 * In Perl more than one call may evaluate one sub: where an exception may be caught, and for the
 * block of a sort, a call is made that goes on with the sub. The sub is shown at the innermost,
 * which runs it now; the others stay as they are. */
#include "report/mixed_stack.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/json.h"
#include "report/script_stack.h"

/* Functions without a name from which Perl's evaluator calls itself to catch exceptions. */
#define UNNAMED_MOST 2

static const char apart[] = "where the functions of the script belong among these is not known: ";

/* The frames of one stack. */
struct mixed_parts {
	struct mixed_part {
		size_t at, len; /* in the texts */
		bool is_mark, is_note;
		enum stack_role role;
		unsigned parts;
	} * all;
	size_t count, cap;
	struct buf texts;
	size_t marks, frames; /* marks: calls of the function that evaluates code */
	bool is_whole;	      /* the last frame is marked, and there is no note */
};

static void take_part(void *arg, const struct stack_part *part)
{
	struct mixed_parts *p = arg;

	if (array_grow(p->all, p->count, p->cap)) {
		p->texts.failed = true;
		return;
	}
	p->all[p->count++] = (struct mixed_part){p->texts.len,	part->text.len, part->is_mark,
						 part->is_note, part->role,	part->parts};
	buf_str(&p->texts, part->text);
	p->marks += part->is_mark + part->parts;
	p->frames += !part->is_note;
	p->is_whole = part->is_mark;
}

static void parts_free(struct mixed_parts *p)
{
	free(p->all);
	buf_free(&p->texts);
}

/* Both, in the order in which they are shown. */
struct mixed {
	struct mixed_parts native, script, both;
};

static void move_part(struct mixed *m, const struct mixed_parts *from, size_t i)
{
	const struct mixed_part *p = &from->all[i];

	take_part(&m->both, &(struct stack_part){.text = str_of(from->texts.ptr + p->at, p->len),
						 .is_note = p->is_note});
}

/* Mark the calls that evaluate what no call before them does. True: it is known that none of them
 * evaluates the program of Perl itself: it is read, or has ended, or this is another thread. */
static bool mark_native(struct mixed_parts *p)
{
	unsigned left = 0; /* functions that may still lead to the last ROLE_RUNOPS */
	bool is_perl = false, runs_main = false;

	for (size_t i = 0; i < p->count; i++) {
		struct mixed_part *part = &p->all[i];
		const bool is_again = part->role == ROLE_RUNOPS && left;

		switch (part->role) {
		case ROLE_RUNOPS:
		case ROLE_EVALUATOR: part->is_mark = !is_again; break;
		case ROLE_MAIN: runs_main |= left > 0; break;
		default: break;
		}
		is_perl |= part->role == ROLE_RUNOPS || part->role == ROLE_MAIN;
		p->marks += part->is_mark;
		if (part->role == ROLE_RUNOPS)
			left = 1 + UNNAMED_MOST;
		else if (left && (part->role == ROLE_UNNAMED || part->role == ROLE_CATCHER))
			left--;
		else
			left = 0;
	}
	return is_perl && !runs_main && p->frames == p->count;
}

/* The frames of the script up to the next mark; the calls that follow evaluate parts of them. */
static unsigned move_script(struct mixed *m, size_t *next)
{
	unsigned parts = 0;

	do {
		parts += m->script.all[*next].parts;
		move_part(m, &m->script, *next);
	} while (!m->script.all[(*next)++].is_mark);
	return parts;
}

/* `main_apart`: the script's last frame is evaluated by no call; it comes before the function that
 * runs programs, or last. */
static void join_stacks(struct mixed *m, bool main_apart)
{
	const size_t marked = m->script.count - main_apart;
	unsigned parts = 0;
	size_t next = 0;

	for (size_t i = 0; i < m->native.count; i++) {
		const struct mixed_part *p = &m->native.all[i];

		if (p->role == ROLE_MAIN && next == marked && next < m->script.count)
			move_script(m, &next);
		if (!p->is_mark || parts)
			move_part(m, &m->native, i);
		else
			parts = move_script(m, &next) + 1;
		parts -= p->is_mark;
	}
	if (next < m->script.count)
		move_script(m, &next);
}

/* Why, as well as it is known. */
static void add_reason(const struct mixed *m, struct buf *out)
{
	if (m->native.frames != m->native.count)
		buf_text(out, "the stack of the program is cut");
	else if (!m->script.is_whole)
		buf_text(out, "the stack of the script is cut");
	else
		buf_printf(out, "calls of the interpreter here %zu, in the script %zu",
			   m->native.marks, m->script.marks);
}

static void put_apart(struct mixed *m, enum stack_form form)
{
	struct buf note = BUF_INIT;

	buf_text(&note, form == STACK_OBJECT ? "" : "[");
	buf_text(&note, apart);
	add_reason(m, &note);
	buf_text(&note, form == STACK_OBJECT ? "" : "]");
	for (size_t i = 0; i < m->native.count; i++)
		move_part(m, &m->native, i);
	if (m->script.frames)
		take_part(&m->both,
			  &(struct stack_part){.text = buf_as_str(&note), .is_note = true});
	for (size_t i = 0; i < m->script.count; i++)
		move_part(m, &m->script, i);
	m->both.texts.failed |= note.failed;
	buf_free(&note);
}

static void mix_stacks(const struct renderer *r, const struct value *v, enum stack_form form,
		       struct mixed *m)
{
	struct elements e;
	struct value part;
	bool main_apart;

	elements_open(v, &e);
	if (elements_next(&e, &part))
		stack_each(r, &part, form, take_part, &m->native);
	if (elements_next(&e, &part))
		script_stack_each(r, &part, form, take_part, &m->script);
	main_apart = mark_native(&m->native);
	if (m->script.is_whole && m->script.marks == m->native.marks + main_apart)
		join_stacks(m, main_apart);
	else
		put_apart(m, form);
	m->both.texts.failed |= m->native.texts.failed || m->script.texts.failed;
}

static void mixed_free(struct mixed *m)
{
	parts_free(&m->native);
	parts_free(&m->script);
	parts_free(&m->both);
}

static struct str text_of(const struct mixed_parts *p, size_t i)
{
	return str_of(p->texts.ptr + p->all[i].at, p->all[i].len);
}

/* Outermost first. A name may have the sign that is between frames. */
static void add_folded(const struct mixed_parts *p, struct buf *out)
{
	for (size_t i = p->count; i--;) {
		struct str text = text_of(p, i);

		for (size_t k = 0; k < text.len; k++)
			buf_char(out, text.ptr[k] == ';' ? ':' : text.ptr[k]);
		buf_text(out, i ? ";" : "");
	}
}

void mixed_stack_text(const struct renderer *r, const struct value *v, unsigned indent,
		      struct buf *out)
{
	struct mixed m = {0};

	mix_stacks(r, v, r->is_folded ? STACK_FOLDED : STACK_LINE, &m);
	if (r->is_folded)
		add_folded(&m.both, out);
	else
		buf_char(out, '\n');
	for (size_t i = 0; !r->is_folded && i < m.both.count; i++) {
		buf_fill(out, ' ', indent);
		buf_str(out, text_of(&m.both, i));
		buf_char(out, '\n');
	}
	out->failed |= m.both.texts.failed;
	mixed_free(&m);
}

void mixed_stack_json(const struct renderer *r, const struct value *v, struct buf *out)
{
	struct json j = {out, false};
	struct mixed m = {0};

	mix_stacks(r, v, STACK_OBJECT, &m);
	json_open(&j, '[');
	for (size_t i = 0; i < m.both.count; i++) {
		if (m.both.all[i].is_note) {
			json_open(&j, '{');
			json_pair(&j, "cut", text_of(&m.both, i));
			json_close(&j, '}');
			continue;
		}
		buf_text(out, i ? "," : "");
		buf_str(out, text_of(&m.both, i));
		j.comma = true;
	}
	json_close(&j, ']');
	out->failed |= m.both.texts.failed;
	mixed_free(&m);
}
