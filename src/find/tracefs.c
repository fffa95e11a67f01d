/* Tracepoints: where tracefs is, what its format files say, which events there are. What comes in
 * are names from scripts and files of the kernel (or of a directory that a test made); what goes
 * out is plain data in the caller's arena.
 *
 * A name is one step of a path and nothing else, files are opened so that neither a pipe nor a
 * device can block us, and their size is bounded. */
#include "find/tracefs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/file.h"

#define TRACEFS_MAGIC	 0x74726163
#define TRACEFS_HOME	 "/sys/kernel/tracing"
#define TRACEFS_OLD_HOME "/sys/kernel/debug/tracing"
#define FORMAT_MAX	 (1u << 20)
#define NEAR_NAME	 4 /* letters a "did you mean" may differ by */

static bool is_tracefs(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && fs.f_type == TRACEFS_MAGIC;
}

const char *tracefs_dir(struct diag *d)
{
	const char *chosen = getenv("NOPAL_TRACEFS");
	int err;

	if (chosen && *chosen)
		return chosen;
	if (is_tracefs(TRACEFS_HOME))
		return TRACEFS_HOME;
	if (is_tracefs(TRACEFS_OLD_HOME))
		return TRACEFS_OLD_HOME;
	if (mount("tracefs", TRACEFS_HOME, "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0)
		return TRACEFS_HOME;
	err = errno;
	diag_error(d, -err, "no-tracefs",
		   "tracefs is not mounted, and mounting it at '%s' failed: %s", TRACEFS_HOME,
		   strerror(err));
	diag_hint_permission(d, -err,
			     "ask root to run 'mount -t tracefs tracefs " TRACEFS_HOME "'");
	if (err == ENODEV || err == ENOENT)
		diag_hint(d, "this kernel is built without tracing, or /sys is not mounted");
	return NULL;
}

/* A category or event name must be one step of a path. */
static bool is_name(struct str name)
{
	return name.len && name.len <= NAME_MAX && !str_eq(name, STR(".")) &&
	       !str_eq(name, STR("..")) && str_index(name, '/') < 0 && str_index(name, '\0') < 0;
}

/* The name in a C declaration: after "(*" for a function pointer, otherwise the last word before
 * any [dimensions]. An empty str when there is none. */
static struct str declared_name(struct str decl)
{
	size_t end = decl.len, start;

	for (size_t i = 0; i + 1 < decl.len; i++)
		if (decl.ptr[i] == '(' && decl.ptr[i + 1] == '*') {
			for (end = i + 2; end < decl.len && char_is_word(decl.ptr[end]);)
				end++;
			return str_of(decl.ptr + i + 2, end - i - 2);
		}
	while (end && decl.ptr[end - 1] == ']') {
		while (end && decl.ptr[end - 1] != '[')
			end--;
		end -= end > 0;
	}
	start = end;
	while (start && char_is_word(decl.ptr[start - 1]))
		start--;
	return str_of(decl.ptr + start, end - start);
}

/* declaration: "char comm[16]" is "comm" of type "char[16]" */
static int parse_declaration(struct arena *a, struct str decl, struct trace_field *out)
{
	struct str before, after;

	decl = str_trim(decl);
	out->name = declared_name(decl);
	before = str_trim(str_of(decl.ptr, (size_t)(out->name.ptr - decl.ptr)));
	after = str_of(out->name.ptr + out->name.len, 0);
	after.len = (size_t)(decl.ptr + decl.len - after.ptr);
	if (!out->name.len || !before.len || str_index(decl, '\0') >= 0)
		return -EINVAL;
	out->c_type = arena_printf(a, "%.*s%.*s", STR_FMT(before), STR_FMT(after));
	if (!out->c_type.ptr)
		return -ENOMEM;
	out->is_array = after.len && after.ptr[0] == '[';
	out->is_data_loc = str_starts(before, STR("__data_loc "));
	out->is_rel_loc = str_starts(before, STR("__rel_loc "));
	return 0;
}

/* part: "offset:24" */
static int parse_number(struct str part, struct str key, uint32_t *out)
{
	uint64_t value;

	part = str_trim(part);
	if (!str_starts(part, key))
		return -EINVAL;
	part = str_trim(str_of(part.ptr + key.len, part.len - key.len));
	if (str_to_u64(part, &value) || value > UINT32_MAX)
		return -EINVAL;
	*out = (uint32_t)value;
	return 0;
}

/* field = "field:" declaration ";" "offset:" n ";" "size:" n ";" ["signed:" n ";"] */
static int add_field(struct arena *a, struct str line, struct trace_event *event,
		     struct trace_field **fields, size_t *cap)
{
	struct str rest = str_of(line.ptr + 6, line.len - 6);
	struct str decl = str_cut(&rest, ';');
	struct trace_field *out;
	uint32_t is_signed = 0, end;
	int err;

	if (event->field_count >= TRACEFS_MAX_FIELDS)
		return -E2BIG;
	if (arena_grow(a, (void **)fields, event->field_count, cap, sizeof(**fields)))
		return -ENOMEM;
	out = &(*fields)[event->field_count];
	*out = (struct trace_field){0};
	if (parse_number(str_cut(&rest, ';'), STR("offset:"), &out->offset) ||
	    parse_number(str_cut(&rest, ';'), STR("size:"), &out->size) ||
	    (str_trim(rest).len && parse_number(str_cut(&rest, ';'), STR("signed:"), &is_signed)) ||
	    __builtin_add_overflow(out->offset, out->size, &end))
		return -EINVAL;
	err = parse_declaration(a, decl, out);
	if (err)
		return err;
	out->is_signed = is_signed != 0;
	if ((out->is_data_loc || out->is_rel_loc) && out->size != 4)
		return -EINVAL;
	event->field_count++;
	return 0;
}

static int refuse_format(struct diag *d, int err, struct str event, struct str line)
{
	struct buf shown = BUF_INIT;

	buf_text(&shown, "cannot parse the format of tracepoint '");
	buf_escaped(&shown, event);
	buf_text(&shown, "' at '");
	buf_escaped(&shown, str_of(line.ptr, line.len < 80 ? line.len : 80));
	diag_error(d, err, "bad-format", "%.*s'", STR_FMT(buf_as_str(&shown)));
	buf_free(&shown);
	return err;
}

/* format = "name:" name, "ID:" n, "format:" { field }, "print fmt:" … ; a line each */
int trace_event_parse(struct arena *a, struct str text, struct trace_event *out, struct diag *d)
{
	struct trace_event event = {.name = STR("")};
	struct trace_field *fields = NULL;
	size_t cap = 0;
	int err = 0;

	text = arena_str(a, text);
	if (!text.ptr)
		return -ENOMEM;
	while (text.len && !err) {
		struct str line = str_trim(str_cut(&text, '\n'));

		if (str_starts(line, STR("print fmt:"))) {
			event.print = str_trim(str_of(line.ptr + 10, line.len - 10));
			break; /* may go on for lines that look like anything */
		}
		if (str_starts(line, STR("name:")))
			event.name = str_trim(str_of(line.ptr + 5, line.len - 5));
		else if (str_starts(line, STR("ID:")))
			err = parse_number(line, STR("ID:"), &event.id);
		else if (str_starts(line, STR("field:")))
			err = add_field(a, line, &event, &fields, &cap);
		if (err == -ENOMEM)
			return err;
		if (err)
			return refuse_format(d, err, event.name, line);
	}
	if (!event.id || !is_name(event.name))
		return refuse_format(d, -EINVAL, event.name, STR("(no name and ID)"));
	event.fields = fields;
	*out = event;
	return 0;
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* The directories in `path`, in the order of their names; -errno. Free with free_names. */
static int list_names(const char *path, struct dirent ***out)
{
	int count = scandir(path, out, NULL, compare_names);

	return count < 0 ? -errno : count;
}

static void free_names(struct dirent **names, int count)
{
	for (int i = 0; i < count; i++)
		free(names[i]);
	if (count >= 0)
		free(names);
}

/* The event that is nearest to a mistyped one; or the category, when there is none of that name. */
static void hint_near_event(const char *dir, struct str category, struct str name, struct diag *d)
{
	struct arena a = ARENA_INIT;
	struct buf shown = BUF_INIT;
	struct guess guess = {.nearest = NEAR_NAME};
	const char *in = arena_printf(&a, "%s/events/%.*s", dir, STR_FMT(category)).ptr;
	struct dirent **names;
	int count;

	if (in && faccessat(AT_FDCWD, in, F_OK, AT_EACCESS)) {
		in = arena_printf(&a, "%s/events", dir).ptr;
		name = category;
	}
	count = in ? list_names(in, &names) : -ENOMEM;
	for (int i = 0; i < count; i++)
		if (is_name(str_from(names[i]->d_name)))
			guess_offer(&guess, name, str_from(names[i]->d_name));
	buf_escaped(&shown, guess.best);
	if (shown.len)
		diag_hint(d, "did you mean '%s'?", shown.ptr);
	free_names(names, count);
	arena_free(&a);
	buf_free(&shown);
}

static int refuse_event(struct diag *d, int err, const char *dir, struct str category,
			struct str name)
{
	struct buf shown = BUF_INIT;

	buf_escaped(&shown, category);
	buf_char(&shown, ':');
	buf_escaped(&shown, name);
	if (err == -ENOENT || err == -ENOTDIR) {
		err = -ENOENT;
		diag_error(d, err, "unknown-tracepoint", "unknown tracepoint '%s'", shown.ptr);
		hint_near_event(dir, category, name, d);
	} else {
		diag_error(d, err, "unreadable-tracepoint",
			   "cannot read tracepoint '%s' in '%s': %s", shown.ptr, dir,
			   strerror(-err));
		diag_hint_permission(d, err,
				     "with CAP_DAC_READ_SEARCH: other users cannot read tracefs");
	}
	buf_free(&shown);
	return err;
}

static int refuse_name(struct diag *d, struct str category, struct str name)
{
	struct buf shown = BUF_INIT;

	buf_escaped(&shown, category);
	buf_char(&shown, ':');
	buf_escaped(&shown, name);
	diag_error(d, -EINVAL, "bad-tracepoint", "'%s' is not a valid tracepoint name", shown.ptr);
	buf_free(&shown);
	return -EINVAL;
}

int trace_event_read(struct arena *a, struct str category, struct str name, struct trace_event *out,
		     struct diag *d)
{
	struct buf path = BUF_INIT, text = BUF_INIT;
	const char *dir;
	int err;

	if (!is_name(category) || !is_name(name))
		return refuse_name(d, category, name);
	dir = tracefs_dir(d);
	if (!dir)
		return -ENOENT;
	buf_printf(&path, "%s/events/%.*s/%.*s/format", dir, STR_FMT(category), STR_FMT(name));
	err = path.failed ? -ENOMEM : file_slurp(path.ptr, FORMAT_MAX, &text);
	if (err)
		err = refuse_event(d, err, dir, category, name);
	else
		err = trace_event_parse(a, buf_as_str(&text), out, d);
	buf_free(&path);
	buf_free(&text);
	return err;
}

/* One level of events/: what the callback of a level gets. */
struct event_walk {
	const char *dir;
	struct str name_pattern;
	trace_event_fn *fn;
	void *arg;
};

static int walk_category(const struct event_walk *w, struct str category, struct diag *d)
{
	struct arena a = ARENA_INIT;
	const char *path = arena_printf(&a, "%s/events/%.*s", w->dir, STR_FMT(category)).ptr;
	struct dirent **names = NULL;
	int count = path ? list_names(path, &names) : -ENOMEM, result = 0;

	for (int i = 0; i < count && !result; i++) {
		struct str name = str_from(names[i]->d_name);
		const char *enable;

		if (!is_name(name) || !str_match(w->name_pattern, name))
			continue;
		/* "enable" and "filter" are not events; and what the function tracer writes has
		 * a format, but cannot be attached to. */
		enable = arena_printf(&a, "%s/%s/enable", path, names[i]->d_name).ptr;
		if (enable && faccessat(AT_FDCWD, enable, F_OK, AT_EACCESS) == 0)
			result = w->fn(w->arg, category, name);
	}
	free_names(names, count);
	arena_free(&a);
	/* "enable" is not a category, and categories may go away meanwhile. */
	if (count >= 0 || count == -ENOTDIR || count == -ENOENT)
		return result;
	return refuse_event(d, count, w->dir, category, w->name_pattern);
}

int trace_events_each(struct str category, struct str name, trace_event_fn *fn, void *arg,
		      struct diag *d)
{
	struct event_walk w = {.name_pattern = name, .fn = fn, .arg = arg};
	struct buf path = BUF_INIT;
	struct dirent **names = NULL;
	int count, result = 0;

	if (!is_name(category) || !is_name(name))
		return refuse_name(d, category, name);
	w.dir = tracefs_dir(d);
	if (!w.dir)
		return -ENOENT;
	if (!str_has_wildcard(category))
		return walk_category(&w, category, d);
	buf_printf(&path, "%s/events", w.dir);
	count = path.failed ? -ENOMEM : list_names(path.ptr, &names);
	if (count < 0)
		result = refuse_event(d, count, w.dir, category, name);
	for (int i = 0; i < count && !result; i++) {
		struct str found = str_from(names[i]->d_name);

		if (is_name(found) && str_match(category, found))
			result = walk_category(&w, found, d);
	}
	free_names(names, count);
	buf_free(&path);
	return result;
}
