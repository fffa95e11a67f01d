/* Frames of a stack: their names, and where the stack is wrong. */
#include "report/stack.h"

#include "base/array.h"
#include "base/json.h"
#include "symbols/symbols.h"

/* Going through the frames of one stack. */
struct walk {
	const struct renderer *r;
	const struct value *stack;
	size_t at; /* of the next address in the bytes */
	uint64_t address;
	struct symbols_frame frame;
	struct buf last; /* file of the frame before, without its folder */
};

static void walk_free(struct walk *w)
{
	buf_free(&w->frame.function);
	buf_free(&w->last);
}

static void look_up(struct walk *w)
{
	const struct renderer *r = w->r;
	uint64_t pid = w->stack->extra;

	if (!r->symbols || (w->stack->type->kind == TYPE_USTACK && pid > INT32_MAX)) {
		buf_clear(&w->frame.function);
		w->frame.module = STR("");
		w->frame.is_code = true;
	} else if (w->stack->type->kind == TYPE_KSTACK) {
		symbols_frame_kernel(r->symbols, w->address, &w->frame);
	} else {
		symbols_frame_user(r->symbols, (pid_t)pid, w->address, &w->frame);
	}
}

/* The next frame. False: the stack is over, or this frame is none: then is_code is false. */
static bool walk_next(struct walk *w)
{
	if (w->at + 8 > w->stack->bytes.len)
		return false;
	if (w->at) {
		buf_clear(&w->last);
		buf_str(&w->last, str_after_last(w->frame.module, '/'));
	}
	memcpy(&w->address, w->stack->bytes.ptr + w->at, sizeof(w->address));
	w->at += 8;
	look_up(w);
	return w->frame.is_code;
}

/* "main+18", "python3.11+0x26fc1", "0x7f01" */
static void add_frame(struct walk *w, bool with_offset, struct buf *out)
{
	const struct symbols_frame *f = &w->frame;

	if (f->function.len) {
		render_bytes(w->r, buf_as_str(&f->function), out);
		if (with_offset)
			buf_printf(out, "+%llu", (unsigned long long)f->offset);
	} else if (f->module.len) {
		render_bytes(w->r, str_after_last(f->module, '/'), out);
		buf_printf(out, "+0x%llx", (unsigned long long)f->offset);
	} else {
		symbols_number(w->address, out);
	}
}

static void add_cut(struct walk *w, struct buf *out)
{
	render_bytes(w->r, w->last.len ? buf_as_str(&w->last) : STR("the code"), out);
	buf_text(out, " keeps no frame pointers");
}

/* A file name may hold the sign between frames. */
static void add_folded(struct walk *w, struct buf *out)
{
	struct buf frames[128] = {BUF_INIT};
	size_t count = 0;

	while (count < COUNT(frames) && walk_next(w))
		add_frame(w, false, &frames[count++]);
	if (!w->frame.is_code && count < COUNT(frames)) {
		buf_text(&frames[count], "[cut: ");
		add_cut(w, &frames[count]);
		buf_char(&frames[count++], ']');
	}
	for (size_t i = count; i--;) {
		for (size_t k = 0; k < frames[i].len; k++)
			buf_char(out, frames[i].ptr[k] == ';' ? ':' : frames[i].ptr[k]);
		buf_text(out, i ? ";" : "");
		out->failed |= frames[i].failed;
		buf_free(&frames[i]);
	}
}

void stack_text(const struct renderer *r, const struct value *v, unsigned indent, struct buf *out)
{
	struct walk w = {.r = r, .stack = v, .frame.is_code = true};

	if (r->is_folded) {
		add_folded(&w, out);
		walk_free(&w);
		return;
	}
	buf_char(out, '\n');
	while (walk_next(&w)) {
		buf_fill(out, ' ', indent);
		add_frame(&w, true, out);
		buf_char(out, '\n');
	}
	if (!w.frame.is_code) {
		buf_fill(out, ' ', indent);
		buf_text(out, "[cut: ");
		add_cut(&w, out);
		buf_text(out, "]\n");
	}
	walk_free(&w);
}

void stack_json(const struct renderer *r, const struct value *v, struct buf *out)
{
	struct renderer raw = *r;
	struct walk w = {.r = &raw, .stack = v, .frame.is_code = true};
	struct buf cut = BUF_INIT;
	struct json j = {out, false};

	raw.escape = ESCAPE_NOTHING;
	json_open(&j, '[');
	while (walk_next(&w)) {
		json_open(&j, '{');
		if (w.frame.module.len)
			json_pair(&j, "module", w.frame.module);
		if (w.frame.function.len)
			json_pair(&j, "function", buf_as_str(&w.frame.function));
		json_key(&j, w.frame.module.len || w.frame.function.len ? "offset" : "address");
		json_u64(&j,
			 w.frame.module.len || w.frame.function.len ? w.frame.offset : w.address);
		json_close(&j, '}');
	}
	if (!w.frame.is_code) {
		add_cut(&w, &cut);
		json_open(&j, '{');
		json_pair(&j, "cut", buf_as_str(&cut));
		json_close(&j, '}');
	}
	json_close(&j, ']');
	buf_free(&cut);
	walk_free(&w);
}
