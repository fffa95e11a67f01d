/* Which runtimes a process has: by the names of its images, then by symbols and texts in them,
 * never by a name alone. Addresses are those of the image and where it is mapped. */
#include "lang/inside.h"

#include <errno.h>

#include "elf/symbols.h"

#define VERSION_MOST 64 /* bytes of a text like "3.1.2" */
#define PAGE	     4096u
#define RODATA_MOST  (64u << 20)
#define PHP_VERSION  "X-Powered-By: PHP/"
#define FROM_NODE    "/node-v"

/* What a file is called that may be a runtime's. */
static const struct {
	const char *word;
	enum lang_kind kind;
} file_words[] = {
	{"libpython", LANG_PYTHON}, {"python", LANG_PYTHON}, {"libphp", LANG_PHP},
	{"php", LANG_PHP},	    {"libruby", LANG_RUBY},  {"ruby", LANG_RUBY},
	{"libperl", LANG_PERL},	    {"perl", LANG_PERL},     {"libjvm", LANG_JVM},
	{"libnode", LANG_NODE},	    {"node", LANG_NODE},
};

/* Symbols that are looked for; addresses are link-time. */
enum wanted {
	PY_RUNTIME,
	PY_VERSION,
	PY_CODE,
	PHP_GLOBALS,
	PHP_GLOBALS_ZTS,
	RUBY_EC,
	RUBY_VM,
	RUBY_ERRINFO,
	RUBY_VERSION,
	PERL_INTERPRETER,
	PERL_CONTEXT,
	PERL_KEY,
	PERL_RUNOPS,
	PERL_REVISION,
	PERL_MAJOR,
	PERL_MINOR,
	JVM_STRUCTS,
	JVM_TYPES,
	V8_FRAME,
	WANTED,
};

/* clang-format off */
static const struct {
	const char *name;
	enum lang_kind kind;
} wanted[WANTED] = {
	[PY_RUNTIME]       = {"_PyRuntime",           LANG_PYTHON},
	[PY_VERSION]       = {"Py_Version",           LANG_PYTHON},
	[PY_CODE]          = {"PyCode_Type",          LANG_PYTHON},
	[PHP_GLOBALS]      = {"executor_globals",     LANG_PHP},
	[PHP_GLOBALS_ZTS]  = {"executor_globals_id",  LANG_PHP},
	[RUBY_EC]          = {"ruby_current_ec",      LANG_RUBY},
	[RUBY_VM]          = {"ruby_current_vm_ptr",  LANG_RUBY},
	[RUBY_ERRINFO]     = {"rb_errinfo",           LANG_RUBY},
	[RUBY_VERSION]     = {"ruby_version",         LANG_RUBY},
	[PERL_INTERPRETER] = {"PL_curinterp",         LANG_PERL},
	[PERL_CONTEXT]     = {"PL_current_context",   LANG_PERL},
	[PERL_KEY]         = {"PL_thr_key",           LANG_PERL},
	[PERL_RUNOPS]      = {"PL_runops_std",        LANG_PERL},
	[PERL_REVISION]    = {"PL_revision",          LANG_PERL},
	[PERL_MAJOR]       = {"PL_version",           LANG_PERL},
	[PERL_MINOR]       = {"PL_subversion",        LANG_PERL},
	[JVM_STRUCTS]      = {"gHotSpotVMStructs",    LANG_JVM},
	[JVM_TYPES]        = {"gHotSpotVMTypes",      LANG_JVM},
	[V8_FRAME]         = {"v8dbg_frametype_EntryFrame", LANG_NODE},
};
/* clang-format on */

/* One image that is looked at. */
struct recognition {
	const struct image *image;
	struct str path;
	enum lang_kind kind;
	bool has[WANTED];
	uint64_t at[WANTED];
	struct lang_runtime *out;
};

static enum lang_kind kind_of_file(struct str path)
{
	struct str name = str_after_last(path, '/');

	for (size_t i = 0; i < COUNT(file_words); i++)
		if (str_starts(name, str_from(file_words[i].word)))
			return file_words[i].kind;
	return LANG_NONE;
}

bool lang_is_runtime_file(struct str path)
{
	return kind_of_file(path) != LANG_NONE;
}

static int take_symbol(void *arg, const struct symbol *symbol)
{
	struct recognition *l = arg;

	for (unsigned i = 0; i < WANTED; i++)
		if (wanted[i].kind == l->kind && !l->has[i] &&
		    str_eq_text(symbol->name, wanted[i].name)) {
			l->has[i] = true;
			l->at[i] = symbol->address;
		}
	return 0;
}

/* Bytes of the file that are mapped at a link-time address. */
static bool read_image(const struct recognition *l, uint64_t address, void *to, size_t len)
{
	uint64_t offset;

	return image_offset_of(l->image, address, &offset) &&
	       image_read(l->image, offset, to, len) == (ssize_t)len;
}

/* "3.11.2" at the start of a text, with whatever follows. */
static bool parse_version(struct str text, struct lang_runtime *r)
{
	unsigned *numbers[] = {&r->major, &r->minor, &r->micro};

	for (unsigned i = 0; i < COUNT(numbers); i++) {
		size_t len = 0;

		while (len < text.len && len < 5 && char_is_digit(text.ptr[len]))
			len++;
		if (!len)
			return i >= 2;
		*numbers[i] = 0;
		for (size_t k = 0; k < len; k++)
			*numbers[i] = *numbers[i] * 10 + (unsigned)(text.ptr[k] - '0');
		text = str_of(text.ptr + len, text.len - len);
		if (i < 2 && (!text.len || *text.ptr != '.'))
			return i == 1;
		if (text.len)
			text = str_of(text.ptr + 1, text.len - 1);
	}
	return true;
}

/* The text at an address. */
static bool read_version(const struct recognition *l, uint64_t address)
{
	char text[VERSION_MOST];

	return read_image(l, address, text, sizeof(text)) &&
	       parse_version(str_of(text, strnlen(text, sizeof(text))), l->out);
}

/* The text after `before`, in the constants of the image. */
static bool find_version_text(const struct recognition *l, const char *before)
{
	const struct section *s = image_section(l->image, ".rodata", NULL);
	struct str text, found;
	size_t len = strlen(before);

	if (!s || image_content(l->image, s, RODATA_MOST, &text))
		return false;
	while ((found.ptr = memmem(text.ptr, text.len, before, len))) {
		text = str_of(found.ptr + len, (size_t)(text.ptr + text.len - found.ptr) - len);
		if (parse_version(
			    str_of(text.ptr, text.len < VERSION_MOST ? text.len : VERSION_MOST),
			    l->out))
			return true;
	}
	return false;
}

/* ---- each language: false: this image is not one of it */

static bool take_layout(struct recognition *l, const char *problem)
{
	struct lang_runtime *r = l->out;

	r->layout = problem ? NULL : layout_find(r->kind, r->major, r->minor);
	r->problem = problem	       ? problem
		     : !r->has_version ? "its version cannot be read"
		     : !r->layout      ? "where this version keeps its frames is not known"
				       : NULL;
	if (!r->has_version)
		r->layout = NULL;
	return true;
}

/* Before 3.11 only names say what it is: .../libpython3.9.so.1.0, .../python3.10 */
static bool python_version_of_name(struct recognition *l)
{
	struct str name = str_after_last(l->path, '/');
	const char *at = memmem(name.ptr, name.len, "python", 6);

	return at && parse_version(str_of(at + 6, (size_t)(name.ptr + name.len - at) - 6), l->out);
}

static bool look_python(struct recognition *l)
{
	uint32_t version;

	if (!l->has[PY_RUNTIME])
		return false;
	if (l->has[PY_VERSION] && read_image(l, l->at[PY_VERSION], &version, sizeof(version))) {
		l->out->major = version >> 24;
		l->out->minor = version >> 16 & 0xff;
		l->out->micro = version >> 8 & 0xff;
		l->out->has_version = true;
	} else {
		l->out->has_version = python_version_of_name(l);
		l->out->micro = 0;
	}
	l->out->root = l->at[PY_RUNTIME];
	l->out->code_type = l->has[PY_CODE] ? l->at[PY_CODE] : 0;
	return take_layout(l, NULL);
}

static bool look_php(struct recognition *l)
{
	if (!l->has[PHP_GLOBALS] && !l->has[PHP_GLOBALS_ZTS])
		return false;
	l->out->has_version = find_version_text(l, PHP_VERSION);
	l->out->root = l->at[PHP_GLOBALS];
	return take_layout(l, l->has[PHP_GLOBALS] ? NULL : "it is built for threads (ZTS)");
}

/* The module's slot of a thread-local variable. A program is module 1, without a slot. */
static bool take_thread_local(struct recognition *l, enum wanted variable, struct str program)
{
	l->out->root = tls_module_slot(l->image);
	l->out->tls_offset = l->at[variable];
	return take_layout(l, l->out->root || str_starts(str_after_last(l->path, '/'), program)
				      ? NULL
				      : "its thread-local variables cannot be found");
}

static const char not_glibc[] = "its C library is not known to be glibc";

static enum lang_start start_of(const struct recognition *l)
{
	const struct lang_layout *layout = layout_find(l->kind, l->out->major, l->out->minor);

	return layout ? (enum lang_start)layout->shape.start : LANG_START_ROOT;
}

/* Before 3.0 only the list of threads says which one runs what; since 3.3 the variable has no
 * symbol, but a function that reads it. */
static bool look_ruby(struct recognition *l)
{
	const struct lang_layout *layout;
	struct lang_runtime *r = l->out;

	if (!l->has[RUBY_VERSION])
		return false;
	r->has_version = read_version(l, l->at[RUBY_VERSION]);
	layout = layout_find(LANG_RUBY, r->major, r->minor);
	if (layout)
		evaluator_find(l->image, layout->ruby.instructions, &r->evaluator);
	if (start_of(l) == LANG_START_LIST) {
		r->root = l->at[RUBY_VM];
		return take_layout(l, l->has[RUBY_VM] ? NULL
						      : "it has no symbol 'ruby_current_vm_ptr'");
	}
	if (start_of(l) != LANG_START_TLS)
		return take_layout(l, NULL);
	if (!tls_is_glibc(l->image))
		return take_layout(l, not_glibc);
	if (l->has[RUBY_EC])
		return take_thread_local(l, RUBY_EC, STR("ruby"));
	if (l->has[RUBY_ERRINFO] &&
	    tls_offset_of_code(l->image, l->at[RUBY_ERRINFO], &r->root, &r->tls_offset))
		return take_layout(l, NULL);
	return take_layout(l, "it has no symbol 'ruby_current_ec', and its code does not say where "
			      "that is");
}

/* With threads each interpreter is a struct, of which the thread has the address, since 5.36 in a
 * variable, before as the value of a key; and so it is without other threads, if they were built
 * in. */
static bool look_perl(struct recognition *l)
{
	struct lang_runtime *r = l->out;
	unsigned char revision = 0, major = 0, minor = 0;
	enum wanted variable;

	if (!l->has[PERL_RUNOPS])
		return false;
	r->has_version = l->has[PERL_MAJOR] && read_image(l, l->at[PERL_REVISION], &revision, 1) &&
			 read_image(l, l->at[PERL_MAJOR], &major, 1) &&
			 read_image(l, l->at[PERL_MINOR], &minor, 1);
	r->major = revision;
	r->minor = major;
	r->micro = minor;
	if (start_of(l) == LANG_START_ROOT)
		return take_layout(l, NULL);
	variable = start_of(l) == LANG_START_KEY ? PERL_KEY : PERL_CONTEXT;
	if (!l->has[variable])
		return take_layout(
			l, "it is built without threads, or keeps its interpreter elsewhere");
	if (!tls_is_glibc(l->image))
		return take_layout(l, not_glibc);
	if (variable == PERL_CONTEXT)
		return take_thread_local(l, variable, STR("perl"));
	r->root = l->at[PERL_KEY];
	return take_layout(l, NULL);
}

static bool look_node(struct recognition *l)
{
	if (!l->has[V8_FRAME])
		return false;
	l->out->has_version = find_version_text(l, FROM_NODE);
	l->out->problem = "ustack names its code by /tmp/perf-PID.map: start it with "
			  "--perf-basic-prof --interpreted-frames-native-stack";
	return true;
}

static bool look_jvm(struct recognition *l)
{
	if (!l->has[JVM_STRUCTS])
		return false;
	l->out->root = l->at[JVM_STRUCTS];
	l->out->code_type = l->has[JVM_TYPES] ? l->at[JVM_TYPES] : 0;
	l->out->problem = "ustack ends at its code, which keeps no frame pointers: start it with "
			  "-XX:+PreserveFramePointer, and for names run nopal lang --perf-map PID";
	return true;
}

typedef bool look_fn(struct recognition *l);

static look_fn *const looks[LANG_KINDS] = {
	[LANG_PYTHON] = look_python, [LANG_PHP] = look_php,   [LANG_RUBY] = look_ruby,
	[LANG_PERL] = look_perl,     [LANG_NODE] = look_node, [LANG_JVM] = look_jvm,
};

/* ---- a file */

static void keep_code(struct lang_image *out, const struct image *image)
{
	for (size_t i = 0; i < image->load_count && out->code_count < SEGMENTS_MOST; i++) {
		const struct segment *s = &image->loads[i];

		if (!s->executable)
			continue;
		if (!out->code_count)
			out->runtime.code = s->address;
		out->code[out->code_count].offset = s->offset & ~(uint64_t)(PAGE - 1);
		out->code[out->code_count++].address = s->address & ~(uint64_t)(PAGE - 1);
	}
}

int recognise_file(int fd, struct str path, struct lang_image *out)
{
	enum lang_kind kind = kind_of_file(path);
	struct lang_runtime *r = &out->runtime;
	struct recognition l = {.path = path, .kind = kind, .out = r};
	struct budget budget = budget_for_file(-1);
	struct image *image = NULL;
	int err = image_open_fd(fd, path, &image, NULL);

	buf_str(&r->text, path);
	r->path = buf_as_str(&r->text);
	if (err)
		return err == -ENOMEM || r->text.failed ? -ENOMEM : 0;
	image_set_budget(image, &budget);
	l.image = image;
	r->kind = kind;
	if (image->word == 8)
		err = symbols_scan(image, path, STR(""), SYMBOL_NAME_MAX, take_symbol, &l);
	if (image->word != 8 || err || !looks[kind](&l))
		r->kind = LANG_NONE;
	keep_code(out, image);
	image_close(image);
	return err == -ENOMEM || r->text.failed ? -ENOMEM : 0;
}

void lang_runtime_free(struct lang_runtime *r)
{
	buf_free(&r->text);
}

void lang_print(const struct lang_runtime *r, struct buf *out)
{
	buf_text(out, lang_kind_name(r->kind));
	if (r->has_version)
		buf_printf(out, " %u.%u", r->major, r->minor);
	if (r->has_version && r->micro)
		buf_printf(out, ".%u", r->micro);
}
