/* What went wrong at places of the script, and how often: reads of bad addresses, divisions by 0,
 * maps that were full. As text a warning with the place; as JSON an object as bpftrace has it, and
 * the count. */
#include "base/array.h"
#include "base/json.h"
#include "program/op.h"
#include "report/inside.h"

/* clang-format off */
/* "3 reads failed: bad address", and in bpftrace "Bad address"; NULL: it says nothing of these.
 * What has a helper is a "helper_error", and the rest a "runtime_error". */
static const struct fault_text {
	const char *one, *many, *why, *message, *helper;
	int64_t code; /* that the helper returned */
} texts[FAULT_KINDS] = {
	[FAULT_READ]       = { "read",     "reads",     "failed: bad address",
	                       "Bad address", "probe_read_user", -14 },
	[FAULT_MAP_FULL]   = { "update",   "updates",   "refused: the map is full",
	                       "Map full; can't update element. Try increasing max_map_keys config or manually setting the max "
	                       "entries in a map declaration e.g. `let @a = hash(5000)`", "map_update_elem", -7 },
	[FAULT_MAP_MEMORY] = { "update",   "updates",   "refused: the process cannot map more memory for the map", NULL, NULL, 0 },
	[FAULT_DIVIDE]     = { "division", "divisions", "by zero: the result is 1",
	                       "Divide or modulo by 0 detected. This can lead to unexpected results. 1 is being used as the result.",
	                       NULL, 0 },
	[FAULT_SIGNAL]     = { "signal",   "signals",   "not sent", NULL, NULL, 0 },
	[FAULT_WRITE]      = { "write",    "writes",    "failed: bad address",
	                       "Bad address", "probe_write_user", -14 },
	[FAULT_INDEX]      = { "index",    "indexes",   "outside of the array: the value is 0",
	                       "Array access out of bounds. This can lead to unexpected results.", NULL, 0 },
	[FAULT_UNSEEN]     = { "return",   "returns",   "left out: the call was not seen", NULL, NULL, 0 },
	[FAULT_LOOKUP]     = { "lookup",   "lookups",   "of a map element that does not exist",
	                       "Can't lookup map element because it does not exist.", "map_lookup_elem", 0 },
	[FAULT_DELETION]   = { "deletion", "deletions", "of a map element that does not exist",
	                       "Can't delete map element because it does not exist.", "map_delete_elem", -2 },
	[FAULT_ASK]        = { "read",     "reads",     "failed: no system call may be made in the process (seccomp, userfaultfd)",
	                       NULL, NULL, 0 },
	[FAULT_LOOP_LIMIT] = { "loop",     "loops",     "cut short: it reached the limit of rounds", NULL, NULL, 0 },
};

/* What bpftrace reads with, for each of our operations; all others with probe_read_user. */
static const struct {
	enum op op;
	const char *helper;
} readers[] = {
	{ OP_KLOAD, "probe_read_kernel"     },
	{ OP_KBUF,  "probe_read_kernel"     },
	{ OP_KSTR,  "probe_read_kernel_str" },
	{ OP_STR,   "probe_read_user_str"   },
};
/* clang-format on */

static const char *reader_of(const struct insn *in)
{
	for (size_t i = 0; i < COUNT(readers); i++)
		if (in->op == readers[i].op)
			return readers[i].helper;
	return NULL;
}

/* The helper that failed: of a read the one of the first instruction at this place. */
static const char *helper_of(const struct program *p, const struct run_fault *fault,
			     const struct fault_text *text)
{
	for (uint32_t n = 0; fault->kind == FAULT_READ && n < p->clause_count; n++) {
		const struct clause *c = &p->clauses[n];

		for (uint32_t i = 0; i < c->insn_count; i++)
			if (c->code[i].span == fault->span && reader_of(&c->code[i]))
				return reader_of(&c->code[i]);
	}
	return text->helper;
}

static void add_json(const struct report *r, const struct run_fault *fault,
		     const struct fault_text *text, struct span span, struct str own,
		     struct buf *out)
{
	const char *helper = helper_of(r->program, fault, text);
	bool is_typed = str_eq_text(span.path, "-e") || str_eq_text(span.path, "-");
	struct json j = {out, false};
	unsigned line = 0, column = 0;

	if (span.source.ptr)
		span_position(span, &line, &column);
	json_open(&j, '{');
	json_pair(&j, "type", str_from(helper ? "helper_error" : "runtime_error"));
	json_pair(&j, "msg", text->message ? str_from(text->message) : own);
	if (helper) {
		json_pair(&j, "helper", str_from(helper));
		json_key(&j, "retcode");
		json_s64(&j, text->code);
	}
	json_pair(&j, "filename", is_typed ? STR("stdin") : span.path); /* as errorf() */
	json_key(&j, "line");
	json_u64(&j, line);
	json_key(&j, "col");
	json_u64(&j, column);
	json_key(&j, "count");
	json_u64(&j, fault->count);
	json_close(&j, '}');
	buf_char(out, '\n');
}

void report_fault(struct report *r, const struct run_fault *fault, struct buf *out)
{
	const struct fault_text *text =
		&texts[fault->kind < FAULT_KINDS ? fault->kind : FAULT_READ];
	struct diag d = DIAG_INIT;
	struct span span = {.path = {"", 0}};
	struct str own = arena_printf(&d.arena, "%llu %s %s", (unsigned long long)fault->count,
				      fault->count == 1 ? text->one : text->many, text->why);

	if (fault->span < r->program->span_count)
		span = r->program->spans[fault->span];
	if (r->style == REPORT_JSON) {
		add_json(r, fault, text, span, own, out);
	} else {
		diag_warn_at(&d, "fault", span, "%.*s", STR_FMT(own));
		diag_render(&d, out);
	}
	diag_free(&d);
}
