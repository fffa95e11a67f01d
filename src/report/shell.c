/* Command lines with values in them; see shell.h. */
#include "report/shell.h"

#include <stdlib.h>

void shell_free(struct shell_line *l)
{
	buf_free(&l->text);
	buf_free(&l->values);
	*l = (struct shell_line){.text = BUF_INIT};
}

/* Only for how a value has to be written there. A mistake (a comment, a command within quotes)
 * makes several words of it, or shows "${1}", but runs nothing. */
static void follow(struct shell_line *l, char c)
{
	if (l->escaped) {
		l->escaped = false;
		return;
	}
	switch (l->quote) {
	case SHELL_SINGLE: l->quote = c == '\'' ? SHELL_PLAIN : SHELL_SINGLE; break;
	case SHELL_DOUBLE:
		l->escaped = c == '\\';
		l->quote = c == '"' ? SHELL_PLAIN : SHELL_DOUBLE;
		break;
	default:
		l->escaped = c == '\\';
		l->quote = c == '\'' ? SHELL_SINGLE : c == '"' ? SHELL_DOUBLE : SHELL_PLAIN;
	}
}

void shell_text(struct shell_line *l, struct str text)
{
	for (size_t i = 0; i < text.len; i++)
		follow(l, text.ptr[i]);
	buf_str(&l->text, text);
}

void shell_value(struct shell_line *l, size_t start)
{
	static const char *const formats[] = {
		[SHELL_PLAIN] = "\"${%u}\"",
		[SHELL_SINGLE] = "'\"${%u}\"'",
		[SHELL_DOUBLE] = "${%u}",
	};

	/* An argument ends at its first NUL. */
	for (size_t i = start; i < l->values.len; i++)
		if (!l->values.ptr[i])
			l->values.len = i;
	buf_char(&l->values, '\0');
	if (l->escaped)
		shell_text(l, STR("\\")); /* the backslash stands for itself */
	buf_printf(&l->text, formats[l->quote], ++l->count);
}

char **shell_arguments(const struct shell_line *l)
{
	static char name[] = "sh", option[] = "-c";
	char **argv = calloc(l->count + 5u, sizeof(*argv)), *value = l->values.ptr;

	if (!argv || l->text.failed || l->values.failed || !l->text.ptr) {
		free(argv);
		return NULL;
	}
	argv[0] = name;
	argv[1] = option;
	argv[2] = l->text.ptr;
	argv[3] = name;
	for (unsigned i = 0; i < l->count; i++) {
		argv[4 + i] = value;
		value += strlen(value) + 1;
	}
	return argv;
}
