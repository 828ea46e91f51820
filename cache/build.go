package cache

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Build returns the entry of key, made by build if it is not there. build finds source in dir as SourceName and leaves
// the object there as ObjectName. Of all threads and processes that ask for one key at a time, one builds and the
// others wait. Errors of build are returned as they are; nothing is kept then. Where somebody removes the folders
// meanwhile, it is built again.
func (s *Store) Build(ctx context.Context, key, source string, build func(dir string) error) (Entry, error) {
	if entry, ok, err := s.Load(key); ok || err != nil {
		return entry, err
	}
	var entry Entry
	err := s.lasting(func() (removed bool, err error) {
		entry, removed, err = s.build(ctx, key, source, build)
		return removed, err
	})
	return entry, err
}

// build is Build for an entry that wasn't there. removed says that somebody has removed what was written.
func (s *Store) build(ctx context.Context, key, source string, build func(dir string) error) (entry Entry, removed bool, err error) {
	unlock, err := s.lock(ctx, key)
	if err != nil {
		return Entry{}, isGone(filepath.Join(s.root, "locks")), err
	}
	defer unlock()
	if entry, ok, err := s.Load(key); ok || err != nil {
		return entry, false, err
	}
	s.removeStale(key)
	dir, err := os.MkdirTemp(filepath.Join(s.root, "tmp"), key+".")
	if err != nil {
		return Entry{}, errors.Is(err, fs.ErrNotExist), s.problem("can't be written", err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, SourceName)
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		return Entry{}, errors.Is(err, fs.ErrNotExist), s.problem("can't be written", err)
	}
	if err := build(dir); err != nil {
		return Entry{}, isGone(path), err
	}
	entry, err = s.publish(key, dir)
	if err == nil {
		return entry, false, nil
	}
	if other, ok, _ := s.Load(key); ok { // of whoever has made a lock of its own, as ours was removed
		return other, false, nil
	}
	return Entry{}, errors.Is(err, fs.ErrNotExist), s.problem("can't be written", err)
}

// removeStale removes what builds of key left behind that were killed. The caller holds the lock of key, so no such
// build is alive.
func (s *Store) removeStale(key string) {
	stale, _ := filepath.Glob(filepath.Join(s.root, "tmp", key+".*"))
	for _, dir := range stale {
		_ = os.RemoveAll(dir)
	}
}

// publish makes dir the entry of key, in place of a bad one. It isn't read again: another process may have cleared the
// cache by then.
func (s *Store) publish(key, dir string) (Entry, error) {
	if err := removeOthers(dir); err != nil {
		return Entry{}, err
	}
	m, err := seal(dir, key)
	if err != nil {
		return Entry{}, err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return Entry{}, err
	}
	target := s.entryDir(key)
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return Entry{}, err
	}
	if err := s.discard(key); err != nil {
		return Entry{}, err
	}
	return s.entry(m), os.Rename(dir, target)
}

// removeOthers removes files that the build left in dir besides object and source.
func removeOthers(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.Name() != ObjectName && f.Name() != SourceName {
			if err := os.RemoveAll(filepath.Join(dir, f.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// discard removes the entry of key, if any, as a whole: nobody sees a part of it. The caller holds the lock of key.
func (s *Store) discard(key string) error {
	grave, err := os.MkdirTemp(filepath.Join(s.root, "tmp"), key+".")
	if err != nil {
		return err
	}
	defer os.RemoveAll(grave)
	err = os.Rename(s.entryDir(key), filepath.Join(grave, "entry"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
