/* The table of builtins and functions: all that is known of each stands in its row. */
#include "script/named.h"
#include "script/values.h"

/*  name         arguments  uses                       type rule           lowering           */
static const struct function functions[] = {
	{"argN", "", USE_NAME | USE_CALL, check_arg_n, lower_arg_n, 0},
	{"args", "", USE_NAME, check_whole, NULL, 0},
	{"args.", "", USE_NAME, check_field_value, lower_field_value, 0},
	{"avg", "i", USE_CALL | USE_AGGREGATE, check_aggregate, NULL, TYPE_AVG},
	{"buf", "pi", USE_CALL, check_buf, lower_buf, 0},
	{"cat", "s*", USE_CALL | USE_STATEMENT, check_printf, lower_printf, FORMAT_CAT},
	{"cgroup", "", USE_NAME | USE_CALL, check_number, lower_builtin, BUILTIN_CGROUP},
	{"clear", "m", USE_CALL | USE_STATEMENT, check_whole_map, lower_whole_map, FORMAT_CLEAR},
	{"comm", "", USE_NAME | USE_CALL, check_comm, lower_comm, 0},
	{"count", "", USE_CALL | USE_AGGREGATE, check_aggregate, NULL, TYPE_COUNT},
	{"cpu", "", USE_NAME | USE_CALL, check_number, lower_builtin, BUILTIN_CPU},
	{"delete", "x[x", USE_CALL | USE_STATEMENT, check_delete, lower_delete, 0},
	{"elapsed", "", USE_NAME | USE_CALL, check_number, lower_builtin, BUILTIN_ELAPSED},
	{"exit", "[c", USE_CALL | USE_STATEMENT, check_statement, lower_exit, 0},
	{"func", "", USE_NAME | USE_CALL, check_func, lower_builtin, BUILTIN_FUNC},
	{"gid", "", USE_NAME | USE_CALL, check_number, lower_builtin, BUILTIN_GID},
	{"has_key", "x[x", USE_CALL, check_has_key, lower_has_key, 0},
	{"hist", "i[c", USE_CALL | USE_AGGREGATE, check_hist, NULL, TYPE_HIST},
	{"join", "p[s", USE_CALL | USE_STATEMENT, check_statement, lower_join, 0},
	{"kstack", "[xx", USE_NAME | USE_CALL, check_stack, lower_stack, TYPE_KSTACK},
	{"ksym", "p", USE_CALL, check_symbol, lower_symbol, TYPE_KSYM},
	{"lhist", "iccc", USE_CALL | USE_AGGREGATE, check_lhist, NULL, TYPE_LHIST},
	{"max", "i", USE_CALL | USE_AGGREGATE, check_aggregate, NULL, TYPE_MAX},
	{"min", "i", USE_CALL | USE_AGGREGATE, check_aggregate, NULL, TYPE_MIN},
	{"ncpus", "", USE_NAME | USE_CALL, check_number, lower_builtin, BUILTIN_NCPUS},
	{"nsecs", "[x", USE_NAME | USE_CALL, check_nsecs, lower_builtin, BUILTIN_NSECS},
	{"pid", "", USE_NAME | USE_CALL, check_number, lower_builtin, BUILTIN_PID},
	{"print", "x[xx", USE_CALL | USE_STATEMENT, check_print, lower_print, 0},
	{"printf", "s*", USE_CALL | USE_STATEMENT, check_printf, lower_printf, FORMAT_PRINTF},
	{"probe", "", USE_NAME | USE_CALL, check_name, lower_builtin, BUILTIN_PROBE},
	{"rand", "", USE_NAME | USE_CALL, check_number, lower_builtin, BUILTIN_RAND},
	{"reg", "s", USE_CALL, check_reg, lower_reg_call, 0},
	{"retval", "", USE_NAME | USE_CALL, check_retval, lower_retval, 0},
	{"stats", "i", USE_CALL | USE_AGGREGATE, check_aggregate, NULL, TYPE_STATS},
	{"str", "x[i", USE_CALL, check_str, lower_str, 0},
	{"strftime", "si", USE_CALL, check_strftime, lower_strftime, 0},
	{"strncmp", "ttc", USE_CALL, check_strncmp, lower_strncmp, 0},
	{"sum", "i", USE_CALL | USE_AGGREGATE, check_aggregate, NULL, TYPE_SUM},
	{"system", "s*", USE_CALL | USE_STATEMENT | USE_UNSAFE, check_printf, lower_printf,
	 FORMAT_SYSTEM},
	{"tid", "", USE_NAME | USE_CALL, check_number, lower_builtin, BUILTIN_TID},
	{"time", "[s", USE_CALL | USE_STATEMENT, check_statement, lower_time, 0},
	{"uid", "", USE_NAME | USE_CALL, check_number, lower_builtin, BUILTIN_UID},
	{"ustack", "[xx", USE_NAME | USE_CALL, check_stack, lower_stack, TYPE_USTACK},
	{"usym", "p", USE_CALL, check_symbol, lower_symbol, TYPE_USYM},
	{"zero", "m", USE_CALL | USE_STATEMENT, check_whole_map, lower_whole_map, FORMAT_ZERO},
};

/* What bpftrace has and we do not. */
static const char *const foreign_functions[] = {
	"bswap",       "cgroup_path", "cgroupid", "cpid",	 "ctx",		  "curtask",
	"errorf",      "find",	      "has_cpid", "jiffies",	 "kaddr",	  "kptr",
	"leader_comm", "leader_tid",  "len",	  "macaddr",	 "memcmp",	  "ntop",
	"numaid",      "offsetof",    "override", "path",	 "pcomm",	  "percpu_kaddr",
	"ppid",	       "probetype",   "pton",	  "sarg0",	 "signal",	  "signal_thread",
	"sizeof",      "skboutput",   "strcap",	  "strcontains", "strerror",	  "strlen",
	"strstr",      "tseries",     "uaddr",	  "unwatch",	 "uptr",	  "usermode",
	"username",    "warnf",	      "assert",	  "getopt",	 "socket_cookie", "str_concat",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

bool arg_number(struct str name, unsigned *out)
{
	uint64_t number;

	if (name.len < 4 || name.len > 6 || !str_starts(name, STR("arg")) ||
	    (name.ptr[3] == '0' && name.len > 4) || name.ptr[3] < '0' || name.ptr[3] > '9' ||
	    str_to_u64(str_of(name.ptr + 3, name.len - 3), &number) || number > 127)
		return false;
	*out = (unsigned)number;
	return true;
}

const struct function *function_find(struct str name)
{
	unsigned number;

	if (str_eq_text(name, "argN"))
		return NULL;
	if (arg_number(name, &number))
		name = STR("argN");
	for (size_t i = 0; i < COUNT(functions); i++)
		if (str_eq_text(name, functions[i].name))
			return &functions[i];
	return NULL;
}

bool function_is_foreign(struct str name)
{
	for (size_t i = 0; i < COUNT(foreign_functions); i++)
		if (str_eq_text(name, foreign_functions[i]))
			return true;
	return false;
}

const char *function_guess(struct str name)
{
	const char *best = NULL;
	unsigned nearest = 3;

	for (size_t i = 0; i < COUNT(functions); i++) {
		unsigned distance = str_distance(name, str_from(functions[i].name), nearest);

		/* argN and args. are rows, not names. */
		if (functions[i].check == check_arg_n || functions[i].check == check_field_value)
			continue;
		if (distance < nearest) {
			nearest = distance;
			best = functions[i].name;
		}
	}
	return best;
}
