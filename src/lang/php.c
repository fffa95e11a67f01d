/* Names of PHP's frames: struct zend_function (Zend/zend_compile.h). The position is the line. */
#include "lang/runtime_row.h"

#include <errno.h>

enum { INTERNAL = 1, USER = 2, EVAL = 4 }; /* types of functions */

#define NAME_AT	    8
#define SCOPE_AT    16
#define CLASS_NAME  8
#define TEXT_LENGTH 16 /* of a zend_string */
#define TEXT_AT	    24

static bool read_zend(const struct lang_memory *m, uint64_t at, struct buf *out)
{
	uint64_t len;

	return at && read_word(m, at + TEXT_LENGTH, &len) && len <= INT64_MAX &&
	       read_text(m, at + TEXT_AT, len, out);
}

static int php_name(const struct lang_runtime *r, const struct lang_memory *m,
		    struct lang_frame frame, struct lang_name *out)
{
	uint64_t name, scope, of_class, file;
	unsigned char type;

	if (!read_bytes(m, frame.object, &type, 1) ||
	    !read_word(m, frame.object + NAME_AT, &name) ||
	    !read_word(m, frame.object + SCOPE_AT, &scope))
		return -EFAULT;
	if (type != INTERNAL && type != USER && type != EVAL)
		return -EFAULT;
	if (name && scope && read_word(m, scope + CLASS_NAME, &of_class) &&
	    read_zend(m, of_class, &out->function))
		buf_text(&out->function, "::");
	if (!name)
		buf_text(&out->function, "{main}"); /* of a file: the first, or an included one */
	else if (!read_zend(m, name, &out->function))
		return -EFAULT;
	if (type == INTERNAL)
		return 0;
	if (!read_word(m, frame.object + r->layout->php.filename, &file) ||
	    !read_zend(m, file, &out->file))
		return -EFAULT;
	out->line = frame.position;
	return 0;
}

/* ---- the row */

/* Symbols that are looked for. */
enum { GLOBALS, GLOBALS_ZTS };

static bool look_php(struct recognition *l)
{
	if (!l->has[GLOBALS] && !l->has[GLOBALS_ZTS])
		return false;
	l->out->has_version = recognition_version_after(l, "X-Powered-By: PHP/");
	l->out->root = l->at[GLOBALS];
	return recognition_layout(l, l->has[GLOBALS] ? NULL : "it is built for threads (ZTS)");
}

static void plan_php(struct target_writer *p, const struct lang_layout *l)
{
	target_copy(p, 0, 184);
	target_follow(p, 2, 0, 8, TEXT_BYTES);
	target_follow(p, 2, 0, 16, 16); /* the class */
	target_follow(p, 2, 2, 8, TEXT_BYTES);
	target_follow(p, 2, 0, l->php.filename, PATH_BYTES);
}

const struct runtime_row php_row = {
	.name = "php",
	.files = {"libphp", "php"},
	.symbols = {[GLOBALS] = "executor_globals", [GLOBALS_ZTS] = "executor_globals_id"},
	.look = look_php,
	.name_frame = php_name,
	.plan = plan_php,
};
