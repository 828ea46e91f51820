package schedule

import (
	"fmt"
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// Convert says that an operand is brought to another format before the kernel runs: a sparse one once for each of its patterns, a
// dense one, whose modes are put into another order, in each call, as a dense result is after the kernel. It is about how operands are stored and not about loops: whoever applies a schedule carries conversions out first, with
// Convert.Of.
type Convert struct {
	Tensor string
	To     format.Format
	// Values says that the values of a sparse operand are brought into the new order, too, and kept as long as they are not written to. Without it,
	// kernels read them where they are, or a padded format has them copied in each call.
	Values bool
}

func (c Convert) String() string {
	if c.Values {
		return fmt.Sprintf("convert(%s, %s, values)", c.Tensor, c.To)
	}
	return fmt.Sprintf("convert(%s, %s)", c.Tensor, c.To)
}

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
	all := append(a.Tensors(), a.LHS.Tensor)
	at := slices.IndexFunc(all, func(t *index.Tensor) bool { return t.Name == c.Tensor })
	if at < 0 {
		return nil, failf(c, "there is no operand %s", c.Tensor)
	}
	t := all[at]
	f := a.Of(t).Format
	switch {
	case f.Order() != c.To.Order():
		return nil, failf(c, "%s has %d modes", c.Tensor, f.Order())
	case f.Dense() != c.To.Dense():
		return nil, failf(c, "%s is converted from %q to %q; a dense tensor stays dense, and a sparse one sparse", c.Tensor, f, c.To)
	case t == a.LHS.Tensor && !f.Dense():
		return nil, failf(c, "%s is the result; the request says its format", c.Tensor)
	case f.Dense() && c.Values:
		return nil, failf(c, "%s is dense, and copied in each call", c.Tensor)
	case f.Dense():
		return t, nil
	}
	return t, c.sparse(a, t)
}

// sparse says why a sparse operand can't be converted.
func (c Convert) sparse(a bind.Assignment, t *index.Tensor) error {
	switch f := a.Of(t).Format; {
	case c.Values && t.PatternOnly:
		return failf(c, "%s has no values", c.Tensor)
	case c.Values && a.Result().Discovered():
		return failf(c, "values are kept only where the pattern of the result is known beforehand")
	case a.Owner(a.LHS.Tensor) == a.Owner(t):
		return failf(c, "%s has the pattern of %s", a.LHS.Tensor.Name, c.Tensor)
	case addsZeros(c.To) && !addsZeros(f) && noticed(a, t):
		return failf(c, "%q stores zeros beside the entries of %s, which would take part; convert it to a format of entries alone", c.To, c.Tensor)
	}
	return nil
}
