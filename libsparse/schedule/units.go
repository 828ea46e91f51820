package schedule

import (
	"fmt"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/lattice"
)

// Parallelize divides the iterations of a loop among threads. Where iterations may write the same element, Race says how
// the threads keep apart.
type Parallelize struct {
	Var  index.Var
	Race cin.Race
}

func (c Parallelize) String() string {
	if c.Race == cin.Owned {
		return fmt.Sprintf("parallelize(%s, threads)", c.Var)
	}
	return fmt.Sprintf("parallelize(%s, threads, %s)", c.Var, c.Race)
}

// Apply implements Command.
func (c Parallelize) Apply(p *cin.Program) (*cin.Program, error) {
	parallel := func(f *cin.Forall) { f.Unit, f.Race = cin.Threads, c.Race }
	if f := fills(p); f != nil && f.Var == c.Var {
		q, g := p.Clone(), f.With(f.Body)
		parallel(g)
		q.Body = &cin.Where{Consumer: p.Body.(*cin.Where).Consumer, Producer: g}
		return q, nil
	}
	return mark(c, p, c.Var, parallel)
}

// fills is the outermost loop that fills a list which holds the whole result, nil if there is none: its iterations may put
// entries into the list in blocks.
func fills(p *cin.Program) *cin.Forall {
	if s, ok := p.Body.(*cin.Where); ok && p.Workspaces[cin.Written(s.Producer).Tensor] == cin.List {
		f, _ := s.Producer.(*cin.Forall)
		return f
	}
	return nil
}

func (c Parallelize) check(p *cin.Program) (err error) {
	loopsOn(p.Body, cin.Threads, func(f *cin.Forall, outside []*cin.Forall) {
		for _, g := range outside {
			if g.Unit == cin.Threads {
				err = failf(c, "the loop over %s around it runs on threads already", g.Var)
			}
		}
		if together := merges(p, f); err == nil && together != "" {
			err = failf(c, "the loop over %s visits %s together, so its iterations can't be divided; split it and parallelize the outer loop", f.Var, together)
		}
		if err == nil {
			err = c.checkWrites(p, f)
		}
	})
	return err
}

// checkWrites checks that iterations of f write distinct elements, or that the race strategy allows sharing.
func (c Parallelize) checkWrites(p *cin.Program, f *cin.Forall) error {
	a := innermost(f.Body)
	if storage, workspace := p.Workspaces[a.LHS.Tensor]; workspace {
		if f == fills(p) && f.Race == cin.Owned && storage == cin.List || !told(storage) && p.Covers(a.LHS.Vars, f.Var) {
			return nil
		}
		return failf(c, "iterations over %s write the same elements of the workspace %s; parallelize a loop around it", f.Var, a.LHS.Tensor.Name)
	}
	switch s := p.Source.Of(a.LHS.Tensor); {
	case s.Discovered():
		return c.checkRows(p, f, a)
	case p.Covers(a.LHS.Vars, f.Var) && p.OwnsMasks(a.LHS, f.Var):
		return nil
	case f.Race == cin.Owned:
		return failf(c, "iterations over %s write the same elements of %s: parallelize a loop over %v, or say how threads "+
			"keep apart with parallelize(%s, threads, temporary) or (..., atomics)", f.Var, a.LHS, a.LHS.Vars, f.Var)
	case !p.OwnsMasks(a.LHS, f.Var):
		return failf(c, "%s in format %q has a mask that several threads would set; give the result another format", a.LHS, s.Format)
	case f.Race == cin.Atomics && !atomic(a.Reduce, a.LHS.Tensor.Elem):
		return failf(c, "there is no atomic %s of %s; use temporary", a.Reduce, a.LHS.Tensor.Elem)
	default:
		return nil
	}
}

// checkRows refuses iterations that don't own rows of a result whose entries are appended.
func (c Parallelize) checkRows(p *cin.Program, f *cin.Forall, a *cin.Assign) error {
	format := p.Source.Of(a.LHS.Tensor).Format
	if !format.Rowwise() && p.Insert && p.Body == f {
		return nil
	}
	if !format.Rowwise() {
		if p.Body != f || !p.Owns(f.Var) {
			return failf(c, "entries are appended to %s in format %q one after the other; threads can divide the outermost loop only, over %s",
				a.LHS, format, p.Source.Stored(a.LHS)[0])
		}
		return nil
	}
	rows := p.Source.Rows(a.LHS)
	if !p.Covers(rows, f.Var) && !(p.Insert && p.Body == f && p.OwnsMasks(a.LHS, f.Var)) {
		return failf(c, "threads fill rows of %s, which are %v; parallelize a loop over those", a.LHS, rows)
	}
	return nil
}

// atomic reports whether op on values of type t can be one instruction that no other thread interrupts.
func atomic(op dtype.Op, t dtype.T) bool {
	switch t {
	case dtype.U8, dtype.I8, dtype.I16, dtype.I32, dtype.I64, dtype.F32, dtype.F64:
		return op == dtype.Add || op == dtype.Mul
	default:
		return false
	}
}

// merges says which levels the loop f walks together, "" where it is a loop over one of them or over coordinates.
func merges(p *cin.Program, f *cin.Forall) string {
	v, ok := p.Walked(f.Var)
	if !ok {
		return ""
	}
	l := lattice.Loop(p.Source.Table, cin.Value(f.Body), v)
	if l.Divisible() {
		return ""
	}
	return l.Points[0].String()
}

// Vectorize runs the iterations of a loop in vector lanes: of an innermost one, or of one whose iterations write elements of
// their own.
type Vectorize struct{ Var index.Var }

func (c Vectorize) String() string { return fmt.Sprintf("vectorize(%s)", c.Var) }

// Apply implements Command.
func (c Vectorize) Apply(p *cin.Program) (*cin.Program, error) {
	return mark(c, p, c.Var, func(f *cin.Forall) { f.Unit, f.Race = cin.Lanes, cin.Owned })
}

func (c Vectorize) check(p *cin.Program) (err error) {
	loopsOn(p.Body, cin.Lanes, func(f *cin.Forall, _ []*cin.Forall) {
		inside, body := nest(f.Body)
		a, ok := body.(*cin.Assign)
		if !ok || len(inside) > 0 && !p.Covers(a.LHS.Vars, f.Var) {
			err = failf(c, "the loop over %s is not innermost, and its iterations don't own what they write", f.Var)
			return
		}
		if together := merges(p, f); together != "" {
			err = failf(c, "the loop over %s visits %s together, which lanes can't", f.Var, together)
		}
		if scalar := len(a.LHS.Vars) == 0 && p.Workspaces[a.LHS.Tensor] == cin.Tile; !scalar && !p.Covers(a.LHS.Vars, f.Var) {
			err = failf(c, "the iterations over %s all reduce into %s; precompute the sum in a scalar, then its loop can be vectorized", f.Var, a.LHS)
		}
	})
	return err
}

// mark changes every loop over v: a workspace's consumer and producer each have one.
func mark(c Command, p *cin.Program, v index.Var, change func(*cin.Forall)) (*cin.Program, error) {
	q := p.Clone()
	body, ok := rewrite(p.Body, v, func(f *cin.Forall) cin.Stmt {
		g := f.With(f.Body)
		change(g)
		return g
	})
	if !ok {
		return nil, missing(c, p, v)
	}
	q.Body = body
	return q, nil
}
