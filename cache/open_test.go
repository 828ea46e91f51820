package cache_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"libsparse/cache"
	"libsparse/libsparse/diag"
)

func TestOpenErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	loose := t.TempDir()
	open(t, loose)
	if err := os.Chmod(filepath.Join(loose, "v1"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dir, want string }{
		{file, "not a folder"},
		{filepath.Join(file, "below"), "not a folder"},
		{"relative", "absolute"},
		{loose, "chmod 700"},
	} {
		_, err := cache.Open(c.dir, "1")
		if e := (*diag.Error)(nil); !errors.As(err, &e) || e.Kind != diag.Cache || !strings.Contains(e.Message, c.want) || !strings.Contains(e.Message, c.dir) {
			t.Errorf("%s: %v", c.dir, err)
		}
	}
}

// TestForeignFolder runs a child as another user, which only root can do.
func TestForeignFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	top, err := os.MkdirTemp("/tmp", "cache")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(top)
	binary := filepath.Join(top, "child")
	content, err := os.ReadFile(os.Args[0])
	if err := errors.Join(err, os.WriteFile(binary, content, 0o755), os.Chmod(top, 0o755)); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]string{0o777: "belongs to another user", 0o755: "not writable"} {
		dir := filepath.Join(top, "dir")
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.Chmod(dir, mode)); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(binary)
		cmd.Dir = top
		cmd.Env = []string{childVar + "=" + dir}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("mode %o: %v: %s", mode, err, out)
		}
		os.RemoveAll(dir)
	}
}
