/*
 * libsparse.h: the C interface of the libsparse sparse tensor compiler.
 *
 * Every function returns 0, or a non-zero status with *error set to a JSON object
 *   {"kind": "...", "message": "...", "span": {"start": 0, "end": 3}, "detail": "..."}
 * that the caller releases with libsparse_free, as it does every char * that a function hands out. Strings are UTF-8
 * and end in NUL. Requests and results are JSON; docs/reference/abi.md describes their fields. All functions may be called
 * from any thread. None may be called in a forked child of a process that has loaded the library.
 */
#ifndef LIBSPARSE_H
#define LIBSPARSE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LIBSPARSE_ABI_VERSION 2

/* A kernel that was compiled. Handles are checked: a released or foreign one is an error of kind "handle". */
typedef uintptr_t libsparse_kernel;

/* A string argument: UTF-8, ends in NUL, borrowed for the call. */
typedef const char *libsparse_text;

/* The version of this interface; a caller made for another one must not go on. */
int32_t libsparse_abi_version(void);

/* The version of the library. */
int32_t libsparse_version(char **version, char **error);

/* Compiles the expression, formats and types of a request, or finds the kernel in the cache. */
int32_t libsparse_compile(libsparse_text request, libsparse_kernel *kernel, char **error);

/* Describes a kernel: path and checksum of its object, entry points, slots, output, conversions. */
int32_t libsparse_kernel_info(libsparse_kernel kernel, char **info, char **error);

/* Releases a handle of any kind. */
int32_t libsparse_release(uintptr_t handle, char **error);

/* Prints one stage of the compilation of a request, or all of them where stage is "". */
int32_t libsparse_explain(libsparse_text request, libsparse_text stage, char **text, char **error);

/* A tensor that was read. Its handles are checked as kernels' are. */
typedef uintptr_t libsparse_tensor;

/* Reads a .mtx, .ttx, .tns or .rb file, perhaps with .gz. Options are {"shape": [...], "memory": bytes}, either may be left out:
 * the shape of a .tns file, and how much memory there is. An error of kind "system" has the number errno as its detail. */
int32_t libsparse_read(libsparse_text path, libsparse_text options, libsparse_tensor *tensor, char **error);

/* Describes a tensor: {"shape": [...], "dtype": "f64", "entries": n}. Its dtype is i64, f64, c128, or bool where there are no values.
 * The entries of a large file are read by libsparse_tensor_copy: before it, n is the most that there may be, and after it how many there are. */
int32_t libsparse_tensor_info(libsparse_tensor tensor, char **info, char **error);

/* Copies the coordinates, all of the first mode first, and the values, of 8 or (complex) 16 bytes each; bool has none.
 * The arrays have room for as many entries as libsparse_tensor_info said; where there are fewer, the rest of each mode is left as it is. */
int32_t libsparse_tensor_copy(libsparse_tensor tensor, int64_t *coordinates, void *values, char **error);

/* Arrays that are borrowed for the call. */
typedef const int64_t *libsparse_coordinates;
typedef const void *libsparse_values;

/* Writes a file from such arrays and their description. Any dtype may be described: values of integers are int64_t, of floats
 * double, of complex types two doubles; bool has none. */
int32_t libsparse_write(libsparse_text path, libsparse_text header, libsparse_coordinates coordinates, libsparse_values values, char **error);

/* A search for the schedule of a request that is fastest. Its handles are checked as kernels' are. */
typedef uintptr_t libsparse_tuner;

/* Begins a search. Options are {"seed": n, "first": n, "formats": {"A0": ["ds", ...]}}: how many points come before measurements choose, and
 * the formats that sparse operands may be converted to, where their entries are known. "patterns": {"A0": [...]} are features of these, as
 * libsparse_pattern_features has them. "method": "learned" asks the learned model alone, "advised": true the Bayesian tuner
 * that begins with what the model finds promising. What takes several kernels is an error of kind "unsupported". */
int32_t libsparse_tune_open(libsparse_text request, libsparse_text options, libsparse_tuner *tuner, char **error);

/* Proposes a schedule: {"point": {...}, "schedule": "...", "default": true}, or null where there is none left. The compiler's own is first. */
int32_t libsparse_tune_ask(libsparse_tuner tuner, char **proposal, char **error);

/* Says what a point gave, of this search or one before it: {"point": {...}, "seconds": s} or {"point": {...}, "failed": true}. */
int32_t libsparse_tune_tell(libsparse_tuner tuner, libsparse_text result, char **error);

/* Says in words how many points there are, of which parameters. */
int32_t libsparse_tune_space(libsparse_tuner tuner, char **text, char **error);

/* Lists the steps away from the compiler's schedule that make sense by themselves: [{"unroll": "4", "unrolled": "0"}, ...]. */
int32_t libsparse_tune_moves(libsparse_tuner tuner, char **moves, char **error);

/* What a model sees of the compiler's schedule with other values of some parameters, for each element of [{"unroll": "4"}, ...]:
 * {"names": [...], "features": [[...], ...]}, null for a number that is not known, and for a point that the space does not have. */
int32_t libsparse_tune_describe(libsparse_tuner tuner, libsparse_text changes, char **described, char **error);

/* The compiler's schedule with other values of some parameters, {"unroll": "4"}, as a proposal; null where there is no such point, it
 * can't be lowered, or it has the C of one before. */
int32_t libsparse_tune_propose(libsparse_tuner tuner, libsparse_text changes, char **proposal, char **error);

/* The arrays of a pattern: pos and crd of each level in turn, in storage order. They are borrowed for the call. */
typedef const void *const *libsparse_arrays;

/* Features of a pattern, of a sample of its entries: [...], null for what is not known. The pattern is {"format": "ds", "extents": [...],
 * "index": "i32", "pos": [0, n], "crd": [0, n]}: the extents of the levels, and the lengths of the arrays, 0 for none. */
int32_t libsparse_pattern_features(libsparse_text pattern, libsparse_arrays arrays, char **features, char **error);

/* Runs the command line: `count` words without the program's own name. It reads and writes the process's standard streams, and returns
 * the status that the process is to end with. */
int libsparse_command(int count, char **words);

/* Panics inside, on purpose: shows that a panic becomes an error of kind "internal" and the library lives on. */
int32_t libsparse_debug_panic(char **error);

/* Releases a string that the library handed out; NULL is allowed. */
void libsparse_free(char *string);

#ifdef __cplusplus
}
#endif

#endif
