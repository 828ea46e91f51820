/* Repeated calls: _tensor/repeated.py and steps.py, which define them, in C.
 *
 * `call` has the arguments of an operation described (describe.c). Where the first pattern among them keeps a plan under
 * that name, `run_plan` runs its kernels and functions; everything else is left to Python. Results are dressed.
 */
#include "direct.h"

enum kind { KERNEL, FUNCTION, PROBLEM, ELEMENTWISE }; /* of a step, as in steps.py */

/* Objects that `install_repeats` is given, and interned names of attributes. */
static PyObject *notes, *missed, *contiguous;
static PyObject *n_repeated, *n_runs, *n_detach, *n_as_strided;

/* --- Plans ------------------------------------------------------------------------------------------------------- */

/* A tensor as a step sees it: as it is (None), or detached, with another shape and strides, or copied in another order. */
static PyObject *seen(PyObject *tensor, PyObject *view)
{
	PyObject *found = tensor, *next;
	Py_INCREF(found);
	if (view == Py_None)
		return found;
	PyObject *shape = PyTuple_GetItem(view, 1), *order = PyTuple_GetItem(view, 3);
	if (PyTuple_GetItem(view, 0) == Py_True) {
		next = PyObject_CallMethodObjArgs(found, n_detach, NULL);
		Py_DECREF(found);
		found = next;
	}
	if (found != NULL && shape != Py_None) {
		next = PyObject_CallMethodObjArgs(found, n_as_strided, shape, PyTuple_GetItem(view, 2), NULL);
		Py_DECREF(found);
		found = next;
	}
	if (found != NULL && order != Py_None) {
		next = PyObject_CallFunctionObjArgs(contiguous, found, order, NULL);
		Py_DECREF(found);
		found = next;
	}
	return found;
}

/* The tensor that a pair of a number and a view stands for; the view itself where the number is negative. */
static PyObject *argument(PyObject *values, PyObject *pair)
{
	PyObject *view = PyTuple_GetItem(pair, 1);
	Py_ssize_t number = PyLong_AsSsize_t(PyTuple_GetItem(pair, 0));
	if (number < 0) {
		Py_INCREF(view);
		return view;
	}
	PyObject *value = PyList_GetItem(values, number);
	return value == NULL ? NULL : seen(value, view);
}

/* The arguments of a step, with room for others behind them. */
static PyObject *arguments(PyObject *values, PyObject *pairs, Py_ssize_t others)
{
	Py_ssize_t count = PyTuple_Size(pairs);
	PyObject *found = PyTuple_New(count + others);
	for (Py_ssize_t n = 0; found != NULL && n < count; n++) {
		PyObject *value = argument(values, PyTuple_GetItem(pairs, n));
		if (value == NULL || PyTuple_SetItem(found, n, value) < 0) {
			Py_DECREF(found);
			return NULL;
		}
	}
	return found;
}

/* The result of a kernel on tensors that stand in a tuple, with a last place for the number of threads. */
static PyObject *kernel_result(PyObject *direct, PyObject *given)
{
	Py_ssize_t count = PyTuple_Size(given) - 1, read = 0;
	int64_t threads = count_threads();
	PyObject *out = NULL;
	if (threads < 0)
		return NULL;
	if (Py_TYPE(direct) != direct_type) { /* a function in Python, such as one with a large result */
		PyObject *number = PyLong_FromLongLong(threads);
		return number == NULL || PyTuple_SetItem(given, count, number) < 0 ? NULL : PyObject_CallObject(direct, given);
	}
	Handle operands[MOST_SLOTS];
	if (count != ((Direct *)direct)->operands)
		return failed("a kernel has other operands");
	while (read < count && !tensor_from_object(PyTuple_GetItem(given, read), &operands[read]))
		read++;
	out = read < count ? failed("an operand is no tensor") : run((Direct *)direct, operands, threads, NULL);
	while (read > 0)
		delete_tensor(operands[--read]);
	return out;
}

/* Runs a kernel and adds its result: 1; 0 where another variant has taken its place. -1 with an exception. */
static int run_kernel(PyObject *step, PyObject *values, PyObject *patterns)
{
	PyObject *variant = PyObject_GetAttr(PyTuple_GetItem(step, 1), n_variant), *pattern = PyTuple_GetItem(step, 5);
	Py_XDECREF(variant); /* the step has its own reference to the one that it compares with */
	if (variant != PyTuple_GetItem(step, 2))
		return variant == NULL ? -1 : 0;
	PyObject *given = arguments(values, PyTuple_GetItem(step, 4), 1);
	PyObject *out = given == NULL ? NULL : kernel_result(PyTuple_GetItem(step, 3), given);
	Py_XDECREF(given);
	if (PyLong_CheckExact(pattern))
		pattern = PyList_GetItem(patterns, PyLong_AsSsize_t(pattern));
	int added = out == NULL || pattern == NULL || PyList_Append(values, out) < 0 || PyList_Append(patterns, pattern) < 0 ? -1 : 1;
	Py_XDECREF(out);
	return added;
}

/* Applies a function and adds its result: 1. -1 with an exception. */
static int run_function(PyObject *step, PyObject *values, PyObject *patterns)
{
	PyObject *given = arguments(values, PyTuple_GetItem(step, 2), 0);
	PyObject *out = given == NULL ? NULL : PyObject_CallObject(PyTuple_GetItem(step, 1), given);
	Py_XDECREF(given);
	int added = out == NULL || PyList_Append(values, out) < 0 || PyList_Append(patterns, Py_None) < 0 ? -1 : 1;
	Py_XDECREF(out);
	return added;
}

/* Computes a problem in Python, which adds its result: 1, or 0 where it is to be prepared anew. -1 with an exception. */
static int run_problem(PyObject *step, PyObject *values, PyObject *patterns)
{
	PyObject *done = PyObject_CallFunctionObjArgs(PyTuple_GetItem(step, 1), values, patterns, NULL);
	int yes = done == NULL ? -1 : PyObject_IsTrue(done);
	Py_XDECREF(done);
	return yes;
}

/* The result of a plan, an operand or a dense tensor; NULL without an exception where it is to be found anew.
 * Says whether its elements were written to a new array last, in order. */
static PyObject *plan_result(PyObject *plan, PyObject *values, PyObject *patterns, bool *written)
{
	PyObject *steps = PyTuple_GetItem(plan, 0), *pattern = PyTuple_GetItem(plan, 1);
	int done = 1;
	*written = false;
	for (Py_ssize_t n = 0; done == 1 && n < PyTuple_Size(steps); n++) {
		PyObject *step = PyTuple_GetItem(steps, n);
		long kind = PyLong_AsLong(PyTuple_GetItem(step, 0));
		*written = kind == KERNEL || kind == ELEMENTWISE;
		switch (kind) {
		case KERNEL:
			done = run_kernel(step, values, patterns);
			break;
		case FUNCTION:
		case ELEMENTWISE:
			done = run_function(step, values, patterns);
			break;
		default:
			done = run_problem(step, values, patterns);
		}
	}
	PyObject *last = done == 1 ? PyList_GetItem(values, PyList_Size(values) - 1) : NULL;
	if (last == NULL || pattern == Py_None)
		return last == NULL ? NULL : seen(last, PyTuple_GetItem(plan, 3));
	if (PyLong_CheckExact(pattern)) {
		pattern = PyList_GetItem(patterns, PyLong_AsSsize_t(pattern));
		Py_XINCREF(pattern);
	} else {
		pattern = PyObject_CallNoArgs(pattern); /* a weak reference */
	}
	PyObject *result = pattern == NULL || pattern == Py_None ? NULL : operand_of(pattern, last, PyTuple_GetItem(plan, 2));
	Py_XDECREF(pattern);
	return result;
}

static PyObject *run_plan(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
	(void)module;
	if (count != 3 || !PyTuple_Check(args[0]) || !PyList_Check(args[1]) || !PyList_Check(args[2])) {
		PyErr_SetString(PyExc_TypeError, "run_plan takes a plan, values and patterns");
		return NULL;
	}
	bool written;
	PyObject *result = plan_result(args[0], args[1], args[2], &written);
	if (result != NULL || PyErr_Occurred())
		return result;
	Py_RETURN_NONE;
}

/* --- call ----------------------------------------------------------------------------------------------------------- */

/* Whether weak references are to the patterns behind the first of a list; -1 with an exception. */
static int are_patterns(PyObject *references, PyObject *patterns)
{
	Py_ssize_t next = 0, count = PyList_Size(references);
	bool first = true;
	for (Py_ssize_t n = 0; n < PyList_Size(patterns); n++) {
		PyObject *pattern = PyList_GetItem(patterns, n);
		if (pattern == Py_None)
			continue;
		if (!first) {
			PyObject *known = next < count ? PyObject_CallNoArgs(PyList_GetItem(references, next++)) : NULL;
			Py_XDECREF(known); /* the list has its own reference to a pattern that is the same */
			if (known != pattern)
				return PyErr_Occurred() ? -1 : 0;
		}
		first = false;
	}
	return next == count;
}

/* The result by what the first pattern keeps under the name of a call; NULL without an exception where no plan will do. */
static PyObject *known_result(PyObject *known, const Arguments *call, bool *written)
{
	PyObject *result = NULL;
	if (PyTuple_Size(known) == 2 && are_patterns(PyTuple_GetItem(known, 1), call->patterns) == 1) {
		Py_ssize_t count = PyList_Size(call->values);
		result = plan_result(PyTuple_GetItem(known, 0), call->values, call->patterns, written);
		if (result == NULL && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_RuntimeError))
			PyErr_Clear(); /* said by the operation in its own words */
		if (result == NULL && !PyErr_Occurred() &&
		    (PyList_SetSlice(call->values, count, PyList_Size(call->values), NULL) < 0 ||
		     PyList_SetSlice(call->patterns, count, PyList_Size(call->patterns), NULL) < 0))
			result = NULL;
	}
	return result;
}

/* The result of a call whose arguments are described, dressed. */
static PyObject *described_result(const Arguments *call, PyObject *const *given)
{
	bool written = false;
	PyObject *home = Py_None, *result = NULL;
	for (Py_ssize_t n = 0; home == Py_None && n < PyList_Size(call->patterns); n++)
		home = PyList_GetItem(call->patterns, n);
	if (home == Py_None)
		return dressed(PyObject_Call(given[1], given[2], given[3]), UNKNOWN);
	PyObject *name = name_of(call, given[0]), *kept = name == NULL ? NULL : PyObject_GetAttr(home, n_repeated);
	PyObject *known = kept == NULL ? NULL : PyDict_GetItemWithError(kept, name);
	Py_XINCREF(known); /* another thread may clear the dictionary */
	if (known == Py_None) /* the operation came to something else than steps */
		result = PyObject_Call(given[1], given[2], given[3]);
	else if (known != NULL)
		result = known_result(known, call, &written);
	if (result == NULL && !PyErr_Occurred()) {
		written = false;
		result = PyObject_CallFunctionObjArgs(missed, given[0], given[1], given[2], given[3], name, call->values, call->patterns, NULL);
	}
	Py_XDECREF(name);
	Py_XDECREF(kept);
	Py_XDECREF(known);
	return dressed(result, written && !call->followed ? WRITTEN : UNKNOWN);
}

/* Whether notes are taken in this thread; -1 with an exception. */
static int is_noted(void)
{
	PyObject *runs = PyObject_GetAttr(notes, n_runs);
	Py_XDECREF(runs);
	return runs == NULL ? -1 : runs != Py_None;
}

static PyObject *call(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
	(void)module;
	if (count != 4 || !PyTuple_Check(args[2]) || !PyDict_Check(args[3])) {
		PyErr_SetString(PyExc_TypeError, "call takes a name, an operation, its arguments and those by name");
		return NULL;
	}
	int watched = is_noted();
	watched = watched == 0 ? is_watched() : watched;
	if (watched != 0)
		return watched < 0 ? NULL : dressed(PyObject_Call(args[1], args[2], args[3]), WATCHED);
	Arguments described;
	described.count = described.constant_count = described.tensor_count = 0;
	described.followed = false;
	described.copies = NULL;
	described.values = PyList_New(0);
	described.patterns = PyList_New(0);
	PyObject *result = NULL;
	if (described.values != NULL && described.patterns != NULL) {
		int yes = describe_all(&described, args[2], args[3]);
		if (yes < 0 && PyErr_ExceptionMatches(PyExc_RuntimeError)) {
			PyErr_Clear(); /* tensors of torch's transforms have no memory */
			yes = 0;
		}
		if (yes >= 0)
			result = yes ? described_result(&described, args) : dressed(PyObject_Call(args[1], args[2], args[3]), UNKNOWN);
	}
	Py_XDECREF(described.values);
	Py_XDECREF(described.patterns);
	Py_XDECREF(described.copies);
	return result;
}

static PyObject *install_repeats(PyObject *module, PyObject *args)
{
	(void)module;
	if (!PyArg_ParseTuple(args, "OOO", &notes, &missed, &contiguous))
		return NULL;
	Py_INCREF(args); /* kept for good, and the objects with it */
	Py_RETURN_NONE;
}

PyMethodDef repeat_functions[] = {
	{"call", (PyCFunction)(void (*)(void))call, METH_FASTCALL,
	 "call(name, operation, args, kwargs): the dressed result of an operation, by the plan of calls like it where one is kept."},
	{"run_plan", (PyCFunction)(void (*)(void))run_plan, METH_FASTCALL,
	 "run_plan(plan, values, patterns): its result, None where that has to be found anew."},
	{"install_repeats", install_repeats, METH_VARARGS, "Takes the objects of torch and of the package that `call` needs."},
	{NULL, NULL, 0, NULL},
};

int prepare_names(void)
{
	const struct {
		PyObject **name;
		const char *text;
	} names[] = {
		{&n_repeated, "repeated"},      {&n_runs, "runs"},       {&n_detach, "detach"},
		{&n_as_strided, "as_strided"},
	};
	for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
		if ((*names[n].name = PyUnicode_InternFromString(names[n].text)) == NULL)
			return -1;
	return 0;
}
