/* Conditions of probes, from the documents of the programs and from trying. */
#include "provider/notes.h"

#include "base/array.h"

#define DTRACE_PROBES "fires only in a JVM started with -XX:+ExtendedDTraceProbes"
#define TRACE_POINT   "fires only while a TracePoint is enabled (Ruby 2.5 and later)"

/* clang-format off */
static const struct {
	const char *provider, *name; /* patterns */
	const char *note;
} notes[] = {
	{ "ruby",        "method__*",      TRACE_POINT },
	{ "ruby",        "cmethod__*",     TRACE_POINT },
	{ "php",         "*",              "fires only in a PHP started with USE_ZEND_DTRACE=1 in its environment" },
	{ "hotspot",     "method__*",      DTRACE_PROBES },
	{ "hotspot",     "object__alloc",  DTRACE_PROBES },
	{ "hotspot",     "monitor__*",     DTRACE_PROBES },
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
