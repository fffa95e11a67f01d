/* The real machine as a script_source: the calls of the find module, one by one. */
#include "script/script.h"

static int machine_sites(void *self, const struct find_query *q, found_fn *fn, void *arg,
			 struct diag *d)
{
	return finder_sites(self, q, fn, arg, d);
}

static int machine_functions(void *self, const struct find_query *q, function_fn *fn, void *arg,
			     struct diag *d)
{
	return finder_functions(self, q, fn, arg, d);
}

static int machine_know(void *self, const struct found_image *image, struct site *site,
			struct diag *d)
{
	int err = finder_know(self, image, site);

	finder_know_problems(self, d);
	return err;
}

static struct str machine_function_at(void *self, const struct found_image *image, uint64_t offset)
{
	return finder_function_at(self, image, offset);
}

static int machine_events(void *self, struct str category, struct str name, trace_event_fn *fn,
			  void *arg, struct diag *d)
{
	(void)self;
	return trace_events_each(category, name, fn, arg, d);
}

static int machine_event(void *self, struct arena *a, struct str category, struct str name,
			 struct trace_event *out, struct diag *d)
{
	(void)self;
	return trace_event_read(a, category, name, out, d);
}

struct script_source script_source_machine(struct finder *f)
{
	return (struct script_source){
		.run = f,
		.sites = machine_sites,
		.functions = machine_functions,
		.self = f,
		.know = machine_know,
		.function_at = machine_function_at,
		.events = machine_events,
		.event = machine_event,
	};
}
