/* Random programs that every engine can run: BEGIN clauses that begin with a seed and do something
 * with every kind of operation, on maps, texts and a page of memory. The same seed makes the same
 * program everywhere. */
#ifndef NOPAL_TESTS_HELP_RANDOM_PROGRAM_H
#define NOPAL_TESTS_HELP_RANDOM_PROGRAM_H

#include "base/array.h"
#include "help/check.h"
#include "program/op.h"
#include "program/program.h"

#define REGS	   6
#define MAX_CODE   400
#define MAX_FIELDS 4

/* A program being made. Registers and slots of the masks are written on every way here. */
struct maker {
	uint64_t random;
	struct insn code[MAX_CODE];
	struct field fields[MAX_CODE][MAX_FIELDS];
	uint32_t count;
	unsigned regs, slots;
	unsigned depth;
};

/* The program of a seed, and what it points to. */
struct random_program {
	struct maker maker;
	struct clause clause;
	struct span spans[MAX_CODE];
	struct program program;
};

void random_program_make(struct random_program *r, uint64_t seed);

/* Memory that both engines can read: one page, nothing to read before and after it. It must be
 * there before a program is made. */
void random_page_open(void);
void random_page_close(void);
struct str random_page(void);

#endif
