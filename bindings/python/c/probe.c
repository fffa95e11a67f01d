/* nopal.Probe: a probe that is called to fire it.
 *
 * Most probes are not traced most of the time, so the check must be cheap: `if probe:` is one call
 * of a C function, `probe.enabled` is an attribute that is found by its address, and a call of a
 * probe that is not traced checks the number of arguments and returns. */
#include "binding.h"

static PyObject *wrong_count(struct probe *self, size_t count)
{
	return PyErr_Format(PyExc_TypeError, "%s() takes %u argument%s (%zu given)",
			    nopal_probe_name(self->handle), self->arg_count,
			    self->arg_count == 1 ? "" : "s", count);
}

/* Convert and fire. What was made of the arguments lives until the tracers have seen it. */
static int fire(struct probe *self, PyObject *const *args, size_t count)
{
	struct nopal_value values[NOPAL_MAX_VALUES];
	PyObject *keep[NOPAL_MAX_VALUES] = {NULL};
	unsigned n = 0;
	int status = 0;

	for (size_t i = 0; i < count && i < self->arg_count && !status; i++) {
		status = convert(self->types[i], self->policy == POLICY_LOOSE, args[i], &values[n],
				 &keep[i]);
		n += self->types[i] == NOPAL_COUNTED ? 2 : 1;
	}
	if (!status)
		nopal_probe_fire_values(self->handle, values, n);
	for (size_t i = 0; i < NOPAL_MAX_VALUES; i++)
		Py_XDECREF(keep[i]);
	return status;
}

/* The slow half of a call: the probe is traced, or all values must be checked. */
static PyObject *fire_with_policy(struct probe *self, PyObject *const *args, size_t count)
{
	bool enabled = nopal_probe_enabled(self->handle);

	if (!fire(self, args, count))
		return PyBool_FromLong(enabled);
	if (self->policy != POLICY_REPORT)
		return NULL;
	PyErr_WriteUnraisable((PyObject *)self);
	Py_RETURN_FALSE;
}

static PyObject *probe_vectorcall(PyObject *object, PyObject *const *args, size_t flags,
				  PyObject *keywords)
{
	struct probe *self = (struct probe *)object;
	size_t count = flags & ~ARGUMENTS_OFFSET;

	if (__builtin_expect(count != self->arg_count, 0) && self->policy != POLICY_LOOSE)
		return wrong_count(self, count);
	if (__builtin_expect(keywords != NULL, 0))
		return PyErr_Format(PyExc_TypeError, "%s() takes no keyword arguments",
				    nopal_probe_name(self->handle));
	if (__builtin_expect(!nopal_probe_enabled(self->handle) && self->policy != POLICY_STRICT,
			     1))
		Py_RETURN_FALSE;
	return fire_with_policy(self, args, count);
}

PyObject *call_with_tuple(call_fn *call, PyObject *self, PyObject *args, PyObject *keywords)
{
	PyObject *items[NOPAL_MAX_VALUES];
	Py_ssize_t count = PyTuple_Size(args);
	bool named = keywords && PyDict_Size(keywords) > 0;

	for (Py_ssize_t i = 0; i < count && i < NOPAL_MAX_VALUES; i++)
		items[i] = PyTuple_GetItem(args, i);
	return call(self, items, (size_t)count, named ? keywords : NULL);
}

/* The same with a tuple: p(*args) and fire(). */
static PyObject *probe_call(PyObject *self, PyObject *args, PyObject *keywords)
{
	return call_with_tuple(probe_vectorcall, self, args, keywords);
}

static PyObject *probe_fire(PyObject *self, PyObject *args)
{
	return probe_call(self, args, NULL);
}

static int probe_bool(PyObject *self)
{
	return nopal_probe_enabled(((struct probe *)self)->handle);
}

static PyObject *get_enabled(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(nopal_probe_enabled(((struct probe *)self)->handle));
}

static PyObject *probe_getattr(PyObject *object, PyObject *name)
{
	struct probe *self = (struct probe *)object;
	PyObject *result;

	if (__builtin_expect(name != self->enabled_text, 0))
		return PyObject_GenericGetAttr(object, name);
	result = nopal_probe_enabled(self->handle) ? Py_True : Py_False;
	Py_INCREF(result);
	return result;
}

static PyObject *get_name(PyObject *self, void *unused)
{
	(void)unused;
	return PyUnicode_FromString(nopal_probe_name(((struct probe *)self)->handle));
}

static PyObject *get_provider(PyObject *self, void *unused)
{
	PyObject *provider = (PyObject *)((struct probe *)self)->provider;

	(void)unused;
	Py_INCREF(provider);
	return provider;
}

static PyObject *get_fd(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromLong(nopal_probe_fd(((struct probe *)self)->handle));
}

/* ((name, number of the type), ...) */
static PyObject *get_args(PyObject *object, void *unused)
{
	struct probe *self = (struct probe *)object;
	PyObject *result = PyTuple_New(self->arg_count);

	(void)unused;
	for (unsigned i = 0; result && i < self->arg_count; i++) {
		PyObject *pair = Py_BuildValue("(si)", nopal_probe_arg_name(self->handle, i),
					       (int)self->types[i]);

		if (!pair || PyTuple_SetItem(result, i, pair))
			Py_CLEAR(result);
	}
	return result;
}

static PyObject *probe_repr(PyObject *object)
{
	struct probe *self = (struct probe *)object;
	const struct nopal_provider *provider = nopal_probe_provider(self->handle);
	PyObject *list = PyList_New(0), *comma = PyUnicode_FromString(", ");
	PyObject *joined = NULL, *result = NULL;

	for (unsigned i = 0; list && comma && i < self->arg_count; i++) {
		const char *name = nopal_probe_arg_name(self->handle, i);
		PyObject *text = PyUnicode_FromFormat("%s%s%s", name, *name ? ": " : "",
						      type_name(self->types[i]));

		if (!text || PyList_Append(list, text))
			Py_CLEAR(list);
		Py_XDECREF(text);
	}
	if (list && comma)
		joined = PyUnicode_Join(comma, list);
	if (joined)
		result = PyUnicode_FromFormat("<nopal.Probe %s:%s(%U)>",
					      nopal_provider_name(provider),
					      nopal_probe_name(self->handle), joined);
	Py_XDECREF(joined);
	Py_XDECREF(comma);
	Py_XDECREF(list);
	return result;
}

/* A provider of a class derived from ours may have its probes as attributes: a circle. It is broken
 * there, in the dictionary of the provider, so nothing must be cleared here. */
static int probe_traverse(PyObject *object, visitproc visit, void *arg)
{
	Py_VISIT((PyObject *)((struct probe *)object)->provider);
	Py_VISIT((PyObject *)Py_TYPE(object));
	return 0;
}

static void probe_dealloc(PyObject *object)
{
	struct probe *self = (struct probe *)object;
	PyTypeObject *type = Py_TYPE(object);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	PyObject_GC_UnTrack(object);
	Py_XDECREF((PyObject *)self->provider);
	release(object);
	Py_DECREF((PyObject *)type);
}

static PyObject *no_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	(void)type, (void)args, (void)keywords;
	PyErr_SetString(PyExc_TypeError, "probes are made by Provider.probe()");
	return NULL;
}

/* By what frees it: each interpreter has a type of its own. */
bool is_probe(PyObject *object)
{
	PyTypeObject *type = Py_TYPE(object);

	return PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE &&
	       PyType_GetSlot(type, Py_tp_dealloc) == (void *)probe_dealloc;
}

struct probe *probe_new(struct provider *provider, const struct nopal_probe *handle)
{
	PyTypeObject *type = provider->state->probe_type;
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	struct probe *self = (struct probe *)allocate(type, 0);

	if (!self)
		return NULL;
	self->call = probe_vectorcall;
	self->handle = handle;
	self->provider = provider;
	Py_INCREF((PyObject *)provider);
	self->enabled_text = provider->state->enabled_text;
	self->policy = (uint8_t)provider->policy;
	self->arg_count = (uint8_t)nopal_probe_arg_count(handle);
	for (unsigned i = 0; i < self->arg_count; i++)
		self->types[i] = (uint8_t)nopal_probe_arg_type(handle, i);
	return self;
}

static PyMethodDef methods[] = {
	{"fire", probe_fire, METH_VARARGS,
	 "fire($self, /, *values)\n--\n\nThe same as calling the probe."},
	{NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
	{"enabled", get_enabled, NULL, "Whether the probe is being traced now.", NULL},
	{"name", get_name, NULL, "The probe's name.", NULL},
	{"provider", get_provider, NULL, "The provider that has the probe.", NULL},
	{"fd", get_fd, NULL, "The descriptor of the loaded image, -1 while there is none.", NULL},
	{"args", get_args, NULL, "A pair (name, type) for each argument.", NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef members[] = {
	{"__vectorcalloffset__", T_PYSSIZET, offsetof(struct probe, call), READONLY, NULL},
	{NULL, 0, 0, 0, NULL},
};

static const char doc[] = "A probe. Call it to fire it: probe(value, ...) returns True if it was "
			  "traced.\n\nbool(probe) and probe.enabled are true while it is traced.";

static PyType_Slot slots[] = {
	{Py_tp_doc, (void *)doc},	{Py_tp_new, no_new},	  {Py_tp_traverse, probe_traverse},
	{Py_tp_dealloc, probe_dealloc}, {Py_tp_call, probe_call}, {Py_tp_getattro, probe_getattr},
	{Py_tp_repr, probe_repr},	{Py_nb_bool, probe_bool}, {Py_tp_methods, methods},
	{Py_tp_getset, attributes},	{Py_tp_members, members}, {0, NULL},
};

PyType_Spec probe_spec = {
	.name = "nopal.Probe",
	.basicsize = sizeof(struct probe),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_HAVE_GC,
	.slots = slots,
};
