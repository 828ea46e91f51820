/* Takes values in another order, by threads: torch's index_select has one, and its other functions take four times as long for an element. */
#include "radix.h"

typedef struct {
	const char *values;
	const void *source;
	char *taken;
	int64_t count, size; /* of the source, and of the values */
	atomic_bool outside;
	int itemsize, threads;
	bool wide;
} Job;

#define TAKE(Index, Value)                                                     \
	do {                                                                   \
		const Index *source = job->source;                             \
		const Value *values = (const Value *)job->values;              \
		Value *taken = (Value *)job->taken;                            \
		for (int64_t n = begin; n < end; n++) {                        \
			if ((uint64_t)source[n] >= (uint64_t)job->size) {      \
				atomic_store(&job->outside, true);             \
				return;                                        \
			}                                                      \
			taken[n] = values[source[n]];                          \
		}                                                              \
	} while (0)

#define TAKE_EACH(Value)                                                       \
	do {                                                                   \
		if (job->wide)                                                 \
			TAKE(int64_t, Value);                                  \
		else                                                           \
			TAKE(int32_t, Value);                                  \
	} while (0)

static void take_share(void *given, int thread)
{
	Job *job = given;
	int64_t begin = share(job->count, job->threads, thread), end = share(job->count, job->threads, thread + 1);
	switch (job->itemsize) {
	case 1:
		TAKE_EACH(uint8_t);
		break;
	case 2:
		TAKE_EACH(uint16_t);
		break;
	case 4:
		TAKE_EACH(uint32_t);
		break;
	default:
		TAKE_EACH(uint64_t);
	}
}

PyObject *take(PyObject *self, PyObject *args)
{
	(void)self;
	Job job = {0};
	unsigned long long values, source, taken, team;
	long long count, size;
	int wide;
	if (!PyArg_ParseTuple(args, "KiLKpKLiK", &values, &job.itemsize, &size, &source, &wide, &taken, &count, &job.threads, &team))
		return NULL;
	bool known = job.itemsize == 1 || job.itemsize == 2 || job.itemsize == 4 || job.itemsize == 8;
	if (!known || count < 0 || job.threads < 1) {
		PyErr_SetString(PyExc_ValueError, "size of values, entries or threads out of range");
		return NULL;
	}
	job.values = (const char *)(uintptr_t)values;
	job.source = (const void *)(uintptr_t)source;
	job.taken = (char *)(uintptr_t)taken;
	job.count = count;
	job.size = size;
	job.wide = wide;
	job.threads = job.threads < MOST_THREADS ? job.threads : MOST_THREADS;
	Py_BEGIN_ALLOW_THREADS
	run_threads(job.threads, team, take_share, &job);
	Py_END_ALLOW_THREADS
	return PyBool_FromLong(!atomic_load(&job.outside));
}
