package kernels

import (
	"math"
	"strings"

	"libsparse/libsparse/autoschedule"
	"libsparse/libsparse/bind"
	"libsparse/libsparse/index"
	"libsparse/libsparse/pattern"
)

// seen is how many loops, the outermost ones of the compiler's order, a model sees one by one.
const seen = 4

// features is a list of numbers with their names.
type features struct {
	names  []string // nil where nobody asks for them
	values []float32
	named  bool
}

func (f *features) add(name string, x float64) {
	f.values = append(f.values, float32(x))
	if f.named {
		f.names = append(f.names, name)
	}
}

func (f *features) flag(name string, is bool) {
	if is {
		f.add(name, 1)
	} else {
		f.add(name, 0)
	}
}

func log2(x float64) float64 { return math.Log2(max(x, 1e-6)) }

// sight is what a model sees of a search: numbers that all its points share, and what follows from the orders and formats of points.
type sight struct {
	shared   features
	main     *index.Tensor   // the sparse operand with the most entries, nil where there is none
	known    pattern.Numbers // what is known of its pattern; nil where nothing is
	outlooks map[string]*outlook
	bytes    float64 // of the dense operands and a dense result
}

// look describes what the points of a search share: the computation, the pattern, the machine.
func (s *Search) look(patterns map[string]pattern.Numbers) *sight {
	a, v := s.nest.Assignment, &sight{outlooks: map[string]*outlook{}}
	v.shared.named = true
	sparse := 0
	var second *index.Tensor
	for _, t := range a.Tensors() {
		if a.Of(t).Format.Dense() {
			continue
		}
		sparse++
		if v.main == nil || a.Of(t).NNZ > a.Of(v.main).NNZ {
			v.main, second = t, v.main
		} else if second == nil {
			second = t
		}
	}
	f := &v.shared
	f.add("sparse", float64(sparse))
	v.computation(s)
	v.traffic(s)
	extent, entries := math.NaN(), math.NaN()
	if second != nil {
		entries, extent = log2(float64(a.Of(second).NNZ)), log2(float64(a.Of(second).Extents[0]))
	}
	f.add("second entries", entries)
	f.add("second mean", entries-extent)
	if v.main != nil {
		if known := patterns[v.main.Name]; len(known) == len(pattern.Names) {
			v.known = known
		}
	}
	squares := second != nil && a.Owner(v.main) == a.Owner(second) // what the square of a pattern has says nothing of other products
	for i, name := range pattern.Names {
		x := math.NaN()
		if v.known != nil && (squares || !strings.HasPrefix(name, "squared")) {
			x = v.known[i]
		}
		f.add("pattern "+name, x)
	}
	return v
}

// computation describes the loops and the result.
func (v *sight) computation(s *Search) {
	a, f := s.nest.Assignment, &v.shared
	order := 0
	if v.main != nil {
		order = a.Of(v.main).Format.Order()
	}
	f.add("operands", float64(len(a.Tensors())))
	f.add("modes", float64(order))
	f.add("result modes", float64(len(a.LHS.Vars)))
	f.flag("result sparse", !a.Result().Format.Dense())
	f.flag("result found", a.Result().Discovered())
	f.add("reduced", float64(len(a.Reduced())))
	f.add("loops", float64(len(s.space.vars)))
	f.add("bytes", float64(a.LHS.Tensor.Elem.Size()))
	for depth := range seen {
		name := "loop" + string(rune('0'+depth))
		extent, free, dense := math.NaN(), false, false
		if depth < len(s.space.vars) {
			variable := s.space.vars[depth]
			extent = log2(float64(a.Extent(variable)))
			free, dense = isFree(a, variable), autoschedule.Dense(a, variable)
		}
		f.add(name+" extent", extent)
		f.flag(name+" free", free)
		f.flag(name+" dense", dense)
	}
	t, sum := s.terms, s.terms.Sum()
	f.add("cost", log2(sum))
	f.add("cost strided", t.Strided/sum)
	f.add("cost inserted", t.Insert/sum)
}

// traffic describes what is read and written beside the caches and lanes of the machine.
func (v *sight) traffic(s *Search) {
	a, f := s.nest.Assignment, &v.shared
	size := float64(max(a.LHS.Tensor.Elem.Size(), 1))
	largest, row, entries := 0.0, 0.0, 0.0
	for _, t := range append(a.Tensors(), a.LHS.Tensor) {
		storage := a.Of(t)
		if !storage.Format.Dense() {
			entries = max(entries, float64(storage.NNZ))
			continue
		}
		bytes := places(a, t) * size
		v.bytes += bytes
		if n := len(storage.Extents); n > 0 && t != a.LHS.Tensor && bytes > largest {
			largest, row = bytes, float64(storage.Extents[n-1])*size
		}
	}
	f.add("dense", log2(v.bytes))
	f.add("dense operand", log2(largest))
	f.add("dense row", log2(row))
	machine := s.nest.Machine
	for i, name := range []string{"L2", "L3"} {
		cache := math.NaN()
		if i < len(machine.Caches) {
			cache = log2(float64(machine.Caches[i]))
		}
		f.add(name, cache)
		f.add("dense operand in "+name, log2(largest)-cache)
		f.add("entries in "+name, log2(entries*(size+4))-cache)
	}
	f.add("lanes", float64(machine.VectorBytes)/size)
}

// places is how many elements a dense tensor has.
func places(a bind.Assignment, t *index.Tensor) float64 {
	n := 1.0
	if t == a.LHS.Tensor {
		for _, v := range a.LHS.Vars {
			n *= float64(a.Extent(v))
		}
		return n
	}
	for _, extent := range a.Of(t).Extents {
		n *= float64(extent)
	}
	return n
}

func isFree(a bind.Assignment, v index.Var) bool {
	for _, w := range a.LHS.Vars {
		if v == w {
			return true
		}
	}
	return false
}
