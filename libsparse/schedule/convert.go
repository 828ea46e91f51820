package schedule

import (
	"fmt"
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// Convert says that an operand is brought to another format before the kernel runs, once for each of its patterns. It is
// about how operands are stored and not about loops: whoever applies a schedule carries conversions out first, with
// Convert.Of.
type Convert struct {
	Tensor string
	To     format.Format
}

func (c Convert) String() string { return fmt.Sprintf("convert(%s, %s)", c.Tensor, c.To) }

// Apply implements Command.
func (c Convert) Apply(p *cin.Program) (*cin.Program, error) {
	t, err := c.Of(p.Source)
	if f := p.Source.Of(t).Format; err == nil && !f.Equal(c.To) {
		return nil, failf(c, "%s is stored as %q", c.Tensor, f)
	}
	return p, err
}

// Of is the operand to convert.
func (c Convert) Of(a bind.Assignment) (*index.Tensor, error) {
	at := slices.IndexFunc(a.Tensors(), func(t *index.Tensor) bool { return t.Name == c.Tensor })
	if at < 0 {
		return nil, failf(c, "there is no operand %s", c.Tensor)
	}
	t := a.Tensors()[at]
	f := a.Of(t).Format
	switch {
	case f.Order() != c.To.Order():
		return nil, failf(c, "%s has %d modes", c.Tensor, f.Order())
	case f.Dense() || c.To.Dense():
		return nil, failf(c, "%s is converted from %q to %q; a dense operand stays as it is, and a sparse one sparse", c.Tensor, f, c.To)
	case a.Owner(a.LHS.Tensor) == a.Owner(t):
		return nil, failf(c, "%s has the pattern of %s", a.LHS.Tensor.Name, c.Tensor)
	}
	return t, nil
}
