package ir

import "libsparse/libsparse/dtype"

// stmt checks a statement other than Decl, Alloc and Free, which bind names in their block.
func (v *verifier) stmt(s Stmt) {
	switch s := s.(type) {
	case *Block:
		v.block(s)
	case *Assign:
		v.variable(s.Var)
		v.convertible(s.Value, s.Var.T)
		v.reduce(s.Reduce, s.Var.T.Elem)
	case *Store:
		v.store(s)
	case *For:
		v.loop(s)
	case *While:
		v.cond(s.Cond)
		v.block(s.Body)
	case *If:
		v.branch(s)
	case *Parallel:
		v.region(s)
	case *Return:
		v.index(s.Value)
		if v.regions > 0 {
			v.failf("return inside a parallel region")
		}
	case *Comment:
	default:
		v.arrayStmt(s)
	}
}

func (v *verifier) store(s *Store) {
	v.writable(s.Array)
	v.index(s.Index)
	v.convertible(s.Value, Type{Elem: s.Array.Elem, Lanes: StoreLanes(s)})
	v.reduce(s.Reduce, s.Array.Elem)
	if s.Atomic && (s.Reduce != dtype.Add && s.Reduce != dtype.Mul || s.Array.Elem == dtype.Bool || StoreLanes(s) > 1) {
		v.failf("%s can't be updated atomically by %q", s.Array.Name, s.Reduce)
	}
	if s.Streams && (s.Reduce != "" || StoreLanes(s) < 2 || s.Atomic) {
		v.failf("only whole vectors of %s go past the caches", s.Array.Name)
	}
}

// reduce checks that op, if set, combines two values of type t.
func (v *verifier) reduce(op dtype.Op, t dtype.T) {
	if op != "" {
		v.operator(op, t)
	}
}

func (v *verifier) arrayStmt(s Stmt) {
	switch s := s.(type) {
	case *Grow:
		v.writable(s.Array)
		v.variable(s.Capacity)
		v.index(s.Size)
		if b := v.arrays[s.Array.Name]; b != nil && !b.heap {
			v.failf("%s is not a heap array", s.Array.Name)
		}
	case *Prefetch:
		v.array(s.Array)
		v.index(s.Index)
		if s.Count < 1 {
			v.failf("a prefetch of %d elements", s.Count)
		}
	case *Drain:
		v.cond(s.If)
	case *Fill:
		v.writable(s.Array)
		v.index(s.Count)
		v.convertible(s.Value, Scalar(s.Array.Elem))
	case *PrefixSum:
		v.writable(s.Array)
		v.integers(s.Array)
		v.index(s.Count)
	case *Sort:
		v.writable(s.Array)
		v.integers(s.Array)
		v.index(s.Lo)
		v.index(s.Hi)
	case *SortPlaces, *MarkPlace, *ListPlaces:
		v.placesStmt(s)
	case *SortBy:
		v.writable(s.Perm)
		v.integers(s.Perm)
		v.array(s.Key)
		v.integers(s.Key)
		v.index(s.Count)
		v.index(s.Extent)
		if s.Threads != nil {
			v.index(s.Threads)
			if v.regions > 0 {
				v.failf("a team that sorts %s inside a parallel region", s.Perm.Name)
			}
		}
	default:
		v.failf("unknown statement %T", s)
	}
}

func (v *verifier) placesStmt(s Stmt) {
	switch s := s.(type) {
	case *SortPlaces:
		v.writable(s.Array)
		v.integers(s.Array)
		v.bitmap(s.Bits, s.Words)
		if s.Bits.Elem != dtype.I64 {
			v.failf("a sort of %s by bytes", s.Array.Name)
		}
		v.index(s.Count)
		v.index(s.Extent)
	case *MarkPlace:
		v.bitmap(s.Bits, s.Words)
		v.index(s.Place)
	case *ListPlaces:
		v.writable(s.Array)
		v.integers(s.Array)
		v.bitmap(s.Bits, s.Words)
		if s.Count != nil {
			v.variable(s.Count)
		}
		v.index(s.Lo)
		v.index(s.Hi)
	}
}

// bitmap checks a bitmap of places and the bytes of its words, which may be nil.
func (v *verifier) bitmap(bits, words *Array) {
	v.writable(bits)
	if bits.Elem != dtype.I64 && (bits.Elem != dtype.U8 || words != nil) {
		v.failf("a bitmap of type %s", bits.Elem)
	}
	if words == nil {
		return
	}
	v.writable(words)
	if words.Elem != dtype.U8 {
		v.failf("marks of words of type %s", words.Elem)
	}
}

func (v *verifier) integers(a *Array) {
	if !a.Elem.IsInt() {
		v.failf("%s holds %s, expected integers", a.Name, a.Elem)
	}
}

func (v *verifier) loop(s *For) {
	v.index(s.Lo)
	v.index(s.Hi)
	if s.Chunk != nil {
		v.index(s.Chunk)
	}
	if s.Within != nil {
		v.index(s.Within)
	}
	switch {
	case s.Step < 1:
		v.failf("the step of loop %s is %d, expected at least 1", s.Var.Name, s.Step)
	case !s.Var.T.Elem.IsInt() || s.Var.T.Lanes != 1:
		v.failf("loop variable %s is %s, expected an integer", s.Var.Name, s.Var.T)
	case s.Kind == Shared && (v.regions == 0 || v.shared):
		v.failf("shared loop %s is not directly in a parallel region", s.Var.Name)
	}
	outer := v.shared
	v.shared = outer || s.Kind == Shared
	v.declare(s.Var, true)
	v.block(s.Body)
	delete(v.vars, s.Var.Name)
	v.shared = outer
}

func (v *verifier) branch(s *If) {
	v.cond(s.Cond)
	v.block(s.Then)
	switch rest := s.Else.(type) {
	case nil:
	case *Block:
		v.block(rest)
	case *If:
		v.branch(rest)
	default:
		v.failf("an else branch is a %T", rest)
	}
}

func (v *verifier) region(s *Parallel) {
	v.index(s.Threads)
	if s.Cond != nil {
		v.cond(s.Cond)
	}
	if v.regions > 0 {
		v.failf("a parallel region inside another")
	}
	v.regions++
	v.block(s.Body)
	v.regions--
}
