package tensorfile

import (
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"libsparse/libsparse/diag"
)

// largeText is the size in bytes from which on the entries of a file are read straight into the caller's arrays.
const largeText = 1 << 20

// Open reads a file as Read does, but of a large Matrix Market file only the header: its entries are read by CopyTo,
// straight into the caller's arrays. Until then the number of entries is the most that there may be.
func Open(path string, o Options) (*Tensor, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() < largeText || !strings.HasSuffix(path, ".mtx") {
		return Read(path, o)
	}
	return read(path, o, chunkBytes, &target{})
}

// late is a table of entries that has not been read.
type late struct {
	path    string
	options Options
	entries atomic.Int64 // at most, and after reading exactly
}

// postpone leaves a table for later.
func (r *reader) postpone(c *columns, count int) (*late, error) {
	// a line has a digit, and a space or an end, for each of its numbers
	count = min(count, int(r.length)/(2*c.width()-1)+1)
	if c.symmetry != "general" {
		count *= 2
	}
	l := &late{path: r.path, options: Options{Memory: r.memory}}
	l.entries.Store(int64(count))
	return l, r.fits(count * 8 * c.width() / 2)
}

// load reads a table into the room for as many entries as it has at most; its parts stand there, with gaps between.
func (t *Tensor) load(room *part) ([]*part, error) {
	read, err := read(t.late.path, t.late.options, chunkBytes, &target{room: room})
	switch {
	case err != nil:
		return nil, err
	case !slices.Equal(read.Shape, t.Shape) || read.Elem != t.Elem || read.Len() > room.count:
		return nil, diag.Errorf(diag.Format, "%s: the file was changed while it was read", t.late.path)
	}
	t.late.entries.Store(int64(read.Len()))
	return read.parts, nil
}

// target is where entries go; without room for them, only the header is read.
type target struct {
	room *part
	used int
}

// part is the next place for the entries of so many lines, nil where there is no room left.
func (t *target) part(c *columns, lines int) *part {
	if c.symmetry != "general" {
		lines *= 2
	}
	if t == nil || t.room == nil || lines > t.room.count-t.used {
		return nil
	}
	first, end := t.used, t.used+lines
	t.used = end
	p := &part{coords: make([][]int64, len(t.room.coords))}
	for m, c := range t.room.coords {
		p.coords[m] = c[first:first:end]
	}
	switch room := t.room; {
	case room.complexes != nil:
		p.complexes = room.complexes[first:first:end]
	case room.floats != nil:
		p.floats = room.floats[first:first:end]
	case room.ints != nil:
		p.ints = room.ints[first:first:end]
	}
	return p
}
