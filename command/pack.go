package command

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"libsparse/cache"
	"libsparse/codegen/native"
	"libsparse/libsparse"
	"libsparse/libsparse/diag"
)

// pack compiles the requests on in, one JSON object a line, for each of the levels: into a cache FOLDER/LEVEL that is only read afterwards.
// BUILD names this build of the compiler.
//
// The field request_key of a line is the part of the answer's name that depends on the request alone.
func pack(in io.Reader, args []string) error {
	if len(args) < 3 {
		return usageError("pack needs a folder, the name of the build, and levels: x86-64, x86-64-v3 or x86-64-v4")
	}
	folder, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	requests, err := manyRequests(in)
	if err != nil {
		return err
	}
	for _, level := range args[2:] {
		target := filepath.Join(folder, level)
		if err := os.RemoveAll(target); err != nil {
			return err
		}
		if err := compileAll(requests, args[1], level, target); err != nil {
			return err
		}
		if err := finish(target); err != nil {
			return err
		}
	}
	return nil
}

// manyRequests reads requests, one JSON object a line.
func manyRequests(in io.Reader) (requests []*libsparse.Request, err error) {
	lines := json.NewDecoder(bufio.NewReader(in))
	for {
		var line json.RawMessage
		if err := lines.Decode(&line); err == io.EOF {
			return requests, nil
		} else if err != nil {
			return nil, diag.Errorf(diag.Syntax, "request %d: %v", len(requests)+1, err)
		}
		r, err := libsparse.ParseRequest(line)
		if err != nil {
			return nil, err
		}
		requests = append(requests, r)
	}
}

// compileAll compiles requests for a level, as many at a time as there are processors.
func compileAll(requests []*libsparse.Request, build, level, folder string) error {
	compiler := &libsparse.Compiler{Version: Version, Backend: native.ForLevel(level)}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	next := make(chan *libsparse.Request)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for r := range next {
				if _, err := compiler.Compile(ctx, r); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, r := range requests {
		if ctx.Err() != nil {
			break
		}
		own := *r
		sum := sha256.Sum256([]byte(level + "\n" + build + "\n" + r.Key))
		own.Key = hex.EncodeToString(sum[:])
		own.Target = libsparse.Target{CC: os.Getenv("LIBSPARSE_CC"), Path: os.Getenv("PATH"), Level: level, CacheDir: folder}
		next <- &own
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}

// finish leaves in a cache what loading a kernel takes, and lets everybody read it: sources are a third of the whole, and what
// describes an entry to the cache serves whoever changes it.
func finish(folder string) error {
	for _, unused := range []string{"locks", "tmp"} {
		if err := os.RemoveAll(filepath.Join(folder, "v"+Version, unused)); err != nil {
			return err
		}
	}
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case entry.IsDir():
			return os.Chmod(path, 0o755)
		case entry.Name() == cache.SourceName || entry.Name() == cache.MetaName:
			return os.Remove(path)
		}
		return os.Chmod(path, 0o644)
	})
}
