package tensorfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"libsparse/libsparse/diag"
)

// Options are what a caller knows about a file.
type Options struct {
	// Shape is the shape of a .tns tensor; nil means its largest coordinates.
	Shape []int `json:"shape"`
	// Memory is how many bytes there are for the entries and a copy of them; 0 means enough.
	Memory int `json:"memory"`
}

// Read reads a file; its name says how.
func Read(path string, o Options) (*Tensor, error) { return read(path, o, chunkBytes, nil) }

// chunkBytes is the length of text that is parsed at a time, by one of several threads.
const chunkBytes = 1 << 20

// read reads a file; target is nil, or where the entries of a large Matrix Market file go.
func read(path string, o Options, chunk int, target *target) (*Tensor, error) {
	kind, zipped := kindOf(path)
	f, err := os.Open(path)
	if err != nil {
		return nil, systemError(path, "read", err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	line := maxLine
	length := int64(0)
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && !zipped { // no large buffers for a small file
		length = info.Size()
		size := int(min(length+1, int64(max(chunk, line))))
		chunk, line = min(chunk, size), min(line, size)
	}
	r := &reader{path: path, length: length, chunkBytes: chunk, memory: o.Memory, target: target}
	in := io.Reader(f)
	if zipped {
		if in, err = gzip.NewReader(bufio.NewReaderSize(f, 1<<16)); err != nil {
			return nil, r.broken(err)
		}
	}
	r.in = bufio.NewReaderSize(in, line)
	switch kind {
	case ".mtx", ".ttx":
		return r.matrixMarket()
	case ".rb":
		return r.rutherfordBoeing()
	case ".tns":
		return r.coordinates(o.Shape)
	default:
		return nil, unknownKind(path)
	}
}

func unknownKind(path string) error {
	return diag.Errorf(diag.Unsupported, "%s: the name has to end in .mtx, .ttx, .tns or .rb, with or without .gz", path)
}

func kindOf(path string) (kind string, zipped bool) {
	name, zipped := strings.CutSuffix(path, ".gz")
	if at := strings.LastIndexByte(name, '.'); at >= 0 {
		return name[at:], zipped
	}
	return "", zipped
}

// systemError is an error of the operating system; its detail is the number that C calls errno.
func systemError(path, verb string, err error) error {
	number, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		return diag.Errorf(diag.Format, "%s can't be %s: %v", path, verb, err)
	}
	return diag.Errorf(diag.System, "%s can't be %s: %v", path, verb, number).WithDetail(strconv.Itoa(int(number)))
}

// maxLine is the length of the longest line that is read.
const maxLine = 1 << 20

// reader reads lines, one by one or many at once.
type reader struct {
	path       string
	length     int64 // of the file, in bytes; 0 where that isn't known
	in         *bufio.Reader
	back       []byte // a line that was put back
	line       int    // the number of lines that were read
	chunkBytes int
	memory     int // in bytes; 0 means enough
	target     *target
}

// broken is the error of a file that can't be read on.
func (r *reader) broken(err error) error {
	if _, ok := errors.AsType[*os.PathError](err); ok {
		return systemError(r.path, "read", err)
	}
	if errors.Is(err, bufio.ErrBufferFull) {
		return diag.Errorf(diag.Format, "%s, line %d: the line is longer than %d characters", r.path, r.line+1, maxLine)
	}
	return diag.Errorf(diag.Format, "%s: after line %d the compressed file is damaged or cut off, or it is no gzip file (%v)", r.path, r.line, err)
}

func (r *reader) failf(format string, args ...any) error {
	return diag.Errorf(diag.Format, "%s, line %d: %s", r.path, r.line, fmt.Sprintf(format, args...))
}

// next is the next line, which holds until the line after it is read; nil at the end.
func (r *reader) next() ([]byte, error) {
	text, err := r.in.ReadSlice('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, r.broken(err)
	}
	if len(text) == 0 {
		return nil, nil
	}
	r.line++
	return text, nil
}

// words are those of the next line that has any and is no comment; nil at the end.
func (r *reader) words(comment byte) ([]string, error) {
	for {
		text, err := r.next()
		if text == nil {
			return nil, err
		}
		if words := fields(text); len(words) > 0 && words[0][0] != comment {
			return words, nil
		}
	}
}

// putBack makes words the next line of chunk.
func (r *reader) putBack(words []string) {
	r.back = []byte(strings.Join(words, " ") + "\n")
	r.line--
}

// chunk is the next whole lines, nil at the end.
func (r *reader) chunk() ([]byte, error) {
	text := r.buffer(len(r.back) + r.chunkBytes)
	n := copy(text, r.back)
	r.back = nil
	var err error
	for n < len(text) && err == nil {
		var more int
		more, err = r.in.Read(text[n:])
		n += more
	}
	text = text[:n]
	if err == nil && text[n-1] != '\n' {
		var rest []byte
		rest, err = r.in.ReadSlice('\n')
		text = append(text, rest...)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, r.broken(err)
	}
	return text, nil
}

// buffers are those of chunks that have been parsed.
var buffers sync.Pool

func (r *reader) buffer(size int) []byte {
	if used, ok := buffers.Get().(*[]byte); ok && cap(*used) >= size {
		return (*used)[:size]
	}
	return make([]byte, size)
}

// table reads all lines that are left, on as many threads as there are.
func (r *reader) table(c *columns) ([]*part, error) {
	var parts []*part
	var faults []*error // of each part; the first is reported
	var wait sync.WaitGroup
	var failed atomic.Bool
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	taken := 0
	var err error
	for err == nil && !failed.Load() {
		var text []byte
		if text, err = r.chunk(); len(text) == 0 {
			break
		}
		first, lines := r.line, bytes.Count(text, []byte("\n"))
		r.line += lines
		if text[len(text)-1] != '\n' {
			lines++
		}
		p, fault := r.target.part(c, lines), new(error)
		if p == nil {
			p = c.newPart(lines)
			taken += p.bytes()
			err = r.fits(taken)
		}
		parts, faults = append(parts, p), append(faults, fault)
		slots <- struct{}{}
		wait.Go(func() {
			*fault = c.parse(r.path, text, first, p)
			failed.CompareAndSwap(false, *fault != nil)
			buffers.Put(&text)
			<-slots
		})
	}
	wait.Wait()
	for _, fault := range faults {
		if *fault != nil {
			return nil, *fault
		}
	}
	return parts, err
}

// fits reports whether so many bytes of entries, and a copy of them, are within the limit.
func (r *reader) fits(bytes int) error {
	if r.memory > 0 && 2*bytes > r.memory {
		return diag.Errorf(diag.Format, "%s, line %d: the entries up to here would take %.4g GiB, %.4g GiB are available now; the file is damaged, or for a larger machine",
			r.path, r.line, float64(2*bytes)/(1<<30), float64(r.memory)/(1<<30))
	}
	return nil
}
