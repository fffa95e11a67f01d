/* One case of tests/cases/report/: a program of a few maps and formats, what arrives, and the text
 * and JSON that must come out. Its keys are in `directives` below, and text and json. */
#ifndef NOPAL_TESTS_HELP_REPORT_CASE_H
#define NOPAL_TESTS_HELP_REPORT_CASE_H

#include "help/casefile.h"
#include "help/report_words.h"
#include "program/record.h"
#include "report/report.h"

struct step {
	enum { STEP_RECORD, STEP_MAPS, STEP_LOST, STEP_ATTACHED, STEP_FAULT } kind;
	struct str bytes;
	uint64_t numbers[4];
};

struct entry {
	uint32_t map;
	struct str key, value;
	bool gone;
};

/* One case: everything that its lines built, and what must come out. */
struct bench {
	struct arena arena;
	struct program program;
	struct map_def maps[MOST];
	struct format formats[MOST];
	struct str names[MOST];
	struct span spans[MOST];
	struct entry entries[256];
	size_t entry_count;
	struct step steps[64];
	size_t step_count;
	struct report_options options;
	bool has_text, has_json;
	struct buf text, json;
	int exit_code; /* of exit(); -1: it did not run */
	int error;     /* of the last record */
};

/* A record of the last format, its fields from the line. */
void add_record(struct bench *b, struct str *line);
void on_printf(struct bench *b, struct str *line);
void on_exit_code(struct bench *b, struct str *line);

/* names: "a" "b" */
void on_names(struct bench *b, struct str *line);
void take_field(struct bench *b, const struct case_field *f);
void bench_init(struct bench *b);
void bench_free(struct bench *b);

#endif
