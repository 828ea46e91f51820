/* Coordinates among others, both in order: where each is, or how many others there are. */
#include "radix.h"

typedef struct {
	int modes, threads;
	int64_t wanted, present;
	const int64_t *want[MOST_MODES], *there[MOST_MODES];
	int64_t *place;
} Located;

/* How the coordinates at a place compare with wanted ones: -1 before them, 0 equal, 1 behind. */
static inline int compared(const Located *located, int64_t place, int64_t wanted)
{
	for (int mode = 0; mode < located->modes; mode++) {
		const int64_t there = located->there[mode][place], want = located->want[mode][wanted];
		if (there != want)
			return there < want ? -1 : 1;
	}
	return 0;
}

/* The first place from `at` on that is not before wanted coordinates, which is likely to be near. */
static int64_t next_place(const Located *located, int64_t at, int64_t wanted)
{
	int64_t step = 1, high = located->present;
	if (at >= high || compared(located, at, wanted) >= 0)
		return at;
	while (at + step < high && compared(located, at + step, wanted) < 0) {
		at += step;
		step *= 2;
	}
	high = at + step < high ? at + step : high;
	for (at++; at < high;) {
		int64_t middle = at + (high - at) / 2;
		if (compared(located, middle, wanted) < 0)
			at = middle + 1;
		else
			high = middle;
	}
	return at;
}

static void locate_share(void *given, int thread)
{
	const Located *located = given;
	const int64_t end = share(located->wanted, located->threads, thread + 1);
	int64_t at = 0;
	for (int64_t n = share(located->wanted, located->threads, thread); n < end; n++) {
		at = next_place(located, at, n);
		located->place[n] = at < located->present && compared(located, at, n) == 0 ? at : located->present;
	}
}

PyObject *locate_sorted(PyObject *self, PyObject *args)
{
	(void)self;
	Located located = {0};
	PyObject *arrays;
	unsigned long long team, place;
	if (!PyArg_ParseTuple(args, "O!LLiKK", &PyTuple_Type, &arrays, &located.wanted, &located.present, &located.threads, &team, &place))
		return NULL;
	located.modes = (int)PyTuple_Size(arrays);
	if (located.modes > MOST_MODES || located.threads < 1) {
		PyErr_SetString(PyExc_ValueError, "modes or threads out of range");
		return NULL;
	}
	for (int mode = 0; mode < located.modes; mode++) {
		unsigned long long want, there;
		if (!PyArg_ParseTuple(PyTuple_GetItem(arrays, mode), "KK", &want, &there))
			return NULL;
		located.want[mode] = (const int64_t *)(uintptr_t)want, located.there[mode] = (const int64_t *)(uintptr_t)there;
	}
	located.place = (int64_t *)(uintptr_t)place;
	Py_BEGIN_ALLOW_THREADS
	run_threads(located.threads, team, locate_share, &located);
	Py_END_ALLOW_THREADS
	Py_RETURN_NONE;
}
