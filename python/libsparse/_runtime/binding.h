/* What binding.c and taken.c share: which operands a binding takes, and those that it was given. */
#include "direct.h"

#define MOST_LETTERS 16 /* indices of a problem */
#define MOST_OPERANDS 8

/* Which operands a binding takes in one place. */
typedef struct {
	PyObject *format; /* of a pattern; NULL of a dense operand */
	int32_t dtype;    /* -1 of a pattern without values */
	int ndim, letter[MOST_MODES], order[MOST_MODES]; /* of each mode its index; modes as they stand in memory */
	int64_t least[MOST_MODES], most[MOST_MODES];      /* extents of a class */
	int same;                                          /* the first operand with the same pattern */
	bool sums;                                         /* whether the last mode of a dense operand has one element */
	bool sparser;                                      /* whether there are fewer entries than rows */
	int64_t least_mean, most_mean;                     /* entries for each row, rounded down; rows for each entry where there are fewer */
} Taken;

/* Operands as a binding takes them; of handles that aren't NULL the caller has references. */
typedef struct {
	int64_t extent[MOST_LETTERS];
	PyObject *pattern[MOST_OPERANDS]; /* borrowed */
	int64_t size[MOST_OPERANDS];
	Handle values[MOST_OPERANDS];
} Given;

/* taken.c: whether operands, a list of as many, are taken; -1 with an exception. */
int take_operands(const Taken *taken, Py_ssize_t count, PyObject *operands, Given *given);

/* Reads what a binding takes in one place, as bindings.py describes it; -1 with an exception. */
int read_taken(Taken *taken, PyObject *described);

/* Integers of a tuple, and how many there are; -1 with an exception. */
int read_numbers(PyObject *tuple, int most, int *numbers);

/* Takes torch.int32; -1 with an exception. */
int prepare_taken(PyObject *int32);
