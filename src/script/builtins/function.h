/* Builtins of the language. Each is one row, which contains everything about it; the rows are in
 * the files that check and lower them. With it comes what the check of a row asks. */
#ifndef NOPAL_SCRIPT_FUNCTION_H
#define NOPAL_SCRIPT_FUNCTION_H

#include "script/check/check.h"
#include "script/check/value_type.h"
#include "script/parse/builtin.h"

/* Types of results. */
/* clang-format off */
#define NO_RESULT   {.kind = TYPE_NONE}
#define RESULT_U64  {.kind = TYPE_INT, .size = 8}
#define RESULT_BOOL {.kind = TYPE_INT, .size = 1, .show = SHOW_BOOL}
#define RESULT_S64  {.kind = TYPE_INT, .size = 8, .is_signed = true}
#define RESULT_NAME {.kind = TYPE_NAME}
/* clang-format on */

/* All of them: what a script is made with. */
extern const struct builtins script_builtins;

/* Tables of rows; the name of the last row is NULL. */
extern const struct function value_rows[], text_rows[], network_rows[], search_rows[], map_rows[],
	output_rows[], printf_rows[], constant_rows[], option_rows[], standard_rows[],
	unsafe_rows[], series_rows[], address_rows[], normalize_rows[], typeinfo_rows[],
	path_rows[];
/* Definitions of builtins that are macros; the name of the last is NULL. */
extern const struct builtin_macro standard_macros[];

#endif
