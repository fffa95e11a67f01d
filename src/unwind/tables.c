/* Files, processes, and the memory that the kernel reads; see tables.h. */
#include "unwind/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"

/* Of a file: from offsets to link-time addresses. */
struct code_segment {
	uint64_t offset, size, address;
};

struct file_table {
	bool tried;
	uint32_t first, count; /* as in struct unwind_mapping */
	uint64_t base;
	uint64_t proof_at, proof; /* at a link-time address; 0: none */
	struct unwind_file_key key;
	struct code_segment *segments; /* owned */
	size_t segment_count, segment_cap;
};

/* Mappings that processes share. */
struct shared_run {
	uint32_t first, count, cap;
	uint32_t processes; /* that have it */
	uint64_t freed_at;  /* when the last one left it, ns */
	bool unframed;
};

struct known_process {
	pid_t pid;
	uint32_t run; /* index; NO_RUN */
};

#define NO_RUN UINT32_MAX

struct unwind_tables {
	struct unwind_rules rules;
	uint32_t rules_given;	  /* to the kernel */
	struct file_table *files; /* by number */
	size_t file_count, file_cap;
	struct shared_run *runs;
	size_t run_count, run_cap;
	struct known_process *processes;
	size_t process_count, process_cap;
	struct unwind_memory memory;
	size_t word_count, mapping_count;
	bool is_moved, has_left;
	struct unwind_publisher publisher; /* .process NULL: there is none */
};

int unwind_tables_new(struct unwind_tables **out)
{
	struct unwind_tables *u = calloc(1, sizeof(*u));

	if (!u || unwind_rules_init(&u->rules)) {
		free(u);
		return -ENOMEM;
	}
	*out = u;
	return 0;
}

void unwind_tables_free(struct unwind_tables *u)
{
	if (!u)
		return;
	for (size_t i = 0; i < u->file_count; i++)
		free(u->files[i].segments);
	if (!u->is_moved) {
		free(u->memory.words);
		free(u->memory.mappings);
	}
	free(u->files);
	free(u->runs);
	free(u->processes);
	unwind_rules_free(&u->rules);
	free(u);
}

size_t unwind_tables_words(const struct unwind_tables *u)
{
	return u->word_count;
}

size_t unwind_tables_mappings(const struct unwind_tables *u)
{
	return u->mapping_count;
}

/* ---- files */

bool unwind_tables_has(const struct unwind_tables *u, uint32_t file)
{
	return file < u->file_count && u->files[file].tried;
}

static struct file_table *get_file(struct unwind_tables *u, uint32_t file)
{
	if (file >= UNWIND_FRAME_FILES || array_reserve(u->files, u->file_cap, file + 1))
		return NULL;
	while (u->file_count <= file)
		u->files[u->file_count++] = (struct file_table){0};
	return &u->files[file];
}

static int keep_segments(struct file_table *f, const struct image *image)
{
	for (size_t i = 0; i < image->load_count; i++) {
		const struct segment *s = &image->loads[i];

		if (!s->executable)
			continue;
		if (array_grow(f->segments, f->segment_count, f->segment_cap))
			return -ENOMEM;
		f->segments[f->segment_count++] =
			(struct code_segment){s->offset, s->file_size, s->address};
	}
	return 0;
}

static uint64_t first_page(uint64_t offset)
{
	return offset & -(uint64_t)sysconf(_SC_PAGESIZE);
}

/* Does a piece of code begin at this offset of the file? */
static bool is_start(const struct file_table *f, uint64_t offset)
{
	for (size_t i = 0; i < f->segment_count; i++)
		if (first_page(f->segments[i].offset) == offset)
			return true;
	return false;
}

/* What tells the file from others in the memory of a process: 8 bytes of its build-id, or where its
 * functions are listed and how many they are. */
static void find_proof(struct file_table *f, const struct image *image)
{
	enum { NOTE_HEAD = 16, HEADER_COUNT = 4 };
	const struct section *note = image_section(image, ".note.gnu.build-id", NULL);
	const struct segment *header = &image->eh_header;
	uint64_t address = 0, offset = 0;

	if (note && note->size >= NOTE_HEAD + sizeof(f->proof)) {
		address = note->address + NOTE_HEAD;
		offset = note->offset + NOTE_HEAD;
	} else if (header->memory_size >= HEADER_COUNT + sizeof(f->proof)) {
		address = header->address + HEADER_COUNT;
		offset = header->offset + HEADER_COUNT;
	}
	if (address && image_segment_at(image, address) &&
	    image_read(image, offset, &f->proof, sizeof(f->proof)) == sizeof(f->proof))
		f->proof_at = address;
}

/* The chunks of a table, and its rows after them. */
static void write_words(union unwind_word *to, size_t first, const struct unwind_table *t)
{
	size_t rows = first + t->chunk_count + 1;

	for (size_t i = 0; i < t->chunk_count; i++)
		to[first + i].before = (uint32_t)(rows + t->before[i]);
	to[rows - 1].before = (uint32_t)(rows + t->count - 1);
	memcpy(to + rows, t->rows, t->count * sizeof(*t->rows));
}

static int keep_rows(struct unwind_tables *u, struct file_table *f, const struct unwind_table *t)
{
	struct unwind_memory *m = &u->memory;
	size_t need = u->word_count + t->chunk_count + 1 + t->count;

	f->first = UNWIND_FILE_NO_ROOM;
	if (need > (u->is_moved ? m->word_cap : UNWIND_WORDS_MOST))
		return 0;
	if (!u->is_moved && array_reserve(m->words, m->word_cap, need))
		return -ENOMEM;
	if (u->is_moved)
		memcpy(m->rules + u->rules_given, u->rules.items + u->rules_given,
		       (u->rules.count - u->rules_given) * sizeof(*m->rules));
	u->rules_given = u->rules.count;
	write_words(m->words, u->word_count, t);
	f->first = (uint32_t)u->word_count;
	f->count = (uint32_t)t->chunk_count;
	f->base = t->base;
	u->word_count = need;
	return 0;
}

/* A file with several pieces of code maps them at different distances: only runs can say. */
static void publish_file(struct unwind_tables *u, uint32_t number)
{
	const struct file_table *f = &u->files[number];
	struct unwind_file file = {.frame = UNWIND_FRAME_FILE | (uint64_t)number
									<< UNWIND_FRAME_SHIFT,
				   .chunks = {f->first, f->count}};

	if (!u->publisher.file || f->segment_count != 1 || !f->key.inode)
		return;
	file.base = f->segments->offset - f->segments->address + f->base;
	file.begin = first_page(f->segments->offset);
	if (f->proof_at) {
		file.proof_at = f->segments->offset - f->segments->address + f->proof_at;
		file.proof = f->proof;
	}
	u->publisher.file(u->publisher.arg, f->key, &file);
}

int unwind_tables_add(struct unwind_tables *u, uint32_t file, struct unwind_file_key key,
		      const struct unwind_source *source)
{
	const struct image *image = source->image;
	struct file_table *f = get_file(u, file);
	struct unwind_table t = {0};
	int err;

	if (!f)
		return -ENOMEM;
	f->tried = true;
	f->key = key;
	f->first = UNWIND_FILE_CLOSED;
	if (!image || u->has_left)
		return 0;
	err = keep_segments(f, image) ?: unwind_table_read(source, &u->rules, &t);
	if (!err && t.count)
		err = keep_rows(u, f, &t);
	else if (!err || err == -ENOTSUP)
		f->first = UNWIND_FILE_SILENT;
	if (f->count)
		find_proof(f, image);
	unwind_table_free(&t);
	publish_file(u, file);
	return err == -ENOMEM ? err : 0;
}

int unwind_tables_add_code(struct unwind_tables *u, uint32_t file)
{
	struct file_table *f = get_file(u, file);

	if (!f)
		return -ENOMEM;
	f->tried = true;
	f->first = UNWIND_NO_FILE;
	return 0;
}

/* ---- mappings of processes */

/* Where in the image the mapping begins: a mapping holds whole pages, so it may begin a little
 * before its segment. */
static bool address_at(const struct file_table *f, const struct unwind_code *c, uint64_t *out)
{
	for (size_t i = 0; i < f->segment_count; i++) {
		const struct code_segment *s = &f->segments[i];

		if (c->offset < s->offset + s->size &&
		    c->offset + (c->end - c->start) > s->offset) {
			*out = s->address - s->offset + c->offset;
			return true;
		}
	}
	return false;
}

static struct unwind_mapping make_mapping(const struct unwind_tables *u,
					  const struct unwind_code *c, bool unframed)
{
	const struct file_table *f = c->file < u->file_count ? &u->files[c->file] : NULL;
	struct unwind_mapping m = {.start = c->start, .end = c->end, .first = UNWIND_FILE_CLOSED};
	uint64_t address;

	if (!c->file || (f && f->tried && f->first == UNWIND_NO_FILE)) {
		m.first = unframed ? UNWIND_CODE_UNFRAMED : UNWIND_NO_FILE;
		return m;
	}
	m.frame = (UNWIND_FRAME_FILE | (uint64_t)c->file << UNWIND_FRAME_SHIFT) + c->offset -
		  c->start;
	if (!f || !f->tried)
		return m;
	m.first = f->first;
	if (f->count && address_at(f, c, &address)) {
		m.base = c->start - address + f->base;
		m.count = f->count;
		if (f->proof_at && is_start(f, c->offset)) {
			m.proof_at = c->start - address + f->proof_at;
			m.proof = f->proof;
		}
	} else if (f->count) {
		m.first = UNWIND_FILE_SILENT;
	}
	return m;
}

static int compare_code(const void *a, const void *b)
{
	const struct unwind_code *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static uint32_t find_equal(const struct unwind_tables *u, const struct unwind_mapping *m,
			   size_t count, bool unframed)
{
	for (uint32_t i = 0; i < u->run_count; i++) {
		const struct shared_run *r = &u->runs[i];

		if (r->count == count && r->unframed == unframed &&
		    (r->processes || clock_now() - r->freed_at < UNWIND_REST_NS) &&
		    !memcmp(u->memory.mappings + r->first, m, count * sizeof(*m)))
			return i;
	}
	return NO_RUN;
}

/* A run with room for `count`, that is free. */
static int find_room(struct unwind_tables *u, uint32_t count, uint32_t *out)
{
	struct unwind_memory *m = &u->memory;
	uint32_t cap = 16;

	while (cap < count)
		cap *= 2;
	for (uint32_t i = 0; i < u->run_count; i++) {
		struct shared_run *r = &u->runs[i];

		if (!r->processes && r->cap == cap && clock_now() - r->freed_at >= UNWIND_REST_NS) {
			*out = i;
			return 0;
		}
	}
	if (u->mapping_count + cap > (u->is_moved ? m->mapping_cap : UNWIND_MAPPINGS_MOST))
		return -E2BIG;
	if (array_grow(u->runs, u->run_count, u->run_cap) ||
	    (!u->is_moved && array_reserve(m->mappings, m->mapping_cap, u->mapping_count + cap)))
		return -ENOMEM;
	u->runs[u->run_count] =
		(struct shared_run){.first = (uint32_t)u->mapping_count, .cap = cap};
	u->mapping_count += cap;
	*out = (uint32_t)u->run_count++;
	return 0;
}

static struct known_process *find_process(const struct unwind_tables *u, pid_t pid)
{
	for (size_t i = 0; i < u->process_count; i++)
		if (u->processes[i].pid == pid)
			return &u->processes[i];
	return NULL;
}

bool unwind_tables_knows(const struct unwind_tables *u, pid_t pid)
{
	return find_process(u, pid);
}

static struct unwind_run run_of(const struct unwind_tables *u, uint32_t run)
{
	struct unwind_run r = {0, 0};

	if (run != NO_RUN) {
		r.first = u->runs[run].first;
		r.count = u->runs[run].count;
		if (u->runs[run].unframed && r.count)
			r.count |= UNWIND_RUN_UNFRAMED;
	}
	return r;
}

static void leave_run(struct unwind_tables *u, uint32_t run)
{
	if (run != NO_RUN && !--u->runs[run].processes)
		u->runs[run].freed_at = clock_now();
}

/* The process has this run now; the one it had is left after that. */
static int set_run(struct unwind_tables *u, pid_t pid, uint32_t run)
{
	struct known_process *p = find_process(u, pid);
	uint32_t before;

	if (!p) {
		if (array_grow(u->processes, u->process_count, u->process_cap))
			return -ENOMEM;
		p = &u->processes[u->process_count++];
		*p = (struct known_process){pid, NO_RUN};
	}
	before = p->run;
	p->run = run;
	if (run != NO_RUN)
		u->runs[run].processes++;
	if (u->publisher.process)
		u->publisher.process(u->publisher.arg, pid, run_of(u, run));
	leave_run(u, before);
	return 0;
}

static int take_mappings(struct unwind_tables *u, pid_t pid, const struct unwind_mapping *m,
			 size_t count, bool unframed)
{
	uint32_t run = find_equal(u, m, count, unframed);
	int err = 0;

	if (run == NO_RUN) {
		err = find_room(u, (uint32_t)count, &run);
		if (!err) {
			memcpy(u->memory.mappings + u->runs[run].first, m, count * sizeof(*m));
			u->runs[run].count = (uint32_t)count;
			u->runs[run].unframed = unframed;
		}
	}
	return set_run(u, pid, err ? NO_RUN : run) ?: err;
}

int unwind_tables_process(struct unwind_tables *u, pid_t pid, struct unwind_code *code,
			  size_t count, bool unframed)
{
	struct unwind_mapping *m;
	int err;

	if (u->has_left)
		return 0;
	if (!count || count > UNWIND_RUN_MOST)
		return set_run(u, pid, NO_RUN) ?: count ? -E2BIG : 0;
	m = calloc(count, sizeof(*m));
	if (!m)
		return -ENOMEM;
	qsort(code, count, sizeof(*code), compare_code);
	for (size_t i = 0; i < count; i++)
		m[i] = make_mapping(u, &code[i], unframed);
	err = take_mappings(u, pid, m, count, unframed);
	free(m);
	return err;
}

void unwind_tables_fork(struct unwind_tables *u, pid_t parent, pid_t child)
{
	const struct known_process *p = u->has_left ? NULL : find_process(u, parent);

	if (p)
		set_run(u, child, p->run);
}

void unwind_tables_end(struct unwind_tables *u, pid_t pid)
{
	struct known_process *p = u->has_left ? NULL : find_process(u, pid);

	if (!p)
		return;
	if (u->publisher.process)
		u->publisher.process(u->publisher.arg, pid, run_of(u, NO_RUN));
	leave_run(u, p->run);
	*p = u->processes[--u->process_count];
}

/* ---- the memory that the kernel reads */

int unwind_tables_move(struct unwind_tables *u, const struct unwind_memory *to,
		       const struct unwind_publisher *publisher)
{
	struct unwind_memory *m = &u->memory;

	if (u->is_moved || u->word_count > to->word_cap || u->mapping_count > to->mapping_cap)
		return -E2BIG;
	memcpy(to->rules, u->rules.items, u->rules.count * sizeof(*to->rules));
	if (u->word_count)
		memcpy(to->words, m->words, u->word_count * sizeof(*to->words));
	if (u->mapping_count)
		memcpy(to->mappings, m->mappings, u->mapping_count * sizeof(*to->mappings));
	free(m->words);
	free(m->mappings);
	*m = *to;
	u->is_moved = true;
	u->rules_given = u->rules.count;
	u->publisher = *publisher;
	for (uint32_t i = 0; i < u->file_count; i++)
		publish_file(u, i);
	for (size_t i = 0; i < u->process_count; i++)
		publisher->process(publisher->arg, u->processes[i].pid,
				   run_of(u, u->processes[i].run));
	return 0;
}

void unwind_tables_leave(struct unwind_tables *u)
{
	u->has_left = true;
	u->publisher = (struct unwind_publisher){0};
	if (u->is_moved)
		u->memory = (struct unwind_memory){0};
}
