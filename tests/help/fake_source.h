/* A machine that is not there: one program with probes, functions and tracepoints, for tests and
 * fuzzing of the script room.
 *
 *   /bin/app       app:start     (no arguments)
 *                  app:tick      arg0 signed 4 bytes, arg1 unsigned 8 bytes, arg2 address
 *                  app:tock      two sites: arg0 unsigned 8 bytes, then signed 2 bytes
 *                  app:load      two sites: arg0 double, then signed 8 bytes
 *                  app:bad       arg0 fine, arg1 not understood, arg2 in an xmm register
 *                  app:few       two sites: two arguments, then one
 *                  app:gone      a site that cannot be traced
 *                  lib:tick      (no arguments)
 *   functions      main 0x1000, work 0x1100, work_hard 0x1200
 *   tracepoints    sched:sched_switch, sched:sched_wakeup, syscalls:sys_enter_openat
 *
 * With a process: /bin/late, which appears when `late` is set: app:late (no arguments). */
#ifndef NOPAL_TESTS_HELP_FAKE_SOURCE_H
#define NOPAL_TESTS_HELP_FAKE_SOURCE_H

#include "script/script.h"

struct fake {
	bool late; /* /bin/late is mapped */
};

struct script_source fake_source(struct fake *fake);

#endif
