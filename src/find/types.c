/* Types by name: the kernel's BTF is opened when a type of it is first asked for, that of modules
 * when the kernel itself has no such type; DWARF once for each file. */
#include "find/types.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/file.h"
#include "btf/btf.h"
#include "debuginfo/debuginfo.h"
#include "elf/debugfile.h"
#include "find/finder.h"
#include "find/tracefs.h"

#define TRACEABLE_MAX (64u << 20) /* bytes of the list of functions; 3 MB of a usual kernel */

/* What is known of one program. */
struct program_types {
	struct file *file; /* held */
	struct debuginfo *info;
	int err; /* why there is none */
};

struct finder_types {
	struct btf *kernel;
	int kernel_err;
	struct btf **modules;
	size_t module_count, module_cap;
	bool is_kernel_asked, are_modules_asked;
	struct program_types *programs;
	size_t program_count, program_cap;
};

void finder_types_free(struct finder_types *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->module_count; i++)
		btf_close(t->modules[i]);
	free(t->modules);
	btf_close(t->kernel);
	for (size_t i = 0; i < t->program_count; i++) {
		debuginfo_close(t->programs[i].info);
		file_drop(t->programs[i].file);
	}
	free(t->programs);
	free(t);
}

static int start_finding(struct finder *f)
{
	if (!f->types)
		f->types = calloc(1, sizeof(*f->types));
	return f->types ? 0 : -ENOMEM;
}

/* ---- The kernel ---- */

/* Another file of types than the running kernel's: for tests, and for kernels without one. */
static const char *other_btf(void)
{
	const char *path = getenv("NOPAL_BTF");

	return path ? path : getenv("BPFTRACE_BTF");
}

static int open_kernel(struct finder_types *t, struct diag *d)
{
	const char *path = other_btf();

	if (t->is_kernel_asked)
		return t->kernel_err;
	t->is_kernel_asked = true;
	/* Of a kernel that has no BTF no type is known. */
	t->kernel_err = btf_open(path ? path : BTF_KERNEL, NULL, &t->kernel, path ? d : NULL);
	if (t->kernel_err && !path && t->kernel_err != -ENOMEM)
		t->kernel_err = -ENOENT;
	return t->kernel_err;
}

static int open_modules(struct finder_types *t)
{
	DIR *dir = t->are_modules_asked || other_btf() ? NULL : opendir("/sys/kernel/btf");
	int err = 0;

	t->are_modules_asked = true;
	for (struct dirent *e; dir && !err && (e = readdir(dir));) {
		struct buf path = BUF_INIT;

		if (e->d_name[0] == '.' || !strcmp(e->d_name, "vmlinux"))
			continue;
		buf_printf(&path, "/sys/kernel/btf/%s", e->d_name);
		err = path.failed || array_grow(t->modules, t->module_count, t->module_cap)
			      ? -ENOMEM
			      : 0;
		/* A module may be unloaded meanwhile. */
		if (!err && !btf_open(path.ptr, t->kernel, &t->modules[t->module_count], NULL))
			t->module_count++;
		buf_free(&path);
	}
	if (dir)
		closedir(dir);
	return err;
}

/* ---- Programs ---- */

static bool same_file(const struct file *a, const struct file *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

static int read_program(struct finder *f, struct file *file, struct debuginfo **out, struct diag *d)
{
	struct budget b = budget_for_file(f->cache.stop_fd);
	struct image *image;
	int err = image_open_file(file, &image, NULL);

	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	b.memory = NAMED_MEMORY;
	b.work = OTHERS_WORK;
	image_set_budget(image, &b);
	err = debuginfo_open(image, file->path, DEBUG_TRUSTED, out, d);
	image_close(image);
	return err;
}

int finder_debuginfo(struct finder *f, struct file *file, struct debuginfo **out, struct diag *d)
{
	struct program_types *p;
	struct finder_types *t;

	if (start_finding(f))
		return -ENOMEM;
	t = f->types;
	for (size_t i = 0; i < t->program_count; i++)
		if (same_file(t->programs[i].file, file)) {
			*out = t->programs[i].info;
			return t->programs[i].err;
		}
	if (array_grow(t->programs, t->program_count, t->program_cap))
		return -ENOMEM;
	p = &t->programs[t->program_count++];
	*p = (struct program_types){.file = file_hold(file)};
	p->err = read_program(f, file, &p->info, d);
	*out = p->info;
	return p->err;
}

/* ---- Both ---- */

/* What is looked for: a type, or a constant. */
struct wanted_type {
	enum ctype_kind kind;
	struct str name;
	bool is_constant;
	const struct ctype **out;
	int64_t *value;
};

static int find_in_btf(struct btf *b, const struct wanted_type *w)
{
	return w->is_constant ? btf_find_constant(b, w->name, w->out, w->value)
			      : btf_find(b, w->kind, w->name, w->out);
}

static int find_in_kernel(struct finder_types *t, const struct wanted_type *w, struct diag *d)
{
	int err = open_kernel(t, d);

	if (!err)
		err = find_in_btf(t->kernel, w);
	if (err != -ENOENT || !t->kernel)
		return err;
	err = open_modules(t);
	if (err)
		return err;
	err = -ENOENT;
	for (size_t i = 0; i < t->module_count && err == -ENOENT; i++)
		err = find_in_btf(t->modules[i], w);
	return err;
}

static int find_in_file(struct finder *f, struct file *file, const struct wanted_type *w,
			struct diag *d)
{
	struct debuginfo *info;
	int err = start_finding(f);

	if (err)
		return err;
	if (!file)
		return find_in_kernel(f->types, w, d);
	err = finder_debuginfo(f, file, &info, d);
	if (err)
		return err;
	return w->is_constant ? debuginfo_constant(info, w->name, w->out, w->value)
			      : debuginfo_type(info, w->kind, w->name, w->out);
}

/* A damaged type is reported here, where its name is known. */
static int report_damage(const struct wanted_type *w, int err, struct diag *d)
{
	if (err == -EBADMSG)
		diag_error(d, err, "corrupt-type", "the type '%.*s' is damaged where it is defined",
			   STR_FMT(w->name));
	return err;
}

int finder_type(struct finder *f, struct file *file, enum ctype_kind kind, struct str name,
		const struct ctype **out, struct diag *d)
{
	struct wanted_type w = {.kind = kind, .name = name, .out = out};

	return report_damage(&w, find_in_file(f, file, &w, d), d);
}

int finder_constant(struct finder *f, struct file *file, struct str name, const struct ctype **out,
		    int64_t *value, struct diag *d)
{
	struct wanted_type w = {.name = name, .is_constant = true, .out = out, .value = value};

	return report_damage(&w, find_in_file(f, file, &w, d), d);
}

int finder_function_types(struct finder *f, const struct found_function *found,
			  struct function_types *out, struct diag *d)
{
	struct debug_function function;
	struct debuginfo *info;
	int err = found->file ? finder_debuginfo(f, found->file, &info, d) : -ENOENT;

	if (!err)
		err = debuginfo_function(info, found->address, &function);
	if (err)
		return err;
	*out = (struct function_types){
		.params = {function.type, function.registers, function.is_c},
		.file = function.file,
		.line = function.line,
	};
	return 0;
}

/* ---- Lists ---- */

struct type_name {
	struct str name;
	enum ctype_kind kind;
};

struct type_list {
	enum ctype_kind kind; /* CTYPE_VOID: all but functions */
	struct str pattern;
	struct type_name *items;
	size_t count, cap;
};

static int keep_type(void *arg, enum ctype_kind kind, struct str name)
{
	struct type_list *l = arg;

	if ((l->kind == CTYPE_VOID ? kind == CTYPE_FUNCTION : kind != l->kind) ||
	    !str_match(l->pattern, name))
		return 0;
	if (array_grow(l->items, l->count, l->cap))
		return -ENOMEM;
	l->items[l->count++] = (struct type_name){name, kind};
	return 0;
}

static int compare_types(const void *a, const void *b)
{
	const struct type_name *x = a, *y = b;

	return x->kind != y->kind ? (x->kind > y->kind) - (x->kind < y->kind)
				  : str_cmp(x->name, y->name);
}

/* All that match, sorted; there may be several of a name. */
static int collect_types(struct finder *f, struct type_list *list, struct diag *d)
{
	int err = start_finding(f);

	if (!err)
		err = open_kernel(f->types, d);
	if (!err)
		err = open_modules(f->types);
	if (!err)
		err = btf_each(f->types->kernel, keep_type, list);
	for (size_t i = 0; !err && i < f->types->module_count; i++)
		err = btf_each(f->types->modules[i], keep_type, list);
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), compare_types);
	return err;
}

static bool is_first_of_name(const struct type_list *list, size_t i)
{
	return !i || compare_types(&list->items[i], &list->items[i - 1]);
}

int finder_types_each(struct finder *f, enum ctype_kind kind, struct str pattern,
		      finder_type_fn *fn, void *arg, struct diag *d)
{
	struct type_list list = {.kind = kind, .pattern = pattern};
	int err = collect_types(f, &list, d);

	for (size_t i = 0; !err && i < list.count; i++)
		if (is_first_of_name(&list, i))
			err = fn(arg, list.items[i].kind, list.items[i].name);
	free(list.items);
	return err == -ENOENT ? 0 : err;
}

/* ---- Raw tracepoints ---- */

#define RAW_CALLER "__traceiter_"

int finder_raw_events(struct finder *f, struct str pattern, finder_raw_fn *fn, void *arg,
		      struct diag *d)
{
	struct type_list list = {.kind = CTYPE_FUNCTION};
	struct buf name = BUF_INIT;
	const struct ctype *function;
	int err;

	buf_printf(&name, RAW_CALLER "%.*s", STR_FMT(pattern));
	list.pattern = buf_as_str(&name);
	err = name.failed ? -ENOMEM : collect_types(f, &list, d);
	if (err == -ENOENT && !str_has_wildcard(pattern))
		err = fn(arg, pattern, NULL);
	for (size_t i = 0; !err && i < list.count; i++) {
		struct str full = list.items[i].name;

		if (!is_first_of_name(&list, i))
			continue;
		err = finder_type(f, NULL, CTYPE_FUNCTION, full, &function, d);
		if (!err)
			err = fn(arg,
				 str_of(full.ptr + strlen(RAW_CALLER),
					full.len - strlen(RAW_CALLER)),
				 function);
	}
	free(list.items);
	buf_free(&name);
	return err == -ENOENT ? 0 : err;
}

/* ---- Functions of the kernel ---- */

static int give_function(struct finder *f, struct str name, kernel_function_fn *fn, void *arg,
			 struct diag *d)
{
	struct kernel_function function = {.name = name};
	int err = finder_type(f, NULL, CTYPE_FUNCTION, name, &function.type, d);

	if (err && err != -ENOENT)
		return err;
	if (f->types->kernel)
		btf_find_id(f->types->kernel, CTYPE_FUNCTION, name, &function.id);
	return fn(arg, &function);
}

/* A line each: the name, and for those of a module its name in brackets. -ENOMEM. */
static int collect_traceable(struct str text, struct type_list *list)
{
	while (text.len) {
		struct str line = str_cut(&text, '\n'), name = str_cut(&line, ' ');

		if (!name.len || !str_match(list->pattern, name))
			continue;
		if (array_grow(list->items, list->count, list->cap))
			return -ENOMEM;
		list->items[list->count++] = (struct type_name){name, CTYPE_FUNCTION};
	}
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), compare_types);
	return 0;
}

int finder_kernel_functions(struct finder *f, struct str pattern, kernel_function_fn *fn, void *arg,
			    struct diag *d)
{
	struct type_list list = {.kind = CTYPE_FUNCTION, .pattern = pattern};
	struct buf path = BUF_INIT, text = BUF_INIT;
	const char *dir;
	int err = start_finding(f);

	if (err || !str_has_wildcard(pattern))
		return err ? err : give_function(f, pattern, fn, arg, d);
	dir = tracefs_dir(NULL);
	buf_printf(&path, "%s/available_filter_functions", dir ? dir : "");
	if (path.failed)
		err = -ENOMEM;
	else if (dir && !file_slurp(path.ptr, TRACEABLE_MAX, &text))
		err = collect_traceable(buf_as_str(&text), &list);
	else
		err = collect_types(f, &list, d);
	for (size_t i = 0; !err && i < list.count; i++)
		if (is_first_of_name(&list, i))
			err = give_function(f, list.items[i].name, fn, arg, d);
	free(list.items);
	buf_free(&text);
	buf_free(&path);
	return err == -ENOENT ? 0 : err;
}

int finder_kernel_id(struct finder *f, enum ctype_kind kind, struct str name, uint32_t *id,
		     struct diag *d)
{
	int err = start_finding(f);

	if (!err)
		err = open_kernel(f->types, d);
	return err ? err : btf_find_id(f->types->kernel, kind, name, id);
}
