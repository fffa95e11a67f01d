/* A script from inside: what the files of this module share. The tree says what was written, the
 * symbols what the names stand for, the attachments where clauses run, and the lists what has been
 * interned for programs so far. Everything lives in the script's arena. */
#ifndef NOPAL_SCRIPT_INSIDE_H
#define NOPAL_SCRIPT_INSIDE_H

#include "program/record.h"
#include "script/check/check.h"
#include "script/check/ctypes.h"
#include "script/check/map.h"
#include "script/check/named.h"
#include "script/check/spelled_value.h"
#include "script/check/value_type.h"
#include "script/lower/emit.h"
#include "script/lower/kept.h"
#include "script/lower/loop.h"
#include "script/lower/lower.h"
#include "script/lower/map_defs.h"
#include "script/lower/named_code.h"
#include "script/lower/places.h"
#include "script/parse/builtin.h"
#include "script/parse/counters.h"
#include "script/parse/script_state.h"
#include "script/parse/tree.h"
#include "script/resolve/header_types.h"
#include "script/resolve/resolve.h"
#include "script/resolve/probe_search.h"
#include "script/script.h"

/* bytes.c: is it an array in memory, and of how many bytes? */
bool check_is_array(struct check *c, const struct expr *e, uint64_t *bytes);
/* buf() of an array's or text's value; false: it is neither. */
bool check_value_bytes(struct check *c, struct expr *e);

/* str(text, n), where the text is none that is in the script. */
void check_shortened(struct check *c, struct expr *e);

/* compile.c: the code of all attachments that no program has yet */
int compile_program(struct script *s, struct program **out, struct diag *d);
/* The bytes of a value: buf(), str(text, n). */
void lower_value_bytes(struct lower *l, const struct expr *e, uint16_t out);
void lower_shortened(struct lower *l, const struct expr *e, uint16_t out);

/* ---- Builtins ---- */

/* Each is one row, which contains everything about it. The rows are in the files that check and
 * lower them (values.c, texts.c, maps.c, output.c, printf.c); builtins.c finds them. */

/* Types of results. */
/* clang-format off */
#define NO_RESULT   {.kind = TYPE_NONE}
#define RESULT_U64  {.kind = TYPE_INT, .size = 8}
#define RESULT_BOOL {.kind = TYPE_INT, .size = 1, .show = SHOW_BOOL}
#define RESULT_S64  {.kind = TYPE_INT, .size = 8, .is_signed = true}
#define RESULT_NAME {.kind = TYPE_NAME}
/* clang-format on */

/* Tables of rows; the name of the last row is NULL. */
extern const struct builtins script_builtins;

extern const struct function value_rows[], text_rows[], network_rows[], search_rows[], map_rows[],
	output_rows[], printf_rows[], constant_rows[], option_rows[], standard_rows[],
	unsafe_rows[], series_rows[], address_rows[], normalize_rows[], typeinfo_rows[],
	path_rows[];
/* Definitions of builtins that are macros; the name of the last is NULL. */
extern const struct builtin_macro standard_macros[];

#endif
