/* Frames of a stack: their names, and where the stack is wrong. */
#include "report/stack.h"

#include "base/array.h"
#include "base/json.h"
#include "lang/lang.h"
#include "symbols/symbols.h"
#include "unwind/tables.h"

#define FRAMES_DEFAULT \
	127 /* a script that wants fewer asks for them, and knows that there are more */

/* Going through the frames of one stack. */
struct frame_walk {
	const struct renderer *r;
	const struct value *stack;
	size_t at; /* of the next address in the bytes */
	uint64_t address;
	struct symbols_frame frame;
	unsigned inlined;		     /* frames of this address that were gone through */
	const struct symbols_source *source; /* of this frame; NULL: nothing is known */
	bool is_inlined;		     /* it is a part of the next one */
	struct buf last;		     /* file of the frame before, without its folder */
};

static void walk_free(struct frame_walk *w)
{
	buf_free(&w->frame.function);
	buf_free(&w->last);
}

/* The frame of a file that had no number yet: as one that has. */
static uint64_t find_file(const struct frame_walk *w, pid_t pid)
{
	uint64_t number = symbols_file_by_inode(w->r->symbols, pid, UNWIND_LATER_BITS(w->address),
						UNWIND_LATER_INODE);

	return UNWIND_FRAME_FILE | number << UNWIND_FRAME_SHIFT | UNWIND_LATER_OFFSET(w->address);
}

/* By frame pointers alone? Then a frame may be no code. */
static bool is_chained(const struct frame_walk *w)
{
	return w->stack->flags == UNWIND_GOES_ON || w->stack->flags == UNWIND_CHAINED;
}

static void look_up(struct frame_walk *w)
{
	const struct renderer *r = w->r;
	uint64_t pid = w->stack->extra;
	bool is_return = w->at > 8 && !(w->address & UNWIND_FRAME_EXACT);

	if (!r->symbols || (w->stack->type->kind == TYPE_USTACK && pid > INT32_MAX)) {
		buf_clear(&w->frame.function);
		w->frame.module = STR("");
		w->frame.is_code = true;
		w->frame.build_id = STR("");
	} else if (w->stack->type->kind == TYPE_KSTACK) {
		symbols_frame_kernel(r->symbols, w->address, &w->frame);
	} else if (w->address & UNWIND_FRAME_FILE) {
		if (w->address & UNWIND_FRAME_LATER)
			w->address = find_file(w, (pid_t)pid);
		symbols_frame_file(r->symbols, UNWIND_FRAME_NUMBER(w->address),
				   UNWIND_FRAME_OFFSET(w->address), is_return, &w->frame);
	} else {
		w->address = UNWIND_FRAME_ADDRESS(w->address);
		symbols_frame_user(r->symbols, (pid_t)pid, w->address, is_return, &w->frame);
		/* The kernel has seen that it is, whatever the maps say that were read last. */
		w->frame.is_code |= !is_chained(w);
	}
}

/* The next address. False: the stack is over, or this is not one: then is_code is false. */
static bool walk_next_address(struct frame_walk *w)
{
	if (w->at + 8 > w->stack->bytes.len)
		return false;
	if (w->at) {
		buf_clear(&w->last);
		buf_str(&w->last, str_after_last(w->frame.module, '/'));
	}
	memcpy(&w->address, w->stack->bytes.ptr + w->at, sizeof(w->address));
	w->at += 8;
	w->inlined = 0;
	look_up(w);
	return w->frame.is_code;
}

/* The next frame: functions that were inlined, one in the other, then the function that has them.
 */
static bool walk_next(struct frame_walk *w)
{
	const struct symbols_frame *f = &w->frame;

	if (!w->is_inlined && !walk_next_address(w))
		return false;
	w->source = w->inlined < f->source_count ? &f->sources[w->inlined] : NULL;
	/* Only the usual mode has room for them. */
	if (w->stack->type->show != SHOW_NUMBER)
		w->inlined = f->source_count;
	w->is_inlined = ++w->inlined < f->source_count;
	return true;
}

/* "main+18", "python3.11+0x26fc1", "0x7f01" */
static void add_name(struct frame_walk *w, bool with_offset, struct buf *out)
{
	const struct symbols_frame *f = &w->frame;

	if (w->is_inlined) {
		render_bytes(w->r, w->source->function.len ? w->source->function : STR("(unknown)"),
			     out);
	} else if (f->function.len) {
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

/* "x+0x11a2"; outside of files "7f01a2b0". */
static void add_place(struct frame_walk *w, struct buf *out)
{
	const struct symbols_frame *f = &w->frame;

	if (!f->module.len) {
		buf_printf(out, "%llx", (unsigned long long)w->address);
		return;
	}
	render_bytes(w->r, str_after_last(f->module, '/'), out);
	buf_printf(out, "+0x%llx", (unsigned long long)f->in_file);
}

/* Is the frame an offset in a file? */
static bool is_in_file(const struct frame_walk *w)
{
	return w->stack->type->kind == TYPE_USTACK && w->address & UNWIND_FRAME_FILE;
}

/* The frame in another of the modes that a script can ask for. */
static void add_in_mode(struct frame_walk *w, enum type_show mode, struct buf *out)
{
	const struct symbols_frame *f = &w->frame;

	if (mode == SHOW_BUILD_ID && f->build_id.len) {
		buf_hex_bytes(out, f->build_id);
		buf_printf(out, " 0x%llx", (unsigned long long)f->in_file);
	} else if (mode == SHOW_RAW && !is_in_file(w)) {
		buf_printf(out, "%llx", (unsigned long long)w->address);
	} else if (mode != SHOW_PERF) {
		add_place(w, out);
	} else {
		buf_printf(out, "%llx ",
			   (unsigned long long)(f->module.len ? f->in_file : w->address));
		add_name(w, true, out);
		if (f->module.len) {
			buf_text(out, " (");
			render_bytes(w->r, f->module, out);
			buf_char(out, ')');
		} else if (w->stack->type->kind == TYPE_USTACK) {
			buf_text(out, " ([unknown])");
		}
	}
}

/* The line of a stack, as bpftrace shows it: "main+18@/build/a.c:7", "[inlined] add@/build/a.c:3";
 * or for people: "main+18 at a.c:7", "add (inlined) at a.c:3". */
static void add_frame(struct frame_walk *w, struct buf *out)
{
	const struct symbols_source *s = w->source;
	enum type_show mode = (enum type_show)w->stack->type->show;
	bool plain = !w->r->look, dim = !plain && w->r->look->color;
	size_t folder = s && !plain ? s->folder : 0;

	if (mode != SHOW_NUMBER) {
		add_in_mode(w, mode, out);
		return;
	}
	buf_text(out, w->is_inlined && plain ? "[inlined] " : "");
	add_name(w, true, out);
	buf_text(out, w->is_inlined && !plain ? " (inlined)" : "");
	if (!s || !s->file.len || !s->line)
		return;
	buf_text(out, plain ? "@" : dim ? " \033[2mat " : " at ");
	render_bytes(w->r, str_of(s->file.ptr + folder, s->file.len - folder), out);
	buf_printf(out, ":%u%s", s->line, dim ? "\033[0m" : "");
}

/* Why a stack ends before its outermost frame; NULL: it does not, or nothing is known. Text that
 * ends in a blank is followed by the file of the last frame. */
static const char *end_text(const struct frame_walk *w)
{
	/* clang-format off */
	static const char *const texts[UNWIND_ENDS_COUNT_] = {
		[UNWIND_GOES_ON]    = "followed by frame pointers, which end in ",
		[UNWIND_LIMIT]      = "there are more frames",
		[UNWIND_NO_ROWS]    = "no unwind rows for ",
		[UNWIND_NO_ROOM]    = "no room was left for the unwind rows of ",
		[UNWIND_LATER]      = "mapped only now, and not read yet: ",
		[UNWIND_NOT_RULE]   = "no usable unwind rule in ",
		[UNWIND_UNREADABLE] = "the stack cannot be read any further",
		[UNWIND_NOT_CODE]   = "the return address is in no code that is known",
		[UNWIND_NO_FRAMES]  = "code made at run time keeps no frame pointers; of a JVM it does with "
				      "-XX:+PreserveFramePointer",
		[UNWIND_NO_PROCESS] = "the mappings of the process were not known yet",
		[UNWIND_BUSY]	    = "the process was mapping memory at this moment, so the kernel could not "
				      "say what the return address is in",
		[UNWIND_CHAINED]    = "user mode follows frame pointers, which end in ",
	};
	/* clang-format on */
	uint32_t end = w->stack->flags;

	if (!w->frame.is_code)
		return "";
	if (is_chained(w) && (!w->frame.module.len || w->stack->bytes.len >= w->stack->type->size))
		return NULL; /* nothing is known of it, or there are as many as were asked for */
	if (end == UNWIND_LIMIT && w->stack->bytes.len < w->stack->type->size)
		return "this kernel walks no more frames";
	if (end >= UNWIND_ENDS_COUNT_ || w->stack->type->kind != TYPE_USTACK ||
	    (end == UNWIND_LIMIT && w->stack->bytes.len < 8 * FRAMES_DEFAULT))
		return NULL;
	return texts[end];
}

static void add_cut(struct frame_walk *w, const char *text, struct buf *out)
{
	struct str file =
		w->frame.is_code ? str_after_last(w->frame.module, '/') : buf_as_str(&w->last);

	buf_text(out, text);
	if (*text && text[strlen(text) - 1] != ' ')
		return;
	render_bytes(w->r, file.len ? file : STR("the code"), out);
	if (!w->frame.is_code)
		buf_text(out, " keeps no frame pointers");
}

/* The last frame first. A name may have the sign that is between frames. */
static void add_reversed(const struct buf *frames, const char *separator, struct buf *out)
{
	size_t end = frames->len;

	while (end) {
		const char *before = memrchr(frames->ptr, '\0', end - 1);
		size_t start = before ? (size_t)(before - frames->ptr) + 1 : 0;

		for (size_t i = start; i < end - 1; i++)
			buf_char(out, frames->ptr[i] == ';' ? ':' : frames->ptr[i]);
		buf_text(out, start ? separator : "");
		end = start;
	}
	out->failed |= frames->failed;
}

/* "_[i]" marks what was inlined, as other makers of folded stacks have it. */
static void add_folded(struct frame_walk *w, struct buf *out)
{
	struct buf frames = BUF_INIT;
	const char *why;

	while (walk_next(w)) {
		add_name(w, false, &frames);
		buf_text(&frames, w->is_inlined ? "_[i]" : "");
		buf_char(&frames, '\0');
	}
	if ((why = end_text(w))) {
		buf_text(&frames, "(cut: ");
		add_cut(w, why, &frames);
		buf_text(&frames, ")");
		buf_char(&frames, '\0');
	}
	add_reversed(&frames, ";", out);
	buf_free(&frames);
}

void stack_bcc_frame(const struct renderer *r, const struct symbols_frame *f, bool is_kernel,
		     struct buf *out)
{
	if (f->function.len) {
		render_bytes(r, buf_as_str(&f->function), out);
		buf_printf(out, "+0x%llx", (unsigned long long)f->offset);
	} else {
		buf_text(out, "[unknown]");
	}
	if (is_kernel || f->module.len) {
		buf_text(out, " [");
		render_bytes(r, is_kernel ? STR("kernel") : str_after_last(f->module, '/'), out);
		buf_char(out, ']');
	}
}

/* "          7f3b12 main+0x12 [prog]" */
static void add_bcc_frame(struct frame_walk *w, struct buf *out)
{
	/* That in its file, where nothing else is known. */
	uint64_t address = is_in_file(w) ? UNWIND_FRAME_OFFSET(w->address) : w->address;

	if (w->r->frames == NOPAL_FRAMES_BCC_ADDRESS)
		buf_printf(out, "%16llx ", (unsigned long long)address);
	stack_bcc_frame(w->r, &w->frame, w->stack->type->kind == TYPE_KSTACK, out);
}

/* A line begins as in bpftrace, where only addresses and what they belong to are not indented. */
static void add_indent(const struct frame_walk *w, unsigned indent, struct buf *out)
{
	uint8_t mode = w->stack->type->show;

	if (mode == SHOW_PERF)
		buf_char(out, '\t');
	else if (mode != SHOW_RAW && mode != SHOW_BUILD_ID)
		buf_fill(out, ' ', indent);
}

void stack_text(const struct renderer *r, const struct value *v, unsigned indent, struct buf *out)
{
	struct frame_walk w = {.r = r, .stack = v, .frame.is_code = true};
	const char *why;

	if (r->is_folded) {
		add_folded(&w, out);
		walk_free(&w);
		return;
	}
	buf_text(out, r->frames ? "" : "\n");
	while (walk_next(&w)) {
		add_indent(&w, indent, out);
		if (r->frames)
			add_bcc_frame(&w, out);
		else
			add_frame(&w, out);
		buf_char(out, '\n');
	}
	if ((why = end_text(&w))) {
		add_indent(&w, indent, out);
		buf_text(out, "(cut: ");
		add_cut(&w, why, out);
		buf_text(out, ")\n");
	}
	walk_free(&w);
}

void stack_lines(const struct renderer *r, const struct value *v, struct buf *out)
{
	struct buf text = BUF_INIT;

	render_text(r, v, INDENT_VALUE, &text);
	if (text.len && text.ptr[0] == '\n')
		buf_add(out, text.ptr + 1, text.len - 1);
	else
		buf_str(out, buf_as_str(&text));
	out->failed |= text.failed;
	buf_free(&text);
}

static void add_object(struct frame_walk *w, struct json *j)
{
	const struct symbols_frame *f = &w->frame;
	const struct symbols_source *s = w->source;
	struct str function = w->is_inlined ? s->function : buf_as_str(&f->function);
	bool is_named = f->module.len || f->function.len;

	json_open(j, '{');
	if (f->module.len)
		json_pair(j, "module", f->module);
	if (function.len)
		json_pair(j, "function", function);
	if (!w->is_inlined) {
		json_key(j, is_named ? "offset" : "address");
		json_u64(j, is_named ? f->offset : w->address);
	}
	if (s && s->file.len && s->line) {
		json_pair(j, "file", s->file);
		json_key(j, "line");
		json_u64(j, s->line);
	}
	if (w->is_inlined) {
		json_key(j, "inlined");
		json_bool(j, true);
	}
	json_close(j, '}');
}

void stack_json(const struct renderer *r, const struct value *v, struct buf *out)
{
	struct renderer raw = *r;
	struct frame_walk w = {.r = &raw, .stack = v, .frame.is_code = true};
	struct buf cut = BUF_INIT;
	struct json j = {out, false};
	const char *why;

	raw.escape = ESCAPE_NOTHING;
	json_open(&j, '[');
	while (walk_next(&w))
		add_object(&w, &j);
	if ((why = end_text(&w))) {
		add_cut(&w, why, &cut);
		json_open(&j, '{');
		json_pair(&j, "cut", buf_as_str(&cut));
		json_close(&j, '}');
	}
	json_close(&j, ']');
	buf_free(&cut);
	walk_free(&w);
}

/* clang-format off */
static const struct {
	const char *name;
	enum stack_role role;
} roles[] = {
	{"_PyEval_EvalFrameDefault", ROLE_EVALUATOR},
	{"execute_ex",		     ROLE_EVALUATOR},
	{"vm_exec_core",	     ROLE_EVALUATOR},
	{"Perl_runops_standard",     ROLE_RUNOPS},
	{"Perl_runops_debug",	     ROLE_RUNOPS},
	{"Perl_pp_entertry",	     ROLE_CATCHER},
	{"Perl_pp_entertrycatch",    ROLE_CATCHER},
	{"Perl_pp_entereval",	     ROLE_CATCHER},
	{"Perl_pp_require",	     ROLE_CATCHER},
	{"S_docatch",		     ROLE_CATCHER},
	{"S_require_file",	     ROLE_CATCHER},
	{"S_run_body",		     ROLE_UNNAMED},
	{"perl_parse",		     ROLE_MAIN},
	{"perl_run",		     ROLE_MAIN},
	{"perl_destruct",	     ROLE_MAIN},
};
/* clang-format on */

/* Compilers divide functions: "name.cold". `inode`: of the file of the last ROLE_RUNOPS. */
static enum stack_role role_of(const struct frame_walk *w, uint64_t inode)
{
	const struct symbols_frame *f = &w->frame;
	struct str function = buf_as_str(&f->function);
	const char *dot = function.len ? memchr(function.ptr, '.', function.len) : NULL;

	if (w->is_inlined)
		return ROLE_NONE;
	if (w->r->langs && f->inode && f->in_file &&
	    lang_names_evaluates(w->r->langs, f->device, f->inode, f->in_file - 1))
		return ROLE_EVALUATOR;
	if (dot)
		function.len = (size_t)(dot - function.ptr);
	for (size_t i = 0; i < COUNT(roles); i++)
		if (str_eq_text(function, roles[i].name))
			return roles[i].role;
	return !function.len && f->inode && f->inode == inode ? ROLE_UNNAMED : ROLE_NONE;
}

static void add_form(struct frame_walk *w, enum stack_form form, struct buf *out)
{
	struct json j = {out, false};

	if (form == STACK_OBJECT) {
		add_object(w, &j);
	} else if (form == STACK_FOLDED) {
		add_name(w, false, out);
		buf_text(out, w->is_inlined ? "_[i]" : "");
	} else {
		add_frame(w, out);
	}
}

void stack_each(const struct renderer *r, const struct value *v, enum stack_form form,
		stack_part_fn *fn, void *arg)
{
	struct renderer raw = *r;
	struct frame_walk w = {.r = &raw, .stack = v, .frame.is_code = true};
	struct buf text = BUF_INIT;
	uint64_t inode = 0;
	const char *why;

	if (form == STACK_OBJECT)
		raw.escape = ESCAPE_NOTHING;
	while (walk_next(&w)) {
		enum stack_role role = role_of(&w, inode);

		inode = role == ROLE_RUNOPS ? w.frame.inode : inode;
		buf_clear(&text);
		add_form(&w, form, &text);
		fn(arg, &(struct stack_part){.text = buf_as_str(&text), .role = role});
	}
	if ((why = end_text(&w))) {
		buf_clear(&text);
		buf_text(&text, form == STACK_OBJECT ? "" : "(cut: ");
		add_cut(&w, why, &text);
		buf_text(&text, form == STACK_OBJECT ? "" : ")");
		fn(arg, &(struct stack_part){.text = buf_as_str(&text), .is_note = true});
	}
	buf_free(&text);
	walk_free(&w);
}
