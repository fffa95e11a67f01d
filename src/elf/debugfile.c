/* Looking for separate debug files. A file of the right name that belongs to another build is
 * ignored. */
#include "elf/debugfile.h"

#include <libelf.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "base/array.h"
#include "base/cursor.h"

/* The checksum is over the whole file, which may be as large as its owner likes: reading it is
 * work. */
static bool has_checksum(const struct image *image, uint32_t want)
{
	unsigned char piece[65536];
	uLong sum = crc32(0, NULL, 0);
	uint64_t at = 0;
	ssize_t got;

	while ((got = image_read(image, at, piece, sizeof(piece))) > 0) {
		if (!budget_work(image->budget, 3 * (uint64_t)got))
			return false;
		sum = crc32(sum, piece, (uInt)got);
		at += (uint64_t)got;
	}
	return !got && sum == want;
}

/* The debug file of one image, while it is looked for. */
struct hunt {
	const struct image *image;
	struct str path, root;
	bool trusted; /* only root's own */
	struct arena names;
};

/* Open `path` if it is a file of the same build: same build-id, or, without one, same checksum.
 * A path without text is one that found no memory. */
static struct image *open_if_ours(const struct hunt *h, struct str path, const uint32_t *sum)
{
	const struct image *image = h->image;
	struct str id = image_build_id(image);
	struct image *found;

	if (!path.ptr || access(path.ptr, R_OK) || image_open(path.ptr, &found, NULL))
		return NULL;
	image_set_budget(found, image->budget);
	if ((!h->trusted || file_is_roots(found->file)) && found->machine == image->machine &&
	    found->word == image->word &&
	    (id.len ? str_eq(id, image_build_id(found)) : sum && has_checksum(found, *sum)))
		return found;
	image_close(found);
	return NULL;
}

/* Where a folder such as "/usr/lib/debug" has the file of a build-id. */
static struct str name_in(struct arena *a, struct str root, struct str folder, struct str id)
{
	struct buf hex = BUF_INIT;
	struct str path;

	buf_hex_byte(&hex, id.ptr[0]);
	buf_char(&hex, '/');
	buf_hex_bytes(&hex, str_of(id.ptr + 1, id.len - 1));
	path = arena_printf(a, "%.*s%.*s/.build-id/%.*s.debug", STR_FMT(root), STR_FMT(folder),
			    STR_FMT(buf_as_str(&hex)));
	buf_free(&hex);
	return path;
}

struct str debugfile_name(struct arena *a, struct str root, struct str id)
{
	return name_in(a, root, STR("/usr/lib/debug"), id);
}

/* The next of the folders that --debuginfo names, with colons between; "": there are no more. */
static struct str next_folder(struct str *folders)
{
	struct str folder = STR("");

	while (folders->len && !folder.len)
		folder = str_cut(folders, ':');
	return folder;
}

static struct str chosen_folders(void)
{
	return str_from(getenv("NOPAL_DEBUGINFO"));
}

static struct image *open_by_build_id(struct hunt *h)
{
	struct str id = image_build_id(h->image), rest = chosen_folders(), folder;
	struct image *found = NULL;

	if (id.len < 2)
		return NULL;
	while (!found && (folder = next_folder(&rest)).len)
		found = open_if_ours(h, name_in(&h->names, STR(""), folder, id), NULL);
	return found ? found : open_if_ours(h, debugfile_name(&h->names, h->root, id), NULL);
}

/* Where debuginfod-find(1) keeps what it has fetched; nothing is fetched here. */
static struct str cache_folder(struct arena *a)
{
	const char *path = getenv("DEBUGINFOD_CACHE_PATH"), *xdg = getenv("XDG_CACHE_HOME"),
		   *home = getenv("HOME");

	if (path && *path)
		return arena_str(a, str_from(path));
	if (xdg && *xdg)
		return arena_printf(a, "%s/debuginfod_client", xdg);
	return home && *home ? arena_printf(a, "%s/.cache/debuginfod_client", home) : STR("");
}

static struct image *open_by_cache(struct hunt *h)
{
	struct str id = image_build_id(h->image), folder = cache_folder(&h->names), path;
	struct buf hex = BUF_INIT;

	if (id.len < 2 || !folder.len)
		return NULL;
	buf_hex_bytes(&hex, id);
	path = arena_printf(&h->names, "%.*s/%.*s/debuginfo", STR_FMT(folder),
			    STR_FMT(buf_as_str(&hex)));
	buf_free(&hex);
	return open_if_ours(h, path, NULL);
}

/* The file that the link names, in the folders of --debuginfo, or where these have what is in
 * `dir`. */
static struct image *open_chosen(struct hunt *h, struct str dir, struct str name, uint32_t sum)
{
	struct str rest = chosen_folders(), folder;
	struct image *found = NULL;

	while (!found && (folder = next_folder(&rest)).len) {
		const struct str places[] = {dir, STR("")};

		for (size_t i = 0; i < COUNT(places) && !found; i++) {
			struct str try =
				arena_printf(&h->names, "%.*s%s%.*s/%.*s", STR_FMT(folder),
					     places[i].len && *places[i].ptr != '/' ? "/" : "",
					     STR_FMT(places[i]), STR_FMT(name));

			found = open_if_ours(h, try, &sum);
		}
	}
	return found;
}

/* The section's content: a file name, a NUL, padding to 4, the checksum. */
static struct image *open_by_link(struct hunt *h)
{
	static const char *const formats[] = {
		"%.*s%.*s/%.*s",
		"%.*s%.*s/.debug/%.*s",
		"%.*s/usr/lib/debug%.*s/%.*s",
	};
	const struct section *section = image_section(h->image, ".gnu_debuglink", NULL);
	struct str content, name, dir = h->path;
	struct image *found = NULL;
	struct cursor c;
	uint32_t sum;

	if (!section || image_content(h->image, section, 4096, &content))
		return NULL;
	c = cursor_of(content.ptr, content.len, h->image->big_endian);
	if (!cursor_text(&c, &name) || !name.len || str_index(name, '/') >= 0 ||
	    !cursor_skip(&c, (4 - (name.len + 1) % 4) % 4) || !cursor_u32(&c, &sum))
		return NULL;
	dir.len -= str_after_last(dir, '/').len;
	if (!dir.len)
		dir = STR("./");
	dir.len--;
	for (size_t i = 0; i < COUNT(formats) && !found; i++) {
		struct str rest = dir, first = i < 2 ? STR("") : h->root, try;

		/* The path of an image opened through `root` begins with it already. */
		if (i == 2 && h->root.len && str_starts(dir, h->root))
			rest = str_of(dir.ptr + h->root.len, dir.len - h->root.len);
		try = arena_printf(&h->names, formats[i], STR_FMT(first), STR_FMT(rest),
				   STR_FMT(name));
		if (try.ptr && !str_eq(try, h->path))
			found = open_if_ours(h, try, &sum);
	}
	return found ? found : open_chosen(h, dir, name, sum);
}

struct image *debugfile_open(const struct image *image, struct str path, struct str root)
{
	struct hunt h = {.image = image, .path = path, .root = root, .names = ARENA_INIT};
	struct image *found;

	if (image->fd < 0)
		return NULL;
	if (str_eq(root, DEBUG_TRUSTED)) {
		h.root = STR("");
		h.trusted = true;
	}
	found = open_by_build_id(&h);
	if (!found)
		found = open_by_link(&h);
	if (!found)
		found = open_by_cache(&h);
	arena_free(&h.names);
	return found;
}

struct image *debugfile_open_symbols(const struct image *image, struct str path, struct str root)
{
	return image_section_of_type(image, SHT_SYMTAB) ? NULL : debugfile_open(image, path, root);
}
