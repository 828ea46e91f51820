/* Tallies: how often kernels were called and how long they took, while somebody watches (tally.py, which defines them, in C).
 *
 * They change while Python's lock is held, so they need none of their own. One call in `period` is timed and counts for so many.
 */
#include "direct.h"

#include <structmember.h>
#include <time.h>

PyTypeObject *tally_type;
static bool watched;

static int64_t now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

int64_t begin_call(Tally *tally)
{
	if (!watched || tally == NULL)
		return 0;
	tally->calls++;
	if (tally->all != NULL)
		tally->all->calls++;
	if (--tally->left > 0)
		return 0;
	tally->left = tally->period;
	return now();
}

int64_t time_since(int64_t begun)
{
	return begun == 0 ? 0 : now() - begun;
}

void add_time(Tally *tally, int64_t nanoseconds)
{
	for (; tally != NULL; tally = tally->all) {
		tally->timed += tally->period;
		tally->nanoseconds += nanoseconds * tally->period;
	}
}

int tell(Tally *tally)
{
	if (tally == NULL || tally->waits <= 0 || --tally->waits > 0 || tally->told == NULL)
		return 0;
	PyObject *told = tally->told;
	Py_INCREF(told); /* it may put another function into its place */
	PyObject *nothing = PyObject_CallNoArgs(told);
	int status = nothing != NULL ? 0 : -1;
	if (status < 0)
		tally->waits = 1; /* of a signal handler, which ends the call: the next one tells it again */
	Py_XDECREF(nothing);
	Py_DECREF(told);
	return status;
}

/* Tally(all=None) */
static PyObject *tally_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	PyObject *all = Py_None;
	(void)kwargs;
	if (!PyArg_ParseTuple(args, "|O", &all))
		return NULL;
	if (all != Py_None && Py_TYPE(all) != tally_type)
		return PyErr_Format(PyExc_TypeError, "expected a Tally of all");
	Tally *self = (Tally *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0); /* filled with zeros */
	if (self == NULL)
		return NULL;
	self->period = TALLY_PERIOD;
	if (all != Py_None) {
		Py_INCREF(all);
		self->all = (Tally *)all;
	}
	return (PyObject *)self;
}

static void tally_dealloc(PyObject *object)
{
	PyTypeObject *type = Py_TYPE(object);
	Py_XDECREF((PyObject *)((Tally *)object)->all);
	Py_XDECREF(((Tally *)object)->told);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
	Py_DECREF(type);
}

static PyObject *watch(PyObject *module, PyObject *on)
{
	(void)module;
	int yes = PyObject_IsTrue(on);
	if (yes < 0)
		return NULL;
	watched = yes;
	Py_RETURN_NONE;
}

PyMethodDef tally_functions[] = {
	{"watch", watch, METH_O, "watch(on): whether calls are counted from now on."},
	{NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
	{"calls", T_LONGLONG, offsetof(Tally, calls), 0, NULL},
	{"timed", T_LONGLONG, offsetof(Tally, timed), 0, NULL},
	{"nanoseconds", T_LONGLONG, offsetof(Tally, nanoseconds), 0, NULL},
	{"period", T_LONGLONG, offsetof(Tally, period), 0, NULL},
	{"left", T_LONGLONG, offsetof(Tally, left), 0, NULL},
	{"all", T_OBJECT, offsetof(Tally, all), READONLY, NULL},
	{"waits", T_LONGLONG, offsetof(Tally, waits), 0, NULL},
	{"told", T_OBJECT, offsetof(Tally, told), 0, NULL},
	{NULL, 0, 0, 0, NULL},
};
static PyType_Slot slots[] = {
	{Py_tp_doc, "How often a kernel was called, and how long it took: Tally(all=None)."},
	{Py_tp_new, tally_new},
	{Py_tp_dealloc, tally_dealloc},
	{Py_tp_members, members},
	{0, NULL},
};
static PyType_Spec spec = {"libsparse._runtime._direct.Tally", sizeof(Tally), 0, Py_TPFLAGS_DEFAULT, slots};

int prepare_tallies(PyObject *module)
{
	PyObject *type = PyType_FromSpec(&spec);
	tally_type = (PyTypeObject *)type;
	if (type == NULL || PyModule_AddFunctions(module, tally_functions) < 0)
		return -1;
	Py_INCREF(type); /* tally_type's own */
	return PyModule_AddObject(module, "Tally", type);
}
