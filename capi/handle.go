package main

import (
	"sync"
	"unsafe"

	"github.com/mattn/go-pointer"

	"libsparse/libsparse/diag"
)

// handles knows which handles are alive. go-pointer keeps the objects, but releases whatever it is given, twice if
// asked to; a handle that is not in this set is never passed to it.
type handles struct {
	mu    sync.Mutex
	alive map[uintptr]bool
}

func (h *handles) save(object any) uintptr {
	handle := uintptr(pointer.Save(object))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.alive[handle] = true
	return handle
}

// get is the object of type T, which the error calls by a name.
func get[T any](h *handles, handle uintptr, name string) (object T, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.alive[handle] {
		if object, ok := pointer.Restore(address(handle)).(T); ok {
			return object, nil
		}
	}
	return object, unknown(handle, name)
}

// release returns the object that the handle stood for.
func (h *handles) release(handle uintptr) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.alive[handle] {
		return nil, unknown(handle, "object")
	}
	object := pointer.Restore(address(handle))
	delete(h.alive, handle)
	pointer.Unref(address(handle))
	return object, nil
}

// address turns a handle back into the C pointer that go-pointer made, which is not into Go memory.
func address(handle uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&handle))
}

func unknown(handle uintptr, name string) error {
	return diag.Errorf(diag.Handle, "%#x is no %s: it was released, or is not from this library", handle, name)
}
