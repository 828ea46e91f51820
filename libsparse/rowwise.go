package libsparse

import (
	"slices"

	"libsparse/libsparse/autoschedule"
	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/lattice"
	"libsparse/libsparse/schedule"
)

// Steps are rowwise if each but the last leaves one number for each row to those after it, as the greatest score and the sum of the powers are
// for a softmax, or some for each where entries are dense blocks, as those of several heads are. One nest computes them: the loop over the rows
// has a loop for each step in it, and the numbers are scalars, or tiles. The entries of a row come from memory once, and are near for the later loops.
type rowwise struct {
	rows []index.Var
	// columns are the variables that tell the numbers of a row apart.
	columns []index.Var
	steps   []*index.Assignment
}

// widest is how many columns a tile has at most.
const widest = 64

// byRows is the only nest of rowwise steps, nil where they need a nest each, or are to have one.
func (c *Compilation) byRows(steps []*index.Assignment, output Output) *Nest {
	last := steps[len(steps)-1]
	if c.Request.Output.Divided || c.Request.Output.Step || last.LHS.Windows != nil {
		return nil
	}
	if output.Format == "" {
		output.Format = resultFormat(c.bound(last))
	}
	table := c.described(steps, output)
	if table == nil {
		return nil
	}
	r := rowsOf(steps, table)
	if !r.numbers() || !r.contiguous(table) || !r.known(table) {
		return nil
	}
	n := c.nest(bind.Assignment{Assignment: last, Table: table}, c.Operands, output)
	result, err := c.inferFormat(n)
	if err != nil || !result.Known() {
		return nil
	}
	n.rowwise = r
	n.Assignment = c.bound(r.whole()).With(last.LHS.Tensor, result)
	trial := *n
	if concretize(&trial) != nil || decide(&trial) != nil || apply(&trial) != nil || trial.Scheduled.Legal() != nil {
		return nil
	}
	return n
}

// rowsOf are steps with the variables of their numbers divided: those of rows are stored above all that a number is reduced over.
func rowsOf(steps []*index.Assignment, b *bind.Table) *rowwise {
	r := &rowwise{steps: steps}
	for _, v := range steps[0].LHS.Vars {
		below := false
		for _, acc := range index.Accesses(steps[0].RHS) {
			stored := b.Stored(acc)
			at := slices.Index(stored, v)
			below = below || at >= 0 && slices.ContainsFunc(stored[:at], func(u index.Var) bool { return !slices.Contains(steps[0].LHS.Vars, u) })
		}
		if below {
			r.columns = append(r.columns, v)
		} else {
			r.rows = append(r.rows, v)
		}
	}
	return r
}

// described is how tensors are stored where each step but the last leaves a number for each row; nil where the result has no such format.
func (c *Compilation) described(steps []*index.Assignment, output Output) *bind.Table {
	last := steps[len(steps)-1].LHS
	stored, err := format.Parse(output.Format)
	if err != nil || stored.Order() != len(last.Vars) {
		return nil
	}
	table := c.Storage.With(last.Tensor, bind.Storage{Format: stored})
	for _, step := range steps[:len(steps)-1] {
		table = table.With(step.LHS.Tensor, bind.Storage{Format: format.AllDense(len(step.LHS.Vars))})
	}
	return table
}

// numbers reports whether steps leave numbers of the rows alone to each other, which the last one's result has.
func (r *rowwise) numbers() bool {
	last, own := r.last().LHS.Vars, r.steps[0].LHS.Vars
	if len(r.rows) == 0 || slices.ContainsFunc(own, func(v index.Var) bool { return !slices.Contains(last, v) }) {
		return false
	}
	if len(r.last().Reduced()) > 0 && (len(last) > len(r.rows) || len(r.columns) > 0) {
		return false
	}
	for i, step := range r.steps {
		number := len(step.Reduced()) > 0 && slices.Equal(step.LHS.Vars, own) && step.LHS.Windows == nil
		if i < len(r.steps)-1 && !number {
			return false
		}
		for _, acc := range index.Accesses(step.RHS) {
			if r.holds(acc.Tensor) && !slices.Equal(acc.Vars, own) || acc.Windows != nil {
				return false
			}
		}
	}
	return true
}

// contiguous reports whether the loops in that over the rows read what is stored side by side, and visit each row and each of its columns: numbers for
// entries alone, as scores of dense factors are, would be an array as wide as the matrix for each row.
func (r *rowwise) contiguous(b *bind.Table) bool {
	for _, step := range r.steps {
		for _, v := range append(slices.Clone(r.rows), r.columns...) {
			if slices.Contains(step.Vars(), v) && !lattice.Build(b, step.RHS, v).Dense() {
				return false
			}
		}
		inner := r.inner(step)
		for _, acc := range append(index.Accesses(step.RHS), step.LHS) {
			stored := b.Stored(acc)
			within := slices.ContainsFunc(stored, func(v index.Var) bool { return slices.Contains(inner, v) })
			if within && !slices.Contains(inner, stored[len(stored)-1]) {
				return false
			}
		}
	}
	return true
}

// known reports whether each number is there where it is read, or counts as zero where it isn't: as a scalar it has the identity of its
// reduction for rows without terms. One that no step reads is no part of the whole.
func (r *rowwise) known(b *bind.Table) bool {
	for i, number := range r.steps[:len(r.steps)-1] {
		always, _ := b.Presence(number.RHS)
		bound := bind.Assignment{Assignment: number, Table: b}
		always = always && !slices.ContainsFunc(number.Reduced(), func(v index.Var) bool { return index.Least(bound.Extent(v)) == 0 })
		read := false
		for _, reader := range r.steps[i+1:] {
			t := number.LHS.Tensor
			if !slices.ContainsFunc(index.Accesses(reader.RHS), func(acc *index.Access) bool { return acc.Tensor == t }) {
				continue
			}
			read = true
			sums := reader.Reduce == dtype.Add || len(reader.Reduced()) == 0
			zero := number.Reduce == dtype.Add && sums && zeroOr(reader.RHS, t) != unlike
			if !always && !zero && !r.implies(b, reader, number) {
				return false
			}
		}
		if !read {
			return false
		}
	}
	return true
}

// implies reports whether a row in which reader has a term is one in which number has: both walk the entries of one pattern, number no others.
func (r *rowwise) implies(b *bind.Table, reader, number *index.Assignment) bool {
	walked, filled := r.inner(reader), r.inner(number)
	if len(filled) == 0 || len(walked) < len(filled) {
		return false
	}
	for n, v := range filled {
		all := lattice.Build(b, number.RHS, v).Points
		if slices.Contains(r.columns, v) {
			continue
		}
		if len(all) != 1 || all[0].Full || len(all[0].Iterators) != 1 {
			return false
		}
		same := func(it lattice.Iterator) bool { return r.alike(b, it, all[0].Iterators[0]) }
		for _, p := range lattice.Build(b, reader.RHS, walked[n]).Points {
			if !slices.ContainsFunc(p.Iterators, same) {
				return false
			}
		}
	}
	return true
}

// alike reports whether two iterators walk the same entries of a row.
func (r *rowwise) alike(b *bind.Table, x, y lattice.Iterator) bool {
	if b.Owner(x.Access.Tensor) != b.Owner(y.Access.Tensor) || x.Level != y.Level {
		return false
	}
	for _, m := range b.Of(x.Access.Tensor).Format.ModeOrder[:x.Level] {
		v, w := x.Access.Vars[m], y.Access.Vars[m]
		if v != w && (slices.Contains(r.rows, v) || slices.Contains(r.rows, w)) {
			return false
		}
	}
	return true
}

func (r *rowwise) last() *index.Assignment { return r.steps[len(r.steps)-1] }

// holds reports whether t has the numbers that a step leaves.
func (r *rowwise) holds(t *index.Tensor) bool {
	return slices.ContainsFunc(r.steps[:len(r.steps)-1], func(s *index.Assignment) bool { return s.LHS.Tensor == t })
}

// inner are the variables of a step but for those of the rows: the columns last.
func (r *rowwise) inner(step *index.Assignment) []index.Var {
	outer := slices.DeleteFunc(step.Vars(), func(v index.Var) bool { return slices.Contains(r.rows, v) || slices.Contains(r.columns, v) })
	for _, v := range r.columns {
		if slices.Contains(step.Vars(), v) {
			outer = append(outer, v)
		}
	}
	return outer
}

// whole is the assignment that the steps compute together: each number is written as the reduction that it is.
func (r *rowwise) whole() *index.Assignment {
	numbers := map[*index.Tensor]index.Expr{}
	inlined := func(e index.Expr) index.Expr {
		return index.Replace(e, func(acc *index.Access) index.Expr { return numbers[acc.Tensor] })
	}
	for _, step := range r.steps[:len(r.steps)-1] {
		op := step.Reduce
		if op == dtype.Add {
			op = dtype.Sum
		}
		numbers[step.LHS.Tensor] = index.NewCall(op, inlined(step.RHS))
	}
	return &index.Assignment{LHS: r.last().LHS, Reduce: r.last().Reduce, RHS: inlined(r.last().RHS)}
}

// Evaluate computes what the nest means by definition, as Assignment.Evaluate does: extents are those of variables, shape is that of the result.
func (n *Nest) Evaluate(extents map[index.Var]int, shape []int, data map[*index.Tensor]*index.Dense) *index.Dense {
	if n.rowwise == nil {
		return n.Assignment.Evaluate(extents, shape, data)
	}
	return index.EvaluateSteps(n.rowwise.steps, extents, shape, data)
}

// program is the naive program of the steps.
func (r *rowwise) program(a bind.Assignment) *cin.Program {
	p := &cin.Program{Source: a, Workspaces: map[*index.Tensor]cin.Storage{}}
	numbers := map[*index.Tensor]*index.Access{}
	scalar := func(t *index.Tensor) *index.Access {
		w := &index.Tensor{Name: t.Name, Elem: t.Elem.Accum()} // halves are not rounded in between
		stored := bind.Storage{Format: format.AllDense(len(r.columns)), Index: a.Result().Index}
		p.Workspaces[w] = cin.Tile
		for _, v := range r.columns {
			n := a.Extent(v)
			stored.Extents = append(stored.Extents, n)
			if n == 0 || !index.Exact(n) || n > widest {
				p.Workspaces[w] = cin.Array
			}
		}
		p.Source = p.Source.With(w, stored)
		numbers[t] = &index.Access{Tensor: w, Vars: r.columns}
		return numbers[t]
	}
	var fill []cin.Stmt // the nest of each number
	for i, step := range r.steps {
		rhs := index.Replace(step.RHS, func(acc *index.Access) index.Expr {
			if number := numbers[acc.Tensor]; number != nil {
				return number
			}
			return nil
		})
		assign := &cin.Assign{LHS: step.LHS, RHS: rhs}
		if len(step.Reduced()) > 0 {
			assign.Reduce = step.Reduce
		}
		if i < len(r.steps)-1 {
			assign.LHS = scalar(step.LHS.Tensor)
		}
		fill = append(fill, cin.Nest(r.inner(step), assign))
	}
	body := fill[len(fill)-1]
	if last := r.last(); len(last.Reduced()) > 0 {
		sum := scalar(index.NewTemporary(index.Names(r.steps), last))
		loops := cin.Loops(body)
		produced := &cin.Assign{LHS: sum, Reduce: last.Reduce, RHS: cin.Value(body)}
		vars := make([]index.Var, len(loops))
		for i, f := range loops {
			vars[i] = f.Var
		}
		body = &cin.Where{Consumer: &cin.Assign{LHS: last.LHS, RHS: sum}, Producer: cin.Nest(vars, produced)}
	}
	for _, producer := range slices.Backward(fill[:len(fill)-1]) {
		body = &cin.Where{Consumer: body, Producer: producer}
	}
	p.Body = cin.Nest(r.rows, body)
	return p
}

// decide chooses the commands that apply.
func (r *rowwise) decide(n *Nest) *autoschedule.Decision {
	steps := make([]bind.Assignment, len(r.steps))
	for i, step := range r.steps {
		steps[i] = bind.Assignment{Assignment: step, Table: n.Assignment.Table}
	}
	d := autoschedule.Rowwise(steps, r.rows, r.columns, n.Machine)
	at := n.Naive
	d.Commands = slices.DeleteFunc(d.Commands, func(c schedule.Command) bool {
		next, err := schedule.Apply(at, []schedule.Command{c})
		if err == nil {
			at = next
		}
		return err != nil
	})
	return d
}
