/* Names of what a JVM has compiled, for stacks of the program: the JVM writes them when it is
 * asked. */
#include "nopal/trace.h"

#include <errno.h>
#include <stdio.h>

#include "base/export.h"
#include "base/file.h"
#include "base/proc.h"
#include "base/public.h"
#include "lang/lang.h"
#include "symbols/maps.h"

#define RUNTIMES_MOST 8
#define MAP_MOST      (48u << 20) /* bytes of a map that are counted */

static const char command[] = "Compiler.perfmap";

/* What a flag of the JVM says. */
struct flags {
	bool keeps_frames, is_closed;
};

static int find_jvm(pid_t pid, struct flags *out, struct diag *d)
{
	const struct lang_memory memory = lang_memory_of(&pid);
	struct lang_runtime all[RUNTIMES_MOST];
	struct buf maps = BUF_INIT;
	int err = maps_read(pid, &maps), count = 0;
	bool found = false;

	if (!err)
		count = lang_recognise(pid, buf_as_str(&maps), NULL, all, RUNTIMES_MOST);
	buf_free(&maps);
	if (count < 0)
		return count;
	for (int i = 0; i < count; i++) {
		if (all[i].kind == LANG_JVM) {
			found = true;
			out->keeps_frames = lang_jvm_flag(&all[i], &memory, "PreserveFramePointer");
			out->is_closed = lang_jvm_flag(&all[i], &memory, "DisableAttachMechanism");
		}
		lang_runtime_free(&all[i]);
	}
	if (err || found)
		return err;
	diag_error(d, -ENOENT, "no-jvm", "process %d is not a HotSpot JVM", (int)pid);
	diag_hint(d, "Node.js writes such names itself: start it with --perf-basic-prof "
		     "--interpreted-frames-native-stack");
	return -ENOENT;
}

/* Why there is no answer. */
static int report_silence(pid_t pid, enum lang_answer answer, struct diag *d)
{
	switch (answer) {
	case LANG_ANSWER_DENIED:
		diag_error(d, -EPERM, "lang-process", "cannot ask the JVM %d as its user",
			   (int)pid);
		diag_hint_permission(d, -EPERM, "as the user whose process it is");
		return -EPERM;
	case LANG_ANSWER_DEAF:
		diag_error(d, -ENOTSUP, "jvm-attach",
			   "the JVM %d takes no SIGQUIT, by which it is asked to listen", (int)pid);
		diag_hint(d, "it may be starting: try again");
		return -ENOTSUP;
	case LANG_ANSWER_ENDED:
		return diag_error(d, -ESRCH, "lang-process", "process %d has ended", (int)pid);
	default:
		return diag_error(d, -ETIMEDOUT, "jvm-attach",
				  "the JVM %d has not answered within 10 seconds", (int)pid);
	}
}

/* "0\n": it was done; else a number and what the JVM says. */
static int read_answer(struct str text, struct diag *d)
{
	struct str code = str_cut(&text, '\n'), line = str_cut(&text, '\n');
	struct buf why = BUF_INIT;

	if (str_eq_text(code, "0"))
		return 0;
	buf_escaped(&why, line.len ? line : code);
	diag_error(d, -ENOTSUP, "jvm-attach", "the JVM refuses '%s': %.*s", command,
		   STR_FMT(buf_as_str(&why)));
	diag_hint(d, "JDK 17 and newer have it");
	buf_free(&why);
	return -ENOTSUP;
}

static int ask_agent(pid_t pid, struct diag *d)
{
	enum lang_answer answer = LANG_ANSWER_NONE;
	struct buf text = BUF_INIT;
	int err = lang_jvm_ask(pid, command, &text, &answer);

	if (!err && answer != LANG_ANSWER_GIVEN)
		err = report_silence(pid, answer, d);
	else if (!err)
		err = read_answer(buf_as_str(&text), d);
	buf_free(&text);
	return err;
}

static void print_map(pid_t pid, bool keeps_frames, struct buf *out)
{
	struct buf status = BUF_INIT, path = BUF_INIT, map = BUF_INIT;
	uint64_t inner = (uint64_t)pid; /* its number in its PID namespace */
	size_t count = 0;

	process_status(pid, &status);
	process_status_number(buf_as_str(&status), "NStgid", STATUS_LAST, &inner);
	buf_printf(&path, "/proc/%d/root/tmp/perf-%d.map", (int)pid, (int)inner);
	if (!path.failed)
		file_slurp(path.ptr, MAP_MOST, &map);
	for (size_t i = 0; i < map.len; i++)
		count += map.ptr[i] == '\n';
	buf_printf(out, "%zu name%s in /tmp/perf-%d.map; ustack reads it\n", count,
		   count == 1 ? " is" : "s are", (int)inner);
	if (!keeps_frames)
		buf_text(out, "ustack ends at the first of these functions, for they keep no frame "
			      "pointers: start the JVM with -XX:+PreserveFramePointer\n");
	buf_free(&status);
	buf_free(&path);
	buf_free(&map);
}

NOPAL_EXPORT int nopal_lang_perf_map(pid_t pid, nopal_output_fn *output, void *arg,
				     struct nopal_diag *diag)
{
	struct diag *d = diag_inner(diag);
	struct buf out = BUF_INIT;
	struct flags flags = {0};
	int err = find_jvm(pid, &flags, d);

	if (!err && flags.is_closed) {
		err = diag_error(d, -ENOTSUP, "jvm-attach",
				 "the JVM %d takes no requests: -XX:+DisableAttachMechanism",
				 (int)pid);
		diag_hint(d, "start it without that option");
	}
	if (!err)
		err = ask_agent(pid, d);
	if (!err)
		print_map(pid, flags.keeps_frames, &out);
	if (out.len && !out.failed)
		output(arg, out.ptr, out.len);
	if (err == -EACCES || err == -EPERM) {
		err = diag_ensure(d, err, "ask the JVM");
		diag_hint_permission(d, err, "as the user whose process it is");
	}
	err = out.failed ? -ENOMEM : err;
	buf_free(&out);
	return diag_ensure(d, err, "ask the JVM");
}
