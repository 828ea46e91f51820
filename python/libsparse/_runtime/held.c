/* Held: a kernel that reads a copy of values, which is kept as long as the values are the same (lasting.py), and another
 * one that reads the values themselves; `held` of direct.py in C.
 */
#include "direct.h"

#include <stddef.h>

#include "../_storage/threads.h"

PyTypeObject *held_type;

static PyObject *n_seen, *n_get, *n_version;

/* Held(kernel for the copy, kernel for the values, the `Carried` that has the copy, place of the values, their dtype and the size of an element, size of an
 * element of the result where padding is multiplied, else 0, address of the function that finds fingerprints, or 0, and team of its threads) */
static PyObject *held_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	PyObject *run, *plain, *kept;
	Py_ssize_t place;
	unsigned long long fingerprint, team;
	int dtype, item, padded;
	(void)kwargs;
	if (!PyArg_ParseTuple(args, "O!O!OniiiKK", direct_type, &run, direct_type, &plain, &kept, &place, &dtype, &item, &padded, &fingerprint, &team))
		return NULL;
	Held *self = (Held *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
	if (self == NULL)
		return NULL;
	Py_INCREF(run);
	Py_INCREF(plain);
	Py_INCREF(kept);
	self->run = (Direct *)run;
	self->plain = (Direct *)plain;
	self->kept = kept;
	self->place = place;
	self->dtype = dtype;
	self->item = item;
	self->padded = padded;
	self->fingerprint = (fingerprint_function)(uintptr_t)fingerprint;
	self->team = team;
	return (PyObject *)self;
}

static void held_dealloc(PyObject *object)
{
	PyTypeObject *type = Py_TYPE(object);
	Py_XDECREF((PyObject *)((Held *)object)->run);
	Py_XDECREF((PyObject *)((Held *)object)->plain);
	Py_XDECREF(((Held *)object)->kept);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
	Py_DECREF(type);
}

/* Whether an array has a fingerprint; -1 with an exception. */
static int has_fingerprint(const Held *self, PyObject *values, PyObject *known, int64_t threads)
{
	Handle array;
	void *data;
	int64_t count;
	int32_t dtype;
	const unsigned long long wanted = PyLong_AsUnsignedLongLong(known);
	if (PyErr_Occurred())
		return -1;
	if (tensor_from_object(values, &array))
		return 0;
	const bool read = !get_data(array, &data) && !get_numel(array, &count) && !get_dtype(array, &dtype) && dtype == self->dtype &&
			  (data != NULL || count == 0); /* else its storage has been freed */
	delete_tensor(array);
	if (!read)
		return 0;
	uint64_t found;
	Py_BEGIN_ALLOW_THREADS
	found = self->fingerprint(data, (uint64_t)(count * self->item), (int)threads, self->team);
	Py_END_ALLOW_THREADS
	return found == wanted;
}

/* The copy of values that are as they were when it was made, with a reference, as `Carried.get` finds it; NULL where that has more to do, or with an exception where
 * somebody interrupts. */
static PyObject *known_copy(const Held *self, PyObject *values, int64_t threads)
{
	PyObject *seen = self->fingerprint == NULL ? NULL : PyObject_GetAttr(self->kept, n_seen), *version = NULL, *copy = NULL;
	if (seen != NULL && PyTuple_Check(seen) && PyTuple_Size(seen) == 5 && PyTuple_GetItem(seen, 4) != Py_None &&
	    PyWeakref_GetObject(PyTuple_GetItem(seen, 0)) == values && (version = PyObject_GetAttr(values, n_version)) != NULL &&
	    PyObject_RichCompareBool(version, PyTuple_GetItem(seen, 1), Py_EQ) == 1 &&
	    has_fingerprint(self, values, PyTuple_GetItem(seen, 2), threads) == 1) {
		PyObject *uses = PyTuple_GetItem(seen, 3), *more = PyLong_FromLongLong(PyLong_AsLongLong(PyList_GetItem(uses, 0)) + 1);
		if (more != NULL && PyList_SetItem(uses, 0, more) == 0) {
			copy = PyTuple_GetItem(seen, 4);
			Py_INCREF(copy);
		}
	}
	if (copy == NULL && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception))
		PyErr_Clear(); /* `get` says what is wrong */
	Py_XDECREF(seen);
	Py_XDECREF(version);
	return copy;
}

const Direct *held_kernel(const Held *self, PyObject **values, int64_t threads)
{
	PyObject *copy = known_copy(self, *values, threads);
	PyObject *get = copy == NULL && !PyErr_Occurred() ? PyObject_GetAttr(self->kept, n_get) : NULL;
	if (get != NULL)
		copy = PyObject_CallFunctionObjArgs(get, *values, NULL);
	Py_XDECREF(get);
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

typedef struct {
	const void *data;
	int64_t count;
	int item, threads;
	int found[MOST_THREADS];
} Result;

#define FIND_NAN(NAME, TYPE)                                            \
	static inline int NAME(const TYPE *x, int64_t count)            \
	{                                                               \
		int found = 0;                                          \
		for (int64_t n = 0; n < count; n++)                     \
			found |= x[n] != x[n];                          \
		return found;                                           \
	}
FIND_NAN(nan_of_floats, float)
FIND_NAN(nan_of_doubles, double)

static inline void find_nan_in_share(void *given, int thread)
{
	Result *job = given;
	const int64_t begin = share(job->count, job->threads, thread), end = share(job->count, job->threads, thread + 1);
	job->found[thread] = job->item == 4 ? nan_of_floats((const float *)job->data + begin, end - begin)
					    : nan_of_doubles((const double *)job->data + begin, end - begin);
}
DEFINE_WIDE(find_nan, find_nan_in_share)

enum { PART = 1 << 16 }; /* bytes of a result, from which on each thread is worth waking */

bool met_padding(const Held *self, const Direct *direct, PyObject *result, int64_t threads)
{
	Handle array;
	void *data;
	Result job = {.item = self->padded};
	if (self->padded == 0 || direct != self->run || tensor_from_object(result, &array))
		return false;
	const bool read = !get_data(array, &data) && !get_numel(array, &job.count);
	delete_tensor(array);
	if (!read)
		return false;
	job.data = data;
	const int64_t most = job.count * job.item / PART;
	job.threads = (int)(most < 1 ? 1 : most < threads ? most : threads);
	job.threads = job.threads > MOST_THREADS ? MOST_THREADS : job.threads;
	Py_BEGIN_ALLOW_THREADS
	if (job.threads > 1)
		run_threads(job.threads, self->team, find_nan, &job);
	else
		find_nan(&job, 0);
	Py_END_ALLOW_THREADS
	bool found = false;
	for (int thread = 0; thread < job.threads; thread++)
		found |= job.found[thread] != 0;
	return found;
}

static PyObject *held_call(PyObject *object, PyObject *args, PyObject *kwargs)
{
	const Held *self = (Held *)object;
	Py_ssize_t count = PyTuple_Size(args);
	if (self->place >= count)
		return PyErr_Format(PyExc_TypeError, "expected more operands");
	PyObject *values = PyTuple_GetItem(args, self->place), *given = PyTuple_New(count), *out = NULL;
	int64_t threads = given == NULL || count == 0 ? -1 : PyLong_AsLongLong(PyTuple_GetItem(args, count - 1));
	const Direct *direct = threads < 0 ? NULL : held_kernel(self, &values, threads);
	for (Py_ssize_t n = 0; direct != NULL && n < count; n++) {
		PyObject *item = n == self->place ? values : PyTuple_GetItem(args, n);
		if (n != self->place)
			Py_INCREF(item);
		PyTuple_SetItem(given, n, item); /* which takes the reference */
	}
	if (direct != NULL)
		out = PyObject_Call((PyObject *)direct, given, kwargs);
	if (out != NULL && met_padding(self, direct, out, threads)) {
		Py_DECREF(out);
		out = PyObject_Call((PyObject *)self->plain, args, kwargs);
	}
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
	n_seen = PyUnicode_InternFromString("_seen");
	n_get = PyUnicode_InternFromString("get");
	n_version = PyUnicode_InternFromString("_version");
	if (n_seen == NULL || n_get == NULL || n_version == NULL)
		return -1;
	Py_INCREF(type); /* held_type's own */
	return PyModule_AddObject(module, "Held", type);
}
