package command

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// maxElements is the size of the largest dense operand, level or result that is made.
const maxElements = 1 << 28

// volume is the number of elements of a shape; an error where that is more than fits.
func volume(what string, shape []int) (int, error) {
	n := 1.0
	for _, s := range shape {
		n *= float64(s)
	}
	if n > maxElements {
		return 0, diag.Errorf(diag.Shape, "%s of %v elements is too large to be made here; give it a sparse format, or smaller extents with -d", what, shape)
	}
	return int(n), nil
}

// entriesOf is what an operand of the request holds: what its file does, or random values.
func (p *program) entriesOf(t *index.Tensor, f format.Format) ([]format.Entry, error) {
	shape := p.shape(p.accesses[t.Name])
	if file := p.read[t.Name]; file != nil {
		if file.Elem.IsComplex() && !t.Elem.IsComplex() {
			return nil, diag.Errorf(diag.Dtype, "%s has complex values, and %s is of %s; give it a complex type with -t=%s:c64",
				p.files[t.Name], t.Name, t.Elem, t.Name)
		}
		entries := file.Entries()
		for i, e := range entries {
			entries[i].Value = dtype.Convert(e.Value, file.Elem, t.Elem)
		}
		return merged(entries, t.Elem), nil
	}
	name := cmp.Or(p.again[t.Name], t.Name)
	rng := rand.New(rand.NewPCG(1, uint64(len(name))+uint64(name[0])<<8))
	if _, filled := p.fills[t.Name]; f.Dense() && !filled {
		return everywhere(rng, t, shape)
	}
	return scattered(rng, t, shape, p.entries(t.Name))
}

// merged is entries with the values of equal coordinates added up, in order of coordinates.
func merged(entries []format.Entry, t dtype.T) []format.Entry {
	sorted := slices.Clone(entries)
	slices.SortStableFunc(sorted, func(a, b format.Entry) int { return slices.Compare(a.Coord, b.Coord) })
	out := sorted[:0]
	for _, e := range sorted {
		if n := len(out); n > 0 && slices.Equal(out[n-1].Coord, e.Coord) {
			out[n-1].Value = dtype.Add.Eval(t, out[n-1].Value, e.Value)
			continue
		}
		out = append(out, e)
	}
	return out
}

func everywhere(rng *rand.Rand, t *index.Tensor, shape []int) ([]format.Entry, error) {
	n, err := volume(t.Name, shape)
	if err != nil {
		return nil, err
	}
	out := make([]format.Entry, n)
	for at := range out {
		coord := make([]int, len(shape))
		for m, rest := len(shape)-1, at; m >= 0; m-- {
			coord[m], rest = rest%shape[m], rest/shape[m]
		}
		out[at] = format.Entry{Coord: coord, Value: random(rng, t.Elem)}
	}
	return out, nil
}

// scattered draws n coordinates; one drawn twice counts once.
func scattered(rng *rand.Rand, t *index.Tensor, shape []int, n int64) ([]format.Entry, error) {
	if n > maxElements {
		return nil, diag.Errorf(diag.Shape, "%s would have %d entries; lower -fill=%s:...", t.Name, n, t.Name)
	}
	seen := map[string]bool{}
	var out []format.Entry
	for range n {
		coord := make([]int, len(shape))
		key := make([]byte, 0, 8*len(shape))
		for m, s := range shape {
			coord[m] = rng.IntN(s)
			for c := coord[m]; ; c >>= 7 {
				key = append(key, byte(c&127)|128)
				if c < 128 {
					break
				}
			}
			key = append(key, 0)
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			out = append(out, format.Entry{Coord: coord, Value: random(rng, t.Elem)})
		}
	}
	return out, nil
}

func random(rng *rand.Rand, t dtype.T) dtype.Value {
	switch {
	case t.IsComplex():
		return dtype.Convert(dtype.Value{Num: complex(2*rng.Float64()-1, 2*rng.Float64()-1)}, dtype.C128, t)
	case t.IsFloat():
		return dtype.Float(t, 2*rng.Float64()-1)
	default:
		return dtype.Int(t, rng.Int64N(2))
	}
}

// packed stores entries as a kernel wants them.
func packed(name string, f format.Format, shape []int, entries []format.Entry) (*format.Data, error) {
	for level, l := range f.Levels {
		if !l.Props().Locate {
			break
		}
		above := make([]int, level+1)
		for i := range above {
			above[i] = shape[f.ModeOrder[i]]
		}
		if _, err := volume(name, above); err != nil {
			return nil, err
		}
	}
	return format.Pack(f, shape, entries), nil
}
