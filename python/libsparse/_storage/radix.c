/* Sorts entries by their coordinates: what sorting.py does with torch's functions, by threads, in less time and memory.
 *
 * The key of an entry has the bits of its coordinates, one behind the other. Entries are put into buckets by the first bits of their keys; in its bucket
 * an entry is a word of 64 bits, the rest of its key and then its number, so that words in order are entries in order, those that come again as they came.
 */
#include "radix.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK 1024   /* entries whose keys are computed at a time */
#define MOST_BITS 12 /* of a key that choose its bucket, where words have room for the rest: so many cache lines are written to at a time */
#define DIGIT 8      /* bits by which a bucket is divided */
#define FEW 24       /* words that are sorted by insertion */
#define TOGETHER 8   /* buckets that a thread takes at a time */

enum answer { OUTSIDE = -1, TOO_LONG = -2 };

typedef struct {
	int modes, threads;
	int number_bits; /* of a word, for the number of the entry */
	int rest_bits;   /* of a key that are not in the number of its bucket */
	uint64_t team;
	int64_t extents[MOST_MODES], count, buckets;
	int bits[MOST_MODES]; /* of the coordinates of each mode */
	Array coords[MOST_MODES], moved[MOST_MODES];
	int32_t *order;  /* where each sorted entry was */
	uint64_t *words;
	int64_t *next;   /* for each bucket and thread, how many entries, then where the next one goes; a bucket more */
	atomic_llong taken, again;
	atomic_int outside, exhausted;
} Job;

/* Computes the keys of a block of entries; returns whether all coordinates are in range. */
static bool block_keys(const Job *job, int64_t first, int64_t count, uint64_t *keys)
{
	uint64_t outside = 0;
	memset(keys, 0, (size_t)count * sizeof *keys);
	for (int mode = 0; mode < job->modes; mode++) {
		const uint64_t extent = (uint64_t)job->extents[mode];
		const int bits = job->bits[mode];
		if (job->coords[mode].wide) {
			const int64_t *crd = (const int64_t *)job->coords[mode].address + first;
			for (int64_t n = 0; n < count; n++) {
				outside |= (uint64_t)crd[n] >= extent;
				keys[n] = keys[n] << bits | (uint64_t)crd[n];
			}
		} else {
			const int32_t *crd = (const int32_t *)job->coords[mode].address + first;
			for (int64_t n = 0; n < count; n++) {
				outside |= (uint64_t)(int64_t)crd[n] >= extent;
				keys[n] = keys[n] << bits | (uint64_t)(int64_t)crd[n];
			}
		}
	}
	return !outside;
}

static void count_entries(void *given, int thread)
{
	Job *job = given;
	uint64_t keys[BLOCK];
	int64_t *mine = job->next + thread;
	for (int64_t at = share(job->count, job->threads, thread), end = share(job->count, job->threads, thread + 1); at < end; at += BLOCK) {
		int64_t length = end - at < BLOCK ? end - at : BLOCK;
		if (!block_keys(job, at, length, keys)) {
			atomic_store(&job->outside, 1);
			return;
		}
		for (int64_t n = 0; n < length; n++)
			mine[(int64_t)(keys[n] >> job->rest_bits) * job->threads]++;
	}
}

static void place_entries(void *given, int thread)
{
	Job *job = given;
	uint64_t keys[BLOCK];
	int64_t *mine = job->next + thread;
	const uint64_t rest = ((uint64_t)1 << job->rest_bits) - 1;
	for (int64_t at = share(job->count, job->threads, thread), end = share(job->count, job->threads, thread + 1); at < end; at += BLOCK) {
		int64_t length = end - at < BLOCK ? end - at : BLOCK;
		block_keys(job, at, length, keys);
		for (int64_t n = 0; n < length; n++) {
			int64_t place = mine[(int64_t)(keys[n] >> job->rest_bits) * job->threads]++;
			job->words[place] = (keys[n] & rest) << job->number_bits | (uint64_t)(at + n);
		}
	}
}

static void insertion_sort(uint64_t *words, int64_t count)
{
	for (int64_t n = 1; n < count; n++) {
		uint64_t word = words[n];
		int64_t to = n;
		for (; to > 0 && words[to - 1] > word; to--)
			words[to] = words[to - 1];
		words[to] = word;
	}
}

static int bits_of(uint64_t number)
{
	int bits = 0;
	for (; number; number >>= 1)
		bits++;
	return bits;
}

/* Sorts words that are alike from bit `high` on and ascend where they are alike down to bit `low`. There is room for as many. */
static void sort_words(uint64_t *words, uint64_t *room, int64_t count, int high, int low)
{
	if (count <= FEW) {
		insertion_sort(words, count);
		return;
	}
	int64_t next[(1 << DIGIT) + 1] = {0}, longest = 0;
	int digit = bits_of((uint64_t)count) - 1;
	digit = digit > DIGIT ? DIGIT : digit;
	digit = digit > high - low ? high - low : digit;
	const int shift = high - digit, digits = 1 << digit;
	const uint64_t mask = (uint64_t)digits - 1;
	for (int64_t n = 0; n < count; n++)
		next[(words[n] >> shift & mask) + 1]++;
	for (int n = 0; n < digits; n++) {
		longest = longest < next[n + 1] ? next[n + 1] : longest;
		next[n + 1] += next[n];
	}
	if (longest < count) {
		for (int64_t n = 0; n < count; n++)
			room[next[words[n] >> shift & mask]++] = words[n];
		memcpy(words, room, (size_t)count * sizeof *words);
	}
	if (shift == low)
		return;
	if (longest <= FEW) {
		insertion_sort(words, count);
		return;
	}
	if (longest == count) {
		sort_words(words, room, count, shift, low);
		return;
	}
	for (int64_t n = 0, first = 0; n < digits; first = next[n++]) /* what was next of a digit is now its end */
		sort_words(words + first, room, next[n] - first, shift, low);
}

/* Writes the coordinates and numbers of the sorted words of a bucket; returns how many have the coordinates of the one before. */
static int64_t write_bucket(const Job *job, int64_t bucket, int64_t first, int64_t end)
{
	const uint64_t above = (uint64_t)bucket << job->rest_bits, numbers = ((uint64_t)1 << job->number_bits) - 1;
	int64_t again = 0;
	int shift = 0;
	for (int mode = job->modes - 1; mode >= 0; mode--) {
		const Array *moved = &job->moved[mode];
		const uint64_t mask = ((uint64_t)1 << job->bits[mode]) - 1;
		for (int64_t n = first; n < end; n++) {
			uint64_t crd = (above | job->words[n] >> job->number_bits) >> shift & mask;
			if (moved->wide)
				((int64_t *)moved->address)[n] = (int64_t)crd;
			else
				((int32_t *)moved->address)[n] = (int32_t)crd;
		}
		shift += job->bits[mode];
	}
	for (int64_t n = first; n < end; n++) {
		job->order[n] = (int32_t)(job->words[n] & numbers);
		again += n > first && job->words[n] >> job->number_bits == job->words[n - 1] >> job->number_bits;
	}
	return again;
}

static void sort_buckets(void *given, int thread)
{
	Job *job = given;
	(void)thread;
	uint64_t *room = NULL;
	int64_t again = 0, most = 0;
	for (;;) {
		int64_t bucket = atomic_fetch_add(&job->taken, TOGETHER);
		if (bucket >= job->buckets)
			break;
		int64_t last = bucket + TOGETHER < job->buckets ? bucket + TOGETHER : job->buckets;
		/* What was next of a bucket's last thread is now its end, and so the beginning of the bucket behind it. */
		int64_t first = bucket == 0 ? 0 : job->next[bucket * job->threads - 1];
		for (; bucket < last; bucket++) {
			int64_t end = job->next[(bucket + 1) * job->threads - 1], count = end - first;
			if (count > FEW && count > most) {
				free(room);
				most = count;
				room = malloc((size_t)most * sizeof *room);
				if (room == NULL) {
					atomic_store(&job->exhausted, 1);
					return;
				}
			}
			sort_words(job->words + first, room, count, job->number_bits + job->rest_bits, job->number_bits);
			again += write_bucket(job, bucket, first, end);
			first = end;
		}
	}
	free(room);
	atomic_fetch_add(&job->again, again);
}

static void sort_all(Job *job)
{
	run_threads(job->threads, job->team, count_entries, job);
	if (atomic_load(&job->outside))
		return;
	int64_t total = 0;
	for (int64_t n = 0; n < job->buckets * job->threads; n++) {
		int64_t length = job->next[n];
		job->next[n] = total;
		total += length;
	}
	run_threads(job->threads, job->team, place_entries, job);
	run_threads(job->threads, job->team, sort_buckets, job);
}

/* Reads a tuple of pairs (address, whether its elements are int64). */
bool read_arrays(PyObject *given, Array *arrays, int count)
{
	for (int n = 0; n < count; n++) {
		PyObject *pair = PyTuple_GetItem(given, n);
		unsigned long long address;
		int wide;
		if (pair == NULL || !PyArg_ParseTuple(pair, "Kp", &address, &wide))
			return false;
		arrays[n] = (Array){(void *)(uintptr_t)address, wide};
	}
	return true;
}

/* Divides the bits of keys between the numbers of buckets and words; false where words have no room for them. */
static bool divide_bits(Job *job)
{
	int total = 0, number = bits_of((uint64_t)job->count - 1);
	for (int mode = 0; mode < job->modes; mode++) {
		job->bits[mode] = job->extents[mode] > 0 ? bits_of((uint64_t)job->extents[mode] - 1) : 0;
		total += job->bits[mode];
	}
	if (total > 63)
		return false;
	int chosen = number - 9; /* some hundred words a bucket */
	chosen = chosen < 1 ? 1 : chosen > MOST_BITS ? MOST_BITS : chosen;
	chosen = chosen < total + number - 63 ? total + number - 63 : chosen;
	chosen = chosen < total ? chosen : total;
	job->number_bits = number, job->rest_bits = total - chosen, job->buckets = (int64_t)1 << chosen;
	/* Many buckets are counted in less memory than entries take. */
	return job->rest_bits + number <= 63 && (chosen <= MOST_BITS || ((int64_t)job->threads << chosen) <= job->count / 8);
}

static PyObject *sort_entries(PyObject *self, PyObject *args)
{
	(void)self;
	Job *job = calloc(1, sizeof *job);
	PyObject *coords, *extents, *moved, *answer = NULL;
	unsigned long long order, team;
	long long count;
	if (job == NULL)
		return PyErr_NoMemory();
	if (!PyArg_ParseTuple(args, "O!O!O!KLiK", &PyTuple_Type, &coords, &PyTuple_Type, &extents, &PyTuple_Type, &moved, &order,
			      &count, &job->threads, &team))
		goto done;
	job->modes = (int)PyTuple_Size(coords);
	job->count = count;
	job->team = team;
	job->order = (int32_t *)(uintptr_t)order;
	if (job->modes < 1 || job->modes > MOST_MODES || PyTuple_Size(extents) != job->modes || PyTuple_Size(moved) != job->modes ||
	    count < 1 || count > INT32_MAX || job->threads < 1) {
		PyErr_SetString(PyExc_ValueError, "modes, entries or threads out of range");
		goto done;
	}
	job->threads = job->threads < MOST_THREADS ? job->threads : MOST_THREADS;
	if (!read_arrays(coords, job->coords, job->modes) || !read_arrays(moved, job->moved, job->modes))
		goto done;
	for (int mode = 0; mode < job->modes; mode++) {
		job->extents[mode] = PyLong_AsLongLong(PyTuple_GetItem(extents, mode));
		if (PyErr_Occurred())
			goto done;
	}
	if (!divide_bits(job)) {
		answer = PyLong_FromLong(TOO_LONG);
		goto done;
	}
	job->next = calloc((size_t)(job->buckets * job->threads), sizeof *job->next);
	job->words = malloc((size_t)count * sizeof *job->words);
	if (job->next == NULL || job->words == NULL) {
		PyErr_NoMemory();
		goto done;
	}
	Py_BEGIN_ALLOW_THREADS
	sort_all(job);
	Py_END_ALLOW_THREADS
	if (atomic_load(&job->exhausted))
		PyErr_NoMemory();
	else
		answer = PyLong_FromLongLong(atomic_load(&job->outside) ? OUTSIDE : atomic_load(&job->again));
done:
	free(job->next);
	free(job->words);
	free(job);
	return answer;
}

static PyMethodDef functions[] = {
	{"ascending", ascending, METH_VARARGS,
	 "ascending(coords, count, threads, team): 0 where entries are not in the order of their coordinates, 1 where some come again, 2 where none does.\n\n"
	 "`coords` is a tuple of (address, whether elements are int64), a pair a mode."},
	{"by_rows", by_rows, METH_VARARGS,
	 "by_rows(row, column, values, itemsize, count, rows, mirrored, threads, team, pos, moved, moved_values): whether columns then ascend in each row.\n\n"
	 "Moves columns and values to the order of rows and writes where each row starts; where `mirrored`, an entry stands for two if it is not\n"
	 "on the diagonal. Numbers and positions are int32, values have 0, 4 or 8 bytes; arrays are given by their addresses."},
	{"choose_columns", choose_columns, METH_VARARGS,
	 "choose_columns(pos, crd, wide, rows, columns, count, extent, threads, team, chosen_pos, chosen_crd, places): how many entries stand in columns.\n\n"
	 "`columns` lists so many, int64 and all below `extent`; those of the result are numbers in the list, in ascending order in each row. Where `places`\n"
	 "is 0, writes where each row starts; else the columns between these positions and the places of the entries. The number is -1 where positions\n"
	 "can't count them. Arrays are given by their addresses, and have int64 where `wide`, else int32."},
	{"compress", compress, METH_VARARGS,
	 "compress(coords, rows, columns, count, threads, team, pos, crd, order, again, group): how many entries are distinct, and whether they moved.\n\n"
	 "Sorts entries by their coordinates, two arrays as for `ascending`, and writes where each row starts, the column of each distinct entry, and\n"
	 "its number among those that were given, then the numbers of those that came again, and of the distinct ones that they repeat, all int32.\n"
	 "The number is -1 where some are out of range, -2 where rows are too long and columns too many for this."},
	{"copy_box", copy_box, METH_VARARGS,
	 "copy_box(crd, wide, rows, low, threads, team, begin, box_pos, box_crd, place)\n\n"
	 "Writes the columns, less `low`, of the entries that `find_box` has found, and their places. Arrays are given by their addresses."},
	{"copy_runs", copy_runs, METH_VARARGS,
	 "copy_runs(pos, crd, wide, parents, wide_parents, count, starts, threads, team, moved, place)\n\n"
	 "Writes the coordinates below so many parents, one run behind the other from where `measure_runs` says that it starts, and their places.\n"
	 "Arrays are given by their addresses; all but the parents have int64 where `wide`, else int32."},
	{"count_fibers", count_fibers, METH_VARARGS,
	 "count_fibers(coords, count, threads, team, nodes)\n\n"
	 "Adds to `nodes`, int64 for each thread and mode, how many entries of its share differ from the one before in the mode or in one before it.\n"
	 "`coords` is as for `ascending`, all of one type, of distinct entries in order."},
	{"drop_repeats", drop_repeats, METH_VARARGS,
	 "drop_repeats(coords, count, order, again, group): how many entries in order stay, at the beginning of the arrays.\n\n"
	 "Drops those that have the coordinates of the one before; writes their numbers by `order`, int32, and those of the ones that they repeat, as int64."},
	{"extreme_of_rows", extreme_of_rows, METH_VARARGS,
	 "extreme_of_rows(values, kind, rows, count, number, extent, fill, greatest, threads, team, found, column, place)\n\n"
	 "Writes the greatest or least element of each of so many rows, NaN where there is one, the first column that has it, and the entry there, -1\n"
	 "where it isn't stored; no columns and entries where they are 0. `rows` is ((pos, wide), (crd, wide)) and `fill` the address of the value of\n"
	 "elements that are not stored. Values are f (float), d (double) or l (int64), columns and entries int64."},
	{"filter_rows", filter_rows, METH_VARARGS,
	 "filter_rows(pos, wide, mask, rows, threads, team, kept_pos, places)\n\n"
	 "Writes the places of the entries of rows that a mask keeps, as many as it has ones, and where those of each row start, rows + 1 positions.\n"
	 "`mask` is an address of bytes, the others of int64 where `wide`, else of int32."},
	{"find_box", find_box, METH_VARARGS,
	 "find_box(pos, crd, wide, first, rows, low, high, low_moves, high_moves, threads, team, begin, box_pos): how many entries rows have in a range.\n\n"
	 "Columns are from `low` to before `high`, each of which is larger by one in each next row if it moves, and ascend in each row. Writes where those\n"
	 "of each row begin, and their positions. Arrays are of int64 where `wide`, else of int32."},
	{"find_elements", find_elements, METH_VARARGS,
	 "find_elements(pos, crd, wide, rows, row, column, count, threads, team, place)\n\n"
	 "Writes the place of each of so many elements among the columns, which ascend in each row, -1 where it is not there; as int64, as the\n"
	 "coordinates of elements are. `pos` and `crd` are addresses of int64 where `wide`, else of int32."},
	{"first_of_rows", first_of_rows, METH_VARARGS,
	 "first_of_rows(coords, wide, count, rows, pos, wide_pos, threads, team): whether all numbers of rows are in range, in ascending order or not.\n\n"
	 "Writes where each row starts once entries are sorted, rows + 1 positions. `coords` and `pos` are addresses of int64 or int32."},
	{"join_rows", join_rows, METH_VARARGS,
	 "join_rows(parts, wide, rows, threads, team, pos, crd, place)\n\n"
	 "Writes the columns of matrices side by side between positions that are the sums of theirs, and the place of each entry among those of all.\n"
	 "`parts` is a tuple of (pos, crd, what is added to columns, to places). Arrays are of int64 where `wide`, else of int32."},
	{"lead_rows", lead_rows, METH_VARARGS,
	 "lead_rows(values, kind, starts, rows, wanted, fill, descending, threads, team, order, first)\n\n"
	 "Writes the places of the first values of each row, so many of a row and 0 behind its last, and how many stand before a fill value or are equal\n"
	 "to it. NaN is the greatest; of equal values the first comes first. Values are f (float), d (double) or l (int64); places are int64."},
	{"locate_sorted", locate_sorted, METH_VARARGS,
	 "locate_sorted(arrays, wanted, present, threads, team, place)\n\n"
	 "Writes the number of each of so many coordinates among others, -1 where they are not there. Both are in order; all arrays have int64, and\n"
	 "`arrays` is a tuple of (those of the wanted ones, of the others), a pair a mode."},
	{"measure_runs", measure_runs, METH_VARARGS,
	 "measure_runs(pos, wide, size, parents, wide_parents, count, starts): how many coordinates are below so many parents of `size`.\n\n"
	 "Writes where the run of each starts, count + 1 positions. The number is -1 where a parent is out of range, -2 where positions can't count\n"
	 "them. Arrays are given by their addresses; `pos` and `starts` have int64 where `wide`, else int32."},
	{"neighbours", neighbours, METH_VARARGS,
	 "neighbours(crd, wide, count, above, runs, length): of so many runs of entries, how many stand beside the one before, and of how\n"
	 "many a window that begins `above` entries before the run has the coordinate before. `crd` is an address of int64 or int32."},
	{"alike_rows", alike_rows, METH_VARARGS,
	 "alike_rows(pos, wide, rows, runs, run, chunk): how many rows between positions have as many chunks as the one before.\n\n"
	 "Of a sample of so many runs, each of so many rows behind the first."},
	{"order_rows", order_rows, METH_VARARGS,
	 "order_rows(pos, wide, rows, order): the numbers of the rows between positions, windows of them by their lengths.\n\n"
	 "`pos` and `order` are addresses of int64 where `wide`, else of int32."},
	{"rows_are_right", rows_are_right, METH_VARARGS,
	 "rows_are_right(pos, crd, wide, rows, extent, count, threads, team): whether positions ascend from 0 to count, and coordinates in each row.\n\n"
	 "`pos` and `crd` are addresses of int64 where `wide`, else of int32."},
	{"sort", sort_entries, METH_VARARGS,
	 "sort(coords, extents, moved, order, count, threads, team): how many entries have the coordinates of the one before them.\n\n"
	 "`coords` and `moved` are tuples of (address, whether elements are int64), a pair a mode; `order` is the address of int32. The number is -1\n"
	 "where coordinates are out of range, -2 where they and the numbers of entries have too many bits for this."},
	{"share_of_extremes", share_of_extremes, METH_VARARGS,
	 "share_of_extremes(values, kind, rows, count, number, extent, fill, nan_alone, threads, team, found, grads, shares)\n\n"
	 "Writes what each entry has of the gradients of what `extreme_of_rows` has found: elements that are equal have equal shares. Where that is NaN,\n"
	 "they are NaN for all entries of the row, but for those that are NaN alone where `nan_alone`. Values are f (float) or d (double)."},
	{"surprises", surprises, METH_VARARGS,
	 "surprises(pos, crd, other_pos, other_crd, wide, rows, runs, run): how many steps of a merge a processor guesses wrongly, of how many.\n\n"
	 "The rows of two matrices are merged in so many runs, of so many steps at most. Arrays are given by their addresses, and have int64\n"
	 "where `wide`, else int32."},
	{"take", take, METH_VARARGS,
	 "take(values, itemsize, size, source, wide, taken, count, threads, team): whether all places are below `size`, the number of values.\n\n"
	 "Writes to place n of `taken` what is at place `source[n]` of `values`, for each place of the source up to `count`. "
	 "Arrays are given by their addresses; `source` has int64 where `wide`, else int32, and values have 1, 2, 4 or 8 bytes."},
	{"walk_levels", walk_levels, METH_VARARGS,
	 "walk_levels(levels, wide, stride, threads, team)\n\n"
	 "Writes the coordinates of entries. `levels` is a tuple of (size, pos, crd, coords): how many positions a level has, its arrays, of int64 where\n"
	 "`wide`, else of int32, 0 where it has none, and an array of int64 for its coordinates. All levels are compressed; the first may be dense.\n"
	 "Returns whether positions end where levels do; else nothing is written."},
	{"write_fibers", write_fibers, METH_VARARGS,
	 "write_fibers(coords, count, threads, team, nodes, pos, crd)\n\n"
	 "Writes the arrays of compressed levels, but for the first positions and the last coordinates and the ends of all positions. `nodes` has what\n"
	 "`count_fibers` counted, summed over the threads before; `pos` and `crd` are pairs as in `coords`."},
	{"count_nonzeros", count_nonzeros, METH_VARARGS,
	 "count_nonzeros(elements, itemsize, kept, rows, columns, threads, team, pos, crd, values): how many nonzeros a dense matrix has.\n\n"
	 "Writes where those of each row start, rows + 1 positions of int32. Elements have 1, 2, 4 or 8 bytes; `kept` has the bits by which an element\n"
	 "is different from zero, repeated to 64. Other addresses are not read."},
	{"write_nonzeros", write_nonzeros, METH_VARARGS,
	 "write_nonzeros(...): the columns of the nonzeros, and their values where `values` is not 0; arguments are those of `count_nonzeros`."},
	{NULL, NULL, 0, NULL},
};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_radix", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__radix(void)
{
	return PyModule_Create(&definition);
}
