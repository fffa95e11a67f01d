/* nopal.Provider: a named set of probes, loaded and unloaded as one. */
#include "binding.h"

#include <string.h>

static struct provider *provider_of(PyObject *object)
{
	return (struct provider *)object;
}

/* ---- Making ---- */

static struct module_state *find_state(PyObject **module)
{
	*module = PyImport_ImportModule("nopal._nopal");
	return *module ? PyModule_GetState(*module) : NULL;
}

/* Development mode (python -X dev) is for finding mistakes: values are checked traced or not. */
static int is_development(void)
{
	PyObject *flags = PySys_GetObject("flags");
	PyObject *mode = flags ? PyObject_GetAttrString(flags, "dev_mode") : NULL;
	int result;

	if (!mode) {
		PyErr_Clear();
		return 0;
	}
	result = PyObject_IsTrue(mode);
	Py_DECREF(mode);
	return result;
}

/* `strict` and `loose` as they were given; -1 and an exception when they make no sense. */
static int policy_from(PyObject *strict, int loose)
{
	int truth = strict == Py_None ? is_development() : PyObject_IsTrue(strict);

	if (truth < 0)
		return -1;
	return loose ? POLICY_LOOSE : truth ? POLICY_STRICT : POLICY_REPORT;
}

static PyObject *provider_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	static char *names[] = {"name", "file", "strict", "_loose", NULL};
	const char *name;
	int file = 0, loose = 0, policy;
	PyObject *strict = Py_None;
	struct nopal_error e;
	struct provider *self;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "s|$pOp:Provider", names, &name, &file,
					 &strict, &loose))
		return NULL;
	policy = policy_from(strict, loose);
	if (policy < 0)
		return NULL;
	self = (struct provider *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
	if (!self)
		return NULL;
	self->policy = (enum policy)policy;
	self->state = find_state(&self->module);
	self->handle =
		self->state ? nopal_provider_new(name, file ? NOPAL_RUNTIME_FILE : 0, &e) : NULL;
	if (self->state && !self->handle)
		raise_error(&e);
	if (self->handle)
		return (PyObject *)self;
	Py_DECREF((PyObject *)self);
	return NULL;
}

static void provider_dealloc(PyObject *object)
{
	struct provider *self = provider_of(object);
	PyTypeObject *type = Py_TYPE(object);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	nopal_provider_destroy(self->handle);
	Py_XDECREF(self->module);
	release(object);
	Py_DECREF((PyObject *)type);
}

/* ---- Probes ---- */

/* What Provider.probe() was given, in the order of the arguments. */
struct declaration {
	struct nopal_probe_arg args[NOPAL_MAX_VALUES];
	unsigned count;
	const char *description;
	PyObject *texts[NOPAL_MAX_VALUES + 2]; /* the UTF-8 of all names and the description */
	unsigned text_count;
};

/* NULL and an exception for what has no UTF-8, or a NUL in it. */
static const char *utf8(struct declaration *d, PyObject *text)
{
	PyObject *bytes = PyUnicode_AsUTF8String(text);
	char *start;

	if (!bytes)
		return NULL;
	d->texts[d->text_count++] = bytes;
	return PyBytes_AsStringAndSize(bytes, &start, NULL) ? NULL : start;
}

static int declare(struct declaration *d, PyObject *name, PyObject *type)
{
	struct nopal_probe_arg *arg = &d->args[d->count];

	if (d->count == NOPAL_MAX_VALUES) {
		PyErr_Format(PyExc_ValueError, "too many arguments: the limit is %d",
			     NOPAL_MAX_VALUES);
		return -1;
	}
	if (name && !PyUnicode_Check(name)) {
		PyErr_Format(PyExc_TypeError, "the name of an argument must be a str, not %R",
			     name);
		return -1;
	}
	arg->type = type_of(type);
	if (!arg->type || (name && !(arg->name = utf8(d, name))))
		return -1;
	d->count++;
	return 0;
}

/* A type, or (name, type). */
static int declare_positional(struct declaration *d, PyObject *item)
{
	if (!PyTuple_Check(item))
		return declare(d, NULL, item);
	if (PyTuple_Size(item) != 2) {
		PyErr_Format(PyExc_TypeError, "an argument must be a type or (name, type), not %R",
			     item);
		return -1;
	}
	return declare(d, PyTuple_GetItem(item, 0), PyTuple_GetItem(item, 1));
}

/* name=type; and description="text". */
static int declare_keyword(struct declaration *d, PyObject *name, PyObject *value)
{
	if (PyUnicode_CompareWithASCIIString(name, "description"))
		return declare(d, name, value);
	if (value == Py_None)
		return 0;
	if (!PyUnicode_Check(value)) {
		PyErr_SetString(PyExc_TypeError,
				"'description' is a text; an argument of that name is given as "
				"(\"description\", type)");
		return -1;
	}
	d->description = utf8(d, value);
	return d->description ? 0 : -1;
}

static int declare_all(struct declaration *d, PyObject *args, PyObject *keywords)
{
	PyObject *key, *value;
	Py_ssize_t at = 0;

	for (Py_ssize_t i = 1; i < PyTuple_Size(args); i++)
		if (declare_positional(d, PyTuple_GetItem(args, i)))
			return -1;
	while (keywords && PyDict_Next(keywords, &at, &key, &value))
		if (declare_keyword(d, key, value))
			return -1;
	return 0;
}

static int load(struct provider *self)
{
	struct nopal_error e;
	int status;

	Py_BEGIN_ALLOW_THREADS;
	status = nopal_provider_load(self->handle, &e);
	Py_END_ALLOW_THREADS;
	if (status)
		raise_error(&e);
	else
		self->open = true;
	return status;
}

static const char *probe_name_of(struct declaration *d, PyObject *args)
{
	PyObject *name = PyTuple_Size(args) > 0 ? PyTuple_GetItem(args, 0) : NULL;

	if (!name || !PyUnicode_Check(name)) {
		PyErr_SetString(PyExc_TypeError, "the name of a probe must be a str");
		return NULL;
	}
	return utf8(d, name);
}

/* Add a probe; in a loaded provider it can be traced at once. */
static PyObject *provider_probe(PyObject *object, PyObject *args, PyObject *keywords)
{
	struct provider *self = provider_of(object);
	struct declaration d = {.count = 0};
	struct nopal_error e;
	struct nopal_probe *handle = NULL;
	PyObject *result = NULL;
	const char *name = probe_name_of(&d, args);

	if (name && !declare_all(&d, args, keywords)) {
		handle = nopal_provider_probe(self->handle, name, d.args, d.count, d.description,
					      &e);
		if (!handle)
			raise_error(&e);
	}
	if (handle && !(self->open && self->policy != POLICY_LOOSE && load(self)))
		result = (PyObject *)probe_new(self, handle);
	for (unsigned i = 0; i < d.text_count; i++)
		Py_DECREF(d.texts[i]);
	return result;
}

static PyObject *provider_find(PyObject *object, PyObject *name)
{
	struct provider *self = provider_of(object);
	struct nopal_probe *handle;
	PyObject *bytes;

	if (!PyUnicode_Check(name)) {
		PyErr_SetString(PyExc_TypeError, "the name of a probe must be a str");
		return NULL;
	}
	bytes = PyUnicode_AsUTF8String(name);
	if (!bytes)
		return NULL;
	handle = strlen(PyBytes_AsString(bytes)) == (size_t)PyBytes_Size(bytes)
			 ? nopal_provider_find(self->handle, PyBytes_AsString(bytes))
			 : NULL;
	Py_DECREF(bytes);
	if (!handle)
		Py_RETURN_NONE;
	return (PyObject *)probe_new(self, handle);
}

/* ---- Loading ---- */

static PyObject *provider_load(PyObject *self, PyObject *unused)
{
	(void)unused;
	if (load(provider_of(self)))
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *provider_unload(PyObject *self, PyObject *unused)
{
	struct nopal_error e;
	int status;

	(void)unused;
	provider_of(self)->open = false;
	Py_BEGIN_ALLOW_THREADS;
	status = nopal_provider_unload(provider_of(self)->handle, &e);
	Py_END_ALLOW_THREADS;
	if (status) {
		raise_error(&e);
		return NULL;
	}
	Py_RETURN_NONE;
}

static PyObject *provider_enter(PyObject *self, PyObject *unused)
{
	(void)unused;
	if (load(provider_of(self)))
		return NULL;
	Py_INCREF(self);
	return self;
}

static PyObject *get_name(PyObject *self, void *unused)
{
	(void)unused;
	return PyUnicode_FromString(nopal_provider_name(provider_of(self)->handle));
}

static PyObject *get_loaded(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(nopal_provider_is_loaded(provider_of(self)->handle));
}

static Py_ssize_t provider_length(PyObject *self)
{
	return (Py_ssize_t)nopal_provider_probe_count(provider_of(self)->handle);
}

/* A provider without probes is not false. */
static int provider_bool(PyObject *self)
{
	(void)self;
	return 1;
}

static PyObject *provider_repr(PyObject *object)
{
	struct nopal_provider *provider = provider_of(object)->handle;
	unsigned count = nopal_provider_probe_count(provider);

	return PyUnicode_FromFormat("<nopal.Provider %s, %u probe%s, %s>",
				    nopal_provider_name(provider), count, count == 1 ? "" : "s",
				    nopal_provider_is_loaded(provider) ? "loaded" : "not loaded");
}

static PyMethodDef methods[] = {
	{"probe", (PyCFunction)(void (*)(void))provider_probe, METH_VARARGS | METH_KEYWORDS,
	 "probe(name, *types, description=None, **named_types)\n\n"
	 "Add a probe. A type is int, str, bytes, float, bool, a nopal.Type, or (name, type).\n"
	 "In a loaded provider it can be traced at once."},
	{"find", provider_find, METH_O,
	 "find($self, name, /)\n--\n\nThe probe of that name, or None."},
	{"load", provider_load, METH_NOARGS,
	 "load($self, /)\n--\n\nMake all probes that are not loaded yet visible to tracers."},
	{"unload", provider_unload, METH_NOARGS,
	 "unload($self, /)\n--\n\nTake all probes away. They stay usable, and are not enabled."},
	{"__enter__", provider_enter, METH_NOARGS, "Load."},
	{"__exit__", provider_unload, METH_VARARGS, "Unload."},
	{NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
	{"name", get_name, NULL, "The provider's name.", NULL},
	{"loaded", get_loaded, NULL, "Are probes of it visible to tracers?", NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

static const char doc[] = "Provider(name, *, file=False, strict=None)\n--\n\n"
			  "A named set of probes.";

static PyType_Slot slots[] = {
	{Py_tp_doc, (void *)doc},
	{Py_tp_new, provider_new},
	{Py_tp_dealloc, provider_dealloc},
	{Py_tp_repr, provider_repr},
	{Py_tp_methods, methods},
	{Py_tp_getset, attributes},
	{Py_mp_length, provider_length},
	{Py_nb_bool, provider_bool},
	{0, NULL},
};

PyType_Spec provider_spec = {
	.name = "nopal._nopal.Provider",
	.basicsize = sizeof(struct provider),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
	.slots = slots,
};
