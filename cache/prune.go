package cache

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Info describes an entry for people and for pruning.
type Info struct {
	Key  string    `json:"key"`
	Size int64     `json:"size"`
	Used time.Time `json:"used"`
}

// List returns the entries of the cache, the least recently used first. It does not check contents.
func (s *Store) List() ([]Info, error) {
	dirs, err := filepath.Glob(filepath.Join(s.root, "kernels", "??", "*"))
	if err != nil {
		return nil, s.problem("can't be read", err)
	}
	var list []Info
	for _, dir := range dirs {
		if info, ok := inspect(dir); ok {
			list = append(list, info)
		}
	}
	slices.SortFunc(list, func(a, b Info) int { return a.Used.Compare(b.Used) })
	return list, nil
}

// inspect sums up the files in dir. ok is false if dir has gone.
func inspect(dir string) (info Info, ok bool) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return Info{}, false
	}
	info.Key = filepath.Base(dir)
	for _, f := range files {
		stat, err := f.Info()
		if err != nil {
			continue
		}
		info.Size += stat.Size()
		if used := lastUse(stat); used.After(info.Used) {
			info.Used = used
		}
	}
	return info, true
}

// lastUse is when a file was read, as far as the file system tells, or written.
func lastUse(stat os.FileInfo) time.Time {
	used := stat.ModTime()
	if st, ok := stat.Sys().(*syscall.Stat_t); ok {
		if read := time.Unix(st.Atim.Unix()); read.After(used) {
			used = read
		}
	}
	return used
}

// Prune removes the least recently used entries until the rest takes at most maxBytes, and the requests that they
// answered. It skips entries that are being built, and returns the number of bytes removed.
func (s *Store) Prune(maxBytes int64) (freed int64, err error) {
	list, err := s.List()
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for _, info := range list {
		total += info.Size
	}
	for _, info := range list {
		if total <= maxBytes {
			break
		}
		removed, err := s.remove(info.Key)
		if err != nil {
			return freed, err
		}
		if removed {
			total -= info.Size
			freed += info.Size
		}
	}
	if freed > 0 {
		s.dropDangling()
	}
	s.sweep()
	return freed, nil
}

// Clear removes everything that is not being built.
func (s *Store) Clear() error {
	list, err := s.List()
	if err != nil {
		return err
	}
	for _, info := range list {
		if _, err := s.remove(info.Key); err != nil {
			return err
		}
	}
	s.dropDangling()
	s.sweep()
	return nil
}

// sweep removes what killed builds and writers left behind.
func (s *Store) sweep() {
	left, _ := filepath.Glob(filepath.Join(s.root, "tmp", "*"))
	for _, path := range left {
		key, _, _ := strings.Cut(filepath.Base(path), ".")
		if key == "request" {
			if stat, err := os.Stat(path); err == nil && time.Since(stat.ModTime()) > time.Hour {
				_ = os.Remove(path)
			}
			continue
		}
		if unlock, ok, _ := s.tryLock(key); ok {
			s.removeStale(key)
			_ = os.Remove(filepath.Join(s.root, "locks", key+".lock"))
			unlock()
		}
	}
}

// remove removes the entry of key and its lock file. removed is false if the entry is being built.
func (s *Store) remove(key string) (removed bool, err error) {
	if len(key) < 2 {
		return false, nil
	}
	unlock, ok, err := s.tryLock(key)
	if !ok || err != nil {
		return false, err
	}
	defer unlock()
	s.removeStale(key)
	if err := s.discard(key); err != nil {
		return false, s.problem("can't be written", err)
	}
	// Whoever waits for this lock finds the file gone once it is released, and makes a new one.
	if err := os.Remove(filepath.Join(s.root, "locks", key+".lock")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return true, s.problem("can't be written", err)
	}
	return true, nil
}

// dropDangling removes the requests whose object is gone. A reader would find out by itself.
func (s *Store) dropDangling() {
	requests, _ := filepath.Glob(filepath.Join(s.root, "requests", "*.json"))
	for _, path := range requests {
		var answer struct {
			Object string `json:"object"`
		}
		text, ok := s.Request(strings.TrimSuffix(filepath.Base(path), ".json"))
		object := ""
		if ok && json.Unmarshal(text, &answer) == nil && answer.Object != "" {
			object = answer.Object
			if !filepath.IsAbs(object) {
				object = filepath.Join(s.root, object)
			}
		}
		if object == "" || !isFile(object) {
			_ = os.Remove(path)
		}
	}
}

func isFile(path string) bool {
	stat, err := os.Stat(path)
	return err == nil && stat.Mode().IsRegular()
}
