#include "help/objdump.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "help/check.h"

/* Under qemu-user the commands are those of the machine. */
#if defined(__aarch64__)
#define OBJDUMP "aarch64-linux-gnu-objdump"
#define MACHINE "aarch64"
#else
#define OBJDUMP "x86_64-linux-gnu-objdump"
#define MACHINE "i386:x86-64"
#endif

void objdump_each(const struct native_code *c, void (*fn)(void *arg, char *line), void *arg)
{
	char path[] = "/tmp/nopal-code-XXXXXX", command[256], line[256];
	int fd = mkstemp(path);
	FILE *pipe;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, c->bytes.ptr, c->bytes.len), (ssize_t)c->bytes.len);
	close(fd);
	snprintf(command, sizeof(command),
		 "$(command -v %s || echo objdump) -D -z -b binary -m %s --no-show-raw-insn "
		 "--adjust-vma=0x%llx %s",
		 OBJDUMP, MACHINE, (unsigned long long)c->address, path);
	if (system("command -v objdump " OBJDUMP " >/dev/null")) {
		unlink(path);
		skip();
	}
	pipe = popen(command, "r");
	assert_non_null(pipe);
	while (fgets(line, sizeof(line), pipe)) {
		char *text = strchr(line, '\t');

		if (text && strchr(line, ':'))
			fn(arg, text + 1);
	}
	assert_int_equal(pclose(pipe), 0);
	unlink(path);
}
