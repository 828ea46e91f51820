package main

/*
#include "libsparse.h"
*/
import "C"

import (
	"encoding/json"
	"sync"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/tune/kernels"
)

// search is a handle's: calls with it may come from any thread.
type search struct {
	mu sync.Mutex
	*kernels.Search
}

//export libsparse_tune_open
func libsparse_tune_open(request, options C.libsparse_text, tuner *C.libsparse_tuner, fault **C.char) (status C.int32_t) {
	var err error
	defer guard(&status, fault, &err)
	r, err := parse(request)
	if err != nil {
		return status
	}
	var o kernels.Options
	if err = object(options, &o); err != nil {
		return status
	}
	if tuner == nil {
		err = diag.Errorf(diag.Syntax, "the place for the tuner is NULL")
		return status
	}
	s, err := kernels.New(r, library.compiler.Backend, o)
	if err == nil {
		*tuner = C.libsparse_tuner(library.handles.save(&search{Search: s}))
	}
	return status
}

//export libsparse_tune_ask
func libsparse_tune_ask(tuner C.libsparse_tuner, proposal, fault **C.char) (status C.int32_t) {
	var err error
	defer guard(&status, fault, &err)
	s, err := get[*search](library.handles, uintptr(tuner), "tuner")
	if err != nil {
		return status
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok, err := s.Ask()
	if err != nil {
		return status
	}
	if !ok {
		err = put(proposal, "null")
		return status
	}
	err = putJSON(proposal, p)
	return status
}

//export libsparse_tune_tell
func libsparse_tune_tell(tuner C.libsparse_tuner, result C.libsparse_text, fault **C.char) (status C.int32_t) {
	var err error
	defer guard(&status, fault, &err)
	s, err := get[*search](library.handles, uintptr(tuner), "tuner")
	if err != nil {
		return status
	}
	var r kernels.Result
	if err = object(result, &r); err != nil {
		return status
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.Tell(r)
	return status
}

//export libsparse_tune_space
func libsparse_tune_space(tuner C.libsparse_tuner, space, fault **C.char) (status C.int32_t) {
	var err error
	defer guard(&status, fault, &err)
	s, err := get[*search](library.handles, uintptr(tuner), "tuner")
	if err == nil {
		err = put(space, s.Size())
	}
	return status
}

//export libsparse_tune_moves
func libsparse_tune_moves(tuner C.libsparse_tuner, moves, fault **C.char) (status C.int32_t) {
	var err error
	defer guard(&status, fault, &err)
	s, err := get[*search](library.handles, uintptr(tuner), "tuner")
	if err != nil {
		return status
	}
	err = putJSON(moves, s.Moves())
	return status
}

//export libsparse_tune_describe
func libsparse_tune_describe(tuner C.libsparse_tuner, changes C.libsparse_text, described, fault **C.char) (status C.int32_t) {
	var err error
	defer guard(&status, fault, &err)
	s, err := get[*search](library.handles, uintptr(tuner), "tuner")
	if err != nil {
		return status
	}
	var c []map[string]string
	if err = object(changes, &c); err != nil {
		return status
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err = putJSON(described, s.Describe(c))
	return status
}

//export libsparse_tune_propose
func libsparse_tune_propose(tuner C.libsparse_tuner, changes C.libsparse_text, proposal, fault **C.char) (status C.int32_t) {
	var err error
	defer guard(&status, fault, &err)
	s, err := get[*search](library.handles, uintptr(tuner), "tuner")
	if err != nil {
		return status
	}
	var c map[string]string
	if err = object(changes, &c); err != nil {
		return status
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := s.Propose(c); ok {
		err = putJSON(proposal, p)
	} else {
		err = put(proposal, "null")
	}
	return status
}

// putJSON hands a value out.
func putJSON(out **C.char, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return put(out, string(text))
}
