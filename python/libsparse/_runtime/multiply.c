/* The shortest way of a repeated product, `A @ x`: _tensor/short_product.py, which defines it, in C.
 *
 * It asks everything of the operands that has to be known before a kernel runs that the pattern keeps for their shape.
 */
#include "direct.h"

/* Objects of Python that `install` is given, and interned names of attributes. */
PyObject *plain, *n_whole, *n_held, *n_pattern, *n_size, *n_requires_grad, *n_variant;
static PyObject *threads_module, *forward_mode, *watchers, *torch_threads, *is_neg, *is_conj;
static PyObject *n_fast, *n_shape, *n_direct, *n_count, *n_level, *n_version;

int truth_of(PyObject *object, PyObject *name)
{
	PyObject *value = PyObject_GetAttr(object, name);
	int truth = value == NULL ? -1 : PyObject_IsTrue(value);
	Py_XDECREF(value);
	return truth;
}

/* Whether a function of one object, or of none (NULL), returns something true; -1 with an exception. */
static int answer_of(PyObject *function, PyObject *object)
{
	PyObject *value = object == NULL ? PyObject_CallNoArgs(function) : PyObject_CallFunctionObjArgs(function, object, NULL);
	int truth = value == NULL ? -1 : PyObject_IsTrue(value);
	Py_XDECREF(value);
	return truth;
}

int is_watched(void)
{
	PyObject *level = PyObject_GetAttr(forward_mode, n_level);
	int watched = level == NULL ? -1 : PyLong_AsLong(level) >= 0;
	Py_XDECREF(level);
	for (Py_ssize_t n = 0; watched == 0 && n < PyTuple_Size(watchers); n++)
		watched = answer_of(PyTuple_GetItem(watchers, n), NULL);
	return watched;
}

/* Whether autograd follows the product with values, which are None where there are none; -1 with an exception. */
static int is_followed(PyObject *values, PyObject *other)
{
	int yes = grad_enabled() ? truth_of(other, n_requires_grad) : 0;
	return yes == 0 && values != Py_None && grad_enabled() ? truth_of(values, n_requires_grad) : yes;
}

/* Whether a tensor is an array in memory of a dtype, as a kernel reads it. */
static bool is_array(Handle tensor, int32_t dtype)
{
	int32_t own, device, layout;
	bool stored, contiguous;
	return !get_layout(tensor, &layout) && layout == layout_strided() && !get_storage(tensor, &stored) && stored &&
	       !get_dtype(tensor, &own) && own == dtype && !get_device(tensor, &device) && device == device_cpu() &&
	       !get_contiguous(tensor, &contiguous) && contiguous;
}

/* Whether the values are as many as the pattern has; -1 with an exception. */
static int fits(PyObject *matrix, Handle values)
{
	PyObject *pattern = PyObject_GetAttr(matrix, n_pattern);
	PyObject *size = pattern == NULL ? NULL : PyObject_GetAttr(pattern, n_size);
	int64_t wanted = size == NULL ? -1 : PyLong_AsLongLong(size), length;
	Py_XDECREF(pattern);
	Py_XDECREF(size);
	return PyErr_Occurred() ? -1 : !get_numel(values, &length) && length == wanted;
}

int is_lazy(PyObject *tensor, int32_t dtype)
{
	int lazy = answer_of(is_neg, tensor);
	return lazy == 0 && (dtype == complex_float() || dtype == complex_double()) ? answer_of(is_conj, tensor) : lazy;
}

int is_plain(PyObject *tensor, Handle handle, int32_t *dtype)
{
	int32_t device, layout;
	bool stored;
	if (get_layout(handle, &layout) || layout != layout_strided() || get_storage(handle, &stored) || !stored ||
	    get_dtype(handle, dtype) || get_device(handle, &device) || device != device_cpu())
		return 0;
	int lazy = is_lazy(tensor, *dtype);
	return lazy < 0 ? -1 : !lazy;
}

int64_t count_threads(void)
{
	uint32_t number;
	PyObject *counter = PyObject_GetAttr(threads_module, n_count);
	if (counter == torch_threads && !get_threads(&number)) {
		Py_DECREF(counter);
		return number;
	}
	PyObject *count = counter == NULL ? NULL : PyObject_CallNoArgs(counter);
	int64_t found = count == NULL ? -1 : PyLong_AsLongLong(count);
	Py_XDECREF(counter);
	Py_XDECREF(count);
	return found;
}

/* The product with values as they are. */
static PyObject *computed_anew(const Held *held, PyObject *values, Handle other, int64_t threads)
{
	Handle operands[2] = {NULL, other};
	if (tensor_from_object(values, &operands[0]))
		return NULL;
	PyObject *out = run(held->plain, operands, threads, NULL);
	delete_tensor(operands[0]);
	return out;
}

/* The product where the operands are as the kernel wants them, else NULL; with an exception where something failed. */
static PyObject *product(const Direct *direct, PyObject *matrix, PyObject *values, PyObject *other, const Held *held)
{
	PyObject *out = NULL, *read = values;
	Handle operands[2];
	int64_t threads = count_threads();
	if (threads < 0 || is_watched() || is_followed(values, other) || is_lazy(other, direct->dtype) ||
	    tensor_from_object(values, &operands[0]))
		return NULL;
	bool fit = is_array(operands[0], direct->dtype) && fits(matrix, operands[0]) == 1;
	if (fit && held != NULL && ((direct = held_kernel(held, &read, threads)) == NULL || read != values)) {
		delete_tensor(operands[0]);
		if (direct == NULL || tensor_from_object(read, &operands[0])) {
			Py_XDECREF(direct == NULL ? NULL : read);
			return NULL;
		}
	}
	if (fit && !tensor_from_object(other, &operands[1])) {
		if (is_array(operands[1], direct->dtype))
			out = run(direct, operands, threads, NULL);
		if (out != NULL && held != NULL && met_padding(held, direct, out, threads)) {
			Py_DECREF(out);
			out = computed_anew(held, values, operands[1], threads);
		}
		delete_tensor(operands[1]);
	}
	delete_tensor(operands[0]);
	if (fit && held != NULL)
		Py_DECREF(read);
	return out;
}

/* The same with a matrix that has no values. */
static PyObject *product_of_pattern(const Direct *direct, PyObject *other)
{
	PyObject *out = NULL;
	Handle operand;
	int64_t threads = count_threads();
	if (threads < 0 || is_watched() || is_followed(Py_None, other) || is_lazy(other, direct->dtype) ||
	    tensor_from_object(other, &operand))
		return NULL;
	if (is_array(operand, direct->dtype))
		out = run(direct, &operand, threads, NULL);
	delete_tensor(operand);
	return out;
}

/* The name of a product in a pattern's dictionary: the shape of the dense operand, with None where there are no values. */
static PyObject *product_name(PyObject *other, PyObject *values)
{
	PyObject *shape = PyObject_GetAttr(other, n_shape);
	if (shape == NULL || values != Py_None)
		return shape;
	PyObject *name = PyTuple_Pack(2, Py_None, shape);
	Py_DECREF(shape);
	return name;
}

/* The same, with the kernel that the pattern keeps for the shape of the dense operand. */
static PyObject *short_product(PyObject *matrix, PyObject *other)
{
	PyObject *fast = PyObject_GetAttr(matrix, n_fast), *variant = NULL, *direct = NULL, *out = NULL;
	PyObject *values = fast == NULL ? NULL : PyObject_GetAttr(matrix, n_held);
	PyObject *name = values == NULL ? NULL : product_name(other, values);
	PyObject *known = name == NULL ? NULL : PyDict_GetItemWithError(fast, name);
	Py_XINCREF(known); /* another thread may clear the dictionary */
	if (known != NULL && (variant = PyObject_GetAttr(known, n_variant)) != NULL &&
	    (direct = PyObject_GetAttr(variant, n_direct)) != NULL) {
		const Held *held = Py_TYPE(direct) == held_type ? (Held *)direct : NULL;
		if (values == Py_None)
			out = Py_TYPE(direct) == direct_type ? product_of_pattern((Direct *)direct, other) : NULL;
		else if (held != NULL || Py_TYPE(direct) == direct_type)
			out = product(held == NULL ? (Direct *)direct : held->run, matrix, values, other, held);
	}
	Py_XDECREF(fast);
	Py_XDECREF(name);
	Py_XDECREF(known);
	Py_XDECREF(variant);
	Py_XDECREF(direct);
	Py_XDECREF(values);
	return out;
}

/* A product, or None where there was no short way to it. */
static PyObject *product_or_none(PyObject *product)
{
	if (product != NULL || (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_RuntimeError)))
		return product;
	PyErr_Clear(); /* operands of torch's transforms have no memory */
	Py_RETURN_NONE;
}

static PyObject *multiply(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
	(void)module;
	if (count != 2) {
		PyErr_SetString(PyExc_TypeError, "multiply takes two operands");
		return NULL;
	}
	bool is_plain = PySet_Contains(plain, (PyObject *)Py_TYPE(args[1])) == 1;
	return product_or_none(is_plain ? short_product(args[0], args[1]) : NULL);
}

/* --- multiply_kept: the same for a tensor of torch's under `ls.enable()` ---------------------------------------------- */

/* Whether a tensor's version counter is a number; -1 with an exception. */
static int has_version(PyObject *tensor, PyObject *number)
{
	PyObject *version = PyObject_GetAttr(tensor, n_version);
	int same = version == NULL ? -1 : PyObject_RichCompareBool(version, number, Py_EQ);
	Py_XDECREF(version);
	return same;
}

/* Whether what is kept of a tensor (class Kept in _torch/wrapped.py) is still true of it; -1 with an exception. */
static int is_current(PyObject *kept, PyObject *source)
{
	PyObject *object = PyObject_CallFunctionObjArgs(PyTuple_GetItem(kept, 0), NULL);
	Py_XDECREF(object);
	int yes = object == NULL ? -1 : object == source;
	if (yes == 1 && (yes = has_version(source, PyTuple_GetItem(kept, 1))) == 1)
		yes = (yes = truth_of(source, n_requires_grad)) < 0 ? yes : !yes;
	PyObject *arrays = PyTuple_GetItem(kept, 2), *versions = PyTuple_GetItem(kept, 3);
	for (Py_ssize_t n = 0; yes == 1 && n < PyTuple_Size(arrays); n++)
		yes = has_version(PyTuple_GetItem(arrays, n), PyTuple_GetItem(versions, n));
	return yes;
}

/* The product of a tensor for which a table keeps a matrix and a dense operand of one of some ranks, else NULL. */
static PyObject *kept_product(PyObject *matrix, PyObject *other, PyObject *table, PyObject *ranks)
{
	PyObject *key = PyLong_FromVoidPtr(matrix), *shape = NULL, *rank = NULL, *out = NULL;
	PyObject *kept = key == NULL ? NULL : PyDict_GetItemWithError(table, key);
	Py_XINCREF(kept); /* another thread may clear the dictionary */
	if (kept != NULL && PySet_Contains(plain, (PyObject *)Py_TYPE(other)) == 1 && is_current(kept, matrix) == 1 &&
	    (shape = PyObject_GetAttr(other, n_shape)) != NULL && (rank = PyLong_FromSsize_t(PyTuple_Size(shape))) != NULL &&
	    PySequence_Contains(ranks, rank) == 1)
		out = short_product(PyTuple_GetItem(kept, 4), other);
	Py_XDECREF(key);
	Py_XDECREF(kept);
	Py_XDECREF(shape);
	Py_XDECREF(rank);
	return out;
}

static PyObject *multiply_kept(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
	(void)module;
	if (count != 3) {
		PyErr_SetString(PyExc_TypeError, "multiply_kept takes operands, a table and ranks");
		return NULL;
	}
	bool is_pair = PyTuple_Size(args[0]) == 2;
	return product_or_none(
		is_pair ? kept_product(PyTuple_GetItem(args[0], 0), PyTuple_GetItem(args[0], 1), args[1], args[2]) : NULL);
}

static PyObject *install(PyObject *module, PyObject *args)
{
	(void)module;
	if (!PyArg_ParseTuple(args, "OOOOOOO", &plain, &threads_module, &forward_mode, &watchers, &torch_threads, &is_neg, &is_conj))
		return NULL;
	Py_INCREF(args); /* kept for good, and the objects with it */
	Py_RETURN_NONE;
}

PyMethodDef multiply_functions[] = {
	{"install", install, METH_VARARGS, "Takes the objects of torch and of the package that `multiply` calls."},
	{"multiply", (PyCFunction)(void (*)(void))multiply, METH_FASTCALL,
	 "multiply(matrix, other): the product by the short way, None where there is none."},
	{"multiply_kept", (PyCFunction)(void (*)(void))multiply_kept, METH_FASTCALL,
	 "multiply_kept(operands, kept, ranks): as `multiply`, of a tensor of torch's that is kept and another one."},
	{NULL, NULL, 0, NULL},
};

int prepare_multiply_names(void)
{
	const struct {
		PyObject **name;
		const char *text;
	} names[] = {
		{&n_whole, "_whole"},  {&n_held, "_held"},    {&n_fast, "_fast"},       {&n_pattern, "_pattern"}, {&n_size, "size"},
		{&n_shape, "shape"},   {&n_variant, "variant"},  {&n_direct, "direct"},    {&n_count, "count"},
		{&n_level, "_current_level"}, {&n_requires_grad, "requires_grad"},
		{&n_version, "_version"},
	};
	for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
		if ((*names[n].name = PyUnicode_InternFromString(names[n].text)) == NULL)
			return -1;
	return 0;
}
