package main

// #include "fork.h"
import "C"

import (
	"runtime"

	"libsparse/codegen"
)

// forks is a lock that every fork() of the host takes, too. POSIX has the thread that locks it unlock it.
type forks struct{}

func (forks) Lock() {
	runtime.LockOSThread()
	C.libsparse_hold_forks()
}

func (forks) Unlock() {
	C.libsparse_allow_forks()
	runtime.UnlockOSThread()
}

func init() { codegen.Starting = forks{} }
