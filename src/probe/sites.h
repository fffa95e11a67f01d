/* ELF file -> list of sites: notes decoded, addresses adjusted and mapped to file offsets, argument
 * strings parsed. */
#ifndef NOPAL_PROBE_SITES_H
#define NOPAL_PROBE_SITES_H

#include "elf/image.h"
#include "probe/probe.h"

/* `path`: where the image is, and `root` what stands before /usr/lib/debug ("" or "/proc/7/root"),
 * to find its separate debug file when it was stripped of its notes.
 *
 * 0, also for a file without probes; -EBADMSG for damaged notes: the list then has those that can
 * be read. The list is to be freed in any case. */
int site_list_read(const struct image *image, struct str path, struct str root,
		   struct site_list *out, struct diag *d);
void site_list_free(struct site_list *list);

#endif
