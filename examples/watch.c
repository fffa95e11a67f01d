/* Using <nopal/trace.h>: run a script, print its output, then read one of its maps, and report lost
 * events.
 *
 * usage: watch SCRIPT MAP COMMAND      watch 'usdt:./shop:shop:order { @[str(arg1)] = count() }' @
 * './shop 2' */
#include <stdio.h>

#include <nopal/trace.h>

static void print(void *unused, const char *text, size_t len)
{
	(void)unused;
	fwrite(text, 1, len, stdout);
}

static int print_entry(void *total, const struct nopal_map_entry *entry)
{
	printf("%s -> %s\n", entry->key, entry->text);
	if (entry->is_number)
		*(int64_t *)total += entry->number;
	return 0;
}

static int watch(struct nopal_trace *t, const char *map, struct nopal_diag *d)
{
	struct nopal_trace_stats stats;
	int64_t total = 0;
	int err = nopal_trace_attach(t, d);

	if (err)
		return err;
	while (nopal_trace_poll(t, -1, d) > 0)
		;
	err = nopal_trace_finish(t, d);
	if (!err)
		err = nopal_trace_map(t, map, print_entry, &total, d);
	printf("total %lld\n", (long long)total);
	nopal_trace_stats(t, &stats);
	printf("%llu records, %llu lost\n", (unsigned long long)stats.records,
	       (unsigned long long)stats.lost_records);
	return err;
}

int main(int argc, char **argv)
{
	struct nopal_diag *d = nopal_diag_new();
	struct nopal_trace_options options = {.size = sizeof(options), .output = print};
	struct nopal_trace *t = NULL;
	int err;

	if (argc != 4 || !d)
		return 2;
	options.command = argv[3];
	err = nopal_trace_open(argv[1], &options, &t, d);
	if (!err)
		err = watch(t, argv[2], d);
	fputs(nopal_diag_text(d), stderr);
	nopal_trace_close(t);
	nopal_diag_free(d);
	return err ? 1 : 0;
}
