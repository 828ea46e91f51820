/* The shortest way of a repeated product, `A @ x`: direct.py and _tensor/short_product.py, which define it, in C.
 *
 * It calls kernels that the compiler has made and computes nothing by itself. Only stable interfaces are used, Python's
 * limited one and torch's C functions, which are looked up when the package is imported: one build serves every Python and
 * every torch. Where a function is missing (torch before 2.14), the same steps run in Python at twice the cost of a call.
 */
#include "direct.h"

#include <dlfcn.h>
#include <stdio.h>

/* Functions of torch; those that return int32_t and take a tensor, and `allocate`, return 0 where they succeed. */
int32_t (*tensor_from_object)(void *, Handle *), (*object_from_tensor)(Handle, void *, void **);
int32_t (*delete_tensor)(Handle), (*get_data)(Handle, void **), (*get_numel)(Handle, int64_t *);
int32_t (*get_dtype)(Handle, int32_t *), (*get_device)(Handle, int32_t *), (*get_layout)(Handle, int32_t *);
int32_t (*get_contiguous)(Handle, bool *), (*get_storage)(Handle, bool *);
int32_t (*get_dim)(Handle, int64_t *), (*get_sizes)(Handle, int64_t **), (*get_strides)(Handle, int64_t **);
int32_t (*layout_strided)(void), (*device_cpu)(void), (*dtype_int32)(void), (*dtype_int64)(void);
int32_t (*complex_float)(void), (*complex_double)(void);
bool (*grad_enabled)(void);
int32_t (*allocate)(int64_t, const int64_t *, const int64_t *, int32_t, int32_t, int32_t, Handle *);
static int32_t (*get_threads)(uint32_t *);

static const struct {
	const char *name;
	void **address;
} torch_functions[] = {
	{"torch_tensor_from_pyobject", (void **)&tensor_from_object},
	{"torch_tensor_to_pyobject", (void **)&object_from_tensor},
	{"aoti_torch_delete_tensor_object", (void **)&delete_tensor},
	{"aoti_torch_get_data_ptr", (void **)&get_data},
	{"aoti_torch_get_numel", (void **)&get_numel},
	{"aoti_torch_get_dtype", (void **)&get_dtype},
	{"aoti_torch_get_device_type", (void **)&get_device},
	{"aoti_torch_get_layout", (void **)&get_layout},
	{"aoti_torch_is_contiguous", (void **)&get_contiguous},
	{"torch_has_storage", (void **)&get_storage},
	{"aoti_torch_get_dim", (void **)&get_dim},
	{"aoti_torch_get_sizes", (void **)&get_sizes},
	{"aoti_torch_get_strides", (void **)&get_strides},
	{"aoti_torch_empty_strided", (void **)&allocate},
	{"aoti_torch_layout_strided", (void **)&layout_strided},
	{"aoti_torch_device_type_cpu", (void **)&device_cpu},
	{"aoti_torch_dtype_int32", (void **)&dtype_int32},
	{"aoti_torch_dtype_int64", (void **)&dtype_int64},
	{"aoti_torch_dtype_complex64", (void **)&complex_float},
	{"aoti_torch_dtype_complex128", (void **)&complex_double},
	{"aoti_torch_grad_mode_is_enabled", (void **)&grad_enabled},
	{"torch_get_num_threads", (void **)&get_threads},
};

/* Objects of Python that `install` is given, and interned names of attributes. */
PyObject *plain, *n_whole, *n_held, *n_pattern, *n_size, *n_requires_grad, *n_variant;
PyTypeObject *direct_type;
static PyObject *threads_module, *forward_mode, *watchers, *torch_threads, *check_status, *is_neg, *is_conj;
static PyObject *n_fast, *n_shape, *n_direct, *n_count, *n_level, *n_version;

/* --- Direct: a kernel with the contents of its slots ------------------------------------------------------------ */

PyObject *failed(const char *what)
{
	PyErr_Format(PyExc_RuntimeError, "torch: %s", what);
	return NULL;
}

/* Where a tensor's elements are, as the content of a slot; false where torch knows of none, or has freed them. */
static bool locate(Handle tensor, int64_t *slot)
{
	void *data;
	int64_t count;
	if (get_data(tensor, &data) || (data == NULL && (get_numel(tensor, &count) || count != 0)))
		return false;
	*slot = (int64_t)(intptr_t)data;
	return true;
}

/* A tensor for the result; false, with an exception, where there is no memory. */
static bool new_result(const Direct *self, Handle *out)
{
	if (self->large == NULL)
		return !allocate(self->ndim, self->shape, self->strides, self->dtype, device_cpu(), 0, out) ||
		       failed("no memory for the result") != NULL; /* which torch says in its own words, in Python */
	PyObject *tensor = PyObject_CallNoArgs(self->large);
	bool made = tensor != NULL && (!tensor_from_object(tensor, out) || failed("the memory of the result is no tensor") != NULL);
	Py_XDECREF(tensor);
	return made;
}

PyObject *run(const Direct *self, const Handle *operands, int64_t threads)
{
	int64_t slots[MOST_SLOTS];
	const int *place = self->places + self->arrays;
	for (Py_ssize_t n = 0; n < self->slots; n++)
		slots[n] = self->fixed[n];
	for (Py_ssize_t n = 0; n < self->arrays; n++)
		if (!locate(self->array[n], &slots[self->places[n]]))
			return failed("a pattern has no memory: the storage of an index array has been freed");
	Handle out;
	if (!new_result(self, &out))
		return NULL;
	bool located = locate(out, &slots[place[self->operands]]);
	for (Py_ssize_t n = 0; located && n < self->operands; n++)
		located = locate(operands[n], &slots[place[n]]);
	if (!located) {
		delete_tensor(out);
		return failed("an operand has no memory: its storage has been freed");
	}
	slots[place[self->operands + 1]] = threads;
	int32_t status;
	int64_t begun = begin_call(self->tally), taken;
	Py_BEGIN_ALLOW_THREADS
	status = self->compute(slots);
	taken = time_since(begun);
	Py_END_ALLOW_THREADS
	if (begun != 0)
		add_time(self->tally, taken);
	void *result = NULL;
	if (status != 0)
		Py_XDECREF(PyObject_CallFunction(check_status, "i", (int)status)); /* raises */
	else if (object_from_tensor(out, NULL, &result))
		failed("a result without an object");
	delete_tensor(out);
	return result;
}

static PyObject *direct_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
	const Direct *direct = (Direct *)self;
	PyObject *out = NULL;
	Handle operands[MOST_SLOTS];
	Py_ssize_t count = PyTuple_Size(args) - 1, read = 0;
	(void)kwargs;
	if (count != direct->operands)
		return PyErr_Format(PyExc_TypeError, "expected %zd operands and a number of threads", direct->operands);
	while (read < count && !tensor_from_object(PyTuple_GetItem(args, read), &operands[read]))
		read++;
	long long threads = PyLong_AsLongLong(PyTuple_GetItem(args, count));
	if (read < count)
		failed("an operand is no tensor");
	else if (!PyErr_Occurred())
		out = run(direct, operands, threads);
	while (read > 0)
		delete_tensor(operands[--read]);
	return out;
}

/* Takes the shape, the strides and the number of the dtype of the result; -1 with an exception. */
static int take_result(Direct *self, PyObject *result)
{
	self->ndim = (PyTuple_Size(result) - 1) / 2;
	if (PyTuple_Size(result) != 2 * self->ndim + 1 || self->ndim > MOST_MODES) {
		PyErr_SetString(PyExc_ValueError, "expected an extent and a stride of each of a few modes, and a dtype");
		return -1;
	}
	for (int64_t n = 0; n < self->ndim; n++) {
		self->shape[n] = PyLong_AsLongLong(PyTuple_GetItem(result, n));
		self->strides[n] = PyLong_AsLongLong(PyTuple_GetItem(result, self->ndim + n));
	}
	self->dtype = (int32_t)PyLong_AsLong(PyTuple_GetItem(result, 2 * self->ndim));
	return PyErr_Occurred() ? -1 : 0;
}

/* Direct(address of the kernel, fixed contents of the slots, arrays, their places and the others, extents, strides and dtype of
 * the result, tally, function that makes a large result or None) */
static PyObject *direct_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	PyObject *fixed, *arrays, *places, *result, *tally, *large;
	unsigned long long compute;
	(void)kwargs;
	if (!PyArg_ParseTuple(args, "KO!O!O!O!O!O", &compute, &PyTuple_Type, &fixed, &PyTuple_Type, &arrays, &PyTuple_Type, &places,
			      &PyTuple_Type, &result, tally_type, &tally, &large))
		return NULL;
	Py_ssize_t slots = PyTuple_Size(fixed), count = PyTuple_Size(arrays);
	Py_ssize_t placed = PyTuple_Size(places);
	if (slots > MOST_SLOTS || placed > slots || placed < count + 2) {
		PyErr_SetString(PyExc_ValueError, "too many slots, or places that don't fit the arrays");
		return NULL;
	}
	Direct *self = (Direct *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0); /* filled with zeros */
	if (self == NULL)
		return NULL;
	Py_INCREF(tally);
	self->tally = (Tally *)tally;
	if (large != Py_None) {
		Py_INCREF(large);
		self->large = large;
	}
	self->compute = (kernel_function)(uintptr_t)compute;
	self->slots = slots;
	self->operands = placed - count - 2;
	for (Py_ssize_t n = 0; n < slots; n++)
		self->fixed[n] = PyLong_AsLongLong(PyTuple_GetItem(fixed, n));
	for (Py_ssize_t n = 0; n < placed; n++) {
		long place = PyLong_AsLong(PyTuple_GetItem(places, n));
		if (!PyErr_Occurred() && (place < 0 || place >= slots))
			PyErr_SetString(PyExc_ValueError, "a place outside of the slots");
		self->places[n] = (int)place;
	}
	while (!PyErr_Occurred() && self->arrays < count)
		if (tensor_from_object(PyTuple_GetItem(arrays, self->arrays), &self->array[self->arrays]))
			failed("a pattern's array is no tensor");
		else
			self->arrays++;
	if (PyErr_Occurred() || take_result(self, result) < 0) {
		Py_DECREF(self);
		return NULL;
	}
	return (PyObject *)self;
}

static void direct_dealloc(PyObject *object)
{
	Direct *self = (Direct *)object;
	PyTypeObject *type = Py_TYPE(object);
	while (self->arrays > 0)
		delete_tensor(self->array[--self->arrays]);
	Py_XDECREF((PyObject *)self->tally);
	Py_XDECREF(self->large);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
	Py_DECREF(type);
}

/* --- multiply: everything that is asked of the operands before ----------------------------------------------------- */

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

/* Whether autograd follows the product; -1 with an exception. */
static int is_followed(PyObject *values, PyObject *other)
{
	int yes = grad_enabled() ? truth_of(other, n_requires_grad) : 0;
	return yes == 0 && grad_enabled() ? truth_of(values, n_requires_grad) : yes;
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

/* The product where the operands are as the kernel wants them, else NULL; with an exception where something failed. */
static PyObject *product(const Direct *direct, PyObject *matrix, PyObject *values, PyObject *other)
{
	PyObject *out = NULL;
	Handle operands[2];
	int64_t threads = count_threads();
	if (threads < 0 || is_watched() || is_followed(values, other) || is_lazy(other, direct->dtype) ||
	    tensor_from_object(values, &operands[0]))
		return NULL;
	if (!tensor_from_object(other, &operands[1])) {
		if (is_array(operands[0], direct->dtype) && is_array(operands[1], direct->dtype) && fits(matrix, operands[0]) == 1)
			out = run(direct, operands, threads);
		delete_tensor(operands[1]);
	}
	delete_tensor(operands[0]);
	return out;
}

/* The same, with the kernel that the pattern keeps for the shape of the dense operand. */
static PyObject *short_product(PyObject *matrix, PyObject *other)
{
	PyObject *fast = PyObject_GetAttr(matrix, n_fast), *values = NULL, *variant = NULL, *direct = NULL, *out = NULL;
	PyObject *shape = fast == NULL ? NULL : PyObject_GetAttr(other, n_shape);
	PyObject *known = shape == NULL ? NULL : PyDict_GetItemWithError(fast, shape);
	Py_XINCREF(known); /* another thread may clear the dictionary */
	if (known != NULL && (variant = PyObject_GetAttr(known, n_variant)) != NULL &&
	    (direct = PyObject_GetAttr(variant, n_direct)) != NULL && Py_TYPE(direct) == direct_type &&
	    (values = PyObject_GetAttr(matrix, n_held)) != NULL)
		out = product((Direct *)direct, matrix, values, other);
	Py_XDECREF(fast);
	Py_XDECREF(shape);
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

/* --- The module -------------------------------------------------------------------------------------------------- */

/* Functions that return the numbers of dtypes. */
static struct {
	const char *name;
	int32_t (*number)(void);
} dtypes[] = {{"bool", NULL},    {"uint8", NULL},    {"int8", NULL},    {"int16", NULL},   {"int32", NULL},     {"int64", NULL},
	      {"float16", NULL}, {"bfloat16", NULL}, {"float32", NULL}, {"float64", NULL}, {"complex64", NULL}, {"complex128", NULL}};
#define DTYPES (sizeof dtypes / sizeof dtypes[0])

/* The number of a dtype by its name, as "float32". */
static PyObject *code_of(PyObject *module, PyObject *dtype)
{
	(void)module;
	for (size_t n = 0; n < DTYPES; n++)
		if (PyUnicode_CompareWithASCIIString(dtype, dtypes[n].name) == 0)
			return PyLong_FromLong(dtypes[n].number());
	return failed("a dtype without a number");
}

/* Looks up torch's functions: whether it has them all. */
static PyObject *connect(PyObject *module, PyObject *args)
{
	const char *path;
	(void)module;
	if (!PyArg_ParseTuple(args, "sOOL", &path, &check_status, &large_integers, &large_bytes))
		return NULL;
	Py_INCREF(args); /* kept for good, and the objects with it */
	void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	bool complete = library != NULL;
	for (size_t n = 0; complete && n < sizeof torch_functions / sizeof torch_functions[0]; n++)
		complete = (*torch_functions[n].address = dlsym(library, torch_functions[n].name)) != NULL;
	for (size_t n = 0; complete && n < DTYPES; n++) {
		char name[64];
		snprintf(name, sizeof name, "aoti_torch_dtype_%s", dtypes[n].name);
		complete = (*(void **)&dtypes[n].number = dlsym(library, name)) != NULL;
	}
	if (complete)
		prepare_integers();
	return PyBool_FromLong(complete);
}

static PyObject *install(PyObject *module, PyObject *args)
{
	(void)module;
	if (!PyArg_ParseTuple(args, "OOOOOOO", &plain, &threads_module, &forward_mode, &watchers, &torch_threads, &is_neg, &is_conj))
		return NULL;
	Py_INCREF(args); /* kept for good, and the objects with it */
	Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
	{"connect", connect, METH_VARARGS,
	 "connect(path of torch's library, check of a kernel's status, maker of large arrays of int32, their size in bytes): whether torch will do."},
	{"code_of", code_of, METH_O, "The number of a dtype in torch's C functions, by its name."},
	{"install", install, METH_VARARGS, "Takes the objects of torch and of the package that `multiply` calls."},
	{"multiply", (PyCFunction)(void (*)(void))multiply, METH_FASTCALL,
	 "multiply(matrix, other): the product by the short way, None where there is none."},
	{"multiply_kept", (PyCFunction)(void (*)(void))multiply_kept, METH_FASTCALL,
	 "multiply_kept(operands, kept, ranks): as `multiply`, of a tensor of torch's that is kept and another one."},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot direct_slots[] = {
	{Py_tp_doc, "A kernel with the contents of its slots: direct(*values, threads)."},
	{Py_tp_new, direct_new},
	{Py_tp_call, direct_call},
	{Py_tp_dealloc, direct_dealloc},
	{0, NULL},
};
static PyType_Spec direct_spec = {"libsparse._runtime._direct.Direct", sizeof(Direct), 0, Py_TPFLAGS_DEFAULT, direct_slots};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_direct", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__direct(void)
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
			return NULL;
	if (prepare_names() < 0 || prepare_description_names() < 0 || prepare_wrap_names() < 0)
		return NULL;
	PyObject *module = PyModule_Create(&definition);
	PyObject *type = module == NULL ? NULL : PyType_FromSpec(&direct_spec);
	direct_type = (PyTypeObject *)type;
	if (type == NULL || PyModule_AddFunctions(module, repeat_functions) < 0 || PyModule_AddFunctions(module, describe_functions) < 0 ||
	     PyModule_AddFunctions(module, wrap_functions) < 0 ||
	    PyModule_AddFunctions(module, compressed_functions) < 0 || prepare_tallies(module) < 0 ||
	    PyModule_AddIntMacro(module, MOST_SLOTS) < 0 || PyModule_AddIntMacro(module, MOST_MODES) < 0 ||
	    PyModule_AddObject(module, "Direct", type) < 0) {
		Py_XDECREF(module);
		Py_XDECREF(type);
		return NULL;
	}
	Py_INCREF(type); /* direct_type's own */
	return module;
}
