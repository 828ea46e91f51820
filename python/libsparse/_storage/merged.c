/* A sample of the merge of two matrices with compressed rows: how often a processor takes a wrong turn in it. */
#include "radix.h"

#define WAYS 256       /* what four steps may have been, two bits each */
#define ROWS_A_STEP 16 /* rows that are looked at for each step of a run: in most of them an operand may have no entries */

typedef struct {
	const void *pos, *crd;
} Merged;

/* Adds to steps those from a row on, at most run of them, and returns how many of these did not go the way that a step
 * after the same four went the last time, as a processor guesses. */
#define DEFINE_SURPRISES(name, T)											\
	static int name(const Merged *merged, int64_t row, int64_t rows, int run, unsigned char *ways, int *steps)	\
	{														\
		const int64_t end = rows - row < (int64_t)ROWS_A_STEP * run ? rows : row + (int64_t)ROWS_A_STEP * run;	\
		const T *a_pos = merged[0].pos, *a_crd = merged[0].crd, *b_pos = merged[1].pos, *b_crd = merged[1].crd;	\
		unsigned before = 0;											\
		int taken = 0, wrong = 0;										\
		for (; row < end && taken < run; row++) {								\
			int64_t a = a_pos[row], b = b_pos[row];								\
			while (a < a_pos[row + 1] && b < b_pos[row + 1] && taken < run) {				\
				int from_a = a_crd[a] <= b_crd[b], from_b = b_crd[b] <= a_crd[a];			\
				unsigned char way = (unsigned char)(from_a + 2 * from_b);				\
				a += from_a, b += from_b, taken++;							\
				wrong += ways[before] != way;								\
				ways[before] = way;									\
				before = (before * 4 + way) % WAYS;							\
			}												\
		}													\
		*steps += taken;											\
		return wrong;												\
	}
DEFINE_SURPRISES(surprises_of, int32_t)
DEFINE_SURPRISES(surprises_of_wide, int64_t)

/* The steps of some runs of a merge, evenly spread over the rows, and the surprises among them. */
PyObject *surprises(PyObject *self, PyObject *args)
{
	(void)self;
	unsigned long long pos, crd, other_pos, other_crd;
	long long rows;
	int wide, runs, run, steps = 0, wrong = 0;
	if (!PyArg_ParseTuple(args, "KKKKpLii", &pos, &crd, &other_pos, &other_crd, &wide, &rows, &runs, &run))
		return NULL;
	Merged merged[2] = {{(void *)(uintptr_t)pos, (void *)(uintptr_t)crd}, {(void *)(uintptr_t)other_pos, (void *)(uintptr_t)other_crd}};
	unsigned char ways[WAYS] = {0};
	for (int n = 0; n < runs; n++) {
		int64_t row = rows / runs * n;
		wrong += (wide ? surprises_of_wide : surprises_of)(merged, row, rows, run, ways, &steps);
	}
	return Py_BuildValue("ii", wrong, steps);
}
