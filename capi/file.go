package main

/*
#include "libsparse.h"
*/
import "C"

import (
	"encoding/json"
	"unsafe"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/tensorfile"
)

// largeFile is the size in bytes of coordinates that are worth a collection when they are released.
const largeFile = 1 << 27

// object decodes a JSON argument.
func object(s C.libsparse_text, into any) error {
	t, err := text(s)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(t, into); err != nil {
		return diag.Errorf(diag.Syntax, "the argument %q is not JSON of the kind that libsparse.h describes: %v", t, err)
	}
	return nil
}

// array is the caller's memory; NULL is allowed for none.
func array(p unsafe.Pointer, size int, name string) ([]byte, error) {
	if p == nil && size > 0 {
		return nil, diag.Errorf(diag.Syntax, "the array of %s is NULL", name)
	}
	return unsafe.Slice((*byte)(p), size), nil
}

//export libsparse_read
func libsparse_read(path, options C.libsparse_text, tensor *C.libsparse_tensor, fault **C.char) (status C.int32_t) {
	var err error
	defer guard(&status, fault, &err)
	name, err := text(path)
	if err != nil {
		return status
	}
	var o tensorfile.Options
	if err = object(options, &o); err != nil {
		return status
	}
	if tensor == nil {
		err = diag.Errorf(diag.Syntax, "the place for the tensor is NULL")
		return status
	}
	t, err := tensorfile.Open(string(name), o)
	if err == nil {
		*tensor = C.libsparse_tensor(library.handles.save(t))
	}
	return status
}

//export libsparse_tensor_info
func libsparse_tensor_info(tensor C.libsparse_tensor, info, fault **C.char) (status C.int32_t) {
	var err error
	defer guard(&status, fault, &err)
	t, err := get[*tensorfile.Tensor](library.handles, uintptr(tensor), "tensor")
	if err != nil {
		return status
	}
	header, err := json.Marshal(t.Header())
	if err == nil {
		err = put(info, string(header))
	}
	return status
}

//export libsparse_tensor_copy
func libsparse_tensor_copy(tensor C.libsparse_tensor, coordinates *C.int64_t, values unsafe.Pointer, fault **C.char) (status C.int32_t) {
	var err error
	defer guard(&status, fault, &err)
	t, err := get[*tensorfile.Tensor](library.handles, uintptr(tensor), "tensor")
	if err != nil {
		return status
	}
	h := t.Header()
	c, err := array(unsafe.Pointer(coordinates), h.CoordBytes(), "coordinates")
	if err != nil {
		return status
	}
	v, err := array(values, h.ValueBytes(), "values")
	if err == nil {
		err = t.CopyTo(c, v)
	}
	return status
}

//export libsparse_write
func libsparse_write(path, header C.libsparse_text, coordinates C.libsparse_coordinates, values C.libsparse_values, fault **C.char) (status C.int32_t) {
	var err error
	defer guard(&status, fault, &err)
	name, err := text(path)
	if err != nil {
		return status
	}
	var h tensorfile.Header
	if err = object(header, &h); err != nil {
		return status
	}
	if err = h.Check(); err != nil {
		return status
	}
	c, err := array(unsafe.Pointer(coordinates), h.CoordBytes(), "coordinates")
	if err != nil {
		return status
	}
	v, err := array(unsafe.Pointer(values), h.ValueBytes(), "values")
	if err == nil {
		err = tensorfile.Write(string(name), tensorfile.FromArrays(h, c, v))
	}
	return status
}
