package index

import (
	"math"
	"slices"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
)

// A softmax mean is the right side softmax_mean(score, value): the mean of value over the indices that both arguments have and the
// result has not, weighted by exp(score) at the elements where score has a value. Indices that only score has are summed in it first. So
// attention is O(i,k) = softmax_mean(M(i,j) * Q(i,d) * K(j,d), V(j,k)).

// SoftmaxMean is the parts of a softmax mean.
type SoftmaxMean struct {
	Score, Value Expr
	// Rows are the indices of the result that the score has: each has weights of its own. Columns are the others.
	Rows, Columns []Var
	// Averaged are the indices of the mean, Summed those that are summed in the score.
	Averaged, Summed []Var
}

// SoftmaxMean is the parts of a, nil if it is no softmax mean.
func (a *Assignment) SoftmaxMean() *SoftmaxMean {
	c, ok := a.RHS.(*Call)
	if !ok || c.Op != dtype.SoftmaxMean || c.Function != nil {
		return nil
	}
	m := &SoftmaxMean{Score: c.Args[0], Value: c.Args[1]}
	scored, valued := Vars(m.Score), Vars(m.Value)
	for _, v := range a.LHS.Vars {
		if slices.Contains(scored, v) {
			m.Rows = append(m.Rows, v)
		} else {
			m.Columns = append(m.Columns, v)
		}
	}
	for _, v := range a.Reduced() {
		if slices.Contains(valued, v) {
			m.Averaged = append(m.Averaged, v)
		} else {
			m.Summed = append(m.Summed, v)
		}
	}
	return m
}

// verifySoftmax checks that softmax_mean is the whole right side, and that both of its arguments have the indices of the mean.
func (a *Assignment) verifySoftmax() error {
	m := a.SoftmaxMean()
	if m == nil {
		if averages(a.RHS) {
			return diag.Errorf(diag.Unsupported, "%s: softmax_mean is a part of an expression; assign it to a name first", a)
		}
		return nil
	}
	scored := Vars(m.Score)
	missing := func(v Var) bool { return !slices.Contains(scored, v) }
	switch {
	case averages(m.Score) || averages(m.Value):
		return diag.Errorf(diag.Unsupported, "%s: softmax_mean is a part of an expression; assign it to a name first", a)
	case a.Reduce != dtype.Add:
		return diag.Errorf(diag.Unsupported, "%s: softmax_mean reduces by itself; write =", a)
	case len(m.Averaged) == 0 || slices.ContainsFunc(m.Averaged, missing):
		return diag.Errorf(diag.Unsupported, "%s: softmax_mean averages over the indices that the result has not; both arguments need them", a)
	}
	return nil
}

func averages(e Expr) bool {
	c, ok := e.(*Call)
	return ok && (c.Op == dtype.SoftmaxMean && c.Function == nil || slices.ContainsFunc(c.Args, averages))
}

// Lowest stands for the greatest score of a row whose scores are all -inf: less it, they have the weight zero, and their mean is NaN.
func Lowest(t dtype.T) float64 {
	if t == dtype.F64 {
		return -math.MaxFloat64
	}
	return -math.MaxFloat32
}

// softmaxMean is the steps of a softmax mean, which define what it means: the scores, the greatest of each row, the weights, the sum
// of those, and the weighted mean.
func (s *splitter) softmaxMean(m *SoftmaxMean) []*Assignment {
	at := slices.Concat(m.Rows, m.Averaged)
	score := m.Score
	acc, plain := score.(*Access)
	if !plain {
		acc = s.step(dtype.Add, s.rewrite(score, at), at)
	}
	again := func(a *Access) *Access { return &Access{Tensor: a.Tensor, Vars: a.Vars, Windows: a.Windows} }
	top := s.step(dtype.Max, acc, m.Rows)
	bound := NewCall(dtype.Neg, &Literal{Value: -Lowest(s.assignment.LHS.Tensor.Elem)})
	less := &Call{Op: dtype.Sub, Args: []Expr{again(acc), NewCall(dtype.Max, top, bound)}, Region: Argument(0, 2)}
	weight := s.step(dtype.Add, &Call{Op: "exp", Args: []Expr{less}, Region: Argument(0, 1)}, at)
	total := s.step(dtype.Add, weight, m.Rows)
	mean := s.step(dtype.Add, NewCall(dtype.Mul, again(weight), s.rewrite(m.Value, at)), s.assignment.LHS.Vars)
	quotient := &Call{Op: dtype.Div, Args: []Expr{mean, total}, Region: Every(2)}
	return append(s.steps, &Assignment{LHS: s.assignment.LHS, Reduce: dtype.Add, RHS: quotient})
}
