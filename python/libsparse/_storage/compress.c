/* Compressed rows of the coordinates of entries in any order, in one call: graphs that come anew with each batch have few edges, for which
 * torch's sort, gathers and comparisons take longer to call than to run. */
#include "radix.h"

#include <stdlib.h>
#include <string.h>

#define MOST_NEAR (1 << 17) /* entries that caches keep while they are moved twice, for which rows needn't be sorted */

enum answer { OUTSIDE = -1, UNSORTED = -2 };

typedef struct {
	Array given[2];
	int64_t extents[2], count;
	int threads;
	int32_t *narrow[2];
	atomic_bool outside, moves;
} Coordinates;

static int64_t coordinate(const Coordinates *c, int mode, int64_t n)
{
	return c->given[mode].wide ? ((const int64_t *)c->given[mode].address)[n] : ((const int32_t *)c->given[mode].address)[n];
}

/* Copies coordinates to int32, and notes whether some are out of range, and whether each entry stands behind the one before. */
static void narrow_each(void *given, int thread)
{
	Coordinates *c = given;
	int64_t begin = share(c->count, c->threads, thread), end = share(c->count, c->threads, thread + 1);
	int64_t last_row = begin > 0 ? coordinate(c, 0, begin - 1) : -1, last_column = begin > 0 ? coordinate(c, 1, begin - 1) : -1;
	bool outside = false, moves = false;
	for (int64_t n = begin; n < end; n++) {
		int64_t row = coordinate(c, 0, n), column = coordinate(c, 1, n);
		outside |= (uint64_t)row >= (uint64_t)c->extents[0] || (uint64_t)column >= (uint64_t)c->extents[1];
		moves |= row < last_row || (row == last_row && column <= last_column);
		c->narrow[0][n] = (int32_t)row;
		c->narrow[1][n] = (int32_t)column;
		last_row = row, last_column = column;
	}
	if (outside)
		atomic_store(&c->outside, true);
	if (moves)
		atomic_store(&c->moves, true);
}

/* Where rows start whose entries are in order. */
static void start_rows(const Matrix *m)
{
	int64_t n = 0;
	for (int64_t row = 0; row <= m->rows; row++) {
		while (n < m->count && m->row[n] < row)
			n++;
		m->pos[row] = (int32_t)n;
	}
}

/* Drops entries that come again, and writes where they were and the number of the one that stays; returns how many stay. Where most come again no
 * branch could be foreseen. */
static int64_t drop_again(const Matrix *m, int32_t *again, int32_t *group)
{
	int32_t *number = m->moved_values;
	int64_t kept = 0, dropped = 0, begin = 0;
	for (int64_t row = 0; row < m->rows; row++) {
		int64_t end = m->pos[row + 1];
		int32_t last = -1;
		for (int64_t n = begin; n < end; n++) {
			int32_t column = m->moved[n], place = number[n];
			bool stays = column != last;
			again[dropped] = place;
			group[dropped] = (int32_t)kept - 1;
			m->moved[kept] = last = column;
			number[kept] = place;
			dropped += !stays;
			kept += stays;
		}
		m->pos[row + 1] = (int32_t)kept;
		begin = end;
	}
	return kept;
}

PyObject *compress(PyObject *self, PyObject *args)
{
	(void)self;
	Coordinates c = {0};
	Matrix m = {0};
	PyObject *coords;
	unsigned long long team, pos, moved, order, again, group;
	if (!PyArg_ParseTuple(args, "OLLLiKKKKKK", &coords, &c.extents[0], &c.extents[1], &c.count, &c.threads, &team, &pos, &moved, &order,
			      &again, &group) ||
	    !read_arrays(coords, c.given, 2))
		return NULL;
	if (c.threads < 1 || c.count < 0 || c.count > INT32_MAX || c.extents[0] < 0 || c.extents[0] > INT32_MAX || c.extents[1] > INT32_MAX) {
		PyErr_SetString(PyExc_ValueError, "entries, extents or threads out of range");
		return NULL;
	}
	int32_t *room = malloc((size_t)(2 * c.count + 1) * sizeof *room);
	if (room == NULL)
		return PyErr_NoMemory();
	c.threads = c.threads < MOST_THREADS ? c.threads : MOST_THREADS;
	c.narrow[0] = room, c.narrow[1] = room + c.count;
	m.row = c.narrow[0], m.column = c.narrow[1], m.itemsize = 4, m.numbered = true;
	m.count = c.count, m.rows = c.extents[0], m.threads = c.threads, m.team = team;
	m.pos = (int32_t *)(uintptr_t)pos, m.moved = (int32_t *)(uintptr_t)moved, m.moved_values = (void *)(uintptr_t)order;
	int64_t distinct = c.count;
	bool moves, done = true;
	Py_BEGIN_ALLOW_THREADS
	run_threads(c.threads, team, narrow_each, &c);
	moves = atomic_load(&c.moves);
	if (atomic_load(&c.outside)) {
		distinct = OUTSIDE;
	} else if (!moves) {
		start_rows(&m);
		if (m.count > 0)
			memcpy(m.moved, m.column, (size_t)m.count * sizeof *m.moved);
	} else {
		bool few = c.count <= MOST_NEAR && c.extents[1] <= c.count / 2;
		done = few ? place_by_columns_and_rows(&m, c.count, c.extents[1]) : sort_by_rows(&m);
		if (done && atomic_load(&m.falls))
			distinct = UNSORTED;
		else if (done && (few || atomic_load(&m.twice)))
			distinct = drop_again(&m, (int32_t *)(uintptr_t)again, (int32_t *)(uintptr_t)group);
	}
	Py_END_ALLOW_THREADS
	free(room);
	return done ? Py_BuildValue("LN", (long long)distinct, PyBool_FromLong(moves)) : PyErr_NoMemory();
}
