/* What one file may cost: files that were made to cost much are skipped soon, with their limit,
 * and large honest ones are read whole. Each is read in a process of its own, whose CPU time and
 * memory are looked at when it has ended. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "elf/symbols.h"
#include "help/hostile_elf.h"
#include "probe/sites.h"

/* Of a loaded machine, with sanitizers or without: what it was, was far more. */
#define CPU_MOST_MS    2000
#define MEMORY_MOST_KB (96 * 1024)

struct reading {
	const char *path; /* where the image is said to be */
	const struct site_filter *filter;
	int stop_fd;
	bool whole_table; /* its symbols, not its sites */
};

struct result {
	int err;
	enum budget_end end;
	size_t count;	   /* sites, or symbols */
	size_t unresolved; /* operands without a number */
	long memory_kb;
};

static void read_table(const struct image *image, struct str path, struct result *out)
{
	struct symtab *symbols = NULL;
	struct symbol found;

	out->err = symtab_read(image, path, STR(""), &symbols, NULL);
	for (uint64_t at = 0x2000; !out->err && at < 0x2000 + 16000000; at += 16000)
		out->count += symtab_at(symbols, at, &found) && found.name.len > 30;
	symtab_free(symbols);
}

static void read_sites(const struct image *image, struct str path, const struct reading *r,
		       struct result *out)
{
	static const struct site_filter all = {{"", 0}, {"", 0}};
	struct site_list list;

	out->err = site_list_read_some(image, path, STR(""), r->filter ? r->filter : &all, &list,
				       NULL);
	out->count = list.count;
	for (size_t i = 0; i < list.count; i++)
		for (unsigned k = 0; k < list.sites[i].arg_count; k++)
			out->unresolved += list.sites[i].args[k].operand.kind == OPERAND_BAD;
	site_list_free(&list);
}

static struct result read_here(int fd, const struct reading *r)
{
	struct budget b = budget_for_file(r->stop_fd);
	struct str path = str_from(r->path ? r->path : "/nowhere/hostile");
	struct result out = {0};
	struct image *image;

	out.err = image_open_fd(fd, path, &image, NULL);
	if (out.err)
		return out;
	image_set_budget(image, &b);
	if (r->whole_table)
		read_table(image, path, &out);
	else
		read_sites(image, path, r, &out);
	out.end = b.end;
	image_close(image);
	return out;
}

/* "VmHWM:\t  1234 kB" of our own status. */
static long memory_kb(const char *field)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[128];
	long kb = 0;

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, field, strlen(field)))
			kb = atol(line + strlen(field) + 1);
	if (file)
		fclose(file);
	return kb;
}

/* From here on the highest use of memory is counted from zero. */
static long start_counting_memory(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "5", 1) != 1)
		_exit(1);
	close(fd);
	return memory_kb("VmRSS");
}

static long cpu_ms_of(const struct rusage *usage)
{
	return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000 +
	       (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1000;
}

static struct result read_file(int fd, const struct reading *r)
{
	struct result out = {0};
	struct rusage usage;
	int pipes[2], status;
	pid_t pid;

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	malloc_trim(0); /* what made the file is no room for reading it */
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		long before = start_counting_memory();

		out = read_here(fd, r);
		out.memory_kb = memory_kb("VmHWM") - before;
		_exit(write(pipes[1], &out, sizeof(out)) != sizeof(out));
	}
	close(fd);
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &out, sizeof(out)), sizeof(out));
	close(pipes[0]);
	assert_int_equal(wait4(pid, &status, 0, &usage), pid);
	print_message("# %ld ms of CPU, %ld MiB\n", cpu_ms_of(&usage), out.memory_kb / 1024);
	assert_true(cpu_ms_of(&usage) < CPU_MOST_MS);
	assert_true(out.memory_kb < MEMORY_MOST_KB);
	return out;
}

static struct result read_sites_of(int fd)
{
	return read_file(fd, &(struct reading){.stop_fd = -1});
}

/* A minute and a half, as every note went through all symbols of the name. */
static void many_notes_times_many_equal_names_are_one_pass(void **state)
{
	struct result r = read_sites_of(hostile_equal_names(20000, 400000));

	(void)state;
	assert_int_equal(r.err, 0);
	assert_int_equal(r.count, 20000);
	assert_int_equal(r.unresolved, 0);
}

/* Did not end: each name was hashed to its end. */
static void names_that_share_one_long_text_are_counted(void **state)
{
	struct result r = read_sites_of(hostile_long_names(1000000, 70000));

	(void)state;
	assert_int_equal(r.err,
			 0); /* a name of 70,000 bytes is no symbol's: it is not looked for */
	assert_int_equal(r.unresolved, 1);
	r = read_sites_of(hostile_long_names(1000000, 60000));
	assert_int_equal(r.err, -E2BIG);
	assert_int_equal(r.end, BUDGET_NO_WORK);
	assert_int_equal(r.count, 0);
}

/* 5.6 GB of 16 sections, 13 GB of 64. */
static void sections_over_the_same_notes_count_each(void **state)
{
	struct result r = read_sites_of(hostile_overlaps(16, 220000));

	(void)state;
	assert_int_equal(r.err, -E2BIG);
	assert_int_equal(r.end, BUDGET_NO_MEMORY);
	r = read_sites_of(hostile_overlaps(64, 220000));
	assert_int_equal(r.err, -E2BIG);
	assert_int_equal(r.count, 0);
}

static void notes_that_are_not_wanted_take_no_memory(void **state)
{
	struct site_filter some = {STR("other"), STR("*")}, none = {STR("ho*"), STR("overlap")};
	struct result r = read_file(hostile_overlaps(1, 300000),
				    &(struct reading){.filter = &some, .stop_fd = -1});

	(void)state;
	assert_int_equal(r.err, 0);
	assert_int_equal(r.count, 0);
	r = read_file(hostile_overlaps(1, 1000), &(struct reading){.filter = &none, .stop_fd = -1});
	assert_int_equal(r.count, 1000);
}

static void a_dynamic_section_is_looked_at_once(void **state)
{
	struct result r = read_sites_of(hostile_dynamic(50000, 60000));

	(void)state;
	assert_int_equal(r.err, 0);
	assert_int_equal(r.count, 50000);
}

/* Up to 2.3 s: a checksum of a gigabyte that is not on the disk. */
static void the_checksum_of_a_huge_debug_file_has_an_end(void **state)
{
	char dir[] = "/tmp/nopal-bounds-XXXXXX", image[64], debug[64];
	struct hostile h;
	struct result r;
	char bytes[4096];
	int fd, from;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(image, sizeof(image), "%s/image", dir);
	snprintf(debug, sizeof(debug), "%s/huge.debug", dir);
	hostile_start(&h);
	from = hostile_finish(&h);
	fd = open(debug, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, bytes, (size_t)pread(from, bytes, sizeof(bytes), 0)) > 64, 1);
	assert_int_equal(ftruncate(fd, 1l << 30), 0);
	close(from);
	close(fd);
	r = read_file(hostile_link("huge.debug"), &(struct reading){.path = image, .stop_fd = -1});
	assert_int_equal(r.err, -E2BIG);
	assert_int_equal(r.end, BUDGET_NO_WORK);
	unlink(debug);
	rmdir(dir);
}

static void work_is_stopped_within_milliseconds(void **state)
{
	int stop = eventfd(1, EFD_CLOEXEC);
	struct result r =
		read_file(hostile_long_names(1000000, 60000), &(struct reading){.stop_fd = stop});

	(void)state;
	assert_int_equal(r.err, -EINTR);
	assert_int_equal(r.end, BUDGET_STOPPED);
	close(stop);
}

/* What large programs really have: a million symbols with names of 80 bytes. */
static int large_program(unsigned symbols)
{
	struct hostile h;
	uint32_t *names = malloc(symbols * sizeof(*names));
	size_t at, texts;
	char name[128];

	assert_non_null(names);
	hostile_start(&h);
	at = h.len;
	for (int i = 0; i < 531; i++)
		hostile_note(&h, "honest", "probe",
			     "8@%rdi -4@8(%rsp) 8@_ZN7project9namespace5class8functionEv+16(%rip)");
	hostile_section(&h, ".note.stapsdt", SHT_NOTE, at, h.len - at, 0);
	texts = h.len;
	hostile_put(&h, "", 1);
	for (unsigned i = 0; i < symbols; i++) {
		names[i] = (uint32_t)(h.len - texts);
		if (i == symbols / 2)
			strcpy(name, "_ZN7project9namespace5class8functionEv");
		else
			snprintf(name, sizeof(name),
				 "_ZN7project9namespace5class8function%uE%060uPKcRKSsb", i, i);
		hostile_put(&h, name, strlen(name) + 1);
	}
	hostile_section(&h, ".strtab", SHT_STRTAB, texts, h.len - texts, 0);
	hostile_room(&h, (8 - h.len % 8) % 8);
	at = h.len;
	for (unsigned i = 0; i < symbols; i++)
		hostile_symbol(&h, names[i], 0x2000 + 16ul * i);
	hostile_section(&h, ".symtab", SHT_SYMTAB, at, h.len - at, 2);
	free(names);
	return hostile_finish(&h);
}

static void a_program_with_a_million_symbols_is_read_whole(void **state)
{
	struct result r = read_sites_of(large_program(1000000));

	(void)state;
	assert_int_equal(r.err, 0);
	assert_int_equal(r.count, 531);
	assert_int_equal(r.unresolved, 0);
}

static void a_table_of_a_million_symbols_takes_no_more(void **state)
{
	struct result r = read_file(large_program(1000000),
				    &(struct reading){.whole_table = true, .stop_fd = -1});

	(void)state;
	assert_int_equal(r.err, 0);
	assert_int_equal(r.count, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_notes_times_many_equal_names_are_one_pass),
		cmocka_unit_test(names_that_share_one_long_text_are_counted),
		cmocka_unit_test(sections_over_the_same_notes_count_each),
		cmocka_unit_test(notes_that_are_not_wanted_take_no_memory),
		cmocka_unit_test(a_dynamic_section_is_looked_at_once),
		cmocka_unit_test(the_checksum_of_a_huge_debug_file_has_an_end),
		cmocka_unit_test(work_is_stopped_within_milliseconds),
		cmocka_unit_test(a_program_with_a_million_symbols_is_read_whole),
		cmocka_unit_test(a_table_of_a_million_symbols_takes_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
