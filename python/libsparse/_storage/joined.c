/* Matrices with compressed rows side by side: each row of the result is the rows of all of them, one behind the other. */
#include "radix.h"

#define MOST_PARTS 64

typedef struct {
	const void *pos, *crd;
	int64_t shift, first; /* what is added to columns, and to places */
} Part;

typedef struct {
	Part parts[MOST_PARTS];
	const void *pos;
	void *crd, *place;
	int64_t rows;
	int count, threads;
} Joined;

#define DEFINE_JOIN(name, T)												\
	static void name(void *given, int thread)									\
	{														\
		const Joined *joined = given;										\
		T *crd = joined->crd, *place = joined->place;								\
		int64_t last = share(joined->rows, joined->threads, thread + 1);					\
		for (int64_t row = share(joined->rows, joined->threads, thread); row < last; row++) {			\
			int64_t to = ((const T *)joined->pos)[row];							\
			for (const Part *part = joined->parts; part < joined->parts + joined->count; part++) {		\
				const T *pos = part->pos, *columns = part->crd;					\
				for (int64_t n = pos[row]; n < pos[row + 1]; n++, to++) {				\
					crd[to] = (T)(columns[n] + part->shift);					\
					place[to] = (T)(n + part->first);						\
				}										\
			}												\
		}													\
	}
DEFINE_JOIN(join, int32_t)
DEFINE_JOIN(join_wide, int64_t)

/* Writes the columns of the rows between positions, and the place of each entry among those of all matrices. */
PyObject *join_rows(PyObject *self, PyObject *args)
{
	(void)self;
	Joined joined = {0};
	PyObject *parts;
	unsigned long long team, pos, crd, place;
	int wide;
	if (!PyArg_ParseTuple(args, "O!pLiKKKK", &PyTuple_Type, &parts, &wide, &joined.rows, &joined.threads, &team, &pos, &crd, &place))
		return NULL;
	if (PyTuple_Size(parts) > MOST_PARTS) {
		PyErr_SetString(PyExc_ValueError, "too many matrices");
		return NULL;
	}
	for (joined.count = 0; joined.count < PyTuple_Size(parts); joined.count++) {
		unsigned long long part_pos, part_crd;
		long long shift, first;
		if (!PyArg_ParseTuple(PyTuple_GetItem(parts, joined.count), "KKLL", &part_pos, &part_crd, &shift, &first))
			return NULL;
		joined.parts[joined.count] = (Part){(void *)(uintptr_t)part_pos, (void *)(uintptr_t)part_crd, shift, first};
	}
	joined.pos = (void *)(uintptr_t)pos, joined.crd = (void *)(uintptr_t)crd, joined.place = (void *)(uintptr_t)place;
	Py_BEGIN_ALLOW_THREADS
	run_threads(joined.threads, team, wide ? join_wide : join, &joined);
	Py_END_ALLOW_THREADS
	Py_RETURN_NONE;
}
