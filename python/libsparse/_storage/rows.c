/* Rows, which are runs of entries between positions, and the order of entries: what sorting.py, packing.py and statistics.py do
 * with torch's functions, in one pass.
 */
#include "radix.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW 64  /* rows that are sorted together, so that their entries stay near each other in memory */
#define LENGTHS 64 /* classes of lengths */
#define CHUNK 4    /* entries that lengths of one class may differ by */

static int length_class(int64_t length)
{
	int64_t chunks = (length + CHUNK - 1) / CHUNK;
	return (int)(chunks < LENGTHS ? LENGTHS - 1 - chunks : 0);
}

/* Writes the numbers of rows, those with most entries of each window first. */
PyObject *order_rows(PyObject *self, PyObject *args)
{
	(void)self;
	unsigned long long given, order;
	long long rows;
	int wide;
	if (!PyArg_ParseTuple(args, "KpLK", &given, &wide, &rows, &order))
		return NULL;
	const int32_t *pos = (const int32_t *)(uintptr_t)given;
	const int64_t *wide_pos = (const int64_t *)(uintptr_t)given;
	int32_t *to = (int32_t *)(uintptr_t)order;
	int64_t *wide_to = (int64_t *)(uintptr_t)order;
	Py_BEGIN_ALLOW_THREADS
	for (int64_t first = 0; first < rows; first += WINDOW) {
		int count = (int)(rows - first < WINDOW ? rows - first : WINDOW), next[LENGTHS + 1] = {0}, class[WINDOW];
		for (int n = 0; n < count; n++) {
			int64_t row = first + n;
			class[n] = length_class(wide ? wide_pos[row + 1] - wide_pos[row] : (int64_t)pos[row + 1] - pos[row]);
			next[class[n] + 1]++;
		}
		for (int n = 0; n < LENGTHS; n++)
			next[n + 1] += next[n];
		for (int n = 0; n < count; n++) {
			int64_t place = first + next[class[n]]++;
			if (wide)
				wide_to[place] = first + n;
			else
				to[place] = (int32_t)(first + n);
		}
	}
	Py_END_ALLOW_THREADS
	Py_RETURN_NONE;
}

/* Whether `count` coordinates are from 0 to before `extent`, and ascend in each of the rows between positions, which ascend from 0 to `count`.
 *
 * Those that don't ascend are counted everywhere and where rows begin: the loop over all of them has no branch, and runs in vectors. */
#define DEFINE_ARE_RIGHT(name, T, U)                                                                             \
	static bool name(const T *pos, const T *crd, int64_t rows, int64_t extent, int64_t count)               \
	{                                                                                                        \
		U falls = 0, outside = 0, last = (U)(extent - 1 < (T)(~(U)0 >> 1) ? extent - 1 : (T)(~(U)0 >> 1)); \
		if (pos[0] != 0 || pos[rows] != count || (count > 0 && extent < 1))                              \
			return false;                                                                            \
		for (int64_t row = 0; row < rows; row++)                                                         \
			falls |= pos[row + 1] < pos[row];                                                        \
		for (int64_t n = 0; n < count; n++)                                                              \
			outside |= (U)crd[n] | (last - (U)crd[n]);                                               \
		if (falls || (T)outside < 0)                                                                     \
			return false;                                                                            \
		int64_t everywhere = 0, between = 0;                                                             \
		for (int64_t first = 1; first < count; first += PART_LENGTH) {                                         \
			int64_t end = first + PART_LENGTH < count ? first + PART_LENGTH : count;                             \
			U here = 0;                                                                              \
			for (int64_t n = first; n < end; n++)                                                    \
				here += crd[n] <= crd[n - 1];                                                    \
			everywhere += here;                                                                      \
		}                                                                                                \
		for (int64_t row = 1; row < rows; row++) {                                                       \
			int64_t at = pos[row];                                                                   \
			between += at > 0 && at < pos[row + 1] && crd[at] <= crd[at - 1];                        \
		}                                                                                                \
		return everywhere == between;                                                                    \
	}
#define PART_LENGTH (1 << 20) /* coordinates of which those that don't ascend are counted in their own type */
DEFINE_ARE_RIGHT(narrow_are_right, int32_t, uint32_t)
DEFINE_ARE_RIGHT(wide_are_right, int64_t, uint64_t)

PyObject *rows_are_right(PyObject *self, PyObject *args)
{
	(void)self;
	unsigned long long pos, crd;
	long long rows, extent, count;
	int wide;
	bool right;
	if (!PyArg_ParseTuple(args, "KKpLLL", &pos, &crd, &wide, &rows, &extent, &count))
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	if (wide)
		right = wide_are_right((const int64_t *)(uintptr_t)pos, (const int64_t *)(uintptr_t)crd, rows, extent, count);
	else
		right = narrow_are_right((const int32_t *)(uintptr_t)pos, (const int32_t *)(uintptr_t)crd, rows, extent, count);
	Py_END_ALLOW_THREADS
	return PyBool_FromLong(right);
}

#define MOST_SAMPLED 128 /* entries of a window that is looked at */

/* Of runs of entries, how many stand beside the one before, and of how many the window around has the coordinate before. */
PyObject *neighbours(PyObject *self, PyObject *args)
{
	(void)self;
	unsigned long long given;
	long long count, above, runs, length, beside = 0, below = 0;
	int wide;
	if (!PyArg_ParseTuple(args, "KpLLLL", &given, &wide, &count, &above, &runs, &length))
		return NULL;
	int64_t window[MOST_SAMPLED], most = above + length;
	if (above < 0 || length < 0 || most > MOST_SAMPLED) {
		PyErr_SetString(PyExc_ValueError, "windows are too long");
		return NULL;
	}
	for (int64_t run = 0; run < runs; run++) {
		int64_t first = run * (count / runs);
		for (int64_t n = 0; n < most; n++)
			window[n] = wide ? ((const int64_t *)(uintptr_t)given)[first + n] : ((const int32_t *)(uintptr_t)given)[first + n];
		for (int64_t n = above; n < most; n++) {
			int64_t found = 0;
			for (int64_t other = 0; other < most; other++)
				found |= window[other] == window[n] - 1;
			below += found;
			beside += n > above && window[n - 1] == window[n] - 1;
		}
	}
	return Py_BuildValue("(LL)", beside, below);
}

static int64_t element(const Array *array, int64_t n)
{
	return array->wide ? ((const int64_t *)array->address)[n] : ((const int32_t *)array->address)[n];
}

/* Whether entries are in lexicographic order: 2 where each is behind the one before, 1 where some are equal to it, 0 else. */
static int order_of(const Array *coords, int modes, int64_t count)
{
	bool again = false;
	for (int64_t n = 1; n < count; n++) {
		int mode = 0;
		while (mode < modes && element(&coords[mode], n) == element(&coords[mode], n - 1))
			mode++;
		if (mode < modes && element(&coords[mode], n) < element(&coords[mode], n - 1))
			return 0;
		again |= mode == modes;
	}
	return again ? 1 : 2;
}

/* The same for matrices of one type of coordinates, which are most. */
#define DEFINE_ORDER_OF_MATRIX(name, T)                                                \
	static int name(const T *row, const T *col, int64_t count)                         \
	{                                                                                  \
		bool again = false;                                                            \
		for (int64_t n = 1; n < count; n++) {                                          \
			if (row[n] < row[n - 1] || (row[n] == row[n - 1] && col[n] < col[n - 1]))  \
				return 0;                                                              \
			again |= row[n] == row[n - 1] && col[n] == col[n - 1];                     \
		}                                                                              \
		return again ? 1 : 2;                                                          \
	}
DEFINE_ORDER_OF_MATRIX(narrow_order_of_matrix, int32_t)
DEFINE_ORDER_OF_MATRIX(wide_order_of_matrix, int64_t)

PyObject *ascending(PyObject *self, PyObject *args)
{
	(void)self;
	PyObject *given;
	long long count;
	Array coords[MOST_MODES];
	if (!PyArg_ParseTuple(args, "O!L", &PyTuple_Type, &given, &count))
		return NULL;
	Py_ssize_t modes = PyTuple_Size(given);
	if (modes > MOST_MODES) {
		PyErr_SetString(PyExc_ValueError, "too many modes");
		return NULL;
	}
	if (!read_arrays(given, coords, (int)modes))
		return NULL;
	int order;
	Py_BEGIN_ALLOW_THREADS
	if (modes == 2 && coords[0].wide && coords[1].wide)
		order = wide_order_of_matrix(coords[0].address, coords[1].address, count);
	else if (modes == 2 && !coords[0].wide && !coords[1].wide)
		order = narrow_order_of_matrix(coords[0].address, coords[1].address, count);
	else
		order = order_of(coords, (int)modes, count);
	Py_END_ALLOW_THREADS
	return PyLong_FromLong(order);
}

#define DEFINE_FIRST_OF_ROWS(name, T, P)                                        \
	static bool name(const T *row, int64_t count, int64_t rows, P *pos)             \
	{                                                                           \
		memset(pos, 0, (size_t)(rows + 1) * sizeof *pos);                       \
		for (int64_t n = 0; n < count; n++) {                                   \
			T here = row[n];                                                    \
			if (here < 0 || here >= rows)                                       \
				return false;                                                   \
			pos[here + 1]++;                                                    \
		}                                                                       \
		for (int64_t n = 0; n < rows; n++)                                      \
			pos[n + 1] += pos[n];                                               \
		return true;                                                            \
	}
DEFINE_FIRST_OF_ROWS(narrow_first, int32_t, int32_t)
DEFINE_FIRST_OF_ROWS(narrow_first_wide, int32_t, int64_t)
DEFINE_FIRST_OF_ROWS(wide_first_narrow, int64_t, int32_t)
DEFINE_FIRST_OF_ROWS(wide_first, int64_t, int64_t)

PyObject *first_of_rows(PyObject *self, PyObject *args)
{
	(void)self;
	unsigned long long given, to;
	long long count, rows;
	int wide, wide_pos;
	if (!PyArg_ParseTuple(args, "KpLLKp", &given, &wide, &count, &rows, &to, &wide_pos))
		return NULL;
	void *row = (void *)(uintptr_t)given, *pos = (void *)(uintptr_t)to;
	bool inside;
	Py_BEGIN_ALLOW_THREADS
	if (wide)
		inside = wide_pos ? wide_first(row, count, rows, pos) : wide_first_narrow(row, count, rows, pos);
	else
		inside = wide_pos ? narrow_first_wide(row, count, rows, pos) : narrow_first(row, count, rows, pos);
	Py_END_ALLOW_THREADS
	return PyBool_FromLong(inside);
}
