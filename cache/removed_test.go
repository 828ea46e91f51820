package cache_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"libsparse/cache"
)

func TestFoldersAreRemovedMeanwhile(t *testing.T) {
	for name, remove := range map[string]func(s *cache.Store, dir string) error{
		"all":            func(s *cache.Store, _ string) error { return os.RemoveAll(filepath.Dir(s.Root())) },
		"being made":     func(s *cache.Store, _ string) error { return os.RemoveAll(filepath.Join(s.Root(), "tmp")) },
		"only its files": func(_ *cache.Store, dir string) error { return os.Remove(filepath.Join(dir, cache.SourceName)) },
	} {
		for _, after := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				s, calls := open(t, filepath.Join(t.TempDir(), "cache")), 0
				e, err := s.Build(context.Background(), cache.Key("x"), "x", func(dir string) error {
					calls++
					if calls == 1 && !after {
						if err := remove(s, dir); err != nil {
							return err
						}
					}
					err := writeObject(dir, "x")
					if calls == 1 && after {
						return remove(s, dir)
					}
					return err
				})
				if found, ok, _ := s.Load(cache.Key("x")); err != nil || !ok || found != e || calls != 2 {
					t.Error(err, ok, found, e, calls)
				}
			})
		}
	}
}

func TestFoldersAreRemovedBefore(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "cache"))
	for _, folder := range []string{"", "locks", "tmp", "requests", "kernels"} {
		if err := os.RemoveAll(filepath.Join(s.Root(), folder)); err != nil {
			t.Fatal(err)
		}
		if err := s.PutRequest(folder, []byte("one")); err != nil {
			t.Error(folder, err)
		}
		if err := os.RemoveAll(filepath.Join(s.Root(), folder)); err != nil {
			t.Fatal(err)
		}
		key := cache.Key(folder)
		if _, err := s.Build(context.Background(), key, "x", func(dir string) error { return writeObject(dir, "x") }); err != nil {
			t.Error(folder, err)
		}
	}
}

func TestFoldersAreRemovedAgainAndAgain(t *testing.T) {
	s, calls := open(t, t.TempDir()), 0
	_, err := s.Build(context.Background(), cache.Key("x"), "x", func(string) error {
		calls++
		return os.RemoveAll(s.Root())
	})
	if err == nil || !strings.Contains(err.Error(), "can't be written") || calls < 2 || calls > 20 {
		t.Error(err, calls)
	}
}
