/* The table of all builtins: each file of this folder has the rows of some. */
#include "script/builtins/function.h"

static const struct function *const tables[] = {
	value_rows,   text_rows,      network_rows,  search_rows,   output_rows, printf_rows,
	map_rows,     constant_rows,  option_rows,   standard_rows, unsafe_rows, series_rows,
	address_rows, normalize_rows, typeinfo_rows, path_rows,	    NULL,
};

const struct builtins script_builtins = {.tables = tables, .macros = standard_macros};
