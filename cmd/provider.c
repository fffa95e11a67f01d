/* nopal provider, which is also the command dtrace: makes headers (-h) and object files (-G) from
 * provider files, with the options and the environment that build systems use today. Output appears
 * whole or not at all, so any number of builds may run side by side. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "input.h"
#include "memory.h"
#include "nopal/provider_files.h"
#include "options.h"
#include "output.h"
#include "target.h"
#include "words.h"

/* What the command line asks for. */
struct request {
	struct words sources;
	struct words cpp_options;
	const char *output;
	const char *triple;
	const char *mode;      /* "32" or "64", of -m32 or -m64 */
	const char *weak_mode; /* of -32 or -64 */
	bool header, object, cpp, keep, quiet, shared, check, types, version;
};

static const char *take_source(void *at, const struct option *o, const char *value)
{
	(void)o;
	words_add(at, value);
	return NULL;
}

/* Programs with plug-ins ask for semaphores that the plug-ins can use by the name of an old version
 * of SystemTap. */
static const char *take_cpp_option(void *at, const struct option *o, const char *value)
{
	struct request *r = at;

	if (!strcmp(o->letter, "-D") &&
	    (!strcmp(value, "STAP_SDT_V1") || !strcmp(value, "STAP_SDT_V2")))
		r->shared = true;
	words_add_joined(&r->cpp_options, o->letter, value);
	return NULL;
}

/* The number of -m32 or -64. */
static const char *take_mode(void *at, const struct option *o, const char *value)
{
	(void)value;
	*(const char **)at = strpbrk(o->word, "36");
	return NULL;
}

static int complain(const char *format, const char *subject)
{
	say_error(format, subject);
	return 1;
}

/* Words are the program's object files, which the dtrace of other systems rewrites; we need none of
 * them. */
static int check_request(const struct command *c, const struct request *r, const char *word)
{
	if (!r->header && !r->object)
		return usage_error(c, "nothing to make: give -h for a header or -G for an object");
	if (!r->sources.count && word)
		return usage_error(c, "no provider file: write -s %s", word);
	if (!r->sources.count)
		return usage_error(c, "no provider file: write -s FILE");
	if (r->header && r->object && r->output)
		return usage_error(c, "-h and -G make two files: leave out -o, or run twice");
	return 0;
}

static const char *environment(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

/* $CPP [-I…] [-D…] -x c FILE: the language is named because a compiler driver does not know .d. */
static char *preprocess(const struct request *r, const char *path, size_t *len)
{
	struct words command = {NULL, 0};
	const char *cpp = environment("CPP");
	char *text = NULL;

	if (words_split(&command, *cpp ? cpp : "cpp")) {
		complain("unterminated quote in CPP of the environment: %s", cpp);
	} else {
		for (size_t i = 0; i < r->cpp_options.count; i++)
			words_add(&command, r->cpp_options.list[i]);
		words_add(&command, "-x");
		words_add(&command, "c");
		words_add(&command, path);
		if (!memory_failed())
			text = input_from_command(&command, len);
	}
	words_free(&command);
	return text;
}

/* The name of an output by default: the last part of a path, with another suffix. */
static char *rename_suffix(const char *path, const char *suffix)
{
	const char *name = base_name(path), *dot = strrchr(name, '.');
	size_t len = dot && dot != name ? (size_t)(dot - name) : strlen(name);
	char *out = NULL;

	return asprintf(&out, "%.*s%s", (int)len, name, suffix) < 0 ? NULL : out;
}

static int write_output(const char *path, const char *bytes, size_t len)
{
	if (output_write(path, bytes, len))
		return 0;
	say_error("cannot write '%s': %s", path, strerror(errno));
	return 1;
}

static int keep_text(const char *source, const char *text, size_t len)
{
	char *path = rename_suffix(source, ".cpp.d"), *shown = path ? nopal_escaped(path) : NULL;
	int err = shown ? write_output(path, text, len) : 1;

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
	char *text = r->cpp ? preprocess(r, path, &len) : input_read(path, &len);
	int err = text ? 0 : 1;

	if (!err && r->cpp && r->keep)
		err = keep_text(path, text, len);
	if (!err)
		err = nopal_provider_files_add(p, !strcmp(path, "-") ? "<stdin>" : path, text, len,
					       d);
	free(text);
	return err;
}

/* Read all sources, then check them together. */
static int read_sources(const struct request *r, struct nopal_provider_files *p,
			struct nopal_diag *d)
{
	int err = 0;

	for (size_t i = 0; i < r->sources.count; i++)
		err |= add_source(r, r->sources.list[i], p, d);
	return err ? err : nopal_provider_files_check(p, d);
}

/* A file to write. */
struct output {
	char *path, *bytes;
	size_t len;
};

static void output_free(struct output *o)
{
	free(o->path);
	free(o->bytes);
}

/* The name of an output: that of -o, or by default the first input's name in this directory. */
static char *output_path(const struct request *r, const char *suffix)
{
	return r->output ? strdup(r->output) : rename_suffix(r->sources.list[0], suffix);
}

static int make_header(const struct request *r, struct nopal_provider_files *p, struct output *o,
		       struct nopal_diag *d)
{
	char *name;
	int err;

	o->path = output_path(r, ".h");
	name = o->path ? rename_suffix(o->path, "_h") : NULL;
	nopal_provider_files_leave_unchecked(p, !r->check);
	err = !name || nopal_provider_files_header(p, name, &o->bytes, &o->len, d);
	free(name);
	return err;
}

static int make_object(const struct request *r, struct nopal_provider_files *p, struct output *o,
		       struct nopal_diag *d)
{
	const struct target_request target = {
		.triple = r->triple, .mode = r->mode, .weak_mode = r->weak_mode};
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

/* All outputs are made before the first is written: if one of them fails, none is written. */
static int compile(const struct request *r, struct nopal_provider_files *p, struct nopal_diag *d)
{
	struct output header = {NULL, NULL, 0}, object = {NULL, NULL, 0};
	int err = read_sources(r, p, d);

	if (!err && r->header)
		err = make_header(r, p, &header, d);
	if (!err && r->object)
		err = make_object(r, p, &object, d);
	if (!err && r->header)
		err = write_output(header.path, header.bytes, header.len);
	if (!err && r->object)
		err = write_output(object.path, object.bytes, object.len);
	output_free(&header);
	output_free(&object);
	if (nopal_diag_errors(d) || !r->quiet)
		show_messages(d);
	return err ? EXIT_FAILED : EXIT_OK;
}

static int make(const struct command *c, struct request *r, const char *word)
{
	struct nopal_provider_files *p = nopal_provider_files_new();
	struct nopal_diag *d = nopal_diag_new();
	int code = check_request(c, r, word) ? EXIT_FAILED : EXIT_OK;

	if (r->types)
		fprintf(stderr, "%s: note: --types has no effect\n", c->self);
	/* After a failed allocation some of what was asked for may be missing. */
	if (!p || !d || memory_failed())
		code = EXIT_FAILED;
	if (!code)
		code = compile(r, p, d);
	nopal_provider_files_free(p);
	nopal_diag_free(d);
	return code;
}

static int run_provider(const struct command *c, char **argv)
{
	/* Headers of the command dtrace accept what those of SystemTap accept. */
	struct request r = {.check = !strcmp(c->name, command_provider.name)};
	int code, words = options_parse(c, argv, &r, &code);

	if (words >= 0 && r.version)
		printf("dtrace: Nopal %s\n", NOPAL_VERSION);
	else if (words >= 0)
		code = make(c, &r, words ? argv[words] : NULL);
	words_free(&r.sources);
	words_free(&r.cpp_options);
	return code ? EXIT_FAILED : EXIT_OK;
}

/* clang-format off */
#define AT(member) offsetof(struct request, member)
static const struct option options[] = {
	{"-h", NULL,             NULL,     take_flag,       AT(header),    "make a C and C++ header"},
	{"-G", NULL,             NULL,     take_flag,       AT(object),    "make an object file to link into the program"},
	{"-s", NULL,             "FILE",   take_source,     AT(sources),   "read this provider file, - for standard input; may be repeated"},
	{"-o", NULL,             "FILE",   take_text,       AT(output),    "write FILE (default: the name of the input with .h or .o)"},
	{"-C", NULL,             NULL,     take_flag,       AT(cpp),       "run the C preprocessor on the input first: $CPP, or cpp"},
	{"-D", NULL,             "NAME",   take_cpp_option, 0,             "pass the option to the preprocessor"},
	{"-U", NULL,             "NAME",   take_cpp_option, 0,             "pass the option to the preprocessor"},
	{"-I", NULL,             "PATH",   take_cpp_option, 0,             "pass the option to the preprocessor"},
	{"-k", NULL,             NULL,     take_flag,       AT(keep),      "keep the preprocessed text, and print its name"},
	{"-q", NULL,             NULL,     take_flag,       AT(quiet),     "do not show warnings"},
	{NULL, "--check",        NULL,     take_flag,       AT(check),     "make compilers warn about arguments of the wrong type (the default of nopal provider)"},
	{NULL, "--target",       "TRIPLE", take_text,       AT(triple),    "make the object file for this machine, such as aarch64-linux-gnu"},
	{NULL, "-m32",           NULL,     take_mode,       AT(mode),      "make the object file for the machine's 32-bit mode"},
	{NULL, "-m64",           NULL,     take_mode,       AT(mode),      "make the object file for the machine's 64-bit mode"},
	{"-V", "--version",      NULL,     take_flag,       AT(version),   "print the version"},
	{NULL, "--help",         NULL,     take_help,       0,             "print this help"},
	{NULL, "-32",            NULL,     take_mode,       AT(weak_mode), NULL},
	{NULL, "-64",            NULL,     take_mode,       AT(weak_mode), NULL},
	/* Old Makefiles give these. */
	{"-x", NULL,             "VALUE",  take_nothing,    0,             NULL},
	{"-Z", NULL,             NULL,     take_nothing,    0,             NULL},
	{NULL, "-fpic",          NULL,     take_nothing,    0,             NULL},
	{NULL, "-fPIC",          NULL,     take_nothing,    0,             NULL},
	{NULL, "--no-pyparsing", NULL,     take_nothing,    0,             NULL},
	{NULL, "--types",        NULL,     take_flag,       AT(types),     NULL},
	{0},
};
/* clang-format on */

const struct command command_provider = {
	.name = "provider",
	.self = "nopal provider",
	.summary = "make headers and object files from provider files (.d), as dtrace does",
	.usage = "[-h | -G] [-C [-I PATH] [-D NAME]] -s FILE.d [-o FILE]",
	.about = "Make a header (-h) or an object file (-G) from provider files. Nothing is\n"
		 "compiled: CC and CFLAGS in the environment name the machine, CPP names the\n"
		 "preprocessor. See dtrace(1).\n",
	.more = "Exit status: 0 if all files were made, 1 otherwise.\n",
	.options = options,
	.run = run_provider,
};
