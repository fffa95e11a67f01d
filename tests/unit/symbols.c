/* Addresses -> names: of ourselves, of children while they live and after, of files that vanished,
 * of code compiled at run time, of the vDSO. */
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "symbols/demangle.h"
#include "symbols/jit.h"
#include "symbols/kernel.h"
#include "symbols/process.h"
#include "symbols/symbols.h"

static const char *library(void)
{
	static char path[4096];
	const char *targets = getenv("TARGETS");

	snprintf(path, sizeof(path), "%s/named", targets ? targets : "build/targets");
	return path;
}

static char *name_of(struct symbols *s, pid_t pid, uint64_t address, unsigned flags)
{
	static char text[8192];
	struct buf out = BUF_INIT;

	symbols_user(s, pid, address, flags, &out);
	snprintf(text, sizeof(text), "%s", out.ptr ? out.ptr : "");
	buf_free(&out);
	return text;
}

/* ---- a child that has something mapped ---- */

struct child {
	pid_t pid;
	int end; /* closing it ends the child */
	uint64_t exported, local;
};

/* How a child comes to its code: the addresses of two functions, 0 when it cannot. */
typedef void prepare_fn(uint64_t addresses[2]);

static void child_start(struct child *c, prepare_fn *prepare)
{
	uint64_t addresses[2] = {0, 0};
	int ready[2], end[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(end), 0);
	c->pid = fork();
	if (!c->pid) {
		close(end[1]);
		prepare(addresses);
		if (write(ready[1], addresses, sizeof(addresses)) == sizeof(addresses))
			while (read(end[0], &byte, 1) > 0)
				;
		_exit(0);
	}
	close(ready[1]);
	close(end[0]);
	assert_int_equal(read(ready[0], addresses, sizeof(addresses)), sizeof(addresses));
	close(ready[0]);
	c->end = end[1];
	c->exported = addresses[0];
	c->local = addresses[1];
}

static void child_end(struct child *c)
{
	close(c->end);
	waitpid(c->pid, NULL, 0);
}

static void load(const char *path, uint64_t addresses[2])
{
	void *handle = dlopen(path, RTLD_NOW);
	void *(*local)(void);

	if (!handle)
		return;
	addresses[0] = (uint64_t)dlsym(handle, "named_exported");
	*(void **)&local = dlsym(handle, "named_local_address");
	addresses[1] = (uint64_t)local();
}

static bool copy_library(int to)
{
	char piece[65536];
	int from = open(library(), O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (from < 0)
		return false;
	while ((got = read(from, piece, sizeof(piece))) > 0)
		if (write(to, piece, (size_t)got) != got)
			break;
	close(from);
	return got == 0;
}

static void map_file(uint64_t addresses[2])
{
	load(library(), addresses);
}

static void map_deleted_file(uint64_t addresses[2])
{
	char path[] = "/tmp/named-XXXXXX";
	int fd = mkstemp(path);

	if (fd >= 0 && copy_library(fd))
		load(path, addresses);
	unlink(path);
}

static void map_memory_file(uint64_t addresses[2])
{
	int fd = memfd_create("named", 0);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd >= 0 && copy_library(fd))
		load(path, addresses);
}

static void map_in_other_namespace(uint64_t addresses[2])
{
	int fd;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", "/tmp", "tmpfs", 0, NULL))
		return;
	fd = open("/tmp/named", O_RDWR | O_CREAT | O_CLOEXEC, 0755);
	if (fd >= 0 && copy_library(fd))
		load("/tmp/named", addresses);
}

static void map_compiled_code(uint64_t addresses[2])
{
	char path[64];
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	file = fopen(path, "w");
	if (code == MAP_FAILED || !file)
		return;
	fprintf(file, "%lx 40 Old::method\n%lx 20 Hot::method(int) [tier 2]\nbad line\n",
		(unsigned long)code, (unsigned long)code + 16);
	fclose(file);
	addresses[0] = (uint64_t)code + 20;
	addresses[1] = (uint64_t)code + 4;
}

/* ---- tests ---- */

__attribute__((noinline)) static int function_of_this_test(int n)
{
	__asm__ volatile("");
	return n;
}

static void own_functions_have_names(void **state)
{
	struct symbols *s = NULL;
	uint64_t address = (uint64_t)function_of_this_test;

	(void)state;
	assert_int_equal(symbols_new(&s), 0);
	assert_string_equal(name_of(s, getpid(), address, 0), "function_of_this_test");
	assert_string_equal(name_of(s, getpid(), address + 1, SYMBOL_OFFSET),
			    "function_of_this_test+1");
	assert_non_null(strstr(name_of(s, getpid(), address, SYMBOL_OFFSET | SYMBOL_MODULE),
			       "function_of_this_test+0 (/"));
	symbols_free(s);
}

static void unknown_addresses_are_numbers(void **state)
{
	struct symbols *s = NULL;

	(void)state;
	assert_int_equal(symbols_new(&s), 0);
	assert_string_equal(name_of(s, getpid(), 0, 0), "0");
	assert_string_equal(name_of(s, getpid(), 0x10, SYMBOL_OFFSET), "0x10");
	assert_string_equal(name_of(s, 0, 0x1234, SYMBOL_OFFSET), "0x1234");
	assert_string_equal(name_of(s, -5, 0x1234, 0), "0x1234");
	assert_string_equal(name_of(s, 0x3ffffffe, 0xffffffffffffffff, SYMBOL_MODULE),
			    "0xffffffffffffffff");
	symbols_free(s);
}

/* Files that have no path any more are read through /proc/PID/map_files, which wants
 * a privilege. */
static bool can_reach_mapped_files(void)
{
	if (geteuid() == 0)
		return true;
	print_message("# skipped: reading mapped files that are gone needs root\n");
	return false;
}

/* Both functions are named, after the process was only seen and is gone. */
static void check_after_exit(prepare_fn *prepare)
{
	struct symbols *s = NULL;
	struct child c;

	if (access(library(), R_OK) || (prepare != map_file && !can_reach_mapped_files()))
		skip();
	child_start(&c, prepare);
	if (!c.exported) {
		child_end(&c);
		skip();
	}
	assert_int_equal(symbols_new(&s), 0);
	symbols_see(s, c.pid);
	child_end(&c);
	assert_string_equal(name_of(s, c.pid, c.exported, SYMBOL_OFFSET), "named_exported+0");
	assert_string_equal(name_of(s, c.pid, c.local + 1, SYMBOL_OFFSET), "named_local+1");
	symbols_free(s);
}

static void names_survive_exit(void **state)
{
	(void)state;
	check_after_exit(map_file);
}

static void names_survive_deletion_and_exit(void **state)
{
	(void)state;
	check_after_exit(map_deleted_file);
}

static void names_in_memory_files_survive_exit(void **state)
{
	(void)state;
	check_after_exit(map_memory_file);
}

static void names_in_other_namespaces_survive_exit(void **state)
{
	(void)state;
	check_after_exit(map_in_other_namespace);
}

/* A process that nobody saw while it lived has no names, and no wrong ones. */
static void a_process_not_seen_has_numbers(void **state)
{
	struct symbols *s = NULL;
	struct child c;
	char number[32];

	(void)state;
	child_start(&c, map_file);
	child_end(&c);
	assert_int_equal(symbols_new(&s), 0);
	symbols_see(s, c.pid);
	snprintf(number, sizeof(number), "0x%llx", (unsigned long long)c.exported);
	assert_string_equal(name_of(s, c.pid, c.exported, SYMBOL_OFFSET), number);
	symbols_free(s);
}

/* What is mapped later is found when an address asks for it. */
static void later_libraries_are_found(void **state)
{
	uint64_t addresses[2] = {0, 0};
	struct symbols *s = NULL;

	(void)state;
	if (access(library(), R_OK))
		skip();
	assert_int_equal(symbols_new(&s), 0);
	symbols_see(s, getpid());
	load(library(), addresses);
	assert_string_equal(name_of(s, getpid(), addresses[0], 0), "named_exported");
	symbols_free(s);
}

/* A file that took the path of the mapped one gives no names. */
static void a_replaced_file_is_not_believed(void **state)
{
	char path[] = "/tmp/named-XXXXXX", number[32];
	uint64_t addresses[2] = {0, 0};
	struct symbols *s = NULL;
	int fd;

	(void)state;
	if (!can_reach_mapped_files())
		skip();
	fd = mkstemp(path);
	assert_true(fd >= 0 && copy_library(fd));
	load(path, addresses);
	assert_int_equal(symbols_new(&s), 0);
	symbols_see(s, getpid());
	close(fd);
	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0755);
	assert_true(fd >= 0 && copy_library(fd));
	close(fd);
	/* The mapping itself still leads to the old file, so the name is the right one. */
	if (addresses[0])
		assert_string_equal(name_of(s, getpid(), addresses[0], 0), "named_exported");
	snprintf(number, sizeof(number), "0x%x", 0x10);
	assert_string_equal(name_of(s, getpid(), 0x10, 0), number);
	unlink(path);
	symbols_free(s);
}

static void compiled_code_has_names(void **state)
{
	struct symbols *s = NULL;
	struct child c;
	char path[64];

	(void)state;
	child_start(&c, map_compiled_code);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)c.pid);
	assert_true(c.exported != 0);
	assert_int_equal(symbols_new(&s), 0);
	assert_string_equal(name_of(s, c.pid, c.exported, SYMBOL_OFFSET),
			    "Hot::method(int) [tier 2]+4");
	assert_string_equal(name_of(s, c.pid, c.local, SYMBOL_OFFSET), "Old::method+4");
	child_end(&c);
	assert_string_equal(name_of(s, c.pid, c.local, 0), "Old::method");
	unlink(path);
	symbols_free(s);
}

static void map_compiled_code_as_another_user(uint64_t addresses[2])
{
	if (!setgid(65534) && !setuid(65534))
		map_compiled_code(addresses);
}

/* Of a service that started during a run only what the kernel reports was known. Its parent's user
 * was taken for its own, and so its file of names was not read. */
static void compiled_code_of_a_service_that_starts_had_no_names(void **state)
{
	struct symbols_mapping anonymous = {.length = 4096, .path = STR("//anon")};
	struct symbols *s = NULL;
	struct child c;
	char path[64];

	(void)state;
	if (getuid() != 0)
		skip();
	child_start(&c, map_compiled_code_as_another_user);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)c.pid);
	assert_true(c.exported != 0);
	assert_int_equal(symbols_new(&s), 0);
	symbols_see(s, getpid());
	symbols_fork(s, getpid(), c.pid);
	anonymous.start = c.exported & ~(uint64_t)4095;
	symbols_map(s, c.pid, &anonymous);
	assert_string_equal(name_of(s, c.pid, c.exported, SYMBOL_OFFSET),
			    "Hot::method(int) [tier 2]+4");
	child_end(&c);
	unlink(path);
	symbols_free(s);
}

/* What was kept open was counted for ever, so that after 256 files none was kept any more. */
static void files_that_were_read_still_counted_as_kept_open(void **state)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = memfd_create("not-elf", MFD_CLOEXEC);
	struct mapped_file file = {.pid = getpid()};
	struct modules modules = {0};
	struct stat st;
	char path[32];

	(void)state;
	assert_true(code != MAP_FAILED && fd >= 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(fstat(fd, &st), 0);
	code = mmap(code, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0);
	assert_true(code != MAP_FAILED);
	file.start = (uint64_t)code;
	file.end = file.start + 4096;
	file.inode = st.st_ino;
	modules_init(&modules);
	for (unsigned i = 0; i < MODULE_FDS_MOST + 2; i++) {
		struct module *module;
		struct str name;
		uint64_t into;

		snprintf(path, sizeof(path), "/memfd:%u (deleted)", i);
		file.path = str_from(path);
		module = modules_get(&modules, &file);
		assert_non_null(module);
		module_hold(&modules, module, &file);
		assert_true(module->fd >= 0);
		assert_false(module_name_at(&modules, module, &file, 0, &name, &into));
		assert_int_equal(module->fd, -1);
	}
	modules_free(&modules);
	munmap(code, 4096);
	close(fd);
}

/* A stranger's file in /tmp says nothing about other people's processes. */
static void perf_maps_of_others_are_not_believed(void **state)
{
	char path[] = "/tmp/named-XXXXXX", link[64];
	struct budget pool = budget_for_file(-1);
	struct jit_names *names = NULL;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "1000 10 f\n", 10), 10);
	assert_int_equal(jit_names_read(path, getuid(), &pool, &names), 0);
	if (getuid() == 0 && !fchown(fd, 65534, 65534))
		assert_int_equal(jit_names_read(path, 1, &pool, &names), -EPERM);
	snprintf(link, sizeof(link), "%s-link", path);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(jit_names_read(link, getuid(), &pool, &names), -ENOEXEC);
	assert_int_equal(jit_names_read("/dev/zero", getuid(), &pool, &names), -ENOEXEC);
	unlink(link);
	unlink(path);
	close(fd);
	jit_names_free(names);
}

/* Its copy ended there, and was read after its end. Paths of the kernel have no NUL. */
static void a_path_with_a_nul_was_not_copied_whole(void **state)
{
	struct mapped_file file = {.inode = 7, .path = STR("/a\0b")};
	struct modules modules = {0};
	struct module *module;

	(void)state;
	modules_init(&modules);
	module = modules_get(&modules, &file);
	assert_non_null(module);
	assert_memory_equal(module->path.ptr, "/a\0b", sizeof("/a\0b"));
	assert_ptr_equal(modules_get(&modules, &file), module);
	modules_free(&modules);
}

/* Users can mount a device at that name in a namespace of their own, and opening one may do
 * something: /dev/watchdog restarts the machine. Opening a pipe lets its writer go on. */
static void a_device_in_the_place_of_a_perf_map_was_opened(void **state)
{
	char path[] = "/tmp/named-XXXXXX";
	struct budget pool = budget_for_file(-1);
	struct jit_names *names = NULL;
	pid_t writer;

	(void)state;
	close(mkstemp(path));
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	writer = fork();
	if (!writer)
		_exit(open(path, O_WRONLY | O_CLOEXEC) < 0);
	usleep(100000);
	assert_int_equal(jit_names_read(path, getuid(), &pool, &names), -ENOEXEC);
	usleep(100000);
	assert_int_equal(waitpid(writer, NULL, WNOHANG), 0);
	kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
	unlink(path);
}

/* Each line was followed by reading and sorting the whole file. */
static void a_perf_map_that_grows_by_a_line_per_event_is_read_once(void **state)
{
	char path[] = "/tmp/named-XXXXXX";
	struct budget pool = budget_for_file(-1);
	struct jit_names *names = NULL;
	int fd = mkstemp(path), lines = 200000;
	FILE *file = fdopen(fd, "w");
	struct str name;
	uint64_t into;
	clock_t start;

	(void)state;
	assert_non_null(file);
	for (int i = 0; i < lines; i++)
		fprintf(file, "%x 10 function%d\n", 0x100000 + 16 * i, i);
	fflush(file);
	start = clock();
	for (int i = lines; i < lines + 3000; i++) {
		fprintf(file, "%x 10 function%d\n", 0x100000 + 16 * i, i);
		fflush(file);
		assert_int_equal(jit_names_read(path, getuid(), &pool, &names), 0);
		assert_true(jit_names_at(names, 0x100000u + 16u * (unsigned)i + 4, &name, &into));
		assert_int_equal(into, 4);
	}
	assert_true(clock() - start < 3 * CLOCKS_PER_SEC); /* 0.1 s; it was minutes */
	assert_true(jit_names_at(names, 0x100000, &name, &into));
	assert_true(str_eq(name, STR("function0")));
	fprintf(file, "100000 10 moved\n");
	fclose(file);
	assert_int_equal(jit_names_read(path, getuid(), &pool, &names), 0);
	assert_true(jit_names_at(names, 0x100000, &name, &into));
	assert_true(str_eq(name, STR("moved")));
	unlink(path);
	jit_names_free(names);
	assert_int_equal(pool.memory, BUDGET_FILE_MEMORY);
}

/* Any process may write so much that the tracer would hold gigabytes of it. */
static void a_perf_map_without_end_is_cut(void **state)
{
	char path[] = "/tmp/named-XXXXXX";
	struct budget pool = budget_for_file(-1);
	struct jit_names *names = NULL;
	int fd = mkstemp(path);
	FILE *file = fdopen(fd, "w");
	struct str name;
	uint64_t into;

	(void)state;
	assert_non_null(file);
	for (int i = 0; i < 1500000; i++)
		fprintf(file, "%x 10 f\n", 0x100000 + 16 * i);
	fclose(file);
	assert_int_equal(jit_names_read(path, getuid(), &pool, &names), 0);
	assert_true(jit_names_are_cut(names));
	assert_true(jit_names_at(names, 0x100000, &name, &into));
	assert_false(jit_names_at(names, 0x100000 + 16 * 1499999, &name, &into));
	unlink(path);
	jit_names_free(names);
}

static void the_vdso_has_names(void **state)
{
	uint64_t base = getauxval(AT_SYSINFO_EHDR);
	struct symbols *s = NULL;
	int named = 0;

	(void)state;
	if (!base)
		skip();
	assert_int_equal(symbols_new(&s), 0);
	for (uint64_t at = base; at < base + 4096; at += 16)
		named += strstr(name_of(s, getpid(), at, 0), "clock_gettime") != NULL;
	assert_true(named > 0);
	symbols_free(s);
}

/* ---- mappings, one by one ---- */

struct mapping_list {
	struct mapped_file all[256];
	size_t count;
};

static int keep_of_file(void *arg, const struct mapped_file *file)
{
	struct mapping_list *l = arg;

	if (file->inode && l->count < 256)
		l->all[l->count++] = *file;
	return 0;
}

static void code_is_found_without_the_text_of_maps(void **state)
{
	struct mapping_list text = {.count = 0}, queried = {.count = 0};
	struct buf maps = BUF_INIT;
	siginfo_t info;
	pid_t gone;
	int err = maps_each_code(getpid(), keep_of_file, &queried);

	(void)state;
	if (err == -ENOTSUP)
		skip(); /* Linux 6.11 */
	assert_int_equal(err, 0);
	assert_int_equal(maps_read(getpid(), &maps), 0);
	assert_int_equal(maps_parse(buf_as_str(&maps), getpid(), keep_of_file, &text), 0);
	assert_true(text.count > 2);
	assert_int_equal(queried.count, text.count);
	for (size_t i = 0; i < text.count; i++) {
		assert_int_equal(queried.all[i].start, text.all[i].start);
		assert_int_equal(queried.all[i].end, text.all[i].end);
		assert_int_equal(queried.all[i].offset, text.all[i].offset);
		assert_int_equal(queried.all[i].inode, text.all[i].inode);
		assert_int_equal(queried.all[i].device, text.all[i].device);
	}
	buf_free(&maps);
	gone = fork();
	if (!gone)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)gone, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(maps_each_code(gone, keep_of_file, &queried), -ESRCH);
	assert_int_equal(waitpid(gone, NULL, 0), gone);
	assert_int_equal(maps_each_code(gone, keep_of_file, &queried), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_functions_have_names),
		cmocka_unit_test(unknown_addresses_are_numbers),
		cmocka_unit_test(names_survive_exit),
		cmocka_unit_test(names_survive_deletion_and_exit),
		cmocka_unit_test(names_in_memory_files_survive_exit),
		cmocka_unit_test(names_in_other_namespaces_survive_exit),
		cmocka_unit_test(a_process_not_seen_has_numbers),
		cmocka_unit_test(later_libraries_are_found),
		cmocka_unit_test(a_replaced_file_is_not_believed),
		cmocka_unit_test(compiled_code_has_names),
		cmocka_unit_test(compiled_code_of_a_service_that_starts_had_no_names),
		cmocka_unit_test(files_that_were_read_still_counted_as_kept_open),
		cmocka_unit_test(perf_maps_of_others_are_not_believed),
		cmocka_unit_test(a_path_with_a_nul_was_not_copied_whole),
		cmocka_unit_test(a_device_in_the_place_of_a_perf_map_was_opened),
		cmocka_unit_test(a_perf_map_that_grows_by_a_line_per_event_is_read_once),
		cmocka_unit_test(a_perf_map_without_end_is_cut),
		cmocka_unit_test(the_vdso_has_names),
		cmocka_unit_test(code_is_found_without_the_text_of_maps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
