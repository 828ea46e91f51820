/* StandIn: an object in the place of one of torch's functions while `ls.enable()` is on; _torch/overrides.py defines it in Python.
 *
 * Nearly every call has only dense operands and is handed on to torch, so nothing is allocated for it: the arguments stay
 * in the caller's array. Only Python's limited interface is used, and two functions of Python 3.11 that are in the limited
 * interface since 3.12; Python 3.10 lacks them, where importing the module fails and the definition in Python serves.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <structmember.h>

#define HAS_VECTORCALL (1UL << 11) /* Py_TPFLAGS_HAVE_VECTORCALL */
#define OFFSET_GIVEN ((size_t)1 << (8 * sizeof(size_t) - 1)) /* PY_VECTORCALL_ARGUMENTS_OFFSET */
#define MOST_NESTED 3 /* lists of lists of operands */

typedef PyObject *(*vector_call)(PyObject *self, PyObject *const *args, size_t count, PyObject *names);
extern PyObject *PyObject_Vectorcall(PyObject *, PyObject *const *, size_t, PyObject *) __attribute__((weak));
extern PyObject *PyVectorcall_Call(PyObject *, PyObject *, PyObject *) __attribute__((weak));

typedef struct {
	PyObject_HEAD
	vector_call call;
	PyObject *original, *otherwise, *attributes, *weak_references;
} StandIn;

/* Objects that `install` is given. */
static PyObject *plain, *layout_descriptor, *strided, *method_type, *function_type;
static PyTypeObject *tensor_type;
static descrgetfunc get_layout_of;

/* Whether a tensor, or each tensor in a list or tuple, has strides; other objects do. -1 with an exception. */
static int has_strides(PyObject *object, int depth)
{
	bool listed = PyList_CheckExact(object);
	if (listed || PyTuple_CheckExact(object)) {
		int yes = 1;
		for (Py_ssize_t n = 0; depth > 0 && yes == 1 && n < (listed ? PyList_Size(object) : PyTuple_Size(object)); n++)
			yes = has_strides(listed ? PyList_GetItem(object, n) : PyTuple_GetItem(object, n), depth - 1);
		return yes;
	}
	if (Py_TYPE(object) != tensor_type && PySet_Contains(plain, (PyObject *)Py_TYPE(object)) != 1)
		return PyErr_Occurred() ? -1 : 1;
	PyObject *layout = get_layout_of(layout_descriptor, object, (PyObject *)tensor_type);
	Py_XDECREF(layout);
	return layout == NULL ? -1 : layout == strided;
}

/* original(...) where every operand is dense, else otherwise(...). */
static PyObject *call_where_dense(PyObject *object, PyObject *const *args, size_t count, PyObject *names)
{
	StandIn *self = (StandIn *)object;
	Py_ssize_t given = (Py_ssize_t)(count & ~OFFSET_GIVEN) + (names == NULL ? 0 : PyTuple_Size(names));
	int dense = 1;
	for (Py_ssize_t n = 0; n < given && dense == 1; n++)
		dense = has_strides(args[n], MOST_NESTED);
	return dense < 0 ? NULL : PyObject_Vectorcall(dense ? self->original : self->otherwise, args, count, names);
}

/* StandIn(original, otherwise) */
static PyObject *stand_in_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	PyObject *original, *otherwise;
	(void)kwargs;
	if (!PyArg_ParseTuple(args, "OO", &original, &otherwise))
		return NULL;
	StandIn *self = (StandIn *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0); /* filled with zeros */
	if (self == NULL)
		return NULL;
	Py_INCREF(original);
	Py_INCREF(otherwise);
	self->original = original;
	self->otherwise = otherwise;
	self->call = call_where_dense;
	return (PyObject *)self;
}

static void stand_in_dealloc(PyObject *object)
{
	StandIn *self = (StandIn *)object;
	PyTypeObject *type = Py_TYPE(object);
	if (self->weak_references != NULL)
		PyObject_ClearWeakRefs(object);
	Py_XDECREF(self->original);
	Py_XDECREF(self->otherwise);
	Py_XDECREF(self->attributes);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
	Py_DECREF(type);
}

/* A function in a class becomes a method of its objects. */
static PyObject *stand_in_bind(PyObject *self, PyObject *object, PyObject *type)
{
	(void)type;
	if (object != NULL && object != Py_None)
		return PyObject_CallFunctionObjArgs(method_type, self, object, NULL);
	Py_INCREF(self);
	return self;
}

static PyObject *stand_in_repr(PyObject *self)
{
	return PyObject_Repr(((StandIn *)self)->original);
}

/* `isinstance(torch.mm, types.FunctionType)` holds, since torch.compile asks this before it looks for what to trace. */
static PyObject *stand_in_class(PyObject *self, void *unused)
{
	(void)self;
	(void)unused;
	Py_INCREF(function_type);
	return function_type;
}

/* Functions are copied by reference. */
static PyObject *stand_in_copy(PyObject *self, PyObject *args)
{
	(void)args;
	Py_INCREF(self);
	return self;
}

static PyObject *install(PyObject *module, PyObject *args)
{
	(void)module;
	if (!PyArg_ParseTuple(args, "OOOOOO", &plain, &tensor_type, &layout_descriptor, &strided, &method_type, &function_type))
		return NULL;
	get_layout_of = (descrgetfunc)PyType_GetSlot(Py_TYPE(layout_descriptor), Py_tp_descr_get);
	Py_INCREF(args); /* kept for good, and the objects with it */
	Py_RETURN_NONE;
}

static PyMemberDef members[] = {
	{"__vectorcalloffset__", T_PYSSIZET, offsetof(StandIn, call), READONLY, NULL},
	{"__dictoffset__", T_PYSSIZET, offsetof(StandIn, attributes), READONLY, NULL},
	{"__weaklistoffset__", T_PYSSIZET, offsetof(StandIn, weak_references), READONLY, NULL},
	{NULL, 0, 0, 0, NULL},
};
static PyGetSetDef properties[] = {
	{"__class__", stand_in_class, NULL, NULL, NULL},
	{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
	{NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef methods[] = {
	{"__copy__", stand_in_copy, METH_VARARGS, NULL},
	{"__deepcopy__", stand_in_copy, METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};
/* Without garbage collection: a function of torch's, a closure over it and their names make no cycle. */
static PyType_Slot slots[] = {
	{Py_tp_new, stand_in_new},
	{Py_tp_dealloc, stand_in_dealloc},
	{Py_tp_call, NULL}, /* PyVectorcall_Call, whose address is known when the module is imported */
	{Py_tp_descr_get, stand_in_bind},
	{Py_tp_repr, stand_in_repr},
	{Py_tp_members, members},
	{Py_tp_getset, properties},
	{Py_tp_methods, methods},
	{0, NULL},
};
static PyType_Spec spec = {"libsparse._runtime._stand_in.StandIn", sizeof(StandIn), 0,
			   Py_TPFLAGS_DEFAULT | HAS_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, slots};
static PyMethodDef functions[] = {
	{"install", install, METH_VARARGS, "Takes the objects of torch and of Python that a StandIn compares with."},
	{NULL, NULL, 0, NULL},
};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_stand_in", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__stand_in(void)
{
	if (PyObject_Vectorcall == NULL || PyVectorcall_Call == NULL) {
		PyErr_SetString(PyExc_ImportError, "needs Python 3.11");
		return NULL;
	}
	slots[2].pfunc = (void *)PyVectorcall_Call;
	PyObject *module = PyModule_Create(&definition);
	PyObject *type = module == NULL ? NULL : PyType_FromSpec(&spec);
	if (type == NULL || PyModule_AddObject(module, "StandIn", type) < 0) {
		Py_XDECREF(module);
		Py_XDECREF(type);
		return NULL;
	}
	return module;
}
