/* nopal provider, which is also the command dtrace: provider files to headers (-h) and object files
 * (-G), with the options and the environment that build systems use today. Output appears whole or
 * not at all, so any number of builds may run side by side. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "input.h"
#include "nopal/provider_files.h"
#include "output.h"
#include "target.h"
#include "words.h"

enum action {
	TAKE_HEADER,
	TAKE_OBJECT,
	TAKE_SOURCE,
	TAKE_OUTPUT,
	TAKE_CPP,
	TAKE_CPP_OPTION,
	TAKE_KEEP,
	TAKE_QUIET,
	TAKE_CHECK,
	TAKE_TARGET,
	TAKE_MODE,
	TAKE_WEAK_MODE,
	TAKE_OBSOLETE,
	TAKE_IGNORED,
	TAKE_VERSION,
	TAKE_HELP,
};

/* How an option and its value are written. */
enum form {
	ALONE,	  /* -G */
	VALUE,	  /* -s FILE, -sFILE */
	ATTACHED, /* -DNAME, -D NAME */
	EQUALS,	  /* --target=T, --target T */
};

static const struct option {
	const char *text;
	enum form form;
	enum action action;
	const char *help; /* NULL: accepted for the sake of old Makefiles */
} options[] = {
	{"-h", ALONE, TAKE_HEADER, "make a C and C++ header"},
	{"-G", ALONE, TAKE_OBJECT, "make an object file to link into the program"},
	{"-s", VALUE, TAKE_SOURCE, "the provider file, - for standard input; may be repeated"},
	{"-o", VALUE, TAKE_OUTPUT, "the output; by default the name of the input with .h or .o"},
	{"-C", ALONE, TAKE_CPP, "run the C preprocessor on the input first ($CPP, or cpp)"},
	{"-D", ATTACHED, TAKE_CPP_OPTION, "for the preprocessor"},
	{"-U", ATTACHED, TAKE_CPP_OPTION, "for the preprocessor"},
	{"-I", ATTACHED, TAKE_CPP_OPTION, "for the preprocessor"},
	{"-k", ALONE, TAKE_KEEP, "keep the preprocessed text, and say where"},
	{"-q", ALONE, TAKE_QUIET, "no warnings"},
	{"--check", ALONE, TAKE_CHECK,
	 "the header makes compilers warn of arguments of other types"},
	{"--target", EQUALS, TAKE_TARGET, "machine of the object, such as aarch64-linux-gnu"},
	{"-m32", ALONE, TAKE_MODE, "object for the machine's 32-bit mode"},
	{"-32", ALONE, TAKE_WEAK_MODE, NULL},
	{"-m64", ALONE, TAKE_MODE, "object for the machine's 64-bit mode"},
	{"-64", ALONE, TAKE_WEAK_MODE, NULL},
	{"-x", VALUE, TAKE_IGNORED, NULL},
	{"-Z", ALONE, TAKE_IGNORED, NULL},
	{"-fpic", ALONE, TAKE_IGNORED, NULL},
	{"-fPIC", ALONE, TAKE_IGNORED, NULL},
	{"--no-pyparsing", ALONE, TAKE_IGNORED, NULL},
	{"--types", ALONE, TAKE_OBSOLETE, NULL},
	{"-V", ALONE, TAKE_VERSION, "print the version"},
	{"--version", ALONE, TAKE_VERSION, NULL},
	{"--help", ALONE, TAKE_HELP, "print this text"},
};

#define OPTIONS (sizeof(options) / sizeof(*options))

/* What the command line asks for. */
struct request {
	const char *self; /* "dtrace", or "nopal provider" */
	struct words sources;
	struct words cpp_options;
	const char *output;
	const char *target;
	const char *mode;      /* "32" or "64", by -m32 or -m64 */
	const char *weak_mode; /* by -32 or -64 */
	bool header, object, cpp, keep, quiet, shared, check;
	bool done; /* --help and --version have answered */
};

static int complain(const struct request *r, const char *format, const char *subject)
{
	say_error_as(r->self, format, subject);
	return 1;
}

static void print_usage(const struct request *r, FILE *out)
{
	fprintf(out, "usage: %s [-h | -G] [-C [-I PATH] [-D NAME]] -s FILE.d [-o FILE]\n", r->self);
}

static void print_help(const struct request *r)
{
	print_usage(r, stdout);
	for (size_t i = 0; i < OPTIONS; i++)
		if (options[i].help)
			printf("  %-10s %s\n", options[i].text, options[i].help);
	puts("CC and CFLAGS in the environment name the machine, CPP the preprocessor; nothing is\n"
	     "compiled. More in dtrace(1).");
}

/* Programs with plug-ins ask for semaphores that these can see by the name of an old version of
 * SystemTap. */
static int take_cpp_option(struct request *r, const char *option, const char *value)
{
	if (!strcmp(option, "-D") &&
	    (!strcmp(value, "STAP_SDT_V1") || !strcmp(value, "STAP_SDT_V2")))
		r->shared = true;
	return words_add_joined(&r->cpp_options, option, value);
}

static int take_option(struct request *r, enum action action, const char *text, char *value)
{
	switch (action) {
	case TAKE_HEADER: r->header = true; break;
	case TAKE_OBJECT: r->object = true; break;
	case TAKE_SOURCE: return words_add(&r->sources, value);
	case TAKE_OUTPUT: r->output = value; break;
	case TAKE_CPP: r->cpp = true; break;
	case TAKE_CPP_OPTION: return take_cpp_option(r, text, value);
	case TAKE_KEEP: r->keep = true; break;
	case TAKE_QUIET: r->quiet = true; break;
	case TAKE_CHECK: r->check = true; break;
	case TAKE_TARGET: r->target = value; break;
	case TAKE_MODE: r->mode = text + strlen("-m"); break;
	case TAKE_WEAK_MODE: r->weak_mode = text + strlen("-"); break;
	case TAKE_OBSOLETE:
		fprintf(stderr, "%s: note: %s does nothing now\n", r->self, text);
		break;
	case TAKE_IGNORED: break;
	case TAKE_VERSION:
		printf("dtrace: Nopal %s\n", NOPAL_VERSION);
		r->done = true;
		break;
	case TAKE_HELP:
		print_help(r);
		r->done = true;
		break;
	}
	return 0;
}

/* Does `arg` name this option? *value becomes what is attached to it, NULL for nothing. */
static bool matches(const struct option *o, char *arg, char **value)
{
	size_t len = strlen(o->text);

	*value = NULL;
	if (!strcmp(arg, o->text))
		return true;
	if (o->form == ALONE || strncmp(arg, o->text, len))
		return false;
	if (o->form == EQUALS && arg[len] != '=')
		return false;
	*value = arg + len + (o->form == EQUALS);
	return true;
}

static int parse_option(struct request *r, char **argv, int *i)
{
	char *value;

	for (size_t k = 0; k < OPTIONS; k++) {
		if (!matches(&options[k], argv[*i], &value))
			continue;
		if (options[k].form != ALONE && !value)
			value = argv[*i + 1] ? argv[++*i] : NULL;
		if (options[k].form != ALONE && !value)
			return complain(r, "option %s needs a value", options[k].text);
		return take_option(r, options[k].action, options[k].text, value);
	}
	complain(r, "unknown option '%s'", argv[*i]);
	print_usage(r, stderr);
	return 1;
}

/* Words that are no options are the program's object files, which other systems rewrite here. */
static int parse_arguments(struct request *r, char **argv)
{
	const char *word = NULL;
	int err = 0;

	for (int i = 1; argv[i] && !err && !r->done; i++) {
		if (argv[i][0] == '-' && argv[i][1])
			err = parse_option(r, argv, &i);
		else
			word = argv[i];
	}
	if (err || r->done)
		return err;
	if (!r->header && !r->object)
		err = complain(r, "%s", "say -h for a header or -G for an object file");
	else if (!r->sources.count && word)
		err = complain(r, "no provider file: write -s %s", word);
	else if (!r->sources.count)
		err = complain(r, "%s", "no provider file: write -s FILE.d");
	else if (r->header && r->object && r->output)
		err = complain(r, "%s", "-h and -G make two files: leave out -o, or run twice");
	if (err)
		print_usage(r, stderr);
	return err;
}

static char *read_source(const struct request *r, const char *path, size_t *len)
{
	bool standard = !strcmp(path, "-");
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	char *text;

	if (fd < 0) {
		say_error_as(r->self, "cannot read '%s': %s", path, strerror(errno));
		return NULL;
	}
	text = input_read(r->self, fd, path, len);
	if (!standard)
		close(fd);
	return text;
}

static const char *environment(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

/* $CPP [-I…] [-D…] -x c FILE: the language is named because .d says nothing to a
 * compiler driver. */
static char *preprocess(const struct request *r, const char *path, size_t *len)
{
	struct words command = {NULL, 0};
	const char *cpp = environment("CPP");
	char *text = NULL;
	int err = words_split(&command, *cpp ? cpp : "cpp");

	for (size_t i = 0; i < r->cpp_options.count && !err; i++)
		err = words_add(&command, r->cpp_options.list[i]);
	err = err ? err : words_add(&command, "-x");
	err = err ? err : words_add(&command, "c");
	err = err ? err : words_add(&command, path);
	if (err)
		complain(r, "%s", "CPP in the environment has an open quote");
	else
		text = input_from_command(r->self, &command, len);
	words_free(&command);
	return text;
}

/* The last part of a path, without .d: what outputs are called by default. */
static char *base_name(const char *path, const char *suffix)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');
	size_t len = dot && dot != name ? (size_t)(dot - name) : strlen(name);
	char *out = NULL;

	return asprintf(&out, "%.*s%s", (int)len, name, suffix) < 0 ? NULL : out;
}

static int write_output(const struct request *r, const char *path, const char *bytes, size_t len)
{
	if (output_write(path, bytes, len))
		return 0;
	say_error_as(r->self, "cannot write '%s': %s", path, strerror(errno));
	return 1;
}

static int keep_text(const struct request *r, const char *source, const char *text, size_t len)
{
	char *path = base_name(source, ".cpp.d"), *shown = path ? nopal_escaped(path) : NULL;
	int err = shown ? write_output(r, path, text, len) : 1;

	if (!err)
		printf("cpp: %s\n", shown);
	free(shown);
	free(path);
	return err;
}

static int add_source(const struct request *r, const char *path, struct nopal_provider_files *p,
		      struct nopal_diag *d)
{
	size_t len = 0;
	char *text = r->cpp ? preprocess(r, path, &len) : read_source(r, path, &len);
	int err = text ? 0 : 1;

	if (!err && r->cpp && r->keep)
		err = keep_text(r, path, text, len);
	if (!err)
		err = nopal_provider_files_add(p, !strcmp(path, "-") ? "<stdin>" : path, text, len,
					       d);
	free(text);
	return err;
}

/* All sources, then what they say together. */
static int read_sources(const struct request *r, struct nopal_provider_files *p,
			struct nopal_diag *d)
{
	int err = 0;

	for (size_t i = 0; i < r->sources.count; i++)
		err |= add_source(r, r->sources.list[i], p, d);
	return err ? err : nopal_provider_files_check(p, d);
}

/* A file to be. */
struct output {
	char *path, *bytes;
	size_t len;
};

static void output_free(struct output *o)
{
	free(o->path);
	free(o->bytes);
}

/* The name of an output: what -o says, or the first input's name in this directory. */
static char *output_path(const struct request *r, const char *suffix)
{
	return r->output ? strdup(r->output) : base_name(r->sources.list[0], suffix);
}

static int make_header(const struct request *r, struct nopal_provider_files *p, struct output *o,
		       struct nopal_diag *d)
{
	char *name;
	int err;

	o->path = output_path(r, ".h");
	name = o->path ? base_name(o->path, "_h") : NULL;
	nopal_provider_files_leave_unchecked(p, !r->check);
	err = !name || nopal_provider_files_header(p, name, &o->bytes, &o->len, d);
	free(name);
	return err;
}

static int make_object(const struct request *r, struct nopal_provider_files *p, struct output *o,
		       struct nopal_diag *d)
{
	const struct target_request target = {
		.self = r->self, .triple = r->target, .mode = r->mode, .weak_mode = r->weak_mode};
	char *triple = NULL;
	void *bytes = NULL;
	int err;

	o->path = output_path(r, ".o");
	nopal_provider_files_share(p, r->shared);
	err = !o->path || !target_find(&target, &triple) ||
	      nopal_provider_files_object(p, triple, &bytes, &o->len, d);
	o->bytes = bytes;
	free(triple);
	return err;
}

/* All outputs are made before the first is written: what one cannot be made of leaves none. */
static int compile(const struct request *r, struct nopal_provider_files *p, struct nopal_diag *d)
{
	struct output header = {NULL, NULL, 0}, object = {NULL, NULL, 0};
	int err = read_sources(r, p, d);

	if (!err && r->header)
		err = make_header(r, p, &header, d);
	if (!err && r->object)
		err = make_object(r, p, &object, d);
	if (!err && r->header)
		err = write_output(r, header.path, header.bytes, header.len);
	if (!err && r->object)
		err = write_output(r, object.path, object.bytes, object.len);
	output_free(&header);
	output_free(&object);
	if (nopal_diag_errors(d) || !r->quiet)
		show_messages(d);
	return err ? EXIT_FAILED : EXIT_OK;
}

int cmd_provider(int argc, char **argv)
{
	const char *slash = argc ? strrchr(argv[0], '/') : NULL;
	const char *name = slash ? slash + 1 : argc ? argv[0] : "dtrace";
	struct request r = {.self = strcmp(name, "provider") ? name : "nopal provider"};
	struct nopal_provider_files *p = nopal_provider_files_new();
	struct nopal_diag *d = nopal_diag_new();
	int err;

	/* Headers of the command dtrace take what those of SystemTap's take. */
	r.check = !strcmp(name, "provider");
	err = p && d ? parse_arguments(&r, argv) : EXIT_FAILED;

	if (!err && !r.done)
		err = compile(&r, p, d);
	if (err < 0) /* -ENOMEM, of arguments that were not kept */
		err = EXIT_FAILED;
	nopal_provider_files_free(p);
	nopal_diag_free(d);
	words_free(&r.sources);
	words_free(&r.cpp_options);
	return err;
}
