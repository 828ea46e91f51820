package codegen

import (
	"fmt"
	"slices"
	"strings"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// maxUnroll bounds the iterations that an Unrolled loop asks the compiler to write out, maxWritten the statements that these come to, with those of such loops
// inside: of blocks of 64 times 64 entries they would keep it busy for minutes.
const (
	maxUnroll  = 64
	maxWritten = 256
)

func (e *emitter) loop(s *ir.For) {
	if s.Kind == ir.Shared {
		e.sharedLoop(s, false)
		return
	}
	pragma := ""
	switch s.Kind {
	case ir.Simd:
		pragma = e.simdPragma(s)
	case ir.Unrolled:
		if n := unrolled(s); n > 1 {
			pragma = fmt.Sprintf("GCC unroll %d", n)
		}
	}
	if s.Unroll > 1 && s.Kind != ir.Simd && s.Kind != ir.Unrolled {
		pragma = fmt.Sprintf("GCC unroll %d", min(s.Unroll, maxUnroll))
	}
	hi := e.bound(s, pragma == "")
	if pragma != "" {
		e.pragma("%s", pragma)
	}
	outer := e.simd
	e.simd = s.Kind == ir.Simd && pragma != ""
	e.head(s, hi)
	e.body(s.Body)
	e.line("}")
	e.simd = outer
}

// bound is the text of the upper bound of s, which C evaluates again and again. A bound that may change gets a name;
// inline, in the head of the loop, unless a directive needs the head in canonical form. gcc loses an unroll directive where it
// makes branches of the condition, as sanitizers do of divisions.
func (e *emitter) bound(s *ir.For, inline bool) string {
	if stable(s.Hi, s.Body) && (s.Unroll <= 1 || !hasQuotient(s.Hi)) {
		return e.expr(widened(s.Hi), precAdd)
	}
	end := e.facts.fresh(name(s.Var.Name) + "_end")
	if inline && s.Var.T == ir.Index {
		return end + " = " + e.index(s.Hi)
	}
	e.line("const int64_t %s = %s;", end, e.index(s.Hi))
	return end
}

// hasQuotient reports whether there is a division of positions or coordinates in x.
func hasQuotient(x ir.Expr) (found bool) {
	ir.EachExpr(x, func(x ir.Expr) {
		b, ok := x.(*ir.Binary)
		found = found || ok && b.Op == dtype.Div
	})
	return found
}

// head writes the first line of s. hi is the text of the bound, or its declaration.
func (e *emitter) head(s *ir.For, hi string) {
	v, declared := name(s.Var.Name), ""
	if end, _, ok := strings.Cut(hi, " = "); ok {
		declared, hi = ", "+hi, end
	}
	step := v + "++"
	if s.Step != 1 {
		step = fmt.Sprintf("%s += %d", v, s.Step)
	}
	e.line("for (%s %s = %s%s; %s < %s; %s) {", ctype(s.Var.T), v, e.valueAs(s.Lo, s.Var.T), declared, v, hi, step)
}

// trips is the number of iterations of s if its bounds are literals, else 0.
func trips(s *ir.For) int64 {
	lo, ok := s.Lo.(*ir.Int)
	hi, okHi := s.Hi.(*ir.Int)
	if !ok || !okHi || hi.Value <= lo.Value {
		return 0
	}
	return (hi.Value - lo.Value + s.Step - 1) / s.Step
}

// unrolled is how many iterations of s are written out: all of an Unrolled loop, or a part that divides them where they come to too many statements.
func unrolled(s *ir.For) int64 {
	n := trips(s)
	if s.Kind != ir.Unrolled || n < 2 || n > maxUnroll {
		return 1
	}
	all, each := n, written(s.Body)
	for n > 1 && (n*each > maxWritten || all%n != 0) {
		n--
	}
	return n
}

// written is how many assignments and stores s is written out as.
func written(s ir.Stmt) (count int64) {
	ir.EachStmt(s, func(t ir.Stmt) {
		switch t := t.(type) {
		case *ir.Assign, *ir.Store:
			count++
		case *ir.For: // whose body is counted once
			if n := unrolled(t); n > 1 {
				count += (n - 1) * written(t.Body)
			}
		}
	})
	return count
}

// simdPragma is the directive of a Simd loop, or "" where none is valid.
func (e *emitter) simdPragma(s *ir.For) string {
	if !e.plain(s.Body) {
		return ""
	}
	clauses := map[string][]string{}
	var signs []string
	declared := map[string]bool{}
	valid := true
	ir.EachStmt(s.Body, func(t ir.Stmt) {
		switch t := t.(type) {
		case *ir.Decl:
			declared[t.Var.Name] = true
		case *ir.Assign:
			if declared[t.Var.Name] {
				return
			}
			sign := clauseSign(t.Reduce, t.Var.T)
			valid = valid && sign != "" && !reads(s.Body, t.Var)
			if !slices.Contains(clauses[sign], name(t.Var.Name)) {
				if clauses[sign] == nil {
					signs = append(signs, sign)
				}
				clauses[sign] = append(clauses[sign], name(t.Var.Name))
			}
		}
	})
	if !valid {
		return ""
	}
	text := "omp simd"
	for _, sign := range signs {
		text += fmt.Sprintf(" reduction(%s : %s)", sign, strings.Join(clauses[sign], ", "))
	}
	return text
}

// reads reports whether the value of v is used in b, beyond reducing into it: lanes have partial values only.
func reads(b *ir.Block, v *ir.Var) bool {
	found := false
	ir.EachStmt(b, func(s ir.Stmt) {
		for _, x := range ir.Exprs(s) {
			ir.EachExpr(x, func(x ir.Expr) {
				if w, ok := x.(*ir.Var); ok && w.Name == v.Name {
					found = true
				}
			})
		}
	})
	return found
}

// plain reports whether b has only statements that may stand in a simd loop.
func (e *emitter) plain(b *ir.Block) bool {
	ok := true
	ir.EachStmt(b, func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.Store:
			ok = ok && !s.Atomic
		case *ir.Block, *ir.Decl, *ir.Assign, *ir.If, *ir.For, *ir.Comment:
		default:
			ok = false
		}
	})
	return ok
}

// clauseSign is the name that OpenMP gives to a reduction by op, or "" where its meaning would differ: OpenMP's
// min and max of floats lose NaN, and its operators know no vectors.
func clauseSign(op dtype.Op, t ir.Type) string {
	switch {
	case op == "" || t.Lanes > 1 || t.Elem.IsComplex(): // gcc keeps lanes of complex values in memory
		return ""
	case t.Elem == dtype.Bool:
		return boolSign(op)
	case op == dtype.Add || op == dtype.Mul:
		return op.Infix()
	case (op == dtype.Min || op == dtype.Max) && !t.Elem.IsFloat():
		return string(op)
	case op == dtype.And:
		return "&&"
	case op == dtype.Or:
		return "||"
	default:
		return ""
	}
}
