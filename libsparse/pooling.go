package libsparse

import "libsparse/libsparse/lower"

// onePass is the only nest of a pooling that one pass over the entries computes, nil of any other program: its steps store the
// scores.
func (c *Compilation) onePass() *Nest {
	r := c.Request
	if len(c.Program) != 1 || c.Program[0].Pooling() == nil || r.Output.Divided || r.Schedule != "" {
		return nil
	}
	n := c.nest(c.bound(c.Program[0]), c.Operands, r.Output)
	result, err := c.inferFormat(n)
	if err != nil || !lower.Pooling(n.Assignment.With(n.Assignment.LHS.Tensor, result)) {
		return nil
	}
	return n
}
