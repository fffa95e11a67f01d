/* Arguments of a probe may lie elsewhere, and be typed otherwise, at each of its sites. What is
 * printed is what all of its sites have; a type is taken from the first. */
#include "describe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "nopal/probe.h"

static int same_probe(const struct nopal_site *a, const struct nopal_site *b)
{
	return !strcmp(nopal_site_name(a), nopal_site_name(b)) &&
	       !strcmp(nopal_site_provider(a), nopal_site_provider(b)) &&
	       !strcmp(nopal_site_file(a), nopal_site_file(b));
}

/* Was this site's probe written already, for an earlier site? */
static int is_repeated(const struct nopal_probes *probes, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (same_probe(nopal_probes_site(probes, i), nopal_probes_site(probes, index)))
			return 1;
	return 0;
}

/* Arguments that every site of the probe has, and that can be read at every one. */
static unsigned common_args(const struct nopal_probes *probes, const struct nopal_site *site)
{
	unsigned count = nopal_site_arg_count(site);

	for (size_t i = 0; i < nopal_probes_count(probes); i++) {
		const struct nopal_site *other = nopal_probes_site(probes, i);

		if (same_probe(site, other) && nopal_site_arg_count(other) < count)
			count = nopal_site_arg_count(other);
	}
	return count;
}

static int is_readable(const struct nopal_probes *probes, const struct nopal_site *site,
		       unsigned index)
{
	struct nopal_arg first, arg;

	if (nopal_site_arg(site, index, &first))
		return 0;
	for (size_t i = 0; i < nopal_probes_count(probes); i++) {
		const struct nopal_site *other = nopal_probes_site(probes, i);

		if (same_probe(site, other) &&
		    (nopal_site_arg(other, index, &arg) || arg.problem ||
		     arg.kind == NOPAL_ARG_UNKNOWN || arg.is_float != first.is_float))
			return 0;
	}
	return 1;
}

static const char *conversion(const struct nopal_arg *arg)
{
	if (arg->is_float)
		return "%f";
	return arg->is_signed || arg->size < 8 ? "%ld" : "0x%lx";
}

/* "  arg0=%ld  arg1=(not readable)" */
static void write_formats(FILE *out, const struct nopal_probes *probes,
			  const struct nopal_site *site, unsigned count)
{
	struct nopal_arg arg;

	for (unsigned i = 0; i < count; i++)
		if (is_readable(probes, site, i) && !nopal_site_arg(site, i, &arg))
			fprintf(out, "  arg%u=%s", i, conversion(&arg));
		else
			fprintf(out, "  arg%u=(not readable)", i);
}

static void write_values(FILE *out, const struct nopal_probes *probes,
			 const struct nopal_site *site, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (is_readable(probes, site, i))
			fprintf(out, ", arg%u", i);
}

/* One printf for the whole line, so that lines of different threads do not mix. */
static void write_line(FILE *out, const struct nopal_probes *probes, const struct nopal_site *site)
{
	unsigned count = common_args(probes, site);

	fprintf(out, "\tprintf(\"" LINE_FORMAT);
	write_formats(out, probes, site, count);
	fprintf(out, "\\n\", " LINE_ARGS);
	write_values(out, probes, site, count);
	fputs(");\n", out);
}

static int write_clause(FILE *out, const struct nopal_probes *probes, const struct nopal_site *site,
			const char *filter)
{
	char *pattern = nopal_site_pattern(site);

	if (!pattern)
		return -ENOMEM;
	fprintf(out, "%s", pattern);
	if (filter)
		fprintf(out, "\n/%s/", filter);
	fputs("\n{\n", out);
	write_line(out, probes, site);
	fputs("}\n", out);
	free(pattern);
	return 0;
}

int write_describing_clauses(FILE *out, char **patterns, int count, const char *filter, pid_t pid)
{
	struct nopal_diag *d = nopal_diag_new();
	struct nopal_probes *probes = NULL;
	int err = d ? nopal_probes_new(&probes) : -ENOMEM, clauses = 0;

	for (int i = 0; i < count && err >= 0; i++)
		err = nopal_probes_find(probes, patterns[i], pid, d);
	for (size_t i = 0; err >= 0 && i < nopal_probes_count(probes); i++) {
		if (is_repeated(probes, i))
			continue;
		err = write_clause(out, probes, nopal_probes_site(probes, i), filter);
		clauses++;
	}
	if (err < 0 && d)
		show_messages(d);
	nopal_probes_free(probes);
	nopal_diag_free(d);
	return err < 0 ? err : clauses;
}
