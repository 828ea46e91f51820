/* Compressed levels of tensors of any order: from coordinates in order to the arrays of levels, and back.
 *
 * Entries whose coordinates are alike down to a mode are below one node of the level of that mode. So a node begins at an entry that differs, in the mode or
 * in one before it, from the entry before. Each thread has a share of the entries.
 */
#include "radix.h"

#include <string.h>

#define BLOCK 1024 /* entries that are compared at a time */

typedef struct {
	int levels, threads;
	bool wide; /* coordinates */
	int64_t count;
	const void *coords[MOST_MODES];
	Array pos[MOST_MODES], crd[MOST_MODES];
	int64_t *nodes; /* for each thread and level, how many nodes begin in its share, then the number of the first */
} Fibers;

static inline void set(const Array *array, int64_t n, int64_t value)
{
	if (array->wide)
		((int64_t *)array->address)[n] = value;
	else
		((int32_t *)array->address)[n] = (int32_t)value;
}

/* Marks those of a block of entries at which a node of the level begins, besides those at which one of the level above does. */
#define DEFINE_MARK(name, T)                                                                  \
	static inline void name(const T *crd, int64_t first, int64_t count, uint8_t *begins)  \
	{                                                                                     \
		begins[0] |= first == 0 || crd[first] != crd[first - 1];                      \
		for (int64_t n = 1; n < count; n++)                                           \
			begins[n] |= crd[first + n] != crd[first + n - 1];                    \
	}
DEFINE_MARK(mark_narrow, int32_t)
DEFINE_MARK(mark_wide, int64_t)

static void mark(const Fibers *f, int level, int64_t first, int64_t count, uint8_t *begins)
{
	if (f->wide)
		mark_wide(f->coords[level], first, count, begins);
	else
		mark_narrow(f->coords[level], first, count, begins);
}

static void count_nodes(void *given, int thread)
{
	const Fibers *f = given;
	int64_t *nodes = f->nodes + (int64_t)thread * f->levels, end = share(f->count, f->threads, thread + 1);
	for (int64_t at = share(f->count, f->threads, thread); at < end; at += BLOCK) {
		uint8_t begins[BLOCK] = {0};
		const int64_t count = end - at < BLOCK ? end - at : BLOCK;
		for (int level = 0; level < f->levels; level++) {
			int64_t found = 0;
			mark(f, level, at, count, begins);
			for (int64_t n = 0; n < count; n++)
				found += begins[n];
			nodes[level] += found;
		}
	}
}

/* Copies numbers to an array from place `first` on. */
static void copy(const int64_t *numbers, int64_t count, const Array *array, int64_t first)
{
	for (int64_t n = 0; n < count; n++)
		set(array, first + n, numbers[n]);
}

/* Writes the coordinates of nodes, but for the last level, which has one for each entry, and where the children of each start. */
static void write_nodes(void *given, int thread)
{
	const Fibers *f = given;
	int64_t *nodes = f->nodes + (int64_t)thread * f->levels, end = share(f->count, f->threads, thread + 1);
	for (int64_t at = share(f->count, f->threads, thread); at < end; at += BLOCK) {
		uint8_t begins[BLOCK] = {0}, above[BLOCK];
		int64_t starts[BLOCK + 1], crd[BLOCK + 1]; /* without branches, a number more is written */
		const int64_t count = end - at < BLOCK ? end - at : BLOCK;
		int64_t parent = 0;
		for (int level = 0; level < f->levels; level++) {
			const Array coords = {(void *)(uintptr_t)f->coords[level], f->wide};
			const bool last = level + 1 == f->levels;
			const int64_t first = nodes[level];
			int64_t begun = 0, parents = 0;
			memcpy(above, begins, (size_t)count);
			if (last)
				memset(begins, 1, (size_t)count);
			else
				mark(f, level, at, count, begins);
			for (int64_t n = 0; n < count; n++) {
				starts[parents] = first + begun;
				crd[begun] = element(&coords, at + n);
				parents += above[n];
				begun += begins[n];
			}
			if (level > 0)
				copy(starts, parents, &f->pos[level], parent);
			if (!last)
				copy(crd, begun, &f->crd[level], first);
			nodes[level] = first + begun;
			parent = first;
		}
	}
}

static bool read_coordinates(PyObject *given, Fibers *f)
{
	Array coords[MOST_MODES];
	f->levels = (int)PyTuple_Size(given);
	if (f->levels < 1 || f->levels > MOST_MODES || f->threads < 1 || f->count < 0) {
		PyErr_SetString(PyExc_ValueError, "modes, entries or threads out of range");
		return false;
	}
	if (!read_arrays(given, coords, f->levels))
		return false;
	f->wide = coords[0].wide;
	for (int level = 0; level < f->levels; level++)
		f->coords[level] = coords[level].address;
	return true;
}

PyObject *count_fibers(PyObject *self, PyObject *args)
{
	(void)self;
	Fibers f = {0};
	PyObject *coords;
	unsigned long long team, nodes;
	if (!PyArg_ParseTuple(args, "O!LiKK", &PyTuple_Type, &coords, &f.count, &f.threads, &team, &nodes) || !read_coordinates(coords, &f))
		return NULL;
	f.nodes = (int64_t *)(uintptr_t)nodes;
	Py_BEGIN_ALLOW_THREADS
	run_threads(f.threads, team, count_nodes, &f);
	Py_END_ALLOW_THREADS
	Py_RETURN_NONE;
}

PyObject *write_fibers(PyObject *self, PyObject *args)
{
	(void)self;
	Fibers f = {0};
	PyObject *coords, *pos, *crd;
	unsigned long long team, nodes;
	if (!PyArg_ParseTuple(args, "O!LiKKO!O!", &PyTuple_Type, &coords, &f.count, &f.threads, &team, &nodes, &PyTuple_Type, &pos, &PyTuple_Type,
			      &crd) ||
	    !read_coordinates(coords, &f))
		return NULL;
	if (PyTuple_Size(pos) != f.levels || PyTuple_Size(crd) != f.levels) {
		PyErr_SetString(PyExc_ValueError, "expected an array a level");
		return NULL;
	}
	if (!read_arrays(pos, f.pos, f.levels) || !read_arrays(crd, f.crd, f.levels))
		return NULL;
	f.nodes = (int64_t *)(uintptr_t)nodes;
	Py_BEGIN_ALLOW_THREADS
	run_threads(f.threads, team, write_nodes, &f);
	Py_END_ALLOW_THREADS
	Py_RETURN_NONE;
}

/* Levels, and where the coordinates of their entries are written: an array each. */
typedef struct {
	int levels, threads;
	int64_t sizes[MOST_MODES]; /* how many nodes a level has */
	const void *pos[MOST_MODES], *crd[MOST_MODES]; /* none of a dense level, which is the first */
	int64_t *coords[MOST_MODES], stride; /* from the coordinate of one entry to that of the next */
} Walked;

/* Writes the coordinates of a share of the entries, a block of them and a level at a time: counts the nodes that start at each. */
#define DEFINE_WALK(name, T)                                                                                      \
	/* The first entry below a node of a level, or behind it. Numbers that are no nodes are read as the end. */ \
	static inline int64_t name##_first(const Walked *w, int level, int64_t node)                              \
	{                                                                                                         \
		while (++level < w->levels) {                                                                     \
			node = ((const T *)w->pos[level])[node];                                                  \
			node = (uint64_t)node <= (uint64_t)w->sizes[level] ? node : w->sizes[level];              \
		}                                                                                                 \
		return node;                                                                                      \
	}                                                                                                         \
	static int64_t name##_node(const Walked *w, int level, int64_t entry)                                     \
	{                                                                                                         \
		int64_t low = 0, high = w->sizes[level];                                                          \
		while (high - low > 1) {                                                                          \
			int64_t middle = low + (high - low) / 2;                                                  \
			if (name##_first(w, level, middle) <= entry)                                              \
				low = middle;                                                                     \
			else                                                                                      \
				high = middle;                                                                    \
		}                                                                                                 \
		return low;                                                                                       \
	}                                                                                                         \
	static void name(void *given, int thread)                                                                 \
	{                                                                                                         \
		const Walked *w = given;                                                                          \
		const int leaf = w->levels - 1;                                                                   \
		int64_t at = share(w->sizes[leaf], w->threads, thread), nodes[MOST_MODES];                        \
		const int64_t end = share(w->sizes[leaf], w->threads, thread + 1);                                \
		for (int level = 0; level < leaf && at < end; level++)                                            \
			nodes[level] = name##_node(w, level, at);                                                 \
		for (; at < end; at += BLOCK) {                                                                   \
			const int64_t count = end - at < BLOCK ? end - at : BLOCK;                                \
			for (int level = 0; level < leaf; level++) {                                              \
				const T *crd = w->crd[level];                                                     \
				int64_t *coords = w->coords[level] + at * w->stride, node = nodes[level], start;  \
				int32_t begin[BLOCK] = {0};                                                       \
				for (int64_t next = node + 1; next < w->sizes[level]; next++) {                   \
					start = name##_first(w, level, next);                                     \
					if (start >= at + count)                                                  \
						break;                                                            \
					begin[start > at ? start - at : 0]++;                                     \
				}                                                                                 \
				for (int64_t n = 0; n < count; n++) {                                             \
					node += begin[n];                                                         \
					coords[n * w->stride] = crd == NULL ? node : crd[node];                   \
				}                                                                                 \
				nodes[level] = node;                                                              \
			}                                                                                         \
			for (int64_t n = at; n < at + count; n++)                                                 \
				w->coords[leaf][n * w->stride] = ((const T *)w->crd[leaf])[n];                    \
		}                                                                                                 \
	}
DEFINE_WALK(walk, int32_t)
DEFINE_WALK(walk_wide, int64_t)

PyObject *walk_levels(PyObject *self, PyObject *args)
{
	(void)self;
	Walked w = {0};
	PyObject *levels;
	unsigned long long team;
	long long stride;
	int wide;
	if (!PyArg_ParseTuple(args, "O!pLiK", &PyTuple_Type, &levels, &wide, &stride, &w.threads, &team))
		return NULL;
	w.stride = stride;
	w.levels = (int)PyTuple_Size(levels);
	if (w.levels < 1 || w.levels > MOST_MODES || w.threads < 1) {
		PyErr_SetString(PyExc_ValueError, "levels or threads out of range");
		return NULL;
	}
	for (int level = 0; level < w.levels; level++) {
		unsigned long long pos, crd, coords;
		long long size;
		if (!PyArg_ParseTuple(PyTuple_GetItem(levels, level), "LKKK", &size, &pos, &crd, &coords))
			return NULL;
		w.sizes[level] = size, w.pos[level] = (void *)(uintptr_t)pos, w.crd[level] = (void *)(uintptr_t)crd;
		w.coords[level] = (int64_t *)(uintptr_t)coords;
	}
	for (int level = 0; level < w.levels; level++) {
		const int64_t last = level ? w.sizes[level - 1] : 1;
		if (w.pos[level] != NULL && w.sizes[level] != (wide ? ((const int64_t *)w.pos[level])[last] : ((const int32_t *)w.pos[level])[last]))
			Py_RETURN_FALSE;
	}
	Py_BEGIN_ALLOW_THREADS
	run_threads(w.threads, team, wide ? walk_wide : walk, &w);
	Py_END_ALLOW_THREADS
	Py_RETURN_TRUE;
}

/* Drops entries in order that come again: moves the others up, and writes the numbers of those that were dropped, and of the ones that they repeat. */
PyObject *drop_repeats(PyObject *self, PyObject *args)
{
	(void)self;
	PyObject *given;
	Array arrays[MOST_MODES];
	unsigned long long order_address, again_address, group_address;
	long long count;
	if (!PyArg_ParseTuple(args, "O!LKKK", &PyTuple_Type, &given, &count, &order_address, &again_address, &group_address))
		return NULL;
	const int modes = (int)PyTuple_Size(given);
	if (modes < 1 || modes > MOST_MODES) {
		PyErr_SetString(PyExc_ValueError, "modes out of range");
		return NULL;
	}
	if (!read_arrays(given, arrays, modes))
		return NULL;
	int32_t *order = (int32_t *)(uintptr_t)order_address;
	int64_t *again = (int64_t *)(uintptr_t)again_address, *group = (int64_t *)(uintptr_t)group_address, kept = 0;
	Py_BEGIN_ALLOW_THREADS
	for (int64_t n = 0; n < count; n++) {
		int mode = n > 0 ? modes - 1 : -1; /* the last mode is the one that most entries differ in */
		while (mode >= 0 && element(&arrays[mode], n) == element(&arrays[mode], kept - 1))
			mode--;
		if (n > 0 && mode < 0) {
			*again++ = order[n], *group++ = kept - 1;
			continue;
		}
		if (kept < n) {
			for (mode = 0; mode < modes; mode++)
				set(&arrays[mode], kept, element(&arrays[mode], n));
			order[kept] = order[n];
		}
		kept++;
	}
	Py_END_ALLOW_THREADS
	return PyLong_FromLongLong(kept);
}
