/* The nonzeros of a dense matrix by rows, for which torch's nonzero looks at each element by itself and writes two numbers of 64 bits. */
#include "radix.h"

#include <string.h>

#define CHUNK 8 /* elements that are skipped together where all are zero */

typedef struct {
	const void *elements;
	void *values; /* NULL where they aren't wanted */
	int32_t *pos, *crd;
	int64_t rows, columns;
	uint64_t kept; /* the bits that a number different from zero has some of: of floats not the sign */
	int itemsize, threads;
} Dense;

static inline int count_bits(unsigned marks)
{
	marks -= marks >> 1 & 0x55;
	marks = (marks & 0x33) + (marks >> 2 & 0x33);
	return (int)((marks + (marks >> 4)) & 0xf);
}

#define DEFINE_NONZEROS(name, T)                                                                           \
	static inline unsigned mark_##name(const T *elements, uint64_t kept)                               \
	{                                                                                                  \
		uint64_t words[sizeof(T)], any = 0;                                                        \
		memcpy(words, elements, sizeof words);                                                     \
		for (size_t n = 0; n < sizeof(T); n++)                                                     \
			any |= words[n];                                                                   \
		if ((any & kept) == 0)                                                                     \
			return 0;                                                                          \
		unsigned marks = 0;                                                                        \
		for (int n = 0; n < CHUNK; n++)                                                            \
			marks |= (unsigned)((elements[n] & (T)kept) != 0) << n;                            \
		return marks;                                                                              \
	}                                                                                                  \
	static unsigned mark_rest_##name(const T *elements, int64_t count, uint64_t kept)                  \
	{                                                                                                  \
		T rest[CHUNK] = {0};                                                                       \
		memcpy(rest, elements, (size_t)count * sizeof(T));                                         \
		return mark_##name(rest, kept);                                                            \
	}                                                                                                  \
	static void count_##name(const Dense *d, int64_t first, int64_t last)                              \
	{                                                                                                  \
		for (int64_t row = first; row < last; row++) {                                             \
			const T *elements = (const T *)d->elements + row * d->columns;                     \
			int32_t count = 0;                                                                 \
			int64_t n = 0;                                                                     \
			for (; n + CHUNK <= d->columns; n += CHUNK)                                        \
				count += count_bits(mark_##name(elements + n, d->kept));                   \
			count += count_bits(mark_rest_##name(elements + n, d->columns - n, d->kept));      \
			d->pos[row + 1] = count;                                                           \
		}                                                                                          \
	}                                                                                                  \
	static void write_##name(const Dense *d, int64_t first, int64_t last)                              \
	{                                                                                                  \
		T *values = d->values;                                                                     \
		int64_t to = d->pos[first];                                                                \
		for (int64_t row = first; row < last; row++) {                                             \
			const T *elements = (const T *)d->elements + row * d->columns;                     \
			for (int64_t n = 0; n < d->columns; n += CHUNK) {                                  \
				unsigned marks = n + CHUNK <= d->columns                                   \
							 ? mark_##name(elements + n, d->kept)              \
							 : mark_rest_##name(elements + n, d->columns - n, d->kept); \
				for (; marks != 0; marks &= marks - 1, to++) {                             \
					int64_t column = n + __builtin_ctz(marks);                         \
					d->crd[to] = (int32_t)column;                                      \
					if (values != NULL)                                                \
						values[to] = elements[column];                             \
				}                                                                          \
			}                                                                                  \
		}                                                                                          \
	}
DEFINE_NONZEROS(bytes, uint8_t)
DEFINE_NONZEROS(halves, uint16_t)
DEFINE_NONZEROS(words, uint32_t)
DEFINE_NONZEROS(doubles, uint64_t)

#define DEFINE_SHARE(name)                                                                                               \
	static void name##_share(void *given, int thread)                                                                \
	{                                                                                                                \
		const Dense *d = given;                                                                                  \
		int64_t first = share(d->rows, d->threads, thread), last = share(d->rows, d->threads, thread + 1);       \
		(d->itemsize == 1   ? name##_bytes                                                                       \
		 : d->itemsize == 2 ? name##_halves                                                                      \
		 : d->itemsize == 4 ? name##_words                                                                       \
				    : name##_doubles)(d, first, last);                                                   \
	}
DEFINE_SHARE(count)
DEFINE_SHARE(write)

static bool read_dense(PyObject *args, Dense *d, unsigned long long *team)
{
	unsigned long long elements, pos, crd, values;
	if (!PyArg_ParseTuple(args, "KiKLLiKKKK", &elements, &d->itemsize, &d->kept, &d->rows, &d->columns, &d->threads, team, &pos, &crd,
			      &values))
		return false;
	if (d->threads < 1 || d->rows < 0 || d->columns < 0 || d->columns > INT32_MAX || d->itemsize < 1 || d->itemsize > 8) {
		PyErr_SetString(PyExc_ValueError, "size of elements, extents or threads out of range");
		return false;
	}
	d->elements = (const void *)(uintptr_t)elements, d->values = (void *)(uintptr_t)values;
	d->pos = (int32_t *)(uintptr_t)pos, d->crd = (int32_t *)(uintptr_t)crd;
	d->threads = d->threads < MOST_THREADS ? d->threads : MOST_THREADS;
	return true;
}

PyObject *count_nonzeros(PyObject *self, PyObject *args)
{
	(void)self;
	Dense d = {0};
	unsigned long long team;
	if (!read_dense(args, &d, &team))
		return NULL;
	int64_t total = 0;
	Py_BEGIN_ALLOW_THREADS
	run_threads(d.threads, team, count_share, &d);
	d.pos[0] = 0;
	for (int64_t row = 0; row < d.rows; row++) {
		total += d.pos[row + 1];
		d.pos[row + 1] = (int32_t)total;
	}
	Py_END_ALLOW_THREADS
	return PyLong_FromLongLong(total);
}

PyObject *write_nonzeros(PyObject *self, PyObject *args)
{
	(void)self;
	Dense d = {0};
	unsigned long long team;
	if (!read_dense(args, &d, &team))
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	run_threads(d.threads, team, write_share, &d);
	Py_END_ALLOW_THREADS
	Py_RETURN_NONE;
}
