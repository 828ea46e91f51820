/* Ranges of the rows and columns of a matrix with compressed rows, columns between two diagonals, and elements: what torch's functions do by comparing
 * all coordinates and keeping the places where they are in range, in a pass that reads the columns of the rows alone.
 */
#include "radix.h"

#define SHORT 32 /* entries of a row that are compared one by one: no branch, and in vectors */

typedef struct {
	const void *pos, *crd;
	void *begin, *box_pos, *box_crd, *place;
	int64_t first, rows, low, high; /* rows behind the first, columns from low to before high */
	int low_moves, high_moves;	/* whether these are larger by one in each next row */
	int threads;
} Box;

/* find_column: how many columns of a row are less than a wanted one. find: counts the entries of each row in range, and notes where they begin.
 * copy: writes their columns and places. find_ends: makes positions of the counts. */
#define DEFINE_BOX(find, copy, T)											\
	static int64_t find##_column(const T *crd, int64_t count, int64_t wanted)					\
	{														\
		const int64_t most = sizeof(T) == 4 ? INT32_MAX : INT64_MAX;						\
		if (wanted <= 0 || wanted > most)									\
			return wanted <= 0 ? 0 : count;									\
		const T column = (T)wanted;										\
		int64_t before = 0;											\
		while (count > SHORT) { /* a half without a branch */							\
			int64_t half = count / 2;									\
			before = crd[before + half - 1] < column ? before + half : before;				\
			count -= half;											\
		}													\
		int64_t less = 0;											\
		for (int64_t n = 0; n < count; n++)									\
			less += crd[before + n] < column;								\
		return before + less;											\
	}														\
	static void find(void *given, int thread)									\
	{														\
		Box *box = given;											\
		const T *pos = (const T *)box->pos + box->first, *crd = box->crd;					\
		T *begin = box->begin, *counts = (T *)box->box_pos + 1;						\
		int64_t last = share(box->rows, box->threads, thread + 1);						\
		for (int64_t row = share(box->rows, box->threads, thread); row < last; row++) {			\
			int64_t from = pos[row], count = pos[row + 1] - from;						\
			int64_t low = box->low + (box->low_moves ? row : 0);						\
			int64_t high = box->high + (box->high_moves ? row : 0);					\
			int64_t before = find##_column(crd + from, count, low);					\
			begin[row] = (T)(from + before);								\
			const T *rest = crd + from + before;							\
			count -= before;									\
			if (high == low + 1) /* a diagonal */							\
				counts[row] = count > 0 && rest[0] == low;					\
			else											\
				counts[row] = (T)(find##_column(rest, count, high));				\
		}													\
	}														\
	static void copy(void *given, int thread)									\
	{														\
		Box *box = given;											\
		const T *crd = box->crd, *begin = box->begin, *pos = box->box_pos, low = (T)box->low;			\
		T *columns = box->box_crd, *place = box->place;							\
		int64_t last = share(box->rows, box->threads, thread + 1);						\
		for (int64_t row = share(box->rows, box->threads, thread); row < last; row++) {			\
			int64_t to = pos[row], count = pos[row + 1] - to;						\
			for (int64_t n = 0; n < count; n++) {								\
				columns[to + n] = crd[begin[row] + n] - low;						\
				place[to + n] = (T)(begin[row] + n);							\
			}												\
		}													\
	}														\
	static int64_t find##_ends(Box *box)										\
	{														\
		T *pos = box->box_pos;											\
		pos[0] = 0;												\
		for (int64_t row = 0; row < box->rows; row++)								\
			pos[row + 1] += pos[row];									\
		return pos[box->rows];											\
	}
DEFINE_BOX(find, copy, int32_t)
DEFINE_BOX(find_wide, copy_wide, int64_t)

static void *at(unsigned long long address)
{
	return (void *)(uintptr_t)address;
}

/* Writes the positions of the entries in range, and where those of each row begin; how many there are. */
PyObject *find_box(PyObject *self, PyObject *args)
{
	(void)self;
	Box box = {0};
	unsigned long long pos, crd, team, begin, box_pos;
	int wide;
	if (!PyArg_ParseTuple(args, "KKpLLLLppiKKK", &pos, &crd, &wide, &box.first, &box.rows, &box.low, &box.high, &box.low_moves,
			      &box.high_moves, &box.threads, &team, &begin, &box_pos))
		return NULL;
	int64_t count;
	box.pos = at(pos), box.crd = at(crd), box.begin = at(begin), box.box_pos = at(box_pos);
	Py_BEGIN_ALLOW_THREADS
	run_threads(box.threads, team, wide ? find_wide : find, &box);
	count = wide ? find_wide_ends(&box) : find_ends(&box);
	Py_END_ALLOW_THREADS
	return PyLong_FromLongLong(count);
}

/* Writes the columns of the entries that `find_box` has found, counted from the lowest, and their places. */
PyObject *copy_box(PyObject *self, PyObject *args)
{
	(void)self;
	Box box = {0};
	unsigned long long crd, team, begin, box_pos, box_crd, place;
	int wide;
	if (!PyArg_ParseTuple(args, "KpLLiKKKKK", &crd, &wide, &box.rows, &box.low, &box.threads, &team, &begin, &box_pos, &box_crd, &place))
		return NULL;
	box.crd = at(crd), box.begin = at(begin), box.box_pos = at(box_pos), box.box_crd = at(box_crd), box.place = at(place);
	Py_BEGIN_ALLOW_THREADS
	run_threads(box.threads, team, wide ? copy_wide : copy, &box);
	Py_END_ALLOW_THREADS
	Py_RETURN_NONE;
}

typedef struct {
	const void *pos, *crd;
	const int64_t *row, *column;
	int64_t rows, count, *place;
	int threads;
	bool wide;
} Elements;

static void find_each(void *given, int thread)
{
	const Elements *e = given;
	int64_t end = share(e->count, e->threads, thread + 1);
	for (int64_t n = share(e->count, e->threads, thread); n < end; n++) {
		int64_t row = e->row[n], column = e->column[n], at;
		bool is_there = false;
		if (row < 0 || row >= e->rows || column < 0) {
			at = -1;
		} else if (e->wide) {
			const int64_t *pos = (const int64_t *)e->pos + row, *crd = e->crd;
			at = pos[0] + find_wide_column(crd + pos[0], pos[1] - pos[0], column);
			is_there = at < pos[1] && crd[at] == column;
		} else {
			const int32_t *pos = (const int32_t *)e->pos + row, *crd = e->crd;
			at = pos[0] + find_column(crd + pos[0], pos[1] - pos[0], column);
			is_there = at < pos[1] && crd[at] == column;
		}
		e->place[n] = is_there ? at : -1;
	}
}

/* Writes the place of each element, -1 of one that is not there. */
PyObject *find_elements(PyObject *self, PyObject *args)
{
	(void)self;
	Elements e = {0};
	unsigned long long pos, crd, row, column, place, team;
	int wide;
	if (!PyArg_ParseTuple(args, "KKpLKKLiKK", &pos, &crd, &wide, &e.rows, &row, &column, &e.count, &e.threads, &team, &place))
		return NULL;
	e.pos = at(pos), e.crd = at(crd), e.row = at(row), e.column = at(column), e.place = at(place), e.wide = wide;
	Py_BEGIN_ALLOW_THREADS
	run_threads(e.threads, team, find_each, &e);
	Py_END_ALLOW_THREADS
	Py_RETURN_NONE;
}
