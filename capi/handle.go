package main

/*
#include "libsparse.h"
*/
import "C"

import (
	"sync"
	"unsafe"

	"github.com/mattn/go-pointer"

	"libsparse/libsparse"
	"libsparse/libsparse/diag"
)

// handles knows which handles are alive. go-pointer keeps the objects, but releases whatever it is given, twice if
// asked to; a handle that is not in this set is never passed to it.
type handles struct {
	mu    sync.Mutex
	alive map[C.libsparse_kernel]bool
}

func (h *handles) save(k *libsparse.Kernel) C.libsparse_kernel {
	handle := C.libsparse_kernel(uintptr(pointer.Save(k)))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.alive[handle] = true
	return handle
}

func (h *handles) get(handle C.libsparse_kernel) (*libsparse.Kernel, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.alive[handle] {
		return nil, unknown(handle)
	}
	return pointer.Restore(address(handle)).(*libsparse.Kernel), nil
}

func (h *handles) release(handle C.libsparse_kernel) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.alive[handle] {
		return unknown(handle)
	}
	delete(h.alive, handle)
	pointer.Unref(address(handle))
	return nil
}

// address turns a handle back into the C pointer that go-pointer made, which is not into Go memory.
func address(handle C.libsparse_kernel) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&handle))
}

func unknown(handle C.libsparse_kernel) error {
	return diag.Errorf(diag.Handle, "%#x is no kernel: it was released, or is not from this library", uintptr(handle))
}
