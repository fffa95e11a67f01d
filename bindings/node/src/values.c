/* Converting JavaScript values for a probe. First all elements are read from the array, which may
 * run JavaScript (a getter, a proxy). After that no JavaScript runs, so lengths and addresses do
 * not change. Texts are measured, then written one after the other into one buffer. */
#include "values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT (1u << 20) /* bytes of scratch that are kept between events */

/* One argument: what it is declared as, and what came. */
struct value {
	const struct nopal_probe *probe;
	unsigned index;
	enum nopal_type type;
	napi_value js;
	napi_valuetype kind;
	size_t text_size; /* bytes in the scratch, with a NUL; 0: none */
	char *text;	  /* there */
};

/* Integers of a type: min <= x < end, both exact as doubles. */
struct range {
	const char *name;
	double min, end;
	bool is_signed;
};

static const struct range ranges[] = {
	[NOPAL_INT8] = {"int8", -0x1p7, 0x1p7, true},
	[NOPAL_UINT8] = {"uint8", 0, 0x1p8, false},
	[NOPAL_INT16] = {"int16", -0x1p15, 0x1p15, true},
	[NOPAL_UINT16] = {"uint16", 0, 0x1p16, false},
	[NOPAL_INT32] = {"int32", -0x1p31, 0x1p31, true},
	[NOPAL_UINT32] = {"uint32", 0, 0x1p32, false},
	[NOPAL_INT64] = {"int64", -0x1p63, 0x1p63, true},
	[NOPAL_UINT64] = {"uint64", 0, 0x1p64, false},
	[NOPAL_BOOL] = {"bool", 0, 2, false},
	[NOPAL_POINTER] = {"pointer", 0, 0x1p64, false},
	[NOPAL_STRING] = {"string", 0, 0, false},
	[NOPAL_COUNTED] = {"buffer", 0, 0, false},
	[NOPAL_FLOAT] = {"float", 0, 0, false},
	[NOPAL_DOUBLE] = {"double", 0, 0, false},
};

void scratch_free(struct scratch *s)
{
	free(s->data);
	*s = (struct scratch){0};
}

void scratch_rest(struct scratch *s)
{
	if (s->capacity > KEPT)
		scratch_free(s);
}

static bool scratch_reserve(struct scratch *s, size_t size)
{
	size_t capacity = size < 4096 ? 4096 : size;
	char *data;

	if (size <= s->capacity)
		return true;
	data = realloc(s->data, capacity);
	if (!data)
		return false;
	*s = (struct scratch){data, capacity};
	return true;
}

/* ---- Errors ---- */

/* "probe 'request': argument 2 'status' (int32): what" */
static void describe(const struct value *v, const char *what, char *text, size_t size)
{
	const char *name = nopal_probe_arg_name(v->probe, v->index);

	snprintf(text, size, "probe '%s': argument %u%s%s%s (%s): %s", nopal_probe_name(v->probe),
		 v->index + 1, *name ? " '" : "", name, *name ? "'" : "", ranges[v->type].name,
		 what);
}

static bool wrong_type(napi_env env, const struct value *v)
{
	static const char *const kinds[] = {
		[napi_undefined] = "undefined",	 [napi_null] = "null",
		[napi_boolean] = "a boolean",	 [napi_number] = "a number",
		[napi_string] = "a string",	 [napi_symbol] = "a symbol",
		[napi_object] = "an object",	 [napi_function] = "a function",
		[napi_external] = "an external", [napi_bigint] = "a BigInt",
	};
	char what[64], text[2 * NOPAL_MAX_NAME + 160];

	snprintf(what, sizeof(what), "cannot be %s", kinds[v->kind]);
	describe(v, what, text, sizeof(text));
	napi_throw_type_error(env, "NOPAL_BAD_VALUE", text);
	return false;
}

static bool out_of_range(napi_env env, const struct value *v, const char *number)
{
	char what[96], text[2 * NOPAL_MAX_NAME + 160];

	snprintf(what, sizeof(what), "%s does not fit", number);
	describe(v, what, text, sizeof(text));
	napi_throw_range_error(env, "NOPAL_BAD_VALUE", text);
	return false;
}

/* ---- Numbers ---- */

static bool integer_of_number(napi_env env, const struct value *v, uint64_t *word)
{
	const struct range *range = &ranges[v->type];
	char text[32];
	double d = 0;

	napi_get_value_double(env, v->js, &d);
	d = trunc(d);
	if (!(d >= range->min && d < range->end)) {
		snprintf(text, sizeof(text), "%.17g", d);
		return out_of_range(env, v, isnan(d) ? "NaN" : isinf(d) ? "Infinity" : text);
	}
	*word = d < 0 ? (uint64_t)(int64_t)d : (uint64_t)d;
	return true;
}

static bool integer_of_bigint(napi_env env, const struct value *v, uint64_t *word)
{
	const struct range *range = &ranges[v->type];
	bool lossless = false;
	int64_t i = 0;
	uint64_t u = 0;

	if (range->is_signed) {
		napi_get_value_bigint_int64(env, v->js, &i, &lossless);
		u = (uint64_t)i;
		lossless &= range->end == 0x1p63 ||
			    (i >= (int64_t)range->min && i < (int64_t)range->end);
	} else {
		napi_get_value_bigint_uint64(env, v->js, &u, &lossless);
		lossless &= range->end == 0x1p64 || u < (uint64_t)range->end;
	}
	*word = u;
	return lossless || out_of_range(env, v, "this BigInt");
}

static bool integer_of(napi_env env, const struct value *v, uint64_t *word)
{
	bool yes = false;

	switch (v->kind) {
	case napi_number: return integer_of_number(env, v, word);
	case napi_bigint: return integer_of_bigint(env, v, word);
	case napi_boolean: napi_get_value_bool(env, v->js, &yes); break;
	default: return wrong_type(env, v);
	}
	*word = yes;
	return true;
}

/* What JavaScript takes for true. */
static bool bool_of(napi_env env, const struct value *v, uint64_t *word)
{
	napi_value coerced;
	bool yes = false;

	if (napi_coerce_to_bool(env, v->js, &coerced) == napi_ok)
		napi_get_value_bool(env, coerced, &yes);
	*word = yes;
	return true;
}

static bool float_of(napi_env env, const struct value *v, uint64_t *word)
{
	double d = 0;

	if (v->kind != napi_number)
		return wrong_type(env, v);
	napi_get_value_double(env, v->js, &d);
	*word = v->type == NOPAL_FLOAT ? nopal_bits_of_float((float)d) : nopal_bits_of_double(d);
	return true;
}

/* ---- Texts and bytes ---- */

/* The bytes of a Buffer, another typed array or a DataView. They stay where they are. */
static bool bytes_of(napi_env env, const struct value *v, const void **data, size_t *size)
{
	bool is_view = false;
	void *found = NULL;

	if (v->kind != napi_object || napi_is_buffer(env, v->js, &is_view) != napi_ok || !is_view ||
	    napi_get_buffer_info(env, v->js, &found, size) != napi_ok)
		return false;
	*data = found ? found : "";
	return true;
}

static bool pointer_of(napi_env env, const struct value *v, uint64_t *word)
{
	const void *data;
	size_t size;

	if (!bytes_of(env, v, &data, &size))
		return integer_of(env, v, word);
	*word = (uintptr_t)data;
	return true;
}

/* Bytes that are not text are copied only if a NUL must follow them. */
static void measure(napi_env env, struct value *v)
{
	const void *data;
	size_t size = 0;

	if (v->type != NOPAL_STRING && v->type != NOPAL_COUNTED)
		return;
	if (v->kind == napi_string &&
	    napi_get_value_string_utf8(env, v->js, NULL, 0, &size) == napi_ok)
		v->text_size = size + 1;
	else if (v->type == NOPAL_STRING && bytes_of(env, v, &data, &size))
		v->text_size = size + 1;
}

static bool string_of(napi_env env, const struct value *v, uint64_t *word)
{
	const void *data;
	size_t size;

	if (!v->text_size)
		return wrong_type(env, v);
	if (v->kind == napi_string) {
		napi_get_value_string_utf8(env, v->js, v->text, v->text_size, &size);
	} else if (bytes_of(env, v, &data, &size)) {
		memcpy(v->text, data, size);
		v->text[size] = '\0';
	}
	*word = (uintptr_t)v->text;
	return true;
}

static bool counted_of(napi_env env, const struct value *v, uint64_t words[2])
{
	const void *data;
	size_t size;

	if (v->kind == napi_string) {
		words[1] = v->text_size - 1;
		return string_of(env, v, words);
	}
	if (!bytes_of(env, v, &data, &size))
		return wrong_type(env, v);
	words[0] = (uintptr_t)data;
	words[1] = size;
	return true;
}

/* ---- All of them ---- */

static bool word_of(napi_env env, const struct value *v, uint64_t *words)
{
	if (v->kind == napi_undefined || v->kind == napi_null)
		return true; /* 0, NULL */
	switch (v->type) {
	case NOPAL_BOOL: return bool_of(env, v, words);
	case NOPAL_POINTER: return pointer_of(env, v, words);
	case NOPAL_STRING: return string_of(env, v, words);
	case NOPAL_COUNTED: return counted_of(env, v, words);
	case NOPAL_FLOAT:
	case NOPAL_DOUBLE: return float_of(env, v, words);
	default: return integer_of(env, v, words);
	}
}

static unsigned take(napi_env env, const struct nopal_probe *p, napi_value array,
		     struct value values[NOPAL_MAX_VALUES])
{
	unsigned wanted = nopal_probe_arg_count(p);
	uint32_t count = 0;

	napi_get_array_length(env, array, &count);
	if (count > wanted)
		count = wanted;
	for (unsigned i = 0; i < count; i++) {
		values[i] = (struct value){p, i,   nopal_probe_arg_type(p, i), NULL, napi_undefined,
					   0, NULL};
		if (napi_get_element(env, array, i, &values[i].js) != napi_ok)
			return 0;
		napi_typeof(env, values[i].js, &values[i].kind);
	}
	return count;
}

static bool place_texts(napi_env env, struct scratch *s, struct value *values, unsigned count)
{
	size_t size = 0;

	for (unsigned i = 0; i < count; i++) {
		measure(env, &values[i]);
		size += values[i].text_size;
	}
	if (!scratch_reserve(s, size)) {
		napi_throw_error(env, "NOPAL_NO_MEMORY", "out of memory for the values of a probe");
		return false;
	}
	size = 0;
	for (unsigned i = 0; i < count; i++) {
		values[i].text = s->data + size;
		size += values[i].text_size;
	}
	return true;
}

bool values_to_words(napi_env env, struct scratch *s, const struct nopal_probe *p, napi_value array,
		     uint64_t words[NOPAL_MAX_VALUES])
{
	struct value values[NOPAL_MAX_VALUES];
	unsigned count = take(env, p, array, values);
	bool failed = false;

	memset(words, 0, NOPAL_MAX_VALUES * sizeof(*words));
	if (napi_is_exception_pending(env, &failed) != napi_ok || failed)
		return false;
	if (!place_texts(env, s, values, count))
		return false;
	for (unsigned i = 0, at = 0; i < count; i++) {
		if (!word_of(env, &values[i], &words[at]))
			return false;
		at += values[i].type == NOPAL_COUNTED ? 2 : 1;
	}
	return true;
}
