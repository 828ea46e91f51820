package ir

import "libsparse/libsparse/dtype"

// Target is what passes have to know of the machine that loops are for.
type Target interface {
	// VectorBytes is the width of the vector registers in bytes.
	VectorBytes() int
	// Vectorizes reports whether op is computed on whole vectors of t; an empty op stands for loads and stores.
	Vectorizes(op dtype.Op, t dtype.T) bool
}

// Pass rewrites a module; it returns its argument where it has nothing to do, and never changes it.
type Pass struct {
	Name string
	Run  func(*Module) *Module
}

// Passes is what Optimize runs, in this order.
func Passes(target Target) []Pass {
	return []Pass{
		{"simplify", Simplify},
		{"segments", Segments},
		{"hoist", Hoist},
		{"across", func(m *Module) *Module { return Across(m, target) }},
		{"spread", func(m *Module) *Module { return Spread(m, target) }},
		{"together", Together},
		{"interleave", Interleave},
		{"jam", func(m *Module) *Module { return Jam(m, target) }},
		{"accumulate", func(m *Module) *Module { return Accumulate(m, target) }},
		{"overrun", func(m *Module) *Module { return Overrun(m, target) }},
		{"vectorize", func(m *Module) *Module { return Vectorize(m, target) }},
		{"simplify", Simplify},
		{"stream", func(m *Module) *Module { return Stream(m, target) }},
		{"ahead", Ahead},
	}
}

// Optimize runs the passes. One that has run already is skipped as long as no other has changed the module since.
func Optimize(m *Module, target Target) *Module {
	left := map[string]*Module{} // what each pass made last
	for _, p := range Passes(target) {
		if left[p.Name] != m {
			m = p.Run(m)
		}
		left[p.Name] = m
	}
	return m
}
