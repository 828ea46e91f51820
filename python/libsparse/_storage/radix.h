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

/* Reads a tuple of (address, whether elements are int64), one pair a mode; false with an exception where it is none. */
bool read_arrays(PyObject *given, Array *arrays, int count);

/* The functions of the other sources, which radix.c lists for Python. */
PyObject *by_rows(PyObject *self, PyObject *args);
PyObject *ascending(PyObject *self, PyObject *args);
PyObject *first_of_rows(PyObject *self, PyObject *args);
PyObject *neighbours(PyObject *self, PyObject *args);
PyObject *order_rows(PyObject *self, PyObject *args);
PyObject *alike_rows(PyObject *self, PyObject *args);
PyObject *rows_are_right(PyObject *self, PyObject *args);
PyObject *take(PyObject *self, PyObject *args);

#endif
