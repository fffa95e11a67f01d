/* The verifier's log; see inside.h. */
#include "engine/bpf/inside.h"

#include <stdlib.h>
#include <unistd.h>

#define COUNTS_SIZE (64u << 10)
#define WHOLE_SIZE  (16u << 20)
#define LOG_COUNTS  4 /* instructions, states, stack */
#define LOG_WHOLE   1 /* every step on the way to the refusal */

void log_program(struct buf *out, struct kernel_program k, const struct unit *u, int fd)
{
	struct str log, line;

	buf_printf(out, "%s: %zu instructions, %u sites: %s\n", k.name, k.count, u->site_count,
		   fd < 0 ? strerror(-fd) : "loaded");
	k.log_size = fd < 0 ? WHOLE_SIZE : COUNTS_SIZE;
	k.log_level = fd < 0 ? LOG_WHOLE : LOG_COUNTS;
	k.log = calloc(1, k.log_size);
	if (!k.log)
		return;
	fd = kernel_program_load(&k);
	if (fd >= 0)
		close(fd);
	for (log = str_trim(str_from(k.log)); log.len;) {
		line = str_cut(&log, '\n');
		buf_printf(out, "    %.*s\n", STR_FMT(line));
	}
	free(k.log);
}
