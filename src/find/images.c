/* From a query's path and pid to images. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/proc.h"
#include "find/finder.h"
#include "find/lookup.h"
#include "find/nearby.h"
#include "find/process.h"
#include "symbols/maps.h"

/* One query while it runs. */
struct image_search {
	struct finder *f;
	struct image_set *out;
	struct str wanted;   /* mapped files that match; empty: all */
	struct str resolved; /* the same pattern, as mapped files are named; empty: there is none */
	bool is_short;	     /* ... those of which it is a short name */
	unsigned forbidden;  /* processes that we may not inspect */
};

struct image_names {
	struct str path, open_path, mapped_path;
};

/* `names`: how the image was found; its copies are the finding's. */
static int add_finding(struct image_search *s, struct cached_image *image,
		       const struct image_names *names, pid_t pid)
{
	struct image_set *out = s->out;
	struct finding *finding =
		cache_finding(image, names->path, names->open_path, names->mapped_path, pid);

	if (!finding)
		return -ENOMEM;
	image->query = s->f->query;
	image->found = finding;
	if (array_grow(out->items, out->count, out->cap))
		return -ENOMEM;
	out->items[out->count++] = finding;
	return 0;
}

/* Does the user mean this mapped file? By its whole path, or by its last part when that is all they
 * gave; a deleted file also without the kernel's remark. */
static bool is_wanted(struct str wanted, struct str path, bool is_short)
{
	struct str plain = path;

	if (!wanted.len || str_match(wanted, path))
		return true;
	if (str_ends(plain, STR(MAPPED_DELETED)))
		plain.len -= sizeof(MAPPED_DELETED) - 1;
	if (str_index(wanted, '/') < 0)
		plain = str_after_last(plain, '/');
	return is_short ? lookup_is_short(wanted, plain) : str_match(wanted, plain);
}

/* A pattern with links in its path, or that is relative, as mapped files are named: what comes
 * before its first wildcard is resolved. Empty when there is nothing to resolve. */
static struct str resolve_pattern(struct str pattern, struct arena *a)
{
	size_t wild = 0, slash = 0;
	struct str folder, result = STR("");
	char *real;

	while (wild < pattern.len && pattern.ptr[wild] != '*' && pattern.ptr[wild] != '?')
		wild++;
	for (size_t i = 0; i < wild; i++)
		if (pattern.ptr[i] == '/')
			slash = i + 1;
	if (str_index(pattern, '/') < 0)
		return result;
	folder = arena_str(a, slash ? str_of(pattern.ptr, slash) : STR("."));
	real = folder.ptr ? realpath(folder.ptr, NULL) : NULL;
	if (real)
		result = arena_printf(a, "%s/%.*s", real[1] ? real : "", (int)(pattern.len - slash),
				      pattern.ptr + slash);
	free(real);
	return result;
}

bool finder_wants(struct str path, struct str mapped)
{
	struct arena a = ARENA_INIT;
	struct str real;
	bool wants = is_wanted(path, mapped, false);

	if (!wants && str_has_wildcard(path)) {
		real = resolve_pattern(path, &a);
		wants = real.len && is_wanted(real, mapped, false);
	}
	arena_free(&a);
	return wants;
}

static int take_mapped(void *arg, const struct mapped_file *file)
{
	struct image_search *s = arg;
	struct str path = file->path;
	struct image_names names = {.path = path, .mapped_path = STR("")};
	struct cached_image *image;
	struct buf plain = BUF_INIT;
	struct stat st, other;
	int err;

	if (!is_wanted(s->wanted, path, s->is_short) &&
	    !(s->resolved.len && is_wanted(s->resolved, path, false)))
		return 0;
	if (mapped_file_locate(file, &s->f->name, &st))
		return 0;
	image = cache_image(&s->f->cache, &st);
	if (!image)
		return -ENOMEM;
	if (image->query == s->f->query)
		return cache_add_way(image->found, buf_as_str(&s->f->name));
	/* Its plain path is better when it leads to the same file: it outlives the process. */
	buf_str(&plain, path);
	names.open_path = buf_as_str(&s->f->name);
	if (!mapped_is_deleted(file) && !plain.failed && !stat(plain.ptr, &other) &&
	    other.st_dev == st.st_dev && other.st_ino == st.st_ino) {
		names.mapped_path = names.open_path;
		names.open_path = buf_as_str(&plain);
	}
	err = add_finding(s, image, &names, file->pid);
	buf_free(&plain);
	return err;
}

static int take_process(void *arg, pid_t pid)
{
	struct image_search *s = arg;
	int err = maps_each_file(pid, &s->f->text, take_mapped, s);

	if (err == -EACCES || err == -EPERM)
		s->forbidden++;
	return err == -ENOMEM ? err : 0; /* it may have ended meanwhile */
}

static int search_all(struct image_search *s, struct diag *d)
{
	int err = processes_each(take_process, s);

	if (s->forbidden && !s->f->said_forbidden) {
		diag_warn(d, "no-permission", "%u process%s could not be inspected: %s",
			  s->forbidden, s->forbidden > 1 ? "es" : "", strerror(EACCES));
		diag_hint(d, geteuid() ? "they belong to other users: run as root, with "
					 "CAP_SYS_PTRACE"
				       : "they are closed to root, too: it lacks "
					 "CAP_SYS_PTRACE here, or the system protects them");
	}
	s->f->said_forbidden |= s->forbidden > 0;
	return err;
}

static int search_process(struct image_search *s, pid_t pid, struct diag *d)
{
	int err = maps_each_file(pid, &s->f->text, take_mapped, s);

	if (err == -ESRCH)
		return diag_error(d, err, "no-process", "there is no process %d", (int)pid);
	if (err != -EACCES && err != -EPERM)
		return err;
	diag_error(d, err, "no-permission", "cannot inspect process %d: %s", (int)pid,
		   strerror(-err));
	diag_hint_permission(d, err, "as the user who owns it");
	return err;
}

static int take_file(struct image_search *s, pid_t pid, const struct located *file)
{
	struct cached_image *image;
	struct stat st;

	if (stat(file->open_path.ptr, &st) || !S_ISREG(st.st_mode))
		return 0;
	image = cache_image(&s->f->cache, &st);
	if (!image)
		return -ENOMEM;
	if (image->query == s->f->query)
		return 0;
	return add_finding(s, image, &(struct image_names){file->path, file->open_path, STR("")},
			   pid);
}

/* Files on disk that match a pattern, which is one of names of `pid` when there is a prefix: its
 * root, as we see it. */
struct matches {
	struct image_search *search;
	pid_t pid;
	size_t prefix;
};

static int take_match(void *arg, struct str path)
{
	const struct matches *m = arg;
	struct arena names = ARENA_INIT;
	struct located file = {path, path};
	int err = 0;

	if (m->prefix)
		err = lookup_file(m->pid, str_of(path.ptr + m->prefix, path.len - m->prefix),
				  &names, &file);
	if (!err)
		err = take_file(m->search, m->prefix ? m->pid : 0, &file);
	arena_free(&names);
	return err == -ENOENT ? 0 : err;
}

static int search_pattern(struct image_search *s, pid_t pid, struct str path)
{
	struct matches matches = {.search = s, .pid = pid};
	struct buf text = BUF_INIT;
	int err;

	if (pid && *path.ptr == '/') {
		buf_printf(&text, "/proc/%d/root", (int)pid);
		matches.prefix = text.len;
	}
	buf_str(&text, path);
	err = text.failed ? -ENOMEM : lookup_pattern(buf_as_str(&text), take_match, &matches);
	buf_free(&text);
	return err;
}

/* Its parent may not have asked for its status yet. */
static bool has_ended(pid_t pid)
{
	struct process_state p;

	return process_state_read(pid, &p) || (p.state == 'Z' && p.threads <= 1);
}

static int not_found(pid_t pid, struct str path, struct arena *a, struct diag *d)
{
	struct buf safe = BUF_INIT;
	struct str name = arena_str(a, path);
	struct image *image;
	int err;

	/* Opening it gives the best message: a directory, no permission, ... */
	if (name.ptr && strlen(name.ptr) == path.len && str_index(path, '/') >= 0 && !pid) {
		err = image_open(name.ptr, &image, d);
		if (err == -ENOENT)
			nearby_hint(d, path);
		if (err)
			return -ENOENT;
		image_close(image); /* it was created meanwhile */
	}
	buf_escaped(&safe, path);
	if (pid && has_ended(pid))
		diag_error(d, 0, "no-process", "process %d has ended", (int)pid);
	else if (pid)
		diag_error(d, 0, "no-file", "process %d has no file '%.*s'", (int)pid,
			   STR_FMT(buf_as_str(&safe)));
	else
		diag_error(d, 0, "no-file", "cannot find '%.*s'", STR_FMT(buf_as_str(&safe)));
	if (name.ptr && path.len && strspn(name.ptr, "0123456789") == path.len)
		diag_hint(d, "a process is -p %.*s", STR_FMT(path));
	else if (str_index(path, '/') < 0)
		diag_hint(d,
			  "searched $PATH, the loader's cache and the current directory; give "
			  "the full path, '%.*s:*' for the probes of a provider, '*:%.*s' for a "
			  "probe, "
			  "or c:NAME for a function of libc",
			  STR_FMT(buf_as_str(&safe)), STR_FMT(buf_as_str(&safe)));
	buf_free(&safe);
	return -ENOENT;
}

/* What the process has mapped under that name comes first: the file there now may be another. */
static int search_named(struct image_search *s, pid_t pid, struct str path, struct diag *d)
{
	struct arena names = ARENA_INIT;
	struct located file;
	int err = 0;

	s->out->named = true;
	s->wanted = path;
	if (pid)
		err = search_process(s, pid, d);
	s->is_short = str_index(path, '/') < 0;
	if (pid && !err && !s->out->count && s->is_short)
		err = search_process(s, pid, d);
	if (err || s->out->count)
		return err;
	err = lookup_file(pid, path, &names, &file);
	if (!err)
		err = take_file(s, pid, &file);
	else if (err == -ENOENT)
		err = not_found(pid, path, &names, d);
	arena_free(&names);
	return err;
}

static int search_path(struct image_search *s, pid_t pid, struct str path, struct diag *d)
{
	bool all = !path.len || str_eq(path, STR("*"));
	struct arena a = ARENA_INIT;
	int err;

	if (pid && all)
		return search_process(s, pid, d);
	if (pid && str_has_wildcard(path)) {
		/* What the process has mapped, and what is on disk: it may come to be mapped. A
		 * pattern without a folder is one of mapped files only. */
		s->wanted = path;
		s->resolved = resolve_pattern(path, &a);
		err = search_process(s, pid, d);
		if (!err && str_index(path, '/') >= 0)
			err = search_pattern(s, pid, path);
		arena_free(&a);
		return err;
	}
	if (!path.len)
		return diag_error(d, -EINVAL, "no-path", "neither a file nor a process to search");
	if (all)
		return search_all(s, d);
	if (str_has_wildcard(path))
		return search_pattern(s, 0, path);
	return search_named(s, pid, path, d);
}

static int compare_findings(const void *a, const void *b)
{
	const struct finding *const *x = a, *const *y = b;
	int order = str_cmp((*x)->image.path, (*y)->image.path);

	return order ? order : (*x)->image.pid - (*y)->image.pid;
}

int finder_images(struct finder *f, pid_t pid, struct str path, struct image_set *out,
		  struct diag *d)
{
	struct image_search s = {.f = f, .out = out};
	int err;

	*out = (struct image_set){0};
	f->query++;
	err = search_path(&s, pid, path, d);
	if (err) {
		free(out->items);
		*out = (struct image_set){0};
		return err;
	}
	if (out->count)
		qsort(out->items, out->count, sizeof(*out->items), compare_findings);
	return 0;
}
