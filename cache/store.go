// Package cache keeps compiled kernels on disk: content-addressed, shared by threads and processes, never torn.
//
// It must not know how a kernel is made, nor load one. An entry is a folder {kernel.c, kernel.so, meta.json} that
// appears by one rename; whoever reads it checks it, and a bad entry is as good as none.
//
//	<dir>/v<version>/kernels/<key[:2]>/<key>/   entries
//	<dir>/v<version>/requests/<name>.json       answers to compile requests, small
//	<dir>/v<version>/locks/<key>.lock           held while an entry is made or removed
//	<dir>/v<version>/locks/trim.lock            held while the size is checked
//	<dir>/v<version>/tmp/                       entries being made
package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"libsparse/libsparse/diag"
)

// Names of the files of an entry.
const (
	ObjectName = "kernel.so"
	SourceName = "kernel.c"
	MetaName   = "meta.json"
)

// Store is the cache of one version of the compiler in one folder. It holds no open files and no state: any number
// of Stores, in any number of processes, may share a folder.
type Store struct {
	dir  string // the folder that the user named
	root string // dir/v<version>
}

// Open prepares the cache in the folder dir for this version. Code is loaded from there, so the folder must belong to
// the user and be closed to the writing of others.
func Open(dir, version string) (*Store, error) {
	s := &Store{dir: dir, root: filepath.Join(dir, "v"+version)}
	if !filepath.IsAbs(dir) {
		return nil, diag.Errorf(diag.Cache, "the kernel cache folder %q must be an absolute path", dir)
	}
	if err := s.makeFolders(); err != nil {
		return nil, err
	}
	for _, folder := range []string{dir, s.root} {
		if err := s.checkOwner(folder); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Store) makeFolders() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return s.problem("can't be created", err)
	}
	for _, sub := range []string{"kernels", "requests", "locks", "tmp"} {
		if err := os.MkdirAll(filepath.Join(s.root, sub), 0o700); err != nil {
			return s.problem("can't be written", err)
		}
	}
	return nil
}

// tries is how often something is written while others remove the folders for it.
const tries = 8

// lasting writes something, anew where removed says that somebody has removed the folders meanwhile.
func (s *Store) lasting(write func() (removed bool, err error)) error {
	for try := 1; ; try++ {
		removed, err := write()
		if err == nil || !removed || try == tries {
			return err
		}
		if err := s.makeFolders(); err != nil {
			return err
		}
	}
}

// isGone reports whether there is nothing at path.
func isGone(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// Root is the folder of this version; paths of objects in stored requests are relative to it.
func (s *Store) Root() string { return s.root }

func (s *Store) checkOwner(folder string) error {
	info, err := os.Stat(folder)
	if err != nil {
		return s.problem("can't be read", err)
	}
	if !info.IsDir() {
		return s.problem("can't be used", errors.New(folder+" is not a folder"))
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return diag.Errorf(diag.Cache, "the kernel cache folder %s belongs to another user (id %d), and kernels are code: name a folder of your own", folder, st.Uid)
	}
	if info.Mode().Perm()&0o022 != 0 && folder == s.root {
		return diag.Errorf(diag.Cache, "the kernel cache folder %s can be written by other users, and kernels are code: run chmod 700 %s", folder, folder)
	}
	return nil
}

// problem is an error of kind Cache about the folder.
func (s *Store) problem(what string, err error) error {
	hint := "name another folder by LIBSPARSE_CACHE_DIR"
	switch {
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		hint = "the disk is full; free some space or name another folder by LIBSPARSE_CACHE_DIR"
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS):
		hint = "it is not writable; name another folder by LIBSPARSE_CACHE_DIR"
	case errors.Is(err, syscall.ENOTDIR):
		hint = "it is not a folder; name another one by LIBSPARSE_CACHE_DIR"
	case errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.EISDIR):
		hint = "a folder stands where a file belongs; remove it, or name another folder by LIBSPARSE_CACHE_DIR"
	}
	return diag.Errorf(diag.Cache, "the kernel cache in %s %s: %s", s.dir, what, hint).WithDetail(err.Error())
}

// Key is the content address of parts. It depends on where one part ends and the next begins.
func Key(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		var size [8]byte
		binary.LittleEndian.PutUint64(size[:], uint64(len(p)))
		h.Write(size[:])
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (s *Store) entryDir(key string) string { return filepath.Join(s.root, "kernels", key[:2], key) }

// checkKey panics on a key that Key did not make: as a path it could lead anywhere.
func checkKey(key string) {
	if raw, err := hex.DecodeString(key); err != nil || len(raw) != sha256.Size {
		panic("BUG: not a cache key: " + key)
	}
}
