/* A probe as it is typed after nopal trace, count, hist and stack, and as a script has it. */
#ifndef NOPAL_CMD_PROBE_WORD_H
#define NOPAL_CMD_PROBE_WORD_H

#include <stdbool.h>
#include <stddef.h>

#include "script_text.h"

/* Write the probe that `word` names:
 *
 *   FILE                       usdt:FILE:*                  all its probes
 *   FILE:NAME                  usdt:FILE:NAME               FILE has a slash
 *   PROVIDER:NAME              usdt:*:PROVIDER:NAME         usdt::PROVIDER:NAME of a process
 *   FILE:PROVIDER:NAME         usdt:FILE:PROVIDER:NAME
 *   u:LIB:NAME                 usdt:LIB:NAME                as bcc's tools have it
 *   p:LIB:NAME, r:LIB:NAME     uprobe:LIB:NAME, uretprobe:LIB:NAME
 *   TYPE:...                   as it is
 *
 * FILE may have any bytes: where it exists, it ends where its name does, else it may be in quotes.
 *
 * `of_process`: one process is traced, so that probes are looked for in its files alone. */
void probe_word_write(struct script_text *t, const char *word, bool of_process);
/* How many bytes of the word name a file that exists, with a slash: all of it, or up to a colon; 0:
 * none do. */
size_t probe_word_file(const char *word);
/* Is it a file or a probe, whatever quotes and brackets follow: FILE..., "FILE":...,
 * TYPE:"FILE":...
 */
bool probe_word_is_plain(const char *word);
/* Does a script know its first part as a type of probes? */
bool probe_word_is_typed(const char *word);

/* The first part of a probe as bcc's tools have it, and what a script has before the library. */
struct probe_letter {
	char letter;
	const char *type, *of_kernel; /* there is no library: a function of the kernel */
};
const struct probe_letter *probe_letter(char letter); /* NULL: it is none of p, r, t and u */

#endif
