/* Finding and reading the files of the catalogue. A file is parsed when a provider is asked for
 * whose name is in its text; a file with a mistake is skipped as a whole. Each site of a file
 * asks, and both may have hundreds of thousands, so words and probes are hashed. */
#include "provider/catalogue.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/hash.h"

#define SYSTEM_DIR "/etc/nopal/providers"
#define USER_DIR   "nopal/providers"
#define MAX_BYTES  (4u << 20) /* of a file */

struct catalogue_file {
	struct str path, text;
	struct hash words; /* of the text, by their number */
	bool is_parsed, is_bad;
	struct provider_file content;
	const struct provider_probe **probes; /* the last one first */
	struct hash by_key;		      /* of probes */
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
	for (struct catalogue_file *f = c->files; f; f = f->next) {
		hash_free(&f->words);
		hash_free(&f->by_key);
		if (f->is_parsed)
			provider_free(&f->content);
	}
	diag_free(&c->diag);
	arena_free(&c->arena);
	free(c);
}

static void add_text(struct catalogue *c, struct str path, struct str text)
{
	struct catalogue_file *f = arena_new(&c->arena, struct catalogue_file);
	size_t count = 0;

	if (!f)
		return;
	f->path = path;
	f->text = text;
	for (size_t start = 0, end; start < text.len; start = end + 1) {
		for (end = start; end < text.len && char_is_word(text.ptr[end]);)
			end++;
		if (end > start &&
		    hash_add(&f->words, hash_str(0, str_of(text.ptr + start, end - start)),
			     count++))
			break;
	}
	*c->files_end = f;
	c->files_end = &f->next;
}

static void report_unread(struct catalogue *c, struct str path, int err)
{
	diag_warn(&c->diag, "bad-provider-file", "cannot read provider file '%.*s': %s",
		  STR_FMT(path), strerror(-err));
}

static void add_file(struct catalogue *c, struct str path)
{
	const char *name = arena_text(&c->arena, path);
	struct buf text = BUF_INIT;
	int err = name ? file_slurp(name, MAX_BYTES, &text) : -ENOMEM;

	if (!err)
		add_text(c, str_from(name), arena_str(&c->arena, buf_as_str(&text)));
	else
		report_unread(c, path, err);
	buf_free(&text);
}

static int is_provider_file(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && str_ends(str_from(entry->d_name), STR(".d"));
}

/* Add a directory or a file. An `optional` one may be missing. */
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

static void list_files(struct catalogue *c)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	const char *paths = getenv("NOPAL_PROVIDERS");
	struct str rest = str_from(paths ? paths : "");

	c->is_listed = true;
	while (rest.len)
		add_path(c, str_cut(&rest, ':'), false);
	if (config && *config == '/')
		add_path(c, arena_printf(&c->arena, "%s/" USER_DIR, config), true);
	else if (home && *home == '/')
		add_path(c, arena_printf(&c->arena, "%s/.config/" USER_DIR, home), true);
	add_path(c, STR(SYSTEM_DIR), true);
	for (size_t i = 0; i < shipped_file_count; i++)
		add_text(c, str_from(shipped_files[i].name),
			 str_of(shipped_files[i].text, shipped_files[i].len));
}

/* What a site is looked up by. */
static uint64_t hash_key(struct str provider, struct str name, unsigned arg_count)
{
	return hash_str(hash_str(arg_count, provider), name);
}

/* Of equal probes the first in the file is the newest in the table. Without memory for it the file
 * counts as bad. */
static void parse_file(struct catalogue *c, struct catalogue_file *f)
{
	struct diag found = DIAG_INIT;
	size_t count;

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
	if (f->is_bad)
		return;
	count = f->content.probe_count;
	f->probes = arena_array(&c->arena, const struct provider_probe *, count + 1);
	f->is_bad = !f->probes;
	for (const struct provider_decl *p = f->content.providers; p && !f->is_bad; p = p->next)
		for (const struct provider_probe *probe = p->probes; probe; probe = probe->next)
			f->probes[--count] = probe;
	for (; count < f->content.probe_count && !f->is_bad; count++) {
		const struct provider_probe *probe = f->probes[count];

		f->is_bad = hash_add(&f->by_key,
				     hash_key(probe->provider->name, probe->name, probe->arg_count),
				     count);
	}
}

const struct provider_probe *catalogue_find(struct catalogue *c, struct str provider,
					    struct str name, unsigned arg_count)
{
	uint64_t key = hash_key(provider, name, arg_count), word = hash_str(0, provider);

	if (!c->is_listed)
		list_files(c);
	for (struct catalogue_file *f = c->files; f; f = f->next) {
		if (!f->is_parsed && hash_first(&f->words, word) != HASH_END)
			parse_file(c, f);
		if (!f->is_parsed || f->is_bad)
			continue;
		hash_each(i, &f->by_key, key)
			if (f->probes[i]->arg_count == arg_count &&
			    str_eq(f->probes[i]->name, name) &&
			    str_eq(f->probes[i]->provider->name, provider))
				return f->probes[i];
	}
	return NULL;
}

void catalogue_problems(struct catalogue *c, struct diag *d)
{
	diag_add_all(d, &c->diag);
	diag_free(&c->diag);
	c->diag = (struct diag)DIAG_INIT;
}
