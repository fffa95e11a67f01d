/* import "lib.bt"; before the probes of a script, or in a block: the text of another file.
 *
 * Comes in: the script's text. Goes out: one text that has all files, the script first, so that a
 * place in any of them is one number; and where each file is in it. A file is taken once. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/file.h"
#include "script/parse/script_state.h"
#include "script/parse/lex.h"
#include "script/parse/parse.h"

#define IMPORTS_MOST 64

/* All that is imported so far. */
struct imports {
	struct script *s;
	struct diag *d;
	struct buf text;
	struct import_part parts[IMPORTS_MOST + 1];
	struct {
		dev_t device;
		ino_t inode;
	} files[IMPORTS_MOST];
	unsigned count;		      /* of files; parts[0] is the script */
	unsigned order[IMPORTS_MOST]; /* each after those that it imports */
	unsigned ordered;
	size_t in_blocks[IMPORTS_MOST]; /* where the words of those are that are in blocks */
	unsigned in_block_count;
	int err;
};

static bool skip_braces(struct lexer *l, struct token *t)
{
	unsigned depth = 0;

	do {
		if (lex_token(l, t) || t->kind == TOKEN_END)
			return false;
		depth += t->kind == TOKEN_LBRACE;
		depth -= t->kind == TOKEN_RBRACE && depth;
	} while (depth || (t->kind != TOKEN_RBRACE && t->kind != TOKEN_SEMICOLON));
	return true;
}

/* The next import of a text, before its probes: its word and its path. */
static bool next_import(struct lexer *l, struct token *word, struct token *path)
{
	static const char *const c_words[] = {"struct", "union", "enum", "typedef", NULL};
	struct token t;

	for (;;) {
		if (lex_blank(l) || l->at >= l->text.len)
			return false;
		if (l->text.ptr[l->at] == '#') {
			lex_line(l);
			continue;
		}
		if (lex_token(l, &t))
			return false;
		if (t.kind == TOKEN_SEMICOLON)
			continue;
		if (t.kind != TOKEN_WORD)
			return false;
		if (word_is_one_of(t.text, c_words) || str_eq_text(t.text, "config")) {
			if (!skip_braces(l, &t))
				return false;
		} else if (str_eq_text(t.text, "import")) {
			*word = t;
			return !lex_token(l, path) && path->kind == TOKEN_STRING;
		} else {
			return false;
		}
	}
}

/* The next import inside of a block. Bytes that make no token, which probes may have, are
 * skipped. */
static bool next_in_block(struct lexer *l, unsigned *depth, struct token *word, struct token *path)
{
	struct token t = {.kind = TOKEN_END};

	while (!lex_blank(l) && l->at < l->text.len) {
		if (lex_token(l, &t)) {
			l->at++;
			continue;
		}
		*depth += t.kind == TOKEN_LBRACE;
		*depth -= t.kind == TOKEN_RBRACE && *depth;
		if (!*depth || t.kind != TOKEN_WORD || !str_eq_text(t.text, "import"))
			continue;
		*word = t;
		if (!lex_token(l, path) && path->kind == TOKEN_STRING)
			return true;
	}
	return false;
}

static void read_imports(struct imports *i, unsigned part);

static int fail_import(struct imports *i, struct span at, const char *path, const char *why)
{
	return diag_error_at(i->d, -EINVAL, "bad-import", at, "cannot import '%s': %s", path, why);
}

/* One file, if it was not taken before. */
static int take_file(struct imports *i, struct span at, const char *path)
{
	unsigned part = i->count + 1;
	struct stat st;
	size_t start;
	int err;

	if (stat(path, &st))
		return fail_import(i, at, path, strerror(errno));
	for (unsigned n = 0; n < i->count; n++)
		if (i->files[n].device == st.st_dev && i->files[n].inode == st.st_ino)
			return 0;
	if (st.st_mode & S_IWOTH)
		return fail_import(i, at, path, "any user can write to it");
	if (i->count == IMPORTS_MOST)
		return fail_import(i, at, path, "too many files are imported");
	buf_char(&i->text, '\n');
	start = i->text.len;
	err = file_slurp(path, PARSE_MAX_TEXT, &i->text);
	if (err)
		return fail_import(i, at, path, strerror(-err));
	i->files[i->count].device = st.st_dev;
	i->files[i->count++].inode = st.st_ino;
	i->parts[part] = (struct import_part){
		.path = arena_str(&i->s->arena, str_from(path)),
		.at = start,
		.len = i->text.len - start,
	};
	read_imports(i, part);
	i->order[i->ordered++] = part;
	return i->err;
}

static bool is_source(const char *name)
{
	return str_ends(str_from(name), STR(".bt")) || str_ends(str_from(name), STR(".h"));
}

static int is_listed(const struct dirent *e)
{
	return e->d_name[0] != '.' && is_source(e->d_name);
}

static int take_folder(struct imports *i, struct span at, const char *path)
{
	struct dirent **entries;
	int count = scandir(path, &entries, is_listed, alphasort), err = 0;

	if (count < 0)
		return fail_import(i, at, path, strerror(errno));
	for (int n = 0; n < count; n++) {
		struct buf file = BUF_INIT;

		buf_printf(&file, "%s/%s", path, entries[n]->d_name);
		if (!err)
			err = file.failed ? -ENOMEM : take_file(i, at, file.ptr);
		buf_free(&file);
		free(entries[n]);
	}
	free(entries);
	return err;
}

/* A path is relative to the file that has the import. */
static int take_path(struct imports *i, struct span at, struct str from, struct str path)
{
	struct str folder = from;
	struct buf whole = BUF_INIT;
	struct stat st;
	int err;

	folder.len -= str_after_last(from, '/').len;
	if (str_starts(path, STR("/")))
		folder.len = 0;
	buf_printf(&whole, "%.*s%.*s", STR_FMT(folder), STR_FMT(path));
	if (whole.failed)
		err = -ENOMEM;
	else if (!stat(whole.ptr, &st) && S_ISDIR(st.st_mode))
		err = take_folder(i, at, whole.ptr);
	else if (!is_source(whole.ptr))
		err = fail_import(i, at, whole.ptr, "its name must end in .bt or .h");
	else
		err = take_file(i, at, whole.ptr);
	buf_free(&whole);
	return err;
}

/* The imports of one part. Its text may move while others are added. */
static void read_imports(struct imports *i, unsigned part)
{
	const struct import_part *p = &i->parts[part];
	struct str copy = arena_str(&i->s->arena, str_of(i->text.ptr + p->at, p->len));
	struct lexer l = {.text = copy, .path = p->path, .arena = &i->s->arena};
	struct token word, path;
	size_t start = p->at;
	unsigned depth = 0;

	if (!copy.ptr) {
		i->err = -ENOMEM;
		return;
	}
	if (str_starts(l.text, STR("#!")))
		lex_line(&l);
	while (!i->err && next_import(&l, &word, &path)) {
		struct span at = {l.path, copy, path.mark.at, path.mark.len, 0};

		i->err = take_path(i, at, l.path, path.text);
	}
	l.at = 0; /* what ended the imports may be a brace */
	while (!i->err && i->in_block_count < IMPORTS_MOST &&
	       next_in_block(&l, &depth, &word, &path)) {
		struct span at = {l.path, copy, path.mark.at, path.mark.len, 0};

		i->in_blocks[i->in_block_count++] = start + word.mark.at;
		i->err = take_path(i, at, l.path, path.text);
	}
}

/* The places of the imported files, after those that the caller has. */
static int add_origins(struct imports *i)
{
	struct script_options *o = &i->s->options;
	struct script_origin *all =
		arena_array(&i->s->arena, struct script_origin, o->origin_count + i->count);

	if (!all)
		return -ENOMEM;
	if (o->origin_count)
		memcpy(all, o->origins, o->origin_count * sizeof(*all));
	for (unsigned n = 1; n <= i->count; n++) {
		const struct import_part *p = &i->parts[n];
		struct str text = str_of(i->s->text.ptr + p->at, p->len);

		all[o->origin_count + n - 1] =
			(struct script_origin){p->at, p->len, text, 0, p->path};
	}
	o->origins = all;
	o->origin_count += i->count;
	return 0;
}

/* The parts in the order in which they are parsed, the script last. */
static int give_parts(struct imports *i)
{
	struct script *s = i->s;

	s->parts = arena_array(&s->arena, struct import_part, i->count + 1);
	if (!s->parts)
		return -ENOMEM;
	for (unsigned n = 0; n < i->ordered; n++)
		s->parts[n] = i->parts[i->order[n]];
	s->parts[i->ordered] = i->parts[0];
	s->part_count = i->ordered + 1;
	s->block_imports = arena_array(&s->arena, size_t, i->in_block_count + 1);
	if (!s->block_imports)
		return -ENOMEM;
	memcpy(s->block_imports, i->in_blocks, i->in_block_count * sizeof(size_t));
	s->block_import_count = i->in_block_count;
	return 0;
}

/* The script's own text comes first, so its places do not change. */
int imports_take(struct script *s, struct diag *d)
{
	struct imports *i = calloc(1, sizeof(*i));
	int err = -ENOMEM;

	if (!i)
		return err;
	i->s = s;
	i->d = d;
	i->parts[0] = (struct import_part){.path = s->path, .len = s->text.len};
	buf_str(&i->text, s->text);
	if (s->text.len <= PARSE_MAX_TEXT && !i->text.failed)
		read_imports(i, 0);
	err = i->text.failed ? -ENOMEM : i->err;
	if (!err && i->count) {
		s->text = arena_str(&s->arena, buf_as_str(&i->text));
		err = s->text.ptr ? add_origins(i) : -ENOMEM;
	}
	if (!err)
		err = give_parts(i);
	buf_free(&i->text);
	free(i);
	return err;
}
