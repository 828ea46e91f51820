package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Waiting for a lock starts with short naps, as most builds take a tenth of a second.
const (
	firstNap = time.Millisecond
	lastNap  = 20 * time.Millisecond
)

// OpenLock opens the file of a lock, and CloseLock closes it. A child that the host forks has it open, too, and would hold the lock for
// all of its life if the host died before: the C interface puts functions here that have it closed in children.
var (
	OpenLock  = func(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) }
	CloseLock = (*os.File).Close
)

// lock takes the lock of key and returns how to release it. It is an flock, so it ends with the process, whatever
// becomes of that; every call has a file of its own, so goroutines exclude one another too.
func (s *Store) lock(ctx context.Context, key string) (unlock func(), err error) {
	for nap := firstNap; ; nap = min(2*nap, lastNap) {
		unlock, ok, err := s.tryLock(key)
		if ok || err != nil {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for another build of the kernel was cancelled: %w", ctx.Err())
		case <-time.After(nap):
		}
	}
}

// tryLock is lock without waiting. ok is false if someone else holds the lock.
func (s *Store) tryLock(key string) (unlock func(), ok bool, err error) {
	path := filepath.Join(s.root, "locks", key+".lock")
	f, err := OpenLock(path)
	if err != nil {
		return nil, false, s.problem("can't be written", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	for errors.Is(err, unix.EINTR) {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	switch {
	case err == nil && stillThere(f, path):
		return func() { release(f) }, true, nil
	case err == nil || errors.Is(err, unix.EWOULDBLOCK):
		release(f)
		return nil, false, nil
	default:
		_ = CloseLock(f)
		return nil, false, s.problem("can't be locked", err)
	}
}

// release gives up the lock that f holds. To close f isn't enough where another process has the file open, too.
func release(f *os.File) {
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
	_ = CloseLock(f)
}

// stillThere reports whether f is the file at path: another process may have removed and remade it in between, and
// then holds the lock of the new one.
func stillThere(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	current, err := os.Stat(path)
	return err == nil && os.SameFile(mine, current)
}
