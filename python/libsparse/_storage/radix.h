/* What the sources of the module _radix share. Only Python's limited interface is used. */
#ifndef LIBSPARSE_RADIX_H
#define LIBSPARSE_RADIX_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "threads.h"

#define MOST_MODES 16

typedef struct {
	void *address;
	bool wide; /* int64, else int32 */
} Array;

static inline int64_t element(const Array *array, int64_t n)
{
	return array->wide ? ((const int64_t *)array->address)[n] : ((const int32_t *)array->address)[n];
}

/* Reads a tuple of (address, whether elements are int64), one pair a mode; false with an exception where it is none. */
bool read_arrays(PyObject *given, Array *arrays, int count);

/* Entries of a matrix, and where they are moved to. */
typedef struct {
	const int32_t *row, *column;
	const void *values;
	int itemsize, threads;
	uint64_t team;
	bool mirrored; /* an entry that is not on the diagonal stands for two */
	bool numbered; /* the value of an entry is its number */
	bool merges;   /* long rows are sorted by themselves */
	int64_t count, rows;
	int32_t *next; /* for each thread and row, how many entries, then where the next one goes */
	int32_t *pos, *moved;
	void *moved_values;
	atomic_bool twice, falls;
} Matrix;

/* Puts entries in the order of their coordinates: `falls` where rows are long and columns too many to be counted, `twice` where entries come again, in the
 * order in which they came. Returns false where there is no memory. */
bool sort_by_rows(Matrix *m);

/* Puts so many entries in the order of their columns, and then of their rows: all of them, those that come again in the order in which they came. Returns
 * false where there is no memory. */
bool place_by_columns_and_rows(Matrix *m, int64_t total, int64_t columns);

/* The functions of the other sources, which radix.c lists for Python. */
PyObject *by_rows(PyObject *self, PyObject *args);
PyObject *choose_columns(PyObject *self, PyObject *args);
PyObject *compress(PyObject *self, PyObject *args);
PyObject *count_fibers(PyObject *self, PyObject *args);
PyObject *count_nonzeros(PyObject *self, PyObject *args);
PyObject *copy_box(PyObject *self, PyObject *args);
PyObject *copy_runs(PyObject *self, PyObject *args);
PyObject *drop_repeats(PyObject *self, PyObject *args);
PyObject *extreme_of_rows(PyObject *self, PyObject *args);
PyObject *filter_rows(PyObject *self, PyObject *args);
PyObject *find_box(PyObject *self, PyObject *args);
PyObject *find_elements(PyObject *self, PyObject *args);
PyObject *ascending(PyObject *self, PyObject *args);
PyObject *first_of_rows(PyObject *self, PyObject *args);
PyObject *join_rows(PyObject *self, PyObject *args);
PyObject *lead_rows(PyObject *self, PyObject *args);
PyObject *locate_sorted(PyObject *self, PyObject *args);
PyObject *measure_runs(PyObject *self, PyObject *args);
PyObject *neighbours(PyObject *self, PyObject *args);
PyObject *order_rows(PyObject *self, PyObject *args);
PyObject *alike_rows(PyObject *self, PyObject *args);
PyObject *rows_are_right(PyObject *self, PyObject *args);
PyObject *share_of_extremes(PyObject *self, PyObject *args);
PyObject *surprises(PyObject *self, PyObject *args);
PyObject *take(PyObject *self, PyObject *args);
PyObject *walk_levels(PyObject *self, PyObject *args);
PyObject *write_fibers(PyObject *self, PyObject *args);
PyObject *write_nonzeros(PyObject *self, PyObject *args);

#endif
