/* Sorts entries by their coordinates: what sorting.py does with torch's functions, by threads, in less time and memory.
 *
 * The key of an entry numbers its place in a dense tensor. Entries are put into buckets by the first bits of their keys, and
 * each bucket is sorted by the rest. The order is stable. Only Python's limited interface is used.
 */
#include "radix.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK 1024       /* entries whose keys are computed at a time */
#define MOST_BITS 18     /* of a key that choose its bucket: the counts fit in the cache of a core */
#define FEW 32           /* entries that are sorted by insertion */
#define TOGETHER 64      /* buckets that a thread takes at a time */

typedef struct {
	int modes, threads, shift;
	uint64_t team;
	int64_t extents[MOST_MODES], count, buckets;
	uint64_t last; /* the largest key */
	Array coords[MOST_MODES], moved[MOST_MODES];
	int32_t *order;  /* where each sorted entry was */
	uint64_t *keys;  /* theirs */
	int64_t *next;   /* for each bucket and thread, how many entries, then where the next one goes; a bucket more */
	atomic_llong taken;
	atomic_int outside, exhausted;
} Job;

static void block_keys(const Job *job, int64_t first, int64_t count, uint64_t *keys)
{
	memset(keys, 0, (size_t)count * sizeof *keys);
	for (int mode = 0; mode < job->modes; mode++) {
		uint64_t extent = (uint64_t)job->extents[mode];
		if (job->coords[mode].wide) {
			const int64_t *crd = (const int64_t *)job->coords[mode].address + first;
			for (int64_t n = 0; n < count; n++)
				keys[n] = keys[n] * extent + (uint64_t)crd[n];
		} else {
			const int32_t *crd = (const int32_t *)job->coords[mode].address + first;
			for (int64_t n = 0; n < count; n++)
				keys[n] = keys[n] * extent + (uint64_t)(int64_t)crd[n];
		}
	}
}

static void count_entries(void *given, int thread)
{
	Job *job = given;
	uint64_t keys[BLOCK];
	int64_t *mine = job->next + thread;
	for (int64_t at = share(job->count, job->threads, thread), end = share(job->count, job->threads, thread + 1); at < end; at += BLOCK) {
		int64_t length = end - at < BLOCK ? end - at : BLOCK;
		block_keys(job, at, length, keys);
		for (int64_t n = 0; n < length; n++) {
			if (keys[n] > job->last) {
				atomic_store(&job->outside, 1);
				return;
			}
			mine[(int64_t)(keys[n] >> job->shift) * job->threads]++;
		}
	}
}

static void place_entries(void *given, int thread)
{
	Job *job = given;
	uint64_t keys[BLOCK];
	int64_t *mine = job->next + thread;
	for (int64_t at = share(job->count, job->threads, thread), end = share(job->count, job->threads, thread + 1); at < end; at += BLOCK) {
		int64_t length = end - at < BLOCK ? end - at : BLOCK;
		block_keys(job, at, length, keys);
		for (int64_t n = 0; n < length; n++) {
			int64_t place = mine[(int64_t)(keys[n] >> job->shift) * job->threads]++;
			job->keys[place] = keys[n];
			job->order[place] = (int32_t)(at + n);
		}
	}
}

static void insertion_sort(uint64_t *keys, int32_t *order, int64_t count)
{
	for (int64_t n = 1; n < count; n++) {
		uint64_t key = keys[n];
		int32_t entry = order[n];
		int64_t to = n;
		for (; to > 0 && keys[to - 1] > key; to--) {
			keys[to] = keys[to - 1];
			order[to] = order[to - 1];
		}
		keys[to] = key;
		order[to] = entry;
	}
}

/* Sorts by the last `bits` of the keys, 8 at a time. */
static bool radix_sort(uint64_t *keys, int32_t *order, int64_t count, int bits)
{
	uint64_t *other_keys = malloc((size_t)count * (sizeof *keys + sizeof *order)), *from = keys, *to = other_keys;
	if (other_keys == NULL)
		return false;
	int32_t *other_order = (int32_t *)(other_keys + count), *from_order = order, *to_order = other_order;
	for (int shift = 0; shift < bits; shift += 8) {
		int64_t next[257] = {0};
		for (int64_t n = 0; n < count; n++)
			next[(from[n] >> shift & 255) + 1]++;
		for (int digit = 0; digit < 256; digit++)
			next[digit + 1] += next[digit];
		for (int64_t n = 0; n < count; n++) {
			int64_t place = next[from[n] >> shift & 255]++;
			to[place] = from[n];
			to_order[place] = from_order[n];
		}
		uint64_t *keys_before = from;
		int32_t *order_before = from_order;
		from = to, from_order = to_order, to = keys_before, to_order = order_before;
	}
	if (from != keys) {
		memcpy(keys, from, (size_t)count * sizeof *keys);
		memcpy(order, from_order, (size_t)count * sizeof *order);
	}
	free(other_keys);
	return true;
}

/* Writes the coordinates of sorted keys, which are lost. */
static void write_coordinates(const Job *job, int64_t first, int64_t end)
{
	for (int mode = job->modes - 1; mode >= 0; mode--) {
		uint64_t extent = (uint64_t)job->extents[mode];
		const Array *moved = &job->moved[mode];
		for (int64_t n = first; n < end; n++) {
			uint64_t key = job->keys[n], above = mode > 0 ? key / extent : 0, crd = key - above * extent;
			if (moved->wide)
				((int64_t *)moved->address)[n] = (int64_t)crd;
			else
				((int32_t *)moved->address)[n] = (int32_t)crd;
			job->keys[n] = above;
		}
	}
}

static void sort_buckets(void *given, int thread)
{
	Job *job = given;
	(void)thread;
	for (;;) {
		int64_t bucket = atomic_fetch_add(&job->taken, TOGETHER);
		if (bucket >= job->buckets)
			return;
		int64_t last = bucket + TOGETHER < job->buckets ? bucket + TOGETHER : job->buckets;
		/* What was next of a bucket's last thread is now its end, and so the beginning of the bucket behind it. */
		int64_t begin = bucket == 0 ? 0 : job->next[bucket * job->threads - 1], first = begin;
		for (; bucket < last; bucket++) {
			int64_t end = job->next[(bucket + 1) * job->threads - 1], count = end - first;
			if (count <= FEW)
				insertion_sort(job->keys + first, job->order + first, count);
			else if (!radix_sort(job->keys + first, job->order + first, count, job->shift))
				atomic_store(&job->exhausted, 1);
			first = end;
		}
		write_coordinates(job, begin, first);
	}
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

static int bits_of(uint64_t number)
{
	int bits = 0;
	for (; number; number >>= 1)
		bits++;
	return bits;
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
	uint64_t product = 1; /* the caller knows that it fits in 63 bits */
	for (int mode = 0; mode < job->modes; mode++) {
		job->extents[mode] = PyLong_AsLongLong(PyTuple_GetItem(extents, mode));
		if (PyErr_Occurred())
			goto done;
		product *= (uint64_t)job->extents[mode];
	}
	job->last = product - 1;
	int bits = bits_of(job->last), chosen = bits_of((uint64_t)count) - 4;
	chosen = chosen < 1 ? 1 : chosen > MOST_BITS ? MOST_BITS : chosen;
	job->shift = bits > chosen ? bits - chosen : 0;
	job->buckets = (int64_t)(job->last >> job->shift) + 1;
	job->next = calloc((size_t)(job->buckets * job->threads), sizeof *job->next);
	job->keys = malloc((size_t)count * sizeof *job->keys);
	if (job->next == NULL || job->keys == NULL) {
		PyErr_NoMemory();
		goto done;
	}
	Py_BEGIN_ALLOW_THREADS
	sort_all(job);
	Py_END_ALLOW_THREADS
	if (atomic_load(&job->exhausted))
		PyErr_NoMemory();
	else
		answer = PyBool_FromLong(!atomic_load(&job->outside));
done:
	free(job->next);
	free(job->keys);
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
	{"compress", compress, METH_VARARGS,
	 "compress(coords, rows, columns, count, threads, team, pos, crd, order, again, group): how many entries are distinct, and whether they moved.\n\n"
	 "Sorts entries by their coordinates, two arrays as for `ascending`, and writes where each row starts, the column of each distinct entry, and\n"
	 "its number among those that were given, all int32; as int64 the numbers of those that came again, and of the distinct ones that they repeat.\n"
	 "The number is -1 where some are out of range, -2 where rows are too long and columns too many for this."},
	{"copy_box", copy_box, METH_VARARGS,
	 "copy_box(crd, wide, rows, low, threads, team, begin, box_pos, box_crd, place)\n\n"
	 "Writes the columns, less `low`, of the entries that `find_box` has found, and their places. Arrays are given by their addresses."},
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
	 "sort(coords, extents, moved, order, count, threads, team): whether all coordinates are within the extents.\n\n"
	 "`coords` and `moved` are tuples of (address, whether elements are int64), a pair a mode; `order` is the address of int32."},
	{"take", take, METH_VARARGS,
	 "take(values, itemsize, size, source, wide, taken, count, threads, team): whether all places are below `size`, the number of values.\n\n"
	 "Writes to place n of `taken` what is at place `source[n]` of `values`, for each place of the source up to `count`. "
	 "Arrays are given by their addresses; `source` has int64 where `wide`, else int32, and values have 1, 2, 4 or 8 bytes."},
	{NULL, NULL, 0, NULL},
};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_radix", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__radix(void)
{
	return PyModule_Create(&definition);
}
