/* Results of operations as users get them: `dress` of _tensor/sparse_tensor.py, which defines it, in C.
 *
 * An operand of a pattern and ordinary values becomes a SparseTensor; everything else is left to Python.
 */
#include "direct.h"

/* Objects that `install_wrapping` is given, and interned names of attributes. */
static PyObject *sparse_class, *pattern_class, *operand_class, *strided, *make_wrapper, *dress_in_python;
static PyObject *n_fill, *n_fast, *n_kept_fast, *n_seen_shape, *n_dtype;

PyObject *operand_of(PyObject *pattern, PyObject *values, PyObject *fill)
{
	newfunc new_tuple = (newfunc)PyType_GetSlot(&PyTuple_Type, Py_tp_new); /* what the class's own comes to */
	PyObject *parts = PyTuple_Pack(3, pattern, values, fill), *given = parts == NULL ? NULL : PyTuple_Pack(1, parts);
	PyObject *operand = given == NULL ? NULL : new_tuple((PyTypeObject *)operand_class, given, NULL);
	Py_XDECREF(parts);
	Py_XDECREF(given);
	return operand;
}

/* Whether values are contiguous elements in memory, with a gradient or without; -1 with an exception. */
static int are_ordinary(PyObject *values)
{
	Handle handle;
	int32_t dtype;
	bool contiguous = false;
	if (PySet_Contains(plain, (PyObject *)Py_TYPE(values)) != 1 || tensor_from_object(values, &handle))
		return PyErr_Occurred() ? -1 : 0;
	int yes = is_plain(values, handle, &dtype);
	if (yes == 1 && (get_contiguous(handle, &contiguous) || !contiguous))
		yes = 0;
	delete_tensor(handle);
	return yes;
}

/* A wrapper of torch's, of the shape that a pattern shows and the dtype of values. */
static PyObject *wrapper_of(PyObject *pattern, PyObject *values, enum elements elements)
{
	PyObject *shape = PyObject_GetAttr(pattern, n_seen_shape), *dtype = PyObject_GetAttr(values, n_dtype), *given = NULL;
	int followed = shape == NULL || dtype == NULL ? -1 : elements == WRITTEN ? 0 : truth_of(values, n_requires_grad);
	/* By position, which torch parses in less time: class, shape, strides, offset, memory format, dtype, layout, device,
	 * whether pinned, whether followed. */
	if (followed == 0)
		given = PyTuple_Pack(6, sparse_class, shape, Py_None, Py_None, Py_None, dtype);
	else if (followed == 1)
		given = PyTuple_Pack(10, sparse_class, shape, Py_None, Py_None, Py_None, dtype, strided, Py_None, Py_False, Py_True);
	Py_XDECREF(shape);
	Py_XDECREF(dtype);
	PyObject *wrapper = given == NULL ? NULL : PyObject_CallObject(make_wrapper, given);
	Py_XDECREF(given);
	return wrapper;
}

/* Gives a new wrapper the attributes that differ from those of its class; -1 with an exception. */
static int hold(PyObject *self, PyObject *operand)
{
	PyObject *pattern = PyTuple_GetItem(operand, 0), *values = PyTuple_GetItem(operand, 1), *fill = PyTuple_GetItem(operand, 2);
	int zero = is_zero(fill);
	PyObject *attributes = zero < 0 ? NULL : PyObject_GenericGetDict(self, NULL);
	PyObject *fast = zero == 1 ? PyObject_GetAttr(pattern, n_kept_fast) : PyDict_New();
	int bad = attributes == NULL || fast == NULL || PyDict_SetItem(attributes, n_whole, operand) < 0 ||
		  PyDict_SetItem(attributes, n_pattern, pattern) < 0 || PyDict_SetItem(attributes, n_held, values) < 0 ||
		  PyDict_SetItem(attributes, n_fast, fast) < 0 ||
		  (!(zero && PyLong_CheckExact(fill)) && PyDict_SetItem(attributes, n_fill, fill) < 0);
	Py_XDECREF(attributes);
	Py_XDECREF(fast);
	return bad ? -1 : 0;
}

/* A SparseTensor of an operand; NULL without an exception where Python has to make it. */
static PyObject *wrapped(PyObject *operand, enum elements elements)
{
	PyObject *pattern = PyTuple_GetItem(operand, 0), *values = PyTuple_GetItem(operand, 1);
	if ((PyObject *)Py_TYPE(pattern) != pattern_class || values == Py_None ||
	    (elements != WRITTEN && are_ordinary(values) != 1))
		return NULL;
	PyObject *self = wrapper_of(pattern, values, elements);
	if (self != NULL && hold(self, operand) < 0) {
		Py_DECREF(self);
		self = NULL;
	}
	return self;
}

/* Whether an operand has values of a tensor that autograd follows, where it follows no operation; -1 with an exception. */
static int is_to_be_cut(PyObject *operand)
{
	PyObject *values = PyTuple_GetItem(operand, 1);
	return values == Py_None || grad_enabled() ? 0 : truth_of(values, n_requires_grad);
}

PyObject *dressed(PyObject *result, enum elements elements)
{
	if (result == NULL || PySet_Contains(plain, (PyObject *)Py_TYPE(result)) == 1)
		return result;
	PyObject *tensor = NULL;
	if (elements != WATCHED && (PyObject *)Py_TYPE(result) == operand_class &&
	    (elements == WRITTEN || is_to_be_cut(result) == 0))
		tensor = wrapped(result, elements);
	if (tensor == NULL && !PyErr_Occurred())
		tensor = PyObject_CallFunctionObjArgs(dress_in_python, result, NULL);
	Py_DECREF(result);
	return tensor;
}

static PyObject *wrap(PyObject *module, PyObject *operand)
{
	(void)module;
	PyObject *tensor = (PyObject *)Py_TYPE(operand) == operand_class ? wrapped(operand, UNKNOWN) : NULL;
	if (tensor != NULL || PyErr_Occurred())
		return tensor;
	Py_RETURN_NONE;
}

static PyObject *install_wrapping(PyObject *module, PyObject *args)
{
	(void)module;
	if (!PyArg_ParseTuple(args, "OOOOOO", &sparse_class, &pattern_class, &operand_class, &strided, &make_wrapper,
			      &dress_in_python))
		return NULL;
	Py_INCREF(args); /* kept for good, and the objects with it */
	Py_RETURN_NONE;
}

PyMethodDef wrap_functions[] = {
	{"wrap", wrap, METH_O, "wrap(operand): a SparseTensor, None where Python has to make it."},
	{"install_wrapping", install_wrapping, METH_VARARGS, "Takes the classes of results, and the functions that make them."},
	{NULL, NULL, 0, NULL},
};

int prepare_wrap_names(void)
{
	const struct {
		PyObject **name;
		const char *text;
	} names[] = {
		{&n_fill, "_fill"},           {&n_fast, "_fast"}, {&n_kept_fast, "fast"},
		{&n_seen_shape, "seen_shape"}, {&n_dtype, "dtype"},
	};
	for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
		if ((*names[n].name = PyUnicode_InternFromString(names[n].text)) == NULL)
			return -1;
	return 0;
}
