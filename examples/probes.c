/* Using <nopal/sites.h>: the probes of a file, with their arguments in words.
 *
 * usage: probes FILE... */
#include <stdio.h>
#include <stdlib.h>

#include <nopal/sites.h>

static void print_site(const struct nopal_site *site)
{
	printf("%s:%s at 0x%llx\n", nopal_site_provider(site), nopal_site_name(site),
	       (unsigned long long)nopal_site_location(site));
	for (unsigned i = 0; i < nopal_site_arg_count(site); i++) {
		char *text = nopal_site_arg_text(site, i);

		printf("  arg%u  %s\n", i, text ? text : "?");
		free(text);
	}
}

int main(int argc, char **argv)
{
	struct nopal_diag *d = nopal_diag_new();
	struct nopal_sites *probes;
	unsigned errors;

	if (!d || nopal_sites_new(&probes))
		return 1;
	for (int i = 1; i < argc; i++)
		nopal_sites_file(probes, argv[i], d);
	for (size_t i = 0; i < nopal_sites_count(probes); i++)
		print_site(nopal_sites_at(probes, i));
	errors = nopal_diag_errors(d);
	fputs(nopal_diag_text(d), stderr);
	nopal_sites_free(probes);
	nopal_diag_free(d);
	return errors ? 1 : 0;
}
