/* Copies of transposed matrices (layout.py).
 *
 * Elements are moved in blocks of a line of the cache by a line, so that each line is read and written once: a copy that
 * follows one of the two sides touches a line of the other for every element.
 */
#define Py_LIMITED_API 0x030a0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

#include "../_storage/threads.h"

enum { SIDE = 16 }; /* of a block */

/* to[r * columns + c] = from[c * step + r] for rows [r0, r1) and columns [c0, c1). */
#define BLOCK(NAME, TYPE)                                                                                                     \
	static void NAME(char *to, const char *from, int64_t columns, int64_t step, int64_t r0, int64_t r1, int64_t c0, int64_t c1) \
	{                                                                                                                         \
		for (int64_t r = r0; r < r1; r++)                                                                                     \
			for (int64_t c = c0; c < c1; c++)                                                                                 \
				((TYPE *)to)[r * columns + c] = ((const TYPE *)from)[c * step + r];                                           \
	}

typedef struct {
	uint64_t halves[2];
} pair;

BLOCK(block_1, uint8_t)
BLOCK(block_2, uint16_t)
BLOCK(block_4, uint32_t)
BLOCK(block_8, uint64_t)
BLOCK(block_16, pair)

#if defined __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define SHUFFLES
#endif
#endif

#ifdef SHUFFLES
/* COUNT rows of COUNT elements at once, as vectors of 16 bytes. Vectors are interleaved with those half of all rows behind them as often as COUNT
 * has factors of 2: each time, the number of an element's row takes a bit from that of its column. */
#define TILE(NAME, TYPE, COUNT, LOW, HIGH)                                                                                        \
	typedef TYPE vector_##NAME __attribute__((vector_size(16), aligned(sizeof(TYPE)), may_alias));                            \
	static inline void tile_##NAME(TYPE *to, const TYPE *from, int64_t columns, int64_t step)                                 \
	{                                                                                                                         \
		vector_##NAME rows[COUNT], mixed[COUNT];                                                                          \
		_Pragma("GCC unroll 8") for (int n = 0; n < COUNT; n++) rows[n] = *(const vector_##NAME *)(from + n * step);      \
		_Pragma("GCC unroll 8") for (int mixes = 1; mixes < COUNT; mixes *= 2) {                                          \
			_Pragma("GCC unroll 8") for (int n = 0; n < COUNT / 2; n++) {                                             \
				mixed[2 * n] = __builtin_shufflevector(rows[n], rows[n + COUNT / 2], LOW);                        \
				mixed[2 * n + 1] = __builtin_shufflevector(rows[n], rows[n + COUNT / 2], HIGH);                   \
			}                                                                                                         \
			_Pragma("GCC unroll 8") for (int n = 0; n < COUNT; n++) rows[n] = mixed[n];                               \
		}                                                                                                                 \
		_Pragma("GCC unroll 8") for (int n = 0; n < COUNT; n++) *(vector_##NAME *)(to + n * columns) = rows[n];           \
	}                                                                                                                         \
	static void whole_##NAME(char *to, const char *from, int64_t columns, int64_t step, int64_t r0, int64_t c0)               \
	{                                                                                                                         \
		for (int64_t r = r0; r < r0 + SIDE; r += COUNT)                                                                   \
			for (int64_t c = c0; c < c0 + SIDE; c += COUNT)                                                           \
				tile_##NAME((TYPE *)to + r * columns + c, (const TYPE *)from + c * step + r, columns, step);      \
	}
#define LIST(...) __VA_ARGS__
TILE(2, uint16_t, 8, LIST(0, 8, 1, 9, 2, 10, 3, 11), LIST(4, 12, 5, 13, 6, 14, 7, 15))
TILE(4, uint32_t, 4, LIST(0, 4, 1, 5), LIST(2, 6, 3, 7))
TILE(8, uint64_t, 2, LIST(0, 2), LIST(1, 3))

/* Copies a block without ends, if there are tiles of such elements. */
static bool copy_whole(char *to, const char *from, int64_t columns, int64_t step, int64_t r, int64_t c, int size)
{
	switch (size) {
	case 2:
		whole_2(to, from, columns, step, r, c);
		return true;
	case 4:
		whole_4(to, from, columns, step, r, c);
		return true;
	case 8:
		whole_8(to, from, columns, step, r, c);
		return true;
	default:
		return false;
	}
}
#endif

static void copy_block(char *to, const char *from, int64_t columns, int64_t step, int64_t r, int64_t r1, int64_t c, int64_t c1, int size)
{
#ifdef SHUFFLES
	if (r1 - r == SIDE && c1 - c == SIDE && copy_whole(to, from, columns, step, r, c, size))
		return;
#endif
	switch (size) {
	case 1:
		block_1(to, from, columns, step, r, r1, c, c1);
		break;
	case 2:
		block_2(to, from, columns, step, r, r1, c, c1);
		break;
	case 4:
		block_4(to, from, columns, step, r, r1, c, c1);
		break;
	case 8:
		block_8(to, from, columns, step, r, r1, c, c1);
		break;
	default:
		block_16(to, from, columns, step, r, r1, c, c1);
	}
}

static int64_t least(int64_t x, int64_t y)
{
	return x < y ? x : y;
}

typedef struct {
	char *to;
	const char *from;
	int64_t matrices, rows, columns, between, step;
	int size, threads;
} Job;

/* The rows [r0, r1) and columns [c0, c1) of a copy. The side whose lines are farther apart is followed: its lines share pages, and the processor
 * fetches them ahead. */
static void copy_part(const Job *job, char *to, const char *from, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
	if (job->columns > job->step) {
		for (int64_t r = r0; r < r1; r += SIDE)
			for (int64_t c = c0; c < c1; c += SIDE)
				copy_block(to, from, job->columns, job->step, r, least(r + SIDE, r1), c, least(c + SIDE, c1), job->size);
		return;
	}
	for (int64_t c = c0; c < c1; c += SIDE)
		for (int64_t r = r0; r < r1; r += SIDE)
			copy_block(to, from, job->columns, job->step, r, least(r + SIDE, r1), c, least(c + SIDE, c1), job->size);
}

/* Blocks are divided among threads along the longer side. */
static void copy_share(void *given, int thread)
{
	const Job *job = given;
	const bool by_rows = job->rows > job->columns;
	const int64_t extent = by_rows ? job->rows : job->columns, blocks = (extent + SIDE - 1) / SIDE;
	const int64_t begin = SIDE * share(blocks, job->threads, thread);
	const int64_t end = least(extent, SIDE * share(blocks, job->threads, thread + 1));
	for (int64_t matrix = 0; matrix < job->matrices; matrix++) {
		char *to = job->to + matrix * job->rows * job->columns * job->size;
		const char *from = job->from + matrix * job->between * job->size;
		if (by_rows)
			copy_part(job, to, from, begin, end, 0, job->columns);
		else
			copy_part(job, to, from, 0, job->rows, begin, end);
	}
}

static PyObject *copy(PyObject *module, PyObject *args)
{
	(void)module;
	Job job;
	unsigned long long to, from, team;
	long long matrices, rows, columns, between, step;
	if (!PyArg_ParseTuple(args, "KKLLLLLiiK", &to, &from, &matrices, &rows, &columns, &between, &step, &job.size, &job.threads, &team))
		return NULL;
	if (job.size != 1 && job.size != 2 && job.size != 4 && job.size != 8 && job.size != 16) {
		PyErr_Format(PyExc_ValueError, "elements of %d bytes; expected 1, 2, 4, 8 or 16", job.size);
		return NULL;
	}
	job.to = (char *)(uintptr_t)to;
	job.from = (const char *)(uintptr_t)from;
	job.matrices = matrices, job.rows = rows, job.columns = columns, job.between = between, job.step = step;
	job.threads = job.threads < 1 ? 1 : job.threads < MOST_THREADS ? job.threads : MOST_THREADS;
	Py_BEGIN_ALLOW_THREADS
	run_threads(job.threads, team, copy_share, &job);
	Py_END_ALLOW_THREADS
	Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
	{"copy", copy, METH_VARARGS,
	 "copy(to, from, matrices, rows, columns, between, step, size, threads, team): to[m][r][c] = from[m * between + c * step + r].\n\n"
	 "`to` and `from` are addresses of elements of so many bytes, which don't overlap."},
	{NULL, NULL, 0, NULL},
};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_transposed", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__transposed(void)
{
	return PyModule_Create(&definition);
}
