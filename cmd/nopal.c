/* The command: picks the subcommand, or takes the command line as bpftrace would (nopal -e '...',
 * nopal FILE.bt). Called as `dtrace` it is the provider compiler. */
#include "command.h"
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nopal/trace.h"

static const struct command commands[] = {
	{"list", cmd_list, "which probes are in files, processes, the machine"},
	{"trace", cmd_trace, "a line for each event of a probe"},
	{"count", cmd_count, "count events, by probe, argument, process"},
	{"hist", cmd_hist, "a histogram of an expression"},
	{"doctor", cmd_doctor, "what this machine and this user can trace"},
	{"provider", cmd_provider, "provider files (.d) to headers and objects, as dtrace"},
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static const char head[] = "usage: nopal COMMAND [ARGUMENTS]\n"
			   "       nopal [OPTIONS] -e 'SCRIPT' | FILE.bt [PARAMETERS]\n"
			   "\n"
			   "Find the static probes (USDT) of programs and trace them.\n"
			   "\n";

static const char tail[] =
	"\n"
	"Examples:\n"
	"  nopal list /usr/lib/postgresql/15/bin/postgres\n"
	"  nopal list -p 4711\n"
	"  nopal -e 'usdt:./server:shop:order { printf(\"%d %s\\n\", arg0, str(arg1)) }'\n"
	"  nopal -e 'usdt:./server:shop:order { @[str(arg1)] = count() }' -p 4711\n"
	"  nopal --help-script        options of nopal -e\n"
	"  nopal COMMAND --help       help for one command\n"
	"Manual pages: nopal(1), nopal-list(1), nopal-script(7), dtrace(1), nopal-runtime(3).\n";

static int print_help(void)
{
	fputs(head, stdout);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		printf("  %-10s %s\n", commands[i].name, commands[i].summary);
	fputs(tail, stdout);
	return EXIT_OK;
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A descriptor that is closed would be given to the next file, and take what is meant for standard
 * output or error. */
static bool open_standard(void)
{
	int fd = 0;

	while (fd >= 0 && fd <= STDERR_FILENO)
		fd = fcntl(fd, F_GETFD) >= 0 ? fd + 1 : open("/dev/null", O_RDWR);
	return fd > STDERR_FILENO;
}

/* A command that was not able to say all has failed. */
static int close_standard(int code)
{
	bool lost = ferror(stdout);

	errno = 0;
	if (!fflush(stdout) && !lost)
		return code;
	say_error("cannot write to standard output: %s",
		  errno ? strerror(errno) : "not all that was written has arrived");
	return code ? code : EXIT_FAILED;
}

static int run(int argc, char **argv)
{
	const struct command *command;

	if (argc > 0 && !strcmp(base_name(argv[0]), "dtrace") &&
	    (command = find_command("provider")))
		return command->run(argc, argv);
	if (argc < 2) {
		print_help();
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return print_help();
	command = find_command(argv[1]);
	if (command)
		return command->run(argc - 1, argv + 1);
	return cmd_script(argc, argv);
}

int main(int argc, char **argv)
{
	return open_standard() ? memory_judge(close_standard(run(argc, argv))) : EXIT_FAILED;
}
