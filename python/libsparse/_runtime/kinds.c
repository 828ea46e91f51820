/* Kinds of calls: what a call has in common with those that come to the same problem on other patterns, by the words of describe.c.
 *
 * Symbols stand for extents from 2 on, the same one for equal extents, in order of appearance; they are negative. 0 and 1 stand for themselves,
 * since shapes broadcast by them.
 */
#include "direct.h"

#define MOST_SYMBOLS 32 /* calls with more have no kind */

static PyObject *n_format, *n_text, *n_shape, *n_block;

typedef struct {
	int64_t words[2 * MOST_WORDS], extents[MOST_SYMBOLS];
	Py_ssize_t count, symbols, patterns;
	PyObject *pattern[MOST_OBJECTS];                   /* each once, in order of appearance; the list has references */
	PyObject *text[MOST_OBJECTS], *block[MOST_OBJECTS]; /* of its format, and of its values */
} Kind;

static bool add(Kind *kind, int64_t word)
{
	if (kind->count == 2 * MOST_WORDS)
		return false;
	kind->words[kind->count++] = word;
	return true;
}

static bool add_extent(Kind *kind, int64_t extent)
{
	if (extent < 2)
		return add(kind, extent);
	Py_ssize_t n = 0;
	while (n < kind->symbols && kind->extents[n] != extent)
		n++;
	if (n == MOST_SYMBOLS)
		return false;
	kind->extents[n] = extent;
	kind->symbols += n == kind->symbols;
	return add(kind, ~n);
}

/* The number of a pattern; how many there are where it is none of them. */
static Py_ssize_t number_of(const Kind *kind, const void *pattern)
{
	Py_ssize_t n = 0;
	while (n < kind->patterns && kind->pattern[n] != pattern)
		n++;
	return n;
}

/* Adds a pattern that is not there yet: 1; 0 where it has no kind, -1 with an exception. */
static int add_pattern(Kind *kind, PyObject *pattern)
{
	Py_ssize_t n = number_of(kind, pattern);
	if (n < kind->patterns || n == MOST_OBJECTS)
		return n < kind->patterns;
	PyObject *format = PyObject_GetAttr(pattern, n_format), *shape = PyObject_GetAttr(pattern, n_shape);
	kind->pattern[n] = pattern;
	kind->text[n] = format == NULL ? NULL : PyObject_GetAttr(format, n_text);
	kind->block[n] = PyObject_GetAttr(pattern, n_block);
	kind->patterns++;
	int yes = shape == NULL || kind->text[n] == NULL || kind->block[n] == NULL ? -1 : PyTuple_Check(shape);
	const Py_ssize_t modes = yes == 1 ? PyTuple_Size(shape) : 0;
	yes = yes == 1 ? add(kind, modes) : yes;
	for (Py_ssize_t mode = 0; yes == 1 && mode < modes; mode++) {
		PyObject *extent = PyTuple_GetItem(shape, mode);
		yes = PyLong_CheckExact(extent) && add_extent(kind, PyLong_AsLongLong(extent)); /* those of graphs are other objects */
	}
	Py_XDECREF(format);
	Py_XDECREF(shape);
	return yes;
}

/* Adds dtype, rank and shape of a dense tensor, its strides where they don't follow from these, and whether autograd follows it. */
static bool add_dense(Kind *kind, const int64_t *words)
{
	const int64_t rank = words[2], *modes = words + 3;
	int64_t expected = 1;
	bool contiguous = true, done = add(kind, words[1]) && add(kind, rank) && add(kind, modes[2 * rank]);
	for (int64_t mode = rank; mode-- > 0; expected *= modes[2 * mode])
		contiguous &= modes[2 * mode + 1] == expected;
	done = done && add(kind, contiguous);
	for (int64_t mode = 0; mode < rank; mode++)
		done = done && add_extent(kind, modes[2 * mode]) && (contiguous || add(kind, modes[2 * mode + 1]));
	return done;
}

/* Adds what stands at a place of a description, and moves the place behind it. */
static bool add_part(Kind *kind, const int64_t *words, Py_ssize_t *place)
{
	static const int lengths[] = {[AGAIN] = 2, [SAME] = 2, [CONSTANT] = 2, [FLOAT] = 2, [SLICE] = 1, [TUPLE] = 2, [LIST] = 2, [NAMES] = 1};
	const int64_t *part = words + *place;
	bool done = add(kind, part[0]);
	switch (part[0]) {
	case SPARSE: /* pattern, whether it has values, and of these: dtype, rank 1, length, stride, whether autograd follows them */
		done = done && add(kind, number_of(kind, (const void *)(intptr_t)part[1])) && add(kind, part[2]);
		if (part[2])
			done = done && add(kind, part[3]) && add(kind, part[7]);
		*place += part[2] ? 8 : 3;
		break;
	case DENSE:
		done = done && add_dense(kind, part);
		*place += 4 + 2 * part[2];
		break;
	default:
		for (int n = 1; n < lengths[part[0]]; n++)
			done = done && add(kind, part[n]);
		*place += lengths[part[0]];
	}
	return done;
}

static PyObject *extents_of(const Kind *kind)
{
	PyObject *extents = PyTuple_New(kind->symbols);
	for (Py_ssize_t n = 0; extents != NULL && n < kind->symbols; n++) {
		PyObject *extent = PyLong_FromLongLong(kind->extents[n]);
		if (extent == NULL) {
			Py_DECREF(extents);
			return NULL;
		}
		PyTuple_SetItem(extents, n, extent);
	}
	return extents;
}

/* The name of the kind: that of the call with other words, and what tells its patterns apart besides their shapes. */
static PyObject *named(const Kind *kind, PyObject *name)
{
	const Py_ssize_t length = PyTuple_Size(name);
	PyObject *words = PyBytes_FromStringAndSize((const char *)kind->words, kind->count * (Py_ssize_t)sizeof *kind->words);
	PyObject *result = words == NULL ? NULL : PyTuple_New(length + 2 * kind->patterns);
	if (result == NULL) {
		Py_XDECREF(words);
		return NULL;
	}
	for (Py_ssize_t n = 0; n < length + 2 * kind->patterns; n++) {
		const Py_ssize_t beyond = n - length;
		PyObject *part = beyond < 0 ? PyTuple_GetItem(name, n) : (beyond % 2 ? kind->block : kind->text)[beyond / 2];
		if (n == 3) {
			part = words;
		} else {
			Py_INCREF(part);
		}
		PyTuple_SetItem(result, n, part);
	}
	return result;
}

static PyObject *kind_of_call(PyObject *module, PyObject *args)
{
	PyObject *name, *patterns, *result = NULL;
	(void)module;
	if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &name, &PyList_Type, &patterns))
		return NULL;
	PyObject *described = PyTuple_Size(name) < 4 ? NULL : PyTuple_GetItem(name, 3);
	int yes = described != NULL && PyBytes_CheckExact(described);
	Kind kind;
	kind.count = kind.symbols = kind.patterns = 0;
	for (Py_ssize_t n = 0; yes == 1 && n < PyList_Size(patterns); n++) {
		PyObject *pattern = PyList_GetItem(patterns, n);
		yes = pattern == Py_None ? 1 : add_pattern(&kind, pattern);
	}
	if (yes == 1) {
		const int64_t *words = (const int64_t *)(const void *)PyBytes_AsString(described);
		const Py_ssize_t count = PyBytes_Size(described) / (Py_ssize_t)sizeof *words;
		for (Py_ssize_t place = 0; yes == 1 && place < count;)
			yes = add_part(&kind, words, &place);
	}
	if (yes == 1) {
		PyObject *kind_name = named(&kind, name), *extents = kind_name == NULL ? NULL : extents_of(&kind);
		result = extents == NULL ? NULL : PyTuple_Pack(2, kind_name, extents);
		Py_XDECREF(kind_name);
		Py_XDECREF(extents);
	}
	for (Py_ssize_t n = 0; n < kind.patterns; n++) {
		Py_XDECREF(kind.text[n]);
		Py_XDECREF(kind.block[n]);
	}
	if (yes == 0)
		Py_RETURN_NONE;
	return result;
}

PyMethodDef kind_functions[] = {
	{"kind_of_call", kind_of_call, METH_VARARGS,
	 "kind_of_call(name, patterns): the name of what a call has in common with those on other patterns of the same kinds, and the\n"
	 "extents that its symbols stand for; None where that can't be said."},
	{NULL, NULL, 0, NULL},
};

int prepare_kind_names(void)
{
	const struct {
		PyObject **name;
		const char *text;
	} names[] = {{&n_format, "format"}, {&n_text, "text"}, {&n_shape, "shape"}, {&n_block, "block"}};
	for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
		if ((*names[n].name = PyUnicode_InternFromString(names[n].text)) == NULL)
			return -1;
	return 0;
}
