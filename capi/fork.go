package main

// #include "fork.h"
import "C"

import (
	"os"
	"runtime"

	"libsparse/cache"
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

func init() {
	codegen.Starting = forks{}
	open, shut := cache.OpenLock, cache.CloseLock
	cache.OpenLock = func(path string) (*os.File, error) {
		forks{}.Lock()
		defer forks{}.Unlock()
		f, err := open(path)
		if err == nil {
			C.libsparse_add_lock(C.int(f.Fd()))
		}
		return f, err
	}
	cache.CloseLock = func(f *os.File) error {
		forks{}.Lock()
		defer forks{}.Unlock()
		C.libsparse_remove_lock(C.int(f.Fd()))
		return shut(f)
	}
}
