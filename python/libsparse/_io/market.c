/* Reads the lines of Matrix Market files as nearly all writers make them, by several threads: what matrix_market.py has the compiler
 * do where a line is anything else, which also knows what is wrong with it.
 *
 * A line is two indices and one number or none, with blanks between. Text ends with a line's end, and 8 bytes behind it can be read.
 * Only Python's limited interface is used. Arrays are given by their addresses.
 */
#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>
#include <locale.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DIGITS 18  /* of integers: they fit in 64 bits */
#define MOST_FIGURES 19 /* of the digits of a float as an integer of 64 bits */
#define EXACT 22        /* powers of ten up to this one are floats */
#define LEAST_POWER (-330)
#define MOST_POWER 310
#define MOST_EXPONENT 5 /* digits of an exponent */

enum { PATTERN, INTEGERS, DOUBLES, FLOATS };

/* A power of ten as high:low * 2^exponent, without the bits below. */
typedef struct {
	uint64_t high, low;
	int64_t exponent;
} Power;

typedef struct {
	uint64_t rows, columns;
	const Power *powers; /* from LEAST_POWER on */
	locale_t plain;
	int32_t *row, *column;
	void *values;
} Table;

static const double tens[EXACT + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
				       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* The number of eight digits, of which the first stands in the lowest byte. */
static inline uint64_t eight(uint64_t word)
{
	word = (word & 0x0F0F0F0F0F0F0F0Fu) * 2561 >> 8;
	word = (word & 0x00FF00FF00FF00FFu) * 6553601 >> 16;
	return (word & 0x0000FFFF0000FFFFu) * 42949672960001u >> 32;
}

/* Goes on with a number, digit by digit: numbers have mostly as many as those before, so a processor foresees where the next one begins. */
static inline const char *few_digits(const char *at, uint64_t *number)
{
	for (; (uint8_t)(*at - '0') <= 9; at++)
		*number = 10 * *number + (uint8_t)(*at - '0');
	return at;
}

/* The same, eight digits at a time as long as there are so many. */
static inline const char *digits(const char *at, uint64_t *number)
{
	for (;;) {
		uint64_t word;
		memcpy(&word, at, sizeof word);
		if ((((word ^ 0x3030303030303030u) | ((word + 0x0606060606060606u) ^ 0x3030303030303030u)) & 0xF0F0F0F0F0F0F0F0u) != 0)
			return few_digits(at, number);
		*number = *number * 100000000 + eight(word);
		at += 8;
	}
}

static inline const char *skip_blanks(const char *at)
{
	while (*at == ' ' || *at == '\t')
		at++;
	return at;
}

/* Reads an index from 1 to `extent`; NULL where there is none. */
static inline const char *read_index(const char *at, uint64_t extent, int32_t *index)
{
	uint64_t number = 0;
	const char *end = few_digits(at, &number);
	if (end == at || end - at > MOST_DIGITS || number - 1 >= extent)
		return NULL;
	*index = (int32_t)(number - 1);
	return end;
}

/* The float nearest to the product of m and a power of ten, after D. Lemire, "Number Parsing at a Gigabyte per Second", 2021, section 5;
 * false where 128 bits of the power do not decide which one that is, or it may be no normal number. */
static inline bool nearest(uint64_t m, const Power *power, double *x)
{
	int zeros = __builtin_clzll(m);
	m <<= zeros;
	/* the upper 128 of 192 bits; what was cut off, of the product and of the power, is less than 2 of its last bit */
	unsigned __int128 product = (unsigned __int128)m * power->high + (uint64_t)((unsigned __int128)m * power->low >> 64);
	int shift = product >> 127 == 0; /* as likely as not, so without a branch */
	int64_t exponent = power->exponent - zeros + 128 - shift;
	product <<= shift;
	uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
	const int below = 64 - 53; /* bits of high that a float has no room for */
	uint64_t rest = high & ((1u << below) - 1), half = 1u << (below - 1);
	exponent += below;
	if ((rest == half && low == 0) || (rest == half - 1 && low >= UINT64_MAX - 4) || exponent < -1022 - 52 || exponent > 1023 - 53)
		return false;
	/* a mantissa of 2^53 adds one to the exponent */
	uint64_t bits = ((uint64_t)(exponent + 1022 + 52) << 52) + (high >> below) + (rest >= half);
	memcpy(x, &bits, sizeof bits);
	return true;
}

/* How many digits there are from the first one on that is not zero. */
static int figures(const char *at, const char *end)
{
	int count = 0;
	for (; at < end; at++)
		count += '0' <= *at && *at <= '9' && (count > 0 || *at > '0');
	return count;
}

/* Reads a decimal number, correctly rounded; NULL where there is none, or one in another notation. */
static inline const char *read_float(const Table *table, const char *given, double *value)
{
	const char *first = given + (*given == '-' || *given == '+'), *at = first;
	uint64_t m = 0;
	int64_t exponent = 0;
	at = few_digits(at, &m);
	int64_t count = at - first;
	if (*at == '.') {
		const char *point = at + 1;
		at = digits(point, &m);
		exponent = point - at;
		count += at - point;
	}
	if (count == 0)
		return NULL;
	const char *last = at;
	if (*at == 'e' || *at == 'E') {
		bool down = at[1] == '-';
		const char *from = at + 1 + (down || at[1] == '+');
		uint64_t shift = 0;
		at = digits(from, &shift);
		if (at == from || at - from > MOST_EXPONENT)
			return NULL;
		exponent += down ? -(int64_t)shift : (int64_t)shift;
	}
	double x;
	bool known = count <= MOST_FIGURES || figures(first, last) <= MOST_FIGURES;
	if (known && m < (uint64_t)1 << 53 && -EXACT <= exponent && exponent <= EXACT)
		x = exponent < 0 ? (double)m / tens[-exponent] : (double)m * tens[exponent]; /* one rounding of exact numbers */
	else if (known && m == 0)
		x = 0;
	else if (!known || exponent < LEAST_POWER || exponent > MOST_POWER || !nearest(m, &table->powers[exponent - LEAST_POWER], &x)) {
		*value = strtod_l(given, NULL, table->plain);
		return at;
	}
	*value = *given == '-' ? -x : x;
	return at;
}

static inline const char *read_integer(const char *at, int64_t *value)
{
	const char *first = at + (*at == '-' || *at == '+');
	uint64_t number = 0;
	const char *end = digits(first, &number);
	if (end == first || end - first > MOST_DIGITS)
		return NULL;
	*value = *at == '-' ? -(int64_t)number : (int64_t)number;
	return end;
}

/* Reads lines into the table from entry `n` on; returns how many entries they have, -1 where one is not plain. */
static inline __attribute__((always_inline)) int64_t read_lines(const Table *table, const char *at, const char *end, int64_t n, int kind)
{
	int64_t first = n;
	while (at < end) {
		at = skip_blanks(at);
		if (*at == '\n') {
			at++;
			continue;
		}
		at = read_index(at, table->rows, &table->row[n]);
		if (at == NULL || (*at != ' ' && *at != '\t'))
			return -1;
		at = read_index(skip_blanks(at), table->columns, &table->column[n]);
		if (at == NULL)
			return -1;
		if (kind != PATTERN) {
			double x = 0;
			if (*at != ' ' && *at != '\t')
				return -1;
			at = skip_blanks(at);
			at = kind == INTEGERS ? read_integer(at, (int64_t *)table->values + n) : read_float(table, at, &x);
			if (at == NULL)
				return -1;
			if (kind == DOUBLES)
				((double *)table->values)[n] = x;
			else if (kind == FLOATS)
				((float *)table->values)[n] = (float)x;
		}
		at = skip_blanks(at);
		at += *at == '\r';
		if (*at != '\n')
			return -1;
		at++;
		n++;
	}
	return n - first;
}

static PyObject *parse(PyObject *self, PyObject *args)
{
	(void)self;
	unsigned long long text, powers, row, column, values;
	long long length, first, rows, columns, found = -1;
	int kind;
	if (!PyArg_ParseTuple(args, "KLLLLiKKKK", &text, &length, &rows, &columns, &first, &kind, &row, &column, &values, &powers))
		return NULL;
	Table table = {(uint64_t)rows, (uint64_t)columns, (const Power *)(uintptr_t)powers, newlocale(LC_ALL_MASK, "C", (locale_t)0),
		       (int32_t *)(uintptr_t)row, (int32_t *)(uintptr_t)column, (void *)(uintptr_t)values};
	if (table.plain == (locale_t)0)
		return PyErr_NoMemory();
	const char *at = (const char *)(uintptr_t)text, *end = at + length;
	Py_BEGIN_ALLOW_THREADS
	switch (kind) {
	case PATTERN:
		found = read_lines(&table, at, end, first, PATTERN);
		break;
	case INTEGERS:
		found = read_lines(&table, at, end, first, INTEGERS);
		break;
	case DOUBLES:
		found = read_lines(&table, at, end, first, DOUBLES);
		break;
	case FLOATS:
		found = read_lines(&table, at, end, first, FLOATS);
		break;
	}
	freelocale(table.plain);
	Py_END_ALLOW_THREADS
	return PyLong_FromLongLong(found);
}

static PyObject *lines(PyObject *self, PyObject *args)
{
	(void)self;
	unsigned long long text;
	long long length, found = 0;
	if (!PyArg_ParseTuple(args, "KL", &text, &length))
		return NULL;
	const char *at = (const char *)(uintptr_t)text;
	Py_BEGIN_ALLOW_THREADS
	while (length > 0) { /* of so few that a byte counts them, in vectors */
		int64_t part = length < 255 * 16 ? length : 255 * 16;
		uint8_t counts[16] = {0};
		int64_t n = 0;
		for (; n + 16 <= part; n += 16)
			for (int lane = 0; lane < 16; lane++)
				counts[lane] += at[n + lane] == '\n';
		for (; n < part; n++)
			found += at[n] == '\n';
		for (int lane = 0; lane < 16; lane++)
			found += counts[lane];
		at += part;
		length -= part;
	}
	Py_END_ALLOW_THREADS
	return PyLong_FromLongLong(found);
}

static PyMethodDef functions[] = {
	{"lines", lines, METH_VARARGS, "lines(text, length): how many ends of lines are in a text. `text` is an address."},
	{"parse", parse, METH_VARARGS,
	 "parse(text, length, rows, columns, first, kind, row, column, values, powers): how many entries lines hold, -1 where one is not plain.\n\n"
	 "They are written from entry `first` on: `row` and `column` are addresses of int32, `values` of nothing (kind 0), int64 (1),\n"
	 "float64 (2) or float32 (3), `powers` of triples (high, low, exponent) for powers of ten from -330 to 310."},
	{NULL, NULL, 0, NULL},
};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_market", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__market(void)
{
	return PyModule_Create(&definition);
}
