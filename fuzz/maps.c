/* Any bytes as /proc/PID/maps, for both who search for probes and who name addresses. Files that
 * come out are in the text and hold no newline; mappings are not empty, and looking for an address
 * finds one that holds it or none. */
#include <stdlib.h>
#include <string.h>

#include "symbols/process.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check_file(void *arg, const struct mapped_file *file)
{
	const struct str *text = arg;

	if (!file->inode || !file->path.len || *file->path.ptr != '/' ||
	    file->path.ptr < text->ptr || file->path.ptr + file->path.len > text->ptr + text->len ||
	    memchr(file->path.ptr, '\n', file->path.len))
		abort();
	return 0;
}

static void check_process(struct process *p)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct process_mapping *m = &p->mappings[i], *found;

		found = process_mapping_at(p, m->start);
		if (m->start >= m->end ||
		    (found && (found->start > m->start || found->end <= m->start)))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = str_of((const char *)data, size), half = str_of(text.ptr, size / 2);
	struct process *p = calloc(1, sizeof(*p));
	struct modules modules = {0};

	if (!p)
		return 0;
	maps_parse_files(text, 1, check_file, &text);
	modules_init(&modules);
	/* No pid: nothing of this machine is opened. */
	process_read_maps(p, &modules, half);
	check_process(p);
	process_read_maps(p, &modules, text);
	check_process(p);
	process_free(p);
	modules_free(&modules);
	return 0;
}
