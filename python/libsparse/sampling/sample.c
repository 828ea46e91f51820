/* Draws entries of the rows of a matrix, and numbers nodes: what draws.py does with torch's functions, with the same results.
 *
 * Only Python's limited interface is used. Arrays are given by their addresses.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* A number below `end` that follows from a seed, a row and the number of the draw: the upper bits of a hash, scaled. */
static int64_t draw(uint64_t seed, uint64_t row, uint64_t number, int64_t end)
{
	uint64_t x = seed + (row << 20) + number;
	x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
	x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
	x ^= x >> 31;
	return (int64_t)(((x >> 33) * (uint64_t)end) >> 31);
}

static bool among(const int64_t *taken, int64_t count, int64_t candidate)
{
	for (int64_t n = 0; n < count; n++)
		if (taken[n] == candidate)
			return true;
	return false;
}

/* Draws at most `fanout` of a row's entries, all of them where it is negative; returns how many. */
static int64_t draw_row(uint64_t seed, int64_t row, int64_t first, int64_t length, int64_t fanout, bool replace, int64_t *entries)
{
	if (fanout < 0 || (!replace && length <= fanout)) {
		for (int64_t n = 0; n < length; n++)
			entries[n] = first + n;
		return length;
	}
	if (length == 0)
		return 0;
	for (int64_t n = 0; n < fanout; n++) {
		if (replace) {
			entries[n] = first + draw(seed, (uint64_t)row, (uint64_t)n, length);
			continue;
		}
		/* Floyd's method: each step lets one more entry take part, which is taken where the one that is drawn has been */
		int64_t last = first + length - fanout + n;
		int64_t candidate = first + draw(seed, (uint64_t)row, (uint64_t)n, last - first + 1);
		entries[n] = among(entries, n, candidate) ? last : candidate;
	}
	return fanout;
}

static PyObject *draw_entries(PyObject *self, PyObject *args)
{
	(void)self;
	unsigned long long pos, nodes, seed, to_rows, to_entries;
	long long count, fanout, found = 0;
	int wide, replace;
	if (!PyArg_ParseTuple(args, "KpKLLpKKK", &pos, &wide, &nodes, &count, &fanout, &replace, &seed, &to_rows, &to_entries))
		return NULL;
	const int32_t *narrow_pos = (const int32_t *)(uintptr_t)pos;
	const int64_t *wide_pos = (const int64_t *)(uintptr_t)pos, *node = (const int64_t *)(uintptr_t)nodes;
	int64_t *rows = (int64_t *)(uintptr_t)to_rows, *entries = (int64_t *)(uintptr_t)to_entries;
	Py_BEGIN_ALLOW_THREADS
	for (int64_t row = 0; row < count; row++) {
		int64_t first = wide ? wide_pos[node[row]] : narrow_pos[node[row]];
		int64_t end = wide ? wide_pos[node[row] + 1] : narrow_pos[node[row] + 1];
		int64_t drawn = draw_row(seed, row, first, end - first, fanout, replace, entries + found);
		for (int64_t n = 0; n < drawn; n++)
			rows[found + n] = row;
		found += drawn;
	}
	Py_END_ALLOW_THREADS
	return PyLong_FromLongLong(found);
}

/* Finds the number of a node in a table of places, or gives it the next one. */
static int64_t number_of(int64_t *table, uint64_t mask, int64_t *nodes, int64_t *count, int64_t node)
{
	uint64_t place = ((uint64_t)node * 0x9E3779B97F4A7C15u) >> 20;
	for (;; place++) {
		int64_t *slot = &table[place & mask];
		if (*slot == 0) { /* numbers are kept from 1 on */
			nodes[*count] = node;
			*slot = ++*count;
			return *count - 1;
		}
		if (nodes[*slot - 1] == node)
			return *slot - 1;
	}
}

static PyObject *number_nodes(PyObject *self, PyObject *args)
{
	(void)self;
	unsigned long long known, given, to_nodes, to_numbers;
	long long known_count, given_count;
	if (!PyArg_ParseTuple(args, "KLKLKK", &known, &known_count, &given, &given_count, &to_nodes, &to_numbers))
		return NULL;
	uint64_t size = 16;
	while (size < 2 * (uint64_t)(known_count + given_count))
		size *= 2;
	int64_t *table = calloc(size, sizeof *table);
	if (table == NULL)
		return PyErr_NoMemory();
	const int64_t *first = (const int64_t *)(uintptr_t)known, *node = (const int64_t *)(uintptr_t)given;
	int64_t *nodes = (int64_t *)(uintptr_t)to_nodes, *numbers = (int64_t *)(uintptr_t)to_numbers, count = 0;
	Py_BEGIN_ALLOW_THREADS
	for (int64_t n = 0; n < known_count; n++)
		number_of(table, size - 1, nodes, &count, first[n]);
	for (int64_t n = 0; n < given_count; n++)
		numbers[n] = number_of(table, size - 1, nodes, &count, node[n]);
	Py_END_ALLOW_THREADS
	free(table);
	return PyLong_FromLongLong(count);
}

static PyMethodDef functions[] = {
	{"draw_entries", draw_entries, METH_VARARGS,
	 "draw_entries(pos, wide, nodes, count, fanout, replace, seed, rows, entries): how many entries of the rows `nodes` were drawn.\n\n"
	 "`pos` has int64 where `wide`, else int32; `nodes`, `rows` and `entries` have int64."},
	{"number_nodes", number_nodes, METH_VARARGS,
	 "number_nodes(known, known_count, given, given_count, nodes, numbers): how many nodes there are, without those that come again.\n\n"
	 "Writes them in the order in which they come first, the known ones before those that are given, and the number of each given one."},
	{NULL, NULL, 0, NULL},
};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_sample", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__sample(void)
{
	return PyModule_Create(&definition);
}
