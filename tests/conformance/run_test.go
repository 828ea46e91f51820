package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/cmplx"
	"os"
	"slices"
	"testing"

	"libsparse/codegen/native"

	"libsparse/codegen/crun"
	"libsparse/libsparse"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/execute"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/tests/corpus"
)

// sampled is how many trials there are to one that also runs as compiled C; LIBSPARSE_CONFORMANCE=c compiles all.
const sampled = 192

// compiled reports whether c also runs as C.
func (c *trial) compiled() bool {
	hash := fnv.New32a()
	hash.Write([]byte(c.name))
	return hash.Sum32()%sampled == 0 || os.Getenv("LIBSPARSE_CONFORMANCE") == "c"
}

// json is the request of a trial that failed, with the extents.
func (c *trial) json(t *testing.T) string {
	text, err := json.Marshal(map[string]any{"request": c.request, "extents": c.extents})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// run compiles and computes the steps of a trial and says what is wrong, or "".
func (c *trial) run(t *testing.T) (failure string) {
	defer func() {
		if r := recover(); r != nil {
			failure = fmt.Sprintf("panic: %v", r)
		}
	}()
	corpus.Record(t, c.request)
	unit, err := libsparse.Divide(c.request, native.For(32))
	if err != nil {
		return err.Error()
	}
	held := map[string]*format.Data{}
	shapes := map[string][]int{}
	for n, x := range unit.Operands {
		shapes[x.Name] = c.operands[n].shape
		held[x.Name] = c.data(x, unit.Storage.Of(x).Format, c.operands[n].shape)
	}
	operands := maps.Clone(held)
	var result *format.Data
	for _, step := range unit.Nests {
		if err := step.Lower(); err != nil {
			return err.Error()
		}
		x := step.Assignment.LHS.Tensor
		shapes[x.Name] = c.shape(step.Assignment.LHS)
		if result, failure = c.step(t, step, shapes, held); failure != "" {
			return fmt.Sprintf("%s: %s", step.Assignment, failure)
		}
		if held[x.Name] = result; result == nil {
			return ""
		}
	}
	if failure = c.composed(unit, shapes, operands, result); failure != "" {
		return failure
	}
	return c.expected(result)
}

// data is what the row gives for an operand, or random entries.
func (c *trial) data(x *index.Tensor, f format.Format, shape []int) *format.Data {
	density := c.row.density
	if density == 0 {
		density = 0.4
	}
	var entries []format.Entry
	given := c.row.given[x.Name]
	for coord := range coordinates(shape) {
		stored := f.Dense() || given == nil && c.rng.Float64() < density
		value := c.random(x.Elem)
		if given != nil {
			number, ok := given.at(coord)
			stored, value = stored || ok, dtype.Float(x.Elem, number)
		}
		if stored {
			entries = append(entries, format.Entry{Coord: slices.Clone(coord), Value: value})
		}
	}
	return format.Pack(f, shape, entries)
}

// coordinates visits the elements of a shape in row-major order.
func coordinates(shape []int) func(func([]int) bool) {
	return func(yield func([]int) bool) {
		n := 1
		for _, s := range shape {
			n *= s
		}
		coord := make([]int, len(shape))
		for at := range n {
			for m, rest := len(shape)-1, at; m >= 0; m-- {
				coord[m], rest = rest%shape[m], rest/shape[m]
			}
			if !yield(coord) {
				return
			}
		}
	}
}

// random is a small number other than zero, which some divide by.
func (c *trial) random(t dtype.T) dtype.Value {
	small := func() float64 { return float64(1 + c.rng.IntN(4)) }
	switch {
	case t == dtype.Bool:
		return dtype.Int(t, c.rng.Int64N(2))
	case t.IsComplex():
		return dtype.Value{Num: complex(small(), -small())}
	case t == dtype.U8:
		return dtype.Int(t, int64(small()))
	case c.rng.IntN(2) == 0:
		return dtype.Float(t, -small())
	default:
		return dtype.Float(t, small())
	}
}

// step computes one assignment and compares it with the dense evaluator. The result is nil where there is none, since an
// integer is divided by zero.
func (c *trial) step(t *testing.T, n *libsparse.Nest, shapes map[string][]int, held map[string]*format.Data) (*format.Data, string) {
	a := n.Assignment
	call := &execute.Call{
		Assignment: a, Kernel: n.Kernel, Extents: c.extents, Shape: shapes[a.LHS.Tensor.Name], Threads: 2,
		Stored: map[*index.Tensor]*format.Data{}, Perms: map[*index.Tensor][]int64{},
	}
	data := map[*index.Tensor]*index.Dense{}
	for _, x := range a.Tensors() {
		d, s := held[x.Name], a.Of(x)
		if !d.Format.Equal(s.Format) { // converted before the call
			d = format.Pack(s.Format, d.Shape, d.Entries())
		}
		call.Stored[x], data[x] = d, dense(d)
		for at := range d.Vals {
			if s.Permuted {
				call.Perms[x] = append(call.Perms[x], int64(at))
			}
		}
	}
	want := n.Evaluate(c.extents, call.Shape, data)
	got, err := call.Result(func(fn string, args []ir.Arg) (int64, error) { return ir.Run(n.Loops, fn, args) })
	if status, ok := errors.AsType[*execute.Status](err); ok && status.Code == ir.DividedByZero && want.DividedByZero {
		return nil, ""
	}
	if err != nil {
		return nil, err.Error()
	}
	failure := differ(a.Assignment, got, want)
	if failure == "" && c.compiled() {
		kernel := crun.Compile(t, n.Loops, crun.Options{Warnings: true, Sanitize: true})
		inC, err := call.Result(func(fn string, args []ir.Arg) (int64, error) { return kernel.Run(t, []string{fn}, args), nil })
		if err != nil {
			return nil, "C: " + err.Error()
		}
		if failure = differ(a.Assignment, inC, want); failure != "" {
			failure = "C: " + failure
		}
	}
	return got, failure
}

func dense(d *format.Data) *index.Dense {
	out := index.NewDense(d.Shape)
	for _, e := range d.Entries() {
		out.Set(e.Coord, e.Value)
	}
	return out
}

// differ says where a result is not what the evaluator has: in an element, or in what is stored.
func differ(a *index.Assignment, d *format.Data, want *index.Dense) string {
	elem := a.LHS.Tensor.Elem
	got := dense(d)
	if want.DividedByZero {
		return "an integer is divided by zero, and there is a result"
	}
	var entries []format.Entry
	for coord := range coordinates(want.Shape) {
		at := want.At(coord)
		expected := fill(a)
		if want.Stored[at] {
			expected = dtype.Convert(want.Vals[at], elem.Wide(), elem)
			entries = append(entries, format.Entry{Coord: slices.Clone(coord), Value: expected})
		}
		if !got.Stored[at] {
			got.Vals[at] = fill(a)
		}
		if far(elem, got.Vals[at], expected) {
			return fmt.Sprintf("element %v: got %v, want %v", coord, got.Vals[at], expected)
		}
	}
	levels := format.Pack(d.Format, d.Shape, entries)
	if determined(d.Format) && fmt.Sprint(d.Pos, d.Crd) != fmt.Sprint(levels.Pos, levels.Crd) {
		return fmt.Sprintf("levels of %s: got pos %v crd %v, want %v %v", d.Format, d.Pos, d.Crd, levels.Pos, levels.Crd)
	}
	return ""
}

// fill is what an element without a term is.
func fill(a *index.Assignment) dtype.Value {
	elem := a.LHS.Tensor.Elem
	identity, ok := a.Reduce.Identity()
	switch {
	case !ok || len(a.Reduced()) == 0:
		return dtype.Value{}
	case math.IsInf(identity, 0) && !elem.IsFloat():
		lo, hi := elem.Range()
		return dtype.Int(elem, map[bool]int64{true: hi, false: lo}[identity > 0])
	default:
		return dtype.Float(elem, identity)
	}
}

// determined reports whether a format can store a pattern in one way only: hashed levels place entries as they come, and a level that
// is below a sparse one and stores more than it has to may also do so for a part without entries.
func determined(f format.Format) bool {
	sparse := false
	for _, l := range f.Levels {
		if !l.Props().Ordered || sparse && l.Props().Locate {
			return false
		}
		sparse = sparse || !l.Props().Locate
	}
	return true
}

// far compares values of type t: integers exactly.
func far(t dtype.T, x, y dtype.Value) bool {
	tolerance := map[dtype.T]float64{dtype.F16: 2e-3, dtype.BF16: 2e-2, dtype.F32: 1e-4, dtype.C64: 1e-4, dtype.F64: 1e-9, dtype.C128: 1e-9}[t]
	if x == y || x.Int == y.Int && cmplx.IsNaN(x.Num) && cmplx.IsNaN(y.Num) {
		return false
	}
	d := cmplx.Abs(x.Num - y.Num)
	return x.Int != y.Int || d > tolerance*(1+cmplx.Abs(y.Num)) || math.IsNaN(d)
}
