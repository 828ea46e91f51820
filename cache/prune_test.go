package cache_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"libsparse/cache"
)

func TestPrune(t *testing.T) {
	s := open(t, t.TempDir())
	var calls atomic.Int32
	var entries []cache.Entry
	for i := range 4 {
		e := mustBuild(t, s, &calls, fmt.Sprint(i))
		entries = append(entries, e)
		age(t, e, time.Duration(10-i)*time.Hour)
		object, _ := filepath.Rel(s.Root(), e.Object)
		if err := s.PutRequest(fmt.Sprint("r", i), fmt.Appendf(nil, `{"object": %q}`, object)); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok, _ := s.Load(entries[0].Key); !ok { // now the most recently used
		t.Fatal("lost")
	}
	list, err := s.List()
	if err != nil || len(list) != 4 || list[0].Key != entries[1].Key {
		t.Fatal(list, err)
	}
	freed, err := s.Prune(list[0].Size * 2)
	if err != nil || freed != list[0].Size+list[1].Size {
		t.Error(freed, err)
	}
	for i, want := range []bool{true, false, false, true} {
		_, ok, _ := s.Load(entries[i].Key)
		_, request := s.Request(fmt.Sprint("r", i))
		if ok != want || request != want {
			t.Error(i, ok, request)
		}
	}
	if _, err := s.Prune(0); err != nil {
		t.Fatal(err)
	}
	if list, err := s.List(); len(list) != 2 || err != nil {
		t.Error("the two that were loaded just now must stay:", list, err)
	}
}

// age makes an entry look as if it was used some time ago.
func age(t *testing.T, e cache.Entry, by time.Duration) {
	t.Helper()
	for _, file := range []string{cache.ObjectName, cache.SourceName, "meta.json"} {
		backdate(t, filepath.Join(filepath.Dir(e.Object), file), by)
	}
}

func backdate(t *testing.T, path string, by time.Duration) {
	t.Helper()
	then := time.Now().Add(-by)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

// Answers that name no object, since they are computed in steps, are kept as long as entries of their age.
func TestPruneKeepsStepsThatAreUsed(t *testing.T) {
	s := open(t, t.TempDir())
	var calls atomic.Int32
	age(t, mustBuild(t, s, &calls, "x"), 2*time.Hour)
	for name, hours := range map[string]time.Duration{"old": 3, "new": 1} {
		if err := s.PutRequest(name, []byte(`{"steps": []}`)); err != nil {
			t.Fatal(err)
		}
		backdate(t, filepath.Join(s.Root(), "requests", name+".json"), hours*time.Hour)
	}
	if freed, err := s.Prune(0); freed == 0 || err != nil {
		t.Fatal(freed, err)
	}
	_, old := s.Request("old")
	_, recent := s.Request("new")
	if old || !recent {
		t.Error(old, recent)
	}
}

// The size is looked at once a day, by one of all processes.
func TestTrim(t *testing.T) {
	s := open(t, t.TempDir())
	var calls atomic.Int32
	age(t, mustBuild(t, s, &calls, "x"), 2*time.Hour)
	entries := func() int {
		if err := s.Trim(0); err != nil {
			t.Fatal(err)
		}
		list, err := s.List()
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if n := entries(); n != 1 {
		t.Error("the first look only notes the time", n)
	}
	stamp := filepath.Join(s.Root(), "locks", "trim.lock")
	backdate(t, stamp, 23*time.Hour)
	if n := entries(); n != 1 {
		t.Error("too early", n)
	}
	backdate(t, stamp, 25*time.Hour)
	held, err := os.Open(stamp)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(held.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if n := entries(); n != 1 {
		t.Error("another process is at it", n)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if n := entries(); n != 0 {
		t.Error("a day has passed", n)
	}
	age(t, mustBuild(t, s, &calls, "y"), 2*time.Hour)
	if n := entries(); n != 1 {
		t.Error("the look was not noted", n)
	}
}

func TestPruneSkipsBuilds(t *testing.T) {
	s := open(t, t.TempDir())
	var calls atomic.Int32
	e := mustBuild(t, s, &calls, "x")
	if err := os.Truncate(e.Object, 2); err != nil {
		t.Fatal(err)
	}
	age(t, e, time.Hour)
	_, err := s.Build(context.Background(), e.Key, "x", func(dir string) error {
		freed, err := s.Prune(0)
		if freed != 0 || err != nil {
			t.Error(freed, err)
		}
		return writeObject(dir, "x")
	})
	if err != nil {
		t.Error(err)
	}
}
