#include "help/fake_source.h"

#include <errno.h>

/* clang-format off */
#define FAKE_OPERAND(id, bytes, sign, text)                                       \
	{                                                                         \
		.kind = OPERAND_REG, .size = bytes, .is_signed = sign, .reg = id, \
		.base = REG_NONE, .index = REG_NONE,                              \
		.raw = {text, sizeof(text) - 1}                                   \
	}
#define FAKE_REG(id, bytes, sign, text) \
	{ .operand = FAKE_OPERAND(id, bytes, sign, text), .counted_by = -1 }
/* clang-format on */

static struct argument fake_tick[] = {
	FAKE_REG(1, 4, true, "-4@%ebx"),
	FAKE_REG(1, 8, false, "8@%rbx"),
	FAKE_REG(1, 8, false, "8@%rbx"),
};

static struct argument fake_tock_wide[] = {FAKE_REG(1, 8, false, "8@%rbx")};

static struct argument fake_tock_narrow[] = {FAKE_REG(1, 2, true, "-2@%bx")};

static struct argument fake_load_float[] = {
	{.operand = {.kind = OPERAND_REG,
		     .size = 8,
		     .is_float = true,
		     .reg = 1,
		     .base = REG_NONE,
		     .index = REG_NONE,
		     .raw = {"8f@%rbx", 7}},
	 .counted_by = -1},
};

static struct argument fake_load_int[] = {FAKE_REG(1, 8, true, "-8@%rbx")};

static struct argument fake_bad[] = {
	FAKE_REG(1, 4, true, "-4@%ebx"),
	{.operand = {.kind = OPERAND_BAD,
		     .size = 4,
		     .reg = REG_NONE,
		     .base = REG_NONE,
		     .index = REG_NONE,
		     .raw = {"4@%zax", 6},
		     .why = "unknown register"},
	 .counted_by = -1},
	{.operand = {.kind = OPERAND_REG,
		     .size = 8,
		     .is_float = true,
		     .reg = 200,
		     .base = REG_NONE,
		     .index = REG_NONE,
		     .raw = {"8f@%xmm0", 8}},
	 .counted_by = -1},
};

#define FAKE_SITE(provider_text, name_text, at, list, number)                             \
	{                                                                                 \
		.provider = {provider_text, sizeof(provider_text) - 1},                   \
		.name = {name_text, sizeof(name_text) - 1}, .location = at, .offset = at, \
		.args = list, .arg_count = number                                         \
	}

static struct site fake_app_sites[] = {
	FAKE_SITE("app", "start", 0x100, NULL, 0),
	FAKE_SITE("app", "tick", 0x110, fake_tick, 3),
	FAKE_SITE("app", "tock", 0x120, fake_tock_wide, 1),
	FAKE_SITE("app", "tock", 0x128, fake_tock_narrow, 1),
	FAKE_SITE("app", "load", 0x130, fake_load_float, 1),
	FAKE_SITE("app", "load", 0x138, fake_load_int, 1),
	FAKE_SITE("app", "bad", 0x140, fake_bad, 3),
	FAKE_SITE("app", "few", 0x150, fake_tick, 2),
	FAKE_SITE("app", "few", 0x158, fake_tick, 1),
	{.provider = {"app", 3},
	 .name = {"gone", 4},
	 .location = 0x160,
	 .offset = SITE_NO_OFFSET,
	 .problem = "not in an executable segment"},
	FAKE_SITE("lib", "tick", 0x170, NULL, 0),
};

/* app:call(int number, bool flag, const char *text, int text_len, double ratio, struct pair pair,
 * unsigned char letter, void *place), and a site of app:word whose names differ from each other. */
static const struct ctype fake_char = {.kind = CTYPE_CHAR, .size = 1, .is_signed = true},
			  fake_int = {.kind = CTYPE_INTEGER, .size = 4, .is_signed = true},
			  fake_unsigned = {.kind = CTYPE_INTEGER, .size = 8},
			  fake_bool = {.kind = CTYPE_BOOL},
			  fake_text = {.kind = CTYPE_POINTER, .to = &fake_char},
			  fake_double = {.kind = CTYPE_FLOAT, .size = 8},
			  fake_pair = {.kind = CTYPE_STRUCT, .size = 16},
			  fake_void = {.kind = CTYPE_VOID},
			  fake_address = {.kind = CTYPE_POINTER, .to = &fake_void};

/* clang-format off */
#define FAKE_ARG(bytes, sign, raw, text, c_type, counter)                  \
	{                                                                  \
		.operand = FAKE_OPERAND(1, bytes, sign, raw),              \
		.name = {text, sizeof(text) - 1}, .type = c_type,          \
		.type_from = ORIGIN_PROGRAM, .counted_by = counter         \
	}

static struct argument fake_call_args[] = {
	FAKE_ARG(4, false, "4@%ebx",  "number",   &fake_int,     -1),
	FAKE_ARG(4, true,  "-4@%ebx", "flag",     &fake_bool,    -1),
	FAKE_ARG(8, false, "8@%rbx",  "text",     &fake_text,     3),
	FAKE_ARG(4, true,  "-4@%ebx", "text_len", &fake_int,     -1),
	FAKE_ARG(8, false, "8@%rbx",  "ratio",    &fake_double,  -1),
	FAKE_ARG(8, false, "8@%rbx",  "pair",     &fake_pair,    -1),
	FAKE_ARG(1, false, "1@%bl",   "letter",   &fake_char,    -1),
	FAKE_ARG(8, false, "8@%rbx",  "place",    &fake_address, -1),
};
static struct argument fake_word_args[]   = { FAKE_ARG(8, false, "8@%rbx", "word", &fake_text,     -1) };
static struct argument fake_number_args[] = { FAKE_ARG(8, false, "8@%rbx", "word", &fake_unsigned, -1) };
/* clang-format on */

static struct site fake_known_sites[] = {
	FAKE_SITE("app", "call", 0x300, fake_call_args, 8),
	FAKE_SITE("app", "word", 0x310, fake_word_args, 1),
	FAKE_SITE("app", "word", 0x318, fake_number_args, 1),
};

static struct site fake_late_sites[] = {
	FAKE_SITE("app", "late", 0x200, NULL, 0),
};

static int fake_image(struct str path, struct site *sites, size_t count, bool named,
		      const struct find_query *q, found_fn *fn, void *arg)
{
	/* Two lists that live as long as the tests, so that they are known again. */
	static struct site_list lists[3];
	struct site_list *list = &lists[sites == fake_late_sites    ? 1
					: sites == fake_known_sites ? 2
								    : 0];
	struct found_image image = {.path = path, .open_path = path, .sites = list};
	size_t matches[16], n = 0;

	if (!named && !str_match(q->path, path))
		return 0;
	list->arch = arch_host();
	list->sites = sites;
	list->count = count;
	for (size_t i = 0; i < count; i++)
		if ((!q->provider.len || str_match(q->provider, sites[i].provider)) &&
		    (!q->name.len || str_match(q->name, sites[i].name)))
			matches[n++] = i;
	return n ? fn(arg, &image, matches, n) : 0;
}

static int fake_sites(void *self, const struct find_query *q, found_fn *fn, void *arg,
		      struct diag *d)
{
	const struct fake *fake = self;
	bool any = !q->path.len;
	int err;

	if (str_eq_text(q->path, "/bin/known"))
		return fake_image(STR("/bin/known"), fake_known_sites, 3, true, q, fn, arg);
	if (!any && !str_has_wildcard(q->path) && !str_eq_text(q->path, "/bin/app") &&
	    !str_eq_text(q->path, "/bin/late"))
		return diag_error(d, -ENOENT, "no-file", "cannot open '%.*s': no such file",
				  STR_FMT(q->path));
	err = fake_image(STR("/bin/app"), fake_app_sites,
			 sizeof(fake_app_sites) / sizeof(fake_app_sites[0]), any, q, fn, arg);
	if (!err && fake->late)
		err = fake_image(STR("/bin/late"), fake_late_sites, 1, any, q, fn, arg);
	return err;
}

static int fake_functions(void *self, const struct find_query *q, function_fn *fn, void *arg,
			  struct diag *d)
{
	static const char *const names[] = {"main", "work", "work_hard"};
	uint64_t address;
	int err = 0;

	(void)self;
	if (!str_match(q->path, STR("/bin/app")))
		return diag_error(d, -ENOENT, "no-file", "cannot open '%.*s': no such file",
				  STR_FMT(q->path));
	/* All of it is main, 0x1000 further up in memory than in the file. */
	if (str_starts(q->name, STR("0x")) && !str_to_u64(q->name, &address)) {
		struct found_function f = {.path = STR("/bin/app"),
					   .open_path = STR("/bin/app"),
					   .name = STR("main"),
					   .offset = address - 0x1000,
					   .start = 0x1000,
					   .extent = 0x1000,
					   .arch = arch_host()};

		return address < 0x1000 ? 0 : fn(arg, &f);
	}
	for (unsigned i = 0; i < 3 && !err; i++) {
		struct found_function f = {.path = STR("/bin/app"),
					   .open_path = STR("/bin/app"),
					   .name = str_from(names[i]),
					   .offset = 0x1000 + 0x100 * i,
					   .start = 0x1000 + 0x100 * i,
					   .extent = 0x100,
					   .arch = arch_host()};

		if (str_match(q->name, f.name))
			err = fn(arg, &f);
	}
	return err;
}

static struct str fake_function_at(void *self, const struct found_image *image, uint64_t offset)
{
	(void)self;
	(void)image;
	return offset < 0x120 ? STR("main") : STR("work");
}

static const struct {
	const char *category, *name;
} fake_event_names[] = {
	{"sched", "sched_switch"}, {"sched", "sched_wakeup"}, {"syscalls", "sys_enter_openat"}};

static int fake_events(void *self, struct str category, struct str name, trace_event_fn *fn,
		       void *arg, struct diag *d)
{
	int err = 0;

	(void)self;
	(void)d;
	for (unsigned i = 0; i < 3 && !err; i++) {
		struct str c = str_from(fake_event_names[i].category);
		struct str n = str_from(fake_event_names[i].name);

		if (str_match(category, c) && str_match(name, n))
			err = fn(arg, c, n);
	}
	return err;
}

static const struct trace_field fake_fields[] = {
	{.name = {"comm", 4},
	 .c_type = {"char", 4},
	 .offset = 8,
	 .size = 16,
	 .is_signed = true,
	 .is_array = true},
	{.name = {"pid", 3}, .c_type = {"pid_t", 5}, .offset = 24, .size = 4, .is_signed = true},
	{.name = {"state", 5}, .c_type = {"long", 4}, .offset = 32, .size = 8, .is_signed = true},
	{.name = {"name", 4},
	 .c_type = {"__data_loc char[]", 17},
	 .offset = 40,
	 .size = 4,
	 .is_data_loc = true},
	{.name = {"mask", 4},
	 .c_type = {"unsigned long", 13},
	 .offset = 48,
	 .size = 32,
	 .is_array = true},
};

/* sched_wakeup has the first of them, and one elsewhere. */
static const struct trace_field fake_other_fields[] = {
	{.name = {"comm", 4},
	 .c_type = {"char", 4},
	 .offset = 8,
	 .size = 16,
	 .is_signed = true,
	 .is_array = true},
	{.name = {"pid", 3}, .c_type = {"pid_t", 5}, .offset = 28, .size = 4, .is_signed = true},
};

static int fake_event(void *self, struct arena *a, struct str category, struct str name,
		      struct trace_event *out, struct diag *d)
{
	(void)self;
	(void)a;
	(void)d;
	(void)category;
	*out = (struct trace_event){.name = name,
				    .id = 1,
				    .fields = fake_fields,
				    .field_count = sizeof(fake_fields) / sizeof(fake_fields[0])};
	if (str_eq_text(name, "sched_wakeup")) {
		out->fields = fake_other_fields;
		out->field_count = 2;
	}
	return 0;
}

static const char *fake_unreadable(void *self, const struct arch *arch, const struct operand *o,
				   bool by_some)
{
	(void)self;
	(void)arch;
	(void)by_some;
	return o->kind == OPERAND_REG && o->reg == 200 ? "a kernel tracer cannot see xmm registers"
						       : operand_problem(o);
}

struct script_source fake_source(struct fake *fake)
{
	return (struct script_source){.run = fake,
				      .self = fake,
				      .sites = fake_sites,
				      .functions = fake_functions,
				      .unreadable = fake_unreadable,
				      .function_at = fake_function_at,
				      .events = fake_events,
				      .event = fake_event};
}
