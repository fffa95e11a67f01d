/* nopal.Span: two probes around a block. While it is not traced, a call returns one shared object
 * whose __enter__ and __exit__ do nothing; otherwise an object that stores when it began and its
 * id, which both probes pass: another thread or task than the one that entered it may leave it. */
#include "binding.h"

#include <stdatomic.h>
#include <time.h>

struct span {
	PyObject_HEAD call_fn *call; /* vectorcall */
	struct probe *enter, *leave;
	unsigned value_count; /* values of the entry probe before the id */
	struct module_state *state;
};

struct running {
	PyObject_HEAD struct probe *leave; /* NULL: it was not traced when it began */
	uint64_t start;			   /* ns */
	uint64_t id;
};

/* Ids are those of the process, whichever interpreter makes the span; 0 is none. */
static _Atomic uint64_t last_id;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- One time ---- */

static struct running *running_new(PyTypeObject *type, struct probe *leave)
{
	struct running *self =
		(struct running *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);

	if (!self)
		return NULL;
	Py_XINCREF((PyObject *)leave);
	self->leave = leave;
	return self;
}

PyObject *idle_new(PyTypeObject *running_type)
{
	return (PyObject *)running_new(running_type, NULL);
}

static PyObject *running_enter(PyObject *self, PyObject *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLongLong(((struct running *)self)->id);
}

/* __name__ of the class of an exception, a new reference; None for None. */
static PyObject *name_of(PyObject *kind)
{
	if (kind == Py_None) {
		Py_INCREF(kind);
		return kind;
	}
	return PyObject_GetAttrString(kind, "__name__");
}

/* Nothing is returned that would swallow the exception of the block. */
static PyObject *running_exit(PyObject *object, PyObject *args)
{
	struct running *self = (struct running *)object;
	uint64_t end;
	PyObject *name, *fired;

	if (!self->leave)
		Py_RETURN_NONE;
	end = now();
	name = name_of(PyTuple_Size(args) > 0 ? PyTuple_GetItem(args, 0) : Py_None);
	if (!name)
		return NULL;
	fired = PyObject_CallFunction((PyObject *)self->leave, "KOK",
				      (unsigned long long)(end - self->start), name,
				      (unsigned long long)self->id);
	Py_DECREF(name);
	if (!fired)
		return NULL;
	Py_DECREF(fired);
	Py_RETURN_NONE;
}

static void running_dealloc(PyObject *object)
{
	PyTypeObject *type = Py_TYPE(object);

	Py_XDECREF((PyObject *)((struct running *)object)->leave);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
	Py_DECREF((PyObject *)type);
}

static PyMethodDef running_methods[] = {
	{"__enter__", running_enter, METH_NOARGS, NULL},
	{"__exit__", running_exit, METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot running_slots[] = {
	{Py_tp_dealloc, running_dealloc},
	{Py_tp_methods, running_methods},
	{0, NULL},
};

PyType_Spec running_spec = {
	.name = "nopal._nopal._Running",
	.basicsize = sizeof(struct running),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = running_slots,
};

/* ---- The span ---- */

static bool span_enabled(const struct span *self)
{
	return nopal_probe_enabled(self->enter->handle) || nopal_probe_enabled(self->leave->handle);
}

/* Fire the entry probe with the values and the id. */
static PyObject *fire_entry(struct span *self, PyObject *const *args, size_t count, uint64_t id)
{
	PyObject *values[NOPAL_MAX_VALUES + 1], *result = NULL;

	memcpy(values, args, count * sizeof(*values));
	values[count] = PyLong_FromUnsignedLongLong(id);
	if (values[count])
		result = self->enter->call((PyObject *)self->enter, values, count + 1, NULL);
	Py_XDECREF(values[count]);
	return result;
}

static PyObject *wrong_count(const struct span *self, size_t count)
{
	PyErr_Format(PyExc_TypeError, "%R has %u value%s, not %zu", self, self->value_count,
		     self->value_count == 1 ? "" : "s", count);
	return NULL;
}

/* The entry probe first: it says what is wrong with the values. */
static PyObject *begin(struct span *self, PyObject *const *args, size_t count)
{
	uint64_t id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
	PyObject *fired = fire_entry(self, args, count, id);
	struct running *result;

	if (!fired)
		return NULL;
	Py_DECREF(fired);
	if (!span_enabled(self)) {
		Py_INCREF(self->state->idle);
		return self->state->idle;
	}
	result = running_new(self->state->running_type, self->leave);
	if (result) {
		result->id = id;
		result->start = now();
	}
	return (PyObject *)result;
}

static PyObject *span_vectorcall(PyObject *object, PyObject *const *args, size_t flags,
				 PyObject *keywords)
{
	struct span *self = (struct span *)object;
	size_t count = flags & ~ARGUMENTS_OFFSET;

	if (keywords && PyTuple_Size(keywords)) {
		PyErr_SetString(PyExc_TypeError, "a span takes no keyword arguments");
		return NULL;
	}
	if (count != self->value_count)
		return wrong_count(self, count);
	if (self->enter->policy == POLICY_STRICT || span_enabled(self))
		return begin(self, args, count);
	Py_INCREF(self->state->idle);
	return self->state->idle;
}

static PyObject *span_call(PyObject *self, PyObject *args, PyObject *keywords)
{
	return call_with_tuple(span_vectorcall, self, args, keywords);
}

static bool takes_id(PyObject *object)
{
	const struct probe *probe = (const struct probe *)object;

	return probe->arg_count && probe->types[probe->arg_count - 1] == NOPAL_UINT64;
}

static PyObject *span_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	static char *names[] = {"enter", "leave", NULL};
	PyObject *enter, *leave;
	struct span *self;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO:Span", names, &enter, &leave))
		return NULL;
	if (!is_probe(enter) || !is_probe(leave)) {
		PyErr_SetString(PyExc_TypeError, "a span needs two probes");
		return NULL;
	}
	if (!takes_id(enter) || !takes_id(leave) || ((struct probe *)leave)->arg_count != 3) {
		PyErr_SetString(PyExc_TypeError,
				"the last argument of a span's probes is a uint64, the id; the "
				"second probe has three: nanoseconds, error, id");
		return NULL;
	}
	self = (struct span *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
	if (!self)
		return NULL;
	Py_INCREF(enter);
	Py_INCREF(leave);
	self->call = span_vectorcall;
	self->enter = (struct probe *)enter;
	self->leave = (struct probe *)leave;
	self->value_count = self->enter->arg_count - 1u;
	self->state = self->enter->provider->state;
	return (PyObject *)self;
}

static int span_traverse(PyObject *object, visitproc visit, void *arg)
{
	Py_VISIT((PyObject *)((struct span *)object)->enter);
	Py_VISIT((PyObject *)((struct span *)object)->leave);
	Py_VISIT((PyObject *)Py_TYPE(object));
	return 0;
}

static void span_dealloc(PyObject *object)
{
	struct span *self = (struct span *)object;
	PyTypeObject *type = Py_TYPE(object);

	PyObject_GC_UnTrack(object);
	Py_XDECREF((PyObject *)self->enter);
	Py_XDECREF((PyObject *)self->leave);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
	Py_DECREF((PyObject *)type);
}

static int span_bool(PyObject *self)
{
	return span_enabled((struct span *)self);
}

static PyObject *get_enabled(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(span_enabled((struct span *)self));
}

static PyObject *span_repr(PyObject *object)
{
	struct span *self = (struct span *)object;

	return PyUnicode_FromFormat("<nopal.Span %R %R>", self->enter, self->leave);
}

/* The decorator is written in Python. */
static PyObject *span_traced(PyObject *self, PyObject *function)
{
	PyObject *module = PyImport_ImportModule("nopal.spans");
	PyObject *result = NULL;

	if (module)
		result = PyObject_CallMethod(module, "traced", "OO", self, function);
	Py_XDECREF(module);
	return result;
}

static PyMethodDef methods[] = {
	{"traced", span_traced, METH_O,
	 "traced($self, function, /)\n--\n\nThe function with the span around each call; its "
	 "arguments that are called as\nthose of the span, else its first ones, are the values."},
	{NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
	{"enabled", get_enabled, NULL, "Whether one of the two probes is being traced now.", NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef members[] = {
	{"__vectorcalloffset__", T_PYSSIZET, offsetof(struct span, call), READONLY, NULL},
	{"enter", T_OBJECT_EX, offsetof(struct span, enter), READONLY, "The probe at the begin."},
	{"leave", T_OBJECT_EX, offsetof(struct span, leave), READONLY, "The probe at the end."},
	{NULL, 0, 0, 0, NULL},
};

static const char doc[] =
	"Two probes around a block: with span(values...): ...\n\n"
	"NAME__entry has the values and an id; NAME__return the nanoseconds that the block took,\n"
	"the name of the exception that ended it or NULL, and the same id, which `as`\n"
	"binds. It fires for blocks that were entered while one of the two was traced. Made by\n"
	"Provider.span().";

static PyType_Slot slots[] = {
	{Py_tp_doc, (void *)doc},
	{Py_tp_new, span_new},
	{Py_tp_traverse, span_traverse},
	{Py_tp_dealloc, span_dealloc},
	{Py_tp_call, span_call},
	{Py_tp_repr, span_repr},
	{Py_nb_bool, span_bool},
	{Py_tp_methods, methods},
	{Py_tp_getset, attributes},
	{Py_tp_members, members},
	{0, NULL},
};

PyType_Spec span_spec = {
	.name = "nopal.Span",
	.basicsize = sizeof(struct span),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_HAVE_GC,
	.slots = slots,
};
