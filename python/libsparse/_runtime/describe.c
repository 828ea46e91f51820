/* Calls by what they have in common with calls like them: `_described` of _tensor/repeated.py, which defines it, in C.
 *
 * The name of a call is its function, words and constants: patterns by their addresses, elements by dtype, shape and strides.
 */
#include "direct.h"

#include <string.h>

#define MOST_LISTED 16 /* elements of a list or tuple of arguments */
#define MOST_NESTED 3
#define MOST_NAMES 64 /* that are kept; a power of two */

/* Objects that `install_descriptions` is given, and interned names of attributes. */
static PyObject *sparse_classes, *constant_classes, *versions, *get_default_dtype;
static PyObject *n_version, *n_start, *n_stop, *n_step;

static int add(Arguments *call, int64_t word)
{
	if (call->count == MOST_WORDS)
		return 0;
	call->words[call->count++] = word;
	return 1;
}

/* Adds dtype, shape and strides, and whether autograd follows; `size` is that of a pattern's values, -1 otherwise. */
static int add_elements(Arguments *call, PyObject *tensor, int64_t size)
{
	Handle handle;
	int32_t dtype;
	int64_t ndim, length, *shape, *strides;
	if (PySet_Contains(plain, (PyObject *)Py_TYPE(tensor)) != 1 || tensor_from_object(tensor, &handle))
		return PyErr_Occurred() ? -1 : 0;
	int yes = is_plain(tensor, handle, &dtype);
	if (yes == 1)
		yes = !get_dim(handle, &ndim) && !get_sizes(handle, &shape) && !get_strides(handle, &strides) &&
		      (size < 0 || (ndim == 1 && !get_numel(handle, &length) && length == size)) && add(call, dtype) && add(call, ndim);
	for (int64_t n = 0; yes == 1 && n < ndim; n++)
		yes = add(call, shape[n]) && add(call, strides[n]);
	delete_tensor(handle);
	int followed = yes == 1 && grad_enabled() ? truth_of(tensor, n_requires_grad) : 0;
	call->followed |= followed > 0;
	return followed < 0 ? -1 : yes == 1 ? add(call, followed) : yes;
}

/* Adds a tensor to the lists, and where its elements are those of another one: the plan of a call like this reads them once. */
static int add_tensor(Arguments *call, PyObject *tensor, PyObject *values, PyObject *pattern)
{
	for (Py_ssize_t n = 0; n < call->tensor_count; n++)
		if (values != Py_None && PyList_GetItem(call->values, n) == values) {
			if (!add(call, SAME) || !add(call, n))
				return 0;
			break;
		}
	if (call->tensor_count == MOST_OBJECTS)
		return 0;
	call->tensors[call->tensor_count++] = tensor;
	return PyList_Append(call->values, values) < 0 || PyList_Append(call->patterns, pattern) < 0 ? -1 : 1;
}

static int add_constant(Arguments *call, PyObject *constant)
{
	if (call->constant_count == MOST_OBJECTS)
		return 0;
	call->constants[call->constant_count++] = constant;
	return 1;
}

int is_zero(PyObject *fill)
{
	if (PyLong_CheckExact(fill)) {
		int overflow;
		return PyLong_AsLongLongAndOverflow(fill, &overflow) == 0 && !overflow;
	}
	int yes = PyObject_IsTrue(fill);
	return yes < 0 ? -1 : !yes;
}

/* Adds a SparseTensor whose fill value is 0, by its pattern and what its values are like. */
static int add_sparse(Arguments *call, PyObject *tensor)
{
	PyObject *whole = PyObject_GetAttr(tensor, n_whole), *size = NULL;
	if (whole == NULL || !PyTuple_Check(whole) || PyTuple_Size(whole) != 3) {
		Py_XDECREF(whole);
		return PyErr_Occurred() ? -1 : 0;
	}
	PyObject *pattern = PyTuple_GetItem(whole, 0), *values = PyTuple_GetItem(whole, 1);
	int yes = is_zero(PyTuple_GetItem(whole, 2));
	if (yes == 1 && (size = PyObject_GetAttr(pattern, n_size)) == NULL)
		yes = -1;
	if (yes == 1) {
		int64_t wanted = PyLong_CheckExact(size) ? PyLong_AsLongLong(size) : -1;
		yes = wanted >= 0 && add(call, SPARSE) && add(call, (intptr_t)pattern) && add(call, values != Py_None);
		if (yes == 1 && values != Py_None)
			yes = add_elements(call, values, wanted);
		if (yes == 1)
			yes = add_tensor(call, tensor, values, pattern);
	}
	Py_XDECREF(size);
	Py_DECREF(whole);
	return yes;
}

static int add_float(Arguments *call, PyObject *object)
{
	double number = PyFloat_AsDouble(object);
	int64_t bits; /* zeros have signs */
	memcpy(&bits, &number, sizeof bits);
	return number == number && add(call, FLOAT) && add(call, bits);
}

static int describe(Arguments *call, PyObject *object, int depth);

/* Adds a slice by its three parts, of which integers and None are constants. */
static int add_slice(Arguments *call, PyObject *slice)
{
	PyObject *const parts[] = {n_start, n_stop, n_step};
	int yes = add(call, SLICE);
	for (int n = 0; yes == 1 && n < 3; n++) {
		PyObject *part = PyObject_GetAttr(slice, parts[n]); /* the slice has its own reference */
		yes = part == NULL ? -1 : describe(call, part, 0);
		Py_XDECREF(part);
	}
	return yes;
}

/* The elements of a list as a tuple, which the call keeps; NULL with an exception. */
static PyObject *copied(Arguments *call, PyObject *list)
{
	if (call->copies == NULL && (call->copies = PyList_New(0)) == NULL)
		return NULL;
	PyObject *copy = PyList_AsTuple(list);
	int status = copy == NULL ? -1 : PyList_Append(call->copies, copy);
	Py_XDECREF(copy); /* `copies` has a reference */
	return status < 0 ? NULL : copy;
}

/* Adds what an argument has in common with that of a call like this: 1; 0 where that can't be said, -1 with an exception. */
static int describe(Arguments *call, PyObject *object, int depth)
{
	PyObject *kind = (PyObject *)Py_TYPE(object);
	for (Py_ssize_t n = 0; n < call->tensor_count; n++)
		if (call->tensors[n] == object)
			return add(call, AGAIN) && add(call, n);
	int yes = PySet_Contains(sparse_classes, kind);
	if (yes != 0)
		return yes < 0 ? -1 : add_sparse(call, object);
	if ((yes = PySet_Contains(plain, kind)) != 0) {
		yes = yes < 0 ? -1 : !add(call, DENSE) ? 0 : add_elements(call, object, -1);
		return yes == 1 ? add_tensor(call, object, object, Py_None) : yes;
	}
	if ((yes = PySet_Contains(constant_classes, kind)) != 0)
		return yes < 0 ? -1 : add_constant(call, object) && add(call, CONSTANT) && add(call, (intptr_t)kind);
	if (PyFloat_CheckExact(object))
		return add_float(call, object);
	if (kind == (PyObject *)&PySlice_Type)
		return add_slice(call, object);
	bool listed = PyList_CheckExact(object);
	if (depth == 0 || !(listed || PyTuple_CheckExact(object)))
		return 0;
	if (listed && (object = copied(call, object)) == NULL)
		return -1;
	Py_ssize_t length = PyTuple_Size(object);
	yes = length <= MOST_LISTED && add(call, listed ? LIST : TUPLE) && add(call, length);
	for (Py_ssize_t n = 0; yes == 1 && n < length; n++)
		yes = describe(call, PyTuple_GetItem(object, n), depth - 1);
	return yes;
}

int describe_all(Arguments *call, PyObject *args, PyObject *kwargs)
{
	int yes = 1;
	for (Py_ssize_t n = 0; yes == 1 && n < PyTuple_Size(args); n++)
		yes = describe(call, PyTuple_GetItem(args, n), MOST_NESTED);
	PyObject *name, *value;
	Py_ssize_t place = 0;
	if (yes == 1 && PyDict_Size(kwargs) > 0)
		yes = add(call, NAMES);
	while (yes == 1 && PyDict_Next(kwargs, &place, &name, &value)) {
		yes = describe(call, value, MOST_NESTED);
		if (yes == 1)
			yes = add_constant(call, name);
	}
	return yes;
}

/* A name from parts that it takes the references of. */
static PyObject *new_name(const Arguments *call, PyObject *function, PyObject *dtype, PyObject *version)
{
	PyObject *name = PyTuple_New(4 + call->constant_count);
	PyObject *words = PyBytes_FromStringAndSize((const char *)call->words, call->count * (Py_ssize_t)sizeof *call->words);
	PyObject *const parts[] = {function, dtype, version};
	if (name == NULL || words == NULL) {
		Py_XDECREF(name);
		Py_XDECREF(words);
		return NULL;
	}
	for (Py_ssize_t n = 0; n < 3; n++) {
		Py_INCREF(parts[n]);
		PyTuple_SetItem(name, n, parts[n]);
	}
	PyTuple_SetItem(name, 3, words);
	for (Py_ssize_t n = 0; n < call->constant_count; n++) {
		Py_INCREF(call->constants[n]);
		PyTuple_SetItem(name, 4 + n, call->constants[n]);
	}
	return name;
}

/* Names of recent calls, each at a place that follows from its words: to make one anew takes longer than to compare. */
static PyObject *recent[MOST_NAMES];

/* Whether a name is the one of these parts: the same objects, and equal words. */
static bool is_name(PyObject *name, const Arguments *call, PyObject *function, PyObject *dtype, PyObject *version)
{
	size_t size = (size_t)call->count * sizeof *call->words;
	if (name == NULL || PyTuple_Size(name) != 4 + call->constant_count || PyTuple_GetItem(name, 0) != function ||
	    PyTuple_GetItem(name, 1) != dtype || PyTuple_GetItem(name, 2) != version)
		return false;
	PyObject *words = PyTuple_GetItem(name, 3);
	if ((size_t)PyBytes_Size(words) != size || memcmp(PyBytes_AsString(words), call->words, size) != 0)
		return false;
	for (Py_ssize_t n = 0; n < call->constant_count; n++)
		if (PyTuple_GetItem(name, 4 + n) != call->constants[n])
			return false;
	return true;
}

PyObject *name_of(const Arguments *call, PyObject *function)
{
	PyObject *dtype = PyObject_CallNoArgs(get_default_dtype), *version = PyObject_GetAttr(versions, n_version), *name = NULL;
	uint64_t place = (uint64_t)(uintptr_t)function >> 4;
	for (Py_ssize_t n = 0; n < call->count; n++)
		place = (place ^ (uint64_t)call->words[n]) * 0x9E3779B97F4A7C15u;
	PyObject **kept = &recent[place >> 32 & (MOST_NAMES - 1)];
	if (dtype != NULL && version != NULL) {
		name = *kept;
		if (is_name(name, call, function, dtype, version)) {
			Py_INCREF(name);
		} else if ((name = new_name(call, function, dtype, version)) != NULL) {
			PyObject *old = *kept;
			Py_INCREF(name);
			*kept = name;
			Py_XDECREF(old);
		}
	}
	Py_XDECREF(dtype);
	Py_XDECREF(version);
	return name;
}

static PyObject *install_descriptions(PyObject *module, PyObject *args)
{
	(void)module;
	if (!PyArg_ParseTuple(args, "OOOO", &sparse_classes, &constant_classes, &versions, &get_default_dtype))
		return NULL;
	Py_INCREF(args); /* kept for good, and the objects with it */
	Py_RETURN_NONE;
}

PyMethodDef describe_functions[] = {
	{"install_descriptions", install_descriptions, METH_VARARGS, "Takes the objects that names of calls are made with."},
	{NULL, NULL, 0, NULL},
};

int prepare_description_names(void)
{
	const struct {
		PyObject **name;
		const char *text;
	} names[] = {{&n_version, "_version"}, {&n_start, "start"}, {&n_stop, "stop"}, {&n_step, "step"}};
	for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
		if ((*names[n].name = PyUnicode_InternFromString(names[n].text)) == NULL)
			return -1;
	return 0;
}
