/* nopal [OPTIONS] -e 'SCRIPT' | FILE: the command line that people and scripts know
 * from bpftrace. */
#include "command.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

static const char help[] =
	"usage: nopal [OPTIONS] -e 'SCRIPT' [PARAMETERS]\n"
	"       nopal [OPTIONS] FILE [PARAMETERS]       (- reads standard input)\n"
	"       nopal [OPTIONS] -l [PATTERN]\n"
	"\n"
	"  -e SCRIPT        the script itself; $1, $2 ... in it are the PARAMETERS\n"
	"  -p PID           trace this process alone\n"
	"  --follow         with -p: also the children it has from now on; then all processes\n"
	"                   of the same file get the breakpoints (nopal(1) says what they pay)\n"
	"  -c COMMAND       start COMMAND when everything is attached, trace it and its children\n"
	"  --exit-status    with -c: end with the exit status of COMMAND\n"
	"  -l [PATTERN]     list the probes that PATTERN names; all of USDT on this machine "
	"without one\n"
	"  -o FILE          write to FILE instead of standard output\n"
	"  -f text|json     output format\n"
	"  -B line|full|none  how output is buffered\n"
	"  -q               say nothing but what the script prints\n"
	"  -v               say more: the verifier's log when the kernel refuses a program\n"
	"  --dry-run        compile and load, attach nothing\n"
	"  --unsafe         allow system(), and uprobes at places nobody has checked\n"
	"  --raw            escape nothing, unless the output is a terminal\n"
	"  --no-warnings    do not show warnings\n"
	"  --dump=tree|program|bpf  show what the script is compiled to, run nothing\n"
	"  --ring-size=N[K|M]  bytes of the event buffer (4M)\n"
	"  --info           what this machine can trace (nopal doctor)\n"
	"  -h, --help-script  this text; the long form adds the builtins\n"
	"  -V, --version    the version\n"
	"\n"
	"Examples:\n"
	"  nopal -e 'usdt:./server:shop:order { printf(\"%d %s\\n\", arg0, str(arg1)) }'\n"
	"  nopal -e 'usdt::postgresql:query__start { @[str(arg0)] = count() }' -p 4711\n"
	"  nopal -e 'usdt:./tick:tick:word { @[arg0] = count() }' -c './tick 10'\n"
	"The language: nopal-script(7).\n";

enum {
	OPT_DRY_RUN = 256,
	OPT_UNSAFE,
	OPT_RAW,
	OPT_NO_WARNINGS,
	OPT_DUMP,
	OPT_RING,
	OPT_INFO,
	OPT_FOLLOW,
	OPT_EXIT_STATUS,
	OPT_IGNORED
};

static const struct option long_options[] = {
	{"dry-run", no_argument, NULL, OPT_DRY_RUN},
	{"unsafe", no_argument, NULL, OPT_UNSAFE},
	{"raw", no_argument, NULL, OPT_RAW},
	{"no-warnings", no_argument, NULL, OPT_NO_WARNINGS},
	{"dump", required_argument, NULL, OPT_DUMP},
	{"ring-size", required_argument, NULL, OPT_RING},
	{"follow", no_argument, NULL, OPT_FOLLOW},
	{"exit-status", no_argument, NULL, OPT_EXIT_STATUS},
	{"info", no_argument, NULL, OPT_INFO},
	{"usdt-file-activation", no_argument, NULL, OPT_IGNORED},
	{"help", no_argument, NULL, 'h'},
	{"help-script", no_argument, NULL, 'H'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

struct command_line {
	struct run run;
	const char *script; /* -e */
	bool list, info, help, builtins, version;
};

/* Options with a value. All give 0, or the usage error's exit code. */

static int take_buffering(const char *text, struct command_line *line)
{
	static const char *const names[] = {
		[BUFFER_LINE] = "line", [BUFFER_FULL] = "full", [BUFFER_NONE] = "none"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(text, names[i])) {
			line->run.buffering = (enum buffering)i;
			return 0;
		}
	return usage_error("", "-B takes line, full or none, not '%s'", text);
}

/* "4M", "64K", "65536". */
static int take_ring_size(const char *text, struct command_line *line)
{
	char *end;
	unsigned long long value;
	unsigned shift;

	errno = 0;
	value = strtoull(text, &end, 10);
	shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
	if (errno || end == text || *text == '-' || end[shift ? 1 : 0] || !value ||
	    value > (1ULL << 32 >> shift))
		return usage_error("", "--ring-size takes bytes, not '%s'", text);
	line->run.options.ring_bytes = (size_t)value << shift;
	return 0;
}

static int take_option(int option, const char *arg, const char *said, struct command_line *line)
{
	struct nopal_trace_options *options = &line->run.options;

	switch (option) {
	case 'e': line->script = arg; return 0;
	case 'p': return run_take_pid(&line->run, "", arg);
	case 'c': options->command = arg; return 0;
	case 'o': line->run.output = arg; return 0;
	case 'f': return run_take_format(&line->run, "", arg);
	case 'B': return take_buffering(arg, line);
	case 'q': line->run.quiet = true; return 0;
	case 'v': options->verbose = true; return 0;
	case 'l': line->list = true; return 0;
	case 'H': line->builtins = true; /* fall through */
	case 'h': line->help = true; return 0;
	case 'V': line->version = true; return 0;
	case 'k': return 0; /* failed reads are always told */
	case OPT_DRY_RUN: line->run.dry_run = true; return 0;
	case OPT_UNSAFE: options->unsafe = true; return 0;
	case OPT_RAW: options->raw = true; return 0;
	case OPT_NO_WARNINGS: line->run.no_warnings = true; return 0;
	case OPT_DUMP: return run_take_dump(&line->run, "", arg);
	case OPT_RING: return take_ring_size(arg, line);
	case OPT_FOLLOW: options->follow = true; return 0;
	case OPT_EXIT_STATUS: line->run.exit_status = true; return 0;
	case OPT_INFO: line->info = true; return 0;
	case OPT_IGNORED: return 0;
	default: return unknown_option("", option, said);
	}
}

static int parse_command_line(int argc, char **argv, struct command_line *line)
{
	int option, code = 0;

	opterr = 0;
	optind = 1;
	while (!code &&
	       (option = getopt_long(argc, argv, ":e:p:c:o:f:B:qvlhVk", long_options, NULL)) != -1)
		code = take_option(option, optarg, argv[optind - 1], line);
	return code ? code : run_check_options(&line->run, "");
}

/* The whole of a file, with a NUL behind it; NULL with a message on stderr. */
static char *read_script(const char *path)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	size_t len = 0, cap = 1 << 16;
	char *text = file ? malloc(cap + 1) : NULL;
	const char *why = NULL;

	while (text && !feof(file) && !ferror(file)) {
		if (len == cap) {
			char *bigger = cap < (1 << 24) ? realloc(text, (cap *= 2) + 1) : NULL;

			if (!bigger) {
				errno = EFBIG;
				free(text);
				text = NULL;
				break;
			}
			text = bigger;
		}
		len += fread(text + len, 1, cap - len, file);
	}
	if (!text || ferror(file))
		why = strerror(errno);
	else if (memchr(text, '\0', len))
		why = "it has a NUL byte, so it is no text";
	if (why) {
		say_error("cannot read the script '%s': %s", path, why);
		free(text);
		text = NULL;
	} else {
		text[len] = '\0';
	}
	if (file && file != stdin)
		fclose(file);
	return text;
}

static int print_probe(void *arg, const char *probe)
{
	(void)arg;
	return puts(probe) < 0 ? -EIO : 0;
}

static int list_probes(const char *pattern, const struct command_line *line)
{
	struct nopal_diag *d = nopal_diag_new();
	struct nopal_trace_options options = line->run.options;
	int count;

	options.size = sizeof(options);
	options.name = "-l";
	count = d ? nopal_trace_list(pattern, &options, print_probe, NULL, d) : -ENOMEM;
	if (count == 0 && !nopal_diag_errors(d))
		say_error("no probe matches '%s'", pattern);
	if (d)
		show_messages(d);
	nopal_diag_free(d);
	return count > 0 ? EXIT_OK : EXIT_FAILED;
}

/* Text that stands before the first argument that is no option is the script's file. */
static int run_file(int argc, char **argv, struct command_line *line)
{
	char *text = line->script ? NULL : read_script(argv[optind]);
	int first = line->script ? optind : optind + 1;
	int code;

	if (!line->script && !text)
		return EXIT_FAILED;
	line->run.options.name = line->script ? "-e" : argv[optind];
	line->run.options.params = (const char *const *)argv + first;
	line->run.options.param_count = (size_t)(argc - first);
	code = run_script(line->script ? line->script : text, &line->run);
	free(text);
	return code;
}

static void print_text(void *arg, const char *text, size_t len)
{
	(void)arg;
	fwrite(text, 1, len, stdout);
}

static int print_help(bool builtins)
{
	int err = fputs(help, stdout) < 0 ? -1 : 0;

	if (builtins && putchar('\n') >= 0)
		err |= nopal_trace_builtins(print_text, NULL);
	return err || ferror(stdout) ? EXIT_FAILED : EXIT_OK;
}

int cmd_script(int argc, char **argv)
{
	struct command_line line = {0};
	int code = parse_command_line(argc, argv, &line);

	if (code)
		return code;
	if (line.help)
		return print_help(line.builtins);
	if (line.version)
		return printf("nopal v%s\n", nopal_version()) < 0 ? EXIT_FAILED : EXIT_OK;
	if (line.info)
		return cmd_doctor(1, argv);
	if (line.list)
		return list_probes(optind < argc ? argv[optind] : "usdt:*:*:*", &line);
	if (!line.script && optind >= argc)
		return usage_error("", "no script: give -e 'SCRIPT' or a file");
	return run_file(argc, argv, &line);
}
