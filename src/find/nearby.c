/* Looking around: similar names, other roots, libraries. */
#include "find/nearby.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/proc.h"
#include "find/find.h"
#include "find/lookup.h"

#define MAX_ENTRIES   20000 /* of a folder that are looked at */
#define MAX_LIBRARIES 256
#define MAX_DYNAMIC   (1u << 20) /* bytes of a table that are read */
#define MAX_STRINGS   (16u << 20)

/* The file of the folder of `path` whose name is most like its last part; empty: none is. */
static struct str similar_name(struct str path, struct arena *a)
{
	struct guess guess = {.nearest = 3};
	struct str name = str_after_last(path, '/'), folder;
	struct dirent *entry;
	DIR *dir;

	folder = arena_str(a, str_of(path.ptr, path.len - name.len));
	dir = name.len && folder.ptr ? opendir(folder.len ? folder.ptr : ".") : NULL;
	for (unsigned n = 0; dir && n < MAX_ENTRIES && (entry = readdir(dir)); n++) {
		struct str other = str_from(entry->d_name);
		bool is_near = str_distance(other, name, guess.nearest) <= name.len / 3;

		if (entry->d_type != DT_DIR && is_near && guess_offer(&guess, name, other))
			guess.best = arena_str(a, other);
	}
	if (dir)
		closedir(dir);
	if (!guess.best.len)
		return STR("");
	return arena_printf(a, "%.*s%.*s", STR_FMT(folder), STR_FMT(guess.best));
}

struct root_search {
	struct str path;
	struct arena *arena;
	pid_t found; /* 0: none so far */
};

static int look_in_root(void *arg, pid_t pid)
{
	struct root_search *s = arg;
	struct str inner = arena_printf(s->arena, "/proc/%d/root%.*s", (int)pid, STR_FMT(s->path));
	struct stat st;

	if (!inner.ptr)
		return -ENOMEM;
	s->found = stat(inner.ptr, &st) || !S_ISREG(st.st_mode) ? 0 : pid;
	return s->found;
}

void nearby_hint(struct diag *d, struct str path)
{
	struct arena a = ARENA_INIT;
	struct root_search s = {.path = path, .arena = &a};
	struct str name = d ? similar_name(path, &a) : STR("");
	struct buf safe = BUF_INIT;

	if (d && !name.len && path.len && path.ptr[0] == '/')
		processes_each(look_in_root, &s);
	buf_escaped(&safe, name);
	if (name.len)
		diag_hint(d, "did you mean '%.*s'?", STR_FMT(buf_as_str(&safe)));
	else if (s.found > 0)
		diag_hint(d,
			  "process %d, in a container, has such a file: use -p %d, or the path "
			  "/proc/%d/root%.*s",
			  (int)s.found, (int)s.found, (int)s.found, STR_FMT(path));
	buf_free(&safe);
	arena_free(&a);
}

/* The strings that a section of the type SHT_DYNAMIC refers to. */
static struct str strings_of(const struct image *image, const struct section *dynamic)
{
	struct str strings;

	for (size_t i = 0; i < image->section_count; i++)
		if (image->sections[i].index == dynamic->link &&
		    !image_content(image, &image->sections[i], MAX_STRINGS, &strings))
			return strings;
	return STR("");
}

int nearby_libraries(const struct image *image, int (*fn)(void *arg, struct str name), void *arg)
{
	const struct section *dynamic = image_section_of_type(image, SHT_DYNAMIC);
	struct str table, strings, name;
	uint64_t tag, value;
	struct cursor c, at;
	int err = 0;

	if (!dynamic || image_content(image, dynamic, MAX_DYNAMIC, &table))
		return 0;
	strings = strings_of(image, dynamic);
	c = cursor_of(table.ptr, table.len, image->big_endian);
	for (unsigned n = 0; n < MAX_LIBRARIES && !err;) {
		if (!cursor_word(&c, image->word, &tag) || !cursor_word(&c, image->word, &value))
			break;
		if (tag != DT_NEEDED || value >= strings.len)
			continue;
		at = cursor_of(strings.ptr + value, strings.len - value, image->big_endian);
		n++;
		if (cursor_text(&at, &name) && name.len)
			err = fn(arg, name);
	}
	return err;
}

struct library_search {
	struct finder *finder;
	struct arena *arena;
	struct str function; /* that it should have */
	struct str path;     /* of the first with probes, or with the function */
	size_t count;
};

static int take_library(void *arg, const struct found_image *image, const size_t *matches,
			size_t count)
{
	struct library_search *s = arg;

	(void)matches;
	s->path = arena_str(s->arena, image->path);
	s->count = count;
	return 0;
}

/* Those that every program has say nothing of this one. */
static int look_in_library(void *arg, struct str name)
{
	static const char *const common[] = {"libc.so",	     "libm.so",	    "libpthread.so",
					     "libstdc++.so", "libgcc_s.so", "ld-linux"};
	struct library_search *s = arg;
	struct find_query q = {.path = name};

	for (size_t i = 0; i < COUNT(common); i++)
		if (str_starts(name, str_from(common[i])))
			return 0;
	finder_sites(s->finder, &q, take_library, s, NULL);
	return s->count > 0;
}

/* Call the function with the name of each library that the file is linked with. */
static void each_library(struct str path, int (*fn)(void *arg, struct str name),
			 struct library_search *s)
{
	struct image *image;
	struct located file;

	if (lookup_file(0, path, s->arena, &file) || image_open(file.open_path.ptr, &image, NULL))
		return;
	nearby_libraries(image, fn, s);
	image_close(image);
}

struct str finder_library(struct finder *f, struct str path, struct arena *a, size_t *count)
{
	struct library_search s = {.finder = f, .arena = a, .path = STR("")};

	each_library(path, look_in_library, &s);
	*count = s.count;
	return s.path;
}

static int take_function(void *arg, const struct found_function *function)
{
	struct library_search *s = arg;

	s->path = arena_str(s->arena, function->path);
	return 1;
}

static int look_for_function(void *arg, struct str name)
{
	struct library_search *s = arg;
	struct find_query q = {.path = name, .name = s->function};

	finder_functions(s->finder, &q, take_function, s, NULL);
	return s->path.len > 0;
}

struct str finder_function_library(struct finder *f, struct str path, struct str name,
				   struct arena *a)
{
	struct library_search s = {.finder = f, .arena = a, .function = name, .path = STR("")};

	each_library(path, look_for_function, &s);
	return s.path;
}
