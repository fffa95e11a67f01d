/* Any text as a script, on a machine that is not there: parsed, resolved, compiled. Whatever comes
 * out must pass program_check, and errors must come with a message. */
#include <errno.h>
#include <stdlib.h>

#include "help/fake_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* The same script again when another image has appeared. */
static void extend(struct script *s, struct fake *fake, const struct script_source *source)
{
	struct diag d = DIAG_INIT;
	struct program *more = NULL;
	const void *image;

	fake->late = true;
	if (script_extend(s, source, &more, &image, &d) && !d.errors)
		abort();
	if (more && program_check(more, NULL))
		abort();
	diag_free(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static const struct str params[] = {{"7", 1}, {"/bin/app", 8}, {"x", 1}};
	struct script_options options = {.path = STR("-e"),
					 .params = params,
					 .param_count = 3,
					 .pid = 7,
					 .unsafe = true,
					 .missing_probes = MISSING_IGNORE};
	struct fake fake = {false};
	struct script_source source = fake_source(&fake);
	struct diag d = DIAG_INIT;
	struct buf out = BUF_INIT;
	struct script *s = NULL;
	struct program *p = NULL;
	int err;

	err = script_parse(str_of((const char *)bytes, len), &options, &s, &d);
	if (!err)
		script_print_tree(s, &out);
	if (!err)
		err = script_resolve(s, &source, &d);
	if (!err)
		err = script_compile(s, &p, &d);
	if (!err)
		program_print(p, &out);
	if (!err != !d.errors)
		abort();
	for (const struct message *m = d.first; m; m = m->next)
		if (!strcmp(m->tag, "bad-program"))
			abort();
	if (!err)
		extend(s, &fake, &source);
	diag_render(&d, &out);
	script_free(s);
	buf_free(&out);
	diag_free(&d);
	return 0;
}
