/* A report from inside: what report.c and event.c share. */
#ifndef NOPAL_REPORT_INSIDE_H
#define NOPAL_REPORT_INSIDE_H

#include "report/format.h"
#include "report/render.h"
#include "report/report.h"

struct report {
	const struct program *program;
	enum report_style style;
	bool unsafe;
	int stop_fd;		  /* 0: none */
	uint64_t skipped;	  /* calls of system() and cat() that were not made */
	struct renderer renderer; /* as the output needs it */
	struct renderer raw;	  /* for JSON, paths and commands: nothing is escaped */
	struct buf scratch;
	struct buf failure; /* why the last cat() or system() gave nothing */
};

#endif
