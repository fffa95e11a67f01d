/* Any text as a script to be formatted: what comes out has the same tree, and formatting it again
 * changes nothing. */
#include <stdlib.h>

#include "script/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static const struct str params[] = {{"7", 1}, {"/bin/app", 8}, {"x", 1}};

static struct script *parse(struct str text, struct buf *tree)
{
	struct script_options options = {
		.path = STR("-e"), .params = params, .param_count = 3, .pid = 7, .unsafe = true};
	struct script *s = NULL;

	if (script_parse(text, &options, &s, NULL))
		return NULL;
	script_print_tree(s, tree);
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct buf before = BUF_INIT, after = BUF_INIT, once = BUF_INIT, twice = BUF_INIT;
	struct script *s = parse(str_of((const char *)bytes, len), &before), *again;

	if (!s)
		return 0;
	if (script_format(s, &once))
		abort();
	again = parse(buf_as_str(&once), &after);
	if (!again || !str_eq(buf_as_str(&before), buf_as_str(&after)))
		abort();
	if (script_format(again, &twice) || !str_eq(buf_as_str(&once), buf_as_str(&twice)))
		abort();
	script_free(s);
	script_free(again);
	buf_free(&before);
	buf_free(&after);
	buf_free(&once);
	buf_free(&twice);
	return 0;
}
