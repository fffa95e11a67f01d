/* Conditions of probes, from the documents of the programs and from trying. */
#include "provider/notes.h"

#include "base/array.h"

/* One option for each kind, and one for all, which JDK 19 deprecates. */
#define JVM(option) "fires only in a JVM started with -XX:+" option ", or -XX:+ExtendedDTraceProbes"
#define TRACE_POINT "fires only while a TracePoint is enabled (Ruby 2.5 and later)"
#define SIMPLE_QUERY                                                            \
	"fires for statements that are sent as text; prepared statements fire " \
	"query__execute__start and query__execute__done"
#define NODE                                                                    \
	"Node.js has probes only before version 19, built with --with-dtrace; " \
	"the package nopal-usdt, or usdt, makes probes while it runs"

/* clang-format off */
static const struct {
	const char *provider, *name; /* patterns */
	const char *note;
} notes[] = {
	{ "ruby",        "method__*",         TRACE_POINT },
	{ "ruby",        "cmethod__*",        TRACE_POINT },
	{ "php",         "*",                 "fires only in a PHP started with USE_ZEND_DTRACE=1 in its environment" },
	{ "hotspot",     "method__entry",     JVM("DTraceMethodProbes") },
	{ "hotspot",     "method__return",    JVM("DTraceMethodProbes") },
	{ "hotspot",     "object__alloc",     JVM("DTraceAllocProbes") },
	{ "hotspot",     "monitor__*",        JVM("DTraceMonitorProbes") },
	{ "hotspot",     "vm__init__*",       "fires while the JVM starts: use -c, or start it later" },
	{ "postgresql",  "query__start",      SIMPLE_QUERY },
	{ "postgresql",  "query__done",       SIMPLE_QUERY },
	{ "python",      "function__*",       "fires for functions that are written in Python, not for those in C" },
	{ "python",      "gc__*",             "fires when a collection runs: gc.collect(), or enough new objects" },
	{ "node",        "http__*",          "fires for requests of the module http" },
	{ "rtld",        "init_*",            "fires while a program starts: use -c, or no -p" },
	{ "libc",        "memory_*",          "fires when malloc() changes its arenas or settings, not for each call" },
	{ "libc",        "lll_lock_wait*",    "fires only when a lock is contended" },
	{ "perl",        "sub__*",            "fires for subs that are written in Perl, not for those in C" },
};

/* Probes of each call, line, object or lock. */
static const struct {
	const char *provider, *name; /* patterns */
} hot[] = {
	{ "python",     "line" },        { "python",      "function__*" }, { "python",     "instance__*" },
	{ "ruby",       "method__*" },   { "ruby",        "cmethod__*" },  { "ruby",       "*__create" },
	{ "php",        "function__*" }, { "php",         "execute__*" },
	{ "perl",       "sub__*" },      { "perl",        "op__entry" },
	{ "tcl",        "inst__*" },     { "tcl",         "obj__*" },      { "tcl",        "cmd__*" },
	{ "tcl",        "proc__*" },
	{ "hotspot",    "method__*" },   { "hotspot",     "object__alloc" }, { "hotspot",  "monitor__*" },
	{ "hotspot_jni", "*" },
	{ "postgresql", "lwlock__*" },   { "postgresql",  "buffer__*" },
	{ "libpthread", "mutex_*" },     { "libc",        "mutex_*" },
	{ "libpthread", "*lock_*" },     { "libc",        "r?lock_*" },    { "libc",       "w?lock_*" },
	{ "libc",       "rwlock_*" },
	{ "glib",       "mem__*" },      { "glib",        "slice__*" },    { "glib",       "rcbox__*" },
	{ "gobject",    "object__*ref" }, { "glib",       "main__context_*" },
};

/* What has no probes at all in most distributions: by the name of its file, and by the provider of
 * the probes that it might have. */
static const struct {
	const char *file; /* pattern */
	const char *provider;
	const char *note;
} programs[] = {
	{ "node",          "node",       NODE },
	{ "nodejs",        "",           NODE },
	{ "libnode*",      "",           NODE },
	{ "python3*",      "python",     "Python has probes when it is built with --with-dtrace" },
	{ "libpython3*",   "",           "Python has probes when it is built with --with-dtrace" },
	{ "java",          "",           "the JVM's probes are in its libjvm.so: nopal list -p PID" },
	{ "libjvm.so",     "hotspot",    "a JVM has probes when it is built with --enable-dtrace" },
	{ "php*",          "php",        "PHP has probes when it is built with --enable-dtrace" },
	{ "libphp*",       "",           "PHP has probes when it is built with --enable-dtrace" },
	{ "ruby*",         "ruby",       "Ruby has probes when it is built with --enable-dtrace; they may be in its libruby.so" },
	{ "libruby*",      "",           "Ruby has probes when it is built with --enable-dtrace" },
	{ "perl*",         "perl",       "Perl has probes when it is built with -Dusedtrace" },
	{ "libperl*",      "",           "Perl has probes when it is built with -Dusedtrace" },
	{ "mysqld",        "",           "MySQL has probes only before version 8.0, built with -DENABLE_DTRACE=1" },
	{ "mariadbd",      "",           "MariaDB has probes when it is built with -DENABLE_DTRACE=1" },
	{ "",              "mysql",      "MariaDB, and MySQL before version 8.0, have probes when they are built with -DENABLE_DTRACE=1" },
	{ "postgres",      "postgresql", "PostgreSQL has probes when it is built with --enable-dtrace" },
	{ "memcached",     "memcached",  "memcached has probes when it is built with --enable-dtrace" },
	{ "libc.so.6",     "libc",       "glibc has probes when it is built with --enable-systemtap; functions are uprobe:libc.so.6:malloc" },
	{ "ld-linux*",     "rtld",       "glibc has probes when it is built with --enable-systemtap" },
	{ "libtcl*",       "tcl",        "Tcl has probes when it is built with --enable-dtrace" },
	{ "qemu-system-*", "qemu",       "QEMU has probes when it is built with --enable-trace-backends=dtrace" },
};
/* clang-format on */

struct str provider_note(struct str provider, struct str name)
{
	for (size_t i = 0; i < COUNT(notes); i++)
		if (str_match(str_from(notes[i].provider), provider) &&
		    str_match(str_from(notes[i].name), name))
			return str_from(notes[i].note);
	return STR("");
}

bool provider_probe_is_hot(struct str provider, struct str name)
{
	for (size_t i = 0; i < COUNT(hot); i++)
		if (str_match(str_from(hot[i].provider), provider) &&
		    str_match(str_from(hot[i].name), name))
			return true;
	return false;
}

struct str provider_program_note(struct str path)
{
	struct str name = str_after_last(path, '/');

	for (size_t i = 0; i < COUNT(programs); i++)
		if (str_match(str_from(programs[i].file), name))
			return str_from(programs[i].note);
	return STR("");
}

struct str provider_program_of(struct str provider)
{
	for (size_t i = 0; i < COUNT(programs) && provider.len; i++)
		if (str_eq_text(provider, programs[i].provider))
			return str_from(programs[i].note);
	return STR("");
}
