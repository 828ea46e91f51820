/* Results whose pattern a kernel finds: discovery.py, which defines it, in C.
 *
 * One call has the kernel count the entries, makes arrays, and has entries written to them; or it bounds the entries, takes room for them, has the
 * kernel write entries and positions, and moves the entries to arrays of the exact length. Room, and arrays so large that their memory is used again,
 * are Python's to give.
 */
#include "direct.h"

#define MOST_BLOCKS 256 /* and one, whose offsets are handed on, on the stack */
#define MOST_ARRAYS 16  /* of a result, and of room */

/* An array of the result: the slot that has its address, and its length, the content of a slot, if any, and a number; dtype -1 where there is no
 * array. */
typedef struct {
	int place, source, dtype;
	bool early; /* before entries are written */
	int64_t addend, item;
	PyObject *maker; /* a function of a length that makes one which takes `large_bytes` and more */
} Array;

/* A kernel that finds a pattern, as an object of Python. */
typedef struct {
	PyObject_HEAD
	kernel_function bound, assemble, compute;
	int at_bound, at_starts, at_filled, blocks;
	Py_ssize_t rooms, arrays;
	struct {
		int place;
		int64_t item;
	} room[MOST_ARRAYS];
	Array array[MOST_ARRAYS];
	PyObject *take, *leave;
} Finder;

PyTypeObject *finder_type;

/* Runs one function of the kernel; -1 with an exception. */
static int step(kernel_function function, int64_t *slots, Tally *tally)
{
	int32_t status;
	int64_t begun = tally == NULL ? 0 : begin_call(tally), taken;
	Py_BEGIN_ALLOW_THREADS
	status = function(slots);
	taken = begun == 0 ? 0 : time_since(begun);
	Py_END_ALLOW_THREADS
	if (begun != 0)
		add_time(tally, taken);
	if (status == 0)
		return 0;
	Py_XDECREF(PyObject_CallFunction(check_status, "i", (int)status)); /* raises */
	return -1;
}

/* The arrays that are made before entries are written, or those after: as objects in a list, and their addresses in the slots; -1 with an exception. */
static int make_arrays(const Finder *self, bool early, int64_t *slots, PyObject *list)
{
	for (Py_ssize_t n = 0; n < self->arrays; n++) {
		const Array *array = &self->array[n];
		if (array->dtype < 0 || array->early != early)
			continue;
		void *data;
		int64_t length;
		if (__builtin_add_overflow(array->source < 0 ? 0 : slots[array->source], array->addend, &length))
			length = INT64_MAX; /* which is refused, as is what it stands for */
		PyObject *made = new_array(length, array->dtype, array->item, array->maker, &data);
		if (made == NULL) {
			if (!PyErr_Occurred())
				failed("no memory for a result");
			return -1;
		}
		slots[array->place] = (int64_t)(intptr_t)data;
		if (PyList_SetItem(list, n, made) < 0)
			return -1;
	}
	return 0;
}

/* Finds room for as many entries as there may be; its object, or NULL with an exception. */
static PyObject *take_room(const Finder *self, int64_t *slots)
{
	int64_t each = 0, entries = (slots[self->at_bound] / 64 + 1) * 64;
	for (Py_ssize_t n = 0; n < self->rooms; n++)
		each += self->room[n].item;
	long long bytes = slots[self->at_bound] > INT64_MAX / (each + 1) - 64 ? INT64_MAX : entries * each; /* the greatest is refused */
	PyObject *room = PyObject_CallFunction(self->take, "L", bytes);
	PyObject *first = room == NULL ? NULL : PySequence_GetItem(room, 1);
	int64_t address = first == NULL ? 0 : PyLong_AsLongLong(first);
	Py_XDECREF(first);
	if (first == NULL || PyErr_Occurred()) {
		Py_XDECREF(room);
		return NULL;
	}
	for (Py_ssize_t n = 0; n < self->rooms; n++) {
		slots[self->room[n].place] = address;
		address += entries * self->room[n].item;
	}
	return room;
}

PyObject *find_entries(PyObject *finder, int64_t *slots, Tally *tally)
{
	const Finder *self = (Finder *)finder;
	int64_t offsets[2 * MOST_BLOCKS];
	PyObject *room = NULL;
	if (self->bound != NULL) {
		slots[self->at_starts] = (int64_t)(intptr_t)offsets;
		slots[self->at_filled] = (int64_t)(intptr_t)(offsets + self->blocks);
		if (step(self->bound, slots, NULL) < 0 || (room = take_room(self, slots)) == NULL)
			return NULL;
	}
	PyObject *list = PyList_New(self->arrays);
	bool done = list != NULL;
	for (Py_ssize_t n = 0; done && n < self->arrays; n++) {
		Py_INCREF(Py_None);
		done = PyList_SetItem(list, n, Py_None) == 0;
	}
	done = done && make_arrays(self, true, slots, list) == 0 && (self->assemble == NULL || step(self->assemble, slots, NULL) == 0);
	done = done && make_arrays(self, false, slots, list) == 0 && step(self->compute, slots, tally) == 0;
	if (done && room != NULL) {
		PyObject *left = PyObject_CallFunctionObjArgs(self->leave, room, NULL);
		done = left != NULL;
		Py_XDECREF(left);
	}
	Py_XDECREF(room);
	done = done && tell(tally) == 0;
	if (done)
		return list;
	Py_XDECREF(list);
	return NULL;
}

static PyObject *finder_call(PyObject *object, PyObject *args, PyObject *kwargs)
{
	unsigned long long address;
	PyObject *tally;
	(void)kwargs;
	if (!PyArg_ParseTuple(args, "KO!", &address, tally_type, &tally))
		return NULL;
	return find_entries(object, (int64_t *)(uintptr_t)address, (Tally *)tally);
}

/* Reads the kinds of room: pairs of a place and a size. */
static int read_rooms(Finder *self, PyObject *rooms)
{
	for (self->rooms = 0; self->rooms < PyTuple_Size(rooms); self->rooms++) {
		long long item;
		if (!PyArg_ParseTuple(PyTuple_GetItem(rooms, self->rooms), "iL", &self->room[self->rooms].place, &item))
			return -1;
		self->room[self->rooms].item = item;
	}
	return 0;
}

/* Reads the arrays of a result: tuples of place, whether early, source, addend, dtype, size and the maker of large ones. */
static int read_arrays(Finder *self, PyObject *arrays)
{
	while (self->arrays < PyTuple_Size(arrays)) {
		Array *array = &self->array[self->arrays];
		long long addend, item;
		int early;
		if (!PyArg_ParseTuple(PyTuple_GetItem(arrays, self->arrays), "ipiLiLO", &array->place, &early, &array->source, &addend, &array->dtype, &item,
				      &array->maker))
			return -1;
		Py_INCREF(array->maker);
		array->early = early;
		array->addend = addend;
		array->item = item;
		self->arrays++;
	}
	return 0;
}

/* Finder((addresses of bound, assemble and compute), (slots of the bound, starts and filled, length of the last two), rooms, arrays, take, leave) */
static PyObject *finder_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	unsigned long long bound, assemble, compute;
	int at_bound, at_starts, at_filled, blocks;
	PyObject *rooms, *arrays, *take, *leave;
	(void)kwargs;
	if (!PyArg_ParseTuple(args, "(KKK)(iiii)O!O!OO", &bound, &assemble, &compute, &at_bound, &at_starts, &at_filled, &blocks, &PyTuple_Type,
			      &rooms, &PyTuple_Type, &arrays, &take, &leave))
		return NULL;
	if (blocks > MOST_BLOCKS || PyTuple_Size(rooms) > MOST_ARRAYS || PyTuple_Size(arrays) > MOST_ARRAYS)
		return PyErr_Format(PyExc_ValueError, "too many blocks, rooms or arrays");
	Finder *self = (Finder *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0); /* filled with zeros */
	if (self == NULL)
		return NULL;
	self->bound = (kernel_function)(uintptr_t)bound;
	self->assemble = (kernel_function)(uintptr_t)assemble;
	self->compute = (kernel_function)(uintptr_t)compute;
	self->at_bound = at_bound, self->at_starts = at_starts, self->at_filled = at_filled, self->blocks = blocks;
	Py_INCREF(take);
	Py_INCREF(leave);
	self->take = take, self->leave = leave;
	if (read_rooms(self, rooms) == 0 && read_arrays(self, arrays) == 0)
		return (PyObject *)self;
	Py_DECREF(self);
	return NULL;
}

static void finder_dealloc(PyObject *object)
{
	Finder *self = (Finder *)object;
	PyTypeObject *type = Py_TYPE(object);
	while (self->arrays > 0)
		Py_DECREF(self->array[--self->arrays].maker);
	Py_XDECREF(self->take);
	Py_XDECREF(self->leave);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
	Py_DECREF(type);
}

static PyType_Slot finder_slots[] = {
	{Py_tp_doc, "A kernel that finds a pattern: finder(address of the slots, tally), which returns an array, or None, for each slot of the result."},
	{Py_tp_new, finder_new},
	{Py_tp_call, finder_call},
	{Py_tp_dealloc, finder_dealloc},
	{0, NULL},
};
static PyType_Spec spec = {"libsparse._runtime._direct.Finder", sizeof(Finder), 0, Py_TPFLAGS_DEFAULT, finder_slots};

int prepare_finder(PyObject *module)
{
	PyObject *type = PyType_FromSpec(&spec);
	finder_type = (PyTypeObject *)type;
	if (type == NULL)
		return -1;
	Py_INCREF(type); /* finder_type's own */
	return PyModule_AddIntMacro(module, MOST_ARRAYS) < 0 ? -1 : PyModule_AddObject(module, "Finder", type);
}
