// Package corpus collects the requests that the tests compile, so that a redesign can show that it leaves the generated C as
// it was: `make corpus` compiles all of them with two versions of the compiler and compares the C (package compare).
// requests.jsonl.gz holds a sample of what the random programs, the conformance table and the golden kernels record.
//
// It must not import the compiler: requests are recorded by tests of any package, as the JSON that the executable reads.
package corpus

import (
	"encoding/json"
	"os"
	"sync"
	"testing"
)

// Variable names the environment variable with the file that requests are appended to, one JSON object a line; nothing is
// recorded where it isn't set.
const Variable = "LIBSPARSE_CORPUS"

var lock sync.Mutex

// Record appends a request to the file. Test processes may share the file: each line is one write.
func Record(t testing.TB, request any) {
	t.Helper()
	path := os.Getenv(Variable)
	if path == "" {
		return
	}
	line, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	lock.Lock()
	defer lock.Unlock()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := file.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
}
