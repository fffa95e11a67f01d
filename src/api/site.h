/* A site of a collection from inside: what probes.c and site_text.c share. */
#ifndef NOPAL_API_SITE_H
#define NOPAL_API_SITE_H

#include "find/know.h"
#include "nopal/sites.h"

struct nopal_site {
	const struct found_image *image;
	const struct site *site;
	struct nopal_sites *owner;
	const struct known_site *known; /* NULL: nobody has asked yet */
};

/* What is known of a site is found out when it is first asked for, and kept with it. NULL without
 * memory. */
const struct known_site *site_know(const struct nopal_site *s);

#endif
