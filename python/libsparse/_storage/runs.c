/* Selects runs of a compressed level: the coordinates below some positions of the level above, in any order and also repeated. */
#include "radix.h"

#include <string.h>

typedef struct {
	const void *pos, *crd, *parents, *starts;
	void *moved, *place;
	int64_t count;
	bool wide_parents;
	int threads;
} Runs;

static inline int64_t parent_of(const Runs *runs, int64_t n)
{
	return runs->wide_parents ? ((const int64_t *)runs->parents)[n] : ((const int32_t *)runs->parents)[n];
}

#define DEFINE_RUNS(T, suffix, most)											\
	/* Writes where each run starts among those that are selected; how many entries they have, or what is wrong. */	\
	static int64_t measure_##suffix(const Runs *runs, int64_t size)							\
	{														\
		const T *pos = runs->pos;										\
		T *starts = runs->place;										\
		int64_t total = 0;											\
		for (int64_t n = 0; n < runs->count; n++) {								\
			int64_t parent = parent_of(runs, n);								\
			if (parent < 0 || parent >= size)								\
				return -1;										\
			starts[n] = (T)total;										\
			total += (int64_t)pos[parent + 1] - pos[parent];						\
			if (total > most)										\
				return -2;										\
		}													\
		starts[runs->count] = (T)total;										\
		return total;												\
	}														\
	static void copy_##suffix(void *given, int thread)								\
	{														\
		const Runs *runs = given;										\
		const T *pos = runs->pos, *crd = runs->crd, *starts = runs->starts;					\
		T *moved = runs->moved, *place = runs->place;								\
		int64_t end = share(runs->count, runs->threads, thread + 1);						\
		for (int64_t n = share(runs->count, runs->threads, thread); n < end; n++) {				\
			const T first = pos[parent_of(runs, n)], begin = starts[n], length = starts[n + 1] - begin;	\
			if (length > 0) /* arrays without elements may be NULL */						\
				memcpy(moved + begin, crd + first, (size_t)length * sizeof(T));				\
			for (T k = 0; k < length; k++)									\
				place[begin + k] = first + k;								\
		}													\
	}
DEFINE_RUNS(int32_t, narrow, INT32_MAX)
DEFINE_RUNS(int64_t, wide, INT64_MAX)

PyObject *measure_runs(PyObject *self, PyObject *args)
{
	(void)self;
	Runs runs = {0};
	unsigned long long pos, parents, starts;
	long long size, count;
	int wide, wide_parents;
	if (!PyArg_ParseTuple(args, "KpLKpLK", &pos, &wide, &size, &parents, &wide_parents, &count, &starts))
		return NULL;
	runs.pos = (const void *)(uintptr_t)pos, runs.parents = (const void *)(uintptr_t)parents;
	runs.place = (void *)(uintptr_t)starts;
	runs.wide_parents = wide_parents, runs.count = count;
	int64_t total;
	Py_BEGIN_ALLOW_THREADS
	total = wide ? measure_wide(&runs, size) : measure_narrow(&runs, size);
	Py_END_ALLOW_THREADS
	return PyLong_FromLongLong(total);
}

PyObject *copy_runs(PyObject *self, PyObject *args)
{
	(void)self;
	Runs runs = {0};
	unsigned long long pos, crd, parents, starts, team, moved, place;
	long long count;
	int wide, wide_parents;
	if (!PyArg_ParseTuple(args, "KKpKpLKiKKK", &pos, &crd, &wide, &parents, &wide_parents, &count, &starts, &runs.threads, &team, &moved, &place))
		return NULL;
	runs.pos = (const void *)(uintptr_t)pos, runs.crd = (const void *)(uintptr_t)crd, runs.parents = (const void *)(uintptr_t)parents;
	runs.starts = (const void *)(uintptr_t)starts, runs.moved = (void *)(uintptr_t)moved, runs.place = (void *)(uintptr_t)place;
	runs.wide_parents = wide_parents, runs.count = count;
	if (runs.threads < 1) {
		PyErr_SetString(PyExc_ValueError, "threads out of range");
		return NULL;
	}
	runs.threads = runs.threads < MOST_THREADS ? runs.threads : MOST_THREADS;
	Py_BEGIN_ALLOW_THREADS
	run_threads(runs.threads, team, wide ? copy_wide : copy_narrow, &runs);
	Py_END_ALLOW_THREADS
	Py_RETURN_NONE;
}
