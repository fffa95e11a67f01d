/* The module nopal._nopal: its types, one set for each interpreter, and errors as exceptions. */
#include "binding.h"

#include <stdlib.h>
#include <string.h>

/* Slots that 3.12 has added; older versions refuse to load a module that has them. */
#define SLOT_INTERPRETERS 3
#define OWN_GIL_SUPPORTED ((void *)2)

PyMODINIT_FUNC PyInit__nopal(void);

void raise_error(const struct nopal_error *e)
{
	PyObject *class = e->code == NOPAL_SYSTEM	 ? PyExc_OSError
			  : e->code == NOPAL_UNSUPPORTED ? PyExc_NotImplementedError
			  : e->code == NOPAL_NO_MEMORY	 ? PyExc_MemoryError
							 : PyExc_ValueError;

	PyObject *text = PyUnicode_DecodeUTF8(e->text, (Py_ssize_t)strlen(e->text), "replace");

	if (text)
		PyErr_SetObject(class, text);
	Py_XDECREF(text);
}

static PyTypeObject *add_type(PyObject *module, const char *name, PyType_Spec *spec)
{
	PyObject *type = PyType_FromSpec(spec);

	if (!type)
		return NULL;
	Py_INCREF(type); /* one for the module's dictionary, one for its state */
	if (!PyModule_AddObject(module, name, type))
		return (PyTypeObject *)type;
	Py_DECREF(type);
	Py_DECREF(type);
	return NULL;
}

static int module_exec(PyObject *module)
{
	struct module_state *state = PyModule_GetState(module);

	state->enabled_text = PyUnicode_InternFromString("enabled");
	state->probe_type = add_type(module, "Probe", &probe_spec);
	state->provider_type = add_type(module, "Provider", &provider_spec);
	state->span_type = add_type(module, "Span", &span_spec);
	state->running_type = (PyTypeObject *)PyType_FromSpec(&running_spec);
	if (!state->enabled_text || !state->probe_type || !state->provider_type ||
	    !state->span_type || !state->running_type)
		return -1;
	state->idle = idle_new(state->running_type);
	if (!state->idle)
		return -1;
	return PyModule_AddIntConstant(module, "RUNTIME_VERSION", NOPAL_RUNTIME_VERSION);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
	struct module_state *state = PyModule_GetState(module);

	if (!state)
		return 0;
	Py_VISIT((PyObject *)state->provider_type);
	Py_VISIT((PyObject *)state->probe_type);
	Py_VISIT((PyObject *)state->span_type);
	return 0;
}

/* Probes and spans use the state as long as they live: they keep the module, so it is
 * freed last. */
static void module_free(void *module)
{
	struct module_state *state = PyModule_GetState(module);

	if (!state)
		return;
	Py_CLEAR(state->idle);
	Py_CLEAR(state->running_type);
	Py_CLEAR(state->span_type);
	Py_CLEAR(state->probe_type);
	Py_CLEAR(state->provider_type);
	Py_CLEAR(state->enabled_text);
}

static PyModuleDef_Slot slots[] = {
	{Py_mod_exec, module_exec},
	{0, NULL},
};

static PyModuleDef_Slot slots_312[] = {
	{Py_mod_exec, module_exec},
	{SLOT_INTERPRETERS, OWN_GIL_SUPPORTED},
	{0, NULL},
};

#define DEFINITION(slot_array)                                                        \
	{                                                                             \
		PyModuleDef_HEAD_INIT,                                                \
			.m_name = "_nopal",                                           \
			.m_doc = "Probes of nopal/runtime.h. Use the package nopal.", \
			.m_size = sizeof(struct module_state), .m_slots = slot_array, \
			.m_traverse = module_traverse, .m_free = module_free          \
	}

static struct PyModuleDef definition = DEFINITION(slots);
static struct PyModuleDef definition_312 = DEFINITION(slots_312);

/* Known at run time only: one build is for all versions. */
static bool is_312(void)
{
	const char *version = Py_GetVersion(); /* "3.11.2 (main, ..." */
	char *end;
	long major = strtol(version, &end, 10);
	long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;

	return major > 3 || (major == 3 && minor >= 12);
}

PyMODINIT_FUNC PyInit__nopal(void)
{
	return PyModuleDef_Init(is_312() ? &definition_312 : &definition);
}
