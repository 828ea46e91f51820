/* The first values of each row in an order: a sort of all entries takes many times as long where few of a row are wanted. */
#include "radix.h"

#include <stdlib.h>

typedef struct {
	uint64_t key; /* which is less for values that come before */
	int64_t place;
} Candidate;

typedef struct {
	const void *values;
	const int64_t *starts;
	int64_t rows, wanted;
	int64_t *order, *first;
	uint64_t fill;
	char kind; /* f float, d double, l int64 */
	bool descending;
	int threads;
	atomic_bool lacks_memory;
} Job;

/* Numbers that are in the order of values: NaN is the greatest, and zeros are equal. */
static inline uint64_t key_of_float(float value)
{
	union {
		float value;
		uint32_t bits;
	} both = {value == 0 ? 0 : value};
	if (value != value)
		return UINT32_MAX;
	return both.bits >> 31 ? (uint32_t)~both.bits : both.bits | (uint32_t)1 << 31;
}

static inline uint64_t key_of_double(double value)
{
	union {
		double value;
		uint64_t bits;
	} both = {value == 0 ? 0 : value};
	if (value != value)
		return UINT64_MAX;
	return both.bits >> 63 ? ~both.bits : both.bits | (uint64_t)1 << 63;
}

static inline uint64_t key_of_int64(int64_t value)
{
	return (uint64_t)value ^ (uint64_t)1 << 63;
}

static uint64_t key_at(const Job *job, const void *values, int64_t n)
{
	uint64_t key = job->kind == 'f'	  ? key_of_float(((const float *)values)[n])
		       : job->kind == 'd' ? key_of_double(((const double *)values)[n])
					  : key_of_int64(((const int64_t *)values)[n]);
	return job->descending ? ~key : key;
}

static inline bool is_behind(Candidate one, Candidate other)
{
	return one.key > other.key || (one.key == other.key && one.place > other.place);
}

/* Puts a candidate at the top of a heap whose top is behind all others. */
static void sink(Candidate *heap, int64_t count, Candidate moved)
{
	int64_t at = 0;
	for (int64_t below = 1; below < count; below = 2 * at + 1) {
		if (below + 1 < count && is_behind(heap[below + 1], heap[below]))
			below++;
		if (!is_behind(heap[below], moved))
			break;
		heap[at] = heap[below];
		at = below;
	}
	heap[at] = moved;
}

static void rise(Candidate *heap, int64_t at, Candidate moved)
{
	while (at > 0 && is_behind(moved, heap[(at - 1) / 2])) {
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = moved;
}

/* Chooses among the entries of a row. Most of a long one are behind the last that is chosen, which takes one comparison. */
#define DEFINE_CHOOSE(name, T, KEY)                                                                                       \
	static int64_t name(const Job *job, int64_t begin, int64_t end, Candidate *heap, int64_t *before)                 \
	{                                                                                                                 \
		const T *values = job->values;                                                                            \
		uint64_t flip = job->descending ? UINT64_MAX : 0;                                                         \
		int64_t count = 0, found = 0;                                                                             \
		for (int64_t n = begin; n < end; n++) {                                                                   \
			Candidate here = {KEY(values[n]) ^ flip, n};                                                      \
			found += here.key <= job->fill;                                                                   \
			if (count < job->wanted)                                                                          \
				rise(heap, count++, here);                                                                \
			else if (here.key < heap[0].key)                                                                  \
				sink(heap, count, here);                                                                  \
		}                                                                                                         \
		*before = found;                                                                                          \
		return count;                                                                                             \
	}
DEFINE_CHOOSE(choose_floats, float, key_of_float)
DEFINE_CHOOSE(choose_doubles, double, key_of_double)
DEFINE_CHOOSE(choose_int64, int64_t, key_of_int64)

static void choose_share(void *given, int thread)
{
	Job *job = given;
	Candidate *heap = malloc((size_t)job->wanted * sizeof *heap);
	if (heap == NULL) {
		atomic_store(&job->lacks_memory, true);
		return;
	}
	int64_t end = share(job->rows, job->threads, thread + 1);
	for (int64_t row = share(job->rows, job->threads, thread); row < end; row++) {
		int64_t (*choose)(const Job *, int64_t, int64_t, Candidate *, int64_t *) = job->kind == 'f'   ? choose_floats
											   : job->kind == 'd' ? choose_doubles
													      : choose_int64;
		int64_t count = choose(job, job->starts[row], job->starts[row + 1], heap, &job->first[row]);
		int64_t *order = job->order + row * job->wanted;
		for (int64_t n = count; n < job->wanted; n++)
			order[n] = 0;
		for (; count > 0; count--) {
			order[count - 1] = heap[0].place;
			sink(heap, count - 1, heap[count - 1]);
		}
	}
	free(heap);
}

PyObject *lead_rows(PyObject *self, PyObject *args)
{
	(void)self;
	Job job = {0};
	unsigned long long values, starts, fill, team, order, first;
	int kind, descending;
	if (!PyArg_ParseTuple(args, "KCKLLKpiKKK", &values, &kind, &starts, &job.rows, &job.wanted, &fill, &descending, &job.threads, &team,
			      &order, &first))
		return NULL;
	if (job.wanted < 1 || job.threads < 1 || (kind != 'f' && kind != 'd' && kind != 'l')) {
		PyErr_SetString(PyExc_ValueError, "kind of values, number of them or threads out of range");
		return NULL;
	}
	job.values = (const void *)(uintptr_t)values, job.starts = (const int64_t *)(uintptr_t)starts;
	job.order = (int64_t *)(uintptr_t)order, job.first = (int64_t *)(uintptr_t)first;
	job.kind = (char)kind, job.descending = descending;
	job.fill = key_at(&job, (const void *)(uintptr_t)fill, 0);
	job.threads = job.threads < MOST_THREADS ? job.threads : MOST_THREADS;
	Py_BEGIN_ALLOW_THREADS
	run_threads(job.threads, team, choose_share, &job);
	Py_END_ALLOW_THREADS
	if (atomic_load(&job.lacks_memory))
		return PyErr_NoMemory();
	Py_RETURN_NONE;
}
