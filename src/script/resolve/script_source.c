/* The machine as a script_source: the calls of the find module. */
#include "script/resolve/script_source.h"

#include "headers/headers.h"

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

static struct str machine_library(void *self, struct str path, struct arena *a, size_t *count)
{
	return finder_library(self, path, a, count);
}

static struct str machine_function_library(void *self, struct str path, struct str name,
					   struct arena *a)
{
	return finder_function_library(self, path, name, a);
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

static int machine_type(void *self, struct file *file, enum ctype_kind kind, struct str name,
			const struct ctype **out, struct diag *d)
{
	return finder_type(self, file, kind, name, out, d);
}

static int machine_constant(void *self, struct file *file, struct str name,
			    const struct ctype **out, int64_t *value, struct diag *d)
{
	return finder_constant(self, file, name, out, value, d);
}

static int machine_function_types(void *self, const struct found_function *found,
				  struct function_types *out, struct diag *d)
{
	return finder_function_types(self, found, out, d);
}

static int machine_types(void *self, enum ctype_kind kind, struct str pattern, finder_type_fn *fn,
			 void *arg, struct diag *d)
{
	return finder_types_each(self, kind, pattern, fn, arg, d);
}

static int machine_raw_events(void *self, struct str pattern, finder_raw_fn *fn, void *arg,
			      struct diag *d)
{
	return finder_raw_events(self, pattern, fn, arg, d);
}

static int machine_kernel_functions(void *self, struct str pattern, kernel_function_fn *fn,
				    void *arg, struct diag *d)
{
	return finder_kernel_functions(self, pattern, fn, arg, d);
}

static int machine_kernel_id(void *self, enum ctype_kind kind, struct str name, uint32_t *id,
			     struct diag *d)
{
	return finder_kernel_id(self, kind, name, id, d);
}

static int machine_kernel_symbol(void *self, struct str name, uint64_t *out, struct diag *d)
{
	return finder_kernel_symbol(self, name, out, d);
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
		.library = machine_library,
		.function_library = machine_function_library,
		.events = machine_events,
		.event = machine_event,
		.type = machine_type,
		.constant = machine_constant,
		.types = machine_types,
		.headers = headers_open,
		.raw_events = machine_raw_events,
		.kernel_functions = machine_kernel_functions,
		.kernel_id = machine_kernel_id,
		.function_types = machine_function_types,
		.kernel_symbol = machine_kernel_symbol,
		.symbol = finder_symbol,
	};
}

const char *source_unreadable(const struct script_source *source, const struct arch *arch,
			      const struct operand *o, bool by_some)
{
	return source->unreadable ? source->unreadable(source->run, arch, o, by_some)
				  : operand_problem(o);
}
