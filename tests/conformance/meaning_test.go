package conformance

import (
	"fmt"
	"slices"
	"strings"

	"libsparse/libsparse"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// composed compares the result of several steps with the assignments as they are written: without contraction paths, and without
// rounding in between.
func (c *trial) composed(s *libsparse.Compilation, shapes map[string][]int, operands map[string]*format.Data, got *format.Data) string {
	result := s.Result().Tensor
	// Steps may convert an operand, and blocks of another shape store other elements.
	blocks := slices.ContainsFunc(c.request.Operands, func(o libsparse.Operand) bool { return strings.ContainsAny(strings.TrimLeft(o.Format, "d"), "dk") })
	if len(s.Nests) < 2 || result.Elem.IsHalf() || blocks {
		return ""
	}
	data := map[*index.Tensor]*index.Dense{}
	for _, x := range s.Operands {
		data[x] = dense(operands[x.Name])
	}
	names := index.Names(s.Program)
	for _, a := range s.Program {
		for _, part := range a.Steps(names) {
			x := part.LHS.Tensor
			x.Elem = a.LHS.Tensor.Elem
			shape, known := shapes[x.Name]
			if !known || x != a.LHS.Tensor {
				shape = c.shape(part.LHS)
			}
			data[x] = part.Evaluate(c.extents, shape, data)
			for at, stored := range data[x].Stored {
				if !stored {
					data[x].Vals[at] = fill(part)
				}
				data[x].Stored[at] = stored || x == a.LHS.Tensor && s.Storage.Of(x).Format.Dense()
			}
		}
	}
	want, have := data[result], dense(got)
	for at := range want.Vals {
		expected := dtype.Convert(want.Vals[at], result.Elem.Wide(), result.Elem)
		if !have.Stored[at] {
			have.Vals[at] = fill(s.Nests[len(s.Nests)-1].Assignment.Assignment)
		}
		if far(result.Elem, have.Vals[at], expected) {
			return fmt.Sprintf("the whole, element %d of %v: got %v, want %v", at, want.Shape, have.Vals[at], expected)
		}
	}
	return ""
}
