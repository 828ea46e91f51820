/* Copies of the arrays of a compressed level below a dense one, as of CSR, which a user hands over: checked in one pass.
 *
 * What it does not copy, because something is unusual or wrong, is left to `pattern_from_levels` of _ops/assemble.py,
 * which says what is wrong.
 */
#include "direct.h"

#include <stdatomic.h>

#include "../_storage/threads.h"

#define EACH (1 << 15) /* elements for each thread, so that its start costs little */

PyObject *large_integers;
long long large_bytes;
static int32_t int32_code, int64_code;

int read_integers(PyObject *object, Integers *array)
{
	int64_t ndim;
	bool contiguous;
	void *data;
	array->handle = NULL;
	if (PySet_Contains(plain, (PyObject *)Py_TYPE(object)) != 1 || tensor_from_object(object, &array->handle))
		return PyErr_Occurred() ? -1 : 0;
	int yes = is_plain(object, array->handle, &array->dtype);
	if (yes == 1)
		yes = (array->dtype == int32_code || array->dtype == int64_code) && !get_dim(array->handle, &ndim) && ndim == 1 &&
		      !get_contiguous(array->handle, &contiguous) && contiguous && !get_numel(array->handle, &array->length) &&
		      array->length < INT32_MAX && !get_data(array->handle, &data) && (data != NULL || array->length == 0);
	if (yes == 1)
		array->data = data;
	return yes;
}

/* Copies elements [n, end) to int32: whether all are from 0 on and below `most`, and so have kept their values. The highest bit of an element, or
 * of what is left of the largest one after it, says that it isn't: there are no branches, for the sake of vectors. */
static inline bool copy_integers(const Integers *array, int32_t *restrict copy, int64_t most, int64_t n, int64_t end)
{
	if (n == end)
		return true;
	if (array->dtype == int32_code) {
		const uint32_t *restrict from = array->data, last = (uint32_t)most - 1;
		uint32_t outside = 0;
		for (; n < end; n++) {
			copy[n] = (int32_t)from[n];
			outside |= from[n] | (last - from[n]);
		}
		return most > 0 && outside >> 31 == 0;
	}
	const uint64_t *restrict from = array->data, last = (uint64_t)most - 1;
	uint64_t outside = 0;
	for (; n < end; n++) {
		copy[n] = (int32_t)from[n];
		outside |= from[n] | (last - from[n]);
	}
	return most > 0 && outside >> 63 == 0;
}

/* The copies while they are made, by threads. */
typedef struct {
	const Integers *pos, *crd;
	int32_t *own_pos, *own_crd;
	int64_t parents, extent;
	int threads;
	uint64_t team;
	atomic_bool wrong;
	atomic_int falls, allowed;
} Copies;

static inline void copy_part(void *given, int thread)
{
	Copies *made = given;
	const int64_t rows = made->pos->length, count = made->crd->length;
	bool right = copy_integers(made->pos, made->own_pos, count + 1, share(rows, made->threads, thread), share(rows, made->threads, thread + 1));
	right &= copy_integers(made->crd, made->own_crd, made->extent, share(count, made->threads, thread), share(count, made->threads, thread + 1));
	if (!right)
		atomic_store(&made->wrong, true);
}
DEFINE_WIDE(copy_share, copy_part)

/* Positions must not decrease. Coordinates ascend between two positions if they fall as often as they do where rows begin. */
static inline void look_at_part(void *given, int thread)
{
	Copies *made = given;
	const int32_t *pos = made->own_pos, *crd = made->own_crd;
	int32_t falls = 0, allowed = 0; /* sums that take one vector, since there are fewer elements than 2^31 */
	bool decreases = false;
	const int64_t count = made->crd->length, from = share(count, made->threads, thread), to = share(count, made->threads, thread + 1);
	for (int64_t n = from < 1 ? 1 : from; n < to; n++)
		falls += crd[n] <= crd[n - 1];
	const int64_t first = share(made->parents, made->threads, thread), end = share(made->parents, made->threads, thread + 1);
	for (int64_t row = first; row < end; row++)
		decreases |= pos[row + 1] < pos[row];
	const int64_t looked = decreases || count < 2 ? first : end;
	/* Without branches, since which rows are empty can't be foreseen: for these, places 0 and 1 are compared. */
	for (int64_t row = first; row < looked; row++) {
		const int32_t n = pos[row], begins = (n > 0) & (n < pos[row + 1]), place = begins * (n - 1);
		allowed += begins & (crd[place + 1] <= crd[place]);
	}
	if (decreases)
		atomic_store(&made->wrong, true);
	atomic_fetch_add(&made->falls, falls);
	atomic_fetch_add(&made->allowed, allowed);
}
DEFINE_WIDE(look_at_share, look_at_part)

/* What is looked at besides lengths and ranges: nothing, all, or positions alone, between which coordinates come in any order. */
enum { LENGTHS, ALL, POSITIONS };

/* Whether positions begin at 0 and don't decrease. */
static bool ascend(const int32_t *pos, int64_t parents)
{
	bool decreases = pos[0] != 0;
	for (int64_t row = 0; row < parents; row++)
		decreases |= pos[row + 1] < pos[row];
	return !decreases;
}

/* Copies and looks at the copies, to which nobody else writes: whether they are right. */
static bool make_copies(Copies *made, int checked)
{
	const int64_t parents = made->parents, count = made->crd->length;
	run_threads(made->threads, made->team, copy_share, made);
	if (atomic_load(&made->wrong) || made->own_pos[parents] != count)
		return false;
	if (checked != ALL)
		return checked == LENGTHS || ascend(made->own_pos, parents);
	if (made->own_pos[0] != 0)
		return false;
	run_threads(made->threads, made->team, look_at_share, made);
	return !atomic_load(&made->wrong) && atomic_load(&made->falls) == atomic_load(&made->allowed);
}

/* A new array of int32 as an object, with its elements; NULL where there is none, with an exception or without. */
static PyObject *new_integers(int64_t length, int32_t **elements)
{
	void *data = NULL;
	PyObject *object = new_array(length, int32_code, sizeof **elements, large_integers, &data);
	*elements = data;
	return object;
}

/* The copies, or NULL: where something is unusual or wrong, without an exception. */
static PyObject *copies(const Integers *pos, const Integers *crd, int64_t parents, int64_t extent, int checked, int threads, uint64_t team)
{
	Copies made = {.pos = pos, .crd = crd, .parents = parents, .extent = extent, .team = team};
	int64_t most = crd->length / EACH + 1;
	made.threads = (int)(threads < most ? threads : most);
	made.threads = made.threads < 1 ? 1 : made.threads < MOST_THREADS ? made.threads : MOST_THREADS;
	if (pos->length - 1 != parents || extent > INT32_MAX)
		return NULL;
	PyObject *first = new_integers(pos->length, &made.own_pos);
	PyObject *second = first == NULL ? NULL : new_integers(crd->length, &made.own_crd), *both = NULL;
	if (second != NULL) {
		bool right;
		Py_BEGIN_ALLOW_THREADS
		right = make_copies(&made, checked);
		Py_END_ALLOW_THREADS
		both = right ? PyTuple_Pack(2, first, second) : NULL;
	}
	Py_XDECREF(first);
	Py_XDECREF(second);
	return both;
}

static PyObject *copy_compressed(PyObject *module, PyObject *args)
{
	PyObject *pos, *crd, *found = NULL;
	Integers read_pos = {0}, read_crd = {0};
	long long parents, extent;
	unsigned long long team;
	int checked, threads;
	(void)module;
	if (!PyArg_ParseTuple(args, "OOLLiiK", &pos, &crd, &parents, &extent, &checked, &threads, &team))
		return NULL;
	int watched = is_watched(), yes = watched < 0 ? -1 : !watched;
	yes = yes == 1 ? read_integers(pos, &read_pos) : yes;
	yes = yes == 1 ? read_integers(crd, &read_crd) : yes;
	if (yes == 1)
		found = copies(&read_pos, &read_crd, parents, extent, checked, threads, team);
	if (read_pos.handle != NULL)
		delete_tensor(read_pos.handle);
	if (read_crd.handle != NULL)
		delete_tensor(read_crd.handle);
	if (found != NULL || PyErr_Occurred())
		return found;
	Py_RETURN_NONE;
}

PyMethodDef compressed_functions[] = {
	{"copy_compressed", copy_compressed, METH_VARARGS,
	 "copy_compressed(pos, crd, parents, extent, checked, threads, team): copies as int32, None where Python has to look at the arrays.\n\n"
	 "Where `checked` is 1 coordinates have to ascend between positions, where it is 2 only positions have to, where it is 0 nothing has to."},
	{NULL, NULL, 0, NULL},
};

void prepare_integers(void)
{
	int32_code = dtype_int32();
	int64_code = dtype_int64();
}
