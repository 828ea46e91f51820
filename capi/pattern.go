package main

/*
#include "libsparse.h"
*/
import "C"

import (
	"unsafe"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/format"
	"libsparse/libsparse/pattern"
)

// description is a pattern as libsparse.h has it.
type description struct {
	Format  string  `json:"format"`
	Extents []int64 `json:"extents"`
	Index   string  `json:"index"`
	Pos     []int   `json:"pos"`
	Crd     []int   `json:"crd"`
}

//export libsparse_pattern_features
func libsparse_pattern_features(pattern C.libsparse_text, arrays C.libsparse_arrays, features, fault **C.char) (status C.int32_t) {
	var err error
	defer guard(&status, fault, &err)
	var d description
	if err = object(pattern, &d); err != nil {
		return status
	}
	p, err := d.pattern(arrays)
	if err == nil {
		err = putJSON(features, p.Features())
	}
	return status
}

// pattern is the caller's arrays as they are described.
func (d description) pattern(arrays C.libsparse_arrays) (p pattern.Pattern, err error) {
	if p.Format, err = format.Parse(d.Format); err != nil {
		return p, err
	}
	levels := p.Format.Order()
	if len(d.Pos) != levels || len(d.Crd) != levels || arrays == nil {
		return p, diag.Errorf(diag.Shape, "format %s has %d levels; there are lengths of %d pos and %d crd arrays", d.Format, levels, len(d.Pos), len(d.Crd))
	}
	p.Extents = d.Extents
	given := unsafe.Slice((*unsafe.Pointer)(unsafe.Pointer(arrays)), 2*levels)
	for level := range levels {
		for i, length := range []int{d.Pos[level], d.Crd[level]} {
			a, err := d.array(given[2*level+i], length)
			if err != nil {
				return p, err
			}
			if i == 0 {
				p.Pos = append(p.Pos, a)
			} else {
				p.Crd = append(p.Crd, a)
			}
		}
	}
	return p, p.Check()
}

func (d description) array(at unsafe.Pointer, length int) (a pattern.Array, err error) {
	switch {
	case length == 0:
	case length < 0 || at == nil:
		return a, diag.Errorf(diag.Syntax, "an array of %d elements is NULL, or its length negative", length)
	case d.Index == "i32":
		a.Short = unsafe.Slice((*int32)(at), length)
	case d.Index == "i64":
		a.Long = unsafe.Slice((*int64)(at), length)
	default:
		return a, diag.Errorf(diag.Dtype, "the index type %q has to be i32 or i64", d.Index)
	}
	return a, nil
}
