/* Call frame information as rows: compared with elfutils' reading of the same files, address by
 * address; damaged and hostile sections; one step of a walk. STRESS=1 compares at every row. */
#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libelf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "help/elf_builder.h"
#include "help/rows.h"
#include "help/shell.h"
#include "unwind/inside.h"

#define SAMPLES	    300 /* rows of a file that are compared, about */
#define FILES_LEAST 30

/* Those that are there: both CPUs, PIE and not, with and without frame pointers, C, C++, Rust,
 * assembler, programs that were optimised by profile or when linked. */
/* clang-format off */
static const char *const files[] = {
	"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libm.so.6",
	"/lib/x86_64-linux-gnu/libgcc_s.so.1", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/lib/x86_64-linux-gnu/libssl.so.3",
	"/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1", "/usr/lib/x86_64-linux-gnu/libelf.so.1",
	"/usr/lib/x86_64-linux-gnu/libdw.so.1", "/usr/lib/x86_64-linux-gnu/libz.so.1",
	"/usr/lib/x86_64-linux-gnu/libxml2.so.2", "/usr/lib/x86_64-linux-gnu/libglib-2.0.so.0",
	"/usr/lib/x86_64-linux-gnu/libncursesw.so.6", "/usr/lib/x86_64-linux-gnu/libgmp.so.10",
	"/usr/bin/python3.11", "/usr/bin/php8.2", "/usr/bin/perl", "/usr/bin/gdb", "/usr/bin/bash",
	"/usr/bin/ls", "/usr/bin/gcc", "/usr/bin/git", "/usr/bin/make", "/usr/bin/ruby", "/usr/bin/tar",
	"/usr/bin/node", "/usr/lib/postgresql/15/bin/postgres", "/usr/sbin/ldconfig",
	"/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so",
	"/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1",
	"/usr/aarch64-linux-gnu/lib/libc.so.6", "/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1",
	"/usr/aarch64-linux-gnu/lib/libm.so.6", "/usr/aarch64-linux-gnu/lib/libstdc++.so.6",
	"/usr/aarch64-linux-gnu/lib/libgcc_s.so.1", "/usr/aarch64-linux-gnu/lib/libgomp.so.1",
	"/usr/aarch64-linux-gnu/lib/libitm.so.1", "/usr/aarch64-linux-gnu/lib/libasan.so.8",
	"/usr/aarch64-linux-gnu/lib/libtsan.so.2", "/usr/aarch64-linux-gnu/lib/libubsan.so.1",
	"/usr/aarch64-linux-gnu/lib/libhwasan.so.0", "/usr/aarch64-linux-gnu/lib/liblsan.so.0",
	"/usr/lib/aarch64-linux-gnu/libelf.so.1", "/usr/lib/aarch64-linux-gnu/libdw.so.1",
	"/usr/lib/aarch64-linux-gnu/libz.so.1", "/usr/lib/aarch64-linux-gnu/libncursesw.so.6",
};
/* clang-format on */

struct cpu {
	int sp, fp, ra;
};

static struct cpu cpu_of(const struct image *image)
{
	return image->machine == EM_X86_64 ? (struct cpu){7, 6, 16} : (struct cpu){31, 29, 30};
}

/* ---- what elfutils says, as a rule */

static bool is_reg(const Dwarf_Op *op, int reg, int32_t *offset)
{
	*offset = (int32_t)(op->atom == DW_OP_bregx ? op->number2 : op->number);
	return op->atom == DW_OP_bregx ? (int)op->number == reg : op->atom == DW_OP_breg0 + reg;
}

static void cfa_of(const Dwarf_Op *ops, size_t count, struct cpu cpu, struct unwind_rule *r)
{
	bool sp;

	r->cfa = UNWIND_UNKNOWN;
	if (!count)
		return;
	sp = is_reg(ops, cpu.sp, &r->cfa_off);
	if (sp && count == 9 && ops[8].atom == DW_OP_plus && ops[4].atom >= DW_OP_lit0) {
		r->cfa = UNWIND_PLT;
		r->cfa_off = ops[4].atom - DW_OP_lit0;
		return;
	}
	if (!sp && !is_reg(ops, cpu.fp, &r->cfa_off))
		return;
	if (count == 1)
		r->cfa = sp ? UNWIND_SP : UNWIND_FP;
	else if (ops[1].atom == DW_OP_plus_uconst && count == 2)
		r->cfa_off += (int32_t)ops[1].number, r->cfa = sp ? UNWIND_SP : UNWIND_FP;
	else if (ops[1].atom == DW_OP_deref && count <= 3)
		r->cfa = sp ? UNWIND_SP_LOAD : UNWIND_FP_LOAD;
	if (count == 3 && r->cfa != UNWIND_UNKNOWN)
		r->more = (int8_t)ops[2].number;
}

static void place_of(Dwarf_Frame *frame, int reg, struct cpu cpu, uint8_t *place, int32_t *offset)
{
	Dwarf_Op memory[3], *ops;
	size_t count;

	*offset = 0;
	*place = UNWIND_BAD;
	assert_int_equal(dwarf_frame_register(frame, reg, memory, &ops, &count), 0);
	if (!count) {
		*place = ops ? UNWIND_LOST : UNWIND_SAME;
		return;
	}
	if (ops[count - 1].atom == DW_OP_stack_value || ops[0].atom != DW_OP_call_frame_cfa)
		return;
	if (count == 1) {
		*place = UNWIND_AT_CFA;
	} else if (ops[1].atom == DW_OP_plus_uconst && count == 2) {
		*place = UNWIND_AT_CFA;
		*offset = (int32_t)ops[1].number;
	} else if (count == 2 && is_reg(&ops[1], cpu.sp, offset)) {
		*place = UNWIND_AT_SP;
	} else if (count == 2 && is_reg(&ops[1], cpu.fp, offset)) {
		*place = UNWIND_AT_FP;
	}
}

static struct unwind_rule rule_of(Dwarf_Frame *frame, struct cpu cpu)
{
	struct unwind_rule r = {0};
	Dwarf_Op *ops;
	size_t count;
	bool signal;
	int ra = dwarf_frame_info(frame, NULL, NULL, &signal);

	place_of(frame, ra, cpu, &r.ra, &r.ra_off);
	if (r.ra == UNWIND_LOST && ra != cpu.ra) /* in another register */
		return (struct unwind_rule){.cfa = UNWIND_UNKNOWN};
	if (r.ra == UNWIND_LOST)
		return (struct unwind_rule){.cfa = UNWIND_SP, .ra = UNWIND_LOST};
	assert_int_equal(dwarf_frame_cfa(frame, &ops, &count), 0);
	cfa_of(ops, count, cpu, &r);
	place_of(frame, cpu.fp, cpu, &r.fp, &r.fp_off);
	if (r.cfa == UNWIND_UNKNOWN || r.ra == UNWIND_BAD)
		return (struct unwind_rule){.cfa = UNWIND_UNKNOWN};
	if (r.fp == UNWIND_BAD)
		r.fp_off = 0;
	r.ra |= signal ? UNWIND_SIGNAL : 0;
	return r;
}

/* ---- one file */

struct file_counts {
	size_t compared, none, unknown;
};

static void print_rule(const char *who, const struct unwind_rule *r)
{
	print_message("  %s: cfa %u%+d%+d, fp %u%+d, ra %u%+d\n", who, r->cfa, r->cfa_off, r->more,
		      r->fp, r->fp_off, r->ra, r->ra_off);
}

/* Between two functions that are less than 16 bytes apart. */
static bool is_padding(Dwarf_CFI *cfi, uint64_t address)
{
	Dwarf_Frame *frame;

	for (uint64_t at = address + 1; at < address + 16; at++)
		if (!dwarf_cfi_addrframe(cfi, at, &frame)) {
			free(frame);
			return true;
		}
	return false;
}

/* Both at one address. An END row may be missing where the gap is only padding. */
static void compare_at(const char *path, Dwarf_CFI *cfi, const struct unwind_rules *rules,
		       const struct unwind_table *t, struct cpu cpu, uint64_t address,
		       struct file_counts *n)
{
	const struct unwind_rule *ours = &rules->items[unwind_rule_at(t, address)];
	Dwarf_Frame *frame = NULL;
	struct unwind_rule theirs;

	n->compared++;
	if (dwarf_cfi_addrframe(cfi, address, &frame)) {
		n->none++;
		if (ours->cfa == UNWIND_NONE || is_padding(cfi, address))
			return;
		if (unwind_rule_at(t, address) == UNWIND_RULE_CHAIN && strstr(path, "node"))
			return; /* V8's own */
		print_message("%s: 0x%llx: elfutils knows nothing\n", path,
			      (unsigned long long)address);
		print_rule("ours", ours);
		fail();
	}
	theirs = rule_of(frame, cpu);
	n->unknown += ours->cfa == UNWIND_UNKNOWN;
	if (memcmp(ours, &theirs, sizeof(theirs))) {
		print_message("%s: 0x%llx differs\n", path, (unsigned long long)address);
		print_rule("ours", ours);
		print_rule("elfutils", &theirs);
		fail();
	}
	free(frame);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static bool compare_file(const char *path, struct unwind_rules *rules)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct file_counts n = {0};
	struct unwind_table t = {0};
	struct image *image;
	size_t step;
	double start = now_ms();
	Dwarf_CFI *cfi;
	Elf *elf;

	if (fd < 0)
		return false;
	assert_int_equal(image_open_fd(dup(fd), str_from(path), &image, NULL), 0);
	assert_int_equal(unwind_table_read(&(struct unwind_source){.image = image}, rules, &t), 0);
	print_message("%s: %zu rows, %u rules so far, %.1f ms\n", path, t.count, rules->count,
		      now_ms() - start);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	cfi = dwarf_getcfi_elf(elf);
	assert_non_null(cfi);
	assert_true(t.count > 1);
	assert_int_equal(t.rows[t.count - 1].rule, UNWIND_RULE_NONE);
	step = getenv("STRESS") ? 1 : t.count / SAMPLES + 1;
	for (size_t i = 0; i + 1 < t.count; i += step) {
		uint64_t from = row_address(&t, i), to = row_address(&t, i + 1);

		assert_true(from < to);
		assert_ptr_equal(unwind_row_at(&t, from), &t.rows[i]);
		assert_ptr_equal(unwind_row_at(&t, to - 1), &t.rows[i]);
		compare_at(path, cfi, rules, &t, cpu_of(image), from, &n);
		/* The last byte may be padding after a function. */
		if (t.rows[i].rule != UNWIND_RULE_NONE && to - from > 16)
			compare_at(path, cfi, rules, &t, cpu_of(image), from + (to - from) / 2 - 8,
				   &n);
	}
	assert_true(n.unknown * 20 <= n.compared);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close(fd);
	unwind_table_free(&t);
	image_close(image);
	return true;
}

static void rows_are_what_elfutils_reads(void **state)
{
	struct unwind_rules *rules = malloc(sizeof(*rules));
	unsigned count = 0;

	(void)state;
	elf_version(EV_CURRENT);
	assert_int_equal(unwind_rules_init(rules), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		count += compare_file(files[i], rules);
	assert_int_equal(rules->refused, 0);
	print_message("%u files, %u rules\n", count, rules->count);
	if (count < FILES_LEAST)
		print_message("fewer than %d of the files are installed\n", FILES_LEAST);
	unwind_rules_free(rules);
	free(rules);
}

/* ---- what linkers and assemblers write, one case each */

/* A small program by the C compiler, or an image built here, and its table. */
struct made {
	struct unwind_rules rules;
	struct unwind_table table;
	struct image *image;
	char path[64];
	struct buf bytes;
};

/* The result of unwind_table_read(). */
static int read_made(struct made *m)
{
	m->table = (struct unwind_table){0};
	assert_int_equal(unwind_rules_init(&m->rules), 0);
	return unwind_table_read(&(struct unwind_source){m->image, str_from(m->path), STR("")},
				 &m->rules, &m->table);
}

/* Takes the bytes. */
static int read_bytes(struct made *m, struct buf bytes)
{
	m->path[0] = '\0';
	m->bytes = bytes;
	assert_int_equal(image_open_memory(bytes.ptr, bytes.len, STR("made"), &m->image, NULL), 0);
	return read_made(m);
}

static void open_made(struct made *m)
{
	m->bytes = (struct buf)BUF_INIT;
	assert_int_equal(image_open(m->path, &m->image, NULL), 0);
	assert_int_equal(read_made(m), 0);
}

static bool make(struct made *m, const char *command, const char *source)
{
	char line[512];
	FILE *f;

	strcpy(m->path, "/tmp/nopal-unwind-XXXXXX");
	close(mkstemp(m->path));
	snprintf(line, sizeof(line), "%s -o %s -x %s - 2>/dev/null", command, m->path,
		 strstr(source, ".cfi") ? "assembler" : "c");
	f = popen(line, "w");
	fputs(source, f);
	if (pclose(f)) {
		unlink(m->path);
		return false;
	}
	open_made(m);
	return true;
}

static void unmake(struct made *m)
{
	unwind_table_free(&m->table);
	unwind_rules_free(&m->rules);
	image_close(m->image);
	buf_free(&m->bytes);
	if (m->path[0])
		unlink(m->path);
}

static const struct unwind_rule *rule_at(const struct made *m, uint64_t address)
{
	return &m->rules.items[unwind_rule_at(&m->table, address)];
}

static bool has_rule(const struct made *m, struct unwind_rule want)
{
	for (size_t i = 0; i < m->table.count; i++)
		if (!memcmp(&m->rules.items[m->table.rows[i].rule], &want, sizeof(want)))
			return true;
	return false;
}

#define PROGRAM "int main(void) { return 0; }\n"

static void a_program_has_a_root_and_a_plt(void **state)
{
	struct made m;

	(void)state;
#ifndef __x86_64__
	skip();
#endif
	if (!make(&m, "cc -O2 -Wl,-z,lazy",
		  "#include <stdio.h>\n"
		  "int main(void) { return puts(\"\"); }\n"))
		skip();
	assert_true(has_rule(&m, (struct unwind_rule){.cfa = UNWIND_SP, .ra = UNWIND_LOST}));
	assert_true(has_rule(
		&m, (struct unwind_rule){
			    .cfa = UNWIND_PLT, .cfa_off = 11, .ra = UNWIND_AT_CFA, .ra_off = -8}));
	unmake(&m);
}

static void a_realigned_stack_is_followed(void **state)
{
	struct made m;

	(void)state;
#ifndef __x86_64__
	skip();
#endif
	if (!make(&m, "cc -O2 -shared -fPIC -mstackrealign",
		  "void use(void *);\n"
		  "int f(int n) { char a[64] __attribute__((aligned(64))), b[n];\n"
		  "use(a); use(b); return n; }\n"))
		skip();
	assert_true(has_rule(&m, (struct unwind_rule){.cfa = UNWIND_FP_LOAD,
						      .cfa_off = -8,
						      .fp = UNWIND_AT_FP,
						      .ra = UNWIND_AT_CFA,
						      .ra_off = -8}));
	unmake(&m);
}

static void debug_frame_alone_is_read(void **state)
{
	struct made m;

	(void)state;
#ifndef __x86_64__
	skip();
#endif
	if (!make(&m, "cc -nostdlib -static",
		  ".cfi_sections .debug_frame\n"
		  ".globl _start\n_start:\n"
		  ".cfi_startproc\nnop\n.cfi_def_cfa_offset 24\nnop\n"
		  ".cfi_endproc\n"))
		skip();
	assert_null(image_section(m.image, ".eh_frame", NULL));
	assert_int_equal(m.table.count, 3);
	assert_int_equal(m.rules.items[m.table.rows[1].rule].cfa_off, 24);
	unmake(&m);
}

/* As only one function has it. */
static bool has_large_frame(const struct made *m)
{
	for (size_t i = 0; i < m->table.count; i++) {
		const struct unwind_rule *r = &m->rules.items[m->table.rows[i].rule];

		if (r->cfa == UNWIND_SP && r->cfa_off > 256)
			return true;
	}
	return false;
}

/* What strip leaves is found by .gnu_debuglink, if it belongs to the file and its owner. */
static void debug_frame_of_a_separate_file_is_read(void **state)
{
	static const struct {
		const char *flags, *then; /* after the file is stripped */
		bool is_read;
	} cases[] = {
		{"", "true", true},
		{"", "objcopy --compress-debug-sections s.debug", true},
		{"-Wl,--build-id=none", "true", true},
		{"-Wl,--build-id=none", "printf x >>s.debug", false},
		{"", "cc -g -x c -o s.debug s.c -DOTHER", false},
		{"", "chown 65534 s.debug", false},
		{"", "chown 65534 s.debug s", true},
		{"", "truncate -s 200M s.debug", true},
		{"", "rm s.debug", false},
	};

	(void)state;
#ifndef __x86_64__
	skip();
#endif
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char dir[] = "/tmp/nopal-unwind-XXXXXX";
		struct made m;

		if (!strncmp(cases[i].then, "chown", 5) && geteuid())
			continue;
		assert_non_null(mkdtemp(dir));
		assert_int_equal(
			shell_run("cd %s && echo 'int f(int n) { volatile char s[400]; s[0] = n; "
				  "return s[n]; } int main(int n, char **v) { return f(n); }' >s.c "
				  "&& cc -O2 -g -fno-inline -fno-asynchronous-unwind-tables "
				  "-fno-unwind-tables -Wl,--build-id %s -o s s.c && "
				  "objcopy --only-keep-debug s s.debug && strip s && "
				  "objcopy --add-gnu-debuglink=s.debug s && %s",
				  dir, cases[i].flags, cases[i].then),
			0);
		snprintf(m.path, sizeof(m.path), "%s/s", dir);
		open_made(&m);
		if (has_large_frame(&m) != cases[i].is_read)
			fail_msg("%s, %s", cases[i].flags, cases[i].then);
		unmake(&m);
		shell_run("rm -r %s", dir);
	}
}

/* Some tools strip the section headers. */
static void section_headers_are_not_needed(void **state)
{
	uint64_t nothing[2] = {0, 0};
	struct unwind_table t;
	struct made m;
	struct image *bare;
	int fd;

	(void)state;
	if (sizeof(void *) != 8 || !make(&m, "cc -O2", PROGRAM))
		skip();
	fd = open(m.path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pwrite(fd, nothing, 8, 40), 8); /* e_shoff */
	assert_int_equal(pwrite(fd, nothing, 4, 60), 4); /* e_shnum, e_shstrndx */
	assert_int_equal(image_open_fd(fd, STR("bare"), &bare, NULL), 0);
	assert_int_equal(bare->section_count, 0);
	assert_int_equal(unwind_table_read(&(struct unwind_source){.image = bare}, &m.rules, &t),
			 0);
	assert_int_equal(t.count, m.table.count);
	assert_memory_equal(t.rows, m.table.rows, t.count * sizeof(*t.rows));
	unwind_table_free(&t);
	image_close(bare);
	unmake(&m);
}

/* The functions that V8 builds for itself, `size` bytes of them, after others. */
static bool make_v8(struct made *m, unsigned size)
{
	char source[1024];

	snprintf(source, sizeof(source),
		 ".macro begin name\n.globl \\name\n.type \\name, @function\n\\name: "
		 ".cfi_startproc\n.endm\n"
		 ".text\nbegin _ZN2v88internal23DefaultEmbeddedBlobCodeEv\n"
		 "lea blob(%%rip), %%rax\nret\n.cfi_endproc\n"
		 "begin _ZN2v88internal27DefaultEmbeddedBlobCodeSizeEv\n"
		 "endbr64\npush %%rbp\nmov %%rsp, %%rbp\nmov size(%%rip), %%eax\npop "
		 "%%rbp\nret\n.cfi_endproc\n.p2align 6\n"
		 "blob: .zero 0x60000\nbegin after\nret\n.cfi_endproc\n"
		 ".section .rodata\nsize: .long %u\n",
		 size);
	return make(m, "cc -shared -nostdlib", source);
}

static void code_of_v8_keeps_frame_pointers(void **state)
{
	struct made m;
	uint64_t end;

	(void)state;
#ifndef __x86_64__
	skip();
#endif
	if (!make_v8(&m, 0x60000))
		skip();
	end = row_address(&m.table, m.table.count - 1);
	assert_int_equal(unwind_rule_at(&m.table, end - 0x100), UNWIND_RULE_CHAIN);
	assert_int_equal(unwind_rule_at(&m.table, end - 0x5fff0), UNWIND_RULE_CHAIN);
	assert_int_equal(rule_at(&m, m.table.base)->cfa, UNWIND_SP);
	assert_int_equal(rule_at(&m, end - 1)->cfa, UNWIND_SP);
	unmake(&m);
	/* More of it than there is code. */
	assert_true(make_v8(&m, 0x7000000));
	assert_int_equal(unwind_rule_at(&m.table, m.table.base + 0x5000), UNWIND_RULE_NONE);
	unmake(&m);
}

static void other_cpus_are_refused(void **state)
{
	struct made_elf e = make_elf(8, true, EM_S390);
	struct made m;

	(void)state;
	assert_int_equal(read_bytes(&m, finish_elf(&e)), -ENOTSUP);
	unmake(&m);
}

/* Entries of functions that were dropped, that overlap, that end in the middle. */
static void add_cie(struct made_elf *e, struct buf *b)
{
	put(e, b, 20, 4);
	put(e, b, 0, 4);
	buf_add(b, "\1zR\0\1\x78\x10\1\0\x0c\7\x08\x90\1\0\0", 16); /* absolute addresses */
}

static void add_fde(struct made_elf *e, struct buf *b, uint64_t start, uint64_t len, uint8_t offset)
{
	put(e, b, 28, 4);
	put(e, b, b->len, 4); /* back to the start of the section */
	put(e, b, start, 8);
	put(e, b, len, 8);
	put(e, b, 0, 1);
	put(e, b, 0x44, 1); /* advance by 4 */
	put(e, b, 0x0e, 1);
	put(e, b, offset, 1);
	put(e, b, 0, 4);
}

static void check_offset(const struct made *m, uint64_t address, int32_t want)
{
	const struct unwind_rule *r = rule_at(m, address);

	assert_int_equal(r->cfa == UNWIND_SP ? r->cfa_off : -1, want);
}

static void entries_may_be_in_any_order(void **state)
{
	struct made_elf e = make_elf(8, false, EM_X86_64);
	struct buf *b = add_section(&e, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, 0x400800);
	struct made m;

	(void)state;
	add_cie(&e, b);
	add_fde(&e, b, 0, 0x100, 99);		   /* dropped */
	add_fde(&e, b, CODE_AT + 0x100, 0x20, 32); /* after the next one */
	add_fde(&e, b, CODE_AT + 0x10, 0x20, 16);
	add_fde(&e, b, CODE_AT + 0x18, 0x28, 24); /* begins in the one before */
	put(&e, b, 200, 4);			  /* longer than the section */
	put(&e, b, 1, 4);
	assert_int_equal(read_bytes(&m, finish_elf(&e)), 0);
	assert_int_equal(m.table.base, CODE_AT + 0x10);
	check_offset(&m, CODE_AT + 0x0f, -1);
	check_offset(&m, CODE_AT + 0x10, 8);
	check_offset(&m, CODE_AT + 0x14, 16);
	check_offset(&m, CODE_AT + 0x2f, 16);
	check_offset(&m, CODE_AT + 0x30, 24);
	check_offset(&m, CODE_AT + 0x40, -1);
	check_offset(&m, CODE_AT + 0x100, 8);
	check_offset(&m, CODE_AT + 0x11f, 32);
	check_offset(&m, CODE_AT + 0x120, -1);
	unmake(&m);
}

/* Functions begin in those before: so they have what is left of them, chunks away from where they
 * begin. The first row of a chunk, chunks without a row. */
static void rows_are_found_in_whichever_chunk(void **state)
{
	struct made_elf e = make_elf(8, false, EM_X86_64);
	struct buf *b = add_section(&e, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, 0x400800);
	struct made m;

	(void)state;
	add_cie(&e, b);
	add_fde(&e, b, CODE_AT, UNWIND_CHUNK, 16);
	add_fde(&e, b, CODE_AT + 0x10, 3 * UNWIND_CHUNK, 24);
	add_fde(&e, b, CODE_AT + 0x20, 4 * UNWIND_CHUNK, 32);
	assert_int_equal(read_bytes(&m, finish_elf(&e)), 0);
	assert_int_equal(m.table.chunk_count, 5);
	check_offset(&m, CODE_AT + 3, 8);
	check_offset(&m, CODE_AT + UNWIND_CHUNK - 1, 16);
	check_offset(&m, CODE_AT + UNWIND_CHUNK, 24);
	check_offset(&m, CODE_AT + 2 * UNWIND_CHUNK, 24);
	check_offset(&m, CODE_AT + 3 * UNWIND_CHUNK + 0x0f, 24);
	check_offset(&m, CODE_AT + 3 * UNWIND_CHUNK + 0x10, 32);
	check_offset(&m, CODE_AT + 4 * UNWIND_CHUNK + 0x1f, 32);
	check_offset(&m, CODE_AT + 4 * UNWIND_CHUNK + 0x20, -1);
	check_offset(&m, CODE_AT + 5 * UNWIND_CHUNK, -1);
	unmake(&m);
}

static void rules_beyond_the_limit_are_counted_and_said(void **state)
{
	struct unwind_rules *rules = malloc(sizeof(*rules));
	struct unwind_rule r = {.cfa = UNWIND_SP, .ra = UNWIND_AT_CFA, .ra_off = -8};
	struct unwind_regs regs = {.pc = 1, .sp = 2};

	(void)state;
	assert_int_equal(unwind_rules_init(rules), 0);
	for (uint32_t i = rules->count; i < UNWIND_RULES_MOST; i++) {
		r.cfa_off += 8;
		assert_int_equal(unwind_rules_number(rules, &r), i);
	}
	r.cfa_off += 8;
	assert_int_equal(unwind_rules_number(rules, &r), UNWIND_RULE_REFUSED);
	assert_int_equal(rules->refused, 1);
	r.cfa_off -= 8;
	assert_int_equal(unwind_rules_number(rules, &r), UNWIND_RULES_MOST - 1);
	assert_int_equal(unwind_step(&rules->items[UNWIND_RULE_REFUSED], &regs, NULL, NULL),
			 UNWIND_NO_ROOM);
	unwind_rules_free(rules);
	free(rules);
}

/* The kernel's image says nothing of what signal handlers return to. */
static void a_signal_handler_returns_to_known_bytes(void **state)
{
	const struct unwind_rule want = {.cfa = UNWIND_SP_LOAD,
					 .cfa_off = 560,
					 .fp = UNWIND_AT_SP,
					 .fp_off = 544,
					 .ra = UNWIND_AT_SP | UNWIND_SIGNAL,
					 .ra_off = 568};
	struct made_elf e = make_elf(8, false, EM_AARCH64);
	struct buf file = finish_elf(&e);
	struct made m;

	(void)state;
	memcpy(file.ptr + CODE_OFFSET + 0xffc, "\x68\x11\x80\xd2\1\0\0\xd4", 8); /* half outside */
	memcpy(file.ptr + CODE_OFFSET + 0x204, "\x68\x11\x80\xd2\1\0\0\xd4", 8);
	assert_int_equal(read_bytes(&m, file), 0);
	assert_int_equal(m.table.base,
			 CODE_AT + 0x200); /* a caller is looked for before the address */
	assert_memory_equal(rule_at(&m, CODE_AT + 0x200), &want, sizeof(want));
	assert_memory_equal(rule_at(&m, CODE_AT + 0x20b), &want, sizeof(want));
	assert_int_equal(unwind_rule_at(&m.table, CODE_AT + 0x20c), UNWIND_RULE_NONE);
	unmake(&m);
}

/* ---- one step */

struct memory {
	uint64_t at, words[8];
};

static bool read_word(void *arg, uint64_t address, uint64_t *out)
{
	struct memory *m = arg;

	if (address < m->at || address - m->at >= sizeof(m->words))
		return false;
	*out = m->words[(address - m->at) / 8];
	return true;
}

static void a_step_leads_to_the_caller(void **state)
{
	struct memory m = {0x1000, {4, 0x77, 0x401000, 0x1010, 5, 6, 7, 8}};
	const struct unwind_rule pushed = {.cfa = UNWIND_SP,
					   .cfa_off = 24,
					   .fp = UNWIND_AT_CFA,
					   .fp_off = -16,
					   .ra = UNWIND_AT_CFA,
					   .ra_off = -8};
	const struct unwind_rule realigned = {.cfa = UNWIND_FP_LOAD,
					      .cfa_off = 0,
					      .more = 8,
					      .fp = UNWIND_AT_FP,
					      .ra = UNWIND_AT_CFA,
					      .ra_off = -8};
	const struct unwind_rule signal = {.cfa = UNWIND_SP,
					   .cfa_off = -0x800,
					   .fp = UNWIND_AT_SP,
					   .fp_off = 8,
					   .ra = UNWIND_AT_SP | UNWIND_SIGNAL,
					   .ra_off = 16};
	const struct unwind_rule leaf = {.cfa = UNWIND_SP, .ra = UNWIND_SAME};
	const struct unwind_rule root = {.cfa = UNWIND_SP, .ra = UNWIND_LOST};
	const struct unwind_rule none = {.cfa = UNWIND_NONE}, unknown = {.cfa = UNWIND_UNKNOWN};
	struct unwind_regs start = {.pc = 0x400000, .sp = 0x1000, .fp = 0x1018, .lr = UNWIND_NO_LR},
			   r = start;

	(void)state;
	assert_int_equal(unwind_step(&pushed, &r, read_word, &m), UNWIND_GOES_ON);
	assert_int_equal(r.pc, 0x401000);
	assert_int_equal(r.sp, 0x1018);
	assert_int_equal(r.fp, 0x77);
	assert_false(r.is_exact);
	r = start;
	assert_int_equal(unwind_step(&realigned, &r, read_word, &m), UNWIND_GOES_ON);
	assert_int_equal(r.sp, 0x1018);
	assert_int_equal(r.pc, 0x401000);
	assert_int_equal(r.fp, 0x1010);
	r = start;
	assert_int_equal(unwind_step(&signal, &r, read_word, &m), UNWIND_GOES_ON);
	assert_int_equal(r.sp, 0x800);
	assert_true(r.is_exact);
	assert_int_equal(r.lr, UNWIND_NO_LR);
	r = start;
	r.has_lr = true;
	assert_int_equal(unwind_step(&signal, &r, read_word, &m), UNWIND_GOES_ON);
	assert_int_equal(r.lr, 4);
	r = start;
	assert_int_equal(unwind_step(&leaf, &r, read_word, &m), UNWIND_NOT_RULE);
	r.lr = 8;
	assert_int_equal(unwind_step(&leaf, &r, read_word, &m), UNWIND_GOES_ON);
	assert_int_equal(r.pc, 8);
	r = start;
	assert_int_equal(unwind_step(&root, &r, read_word, &m), UNWIND_ROOT);
	assert_int_equal(unwind_step(&none, &r, read_word, &m), UNWIND_NO_ROWS);
	assert_int_equal(unwind_step(&unknown, &r, read_word, &m), UNWIND_NOT_RULE);
	r.sp = 0x2000;
	assert_int_equal(unwind_step(&pushed, &r, read_word, &m), UNWIND_UNREADABLE);
	assert_int_equal(r.sp, 0x2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_what_elfutils_reads),
		cmocka_unit_test(a_program_has_a_root_and_a_plt),
		cmocka_unit_test(a_realigned_stack_is_followed),
		cmocka_unit_test(debug_frame_alone_is_read),
		cmocka_unit_test(debug_frame_of_a_separate_file_is_read),
		cmocka_unit_test(section_headers_are_not_needed),
		cmocka_unit_test(code_of_v8_keeps_frame_pointers),
		cmocka_unit_test(other_cpus_are_refused),
		cmocka_unit_test(entries_may_be_in_any_order),
		cmocka_unit_test(rows_are_found_in_whichever_chunk),
		cmocka_unit_test(rules_beyond_the_limit_are_counted_and_said),
		cmocka_unit_test(a_signal_handler_returns_to_known_bytes),
		cmocka_unit_test(a_step_leads_to_the_caller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
