/* The header of a provider file: for each probe a macro that is the probe, a macro that says
 * whether it is being traced, and a prototype against which the compiler can check the arguments.
 * It works with our <sys/sdt.h> and with SystemTap's, and accepts every argument that programs pass
 * to SystemTap's macros: a check warns, and only NOPAL_PROVIDER_STRICT makes it an error. */
#include "author/author.h"

#include "base/hash.h"

/* A text inside a comment: a space splits what would end the comment. */
static void add_comment_text(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		buf_char(out, text.ptr[i]);
		if (text.ptr[i] == '*' && i + 1 < text.len && text.ptr[i + 1] == '/')
			buf_char(out, ' ');
	}
}

static void add_list(struct buf *out, const struct ctype_param *args)
{
	buf_char(out, '(');
	for (const struct ctype_param *arg = args; arg; arg = arg->next) {
		ctype_print(out, arg->type, arg->name);
		if (arg->next)
			buf_text(out, ", ");
	}
	buf_char(out, ')');
}

/* Declare struct and union tags before the prototypes: a tag that a prototype declares would have
 * the prototype's scope. */
static void add_tags(struct buf *out, struct str prototype)
{
	static const char *const keywords[] = {"struct ", "union "};

	for (size_t i = 0; i < prototype.len; i++)
		for (size_t k = 0; k < 2; k++) {
			struct str rest = str_of(prototype.ptr + i, prototype.len - i), tag = rest;

			if (!str_starts(rest, str_from(keywords[k])) ||
			    (i && !strchr(" (", prototype.ptr[i - 1])))
				continue;
			tag.len = strlen(keywords[k]);
			while (tag.len < rest.len && !strchr(" *,()[]", tag.ptr[tag.len]))
				tag.len++;
			buf_printf(out, "%.*s;\n", STR_FMT(tag));
		}
}

/* Add a prototype of the arguments that can be checked. Returns a call of it, with the parameters
 * of the macro, which the compiler checks and which is never executed; empty: there are none. */
static struct str add_prototype(struct provider_file *file, struct buf *out,
				const struct provider_probe *probe)
{
	struct buf types = BUF_INIT, params = BUF_INIT;
	struct str function = arena_printf(&file->arena, "nopal_check_%.*s_%.*s",
					   STR_FMT(probe->provider->name), STR_FMT(probe->name));
	struct str call = {NULL, 0};
	unsigned number = 0;

	for (const struct ctype_param *arg = probe->args; arg; arg = arg->next) {
		struct buf type = BUF_INIT;

		number++;
		if (ctype_print_checked(&type, arg->type)) {
			buf_text(&types, types.len ? ", " : "");
			buf_str(&types, buf_as_str(&type));
			buf_printf(&params, "%sNOPAL_PROVIDER_ARG(arg%u)", params.len ? ", " : "",
				   number);
		}
		buf_free(&type);
	}
	if (types.len) {
		buf_text(out, "#ifdef NOPAL_PROVIDER_CHECKING\n");
		add_tags(out, buf_as_str(&types));
		buf_printf(out, "__extension__ extern void %.*s(%.*s);\n#endif\n",
			   STR_FMT(function), STR_FMT(buf_as_str(&types)));
		call = arena_printf(&file->arena, "%.*s(%.*s)", STR_FMT(function),
				    STR_FMT(buf_as_str(&params)));
	}
	out->failed |= types.failed || params.failed;
	buf_free(&types);
	buf_free(&params);
	return call;
}

static void add_params(struct buf *out, unsigned count, const char *separator)
{
	for (unsigned i = 1; i <= count; i++) {
		buf_text(out, i > 1 ? ", " : separator);
		buf_printf(out, "arg%u", i);
	}
}

static void add_probe(struct provider_file *file, struct buf *out,
		      const struct provider_probe *probe)
{
	struct str semaphore = provider_semaphore(file, probe), check;
	struct buf text = BUF_INIT;

	/* The probe as the provider file declares it, in a comment. */
	buf_printf(&text, "%.*s:%.*s", STR_FMT(probe->provider->name), STR_FMT(probe->name));
	add_list(&text, probe->args);
	if (probe->translated) {
		buf_text(&text, " : ");
		add_list(&text, probe->translated);
	}
	buf_text(out, "\n/* ");
	add_comment_text(out, buf_as_str(&text));
	buf_text(out, " */\n");
	out->failed |= text.failed;
	buf_free(&text);
	buf_printf(out, "__extension__ extern unsigned short %.*s NOPAL_PROVIDER_SEMAPHORE;\n",
		   STR_FMT(semaphore));
	check = add_prototype(file, out, probe);
	buf_printf(out, "#define %.*s_ENABLED() NOPAL_PROVIDER_ENABLED(%.*s)\n",
		   STR_FMT(probe->macro), STR_FMT(semaphore));
	/* #define TICK_WORD(arg1, arg2) … DTRACE_PROBE2(tick, word, arg1, arg2) */
	buf_printf(out, "#define %.*s(", STR_FMT(probe->macro));
	add_params(out, probe->arg_count, "");
	buf_text(out, ") \\\n\tdo { \\\n");
	if (check.len)
		buf_printf(out, "\t\tNOPAL_PROVIDER_CHECK(%.*s) \\\n", STR_FMT(check));
	buf_text(out, "\t\tDTRACE_PROBE");
	if (probe->arg_count)
		buf_u64(out, probe->arg_count);
	buf_printf(out, "(%.*s, %.*s", STR_FMT(probe->provider->name), STR_FMT(probe->name));
	add_params(out, probe->arg_count, ", ");
	buf_text(out, "); \\\n\t} while (0)\n");
}

/* This begins all generated headers. A program that includes <sys/sdt.h> before the header gets
 * probes without semaphores; whether they are traced is then unknown, and ENABLED() is 1. */
static const char common[] =
	"#if !defined _SDT_HAS_SEMAPHORES && !defined _SYS_SDT_H\n"
	"#define _SDT_HAS_SEMAPHORES 1\n"
	"#endif\n"
	"#if !defined STAP_HAS_SEMAPHORES && defined _SDT_HAS_SEMAPHORES\n"
	"#define STAP_HAS_SEMAPHORES 1\n"
	"#endif\n"
	"#include <sys/sdt.h>\n"
	"\n"
	"#ifndef NOPAL_PROVIDER_ENABLED\n"
	"#ifdef _SDT_HAS_SEMAPHORES\n"
	"#define NOPAL_PROVIDER_ENABLED(semaphore) \\\n"
	"\t__builtin_expect(__atomic_load_n(&(semaphore), __ATOMIC_RELAXED), 0)\n"
	"#else\n"
	"#define NOPAL_PROVIDER_ENABLED(semaphore) 1\n"
	"#endif\n"
	"#endif\n"
	"#ifndef NOPAL_PROVIDER_SEMAPHORE\n"
	"#define NOPAL_PROVIDER_SEMAPHORE \\\n"
	"\t__attribute__((__unused__, __section__(\".probes\")))\n"
	"#endif\n"
	"/* NOPAL_PROVIDER_CHECKED: C compilers warn about arguments of other types;\n"
	" * NOPAL_PROVIDER_STRICT: all compilers treat them as in any call;\n"
	" * NOPAL_PROVIDER_UNCHECKED: arguments are not checked. */\n"
	"#ifndef NOPAL_PROVIDER_CHECK\n";

/* The default if the program defines none of these macros. */
static const char checked[] = "#if !defined NOPAL_PROVIDER_UNCHECKED\n"
			      "#define NOPAL_PROVIDER_CHECKED 1\n"
			      "#endif\n";

/* In C, a pointer for an integer, or to another type, is a warning, also with -Werror. Arguments
 * that are neither integers nor pointers would be errors, and in C++ all of them would: they are
 * not checked. */
static const char checking[] =
	"#if defined NOPAL_PROVIDER_STRICT || \\\n"
	"\t(defined NOPAL_PROVIDER_CHECKED && !defined __cplusplus)\n"
	"#define NOPAL_PROVIDER_CHECKING 1\n"
	"#endif\n"
	"#ifdef NOPAL_PROVIDER_STRICT\n"
	"#define NOPAL_PROVIDER_ARG(x) (x)\n"
	"#define NOPAL_PROVIDER_CHECK(call) \\\n"
	"\tif (0) \\\n"
	"\t\tcall;\n"
	"#elif defined NOPAL_PROVIDER_CHECKING\n"
	"#define NOPAL_PROVIDER_ARG(x) __builtin_choose_expr( \\\n"
	"\t__builtin_classify_type(x) < 6 || __builtin_classify_type(x) == 10 || \\\n"
	"\t__builtin_classify_type(x) == 14, (x), 0)\n"
	"#ifdef __clang__\n"
	"#define NOPAL_PROVIDER_LENIENT \\\n"
	"\t_Pragma(\"GCC diagnostic warning "
	"\\\"-Wincompatible-pointer-types-discards-qualifiers\\\"\") \\\n"
	"\t_Pragma(\"GCC diagnostic warning \\\"-Wincompatible-function-pointer-types\\\"\")\n"
	"#else\n"
	"#define NOPAL_PROVIDER_LENIENT \\\n"
	"\t_Pragma(\"GCC diagnostic warning \\\"-Wdiscarded-qualifiers\\\"\")\n"
	"#endif\n"
	"#define NOPAL_PROVIDER_CHECK(call) \\\n"
	"\t_Pragma(\"GCC diagnostic push\") \\\n"
	"\t_Pragma(\"GCC diagnostic ignored \\\"-Wpedantic\\\"\") \\\n"
	"\t_Pragma(\"GCC diagnostic ignored \\\"-Wconversion\\\"\") \\\n"
	"\t_Pragma(\"GCC diagnostic ignored \\\"-Wsign-conversion\\\"\") \\\n"
	"\t_Pragma(\"GCC diagnostic warning \\\"-Wint-conversion\\\"\") \\\n"
	"\t_Pragma(\"GCC diagnostic warning \\\"-Wincompatible-pointer-types\\\"\") \\\n"
	"\t_Pragma(\"GCC diagnostic warning \\\"-Wpointer-sign\\\"\") \\\n"
	"\tNOPAL_PROVIDER_LENIENT \\\n"
	"\tif (0) \\\n"
	"\t\tcall; \\\n"
	"\t_Pragma(\"GCC diagnostic pop\")\n"
	"#else\n"
	"#define NOPAL_PROVIDER_CHECK(call)\n"
	"#endif\n"
	"#endif\n";

void provider_header(struct provider_file *file, struct str name, bool is_checked, struct buf *out)
{
	struct buf guard = BUF_INIT;
	uint64_t hash = 0;

	/* NOPAL_PROVIDER_TICK_1f2e3d4c: the number distinguishes headers with the same name and
	 * different content, since a program may include several. */
	buf_text(&guard, "NOPAL_PROVIDER_");
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];
		bool lower = c >= 'a' && c <= 'z';

		buf_char(&guard, lower ? (char)(c - 'a' + 'A') : char_is_word(c) ? c : '_');
	}
	provider_each_probe(probe, file)
		hash = hash_str(hash, probe->macro);
	buf_printf(&guard, "_%08x", (uint32_t)hash);
	buf_text(out, "/* Generated by nopal provider from a provider file; edit that file "
		      "instead. */\n");
	buf_printf(out, "#ifndef %.*s\n#define %.*s\n\n", STR_FMT(buf_as_str(&guard)),
		   STR_FMT(buf_as_str(&guard)));
	out->failed |= guard.failed;
	buf_free(&guard);
	buf_text(out, common);
	buf_text(out, is_checked ? checked : "");
	buf_text(out, checking);
	buf_text(out, "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
	for (const struct provider_attributes *a = file->attributes; a; a = a->next) {
		buf_text(out, "/* attributes of ");
		add_comment_text(out, a->provider);
		buf_printf(out, ", %.*s: %.*s */\n", STR_FMT(a->what), STR_FMT(a->stability));
	}
	provider_each_probe(probe, file)
		if (!probe->repeated)
			add_probe(file, out, probe);
	buf_text(out, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}
