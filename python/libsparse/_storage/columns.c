/* The entries of compressed rows whose columns are among those of a list, in the order of the list, which may name a column several times. */
#include "radix.h"

#include <stdlib.h>

#define SHORT 24 /* entries of a row that are sorted by insertion */
#define DENSE 16 /* columns for each entry of a longer row, up to which its entries are put in a table of all columns */

typedef struct {
	const void *pos, *crd;
	const int64_t *columns;
	void *chosen_pos, *chosen_crd, *places;
	int64_t rows, count, extent;
	uint32_t *first; /* for each column of the matrix, the number in the list of its first mention, from 1 on, 0 where it has none */
	uint32_t *next;	 /* for each mention the number of the next one, NULL where no column comes again */
	int64_t *tables; /* for each thread and chosen column a place, from 1 on; 0 between rows */
	int64_t begin[MOST_THREADS + 1]; /* where those of the rows of each thread begin */
	int threads;
	atomic_bool failed; /* where a row found no memory to be sorted in */
} Chosen;

/* Builds the lists of mentions; false where there is no memory. Pages of the table that nothing touches cost nothing. */
static bool list_mentions(Chosen *c)
{
	c->first = calloc((size_t)c->extent + 1, sizeof *c->first);
	if (c->first == NULL)
		return false;
	for (int64_t n = c->count - 1; n >= 0; n--) {
		uint32_t *first = &c->first[c->columns[n]];
		if (*first != 0 && c->next == NULL && (c->next = calloc((size_t)c->count, sizeof *c->next)) == NULL)
			return false;
		if (c->next != NULL)
			c->next[n] = *first;
		*first = (uint32_t)n + 1;
	}
	return true;
}

typedef struct {
	int64_t column, place;
} Entry;

static int by_column(const void *a, const void *b)
{
	const int64_t first = ((const Entry *)a)->column, second = ((const Entry *)b)->column;
	return (first > second) - (first < second);
}

#define DEFINE_CHOICE(name, T)                                                                                         \
	static void count_##name(void *given, int thread)                                                              \
	{                                                                                                              \
		Chosen *c = given;                                                                                     \
		const T *pos = c->pos, *crd = c->crd;                                                                  \
		const int64_t last = share(c->rows, c->threads, thread + 1);                                           \
		int64_t total = 0;                                                                                     \
		for (int64_t row = share(c->rows, c->threads, thread); row < last; row++) {                            \
			for (int64_t n = pos[row]; n < pos[row + 1]; n++)                                              \
				if (c->next == NULL)                                                                   \
					total += c->first[crd[n]] != 0;                                                \
				else                                                                                   \
					for (uint32_t k = c->first[crd[n]]; k != 0; k = c->next[k - 1])                \
						total++;                                                               \
			((T *)c->chosen_pos)[row + 1] = (T)total;                                                      \
		}                                                                                                      \
		c->begin[thread + 1] = total;                                                                          \
	}                                                                                                              \
	static void shift_##name(void *given, int thread)                                                              \
	{                                                                                                              \
		const Chosen *c = given;                                                                               \
		const int64_t last = share(c->rows, c->threads, thread + 1);                                           \
		for (int64_t row = share(c->rows, c->threads, thread); row < last; row++)                              \
			((T *)c->chosen_pos)[row + 1] += (T)c->begin[thread];                                          \
	}                                                                                                              \
	/* Sorts a row by its columns, of which none comes twice; false where there is no memory. */                   \
	static bool sort_##name(T *crd, T *places, int64_t length, int64_t columns, int64_t *table)                    \
	{                                                                                                              \
		if (length <= SHORT) {                                                                                 \
			for (int64_t n = 1; n < length; n++) {                                                         \
				const T column = crd[n], place = places[n];                                            \
				int64_t to = n;                                                                        \
				for (; to > 0 && crd[to - 1] > column; to--)                                           \
					crd[to] = crd[to - 1], places[to] = places[to - 1];                            \
				crd[to] = column, places[to] = place;                                                  \
			}                                                                                              \
			return true;                                                                                   \
		}                                                                                                      \
		if (columns / DENSE <= length) {                                                                       \
			for (int64_t n = 0; n < length; n++)                                                           \
				table[crd[n]] = (int64_t)places[n] + 1;                                                \
			for (int64_t column = 0, to = 0; to < length; column++)                                        \
				if (table[column] != 0) {                                                              \
					crd[to] = (T)column, places[to++] = (T)(table[column] - 1);                    \
					table[column] = 0;                                                             \
				}                                                                                      \
			return true;                                                                                   \
		}                                                                                                      \
		Entry *entries = malloc((size_t)length * sizeof *entries);                                             \
		if (entries == NULL)                                                                                   \
			return false;                                                                                  \
		for (int64_t n = 0; n < length; n++)                                                                   \
			entries[n] = (Entry){crd[n], places[n]};                                                       \
		qsort(entries, (size_t)length, sizeof *entries, by_column);                                            \
		for (int64_t n = 0; n < length; n++)                                                                   \
			crd[n] = (T)entries[n].column, places[n] = (T)entries[n].place;                                \
		free(entries);                                                                                         \
		return true;                                                                                           \
	}                                                                                                              \
	static void write_##name(void *given, int thread)                                                              \
	{                                                                                                              \
		Chosen *c = given;                                                                                     \
		const T *pos = c->pos, *crd = c->crd, *starts = c->chosen_pos;                                         \
		T *columns = c->chosen_crd, *places = c->places;                                                       \
		int64_t *table = c->tables + thread * c->count;                                                        \
		const int64_t last = share(c->rows, c->threads, thread + 1);                                           \
		for (int64_t row = share(c->rows, c->threads, thread); row < last; row++) {                            \
			int64_t to = starts[row];                                                                      \
			const int64_t end = starts[row + 1];                                                           \
			for (int64_t n = pos[row]; to < end; n++)                                                      \
				for (uint32_t k = c->first[crd[n]]; k != 0; k = c->next == NULL ? 0 : c->next[k - 1])  \
					columns[to] = (T)(k - 1), places[to++] = (T)n;                                 \
			const int64_t length = end - starts[row];                                                      \
			if (!sort_##name(columns + starts[row], places + starts[row], length, c->count, table))        \
				atomic_store(&c->failed, true);                                                        \
		}                                                                                                      \
	}
DEFINE_CHOICE(narrow, int32_t)
DEFINE_CHOICE(wide, int64_t)

/* Counts the entries, and writes where those of each row start: how many there are, -1 where positions can't count them, -2 without memory. */
static int64_t count_entries(Chosen *c, bool wide, uint64_t team)
{
	if (!list_mentions(c))
		return -2;
	run_threads(c->threads, team, wide ? count_wide : count_narrow, c);
	for (int thread = 0; thread < c->threads; thread++)
		c->begin[thread + 1] += c->begin[thread];
	if (!wide && c->begin[c->threads] > INT32_MAX)
		return -1;
	if (c->threads > 1)
		run_threads(c->threads, team, wide ? shift_wide : shift_narrow, c);
	if (wide)
		((int64_t *)c->chosen_pos)[0] = 0;
	else
		((int32_t *)c->chosen_pos)[0] = 0;
	return c->begin[c->threads];
}

/* Writes columns and places between the positions that `count_entries` has written: 0, -2 without memory. */
static int64_t write_entries(Chosen *c, bool wide, uint64_t team)
{
	if (!list_mentions(c) || (c->tables = calloc((size_t)(c->threads * c->count) + 1, sizeof *c->tables)) == NULL)
		return -2;
	run_threads(c->threads, team, wide ? write_wide : write_narrow, c);
	return atomic_load(&c->failed) ? -2 : 0;
}

PyObject *choose_columns(PyObject *self, PyObject *args)
{
	(void)self;
	Chosen c = {0};
	unsigned long long pos, crd, columns, team, chosen_pos, chosen_crd, places;
	int wide;
	if (!PyArg_ParseTuple(args, "KKpLKLLiKKKK", &pos, &crd, &wide, &c.rows, &columns, &c.count, &c.extent, &c.threads, &team, &chosen_pos,
			      &chosen_crd, &places))
		return NULL;
	if (c.threads < 1 || c.rows < 0 || c.count < 0 || c.count > INT32_MAX || c.extent < 0) {
		PyErr_SetString(PyExc_ValueError, "rows, columns or threads out of range");
		return NULL;
	}
	c.threads = c.threads < MOST_THREADS ? c.threads : MOST_THREADS;
	c.pos = (const void *)(uintptr_t)pos, c.crd = (const void *)(uintptr_t)crd, c.columns = (const int64_t *)(uintptr_t)columns;
	c.chosen_pos = (void *)(uintptr_t)chosen_pos, c.chosen_crd = (void *)(uintptr_t)chosen_crd, c.places = (void *)(uintptr_t)places;
	int64_t found;
	Py_BEGIN_ALLOW_THREADS
	found = places == 0 ? count_entries(&c, wide, team) : write_entries(&c, wide, team);
	free(c.first);
	free(c.next);
	free(c.tables);
	Py_END_ALLOW_THREADS
	return found == -2 ? PyErr_NoMemory() : PyLong_FromLongLong(found);
}
