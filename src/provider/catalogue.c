/* Finding and reading the files of the catalogue. A file is parsed when a provider is asked for
 * whose name is in its text; a file with a mistake is skipped as a whole. Each site of a file
 * asks, and both may have hundreds of thousands, so words and probes are looked up and not
 * searched. */
#include "provider/catalogue.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "provider/words.h"

#define SYSTEM_DIR "/etc/nopal/providers"
#define USER_DIR   "nopal/providers"
#define MAX_BYTES  (4u << 20) /* of a file */

struct catalogue_file {
	struct str path, text;
	struct words words;
	bool is_parsed, is_bad;
	struct provider_file content;
	const struct provider_probe **probes; /* sorted */
	struct catalogue_file *next;
};

struct catalogue {
	struct arena arena;
	struct diag diag;
	bool is_listed;
	struct catalogue_file *files, **files_end;
};

int catalogue_new(struct catalogue **out)
{
	struct catalogue *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->files_end = &c->files;
	*out = c;
	return 0;
}

void catalogue_free(struct catalogue *c)
{
	if (!c)
		return;
	for (struct catalogue_file *f = c->files; f; f = f->next)
		if (f->is_parsed)
			provider_free(&f->content);
	diag_free(&c->diag);
	arena_free(&c->arena);
	free(c);
}

static void add_text(struct catalogue *c, struct str path, struct str text)
{
	struct catalogue_file *f = arena_new(&c->arena, struct catalogue_file);

	if (!f)
		return;
	if (words_of(text, &c->arena, &f->words))
		return;
	f->path = path;
	f->text = text;
	*c->files_end = f;
	c->files_end = &f->next;
}

/* All bytes of a regular file of a sensible size; -errno. */
static int read_all(struct arena *a, int fd, struct str *out)
{
	struct stat st;
	size_t len = 0;
	char *text;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > MAX_BYTES)
		return -EFBIG;
	text = arena_alloc(a, (size_t)st.st_size + 1);
	if (!text)
		return -ENOMEM;
	while (len < (size_t)st.st_size) {
		ssize_t got = read(fd, text + len, (size_t)st.st_size - len);

		if (got < 0 && errno != EINTR)
			return -errno;
		if (!got)
			break;
		len += got > 0 ? (size_t)got : 0;
	}
	*out = str_of(text, len);
	return 0;
}

static void report_unread(struct catalogue *c, struct str path, int err)
{
	diag_warn(&c->diag, "bad-provider-file", "cannot read provider file '%.*s': %s",
		  STR_FMT(path), strerror(-err));
}

static void add_file(struct catalogue *c, struct str path)
{
	const char *name = arena_text(&c->arena, path);
	int fd = name ? open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	int err = fd < 0 ? -errno : 0;
	struct str text = STR("");

	if (!err)
		err = read_all(&c->arena, fd, &text);
	if (fd >= 0)
		close(fd);
	if (!err)
		add_text(c, str_from(name), text);
	else
		report_unread(c, path, err);
}

static int is_provider_file(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && str_ends(str_from(entry->d_name), STR(".d"));
}

/* A path that is a directory, or else a file. What is not there is no mistake in a directory that
 * may be there or not. */
static void add_path(struct catalogue *c, struct str path, bool optional)
{
	const char *name = arena_text(&c->arena, path);
	struct dirent **entries;
	struct stat st;
	int count;

	if (!name || !*name || (optional && stat(name, &st)))
		return;
	if (stat(name, &st) || !S_ISDIR(st.st_mode)) {
		add_file(c, path);
		return;
	}
	count = scandir(name, &entries, is_provider_file, alphasort);
	if (count < 0) {
		report_unread(c, path, -errno);
		return;
	}
	for (int i = 0; i < count; i++) {
		add_file(c, arena_printf(&c->arena, "%s/%s", name, entries[i]->d_name));
		free(entries[i]);
	}
	free(entries);
}

static void add_home(struct catalogue *c)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (config && *config == '/')
		add_path(c, arena_printf(&c->arena, "%s/" USER_DIR, config), true);
	else if (home && *home == '/')
		add_path(c, arena_printf(&c->arena, "%s/.config/" USER_DIR, home), true);
}

static void list_files(struct catalogue *c)
{
	const char *paths = getenv("NOPAL_PROVIDERS");
	struct str rest = str_from(paths ? paths : "");

	c->is_listed = true;
	while (rest.len)
		add_path(c, str_cut(&rest, ':'), false);
	add_home(c);
	add_path(c, STR(SYSTEM_DIR), true);
	for (size_t i = 0; i < shipped_file_count; i++)
		add_text(c, str_from(shipped_files[i].name),
			 str_of(shipped_files[i].text, shipped_files[i].len));
}

/* What a site is looked up by. */
struct probe_key {
	struct str provider, name;
	unsigned arg_count;
};

static struct probe_key key_of(const struct provider_probe *probe)
{
	return (struct probe_key){probe->provider->name, probe->name, probe->arg_count};
}

static int compare_keys(const struct probe_key *a, const struct probe_key *b)
{
	int order = str_cmp(a->provider, b->provider);

	if (!order)
		order = str_cmp(a->name, b->name);
	if (!order)
		order = a->arg_count < b->arg_count ? -1 : a->arg_count > b->arg_count;
	return order;
}

/* Of equal ones the first in the file comes first. */
static int compare_probes(const void *a, const void *b)
{
	const struct provider_probe *x = *(const struct provider_probe *const *)a,
				    *y = *(const struct provider_probe *const *)b;
	struct probe_key left = key_of(x), right = key_of(y);
	int order = compare_keys(&left, &right);

	return order ? order : x->name.ptr < y->name.ptr ? -1 : x->name.ptr > y->name.ptr;
}

/* Without memory for it the file counts as bad. */
static void sort_probes(struct catalogue *c, struct catalogue_file *f)
{
	size_t count = 0;

	if (f->is_bad)
		return;
	f->probes =
		arena_array(&c->arena, const struct provider_probe *, f->content.probe_count + 1ul);
	f->is_bad = !f->probes;
	for (const struct provider_decl *p = f->content.providers; p && f->probes; p = p->next)
		for (const struct provider_probe *probe = p->probes; probe; probe = probe->next)
			f->probes[count++] = probe;
	if (count)
		qsort(f->probes, count, sizeof(*f->probes), compare_probes);
}

static bool is_before(const void *probe, const void *key)
{
	struct probe_key here = key_of(*(const struct provider_probe *const *)probe);

	return compare_keys(&here, key) < 0;
}

static const struct provider_probe *find_in(const struct catalogue_file *f,
					    const struct probe_key *key)
{
	size_t i =
		lower_bound(f->probes, f->content.probe_count, sizeof(*f->probes), is_before, key);
	struct probe_key found;

	if (i == f->content.probe_count)
		return NULL;
	found = key_of(f->probes[i]);
	return compare_keys(&found, key) ? NULL : f->probes[i];
}

static void parse(struct catalogue *c, struct catalogue_file *f)
{
	struct diag found = DIAG_INIT;

	f->is_parsed = true;
	provider_open(&f->content);
	f->is_bad = provider_parse(&f->content, f->path, f->text, &found) != 0;
	for (const struct message *m = found.first; m && f->is_bad; m = m->next) {
		if (m->level != DIAG_ERROR)
			continue;
		diag_warn_at(&c->diag, "bad-provider-file", m->span, "%.*s", STR_FMT(m->text));
		diag_hint(&c->diag, "the file is skipped, so its probes have no argument names");
	}
	diag_free(&found);
	sort_probes(c, f);
}

const struct provider_probe *catalogue_find(struct catalogue *c, struct str provider,
					    struct str name, unsigned arg_count)
{
	const struct probe_key key = {provider, name, arg_count};
	const struct provider_probe *probe = NULL;

	if (!c->is_listed)
		list_files(c);
	for (struct catalogue_file *f = c->files; f && !probe; f = f->next) {
		if (!f->is_parsed && words_have(&f->words, provider))
			parse(c, f);
		if (f->is_parsed && !f->is_bad)
			probe = find_in(f, &key);
	}
	return probe;
}

void catalogue_problems(struct catalogue *c, struct diag *d)
{
	diag_add_all(d, &c->diag);
	diag_free(&c->diag);
	c->diag = (struct diag)DIAG_INIT;
}
