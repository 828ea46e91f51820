/* Held: a kernel that reads a copy of values, which is kept as long as the values are the same (lasting.py), and another
 * one that reads the values themselves; `held` of direct.py in C.
 */
#include "direct.h"

#include <stddef.h>

PyTypeObject *held_type;

/* Held(kernel for the copy, kernel for the values, function that finds the copy or None, place of the values) */
static PyObject *held_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	PyObject *run, *plain, *get;
	Py_ssize_t place;
	(void)kwargs;
	if (!PyArg_ParseTuple(args, "O!O!On", direct_type, &run, direct_type, &plain, &get, &place))
		return NULL;
	Held *self = (Held *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
	if (self == NULL)
		return NULL;
	Py_INCREF(run);
	Py_INCREF(plain);
	Py_INCREF(get);
	self->run = (Direct *)run;
	self->plain = (Direct *)plain;
	self->get = get;
	self->place = place;
	return (PyObject *)self;
}

static void held_dealloc(PyObject *object)
{
	PyTypeObject *type = Py_TYPE(object);
	Py_XDECREF((PyObject *)((Held *)object)->run);
	Py_XDECREF((PyObject *)((Held *)object)->plain);
	Py_XDECREF(((Held *)object)->get);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
	Py_DECREF(type);
}

const Direct *held_kernel(const Held *self, PyObject **values)
{
	PyObject *copy = PyObject_CallFunctionObjArgs(self->get, *values, NULL);
	if (copy == NULL)
		return NULL;
	if (copy == Py_None) {
		Py_DECREF(copy);
		Py_INCREF(*values);
		return self->plain;
	}
	*values = copy;
	return self->run;
}

static PyObject *held_call(PyObject *object, PyObject *args, PyObject *kwargs)
{
	const Held *self = (Held *)object;
	Py_ssize_t count = PyTuple_Size(args);
	if (self->place >= count)
		return PyErr_Format(PyExc_TypeError, "expected more operands");
	PyObject *values = PyTuple_GetItem(args, self->place), *given = PyTuple_New(count), *out = NULL;
	const Direct *direct = given == NULL ? NULL : held_kernel(self, &values);
	for (Py_ssize_t n = 0; direct != NULL && n < count; n++) {
		PyObject *item = n == self->place ? values : PyTuple_GetItem(args, n);
		if (n != self->place)
			Py_INCREF(item);
		PyTuple_SetItem(given, n, item); /* which takes the reference */
	}
	if (direct != NULL)
		out = PyObject_Call((PyObject *)direct, given, kwargs);
	Py_XDECREF(given);
	return out;
}

static PyType_Slot slots[] = {
	{Py_tp_doc, "A kernel that reads a copy of values, and one for values without: held(*values, threads)."},
	{Py_tp_new, held_new},
	{Py_tp_call, held_call},
	{Py_tp_dealloc, held_dealloc},
	{0, NULL},
};
static PyType_Spec spec = {"libsparse._runtime._direct.Held", sizeof(Held), 0, Py_TPFLAGS_DEFAULT, slots};

int prepare_held(PyObject *module)
{
	PyObject *type = PyType_FromSpec(&spec);
	held_type = (PyTypeObject *)type;
	if (type == NULL)
		return -1;
	Py_INCREF(type); /* held_type's own */
	return PyModule_AddObject(module, "Held", type);
}
