/* Help for tests of the BPF engine: a traced program to command, programs put together by hand, and
 * the records that came. Each test file includes this once. */
#ifndef NOPAL_TESTS_HELP_BPF_H
#define NOPAL_TESTS_HELP_BPF_H

#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#include "help/check.h"
#include "help/puppet.h"
#include "help/site_args.h"
#include "base/file.h"
#include "engine/engine.h"

struct target {
	char path[256];
	struct puppet puppet;
	struct {
		char name[16];
		unsigned long offset;
	} sites[16];
	int site_count;
};

#define MAKE_MOST 16

/* Pieces are added one after the other; make_program gives the whole. The last clause, the last
 * instruction is what make_* work on. */
struct make {
	struct arena arena;
	struct program p;
	struct clause clauses[MAKE_MOST];
	struct attach attaches[MAKE_MOST][MAKE_MOST];
	struct insn code[MAKE_MOST][64];
	struct slot slots[MAKE_MOST][MAKE_MOST];
	struct map_def maps[MAKE_MOST];
	struct format formats[MAKE_MOST];
	struct str literals[MAKE_MOST], names[MAKE_MOST];
	struct span spans[64];
	struct file *file; /* of the sites; NULL: there are none */
};

/* Append; SLOT_NO and REG_NO have to be said. */
#define ADD(m, ...) make_insn((m), (struct insn){__VA_ARGS__})

struct run {
	struct make *m;
	struct engine *e;
	struct diag d;
	/* What came: the fields of records as text, "d=1 s=abc|...". */
	struct buf text;
	unsigned records;
};

/* One map as text: "key:value;" with values as words. */
struct map_text {
	struct run *r;
	uint32_t map;
	struct buf out;
};

#define SKIP_WITHOUT_ROOT()                                                                   \
	do {                                                                                  \
		if (geteuid() || access("/sys/bus/event_source/devices/uprobe/type", R_OK)) { \
			print_message("needs root and uprobes\n");                            \
			skip();                                                               \
		}                                                                             \
	} while (0)

#define EXPECT_START(r, m, ...)                                                        \
	do {                                                                           \
		int err_ = run_start(&(r), (m), (struct engine_options){__VA_ARGS__}); \
		show_messages(&(r));                                                   \
		assert_int_equal(err_, 0);                                             \
	} while (0)

static const struct type int_type = {.kind = TYPE_INT, .size = 8, .is_signed = true};

static const struct type str_type = {.kind = TYPE_STR, .size = 64};

static const struct type none = {.kind = TYPE_NONE};

static const struct type counter = {.kind = TYPE_COUNT};

static const struct field reg0[] = {{0, SLOT_NO}}, slot0[] = {{REG_NO, 0}};

/* Send one line, wait for "done"; the number after "sema" in its answer, if any. */
long target_tell(struct target *t, const char *line);
void target_start(struct target *t);
void target_stop(struct target *t);
unsigned long target_offset(const struct target *t, const char *name);
struct make *make_new(void);
void make_free(struct make *m);
struct clause *make_clause(struct make *m, uint32_t regs);
struct attach *make_place(struct make *m, enum attach_kind kind);
struct attach *make_site(struct make *m, const struct target *t, const char *name,
			 const char *args);

/* A function's first instruction, which is no nop. */
struct attach *make_function(struct make *m, const struct target *t, const char *name);
uint16_t make_slot(struct make *m, struct type type);
uint32_t make_insn(struct make *m, struct insn in);
uint16_t make_map(struct make *m, struct type key, struct type value, uint32_t most);
int64_t make_format(struct make *m, enum format_kind kind, const struct type *fields,
		    unsigned count);

/* Emit the fields, as printf() would. */
void make_print(struct make *m, const struct type *types, const struct field *fields,
		unsigned count);

/* One program that counts at `int`, for what is about attaching. */
struct make *make_counter(const struct target *t);
void show_messages(struct run *r);
int run_start(struct run *r, struct make *m, struct engine_options o);
void run_stop(struct run *r);

/* All records so far. */
const char *run_text(struct run *r);
int show_entry(void *arg, struct str key, struct str value);
void assert_map(struct run *r, uint32_t map, const char *want);

/* Run the only clause of `m`, a BEGIN; the records as text. */
void assert_run(struct make *m, const char *want);
struct make *make_begin(uint32_t regs);

/* d = value, by way of a map: the verifier then knows nothing of it. */
void add_unknown(struct make *m, uint16_t d, int64_t value);

#endif
