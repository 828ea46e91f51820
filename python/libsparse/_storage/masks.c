/* Those entries of compressed rows that a mask keeps: where they are, and where each row of them starts. */
#include "radix.h"

#include <string.h>

#define BLOCK 512 /* entries that are looked at together, without branches */

typedef struct {
	const void *pos;
	const uint8_t *mask; /* for each entry; users can make bools of other bytes than 0 and 1 */
	void *kept_pos, *places;
	int64_t rows;
	int64_t begin[MOST_THREADS + 1]; /* where those of the rows of each thread begin */
	int threads;
} Filtered;

#define DEFINE_FILTER(name, T)                                                                                    \
	static void count_##name(void *given, int thread)                                                         \
	{                                                                                                         \
		Filtered *f = given;                                                                              \
		const T *pos = f->pos;                                                                            \
		const int64_t end = pos[share(f->rows, f->threads, thread + 1)];                                  \
		int64_t count = 0;                                                                                \
		for (int64_t n = pos[share(f->rows, f->threads, thread)]; n < end; n++)                           \
			count += f->mask[n] != 0;                                                                 \
		f->begin[thread + 1] = count;                                                                     \
	}                                                                                                         \
	static void write_##name(void *given, int thread)                                                         \
	{                                                                                                         \
		const Filtered *f = given;                                                                        \
		const T *pos = f->pos;                                                                            \
		T *kept_pos = f->kept_pos, *places = f->places, found[BLOCK + 1]; /* a place more is written */   \
		const int64_t last = share(f->rows, f->threads, thread + 1);                                      \
		int64_t to = f->begin[thread];                                                                    \
		for (int64_t row = share(f->rows, f->threads, thread); row < last; row++) {                       \
			kept_pos[row] = (T)to;                                                                    \
			for (int64_t n = pos[row]; n < pos[row + 1];) {                                           \
				const int64_t end = pos[row + 1] - n < BLOCK ? pos[row + 1] : n + BLOCK;          \
				int64_t count = 0;                                                                \
				for (; n < end; n++) {                                                            \
					found[count] = (T)n;                                                      \
					count += f->mask[n] != 0;                                                 \
				}                                                                                 \
				if (count > 0)                                                                    \
					memcpy(places + to, found, (size_t)count * sizeof *places);               \
				to += count;                                                                      \
			}                                                                                         \
		}                                                                                                 \
	}
DEFINE_FILTER(narrow, int32_t)
DEFINE_FILTER(wide, int64_t)

PyObject *filter_rows(PyObject *self, PyObject *args)
{
	(void)self;
	Filtered f = {0};
	unsigned long long pos, mask, team, kept_pos, places;
	int wide;
	if (!PyArg_ParseTuple(args, "KpKLiKKK", &pos, &wide, &mask, &f.rows, &f.threads, &team, &kept_pos, &places))
		return NULL;
	if (f.threads < 1 || f.rows < 0) {
		PyErr_SetString(PyExc_ValueError, "rows or threads out of range");
		return NULL;
	}
	f.threads = f.threads < MOST_THREADS ? f.threads : MOST_THREADS;
	f.pos = (const void *)(uintptr_t)pos, f.mask = (const uint8_t *)(uintptr_t)mask;
	f.kept_pos = (void *)(uintptr_t)kept_pos, f.places = (void *)(uintptr_t)places;
	Py_BEGIN_ALLOW_THREADS
	run_threads(f.threads, team, wide ? count_wide : count_narrow, &f);
	for (int thread = 0; thread < f.threads; thread++)
		f.begin[thread + 1] += f.begin[thread];
	run_threads(f.threads, team, wide ? write_wide : write_narrow, &f);
	if (wide)
		((int64_t *)f.kept_pos)[f.rows] = f.begin[f.threads];
	else
		((int32_t *)f.kept_pos)[f.rows] = (int32_t)f.begin[f.threads];
	Py_END_ALLOW_THREADS
	Py_RETURN_NONE;
}
