/* Names of Ruby's frames: rb_iseq_t (vm_core.h), Ruby's strings, and the line table of a body:
 * entries, and a bit for each word of code that says whether an entry begins there (iseq.c,
 * succ_index_lookup). */
#include "lang/runtime_row.h"

#include <errno.h>

#define T_INTERNAL 0x1au /* Ruby's own objects, of a kind: */
#define KIND_SHIFT 12
#define KIND_ISEQ  7u /* code; others in its place are blocks written in C */
#define T_STRING   5u
#define T_ARRAY	   7u
#define TYPE_MASK  0x1fu
#define IN_OBJECT  (1u << 13) /* of a string: it is *not* in the object; of an array: it is */
#define LEN_SHIFT  14	      /* of the length in the flags of a string that is in the object */

#define FIRST_WORDS \
	54 /* of the code, by six words of ranks of seven bits; then blocks of 512 bits */
#define BLOCK_BYTES 80

static bool read_ruby_text(const struct ruby_code *l, const struct lang_memory *m, uint64_t at,
			   struct buf *out)
{
	uint64_t flags, first, len, data;

	if (at & 7 || !read_word(m, at, &flags))
		return false;
	if ((flags & TYPE_MASK) == T_ARRAY) { /* a path: as given, and in full */
		if (flags & IN_OBJECT)
			data = at + 16;
		else if (!read_word(m, at + 32, &data))
			return false;
		if (!read_word(m, data, &first) || first & 7 || !read_word(m, first, &flags))
			return false;
		at = first;
	}
	if ((flags & TYPE_MASK) != T_STRING)
		return false;
	if (!(flags & IN_OBJECT) && l->text == TEXT_SHORT)
		return read_text(m, at + 16, flags >> LEN_SHIFT & 0x1f, out);
	if (!read_word(m, at + 16, &len) || len > INT64_MAX)
		return false;
	data = at + 24;
	return (!(flags & IN_OBJECT) || read_word(m, data, &data)) && read_text(m, data, len, out);
}

/* How many entries begin at or before word `x` of the code. */
static bool find_rank(const struct lang_memory *m, uint64_t index, uint64_t x, uint64_t *out)
{
	uint64_t ranks, bits, block;
	unsigned bit, small;
	uint32_t before;

	if (x < FIRST_WORDS) {
		if (!read_word(m, index + x / 9 * 8, &ranks))
			return false;
		*out = ranks >> x % 9 * 7 & 0x7f;
		return true;
	}
	x -= FIRST_WORDS;
	block = index + FIRST_WORDS / 9 * 8 + x / 512 * BLOCK_BYTES;
	bit = x % 64;
	small = (unsigned)(x % 512 / 64);
	if (!read_u32(m, block, &before) || !read_word(m, block + 8, &ranks) ||
	    !read_word(m, block + 16 + 8 * small, &bits))
		return false;
	*out = before + (small ? ranks >> (small - 1) * 9 & 0x1ff : 0) +
	       (unsigned)__builtin_popcountll(bits << (63 - bit));
	return true;
}

/* The line of what runs at `pc`; 0 is that of code that no file has. */
static bool find_line(const struct ruby_code *l, const struct lang_memory *m, uint64_t body,
		      uint64_t pc, uint32_t *line)
{
	uint64_t code, entries, index, rank = 0, word;
	uint32_t count;

	if (!read_word(m, body + l->encoded, &code) || pc < code ||
	    !read_word(m, body + l->insns, &entries) || !read_u32(m, body + l->count, &count) ||
	    !read_word(m, body + l->index, &index))
		return false;
	word = (pc - code) / 8;
	word -= word > 0; /* it is already at the next instruction */
	if (count == 1)
		rank = 1;
	else if (!count || word > UINT32_MAX || !find_rank(m, index, word, &rank))
		return false;
	return rank && rank <= count && read_u32(m, entries + (rank - 1) * l->entry, line);
}

static int ruby_name(const struct lang_runtime *r, const struct lang_memory *m,
		     struct lang_frame frame, struct lang_name *out)
{
	const struct ruby_code *l = &r->layout->ruby;
	uint64_t flags, body, path, label;
	uint32_t line;

	if (!read_word(m, frame.object, &flags))
		return -EFAULT;
	if ((flags & TYPE_MASK) == T_INTERNAL && (flags >> KIND_SHIFT & 15) != KIND_ISEQ) {
		out->is_hidden = true;
		return 0;
	}
	if (!read_word(m, frame.object + l->body, &body) ||
	    !read_word(m, body + l->location, &path) ||
	    !read_word(m, body + l->location + 16, &label) ||
	    !read_ruby_text(l, m, label, &out->function) || !read_ruby_text(l, m, path, &out->file))
		return -EFAULT;
	if (!find_line(l, m, body, frame.position, &line))
		return 0;
	out->line = line;
	/* Below the first frame of a program lies one that runs nothing. */
	out->is_hidden = !line;
	return 0;
}

/* ---- the row */

/* Symbols that are looked for. */
enum { CONTEXT, MACHINE, ERRINFO, RUBY_TEXT };

/* Before 3.0 only the list of threads says which one runs what; since 3.3 the variable has no
 * symbol, but a function that reads it. */
static bool look_ruby(struct recognition *l)
{
	const struct lang_layout *layout;
	struct lang_runtime *r = l->out;

	if (!l->has[RUBY_TEXT])
		return false;
	r->has_version = recognition_version_at(l, l->at[RUBY_TEXT]);
	layout = layout_find(LANG_RUBY, r->major, r->minor);
	if (layout)
		evaluator_find(l->image, layout->ruby.instructions, &r->evaluator);
	if (recognition_start(l) == LANG_START_LIST) {
		r->root = l->at[MACHINE];
		return recognition_layout(
			l, l->has[MACHINE] ? NULL : "it has no symbol 'ruby_current_vm_ptr'");
	}
	if (recognition_start(l) != LANG_START_TLS)
		return recognition_layout(l, NULL);
	if (!tls_is_glibc(l->image))
		return recognition_layout(l, RECOGNITION_NOT_GLIBC);
	if (l->has[CONTEXT])
		return recognition_thread_local(l, CONTEXT, STR("ruby"));
	if (l->has[ERRINFO] &&
	    tls_offset_of_code(l->image, l->at[ERRINFO], &r->root, &r->tls_offset))
		return recognition_layout(l, NULL);
	return recognition_layout(
		l, "it has no symbol 'ruby_current_ec', and its code does not say where "
		   "that is");
}

static void plan_ruby(struct target_writer *p, const struct lang_layout *l)
{
	const struct ruby_code *c = &l->ruby;
	const bool is_short = c->text == TEXT_SHORT;
	const uint16_t name = is_short ? 40 : TEXT_BYTES, path = is_short ? 40 : PATH_BYTES;

	target_copy(p, 0, 24);
	target_follow(p, 2, 0, c->body, 160);
	target_follow(p, 3, 2, (uint16_t)(c->location + 16), name); /* the label, and its text */
	target_follow(p, 3, 3, 24, TEXT_BYTES);
	target_follow(p, 3, 2, c->location, path); /* the path: a text, or an array of two */
	target_follow(p, 4, 3, 24, PATH_BYTES);
	target_follow(p, 4, 3, 16, path);
	target_follow(p, 4, 4, 24, PATH_BYTES);
	target_follow(p, 4, 2, c->index, 288);
	target_follow(p, 4, 2, c->insns, LANG_CHUNK_MOST);
}

const struct runtime_row ruby_row = {
	.name = "ruby",
	.files = {"libruby", "ruby"},
	.symbols = {[CONTEXT] = "ruby_current_ec",
		    [MACHINE] = "ruby_current_vm_ptr",
		    [ERRINFO] = "rb_errinfo",
		    [RUBY_TEXT] = "ruby_version"},
	.look = look_ruby,
	.name_frame = ruby_name,
	.plan = plan_ruby,
};
