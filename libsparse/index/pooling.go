package index

import (
	"math"
	"slices"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
)

// A pooling is a right side that makes one value of those at the entries of each row, by weights:
//
//   - softmax_mean(score, value) is the mean of value over the indices that both arguments have and the result has not, weighted by
//     exp(score) at the elements where score has a value;
//   - softmax_mean_into(score, value, most, share) is the same, and stores two numbers for each row of scores in operands with the indices
//     that the result and the score have: the greatest score, and the reciprocal of the sum of exp(score - most), so that the weight
//     of a score is exp(score - most) * share. Gradients need them, and a kernel of its own would compute all scores again;
//   - weighted_sum(weight, value) is the sum of weight * value over them;
//   - weighted_sum_into(first * second, value, other, to, given, by) is weighted_sum(first * second, value), and adds sums over the rows of
//     the matrix to two operands: first * second * other to one, first * given to the other. Those are the three gradients of a softmax_mean,
//     which share the scores.
//
// Indices that only the first argument has are summed in it first. So attention is O(i,k) = softmax_mean(M(i,j) * Q(i,d) * K(j,d), V(j,k)).

// Pooling is the parts of a pooling.
type Pooling struct {
	Op dtype.Op
	// Score is the score, or the weight.
	Score, Value Expr
	// Most and Share are where the greatest score of each row and the reciprocal of its sum of weights are stored, nil where they aren't.
	Most, Share *Access
	// Factors are the two parts of a weight whose first part is the weight of another sum, nil where there is none.
	Factors []Expr
	// Beside are the sums over the rows of the matrix, by the whole weight and by its first part.
	Beside []Beside
	// Rows are the indices of the result that the score has: each has weights of its own. Columns are the others.
	Rows, Columns []Var
	// Averaged are the indices of the mean, Summed those that are summed in the score.
	Averaged, Summed []Var
}

// Beside is a weighted sum of rows, each added to the row of an operand that a column of the matrix has.
type Beside struct {
	Value Expr
	To    *Access
}

// Columns are the indices of what is added that weights have not.
func (b Beside) Columns(p *Pooling) []Var {
	return slices.DeleteFunc(slices.Clone(b.To.Vars), func(v Var) bool { return slices.Contains(p.Rows, v) || slices.Contains(p.Averaged, v) })
}

// Wide are the columns of the result, and those of what is added beside it, which weights don't have.
func (p *Pooling) Wide() []Var {
	all := slices.Clone(p.Columns)
	for _, b := range p.Beside {
		all = append(all, slices.DeleteFunc(b.Columns(p), func(v Var) bool { return slices.Contains(all, v) || slices.Contains(p.Summed, v) })...)
	}
	return all
}

// Normalized reports whether weights are exp of scores, relative to the greatest one.
func (p *Pooling) Normalized() bool {
	return p.Op == dtype.SoftmaxMean || p.Op == dtype.SoftmaxMeanInto
}

// Pooling is the parts of a, nil if it is no pooling.
func (a *Assignment) Pooling() *Pooling {
	c, ok := a.RHS.(*Call)
	if !ok || !c.Op.Pools() || c.Function != nil {
		return nil
	}
	m := &Pooling{Op: c.Op, Score: c.Args[0], Value: c.Args[1]}
	switch c.Op {
	case dtype.SoftmaxMeanInto:
		m.Most, _ = c.Args[2].(*Access)
		m.Share, _ = c.Args[3].(*Access)
	case dtype.WeightedSumInto:
		if weight, ok := c.Args[0].(*Call); ok && weight.Op == dtype.Mul && weight.Function == nil {
			m.Factors = weight.Args
		}
		for _, n := range []int{2, 4} {
			to, _ := c.Args[n+1].(*Access)
			m.Beside = append(m.Beside, Beside{Value: c.Args[n], To: to})
		}
	}
	scored, valued := Vars(m.Score), Vars(m.Value)
	for _, v := range a.LHS.Vars {
		if slices.Contains(scored, v) {
			m.Rows = append(m.Rows, v)
		} else {
			m.Columns = append(m.Columns, v)
		}
	}
	for _, v := range a.Reduced() {
		switch {
		case slices.Contains(valued, v):
			m.Averaged = append(m.Averaged, v)
		case slices.Contains(scored, v):
			m.Summed = append(m.Summed, v)
		}
	}
	return m
}

// verifyPooling checks that a pooling is the whole right side, and that its arguments have the indices that it pools over.
func (a *Assignment) verifyPooling() error {
	m := a.Pooling()
	if m == nil {
		if op := pools(a.RHS); op != "" {
			return partOf(a, op)
		}
		return nil
	}
	scored := Vars(m.Score)
	missing := func(v Var) bool { return !slices.Contains(scored, v) }
	inner := pools(m.Score)
	if inner == "" {
		inner = pools(m.Value)
	}
	switch {
	case inner != "":
		return partOf(a, inner)
	case a.Reduce != dtype.Add:
		return diag.Errorf(diag.Unsupported, "%s: %s reduces by itself; write =", a, m.Op)
	case len(m.Averaged) == 0 || slices.ContainsFunc(m.Averaged, missing):
		return diag.Errorf(diag.Unsupported, "%s: %s reduces over the indices that the result has not; each of its arguments needs them", a, m.Op)
	}
	return a.verifyStored(m)
}

// verifyStored checks the operands that a pooling writes to.
func (a *Assignment) verifyStored(m *Pooling) error {
	switch m.Op {
	case dtype.SoftmaxMeanInto:
		if !m.apart() || !m.perRow(m.Most) || !m.perRow(m.Share) {
			return diag.Errorf(diag.Unsupported, "%s: the last two arguments of %s are operands that nothing else reads, with the indices %v", a, m.Op, m.Rows)
		}
	case dtype.WeightedSumInto:
		if m.Factors == nil {
			return diag.Errorf(diag.Unsupported, "%s: the first argument of %s is a product; its first factor is the weight of the second sum", a, m.Op)
		}
		if !m.apart() || !m.perColumn(m.Beside[0]) || !m.perColumn(m.Beside[1]) {
			return diag.Errorf(diag.Unsupported, "%s: the fourth and the last argument of %s are operands that nothing else reads, with the indices of the argument before, but for one of the rows, and %v", a, m.Op, m.Averaged)
		}
	}
	return nil
}

// Stored are the operands that a pooling writes to.
func (p *Pooling) Stored() (out []*Access) {
	if p.Op == dtype.SoftmaxMeanInto {
		return []*Access{p.Most, p.Share}
	}
	for _, b := range p.Beside {
		out = append(out, b.To)
	}
	return out
}

// apart reports whether the operands that a pooling stores to differ, and nothing reads them.
func (p *Pooling) apart() bool {
	read := append(Accesses(p.Score), Accesses(p.Value)...)
	for _, b := range p.Beside {
		read = append(read, Accesses(b.Value)...)
	}
	for _, to := range p.Stored() {
		if to == nil || to.Windowed() || to.Tensor.PatternOnly || slices.ContainsFunc(read, func(acc *Access) bool { return acc.Tensor == to.Tensor }) {
			return false
		}
		read = append(read, to)
	}
	return true
}

// perRow reports whether an operand has an element for each row.
func (p *Pooling) perRow(to *Access) bool { return sameVars(to.Vars, p.Rows) }

// perColumn reports whether what is added to an operand has the rows' indices, and the operand those of the columns in place of one.
func (p *Pooling) perColumn(b Beside) bool {
	left := slices.DeleteFunc(slices.Clone(p.Rows), func(v Var) bool { return slices.Contains(b.To.Vars, v) })
	return len(left) == 1 && sameVars(Vars(b.Value), slices.Concat(p.Rows, b.Columns(p))) && len(b.To.Vars) == len(Vars(b.Value))-1+len(p.Averaged)
}

// sameVars reports whether two lists without repetitions have the same variables.
func sameVars(x, y []Var) bool {
	return len(x) == len(y) && !slices.ContainsFunc(x, func(v Var) bool { return !slices.Contains(y, v) })
}

func partOf(a *Assignment, op dtype.Op) error {
	return diag.Errorf(diag.Unsupported, "%s: %s is a part of an expression; assign it to a name first", a, op)
}

// pools is the operator of a pooling in e, "" if there is none.
func pools(e Expr) dtype.Op {
	c, ok := e.(*Call)
	if !ok {
		return ""
	}
	if c.Op.Pools() && c.Function == nil {
		return c.Op
	}
	for _, arg := range c.Args {
		if op := pools(arg); op != "" {
			return op
		}
	}
	return ""
}

// Lowest stands for the greatest score of a row whose scores are all -inf: less it, they have the weight zero, and their mean is NaN.
func Lowest(t dtype.T) float64 {
	if t == dtype.F64 {
		return -math.MaxFloat64
	}
	return -math.MaxFloat32
}

// pooling is the steps of a pooling, which define what it means. Those of softmax_mean are the scores, the greatest of each row, the
// weights, the sum of those, and the weighted mean.
func (s *splitter) pooling(m *Pooling) []*Assignment {
	at := slices.Concat(m.Rows, m.Averaged)
	score := m.Score
	acc, plain := score.(*Access)
	if !plain {
		acc = s.step(dtype.Add, s.rewrite(score, at), at)
	}
	again := func(a *Access) *Access { return &Access{Tensor: a.Tensor, Vars: a.Vars, Windows: a.Windows} }
	last := func(rhs Expr) []*Assignment {
		return append(s.steps, &Assignment{LHS: s.assignment.LHS, Reduce: dtype.Add, RHS: rhs})
	}
	if !m.Normalized() {
		return last(NewCall(dtype.Mul, acc, s.rewrite(m.Value, at)))
	}
	top := s.step(dtype.Max, acc, m.Rows)
	bound := NewCall(dtype.Neg, &Literal{Value: -Lowest(s.assignment.LHS.Tensor.Elem)})
	highest := NewCall(dtype.Max, top, bound)
	less := &Call{Op: dtype.Sub, Args: []Expr{again(acc), highest}, Region: Argument(0, 2)}
	weight := s.step(dtype.Add, &Call{Op: "exp", Args: []Expr{less}, Region: Argument(0, 1)}, at)
	total := s.step(dtype.Add, weight, m.Rows)
	mean := s.step(dtype.Add, NewCall(dtype.Mul, again(weight), s.rewrite(m.Value, at)), s.assignment.LHS.Vars)
	return last(&Call{Op: dtype.Div, Args: []Expr{mean, total}, Region: Every(2)})
}
