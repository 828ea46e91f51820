package index

// Binding says which tensors take the place of others. Tensors never change: a stage that knows more of the notation of one, which is
// the type of a result, makes another tensor of the same name, and expressions over that.
type Binding map[*Tensor]*Tensor

// Of is what takes the place of t: t itself if nothing does.
func (b Binding) Of(t *Tensor) *Tensor {
	for next, ok := b[t]; ok; next, ok = b[t] {
		t = next
	}
	return t
}

// Assignment is a over what takes the place of its tensors.
func (b Binding) Assignment(a *Assignment) *Assignment {
	if len(b) == 0 {
		return a
	}
	return &Assignment{LHS: a.LHS.Over(b.Of(a.LHS.Tensor)), Reduce: a.Reduce, RHS: Replace(a.RHS, func(acc *Access) Expr {
		return acc.Over(b.Of(acc.Tensor))
	})}
}

// Over is the same access to t.
func (a *Access) Over(t *Tensor) *Access {
	if a.Tensor == t {
		return a
	}
	out := *a
	out.Tensor = t
	return &out
}

// Into is a with its result in t.
func (a *Assignment) Into(t *Tensor) *Assignment {
	return &Assignment{LHS: a.LHS.Over(t), Reduce: a.Reduce, RHS: a.RHS}
}
