package codegen

import (
	"fmt"
	"strings"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

func (e *emitter) stmts(list []ir.Stmt) {
	for len(list) > 0 {
		if len(allocations(list)) > 0 {
			list = list[e.allocGroup(list):]
			continue
		}
		e.stmt(list[0])
		list = list[1:]
	}
}

// body writes the statements of b between braces that the caller has opened and closes.
func (e *emitter) body(b *ir.Block) {
	e.depth++
	live := len(e.live)
	e.stmts(b.Stmts)
	e.live = e.live[:live]
	e.depth--
}

func (e *emitter) stmt(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.Block:
		e.line("{")
		e.body(s)
		e.line("}")
	case *ir.Decl:
		e.decl(s, "")
	case *ir.Assign:
		e.line("%s", e.update(name(s.Var.Name), s.Reduce, s.Value, s.Var.T))
	case *ir.Store:
		e.store(s)
	case *ir.For:
		e.loop(s)
	case *ir.While:
		e.line("while (%s) {", e.value(s.Cond))
		e.body(s.Body)
		e.line("}")
	case *ir.If:
		e.branch(s, e.body)
	case *ir.Parallel:
		e.parallel(s)
	case *ir.Return:
		e.leave(s.Value, false)
	case *ir.Comment:
		for _, line := range strings.Split(s.Text, "\n") {
			e.line("// %s", commentText(line))
		}
	default:
		e.arrayStmt(s)
	}
}

// decl writes a declaration; unless is a condition under which the initial value must not be computed.
func (e *emitter) decl(s *ir.Decl, unless string) {
	constant := ""
	if s.Const || !e.facts.assigned[s.Var.Name] {
		constant = "const "
	}
	if s.Var.T.Lanes > 1 {
		e.uses.vector(s.Var.T)
	}
	value := e.valueAs(s.Init, s.Var.T)
	if unless != "" {
		if _, prec := e.form(s.Init); prec < precOr {
			value = "(" + value + ")"
		}
		value = fmt.Sprintf("%s ? 0 : %s", unless, value)
	}
	e.line("%s%s %s = %s;", constant, ctype(s.Var.T), name(s.Var.Name), value)
}

func (e *emitter) store(s *ir.Store) {
	t := ir.Type{Elem: s.Array.Elem, Lanes: ir.StoreLanes(s)}
	if s.Streams {
		e.stream(s, t)
		return
	}
	target, _ := e.cell(s.Array, s.Index, t)
	if s.Atomic && !e.opts.Serial {
		e.pragma("omp atomic")
	}
	e.line("%s", e.update(target, s.Reduce, s.Value, t))
}

// branch writes a conditional statement, its bodies by body. Where only the other branch does something, that is the one
// written.
func (e *emitter) branch(s *ir.If, body func(*ir.Block)) {
	if len(s.Then.Stmts) == 0 {
		switch other := s.Else.(type) {
		case *ir.Block:
			s = &ir.If{Cond: negated(s.Cond), Then: other}
		case *ir.If:
			s = &ir.If{Cond: negated(s.Cond), Then: &ir.Block{Stmts: []ir.Stmt{other}}}
		}
	}
	e.line("if (%s) {", e.value(s.Cond))
	e.branches(s, body)
}

// negated is the opposite of a condition. A comparison of floats that fails for NaN has none but a negation.
func negated(x ir.Expr) ir.Expr {
	opposite := map[ir.Cmp]ir.Cmp{ir.Lt: ir.Ge, ir.Ge: ir.Lt, ir.Gt: ir.Le, ir.Le: ir.Gt, ir.Eq: ir.Ne, ir.Ne: ir.Eq}
	c, ok := x.(*ir.Compare)
	switch {
	case ok && c.Op == ir.LogAnd:
		return &ir.Compare{Op: ir.LogOr, X: negated(c.X), Y: negated(c.Y)}
	case ok && c.Op == ir.LogOr:
		return &ir.Compare{Op: ir.LogAnd, X: negated(c.X), Y: negated(c.Y)}
	case ok && (c.Op == ir.Eq || c.Op == ir.Ne || c.X.Type().Elem.IsInt()):
		return &ir.Compare{Op: opposite[c.Op], X: c.X, Y: c.Y}
	default:
		return &ir.Compare{Op: ir.Eq, X: x, Y: &ir.Int{T: dtype.Bool}}
	}
}

// branches writes the bodies of s, whose condition stands already, each by body.
func (e *emitter) branches(s *ir.If, body func(*ir.Block)) {
	body(s.Then)
	switch rest := s.Else.(type) {
	case *ir.If:
		e.line("} else if (%s) {", e.value(rest.Cond))
		e.branches(rest, body)
	case *ir.Block:
		e.line("} else {")
		body(rest)
		e.line("}")
	default:
		e.line("}")
	}
}

func (e *emitter) arrayStmt(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.Alloc: // on the stack: stmts takes the others together
		e.alloc(s)
	case *ir.Grow:
		e.grow(s)
	case *ir.Free:
		e.free(s)
	case *ir.Fill:
		e.fill(s)
	case *ir.Prefetch:
		e.prefetch(s)
	case *ir.Drain:
		e.drain(s)
	case *ir.PrefixSum:
		e.line("%s(%s, %s);", e.uses.helper("prefix_sum", ir.Scalar(s.Array.Elem)), name(s.Array.Name), e.index(s.Count))
	case *ir.Sort:
		e.sort(s)
	case *ir.SortPlaces:
		e.sortPlaces(s)
	case *ir.MarkPlace:
		e.markPlace(s)
	case *ir.ListPlaces:
		e.listPlaces(s)
	case *ir.SortBy:
		e.sortBy(s)
	default:
		panic(fmt.Sprintf("BUG: no C for statement %T", s))
	}
}

func (e *emitter) sort(s *ir.Sort) {
	fn := e.uses.helper("sort", ir.Scalar(s.Array.Elem))
	if isZero(s.Lo) {
		e.line("%s(%s, %s);", fn, name(s.Array.Name), e.index(s.Hi))
		return
	}
	length, _ := e.form(&ir.Binary{Op: "sub", X: asIndex(s.Hi), Y: asIndex(s.Lo)})
	e.line("%s(%s + %s, %s);", fn, name(s.Array.Name), e.expr(widened(s.Lo), precMul), length)
}

// asIndex is x as a 64-bit integer.
func asIndex(x ir.Expr) ir.Expr {
	if x.Type() == ir.Index {
		return x
	}
	return &ir.Cast{X: x, To: ir.Index.Elem}
}

func (e *emitter) fill(s *ir.Fill) {
	a := name(s.Array.Name)
	switch {
	case isZero(s.Value) && !e.facts.local[s.Array.Name] && !positive(s.Count): // an argument may be NULL where it has no elements
		e.uses.add(helper{kind: "clear"})
		e.line("clear(%s, %s, sizeof *%s);", a, e.index(s.Count), a)
		return
	case isZero(s.Value):
		e.line("memset(%s, 0, %s * sizeof *%s);", a, e.size(s.Count), a)
		return
	}
	t := ir.Scalar(s.Array.Elem)
	e.line("%s(%s, %s, %s);", e.uses.helper("fill", t), a, e.index(s.Count), e.valueAs(s.Value, t))
}

// positive reports whether a number of elements is never zero, by its form: counts are not negative.
func positive(count ir.Expr) bool {
	switch x := count.(type) {
	case *ir.Int:
		return x.Value > 0
	case *ir.Binary:
		return x.Op == dtype.Add && (positive(x.X) || positive(x.Y))
	default:
		return false
	}
}

// size is x as a factor of type size_t.
func (e *emitter) size(x ir.Expr) string { return "(size_t)" + e.expr(widened(x), precUnary) }
