/* Writing the text of a run; see sink.h. */
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "nopal/trace.h"
#include "signals.h"

#define PIECE	    (1u << 16) /* bytes that -B full collects */
#define PATIENCE_MS 3000       /* after a signal: how long we wait while nothing is read */
#define LAST_TRY_MS 200	       /* ... after a second one */

void sink_init(struct sink *s, const char *path, bool full)
{
	*s = (struct sink){.path = path, .fd = -1, .full = full};
}

bool sink_open(struct sink *s)
{
	if (s->fd >= 0)
		return true;
	s->fd = s->path ? open(s->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)
			: STDOUT_FILENO;
	if (s->fd >= 0)
		return true;
	s->err = errno;
	say_error("cannot write to '%s': %s", s->path, strerror(s->err));
	return false;
}

bool sink_is_terminal(const struct sink *s)
{
	struct stat st;
	bool is_terminal;
	int fd;

	if (!s->path)
		return isatty(STDOUT_FILENO);
	if (stat(s->path, &st) || !S_ISCHR(st.st_mode))
		return false;
	fd = open(s->path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	is_terminal = isatty(fd);
	if (fd >= 0)
		close(fd);
	return is_terminal;
}

static void fail(struct sink *s, int err)
{
	s->err = err;
	if (s->trace)
		nopal_trace_stop(s->trace);
}

static bool keep(struct sink *s, const char *text, size_t len)
{
	size_t cap = s->cap ? s->cap : PIECE;
	char *bigger;

	while (cap - s->len < len)
		cap *= 2;
	if (cap > s->cap) {
		bigger = realloc(s->text, cap);
		if (!bigger)
			return false;
		s->text = bigger;
		s->cap = cap;
	}
	memcpy(s->text + s->len, text, len);
	s->len += len;
	return true;
}

/* The state of waiting for a reader. */
struct patience {
	int signals; /* received so far */
	long since;  /* the last signal, or the last byte read */
};

static bool is_over(struct patience *p, bool moved)
{
	if (moved || p->signals != signals_count())
		*p = (struct patience){signals_count(), signals_clock()};
	return p->signals &&
	       signals_clock() - p->since > (p->signals > 1 ? LAST_TRY_MS : PATIENCE_MS);
}

/* Write until all is written, or until a signal has come while probes are still armed: then it has
 * to wait. */
static void flush(struct sink *s)
{
	struct pollfd writable = {s->fd, POLLOUT, 0};
	struct patience patience = {signals_count(), signals_clock()};
	size_t done = 0;

	while (done < s->len && !s->err && (s->detached || !signals_count())) {
		ssize_t len = write(s->fd, s->text + done, s->len - done);

		if (len >= 0)
			done += (size_t)len;
		else if (errno == EAGAIN)
			poll(&writable, 1, LAST_TRY_MS);
		else if (errno != EINTR)
			fail(s, errno);
		if (!s->err && done < s->len && is_over(&patience, len > 0))
			fail(s, ETIMEDOUT);
	}
	s->len -= done;
	if (s->len)
		memmove(s->text, s->text + done, s->len);
}

void sink_take(void *sink, const char *text, size_t len)
{
	struct sink *s = sink;

	if (!s->err && (!sink_open(s) || !keep(s, text, len)))
		fail(s, s->err ? s->err : ENOMEM);
	if (s->err) {
		s->given_up += len;
		return;
	}
	if (!s->full || s->len >= PIECE)
		flush(s);
}

static void say_lost(const struct sink *s)
{
	const char *quote = s->path ? "'" : "", *name = s->path ? s->path : "standard output";
	unsigned long long bytes = s->given_up + s->len;

	if (s->err == ETIMEDOUT)
		say_error("%llu bytes were not written to %s%s%s: they were not read %s", bytes,
			  quote, name, quote,
			  signals_count() > 1 ? "before the second signal"
					      : "for 3 seconds after the signal");
	else
		say_error("cannot write to %s%s%s: %s", quote, name, quote, strerror(s->err));
}

bool sink_close(struct sink *s)
{
	bool fine;

	s->detached = true;
	s->trace = NULL;
	if (s->fd >= 0)
		flush(s);
	if (s->path && s->fd >= 0 && close(s->fd) && !s->err)
		s->err = errno;
	fine = !s->err || s->err == EPIPE;
	if (!fine && s->fd >= 0) /* else sink_open() has reported it */
		say_lost(s);
	free(s->text);
	*s = (struct sink){.fd = -1};
	return fine;
}
