/* Rows, which are runs of entries between positions, and the order of entries: what sorting.py, packing.py and statistics.py do
 * with torch's functions, in one pass.
 */
#include "radix.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW 64  /* rows that are sorted together, so that their entries stay near each other in memory */
#define LENGTHS 64 /* classes of lengths */
#define SHORT 32   /* entries up to which rows of one class have the same length */
#define CHUNK 4    /* entries that longer ones may differ by */
#define BLOCK 1024 /* entries that are compared at a time */

static inline int length_class(int64_t length)
{
	int64_t class = length <= SHORT ? length : SHORT + (length - SHORT + CHUNK - 1) / CHUNK;
	return (int)(class < LENGTHS ? class : LENGTHS - 1);
}

/* Writes the numbers of a window's rows, those with most entries first. */
#define DEFINE_ORDER_WINDOW(name, T)											\
	static void name(const T *pos, int64_t first, int count, T *to)						\
	{														\
		int class[WINDOW], most = 0, next[LENGTHS];								\
		for (int n = 0; n < count; n++) {									\
			class[n] = length_class(pos[n + 1] - pos[n]);							\
			most = class[n] > most ? class[n] : most;							\
		}													\
		for (int n = 0; n <= most; n++)									\
			next[n] = 0;											\
		for (int n = 0; n < count; n++)									\
			next[class[n]]++;										\
		for (int n = most, place = 0; n >= 0; n--) {								\
			int rows = next[n];										\
			next[n] = place;										\
			place += rows;											\
		}													\
		for (int n = 0; n < count; n++)									\
			to[next[class[n]]++] = (T)(first + n);								\
	}
DEFINE_ORDER_WINDOW(order_window, int32_t)
DEFINE_ORDER_WINDOW(order_wide_window, int64_t)

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
		int count = (int)(rows - first < WINDOW ? rows - first : WINDOW);
		if (wide)
			order_wide_window(wide_pos + first, first, count, wide_to + first);
		else
			order_window(pos + first, first, count, to + first);
	}
	Py_END_ALLOW_THREADS
	Py_RETURN_NONE;
}

/* How many rows have as many chunks of entries as the row before, in runs of rows that are spread over all. */
PyObject *alike_rows(PyObject *self, PyObject *args)
{
	(void)self;
	unsigned long long given;
	long long rows, chunk;
	int wide, runs, run, alike = 0;
	if (!PyArg_ParseTuple(args, "KpLiiL", &given, &wide, &rows, &runs, &run, &chunk))
		return NULL;
	const int32_t *pos = (const int32_t *)(uintptr_t)given;
	const int64_t *wide_pos = (const int64_t *)(uintptr_t)given;
	for (int k = 0; k < runs; k++) {
		int64_t first = k * (rows / runs), before = 0;
		for (int n = 0; n <= run && first + n < rows; n++) {
			int64_t row = first + n, length = wide ? wide_pos[row + 1] - wide_pos[row] : (int64_t)pos[row + 1] - pos[row];
			int64_t chunks = (length + chunk - 1) / chunk;
			alike += n > 0 && chunks == before;
			before = chunks;
		}
	}
	return PyLong_FromLong(alike);
}

/* A list of coordinates with the positions of its rows, while threads look at shares of both. */
typedef struct {
	const void *pos, *crd;
	int64_t rows, extent, count;
	int threads;
	atomic_bool wrong;
	atomic_llong falls, allowed;
} Looked;

/* Whether coordinates are from 0 to before the extent, and ascend in each of the rows between positions, which ascend.
 *
 * Those that don't ascend are counted everywhere and where rows begin: the loop over all of them has no branch, and runs in vectors. A share
 * whose positions ascend between 0 and the number of coordinates reads no others, whatever is wrong in other shares. */
#define DEFINE_LOOK_AT(name, T, U)                                                                                         \
	static void name(void *given, int thread)                                                                          \
	{                                                                                                                  \
		Looked *looked = given;                                                                                    \
		const T *pos = looked->pos, *crd = looked->crd, most = (T)(~(U)0 >> 1);                                    \
		const U last = (U)(looked->extent - 1 < most ? looked->extent - 1 : most);                                 \
		const int64_t first = share(looked->rows, looked->threads, thread);                                        \
		const int64_t end = share(looked->rows, looked->threads, thread + 1);                                      \
		const int64_t from = share(looked->count, looked->threads, thread);                                        \
		const int64_t to = share(looked->count, looked->threads, thread + 1);                                      \
		U decreases = pos[first] < 0 || pos[end] > looked->count, outside = 0;                                     \
		for (int64_t row = first; row < end; row++)                                                                \
			decreases |= pos[row + 1] < pos[row];                                                              \
		for (int64_t n = from; n < to; n++)                                                                        \
			outside |= (U)crd[n] | (last - (U)crd[n]);                                                         \
		if (decreases || (T)outside < 0) {                                                                         \
			atomic_store(&looked->wrong, true);                                                                \
			return;                                                                                            \
		}                                                                                                          \
		int64_t falls = 0, allowed = 0;                                                                            \
		for (int64_t begin = from > 1 ? from : 1; begin < to; begin += PART_LENGTH) {                              \
			int64_t stop = begin + PART_LENGTH < to ? begin + PART_LENGTH : to;                                \
			U here = 0;                                                                                        \
			for (int64_t n = begin; n < stop; n++)                                                             \
				here += crd[n] <= crd[n - 1];                                                              \
			falls += here;                                                                                     \
		}                                                                                                          \
		for (int64_t row = first; row < end; row++) {                                                              \
			int64_t at = pos[row];                                                                             \
			allowed += at > 0 && at < pos[row + 1] && crd[at] <= crd[at - 1];                                  \
		}                                                                                                          \
		atomic_fetch_add(&looked->falls, falls);                                                                   \
		atomic_fetch_add(&looked->allowed, allowed);                                                               \
	}
#define PART_LENGTH (1 << 20) /* coordinates of which those that don't ascend are counted in their own type */
DEFINE_LOOK_AT(look_at_narrow, int32_t, uint32_t)
DEFINE_LOOK_AT(look_at_wide, int64_t, uint64_t)

PyObject *rows_are_right(PyObject *self, PyObject *args)
{
	(void)self;
	unsigned long long pos, crd, team;
	long long rows, extent, count;
	int wide, threads;
	if (!PyArg_ParseTuple(args, "KKpLLLiK", &pos, &crd, &wide, &rows, &extent, &count, &threads, &team))
		return NULL;
	Looked looked = {(const void *)(uintptr_t)pos, (const void *)(uintptr_t)crd, rows, extent, count, threads, false, 0, 0};
	int64_t begins = wide ? *(const int64_t *)looked.pos : *(const int32_t *)looked.pos;
	int64_t ends = wide ? ((const int64_t *)looked.pos)[rows] : ((const int32_t *)looked.pos)[rows];
	if (begins != 0 || ends != count || (count > 0 && extent < 1))
		Py_RETURN_FALSE;
	Py_BEGIN_ALLOW_THREADS
	run_threads(threads, team, wide ? look_at_wide : look_at_narrow, &looked);
	Py_END_ALLOW_THREADS
	return PyBool_FromLong(!atomic_load(&looked.wrong) && atomic_load(&looked.falls) == atomic_load(&looked.allowed));
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

/* Entries whose order threads look at, a share each. */
typedef struct {
	const Array *coords;
	int modes, threads;
	int64_t count;
	atomic_bool falls, again; /* whether an entry comes before the one before it, or is equal to it */
} Compared;

/* Compares entries with the ones before them in a mode, where they are alike in the modes before it: 1 behind, -1 before. */
#define DEFINE_COMPARE(name, T)                                                              \
	static void name(const T *crd, int64_t count, int8_t *order)                         \
	{                                                                                    \
		for (int64_t n = 0; n < count; n++) {                                        \
			int8_t here = (int8_t)((crd[n] > crd[n - 1]) - (crd[n] < crd[n - 1])); \
			order[n] = order[n] != 0 ? order[n] : here;                          \
		}                                                                            \
	}
DEFINE_COMPARE(compare_narrow, int32_t)
DEFINE_COMPARE(compare_wide, int64_t)

/* Notes how the entries of a share follow each other, and the one before them. */
static void compare_share(void *given, int thread)
{
	Compared *compared = given;
	const int64_t end = share(compared->count, compared->threads, thread + 1);
	int64_t at = share(compared->count, compared->threads, thread);
	bool again = false;
	for (at = at > 1 ? at : 1; at < end; at += BLOCK) {
		int8_t order[BLOCK] = {0}, falls = 0;
		const int64_t count = end - at < BLOCK ? end - at : BLOCK;
		for (int mode = 0; mode < compared->modes; mode++) {
			const Array *coords = &compared->coords[mode];
			if (coords->wide)
				compare_wide((const int64_t *)coords->address + at, count, order);
			else
				compare_narrow((const int32_t *)coords->address + at, count, order);
		}
		for (int64_t n = 0; n < count; n++) {
			falls |= order[n] < 0;
			again |= order[n] == 0;
		}
		if (falls) {
			atomic_store(&compared->falls, true);
			return;
		}
	}
	if (again)
		atomic_store(&compared->again, true);
}

PyObject *ascending(PyObject *self, PyObject *args)
{
	(void)self;
	PyObject *given;
	long long count;
	int threads;
	unsigned long long team;
	Array coords[MOST_MODES];
	if (!PyArg_ParseTuple(args, "O!LiK", &PyTuple_Type, &given, &count, &threads, &team))
		return NULL;
	Py_ssize_t modes = PyTuple_Size(given);
	if (modes > MOST_MODES) {
		PyErr_SetString(PyExc_ValueError, "too many modes");
		return NULL;
	}
	if (!read_arrays(given, coords, (int)modes))
		return NULL;
	Compared compared = {coords, (int)modes, threads, count, false, false};
	Py_BEGIN_ALLOW_THREADS
	run_threads(threads, team, compare_share, &compared);
	Py_END_ALLOW_THREADS
	return PyLong_FromLong(atomic_load(&compared.falls) ? 0 : atomic_load(&compared.again) ? 1 : 2);
}

/* The rows of entries, and where the first entry of each row is written. */
typedef struct {
	const void *row;
	void *pos;
	int64_t count, rows;
	int threads;
	atomic_bool falls, outside; /* whether rows do not ascend, and whether there is one that is no row */
} Starts;

/* Where rows ascend, each thread writes the starts of those that begin in its share of the entries; else they have to be counted. */
#define DEFINE_STARTS(name, T, P)                                                                               \
	static void name##_of_share(void *given, int thread)                                                    \
	{                                                                                                       \
		Starts *starts = given;                                                                         \
		const T *row = starts->row;                                                                     \
		P *pos = starts->pos;                                                                           \
		const int64_t count = starts->count, rows = starts->rows;                                       \
		const int64_t from = share(count, starts->threads, thread);                                     \
		const int64_t to = share(count, starts->threads, thread + 1);                                   \
		int64_t before = from > 0 ? row[from - 1] : -1;                                                 \
		bool outside = from > 0 && (before < 0 || before >= rows), falls = false;                       \
		for (int64_t n = from; n < to && !outside && !falls; n++) {                                     \
			const int64_t here = row[n];                                                            \
			outside = here < 0 || here >= rows;                                                     \
			falls = here < before;                                                                  \
			while (before < here && !outside)                                                       \
				pos[++before] = (P)n;                                                           \
		}                                                                                               \
		while (to == count && before < rows && !outside && !falls)                                      \
			pos[++before] = (P)count;                                                               \
		if (outside)                                                                                    \
			atomic_store(&starts->outside, true);                                                   \
		if (falls)                                                                                      \
			atomic_store(&starts->falls, true);                                                     \
	}                                                                                                       \
	static bool name(Starts *starts, uint64_t team)                                                         \
	{                                                                                                       \
		const T *row = starts->row;                                                                     \
		P *pos = starts->pos;                                                                           \
		run_threads(starts->threads, team, name##_of_share, starts);                                    \
		if (atomic_load(&starts->outside) || !atomic_load(&starts->falls))                              \
			return !atomic_load(&starts->outside);                                                  \
		memset(pos, 0, (size_t)(starts->rows + 1) * sizeof *pos);                                       \
		for (int64_t n = 0; n < starts->count; n++) {                                                   \
			const T here = row[n];                                                                  \
			if (here < 0 || here >= starts->rows)                                                   \
				return false;                                                                   \
			pos[here + 1]++;                                                                        \
		}                                                                                               \
		for (int64_t n = 0; n < starts->rows; n++)                                                      \
			pos[n + 1] += pos[n];                                                                   \
		return true;                                                                                    \
	}
DEFINE_STARTS(narrow_first, int32_t, int32_t)
DEFINE_STARTS(narrow_first_wide, int32_t, int64_t)
DEFINE_STARTS(wide_first_narrow, int64_t, int32_t)
DEFINE_STARTS(wide_first, int64_t, int64_t)

PyObject *first_of_rows(PyObject *self, PyObject *args)
{
	(void)self;
	unsigned long long given, to, team;
	long long count, rows;
	int wide, wide_pos, threads;
	if (!PyArg_ParseTuple(args, "KpLLKpiK", &given, &wide, &count, &rows, &to, &wide_pos, &threads, &team))
		return NULL;
	Starts starts = {(const void *)(uintptr_t)given, (void *)(uintptr_t)to, count, rows, threads, false, false};
	bool inside;
	Py_BEGIN_ALLOW_THREADS
	if (wide)
		inside = wide_pos ? wide_first(&starts, team) : wide_first_narrow(&starts, team);
	else
		inside = wide_pos ? narrow_first_wide(&starts, team) : narrow_first(&starts, team);
	Py_END_ALLOW_THREADS
	return PyBool_FromLong(inside);
}
