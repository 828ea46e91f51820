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

// inspect sums up the files of the entry in dir. ok is false if dir has gone.
func inspect(dir string) (info Info, ok bool) {
	info.Key = filepath.Base(dir)
	for _, name := range []string{ObjectName, SourceName, MetaName} {
		stat, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		ok = true
		info.Size += stat.Size()
		if used := lastUse(stat); used.After(info.Used) {
			info.Used = used
		}
	}
	return info, ok
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

// DefaultBytes is how much the cache may take where nobody says otherwise: some 30,000 kernels.
const DefaultBytes = 1 << 30

const (
	// trimInterval is the time between two checks of the size of the cache, which take half a second for 30,000 kernels.
	trimInterval = 24 * time.Hour
	// recent entries are kept whatever they take: a process may be about to load them.
	recent = 10 * time.Minute
)

// trimLock names the lock that is held while the size is checked; its file has the time of the last check.
const trimLock = "trim"

// Trim prunes the cache if nobody has looked at its size for a while, in any process. It is called after a build, which takes
// longer.
func (s *Store) Trim(maxBytes int64) error {
	path := filepath.Join(s.root, "locks", trimLock+".lock")
	stat, err := os.Stat(path)
	if err == nil && time.Since(stat.ModTime()) < trimInterval {
		return nil
	}
	fresh := errors.Is(err, os.ErrNotExist)
	unlock, ok, err := s.tryLock(trimLock)
	if !ok || err != nil {
		return err // somebody else looks
	}
	defer unlock()
	if fresh {
		return nil // tryLock has made the file
	}
	if _, err := s.Prune(maxBytes); err != nil {
		return err
	}
	now := time.Now()
	return os.Chtimes(path, now, now)
}

// Prune removes the least recently used entries until the rest takes at most maxBytes, and the requests that they
// answered. It skips entries that are being built or were used just now, and returns the number of bytes removed.
func (s *Store) Prune(maxBytes int64) (freed int64, err error) {
	list, err := s.List()
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for _, info := range list {
		total += info.Size
	}
	var last time.Time // when the last one that was removed was used
	for _, info := range list {
		if total <= maxBytes || time.Since(info.Used) < recent {
			break
		}
		removed, err := s.remove(info.Key)
		if err != nil {
			return freed, err
		}
		if removed {
			total -= info.Size
			freed += info.Size
			last = info.Used
		}
	}
	if freed > 0 {
		s.dropRequests(last)
	}
	s.sweep()
	return freed, nil
}

// sweep removes what killed builds and writers left behind.
func (s *Store) sweep() {
	left, _ := filepath.Glob(filepath.Join(s.root, "tmp", "*"))
	for _, path := range left {
		key, _, _ := strings.Cut(filepath.Base(path), ".")
		if key == "request" || key == "cleared" { // the latter has what Python's ls.cache.clear() removes
			if stat, err := os.Stat(path); err == nil && time.Since(stat.ModTime()) > time.Hour {
				_ = os.RemoveAll(path)
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

// dropRequests removes the requests whose object is gone, which a reader would find out by itself, and those without an object,
// which are computed in several steps, that nobody has used since a time.
func (s *Store) dropRequests(since time.Time) {
	requests, _ := filepath.Glob(filepath.Join(s.root, "requests", "*.json"))
	for _, path := range requests {
		stat, err := os.Stat(path)
		if err == nil && !s.answers(path, stat, since) {
			_ = os.Remove(path)
		}
	}
}

// answers reports whether the request at path has an answer worth keeping.
func (s *Store) answers(path string, stat os.FileInfo, since time.Time) bool {
	var answer struct {
		Object string `json:"object"`
	}
	text, ok := s.Request(strings.TrimSuffix(filepath.Base(path), ".json"))
	switch {
	case !ok || json.Unmarshal(text, &answer) != nil:
		return false
	case answer.Object == "":
		return lastUse(stat).After(since)
	case filepath.IsAbs(answer.Object):
		return isFile(answer.Object)
	default:
		return isFile(filepath.Join(s.root, answer.Object))
	}
}

func isFile(path string) bool {
	stat, err := os.Stat(path)
	return err == nil && stat.Mode().IsRegular()
}
