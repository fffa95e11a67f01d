/* Finding: symbols of made files, the loader's cache, ourselves as a process, files that change. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <sys/sdt.h>

#include "elf/symbols.h"
#include "help/elf_builder.h"
#include "find/finder.h"
#include "find/lookup.h"
#include "find/process.h"

__attribute__((noinline, used)) static void fires_two_probes(int value)
{
	DTRACE_PROBE1(findtest, first, value);
	DTRACE_PROBE2(findtest, second, value, &value);
}

__attribute__((noinline, used)) static void fires_first_again(long value)
{
	DTRACE_PROBE1(findtest, first, value);
}

static void assert_text(struct str s, const char *text)
{
	assert_int_equal(s.len, strlen(text));
	assert_memory_equal(s.ptr, text, s.len);
}

/* Symbols. */

#define FUNC (STB_GLOBAL << 4 | STT_FUNC)

static struct symtab *made_symbols(struct made_elf *e)
{
	static const char nops[0xa0];
	struct buf *symbols, *texts, *dynamic, *dynamic_texts, file;
	struct image *image;
	struct symtab *t;

	buf_add(add_section(e, ".init", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, CODE_AT), nops,
		sizeof(nops));
	symbols = add_section(e, ".symtab", SHT_SYMTAB, 0, 0);
	e->sections[e->count - 1].link = e->count;
	texts = add_section(e, ".strtab", SHT_STRTAB, 0, 0);
	add_symbol(e, symbols, texts, "sized", FUNC, CODE_AT + 0x10, 0x10);
	add_symbol(e, symbols, texts, "alias", STB_LOCAL << 4 | STT_FUNC, CODE_AT + 0x10, 0x10);
	add_symbol(e, symbols, texts, "versioned@@V_2", FUNC, CODE_AT + 0x40, 0x10);
	add_symbol(e, symbols, texts, "label", STT_NOTYPE, CODE_AT + 0x80, 0);
	add_symbol(e, symbols, texts, "inner", STT_NOTYPE, CODE_AT + 0x14, 0);
	add_symbol(e, symbols, texts, "data", STT_OBJECT, DATA_AT, 8);
	dynamic = add_section(e, ".dynsym", SHT_DYNSYM, 0, 0);
	e->sections[e->count - 1].link = e->count;
	dynamic_texts = add_section(e, ".dynstr", SHT_STRTAB, 0, 0);
	add_symbol(e, dynamic, dynamic_texts, "sized", FUNC, CODE_AT + 0x10, 0x10);
	add_symbol(e, dynamic, dynamic_texts, "exported", FUNC, CODE_AT + 0x60, 4);
	file = finish_elf(e);
	assert_int_equal(image_open_memory(file.ptr, file.len, STR("made"), &image, NULL), 0);
	assert_int_equal(symtab_read(image, STR(""), STR(""), &t, NULL), 0);
	image_close(image);
	buf_free(&file); /* a symtab needs neither */
	return t;
}

static void addresses_have_names(void **state)
{
	static const struct {
		uint64_t at;
		const char *name; /* NULL: none */
	} cases[] = {
		{CODE_AT, NULL},
		{CODE_AT + 0x10, "sized"}, /* global before local */
		{CODE_AT + 0x13, "sized"},
		{CODE_AT + 0x14, "inner"},
		{CODE_AT + 0x47, "versioned"},
		{CODE_AT + 0x62, "exported"},
		{CODE_AT + 0x88, "label"}, /* no size: up to the next */
		{CODE_AT + 0xa0, NULL},	   /* ... or to the end of its section */
		{0, NULL},
	};

	(void)state;
	for (unsigned word = 4; word <= 8; word += 4) {
		struct made_elf e = make_elf(word, word == 4, word == 4 ? EM_MIPS : EM_X86_64);
		struct symtab *t = made_symbols(&e);
		struct symbol s;
		uint64_t into;

		for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
			bool found = symtab_at(t, cases[i].at, &s);

			assert_int_equal(found, cases[i].name != NULL);
			if (found)
				assert_text(s.name, cases[i].name);
		}
		assert_true(symtab_at_offset(t, CODE_OFFSET + 0x45, &s, &into));
		assert_text(s.name, "versioned");
		assert_int_equal(into, 5);
		symtab_free(t);
	}
}

static int count_name(void *arg, const struct symbol *symbol)
{
	(*(unsigned *)arg)++;
	assert_int_equal(symbol->address, CODE_AT + 0x40);
	return 0;
}

static int count_sized(void *arg, const struct symbol *symbol)
{
	*(unsigned *)arg += str_eq_text(symbol->name, "sized");
	return 0;
}

static void names_have_addresses(void **state)
{
	struct made_elf e = make_elf(8, false, EM_X86_64);
	struct symtab *t = made_symbols(&e);
	unsigned count = 0;

	(void)state;
	assert_int_equal(symtab_find(t, STR("versioned"), count_name, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(symtab_find(t, STR("versione"), count_name, &count), 0);
	assert_int_equal(count, 1);
	count = 0; /* it is in both tables */
	assert_int_equal(symtab_each(t, count_sized, &count), 0);
	assert_int_equal(count, 1);
	symtab_free(t);
}

/* The loader's cache. */

static void put_u32(struct buf *b, uint32_t value)
{
	buf_add(b, &value, 4);
}

static struct buf made_cache(bool with_old_table)
{
	static const char texts[] = "liba.so.1\0/lib/liba.so.1\0/lib32/liba.so.1\0relative";
	struct buf b = BUF_INIT;
	uint32_t start;

	if (with_old_table) {
		buf_add(&b, "ld.so-1.7.0", 12);
		put_u32(&b, 1);
		buf_fill(&b, 'x', 12);
		pad_to(&b, 32);
	}
	start = 48 + 3 * 24;
	buf_text(&b, "glibc-ld.so.cache1.1");
	put_u32(&b, 3);
	put_u32(&b, sizeof(texts));
	buf_fill(&b, 0, 20);
	for (int i = 0; i < 3; i++) {
		static const uint32_t paths[] = {43, 10, 25}; /* the first is no absolute path */

		put_u32(&b, 0x303);
		put_u32(&b, start);
		put_u32(&b, start + paths[i]);
		buf_fill(&b, 0, 12);
	}
	buf_add(&b, texts, sizeof(texts));
	return b;
}

static void the_loaders_cache_is_read(void **state)
{
	(void)state;
	for (int old = 0; old < 2; old++) {
		struct buf b = made_cache(old);
		struct str cache = buf_as_str(&b);

		assert_text(loader_cache_find(cache, STR("liba.so.1"), 0), "/lib/liba.so.1");
		assert_text(loader_cache_find(cache, STR("liba.so.1"), 1), "/lib32/liba.so.1");
		assert_text(loader_cache_find(cache, STR("liba.so.1"), 2), "");
		assert_text(loader_cache_find(cache, STR("libb.so.1"), 0), "");
		for (size_t len = 0; len < b.len; len++) {
			char *copy = malloc(len + 1);

			memcpy(copy, b.ptr, len);
			loader_cache_find(str_of(copy, len), STR("liba.so.1"), 5);
			free(copy);
		}
		buf_free(&b);
	}
}

/* The finder. */

struct seen {
	unsigned images, sites;
	struct found_image image;
	uint64_t offset[8];
};

static int take(void *arg, const struct found_image *image, const size_t *matches, size_t count)
{
	struct seen *s = arg;

	s->images++;
	s->image = *image;
	for (size_t i = 0; i < count && s->sites < 8; i++)
		s->offset[s->sites++] = image->sites->sites[matches[i]].offset;
	return 0;
}

static void we_find_ourselves(void **state)
{
	struct find_query q = {.pid = getpid(), .provider = STR("findtest")};
	struct seen s = {0};
	struct finder *f;

	(void)state;
	assert_int_equal(finder_new(&f), 0);
	assert_int_equal(finder_sites(f, &q, take, &s, NULL), 1);
	assert_int_equal(s.images, 1);
	assert_int_equal(s.sites, 3);
	assert_int_equal(s.image.pid, getpid());
	q.name = STR("fir*");
	s = (struct seen){0};
	assert_int_equal(finder_sites(f, &q, take, &s, NULL), 1);
	assert_int_equal(s.sites, 2);
	finder_free(f);
}

/* The callback gets the finder's own struct: that is what finder_function_at() wants. */
static int name_functions(void *arg, const struct found_image *image, const size_t *matches,
			  size_t count)
{
	const struct site *sites = image->sites->sites;
	unsigned first = 0, again = 0;

	for (size_t i = 0; i < count; i++) {
		struct str name = finder_function_at(arg, image, sites[matches[i]].offset);

		first += str_eq_text(name, "fires_two_probes");
		again += str_eq_text(name, "fires_first_again");
	}
	assert_int_equal(count, 3);
	assert_int_equal(first, 2);
	assert_int_equal(again, 1);
	assert_text(finder_function_at(arg, image, 1ull << 60), "");
	return -EUCLEAN;
}

static void sites_are_in_functions(void **state)
{
	struct find_query q = {.path = STR("/proc/self/exe"), .provider = STR("findtest")};
	struct finder *f;

	(void)state;
	assert_int_equal(finder_new(&f), 0);
	assert_int_equal(finder_sites(f, &q, name_functions, f, NULL), -EUCLEAN);
	finder_free(f);
}

static int take_function(void *arg, const struct found_function *function)
{
	struct buf *names = arg;

	assert_true(function->offset > 0);
	assert_ptr_equal(function->arch, arch_host());
	buf_str(names, function->name);
	buf_char(names, ' ');
	return 0;
}

static int find_functions(struct finder *f, pid_t pid, struct str path, struct str name,
			  struct buf *names)
{
	struct find_query q = {.pid = pid, .path = path, .name = name};

	return finder_functions(f, &q, take_function, names, NULL);
}

static void functions_by_pattern(void **state)
{
	struct buf names = BUF_INIT;
	struct finder *f;

	(void)state;
	assert_int_equal(finder_new(&f), 0);
	assert_int_equal(find_functions(f, 0, STR("/proc/self/exe"), STR("fires_*"), &names), 2);
	assert_non_null(strstr(names.ptr, "fires_two_probes "));
	assert_non_null(strstr(names.ptr, "fires_first_again "));
	assert_int_equal(find_functions(f, getpid(), STR("/proc/self/exe"), STR("main"), &names),
			 1);
	assert_int_equal(
		find_functions(f, 0, STR("/proc/self/exe"), STR("no_such_function"), &names), 0);
	buf_free(&names);
	finder_free(f);
}

static void copy_file(const char *from, const char *to)
{
	char room[65536];
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	ssize_t got;

	assert_true(in >= 0 && out >= 0);
	while ((got = read(in, room, sizeof(room))) > 0)
		assert_int_equal(write(out, room, (size_t)got), got);
	close(in);
	close(out);
}

/* Copies have the same functions at the same offsets. */
static void the_same_function_of_a_second_file_is_another(void **state)
{
	char dir[] = "/tmp/nopal-find-XXXXXX", one[64], two[64], pattern[64];
	struct buf names = BUF_INIT;
	struct finder *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(one, sizeof(one), "%s/one", dir);
	snprintf(two, sizeof(two), "%s/two", dir);
	snprintf(pattern, sizeof(pattern), "%s/*", dir);
	copy_file("/proc/self/exe", one);
	copy_file("/proc/self/exe", two);
	assert_int_equal(finder_new(&f), 0);
	assert_int_equal(find_functions(f, 0, str_from(pattern), STR("fires_two_probes"), &names),
			 2);
	assert_string_equal(names.ptr, "fires_two_probes fires_two_probes ");
	buf_free(&names);
	finder_free(f);
	unlink(one);
	unlink(two);
	rmdir(dir);
}

static void a_file_is_read_once_until_it_changes(void **state)
{
	char path[] = "/tmp/nopal-find-XXXXXX";
	struct find_query q = {.path = str_of(path, sizeof(path) - 1)};
	struct seen one = {0}, two = {0}, three = {0};
	struct finder *f;
	int fd = mkstemp(path);

	(void)state;
	close(fd);
	copy_file("/proc/self/exe", path);
	assert_int_equal(finder_new(&f), 0);
	assert_int_equal(finder_sites(f, &q, take, &one, NULL), 1);
	assert_int_equal(finder_sites(f, &q, take, &two, NULL), 1);
	assert_ptr_equal(one.image.sites, two.image.sites);
	fd = open(path, O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
	assert_int_equal(finder_sites(f, &q, take, &three, NULL), 1);
	assert_ptr_not_equal(one.image.sites, three.image.sites);
	assert_int_equal(three.sites, one.sites);
	finder_free(f);
	unlink(path);
}

/* What a caller has stays where it is, whatever else is forgotten. */
static void images_that_nobody_has_are_forgotten(void **state)
{
	char dir[] = "/tmp/nopal-find-XXXXXX", path[64], pattern[64];
	struct find_query q = {.path = str_from("/proc/self/exe"), .provider = STR("findtest")};
	struct find_query none = {.provider = STR("nosuch")};
	struct seen one = {0}, two = {0}, three = {0};
	struct finder *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(pattern, sizeof(pattern), "%s/*", dir);
	none.path = str_from(pattern);
	assert_int_equal(finder_new(&f), 0);
	assert_int_equal(finder_sites(f, &q, take, &one, NULL), 1);
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%d", dir, i);
		copy_file("/proc/self/exe", path);
	}
	assert_int_equal(finder_sites(f, &none, take, &two, NULL), 0);
	assert_int_equal(f->cache.count, 4);
	cache_trim(&f->cache, 3);
	assert_int_equal(f->cache.count, 4);
	cache_trim(&f->cache, 2);
	assert_int_equal(f->cache.count, 1);
	assert_int_equal(finder_sites(f, &q, take, &two, NULL), 1);
	assert_ptr_equal(one.image.sites, two.image.sites);
	none.provider = STR("findtest");
	assert_int_equal(finder_sites(f, &none, take, &three, NULL), 3);
	assert_int_equal(three.images, 3);
	finder_free(f);
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%d", dir, i);
		unlink(path);
	}
	rmdir(dir);
}

static void queries_that_cannot_be_answered_say_why(void **state)
{
	static const struct {
		struct find_query query;
		int err;
		const char *tag;
	} cases[] = {
		{{.path = {"", 0}}, -EINVAL, "no-path"},
		{{.pid = 0x7ffffff0}, -ESRCH, "no-process"},
		{{.path = {"/nowhere/file", 13}}, -ENOENT, "no-file"},
		{{.path = {"no-such-name-anywhere", 21}}, -ENOENT, "no-file"},
		{{.path = {"/etc/passwd", 11}}, 0, "not-elf"},
		{{.path = {"/nowhere/*", 10}}, 0, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct diag d = DIAG_INIT;
		struct seen s = {0};
		struct finder *f;

		assert_int_equal(finder_new(&f), 0);
		assert_int_equal(finder_sites(f, &cases[i].query, take, &s, &d), cases[i].err);
		assert_int_equal(d.errors, cases[i].tag != NULL);
		if (cases[i].tag)
			assert_string_equal(d.first->tag, cases[i].tag);
		diag_free(&d);
		finder_free(f);
	}
}

/* Processes come and go while all are searched: never an error. */
static void vanishing_processes_are_no_errors(void **state)
{
	struct find_query q = {.path = STR("*"), .provider = STR("findtest")};
	struct finder *f;

	(void)state;
	assert_int_equal(finder_new(&f), 0);
	for (int i = 0; i < 20; i++) {
		struct diag d = DIAG_INIT;
		struct seen s = {0};
		pid_t child = fork();

		if (!child)
			_exit(0);
		assert_true(finder_sites(f, &q, take, &s, &d) >= 1);
		assert_int_equal(d.errors, 0);
		assert_int_equal(s.sites, 3 * s.images);
		diag_free(&d);
		waitpid(child, NULL, 0);
	}
	finder_free(f);
}

/* A child that has a file without a name mapped, whose descriptor is `fd`. */
static pid_t start_mapping(int fd)
{
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		pause();
		_exit(0);
	}
	return child;
}

static struct finding *find_inode(const struct image_set *set, ino_t inode)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->items[i]->cached->inode == inode)
			return set->items[i];
	return NULL;
}

/* A file that only processes lead to was opened through the first that had it mapped; when that
 * ended meanwhile, its probes were missing, though others had it mapped, too. */
static void a_file_was_lost_with_the_first_process_that_had_it(void **state)
{
	const struct site_filter wanted = {.provider = STR("findtest"), .name = STR("")};
	char path[] = "/tmp/nopal-find-XXXXXX";
	struct image_set set = {0};
	struct cached_sites *list;
	struct finding *finding;
	struct finder *f;
	struct stat st;
	pid_t first, children[2];
	int fd;

	(void)state;
	if (geteuid() != 0)
		skip();
	close(mkstemp(path));
	copy_file("/proc/self/exe", path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	unlink(path);
	for (int i = 0; i < 2; i++)
		children[i] = start_mapping(fd);
	close(fd);
	usleep(100000);
	assert_int_equal(finder_new(&f), 0);
	assert_int_equal(finder_images(f, 0, STR("*"), &set, NULL), 0);
	finding = find_inode(&set, st.st_ino);
	assert_non_null(finding);
	first = finding->image.pid;
	kill(first, SIGKILL);
	waitpid(first, NULL, 0);
	assert_int_equal(cache_read_sites(&f->cache, finding, &wanted, &list), 0);
	assert_int_equal(list->sites.count, 3);
	first = children[first == children[0]]; /* the other */
	kill(first, SIGKILL);
	waitpid(first, NULL, 0);
	free(set.items);
	finder_free(f);
}

static void a_name_may_look_like_the_rest_of_a_process(void **state)
{
	struct process_state p;
	pid_t child;

	(void)state;
	child = fork();
	if (!child) {
		prctl(PR_SET_NAME, "a) Z 1 (b) R");
		pause();
	}
	while (!process_state_read(child, &p) && p.comm[0] != 'a')
		usleep(1000);
	assert_string_equal(p.comm, "a) Z 1 (b) R");
	assert_true(p.state == 'S' || p.state == 'R');
	assert_int_equal(p.parent, getpid());
	assert_int_equal(p.threads, 1);
	assert_false(p.is_kernel);
	assert_int_equal(process_visible_task(child), child);
	kill(child, SIGKILL);
	while (!process_state_read(child, &p) && p.state != 'Z')
		usleep(1000);
	assert_false(process_main_ended(child));
	waitpid(child, NULL, 0);
	assert_int_equal(process_state_read(child, &p), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_have_names),
		cmocka_unit_test(names_have_addresses),
		cmocka_unit_test(the_loaders_cache_is_read),
		cmocka_unit_test(we_find_ourselves),
		cmocka_unit_test(sites_are_in_functions),
		cmocka_unit_test(functions_by_pattern),
		cmocka_unit_test(the_same_function_of_a_second_file_is_another),
		cmocka_unit_test(a_file_is_read_once_until_it_changes),
		cmocka_unit_test(images_that_nobody_has_are_forgotten),
		cmocka_unit_test(queries_that_cannot_be_answered_say_why),
		cmocka_unit_test(vanishing_processes_are_no_errors),
		cmocka_unit_test(a_file_was_lost_with_the_first_process_that_had_it),
		cmocka_unit_test(a_name_may_look_like_the_rest_of_a_process),
	};

	fires_two_probes(getpid());
	fires_first_again(getppid());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
