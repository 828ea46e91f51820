/* Bindings: a kernel for all operands of some classes, and how its slots are filled with those of new patterns; bindings.py makes them.
 *
 * A pattern often comes once, as that of a mini-batch or of a step of a simulation. What its kernel follows from is found here in a tenth of the time
 * that Python takes: dtypes, classes of extents and of entries. How entries are spread is Python's to say.
 */
#include "binding.h"

/* What a slot is filled with: a number, the extent of an index, an array of a pattern, its rows by their lengths, the values of an operand, the
 * result, or how many threads there are. */
enum content { NUMBER, EXTENT, POSITIONS, COORDINATES, ORDER, VALUES, RESULT, THREADS };

typedef struct {
	enum content content;
	int operand; /* or the index */
	int level;
	int64_t number;
} Filling;

typedef struct {
	PyObject_HEAD
	kernel_function compute;
	Py_ssize_t slots, operands;
	Filling filling[MOST_SLOTS];
	Taken taken[MOST_OPERANDS];
	int64_t ndim;
	int32_t dtype;             /* of the result */
	int64_t item;              /* the size of its elements */
	int letter[MOST_MODES], order[MOST_MODES]; /* of the result: indices, and modes as they stand in memory */
	int pattern_of;            /* the operand that has the result's pattern; -1 of a dense result, -2 where the kernel finds it */
	PyObject *finder, *about;  /* a Finder or None; what Python keeps with it */
	Tally *all;
} Binding;

static PyTypeObject *binding_type;
static PyObject *n_pos, *n_crd, *rows_in_order;

/* An array of a pattern's; NULL with an exception. */
static Handle array_of(PyObject *pattern, enum content content, int level)
{
	Handle handle = NULL;
	PyObject *all, *array;
	if (content == ORDER) {
		all = array = PyObject_CallFunctionObjArgs(rows_in_order, pattern, NULL);
	} else {
		all = PyObject_GetAttr(pattern, content == POSITIONS ? n_pos : n_crd);
		array = all == NULL ? NULL : PyTuple_GetItem(all, level);
	}
	if (array != NULL && tensor_from_object(array, &handle))
		failed("a pattern's array is no tensor");
	Py_XDECREF(all); /* the handle has its own reference */
	return handle;
}

/* The shape and the strides of the result; false where it is so large that its memory is Python's to give. */
static bool lay_out(const Binding *self, const Given *given, Direct *direct)
{
	int64_t count = 1;
	const int64_t most = large_bytes / self->item - 1;
	if (self->pattern_of >= 0) {
		direct->ndim = 1, direct->shape[0] = given->size[self->pattern_of], direct->strides[0] = 1;
		return direct->shape[0] <= most;
	}
	direct->ndim = self->ndim;
	for (int64_t n = self->ndim; n-- > 0;) {
		const int mode = self->order[n];
		const int64_t extent = given->extent[self->letter[mode]];
		direct->shape[mode] = extent;
		direct->strides[mode] = count;
		if (__builtin_mul_overflow(count, extent > 0 ? extent : 1, &count) || count > most)
			return false;
	}
	return true;
}

/* The kernel with the operands' arrays and the shape of its result; NULL with an exception, or without one where there is none. */
static PyObject *bound(const Binding *self, const Given *given)
{
	Direct *direct = (Direct *)((allocfunc)PyType_GetSlot(direct_type, Py_tp_alloc))(direct_type, 0); /* filled with zeros */
	if (direct == NULL || !lay_out(self, given, direct)) {
		Py_XDECREF((PyObject *)direct);
		return NULL;
	}
	int at_values[MOST_OPERANDS], at_result = 0, at_threads = 0;
	direct->compute = self->compute, direct->slots = self->slots, direct->dtype = self->dtype;
	for (Py_ssize_t n = 0; n < self->operands; n++)
		at_values[n] = -1;
	for (int n = 0; n < self->slots; n++) {
		const Filling *filling = &self->filling[n];
		switch (filling->content) {
		case NUMBER:
			direct->fixed[n] = filling->number;
			break;
		case EXTENT:
			direct->fixed[n] = given->extent[filling->operand];
			break;
		case POSITIONS:
		case COORDINATES:
		case ORDER:
			direct->array[direct->arrays] = array_of(given->pattern[filling->operand], filling->content, filling->level);
			if (direct->array[direct->arrays] == NULL) {
				Py_DECREF((PyObject *)direct);
				return NULL;
			}
			direct->places[direct->arrays++] = n;
			break;
		case VALUES:
			at_values[filling->operand] = n;
			break;
		case RESULT:
			at_result = n;
			break;
		case THREADS:
			at_threads = n;
		}
	}
	int *place = direct->places + direct->arrays;
	for (Py_ssize_t n = 0; n < self->operands; n++)
		if (at_values[n] >= 0)
			place[direct->operands++] = at_values[n];
	place[direct->operands] = at_result;
	place[direct->operands + 1] = at_threads;
	direct->tally = (Tally *)PyObject_CallFunctionObjArgs((PyObject *)tally_type, (PyObject *)self->all, NULL);
	if (direct->tally != NULL)
		return (PyObject *)direct;
	Py_DECREF((PyObject *)direct);
	return NULL;
}

/* The arrays of a result whose pattern the kernel finds, behind its extents; NULL with an exception. */
static PyObject *found(const Binding *self, const Given *given, int64_t threads)
{
	int64_t slots[MOST_SLOTS];
	Handle held[MOST_SLOTS];
	Py_ssize_t holds = 0;
	bool done = true;
	for (int n = 0; done && n < self->slots; n++) {
		const Filling *filling = &self->filling[n];
		Handle array = NULL;
		slots[n] = filling->content == THREADS ? threads : filling->content == EXTENT ? given->extent[filling->operand] : filling->number;
		if (filling->content == VALUES) {
			array = given->values[filling->operand];
		} else if (filling->content >= POSITIONS && filling->content <= ORDER) {
			array = held[holds] = array_of(given->pattern[filling->operand], filling->content, filling->level);
			done = array != NULL;
			holds += done;
		}
		if (array != NULL && !locate(array, &slots[n])) {
			failed("an operand has no memory: its storage has been freed");
			done = false;
		}
	}
	PyObject *tally = done ? PyObject_CallFunctionObjArgs((PyObject *)tally_type, (PyObject *)self->all, NULL) : NULL;
	PyObject *arrays = tally == NULL ? NULL : find_entries(self->finder, slots, (Tally *)tally);
	Py_XDECREF(tally);
	while (holds > 0)
		delete_tensor(held[--holds]);
	PyObject *shape = arrays == NULL ? NULL : PyTuple_New(self->ndim);
	for (int64_t mode = 0; shape != NULL && mode < self->ndim; mode++) {
		PyObject *extent = PyLong_FromLongLong(given->extent[self->letter[mode]]);
		if (extent == NULL)
			Py_CLEAR(shape);
		else
			PyTuple_SetItem(shape, mode, extent);
	}
	PyObject *result = shape == NULL ? NULL : PyTuple_Pack(2, shape, arrays);
	Py_XDECREF(shape);
	Py_XDECREF(arrays);
	return result;
}

static PyObject *bind(PyObject *module, PyObject *args)
{
	PyObject *bindings, *operands, *result = NULL;
	long long threads;
	(void)module;
	if (!PyArg_ParseTuple(args, "O!O!L", &PyList_Type, &bindings, &PyList_Type, &operands, &threads))
		return NULL;
	for (Py_ssize_t n = 0; result == NULL && n < PyList_Size(bindings); n++) {
		const Binding *binding = (Binding *)PyList_GetItem(bindings, n);
		if (binding == NULL || Py_TYPE((PyObject *)binding) != binding_type)
			return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "expected bindings");
		Py_INCREF((PyObject *)binding); /* another thread may drop it */
		Given given = {.values = {NULL}};
		int yes = take_operands(binding->taken, binding->operands, operands, &given);
		PyObject *made = NULL;
		if (yes == 1)
			made = binding->pattern_of == -2 ? found(binding, &given, threads) : bound(binding, &given);
		result = made == NULL ? NULL : PyTuple_Pack(2, binding->about, made);
		Py_XDECREF(made);
		for (Py_ssize_t m = 0; m < MOST_OPERANDS; m++)
			if (given.values[m] != NULL)
				delete_tensor(given.values[m]);
		Py_DECREF((PyObject *)binding);
		if (result == NULL && PyErr_Occurred())
			return NULL;
	}
	if (result != NULL)
		return result;
	Py_RETURN_NONE;
}

/* --- Making bindings ---------------------------------------------------------------------------------------------- */

/* Reads what slots are filled with: tuples of the content, an operand or an index, a level and a number. */
static int read_fillings(Binding *self, PyObject *fillings)
{
	if (PyTuple_Size(fillings) > MOST_SLOTS) {
		PyErr_SetString(PyExc_ValueError, "too many slots");
		return -1;
	}
	for (; self->slots < PyTuple_Size(fillings); self->slots++) {
		Filling *filling = &self->filling[self->slots];
		int content;
		long long number;
		if (!PyArg_ParseTuple(PyTuple_GetItem(fillings, self->slots), "iiiL", &content, &filling->operand, &filling->level, &number))
			return -1;
		const int most = content == EXTENT ? MOST_LETTERS : (int)self->operands;
		if (content < NUMBER || content > THREADS || filling->operand < 0 || (filling->operand >= most && content != NUMBER)) {
			PyErr_SetString(PyExc_ValueError, "a slot of an operand or an index that isn't there");
			return -1;
		}
		filling->content = (enum content)content;
		filling->number = number;
	}
	return 0;
}

/* Binding(address of the kernel, operands, fillings, (indices, order, dtype and size of an element of the result), the operand with the pattern of
 * the result, Finder or None, tally of all calls, what `bind` returns) */
static PyObject *binding_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	unsigned long long compute;
	PyObject *operands, *fillings, *letters, *order, *finder, *all, *about;
	int dtype, pattern_of;
	long long item;
	(void)kwargs;
	if (!PyArg_ParseTuple(args, "KO!O!(O!O!iL)iOO!O", &compute, &PyTuple_Type, &operands, &PyTuple_Type, &fillings, &PyTuple_Type, &letters,
			      &PyTuple_Type, &order, &dtype, &item, &pattern_of, &finder, tally_type, &all, &about))
		return NULL;
	if (PyTuple_Size(operands) > MOST_OPERANDS || pattern_of >= PyTuple_Size(operands) || (pattern_of == -2) != (Py_TYPE(finder) == finder_type))
		return PyErr_Format(PyExc_ValueError, "too many operands, or no finder of a pattern");
	Binding *self = (Binding *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0); /* filled with zeros */
	if (self == NULL)
		return NULL;
	self->compute = (kernel_function)(uintptr_t)compute;
	self->dtype = dtype, self->item = item, self->pattern_of = pattern_of;
	Py_INCREF(finder);
	Py_INCREF(all);
	Py_INCREF(about);
	self->finder = finder, self->all = (Tally *)all, self->about = about;
	bool done = true;
	for (; done && self->operands < PyTuple_Size(operands); self->operands += done)
		done = read_taken(&self->taken[self->operands], PyTuple_GetItem(operands, self->operands)) == 0;
	done = done && read_fillings(self, fillings) == 0 && (self->ndim = read_numbers(letters, MOST_MODES, self->letter)) >= 0;
	if (done && read_numbers(order, MOST_MODES, self->order) != self->ndim) {
		PyErr_SetString(PyExc_ValueError, "expected an index and a place of each mode of the result");
		done = false;
	}
	if (done)
		return (PyObject *)self;
	Py_DECREF(self);
	return NULL;
}

static void binding_dealloc(PyObject *object)
{
	Binding *self = (Binding *)object;
	PyTypeObject *type = Py_TYPE(object);
	for (int n = 0; n < MOST_OPERANDS; n++)
		Py_XDECREF(self->taken[n].format);
	Py_XDECREF(self->finder);
	Py_XDECREF((PyObject *)self->all);
	Py_XDECREF(self->about);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
	Py_DECREF(type);
}

static PyObject *install_bindings(PyObject *module, PyObject *args)
{
	PyObject *int32;
	(void)module;
	if (!PyArg_ParseTuple(args, "OO", &int32, &rows_in_order) || prepare_taken(int32) < 0)
		return NULL;
	Py_INCREF(rows_in_order); /* kept for good */
	Py_RETURN_NONE;
}

static PyMethodDef binding_functions[] = {
	{"bind", bind, METH_VARARGS,
	 "bind(bindings, operands, threads): what the first binding that takes the operands is about, and a Direct, or of a result whose pattern it\n"
	 "finds the shape and the arrays; None where none takes them."},
	{"install_bindings", install_bindings, METH_VARARGS, "install_bindings(torch.int32, function of a pattern that gives its rows by their lengths)"},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot binding_slots[] = {
	{Py_tp_doc, "A kernel for all operands of some classes; see binding.c."},
	{Py_tp_new, binding_new},
	{Py_tp_dealloc, binding_dealloc},
	{0, NULL},
};
static PyType_Spec spec = {"libsparse._runtime._direct.Binding", sizeof(Binding), 0, Py_TPFLAGS_DEFAULT, binding_slots};

int prepare_bindings(PyObject *module)
{
	n_pos = PyUnicode_InternFromString("pos"), n_crd = PyUnicode_InternFromString("crd");
	if (n_pos == NULL || n_crd == NULL)
		return -1;
	PyObject *type = PyType_FromSpec(&spec);
	binding_type = (PyTypeObject *)type;
	if (type == NULL || PyModule_AddFunctions(module, binding_functions) < 0)
		return -1;
	Py_INCREF(type); /* binding_type's own */
	return PyModule_AddObject(module, "Binding", type);
}
