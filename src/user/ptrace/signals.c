/* Signals that wait for a thread, by /proc/TID/status. */
#include "user/ptrace/signals.h"

#include "base/buf.h"
#include "base/proc.h"

/* A number in hex of /proc/TID/status; 0 when unknown. */
static uint64_t status_hex(struct str status, const char *name)
{
	struct str line = process_status_line(status, name);
	uint64_t value;

	return str_take_hex(&line, &value) ? value : 0;
}

#define IGNORED_BY_DEFAULT \
	(SIGNAL_BIT(SIGCHLD) | SIGNAL_BIT(SIGCONT) | SIGNAL_BIT(SIGURG) | SIGNAL_BIT(SIGWINCH))

/* The kernel lets signals that the program ignores wake a thread only because it is traced by
 * ptrace(2). */
static uint64_t ignored_in(struct str status)
{
	return status_hex(status, "SigIgn") | (IGNORED_BY_DEFAULT & ~status_hex(status, "SigCgt"));
}

uint64_t signals_pending(pid_t tid)
{
	struct buf text = BUF_INIT;
	uint64_t signals = UINT64_MAX;
	struct str status;

	if (!process_status(tid, &text)) {
		status = buf_as_str(&text);
		signals = (status_hex(status, "SigPnd") | status_hex(status, "ShdPnd")) &
			  ~status_hex(status, "SigBlk") & ~ignored_in(status);
	}
	buf_free(&text);
	return signals;
}

bool signal_is_ignored(pid_t tid, int sig)
{
	struct buf text = BUF_INIT;
	bool ignored =
		!process_status(tid, &text) && (ignored_in(buf_as_str(&text)) & SIGNAL_BIT(sig));

	buf_free(&text);
	return ignored;
}
