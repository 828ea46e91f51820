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

/* Releases a handle. */
int32_t libsparse_release(libsparse_kernel kernel, char **error);

/* Prints one stage of the compilation of a request, or all of them where stage is "". */
int32_t libsparse_explain(libsparse_text request, libsparse_text stage, char **text, char **error);

/* Panics inside, on purpose: shows that a panic becomes an error of kind "internal" and the library lives on. */
int32_t libsparse_debug_panic(char **error);

/* Releases a string that the library handed out; NULL is allowed. */
void libsparse_free(char *string);

#ifdef __cplusplus
}
#endif

#endif
