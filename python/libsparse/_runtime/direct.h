/* What direct.c, held.c, multiply.c, repeat.c, describe.c, kinds.c, wrap.c, compressed.c, seen.c, finder.c, binding.c and tally.c share: torch's C functions, objects of Python, and kernels with the contents of their slots. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#define MOST_SLOTS 64 /* a product has about ten; they are filled in on the stack, so that threads share nothing */
#define MOST_MODES 8  /* of a result */
#define MOST_WORDS 256 /* of a description; calls with longer ones go without */
#define MOST_OBJECTS 32 /* tensors of a call, and constants of it */

typedef int32_t (*kernel_function)(int64_t *slots);
typedef uint64_t (*fingerprint_function)(const char *data, uint64_t size, int threads, uint64_t team);
typedef struct tensor *Handle; /* torch's handle of a tensor, which owns a reference */

#define TALLY_PERIOD 17 /* calls of which one is timed; a prime, since calls often take turns */

/* How often a kernel was called while somebody watched, and how long that took; an object of Python. */
typedef struct tally {
	PyObject_HEAD
	long long calls, timed, nanoseconds; /* timed calls count for as many as the period is long, and so does their time */
	long long period, left;              /* and the calls before the next that is timed */
	struct tally *all;                   /* that of all patterns with the kernel, or NULL */
	long long waits;                     /* calls up to the one after which `told` is called; 0 where none is to come */
	PyObject *told;                      /* a function without arguments, or NULL */
} Tally;

/* A kernel with the contents of its slots, which is an object of Python. */
typedef struct {
	PyObject_HEAD
	kernel_function compute;
	Py_ssize_t slots, arrays, operands;
	int64_t fixed[MOST_SLOTS];
	Handle array[MOST_SLOTS];   /* the pattern's positions and coordinates */
	int places[MOST_SLOTS]; /* theirs; then of the operands, the result, the thread count */
	int32_t dtype;              /* of the result; of the operands of a product, too */
	int64_t ndim, shape[MOST_MODES], strides[MOST_MODES]; /* of the result */
	Tally *tally;
	PyObject *large; /* a function that makes a result whose memory is used again; NULL where torch makes it */
} Direct;

/* A kernel that reads a copy of values, and one that reads the values themselves; an object of Python. */
typedef struct {
	PyObject_HEAD
	Direct *run, *plain;
	PyObject *kept;     /* the `Carried` that has the copy of values */
	Py_ssize_t place;   /* which operand has the values */
	int32_t dtype, item; /* of values, and the size of an element */
	int32_t padded;      /* the size of an element of the result, 4 or 8, where padding is multiplied; else 0 */
	fingerprint_function fingerprint; /* of _storage/fingerprint.c, or NULL */
	uint64_t team;
} Held;

/* Functions of torch; those that return int32_t and take a tensor return 0 where they succeed. */
extern int32_t (*tensor_from_object)(void *, Handle *);
extern int32_t (*object_from_tensor)(Handle, void *, void **);
extern int32_t (*delete_tensor)(Handle), (*get_data)(Handle, void **), (*get_numel)(Handle, int64_t *);
extern int32_t (*get_dtype)(Handle, int32_t *), (*get_device)(Handle, int32_t *), (*get_layout)(Handle, int32_t *);
extern int32_t (*get_contiguous)(Handle, bool *), (*get_storage)(Handle, bool *);
extern int32_t (*get_dim)(Handle, int64_t *), (*get_sizes)(Handle, int64_t **), (*get_strides)(Handle, int64_t **);
extern int32_t (*layout_strided)(void), (*device_cpu)(void), (*dtype_int32)(void), (*dtype_int64)(void);
extern int32_t (*allocate)(int64_t, const int64_t *, const int64_t *, int32_t, int32_t, int32_t, Handle *);
extern int32_t (*complex_float)(void), (*complex_double)(void), (*get_threads)(uint32_t *);
extern bool (*grad_enabled)(void);

/* The classes of tensors that are nothing but elements in memory, the class Direct, and names of attributes. */
extern PyObject *plain, *n_whole, *n_held, *n_pattern, *n_size, *n_requires_grad, *n_variant;
extern PyTypeObject *direct_type;

/* A function of Python that raises the exception which the status of a kernel stands for. */
extern PyObject *check_status;

/* Raises a RuntimeError. */
PyObject *failed(const char *what);

/* Where a tensor's elements are, as the content of a slot; false where torch knows of none, or has freed them. */
bool locate(Handle tensor, int64_t *slot);

/* Runs the kernel on operands of the dtypes, extents and memory layouts that it was prepared for; `into` is a tensor to write to, or NULL. */
PyObject *run(const Direct *self, const Handle *operands, int64_t threads, PyObject *into);

/* A new array as an object, made by `maker` of its length where it takes `large_bytes` and more, with its elements; NULL where there is none, with an
 * exception or without. */
PyObject *new_array(int64_t length, int32_t dtype, int64_t item, PyObject *maker, void **elements);

/* Whether an attribute is true; -1 with an exception. */
int truth_of(PyObject *object, PyObject *name);

/* Whether something of torch wants to see each operation, or to change its operands; -1 with an exception. */
int is_watched(void);

/* Whether a tensor's elements are those in memory with another sign; -1 with an exception. */
int is_lazy(PyObject *tensor, int32_t dtype);

/* Whether a tensor of a plain class is nothing but elements in memory, and its dtype; -1 with an exception. */
int is_plain(PyObject *tensor, Handle handle, int32_t *dtype);

/* How many threads a kernel may use; -1 with an exception. */
int64_t count_threads(void);

/* What the words of a description behind it describe. */
enum word { AGAIN, SAME, SPARSE, DENSE, CONSTANT, FLOAT, SLICE, TUPLE, LIST, NAMES };

/* The arguments of a call, and what they have in common with those of a call like it. */
typedef struct {
	int64_t words[MOST_WORDS];
	Py_ssize_t count;
	Py_ssize_t constant_count, tensor_count;
	bool followed; /* whether autograd follows one of the tensors */
	PyObject *constants[MOST_OBJECTS], *tensors[MOST_OBJECTS]; /* the arguments and copies have references to them */
	PyObject *copies;                                          /* of lists, which other threads may change meanwhile; or NULL */
	PyObject *values, *patterns;                               /* lists of an element for each tensor */
} Arguments;

/* held.c: which kernel computes with values now, which become those that it reads, with a reference; NULL with an exception. And whether its result may be
 * wrong, since padding was multiplied by what isn't finite: the other kernel computes it anew. */
extern PyTypeObject *held_type;
const Direct *held_kernel(const Held *self, PyObject **values, int64_t threads);
bool met_padding(const Held *self, const Direct *direct, PyObject *result, int64_t threads);
int prepare_held(PyObject *module);

/* multiply.c */
extern PyMethodDef multiply_functions[];
int prepare_multiply_names(void);

/* describe.c */
extern PyMethodDef describe_functions[];
int prepare_description_names(void);

/* Describes arguments: 1; 0 where that can't be done, -1 with an exception. */
int describe_all(Arguments *call, PyObject *args, PyObject *kwargs);

/* Whether a fill value is 0; -1 with an exception. */
int is_zero(PyObject *fill);

/* The name by which a pattern keeps the plan of calls like this. */
PyObject *name_of(const Arguments *call, PyObject *function);

/* kinds.c */
extern PyMethodDef kind_functions[];
int prepare_kind_names(void);

/* tally.c: a call is counted, and its beginning noted if it is timed (else 0); the time since then; and its addition. */
extern PyTypeObject *tally_type;
int64_t begin_call(Tally *tally);
int64_t time_since(int64_t begun);
void add_time(Tally *tally, int64_t nanoseconds);
int tell(Tally *tally); /* that another call has ended; -1 with an exception that ends the call, as of a signal handler */
int prepare_tallies(PyObject *module);

/* repeat.c */
extern PyMethodDef repeat_functions[];
int prepare_names(void);

/* wrap.c */
extern PyMethodDef wrap_functions[];
int prepare_wrap_names(void);

/* compressed.c, and a function that makes an array of int32 of a length that takes so many bytes and more. */
extern PyObject *large_integers;
extern long long large_bytes;
extern PyMethodDef compressed_functions[];
void prepare_integers(void);

/* An array of integers that a user hands over. */
typedef struct {
	Handle handle;
	int32_t dtype;
	int64_t length;
	const void *data;
} Integers;

/* Whether an object is a contiguous array of int32 or int64 in memory, whose length is one of int32; -1 with an exception. The handle is the
 * caller's to delete where it isn't NULL. */
int read_integers(PyObject *object, Integers *array);

/* seen.c */
extern PyMethodDef seen_functions[];

/* finder.c: the arrays of a result, as a list, whose pattern a Finder's kernel finds, given the contents of the operands' slots. */
extern PyTypeObject *finder_type;
PyObject *find_entries(PyObject *finder, int64_t *slots, Tally *tally);
int prepare_finder(PyObject *module);

/* binding.c */
int prepare_bindings(PyObject *module);

/* An operand of these parts. */
PyObject *operand_of(PyObject *pattern, PyObject *values, PyObject *fill);

/* What is known of the elements of a result: something of torch watches them, nothing, or that they were written to a new
 * array, in order, and nothing follows them. */
enum elements { WATCHED, UNKNOWN, WRITTEN };

/* An operand as users get it, anything else as it is; takes the reference. Python does it where something of torch watches. */
PyObject *dressed(PyObject *result, enum elements elements);
