/* The greatest or the least elements of compressed rows, stored or not, and what entries have of their gradients. */
#include "radix.h"

typedef struct {
	Array pos, crd;
	const void *values, *fill, *grads;
	int64_t rows, extent, count; /* extent: of each row; count: entries */
	bool greatest, nan_alone;
	void *found;	 /* an element of each row */
	int64_t *column; /* the first that is equal to it; NULL where nobody asks */
	int64_t *place;	 /* the entry there; -1 where it isn't stored */
	void *shares;	 /* of each entry */
	int threads;
} Rows;

/* Where the entries of a row are; places that are none are read as the ends. */
static inline void span(const Rows *r, int64_t row, int64_t *begin, int64_t *end)
{
	*begin = element(&r->pos, row);
	*end = element(&r->pos, row + 1);
	*begin = *begin < 0 ? 0 : *begin;
	*end = *end > r->count ? r->count : *end;
}

/* The first column of a row that isn't stored. */
static int64_t first_absent(const Rows *r, int64_t begin, int64_t end)
{
	int64_t column = 0;
	while (begin + column < end && element(&r->crd, begin + column) == column)
		column++;
	return column;
}

/* NaN is both the greatest and the least, and equal to itself. */
#define DEFINE(T)                                                                                                         \
	static inline bool precedes_##T(T one, T other, bool greatest)                                                    \
	{                                                                                                                 \
		return other == other && (one != one || (greatest ? one > other : one < other));                          \
	}                                                                                                                 \
	static inline bool same_##T(T one, T other)                                                                       \
	{                                                                                                                 \
		return one == other || (one != one && other != other);                                                    \
	}                                                                                                                 \
	static void find_##T(void *given, int thread)                                                                     \
	{                                                                                                                 \
		const Rows *r = given;                                                                                    \
		const T *values = r->values, fill = *(const T *)r->fill;                                                  \
		const int64_t last = share(r->rows, r->threads, thread + 1);                                              \
		for (int64_t row = share(r->rows, r->threads, thread); row < last; row++) {                               \
			int64_t begin, end, place = -1;                                                                   \
			span(r, row, &begin, &end);                                                                       \
			T best = fill;                                                                                    \
			for (int64_t n = begin; n < end; n++)                                                             \
				if (place < 0 || precedes_##T(values[n], best, r->greatest))                              \
					best = values[n], place = n;                                                      \
			const bool lacks = end - begin < r->extent;                                                       \
			const bool outside = lacks && (place < 0 || precedes_##T(fill, best, r->greatest));               \
			if (r->column != NULL) {                                                                          \
				int64_t column = place < 0 ? r->extent : element(&r->crd, place);                         \
				int64_t absent = lacks && (outside || same_##T(fill, best)) ? first_absent(r, begin, end) \
											    : r->extent;                  \
				if (outside || absent < column)                                                           \
					column = absent, place = -1;                                                      \
				r->column[row] = column;                                                                  \
				r->place[row] = place;                                                                    \
			}                                                                                                 \
			((T *)r->found)[row] = outside ? fill : best;                                                     \
		}                                                                                                         \
	}
DEFINE(float)
DEFINE(double)
DEFINE(int64_t)

/* Elements that are equal share the gradient of an extremum. Of one that is NaN, all entries have NaN, or those that are NaN share it. */
#define DEFINE_SHARES(T)                                                                                   \
	static void share_##T(void *given, int thread)                                                     \
	{                                                                                                  \
		const Rows *r = given;                                                                     \
		const T *values = r->values, fill = *(const T *)r->fill;                                   \
		T *shares = r->shares;                                                                     \
		const int64_t last = share(r->rows, r->threads, thread + 1);                               \
		for (int64_t row = share(r->rows, r->threads, thread); row < last; row++) {                \
			const T found = ((const T *)r->found)[row];                                        \
			int64_t begin, end, ties = 0;                                                      \
			span(r, row, &begin, &end);                                                        \
			for (int64_t n = begin; n < end; n++)                                              \
				ties += same_##T(values[n], found);                                        \
			if (end - begin < r->extent && same_##T(fill, found))                              \
				ties += r->extent - (end - begin);                                         \
			const bool all = found != found && !r->nan_alone;                                  \
			const T each = all ? found : ((const T *)r->grads)[row] / (T)ties;                 \
			for (int64_t n = begin; n < end; n++)                                              \
				shares[n] = all || same_##T(values[n], found) ? each : 0;                  \
		}                                                                                          \
	}
DEFINE_SHARES(float)
DEFINE_SHARES(double)

/* Reads what both functions take, of which the last three addresses are those of arrays that differ; false with an exception. */
static bool read_rows(PyObject *args, Rows *r, int *kind, int *flag, unsigned long long *team, unsigned long long others[3])
{
	Array arrays[2];
	PyObject *given;
	unsigned long long values, fill;
	long long count, rows, extent;
	if (!PyArg_ParseTuple(args, "KCO!LLLKpiKKKK", &values, kind, &PyTuple_Type, &given, &count, &rows, &extent, &fill, flag, &r->threads, team,
			      &others[0], &others[1], &others[2]) ||
	    !read_arrays(given, arrays, 2))
		return false;
	if ((*kind != 'f' && *kind != 'd' && *kind != 'l') || r->threads < 1 || r->threads > MOST_THREADS) {
		PyErr_SetString(PyExc_ValueError, "kind of values or threads out of range");
		return false;
	}
	r->values = (const void *)(uintptr_t)values, r->fill = (const void *)(uintptr_t)fill;
	r->pos = arrays[0], r->crd = arrays[1], r->count = count, r->rows = rows, r->extent = extent;
	return true;
}

PyObject *extreme_of_rows(PyObject *self, PyObject *args)
{
	(void)self;
	Rows r = {0};
	unsigned long long team, others[3];
	int kind, greatest;
	if (!read_rows(args, &r, &kind, &greatest, &team, others))
		return NULL;
	r.greatest = greatest;
	r.found = (void *)(uintptr_t)others[0], r.column = (int64_t *)(uintptr_t)others[1], r.place = (int64_t *)(uintptr_t)others[2];
	Py_BEGIN_ALLOW_THREADS
	run_threads(r.threads, team, kind == 'f' ? find_float : kind == 'd' ? find_double : find_int64_t, &r);
	Py_END_ALLOW_THREADS
	Py_RETURN_NONE;
}

PyObject *share_of_extremes(PyObject *self, PyObject *args)
{
	(void)self;
	Rows r = {0};
	unsigned long long team, others[3];
	int kind, nan_alone;
	if (!read_rows(args, &r, &kind, &nan_alone, &team, others))
		return NULL;
	r.nan_alone = nan_alone;
	r.found = (void *)(uintptr_t)others[0], r.grads = (const void *)(uintptr_t)others[1], r.shares = (void *)(uintptr_t)others[2];
	Py_BEGIN_ALLOW_THREADS
	run_threads(r.threads, team, kind == 'f' ? share_float : share_double, &r);
	Py_END_ALLOW_THREADS
	Py_RETURN_NONE;
}
