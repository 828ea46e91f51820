// Package main is the C interface of the compiler, built with -buildmode=c-shared. libsparse.h is its contract.
//
// It is the only package that uses cgo, and holds nothing but conversions: no decision about a kernel is made here.
package main

/*
#include <stdlib.h>
#include "libsparse.h"
*/
import "C"

import (
	"context"
	"fmt"
	"runtime/debug"
	"unsafe"

	"libsparse/codegen/native"
	"libsparse/command"
	"libsparse/libsparse"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/tensorfile"
)

// library is the state of the loaded library.
var library = struct {
	compiler *libsparse.Compiler
	handles  *handles
}{
	compiler: &libsparse.Compiler{Version: command.Version, Backend: native.New()},
	handles:  &handles{alive: map[uintptr]bool{}},
}

func main() {}

// guard ends every export: it turns an error or a panic into a status and an error object. A Go panic must never reach
// the host.
func guard(status *C.int32_t, out **C.char, err *error) {
	if p := recover(); p != nil {
		*err = diag.Errorf(diag.Internal, "a bug in libsparse: %v", p).WithDetail(string(debug.Stack()))
	}
	if *err == nil {
		return
	}
	*status = 1
	if out != nil {
		*out = C.CString(string(libsparse.ErrorJSON(*err)))
	}
}

// text is a C string as bytes; NULL is an error.
func text(s C.libsparse_text) ([]byte, error) {
	if s == nil {
		return nil, diag.Errorf(diag.Syntax, "a string argument is NULL")
	}
	return []byte(C.GoString((*C.char)(s))), nil
}

// put hands a string out.
func put(out **C.char, s string) error {
	if out == nil {
		return diag.Errorf(diag.Syntax, "the place for the result is NULL")
	}
	*out = C.CString(s)
	return nil
}

//export libsparse_abi_version
func libsparse_abi_version() C.int32_t { return C.LIBSPARSE_ABI_VERSION }

//export libsparse_version
func libsparse_version(out, fault **C.char) (status C.int32_t) {
	var err error
	defer guard(&status, fault, &err)
	err = put(out, command.Version)
	return status
}

//export libsparse_compile
func libsparse_compile(request C.libsparse_text, kernel *C.libsparse_kernel, fault **C.char) (status C.int32_t) {
	var err error
	defer guard(&status, fault, &err)
	r, err := parse(request)
	if err != nil {
		return status
	}
	if kernel == nil {
		err = diag.Errorf(diag.Syntax, "the place for the kernel is NULL")
		return status
	}
	k, err := library.compiler.Compile(context.Background(), r)
	if err == nil {
		*kernel = C.libsparse_kernel(library.handles.save(k))
	}
	return status
}

func parse(request C.libsparse_text) (*libsparse.Request, error) {
	t, err := text(request)
	if err != nil {
		return nil, err
	}
	return libsparse.ParseRequest(t)
}

//export libsparse_kernel_info
func libsparse_kernel_info(kernel C.libsparse_kernel, info, fault **C.char) (status C.int32_t) {
	var err error
	defer guard(&status, fault, &err)
	k, err := get[*libsparse.Kernel](library.handles, uintptr(kernel), "kernel")
	if err == nil {
		err = put(info, string(k.JSON()))
	}
	return status
}

//export libsparse_release
func libsparse_release(handle C.uintptr_t, fault **C.char) (status C.int32_t) {
	var err error
	defer guard(&status, fault, &err)
	object, err := library.handles.release(uintptr(handle))
	if t, ok := object.(*tensorfile.Tensor); ok && t.Header().CoordBytes() > largeFile {
		debug.FreeOSMemory() // the host has its copy and needs the memory now, not when Go next collects
	}
	return status
}

//export libsparse_explain
func libsparse_explain(request, stage C.libsparse_text, out, fault **C.char) (status C.int32_t) {
	var err error
	defer guard(&status, fault, &err)
	r, err := parse(request)
	if err != nil {
		return status
	}
	name, err := text(stage)
	if err != nil {
		return status
	}
	t, err := libsparse.Explain(r, string(name), library.compiler.Backend)
	if err == nil {
		err = put(out, t)
	}
	return status
}

//export libsparse_command
func libsparse_command(count C.int, words **C.char) C.int {
	args := make([]string, count)
	for i, word := range unsafe.Slice(words, count) {
		args[i] = C.GoString(word)
	}
	return C.int(command.Main(args))
}

//export libsparse_debug_panic
func libsparse_debug_panic(fault **C.char) (status C.int32_t) {
	var err error
	defer guard(&status, fault, &err)
	panic(fmt.Sprintf("on purpose, in %s", command.Version))
}

//export libsparse_free
func libsparse_free(s *C.char) { C.free(unsafe.Pointer(s)) }
