/* The extension module nopal._nopal: what its files share.
 *
 * Only Python's limited API of 3.9 is used, so one build runs on every version from 3.9 on. There
 * are no globals but constants: types live in the state of the module, one for each interpreter. */
#ifndef NOPAL_PYTHON_BINDING_H
#define NOPAL_PYTHON_BINDING_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <nopal/runtime.h>

/* Part of the stable ABI since 3.12; 3.9 to 3.11 have the same bit and the same layout. */
#ifndef Py_TPFLAGS_HAVE_VECTORCALL
#define Py_TPFLAGS_HAVE_VECTORCALL (1UL << 11)
#endif
#define ARGUMENTS_OFFSET ((size_t)1 << (8 * sizeof(size_t) - 1))

typedef PyObject *call_fn(PyObject *, PyObject *const *, size_t, PyObject *);

struct module_state {
	PyTypeObject *provider_type;
	PyTypeObject *probe_type;
	PyTypeObject *span_type;
	PyTypeObject *running_type;
	PyObject *idle;		/* what spans return while they are not traced */
	PyObject *enabled_text; /* "enabled", interned: attributes are compared by address */
};

/* How values that do not fit their argument are dealt with. */
enum policy {
	POLICY_REPORT, /* not fired, and reported to sys.unraisablehook: a tracer changes nothing */
	POLICY_STRICT, /* an exception, traced or not */
	POLICY_LOOSE,  /* integers are cut; texts are addresses for 64-bit integers: stapsdt */
};

struct provider {
	PyObject_HEAD struct nopal_provider *handle;
	PyObject *module; /* holds `state` */
	struct module_state *state;
	enum policy policy;
	bool open; /* between load and unload: probes that are added are loaded at once */
};

struct probe {
	PyObject_HEAD PyObject *(*call)(PyObject *, PyObject *const *, size_t,
					PyObject *); /* vectorcall */
	const struct nopal_probe *handle;
	struct provider *provider; /* keeps the handle valid */
	PyObject *enabled_text;	   /* borrowed from the module */
	uint8_t policy;		   /* enum policy */
	uint8_t arg_count;
	uint8_t types[NOPAL_MAX_VALUES]; /* enum nopal_type */
};

/* Set the exception that fits a nopal_error. */
void raise_error(const struct nopal_error *e);

/* Values as an argument of the type, and the object that must live until they are fired. A counted
 * string is two values. -1 and an exception when it does not fit. */
int convert(enum nopal_type type, bool loose, PyObject *object, struct nopal_value *out,
	    PyObject **keep);
/* The name of a type, as in nopal.Type. */
const char *type_name(enum nopal_type type);
/* The type that an object denotes: nopal.Type, its number, or int, str, bytes, float, bool; 0
 * and an exception when none. */
enum nopal_type type_of(PyObject *object);

struct probe *probe_new(struct provider *provider, const struct nopal_probe *handle);

bool is_probe(PyObject *object);
/* Call with the items of a tuple; of too many the count is right. */
PyObject *call_with_tuple(call_fn *call, PyObject *self, PyObject *args, PyObject *keywords);
/* What a span returns while it is not traced. */
PyObject *idle_new(PyTypeObject *running_type);

extern PyType_Spec provider_spec, probe_spec, span_spec, running_spec;

#endif
