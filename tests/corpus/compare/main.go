// Command compare compiles a corpus of requests with two builds of the compiler's executable and compares the C, but for
// names and comments.
//
//	compare BASE NOW REQUESTS
//
// REQUESTS is a gzipped file with one request as JSON a line, as package corpus records them. The program ends with status 1 if any C differs, or one build
// refuses what the other compiles.
package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
)

// maxShown is how many differences are printed.
const maxShown = 10

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: compare BASE NOW REQUESTS")
		os.Exit(2)
	}
	requests, err := read(os.Args[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	s := compareAll(os.Args[1], os.Args[2], requests)
	fmt.Printf("%d requests: %d with the same C, %d with other names, %d refused by both (%d in other words), %d different\n",
		len(requests), s.identical, s.renamed, s.refused, s.reworded, len(s.differences))
	for _, d := range s.differences[:min(len(s.differences), maxShown)] {
		fmt.Println(d)
	}
	if len(s.differences) > 0 {
		os.Exit(1)
	}
}

// read returns the lines of a gzipped file.
func read(path string) ([]string, error) {
	packed, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimRight(string(text), "\n"), "\n"), nil
}

// summary counts what came out of a comparison.
type summary struct {
	identical, renamed, refused, reworded int
	differences                           []string
}

func compareAll(base, now string, requests []string) summary {
	var s summary
	var lock sync.Mutex
	var workers sync.WaitGroup
	next := make(chan string)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for request := range next {
				a, b := compile(base, request), compile(now, request)
				lock.Lock()
				s.add(request, a, b)
				lock.Unlock()
			}
		})
	}
	for _, r := range requests {
		next <- r
	}
	close(next)
	workers.Wait()
	return s
}

// answer is the C of a request, or the kind and text of an error.
type answer struct{ source, kind, message string }

// compile prints the C of a request, of all steps one after the other if there are several.
func compile(executable, request string) answer {
	cmd := exec.Command(executable, "explain", "c")
	cmd.Stdin = strings.NewReader(request)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		return answer{source: string(out)}
	}
	var e struct{ Kind, Message string }
	if json.Unmarshal(stderr.Bytes(), &e) != nil {
		e.Kind, e.Message = "crash", stderr.String()
	}
	return answer{kind: e.Kind, message: e.Message}
}

func (s *summary) add(request string, base, now answer) {
	differs := func(why string) { s.differences = append(s.differences, request+"\n  "+why) }
	switch {
	case base.kind != now.kind:
		differs(fmt.Sprintf("base: %s %s; now: %s %s", cmp.Or(base.kind, "compiles"), base.message, cmp.Or(now.kind, "compiles"), now.message))
		return
	case base.kind != "":
		s.refused++
		if base.message != now.message {
			s.reworded++
		}
		return
	}
	switch outcome, at := compareC(base.source, now.source); outcome {
	case identical:
		s.identical++
	case renamed:
		s.renamed++
	default:
		differs(fmt.Sprintf("token %d: base: %s; now: %s", at, around(base.source, at), around(now.source, at)))
	}
}

// around is what a text has near a token.
func around(source string, at int) string {
	all := tokens(source)
	return strings.Join(all[max(at-8, 0):min(at+8, len(all))], " ")
}
