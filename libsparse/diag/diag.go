// Package diag holds the one error type that crosses package edges of the compiler.
//
// It must not know about any stage; stages create errors, the edges (capi, cmd) render them.
package diag

import (
	"errors"
	"fmt"
)

// Kind says whose fault an error is and which Python exception it becomes.
type Kind string

// The kinds. Shape, Format, Dtype and Syntax are user errors with a class of their own in Python.
const (
	Syntax      Kind = "syntax"      // malformed expression or format string
	Shape       Kind = "shape"       // extents that do not agree
	Format      Kind = "format"      // a format that does not fit its tensor, or an invalid one
	Dtype       Kind = "dtype"       // a scalar type that the operation does not take
	Unsupported Kind = "unsupported" // valid, and not available
	Toolchain   Kind = "toolchain"   // no C compiler, or it failed
	Cache       Kind = "cache"       // the kernel cache can't be read or written
	Bounds      Kind = "bounds"      // a coordinate outside of its shape
	System      Kind = "system"      // the operating system refused a file; the detail is the number of the error
	Handle      Kind = "handle"      // a released or foreign handle
	Internal    Kind = "internal"    // a bug in libsparse
)

// Span is a half-open byte range of the expression text that an error is about.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Error is a located error. Message names the operand, the expectation and the remedy.
type Error struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
	Span    *Span  `json:"span,omitempty"`
	Detail  string `json:"detail,omitempty"` // compiler output, stack trace
}

func (e *Error) Error() string { return e.Message }

// Errorf makes an error of kind k.
func Errorf(k Kind, format string, args ...any) *Error {
	return &Error{Kind: k, Message: fmt.Sprintf(format, args...)}
}

// At attaches the text range that e is about.
func (e *Error) At(start, end int) *Error {
	e.Span = &Span{Start: start, End: end}
	return e
}

// WithDetail attaches text that is too long for a message.
func (e *Error) WithDetail(detail string) *Error {
	e.Detail = detail
	return e
}

// From returns err as an *Error, as Internal if it is of another type.
func From(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Kind: Internal, Message: err.Error()}
}
