/* Frames of scripts. A frame is two words; one without an object is a note. */
#include "report/script_stack.h"

#include "base/array.h"
#include "base/json.h"
#include "lang/lang.h"

struct script_walk {
	const struct renderer *r;
	const struct value *stack;
	size_t at; /* of the next word */
	struct lang_name name;
	const char *note; /* in place of a frame; NULL: it is one */
	enum lang_note why;
	struct buf problem;
	bool shows_hidden;
	bool is_entry;	/* the interpreter was entered here */
	unsigned parts; /* and that often for parts of this function */
};

/* There may be a runtime whose version is not known. */
static void find_problem(struct script_walk *w)
{
	buf_clear(&w->problem);
	if (w->r->langs && w->stack->extra && w->stack->extra <= INT32_MAX &&
	    lang_names_problem(w->r->langs, (pid_t)w->stack->extra, &w->problem) &&
	    !w->problem.failed)
		w->note = w->problem.ptr;
}

/* The next frame that is shown. A stack without any is one of which nothing is known. */
static bool walk_next(struct script_walk *w)
{
	struct lang_frame frame;

	if (!w->stack->bytes.len && !w->at++) {
		w->why = LANG_NO_RUNTIME;
		w->note = lang_note_text(w->why);
		find_problem(w);
		return true;
	}
	w->parts = 0;
	while (8 * (w->at + 2) <= w->stack->bytes.len) {
		frame = (struct lang_frame){value_word(w->stack, w->at),
					    value_word(w->stack, w->at + 1)};
		w->at += 2;
		w->note = NULL;
		if (!LANG_ADDRESS(frame.object)) {
			w->why = frame.position < LANG_NOTES ? (enum lang_note)frame.position
							     : LANG_UNREADABLE;
			w->note = lang_note_text(w->why);
			w->parts += w->why == LANG_PART;
			if (w->why == LANG_NO_RUNTIME)
				find_problem(w);
			if (w->note)
				return true;
			continue;
		}
		buf_clear(&w->name.function);
		buf_clear(&w->name.file);
		w->name.line = 0;
		w->name.is_hidden = false;
		if (w->r->langs && w->stack->extra <= INT32_MAX)
			lang_names_find(w->r->langs, (pid_t)w->stack->extra, frame, &w->name);
		/* PHP calls its own functions from C without evaluating anything. */
		w->is_entry = frame.object & LANG_ENTRY && (w->name.file.len || w->name.is_hidden);
		if (!w->name.is_hidden || w->shows_hidden)
			return true;
	}
	return false;
}

static void add_object(const struct script_walk *w, struct json *j)
{
	json_open(j, '{');
	if (w->note)
		json_pair(j, "cut", str_from(w->note));
	else
		json_pair(j, "function",
			  w->name.function.len ? buf_as_str(&w->name.function)
					       : STR("(unreadable)"));
	if (!w->note && w->name.file.len)
		json_pair(j, "file", buf_as_str(&w->name.file));
	if (!w->note && w->name.line) {
		json_key(j, "line");
		json_u64(j, w->name.line);
	}
	json_close(j, '}');
}

static void add_frame(struct script_walk *w, struct buf *out)
{
	struct buf text = BUF_INIT;

	if (w->note)
		buf_printf(&text, "[%s]", w->note);
	else
		lang_print_name(&w->name, true, &text);
	render_bytes(w->r, buf_as_str(&text), out);
	out->failed |= text.failed;
	buf_free(&text);
}

/* Outermost first. A name may contain the sign between frames. */
static void add_folded(struct script_walk *w, struct buf *out)
{
	struct buf frames[LANG_FRAMES_MOST + 1] = {BUF_INIT};
	size_t count = 0;

	while (count < COUNT(frames) && walk_next(w))
		add_frame(w, &frames[count++]);
	for (size_t i = count; i--;) {
		for (size_t k = 0; k < frames[i].len; k++) {
			char c = frames[i].ptr[k];

			buf_char(out, c == ';' ? ':' : c == '\n' ? ' ' : c);
		}
		buf_text(out, i ? ";" : "");
		out->failed |= frames[i].failed;
		buf_free(&frames[i]);
	}
}

void script_stack_text(const struct renderer *r, const struct value *v, unsigned indent,
		       struct buf *out)
{
	struct script_walk w = {.r = r, .stack = v};

	if (r->is_folded) {
		add_folded(&w, out);
	} else {
		buf_char(out, '\n');
		while (walk_next(&w)) {
			buf_fill(out, ' ', indent);
			add_frame(&w, out);
			buf_char(out, '\n');
		}
	}
	lang_name_free(&w.name);
	buf_free(&w.problem);
}

void script_stack_json(const struct renderer *r, const struct value *v, struct buf *out)
{
	struct script_walk w = {.r = r, .stack = v};
	struct json j = {out, false};

	json_open(&j, '[');
	while (walk_next(&w))
		add_object(&w, &j);
	json_close(&j, ']');
	lang_name_free(&w.name);
	buf_free(&w.problem);
}

void script_stack_each(const struct renderer *r, const struct value *v, enum stack_form form,
		       stack_part_fn *fn, void *arg)
{
	struct script_walk w = {.r = r, .stack = v, .shows_hidden = true};
	struct stack_part part = {0};
	struct buf text = BUF_INIT;
	struct json j = {&text, false};
	bool has_part = false;

	/* One frame late: a hidden one may be where that before it was entered. */
	while (walk_next(&w)) {
		if (w.note && (w.why == LANG_NO_RUNTIME || w.why == LANG_NO_THREAD))
			continue;
		if (!w.note && w.name.is_hidden) {
			part.is_mark |= w.is_entry;
			continue;
		}
		if (has_part)
			fn(arg, &part);
		buf_clear(&text);
		j.comma = false;
		if (form != STACK_OBJECT)
			add_frame(&w, &text);
		else if (w.note)
			buf_text(&text, w.note);
		else
			add_object(&w, &j);
		part = (struct stack_part){.text = buf_as_str(&text),
					   .is_mark = w.is_entry && !w.note,
					   .is_note = w.note,
					   .parts = w.parts};
		has_part = true;
	}
	if (has_part)
		fn(arg, &part);
	buf_free(&text);
	lang_name_free(&w.name);
	buf_free(&w.problem);
}
