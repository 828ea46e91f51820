/* Puts the entries of a matrix in the order of its rows, by threads: entries that come column by column, as in most files, then are in
 * the order of their coordinates, which takes no keys and no comparisons. */
#include "radix.h"

#include <stdlib.h>

typedef struct {
	const int32_t *row, *column;
	const void *values;
	int itemsize, threads;
	bool mirrored; /* an entry that is not on the diagonal stands for two */
	int64_t count, rows;
	int32_t *next; /* for each thread and row, how many entries, then where the next one goes */
	int32_t *pos, *moved;
	void *moved_values;
	atomic_bool falls;
} Matrix;

static int64_t share(int64_t count, int threads, int thread)
{
	return count / threads * thread + count % threads * thread / threads;
}

static void count_entries(void *given, int thread)
{
	Matrix *m = given;
	int32_t *next = m->next + m->rows * thread;
	int64_t end = share(m->count, m->threads, thread + 1);
	for (int64_t n = share(m->count, m->threads, thread); n < end; n++) {
		next[m->row[n]]++;
		if (m->mirrored && m->row[n] != m->column[n])
			next[m->column[n]]++;
	}
}

#define DEFINE_PLACE(name, MOVE)                                                                  \
	static void name(void *given, int thread)                                                 \
	{                                                                                         \
		Matrix *m = given;                                                                \
		int32_t *next = m->next + m->rows * thread;                                       \
		int64_t end = share(m->count, m->threads, thread + 1);                            \
		for (int64_t n = share(m->count, m->threads, thread); n < end; n++) {             \
			int32_t row = m->row[n], column = m->column[n], place = next[row]++;      \
			m->moved[place] = column;                                                 \
			MOVE;                                                                     \
			if (m->mirrored && row != column) {                                       \
				place = next[column]++;                                           \
				m->moved[place] = row;                                            \
				MOVE;                                                             \
			}                                                                         \
		}                                                                                 \
	}
DEFINE_PLACE(place_none, (void)place)
DEFINE_PLACE(place_narrow, ((uint32_t *)m->moved_values)[place] = ((const uint32_t *)m->values)[n])
DEFINE_PLACE(place_wide, ((uint64_t *)m->moved_values)[place] = ((const uint64_t *)m->values)[n])

/* Whether columns ascend in each row. */
static void compare(void *given, int thread)
{
	Matrix *m = given;
	int64_t end = share(m->rows, m->threads, thread + 1);
	bool falls = false;
	for (int64_t row = share(m->rows, m->threads, thread); row < end && !falls; row++)
		for (int32_t n = m->pos[row] + 1; n < m->pos[row + 1]; n++)
			falls |= m->moved[n] <= m->moved[n - 1];
	if (falls)
		atomic_store(&m->falls, true);
}

static void sort_by_rows(Matrix *m)
{
	run_threads(m->threads, count_entries, m);
	int32_t total = 0;
	for (int64_t row = 0; row < m->rows; row++) {
		m->pos[row] = total;
		for (int thread = 0; thread < m->threads; thread++) {
			int32_t *next = m->next + m->rows * thread + row, here = *next;
			*next = total;
			total += here;
		}
	}
	m->pos[m->rows] = total;
	run_threads(m->threads, m->itemsize == 0 ? place_none : m->itemsize == 4 ? place_narrow : place_wide, m);
	run_threads(m->threads, compare, m);
}

PyObject *by_rows(PyObject *self, PyObject *args)
{
	(void)self;
	Matrix m = {0};
	unsigned long long row, column, values, pos, moved, moved_values;
	long long count, rows;
	int mirrored;
	if (!PyArg_ParseTuple(args, "KKKiLLpiKKK", &row, &column, &values, &m.itemsize, &count, &rows, &mirrored, &m.threads, &pos, &moved,
			      &moved_values))
		return NULL;
	if (m.threads < 1 || rows < 0 || count < 0 || count > INT32_MAX / (mirrored ? 2 : 1)) {
		PyErr_SetString(PyExc_ValueError, "entries, rows or threads out of range");
		return NULL;
	}
	m.row = (const int32_t *)(uintptr_t)row, m.column = (const int32_t *)(uintptr_t)column;
	m.values = (const void *)(uintptr_t)values, m.moved_values = (void *)(uintptr_t)moved_values;
	m.pos = (int32_t *)(uintptr_t)pos, m.moved = (int32_t *)(uintptr_t)moved;
	m.threads = m.threads < MOST_THREADS ? m.threads : MOST_THREADS;
	m.count = count, m.rows = rows, m.mirrored = mirrored;
	m.next = calloc((size_t)(rows * m.threads + 1), sizeof *m.next);
	if (m.next == NULL)
		return PyErr_NoMemory();
	Py_BEGIN_ALLOW_THREADS
	sort_by_rows(&m);
	free(m.next);
	Py_END_ALLOW_THREADS
	return PyBool_FromLong(!atomic_load(&m.falls));
}
