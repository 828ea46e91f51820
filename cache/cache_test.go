package cache_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"libsparse/cache"
)

// childVar makes the test binary act as one of several processes that build the same keys.
const childVar = "LIBSPARSE_CACHE_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVar); dir != "" {
		os.Exit(child(dir))
	}
	os.Exit(m.Run())
}

// child builds four keys and notes every build that it runs itself in a line of the file builds.
func child(dir string) int {
	s, err := cache.Open(dir, "1")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for k := range 4 {
		source := fmt.Sprint("source ", k)
		e, err := s.Build(context.Background(), cache.Key(source), source, func(tmp string) error {
			f, err := os.OpenFile(filepath.Join(dir, "builds"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			fmt.Fprintln(f, k)
			f.Close()
			time.Sleep(20 * time.Millisecond)
			return writeObject(tmp, source)
		})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		if text, err := os.ReadFile(e.Object); err != nil || string(text) != "object of "+source {
			fmt.Println("torn:", err, string(text))
			return 1
		}
	}
	return 0
}

func writeObject(dir, source string) error {
	return os.WriteFile(filepath.Join(dir, cache.ObjectName), []byte("object of "+source), 0o700)
}

// builder counts its calls.
func builder(calls *atomic.Int32, source string) func(string) error {
	return func(dir string) error {
		calls.Add(1)
		text, err := os.ReadFile(filepath.Join(dir, cache.SourceName))
		if err != nil || string(text) != source {
			return fmt.Errorf("source %q, %v", text, err)
		}
		if err := os.WriteFile(filepath.Join(dir, "leftover.o"), nil, 0o600); err != nil {
			return err
		}
		return writeObject(dir, source)
	}
}

func open(t *testing.T, dir string) *cache.Store {
	t.Helper()
	s, err := cache.Open(dir, "1")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustBuild(t *testing.T, s *cache.Store, calls *atomic.Int32, source string) cache.Entry {
	t.Helper()
	e, err := s.Build(context.Background(), cache.Key(source), source, builder(calls, source))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestKey(t *testing.T) {
	keys := map[string]bool{}
	for _, parts := range [][]string{{"ab", "c"}, {"a", "bc"}, {"abc"}, {"abc", ""}, {"abc"}} {
		keys[cache.Key(parts...)] = true
	}
	if len(keys) != 4 {
		t.Error("keys do not tell parts apart")
	}
}

func TestBuildThenLoad(t *testing.T) {
	s := open(t, t.TempDir())
	if _, ok, err := s.Load(cache.Key("x")); ok || err != nil {
		t.Fatal("an empty cache has an entry", err)
	}
	var calls atomic.Int32
	built := mustBuild(t, s, &calls, "x")
	again := mustBuild(t, s, &calls, "x")
	loaded, ok, err := s.Load(cache.Key("x"))
	if !ok || err != nil || loaded != built || again != built || calls.Load() != 1 {
		t.Error(loaded, ok, err, again, built, calls.Load())
	}
	files, _ := os.ReadDir(filepath.Dir(built.Object))
	if len(files) != 3 {
		t.Error("files of the entry:", files)
	}
	if left, _ := os.ReadDir(filepath.Join(s.Root(), "tmp")); len(left) != 0 {
		t.Error("left behind:", left)
	}
}

func TestBuildFails(t *testing.T) {
	s := open(t, t.TempDir())
	failure := errors.New("no compiler")
	_, err := s.Build(context.Background(), cache.Key("x"), "x", func(string) error { return failure })
	if !errors.Is(err, failure) {
		t.Error(err)
	}
	var calls atomic.Int32
	mustBuild(t, s, &calls, "x")
}

func TestGoroutinesBuildOnce(t *testing.T) {
	s := open(t, t.TempDir())
	var calls atomic.Int32
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			if _, err := s.Build(context.Background(), cache.Key("x"), "x", builder(&calls, "x")); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if calls.Load() != 1 {
		t.Error("built", calls.Load(), "times")
	}
}

func TestProcessesBuildOnce(t *testing.T) {
	dir := t.TempDir()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), childVar+"="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	group.Wait()
	text, err := os.ReadFile(filepath.Join(dir, "builds"))
	if err != nil || len(strings.Fields(string(text))) != 4 {
		t.Errorf("builds of four keys: %q, %v", text, err)
	}
}

func TestCancelledWait(t *testing.T) {
	s := open(t, t.TempDir())
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := s.Build(context.Background(), cache.Key("x"), "x", func(dir string) error {
		_, err := s.Build(ctx, cache.Key("x"), "x", nil)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error("waiting ended with", err)
		}
		return writeObject(dir, "x")
	})
	if err != nil {
		t.Error(err)
	}
}

func TestDamageIsRebuilt(t *testing.T) {
	damage := map[string]func(e cache.Entry) error{
		"object changed": func(e cache.Entry) error { return os.WriteFile(e.Object, []byte("object of y"), 0o600) },
		"object cut":     func(e cache.Entry) error { return os.Truncate(e.Object, 3) },
		"object gone":    func(e cache.Entry) error { return os.Remove(e.Object) },
		"source changed": func(e cache.Entry) error { return os.WriteFile(e.Source, []byte("y"), 0o600) },
		"meta cut":       func(e cache.Entry) error { return os.Truncate(filepath.Join(filepath.Dir(e.Object), "meta.json"), 5) },
		"meta gone":      func(e cache.Entry) error { return os.Remove(filepath.Join(filepath.Dir(e.Object), "meta.json")) },
		"a file, no entry": func(e cache.Entry) error {
			dir := filepath.Dir(e.Object)
			return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600))
		},
	}
	for name, hurt := range damage {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir())
			var calls atomic.Int32
			e := mustBuild(t, s, &calls, "x")
			if err := hurt(e); err != nil {
				t.Fatal(err)
			}
			if _, ok, err := s.Load(e.Key); ok || err != nil {
				t.Error("a damaged entry was loaded", err)
			}
			if again := mustBuild(t, s, &calls, "x"); again != e || calls.Load() != 2 {
				t.Error("not rebuilt:", again, calls.Load())
			}
		})
	}
}

func TestStaleBuildIsRemoved(t *testing.T) {
	s := open(t, t.TempDir())
	stale := filepath.Join(s.Root(), "tmp", cache.Key("x")+".123")
	if err := os.Mkdir(stale, 0o700); err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int32
	mustBuild(t, s, &calls, "x")
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Error("the folder of a dead build is still there")
	}
}

func TestRequests(t *testing.T) {
	s := open(t, t.TempDir())
	for _, text := range []string{"one", "two", "two"} {
		if err := s.PutRequest("r", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, ok := s.Request("r"); !ok || string(got) != text {
			t.Error(string(got), ok)
		}
	}
	if _, ok := s.Request("absent"); ok {
		t.Error("absent request found")
	}
	if err := os.Mkdir(filepath.Join(s.Root(), "requests", "folder.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.PutRequest("folder", nil); err == nil || !strings.Contains(err.Error(), "a folder stands where a file belongs") {
		t.Error(err)
	}
}

func BenchmarkLoad(b *testing.B) {
	s, err := cache.Open(b.TempDir(), "1")
	if err != nil {
		b.Fatal(err)
	}
	big := strings.Repeat("x", 20000)
	if _, err := s.Build(context.Background(), cache.Key("x"), big, func(dir string) error { return writeObject(dir, big) }); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, ok, _ := s.Load(cache.Key("x")); !ok {
			b.Fatal("lost")
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	s, err := cache.Open(b.TempDir(), "1")
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		source := fmt.Sprint(i)
		if _, err := s.Build(context.Background(), cache.Key(source), source, func(dir string) error { return writeObject(dir, source) }); err != nil {
			b.Fatal(err)
		}
	}
}
