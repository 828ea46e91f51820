/* Whether index arrays are those that came before: what tells them from others at a glance, and a comparison of all elements. */
#include "direct.h"

#include <string.h>

#define MOST_ARRAYS 8
#define GLANCE 512 /* bytes at either end of an array that tell it from others */
#define LANES 4	    /* sums at a time, since each multiplication waits for the one before */

/* A number that other contents of so many bytes, a multiple of 4, hardly ever have by chance. */
static uint64_t of_bytes(const char *data, int64_t size)
{
	uint64_t sums[LANES] = {1, 2, 3, 4}, all = (uint64_t)size;
	for (int64_t n = 0; n < size / 4; n++) {
		uint32_t element;
		memcpy(&element, data + 4 * n, 4);
		sums[n % LANES] = (sums[n % LANES] ^ element) * 0x9E3779B97F4A7C15u;
		sums[n % LANES] ^= sums[n % LANES] >> 29;
	}
	for (int lane = 0; lane < LANES; lane++)
		all = (all ^ sums[lane]) * 0x9E3779B97F4A7C15u;
	return all ^ all >> 32;
}

static int64_t size_of(const Integers *array) { return array->length * (array->dtype == dtype_int64() ? 8 : 4); }

static void forget(Integers *arrays, Py_ssize_t count)
{
	for (Py_ssize_t n = 0; n < count; n++)
		if (arrays[n].handle != NULL)
			delete_tensor(arrays[n].handle);
}

/* Reads a list of arrays, whose handles are the caller's: 1; 0 where one is something else, -1 with an exception. */
static int read_all(PyObject *list, Integers *arrays, Py_ssize_t *count)
{
	int yes = PyList_Size(list) <= MOST_ARRAYS;
	for (*count = 0; yes == 1 && *count < PyList_Size(list); ++*count)
		yes = read_integers(PyList_GetItem(list, *count), &arrays[*count]);
	return yes;
}

static PyObject *glance(PyObject *module, PyObject *args)
{
	PyObject *list, *found = NULL;
	Integers arrays[MOST_ARRAYS];
	Py_ssize_t count = 0;
	uint64_t words[4 * MOST_ARRAYS];
	(void)module;
	if (!PyArg_ParseTuple(args, "O!", &PyList_Type, &list))
		return NULL;
	int yes = is_watched();
	yes = yes < 0 ? -1 : !yes;
	yes = yes == 1 ? read_all(list, arrays, &count) : yes;
	for (Py_ssize_t n = 0; yes == 1 && n < count; n++) {
		const int64_t size = size_of(&arrays[n]), part = size < GLANCE ? size : GLANCE;
		words[4 * n] = (uint64_t)arrays[n].dtype;
		words[4 * n + 1] = (uint64_t)arrays[n].length;
		words[4 * n + 2] = of_bytes(arrays[n].data, part);
		words[4 * n + 3] = of_bytes((const char *)arrays[n].data + size - part, part);
	}
	if (yes == 1)
		found = PyBytes_FromStringAndSize((const char *)words, 4 * count * (Py_ssize_t)sizeof *words);
	forget(arrays, count);
	if (yes == 0)
		Py_RETURN_NONE;
	return found;
}

static PyObject *are_equal(PyObject *module, PyObject *args)
{
	PyObject *list, *others;
	Integers arrays[MOST_ARRAYS], kept[MOST_ARRAYS];
	Py_ssize_t count = 0, known = 0;
	(void)module;
	if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &list, &PyList_Type, &others))
		return NULL;
	int yes = read_all(list, arrays, &count);
	yes = yes == 1 ? read_all(others, kept, &known) : yes;
	if (yes == 1) {
		Py_BEGIN_ALLOW_THREADS
		yes = count == known;
		for (Py_ssize_t n = 0; yes && n < count; n++)
			yes = arrays[n].dtype == kept[n].dtype && arrays[n].length == kept[n].length &&
			      (arrays[n].length == 0 || memcmp(arrays[n].data, kept[n].data, (size_t)size_of(&arrays[n])) == 0);
		Py_END_ALLOW_THREADS
	}
	forget(arrays, count);
	forget(kept, known);
	return yes < 0 ? NULL : PyBool_FromLong(yes);
}

PyMethodDef seen_functions[] = {
	{"glance", glance, METH_VARARGS,
	 "glance(arrays): bytes that tell a list of arrays of int32 or int64 from most others; None of others, and where torch watches."},
	{"are_equal", are_equal, METH_VARARGS, "are_equal(arrays, kept): whether two lists of arrays have the same dtypes and elements."},
	{NULL, NULL, 0, NULL},
};
