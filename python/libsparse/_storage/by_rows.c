/* Puts the entries of a matrix in the order of its rows, by threads, and each row in the order of columns: entries that come column by column, as in
 * most files, have that already, short rows are sorted, and so are long ones where few entries are in these. Else they come from entries that were put
 * by columns before. This takes no keys. */
#include "radix.h"

#include <stdlib.h>

#define MOST_EACH 4   /* columns for each entry up to which it pays to count the entries of each column */
#define SHORT_ROW 64 /* entries, up to which counting smaller ones takes less time than a sort */
#define LANES 4	      /* columns that are compared at a time */
#define RUN 16	      /* entries that are sorted by counting before they are merged */
#define SHARE 2	      /* long rows are sorted where they have one entry in so many at most: by columns all are moved twice */

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
DEFINE_PLACE(place_number, ((uint32_t *)m->moved_values)[place] = (uint32_t)n)

/* An entry of a row. */
typedef struct {
	int32_t column;
	uint64_t value;
} Entry;

static Entry entry_at(const Matrix *m, int64_t n)
{
	Entry found = {m->moved[n], 0};
	if (m->itemsize == 4)
		found.value = ((uint32_t *)m->moved_values)[n];
	else if (m->itemsize == 8)
		found.value = ((uint64_t *)m->moved_values)[n];
	return found;
}

static void put_entry(const Matrix *m, int64_t n, Entry entry)
{
	m->moved[n] = entry.column;
	if (m->itemsize == 4)
		((uint32_t *)m->moved_values)[n] = (uint32_t)entry.value;
	else if (m->itemsize == 8)
		((uint64_t *)m->moved_values)[n] = entry.value;
}

/* Sorts a short row: each entry goes behind those of smaller columns, which are counted without branches, and behind those of its column before it. */
static void place_each(const Matrix *m, int64_t begin, int64_t end)
{
	Entry entries[SHORT_ROW];
	int32_t columns[SHORT_ROW], equal[SHORT_ROW];
	int count = (int)(end - begin), lanes = (count + LANES - 1) / LANES * LANES;
	for (int n = 0; n < lanes; n++)
		columns[n] = n < count ? m->moved[begin + n] : INT32_MAX;
	for (int n = 0; n < count; n++)
		entries[n] = entry_at(m, begin + n), equal[n] = 0;
	for (int n = 0; n < count; n++) {
		int32_t smaller[LANES] = {0}, column = columns[n];
		for (int k = 0; k < lanes; k += LANES)
			for (int lane = 0; lane < LANES; lane++)
				smaller[lane] += columns[k + lane] < column;
		int place = smaller[0] + smaller[1] + smaller[2] + smaller[3];
		put_entry(m, begin + place + equal[place]++, entries[n]);
	}
}

/* Merges two sorted runs that stand side by side, and takes the first of equal columns from the first. */
static void merge_runs(const Entry *from, int64_t middle, int64_t count, Entry *to)
{
	for (int64_t first = 0, second = middle, n = 0; n < count; n++) {
		bool takes_first = second >= count || (first < middle && from[first].column <= from[second].column);
		to[n] = takes_first ? from[first++] : from[second++];
	}
}

/* Sorts a long row by merging longer and longer runs; false where there is no memory. */
static bool merge_each(const Matrix *m, int64_t begin, int64_t end)
{
	int64_t count = end - begin;
	Entry *room = malloc((size_t)(2 * count) * sizeof *room), *from = room, *to = room + count;
	if (room == NULL)
		return false;
	for (int64_t n = begin; n < end; n += RUN)
		place_each(m, n, n + RUN < end ? n + RUN : end);
	for (int64_t n = 0; n < count; n++)
		from[n] = entry_at(m, begin + n);
	for (int64_t run = RUN; run < count; run *= 2) {
		for (int64_t n = 0; n < count; n += 2 * run) {
			int64_t both = n + 2 * run < count ? 2 * run : count - n;
			merge_runs(from + n, run < both ? run : both, both, to + n);
		}
		Entry *merged = to;
		to = from, from = merged;
	}
	for (int64_t n = 0; n < count; n++)
		put_entry(m, begin + n, from[n]);
	free(room);
	return true;
}

/* Sorts rows whose columns don't ascend, and notes where one is there twice, and whether long ones stay that don't ascend. */
static void order_each(void *given, int thread)
{
	Matrix *m = given;
	int64_t end = share(m->rows, m->threads, thread + 1);
	bool twice = false, falls = false;
	for (int64_t row = share(m->rows, m->threads, thread); row < end && !falls; row++) {
		int64_t first = m->pos[row], last = m->pos[row + 1], n = first + 1;
		while (n < last && m->moved[n] > m->moved[n - 1])
			n++;
		if (n >= last)
			continue;
		while (n < last && m->moved[n] >= m->moved[n - 1])
			n++;
		if (n < last && last - first <= SHORT_ROW)
			place_each(m, first, last);
		else if (n < last)
			falls = !m->merges || !merge_each(m, first, last);
		for (n = first + 1; n < last; n++)
			twice |= m->moved[n] == m->moved[n - 1];
	}
	if (twice)
		atomic_store(&m->twice, true);
	if (falls)
		atomic_store(&m->falls, true);
}

/* Whether few of the entries are in long rows. */
static bool has_few_in_long_rows(const Matrix *m)
{
	int64_t found = 0;
	for (int64_t row = 0; row < m->rows; row++) {
		int64_t length = m->pos[row + 1] - m->pos[row];
		found += length > SHORT_ROW ? length : 0;
	}
	return found <= m->pos[m->rows] / SHARE;
}

/* Counts the entries of each row and moves them there, in the order in which they come; false where there is no memory. */
static bool place_by_rows(Matrix *m)
{
	m->next = calloc((size_t)(m->rows * m->threads + 1), sizeof *m->next);
	if (m->next == NULL)
		return false;
	run_threads(m->threads, m->team, count_entries, m);
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
	void (*place)(void *, int) = m->itemsize == 0 ? place_none : m->itemsize == 4 ? place_narrow : place_wide;
	run_threads(m->threads, m->team, m->numbered ? place_number : place, m);
	free(m->next);
	return true;
}

/* The number of columns up to the last one with an entry. */
static int64_t count_columns(const Matrix *m)
{
	int64_t columns = 0;
	for (int64_t n = 0; n < m->pos[m->rows]; n++)
		columns = m->moved[n] >= columns ? m->moved[n] + 1 : columns;
	return columns;
}

bool place_by_columns_and_rows(Matrix *m, int64_t total, int64_t columns)
{
	Matrix by_column = *m, by_row = *m;
	by_column.row = m->column, by_column.column = m->row, by_column.rows = columns;
	int32_t *room = malloc((size_t)(2 * total + columns + 1) * sizeof *room);
	by_column.moved_values = malloc((size_t)(total * m->itemsize + 1));
	bool done = false;
	if (room != NULL && by_column.moved_values != NULL) {
		int32_t *column = room + total;
		by_column.moved = room, by_column.pos = room + 2 * total;
		by_row.row = room, by_row.column = column, by_row.values = by_column.moved_values;
		by_row.count = total, by_row.mirrored = by_row.numbered = false;
		done = place_by_rows(&by_column);
		for (int64_t n = 0; done && n < columns; n++)
			for (int32_t k = by_column.pos[n]; k < by_column.pos[n + 1]; k++)
				column[k] = (int32_t)n;
		done = done && place_by_rows(&by_row);
	}
	free(room);
	free(by_column.moved_values);
	return done;
}

bool sort_by_rows(Matrix *m)
{
	if (!place_by_rows(m))
		return false;
	m->merges = has_few_in_long_rows(m);
	run_threads(m->threads, m->team, order_each, m);
	int64_t columns = atomic_load(&m->falls) ? count_columns(m) : 0;
	if (columns == 0 || columns > MOST_EACH * (int64_t)m->pos[m->rows] / m->threads)
		return true;
	if (!place_by_columns_and_rows(m, m->pos[m->rows], columns))
		return false;
	atomic_store(&m->twice, false);
	atomic_store(&m->falls, false);
	run_threads(m->threads, m->team, order_each, m);
	return true;
}

PyObject *by_rows(PyObject *self, PyObject *args)
{
	(void)self;
	Matrix m = {0};
	unsigned long long row, column, values, team, pos, moved, moved_values;
	long long count, rows;
	int mirrored;
	if (!PyArg_ParseTuple(args, "KKKiLLpiKKKK", &row, &column, &values, &m.itemsize, &count, &rows, &mirrored, &m.threads, &team, &pos,
			      &moved, &moved_values))
		return NULL;
	if (m.threads < 1 || rows < 0 || count < 0 || count > INT32_MAX / (mirrored ? 2 : 1)) {
		PyErr_SetString(PyExc_ValueError, "entries, rows or threads out of range");
		return NULL;
	}
	m.row = (const int32_t *)(uintptr_t)row, m.column = (const int32_t *)(uintptr_t)column;
	m.values = (const void *)(uintptr_t)values, m.moved_values = (void *)(uintptr_t)moved_values;
	m.pos = (int32_t *)(uintptr_t)pos, m.moved = (int32_t *)(uintptr_t)moved;
	m.threads = m.threads < MOST_THREADS ? m.threads : MOST_THREADS;
	m.team = team, m.count = count, m.rows = rows, m.mirrored = mirrored;
	bool done;
	Py_BEGIN_ALLOW_THREADS
	done = sort_by_rows(&m);
	Py_END_ALLOW_THREADS
	if (!done)
		return PyErr_NoMemory();
	return PyBool_FromLong(!atomic_load(&m.twice) && !atomic_load(&m.falls));
}
