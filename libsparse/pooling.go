package libsparse

import (
	"libsparse/libsparse/diag"
	"libsparse/libsparse/lower"
)

// onePass is the only nest of a pooling that one pass over the entries computes, nil of any other program: its steps store the
// scores. It is an error if a pooling that writes to operands would take several steps, since those can't.
func (c *Compilation) onePass() (*Nest, error) {
	n := c.pass()
	if n != nil {
		return n, nil
	}
	for _, a := range c.Program {
		if m := a.Pooling(); m != nil && len(m.Stored()) > 0 {
			return nil, diag.Errorf(diag.Unsupported, "%s: %s is computed in one pass alone: of float32 or float64, a matrix with compressed rows and dense operands, without a schedule", lines(c.Program), m.Op)
		}
	}
	return nil, nil
}

// pass is the nest, nil where there is none.
func (c *Compilation) pass() *Nest {
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
