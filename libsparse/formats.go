package libsparse

import (
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/infer"
)

// inferFormats chooses the formats of results that the request leaves open.
func inferFormats(c *Compilation) error {
	for i, n := range c.Nests {
		if len(c.Nests) > 1 {
			c.isolate(i)
		}
		result := n.Assignment.LHS.Tensor
		if n.rowwise != nil { // whose result has a format already
			c.Storage = c.Storage.With(result, *n.Assignment.Result())
			continue
		}
		s, err := c.inferFormat(n)
		if err != nil {
			return err
		}
		n.Assignment, c.Storage = n.Assignment.With(result, s), c.Storage.With(result, s)
	}
	return nil
}

// isolate describes the operands of one of several nests as they are for a request of its own.
func (c *Compilation) isolate(i int) {
	n := c.Nests[i]
	a := c.bound(n.Assignment.Assignment)
	for _, earlier := range c.Nests[:i] {
		t := earlier.Assignment.LHS.Tensor
		if s := *a.Of(t); slices.Contains(n.Operands, t) && s.NNZ == 0 && !s.Format.Dense() {
			s.NNZ = int64(infer.Predict(earlier.Assignment).Entries)
			a = a.With(t, s)
		}
	}
	first := map[*index.Tensor]*index.Tensor{} // of those that share a pattern whose owner is no operand
	for _, t := range n.Operands {
		owner := c.Storage.Owner(t)
		if s := *a.Of(t); s.SamePattern != nil && !slices.Contains(n.Operands, owner) {
			s.SamePattern = first[owner]
			a = a.With(t, s)
			if first[owner] == nil {
				first[owner] = t
			}
		}
	}
	n.Assignment = a
}

// inferFormat is the storage of the result of a nest with its format.
func (c *Compilation) inferFormat(n *Nest) (bind.Storage, error) {
	a, out := n.Assignment, n.Output
	result := *a.Result()
	if out.Index != "" {
		t, err := indexType(out.Index)
		if err != nil {
			return result, err
		}
		result.Index = t
	}
	result.Extents, result.Counted, result.Few = nil, out.Counted, out.Few
	a = a.With(a.LHS.Tensor, result)
	for _, v := range a.LHS.Vars {
		result.Extents = append(result.Extents, a.Extent(v))
	}
	a = a.With(a.LHS.Tensor, result)
	infers := infer.Output
	if out.Temporary {
		infers = infer.Temporary
	}
	inferred, pattern := infers(a)
	n.Inferred = pattern == nil && !infer.Everywhere(a)
	switch {
	case out.PatternOf != nil && *out.PatternOf >= 0:
		owner, err := c.forcedPattern(a, *out.PatternOf)
		if err == nil {
			result.Format, result.SamePattern = a.Of(owner).Format, a.Owner(owner)
		}
		return result, err
	case out.Format != "":
		return c.giveFormat(a, out.Format, result)
	case pattern == nil:
		result.Format, result.SamePattern = inferred.Writable(), nil
	default:
		result.Format, result.SamePattern = inferred, pattern
	}
	return result, nil
}

// giveFormat is the storage of the result of a with a format that the request names.
func (c *Compilation) giveFormat(a bind.Assignment, name string, result bind.Storage) (bind.Storage, error) {
	f, err := format.Parse(name)
	if err != nil {
		return result, err
	}
	if f.Order() != len(a.LHS.Vars) {
		return result, diag.Errorf(diag.Format, "the result %s has %d modes, but the format %q has %d", a.LHS, len(a.LHS.Vars), name, f.Order())
	}
	result.Format = f
	if pattern := infer.Pattern(a, f); pattern != nil {
		result.SamePattern = pattern
	} else if !packs(a.With(a.LHS.Tensor, result)) || c.single() {
		result.Format = f.Writable() // the caller brings the result to the format of the request
	}
	return result, nil
}

// forcedPattern is operand k of the request, whose pattern the result of a has to have.
func (c *Compilation) forcedPattern(a bind.Assignment, k int) (*index.Tensor, error) {
	for _, acc := range index.Accesses(a.RHS) {
		if k < len(c.Operands) && acc.Tensor.Name == c.Operands[k].Name && !acc.Windowed() && slices.Equal(acc.Vars, a.LHS.Vars) {
			return acc.Tensor, nil
		}
	}
	return nil, diag.Errorf(diag.Format, "the result %s can't have the pattern of operand %d: it has other indices", a.LHS, k)
}
