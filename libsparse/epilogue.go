package libsparse

import (
	"math"
	"slices"

	"libsparse/libsparse/autoschedule"
	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/lattice"
	"libsparse/libsparse/schedule"
)

// An epilogue is what an assignment does with the elements of a sum: y(i,k) = relu(sum(A(i,j) * x(j,k)) + b(k)) has two steps, of which the
// second reads each element of the first once. Where the sums are kept in registers, one nest computes both: the workspace is read by
// the epilogue, in place of a copy to the result, and the sums are never stored.

// epilogue is the two steps of such an assignment.
type epilogue struct {
	sum   bind.Assignment // into the result of the whole
	held  *index.Tensor   // the result of the first step, which apply reads
	apply index.Expr
}

// epilogueOf is the epilogue of a, nil if a has none.
func epilogueOf(a bind.Assignment) *epilogue {
	steps := a.Steps(index.Names([]*index.Assignment{a.Assignment}))
	if len(steps) != 2 || a.Reduce != dtype.Add || len(a.LHS.Vars) == 0 || a.LHS.Windows != nil || !a.Result().Format.Dense() {
		return nil
	}
	first, last := steps[0], steps[1]
	held := first.LHS.Tensor
	elem := a.LHS.Tensor.Elem
	whole := len(first.LHS.Vars) == len(a.LHS.Vars) && len(last.Reduced()) == 0
	if !whole || !elem.IsFloat() || stepElems(steps, elem)[0] != stepElem(first, elem) || !readsOnce(a.Table, last.RHS, held) || zeroOr(last.RHS, held) == unlike {
		return nil
	}
	sum := &index.Assignment{LHS: a.LHS, Reduce: first.Reduce, RHS: first.RHS}
	return &epilogue{sum: bind.Assignment{Assignment: sum, Table: a.Table}, held: held, apply: last.RHS}
}

// readsOnce reports whether e reads t once, and else whole dense tensors only.
func readsOnce(b *bind.Table, e index.Expr, t *index.Tensor) bool {
	reads := 0
	for _, acc := range index.Accesses(e) {
		switch {
		case acc.Tensor == t:
			reads++
		case acc.Windows != nil || !b.Dense(acc) || acc.Tensor.Name == workspaceName:
			return false
		}
	}
	return reads == 1
}

// epilogue is the epilogue of a nest that computes two steps, nil of any other nest.
func (n *Nest) epilogue() *epilogue {
	if !n.fused {
		return nil
	}
	return epilogueOf(n.Assignment)
}

// workspaceName is the name that schedules give to the first workspace.
const workspaceName = "w"

// state is what becomes of an expression where a tensor that it reads has no value, compared to where that is zero.
type state int

const (
	alike   state = iota // it has the same value
	missing              // it has none, and is zero where the tensor is zero
	unlike
)

// zeroOr is the state of e where t has no value.
func zeroOr(e index.Expr, t *index.Tensor) state { return (&states{t, map[*index.Call]state{}}).of(e) }

// states are those of the parts of an expression where a tensor has no value; bodies of functions share parts.
type states struct {
	tensor *index.Tensor
	known  map[*index.Call]state
}

func (s *states) of(e index.Expr) state {
	switch e := e.(type) {
	case *index.Access:
		if e.Tensor == s.tensor {
			return missing
		}
	case *index.Call:
		found, ok := s.known[e]
		if !ok {
			found = s.call(e)
			s.known[e] = found
		}
		return found
	}
	return alike
}

func (s *states) call(c *index.Call) state {
	given, without := make([]bool, len(c.Args)), uint(0)
	for i, arg := range c.Args {
		found := s.of(arg)
		if found == unlike {
			return unlike
		}
		if given[i] = found == alike; !given[i] {
			without |= 1 << i
		}
	}
	body := s.body(c)
	usual := c.Function == nil && c.Region == index.RegionOf(c.Op)
	switch {
	case body == unlike:
		return unlike
	case c.Region.Ignores(without), usual && c.Region.Holds(given...):
		return alike
	case body == missing && c.Region.Grows(without), usual && len(c.Args) == 1 && c.Op.KeepsZeros(), isZero(c, given):
		return missing
	default:
		return unlike
	}
}

// isZero reports whether c is a product that is zero where those of its factors that aren't given are: the others are positive and finite.
func isZero(c *index.Call, given []bool) bool {
	if !c.Multiplies() {
		return false
	}
	for i, factor := range c.Args {
		if given[i] && !isPositive(factor) {
			return false
		}
	}
	return true
}

// isPositive reports whether e is a positive and finite number.
func isPositive(e index.Expr) bool {
	switch e := e.(type) {
	case *index.Access:
		return e.Tensor.PatternOnly
	case *index.Literal:
		return e.Value > 0 && !math.IsInf(e.Value, 1)
	case *index.Call:
		return e.Function == index.Library()["stored"]
	default:
		return false
	}
}

// body is the state of the body of a function, of one that keeps zeros where its argument is missing; operators have none.
func (s *states) body(c *index.Call) state {
	switch {
	case c.Function == nil:
		return alike
	case len(c.Function.Cases) != 1:
		return unlike
	case s.keepsZero(c.Inline()):
		return missing
	default:
		return s.of(c.Inline())
	}
}

// keepsZero reports whether e, which reads the tensor alone, is zero where that is zero, as relu(x) is.
func (s *states) keepsZero(e index.Expr) bool {
	if slices.ContainsFunc(index.Accesses(e), func(acc *index.Access) bool { return acc.Tensor != s.tensor }) || len(index.Vars(e)) == 0 {
		return false
	}
	placed := false // whether it reads the variables themselves
	zero := func(*index.Access) (dtype.Value, bool) { return dtype.Float(dtype.F64, 0), true }
	place := func(index.Var) int {
		placed = true
		return 0
	}
	v, exists, byZero := index.Eval(e, dtype.F64, zero, place)
	return exists && !byZero && !placed && v.Num == 0 && !math.Signbit(real(v.Num))
}

// program is the naive program of a nest with an epilogue: each sum is a scalar.
func (p *epilogue) program(whole bind.Assignment) *cin.Program {
	at := len(whole.LHS.Vars)
	scheduled, err := schedule.Apply(cin.Concretize(p.sum), []schedule.Command{schedule.Precompute{At: at, Name: workspaceName, Storage: cin.Tile}})
	if err != nil {
		return nil
	}
	return p.attach(scheduled, whole)
}

// attach has the epilogue read the workspace of a scheduled sum; it is nil where that is updated in memory, or not every element of
// the result is visited.
func (p *epilogue) attach(scheduled *cin.Program, whole bind.Assignment) *cin.Program {
	for _, v := range whole.LHS.Vars {
		if !lattice.Build(p.sum.Table, p.sum.RHS, v).Dense() {
			return nil
		}
	}
	out := scheduled.Clone()
	out.Source = bind.Assignment{Assignment: whole.Assignment, Table: scheduled.Source.Table}
	out.Body = p.consume(out, scheduled.Body)
	if out.Body == nil {
		return nil
	}
	return out
}

// consume is s with the epilogue in place of the copy of a workspace to the result, nil if there is no such copy.
func (p *epilogue) consume(program *cin.Program, s cin.Stmt) cin.Stmt {
	switch s := s.(type) {
	case *cin.Forall:
		if body := p.consume(program, s.Body); body != nil {
			return s.With(body)
		}
	case *cin.Where:
		if consumer := p.consume(program, s.Consumer); consumer != nil {
			return &cin.Where{Consumer: consumer, Producer: s.Producer}
		}
	case *cin.Assign:
		sums, ok := s.RHS.(*index.Access)
		if !ok || s.Reduce != "" || s.LHS.Tensor != p.sum.LHS.Tensor || program.Workspaces[sums.Tensor] == "" {
			return nil
		}
		return &cin.Assign{LHS: s.LHS, RHS: index.Replace(p.apply, func(a *index.Access) index.Expr {
			if a.Tensor == p.held {
				return sums
			}
			return nil
		})}
	}
	return nil
}

// together is the only nest of a program that is one assignment with an epilogue, nil where its steps need a nest each, or are to have one.
func (c *Compilation) together(program, steps []*index.Assignment, output Output) *Nest {
	if len(steps) != 2 || len(program) != 1 || c.Request.Output.Divided {
		return nil
	}
	if output.Format == "" {
		output.Format = resultFormat(c.bound(steps[1]))
	}
	n := c.nest(c.bound(program[0]), c.Operands, output)
	result, err := c.inferFormat(n)
	if err != nil {
		return nil
	}
	n.fused = true
	trial := *n
	trial.Assignment = n.Assignment.With(n.Assignment.LHS.Tensor, result)
	if trial.epilogue() == nil || concretize(&trial) != nil || decide(&trial) != nil || apply(&trial) != nil {
		return nil
	}
	return n
}

// applyBeforeEpilogue schedules the sum of a nest, and then has the epilogue read it.
func (n *Nest) applyBeforeEpilogue() error {
	p := n.epilogue()
	naive := cin.Concretize(p.sum)
	naive.Team = autoschedule.Team(n.Assignment, n.Machine)
	scheduled, err := schedule.Apply(naive, n.Decision.Commands)
	if err != nil {
		return err
	}
	if n.Scheduled = p.attach(scheduled, n.Assignment); n.Scheduled == nil {
		return diag.Errorf(diag.Unsupported, "%s: the sums are not in registers", n.Assignment)
	}
	n.Scheduled = termsApart(n.Scheduled, n.Machine)
	return nil
}
