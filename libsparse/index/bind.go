package index

// Binding says which tensors take the place of others. Tensors never change: a stage that knows more of one, such as its
// format, makes another tensor of the same name, and expressions over that.
type Binding map[*Tensor]*Tensor

// Of is what takes the place of t: t itself if nothing does. What shares the pattern of a tensor shares that of its successor.
func (b Binding) Of(t *Tensor) *Tensor {
	for next, ok := b[t]; ok; next, ok = b[t] {
		t = next
	}
	if t.SamePattern == nil {
		return t
	}
	owner := b.Of(t.SamePattern)
	if owner == t.SamePattern {
		return t
	}
	next := *t
	next.SamePattern = owner
	b[t] = &next
	return &next
}

// Tensors is Of for each of a list.
func (b Binding) Tensors(list []*Tensor) []*Tensor {
	out := make([]*Tensor, len(list))
	for i, t := range list {
		out[i] = b.Of(t)
	}
	return out
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
