/* Copies of the arrays of a compressed level below a dense one, as of CSR, which a user hands over: checked in one pass.
 *
 * What it does not copy, because something is unusual or wrong, is left to `pattern_from_levels` of _ops/assemble.py,
 * which says what is wrong.
 */
#include "direct.h"

#define MOST_COPIED (1 << 22) /* elements; torch checks and copies longer arrays with threads */

PyObject *large_integers;
long long large_bytes;
static int32_t int32_code, int64_code;

/* An array of integers that a user hands over. */
typedef struct {
	Handle handle;
	int32_t dtype;
	int64_t length;
	const void *data;
} Integers;

/* Whether an object is a contiguous array of int32 or int64 in memory, not too long; -1 with an exception. */
static int read_integers(PyObject *object, Integers *array)
{
	int64_t ndim;
	bool contiguous;
	void *data;
	array->handle = NULL;
	if (PySet_Contains(plain, (PyObject *)Py_TYPE(object)) != 1 || tensor_from_object(object, &array->handle))
		return PyErr_Occurred() ? -1 : 0;
	int yes = is_plain(object, array->handle, &array->dtype);
	if (yes == 1)
		yes = (array->dtype == int32_code || array->dtype == int64_code) && !get_dim(array->handle, &ndim) && ndim == 1 &&
		      !get_contiguous(array->handle, &contiguous) && contiguous && !get_numel(array->handle, &array->length) &&
		      array->length <= MOST_COPIED && !get_data(array->handle, &data) && (data != NULL || array->length == 0);
	if (yes == 1)
		array->data = data;
	return yes;
}

/* Copies elements to int32: whether all are from 0 on and below `most`, and so have kept their values. The highest bit of an element, or
 * of what is left of the largest one after it, says that it isn't: there are no branches, for the sake of vectors. */
static bool copy_integers(const Integers *array, int32_t *restrict copy, int64_t most)
{
	if (array->dtype == int32_code) {
		const uint32_t *restrict from = array->data, last = (uint32_t)most - 1;
		uint32_t outside = 0;
		for (int64_t n = 0; n < array->length; n++) {
			copy[n] = (int32_t)from[n];
			outside |= from[n] | (last - from[n]);
		}
		return most > 0 ? outside >> 31 == 0 : array->length == 0;
	}
	const uint64_t *restrict from = array->data, last = (uint64_t)most - 1;
	uint64_t outside = 0;
	for (int64_t n = 0; n < array->length; n++) {
		copy[n] = (int32_t)from[n];
		outside |= from[n] | (last - from[n]);
	}
	return most > 0 ? outside >> 63 == 0 : array->length == 0;
}

/* Whether positions begin at 0, don't decrease and end at `count`. */
static bool are_positions(const int32_t *pos, int64_t parents, int64_t count)
{
	bool falls = false;
	for (int64_t row = 0; row < parents; row++)
		falls |= pos[row + 1] < pos[row];
	return !falls && pos[0] == 0 && pos[parents] == count;
}

/* Whether coordinates ascend between two positions: they fall as often as they do where rows begin. */
static bool are_ordered(const int32_t *pos, const int32_t *crd, int64_t parents, int64_t count)
{
	int32_t falls = 0, allowed = 0; /* sums that take one vector, since there are fewer elements than 2^31 */
	for (int64_t n = 1; n < count; n++)
		falls += crd[n] <= crd[n - 1];
	for (int64_t row = 0; row < parents; row++) {
		const int32_t n = pos[row];
		if (n > 0 && n < pos[row + 1])
			allowed += crd[n] <= crd[n - 1];
	}
	return falls == allowed;
}

/* A new array of int32 as an object, with its elements; NULL where there is none, with an exception or without. */
static PyObject *new_integers(int64_t length, int32_t **elements)
{
	const int64_t stride = 1;
	bool large = length * (int64_t)sizeof **elements >= large_bytes;
	void *object = large ? PyObject_CallFunction(large_integers, "L", (long long)length) : NULL, *data = NULL;
	Handle handle;
	if (large ? object == NULL || tensor_from_object(object, &handle) : allocate(1, &length, &stride, int32_code, device_cpu(), 0, &handle)) {
		Py_XDECREF((PyObject *)object);
		return NULL;
	}
	int bad = get_data(handle, &data) || (!large && object_from_tensor(handle, NULL, &object));
	delete_tensor(handle);
	*elements = data;
	if (!bad)
		return object;
	Py_XDECREF((PyObject *)object);
	return NULL;
}

/* The copies, or NULL: where something is unusual or wrong, without an exception. */
static PyObject *copies(const Integers *pos, const Integers *crd, int64_t parents, int64_t extent, int checked)
{
	int32_t *own_pos, *own_crd;
	if (pos->length - 1 != parents || extent > INT32_MAX)
		return NULL;
	PyObject *first = new_integers(pos->length, &own_pos);
	PyObject *second = first == NULL ? NULL : new_integers(crd->length, &own_crd), *both = NULL;
	if (second != NULL) { /* the copies are looked at, to which nobody else writes */
		bool right;
		Py_BEGIN_ALLOW_THREADS
		right = copy_integers(pos, own_pos, crd->length + 1);
		right &= copy_integers(crd, own_crd, extent);
		if (checked)
			right = right && are_positions(own_pos, parents, crd->length) && are_ordered(own_pos, own_crd, parents, crd->length);
		else
			right = own_pos[parents] == crd->length;
		Py_END_ALLOW_THREADS
		both = right ? PyTuple_Pack(2, first, second) : NULL;
	}
	Py_XDECREF(first);
	Py_XDECREF(second);
	return both;
}

static PyObject *copy_compressed(PyObject *module, PyObject *args)
{
	PyObject *pos, *crd, *found = NULL;
	Integers read_pos = {0}, read_crd = {0};
	long long parents, extent;
	int checked;
	(void)module;
	if (!PyArg_ParseTuple(args, "OOLLp", &pos, &crd, &parents, &extent, &checked))
		return NULL;
	int watched = is_watched(), yes = watched < 0 ? -1 : !watched;
	yes = yes == 1 ? read_integers(pos, &read_pos) : yes;
	yes = yes == 1 ? read_integers(crd, &read_crd) : yes;
	if (yes == 1)
		found = copies(&read_pos, &read_crd, parents, extent, checked);
	if (read_pos.handle != NULL)
		delete_tensor(read_pos.handle);
	if (read_crd.handle != NULL)
		delete_tensor(read_crd.handle);
	if (found != NULL || PyErr_Occurred())
		return found;
	Py_RETURN_NONE;
}

PyMethodDef compressed_functions[] = {
	{"copy_compressed", copy_compressed, METH_VARARGS,
	 "copy_compressed(pos, crd, parents, extent, checked): copies as int32, None where Python has to look at the arrays."},
	{NULL, NULL, 0, NULL},
};

void prepare_integers(void)
{
	int32_code = dtype_int32();
	int64_code = dtype_int64();
}
