/* nopal doctor: what this machine and this user can trace, and what to do about the rest. */
#include "command.h"

#include <stdio.h>
#include <string.h>

#include "nopal/trace.h"

static void print(void *arg, const char *text, size_t len)
{
	(void)arg;
	fwrite(text, 1, len, stdout);
}

int cmd_doctor(int argc, char **argv)
{
	if (argc > 1 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
		puts("usage: nopal doctor\n\n"
		     "Show which kernel features are there, whether this user may trace, and what "
		     "to do if not.\n"
		     "Exit code 0: tracing works; 1: it does not.");
		return EXIT_OK;
	}
	if (argc > 1)
		return usage_error("doctor", "doctor takes no arguments");
	return nopal_doctor(print, NULL) ? EXIT_FAILED : EXIT_OK;
}
