package cache_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"libsparse/cache"
)

func TestPruneAndClear(t *testing.T) {
	s := open(t, t.TempDir())
	var calls atomic.Int32
	var entries []cache.Entry
	for i := range 4 {
		e := mustBuild(t, s, &calls, fmt.Sprint(i))
		entries = append(entries, e)
		old := time.Now().Add(time.Duration(i-10) * time.Hour)
		for _, file := range []string{cache.ObjectName, cache.SourceName, "meta.json"} {
			if err := os.Chtimes(filepath.Join(filepath.Dir(e.Object), file), old, old); err != nil {
				t.Fatal(err)
			}
		}
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
	if err := s.Clear(); err != nil {
		t.Fatal(err)
	}
	if list, err := s.List(); len(list) != 0 || err != nil {
		t.Error(list, err)
	}
}

func TestPruneSkipsBuilds(t *testing.T) {
	s := open(t, t.TempDir())
	var calls atomic.Int32
	e := mustBuild(t, s, &calls, "x")
	if err := os.Truncate(e.Object, 2); err != nil {
		t.Fatal(err)
	}
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
