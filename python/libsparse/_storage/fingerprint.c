/* Fingerprints of arrays: whether somebody has written to one since it was last looked at.
 *
 * A running sum of words, and the sum of that, in eight lanes (Fletcher, "An arithmetic checksum for serial transmissions",
 * 1982, with words of 64 bits): any change of one word changes the first sum, and words that change places the second.
 * It reads about as fast as memory does.
 */
#define Py_LIMITED_API 0x030a0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <string.h>

enum { LANES = 8 };

/* The lanes are a vector where the processor has such, which is found out when the module is loaded. */
#if defined __x86_64__ && defined __gnu_linux__ && !defined __clang__
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static uint64_t fingerprint(const char *data, uint64_t size)
{
	uint64_t first[LANES] = {0}, second[LANES] = {0}, words[LANES];
	const uint64_t whole = size / sizeof words * sizeof words;
	for (uint64_t at = 0; at < whole; at += sizeof words) {
		memcpy(words, data + at, sizeof words);
		for (int lane = 0; lane < LANES; lane++) {
			first[lane] += words[lane];
			second[lane] += first[lane];
		}
	}
	memset(words, 0, sizeof words);
	memcpy(words, data + whole, size - whole);
	uint64_t all = size;
	for (int lane = 0; lane < LANES; lane++) {
		first[lane] += words[lane];
		second[lane] += first[lane];
		all = (all ^ first[lane]) * 0x9e3779b97f4a7c15u; /* an odd number, so that nothing is lost */
		all = (all ^ all >> 32 ^ second[lane]) * 0x9e3779b97f4a7c15u;
	}
	return all ^ all >> 32;
}

static PyObject *of_memory(PyObject *module, PyObject *args)
{
	(void)module;
	unsigned long long data, size;
	if (!PyArg_ParseTuple(args, "KK", &data, &size))
		return NULL;
	uint64_t found;
	Py_BEGIN_ALLOW_THREADS
	found = fingerprint((const char *)(uintptr_t)data, size);
	Py_END_ALLOW_THREADS
	return PyLong_FromUnsignedLongLong(found);
}

static PyMethodDef functions[] = {
	{"of_memory", of_memory, METH_VARARGS, "of_memory(address, size): a number that other contents hardly ever have."},
	{NULL, NULL, 0, NULL},
};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_fingerprint", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__fingerprint(void)
{
	return PyModule_Create(&definition);
}
