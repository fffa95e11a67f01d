/* Python objects as values of a probe: types, ranges, texts. */
#include "binding.h"

#include <math.h>

#define MIN_SIGNED(bits)   (-(long long)((1ull << ((bits)-1)) - 1) - 1)
#define MAX_SIGNED(bits)   ((1ull << ((bits)-1)) - 1)
#define MAX_UNSIGNED(bits) (~0ull >> (64 - (bits)))

typedef int convert_fn(enum nopal_type, bool loose, PyObject *, struct nopal_value *, PyObject **);

static convert_fn convert_integer, convert_bool, convert_text, convert_float, convert_double;

static const struct type_row {
	const char *name;
	convert_fn *convert;
	long long min;
	unsigned long long max;
} types[] = {
	[NOPAL_INT8] = {"int8", convert_integer, MIN_SIGNED(8), MAX_SIGNED(8)},
	[NOPAL_UINT8] = {"uint8", convert_integer, 0, MAX_UNSIGNED(8)},
	[NOPAL_INT16] = {"int16", convert_integer, MIN_SIGNED(16), MAX_SIGNED(16)},
	[NOPAL_UINT16] = {"uint16", convert_integer, 0, MAX_UNSIGNED(16)},
	[NOPAL_INT32] = {"int32", convert_integer, MIN_SIGNED(32), MAX_SIGNED(32)},
	[NOPAL_UINT32] = {"uint32", convert_integer, 0, MAX_UNSIGNED(32)},
	[NOPAL_INT64] = {"int64", convert_integer, MIN_SIGNED(64), MAX_SIGNED(64)},
	[NOPAL_UINT64] = {"uint64", convert_integer, 0, MAX_UNSIGNED(64)},
	[NOPAL_BOOL] = {"bool", convert_bool, 0, 1},
	[NOPAL_POINTER] = {"pointer", convert_integer, 0, MAX_UNSIGNED(64)},
	[NOPAL_STRING] = {"string", convert_text, 0, 0},
	[NOPAL_COUNTED] = {"counted", convert_text, 0, 0},
	[NOPAL_FLOAT] = {"float32", convert_float, 0, 0},
	[NOPAL_DOUBLE] = {"float64", convert_double, 0, 0},
};

const char *type_name(enum nopal_type type)
{
	return types[type].name;
}

enum nopal_type type_of(PyObject *object)
{
	static const struct {
		PyTypeObject *python;
		enum nopal_type type;
	} classes[] = {
		{&PyLong_Type, NOPAL_INT64},	{&PyUnicode_Type, NOPAL_STRING},
		{&PyBytes_Type, NOPAL_COUNTED}, {&PyFloat_Type, NOPAL_DOUBLE},
		{&PyBool_Type, NOPAL_BOOL},
	};
	long number;

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (object == (PyObject *)classes[i].python)
			return classes[i].type;
	if (!PyLong_Check(object) || PyBool_Check(object)) {
		PyErr_Format(PyExc_TypeError,
			     "an argument's type is int, str, bytes, float, bool or a nopal.Type, "
			     "not %R",
			     object);
		return 0;
	}
	number = PyLong_AsLong(object);
	if (number == -1 && PyErr_Occurred())
		return 0;
	if (number < NOPAL_INT8 || number > NOPAL_DOUBLE) {
		PyErr_Format(PyExc_ValueError, "%ld is not an argument type", number);
		return 0;
	}
	return (enum nopal_type)number;
}

/* ---- Texts ---- */

/* UTF-8. What came from undecodable bytes becomes these bytes again; other lone surrogates, which
 * have no UTF-8, are written as \udXXX. */
static PyObject *utf8_of(PyObject *text)
{
	static const char *const errors[] = {"surrogateescape", "backslashreplace"};
	PyObject *bytes = PyUnicode_AsUTF8String(text);

	for (size_t i = 0; !bytes && i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
			return NULL;
		PyErr_Clear();
		bytes = PyUnicode_AsEncodedString(text, "utf-8", errors[i]);
	}
	return bytes;
}

/* The address (and length) of str, bytes or bytearray; None is NULL. A bytearray is copied: it may
 * move while its provider waits for nothing, but other threads may run. */
static int convert_text(enum nopal_type type, bool loose, PyObject *object, struct nopal_value *out,
			PyObject **keep)
{
	char *start = NULL;
	Py_ssize_t len = 0;

	(void)loose;
	if (PyUnicode_Check(object)) {
		*keep = utf8_of(object);
	} else if (PyBytes_Check(object)) {
		Py_INCREF(object);
		*keep = object;
	} else if (PyByteArray_Check(object)) {
		*keep = PyBytes_FromObject(object);
	} else if (object != Py_None) {
		PyErr_Format(PyExc_TypeError,
			     "a %s argument is str, bytes, bytearray or None, not %R",
			     type_name(type), (PyObject *)Py_TYPE(object));
		return -1;
	}
	if (object != Py_None && (!*keep || PyBytes_AsStringAndSize(*keep, &start, &len)))
		return -1;
	out[0] = (struct nopal_value){(uint64_t)(uintptr_t)start, NOPAL_FROM_UNSIGNED};
	if (type == NOPAL_COUNTED)
		out[1] = (struct nopal_value){(uint64_t)len, NOPAL_FROM_UNSIGNED};
	return 0;
}

/* ---- Numbers ---- */

static int out_of_range(enum nopal_type type, PyObject *number)
{
	PyErr_Format(PyExc_OverflowError, "%R is out of the range of %s", number, type_name(type));
	return -1;
}

/* An integer with its sign, which must be in the type's range. */
static int integer_in_range(enum nopal_type type, PyObject *number, struct nopal_value *out)
{
	const struct type_row *row = &types[type];
	int overflow;
	long long value = PyLong_AsLongLongAndOverflow(number, &overflow);

	if (value == -1 && !overflow && PyErr_Occurred())
		return -1;
	if (!overflow) {
		if (value < row->min || (value > 0 && (unsigned long long)value > row->max))
			return out_of_range(type, number);
		*out = (struct nopal_value){(uint64_t)value, NOPAL_FROM_SIGNED};
		return 0;
	}
	if (overflow < 0 || row->max != MAX_UNSIGNED(64))
		return out_of_range(type, number);
	out->bits = PyLong_AsUnsignedLongLong(number);
	out->kind = NOPAL_FROM_UNSIGNED;
	if (!PyErr_Occurred())
		return 0;
	PyErr_Clear();
	return out_of_range(type, number);
}

static int integer_cut(PyObject *number, struct nopal_value *out)
{
	out->bits = PyLong_AsUnsignedLongLongMask(number);
	out->kind = NOPAL_FROM_UNSIGNED;
	return out->bits == (uint64_t)-1 && PyErr_Occurred() ? -1 : 0;
}

/* int, what has __index__; loosely also texts, which C would pass as addresses, and None. */
static int convert_integer(enum nopal_type type, bool loose, PyObject *object,
			   struct nopal_value *out, PyObject **keep)
{
	PyObject *number;
	int status;

	if (PyLong_Check(object))
		return loose ? integer_cut(object, out) : integer_in_range(type, object, out);
	if (loose && types[type].max >= MAX_SIGNED(64) &&
	    (PyUnicode_Check(object) || PyBytes_Check(object) || object == Py_None))
		return convert_text(NOPAL_STRING, loose, object, out, keep);
	number = PyNumber_Index(object);
	if (!number)
		return -1;
	status = loose ? integer_cut(number, out) : integer_in_range(type, number, out);
	Py_DECREF(number);
	return status;
}

static int convert_bool(enum nopal_type type, bool loose, PyObject *object, struct nopal_value *out,
			PyObject **keep)
{
	int truth = PyObject_IsTrue(object);

	(void)type, (void)loose, (void)keep;
	*out = (struct nopal_value){truth > 0, NOPAL_FROM_UNSIGNED};
	return truth < 0 ? -1 : 0;
}

static int convert_double(enum nopal_type type, bool loose, PyObject *object,
			  struct nopal_value *out, PyObject **keep)
{
	double value = PyFloat_AsDouble(object);

	(void)type, (void)loose, (void)keep;
	*out = (struct nopal_value){nopal_bits_of_double(value), NOPAL_FROM_DOUBLE};
	return value == -1 && PyErr_Occurred() ? -1 : 0;
}

/* Rounded to the nearest; a number that only an infinity would be near to is out of range. */
static int convert_float(enum nopal_type type, bool loose, PyObject *object,
			 struct nopal_value *out, PyObject **keep)
{
	double value = PyFloat_AsDouble(object);

	(void)keep;
	if (value == -1 && PyErr_Occurred())
		return -1;
	if (!loose && isfinite(value) && isinf((float)value))
		return out_of_range(type, object);
	*out = (struct nopal_value){nopal_bits_of_double(value), NOPAL_FROM_DOUBLE};
	return 0;
}

int convert(enum nopal_type type, bool loose, PyObject *object, struct nopal_value *out,
	    PyObject **keep)
{
	return types[type].convert(type, loose, object, out, keep);
}
