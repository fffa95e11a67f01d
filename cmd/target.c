/* Finding out which machine a build is for, without compiling: from the options, from the names in
 * CC and CFLAGS, and only when these do not say it by asking the compiler. */
#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "input.h"
#include "nopal/provider_files.h"
#include "words.h"

/* What the environment says. */
struct build {
	struct words cc, flags;
};

static bool is_compiler(const char *name)
{
	static const char *const names[] = {"gcc", "g++", "cc", "c++", "clang", "clang++"};
	size_t len = strcspn(name, "-"); /* clang-14 */

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i]) == len && !strncmp(name, names[i], len))
			return true;
	return false;
}

/* Every machine has one mode at least. */
static bool is_known(const char *triple)
{
	return nopal_provider_files_variant(triple, "32") ||
	       nopal_provider_files_variant(triple, "64");
}

/* "aarch64-linux-gnu-gcc-12" says its target itself; NULL for other names, "musl-gcc" too. */
static char *target_of_name(const char *compiler)
{
	const char *slash = strrchr(compiler, '/'), *name = slash ? slash + 1 : compiler;
	char *triple = NULL;

	if (is_compiler(name))
		return NULL;
	for (const char *dash = strchr(name, '-'); dash && !triple; dash = strchr(dash + 1, '-'))
		if (is_compiler(dash + 1))
			triple = strndup(name, (size_t)(dash - name));
	if (triple && is_known(triple))
		return triple;
	free(triple);
	return NULL;
}

/* What --target=T and clang's -target T name; the last one counts. */
static const char *target_option(const struct words *list)
{
	static const char option[] = "--target=";

	for (size_t i = list->count; i--;) {
		if (!strncmp(list->list[i], option, strlen(option)))
			return list->list[i] + strlen(option);
		if (!strcmp(list->list[i], "-target") && i + 1 < list->count)
			return list->list[i + 1];
	}
	return NULL;
}

static char *ask_compiler(struct words *cc)
{
	char *answer = NULL;
	size_t len = 0;

	if (!words_add(cc, "-dumpmachine"))
		answer = input_from_command(cc, &len);
	if (answer)
		answer[strcspn(answer, "\r\n")] = '\0';
	return answer;
}

/* The compiler's own triple. *triple stays NULL without a CC. */
static bool find_triple(const struct target_request *r, struct build *b, char **triple)
{
	const char *named = r->triple;

	named = named ? named : target_option(&b->flags);
	named = named ? named : target_option(&b->cc);
	if (!named && !b->cc.count)
		return true;
	if (named)
		*triple = strdup(named);
	else
		*triple = target_of_name(b->cc.list[0]);
	if (!*triple)
		*triple = ask_compiler(&b->cc);
	return *triple;
}

/* The last of -m32, -m64 and -mx32 counts. */
static const char *mode_of(const struct words *list)
{
	for (size_t i = list->count; i--;)
		for (const char *const *mode = (const char *const[]){"32", "64", "x32", NULL};
		     *mode; mode++)
			if (!strncmp(list->list[i], "-m", 2) && !strcmp(list->list[i] + 2, *mode))
				return *mode;
	return NULL;
}

/* The same machine in the mode that is wanted. */
static bool apply_mode(const struct target_request *r, const struct build *b, char **triple)
{
	const char *mode = r->mode, *variant;

	mode = mode ? mode : mode_of(&b->flags);
	mode = mode ? mode : mode_of(&b->cc);
	variant = mode || r->weak_mode
			  ? nopal_provider_files_variant(*triple, mode ? mode : r->weak_mode)
			  : NULL;
	if (mode && !variant) {
		say_error("'%s' does not have the mode -m%s", *triple ? *triple : "this machine",
			  mode);
		return false;
	}
	if (variant && variant != *triple) {
		free(*triple);
		*triple = strdup(variant);
	}
	return true;
}

static bool read_environment(struct build *b)
{
	const char *cc = getenv("CC"), *flags = getenv("CFLAGS");

	if (!words_split(&b->cc, cc ? cc : "") && !words_split(&b->flags, flags ? flags : ""))
		return true;
	say_error("unterminated quote in CC or CFLAGS of the environment");
	return false;
}

bool target_find(const struct target_request *r, char **triple)
{
	struct build b = {{NULL, 0}, {NULL, 0}};
	bool ok;

	*triple = NULL;
	ok = read_environment(&b) && find_triple(r, &b, triple) && apply_mode(r, &b, triple);
	if (!ok) {
		free(*triple);
		*triple = NULL;
	}
	words_free(&b.cc);
	words_free(&b.flags);
	return ok;
}
