#include "help/shell.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int shell_run(const char *format, ...)
{
	char command[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	return system(command);
}

bool shell_has(const char *command)
{
	return !shell_run("command -v $(echo %s | cut -d' ' -f1) >/dev/null 2>&1", command);
}
