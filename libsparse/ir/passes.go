package ir

// Pass rewrites a module; it returns its argument where it has nothing to do, and never changes it.
type Pass struct {
	Name string
	Run  func(*Module) *Module
}

// Passes is what Optimize runs, in this order, for vector registers of the given width in bytes.
func Passes(vectorBytes int) []Pass {
	return []Pass{
		{"simplify", Simplify},
		{"hoist", Hoist},
		{"vectorize", func(m *Module) *Module { return Vectorize(m, vectorBytes) }},
		{"simplify", Simplify},
	}
}

// Optimize runs the passes. One that has run already is skipped as long as no other has changed the module since.
func Optimize(m *Module, vectorBytes int) *Module {
	left := map[string]*Module{} // what each pass made last
	for _, p := range Passes(vectorBytes) {
		if left[p.Name] != m {
			m = p.Run(m)
		}
		left[p.Name] = m
	}
	return m
}
