/* What must be done before a well-known probe fires at all. */
#ifndef NOPAL_PROVIDER_NOTES_H
#define NOPAL_PROVIDER_NOTES_H

#include "base/str.h"

/* "fires only while a TracePoint is enabled"; empty: nothing is known. Static. */
struct str provider_note(struct str provider, struct str name);

/* Does the probe fire for each call, line, object or lock of a program, so that it slows the
 * program down when it is traced? */
bool provider_probe_is_hot(struct str provider, struct str name);

/* What is known of a program without probes, by the name of its file: "Python has probes when it is
 * built with --with-dtrace"; empty: nothing. Static. */
struct str provider_program_note(struct str path);
/* The same of the program that has the probes of this provider. Static. */
struct str provider_program_of(struct str provider);

#endif
