/* Kernels with the contents of their slots: direct.py, which defines them, in C; and the module that the files of direct.h make up.
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
int32_t (*get_threads)(uint32_t *);

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

PyTypeObject *direct_type;
PyObject *check_status;

/* --- Direct: a kernel with the contents of its slots ------------------------------------------------------------ */

PyObject *failed(const char *what)
{
	PyErr_Format(PyExc_RuntimeError, "torch: %s", what);
	return NULL;
}

bool locate(Handle tensor, int64_t *slot)
{
	void *data;
	int64_t count;
	if (get_data(tensor, &data) || (data == NULL && (get_numel(tensor, &count) || count != 0)))
		return false;
	*slot = (int64_t)(intptr_t)data;
	return true;
}

/* The tensor for the result, `into` where that is one; false, with an exception, where there is no memory. */
static bool new_result(const Direct *self, PyObject *into, Handle *out)
{
	if (into != NULL)
		return !tensor_from_object(into, out) || failed("what the result is written to is no tensor") != NULL;
	if (self->large == NULL)
		return !allocate(self->ndim, self->shape, self->strides, self->dtype, device_cpu(), 0, out) ||
		       failed("no memory for the result") != NULL; /* which torch says in its own words, in Python */
	PyObject *tensor = PyObject_CallNoArgs(self->large);
	bool made = tensor != NULL && (!tensor_from_object(tensor, out) || failed("the memory of the result is no tensor") != NULL);
	Py_XDECREF(tensor);
	return made;
}

PyObject *run(const Direct *self, const Handle *operands, int64_t threads, PyObject *into)
{
	int64_t slots[MOST_SLOTS];
	const int *place = self->places + self->arrays;
	for (Py_ssize_t n = 0; n < self->slots; n++)
		slots[n] = self->fixed[n];
	for (Py_ssize_t n = 0; n < self->arrays; n++)
		if (!locate(self->array[n], &slots[self->places[n]]))
			return failed("a pattern has no memory: the storage of an index array has been freed");
	Handle out;
	if (!new_result(self, into, &out))
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
	if (result != NULL && tell(self->tally) < 0) {
		Py_DECREF((PyObject *)result);
		return NULL;
	}
	return result;
}

PyObject *new_array(int64_t length, int32_t dtype, int64_t item, PyObject *maker, void **elements)
{
	const int64_t stride = 1;
	const bool large = length > (large_bytes - 1) / item; /* a product may be more than 64 bits number */
	void *object = large ? PyObject_CallFunction(maker, "L", (long long)length) : NULL;
	Handle handle;
	if (large ? object == NULL || tensor_from_object(object, &handle) : allocate(1, &length, &stride, dtype, device_cpu(), 0, &handle)) {
		Py_XDECREF((PyObject *)object);
		return NULL;
	}
	*elements = NULL;
	int bad = get_data(handle, elements) || (!large && object_from_tensor(handle, NULL, &object));
	delete_tensor(handle);
	if (!bad)
		return object;
	Py_XDECREF((PyObject *)object);
	return NULL;
}

static PyObject *direct_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
	const Direct *direct = (Direct *)self;
	PyObject *out = NULL, *into = kwargs == NULL ? NULL : PyDict_GetItemString(kwargs, "out"); /* borrowed */
	Handle operands[MOST_SLOTS];
	Py_ssize_t count = PyTuple_Size(args) - 1, read = 0;
	if (count != direct->operands)
		return PyErr_Format(PyExc_TypeError, "expected %zd operands and a number of threads", direct->operands);
	while (read < count && !tensor_from_object(PyTuple_GetItem(args, read), &operands[read]))
		read++;
	long long threads = PyLong_AsLongLong(PyTuple_GetItem(args, count));
	if (read < count)
		failed("an operand is no tensor");
	else if (!PyErr_Occurred())
		out = run(direct, operands, threads, into);
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

static PyMethodDef functions[] = {
	{"connect", connect, METH_VARARGS,
	 "connect(path of torch's library, check of a kernel's status, maker of large arrays of int32, their size in bytes): whether torch will do."},
	{"code_of", code_of, METH_O, "The number of a dtype in torch's C functions, by its name."},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot direct_slots[] = {
	{Py_tp_doc, "A kernel with the contents of its slots: direct(*values, threads, out=None), where out is like the result."},
	{Py_tp_new, direct_new},
	{Py_tp_call, direct_call},
	{Py_tp_dealloc, direct_dealloc},
	{0, NULL},
};
static PyType_Spec direct_spec = {"libsparse._runtime._direct.Direct", sizeof(Direct), 0, Py_TPFLAGS_DEFAULT, direct_slots};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_direct", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__direct(void)
{
	if (prepare_multiply_names() < 0 || prepare_names() < 0 || prepare_description_names() < 0 || prepare_kind_names() < 0 || prepare_wrap_names() < 0)
		return NULL;
	PyObject *module = PyModule_Create(&definition);
	PyObject *type = module == NULL ? NULL : PyType_FromSpec(&direct_spec);
	PyMethodDef *const tables[] = {multiply_functions, repeat_functions, describe_functions, kind_functions, wrap_functions, compressed_functions, seen_functions};
	int status = type == NULL ? -1 : 0;
	for (size_t n = 0; status == 0 && n < sizeof tables / sizeof tables[0]; n++)
		status = PyModule_AddFunctions(module, tables[n]);
	direct_type = (PyTypeObject *)type;
	if (status < 0 || prepare_tallies(module) < 0 || prepare_held(module) < 0 || prepare_finder(module) < 0 || prepare_bindings(module) < 0 ||
	    PyModule_AddIntMacro(module, MOST_SLOTS) < 0 || PyModule_AddIntMacro(module, MOST_MODES) < 0 ||
	    PyModule_AddObject(module, "Direct", type) < 0) {
		Py_XDECREF(module);
		Py_XDECREF(type);
		return NULL;
	}
	Py_INCREF(type); /* direct_type's own */
	return module;
}
