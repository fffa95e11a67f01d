/* nopal funccount: counts of functions and events, as bcc's funccount prints them. */
#include <string.h>

#include "bcc/tool.h"

static void print_row(const struct bcc_run *r, const struct tally_row *row, FILE *out)
{
	(void)r;
	fprintf(out, "%-36s %8llu\n", bcc_probe_name(row->key), (unsigned long long)row->count);
}

static int write_word(struct bcc_run *r, const struct command *c, int word, struct script_text *t)
{
	char type;
	int code = bcc_write_probes(t, c, r, r->words[word], false, &type);

	script_put(t, "{\n\t@[%s] = count();\n}\n", type && strchr("pr", type) ? "func" : "probe");
	return code;
}

/* clang-format off */
static const struct option options[] = {
	BCC_DURATION("-d"), BCC_INTERVAL, BCC_CLOCK, BCC_TIMES(NULL), BCC_REGEX, BCC_CPU,
	BCC_SCRIPT("-D", "--debug"), BCC_COMMON,
};
/* clang-format on */

const struct command command_funccount = {
	.name = "funccount",
	.self = "nopal funccount",
	.summary = "count calls of functions and events, as bcc's funccount",
	.usage = "[OPTION]... [p:]LIBRARY:FUNCTION | {u|t}:LIBRARY:NAME...",
	.about = "Count calls of functions and events, with the words and the output of bcc's\n"
		 "funccount. Patterns have * and ?.\n",
	.more = "Examples:\n"
		"  nopal funccount -d 5 'c:mem*'\n"
		"  nopal funccount -r 'c:(read|write)$'\n"
		"  nopal funccount -i 1 -T u:/usr/bin/php8.2:function__entry\n",
	.options = options,
	.shared = run_options,
	.run = bcc_run_command,
	.detail =
		&(const struct bcc_tool){
			.heading = "FUNC                                    COUNT\n",
			.write = write_word,
			.print_row = print_row,
		},
};
