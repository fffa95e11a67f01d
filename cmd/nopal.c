/* The command: runs a subcommand, or takes the command line as bpftrace would (nopal -e '...',
 * nopal FILE.bt). Called as `dtrace` it is nopal provider. */
#include "command.h"
#include "memory.h"
#include "options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nopal/trace.h"

/* clang-format off */
const struct command *const nopal_commands[] = {
	&command_list, &command_trace,  &command_count,
	&command_hist, &command_stack, &command_latency, &command_top,
	&command_check, &command_fmt, &command_doctor, &command_lang, &command_clean,
	&command_provider, &command_flame, &command_argdist, &command_funccount, &command_funclatency, &command_stackcount, &command_tplist,
	&command_complete, NULL,
};
/* clang-format on */

static const char head[] = "usage: nopal COMMAND [ARGUMENT]...\n"
			   "       nopal [OPTION]... -e SCRIPT | FILE [PARAMETER]...\n"
			   "\n"
			   "Find the static probes (USDT) of programs and trace them.\n"
			   "\n"
			   "Commands:\n";

static const char tail[] =
	"\n"
	"Examples:\n"
	"  nopal list /usr/lib/postgresql/15/bin/postgres\n"
	"  nopal list -p 4711\n"
	"  nopal -e 'usdt:./server:shop:order { printf(\"%d %s\\n\", arg0, str(arg1)) }'\n"
	"  nopal -e 'usdt:./server:shop:order { @[str(arg1)] = count() }' -p 4711\n"
	"\n"
	"Help:\n"
	"  nopal help COMMAND     what a command does, and its options\n"
	"  nopal --help-script    the options of nopal -e, and the language\n"
	"  man nopal              all of it; man nopal-COMMAND, man nopal-script\n";

/* For messages about the first word. */
static const struct command command_none = {.self = "nopal"};

static int print_help(void)
{
	fputs(head, stdout);
	for (size_t i = 0; nopal_commands[i]; i++)
		if (nopal_commands[i]->summary)
			printf("  %-12s %s\n", nopal_commands[i]->name, nopal_commands[i]->summary);
	fputs(tail, stdout);
	return EXIT_OK;
}

const struct command *find_command(const char *name)
{
	for (size_t i = 0; nopal_commands[i]; i++)
		if (!strcmp(nopal_commands[i]->name, name))
			return nopal_commands[i];
	return NULL;
}

/* If a standard descriptor is closed, the next file that is opened would take its place, and what
 * is written to standard output or error would go there. */
static bool open_standard(void)
{
	int fd = 0;

	while (fd >= 0 && fd <= STDERR_FILENO)
		fd = fcntl(fd, F_GETFD) >= 0 ? fd + 1 : open("/dev/null", O_RDWR);
	return fd > STDERR_FILENO;
}

/* A command whose output could not be written has failed. */
static int close_standard(int code)
{
	bool lost = ferror(stdout);

	errno = 0;
	if (!fflush(stdout) && !lost)
		return code;
	say_error("cannot write to standard output: %s",
		  errno ? strerror(errno) : "not everything was written");
	return code ? code : EXIT_FAILED;
}

static int run_dtrace(char **argv)
{
	struct command dtrace = command_provider;

	dtrace.self = dtrace.name = "dtrace";
	return dtrace.run(&dtrace, argv);
}

/* Neither an option nor a file with a script: a word. */
static bool is_misspelt(const char *word)
{
	return strspn(word, "abcdefghijklmnopqrstuvwxyz-") == strlen(word) && word[0] != '-' &&
	       access(word, F_OK);
}

static int no_command(const char *word)
{
	for (int mistakes = 1; mistakes <= 2 && 2 * (size_t)mistakes <= strlen(word); mistakes++)
		for (size_t i = 0; nopal_commands[i]; i++)
			if (nopal_commands[i]->summary &&
			    words_are_near(word, nopal_commands[i]->name, mistakes))
				return usage_error(&command_none,
						   "no command '%s' (did you mean '%s'?), and no "
						   "script of that name",
						   word, nopal_commands[i]->name);
	return usage_error(&command_none, "no command '%s', and no script of that name", word);
}

/* nopal help COMMAND */
static int help(const char *word)
{
	const struct command *command = word ? find_command(word) : NULL;

	if (!word)
		return print_help();
	if (!command)
		return no_command(word);
	options_help(command);
	return EXIT_OK;
}

static int run(int argc, char **argv)
{
	const struct command *command;

	if (argc > 0 && !strcmp(base_name(argv[0]), "dtrace"))
		return run_dtrace(argv);
	if (argc < 2) {
		print_help();
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return print_help();
	if (!strcmp(argv[1], "help"))
		return help(argv[2]);
	command = find_command(argv[1]);
	if (command)
		return command->run(command, argv + 1);
	return is_misspelt(argv[1]) ? no_command(argv[1])
				    : command_script.run(&command_script, argv);
}

int main(int argc, char **argv)
{
	return open_standard() ? memory_judge(close_standard(run(argc, argv))) : EXIT_FAILED;
}
