#include "help/casefile.h"

#include <errno.h>

#include "base/file.h"

#define MARGIN	 8
#define MAX_FILE (1 << 20)

/* Where a parse is: arrays grow in the arena of `out`. */
struct reader {
	struct case_file *out;
	const char *keys;
	struct buf *why;
	unsigned line;
	struct test_case *test;	  /* the case that is being read */
	struct case_field *field; /* whose lines may follow; NULL: a key is next */
	unsigned empty;		  /* empty lines that were not yet followed by more */
	struct buf text;	  /* of `field` */
	size_t case_cap, field_cap;
};

static int complain(struct reader *r, const char *what, struct str about)
{
	buf_printf(r->why, "%s:%u: %s", r->out->path, r->line, what);
	if (about.len)
		buf_printf(r->why, ": '%.*s'", STR_FMT(about));
	buf_char(r->why, '\n');
	return -EINVAL;
}

static void end_field(struct reader *r)
{
	if (r->field)
		r->field->text = arena_str(&r->out->arena, buf_as_str(&r->text));
	r->field = NULL;
	r->empty = 0;
	buf_clear(&r->text);
}

static void add_line(struct reader *r, struct str line)
{
	for (; r->empty; r->empty--)
		buf_char(&r->text, '\n');
	if (!str_eq_text(line, "."))
		buf_str(&r->text, line);
	buf_char(&r->text, '\n');
}

static int end_case(struct reader *r)
{
	end_field(r);
	if (!r->test || r->test->field_count)
		return 0;
	r->line = r->test->line;
	return complain(r, "this case is empty", str_from(r->test->name));
}

/* "-- name" */
static int start_case(struct reader *r, struct str name)
{
	struct case_file *f = r->out;
	int err = end_case(r);

	if (err)
		return err;
	if (!str_trim(name).len)
		return complain(r, "a case needs a name: '-- NAME'", str_of("", 0));
	for (size_t i = 0; i < f->count; i++)
		if (str_eq_text(name, f->cases[i].name))
			return complain(r, "two cases of this file have this name", name);
	err = arena_grow(&f->arena, (void **)&f->cases, f->count, &r->case_cap, sizeof(*f->cases));
	if (err)
		return err;
	r->test = &f->cases[f->count++];
	*r->test = (struct test_case){
		.path = f->path, .name = arena_text(&f->arena, name), .line = r->line};
	r->field_cap = 0;
	return r->test->name ? 0 : -ENOMEM;
}

static bool is_key(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!(s.ptr[i] >= 'a' && s.ptr[i] <= 'z') && s.ptr[i] != '-')
			return false;
	return s.len > 0;
}

static bool is_listed(const char *keys, struct str key)
{
	struct str rest = str_from(keys);

	while (rest.len)
		if (str_eq(str_cut(&rest, ' '), key))
			return true;
	return false;
}

/* What follows the colon of a key: the blanks up to column 9 are not part of it. */
static struct str without_padding(struct str line, size_t colon)
{
	size_t at = colon + 1;

	while (at < line.len && line.ptr[at] == ' ' && (at == colon + 1 || at < MARGIN))
		at++;
	return str_of(line.ptr + at, line.len - at);
}

/* "key: value" */
static int start_field(struct reader *r, struct str line)
{
	ptrdiff_t colon = str_index(line, ':');
	struct str key = str_of(line.ptr, colon < 0 ? 0 : (size_t)colon), first;
	struct test_case *t = r->test;
	int err;

	if (!is_key(key))
		return complain(
			r,
			"expected '-- NAME', 'key: value' or a line that is indented by 8 blanks",
			line);
	if (r->keys && !is_listed(r->keys, key)) {
		buf_printf(r->why, "%s:%u: unknown key '%.*s'; the cases of this file have: %s\n",
			   r->out->path, r->line, STR_FMT(key), r->keys);
		return -EINVAL;
	}
	end_field(r);
	err = arena_grow(&r->out->arena, (void **)&t->fields, t->field_count, &r->field_cap,
			 sizeof(*t->fields));
	if (err)
		return err;
	r->field = &t->fields[t->field_count++];
	*r->field = (struct case_field){.key = arena_str(&r->out->arena, key), .line = r->line};
	first = without_padding(line, (size_t)colon);
	if (first.len)
		add_line(r, first);
	return 0;
}

static bool is_indented(struct str line)
{
	return str_starts(line, str_of("        ", MARGIN));
}

static int read_line(struct reader *r, struct str line)
{
	if (str_starts(line, STR("-- ")) || str_eq_text(line, "--"))
		return start_case(r, line.len > 3 ? str_of(line.ptr + 3, line.len - 3)
						  : str_of("", 0));
	if (!r->test || str_starts(line, STR("#")))
		return 0;
	if (!line.len) {
		r->empty += r->field != NULL;
		return 0;
	}
	if (!is_indented(line))
		return start_field(r, line);
	if (!r->field)
		return complain(r, "this line belongs to no key", str_trim(line));
	add_line(r, str_of(line.ptr + MARGIN, line.len - MARGIN));
	return 0;
}

int case_file_parse(const char *path, struct str text, const char *keys, struct case_file *out,
		    struct buf *why)
{
	struct reader r = {.out = out, .keys = keys, .why = why, .text = BUF_INIT};
	int err = 0;

	*out = (struct case_file){.arena = ARENA_INIT};
	out->path = arena_text(&out->arena, str_from(path));
	while (text.len && !err) {
		r.line++;
		err = read_line(&r, str_cut(&text, '\n'));
	}
	if (!err)
		err = end_case(&r);
	if (!err && !out->count)
		err = complain(&r, "there is no case in this file", str_of("", 0));
	buf_free(&r.text);
	if (err)
		case_file_close(out);
	return err;
}

int case_file_open(const char *path, const char *keys, struct case_file *out, struct buf *why)
{
	struct buf text = BUF_INIT;
	int err = file_slurp(path, MAX_FILE, &text);

	if (err)
		buf_printf(why, "%s: %s\n", path, strerror(-err));
	else
		err = case_file_parse(path, buf_as_str(&text), keys, out, why);
	buf_free(&text);
	return err;
}

void case_file_close(struct case_file *f)
{
	arena_free(&f->arena);
	*f = (struct case_file){0};
}

const struct test_case *case_find(const struct case_file *f, const char *name)
{
	for (size_t i = 0; i < f->count; i++)
		if (strcmp(f->cases[i].name, name) == 0)
			return &f->cases[i];
	return NULL;
}

const struct case_field *case_next(const struct test_case *t, const char *key,
				   const struct case_field *last)
{
	for (size_t i = last ? (size_t)(last - t->fields) + 1 : 0; i < t->field_count; i++)
		if (str_eq_text(t->fields[i].key, key))
			return &t->fields[i];
	return NULL;
}

struct str case_field_value(const struct case_field *f)
{
	struct str text = f ? f->text : str_of("", 0);

	return text.len ? str_of(text.ptr, text.len - 1) : text;
}

struct str case_text(const struct test_case *t, const char *key)
{
	const struct case_field *f = case_next(t, key, NULL);

	return f ? f->text : str_of("", 0);
}

struct str case_value(const struct test_case *t, const char *key)
{
	return case_field_value(case_next(t, key, NULL));
}
