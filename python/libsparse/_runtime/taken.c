/* Which operands a binding takes: those of its dtypes, of its classes of extents and of entries, which bindings.py finds out. */
#include "binding.h"

static PyObject *int32_object, *n_format, *n_shape, *n_index_dtype, *n_crd;

/* Whether extents are those of a class, and agree with others of the same indices. */
static bool agree(const Taken *taken, const int64_t *shape, int64_t *extent)
{
	for (int mode = 0; mode < taken->ndim; mode++) {
		int64_t *known = &extent[taken->letter[mode]];
		if (shape[mode] < taken->least[mode] || shape[mode] > taken->most[mode] || (*known >= 0 && *known != shape[mode]))
			return false;
		*known = shape[mode];
	}
	return true;
}

/* Whether a tensor is elements in memory of a dtype; the handle is the caller's to delete where it isn't NULL. -1 with an exception. */
static int take_elements(PyObject *tensor, int32_t dtype, Handle *handle)
{
	int32_t own;
	if (PySet_Contains(plain, (PyObject *)Py_TYPE(tensor)) != 1 || tensor_from_object(tensor, handle)) {
		*handle = NULL;
		return PyErr_Occurred() ? -1 : 0;
	}
	int yes = is_plain(tensor, *handle, &own);
	return yes == 1 ? own == dtype : yes;
}

/* Whether a tensor stands in memory in an order of its modes, without gaps. */
static bool stands(const Taken *taken, const int64_t *shape, const int64_t *strides)
{
	int64_t expected = 1;
	for (int n = taken->ndim; n-- > 0;) {
		const int mode = taken->order[n];
		if (shape[mode] != 1 && strides[mode] != expected)
			return false;
		expected *= shape[mode];
	}
	return true;
}

static int take_dense(const Taken *taken, PyObject *data, int64_t *extent, Handle *handle)
{
	int64_t ndim, *shape, *strides;
	int yes = take_elements(data, taken->dtype, handle);
	if (yes != 1)
		return yes;
	if (get_dim(*handle, &ndim) || ndim != taken->ndim || get_sizes(*handle, &shape) || get_strides(*handle, &strides))
		return 0;
	bool sums = ndim < 2 || shape[ndim - 1] == 1;
	return sums == taken->sums && stands(taken, shape, strides) && agree(taken, shape, extent);
}

/* The integers of a tuple; false where it has others, or another number of them. */
static bool read_shape(PyObject *tuple, int ndim, int64_t *shape)
{
	if (tuple == NULL || !PyTuple_Check(tuple) || PyTuple_Size(tuple) != ndim)
		return false;
	for (int mode = 0; mode < ndim; mode++) {
		PyObject *extent = PyTuple_GetItem(tuple, mode);
		if (!PyLong_CheckExact(extent))
			return false;
		shape[mode] = PyLong_AsLongLong(extent);
	}
	return !PyErr_Occurred();
}

/* Whether a number of entries is one of the class, for so many rows. */
static bool is_mean(const Taken *taken, int64_t entries, int64_t rows)
{
	const int64_t n = entries > 0 ? entries : 1, m = rows > 0 ? rows : 1, mean = n < m ? m / n : n / m;
	return (n < m) == taken->sparser && mean >= taken->least_mean && mean <= taken->most_mean;
}

static int take_sparse(const Taken *taken, PyObject *pattern, PyObject *data, int64_t *extent, int64_t *size, Handle *handle)
{
	int64_t shape[MOST_MODES], count;
	bool contiguous;
	PyObject *format = PyObject_GetAttr(pattern, n_format), *dtype = PyObject_GetAttr(pattern, n_index_dtype);
	PyObject *extents = PyObject_GetAttr(pattern, n_shape), *number = PyObject_GetAttr(pattern, n_size);
	int yes = format == NULL || dtype == NULL || extents == NULL || number == NULL ? -1 : 1;
	if (yes == 1)
		yes = format == taken->format && dtype == int32_object && PyLong_CheckExact(number) && read_shape(extents, taken->ndim, shape);
	if (yes == 1) {
		const int64_t rows = shape[taken->order[0]];
		*size = PyLong_AsLongLong(number);
		yes = is_mean(taken, *size, rows) && agree(taken, shape, extent);
	}
	Py_XDECREF(format);
	Py_XDECREF(dtype);
	Py_XDECREF(extents);
	Py_XDECREF(number);
	if (yes != 1 || taken->dtype < 0)
		return PyErr_Occurred() ? -1 : yes == 1 && data == Py_None;
	yes = data == Py_None ? 0 : take_elements(data, taken->dtype, handle);
	return yes == 1 ? !get_numel(*handle, &count) && count == *size && !get_contiguous(*handle, &contiguous) && contiguous : yes;
}

/* Whether two patterns have an array in common; -1 with an exception. */
static int share_arrays(PyObject *pattern, PyObject *other)
{
	PyObject *own = PyObject_GetAttr(pattern, n_crd), *others = PyObject_GetAttr(other, n_crd);
	int found = own == NULL || others == NULL ? -1 : 0;
	for (Py_ssize_t n = 0; found == 0 && n < PyTuple_Size(own); n++)
		for (Py_ssize_t m = 0; found == 0 && m < PyTuple_Size(others); m++)
			found = PyTuple_GetItem(own, n) != Py_None && PyTuple_GetItem(own, n) == PyTuple_GetItem(others, m);
	Py_XDECREF(own);
	Py_XDECREF(others);
	return found;
}

/* Whether operands have the same patterns in the same places; those that merely share arrays are left to Python. -1 with an exception. */
static int are_alike(const Taken *taken, Py_ssize_t count, const Given *given)
{
	for (Py_ssize_t n = 0; n < count; n++) {
		if (taken[n].format == NULL)
			continue;
		for (Py_ssize_t m = 0; m < n; m++) {
			if (taken[m].format == NULL)
				continue;
			const bool same = given->pattern[n] == given->pattern[m];
			if (same != (taken[n].same == taken[m].same))
				return 0;
			int shared = same ? 0 : share_arrays(given->pattern[n], given->pattern[m]);
			if (shared != 0)
				return shared < 0 ? -1 : 0;
		}
	}
	return 1;
}

int take_operands(const Taken *taken, Py_ssize_t count, PyObject *operands, Given *given)
{
	int yes = PyList_Size(operands) == count;
	for (int n = 0; n < MOST_LETTERS; n++)
		given->extent[n] = -1;
	for (Py_ssize_t n = 0; yes == 1 && n < count; n++) {
		PyObject *operand = PyList_GetItem(operands, n), *pattern = PyTuple_GetItem(operand, 0), *data = PyTuple_GetItem(operand, 1);
		given->pattern[n] = pattern;
		if (pattern == NULL || data == NULL)
			yes = -1;
		else if ((pattern == Py_None) != (taken[n].format == NULL))
			yes = 0;
		else if (pattern == Py_None)
			yes = take_dense(&taken[n], data, given->extent, &given->values[n]);
		else
			yes = take_sparse(&taken[n], pattern, data, given->extent, &given->size[n], &given->values[n]);
	}
	return yes == 1 ? are_alike(taken, count, given) : yes;
}

int read_numbers(PyObject *tuple, int most, int *numbers)
{
	Py_ssize_t count = PyTuple_Check(tuple) ? PyTuple_Size(tuple) : most + 1;
	if (count > most) {
		PyErr_SetString(PyExc_ValueError, "too many modes");
		return -1;
	}
	for (Py_ssize_t n = 0; n < count; n++)
		numbers[n] = (int)PyLong_AsLong(PyTuple_GetItem(tuple, n));
	return PyErr_Occurred() ? -1 : (int)count;
}

/* Reads one operand: format or None, dtype, indices, order, least and most extents, the first operand of its pattern, whether one element is last,
 * whether there are fewer entries than rows, and the least and the most of the greater number for each of the other. */
int read_taken(Taken *taken, PyObject *given)
{
	PyObject *format, *letters, *order, *least, *most;
	int sums, sparser;
	long long least_mean, most_mean;
	if (!PyArg_ParseTuple(given, "OiO!O!O!O!ippLL", &format, &taken->dtype, &PyTuple_Type, &letters, &PyTuple_Type, &order, &PyTuple_Type, &least,
			      &PyTuple_Type, &most, &taken->same, &sums, &sparser, &least_mean, &most_mean))
		return -1;
	taken->ndim = read_numbers(letters, MOST_MODES, taken->letter);
	if (taken->ndim < 0 || read_numbers(order, MOST_MODES, taken->order) != taken->ndim || !read_shape(least, taken->ndim, taken->least) ||
	    !read_shape(most, taken->ndim, taken->most)) {
		if (!PyErr_Occurred())
			PyErr_SetString(PyExc_ValueError, "expected an index, a place and extents of each mode");
		return -1;
	}
	for (int mode = 0; mode < taken->ndim; mode++) {
		if (taken->letter[mode] < 0 || taken->letter[mode] >= MOST_LETTERS || taken->order[mode] < 0 || taken->order[mode] >= taken->ndim) {
			PyErr_SetString(PyExc_ValueError, "an index or a mode that isn't there");
			return -1;
		}
	}
	taken->sums = sums, taken->sparser = sparser;
	taken->least_mean = least_mean, taken->most_mean = most_mean;
	if (format != Py_None) {
		Py_INCREF(format);
		taken->format = format;
	}
	return 0;
}

int prepare_taken(PyObject *int32)
{
	const struct {
		PyObject **name;
		const char *text;
	} names[] = {{&n_format, "format"}, {&n_shape, "shape"}, {&n_index_dtype, "index_dtype"}, {&n_crd, "crd"}};
	for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
		if ((*names[n].name = PyUnicode_InternFromString(names[n].text)) == NULL)
			return -1;
	Py_INCREF(int32); /* kept for good */
	int32_object = int32;
	return 0;
}
