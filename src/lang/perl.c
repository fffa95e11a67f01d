/* Names of Perl's frames. A frame is a sub, or LANG_MAIN, and a statement (struct cop), which has
 * the line and the file. */
#include "lang/runtime_row.h"

#include <errno.h>

#define ARRAY_AT 16	 /* of a table */
#define LAST_AT	 24	 /* of its body: entries of the array, less 1 */
#define COUNT_AT 28	 /* of the part with the name */
#define NAMED	 0x8000u /* of a sub's flags: it has a name and no glob */

/* A name that Perl shares: { u32 hash, s32 length, bytes } */
static bool read_shared(const struct lang_memory *m, uint64_t at, struct buf *out)
{
	uint32_t len;

	return at && read_u32(m, at + 4, &len) && len <= INT32_MAX &&
	       read_text(m, at + 8, len, out);
}

/* The package that a symbol table is of, and "::". Its name is in a part that only named tables
 * have: at the end of the body, before 5.36 after the array. With aliases there is an array of
 * names. */
static bool read_package(const struct perl_code *p, const struct lang_memory *m, uint64_t stash,
			 struct buf *out)
{
	uint64_t body, name, array, last, at;
	uint32_t count;

	if (!stash || !read_word(m, stash, &body))
		return false;
	at = body + p->hash_aux;
	if (p->hash_aux == LANG_NOTHING) {
		if (!read_word(m, stash + ARRAY_AT, &array) || !read_word(m, body + LAST_AT, &last))
			return false;
		at = array + 8 * last + 8;
	}
	if (!read_word(m, at, &name) || !read_u32(m, at + COUNT_AT, &count) ||
	    (count && !read_word(m, name, &name)) || !read_shared(m, name, out))
		return false;
	buf_text(out, "::");
	return true;
}

/* sub -> body -> name and package, or glob -> its own glob -> body -> name and package */
static bool read_sub(const struct perl_code *p, const struct lang_memory *m, uint64_t sub,
		     struct buf *out)
{
	uint64_t body, glob, stash, name, parts, own;
	uint32_t flags;

	if (!read_word(m, sub, &body) || !read_u32(m, body + p->flags, &flags) ||
	    !read_word(m, body + p->glob, &glob))
		return false;
	if (flags & NAMED)
		return read_word(m, body + p->stash, &stash) &&
		       (read_package(p, m, stash, out), true) && read_shared(m, glob, out);
	if (!glob || !read_word(m, glob + 16, &parts))
		return false;
	if (read_word(m, parts + p->effective, &own) && own)
		glob = own;
	return read_word(m, glob, &body) && read_word(m, body + p->glob_stash, &stash) &&
	       (read_package(p, m, stash, out), true) && read_word(m, body + p->name, &name) &&
	       read_shared(m, name, out);
}

static int perl_name(const struct lang_runtime *r, const struct lang_memory *m,
		     struct lang_frame frame, struct lang_name *out)
{
	const struct perl_code *p = &r->layout->perl;
	uint64_t file;
	uint32_t line;

	if (frame.object == LANG_MAIN)
		buf_text(&out->function, "main");
	else if (!read_sub(p, m, frame.object, &out->function))
		return -EFAULT;
	if (!read_u32(m, frame.position + p->line, &line) ||
	    !read_word(m, frame.position + p->file, &file) || !file ||
	    !read_c_text(m, file, &out->file))
		return -EFAULT;
	out->line = line;
	return 0;
}

/* ---- the row */

/* Symbols that are looked for. */
enum { INTERPRETER, CONTEXT, THREAD_KEY, RUNOPS, REVISION, MAJOR, MINOR };

/* With threads each interpreter is a struct, of which the thread has the address, since 5.36 in a
 * variable, before as the value of a key; and so it is without other threads, if they were built
 * in. */
static bool look_perl(struct recognition *l)
{
	struct lang_runtime *r = l->out;
	unsigned char revision = 0, major = 0, minor = 0;
	unsigned variable;

	if (!l->has[RUNOPS])
		return false;
	r->has_version = l->has[MAJOR] && recognition_read(l, l->at[REVISION], &revision, 1) &&
			 recognition_read(l, l->at[MAJOR], &major, 1) &&
			 recognition_read(l, l->at[MINOR], &minor, 1);
	r->major = revision;
	r->minor = major;
	r->micro = minor;
	if (recognition_start(l) == LANG_START_ROOT)
		return recognition_layout(l, NULL);
	variable = recognition_start(l) == LANG_START_KEY ? THREAD_KEY : CONTEXT;
	if (!l->has[variable])
		return recognition_layout(
			l, "it is built without threads, or keeps its interpreter elsewhere");
	if (!tls_is_glibc(l->image))
		return recognition_layout(l, RECOGNITION_NOT_GLIBC);
	if (variable == CONTEXT)
		return recognition_thread_local(l, variable, STR("perl"));
	r->root = l->at[THREAD_KEY];
	return recognition_layout(l, NULL);
}

static void plan_package(struct target_writer *p, uint8_t body, uint8_t stash,
			 const struct perl_code *c)
{
	target_follow(p, 7, body, stash, 24);
	if (c->hash_aux == LANG_NOTHING) {
		target_step(p, LANG_STEP_FOLLOW, 6, 7, 16);
		target_follow(p, 7, 7, 0, 40);
		target_chunk(p, target_step(p, LANG_STEP_INDEX, 6, 7, 24), 48);
		target_follow(p, 7, 6, 8, NAME_BYTES);
	} else {
		target_follow(p, 7, 7, 0, 72);
		target_follow(p, 7, 7, c->hash_aux, NAME_BYTES);
	}
}

static void plan_perl(struct target_writer *p, const struct lang_layout *l)
{
	const struct perl_code *c = &l->perl;

	target_copy(p, 1, 56);
	target_follow(p, 2, 1, c->file, 264);
	target_copy(p, 0, 24);
	target_follow(p, 3, 0, 0, 104);
	target_follow(p, 4, 3, c->glob, NAME_BYTES); /* the glob, or the name alone */
	target_follow(p, 5, 4, 0, 48);
	target_follow(p, 5, 5, c->name, NAME_BYTES);
	target_follow(p, 4, 4, 16, 80);
	target_follow(p, 4, 4, c->effective, 24);
	target_follow(p, 4, 4, 0, 48);
	target_follow(p, 5, 4, c->name, NAME_BYTES);
	plan_package(p, 4, c->glob_stash, c);
	plan_package(p, 3, c->stash, c);
}

const struct runtime_row perl_row = {
	.name = "perl",
	.files = {"libperl", "perl"},
	.symbols = {[INTERPRETER] = "PL_curinterp",
		    [CONTEXT] = "PL_current_context",
		    [THREAD_KEY] = "PL_thr_key",
		    [RUNOPS] = "PL_runops_std",
		    [REVISION] = "PL_revision",
		    [MAJOR] = "PL_version",
		    [MINOR] = "PL_subversion"},
	.look = look_perl,
	.name_frame = perl_name,
	.plan = plan_perl,
};
