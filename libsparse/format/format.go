package format

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"libsparse/libsparse/diag"
)

// Format is the levels of a tensor, outermost first, and the mode that each stores.
type Format struct {
	Levels    []Level
	ModeOrder []int
}

// Parse reads a format: a letter for each level, with its numbers in parentheses if it has any, and optionally ":" and
// the mode order. "ds" is CSR, "ds:1,0" CSC, "uq" COO, "dk(4,4)" BSR, "dp" ELL, "dl(32)" SELL, "w(256)l(32)"
// SELL-C-sigma, "do" DIA.
func Parse(text string) (Format, error) {
	letters, order, explicit := strings.Cut(text, ":")
	var f Format
	for rest := letters; rest != ""; {
		level, length, err := parseLevel(rest)
		if err != nil {
			return Format{}, diag.Errorf(diag.Format, "format %q: %v", text, err)
		}
		f.Levels, f.ModeOrder = append(f.Levels, level), append(f.ModeOrder, len(f.ModeOrder))
		rest = rest[length:]
	}
	if explicit {
		if err := f.parseOrder(text, order); err != nil {
			return Format{}, err
		}
	}
	f.unique()
	return f, f.check(text)
}

// unique marks levels that no singleton follows as unique: entries are stored once, so their coordinates differ.
func (f *Format) unique() {
	for i, l := range f.Levels {
		if i < len(f.Levels)-1 && f.Levels[i+1].Props().Branchless {
			continue
		}
		if r, ok := l.(Repeating); ok {
			f.Levels[i] = r.Distinct()
		}
	}
}

// parseLevel reads the level that text begins with, and says how long it is.
func parseLevel(text string) (level Level, length int, err error) {
	name, length := text[:1], 1
	var numbers []int64
	if inner, ok := strings.CutPrefix(text[1:], "("); ok {
		inner, _, closed := strings.Cut(inner, ")")
		for part := range strings.SplitSeq(inner, ",") {
			n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 32)
			if err != nil || n < 1 || n > maxBlock || !closed {
				return nil, 0, fmt.Errorf("%q takes numbers from 1 to %d in parentheses, such as %s(4,4)", text, maxBlock, name)
			}
			numbers = append(numbers, n)
		}
		length += len(inner) + 2
	}
	for _, l := range byLetter[name] {
		numbered, takes := l.(Numbered)
		switch {
		case takes && len(numbers) == len(numbered.Numbers()):
			return numbered.With(numbers), length, nil
		case !takes && len(numbers) == 0:
			return l, length, nil
		}
	}
	var known []string
	for _, l := range Levels() {
		known = append(known, fmt.Sprintf("%s (%s)", l, l.Name()))
	}
	return nil, 0, fmt.Errorf("%q is no level; levels are %s", text[:length], strings.Join(known, ", "))
}

// byLetter holds the kinds of levels by the letter that their texts begin with.
var byLetter = func() map[string][]Level {
	out := map[string][]Level{}
	for _, l := range Levels() {
		letter := l.String()[:1]
		out[letter] = append(out[letter], l)
	}
	return out
}()

// Selection is a matrix with exactly one entry a row, whose column is its place in crd. It is only read, and by kernels that copy rows, so
// Parse doesn't know it.
var Selection = Format{Levels: []Level{Dense{}, Singleton{Unique: true}}, ModeOrder: []int{0, 1}}

// maxBlock bounds the extents of blocks and slices, so that sizes stay far from overflow.
const maxBlock = 1 << 16

func (f *Format) parseOrder(text, order string) error {
	parts := strings.Split(order, ",")
	seen := make([]bool, len(f.Levels))
	for i, part := range parts {
		mode, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || len(parts) != len(f.Levels) || mode < 0 || mode >= len(f.Levels) || seen[mode] {
			return diag.Errorf(diag.Format, "format %q: the mode order %q has to be a permutation of 0..%d",
				text, order, len(f.Levels)-1)
		}
		seen[mode], f.ModeOrder[i] = true, mode
	}
	return nil
}

// check refuses level sequences that mean nothing.
func (f Format) check(text string) error {
	for i, l := range f.Levels {
		switch {
		case l.Props().RowRelative && (i == 0 || !f.Levels[i-1].Props().Full || !f.Levels[i-1].Props().Ordered):
			return diag.Errorf(diag.Format, "format %q: level %d (%s) needs a dense level before it", text, i, l)
		case l.Props().Branchless && (i == 0 || f.Levels[i-1].Props().Unique):
			return diag.Errorf(diag.Format, "format %q: the singleton level %d needs a level before it that is not unique (u or c)", text, i)
		}
	}
	return nil
}

// MustParse is Parse for formats known to be right.
func MustParse(text string) Format {
	f, err := Parse(text)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return f
}

// AllDense is the row-major dense format of an order.
func AllDense(order int) Format {
	f := Format{Levels: make([]Level, order), ModeOrder: make([]int, order)}
	for m := range order {
		f.Levels[m], f.ModeOrder[m] = Dense{}, m
	}
	return f
}

// COO is the coordinate format of an order: "s", "uq", "ucq", ...
func COO(order int) Format {
	switch order {
	case 0:
		return Format{}
	case 1:
		return MustParse("s")
	default:
		return MustParse("u" + strings.Repeat("c", order-2) + "q")
	}
}

// Order is the number of modes.
func (f Format) Order() int { return len(f.Levels) }

// Dense reports whether every level is full and in order, so that the tensor is its array of values.
func (f Format) Dense() bool {
	return !slices.ContainsFunc(f.Levels, func(l Level) bool { return !l.Props().Full || !l.Props().Ordered })
}

// Sparse is how many leading levels there are down to the last that isn't dense: each of their entries has a dense block of the rest.
func (f Format) Sparse() int {
	n := len(f.Levels)
	for n > 0 && f.Levels[n-1] == Level(Dense{}) {
		n--
	}
	return n
}

// SameEntries reports whether tensors of the two formats can share the arrays of their sparse levels, whatever modes these store and whatever
// dense blocks are below.
func (f Format) SameEntries(g Format) bool {
	n := f.Sparse()
	return n == g.Sparse() && slices.Equal(f.Levels[:n], g.Levels[:n])
}

// SameModes reports whether the sparse levels of the two formats, which have the same arrays, store the same modes.
func (f Format) SameModes(g Format) bool {
	n := f.Sparse()
	return slices.Equal(f.ModeOrder[:n], g.ModeOrder[:n])
}

// Natural reports whether the modes are stored in their own order.
func (f Format) Natural() bool { return slices.IsSorted(f.ModeOrder) }

// LevelOf is the level that stores a mode.
func (f Format) LevelOf(mode int) int { return slices.Index(f.ModeOrder, mode) }

// String is the shortest text that Parse reads back.
func (f Format) String() string {
	var b strings.Builder
	for _, l := range f.Levels {
		b.WriteString(l.String())
	}
	if !f.Natural() {
		for i, m := range f.ModeOrder {
			b.WriteByte(":,"[min(i, 1)])
			b.WriteString(strconv.Itoa(m))
		}
	}
	return b.String()
}

// Equal reports whether two formats are the same.
func (f Format) Equal(g Format) bool {
	return slices.Equal(f.Levels, g.Levels) && slices.Equal(f.ModeOrder, g.ModeOrder)
}

// Group is a run of levels that is appended to as one: a compressed level with the singletons below it.
type Group struct{ First, Last int }

// Groups lists the groups, outermost first. Every level whose positions aren't computed from the coordinates is in one.
func (f Format) Groups() []Group {
	var out []Group
	for i, l := range f.Levels {
		switch {
		case l.Props().Locate:
		case l.Props().Branchless && len(out) > 0 && out[len(out)-1].Last == i-1:
			out[len(out)-1].Last = i
		default:
			out = append(out, Group{First: i, Last: i})
		}
	}
	return out
}

// Writable is f with source levels in place of conversion-only ones.
func (f Format) Writable() Format {
	g := Format{Levels: slices.Clone(f.Levels), ModeOrder: f.ModeOrder}
	for i, l := range f.Levels {
		if layouter, ok := l.(Layouter); ok {
			g.Levels[i] = layouter.Source()
		}
	}
	return g
}

// Inserted is the format whose rows entries are inserted into in any order: f itself if it is rowwise, and with a dense first
// level if that has the rows. Rows of such a result are found once all are counted.
func (f Format) Inserted() (rows Format, ok bool) {
	if f.Rowwise() || f.Order() < 2 || f.Levels[0] != (Compressed{Unique: true}) {
		return f, f.Rowwise()
	}
	rows = Format{Levels: slices.Clone(f.Levels), ModeOrder: f.ModeOrder}
	rows.Levels[0] = Dense{}
	return rows, rows.Rowwise() && rows.Groups()[0].First == 1
}

// Listed reports whether the format is levels without arrays followed by one that lists the entries of each row: a result whose
// entries come row by row can be written before they are counted.
func (f Format) Listed() bool {
	return f.Rowwise() && f.Groups()[0].First == f.Order()-1 && !slices.ContainsFunc(f.Levels[:f.Order()-1], func(l Level) bool {
		return l.Props().HasCrd || l.Props().HasPos
	})
}

// Rowwise reports whether the format is levels with computed positions followed by one group: each parent position then
// owns a run of entries whose place is known once the runs are counted, so that the rows can be filled in any order.
func (f Format) Rowwise() bool {
	g := f.Groups()
	return len(g) == 1 && g[0].First > 0 && g[0].Last == f.Order()-1
}
