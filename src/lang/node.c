/* Node.js: its frames are those of V8, which ustack walks; only what it is is known. */
#include "lang/runtime_row.h"

/* ---- the row */

/* Symbols that are looked for. */
enum { ENTRY_FRAME };

static bool look_node(struct recognition *l)
{
	if (!l->has[ENTRY_FRAME])
		return false;
	l->out->has_version = recognition_version_after(l, "/node-v");
	l->out->problem = "ustack names its code by /tmp/perf-PID.map: start it with "
			  "--perf-basic-prof --interpreted-frames-native-stack";
	return true;
}

const struct runtime_row node_row = {
	.name = "node",
	.files = {"libnode", "node"},
	.symbols = {[ENTRY_FRAME] = "v8dbg_frametype_EntryFrame"},
	.look = look_node,
};
